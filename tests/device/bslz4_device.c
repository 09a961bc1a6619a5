/* SPDX-License-Identifier: MIT */
/*
 * bslz4_device.c - chunks decoded on a CUDA device, compared with the CPU's decoder: all elements, sizes, block sizes
 * and codings, byte orders, and thousands of damaged chunks, whose faults must be those that the CPU finds.  Every
 * frame is filled with another value first and has guards on both sides.
 *
 * usage: bslz4_device [SEED [ROUNDS]]; exit code 77 without a device
 *
 * or, for rates: bslz4_device --bench [FRAMES]
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lz4.h>

#include "core/internal.h"
#include "core/kernels.h"
#include "core/port.h"
#include "device/numbers.h"
#include "formats/bslz4.h"
#include "formats/bslz4_cuda.h"

enum { GUARD = 64, POISON = 0xEE };

static uint64_t state = 1;
static ronchi_context *context;
static ronchi_device *device;
static const ronchi_cuda_table *table;
static const ronchi_kernels *kernels;
static ronchi_cuda_stream stream;

static uint64_t next64(void)
{
    return test_next64(&state);
}

static void check(ronchi_status status, const ronchi_error *err)
{
    if (status == RONCHI_OK)
        return;
    printf("FAILED: %s\n", err->message);
    exit(1);
}

static void fail(const char *what, size_t i)
{
    printf("FAILED: %s (chunk %zu)\n", what, i);
    exit(1);
}

/* --------------------------------------------------------------------------------------------------------- batches */

/* Chunks on the host, one after the other without gaps, so that places are of any alignment. */
typedef struct batch {
    size_t n, element, chunk_bytes;
    int swap;
    uint8_t *bytes;
    size_t n_bytes, room;
    ronchi_bslz4_chunk *chunks;
    uint8_t *frames; /* [n][chunk_bytes + GUARD], a guard first */
    uint64_t fault;
} batch;

static size_t frames_bytes(const batch *b)
{
    return GUARD + b->n * (b->chunk_bytes + GUARD);
}

static void batch_init(batch *b, size_t n, size_t element, size_t chunk_bytes)
{
    memset(b, 0, sizeof *b);
    b->element = element;
    b->chunk_bytes = chunk_bytes;
    b->room = n * (2 * chunk_bytes + 65536);
    b->bytes = malloc(b->room);
    b->chunks = calloc(n, sizeof *b->chunks);
    b->n = n;
    b->frames = malloc(frames_bytes(b));
    b->n = 0;
}

static void batch_free(batch *b)
{
    free(b->bytes);
    free(b->chunks);
    free(b->frames);
}

static uint8_t *batch_chunk(batch *b, uint32_t coding)
{
    b->chunks[b->n].from = b->n_bytes;
    b->chunks[b->n].to = GUARD + b->n * (b->chunk_bytes + GUARD);
    b->chunks[b->n].coding = coding;
    return b->bytes + b->n_bytes;
}

static void batch_add(batch *b, size_t size)
{
    b->chunks[b->n++].size = (uint32_t)size;
    b->n_bytes += size;
}

