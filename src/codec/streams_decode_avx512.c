/* SPDX-License-Identifier: MIT */
/*
 * streams_decode_avx512.c - rANS streams, 16 in the lanes of a vector, two vectors beside each other.
 *
 * Streams are sorted by model, so that the lanes' tables are near each other, and their bytes are copied behind each
 * other into a buffer of our own, each followed by zeros: then lanes may fetch 4 bytes at a time without asking where
 * their stream ends.  Each lane has a window of the next 4 bytes.  When any lane needs a byte that its window no longer
 * has, all lanes fetch anew from where they are: rare, because a window lasts for some ten values.
 *
 * Where counts are rare the two most frequent values, 0 and 1, need no table: their slots come first and stand in
 * registers, and only a lane that meets another value asks the table.
 *
 * Values come out one per lane and step; two steps are packed into a word and 16 steps turned over into 16 values per
 * lane.
 */
#include "codec/stream.h"
#include "codec/stream_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define INLINE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), always_inline)) static inline

enum {
    LANES = 16,
    BATCH = 512, /* streams sorted at a time */
    LEAST_RARE = 3,
    MOST_RARE = 24, /* in these models 1 has at least 4 slots and fewer than 1 value in 300 is above 1 */
    MOST_BYTES = 4 * RONCHI_STREAM_SPAN + 4, /* of a stream that can be right: 2 renewed and 2 escaped per value */
    BUFFER = 2 * LANES * (MOST_BYTES + 4) + 4
};

/* The streams in the lanes of one vector. */
typedef struct lanes {
    __m512i x;                  /* states */
    __m512i model;              /* where each lane's table begins */
    __m512i next;               /* offset of the next unread byte in the buffer */
    __m512i end;                /* offset behind the last byte */
    __m512i window, window_end; /* the next bytes, lowest first; offset up to which it reaches */
} lanes;

INLINE void fetch(lanes *l, const uint8_t *buffer)
{
    /* A lane beyond its end reads the zeros there: the count of its bytes tells afterwards. */
    l->window = _mm512_i32gather_epi32(_mm512_min_epu32(l->next, l->end), buffer, 1);
    l->window_end = _mm512_add_epi32(l->next, _mm512_set1_epi32(4));
}

/* Puts the next byte of some lanes below their states. */
INLINE void renew(lanes *l, __mmask16 some, const uint8_t *buffer)
{
    if (__builtin_expect(_mm512_mask_cmpeq_epi32_mask(some, l->next, l->window_end) != 0, 0))
        fetch(l, buffer);
    l->x = _mm512_mask_slli_epi32(l->x, some, l->x, 8);
    l->x = _mm512_mask_ternarylogic_epi32(l->x, some, l->window, _mm512_set1_epi32(255), 0xF8); /* x | (window & 255) */
    l->window = _mm512_mask_srli_epi32(l->window, some, l->window, 8);
    l->next = _mm512_mask_add_epi32(l->next, some, l->next, _mm512_set1_epi32(1));
}

/* Takes the two bytes of escaped values. */
INLINE __m512i escape(lanes *l, __mmask16 some, __m512i values, const uint8_t *buffer)
{
    __m512i two = _mm512_set1_epi32(2);
    if (_mm512_mask_cmpgt_epu32_mask(some, _mm512_add_epi32(l->next, two), l->window_end))
        fetch(l, buffer);
    values = _mm512_mask_and_epi32(values, some, l->window, _mm512_set1_epi32(0xFFFF));
    l->window = _mm512_mask_srli_epi32(l->window, some, l->window, 16);
    l->next = _mm512_mask_add_epi32(l->next, some, l->next, two);
    return values;
}

