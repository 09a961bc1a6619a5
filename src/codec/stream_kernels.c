/* SPDX-License-Identifier: MIT */
/* stream_kernels.c - the kernels for streams of counts in plain C: the reference of the faster ones. */
#include "codec/stream_kernels.h"

#include <string.h>

#include "codec/stream_loops.h"

/* Side of the squares in which matrices are walked, so that both sides stay in the nearest cache. */
enum { SQUARE = 16 };

static size_t square_end(size_t first, size_t size)
{
    return size - first < SQUARE ? size : first + SQUARE;
}

static void transpose16(const void *in, ptrdiff_t in_pitch, size_t rows, size_t cols, void *out, ptrdiff_t out_pitch)
{
    for (size_t r0 = 0; r0 < rows; r0 += SQUARE)
        for (size_t c0 = 0; c0 < cols; c0 += SQUARE)
            for (size_t c = c0; c < square_end(c0, cols); c++)
                for (size_t r = r0; r < square_end(r0, rows); r++)
                    memcpy((char *)out + (ptrdiff_t)c * out_pitch + (ptrdiff_t)(2 * r),
                           (const char *)in + (ptrdiff_t)r * in_pitch + (ptrdiff_t)(2 * c), 2);
}

static void widen8(const void *in, ptrdiff_t in_pitch, size_t rows, size_t cols, void *out, ptrdiff_t out_pitch)
{
    for (size_t r0 = 0; r0 < rows; r0 += SQUARE)
        for (size_t c0 = 0; c0 < cols; c0 += SQUARE)
            for (size_t c = c0; c < square_end(c0, cols); c++)
                for (size_t r = r0; r < square_end(r0, rows); r++) {
                    uint16_t value = *((const uint8_t *)in + (ptrdiff_t)r * in_pitch + (ptrdiff_t)c);
                    memcpy((char *)out + (ptrdiff_t)c * out_pitch + (ptrdiff_t)(2 * r), &value, 2);
                }
}

static void narrow16(const void *in, ptrdiff_t in_pitch, size_t rows, size_t cols, void *out, ptrdiff_t out_pitch)
{
    for (size_t r0 = 0; r0 < rows; r0 += SQUARE)
        for (size_t c0 = 0; c0 < cols; c0 += SQUARE)
            for (size_t c = c0; c < square_end(c0, cols); c++)
                for (size_t r = r0; r < square_end(r0, rows); r++) {
                    uint16_t value;
                    memcpy(&value, (const char *)in + (ptrdiff_t)r * in_pitch + (ptrdiff_t)(2 * c), 2);
                    *((uint8_t *)out + (ptrdiff_t)c * out_pitch + (ptrdiff_t)r) = (uint8_t)value;
                }
}

static void streams_encode(const ronchi_stream_tables *tables, const uint16_t *values, size_t n_streams, size_t n,
                           const ronchi_stream_stats *stats, uint8_t *dst, uint32_t *sizes, uint8_t *selectors)
{
    for (size_t i = 0; i < n_streams; i++)
        sizes[i] = (uint32_t)ronchi_stream_encode(tables, values + i * RONCHI_STREAM_PITCH, n, &stats[i],
                                                  dst + i * 2 * RONCHI_STREAM_SPAN, &selectors[i]);
}

static void stream_stats(const uint16_t *values, size_t n, ronchi_stream_stats *out)
{
    ronchi_loop_stats(values, n, out);
}

static void weigh(const uint16_t *counts, size_t n, uint32_t weight, uint32_t *sums)
{
    ronchi_loop_weigh(counts, n, weight, sums);
}

static void total(const uint16_t *counts, const uint16_t *keep, size_t n, uint64_t *sum, uint32_t *max)
{
    ronchi_loop_total(counts, keep, n, sum, max);
}

void ronchi_stream_kernels_c(ronchi_kernels *kernels)
{
    kernels->transpose16 = transpose16;
    kernels->widen8 = widen8;
    kernels->narrow16 = narrow16;
    kernels->streams_decode = ronchi_streams_decode_c;
    kernels->streams_encode = streams_encode;
    kernels->stream_stats = stream_stats;
    kernels->weigh = weigh;
    kernels->total = total;
}
