/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_symbols_avx512.c - counts become the symbols and raw bits of lane-rans-v1's steps, and escapes, with
 * AVX-512: two rows of 16 positions at a time.
 */
#include "codec/lane_rans_steps.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512cd,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512cd,popcnt")
#endif

#define INLINE static inline __attribute__((always_inline))

enum { PAIR = 2 * LANE_LANES, PAIRS = LANE_ROWS / 2 };

INLINE __m512i all(uint32_t v)
{
    return _mm512_set1_epi32((int)v);
}

INLINE __m512i load(const void *at)
{
    return _mm512_loadu_si512(at);
}

/* 16 bytes in every quarter. */
INLINE __m512i bytes(const uint8_t *table)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table));
}

/* Two rows of a stream, 16 positions each, to (row, next row) pairs of the lanes in reverse. */
INLINE __m512i pair_lanes(__m512i rows)
{
    static const uint16_t order[PAIR] = {15, 31, 14, 30, 13, 29, 12, 28, 11, 27, 10, 26, 9, 25, 8, 24,
                                         7,  23, 6,  22, 5,  21, 4,  20, 3,  19, 2,  18, 1, 17, 0, 16};
    return _mm512_permutexvar_epi16(load(order), rows);
}

/* ------------------------------------------------------------------------------------------ count and wide models */

/* Which rows of which lanes escape. */
typedef struct escapes {
    uint32_t rows[LANE_LANES];
    uint32_t any;
} escapes;

INLINE void note(escapes *e, uint32_t mask, size_t row)
{
    e->any |= mask;
    for (; mask; mask &= mask - 1) {
        unsigned i = (unsigned)__builtin_ctz(mask);
        e->rows[i % LANE_LANES] |= UINT32_C(1) << (row + i / LANE_LANES);
    }
}

static void put_escapes(const escapes *e, const uint16_t *counts, ronchi_lane_half *h)
{
    for (size_t lane = LANE_LANES; lane-- > 0;)
        for (uint32_t rows = e->rows[lane], row; rows; rows &= ~(UINT32_C(1) << row)) {
            row = 31u - (uint32_t)__builtin_clz(rows);
            ronchi_lane_put_escape(h, counts[row * LANE_LANES + lane]);
        }
}

/* Counts below every escape, a whole stream of them: they are their symbols. */
void ronchi_lane_easy_symbols_avx512(const uint16_t *counts, ronchi_lane_steps *out)
{
    for (size_t i = 0; i < PAIRS; i++)
        _mm512_store_si512(out->symbol[i],
                           _mm512_or_si512(pair_lanes(load(counts + PAIR * i)), _mm512_set1_epi16((short)0x8000)));
    out->n = PAIRS;
}

/* Pairs of rows (shift 0) or rows of n counts; what lies behind is the likeliest symbol.  Writes the escapes. */
void ronchi_lane_wide_symbols_avx512(const ronchi_lane_code *code, const uint16_t *counts, size_t n, unsigned shift,
                                     int32_t base, ronchi_lane_half *h, ronchi_lane_steps *out)
{
    const __m512i down = _mm512_set1_epi16((short)(base > 0 ? base : 0)), coded = bytes(code->coded);
    const __m512i up = _mm512_set1_epi16((short)(base < 0 ? -base : 0)), last = _mm512_set1_epi16(LANE_ESCAPE);
    const __m512i low = _mm512_set1_epi16((short)((1 << shift) - 1)), empty = _mm512_set1_epi16((short)0x8000);
    const size_t rows = ronchi_div_up(n, LANE_LANES);
    escapes e = {{0}, 0};
    for (size_t i = 0; PAIR * i < n; i++) {
        __mmask32 here = n - PAIR * i >= PAIR ? ~(__mmask32)0 : ((__mmask32)1 << (n - PAIR * i)) - 1;
        __m512i v = load(counts + PAIR * i);
        /* what saturates is an escape either way */
        __m512i d = _mm512_adds_epu16(_mm512_subs_epu16(v, down), up);
        __m512i k = _mm512_min_epu16(_mm512_srl_epi16(d, _mm_cvtsi32_si128((int)shift)), last);
        k = _mm512_mask_mov_epi16(k, _mm512_cmplt_epu16_mask(v, down), last);
        k = _mm512_shuffle_epi8(coded, _mm512_or_si512(k, empty));
        k = _mm512_mask_mov_epi16(_mm512_set1_epi16(code->largest), here, k);
        __mmask32 escape = _mm512_mask_cmpeq_epi16_mask(here, k, last);
        if (escape)
            note(&e, escape, 2 * i);
        k = pair_lanes(_mm512_or_si512(k, empty));
        if (shift == 0) {
            _mm512_store_si512(out->symbol[i], k);
            continue;
        }
        __m512i raw = pair_lanes(_mm512_maskz_mov_epi16(here & ~escape, _mm512_and_si512(d, low)));
        _mm512_store_si512(out->symbol[2 * i], k);
        _mm512_store_si512(out->symbol[2 * i + 1], _mm512_srli_epi32(k, 16));
        _mm512_store_si512(out->raw[2 * i], _mm512_and_si512(raw, all(0xffff)));
        _mm512_store_si512(out->raw[2 * i + 1], _mm512_srli_epi32(raw, 16));
    }
    out->n = shift ? rows : ronchi_div_up(rows, 2);
    if (e.any)
        put_escapes(&e, counts, h);
}

/* --------------------------------------------------------------------------------------------------- sparse groups */

