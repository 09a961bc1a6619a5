/* SPDX-License-Identifier: MIT */
/*
 * sum_kernels.c - adding planes of sums, and decoded counts to several planes at once.  Plain loops, which the compiler
 * makes vectors of, and for AVX-512 one that keeps the sums of four planes in registers.
 */
#include "codec/sum_kernels.h"

#include "codec/lane_rans.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

INLINE void add_sums(const void *from, size_t bytes, size_t n, uint32_t *restrict sums)
{
    const uint8_t *u8 = from;
    const uint16_t *u16 = from;
    const uint32_t *u32 = from;
    for (size_t i = 0; bytes == 1 && i < n; i++)
        sums[i] += u8[i];
    for (size_t i = 0; bytes == 2 && i < n; i++)
        sums[i] += u16[i];
    for (size_t i = 0; bytes == 4 && i < n; i++)
        sums[i] += u32[i];
}

INLINE void weigh_planes(const uint16_t *counts, const uint8_t *pixels, size_t n_pixels, size_t n,
                         const uint16_t *weights, size_t n_planes, uint32_t *restrict sums)
{
    for (size_t k = 0; k < n_planes; k++)
        for (size_t j = 0; j < n_pixels; j++) {
            const uint16_t *from = counts + (size_t)pixels[j] * LANE_SPAN;
            const uint32_t weight = weights[k * LANE_TILE + j];
            for (size_t i = 0; weight && i < n; i++)
                sums[k * LANE_SPAN + i] += weight * from[i];
        }
}

void ronchi_weigh_planes_c(const uint16_t *counts, const uint8_t *pixels, size_t n_pixels, size_t n,
                           const uint16_t *weights, size_t n_planes, uint32_t *sums)
{
    weigh_planes(counts, pixels, n_pixels, n, weights, n_planes, sums);
}

void ronchi_add_sums_c(const void *from, size_t bytes, size_t n, uint32_t *sums)
{
    add_sums(from, bytes, n, sums);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) void ronchi_weigh_planes_avx2(const uint16_t *counts, const uint8_t *pixels,
                                                              size_t n_pixels, size_t n, const uint16_t *weights,
                                                              size_t n_planes, uint32_t *sums)
{
    weigh_planes(counts, pixels, n_pixels, n, weights, n_planes, sums);
}

__attribute__((target("avx2"))) void ronchi_add_sums_avx2(const void *from, size_t bytes, size_t n, uint32_t *sums)
{
    add_sums(from, bytes, n, sums);
}

#define AVX512        __attribute__((target("avx512f,avx512bw")))
#define AVX512_INLINE __attribute__((target("avx512f,avx512bw"), always_inline)) static inline

enum { TOGETHER = 4, BLOCK = 32 /* counts of a register */ };

/*
 * 32 positions of n planes (n constant).  Two pixels side by side in 16-bit halves, so that one instruction multiplies
 * and adds both.  It takes signed numbers: counts less 32768, which 32768 times the sum of the weights makes good.
 */
AVX512_INLINE void weigh_block(const uint16_t *counts, const uint8_t *pixels, size_t n_pixels, const uint32_t *pairs,
                               size_t n, const uint32_t *bias, uint32_t *sums)
{
    const __m512i half = _mm512_set1_epi16((short)0x8000);
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    __m512i low[TOGETHER], high[TOGETHER];
    for (size_t k = 0; k < n; k++)
        low[k] = high[k] = _mm512_set1_epi32((int)bias[k]);
    for (size_t j = 0; j < n_pixels; j += 2) {
        const size_t next = j + 1 < n_pixels ? pixels[j + 1] : pixels[j];
        const __m512i a = _mm512_xor_si512(_mm512_loadu_si512(counts + (size_t)pixels[j] * LANE_SPAN), half);
        const __m512i b = _mm512_xor_si512(_mm512_loadu_si512(counts + next * LANE_SPAN), half);
        const __m512i ab_low = _mm512_unpacklo_epi16(a, b), ab_high = _mm512_unpackhi_epi16(a, b);
        for (size_t k = 0; k < n; k++) {
            const __m512i w = _mm512_set1_epi32((int)pairs[j / 2 * TOGETHER + k]);
            low[k] = _mm512_add_epi32(low[k], _mm512_madd_epi16(ab_low, w));
            high[k] = _mm512_add_epi32(high[k], _mm512_madd_epi16(ab_high, w));
        }
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t *to = sums + k * LANE_SPAN;
        __m512i x = _mm512_permutex2var_epi64(low[k], first, high[k]);
        __m512i y = _mm512_permutex2var_epi64(low[k], second, high[k]);
        _mm512_storeu_si512(to, _mm512_add_epi32(_mm512_loadu_si512(to), x));
        _mm512_storeu_si512(to + BLOCK / 2, _mm512_add_epi32(_mm512_loadu_si512(to + BLOCK / 2), y));
    }
}

/* Up to four planes. */
AVX512 static void weigh_some(const uint16_t *counts, const uint8_t *pixels, size_t n_pixels, size_t n,
                              const uint16_t *weights, size_t n_planes, uint32_t *sums)
{
    uint32_t pairs[LANE_TILE / 2 * TOGETHER] = {0}, bias[TOGETHER] = {0};
    for (size_t k = 0; k < n_planes; k++)
        for (size_t j = 0; j < n_pixels; j++) {
            pairs[j / 2 * TOGETHER + k] |= (uint32_t)weights[k * LANE_TILE + j] << 16 * (j % 2);
            bias[k] += (uint32_t)weights[k * LANE_TILE + j] << 15;
        }
    for (size_t i = 0; i < n; i += BLOCK)
        switch (n_planes) {
        case 1:
            weigh_block(counts + i, pixels, n_pixels, pairs, 1, bias, sums + i);
            break;
        case 2:
            weigh_block(counts + i, pixels, n_pixels, pairs, 2, bias, sums + i);
            break;
        case 3:
            weigh_block(counts + i, pixels, n_pixels, pairs, 3, bias, sums + i);
            break;
        default:
            weigh_block(counts + i, pixels, n_pixels, pairs, 4, bias, sums + i);
        }
}

void ronchi_weigh_planes_avx512(const uint16_t *counts, const uint8_t *pixels, size_t n_pixels, size_t n,
                                const uint16_t *weights, size_t n_planes, uint32_t *sums)
{
    for (size_t k = 0; k < n_planes; k += TOGETHER)
        weigh_some(counts, pixels, n_pixels, n, weights + k * LANE_TILE,
                   n_planes - k < TOGETHER ? n_planes - k : TOGETHER, sums + k * LANE_SPAN);
}
#endif
