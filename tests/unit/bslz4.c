/* SPDX-License-Identifier: MIT */
/* bslz4.c - chunks of both filters: round trips of all sizes, each refusal once, and thousands of damaged chunks. */
#include "test.h"

#include <string.h>

#include "core/internal.h"
#include "formats/bslz4.h"

static ronchi_context *context;
static const ronchi_kernels *kernels;

static int setup(void **state)
{
    (void)state;
    if (ronchi_context_create(NULL, &context, NULL) != RONCHI_OK)
        return -1;
    kernels = ronchi_context_kernels(context);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ronchi_context_destroy(context);
    return 0;
}

/* Exactly as large as it is said to be, so that the sanitizers see every step beyond it. */
static uint8_t *exact(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    return copy;
}

static uint8_t *make_counts(size_t n, size_t element, int noise, uint64_t *seed)
{
    uint8_t *counts = calloc(n ? n : 1, element);
    for (size_t i = 0; i < n * element; i++)
        if (noise || (i % element == 0 && test_random(seed) % 5 == 0))
            counts[i] = (uint8_t)(noise ? test_random(seed) >> 56 : test_random(seed) % 4);
    return counts;
}

static void round_trip(size_t n, size_t element, int noise, uint64_t *seed)
{
    size_t size = n * element, capacity = ronchi_bslz4_bound(size, element), written;
    uint8_t *counts = make_counts(n, element, noise, seed), *room = malloc(capacity), *out = malloc(size ? size : 1);
    assert_int_equal(ronchi_bslz4_encode(kernels, counts, size, element, room, capacity, &written, NULL), RONCHI_OK);
    assert_true(written <= capacity);
    uint8_t *chunk = exact(room, written);
    memset(out, 0xEE, size);
    assert_int_equal(ronchi_bslz4_decode(kernels, chunk, written, element, out, size, NULL), RONCHI_OK);
    assert_memory_equal(out, counts, size);
    free(chunk);
    capacity = ronchi_lz4_bound(size);
    room = realloc(room, capacity);
    assert_int_equal(ronchi_lz4_encode(counts, size, room, capacity, &written, NULL), RONCHI_OK);
    assert_true(written <= capacity);
    chunk = exact(room, written);
    memset(out, 0xEE, size);
    assert_int_equal(ronchi_lz4_decode(chunk, written, out, size, NULL), RONCHI_OK);
    assert_memory_equal(out, counts, size);
    free(chunk);
    free(room);
    free(out);
    free(counts);
}

static void test_round_trips(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 15, 16, 1000, 1023, 4095, 4096, 4097, 4103, 8192, 36864, 50007};
    static const size_t elements[] = {1, 2, 4, 8};
    uint64_t seed = 3;
    (void)state;
    for (size_t e = 0; e < 4; e++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int noise = 0; noise < 2; noise++)
                round_trip(sizes[s], elements[e], noise, &seed);
}

/* The smallest chunk by hand: eight uint16 elements, element i is i, one LZ4 block of literals. */
static void test_by_hand(void **state)
{
    static const uint8_t chunk[] = {
        0,    0,    0,    0,    0,    0, 0, 16, /* decoded bytes */
        0,    0,    0,    16,                   /* block bytes */
        0,    0,    0,    18,                   /* length of the block: token 0xF0, 15 + 1 literals */
        0xF0, 0x01, 0xAA, 0xCC, 0xF0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    };
    uint16_t out[8];
    (void)state;
    assert_int_equal(ronchi_bslz4_decode(kernels, chunk, sizeof chunk, 2, (uint8_t *)out, sizeof out, NULL), RONCHI_OK);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(out[i], i);
}

static void expect_refusal(const uint8_t *chunk, size_t n, size_t element, size_t out_size, uint64_t offset,
                           const char *word)
{
    uint8_t *copy = exact(chunk, n), *out = malloc(out_size);
    ronchi_error err;
    assert_int_equal(ronchi_bslz4_decode(kernels, copy, n, element, out, out_size, &err), RONCHI_ERR_DATA);
    assert_int_equal(err.offset, offset);
    if (!strstr(err.message, word))
        fail_msg("'%s' does not say '%s'", err.message, word);
    free(copy);
    free(out);
}