INLINE __m512i step(lanes *l, const uint32_t *table, const uint8_t *buffer)
{
    const __m512i low = _mm512_set1_epi32((int)RONCHI_STREAM_LOW);
    __m512i slot = _mm512_and_si512(l->x, _mm512_set1_epi32(RONCHI_STREAM_SLOTS - 1));
    __m512i entry = _mm512_i32gather_epi32(_mm512_add_epi32(slot, l->model), table, 4);
    __m512i values = _mm512_and_si512(entry, _mm512_set1_epi32(63));
    __m512i rest = _mm512_and_si512(_mm512_srli_epi32(entry, 6), _mm512_set1_epi32(1023));
    l->x = _mm512_add_epi32(_mm512_mullo_epi32(_mm512_srli_epi32(entry, 16), _mm512_srli_epi32(l->x, 10)), rest);
    renew(l, _mm512_cmplt_epu32_mask(l->x, low), buffer);
    __mmask16 again = _mm512_cmplt_epu32_mask(l->x, low);
    __mmask16 escapes = _mm512_cmpeq_epi32_mask(values, _mm512_set1_epi32(RONCHI_STREAM_ESCAPE));
    if (__builtin_expect((again | escapes) != 0, 0)) {
        if (again)
            renew(l, again, buffer);
        if (escapes)
            values = escape(l, escapes, values, buffer);
    }
    return values;
}

/* The same where nearly all values are 0 or 1: 'zeros' and 'ones' are the slots of both in each lane's model. */
INLINE __m512i step_rare(lanes *l, __m512i zeros, __m512i ones, const uint32_t *table, const uint8_t *buffer)
{
    const __m512i low = _mm512_set1_epi32((int)RONCHI_STREAM_LOW);
    __m512i slot = _mm512_and_si512(l->x, _mm512_set1_epi32(RONCHI_STREAM_SLOTS - 1));
    __mmask16 some = _mm512_cmpge_epu32_mask(slot, zeros);
    __m512i rest = _mm512_mask_sub_epi32(slot, some, slot, zeros);
    __mmask16 more = _mm512_mask_cmpge_epu32_mask(some, rest, ones);
    __m512i slots = _mm512_mask_mov_epi32(zeros, some, ones);
    __m512i values = _mm512_maskz_mov_epi32(some, _mm512_set1_epi32(1));
    if (__builtin_expect(more != 0, 0)) {
        __m512i entry = _mm512_i32gather_epi32(_mm512_add_epi32(slot, l->model), table, 4);
        slots = _mm512_mask_srli_epi32(slots, more, entry, 16);
        rest = _mm512_mask_and_epi32(rest, more, _mm512_srli_epi32(entry, 6), _mm512_set1_epi32(1023));
        values = _mm512_mask_and_epi32(values, more, entry, _mm512_set1_epi32(63));
    }
    l->x = _mm512_add_epi32(_mm512_mullo_epi32(slots, _mm512_srli_epi32(l->x, 10)), rest);
    renew(l, _mm512_cmplt_epu32_mask(l->x, low), buffer);
    if (__builtin_expect(more != 0, 0)) {
        __mmask16 again =
            _mm512_cmplt_epu32_mask(l->x, low); /* only few slots make two bytes due: never those of 0 and 1 */
        __mmask16 escapes = _mm512_cmpeq_epi32_mask(values, _mm512_set1_epi32(RONCHI_STREAM_ESCAPE));
        if (again)
            renew(l, again, buffer);
        if (escapes)
            values = escape(l, escapes, values, buffer);
    }
    return values;
}

