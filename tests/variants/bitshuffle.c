/* SPDX-License-Identifier: MIT */
/* bitshuffle.c - every version of the bit transposition against a definition bit by bit, up to unmapped pages. */
#define _GNU_SOURCE
#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/internal.h"
#include "core/kernels.h"

/* The definition, one bit at a time. */
static void define_shuffle(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    memset(out, 0, n * size);
    for (size_t e = 0; e < n; e++)
        for (size_t b = 0; b < 8 * size; b++)
            if (in[e * size + b / 8] >> (b % 8) & 1)
                out[b * (n / 8) + e / 8] |= (uint8_t)(1u << (e % 8));
}

/* Memory that ends (and, with 'offset' 0, begins) at a page that must not be touched. */
typedef struct guarded {
    uint8_t *map;
    size_t bytes, page;
} guarded;

static guarded guarded_make(size_t bytes)
{
    guarded g;
    g.page = (size_t)sysconf(_SC_PAGESIZE);
    g.bytes = (bytes + g.page - 1) / g.page * g.page + 2 * g.page;
    g.map = mmap(NULL, g.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    assert_int_equal(mprotect(g.map, g.page, PROT_NONE), 0);
    assert_int_equal(mprotect(g.map + g.bytes - g.page, g.page, PROT_NONE), 0);
    return g;
}

static uint8_t *guarded_end(const guarded *g, size_t bytes)
{
    return g->map + g->bytes - g->page - bytes;
}

static uint8_t *guarded_start(const guarded *g)
{
    return g->map + g->page;
}

static void check_one(const ronchi_kernels *kernels, const guarded *a, const guarded *b, size_t n, size_t size,
                      int at_end, uint64_t *seed)
{
    size_t bytes = n * size;
    uint8_t *in = at_end ? guarded_end(a, bytes) : guarded_start(a);
    uint8_t *out = at_end ? guarded_end(b, bytes) : guarded_start(b);
    uint8_t *expected = malloc(bytes + 1), *planes = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        in[i] = (uint8_t)(test_random(seed) >> 56);
    define_shuffle(in, expected, n, size);
    kernels->bitshuffle(in, out, n, size);
    assert_memory_equal(out, expected, bytes);
    memcpy(planes, in, bytes); /* the original */
    memcpy(in, expected, bytes);
    memset(out, 0xA5, bytes);
    kernels->bitunshuffle(in, out, n, size);
    assert_memory_equal(out, planes, bytes);
    free(expected);
    free(planes);
}

static void test_versions(void **state)
{
    static const uint32_t off[] = {0, RONCHI_CPU_AVX512, RONCHI_CPU_AVX2};
    static const size_t sizes[] = {1, 2, 4, 8};
    static const size_t counts[] = {8,   16,  24,  56,   64,   72,   248,  256,  264,
                                    504, 512, 520, 1000, 1024, 2048, 4096, 4104, 8192};
    guarded a = guarded_make(8192 * 8), b = guarded_make(8192 * 8);
    uint64_t seed = 7;
    (void)state;
    for (size_t v = 0; v < 3; v++) {
        ronchi_context_options options;
        ronchi_context *context;
        ronchi_context_options_defaults(&options);
        options.threads = 1;
        options.cpu_disable = off[v];
        assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
        const ronchi_kernels *kernels = ronchi_context_kernels(context);
        for (size_t s = 0; s < 4; s++)
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
                for (int end = 0; end < 2; end++)
                    check_one(kernels, &a, &b, counts[c], sizes[s], end, &seed);
        ronchi_context_destroy(context);
    }
    munmap(a.map, a.bytes);
    munmap(b.map, b.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
