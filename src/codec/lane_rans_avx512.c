/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_avx512.c - streams of lane-rans-v1 with AVX-512 (F, BW, VL): one register is the 16 lanes of a stream.
 *
 * A table is two registers of 16 entries (own and alias pieces), so that no memory is gathered; a refill is one compare
 * and one expand.  The walk over pixels is lane_rans_walk.h's.
 */
#include "codec/lane_rans.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,popcnt")
#endif

#define INLINE static inline __attribute__((always_inline))

typedef __m512i vec;

typedef struct lanes {
    vec x;
    const uint16_t *words, *end;
} lanes;

typedef struct pieces {
    vec own, alias;
} pieces;

INLINE vec all(uint32_t v)
{
    return _mm512_set1_epi32((int)v);
}

INLINE vec load(const void *at)
{
    return _mm512_loadu_si512(at);
}

INLINE void store(void *at, vec v)
{
    _mm512_storeu_si512(at, v);
}

INLINE vec add(vec a, vec b)
{
    return _mm512_add_epi32(a, b);
}

INLINE vec both(vec a, vec b)
{
    return _mm512_and_si512(a, b);
}

INLINE vec either(vec a, vec b)
{
    return _mm512_or_si512(a, b);
}

INLINE vec down(vec v, unsigned by)
{
    return _mm512_srli_epi32(v, by);
}

INLINE vec up(vec v, unsigned by)
{
    return _mm512_slli_epi32(v, by);
}

/* Lanes of which a bit of 'bits' is set. */
INLINE uint16_t having(vec v, uint32_t bits)
{
    return _mm512_test_epi32_mask(v, all(bits));
}

INLINE uint16_t above(vec v, uint32_t limit)
{
    return _mm512_cmpgt_epu32_mask(v, all(limit));
}

INLINE pieces pieces_of(const ronchi_lane_table *t)
{
    return (pieces){load(t->own), load(t->alias)};
}

/*
 * Decodes one symbol a lane and returns the entries.  With y = x / 256 and g = 256 - f the new state f y + rank is
 * x - g y + (rank - slot).  g y is put together from products of 16 bits, which take half as long as one of 32.
 */
INLINE vec symbol(lanes *s, pieces t)
{
    const vec twice = _mm512_broadcast_i32x4(_mm_setr_epi8(1, -1, 1, -1, 5, -1, 5, -1, 9, -1, 9, -1, 13, -1, 13, -1));
    const vec x = s->x, bucket = down(x, 4); /* of which the lowest 4 bits count */
    vec e = _mm512_permutexvar_epi32(bucket, t.own);
    const __mmask16 other = _mm512_cmpgt_epu32_mask(up(x, 28), e);
    e = _mm512_mask_permutexvar_epi32(e, other, bucket, t.alias);
    const vec g = _mm512_shuffle_epi8(e, twice), adjust = _mm512_srai_epi32(up(e, 4), 20);
    const vec low = _mm512_mullo_epi16(g, down(x, 8));
    const vec high = _mm512_maskz_mulhi_epu16(UINT32_C(0xaaaaaaaa), g, up(x, 8));
    s->x = _mm512_sub_epi32(_mm512_sub_epi32(add(x, adjust), low), high);
    return e;
}

INLINE void refill(const ronchi_lane_tables *tables, lanes *s)
{
    (void)tables;
    __mmask16 need = _mm512_cmplt_epu32_mask(s->x, all(LANE_STATE));
    vec words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)s->words));
    words = _mm512_maskz_expand_epi32(need, words);
    s->x = _mm512_mask_or_epi32(s->x, need, up(s->x, 16), words);
    s->words += _mm_popcnt_u32(need);
}

/* Two rows of 16 values that fit 16 bits, in order. */
INLINE void put_rows(uint16_t *to, vec a, vec b)
{
    const vec order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    store(to, _mm512_permutexvar_epi64(order, _mm512_packus_epi32(a, b)));
}

INLINE void put_row(uint16_t *to, vec v)
{
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtepi32_epi16(v));
}

