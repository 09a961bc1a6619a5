/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_avx2.c - streams of lane-rans-v1 with AVX2: two registers are the 16 lanes of a stream.
 *
 * A table of 16 entries is two registers of 8; a refill spreads the next words with a shuffle that a table has for each
 * pattern of lanes in need.  The walk over pixels is lane_rans_walk.h's.
 */
#include "codec/lane_rans.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,popcnt")
#endif

#define INLINE static inline __attribute__((always_inline))

/* Lanes 0..7 and 8..15. */
typedef struct vec {
    __m256i a, b;
} vec;

typedef struct lanes {
    vec x;
    const uint16_t *words, *end;
} lanes;

/* Tables of 16 entries; the highest bit of 'own' is turned over, so that signed comparisons do. */
typedef struct pieces {
    vec own, alias;
} pieces;

INLINE __m256i eight(uint32_t v)
{
    return _mm256_set1_epi32((int)v);
}

INLINE vec all(uint32_t v)
{
    return (vec){eight(v), eight(v)};
}

INLINE vec load(const void *at)
{
    return (vec){_mm256_loadu_si256(at), _mm256_loadu_si256((const __m256i *)at + 1)};
}

INLINE void store(void *at, vec v)
{
    _mm256_storeu_si256(at, v.a);
    _mm256_storeu_si256((__m256i *)at + 1, v.b);
}

INLINE vec add(vec a, vec b)
{
    return (vec){_mm256_add_epi32(a.a, b.a), _mm256_add_epi32(a.b, b.b)};
}

INLINE vec both(vec a, vec b)
{
    return (vec){_mm256_and_si256(a.a, b.a), _mm256_and_si256(a.b, b.b)};
}

INLINE vec either(vec a, vec b)
{
    return (vec){_mm256_or_si256(a.a, b.a), _mm256_or_si256(a.b, b.b)};
}

INLINE vec down(vec v, unsigned by)
{
    return (vec){_mm256_srli_epi32(v.a, (int)by), _mm256_srli_epi32(v.b, (int)by)};
}

INLINE vec up(vec v, unsigned by)
{
    return (vec){_mm256_slli_epi32(v.a, (int)by), _mm256_slli_epi32(v.b, (int)by)};
}

INLINE uint16_t mask_of(__m256i a, __m256i b)
{
    return (uint16_t)(_mm256_movemask_ps(_mm256_castsi256_ps(a)) | _mm256_movemask_ps(_mm256_castsi256_ps(b)) << 8);
}

/* All ones in lanes that have none of 'bits'. */
INLINE __m256i lacking(__m256i v, uint32_t bits)
{
    return _mm256_cmpeq_epi32(_mm256_and_si256(v, eight(bits)), _mm256_setzero_si256());
}

/* Lanes of which a bit of 'bits' is set. */
INLINE uint16_t having(vec v, uint32_t bits)
{
    return (uint16_t)~mask_of(lacking(v.a, bits), lacking(v.b, bits));
}

INLINE uint16_t above(vec v, uint32_t limit)
{
    const __m256i turn = eight(UINT32_C(1) << 31), most = eight(limit ^ UINT32_C(1) << 31);
    return mask_of(_mm256_cmpgt_epi32(_mm256_xor_si256(v.a, turn), most),
                   _mm256_cmpgt_epi32(_mm256_xor_si256(v.b, turn), most));
}

INLINE pieces pieces_of(const ronchi_lane_table *t)
{
    const __m256i turn = eight(UINT32_C(1) << 31);
    pieces p = {load(t->own), load(t->alias)};
    p.own.a = _mm256_xor_si256(p.own.a, turn);
    p.own.b = _mm256_xor_si256(p.own.b, turn);
    return p;
}

/* Entries of a table by bits 4 to 7 of x. */
INLINE __m256i entry(vec table, __m256i bucket, __m256i high)
{
    const __m256i a = _mm256_permutevar8x32_epi32(table.a, bucket), b = _mm256_permutevar8x32_epi32(table.b, bucket);
    return _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(high)));
}

/* As in lane_rans_avx512.c, with products of 32 bits. */
INLINE __m256i half_symbol(__m256i *x, pieces t)
{
    const __m256i second = _mm256_setr_epi8(1, -1, -1, -1, 5, -1, -1, -1, 9, -1, -1, -1, 13, -1, -1, -1, 1, -1, -1, -1,
                                            5, -1, -1, -1, 9, -1, -1, -1, 13, -1, -1, -1);
    const __m256i bucket = _mm256_srli_epi32(*x, 4), high = _mm256_slli_epi32(*x, 24);
    const __m256i own = entry(t.own, bucket, high), alias = entry(t.alias, bucket, high);
    const __m256i slot = _mm256_xor_si256(_mm256_slli_epi32(*x, 28), eight(UINT32_C(1) << 31));
    const __m256i e = _mm256_blendv_epi8(own, alias, _mm256_cmpgt_epi32(slot, own));
    const __m256i g = _mm256_shuffle_epi8(e, second), adjust = _mm256_srai_epi32(_mm256_slli_epi32(e, 4), 20);
    *x = _mm256_sub_epi32(_mm256_add_epi32(*x, adjust), _mm256_mullo_epi32(g, _mm256_srli_epi32(*x, 8)));
    return e;
}

INLINE vec symbol(lanes *s, pieces t)
{
    const __m256i a = half_symbol(&s->x.a, t);
    return (vec){a, half_symbol(&s->x.b, t)};
}