/* Runs a batch on the device; frames and fault come back. */
static void batch_run(batch *b)
{
    ronchi_error err;
    void *bytes, *chunks, *out, *slots, *fault;
    uint64_t sound = RONCHI_BSLZ4_SOUND;
    size_t n_out = frames_bytes(b), n_slots = b->n * ronchi_bslz4_slots(b->chunk_bytes) * 4;
    check(table->memory_take(device, b->n_bytes, &bytes, &err), &err);
    check(table->memory_take(device, b->n * sizeof *b->chunks, &chunks, &err), &err);
    check(table->memory_take(device, n_out, &out, &err), &err);
    check(table->memory_take(device, n_slots, &slots, &err), &err);
    check(table->memory_take(device, 8, &fault, &err), &err);
    check(table->copy(device, stream, bytes, b->bytes, b->n_bytes, &err), &err);
    check(table->copy(device, stream, chunks, b->chunks, b->n * sizeof *b->chunks, &err), &err);
    check(table->copy(device, stream, fault, &sound, 8, &err), &err);
    check(table->fill(device, stream, out, POISON, n_out, &err), &err);
    check(table->fill(device, stream, slots, 0xFF, n_slots, &err), &err);
    ronchi_bslz4_batch on = {.bytes = bytes,
                             .n_bytes = b->n_bytes,
                             .chunks = chunks,
                             .n_chunks = b->n,
                             .element = b->element,
                             .chunk_bytes = b->chunk_bytes,
                             .others = 1,
                             .swap = b->swap,
                             .out = out,
                             .out_bytes = n_out,
                             .slots = slots,
                             .fault = fault};
    check(table->bslz4->decode(device, stream, &on, &err), &err);
    check(table->copy(device, stream, b->frames, out, n_out, &err), &err);
    check(table->copy(device, stream, &b->fault, fault, 8, &err), &err);
    check(table->stream_wait(device, stream, &err), &err);
    table->memory_give(device, bytes, b->n_bytes);
    table->memory_give(device, chunks, b->n * sizeof *b->chunks);
    table->memory_give(device, out, n_out);
    table->memory_give(device, slots, n_slots);
    table->memory_give(device, fault, 8);
}

/* What the CPU makes of one chunk. */
static ronchi_status by_cpu(const batch *b, size_t i, uint8_t *out, ronchi_error *err)
{
    const ronchi_bslz4_chunk *c = &b->chunks[i];
    const uint8_t *chunk = b->bytes + c->from;
    memset(err, 0, sizeof *err);
    if (c->coding == RONCHI_BSLZ4_BSLZ4)
        return ronchi_bslz4_decode(kernels, chunk, c->size, b->element, out, b->chunk_bytes, err);
    if (c->coding == RONCHI_BSLZ4_LZ4)
        return ronchi_lz4_decode(chunk, c->size, out, b->chunk_bytes, err);
    memcpy(out, chunk, b->chunk_bytes);
    return RONCHI_OK;
}

static void swap_bytes(uint8_t *p, size_t n, size_t element)
{
    for (size_t i = 0; i < n; i += element)
        for (size_t k = 0; k < element / 2; k++) {
            uint8_t first = p[i + k];
            p[i + k] = p[i + element - 1 - k];
            p[i + element - 1 - k] = first;
        }
}

static void check_guards(const batch *b)
{
    for (size_t i = 0; i <= b->n; i++)
        for (size_t k = 0; k < GUARD; k++)
            if (b->frames[i * (b->chunk_bytes + GUARD) + k] != POISON)
                fail("a byte outside of the frame was written", i);
}

static void check_sound(const batch *b)
{
    uint8_t *frame = malloc(b->chunk_bytes + 1);
    ronchi_error err;
    if (b->fault != RONCHI_BSLZ4_SOUND) {
        printf("fault of kind %d at byte %u\n", (int)ronchi_bslz4_fault_kind(b->fault),
               ronchi_bslz4_fault_byte(b->fault));
        fail("a sound chunk was refused", (size_t)ronchi_bslz4_fault_chunk(b->fault));
    }
    check_guards(b);
    for (size_t i = 0; i < b->n; i++) {
        check(by_cpu(b, i, frame, &err), &err);
        if (b->swap)
            swap_bytes(frame, b->chunk_bytes, b->element);
        if (memcmp(frame, b->frames + b->chunks[i].to, b->chunk_bytes) != 0)
            fail("a frame differs from the CPU's", i);
    }
    free(frame);
}

/* ------------------------------------------------------------------------------------------------------ sound chunks
 */

