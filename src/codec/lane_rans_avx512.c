/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_avx512.c - streams of lane-rans-v1 with AVX-512 (F, BW): one register is the 16 lanes of a stream.
 *
 * A table is two registers of 16 entries (own and alias pieces), so that no memory is gathered; a refill is one compare
 * and one expand.  Two streams of a brick run side by side, as each is one chain of dependent steps.
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

typedef struct lanes {
    __m512i x;
    const uint16_t *words, *end;
} lanes;

/* What a fused sum keeps between pixels: rows in pairs of 16 bits, rows in 32 bits, electrons in nibbles and bytes. */
typedef struct sums {
    uint32_t pair[LANE_STREAMS][LANE_ROWS / 2][LANE_LANES];
    uint32_t row[LANE_STREAMS][LANE_ROWS][LANE_LANES];
    uint32_t nibble[LANE_STREAMS][LANE_ROWS / 8][LANE_LANES];  /* nibble k of word q: row 8 q + k */
    uint32_t byte[LANE_STREAMS][LANE_ROWS / 8][2][LANE_LANES]; /* even rows, odd rows */
} __attribute__((aligned(64))) sums;

INLINE __m512i all(uint32_t v)
{
    return _mm512_set1_epi32((int)v);
}

INLINE void refill(lanes *s)
{
    __mmask16 need = _mm512_cmplt_epu32_mask(s->x, all(LANE_STATE));
    __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)s->words));
    words = _mm512_maskz_expand_epi32(need, words);
    s->x = _mm512_mask_or_epi32(s->x, need, _mm512_slli_epi32(s->x, 16), words);
    s->words += _mm_popcnt_u32(need);
}

/* Decodes one symbol a lane and returns the entries: the symbol is in the highest 4 bits. */
INLINE __m512i symbol(lanes *s, __m512i own, __m512i alias)
{
    __m512i slot = _mm512_and_si512(s->x, all(255)), bucket = _mm512_srli_epi32(slot, 4);
    __m512i a = _mm512_permutexvar_epi32(bucket, own), b = _mm512_permutexvar_epi32(bucket, alias);
    __mmask16 other = _mm512_cmpge_epu32_mask(slot, _mm512_and_si512(a, all(255)));
    __m512i e = _mm512_mask_mov_epi32(a, other, b);
    __m512i f = _mm512_and_si512(_mm512_srli_epi32(e, 8), all(255));
    __m512i adjust = _mm512_srai_epi32(_mm512_slli_epi32(e, 4), 22);
    s->x = _mm512_add_epi32(_mm512_mullo_epi32(f, _mm512_srli_epi32(s->x, 8)), _mm512_add_epi32(slot, adjust));
    return e;
}

INLINE __mmask16 escapes(__m512i e)
{
    return _mm512_cmpge_epu32_mask(e, all(UINT32_C(15) << 28));
}

INLINE void add_to(uint32_t *at, __m512i v)
{
    _mm512_store_si512(at, _mm512_add_epi32(_mm512_load_si512(at), v));
}

/* ------------------------------------------------------------------------------------------------ escapes, rare */

static bool escaped(lanes *s, uint32_t *out)
{
    if (s->end <= s->words)
        return false;
    *out = *--s->end;
    if (*out < UINT16_MAX)
        return true;
    if (s->end - s->words < 2)
        return false;
    *out = s->end[-1] | (uint32_t)s->end[-2] << 16;
    s->end -= 2;
    return true;
}

/* Where escaped counts go: into decoded counts, or into sums from which 'coded' was added already. */
typedef struct sink {
    uint16_t *counts;
    uint32_t *sums, coded;
} sink;

INLINE void give(const sink *to, size_t i, uint32_t value)
{
    if (to->counts)
        to->counts[i] = (uint16_t)value;
    if (to->sums)
        to->sums[i] += value - to->coded;
}

/* Escapes of a pixel of a count or wide model: mask[row] bit lane. */
static const char *patch(lanes *s, const __mmask16 *mask, size_t rows, uint32_t largest, const sink *to)
{
    unsigned any = 0;
    for (size_t row = 0; row < rows; row++)
        any |= mask[row];
    for (; any; any &= any - 1) {
        unsigned lane = (unsigned)__builtin_ctz(any);
        for (size_t row = 0; row < rows; row++) {
            uint32_t value;
            if (!(mask[row] >> lane & 1))
                continue;
            if (!escaped(s, &value))
                return "its escapes are missing";
            if (value > largest)
                return "a count is larger than its type";
            give(to, row * LANE_LANES + lane, value);
        }
    }
    return NULL;
}

