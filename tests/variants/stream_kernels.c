/* SPDX-License-Identifier: MIT */
/*
 * The kernels for streams, plain C against each instruction set this processor has: random and extreme inputs, odd
 * sizes, signed pitches, buffers that end at an unmapped page, faulty streams.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "codec/stream.h"
#include "codec_cases.h"
#include "core/kernels.h"

enum { FULL = RONCHI_STREAM_SPAN, PITCH = RONCHI_STREAM_PITCH };

/* Memory whose last byte lies before an unmapped page, so that any step over ends the program. */
typedef struct guarded {
    uint8_t *map, *bytes;
    size_t mapped;
} guarded;

static guarded guarded_of(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guarded g = {NULL, NULL, (size + page - 1) / page * page + page};
    g.map = mmap(NULL, g.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g.map, MAP_FAILED);
    assert_int_equal(mprotect(g.map + g.mapped - page, page, PROT_NONE), 0);
    g.bytes = g.map + g.mapped - page - size;
    return g;
}

static void guarded_free(guarded *g)
{
    munmap(g->map, g->mapped);
}

/* The tables of kernels to compare: the first is plain C. */
typedef struct versions {
    ronchi_kernels kernels[3];
    size_t n;
} versions;

static versions tables_of(void)
{
    static const uint32_t disable[] = {~UINT32_C(0), RONCHI_CPU_AVX512 | RONCHI_CPU_AVX512VBMI, 0};
    versions t = {.n = 3};
    for (size_t i = 0; i < t.n; i++) {
        ronchi_context *context = test_context(1, disable[i]);
        t.kernels[i] = *ronchi_context_kernels(context);
        ronchi_context_destroy(context);
    }
    return t;
}

/* ------------------------------------------------------------------------------------------------ transpositions */

static void check_transpose(ronchi_transpose_fn *plain, ronchi_transpose_fn *fast, size_t in_size, size_t out_size,
                            uint64_t *state)
{
    size_t rows = 1 + test_below(state, 70), cols = 1 + test_below(state, 70);
    size_t in_gap = test_below(state, 9), out_gap = test_below(state, 9);
    ptrdiff_t in_pitch = (ptrdiff_t)(cols * in_size + in_gap), out_pitch = (ptrdiff_t)(rows * out_size + out_gap);
    size_t in_bytes = rows * (size_t)in_pitch - in_gap, out_bytes = cols * (size_t)out_pitch - out_gap;
    guarded in = guarded_of(in_bytes), a = guarded_of(out_bytes), b = guarded_of(out_bytes);
    for (size_t i = 0; i < in_bytes; i++)
        in.bytes[i] = (uint8_t)test_random(state);
    memset(a.bytes, 0x5A, out_bytes);
    memset(b.bytes, 0x5A, out_bytes);
    uint8_t *from = in.bytes;
    size_t to = 0;
    if (test_below(state, 2)) { /* from the last row up */
        from += (ptrdiff_t)(rows - 1) * in_pitch;
        in_pitch = -in_pitch;
    }
    if (test_below(state, 2)) {
        to = (cols - 1) * (size_t)out_pitch;
        out_pitch = -out_pitch;
    }
    plain(from, in_pitch, rows, cols, a.bytes + to, out_pitch);
    fast(from, in_pitch, rows, cols, b.bytes + to, out_pitch);
    assert_memory_equal(a.bytes, b.bytes, out_bytes);
    for (size_t r = 0; r < rows; r++) /* and the plain one against its definition */
        for (size_t c = 0; c < cols; c++) {
            uint16_t v = 0, w = 0;
            memcpy(&v, from + (ptrdiff_t)r * in_pitch + (ptrdiff_t)(c * in_size), in_size);
            memcpy(&w, a.bytes + to + (ptrdiff_t)c * out_pitch + (ptrdiff_t)(r * out_size), out_size);
            assert_int_equal(out_size == 1 ? v & 255 : v, w);
        }
    guarded_free(&in);
    guarded_free(&a);
    guarded_free(&b);
}