/* Counts of one frame: 0 noise in every bit, 1 few electrons, 2 zeros, 3 constant, 4 repeated stretches, 5 dose 60. */
static void make_counts(uint8_t *counts, size_t bytes, size_t element, int kind)
{
    memset(counts, 0, bytes);
    uint64_t base = next64();
    for (size_t i = 0; i + element <= bytes; i += element) {
        uint64_t v = 0;
        if (kind == 0)
            v = next64();
        else if (kind == 1)
            v = next64() % 16 == 0 ? 1 + next64() % 3 : 0;
        else if (kind == 3)
            v = base;
        else if (kind == 4)
            v = i / element % (11 + base % 50) * (next64() % 500 ? 1 : 3);
        else if (kind == 5)
            v = 50 + next64() % 8 + next64() % 8 + next64() % 8;
        memcpy(counts + i, &v, element);
    }
}

/* bslz4 with blocks of 'block' bytes, as other writers may make them. */
static size_t encode_blocks(const uint8_t *counts, size_t bytes, size_t element, size_t block, uint8_t *out)
{
    size_t at = 12, whole = bytes - bytes % (8 * element);
    uint8_t *planes = malloc(block + 64);
    memset(out, 0, 12);
    for (size_t i = 0; i < 4; i++) {
        out[4 + i] = (uint8_t)(bytes >> (24 - 8 * i));
        out[8 + i] = (uint8_t)(block >> (24 - 8 * i));
    }
    for (size_t done = 0; done < whole; done += block) {
        size_t n = whole - done < block ? whole - done : block;
        kernels->bitshuffle(counts + done, planes, n / element, element);
        int length =
            LZ4_compress_default((const char *)planes, (char *)out + at + 4, (int)n, LZ4_compressBound((int)n));
        for (int i = 0; i < 4; i++)
            out[at + (size_t)i] = (uint8_t)((uint32_t)length >> (24 - 8 * i));
        at += 4 + (size_t)length;
    }
    memcpy(out + at, counts + whole, bytes - whole);
    free(planes);
    return at + bytes - whole;
}

/* Adds a chunk of a coding: 0 none, 1 bslz4, 2 lz4, 3 bslz4 with blocks of another size. */
static void add_chunk(batch *b, int coding, int kind)
{
    uint8_t *counts = malloc(b->chunk_bytes + 1), *to;
    size_t written = 0;
    ronchi_error err;
    make_counts(counts, b->chunk_bytes, b->element, kind);
    to = batch_chunk(b, coding == 3 ? RONCHI_BSLZ4_BSLZ4 : (uint32_t)coding);
    if (coding == 0) {
        memcpy(to, counts, b->chunk_bytes);
        written = b->chunk_bytes;
    } else if (coding == 1) {
        check(
            ronchi_bslz4_encode(kernels, counts, b->chunk_bytes, b->element, to, b->room - b->n_bytes, &written, &err),
            &err);
    } else if (coding == 2) {
        check(ronchi_lz4_encode(counts, b->chunk_bytes, to, b->room - b->n_bytes, &written, &err), &err);
    } else {
        size_t group = 8 * b->element;
        written = encode_blocks(counts, b->chunk_bytes, b->element, group * (1 + next64() % (8192 / group)), to);
    }
    batch_add(b, written);
    free(counts);
}

static void test_sound(void)
{
    static const size_t elements[] = {1, 2, 4};
    static const size_t counts[] = {1, 7, 8, 9, 63, 64, 100, 1000, 4096, 4103, 8192, 9999, 36864, 36865, 36871, 65536};
    size_t tried = 0;
    for (size_t e = 0; e < 3; e++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int swap = 0; swap < 2; swap++) {
                batch b;
                batch_init(&b, 24, elements[e], counts[c] * elements[e]);
                b.swap = swap;
                for (int kind = 0; kind < 6; kind++)
                    for (int coding = 0; coding < 4; coding++)
                        add_chunk(&b, coding, kind);
                batch_run(&b);
                check_sound(&b);
                tried += b.n;
                batch_free(&b);
            }
    printf("%zu sound chunks as on the CPU\n", tried);
}

