/* SPDX-License-Identifier: MIT */
/*
 * codec_cases.h - random acquisitions for the tests of the profiles, stores made from them, and a body in memory.
 */
#ifndef RONCHI_TEST_CODEC_CASES_H
#define RONCHI_TEST_CODEC_CASES_H

#include <string.h>

#include "codec/profile.h"
#include "test.h"

typedef struct test_case {
    ronchi_shape shape;
    ronchi_dtype dtype;
    size_t n_positions, n_pixels, n_bytes;
    uint8_t *valid;
    void *counts; /* [n_positions][n_pixels] of dtype */
} test_case;

static inline size_t test_below(uint64_t *state, size_t n)
{
    return (size_t)(test_random(state) % n);
}

/* How one pixel behaves over the scan. */
static inline uint32_t test_count(uint64_t *state, unsigned kind, uint32_t largest)
{
    uint64_t r = test_random(state);
    switch (kind) {
    case 0:
        return 0;
    case 1:
        return largest; /* saturated */
    case 2:
        return r % 100 == 0; /* rare electrons */
    case 3:
        return (uint32_t)(r % 4);
    case 4:
        return (uint32_t)((r & 15) + (r >> 8 & 15) + (r >> 16 & 15)); /* around the escape */
    case 5:
        return (uint32_t)r & largest; /* noise over the whole type */
    case 6:
        return r % 50 == 0 ? (uint32_t)(r >> 32) & largest : (uint32_t)(r >> 8 & 1);
    default:
        return 7;
    }
}

/* Fills counts as unsigned values of the dtype's width; float32 takes the bits as they are. */
static inline void test_case_fill(test_case *c, uint64_t *state)
{
    size_t size = ronchi_dtype_size(c->dtype);
    uint32_t largest = size == 1 ? UINT8_MAX : size == 2 ? UINT16_MAX : UINT32_MAX;
    for (size_t p = 0; p < c->n_pixels; p++) {
        unsigned kind = (unsigned)test_below(state, 8);
        for (size_t s = 0; s < c->n_positions; s++) {
            uint32_t v = test_count(state, kind, largest);
            memcpy((char *)c->counts + (s * c->n_pixels + p) * size, &v, size);
        }
        c->valid[p] = c->dtype == RONCHI_F32 || test_below(state, 9) != 0;
    }
}

static inline test_case test_case_of(ronchi_shape shape, ronchi_dtype dtype, uint64_t *state)
{
    test_case c;
    memset(&c, 0, sizeof c);
    c.shape = shape;
    c.dtype = dtype;
    c.n_positions = shape.scan_rows * shape.scan_cols;
    c.n_pixels = shape.det_rows * shape.det_cols;
    c.n_bytes = c.n_positions * c.n_pixels * ronchi_dtype_size(dtype);
    c.valid = malloc(c.n_pixels);
    c.counts = malloc(c.n_bytes);
    assert_non_null(c.valid);
    assert_non_null(c.counts);
    test_case_fill(&c, state);
    return c;
}

static inline void test_case_free(test_case *c)
{
    free(c->valid);
    free(c->counts);
}

static inline ronchi_context *test_context(uint32_t threads, uint32_t cpu_disable)
{
    ronchi_context_options options;
    ronchi_context *context = NULL;
    ronchi_context_options_defaults(&options);
    options.threads = threads;
    options.cpu_disable = cpu_disable;
    assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
    return context;
}

/* Encodes a case block by block. */
static inline ronchi_store *test_encode(ronchi_context *context, const ronchi_profile *profile, const test_case *c,
                                        uint64_t budget)
{
    ronchi_store *store = NULL;
    ronchi_error err = {0};
    ronchi_status status = profile->create(context, &c->shape, c->dtype, c->valid, budget, &store, &err);
    if (status != RONCHI_OK)
        print_error("create: %s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    for (size_t i = 0; i < profile->n_blocks(store); i++) {
        ronchi_block block = profile->block(store, i);
        size_t frame = c->n_pixels * ronchi_dtype_size(c->dtype), n = ronchi_block_positions(&block);
        char *frames = malloc(n * frame); /* exactly as long, so that the sanitizer sees every step over */
        assert_non_null(frames);
        for (size_t j = 0; j < n; j++)
            memcpy(frames + j * frame, (const char *)c->counts + ronchi_block_position(&block, &c->shape, j) * frame,
                   frame);
        assert_int_equal(profile->encode_block(store, i, frames, &err), RONCHI_OK);
        free(frames);
    }
    assert_int_equal(profile->finish(store, &err), RONCHI_OK);
    return store;
}

/* A body in memory, as a file would hold it. */
typedef struct test_body {
    uint8_t *bytes;
    size_t size;
} test_body;

static inline ronchi_status test_body_read(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err)
{
    const test_body *body = user;
    if (offset > body->size || size > body->size - offset)
        return ronchi_fail(err, RONCHI_ERR_DATA, NULL, offset, "the body ends too early");
    if (size)
        memcpy(dst, body->bytes + offset, size);
    return RONCHI_OK;
}

static inline test_body test_body_of(const ronchi_store *store)
{
    test_body body = {malloc(store->profile->bytes(store).body_bytes + 1), 0};
    size_t n = store->profile->n_spans(store);
    assert_non_null(body.bytes);
    for (size_t i = 0; i < n; i++) {
        ronchi_span span = store->profile->span(store, i);
        assert_true(body.size + span.gap_bytes + span.size <= store->profile->bytes(store).body_bytes);
        memset(body.bytes + body.size, 0, span.gap_bytes);
        if (span.size)
            memcpy(body.bytes + body.size + span.gap_bytes, span.data, span.size);
        body.size += span.gap_bytes + span.size;
    }
    assert_int_equal(body.size, store->profile->bytes(store).body_bytes);
    return body;
}

/* The codec's part of a header, with what a container adds before. */
static inline json_t *test_header_of(const ronchi_store *store)
{
    json_t *header = json_pack("{s:{}}", "metadata");
    ronchi_error err = {0};
    assert_int_equal(store->profile->describe(store, header, &err), RONCHI_OK);
    return header;
}

static inline ronchi_status test_adopt(ronchi_context *context, const ronchi_store *like, const json_t *header,
                                       test_body *body, ronchi_store **out, ronchi_error *err)
{
    return like->profile->adopt(context, header, &like->shape, like->dtype, body->size, test_body_read, body, out, err);
}

/* Decodes a whole store in its own dtype. */
static inline ronchi_status test_decode(const ronchi_store *store, void *out, ronchi_error *err)
{
    ronchi_region all = ronchi_region_all(&store->shape);
    ronchi_view view = ronchi_view_4d(out, store->dtype, &store->shape);
    return store->profile->decode_band(store, &all, &view, err);
}

static inline void test_equal_counts(const ronchi_store *store, const test_case *c)
{
    ronchi_error err = {0};
    void *out = malloc(c->n_bytes);
    ronchi_status status = test_decode(store, out, &err);
    if (status != RONCHI_OK)
        print_error("decode: %s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    assert_memory_equal(out, c->counts, c->n_bytes);
    free(out);
}

#endif