/* Frames so large that they are written past the caches. */
static void large_frames(void **unused)
{
    (void)unused;
    enum { PIXELS = 75, STEPS = 100, FRAME = 65536 }; /* frames of 64 KB, 6.4 MB in all */
    versions t = tables_of();
    uint16_t *in = malloc(sizeof *in * PIXELS * PITCH), *out = aligned_alloc(64, (size_t)STEPS * FRAME);
    uint64_t state = 12;
    for (size_t i = 0; i < PIXELS * PITCH; i++)
        in[i] = (uint16_t)test_random(&state);
    for (size_t i = 0; i < t.n; i++)
        for (size_t offset = 0; offset < 3; offset++) {
            memset(out, 0x5A, (size_t)STEPS * FRAME);
            t.kernels[i].transpose16(in, PITCH * 2, PIXELS, STEPS, (char *)out + 64 * offset + offset, FRAME);
            for (size_t s = 0; s < STEPS; s++) {
                const char *frame = (const char *)out + s * FRAME + 65 * offset;
                for (size_t p = 0; p < PIXELS; p++)
                    assert_memory_equal(frame + 2 * p, &in[p * PITCH + s], 2);
                assert_int_equal(frame[2 * PIXELS], 0x5A);
                assert_true(offset == 0 || frame[-1] == 0x5A);
            }
        }
    free(in);
    free(out);
}

static void transpositions(void **unused)
{
    (void)unused;
    versions t = tables_of();
    uint64_t state = 5;
    for (size_t i = 0; i < t.n; i++)
        for (int k = 0; k < 150; k++) {
            check_transpose(t.kernels[0].transpose16, t.kernels[i].transpose16, 2, 2, &state);
            check_transpose(t.kernels[0].widen8, t.kernels[i].widen8, 1, 2, &state);
            check_transpose(t.kernels[0].narrow16, t.kernels[i].narrow16, 2, 1, &state);
        }
}

/* ------------------------------------------------------------------------------------------------------ loops */

static void loops(void **unused)
{
    (void)unused;
    versions t = tables_of();
    uint64_t state = 6;
    for (int round = 0; round < 400; round++) {
        size_t n = round < 40 ? (size_t)round + 1 : 1 + test_below(&state, FULL);
        guarded counts = guarded_of(2 * n), keep = guarded_of(2 * n), sums = guarded_of(4 * n);
        uint16_t *c = (uint16_t *)(void *)counts.bytes, *m = (uint16_t *)(void *)keep.bytes;
        uint32_t *s = (uint32_t *)(void *)sums.bytes, start[FULL], right[FULL], weight = (uint32_t)test_random(&state);
        unsigned kind = (unsigned)test_below(&state, 8);
        for (size_t i = 0; i < n; i++) {
            c[i] = (uint16_t)test_count(&state, kind, UINT16_MAX);
            m[i] = test_below(&state, 2) ? UINT16_MAX : 0;
            start[i] = (uint32_t)test_random(&state);
        }
        ronchi_stream_stats first = {0}, stats = {0};
        uint64_t first_sum[2] = {0}, sum;
        uint32_t first_max[2] = {0}, max;
        for (size_t i = 0; i < t.n; i++) {
            t.kernels[i].stream_stats(c, n, &stats);
            memcpy(s, start, 4 * n);
            t.kernels[i].weigh(c, n, weight, s);
            if (i == 0) {
                first = stats;
                memcpy(right, s, 4 * n);
            }
            assert_memory_equal(&stats, &first, sizeof stats);
            assert_memory_equal(s, right, 4 * n);
            for (int k = 0; k < 2; k++) {
                t.kernels[i].total(c, k ? m : NULL, n, &sum, &max);
                if (i == 0) {
                    first_sum[k] = sum;
                    first_max[k] = max;
                }
                assert_int_equal(sum, first_sum[k]);
                assert_int_equal(max, first_max[k]);
            }
        }
        uint64_t added = 0, nonzero = 0, clipped = 0; /* the plain one against its definition */
        for (size_t i = 0; i < n; i++) {
            added += c[i];
            nonzero += c[i] != 0;
            clipped += c[i] < 32 ? c[i] : 32;
            assert_int_equal(right[i], (uint32_t)(start[i] + weight * c[i]));
        }
        assert_int_equal(first_sum[0], added);
        assert_int_equal(first.nonzero, nonzero);
        assert_int_equal(first.clipped, clipped);
        guarded_free(&counts);
        guarded_free(&keep);
        guarded_free(&sums);
    }
}

