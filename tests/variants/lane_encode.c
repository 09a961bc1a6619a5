/* SPDX-License-Identifier: MIT */
/*
 * The encoder's kernels of lane-rans-v1, plain C against each instruction set this processor has: random doses and
 * extreme counts, every number of positions near the edges, counts that end at an unmapped page.
 */
#define _GNU_SOURCE
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codec/crc32c.h"
#include "codec/lane_rans_encode.h"
#include "codec_cases.h"

typedef struct versions {
    ronchi_kernels kernels[4];
    size_t n;
} versions;

static versions kernels_of(void)
{
    static const uint32_t disable[] = {~UINT32_C(0), RONCHI_CPU_AVX512 | RONCHI_CPU_AVX512VBMI, RONCHI_CPU_AVX512VBMI,
                                       0};
    versions t = {.n = 4};
    for (size_t i = 0; i < t.n; i++) {
        ronchi_context *context = test_context(1, disable[i]);
        t.kernels[i] = *ronchi_context_kernels(context);
        ronchi_context_destroy(context);
    }
    return t;
}

/* Memory that ends at an unmapped page. */
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

static double uniform(uint64_t *state)
{
    return ((double)(test_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

static uint16_t poisson(uint64_t *state, double mean)
{
    if (mean > 60) {
        double v = mean + sqrt(mean) * sqrt(-2 * log(uniform(state))) * cos(6.283185307179586 * uniform(state));
        return v < 0 ? 0 : v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;
    }
    double p = exp(-mean), u = uniform(state), sum = p;
    uint16_t k = 0;
    while (u > sum && k < 500)
        sum += p *= mean / ++k;
    return k;
}

/* One pixel: a dose, over-dispersed or spoilt by rare large counts, or one of the other kinds. */
static void fill(uint64_t *state, double mean, size_t n, uint16_t *counts)
{
    size_t kind = test_below(state, 10), base = test_below(state, 3) ? 0 : test_below(state, 60000);
    uint64_t rare = 1 + test_below(state, 400);
    for (size_t i = 0; i < n; i++) {
        uint32_t v = kind == 9   ? test_count(state, (unsigned)(rare % 8), UINT16_MAX)
                     : kind == 8 ? poisson(state, mean * -log(uniform(state)))
                                 : poisson(state, mean);
        if (kind == 7)
            v += (uint32_t)base;
        if (kind == 6 && test_random(state) % rare == 0)
            v = (uint32_t)(test_random(state) >> (48 + test_below(state, 16)));
        counts[i] = v < UINT16_MAX ? (uint16_t)v : UINT16_MAX;
    }
}

static void same_halves(const ronchi_lane_half *a, const ronchi_lane_half *b)
{
    size_t n = (size_t)(a->words + LANE_WORDS_MOST - a->word);
    assert_int_equal(n, b->words + LANE_WORDS_MOST - b->word);
    assert_memory_equal(a->word, b->word, n * sizeof *a->word);
    assert_int_equal(a->n_escapes, b->n_escapes);
    assert_memory_equal(a->escapes, b->escapes, a->n_escapes * sizeof *a->escapes);
    assert_memory_equal(a->x, b->x, sizeof a->x);
}

/* A number of positions: whole streams, their edges, anything. */
static size_t positions(uint64_t *state)
{
    static const size_t edges[] = {1, 15, 16, 17, 31, 32, 33, 511, 512, 513, 528, 529, 1008, 1023};
    size_t kind = test_below(state, 3);
    return kind == 0   ? LANE_POSITIONS
           : kind == 1 ? edges[test_below(state, sizeof edges / sizeof edges[0])]
                       : 1 + test_below(state, LANE_POSITIONS);
}

static void streams(void **unused)
{
    (void)unused;
    versions t = kernels_of();
    uint64_t state = 15;
    ronchi_lane_tables *tables = malloc(sizeof *tables);
    ronchi_lane_work *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    ronchi_lane_tables_fill(tables);
    size_t coded = 0;
    for (int round = 0; round < 700; round++) {
        ronchi_lane_pixels pixels = {.n_pixels = 1 + test_below(&state, LANE_TILE), .value_bytes = 2};
        pixels.n_positions = positions(&state);
        size_t whole = ronchi_div_up(pixels.n_positions, LANE_SPAN) * LANE_SPAN;
        guarded memory = guarded_of(pixels.n_pixels * whole * 2);
        double mean = 0.0003 * exp(uniform(&state) * 17);
        for (size_t p = 0; p < pixels.n_pixels; p++) {
            uint16_t *counts = (uint16_t *)(void *)memory.bytes + p * whole;
            fill(&state, mean * (1 + uniform(&state)), pixels.n_positions, counts);
            pixels.at[p] = counts;
        }
        for (size_t i = 0; i < t.n; i++) {
            ronchi_lane_work *w = i ? b : a;
            memset(w->stats, 0x5A, sizeof w->stats);
            for (size_t p = 0; p < pixels.n_pixels; p++)
                t.kernels[i].lane_stats(pixels.at[p], pixels.n_positions, &w->stats[p]);
            assert_memory_equal(w->stats, a->stats, sizeof a->stats);
            ronchi_lane_choose(w->stats, pixels.n_pixels, pixels.n_positions, &w->choice);
            t.kernels[i].lane_encode(tables, &pixels, w->stats, &w->choice, w->half);
            for (size_t s = 0; i && s * LANE_SPAN < pixels.n_positions; s++)
                same_halves(&a->half[s], &b->half[s]);
        }
        coded += a->half[0].word != a->half[0].words + LANE_WORDS_MOST;
        munmap(memory.map, memory.mapped);
    }
    assert_true(coded > 500);
    free(a);
    free(b);
    free(tables);
}

/* Statistics of counts that end at the page, unaligned too. */
static void statistics(void **unused)
{
    (void)unused;
    versions t = kernels_of();
    uint64_t state = 16;
    for (int round = 0; round < 3000; round++) {
        size_t n = positions(&state);
        guarded memory = guarded_of(n * 2);
        uint16_t *counts = (uint16_t *)(void *)memory.bytes;
        if (round % 20 == 0) /* the last that sums of 16 bits hold, and the first that they do not */
            for (size_t i = 0; i < n; i++)
                counts[i] = (uint16_t)(2047 + (round % 40 == 0));
        else
            fill(&state, 0.0003 * exp(uniform(&state) * 17), n, counts);
        ronchi_lane_stats right, s;
        t.kernels[0].lane_stats(counts, n, &right);
        for (size_t i = 1; i < t.n; i++) {
            memset(&s, 0x5A, sizeof s);
            t.kernels[i].lane_stats(counts, n, &s);
            assert_int_equal(s.sum, right.sum);
            assert_int_equal(s.low, right.low);
            assert_int_equal(s.high, right.high);
            assert_int_equal(s.sum_low, right.sum_low);
            assert_int_equal(s.sum_low2, right.sum_low2);
        }
        munmap(memory.map, memory.mapped);
    }
}

/* The division by multiplication that vectors use, at both ends of every remainder, for all models' frequencies. */
static void divisions(void **unused)
{
    (void)unused;
    uint64_t state = 17;
    ronchi_lane_tables *tables = malloc(sizeof *tables);
    ronchi_lane_tables_fill(tables);
    for (size_t m = 0; m < LANE_MODELS; m++)
        for (size_t k = 0; k < LANE_SYMBOLS; k++) {
            const ronchi_lane_code *code = &tables->code[m];
            uint64_t f = code->frequency[k];
            assert_int_equal(f, tables->model[m].frequency[code->coded[k]]);
            for (int trial = 0; trial < 300; trial++) {
                uint64_t q = trial < 100 ? (UINT64_C(1) << 24) - 1 - (uint64_t)trial : test_below(&state, 1 << 24);
                uint64_t x = q * f + (trial % 3 == 0 ? 0 : trial % 3 == 1 ? f - 1 : test_below(&state, f));
                assert_int_equal(((x + code->bump[k]) * code->inverse[k] >> 32) >> code->rotate[k], q);
            }
        }
    free(tables);
}

static void checksums(void **unused)
{
    (void)unused;
    versions t = kernels_of();
    uint64_t state = 18;
    uint32_t table[256];
    ronchi_crc32c_fill(table);
    for (size_t i = 0; i < t.n; i++)
        assert_int_equal(t.kernels[i].crc32c(table, "123456789", 9), 0xE3069283);
    for (size_t n = 0; n < 300; n++) {
        guarded memory = guarded_of(n);
        for (size_t i = 0; i < n; i++)
            memory.bytes[i] = (uint8_t)test_random(&state);
        for (size_t i = 1; i < t.n; i++)
            assert_int_equal(t.kernels[i].crc32c(table, memory.bytes, n), t.kernels[0].crc32c(table, memory.bytes, n));
        munmap(memory.map, memory.mapped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(streams), cmocka_unit_test(statistics),
                                       cmocka_unit_test(divisions), cmocka_unit_test(checksums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
