/* SPDX-License-Identifier: MIT */
/* lane_rans_lines_avx512.c - whole cache lines of frames, each from one register. */
#include "codec/lane_rans.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))
#define INLINE __attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) static inline

INLINE __m128i eight(const uint16_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* 8 positions of pixel i of four rows of 8 pixels. */
INLINE __m512i pixel(const uint16_t *const *from, size_t at)
{
    __m512i v = _mm512_castsi128_si512(eight(from[0] + at));
    v = _mm512_inserti32x4(v, eight(from[1] + at), 1);
    v = _mm512_inserti32x4(v, eight(from[2] + at), 2);
    return _mm512_inserti32x4(v, eight(from[3] + at), 3);
}

/* v[i]: the line of position i. */
INLINE void square(const uint16_t *const *from, size_t offset, __m512i v[8])
{
    __m512i a[8], b[8];
    for (size_t i = 0; i < 8; i++)
        a[i] = pixel(from, offset + i * LANE_SPAN);
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm512_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm512_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        a[4 * i] = _mm512_unpacklo_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 1] = _mm512_unpackhi_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 2] = _mm512_unpacklo_epi32(b[4 * i + 1], b[4 * i + 3]);
        a[4 * i + 3] = _mm512_unpackhi_epi32(b[4 * i + 1], b[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        v[2 * i] = _mm512_unpacklo_epi64(a[i], a[i + 4]);
        v[2 * i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 4]);
    }
}

INLINE void put(__m512i v, char *to, bool past)
{
    if (past)
        _mm512_stream_si512((__m512i *)(void *)to, v);
    else
        _mm512_storeu_si512(to, v);
}

TARGET void ronchi_lane_lines_avx512(const ronchi_lane_lines *l)
{
    if (l->width < LANE_ABREAST) {
        ronchi_lane_lines_c(l);
        return;
    }
    for (size_t r = 0; r < l->rows; r++)
        for (size_t i = 0; i < l->n; i += 8) {
            char *to = l->to + (ptrdiff_t)i * l->pitch + (ptrdiff_t)r * l->row_pitch;
            __m512i v[8];
            square(l->from, r * 8 * LANE_SPAN + i, v);
            for (size_t k = 0; k < 8 && k < l->n - i; k++)
                put(v[k], to + (ptrdiff_t)k * l->pitch, l->past);
        }
}

#endif