/* Blocks above 8 KiB are named, not decoded. */
static void test_large_blocks(void)
{
    batch b;
    batch_init(&b, 2, 2, 40000);
    add_chunk(&b, 1, 1);
    uint8_t *to = batch_chunk(&b, RONCHI_BSLZ4_BSLZ4), *counts = calloc(40000, 1);
    batch_add(&b, encode_blocks(counts, 40000, 2, 16384, to));
    batch_run(&b);
    if (ronchi_bslz4_fault_kind(b.fault) != RONCHI_BSLZ4_LARGE || ronchi_bslz4_fault_chunk(b.fault) != 1)
        fail("large blocks were not named", 1);
    free(counts);
    batch_free(&b);
}

/* ---------------------------------------------------------------------------------------------------- damaged chunks
 */

static void damage(uint8_t *chunk, uint32_t *size)
{
    switch (next64() % 5) {
    case 0: /* a bit */
        chunk[next64() % *size] ^= (uint8_t)(1u << next64() % 8);
        break;
    case 1: /* a byte in the first blocks' heads */
        chunk[next64() % (*size < 40 ? *size : 40)] = (uint8_t)next64();
        break;
    case 2: /* cut */
        *size = (uint32_t)(next64() % *size);
        break;
    case 3: /* a stretch of noise */
        for (size_t k = 0, at = next64() % *size; k < 20 && at + k < *size; k++)
            chunk[at + k] = (uint8_t)next64();
        break;
    default: /* lengths and offsets that are extreme */
        chunk[next64() % *size] = next64() % 2 ? 0xFF : 0;
        break;
    }
}

/*
 * Each damaged chunk is judged by a batch of its own neighbours: those before it are sound, so the fault must be its
 * own, at the CPU's byte; when the CPU takes it, so must the device, with the same frame.  A match at distance 0 is the
 * one thing that the CPU's LZ4 lets pass.
 */
static void test_damaged(size_t rounds)
{
    static const size_t sizes[] = {200, 4104, 20006, 36864};
    size_t refused = 0, taken = 0, stricter = 0;
    for (size_t round = 0; round < rounds; round++) {
        size_t element = (size_t)1 << next64() % 3, bytes = sizes[round % 4] * element;
        int coding = 1 + (int)(next64() % 3);
        batch b;
        ronchi_error err;
        uint8_t *frame = malloc(bytes);
        batch_init(&b, 4, element, bytes);
        for (int i = 0; i < 3; i++)
            add_chunk(&b, i == 2 ? coding : 1, (int)(next64() % 6));
        uint8_t *chunk = b.bytes + b.chunks[2].from;
        uint32_t size = b.chunks[2].size, cut = size;
        damage(chunk, &cut);
        b.n_bytes -= size - cut; /* nothing behind it, so that every step beyond is seen */
        b.chunks[2].size = cut;
        memset(frame, 0, bytes);
        ronchi_status status = by_cpu(&b, 2, frame, &err);
        batch_run(&b);
        check_guards(&b);
        if (status != RONCHI_OK && status != RONCHI_ERR_DATA)
            fail("the CPU answers otherwise", 2);
        if (b.fault == RONCHI_BSLZ4_SOUND) {
            if (status != RONCHI_OK)
                fail(err.message, 2);
            check_sound(&b);
            taken++;
        } else if (ronchi_bslz4_fault_chunk(b.fault) != 2) {
            fail("another chunk is blamed", (size_t)ronchi_bslz4_fault_chunk(b.fault));
        } else if (status == RONCHI_OK) {
            stricter++; /* distance 0, or blocks that are too large */
        } else if (ronchi_bslz4_fault_kind(b.fault) != RONCHI_BSLZ4_LARGE &&
                   ronchi_bslz4_fault_byte(b.fault) != err.offset) {
            /* distance 0 in an earlier block is found here, and something later by the CPU */
            if (ronchi_bslz4_fault_kind(b.fault) != RONCHI_BSLZ4_LZ4_BLOCK ||
                ronchi_bslz4_fault_byte(b.fault) > err.offset) {
                printf("device: kind %d, byte %u; CPU: %s\n", (int)ronchi_bslz4_fault_kind(b.fault),
                       ronchi_bslz4_fault_byte(b.fault), err.message);
                fail("another byte is blamed", 2);
            }
            stricter++;
        } else {
            refused++;
        }
        free(frame);
        batch_free(&b);
    }
    printf("damaged chunks: %zu refused at the CPU's byte, %zu decoded as on the CPU, %zu refused here alone\n",
           refused, taken, stricter);
    if (refused < rounds / 3 || stricter > rounds / 20 + 3)
        fail("these numbers are not as they should be", 2);
}