/* Turns over [8 pairs of steps][16 lanes] to 16 values of 16 bits per lane. */
INLINE void write_lanes(const __m512i pairs[8], uint16_t *const out[LANES])
{
    __m512i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm512_unpacklo_epi32(pairs[2 * i], pairs[2 * i + 1]);
        a[2 * i + 1] = _mm512_unpackhi_epi32(pairs[2 * i], pairs[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            b[4 * i + 2 * j] = _mm512_unpacklo_epi64(a[4 * i + j], a[4 * i + 2 + j]);
            b[4 * i + 2 * j + 1] = _mm512_unpackhi_epi64(a[4 * i + j], a[4 * i + 2 + j]);
        }
    /* b[4 i + k] holds, in quarter q, steps 8 i .. 8 i + 7 of lane 4 q + k */
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) {
            _mm_storeu_si128((__m128i *)(void *)(out[k] + 8 * i), _mm512_castsi512_si128(b[4 * i + k]));
            _mm_storeu_si128((__m128i *)(void *)(out[4 + k] + 8 * i), _mm512_extracti32x4_epi32(b[4 * i + k], 1));
            _mm_storeu_si128((__m128i *)(void *)(out[8 + k] + 8 * i), _mm512_extracti32x4_epi32(b[4 * i + k], 2));
            _mm_storeu_si128((__m128i *)(void *)(out[12 + k] + 8 * i), _mm512_extracti32x4_epi32(b[4 * i + k], 3));
        }
}

/* Slots of one value in the model of each lane. */
TARGET static __m512i slots_of(const lanes *l, size_t value)
{
    uint32_t model[LANES], slots[LANES];
    _mm512_storeu_si512(model, l->model);
    for (size_t i = 0; i < LANES; i++)
        slots[i] = ronchi_stream_slots[model[i] / RONCHI_STREAM_SLOTS][value];
    return _mm512_loadu_si512(slots);
}

/* A group of streams on its way through the lanes: numbers within the call, unused lanes repeat the first stream. */
typedef struct group {
    size_t streams[2 * LANES];
    size_t n;
    bool rare; /* all models are at most MOST_RARE */
} group;

/* Copies the bytes of a group's streams into the buffer and fills the lanes of 'n_vectors' vectors. */
TARGET static void load(const ronchi_stream *streams, const group *g, size_t n_vectors, uint8_t *buffer, lanes *l)
{
    uint32_t state[LANES], model[LANES], next[LANES], end[LANES], at = 0;
    for (size_t v = 0; v < n_vectors; v++) {
        for (size_t i = 0; i < LANES; i++) {
            size_t lane = v * LANES + i;
            const ronchi_stream *s = &streams[g->streams[lane < g->n ? lane : 0]];
            memcpy(buffer + at, s->bytes, s->size_bytes);
            memset(buffer + at + s->size_bytes, 0, 4);
            memcpy(&state[i], buffer + at, 4);
            model[i] = (uint32_t)s->selector * RONCHI_STREAM_SLOTS;
            next[i] = at + 4;
            end[i] = at + s->size_bytes;
            at += s->size_bytes + 4;
        }
        l[v].x = _mm512_loadu_si512(state);
        l[v].model = _mm512_loadu_si512(model);
        l[v].next = _mm512_loadu_si512(next);
        l[v].end = _mm512_loadu_si512(end);
        fetch(&l[v], buffer);
    }
}

/* Lanes whose stream is faulty, after its first 'stop' of n values. */
TARGET static uint32_t faults(const lanes *l, uint32_t bad_start, bool whole)
{
    uint32_t over = _mm512_cmpgt_epu32_mask(l->next, l->end);
    if (whole)
        over |= (uint32_t)_mm512_cmpneq_epi32_mask(l->next, l->end) |
                (uint32_t)_mm512_cmpneq_epi32_mask(l->x, _mm512_set1_epi32((int)RONCHI_STREAM_LOW));
    return over | bad_start;
}

TARGET static uint32_t bad_start(const lanes *l)
{
    return _mm512_cmplt_epu32_mask(l->x, _mm512_set1_epi32((int)RONCHI_STREAM_LOW)) |
           (uint32_t)_mm512_cmpge_epu32_mask(l->x, _mm512_set1_epi32((int)RONCHI_STREAM_HIGH));
}

