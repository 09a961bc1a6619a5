/* SPDX-License-Identifier: MIT */
/* bitshuffle.c - every version of the bit transposition against a definition bit by bit, up to unmapped pages. */
#define _GNU_SOURCE
#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codec/bitshuffle_core.h"
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

/* Dense: every bit random.  Otherwise counts are small, so that most planes are empty, some with one late bit. */
static void fill_counts(uint8_t *in, size_t n, size_t size, int dense, uint64_t *seed)
{
    for (size_t i = 0; i < n * size; i++) {
        uint8_t byte = (uint8_t)(test_random(seed) >> 56);
        in[i] = dense ? byte : i % size == 0 ? byte & 7 : 0;
    }
    if (!dense && n >= 8)
        in[(n - 1) * size + size - 1] |= (uint8_t)(test_random(seed) >> 56) & 0x80;
}

typedef struct version {
    const char *name;
    ronchi_bitshuffle_fn *unshuffle, *shuffle;
} version;

static void check_one(const version *v, const guarded *a, const guarded *b, size_t n, size_t size, int how,
                      uint64_t *seed)
{
    size_t bytes = n * size;
    uint8_t *in = how & 1 ? guarded_end(a, bytes) : guarded_start(a) + (how & 4 ? 3 : 0);
    uint8_t *out = how & 1 ? guarded_end(b, bytes) : guarded_start(b) + (how & 4 ? 1 : 0);
    uint8_t *expected = malloc(bytes + 1), *original = malloc(bytes + 1);
    fill_counts(in, n, size, how & 2, seed);
    define_shuffle(in, expected, n, size);
    v->shuffle(in, out, n, size);
    if (memcmp(out, expected, bytes) != 0)
        fail_msg("shuffle, %s: %zu elements of %zu bytes", v->name, n, size);
    memcpy(original, in, bytes);
    memcpy(in, expected, bytes);
    memset(out, 0xA5, bytes);
    v->unshuffle(in, out, n, size);
    if (memcmp(out, original, bytes) != 0)
        fail_msg("unshuffle, %s: %zu elements of %zu bytes", v->name, n, size);
    free(expected);
    free(original);
}

static void check_version(const version *v)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    static const size_t counts[] = {8,   16,  24,  56,   64,   72,   248,  256,  264,
                                    504, 512, 520, 1000, 1024, 2048, 4096, 4104, 8192};
    guarded a = guarded_make(8192 * 8 + 8), b = guarded_make(8192 * 8 + 8);
    uint64_t seed = 7;
    for (size_t s = 0; s < 4; s++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int how = 0; how < 8; how++)
                check_one(v, &a, &b, counts[c], sizes[s], how, &seed);
    munmap(a.map, a.bytes);
    munmap(b.map, b.bytes);
}

static void test_c(void **state)
{
    const version v = {"C", ronchi_bitunshuffle_c, ronchi_bitshuffle_c};
    (void)state;
    check_version(&v);
}

static uint32_t cpu_features(void)
{
    ronchi_context *context;
    assert_int_equal(ronchi_context_create(NULL, &context, NULL), RONCHI_OK);
    uint32_t cpu = ronchi_context_cpu(context);
    ronchi_context_destroy(context);
    return cpu;
}

static void test_avx2(void **state)
{
    (void)state;
#if defined(__x86_64__) && defined(__GNUC__)
    const version v = {"AVX2", ronchi_bitunshuffle_avx2, ronchi_bitshuffle_avx2};
    if (cpu_features() & RONCHI_CPU_AVX2) {
        check_version(&v);
        return;
    }
#endif
    skip();
}

static void test_avx512(void **state)
{
    (void)state;
#if defined(__x86_64__) && defined(__GNUC__)
    const version v = {"AVX-512", ronchi_bitunshuffle_avx512, ronchi_bitshuffle_avx512};
    if (cpu_features() & RONCHI_CPU_AVX512) {
        check_version(&v);
        return;
    }
#endif
    skip();
}

/* Whatever features are switched off, the table has both slots. */
static void test_table(void **state)
{
    static const uint32_t off[] = {0, RONCHI_CPU_AVX512VBMI, RONCHI_CPU_AVX512, RONCHI_CPU_AVX2};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        ronchi_context_options options;
        ronchi_context *context;
        ronchi_context_options_defaults(&options);
        options.threads = 1;
        options.cpu_disable = off[i];
        assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
        const ronchi_kernels *kernels = ronchi_context_kernels(context);
        const version v = {"table", kernels->bitunshuffle, kernels->bitshuffle};
        check_version(&v);
        ronchi_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c),
        cmocka_unit_test(test_avx2),
        cmocka_unit_test(test_avx512),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
