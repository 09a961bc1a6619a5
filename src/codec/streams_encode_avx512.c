/* SPDX-License-Identifier: MIT */
/*
 * streams_encode_avx512.c - rANS coding of streams, 16 in the lanes of a vector, two vectors beside each other.
 *
 * The mirror image of streams_decode_avx512.c: streams sorted by model; 0 and 1 of rare counts without a table; bytes
 * go down from the end of each lane's part of a buffer.  A lane gathers its bytes in a word that always holds the last
 * four; when any lane has four that are not stored yet, all lanes store their words, which costs nothing wrong: what
 * lies above is what is there.
 */
#include "codec/stream.h"
#include "codec/stream_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <stdbool.h>
#include <string.h>

#include "codec/square_x86.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define INLINE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), always_inline)) static inline

enum {
    LANES = 16,
    GROUP = 2 * LANES,
    LEAST_RARE = 3, /* as in the decoder: in these models 1 has at least 4 slots */
    MOST_RARE = 24,
    LANE_BYTES =
        4 * RONCHI_STREAM_SPAN + 16 /* a value gives at most 2 renewed and 2 escaped bytes; 4 more for the state */
};

typedef struct lanes {
    __m512i x;      /* states */
    __m512i model;  /* 33 x model */
    __m512i bytes;  /* the last four bytes, the latest lowest */
    __m512i at;     /* offset of the latest byte in the buffer */
    __m512i stored; /* 'at' when the bytes were stored last */
} lanes;

/* What is needed to code one symbol in each lane. */
typedef struct symbols {
    __m512i reciprocal, packed;
} symbols;

INLINE void store(lanes *l, uint8_t *buffer)
{
    _mm512_i32scatter_epi32(buffer, l->at, l->bytes, 1);
    l->stored = l->at;
}

/* Stores all lanes when one of 'some' could not take 'more' bytes without losing one. */
INLINE void make_room(lanes *l, __mmask16 some, uint32_t more, uint8_t *buffer)
{
    __m512i limit = _mm512_add_epi32(l->at, _mm512_set1_epi32(4 - (int)more));
    if (__builtin_expect(_mm512_mask_cmplt_epu32_mask(some, limit, l->stored) != 0, 0))
        store(l, buffer);
}

/* Gives away the low byte of some states. */
INLINE void give(lanes *l, __mmask16 some, uint8_t *buffer)
{
    make_room(l, some, 1, buffer);
    l->bytes = _mm512_mask_slli_epi32(l->bytes, some, l->bytes, 8);
    l->bytes =
        _mm512_mask_ternarylogic_epi32(l->bytes, some, l->x, _mm512_set1_epi32(255), 0xF8); /* bytes | (x & 255) */
    l->x = _mm512_mask_srli_epi32(l->x, some, l->x, 8);
    l->at = _mm512_mask_sub_epi32(l->at, some, l->at, _mm512_set1_epi32(1));
}

/* Writes the two bytes of escaped values. */
INLINE void escape(lanes *l, __mmask16 some, __m512i values, uint8_t *buffer)
{
    make_room(l, some, 2, buffer);
    l->bytes = _mm512_mask_or_epi32(l->bytes, some, _mm512_slli_epi32(l->bytes, 16), values);
    l->at = _mm512_mask_sub_epi32(l->at, some, l->at, _mm512_set1_epi32(2));
}

INLINE void code(lanes *l, symbols s, uint8_t *buffer)
{
    __m512i complement = _mm512_and_si512(_mm512_srli_epi32(s.packed, 11), _mm512_set1_epi32(1023));
    __m512i limit = _mm512_slli_epi32(_mm512_sub_epi32(_mm512_set1_epi32(RONCHI_STREAM_SLOTS), complement), 21);
    give(l, _mm512_cmpge_epu32_mask(l->x, limit), buffer);
    __mmask16 again = _mm512_cmpge_epu32_mask(l->x, limit);
    if (__builtin_expect(again != 0, 0))
        give(l, again, buffer);
    /* the upper half of state x reciprocal, even and odd lanes apart */
    __m512i even = _mm512_mul_epu32(l->x, s.reciprocal);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(l->x, 32), _mm512_srli_epi64(s.reciprocal, 32));
    __m512i quotient = _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xAAAA, odd);
    quotient = _mm512_srlv_epi32(quotient, _mm512_srli_epi32(s.packed, 21));
    __m512i bias = _mm512_and_si512(s.packed, _mm512_set1_epi32(2047));
    l->x = _mm512_add_epi32(_mm512_add_epi32(l->x, bias), _mm512_mullo_epi32(quotient, complement));
}

INLINE symbols look_up(const ronchi_stream_tables *tables, __m512i model, __m512i values)
{
    __m512i index = _mm512_add_epi32(model, _mm512_min_epu32(values, _mm512_set1_epi32(RONCHI_STREAM_ESCAPE)));
    symbols s;
    s.packed = _mm512_i32gather_epi32(index, tables->packed, 4);
    s.reciprocal = _mm512_i32gather_epi32(_mm512_slli_epi32(index, 2), &tables->encode[0][0].reciprocal, 4);
    return s;
}