/* The last steps, fewer than 16: values are stored one by one. */
TARGET static void run_tail(lanes *l, const uint32_t *table, const uint8_t *buffer, size_t n_steps,
                            uint16_t *const out[LANES])
{
    uint32_t values[LANES];
    for (size_t t = 0; t < n_steps; t++) {
        _mm512_storeu_si512(values, step(l, table, buffer));
        for (int i = 0; i < LANES; i++)
            out[i][t] = (uint16_t)values[i];
    }
}

TARGET static void run_one(lanes *l, const uint32_t *table, const uint8_t *buffer, size_t stop, uint16_t *out[LANES])
{
    lanes a = l[0]; /* in registers */
    __m512i pairs[8];
    size_t t = 0;
    for (; t + 16 <= stop; t += 16) {
        for (int k = 0; k < 8; k++) {
            __m512i even = step(&a, table, buffer);
            pairs[k] = _mm512_or_si512(even, _mm512_slli_epi32(step(&a, table, buffer), 16));
        }
        write_lanes(pairs, out);
        for (int i = 0; i < LANES; i++)
            out[i] += 16;
    }
    l[0] = a;
    run_tail(l, table, buffer, stop - t, out);
}

/* Two vectors at once: while one waits for its table, the other works. */
TARGET static void run_two(lanes *l, const uint32_t *table, const uint8_t *buffer, size_t stop,
                           uint16_t *out[2 * LANES])
{
    lanes a = l[0], b = l[1];
    __m512i pairs_a[8], pairs_b[8];
    size_t t = 0;
    for (; t + 16 <= stop; t += 16) {
        for (int k = 0; k < 8; k++) {
            __m512i even_a = step(&a, table, buffer), even_b = step(&b, table, buffer);
            pairs_a[k] = _mm512_or_si512(even_a, _mm512_slli_epi32(step(&a, table, buffer), 16));
            pairs_b[k] = _mm512_or_si512(even_b, _mm512_slli_epi32(step(&b, table, buffer), 16));
        }
        write_lanes(pairs_a, out);
        write_lanes(pairs_b, out + LANES);
        for (int i = 0; i < 2 * LANES; i++)
            out[i] += 16;
    }
    l[0] = a;
    l[1] = b;
    run_tail(&l[0], table, buffer, stop - t, out);
    run_tail(&l[1], table, buffer, stop - t, out + LANES);
}

TARGET static void run_rare(lanes *l, const uint32_t *table, const uint8_t *buffer, size_t stop,
                            uint16_t *out[2 * LANES])
{
    lanes a = l[0], b = l[1];
    const __m512i zeros_a = slots_of(l, 0), ones_a = slots_of(l, 1);
    const __m512i zeros_b = slots_of(l + 1, 0), ones_b = slots_of(l + 1, 1);
    __m512i pairs_a[8], pairs_b[8];
    size_t t = 0;
    for (; t + 16 <= stop; t += 16) {
        for (int k = 0; k < 8; k++) {
            __m512i even_a = step_rare(&a, zeros_a, ones_a, table, buffer);
            __m512i even_b = step_rare(&b, zeros_b, ones_b, table, buffer);
            __m512i odd_a = step_rare(&a, zeros_a, ones_a, table, buffer);
            __m512i odd_b = step_rare(&b, zeros_b, ones_b, table, buffer);
            pairs_a[k] = _mm512_or_si512(even_a, _mm512_slli_epi32(odd_a, 16));
            pairs_b[k] = _mm512_or_si512(even_b, _mm512_slli_epi32(odd_b, 16));
        }
        write_lanes(pairs_a, out);
        write_lanes(pairs_b, out + LANES);
        for (int i = 0; i < 2 * LANES; i++)
            out[i] += 16;
    }
    l[0] = a;
    l[1] = b;
    run_tail(&l[0], table, buffer, stop - t, out);
    run_tail(&l[1], table, buffer, stop - t, out + LANES);
}

