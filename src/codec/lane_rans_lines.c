/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_lines.c - decoded tiles to frames in whole cache lines.
 *
 * Rows of a tile are 16 bytes of a frame, and frames lie a multiple of 4 KiB apart as often as not, so that their lines
 * compete for few places of the caches.  Lines written in parts would be fetched and thrown out half written; so four
 * rows that make a line are written together, and past the caches where the frames are too many for them.
 */
#include "codec/lane_rans.h"

#if defined(__SSE2__)
#include <emmintrin.h>

/* 8 pixels, LANE_SPAN apart, of 8 positions: v[i] becomes the pixels of position i. */
static inline void square(const uint16_t *from, __m128i v[8])
{
    __m128i a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + i * LANE_SPAN));
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        a[4 * i] = _mm_unpacklo_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 1] = _mm_unpackhi_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 2] = _mm_unpacklo_epi32(b[4 * i + 1], b[4 * i + 3]);
        a[4 * i + 3] = _mm_unpackhi_epi32(b[4 * i + 1], b[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        v[2 * i] = _mm_unpacklo_epi64(a[i], a[i + 4]);
        v[2 * i + 1] = _mm_unpackhi_epi64(a[i], a[i + 4]);
    }
}

/* Up to 8 positions from 'at' on of one row of pixels: lines, or parts of them. */
static inline void put(const ronchi_lane_lines *l, size_t at, size_t n, char *to)
{
    __m128i v[LANE_ABREAST][8];
    for (size_t k = 0; k < l->width; k++)
        square(l->from[k] + at, v[k]);
    for (size_t i = 0; i < n; i++, to += l->pitch)
        for (size_t k = 0; k < l->width; k++)
            if (l->past)
                _mm_stream_si128((__m128i *)(void *)(to + 16 * k), v[k][i]);
            else
                _mm_storeu_si128((__m128i *)(void *)(to + 16 * k), v[k][i]);
}

void ronchi_lane_lines_end(void)
{
    _mm_sfence();
}
#else
static inline void put(const ronchi_lane_lines *l, size_t at, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++, to += l->pitch)
        for (size_t k = 0; k < 8 * l->width; k++)
            ((uint16_t *)(void *)to)[k] = l->from[k / 8][at + k % 8 * LANE_SPAN + i];
}

void ronchi_lane_lines_end(void)
{
}
#endif

void ronchi_lane_lines_c(const ronchi_lane_lines *l)
{
    for (size_t r = 0; r < l->rows; r++)
        for (size_t i = 0; i < l->n; i += 8)
            put(l, r * 8 * LANE_SPAN + i, ronchi_min_size(8, l->n - i),
                l->to + (ptrdiff_t)i * l->pitch + (ptrdiff_t)r * l->row_pitch);
}
