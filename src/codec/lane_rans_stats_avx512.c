/* SPDX-License-Identifier: MIT */
/* lane_rans_stats_avx512.c - the statistics by which models are chosen, 32 counts at a time. */
#include "codec/lane_rans_encode.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx512f,avx512bw")))
#define INLINE __attribute__((target("avx512f,avx512bw"), always_inline)) static inline

enum {
    AT_A_TIME = 32,
    EASY = 2047 /* 1,024 counts of at most this: 32 to a lane of 16 bits, their squares to one of 32 */
};

/* Lanes that lie before the end. */
INLINE __mmask32 live(size_t left)
{
    return left >= AT_A_TIME ? ~(__mmask32)0 : ((__mmask32)1 << left) - 1;
}

/* Sum of unsigned 16-bit lanes. */
INLINE uint32_t sum_lanes(__m512i v)
{
    __m512i low = _mm512_and_si512(v, _mm512_set1_epi32(0xffff));
    return (uint32_t)_mm512_reduce_add_epi32(_mm512_add_epi32(low, _mm512_srli_epi32(v, 16)));
}

INLINE uint32_t half_max(__m512i v)
{
    return (uint32_t)_mm512_reduce_max_epu32(
        _mm512_max_epu32(_mm512_and_si512(v, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32(v, 16)));
}

INLINE uint32_t half_min(__m512i v)
{
    return (uint32_t)_mm512_reduce_min_epu32(
        _mm512_min_epu32(_mm512_and_si512(v, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32(v, 16)));
}

TARGET void ronchi_lane_stats_avx512(const uint16_t *counts, size_t n, ronchi_lane_stats *out)
{
    __m512i least = _mm512_set1_epi16(-1), most = _mm512_setzero_si512(), sum = _mm512_setzero_si512(), squares = sum;
    for (size_t i = 0; i < n; i += AT_A_TIME) {
        __mmask32 here = live(n - i);
        __m512i v = _mm512_maskz_loadu_epi16(here, counts + i);
        least = _mm512_mask_min_epu16(least, here, least, v);
        most = _mm512_max_epu16(most, v);
        sum = _mm512_add_epi16(sum, v);
    }
    uint32_t high = half_max(most), low = half_min(least);
    if (high > EASY) { /* sums would not fit */
        ronchi_lane_stats_c(counts, n, out);
        return;
    }
    memset(out, 0, sizeof *out);
    out->low = low;
    out->high = high;
    out->sum = sum_lanes(sum);
    if (10 * out->sum < n) /* sparse models do not ask for the others */
        return;
    for (size_t i = 0; i < n; i += AT_A_TIME) {
        __mmask32 here = live(n - i);
        __m512i v = _mm512_maskz_loadu_epi16(here, counts + i);
        __m512i d = _mm512_maskz_sub_epi16(here, v, _mm512_set1_epi16((short)low));
        squares = _mm512_add_epi32(squares, _mm512_madd_epi16(d, d));
    }
    /* the sum of 16 lanes: up to 1,024 * 2,047^2 */
    out->sum_low = out->sum - (uint64_t)low * n;
    out->sum_low2 = (uint32_t)_mm512_reduce_add_epi32(squares);
}

#endif