INLINE void step(lanes *l, const ronchi_stream_tables *tables, __m512i values, uint8_t *buffer)
{
    __mmask16 escapes = _mm512_cmpge_epu32_mask(values, _mm512_set1_epi32(RONCHI_STREAM_ESCAPE));
    if (__builtin_expect(escapes != 0, 0))
        escape(l, escapes, values, buffer);
    code(l, look_up(tables, l->model, values), buffer);
}

INLINE void step_rare(lanes *l, symbols zeros, symbols ones, const ronchi_stream_tables *tables, __m512i values,
                      uint8_t *buffer)
{
    __mmask16 some = _mm512_test_epi32_mask(values, values);
    if (__builtin_expect(_mm512_mask_cmpgt_epu32_mask(some, values, _mm512_set1_epi32(1)) != 0, 0)) {
        step(l, tables, values, buffer);
        return;
    }
    symbols s;
    s.reciprocal = _mm512_mask_mov_epi32(zeros.reciprocal, some, ones.reciprocal);
    s.packed = _mm512_mask_mov_epi32(zeros.packed, some, ones.packed);
    code(l, s, buffer);
}

/* Values of 16 steps for the lanes of a vector: row t of the square is step t. */
INLINE void load_square(const uint16_t *const rows[LANES], size_t first, __m256i square[RONCHI_SQUARE])
{
    for (int i = 0; i < LANES; i++)
        square[i] = _mm256_loadu_si256((const __m256i *)(const void *)(rows[i] + first));
    ronchi_square_turn(square);
}

/* The last steps, fewer than 16, which are coded first. */
TARGET static void code_tail(lanes *l, const ronchi_stream_tables *tables, const uint16_t *const rows[LANES],
                             size_t first, size_t n, uint8_t *buffer)
{
    for (size_t t = n; t-- > first;) {
        uint32_t values[LANES];
        for (int i = 0; i < LANES; i++)
            values[i] = rows[i][t];
        step(l, tables, _mm512_loadu_si512(values), buffer);
    }
}

TARGET static void code_any(lanes *l, const ronchi_stream_tables *tables, const uint16_t *const rows[GROUP], size_t n,
                            uint8_t *buffer)
{
    lanes a = l[0], b = l[1];
    __m256i square_a[RONCHI_SQUARE], square_b[RONCHI_SQUARE];
    for (size_t first = n; first > 0;) {
        first -= RONCHI_SQUARE;
        load_square(rows, first, square_a);
        load_square(rows + LANES, first, square_b);
        for (int t = RONCHI_SQUARE - 1; t >= 0; t--) {
            step(&a, tables, _mm512_cvtepu16_epi32(square_a[t]), buffer);
            step(&b, tables, _mm512_cvtepu16_epi32(square_b[t]), buffer);
        }
    }
    l[0] = a;
    l[1] = b;
}

TARGET static void code_rare(lanes *l, const ronchi_stream_tables *tables, const uint16_t *const rows[GROUP], size_t n,
                             uint8_t *buffer)
{
    lanes a = l[0], b = l[1];
    const __m512i one = _mm512_set1_epi32(1);
    const symbols zeros_a = look_up(tables, a.model, _mm512_setzero_si512()), ones_a = look_up(tables, a.model, one);
    const symbols zeros_b = look_up(tables, b.model, _mm512_setzero_si512()), ones_b = look_up(tables, b.model, one);
    __m256i square_a[RONCHI_SQUARE], square_b[RONCHI_SQUARE];
    for (size_t first = n; first > 0;) {
        first -= RONCHI_SQUARE;
        load_square(rows, first, square_a);
        load_square(rows + LANES, first, square_b);
        for (int t = RONCHI_SQUARE - 1; t >= 0; t--) {
            step_rare(&a, zeros_a, ones_a, tables, _mm512_cvtepu16_epi32(square_a[t]), buffer);
            step_rare(&b, zeros_b, ones_b, tables, _mm512_cvtepu16_epi32(square_b[t]), buffer);
        }
    }
    l[0] = a;
    l[1] = b;
}

/* Where each stream of a group begins, and which it is; unused lanes repeat the first. */
typedef struct group {
    const uint16_t *rows[GROUP];
    size_t models[GROUP];
    bool rare;
} group;