/* Decodes one group; returns the lowest number of a faulty stream in it, or 'none'. */
TARGET static size_t decode_group(const ronchi_stream_tables *tables, const ronchi_stream *streams, const group *g,
                                  size_t n, size_t stop, uint16_t *out, size_t none)
{
    uint8_t buffer[BUFFER];
    lanes l[2];
    uint16_t *rows[2 * LANES];
    size_t n_vectors = g->n > LANES || g->rare ? 2 : 1, bad = none;
    load(streams, g, n_vectors, buffer, l);
    uint32_t wrong[2];
    for (size_t v = 0; v < n_vectors; v++)
        wrong[v] = bad_start(&l[v]);
    for (size_t i = 0; i < n_vectors * LANES; i++)
        rows[i] = out + g->streams[i < g->n ? i : 0] * RONCHI_STREAM_PITCH;
    if (g->rare)
        run_rare(l, tables->decode[0], buffer, stop, rows);
    else if (n_vectors == 2)
        run_two(l, tables->decode[0], buffer, stop, rows);
    else
        run_one(l, tables->decode[0], buffer, stop, rows);
    for (size_t i = 0; i < g->n; i++) {
        uint32_t w = faults(&l[i / LANES], wrong[i / LANES], stop == n);
        if (w >> i % LANES & 1 && g->streams[i] < bad)
            bad = g->streams[i];
    }
    return bad;
}

/* The streams of a batch that are rANS coded, sorted by model. */
typedef struct sorted {
    size_t order[BATCH];
    size_t n_rare, n; /* those of rare counts come first */
} sorted;

/* Models of rare counts first. */
static size_t place(const ronchi_stream *s)
{
    return ((size_t)s->selector + RONCHI_STREAM_MODELS - LEAST_RARE) % RONCHI_STREAM_MODELS;
}

/* Sorts a batch and decodes the streams that are not rANS coded. */
static void sort(const ronchi_stream_tables *tables, const ronchi_stream *streams, size_t first, size_t end, size_t n,
                 size_t stop, uint16_t *out, sorted *list, size_t *bad)
{
    size_t begin[RONCHI_STREAM_MODELS + 1] = {0}; /* by model - LEAST_RARE, modulo 64 */
    bool coded[BATCH];
    for (size_t i = first; i < end; i++) {
        const ronchi_stream *s = &streams[i];
        coded[i - first] = s->selector < RONCHI_STREAM_MODELS && s->size_bytes >= 4 && s->size_bytes <= MOST_BYTES;
        if (coded[i - first])
            begin[place(s) + 1]++;
        else if (ronchi_stream_decode(tables, s, n, stop, out + i * RONCHI_STREAM_PITCH) != RONCHI_STREAM_OK &&
                 i < *bad)
            *bad = i;
    }
    for (size_t m = 1; m <= RONCHI_STREAM_MODELS; m++)
        begin[m] += begin[m - 1];
    list->n = begin[RONCHI_STREAM_MODELS];
    list->n_rare = begin[MOST_RARE - LEAST_RARE + 1];
    for (size_t i = first; i < end; i++)
        if (coded[i - first])
            list->order[begin[place(&streams[i])]++] = i;
}

size_t ronchi_streams_decode_avx512(const ronchi_stream_tables *tables, const ronchi_stream *streams, size_t n_streams,
                                    size_t n, size_t stop, uint16_t *out)
{
    size_t bad = n_streams;
    for (size_t first = 0; first < n_streams && bad == n_streams; first += BATCH) {
        size_t end = n_streams - first < BATCH ? n_streams : first + BATCH;
        sorted list;
        sort(tables, streams, first, end, n, stop, out, &list, &bad);
        for (size_t i = 0, part; i < list.n; i += part) {
            group g;
            g.rare = i < list.n_rare;
            part = (g.rare ? list.n_rare : list.n) - i;
            part = part < 2 * LANES ? part : 2 * LANES;
            g.n = part;
            for (size_t k = 0; k < part; k++)
                g.streams[k] = list.order[i + k];
            bad = decode_group(tables, streams, &g, n, stop, out, bad);
        }
    }
    return bad;
}

#endif