/* ---------------------------------------------------------------------------------------------------- decoders */

/* Streams of all forms and models, each behind an unmapped page or not. */
typedef struct batch {
    ronchi_stream *streams;
    guarded *memory;
    uint16_t *values; /* [n_streams][512] */
    size_t n_streams, n;
} batch;

static batch batch_of(const ronchi_stream_tables *tables, const ronchi_kernels *kernels, size_t n_streams, size_t n,
                      uint64_t *state)
{
    batch b = {malloc(n_streams * sizeof *b.streams), malloc(n_streams * sizeof *b.memory),
               malloc(n_streams * FULL * sizeof *b.values), n_streams, n};
    for (size_t i = 0; i < n_streams; i++) {
        uint16_t *v = b.values + i * FULL;
        uint8_t bytes[2 * FULL];
        uint32_t mean = (uint32_t)test_below(state, 5), kind = (uint32_t)test_below(state, 12);
        for (size_t t = 0; t < n; t++) {
            uint64_t r = test_random(state);
            uint64_t value =
                kind < 8 ? test_count(state, kind, UINT16_MAX) : (r % 10 < mean) + (r >> 32) % (1 + mean * 8);
            if (kind >= 10) /* rare counts: the models in which 0 and 1 stand in registers */
                value = r % 31 == 0 ? 1 + (r >> 40) % (kind - 9) * (r >> 60) : 0;
            v[t] = (uint16_t)value;
        }
        ronchi_stream_stats stats;
        kernels->stream_stats(v, n, &stats);
        b.streams[i].size_bytes = (uint32_t)ronchi_stream_encode(tables, v, n, &stats, bytes, &b.streams[i].selector);
        b.memory[i] = guarded_of(b.streams[i].size_bytes);
        memcpy(b.memory[i].bytes, bytes, b.streams[i].size_bytes);
        b.streams[i].bytes = b.memory[i].bytes;
    }
    return b;
}

static void batch_free(batch *b)
{
    for (size_t i = 0; i < b->n_streams; i++)
        guarded_free(&b->memory[i]);
    free(b->streams);
    free(b->memory);
    free(b->values);
}

static void decoders(void **unused)
{
    (void)unused;
    versions t = tables_of();
    ronchi_stream_tables *tables = malloc(sizeof *tables);
    ronchi_stream_tables_fill(tables);
    uint64_t state = 8;
    for (int round = 0; round < 60; round++) {
        size_t n_streams = round < 34 ? (size_t)round + 1 : 1 + test_below(&state, 700);
        size_t n = round % 3 ? FULL : 1 + test_below(&state, FULL), stop = round % 4 ? n : 1 + test_below(&state, n);
        batch b = batch_of(tables, &t.kernels[0], n_streams, n, &state);
        uint16_t *out = malloc((n_streams * PITCH) * sizeof *out);
        for (size_t i = 0; i < t.n; i++) {
            assert_int_equal(t.kernels[i].streams_decode(tables, b.streams, n_streams, n, stop, out), n_streams);
            for (size_t k = 0; k < n_streams; k++)
                assert_memory_equal(out + k * PITCH, b.values + k * FULL, stop * sizeof *out);
        }
        free(out);
        batch_free(&b);
    }
    free(tables);
}