static void test_refusals(void **state)
{
    uint64_t seed = 9;
    size_t n = 1001, size = 2 * n, capacity = ronchi_bslz4_bound(size, 2), written;
    uint8_t *counts = make_counts(n, 2, 0, &seed), *chunk = malloc(capacity);
    ronchi_error err;
    (void)state;
    assert_int_equal(ronchi_bslz4_encode(kernels, counts, size, 2, chunk, capacity, &written, NULL), RONCHI_OK);
    expect_refusal(chunk, 11, 2, size, 0, "header");
    expect_refusal(chunk, written, 2, size + 2, 0, "declares 2002");
    expect_refusal(chunk, 14, 2, size, 12, "length");
    expect_refusal(chunk, written - 1, 2, size, written - 2, "last elements");
    expect_refusal(chunk, 40, 2, size, 12, "longer");
    chunk[11] = 8; /* a block of 8200 bytes is no multiple of 16 */
    expect_refusal(chunk, written, 2, size, 8, "multiple");
    chunk[11] = 0;
    chunk[16] ^= 0xff;
    expect_refusal(chunk, written, 2, size, 16, "damaged");
    chunk[16] ^= 0xff;
    chunk = realloc(chunk, written + 1);
    chunk[written] = 0;
    expect_refusal(chunk, written + 1, 2, size, written - 2, "left over");
    assert_int_equal(ronchi_bslz4_decode(kernels, chunk, written, 3, counts, size, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_bslz4_encode(kernels, counts, size, 2, chunk, 100, &written, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_bslz4_encode(kernels, counts, size - 1, 2, chunk, capacity, &written, &err),
                     RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_lz4_encode(counts, size, chunk, 100, &written, &err), RONCHI_ERR_ARGUMENT);
    free(chunk);
    free(counts);
}

/* Bits and lengths changed at random: refused or decoded to something, never outside of either buffer. */
static void test_damage(void **state)
{
    uint64_t seed = 11;
    size_t n = 1501, size = 2 * n, written[2];
    uint8_t *counts = make_counts(n, 2, 0, &seed), *chunk[2];
    (void)state;
    for (int f = 0; f < 2; f++) {
        size_t capacity = f ? ronchi_lz4_bound(size) : ronchi_bslz4_bound(size, 2);
        chunk[f] = malloc(capacity);
        ronchi_status status = f ? ronchi_lz4_encode(counts, size, chunk[f], capacity, &written[f], NULL)
                                 : ronchi_bslz4_encode(kernels, counts, size, 2, chunk[f], capacity, &written[f], NULL);
        assert_int_equal(status, RONCHI_OK);
    }
    for (int i = 0; i < 20000; i++) {
        int f = i & 1;
        size_t length = test_random(&seed) % 4 ? written[f] : (size_t)(test_random(&seed) % (written[f] + 1));
        uint8_t *copy = exact(chunk[f], length), *out = malloc(size);
        for (uint64_t k = 1 + test_random(&seed) % 4; k > 0 && length > 0; k--)
            copy[test_random(&seed) % (test_random(&seed) % 3 ? length : (length < 40 ? length : 40))] ^=
                (uint8_t)(1u << test_random(&seed) % 8);
        ronchi_error err;
        ronchi_status status = f ? ronchi_lz4_decode(copy, length, out, size, &err)
                                 : ronchi_bslz4_decode(kernels, copy, length, 2, out, size, &err);
        assert_true(status == RONCHI_OK || (status == RONCHI_ERR_DATA && err.offset <= length));
        free(copy);
        free(out);
    }
    free(chunk[0]);
    free(chunk[1]);
    free(counts);
}

static void test_bounds(void **state)
{
    (void)state;
    assert_int_equal(ronchi_bslz4_bound(SIZE_MAX, 2), 0);
    assert_int_equal(ronchi_lz4_bound(SIZE_MAX), 0);
    assert_true(ronchi_bslz4_bound(0, 4) >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips), cmocka_unit_test(test_by_hand), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_damage),      cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