/* The codes of two entries, in the halves of each lane. */
INLINE vec two_codes(vec e, vec f)
{
    const vec third =
        _mm512_broadcast_i32x4(_mm_setr_epi8(-1, -1, 0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1, 12, -1));
    return _mm512_mask_shuffle_epi8(both(e, all(255)), UINT64_C(0x4444444444444444), f, third);
}

/* Lane by lane table[code]: 16 entries, of which the first 4 and the last are asked for. */
INLINE vec pick(vec e, const uint32_t *table)
{
    return _mm512_permutexvar_epi32(e, load(table));
}

INLINE vec shift_up(vec v, unsigned by)
{
    return _mm512_sll_epi32(v, _mm_cvtsi32_si128((int)by));
}

INLINE vec shift_down(vec v, unsigned by)
{
    return _mm512_srl_epi32(v, _mm_cvtsi32_si128((int)by));
}

INLINE vec shift_each(vec v, vec by)
{
    return _mm512_sllv_epi32(v, by);
}

/* Raw bits of a group's electrons leave the state. */
INLINE vec drop(vec x, vec e, const uint32_t *bits)
{
    return _mm512_srlv_epi32(x, pick(e, bits));
}

/* Raw bits of a count leave the state, but where it escaped. */
INLINE vec drop_raw(vec x, vec e, unsigned shift)
{
    const __mmask16 in = _mm512_testn_epi32_mask(e, all(LANE_CODE_ESCAPE & ~LANE_ESCAPE));
    return _mm512_mask_srl_epi32(x, in, x, _mm_cvtsi32_si128((int)shift));
}

/* v, and 0 where e has a bit of 'bits'. */
INLINE vec unless(vec e, uint32_t bits, vec v)
{
    return _mm512_maskz_mov_epi32(_mm512_testn_epi32_mask(e, all(bits)), v);
}

/* Lanes of a row of counts above 'limit'. */
INLINE uint16_t codes_above(const uint16_t *counts, uint16_t limit)
{
    return _mm256_cmpgt_epu16_mask(_mm256_loadu_si256((const __m256i *)(const void *)counts),
                                   _mm256_set1_epi16((short)limit));
}

/*
 * Appends the positions of a group's electrons to a list, whole registers of which the first are meant, and returns how
 * many.  Those of lanes that escaped may be anywhere in the group: it is written anew.
 */
INLINE size_t list_electrons(uint32_t *list, vec e, vec raw, unsigned shift, uint32_t first)
{
    const vec low = all((1u << shift) - 1);
    const vec lane = add(all(first), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __mmask16 one = having(e, 31), two = having(e, 2), three = _mm512_mask_test_epi32_mask(two, e, all(1));
    const size_t n = (size_t)_mm_popcnt_u32(one), m = n + (size_t)_mm_popcnt_u32(two);
    store(list, _mm512_maskz_compress_epi32(one, add(up(both(raw, low), 4), lane)));
    store(list + n, _mm512_maskz_compress_epi32(two, add(up(both(down(raw, shift), low), 4), lane)));
    if (!three)
        return m;
    store(list + m, _mm512_maskz_compress_epi32(three, add(up(both(down(raw, 2 * shift), low), 4), lane)));
    return m + (size_t)_mm_popcnt_u32(three);
}

#include "codec/lane_rans_walk.h"

const char *ronchi_lane_decode16_avx512(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first,
                                        size_t n, size_t stop_pixel, uint32_t largest, uint16_t *out)
{
    return decode16(tables, brick, first, n, stop_pixel, largest, out);
}

const char *ronchi_lane_tiles_avx512(const ronchi_lane_tables *tables, const ronchi_lane_brick *const *bricks, size_t n,
                                     size_t stream, const size_t *stop, uint32_t largest, uint16_t *const *out)
{
    return decode_tiles(tables, bricks, n, stream, stop, largest, out);
}

const char *ronchi_lane_sum_avx512(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first,
                                   size_t n, uint64_t take, uint32_t largest, uint16_t *scratch, uint32_t *sums_out)
{
    return sum(tables, brick, first, n, take, largest, scratch, sums_out);
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
