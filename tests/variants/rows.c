/* SPDX-License-Identifier: MIT */
/* rows.c - the kernels for rows of spectra: plain C against each instruction set this processor has, to the bit. */
#include <string.h>

#include "core/kernels.h"
#include "test.h"

enum { PITCH = 48, ROWS = 11, ZONES = 4, N = ROWS * 2 * PITCH };

static void fill(float *out, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(test_random(state) >> 40) * 0x1p-23f - 1.0f;
}

/* What all kernels make of the same numbers. */
typedef struct results {
    float add[N], correlate[2 * PITCH], bring[4][2 * PITCH], weigh[PITCH], transform[3 * 2 * PITCH];
    float images[ZONES][2 * PITCH], weights[ZONES][2 * PITCH], window[N], split[2 * PITCH];
} results;

static void run(const ronchi_rows *k, results *out)
{
    static float x[N], y[N], zones[ZONES][2], factors[3][2 * ROWS], scratch[4 * PITCH];
    static ronchi_complex half[PITCH];
    uint64_t state = 5;
    fill(x, N, &state);
    fill(y, N, &state);
    fill(&zones[0][0], 2 * ZONES, &state);
    fill(&factors[0][0], 6 * ROWS, &state);
    fill(&half[0].re, 2 * PITCH, &state);
    fill((float *)out, sizeof *out / sizeof(float), &state);
    const ronchi_transfer_row transfer = {x, x + PITCH, x + 2 * PITCH, x + 3 * PITCH, {0.3f, -0.2f, 0.1f, 0.4f}, 0.5f};
    const float *const pointers[3] = {factors[0], factors[1], factors[2]};
    float *images[ZONES], *weights[ZONES];
    for (size_t z = 0; z < ZONES; z++) {
        images[z] = out->images[z];
        weights[z] = out->weights[z];
    }
    k->add(out->add, x, N - 3, 0.7f);
    k->correlate(out->correlate, x, y, PITCH);
    for (int i = 0; i < 4; i++)
        k->bring(out->bring[i], y, 0.6f, -0.8f, y + 2 * PITCH, i & 1 ? &transfer : NULL, i & 2 ? y + 4 * PITCH : NULL,
                 PITCH);
    k->weigh(out->weigh, &transfer, 1.3f, PITCH);
    k->transform(x, ROWS, PITCH, pointers, 3, out->transform);
    k->deposit(images, weights, (const float(*)[2])zones, ZONES, x, 0.6f, 0.8f, y, scratch, PITCH);
    k->window(out->window, x, y, N - 5);
    k->split(out->split, half, PITCH - 7, PITCH);
}

static void all_versions_agree(void **state)
{
    (void)state;
    static const uint32_t disable[] = {RONCHI_CPU_AVX512 | RONCHI_CPU_AVX512VBMI, 0};
    static results plain, fast;
    run(&ronchi_rows_c, &plain);
    for (size_t i = 0; i < 2; i++) {
        ronchi_context_options options;
        ronchi_context *context;
        ronchi_context_options_defaults(&options);
        options.cpu_disable = disable[i];
        assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
        run(&ronchi_context_kernels(context)->rows, &fast);
        assert_memory_equal(&plain, &fast, sizeof plain);
        ronchi_context_destroy(context);
    }
}

/* Plain C against the definitions, in double precision. */
static void plain_c_is_right(void **state)
{
    (void)state;
    enum { P = 16 };
    float x[2 * 6 * P], sum[2 * P] = {0}, factor[12], col[2 * P];
    uint64_t random = 9;
    fill(x, 2 * 6 * P, &random);
    fill(factor, 12, &random);
    fill(col, 2 * P, &random);
    const float *const one[1] = {factor};
    ronchi_rows_c.transform(x, 6, P, one, 1, sum);
    for (size_t c = 0; c < P; c++) {
        double re = 0, im = 0;
        for (size_t r = 0; r < 6; r++) {
            double a = (double)factor[2 * r], b = (double)factor[2 * r + 1], p = (double)x[r * 2 * P + c],
                   q = (double)x[r * 2 * P + P + c];
            re += a * p - b * q;
            im += a * q + b * p;
        }
        assert_true(re - (double)sum[c] < 1e-5 && (double)sum[c] - re < 1e-5);
        assert_true(im - (double)sum[P + c] < 1e-5 && (double)sum[P + c] - im < 1e-5);
    }
    memset(sum, 0, sizeof sum);
    ronchi_rows_c.bring(sum, x, factor[0], factor[1], col, NULL, x + 4 * P, P);
    for (size_t c = 0; c < P; c++) {
        double a = (double)factor[0] * (double)col[c] - (double)factor[1] * (double)col[P + c];
        double b = (double)factor[0] * (double)col[P + c] + (double)factor[1] * (double)col[c];
        double p = a * (double)x[c] - b * (double)x[P + c], q = a * (double)x[P + c] + b * (double)x[c];
        double re = (double)x[4 * P + c] * p - (double)x[5 * P + c] * q;
        assert_true(re - (double)sum[c] < 1e-5 && (double)sum[c] - re < 1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_versions_agree), cmocka_unit_test(plain_c_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
