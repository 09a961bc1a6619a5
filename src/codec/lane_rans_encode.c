/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode.c - one brick from counts: statistics, models, streams, and how they are put together.
 *
 * The streams themselves come from the kernel lane_encode: lane_rans_encode_stream.c in plain C.
 */
#include <string.h>

#include "codec/lane_rans_encode.h"

static inline uint32_t value(const void *at, size_t i, size_t size)
{
    return size == 2 ? ((const uint16_t *)at)[i] : ((const uint32_t *)at)[i];
}

static uint16_t *put32(uint16_t *to, uint32_t value)
{
    to[0] = (uint16_t)value;
    to[1] = (uint16_t)(value >> 16);
    return to + 2;
}

/* Counts of n_pixels pixels from p on, less the base, in 'width' bits each. */
static uint16_t *pack(uint16_t *to, const ronchi_lane_pixels *pixels, size_t p, size_t n_pixels, int64_t base,
                      unsigned width)
{
    uint64_t have = 0;
    unsigned bits = 0;
    for (size_t end = p + n_pixels; width && p < end; p++)
        for (size_t i = 0; i < pixels->n_positions; i++) {
            have |= (uint64_t)(value(pixels->at[p], i, pixels->value_bytes) - base) << bits;
            for (bits += width; bits >= 16; bits -= 16, have >>= 16)
                *to++ = (uint16_t)have;
        }
    if (bits)
        *to++ = (uint16_t)have;
    return to;
}

static uint16_t *write_ids(uint16_t *to, const uint8_t *id, size_t n_pixels)
{
    uint8_t least = UINT8_MAX, most = 0;
    for (size_t p = 0; p < n_pixels; p++) {
        least = id[p] < least ? id[p] : least;
        most = id[p] > most ? id[p] : most;
    }
    unsigned form = least == most ? 0 : most - least < 16 ? 1 : 2;
    *to++ = (uint16_t)(2 | form << 4);
    if (form < 2)
        *to++ = least;
    size_t n = form == 0 ? 0 : ronchi_div_up(n_pixels, form == 1 ? 4 : 2);
    memset(to, 0, n * sizeof *to);
    for (size_t p = 0; n && p < n_pixels; p++)
        if (form == 1)
            to[p / 4] |= (uint16_t)((id[p] - least) << p % 4 * 4);
        else
            to[p / 2] |= (uint16_t)(id[p] << p % 2 * 8);
    return to + n;
}

/* Words of the brick as it was chosen. */
static size_t mixed_words(const ronchi_lane_work *work, size_t n_pixels, size_t n_positions, size_t n_streams,
                          bool coded)
{
    size_t n = 1 + 1 + LANE_TILE / 2; /* at most */
    for (size_t p = 0; p < n_pixels; p++)
        if (work->choice.id[p] == LANE_ID_PACKED)
            n += 3 + ronchi_div_up(n_positions * work->choice.width[p], 16);
        else if (work->choice.id[p] >= LANE_ID_WIDE)
            n += 2;
    for (size_t s = 0; coded && s < n_streams; s++)
        n += 2 + 2 * LANE_LANES + (size_t)(work->half[s].words + LANE_WORDS_MOST - work->half[s].word) +
             work->half[s].n_escapes;
    return n;
}

static uint16_t *write_streams(uint16_t *to, const ronchi_lane_work *work, size_t n_streams)
{
    for (size_t s = 0; s < n_streams; s++)
        to = put32(to, (uint32_t)((size_t)(work->half[s].words + LANE_WORDS_MOST - work->half[s].word) +
                                  work->half[s].n_escapes));
    for (size_t s = 0; s < n_streams; s++)
        for (size_t lane = 0; lane < LANE_LANES; lane++)
            to = put32(to, work->half[s].x[lane]);
    for (size_t s = 0; s < n_streams; s++) {
        const ronchi_lane_half *h = &work->half[s];
        size_t n = (size_t)(h->words + LANE_WORDS_MOST - h->word);
        memcpy(to, h->word, n * sizeof *to);
        memcpy(to + n, h->escapes, h->n_escapes * sizeof *to);
        to += n + h->n_escapes;
    }
    return to;
}