/* Escapes of a pixel of a sparse model: mask[group] bit lane. */
static const char *patch_groups(lanes *s, const __mmask16 *mask, size_t groups, unsigned shift, uint32_t largest,
                                const sink *to)
{
    const size_t rows = (size_t)1 << shift, n = ronchi_div_up(rows, 8);
    for (unsigned lane = 0; lane < LANE_LANES; lane++)
        for (size_t g = 0; g < groups; g++) {
            uint64_t bits = 0;
            if (!(mask[g] >> lane & 1))
                continue;
            if (s->end < s->words || (size_t)(s->end - s->words) < n)
                return "its escapes are missing";
            for (size_t i = 0; i < n; i++)
                bits |= (uint64_t) * --s->end << 16 * i;
            for (size_t row = 0; row < rows; row++) {
                uint32_t value = bits >> 2 * row & 3;
                if (value == 3 && !escaped(s, &value))
                    return "its escapes are missing";
                if (value > largest)
                    return "a count is larger than its type";
                give(to, ((g << shift) + row) * LANE_LANES + lane, value);
            }
        }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- count models */

/* Both rows of a step: 32 counts of 16 bits in order. */
INLINE __m512i both_rows(__m512i a, __m512i b)
{
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    return _mm512_permutexvar_epi64(order, _mm512_packus_epi32(a, b));
}

/*
 * A pixel of n streams whose steps decode two symbols: count models, and wide ones without raw bits.  Counts, less the
 * base, go to counts[k] or are added to 'to'.
 */
INLINE unsigned pairs(lanes *s, size_t n, const ronchi_lane_table *t, size_t rows, uint16_t *const *counts, sums *to,
                      __mmask16 mask[LANE_STREAMS][LANE_ROWS])
{
    const __m512i own = _mm512_loadu_si512(t->own), alias = _mm512_loadu_si512(t->alias);
    lanes a = s[0], b = s[n - 1];
    unsigned any = 0;
    for (size_t row = 0; row < rows; row += 2)
        for (size_t k = 0; k < n; k++) {
            lanes *l = k ? &b : &a;
            __m512i e = symbol(l, own, alias), f = symbol(l, own, alias);
            refill(l);
            __mmask16 me = escapes(e), mf = escapes(f);
            mask[k][row] = me;
            mask[k][row + 1] = mf;
            any |= (unsigned)me | (unsigned)mf;
            if (counts)
                _mm512_storeu_si512(counts[k] + row * LANE_LANES,
                                    both_rows(_mm512_srli_epi32(e, 28), _mm512_srli_epi32(f, 28)));
            if (to)
                add_to(to->pair[k][row / 2], _mm512_or_si512(_mm512_srli_epi32(e, 28),
                                                             _mm512_and_si512(_mm512_srli_epi32(f, 12), all(0xf0000))));
        }
    s[0] = a;
    if (n == 2)
        s[1] = b;
    return any;
}

/* --------------------------------------------------------------------------------------------------- wide models */

INLINE unsigned shifted(lanes *s, size_t n, const ronchi_lane_table *t, size_t rows, unsigned shift,
                        uint32_t *values[LANE_STREAMS], bool add, __mmask16 mask[LANE_STREAMS][LANE_ROWS])
{
    const __m512i own = _mm512_loadu_si512(t->own), alias = _mm512_loadu_si512(t->alias);
    const __m512i low = all((UINT32_C(1) << shift) - 1);
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    lanes a = s[0], b = s[n - 1];
    unsigned any = 0;
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < n; k++) {
            lanes *l = k ? &b : &a;
            __m512i e = symbol(l, own, alias);
            __mmask16 out = escapes(e), in = (__mmask16)~out;
            __m512i v = _mm512_or_si512(_mm512_sll_epi32(_mm512_srli_epi32(e, 28), by), _mm512_and_si512(l->x, low));
            l->x = _mm512_mask_srl_epi32(l->x, in, l->x, by);
            refill(l);
            v = _mm512_maskz_mov_epi32(in, v);
            mask[k][row] = out;
            any |= out;
            if (add)
                add_to(values[k] + row * LANE_LANES, v);
            else
                _mm512_store_si512(values[k] + row * LANE_LANES, v);
        }
    s[0] = a;
    if (n == 2)
        s[1] = b;
    return any;
}