/* Of each lane: the rows that are not 0, as bits, and the sum of all rows. */
typedef struct electrons {
    __m512i rows, total;
} electrons;

/* Up to 16 rows. */
INLINE electrons electrons_of(const uint16_t *counts, size_t rows)
{
    __m512i any = _mm512_setzero_si512(), sum = any;
#pragma GCC unroll 8
    for (size_t i = rows / 2; i-- > 0;) {
        __m512i v = load(counts + PAIR * i);
        sum = _mm512_add_epi16(sum, v);
        any = _mm512_or_si512(_mm512_slli_epi16(any, 2), _mm512_min_epu16(v, _mm512_set1_epi16(1)));
    }
    any = pair_lanes(any); /* even rows in even bits of the lower half, odd rows likewise in the upper half */
    electrons e = {_mm512_ternarylogic_epi32(any, all(0xffff), _mm512_srli_epi32(any, 15), 0xEA), /* (a & b) | c */
                   _mm512_madd_epi16(pair_lanes(sum), _mm512_set1_epi16(1))};
    return e;
}

/* Rows of three electrons of a lane, lowest first: too rare for vectors. */
static uint32_t three_rows(const uint16_t *counts, unsigned shift)
{
    uint32_t raw = 0, bits = 0;
    for (uint32_t row = 0; row < UINT32_C(1) << shift; row++)
        for (uint32_t k = counts[row * LANE_LANES]; k > 0; k--, bits += shift)
            raw |= row << bits;
    return raw;
}

static void put_group(ronchi_lane_half *h, unsigned shift, const uint16_t *counts)
{
    size_t rows = (size_t)1 << shift;
    uint64_t bits = 0;
    for (size_t row = rows; row-- > 0;) {
        uint32_t v = counts[row * LANE_LANES];
        bits |= (uint64_t)(v < 3 ? v : 3) << 2 * row;
        if (v >= 3)
            ronchi_lane_put_escape(h, v);
    }
    for (size_t i = ronchi_div_up(rows, 8); i-- > 0;)
        h->escapes[h->n_escapes++] = (uint16_t)(bits >> 16 * i);
}

/* Steps of a sparse pixel in groups of 2^shift rows.  Writes the escapes. */
INLINE void sparse_symbols(const ronchi_lane_code *code, const uint16_t *counts, size_t n, unsigned shift,
                           ronchi_lane_half *h, ronchi_lane_steps *out)
{
    const size_t rows = (size_t)1 << shift;
    escapes e = {{0}, 0};
    out->n = ronchi_div_up(ronchi_div_up(n, LANE_LANES), rows);
    for (size_t g = 0; g < out->n; g++) {
        const uint16_t *at = counts + g * rows * LANE_LANES;
        electrons have = electrons_of(at, rows < 16 ? rows : 16);
        if (rows == 32) {
            electrons more = electrons_of(at + 8 * PAIR, 16);
            have.rows = _mm512_or_si512(have.rows, _mm512_slli_epi32(more.rows, 16));
            have.total = _mm512_add_epi32(have.total, more.total);
        }
        __mmask16 escape = _mm512_cmpge_epu32_mask(have.total, all(code->top));
        __m512i k = _mm512_mask_mov_epi32(have.total, escape, all(LANE_ESCAPE));
        __m512i lowest = _mm512_and_si512(have.rows, _mm512_sub_epi32(_mm512_setzero_si512(), have.rows));
        __m512i first = _mm512_sub_epi32(all(31), _mm512_lzcnt_epi32(lowest));
        __m512i last = _mm512_sub_epi32(all(31), _mm512_lzcnt_epi32(have.rows));
        __m512i two = _mm512_or_si512(first, _mm512_slli_epi32(last, shift));
        __m512i raw = _mm512_maskz_mov_epi32(_mm512_cmpeq_epi32_mask(k, all(1)), first);
        raw = _mm512_mask_mov_epi32(raw, _mm512_cmpeq_epi32_mask(k, all(2)), two);
        _mm512_store_si512(out->symbol[g], k);
        _mm512_store_si512(out->raw[g], raw);
        for (uint32_t three = _mm512_cmpeq_epi32_mask(k, all(3)); three; three &= three - 1) {
            unsigned i = (unsigned)__builtin_ctz(three);
            out->raw[g][i] = three_rows(at + (LANE_LANES - 1 - i), shift);
        }
        for (uint32_t mask = escape; mask; mask &= mask - 1)
            e.rows[LANE_LANES - 1 - (unsigned)__builtin_ctz(mask)] |= UINT32_C(1) << g;
        e.any |= escape;
    }
    for (size_t lane = LANE_LANES; e.any && lane-- > 0;)
        for (size_t g = out->n; g-- > 0;)
            if (e.rows[lane] >> g & 1)
                put_group(h, shift, counts + g * rows * LANE_LANES + lane);
}

void ronchi_lane_sparse_symbols_avx512(const ronchi_lane_code *code, const uint16_t *counts, size_t n,
                                       ronchi_lane_half *h, ronchi_lane_steps *out)
{
    if (code->shift == 5)
        sparse_symbols(code, counts, n, 5, h, out);
    else if (code->shift == 4)
        sparse_symbols(code, counts, n, 4, h, out);
    else if (code->shift == 3)
        sparse_symbols(code, counts, n, 3, h, out);
    else if (code->shift == 2)
        sparse_symbols(code, counts, n, 2, h, out);
    else
        sparse_symbols(code, counts, n, 1, h, out);
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