/* Codes a group; lane i's stream is then sizes[i] bytes from starts[i] of the buffer on. */
TARGET static void code_group(const ronchi_stream_tables *tables, const group *g, size_t n, uint8_t *buffer,
                              size_t starts[GROUP], size_t sizes[GROUP])
{
    lanes l[2];
    uint32_t at[LANES], state[LANES];
    for (size_t v = 0; v < 2; v++) {
        uint32_t model[LANES];
        for (size_t i = 0; i < LANES; i++) {
            model[i] = (uint32_t)(g->models[v * LANES + i] * RONCHI_STREAM_SYMBOLS);
            at[i] = (uint32_t)((v * LANES + i + 1) * LANE_BYTES);
        }
        l[v].x = _mm512_set1_epi32((int)RONCHI_STREAM_LOW);
        l[v].model = _mm512_loadu_si512(model);
        l[v].bytes = _mm512_setzero_si512();
        l[v].at = l[v].stored = _mm512_loadu_si512(at);
        code_tail(&l[v], tables, g->rows + v * LANES, n / RONCHI_SQUARE * RONCHI_SQUARE, n, buffer);
    }
    if (g->rare)
        code_rare(l, tables, g->rows, n / RONCHI_SQUARE * RONCHI_SQUARE, buffer);
    else
        code_any(l, tables, g->rows, n / RONCHI_SQUARE * RONCHI_SQUARE, buffer);
    for (size_t v = 0; v < 2; v++) {
        store(&l[v], buffer);
        _mm512_storeu_si512(at, l[v].at);
        _mm512_storeu_si512(state, l[v].x);
        for (size_t i = 0; i < LANES; i++) {
            size_t lane = v * LANES + i;
            starts[lane] = at[i] - 4;
            sizes[lane] = (lane + 1) * LANE_BYTES - starts[lane];
            memcpy(buffer + starts[lane], &state[i], 4);
        }
    }
}

/* Models of rare counts first. */
static size_t place(size_t model)
{
    return (model + RONCHI_STREAM_MODELS - LEAST_RARE) % RONCHI_STREAM_MODELS;
}

enum { BATCH = 512 };

/* The streams of a batch that need rANS, sorted by model. */
typedef struct sorted {
    size_t order[BATCH], models[BATCH]; /* models by place in the batch */
    size_t n_rare, n;
} sorted;

static void sort(const ronchi_stream_stats *stats, size_t count, size_t n, sorted *list)
{
    size_t begin[RONCHI_STREAM_MODELS + 1] = {0};
    for (size_t i = 0; i < count; i++) {
        list->models[i] = ronchi_stream_plan(&stats[i], n);
        if (list->models[i] < RONCHI_STREAM_MODELS)
            begin[place(list->models[i]) + 1]++;
    }
    for (size_t m = 1; m <= RONCHI_STREAM_MODELS; m++)
        begin[m] += begin[m - 1];
    list->n = begin[RONCHI_STREAM_MODELS];
    list->n_rare = begin[MOST_RARE - LEAST_RARE + 1];
    for (size_t i = 0; i < count; i++)
        if (list->models[i] < RONCHI_STREAM_MODELS)
            list->order[begin[place(list->models[i])]++] = i;
}

TARGET static void encode_batch(const ronchi_stream_tables *tables, const uint16_t *values, size_t count, size_t n,
                                const ronchi_stream_stats *stats, uint8_t *dst, uint32_t *sizes, uint8_t *selectors)
{
    uint8_t buffer[GROUP * LANE_BYTES + 4]; /* words are stored up to 3 bytes above the end of a lane */
    sorted list;
    sort(stats, count, n, &list);
    for (size_t i = 0; i < count; i++)
        if (list.models[i] == RONCHI_STREAM_MODELS)
            sizes[i] =
                (uint32_t)ronchi_stream_settle(values + i * RONCHI_STREAM_PITCH, n, &stats[i], RONCHI_STREAM_MODELS,
                                               NULL, 0, dst + i * 2 * RONCHI_STREAM_SPAN, &selectors[i]);
    for (size_t k = 0, part; k < list.n; k += part) {
        group g;
        size_t starts[GROUP], coded[GROUP];
        g.rare = k < list.n_rare;
        part = (g.rare ? list.n_rare : list.n) - k;
        part = part < GROUP ? part : GROUP;
        for (size_t i = 0; i < GROUP; i++) {
            size_t stream = list.order[k + (i < part ? i : 0)];
            g.rows[i] = values + stream * RONCHI_STREAM_PITCH;
            g.models[i] = list.models[stream];
        }
        code_group(tables, &g, n, buffer, starts, coded);
        for (size_t i = 0; i < part; i++) {
            size_t stream = list.order[k + i];
            sizes[stream] =
                (uint32_t)ronchi_stream_settle(g.rows[i], n, &stats[stream], g.models[i], buffer + starts[i], coded[i],
                                               dst + stream * 2 * RONCHI_STREAM_SPAN, &selectors[stream]);
        }
    }
}

void ronchi_streams_encode_avx512(const ronchi_stream_tables *tables, const uint16_t *values, size_t n_streams,
                                  size_t n, const ronchi_stream_stats *stats, uint8_t *dst, uint32_t *sizes,
                                  uint8_t *selectors)
{
    for (size_t first = 0; first < n_streams; first += BATCH) {
        size_t count = n_streams - first < BATCH ? n_streams - first : BATCH;
        encode_batch(tables, values + first * RONCHI_STREAM_PITCH, count, n, stats + first,
                     dst + first * 2 * RONCHI_STREAM_SPAN, sizes + first, selectors + first);
    }
}

#endif
