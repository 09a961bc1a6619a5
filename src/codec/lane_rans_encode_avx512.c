/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode_avx512.c - streams of lane-rans-v1 written with AVX-512: one register is the 16 lanes of a stream.
 *
 * Lanes stand in reverse, lane 15 in element 0, and words grow up: then the words of a step are one compress and one
 * store, and the stream is the buffer read backwards.  All tables are 16 dwords or bytes in a register; the slot of a
 * symbol and rank is looked up among 256 bytes in four.  Two streams run side by side, as each is one long chain.
 */
#include "codec/lane_rans_steps.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512cd,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512cd,popcnt")
#endif

#define INLINE static inline __attribute__((always_inline))

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

/* One stream while it is written. */
typedef struct lanes {
    __m512i x;
    uint16_t *to;
} lanes;

/* ------------------------------------------------------------------------------------------------------- one step */

/* Where x has no room for a step's symbols its low words go out. */
INLINE void make_room(lanes *s, __mmask16 full, __m512i upper)
{
    __m512i words = _mm512_maskz_compress_epi32(full, s->x);
    _mm256_storeu_si256((__m256i *)(void *)s->to, _mm512_cvtepi32_epi16(words));
    s->to += _mm_popcnt_u32(full);
    s->x = _mm512_mask_mov_epi32(s->x, full, upper);
}

typedef struct places {
    __m512i quarter[4];
} places;

INLINE places places_of(const ronchi_lane_code *code)
{
    places p;
    for (size_t i = 0; i < 4; i++)
        p.quarter[i] = load(code->place + 64 * i);
    return p;
}

/*
 * x = x / f * 256 + place[first + x mod f].  The quotient is the upper half of a product of 32 bits each, see
 * fill_division(); rotating instead of shifting leaves what is shifted out in bits 25..31, which nobody looks at.  Only
 * the low 8 bits of rank and index matter, so f and first may have anything in their upper halves.
 */
INLINE __m512i push(__m512i x, __m512i bump, __m512i inverse, __m512i rotate, __m512i f, __m512i first,
                    const places *place)
{
    __m512i y = _mm512_add_epi32(x, bump);
    __m512i even = _mm512_mul_epu32(y, inverse);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(y, 32), _mm512_srli_epi64(inverse, 32));
    __m512i upper = _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xF5);
    __m512i q = _mm512_rorv_epi32(upper, rotate);
    __m512i index = _mm512_sub_epi16(_mm512_add_epi16(x, first), _mm512_mullo_epi16(q, f));
    __m512i dword = _mm512_srli_epi32(index, 2);
    __m512i slots = _mm512_mask_mov_epi32(_mm512_permutex2var_epi32(place->quarter[0], dword, place->quarter[1]),
                                          _mm512_test_epi32_mask(index, all(128)),
                                          _mm512_permutex2var_epi32(place->quarter[2], dword, place->quarter[3]));
    slots = _mm512_rorv_epi32(slots, _mm512_slli_epi32(index, 3));
    return _mm512_ternarylogic_epi32(_mm512_slli_epi32(q, 8), slots, all(255), 0xF8); /* a | (b & c) */
}

/* ------------------------------------------------------------------------------------- two symbols in every lane */

typedef struct pair_model {
    __m512i f, first; /* bytes */
    __m512i inverse, rotate, bump;
    places place;
} pair_model;

INLINE __m512i bump_of(const pair_model *m, __m512i symbol, bool even)
{
    return even ? all(1) : _mm512_permutexvar_epi32(symbol, m->bump);
}

/* 'symbols' has 128 in the upper byte of each half, for which tables of bytes give 0. */
INLINE void pair_step(lanes *s, const void *symbols, const pair_model *m, bool even)
{
    __m512i a = load(symbols), b = _mm512_srli_epi32(a, 16);
    __m512i f = _mm512_shuffle_epi8(m->f, a), f_b = _mm512_srli_epi32(f, 16);
    __m512i first = _mm512_shuffle_epi8(m->first, a);
    __m512i upper = _mm512_srli_epi32(s->x, 16);
    make_room(s, _mm512_cmpge_epu32_mask(upper, _mm512_madd_epi16(f, f_b)), upper); /* f of a times f of b */
    __m512i x = push(s->x, bump_of(m, b, even), _mm512_permutexvar_epi32(b, m->inverse),
                     _mm512_permutexvar_epi32(b, m->rotate), f_b, _mm512_srli_epi32(first, 16), &m->place);
    s->x = push(x, bump_of(m, a, even), _mm512_permutexvar_epi32(a, m->inverse), _mm512_permutexvar_epi32(a, m->rotate),
                f, first, &m->place);
}

INLINE void pair_steps(const ronchi_lane_code *code, lanes s[LANE_STREAMS], const ronchi_lane_steps todo[LANE_STREAMS],
                       bool even)
{
    pair_model m = {bytes(code->frequency), bytes(code->first), load(code->inverse),
                    load(code->rotate),     load(code->bump),   places_of(code)};
    lanes s0 = s[0], s1 = s[1];
    size_t i = todo[0].n;
    for (; i > todo[1].n; i--)
        pair_step(&s0, todo[0].symbol[i - 1], &m, even);
    for (; i > 0; i--) {
        pair_step(&s0, todo[0].symbol[i - 1], &m, even);
        pair_step(&s1, todo[1].symbol[i - 1], &m, even);
    }
    s[0] = s0;
    s[1] = s1;
}

/* ----------------------------------------------------------------------------- one symbol and raw bits in every lane
 */

typedef struct single_model {
    __m512i f, first, limit, bits, inverse, rotate, bump;
    places place;
} single_model;