/* Every version of the encoder gives the bytes of the plain one. */
static void encoders(void **unused)
{
    (void)unused;
    versions t = tables_of();
    ronchi_stream_tables *tables = malloc(sizeof *tables);
    ronchi_stream_tables_fill(tables);
    uint64_t state = 10;
    for (int round = 0; round < 60; round++) {
        size_t n_streams = round < 34 ? (size_t)round + 1 : 1 + test_below(&state, 700);
        size_t n = round % 3 ? FULL : 1 + test_below(&state, FULL);
        batch b = batch_of(tables, &t.kernels[0], n_streams, n, &state);
        uint16_t *values = malloc(n_streams * PITCH * sizeof *values);
        ronchi_stream_stats *stats = malloc(n_streams * sizeof *stats);
        guarded dst = guarded_of(n_streams * 2 * FULL);
        uint32_t *sizes = malloc(n_streams * sizeof *sizes);
        uint8_t *selectors = malloc(n_streams);
        for (size_t k = 0; k < n_streams; k++) {
            memset(values + k * PITCH, 0xEE, PITCH * sizeof *values);
            memcpy(values + k * PITCH, b.values + k * FULL, n * sizeof *values);
            t.kernels[0].stream_stats(values + k * PITCH, n, &stats[k]);
        }
        for (size_t i = 0; i < t.n; i++) {
            t.kernels[i].streams_encode(tables, values, n_streams, n, stats, dst.bytes, sizes, selectors);
            for (size_t k = 0; k < n_streams; k++) {
                assert_int_equal(selectors[k], b.streams[k].selector);
                assert_int_equal(sizes[k], b.streams[k].size_bytes);
                assert_memory_equal(dst.bytes + k * 2 * FULL, b.streams[k].bytes, sizes[k]);
            }
        }
        free(values);
        free(stats);
        free(sizes);
        free(selectors);
        guarded_free(&dst);
        batch_free(&b);
    }
    free(tables);
}

/* Damaged streams: every version names the same first faulty stream, and agrees on the others. */
static void damage(void **unused)
{
    (void)unused;
    versions t = tables_of();
    ronchi_stream_tables *tables = malloc(sizeof *tables);
    ronchi_stream_tables_fill(tables);
    uint64_t state = 9;
    size_t found = 0;
    uint16_t *first = malloc(64 * PITCH * sizeof *first), *out = malloc(64 * PITCH * sizeof *out);
    for (int round = 0; round < 300; round++) {
        size_t n = round % 2 ? FULL : 1 + test_below(&state, FULL), stop = round % 5 ? n : 1 + test_below(&state, n);
        batch b = batch_of(tables, &t.kernels[0], 64, n, &state);
        for (size_t k = test_below(&state, 3); k > 0; k--) {
            ronchi_stream *s = &b.streams[test_below(&state, 64)];
            size_t i = (size_t)(s - b.streams);
            unsigned kind = (unsigned)test_below(&state, 3);
            if (kind == 0)
                s->selector = (uint8_t)test_random(&state);
            else if (kind == 1 && s->size_bytes) { /* cut at the front, so that the end stays at the guard */
                s->bytes++;
                s->size_bytes--;
            } else if (s->size_bytes) {
                uint8_t *bytes = b.memory[i].bytes + (s->bytes - b.memory[i].bytes);
                bytes[test_below(&state, s->size_bytes)] ^= (uint8_t)(1u << test_below(&state, 8));
            }
        }
        size_t right = t.kernels[0].streams_decode(tables, b.streams, 64, n, stop, first);
        found += right < 64;
        for (size_t i = 1; i < t.n; i++) {
            assert_int_equal(t.kernels[i].streams_decode(tables, b.streams, 64, n, stop, out), right);
            for (size_t k = 0; k < right; k++)
                assert_memory_equal(out + k * PITCH, first + k * PITCH, stop * sizeof *out);
        }
        batch_free(&b);
    }
    assert_true(found > 50);
    free(first);
    free(out);
    free(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(transpositions), cmocka_unit_test(large_frames),
                                       cmocka_unit_test(loops),          cmocka_unit_test(decoders),
                                       cmocka_unit_test(encoders),       cmocka_unit_test(damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
