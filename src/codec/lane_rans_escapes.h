/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_escapes.h - escapes of a stream of lane-rans-v1 for the vector kernels.
 *
 * Escapes are rare: the kernels note which lanes met one and come here once a pixel.  Each is checked on its own.
 */
#ifndef RONCHI_CODEC_LANE_RANS_ESCAPES_H
#define RONCHI_CODEC_LANE_RANS_ESCAPES_H

#include "codec/lane_rans.h"

/* Where escaped counts go: into decoded counts, or into sums to which 'coded' was added already. */
typedef struct ronchi_lane_sink {
    uint16_t *counts;
    uint32_t *sums, coded;
} ronchi_lane_sink;

static inline void ronchi_lane_give(const ronchi_lane_sink *to, size_t i, uint32_t value)
{
    if (to->counts)
        to->counts[i] = (uint16_t)value;
    if (to->sums)
        to->sums[i] += value - to->coded;
}

/* The next escaped count before *end; false when the escapes run into 'words', the next word to be read. */
static inline bool ronchi_lane_escaped(const uint16_t *words, const uint16_t **end, uint32_t *out)
{
    if (*end <= words)
        return false;
    *out = *--*end;
    if (*out < UINT16_MAX)
        return true;
    if (*end - words < 2)
        return false;
    *out = (*end)[-1] | (uint32_t)(*end)[-2] << 16;
    *end -= 2;
    return true;
}

/* Escapes of a pixel of a count or wide model: mask[row] bit lane. */
static const char *ronchi_lane_patch(const uint16_t *words, const uint16_t **end, const uint16_t *mask, size_t rows,
                                     uint32_t largest, const ronchi_lane_sink *to)
{
    unsigned any = 0;
    for (size_t row = 0; row < rows; row++)
        any |= mask[row];
    for (unsigned lane = 0; any >> lane; lane++)
        for (size_t row = 0; (any >> lane & 1) && row < rows; row++) {
            uint32_t value;
            if (!(mask[row] >> lane & 1))
                continue;
            if (!ronchi_lane_escaped(words, end, &value))
                return "its escapes are missing";
            if (value > largest)
                return "a count is larger than its type";
            ronchi_lane_give(to, row * LANE_LANES + lane, value);
        }
    return NULL;
}

/* Escapes of a pixel of a sparse model: mask[group] bit lane. */
static const char *ronchi_lane_patch_groups(const uint16_t *words, const uint16_t **end, const uint16_t *mask,
                                            size_t groups, unsigned shift, uint32_t largest, const ronchi_lane_sink *to)
{
    const size_t rows = (size_t)1 << shift, n = ronchi_div_up(rows, 8);
    for (unsigned lane = 0; lane < LANE_LANES; lane++)
        for (size_t g = 0; g < groups; g++) {
            uint64_t bits = 0;
            if (!(mask[g] >> lane & 1))
                continue;
            if (*end < words || (size_t)(*end - words) < n)
                return "its escapes are missing";
            for (size_t i = 0; i < n; i++)
                bits |= (uint64_t) * --*end << 16 * i;
            for (size_t row = 0; row < rows; row++) {
                uint32_t value = bits >> 2 * row & 3;
                if (value == 3 && !ronchi_lane_escaped(words, end, &value))
                    return "its escapes are missing";
                if (value > largest)
                    return "a count is larger than its type";
                ronchi_lane_give(to, ((g << shift) + row) * LANE_LANES + lane, value);
            }
        }
    return NULL;
}

#endif