static size_t write_mixed(const ronchi_lane_work *work, const ronchi_lane_pixels *pixels, size_t n_streams, bool coded,
                          uint16_t *out)
{
    const ronchi_lane_choice *c = &work->choice;
    uint16_t *to = write_ids(out, c->id, pixels->n_pixels);
    for (size_t p = 0; p < pixels->n_pixels; p++)
        if (c->id[p] == LANE_ID_PACKED) {
            to = put32(to, (uint32_t)c->base[p]);
            *to++ = c->width[p];
        } else if (c->id[p] >= LANE_ID_WIDE) {
            to = put32(to, (uint32_t)c->shift[p] << 28 | ((uint32_t)c->base[p] & 0x0fffffff));
        }
    if (coded)
        to = write_streams(to, work, n_streams);
    for (size_t p = 0; p < pixels->n_pixels; p++)
        if (c->id[p] == LANE_ID_PACKED)
            to = pack(to, pixels, p, 1, c->base[p], c->width[p]);
    return (size_t)(to - out);
}

/* -------------------------------------------------------------------------------------------------- from counts on */

/* Statistics of all pixels; the least and largest count. */
static void measure(const ronchi_kernels *kernels, const ronchi_lane_pixels *pixels, ronchi_lane_stats *stats,
                    uint32_t *low, uint32_t *high)
{
    *low = UINT32_MAX;
    *high = 0;
    for (size_t p = 0; p < pixels->n_pixels; p++) {
        if (pixels->value_bytes == 2)
            kernels->lane_stats(pixels->at[p], pixels->n_positions, &stats[p]);
        else
            ronchi_lane_stats_c32(pixels->at[p], pixels->n_positions, &stats[p]);
        *low = stats[p].low < *low ? stats[p].low : *low;
        *high = stats[p].high > *high ? stats[p].high : *high;
    }
}

static void narrow(const ronchi_lane_pixels *pixels, ronchi_lane_work *work, ronchi_lane_pixels *out)
{
    const size_t n = ronchi_div_up(pixels->n_positions, LANE_SPAN) * LANE_SPAN;
    *out = *pixels;
    out->value_bytes = 2;
    for (size_t p = 0; p < pixels->n_pixels; p++) {
        const uint32_t *from = pixels->at[p];
        for (size_t i = 0; i < n; i++)
            work->narrow[p][i] = (uint16_t)from[i];
        out->at[p] = work->narrow[p];
    }
}

static void encode_streams(const ronchi_kernels *kernels, const ronchi_lane_tables *tables,
                           const ronchi_lane_pixels *pixels, uint32_t high, ronchi_lane_work *work)
{
    ronchi_lane_pixels narrowed;
    if (pixels->value_bytes == 2) {
        kernels->lane_encode(tables, pixels, work->stats, &work->choice, work->half);
    } else if (high <= UINT16_MAX) {
        narrow(pixels, work, &narrowed);
        kernels->lane_encode(tables, &narrowed, work->stats, &work->choice, work->half);
    } else {
        ronchi_lane_encode_c32(tables, pixels, work->stats, &work->choice, work->half);
    }
}

size_t ronchi_lane_encode(const ronchi_kernels *kernels, const ronchi_lane_tables *tables,
                          const ronchi_lane_pixels *pixels, ronchi_lane_work *work, uint16_t *out)
{
    const size_t n_pixels = pixels->n_pixels, n_positions = pixels->n_positions,
                 n_streams = ronchi_div_up(n_positions, LANE_SPAN);
    uint32_t low, high;
    bool coded = false;
    measure(kernels, pixels, work->stats, &low, &high);
    if (high == 0)
        return 0;
    unsigned width = 0;
    while (width < 32 && (high - low) >> width)
        width++;
    ronchi_lane_choose(work->stats, n_pixels, n_positions, &work->choice);
    for (size_t p = 0; p < n_pixels; p++)
        coded |= work->choice.id[p] != LANE_ID_ZERO && work->choice.id[p] != LANE_ID_PACKED;
    if (coded)
        encode_streams(kernels, tables, pixels, high, work);
    size_t whole = 4 + ronchi_div_up(n_pixels * n_positions * width, 16);
    if (mixed_words(work, n_pixels, n_positions, n_streams, coded) < whole)
        return write_mixed(work, pixels, n_streams, coded, out);
    *out = 1;
    uint16_t *to = put32(out + 1, low);
    *to++ = (uint16_t)width;
    return (size_t)(pack(to, pixels, 0, n_pixels, low, width) - out);
}