INLINE __m256i half_refill(const ronchi_lane_tables *tables, __m256i x, const uint16_t **words)
{
    const __m256i need = _mm256_cmpeq_epi32(_mm256_srli_epi32(x, 16), _mm256_setzero_si256());
    const unsigned lanes_in_need = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(need));
    const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)tables->expand[lanes_in_need]);
    const __m128i next = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)*words), order);
    *words += _mm_popcnt_u32(lanes_in_need);
    return _mm256_or_si256(_mm256_sllv_epi32(x, _mm256_and_si256(need, eight(16))), _mm256_cvtepu16_epi32(next));
}

INLINE void refill(const ronchi_lane_tables *tables, lanes *s)
{
    s->x.a = half_refill(tables, s->x.a, &s->words);
    s->x.b = half_refill(tables, s->x.b, &s->words);
}

/* A row of 16 values of which the lower 16 bits are meant. */
INLINE void put_row(uint16_t *to, vec v)
{
    const __m256i low = eight(UINT16_MAX);
    const __m256i both_halves = _mm256_packus_epi32(_mm256_and_si256(v.a, low), _mm256_and_si256(v.b, low));
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permute4x64_epi64(both_halves, 0xD8));
}

/* Two rows of 16 values that fit 16 bits, in order. */
INLINE void put_rows(uint16_t *to, vec a, vec b)
{
    put_row(to, a);
    put_row(to + LANE_LANES, b);
}

/* The codes of two entries, in the halves of each lane. */
INLINE vec two_codes(vec e, vec f)
{
    return either(both(e, all(255)), up(both(f, all(255)), 16));
}

/* Lane by lane table[code], for codes 0..3 and, as entry 7, that of an escape. */
INLINE vec pick(vec e, const uint32_t *table)
{
    const __m256i t = _mm256_loadu_si256((const __m256i *)(const void *)table);
    return (vec){_mm256_permutevar8x32_epi32(t, e.a), _mm256_permutevar8x32_epi32(t, e.b)};
}

INLINE vec shift_up(vec v, unsigned by)
{
    const __m128i n = _mm_cvtsi32_si128((int)by);
    return (vec){_mm256_sll_epi32(v.a, n), _mm256_sll_epi32(v.b, n)};
}

INLINE vec shift_down(vec v, unsigned by)
{
    const __m128i n = _mm_cvtsi32_si128((int)by);
    return (vec){_mm256_srl_epi32(v.a, n), _mm256_srl_epi32(v.b, n)};
}

INLINE vec shift_each(vec v, vec by)
{
    return (vec){_mm256_sllv_epi32(v.a, by.a), _mm256_sllv_epi32(v.b, by.b)};
}

/* Raw bits of a group's electrons leave the state. */
INLINE vec drop(vec x, vec e, const uint32_t *bits)
{
    const vec by = pick(e, bits);
    return (vec){_mm256_srlv_epi32(x.a, by.a), _mm256_srlv_epi32(x.b, by.b)};
}

/* v, and 0 where e has a bit of 'bits'. */
INLINE vec unless(vec e, uint32_t bits, vec v)
{
    return (vec){_mm256_and_si256(v.a, lacking(e.a, bits)), _mm256_and_si256(v.b, lacking(e.b, bits))};
}

/* Raw bits of a count leave the state, but where it escaped. */
INLINE vec drop_raw(vec x, vec e, unsigned shift)
{
    const vec by = unless(e, LANE_CODE_ESCAPE & ~LANE_ESCAPE, all(shift));
    return (vec){_mm256_srlv_epi32(x.a, by.a), _mm256_srlv_epi32(x.b, by.b)};
}

/* Lanes of a row of codes above 'limit'. */
INLINE uint16_t codes_above(const uint16_t *codes, uint16_t limit)
{
    const __m128i *at = (const __m128i *)(const void *)codes, most = _mm_set1_epi16((short)limit);
    return (uint16_t)_mm_movemask_epi8(
        _mm_packs_epi16(_mm_cmpgt_epi16(_mm_loadu_si128(at), most), _mm_cmpgt_epi16(_mm_loadu_si128(at + 1), most)));
}

/* Appends the positions of a group's electrons to a list and returns how many. */
INLINE size_t list_electrons(uint32_t *list, vec e, vec raw, unsigned shift, uint32_t first)
{
    uint32_t code[LANE_LANES], bits[LANE_LANES];
    unsigned some = having(e, LANE_ESCAPE) & (unsigned)(uint16_t)~having(e, LANE_CODE_ESCAPE & ~LANE_ESCAPE);
    size_t n = 0;
    if (!some)
        return 0;
    store(code, both(e, all(3)));
    store(bits, raw);
    for (; some; some &= some - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(some);
        uint32_t left = bits[lane];
        for (uint32_t k = code[lane]; k > 0; k--, left >>= shift)
            list[n++] = first + (left & ((1u << shift) - 1)) * LANE_LANES + lane;
    }
    return n;
}

#include "codec/lane_rans_walk.h"

const char *ronchi_lane_decode16_avx2(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first,
                                      size_t n, size_t stop_pixel, uint32_t largest, uint16_t *out)
{
    return decode16(tables, brick, first, n, stop_pixel, largest, out);
}

const char *ronchi_lane_tiles_avx2(const ronchi_lane_tables *tables, const ronchi_lane_brick *const *bricks, size_t n,
                                   size_t stream, const size_t *stop, uint32_t largest, uint16_t *const *out)
{
    return decode_tiles(tables, bricks, n, stream, stop, largest, out);
}

const char *ronchi_lane_sum_avx2(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first,
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
