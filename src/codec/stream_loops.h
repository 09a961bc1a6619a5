/* SPDX-License-Identifier: MIT */
/*
 * stream_loops.h - loops over the values of one stream, written once; each version of the kernels inlines them under
 * its own instruction set, where the compiler turns them into vectors.
 */
#ifndef RONCHI_CODEC_STREAM_LOOPS_H
#define RONCHI_CODEC_STREAM_LOOPS_H

#include "codec/stream.h"

#if defined(__GNUC__)
#define RONCHI_LOOP __attribute__((always_inline)) static inline
#else
#define RONCHI_LOOP static inline
#endif

RONCHI_LOOP void ronchi_loop_stats(const uint16_t *values, size_t n, ronchi_stream_stats *out)
{
    uint16_t min = values[0], max = values[0], nonzero = 0, clipped = 0; /* 512 x 32 fits */
    for (size_t t = 0; t < n; t++) {
        uint16_t value = values[t];
        min = value < min ? value : min;
        max = value > max ? value : max;
        nonzero = (uint16_t)(nonzero + (value > 0));
        clipped = (uint16_t)(clipped + (value < RONCHI_STREAM_ESCAPE ? value : RONCHI_STREAM_ESCAPE));
    }
    out->min = min;
    out->max = max;
    out->nonzero = nonzero;
    out->clipped = clipped;
}

RONCHI_LOOP void ronchi_loop_weigh(const uint16_t *counts, size_t n, uint32_t weight, uint32_t *sums)
{
    for (size_t t = 0; t < n; t++)
        sums[t] += weight * counts[t];
}

RONCHI_LOOP void ronchi_loop_total(const uint16_t *counts, const uint16_t *keep, size_t n, uint64_t *sum, uint32_t *max)
{
    uint32_t added = 0; /* 512 counts of 16 bits fit */
    uint16_t largest = 0;
    for (size_t t = 0; !keep && t < n; t++) {
        added += counts[t];
        largest = counts[t] > largest ? counts[t] : largest;
    }
    for (size_t t = 0; keep && t < n; t++) {
        uint16_t value = counts[t] & keep[t];
        added += value;
        largest = value > largest ? value : largest;
    }
    *sum = added;
    *max = largest;
}

#endif
