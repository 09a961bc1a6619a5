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

/* Least of unsigned 16-bit lanes. */
INLINE uint32_t least_lane(__m512i v)
{
    __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return (uint32_t)_mm_cvtsi128_si32(_mm_minpos_epu16(quarter)) & 0xffff;
}

/* Sum of 32-bit lanes. */
INLINE uint32_t sum_lanes(__m512i v)
{
    __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i quarter = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    quarter = _mm_add_epi32(quarter, _mm_shuffle_epi32(quarter, 0x4E));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32(quarter, 0xB1)));
}

typedef struct totals {
    __m512i least, most, sum;
} totals;

INLINE void add(totals *t, __m512i v, __m512i v_or_most)
{
    t->least = _mm512_min_epu16(t->least, v_or_most);
    t->most = _mm512_max_epu16(t->most, v);
    t->sum = _mm512_add_epi16(t->sum, v);
}

TARGET void ronchi_lane_stats_avx512(const uint16_t *counts, size_t n, ronchi_lane_stats *out)
{
    const __m512i most = _mm512_set1_epi16(-1);
    const size_t whole = n / AT_A_TIME * AT_A_TIME;
    const __mmask32 rest = ((__mmask32)1 << (n - whole)) - 1; /* lanes of the last, cut step */
    totals t = {most, _mm512_setzero_si512(), _mm512_setzero_si512()};
    __m512i cut = _mm512_setzero_si512();
    for (size_t i = 0; i < whole; i += AT_A_TIME) {
        __m512i v = _mm512_loadu_si512(counts + i);
        add(&t, v, v);
    }
    if (rest) {
        cut = _mm512_maskz_loadu_epi16(rest, counts + whole);
        add(&t, cut, _mm512_mask_mov_epi16(most, rest, cut));
    }
    uint32_t high = 0xffff - least_lane(_mm512_xor_si512(t.most, most)), low = least_lane(t.least);
    if (high > EASY) { /* sums would not fit */
        ronchi_lane_stats_c(counts, n, out);
        return;
    }
    memset(out, 0, sizeof *out);
    out->low = low;
    out->high = high;
    out->sum =
        sum_lanes(_mm512_add_epi32(_mm512_and_si512(t.sum, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32(t.sum, 16)));
    if (10 * out->sum < n) /* sparse models do not ask for the others */
        return;
    __m512i squares = _mm512_madd_epi16(cut, cut);
    for (size_t i = 0; i < whole; i += AT_A_TIME) {
        __m512i v = _mm512_loadu_si512(counts + i);
        squares = _mm512_add_epi32(squares, _mm512_madd_epi16(v, v));
    }
    /* sums over v become sums over v - low; 1,024 * 2,047^2 fits 32 bits */
    out->sum_low = out->sum - (uint64_t)low * n;
    out->sum_low2 = sum_lanes(squares) + (uint64_t)low * low * n - 2 * (uint64_t)low * out->sum;
}

#endif
