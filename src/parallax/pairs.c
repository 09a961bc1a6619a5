/* SPDX-License-Identifier: MIT */
/*
 * pairs.c - a first fit from neighbours in the disk.
 *
 * Where one beam is cut off by the aperture both neighbours carry the same phase, which falls out of their product; so
 * this start needs neither a reference nor the transfer function, and noise, which differs from pixel to pixel, adds
 * nothing on average.
 */
#include <math.h>
#include <string.h>

#include "parallax/bins.h"

enum { SLAB = 4 };
static const double LEVER = 1.0 / 6.0; /* of the radius: further apart, mostly different beams are inside */
static const double SIGNIFICANT = 5.0; /* standard deviations of the correlation */

typedef struct pair_job {
    const ronchi_bins *bins;
    size_t away_row, away_col; /* of the second of a pair, in the grid */
    float *sum;                /* [size] */
} pair_job;

static ronchi_status pair_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const pair_job *job = user;
    const ronchi_bins *b = job->bins;
    const ronchi_spectra *s = b->spectra;
    size_t rows = ronchi_min_size(SLAB, s->rows - item * SLAB), from = item * SLAB * 2 * s->pitch;
    (void)worker;
    (void)err;
    for (size_t i = 0; i < b->n; i++) {
        size_t row = b->cell[i] / b->grid + job->away_row, col = b->cell[i] % b->grid + job->away_col;
        size_t other = row < b->grid && col < b->grid ? b->at[row * b->grid + col] : SIZE_MAX;
        for (size_t r = 0; other != SIZE_MAX && r < rows; r++) {
            size_t at = from + r * 2 * s->pitch;
            const float *x = b->sums + i * s->size + at, *y = b->sums + other * s->size + at;
            s->kernels->correlate(job->sum + at, x, y, s->pitch);
        }
    }
    return RONCHI_OK;
}

static ronchi_status add_pairs(const ronchi_bins *b, size_t away_row, size_t away_col, float *sum, ronchi_error *err)
{
    pair_job job = {b, away_row, away_col, sum};
    memset(sum, 0, b->spectra->size * sizeof *sum);
    ronchi_status status = ronchi_parallel_for(b->context, ronchi_div_up(b->spectra->rows, SLAB), pair_item, &job, err);
    for (size_t r = 0; r < b->spectra->rows; r++) /* columns that stand for two */
        for (size_t c = 1; 2 * c < b->spectra->cols; c++) {
            sum[r * 2 * b->spectra->pitch + c] *= 2;
            sum[(r * 2 + 1) * b->spectra->pitch + c] *= 2;
        }
    return status;
}

/* The highest place in whole pixels; 0 where it does not stand out from the rest as chance never would. */
static void stands_out(const ronchi_spectra *s, const float *image, double shift[2])
{
    size_t best = 0, n = s->rows * s->cols;
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        best = image[i] > image[best] ? i : best;
        squares += (double)image[i] * (double)image[i] / (double)n; /* the mean is 0 */
    }
    shift[0] = shift[1] = 0;
    if ((double)image[best] < SIGNIFICANT * sqrt(squares))
        return;
    shift[0] = ronchi_frequency(best / s->cols, s->rows) * (double)s->rows;
    shift[1] = ronchi_frequency(best % s->cols, s->cols) * (double)s->cols;
}

/* The whole correlation, so that nothing is presumed about where its peak lies. */
static ronchi_status highest(const ronchi_bins *b, const float *sum, double shift[2], ronchi_error *err)
{
    const ronchi_spectra *s = b->spectra;
    ronchi_complex *half = ronchi_calloc(b->context, s->rows * s->half, sizeof *half);
    float *image = ronchi_calloc(b->context, s->rows * s->cols, sizeof *image);
    ronchi_status status = RONCHI_OK;
    if (!half || !image)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a correlation");
    for (size_t r = 0; status == RONCHI_OK && r < s->rows; r++)
        for (size_t c = 0; c < s->half; c++) {
            float weight = c == 0 || 2 * c == s->cols ? 1.0f : 0.5f;
            const float *re = sum + r * 2 * s->pitch;
            half[r * s->half + c] = (ronchi_complex){weight * re[c], -weight * re[s->pitch + c]};
        }
    if (status == RONCHI_OK) {
        ronchi_fft_real_inverse(s->fft, half, image);
        stands_out(s, image, shift);
    }
    ronchi_free(b->context, half);
    ronchi_free(b->context, image);
    return status;
}

/* Moves the peak at 'shift' to 0 and looks around it. */
static void look_around(const ronchi_spectra *s, float *sum, float *scratch, double shift[2])
{
    ronchi_ramp ramp = ronchi_ramp_at(s, scratch);
    float *moved = scratch + ronchi_ramp_size(s);
    ronchi_peak peak;
    ronchi_ramp_make(s, shift, &ramp);
    for (size_t r = 0; r < s->rows; r++) {
        float *x = sum + r * 2 * s->pitch;
        memset(moved, 0, 2 * s->pitch * sizeof *moved);
        s->kernels->bring(moved, x, ramp.row[2 * r], ramp.row[2 * r + 1], ramp.col, NULL, NULL, s->pitch);
        memcpy(x, moved, 2 * s->pitch * sizeof *x);
    }
    ronchi_search(s, sum, 2, scratch, &peak);
    shift[0] += peak.shift[0];
    shift[1] += peak.shift[1];
}

/* Along one axis of the disk: neighbours first, then twice as far while that is a short lever of the radius. */
static ronchi_status along(ronchi_bins *b, int axis, double radius_px, float *sum, float *scratch,
                           ronchi_shift_fit *fit, ronchi_error *err)
{
    double shift[2] = {0, 0};
    for (size_t away = 1;; away *= 2) {
        ronchi_status status = add_pairs(b, axis ? 0 : away, axis ? away : 0, sum, err);
        if (status == RONCHI_OK && away == 1)
            status = highest(b, sum, shift, err);
        if (status != RONCHI_OK)
            return status;
        look_around(b->spectra, sum, scratch, shift);
        double pixels = (double)(away * b->side);
        fit->matrix[0][axis] = shift[0] / pixels;
        fit->matrix[1][axis] = shift[1] / pixels;
        if (2 * pixels > LEVER * radius_px + 1)
            return RONCHI_OK;
        shift[0] *= 2;
        shift[1] *= 2;
    }
}

ronchi_status ronchi_bins_start(ronchi_bins *b, double radius_px, ronchi_shift_fit *fit, ronchi_error *err)
{
    const ronchi_spectra *s = b->spectra;
    float *sum = ronchi_calloc(b->context, s->size, sizeof *sum);
    float *scratch =
        ronchi_calloc(b->context, ronchi_search_scratch(s) + ronchi_ramp_size(s) + 4 * s->pitch, sizeof *scratch);
    memset(fit, 0, sizeof *fit);
    ronchi_status status = sum && scratch ? RONCHI_OK
                                          : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                                                        "no memory for the correlation of neighbours");
    for (int axis = 0; axis < 2 && status == RONCHI_OK; axis++)
        status = along(b, axis, radius_px, sum, scratch, fit, err);
    ronchi_free(b->context, sum);
    ronchi_free(b->context, scratch);
    for (size_t i = 0; i < b->n && status == RONCHI_OK; i++) {
        double shift[2];
        ronchi_shift_of(fit, b->k_row[i], b->k_col[i], shift);
        b->shift_row[i] = shift[0];
        b->shift_col[i] = shift[1];
    }
    return status;
}