/* ----------------------------------------------------------------------------------------------------------- bench */

typedef struct making {
    int coding;
    uint8_t **chunks;
    size_t *sizes;
    double mean;
} making;

static uint64_t random_of(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * UINT64_C(0x2545F4914F6CDD1D);
}

/* A frame of 192 x 192 uint16: a disk of radius 50 of that mean, little around it. */
static ronchi_status make_frame(void *user, size_t item, size_t worker, ronchi_error *err)
{
    making *m = user;
    uint16_t *counts = calloc(192 * 192, 2);
    uint64_t s = item * 7919 + 12345;
    (void)worker;
    for (int p = 0; p < 192 * 192; p++) {
        double r = hypot(p / 192 - 95.5, p % 192 - 95.5), mean = r < 55 ? m->mean : m->mean * 0.02;
        double limit = exp(-mean), product = 1;
        int n = -1;
        do {
            product *= (double)(random_of(&s) >> 11) / 9007199254740992.0;
            n++;
        } while (product > limit);
        counts[p] = (uint16_t)n;
    }
    size_t bytes = 192 * 192 * 2, bound = ronchi_bslz4_bound(bytes, 2) + ronchi_lz4_bound(bytes);
    uint8_t *to = m->chunks[item] = malloc(bound);
    ronchi_status status =
        m->coding == RONCHI_BSLZ4_LZ4
            ? ronchi_lz4_encode((uint8_t *)counts, bytes, to, bound, &m->sizes[item], err)
            : ronchi_bslz4_encode(kernels, (uint8_t *)counts, bytes, 2, to, bound, &m->sizes[item], err);
    free(counts);
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench(size_t n, int coding, double mean)
{
    enum { DISTINCT = 2048, RUNS = 9 };
    ronchi_error err;
    making m = {coding, calloc(DISTINCT, sizeof *m.chunks), calloc(DISTINCT, sizeof *m.sizes), mean};
    check(ronchi_parallel_for(context, DISTINCT, make_frame, &m, &err), &err);
    size_t bytes = 192 * 192 * 2, total = 0;
    for (size_t i = 0; i < n; i++)
        total += m.sizes[i % DISTINCT];
    uint8_t *all = malloc(total);
    ronchi_bslz4_chunk *chunks = calloc(n, sizeof *chunks);
    for (size_t i = 0, at = 0; i < n; at += m.sizes[i++ % DISTINCT]) {
        memcpy(all + at, m.chunks[i % DISTINCT], m.sizes[i % DISTINCT]);
        chunks[i] = (ronchi_bslz4_chunk){at, i * bytes, (uint32_t)m.sizes[i % DISTINCT], (uint32_t)coding};
    }
    void *d_bytes, *d_chunks, *out, *slots, *fault;
    uint64_t word = RONCHI_BSLZ4_SOUND;
    check(table->memory_take(device, total, &d_bytes, &err), &err);
    check(table->memory_take(device, n * sizeof *chunks, &d_chunks, &err), &err);
    check(table->memory_take(device, n * bytes, &out, &err), &err);
    check(table->memory_take(device, n * ronchi_bslz4_slots(bytes) * 4, &slots, &err), &err);
    check(table->memory_take(device, 8, &fault, &err), &err);
    check(table->copy(device, stream, d_bytes, all, total, &err), &err);
    check(table->copy(device, stream, d_chunks, chunks, n * sizeof *chunks, &err), &err);
    check(table->copy(device, stream, fault, &word, 8, &err), &err);
    ronchi_bslz4_batch on = {d_bytes, total, d_chunks,  n,     2,    bytes, coding != RONCHI_BSLZ4_BSLZ4,
                             0,       out,   n * bytes, slots, fault};
    ronchi_cuda_event from, to;
    double seconds[RUNS];
    check(table->event_open(device, &from, &err), &err);
    check(table->event_open(device, &to, &err), &err);
    for (int run = -2; run < RUNS; run++) {
        check(table->fill(device, stream, out, POISON, n * bytes, &err), &err);
        check(table->event_record(device, from, stream, &err), &err);
        check(table->bslz4->decode(device, stream, &on, &err), &err);
        check(table->event_record(device, to, stream, &err), &err);
        check(table->stream_wait(device, stream, &err), &err);
        if (run >= 0)
            check(table->event_seconds(device, from, to, &seconds[run], &err), &err);
    }
    qsort(seconds, RUNS, sizeof *seconds, by_value);
    uint8_t *frame = malloc(bytes), *mine = malloc(bytes);
    for (size_t i = 0; i < n; i += n / 64 + 1) {
        check(table->copy(device, stream, mine, (uint8_t *)out + i * bytes, bytes, &err), &err);
        check(table->copy(device, stream, &word, fault, 8, &err), &err);
        check(table->stream_wait(device, stream, &err), &err);
        check(coding == RONCHI_BSLZ4_LZ4
                  ? ronchi_lz4_decode(all + chunks[i].from, chunks[i].size, frame, bytes, &err)
                  : ronchi_bslz4_decode(kernels, all + chunks[i].from, chunks[i].size, 2, frame, bytes, &err),
              &err);
        if (word != RONCHI_BSLZ4_SOUND || memcmp(frame, mine, bytes) != 0)
            fail("a frame differs from the CPU's", i);
    }
    printf("%-5s decode, disk of mean %-5g %zu frames, %5.2f bits a count: %7.2f ms, %6.0f GB/s, %6.0f Gcounts/s "
           "(%.2f to %.2f ms)\n",
           coding == RONCHI_BSLZ4_LZ4 ? "lz4" : "bslz4", mean, n, 8.0 * (double)total / ((double)n * 36864),
           1e3 * seconds[RUNS / 2], (double)(n * bytes) / seconds[RUNS / 2] / 1e9,
           (double)n * 36864 / seconds[RUNS / 2] / 1e9, 1e3 * seconds[0], 1e3 * seconds[RUNS - 1]);
    table->memory_give(device, d_bytes, total);
    table->memory_give(device, d_chunks, n * sizeof *chunks);
    table->memory_give(device, out, n * bytes);
    table->memory_give(device, slots, n * ronchi_bslz4_slots(bytes) * 4);
    table->memory_give(device, fault, 8);
    table->event_close(device, from);
    table->event_close(device, to);
    for (size_t i = 0; i < DISTINCT; i++)
        free(m.chunks[i]);
    free(m.chunks);
    free(m.sizes);
    free(all);
    free(chunks);
    free(frame);
    free(mine);
}

int main(int argc, char **argv)
{
    ronchi_context_options options;
    ronchi_error err;
    ronchi_context_options_defaults(&options);
    options.device = "cuda";
    ronchi_status status = ronchi_context_create(&options, &context, &err);
    if (status == RONCHI_ERR_DEVICE) {
        printf("skipped: %s\n", err.message);
        return 77;
    }
    check(status, &err);
    device = ronchi_context_device(context);
    table = device->table;
    kernels = ronchi_context_kernels(context);
    check(table->stream_open(device, &stream, &err), &err);
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        static const double means[] = {0.25, 4, 60, 400};
        size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 65536;
        printf("%s\n", device->name);
        for (size_t i = 0; i < 4; i++)
            bench(n, RONCHI_BSLZ4_BSLZ4, means[i]);
        bench(n, RONCHI_BSLZ4_LZ4, means[1]);
    } else {
        state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
        test_sound();
        test_large_blocks();
        test_damaged(argc > 2 ? strtoul(argv[2], NULL, 10) : 1200);
        printf("bslz4_device: all as on the CPU\n");
    }
    table->stream_close(device, stream);
    ronchi_context_destroy(context);
    return 0;
}
