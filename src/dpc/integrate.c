/* SPDX-License-Identifier: MIT */
/*
 * integrate.c - a gradient field becomes its potential (iDPC), by Fourier transform.
 *
 *   FT(phase) = (k . FT(field)) / (2 pi i k^2)
 *
 * Row and column are real fields, so they travel as real and imaginary part of one transform.  MIRROR doubles both
 * axes: the phase goes on as its own mirror image about the edge between pixels, so its derivative along an axis
 * changes sign there.
 */
#include <math.h>

#include "core/fft.h"
#include "ronchi/dpc.h"

static const double TAU = 6.28318530717958648;

typedef struct transform {
    const ronchi_view *row, *col, *out;
    size_t rows, cols, n_rows, n_cols; /* of the field, of the transform */
    double step_row, step_col, highpass;
} transform;

static size_t mirrored(size_t i, size_t n)
{
    return i < n ? i : 2 * n - 1 - i;
}

static void fill(const transform *t, ronchi_complex *data)
{
    for (size_t i = 0; i < t->n_rows; i++)
        for (size_t j = 0; j < t->n_cols; j++) {
            size_t r = mirrored(i, t->rows), c = mirrored(j, t->cols);
            double row = *(const double *)ronchi_view_at(t->row, 0, 0, r, c);
            double col = *(const double *)ronchi_view_at(t->col, 0, 0, r, c);
            data[i * t->n_cols + j] =
                (ronchi_complex){(float)(i < t->rows ? row : -row), (float)(j < t->cols ? col : -col)};
        }
}

/* Signed frequency, 0 at Nyquist: there a real field has no derivative. */
static double frequency(size_t i, size_t n, double step, bool derivative)
{
    if (derivative && 2 * i == n)
        return 0;
    return (i <= (n - 1) / 2 ? (double)i : (double)i - (double)n) / ((double)n * step);
}

/* k . FT(field) at (i, j), from the transform of row + i col and its conjugate partner. */
static void along_k(ronchi_complex a, ronchi_complex b, double kr, double kc, double *re, double *im)
{
    double row_re = 0.5 * ((double)a.re + (double)b.re), row_im = 0.5 * ((double)a.im - (double)b.im);
    double col_re = 0.5 * ((double)a.im + (double)b.im), col_im = 0.5 * ((double)b.re - (double)a.re);
    *re = kr * row_re + kc * col_re;
    *im = kr * row_im + kc * col_im;
}

static ronchi_complex solve(const transform *t, size_t i, size_t j, ronchi_complex a, ronchi_complex b)
{
    double kr = frequency(i, t->n_rows, t->step_row, false), kc = frequency(j, t->n_cols, t->step_col, false);
    double k2 = kr * kr + kc * kc, re, im;
    along_k(a, b, frequency(i, t->n_rows, t->step_row, true), frequency(j, t->n_cols, t->step_col, true), &re, &im);
    if (i == 0 && j == 0)
        return (ronchi_complex){0, 0};
    double scale = -1.0 / (TAU * k2);
    if (t->highpass > 0)
        scale *= k2 * k2 / (k2 * k2 + pow(t->highpass, -4.0));
    return (ronchi_complex){(float)(-scale * im), (float)(scale * re)}; /* times i */
}

/* Partners (i, j) and (-i, -j) are solved together, in place: the result is that of a real field. */
static void solve_all(const transform *t, ronchi_complex *data)
{
    for (size_t i = 0; i < t->n_rows; i++)
        for (size_t j = 0; j < t->n_cols; j++) {
            size_t pi = (t->n_rows - i) % t->n_rows, pj = (t->n_cols - j) % t->n_cols;
            size_t here = i * t->n_cols + j, there = pi * t->n_cols + pj;
            if (there < here)
                continue;
            ronchi_complex a = data[here], b = data[there];
            data[here] = solve(t, i, j, a, b);
            data[there] = there == here ? data[here] : solve(t, pi, pj, b, a);
        }
}

static void take(const transform *t, const ronchi_complex *data)
{
    double sum = 0, n = (double)t->n_rows * (double)t->n_cols;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->cols; j++) {
            double v = (double)data[i * t->n_cols + j].re / n;
            *(double *)ronchi_view_at(t->out, 0, 0, i, j) = v;
            sum += v;
        }
    double mean = sum / ((double)t->rows * (double)t->cols);
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->cols; j++)
            *(double *)ronchi_view_at(t->out, 0, 0, i, j) -= mean;
}

static ronchi_status check(const transform *t, int32_t boundary, ronchi_error *err)
{
    const ronchi_view *views[3] = {t->row, t->col, t->out};
    for (int k = 0; k < 3; k++)
        if (!views[k] || !ronchi_view_is(views[k], 1, 1, t->row->shape[2], t->row->shape[3]) ||
            views[k]->dtype != RONCHI_F64)
            return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                               "field and result must be float64 arrays of one shape");
    if (!(t->step_row > 0) || !(t->step_col > 0) || !isfinite(t->step_row) || !isfinite(t->step_col) ||
        !(t->highpass >= 0) || !isfinite(t->highpass))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "scan steps must be above 0 and the high-pass period 0 or above");
    if (boundary != RONCHI_DPC_MIRROR && boundary != RONCHI_DPC_PERIODIC)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "unknown boundary %d", (int)boundary);
    return RONCHI_OK;
}

static ronchi_status run(ronchi_context *context, transform *t, int32_t boundary, ronchi_error *err)
{
    ronchi_fft *fft = NULL;
    size_t factor = boundary == RONCHI_DPC_MIRROR ? 2 : 1, n;
    ronchi_complex *data = NULL;
    ronchi_status status = check(t, boundary, err);
    if (status != RONCHI_OK)
        return status;
    t->rows = t->row->shape[2];
    t->cols = t->row->shape[3];
    if (ronchi_mul(t->rows, factor, &t->n_rows) && ronchi_mul(t->cols, factor, &t->n_cols) &&
        ronchi_mul(t->n_rows, t->n_cols, &n))
        data = ronchi_calloc(context, n, sizeof *data);
    if (!data)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to integrate %zu x %zu positions",
                           t->rows, t->cols);
    status = ronchi_fft_create(context, t->n_rows, t->n_cols, &fft, err);
    if (status == RONCHI_OK) {
        fill(t, data);
        ronchi_fft_forward(fft, data);
        solve_all(t, data);
        ronchi_fft_inverse(fft, data);
        take(t, data);
    }
    ronchi_fft_destroy(fft);
    ronchi_free(context, data);
    return status;
}

ronchi_status ronchi_dpc_integrate(ronchi_context *context, const ronchi_view *field_row, const ronchi_view *field_col,
                                   double step_row, double step_col, int32_t boundary, double highpass,
                                   const ronchi_view *phase, ronchi_error *err)
{
    transform t = {.row = field_row,
                   .col = field_col,
                   .out = phase,
                   .step_row = step_row,
                   .step_col = step_col,
                   .highpass = highpass};
    return run(context, &t, boundary, err);
}
