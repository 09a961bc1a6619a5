/* SPDX-License-Identifier: MIT */
/* core_fft.c - the Fourier seam against the sum that defines it, and the promises of the header. */
#include <math.h>
#include <string.h>

#include "core/fft.h"
#include "test.h"

static double uniform(uint64_t *state)
{
    return (double)(test_random(state) >> 11) * 0x1p-53 - 0.5;
}

/* The definition, in double precision. */
static void transform(const ronchi_complex *in, size_t rows, size_t cols, double sign, double *out)
{
    const double tau = 6.283185307179586;
    for (size_t u = 0; u < rows; u++)
        for (size_t v = 0; v < cols; v++) {
            double re = 0, im = 0;
            for (size_t r = 0; r < rows; r++)
                for (size_t c = 0; c < cols; c++) {
                    double a = sign * tau * ((double)(u * r) / (double)rows + (double)(v * c) / (double)cols);
                    double x = (double)in[r * cols + c].re, y = (double)in[r * cols + c].im;
                    re += x * cos(a) - y * sin(a);
                    im += x * sin(a) + y * cos(a);
                }
            out[2 * (u * cols + v)] = re;
            out[2 * (u * cols + v) + 1] = im;
        }
}

static void check_size(ronchi_context *context, size_t rows, size_t cols, uint64_t *state)
{
    ronchi_fft *fft;
    size_t n = rows * cols;
    assert_int_equal(ronchi_fft_create(context, rows, cols, &fft, NULL), RONCHI_OK);
    ronchi_complex *data = ronchi_alloc(context, n * sizeof *data), *copy = ronchi_alloc(context, n * sizeof *copy);
    double *want = malloc(2 * n * sizeof *want);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (size_t i = 0; i < n; i++)
            data[i] = (ronchi_complex){(float)uniform(state), (float)uniform(state)};
        memcpy(copy, data, n * sizeof *data);
        transform(data, rows, cols, sign, want);
        (sign < 0 ? ronchi_fft_forward : ronchi_fft_inverse)(fft, data);
        for (size_t i = 0; i < n; i++) {
            assert_true(fabs((double)data[i].re - want[2 * i]) < 2e-6 * sqrt((double)n) + 1e-6);
            assert_true(fabs((double)data[i].im - want[2 * i + 1]) < 2e-6 * sqrt((double)n) + 1e-6);
        }
        /* and back: n times the original */
        (sign < 0 ? ronchi_fft_inverse : ronchi_fft_forward)(fft, data);
        for (size_t i = 0; i < n; i++)
            assert_true(fabs((double)data[i].re / (double)n - (double)copy[i].re) < 2e-6);
    }
    free(want);
    ronchi_free(context, data);
    ronchi_free(context, copy);
    ronchi_fft_destroy(fft);
}

/* Half spectra of real arrays: columns 0..cols/2 of the definition, and back to n times the array; the array is kept.
 */
static void check_real(ronchi_context *context, size_t rows, size_t cols, uint64_t *state)
{
    ronchi_fft_real *fft;
    size_t n = rows * cols, half = cols / 2 + 1;
    assert_int_equal(ronchi_fft_real_create(context, rows, cols, &fft, NULL), RONCHI_OK);
    ronchi_complex *data = ronchi_alloc(context, n * sizeof *data),
                   *got = ronchi_alloc(context, rows * half * sizeof *got);
    float *image = ronchi_alloc(context, n * sizeof *image), *kept = ronchi_alloc(context, n * sizeof *kept);
    double *want = malloc(2 * n * sizeof *want);
    for (size_t i = 0; i < n; i++) {
        kept[i] = image[i] = (float)uniform(state);
        data[i] = (ronchi_complex){image[i], 0};
    }
    transform(data, rows, cols, -1, want);
    ronchi_fft_real_forward(fft, image, got);
    assert_memory_equal(image, kept, n * sizeof *image);
    for (size_t u = 0; u < rows; u++)
        for (size_t v = 0; v < half; v++) {
            assert_true(fabs((double)got[u * half + v].re - want[2 * (u * cols + v)]) < 2e-6 * sqrt((double)n) + 1e-6);
            assert_true(fabs((double)got[u * half + v].im - want[2 * (u * cols + v) + 1]) <
                        2e-6 * sqrt((double)n) + 1e-6);
        }
    ronchi_fft_real_inverse(fft, got, image);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)image[i] / (double)n - (double)kept[i]) < 2e-6);
    free(want);
    ronchi_free(context, data);
    ronchi_free(context, got);
    ronchi_free(context, image);
    ronchi_free(context, kept);
    ronchi_fft_real_destroy(fft);
}

static void against_the_definition(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {1, 7}, {5, 1}, {2, 2}, {3, 5}, {8, 12}, {13, 11}, {24, 18}, {17, 30}};
    ronchi_context *context;
    uint64_t random = 11;
    assert_int_equal(ronchi_context_create(NULL, &context, NULL), RONCHI_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check_size(context, sizes[i][0], sizes[i][1], &random);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check_real(context, sizes[i][0], sizes[i][1], &random);
    ronchi_context_destroy(context);
}

static void refusals(void **state)
{
    (void)state;
    ronchi_context *context;
    ronchi_fft *fft;
    ronchi_fft_real *real;
    ronchi_error err;
    assert_int_equal(ronchi_context_create(NULL, &context, NULL), RONCHI_OK);
    assert_int_equal(ronchi_fft_real_create(context, 4, 0, &real, &err), RONCHI_ERR_ARGUMENT);
    assert_null(real);
    ronchi_fft_real_destroy(NULL);
    assert_int_equal(ronchi_fft_create(context, 0, 4, &fft, &err), RONCHI_ERR_ARGUMENT);
    assert_null(fft);
    assert_int_equal(ronchi_fft_create(context, 4, (size_t)1 << 40, &fft, &err), RONCHI_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "no transform"));
    ronchi_fft_destroy(NULL);
    ronchi_context_destroy(context);
}

/* One plan, many threads, the same bits as one thread. */
typedef struct job {
    const ronchi_fft *fft;
    ronchi_complex *data;
    size_t n;
} job;

static ronchi_status run_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    (void)err;
    job *j = user;
    ronchi_fft_forward(j->fft, j->data + item * j->n);
    return RONCHI_OK;
}

static void threads_share_a_plan(void **state)
{
    (void)state;
    enum { ITEMS = 64, ROWS = 24, COLS = 32 };
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = 4;
    ronchi_context *context;
    ronchi_fft *fft;
    assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
    assert_int_equal(ronchi_fft_create(context, ROWS, COLS, &fft, NULL), RONCHI_OK);
    size_t n = ROWS * COLS, total = ITEMS * n;
    ronchi_complex *a = ronchi_alloc(context, total * sizeof *a), *b = ronchi_alloc(context, total * sizeof *b);
    uint64_t random = 5;
    for (size_t i = 0; i < total; i++)
        a[i] = b[i] = (ronchi_complex){(float)uniform(&random), (float)uniform(&random)};
    for (size_t i = 0; i < ITEMS; i++)
        ronchi_fft_forward(fft, a + i * n);
    job j = {fft, b, n};
    assert_int_equal(ronchi_parallel_for(context, ITEMS, run_item, &j, NULL), RONCHI_OK);
    assert_memory_equal(a, b, total * sizeof *a);
    ronchi_free(context, a);
    ronchi_free(context, b);
    ronchi_fft_destroy(fft);
    ronchi_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_definition),
        cmocka_unit_test(refusals),
        cmocka_unit_test(threads_share_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