/* ------------------------------------------------------------------------------------------------- sparse models */

typedef struct sparse {
    __m512i own, alias, bits, first, second, third; /* by electrons: raw bits; 1 where there is a first, ... */
} sparse;

INLINE sparse sparse_of(const ronchi_lane_table *t)
{
    const int j = t->shift;
    sparse p;
    p.own = _mm512_loadu_si512(t->own);
    p.alias = _mm512_loadu_si512(t->alias);
    p.bits = _mm512_setr_epi32(0, j, 2 * j, 3 * j, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    p.first = _mm512_setr_epi32(0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    p.second = _mm512_setr_epi32(0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    p.third = _mm512_setr_epi32(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return p;
}

/* Electrons of one group into nibbles: 'add' is constant where this is inlined, and so is 'shift'. */
INLINE void place(const sparse *p, __m512i n, __m512i raw, unsigned shift, size_t g, uint32_t nibble[][LANE_LANES])
{
    const unsigned rows = 1u << shift;
    const __m512i low = all((rows - 1) << 2);
    const __m512i one = _mm512_permutexvar_epi32(n, p->first), two = _mm512_permutexvar_epi32(n, p->second);
    const __m512i three = _mm512_permutexvar_epi32(n, p->third);
    const __m512i a = _mm512_and_si512(_mm512_slli_epi32(raw, 2), low);
    const __m512i b = _mm512_and_si512(_mm512_slli_epi32(_mm512_srli_epi32(raw, shift), 2), low);
    const __m512i c = _mm512_and_si512(_mm512_slli_epi32(_mm512_srli_epi32(raw, 2 * shift), 2), low);
    for (unsigned o = 0; o < (rows + 7) / 8; o++) { /* a shift of 32 and more, also of "less than 0", gives 0 */
        const __m512i back = all(32 * o);
        __m512i v = _mm512_sllv_epi32(one, _mm512_sub_epi32(a, back));
        v = _mm512_add_epi32(v, _mm512_sllv_epi32(two, _mm512_sub_epi32(b, back)));
        v = _mm512_add_epi32(v, _mm512_sllv_epi32(three, _mm512_sub_epi32(c, back)));
        if (shift < 3)
            v = _mm512_sll_epi32(v, _mm_cvtsi32_si128((int)(g * rows % 8 * 4)));
        add_to(nibble[g * rows / 8 + o], v);
    }
}

/* Electrons of one group into counts. */
INLINE void scatter(__m512i n, __m512i raw, unsigned shift, size_t g, uint16_t *counts)
{
    uint32_t ns[LANE_LANES], raws[LANE_LANES];
    unsigned some = _mm512_test_epi32_mask(n, n) & _mm512_cmplt_epu32_mask(n, all(LANE_ESCAPE));
    if (!some)
        return;
    _mm512_storeu_si512(ns, n);
    _mm512_storeu_si512(raws, raw);
    for (; some; some &= some - 1) {
        unsigned lane = (unsigned)__builtin_ctz(some);
        for (uint32_t k = ns[lane], r = raws[lane]; k > 0; k--, r >>= shift)
            counts[((g << shift) + (r & ((1u << shift) - 1))) * LANE_LANES + lane]++;
    }
}

INLINE unsigned groups(lanes *s, size_t n, const ronchi_lane_table *t, size_t rows, unsigned shift,
                       uint16_t *const *counts, sums *to, __mmask16 mask[LANE_STREAMS][LANE_ROWS])
{
    const sparse p = sparse_of(t);
    const size_t n_groups = (rows + (1u << shift) - 1) >> shift;
    lanes a = s[0], b = s[n - 1];
    unsigned any = 0;
    for (size_t g = 0; g < n_groups; g++)
        for (size_t k = 0; k < n; k++) {
            lanes *l = k ? &b : &a;
            __m512i e = symbol(l, p.own, p.alias), count = _mm512_srli_epi32(e, 28), raw = l->x;
            l->x = _mm512_srlv_epi32(raw, _mm512_permutexvar_epi32(count, p.bits));
            refill(l);
            mask[k][g] = escapes(e);
            any |= mask[k][g];
            if (to)
                place(&p, count, raw, shift, g, to->nibble[k]);
            if (counts)
                scatter(count, raw, shift, g, counts[k]);
        }
    s[0] = a;
    if (n == 2)
        s[1] = b;
    return any;
}

INLINE unsigned groups_of(lanes *s, size_t n, const ronchi_lane_table *t, size_t rows, uint16_t *const *counts,
                          sums *to, __mmask16 mask[LANE_STREAMS][LANE_ROWS])
{
    switch (t->shift) {
    case 1:
        return groups(s, n, t, rows, 1, counts, to, mask);
    case 2:
        return groups(s, n, t, rows, 2, counts, to, mask);
    case 3:
        return groups(s, n, t, rows, 3, counts, to, mask);
    case 4:
        return groups(s, n, t, rows, 4, counts, to, mask);
    default:
        return groups(s, n, t, rows, 5, counts, to, mask);
    }
}

/* Nibbles to bytes, before they can be full: at most 3 electrons a pixel, so at most 5 pixels. */
static void flush(sums *to)
{
    for (size_t k = 0; k < LANE_STREAMS; k++)
        for (size_t q = 0; q < LANE_ROWS / 8; q++) {
            __m512i v = _mm512_load_si512(to->nibble[k][q]);
            add_to(to->byte[k][q][0], _mm512_and_si512(v, all(0x0f0f0f0f)));
            add_to(to->byte[k][q][1], _mm512_and_si512(_mm512_srli_epi32(v, 4), all(0x0f0f0f0f)));
            _mm512_store_si512(to->nibble[k][q], _mm512_setzero_si512());
        }
}

/* ---------------------------------------------------------------------------------------------------- the streams */

static lanes begin(const ronchi_lane_brick *b, size_t s)
{
    lanes l = {_mm512_setzero_si512(), b->stream[s].words, b->stream[s].end};
    if (b->coded)
        l.x = _mm512_loadu_si512(b->stream[s].states);
    return l;
}

static const char *check_end(const ronchi_lane_brick *b, const lanes *l)
{
    if (!b->coded)
        return NULL;
    if (_mm512_cmpneq_epi32_mask(l->x, all(LANE_STATE)))
        return "its last states are wrong";
    return l->words == l->end ? NULL : "its words do not end where its escapes do";
}

static size_t positions_of(const ronchi_lane_brick *b, size_t s)
{
    return ronchi_min_size(LANE_SPAN, b->n_positions - s * LANE_SPAN);
}

/* Values of a wide pixel to counts, with the base; false when a real position is outside 0..largest. */
static bool widen(const uint32_t *values, const __mmask16 *mask, size_t n, int64_t base, uint32_t largest,
                  uint16_t *out)
{
    bool fits = true;
    for (size_t i = 0; i < n; i += LANE_LANES) {
        __mmask16 real = (__mmask16)(n - i < LANE_LANES ? (1u << (n - i)) - 1 : 0xffffu);
        __m512i v = _mm512_add_epi32(_mm512_load_si512(values + i), all((uint32_t)base));
        fits &= !_mm512_mask_cmpgt_epu32_mask(real & (__mmask16)~mask[i / LANE_LANES], v, all(largest));
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm512_cvtepi32_epi16(v));
    }
    return fits;
}

/* One pixel of n streams (n constant) into counts. */
INLINE const char *decode_pixel(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t p, lanes *s,
                                size_t n, size_t first, size_t positions, uint32_t largest, uint16_t *const *counts)
{
    const unsigned id = b->id[p], shift = b->shift[p];
    const size_t rows = ronchi_div_up(positions, LANE_LANES);
    __mmask16 mask[LANE_STREAMS][LANE_ROWS];
    uint32_t values[LANE_STREAMS][LANE_SPAN] __attribute__((aligned(64)));
    const char *wrong = NULL;
    if (id == LANE_ID_ZERO || id == LANE_ID_PACKED) {
        for (size_t k = 0; !wrong && k < n; k++)
            wrong = ronchi_lane_decode_plain16(b, first + k, p, largest, counts[k]);
        return wrong;
    }
    const ronchi_lane_table *t = &tables->model[id - 1];
    unsigned any;
    if (id < LANE_ID_COUNT) {
        for (size_t k = 0; k < n; k++)
            memset(counts[k], 0, LANE_SPAN * sizeof **counts);
        any = groups_of(s, n, t, rows, counts, NULL, mask);
    } else if (shift == 0 && b->base[p] == 0) {
        any = pairs(s, n, t, rows, counts, NULL, mask);
    } else {
        uint32_t *to[LANE_STREAMS] = {values[0], values[1]};
        if (shift) {
            any = shifted(s, n, t, rows, shift, to, false, mask);
        } else {
            any = pairs(s, n, t, rows, counts, NULL, mask);
            for (size_t k = 0; k < n; k++)
                for (size_t i = 0; i < LANE_SPAN; i++)
                    values[k][i] = counts[k][i];
        }
        for (size_t k = 0; k < n; k++)
            if (!widen(values[k], mask[k], positions, b->base[p], largest, counts[k]))
                return "a count is larger than its type";
    }
    for (size_t k = 0; k < n; k++) {
        sink to = {counts[k], NULL, 0};
        if (any)
            wrong = id < LANE_ID_COUNT ? patch_groups(&s[k], mask[k], (rows + (1u << t->shift) - 1) >> t->shift,
                                                      t->shift, largest, &to)
                                       : patch(&s[k], mask[k], shift ? rows : (rows + 1) / 2 * 2, largest, &to);
        if (wrong)
            return wrong;
        if (s[k].words > s[k].end)
            return "its words run out";
    }
    return NULL;
}

INLINE const char *decode_streams(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t first, size_t n,
                                  size_t stop_pixel, uint32_t largest, uint16_t *out)
{
    lanes s[LANE_STREAMS] = {begin(b, first), begin(b, first + n - 1)};
    for (size_t p = 0; p < stop_pixel; p++) {
        uint16_t *counts[LANE_STREAMS] = {out + p * LANE_SPAN, out + (LANE_TILE + p) * LANE_SPAN};
        const char *wrong = decode_pixel(tables, b, p, s, n, first, positions_of(b, first), largest, counts);
        if (wrong)
            return wrong;
    }
    for (size_t k = 0; k < n && stop_pixel == b->n_pixels; k++) {
        const char *wrong = check_end(b, &s[k]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

const char *ronchi_lane_decode16_avx512(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t first,
                                        size_t n, size_t stop_pixel, uint32_t largest, uint16_t *out)
{
    if (n == 2 && positions_of(b, first) == positions_of(b, first + 1))
        return decode_streams(tables, b, first, 2, stop_pixel, largest, out);
    for (size_t k = 0; k < n; k++) {
        const char *wrong =
            decode_streams(tables, b, first + k, 1, stop_pixel, largest, out + k * LANE_TILE * LANE_SPAN);
        if (wrong)
            return wrong;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- the sum */

static void add_counts(const uint16_t *counts, uint32_t *to)
{
    for (size_t i = 0; i < LANE_SPAN; i++)
        to[i] += counts[i];
}

/* One pixel of n streams into sums; 'take' is false for one that is only passed. */
INLINE const char *sum_pixel(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t p, lanes *s, size_t n,
                             size_t first, size_t positions, bool take, uint32_t largest, sums *acc, uint16_t *scratch,
                             uint32_t *out)
{
    const unsigned id = b->id[p], shift = b->shift[p];
    const size_t rows = ronchi_div_up(positions, LANE_LANES);
    __mmask16 mask[LANE_STREAMS][LANE_ROWS];
    const char *wrong = NULL;
    uint32_t coded = 0;
    if (id == LANE_ID_ZERO || id == LANE_ID_PACKED) {
        for (size_t k = 0; take && (b->whole || id) && !wrong && k < n; k++) {
            wrong = ronchi_lane_decode_plain16(b, first + k, p, largest, scratch);
            add_counts(scratch, out + k * LANE_SPAN);
        }
        return wrong;
    }
    const ronchi_lane_table *t = &tables->model[id - 1];
    unsigned any;
    if (id < LANE_ID_COUNT) {
        any = take ? groups_of(s, n, t, rows, NULL, acc, mask) : groups_of(s, n, t, rows, NULL, NULL, mask);
    } else if (shift == 0) {
        any = take ? pairs(s, n, t, rows, NULL, acc, mask) : pairs(s, n, t, rows, NULL, NULL, mask);
        coded = LANE_ESCAPE + (uint32_t)b->base[p];
    } else {
        uint32_t dump[LANE_STREAMS][LANE_SPAN] __attribute__((aligned(64)));
        uint32_t *to[LANE_STREAMS] = {take ? acc->row[0][0] : dump[0], take ? acc->row[1][0] : dump[1]};
        any = take ? shifted(s, n, t, rows, shift, to, true, mask) : shifted(s, n, t, rows, shift, to, false, mask);
        coded = (uint32_t)b->base[p];
    }
    for (size_t k = 0; k < n; k++) {
        sink to = {NULL, take ? out + k * LANE_SPAN : NULL, coded};
        if (any)
            wrong = id < LANE_ID_COUNT ? patch_groups(&s[k], mask[k], (rows + (1u << t->shift) - 1) >> t->shift,
                                                      t->shift, largest, &to)
                                       : patch(&s[k], mask[k], shift ? rows : (rows + 1) / 2 * 2, largest, &to);
        if (wrong)
            return wrong;
        if (s[k].words > s[k].end)
            return "its words run out";
    }
    return NULL;
}

/* Everything that was kept, and the bases of the taken pixels, to the sums of n streams. */
static void give_sums(const sums *acc, size_t n, uint32_t bases, uint32_t *out)
{
    for (size_t k = 0; k < n; k++)
        for (size_t row = 0; row < LANE_ROWS; row++) {
            const __m512i byte = _mm512_load_si512(acc->byte[k][row / 8][row % 2]);
            const __m512i pair = _mm512_load_si512(acc->pair[k][row / 2]);
            __m512i v = _mm512_and_si512(_mm512_srl_epi32(byte, _mm_cvtsi32_si128((int)(row % 8 / 2 * 8))), all(255));
            v = _mm512_add_epi32(v, row % 2 ? _mm512_srli_epi32(pair, 16) : _mm512_and_si512(pair, all(0xffff)));
            v = _mm512_add_epi32(v, _mm512_add_epi32(_mm512_load_si512(acc->row[k][row]), all(bases)));
            uint32_t *to = out + k * LANE_SPAN + row * LANE_LANES;
            _mm512_storeu_si512(to, _mm512_add_epi32(_mm512_loadu_si512(to), v));
        }
}

INLINE const char *sum_streams(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t first, size_t n,
                               uint64_t take, uint32_t largest, uint16_t *scratch, uint32_t *out)
{
    lanes s[LANE_STREAMS] = {begin(b, first), begin(b, first + n - 1)};
    sums acc;
    uint32_t bases = 0;
    size_t kept = 0, stop = b->n_pixels;
    while (stop > 0 && !(take >> (stop - 1) & 1))
        stop--;
    memset(&acc, 0, sizeof acc);
    for (size_t p = 0; p < stop; p++) {
        bool taken = take >> p & 1;
        const char *wrong =
            sum_pixel(tables, b, p, s, n, first, positions_of(b, first), taken, largest, &acc, scratch, out);
        if (wrong)
            return wrong;
        if (taken && b->id[p] >= LANE_ID_WIDE && b->id[p] != LANE_ID_PACKED)
            bases += (uint32_t)b->base[p];
        kept += taken && b->id[p] != LANE_ID_ZERO && b->id[p] < LANE_ID_COUNT;
        if (kept == 5) {
            flush(&acc);
            kept = 0;
        }
    }
    flush(&acc);
    give_sums(&acc, n, bases, out);
    for (size_t k = 0; k < n && stop == b->n_pixels; k++) {
        const char *wrong = check_end(b, &s[k]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

const char *ronchi_lane_sum_avx512(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t first, size_t n,
                                   uint64_t take, uint32_t largest, uint16_t *scratch, uint32_t *out)
{
    if (n == 2 && positions_of(b, first) == positions_of(b, first + 1))
        return sum_streams(tables, b, first, 2, take, largest, scratch, out);
    for (size_t k = 0; k < n; k++) {
        const char *wrong = sum_streams(tables, b, first + k, 1, take, largest, scratch, out + k * LANE_SPAN);
        if (wrong)
            return wrong;
    }
    return NULL;
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
