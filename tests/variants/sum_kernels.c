/* SPDX-License-Identifier: MIT */
/* Planes of sums against plain loops, for each instruction set of this processor; and adding them to an image. */
#include "codec/sum_index.h"
#include "codec_cases.h"

static const uint32_t disable[] = {~UINT32_C(0), RONCHI_CPU_AVX512 | RONCHI_CPU_AVX512VBMI, 0};

static void add_sums(void **unused)
{
    (void)unused;
    uint64_t state = 3;
    for (size_t v = 0; v < sizeof disable / sizeof disable[0]; v++) {
        ronchi_context *context = test_context(1, disable[v]);
        const ronchi_kernels *kernels = ronchi_context_kernels(context);
        for (int trial = 0; trial < 300; trial++) {
            const size_t bytes = (size_t)1 << test_below(&state, 3), n = test_below(&state, 200);
            uint8_t *from = malloc(n * bytes + 1); /* as long as it is, so that the sanitizer sees a step over */
            uint32_t *got = malloc((n + 1) * sizeof *got), *want = malloc((n + 1) * sizeof *want);
            for (size_t i = 0; i < n * bytes; i++)
                from[i] = (uint8_t)test_random(&state);
            for (size_t i = 0; i < n; i++) {
                uint32_t value = 0;
                memcpy(&value, from + i * bytes, bytes);
                got[i] = (uint32_t)test_random(&state);
                want[i] = got[i] + value;
            }
            kernels->add_sums(from, bytes, n, got);
            assert_memory_equal(got, want, n * sizeof *want);
            free(from);
            free(got);
            free(want);
        }
        ronchi_context_destroy(context);
    }
}

/* Decoded counts into several planes, up to the largest counts and weights; positions behind n are left to anything. */
static void weigh_planes(void **unused)
{
    (void)unused;
    enum { PLANES = 9, TILE = 64, SPAN = 512 };
    static uint16_t counts[TILE][SPAN], weights[PLANES][TILE];
    static uint32_t got[PLANES][SPAN], want[PLANES][SPAN];
    uint64_t state = 4;
    for (size_t v = 0; v < sizeof disable / sizeof disable[0]; v++) {
        ronchi_context *context = test_context(1, disable[v]);
        for (int trial = 0; trial < 60; trial++) {
            uint8_t pixels[TILE];
            size_t n_pixels = test_below(&state, TILE + 1), n_planes = 1 + test_below(&state, PLANES);
            size_t n = 1 + test_below(&state, SPAN);
            unsigned big = (unsigned)test_below(&state, 4);
            for (size_t i = 0; i < TILE * SPAN; i++)
                counts[i / SPAN][i % SPAN] = (uint16_t)(big == 3 ? UINT16_MAX : test_random(&state) >> (48 + 5 * big));
            for (size_t i = 0; i < PLANES * TILE; i++)
                weights[i / TILE][i % TILE] =
                    (uint16_t)(test_below(&state, 3) ? (big == 3 ? 32767 : test_below(&state, 2))
                                                     : test_below(&state, 32768));
            for (size_t j = 0; j < n_pixels; j++)
                pixels[j] = (uint8_t)test_below(&state, TILE);
            for (size_t k = 0; k < n_planes; k++)
                for (size_t i = 0; i < SPAN; i++) {
                    want[k][i] = got[k][i] = (uint32_t)test_random(&state);
                    for (size_t j = 0; j < n_pixels; j++)
                        want[k][i] += (uint32_t)weights[k][j] * counts[pixels[j]][i];
                }
            ronchi_context_kernels(context)->weigh_planes(counts[0], pixels, n_pixels, n, weights[0], n_planes, got[0]);
            for (size_t k = 0; k < n_planes; k++)
                assert_memory_equal(got[k], want[k], n * sizeof **want);
        }
        ronchi_context_destroy(context);
    }
}

/* Planes of every width, so large that 32 bits do not hold a few of them, with several weights. */
static void add_index(void **unused)
{
    (void)unused;
    enum { N = 2500, TILES = 35 };
    static uint64_t sums[TILES][N], out[N], want[N];
    uint64_t state = 8;
    ronchi_context *context = test_context(2, 0);
    ronchi_sum_index *index;
    assert_int_equal(ronchi_sum_index_create(context, 5, 7, N, &index, NULL), RONCHI_OK);
    for (size_t t = 0; t < TILES; t++) {
        for (size_t i = 0; i < N; i++)
            sums[t][i] = t % 5 == 4 ? 0 : test_random(&state) >> (64 - (8 << (t % 5)) + (t % 5 == 3) * 20);
        assert_int_equal(ronchi_sum_index_set(index, t, sums[t], NULL), RONCHI_OK);
    }
    assert_int_equal(ronchi_sum_index_groups(index, NULL), RONCHI_OK);
    for (int trial = 0; trial < 100; trial++) {
        ronchi_sum_term terms[TILES + 4];
        size_t n_terms = test_below(&state, TILES + 5), first = test_below(&state, N),
               n = test_below(&state, N - first);
        for (size_t i = 0; i < N; i++)
            out[i] = want[i] = test_random(&state);
        for (size_t t = 0; t < n_terms; t++) {
            terms[t].plane = test_below(&state, TILES + 4);
            terms[t].weight = test_below(&state, 2) ? 1 : (uint32_t)test_random(&state);
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < TILES; k++)
                    if (terms[t].plane == k || terms[t].plane == TILES + k / 7 / 4 * 2 + k % 7 / 4)
                        want[i] += terms[t].weight * sums[k][first + i];
        }
        ronchi_sum_index_add(index, terms, n_terms, first, n, out);
        assert_memory_equal(out, want, sizeof out);
    }
    for (size_t k = 0; k < TILES; k++) {
        assert_int_equal(ronchi_sum_index_group(index, k), k / 7 / 4 * 2 + k % 7 / 4);
        assert_int_equal(ronchi_sum_index_at(index, k, 77), sums[k][77]);
    }
    ronchi_sum_index_destroy(index);
    ronchi_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(add_sums), cmocka_unit_test(weigh_planes),
                                       cmocka_unit_test(add_index)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