INLINE void single_step(lanes *s, const void *symbols, const void *raw, const single_model *m)
{
    __m512i k = load(symbols);
    make_room(s, _mm512_cmpge_epu32_mask(s->x, _mm512_permutexvar_epi32(k, m->limit)), _mm512_srli_epi32(s->x, 16));
    __m512i x = _mm512_or_si512(_mm512_sllv_epi32(s->x, _mm512_permutexvar_epi32(k, m->bits)), load(raw));
    s->x = push(x, _mm512_permutexvar_epi32(k, m->bump), _mm512_permutexvar_epi32(k, m->inverse),
                _mm512_permutexvar_epi32(k, m->rotate), _mm512_permutexvar_epi32(k, m->f),
                _mm512_permutexvar_epi32(k, m->first), &m->place);
}

/* 'bits' of each symbol are raw. */
static void single_steps(const ronchi_lane_code *code, __m512i bits, lanes s[LANE_STREAMS],
                         const ronchi_lane_steps todo[LANE_STREAMS])
{
    single_model m;
    m.f = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)code->frequency));
    m.first = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)code->first));
    m.limit = _mm512_srlv_epi32(_mm512_slli_epi32(m.f, 24), bits);
    m.bits = bits;
    m.inverse = load(code->inverse);
    m.rotate = load(code->rotate);
    m.bump = load(code->bump);
    m.place = places_of(code);
    lanes s0 = s[0], s1 = s[1];
    size_t i = todo[0].n;
    for (; i > todo[1].n; i--)
        single_step(&s0, todo[0].symbol[i - 1], todo[0].raw[i - 1], &m);
    for (; i > 0; i--) {
        single_step(&s0, todo[0].symbol[i - 1], todo[0].raw[i - 1], &m);
        single_step(&s1, todo[1].symbol[i - 1], todo[1].raw[i - 1], &m);
    }
    s[0] = s0;
    s[1] = s1;
}

/* ------------------------------------------------------------------------------------------------------- streams */

/* Raw bits of each symbol: of wide models, and of sparse ones, where symbol k has k electrons. */
INLINE __m512i raw_bits(unsigned id, unsigned shift)
{
    const __m512i k = _mm512_set_epi32(0, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return id < LANE_ID_COUNT ? _mm512_maskz_mullo_epi32(0xf, k, all(shift))
                              : _mm512_maskz_mov_epi32(0x7fff, all(shift));
}

static void encode_pixel(const ronchi_lane_tables *tables, const ronchi_lane_pixels *pixels, size_t p, uint32_t high,
                         const ronchi_lane_choice *choice, lanes s[LANE_STREAMS], ronchi_lane_half *halves)
{
    const unsigned id = choice->id[p];
    const ronchi_lane_code *code = &tables->code[id - 1];
    const bool plain = choice->shift[p] == 0 && choice->base[p] == 0;
    ronchi_lane_steps todo[LANE_STREAMS];
    todo[1].n = 0;
    for (size_t i = 0; i * LANE_SPAN < pixels->n_positions; i++) {
        const uint16_t *counts = (const uint16_t *)pixels->at[p] + i * LANE_SPAN;
        size_t n = ronchi_min_size(LANE_SPAN, pixels->n_positions - i * LANE_SPAN);
        if (id < LANE_ID_COUNT)
            ronchi_lane_sparse_symbols_avx512(code, counts, n, &halves[i], &todo[i]);
        else if (plain && high < code->top && n == LANE_SPAN)
            ronchi_lane_easy_symbols_avx512(counts, &todo[i]);
        else
            ronchi_lane_wide_symbols_avx512(code, counts, n, choice->shift[p], (int32_t)choice->base[p], &halves[i],
                                            &todo[i]);
    }
    if (id < LANE_ID_COUNT || choice->shift[p])
        single_steps(code, raw_bits(id, id < LANE_ID_COUNT ? code->shift : choice->shift[p]), s, todo);
    else if (code->even)
        pair_steps(code, s, todo, true);
    else
        pair_steps(code, s, todo, false);
}

/* The buffer backwards, as the stream goes; states in order of lanes. */
static void turn(const lanes *s, ronchi_lane_half *h)
{
    const __m512i back = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm512_storeu_si512(h->x, _mm512_permutexvar_epi32(back, s->x));
    size_t n = (size_t)(s->to - h->turned);
    uint16_t *to = h->words + LANE_WORDS_MOST;
    for (size_t i = 0; i + LANE_LANES <= n; i += LANE_LANES) {
        __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(h->turned + i)));
        to -= LANE_LANES;
        _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtepi32_epi16(_mm512_permutexvar_epi32(back, words)));
    }
    for (size_t i = n / LANE_LANES * LANE_LANES; i < n; i++)
        *--to = h->turned[i];
    h->word = to;
}

void ronchi_lane_encode_avx512(const ronchi_lane_tables *tables, const ronchi_lane_pixels *pixels,
                               const ronchi_lane_stats *stats, const ronchi_lane_choice *choice,
                               ronchi_lane_half *halves)
{
    const size_t n_streams = ronchi_div_up(pixels->n_positions, LANE_SPAN);
    lanes s[LANE_STREAMS];
    for (size_t i = 0; i < LANE_STREAMS; i++) {
        s[i].x = all(LANE_STATE);
        s[i].to = halves[i].turned;
        halves[i].n_escapes = 0;
    }
    for (size_t p = pixels->n_pixels; p-- > 0;)
        if (choice->id[p] != LANE_ID_ZERO && choice->id[p] != LANE_ID_PACKED)
            encode_pixel(tables, pixels, p, stats[p].high, choice, s, halves);
    for (size_t i = 0; i < n_streams; i++)
        turn(&s[i], &halves[i]);
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
