/* SPDX-License-Identifier: MIT */
/* align.c - bins against the reference that they make together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parallax/bins.h"

enum { SLAB = 4, FIT_ROUNDS = 4 };
/* Share of full transfer below which frequencies are damped instead of divided by their transfer. */
static const float DAMPING = 0.02f;
/* A shift is an outlier when it is farther off than both; one of more than UNKNOWN expected error says nothing. */
static const double FAR_PX = 0.5, FAR_SIGMAS = 4.0, UNKNOWN_PX = 0.5, FLOOR_PX = 0.02;

static ronchi_status no_memory(ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the alignment of the bins");
}

/* -------------------------------------------------------------------------------------------------- reference */

typedef struct refer_job {
    const ronchi_bins *bins;
    const ronchi_reference *reference;
    float *ramps;   /* [bins][ramp] */
    float *scratch; /* [workers][each] */
    size_t each;
    float total;
} refer_job;

static ronchi_status ramp_item(void *user, size_t i, size_t worker, ronchi_error *err)
{
    const refer_job *job = user;
    const ronchi_bins *b = job->bins;
    const double shift[2] = {b->shift_row[i], b->shift_col[i]};
    ronchi_ramp ramp = ronchi_ramp_at(b->spectra, job->ramps + i * ronchi_ramp_size(b->spectra));
    ronchi_ramp_make(b->spectra, shift, &ramp);
    (void)worker;
    (void)err;
    return RONCHI_OK;
}

/* Phi of one row from the sums over all bins, conjugated and weighted for correlations. */
static void put_phi(const refer_job *job, size_t r, const float *sum, const float *weight)
{
    const ronchi_spectra *s = job->bins->spectra;
    float *re = job->reference->phi + r * 2 * s->pitch, *im = re + s->pitch;
    float damping = job->reference->transfer ? DAMPING * job->total : 0;
    for (size_t c = 0; c < s->half; c++) {
        float twice = c == 0 || 2 * c == s->cols ? 1.0f : 2.0f, scale = twice / (weight[c] + damping);
        re[c] = sum[c] * scale;
        im[c] = -sum[s->pitch + c] * scale;
    }
    if (r == 0)
        re[0] = im[0] = 0;
}

static ronchi_status refer_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const refer_job *job = user;
    const ronchi_bins *b = job->bins;
    const ronchi_spectra *s = b->spectra;
    size_t first = item * SLAB, rows = ronchi_min_size(SLAB, s->rows - first), pitch = s->pitch;
    float *sums = job->scratch + worker * job->each, *weights = sums + SLAB * 2 * pitch;
    (void)err;
    memset(sums, 0, SLAB * 3 * pitch * sizeof *sums);
    for (size_t i = 0; i < b->n; i++) {
        ronchi_ramp ramp = ronchi_ramp_at(s, job->ramps + i * ronchi_ramp_size(s));
        const double k[2] = {b->k_row[i], b->k_col[i]};
        for (size_t r = 0; r < rows; r++) {
            const float *x = b->sums + i * s->size + (first + r) * 2 * pitch;
            ronchi_reference_add(job->reference, first + r, k, &ramp, x, false, sums + r * 2 * pitch);
            ronchi_reference_weigh(job->reference, first + r, k, (float)b->weight[i], weights + r * pitch);
        }
    }
    for (size_t r = 0; r < rows; r++)
        put_phi(job, first + r, sums + r * 2 * pitch, weights + r * pitch);
    return RONCHI_OK;
}

ronchi_status ronchi_bins_refer(const ronchi_bins *b, ronchi_reference *reference, ronchi_error *err)
{
    const ronchi_spectra *s = b->spectra;
    refer_job job = {.bins = b, .reference = reference, .each = SLAB * 3 * s->pitch};
    for (size_t i = 0; i < b->n; i++)
        job.total += (float)b->weight[i];
    job.ramps = ronchi_calloc(b->context, b->n * ronchi_ramp_size(s), sizeof *job.ramps);
    job.scratch = ronchi_calloc(b->context, ronchi_context_threads(b->context) * job.each, sizeof *job.scratch);
    ronchi_status status = job.ramps && job.scratch ? RONCHI_OK : no_memory(err);
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(b->context, b->n, ramp_item, &job, err);
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(b->context, ronchi_div_up(s->rows, SLAB), refer_item, &job, err);
    ronchi_free(b->context, job.ramps);
    ronchi_free(b->context, job.scratch);
    return status;
}

/* ----------------------------------------------------------------------------------------------------- groups */

typedef struct align_job {
    ronchi_bins *bins;
    const ronchi_reference *reference;
    int reach;
    size_t *member, *first; /* bins of group g: member[first[g]..first[g + 1] - 1] */
    float *scratch;         /* [workers][each] */
    size_t each;
} align_job;

static size_t group_of(const ronchi_bins *b, size_t i, uint32_t side, size_t across)
{
    double half = 0.5 * (double)(across - 1);
    double row = half + floor(b->k_row[i] / (double)side + 0.5), col = half + floor(b->k_col[i] / (double)side + 0.5);
    return (size_t)row * across + (size_t)col;
}

/* Sorts bins into the squares of 'side' pixels; returns the number of groups, empty ones left out. */
static size_t make_groups(align_job *job, uint32_t side, size_t *count)
{
    const ronchi_bins *b = job->bins;
    size_t across = b->grid, groups = 0;
    for (size_t i = 0; i < b->n; i++)
        count[group_of(b, i, side, across)]++;
    for (size_t g = 0, sum = 0; g < across * across; g++) {
        size_t n = count[g];
        count[g] = sum; /* where the next member of the cell goes */
        if (n)
            job->first[groups++] = sum;
        sum += n;
    }
    job->first[groups] = b->n;
    for (size_t i = 0; i < b->n; i++)
        job->member[count[group_of(b, i, side, across)]++] = i;
    return groups;
}

static ronchi_status group_item(void *user, size_t g, size_t worker, ronchi_error *err)
{
    const align_job *job = user;
    ronchi_bins *b = job->bins;
    const ronchi_spectra *s = b->spectra;
    size_t pitch = s->pitch;
    float *x = job->scratch + worker * job->each, *search = x + s->size;
    ronchi_ramp ramp = ronchi_ramp_at(s, search);
    ronchi_peak peak;
    (void)err;
    memset(x, 0, s->size * sizeof *x);
    for (size_t m = job->first[g]; m < job->first[g + 1]; m++) {
        size_t i = job->member[m];
        const double shift[2] = {b->shift_row[i], b->shift_col[i]}, k[2] = {b->k_row[i], b->k_col[i]};
        ronchi_ramp_make(s, shift, &ramp);
        for (size_t r = 0; r < s->rows; r++)
            ronchi_reference_add(job->reference, r, k, &ramp, b->sums + i * s->size + r * 2 * pitch, true,
                                 x + r * 2 * pitch);
    }
    ronchi_search(s, x, job->reach, search, &peak);
    double variance = INFINITY, curvature = fmin(peak.curvature[0], peak.curvature[1]);
    if (curvature > 0)
        variance = b->window / (b->dose * curvature);
    for (size_t m = job->first[g]; m < job->first[g + 1]; m++) {
        size_t i = job->member[m];
        b->shift_row[i] += peak.shift[0];
        b->shift_col[i] += peak.shift[1];
        b->variance[i] = variance;
    }
    return RONCHI_OK;
}

/* --------------------------------------------------------------------------------------------------- outliers */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What the neighbours in the disk are off the fit by: their median, 0 where there are fewer than three. */
static void neighbours(const ronchi_bins *b, const double *off, size_t i, double out[2])
{
    double values[2][8];
    size_t n = 0, row = b->cell[i] / b->grid, col = b->cell[i] % b->grid;
    for (size_t k = 0; k < 9; k++) {
        size_t r = row + k / 3 - 1, c = col + k % 3 - 1; /* wraps to far outside below 0 */
        size_t other = k != 4 && r < b->grid && c < b->grid ? b->at[r * b->grid + c] : SIZE_MAX;
        if (other == SIZE_MAX || b->held[other])
            continue;
        values[0][n] = off[2 * other];
        values[1][n++] = off[2 * other + 1];
    }
    out[0] = out[1] = 0;
    for (int a = 0; a < 2 && n >= 3; a++) {
        qsort(values[a], n, sizeof values[a][0], compare);
        out[a] = n % 2 ? values[a][n / 2] : 0.5 * (values[a][n / 2 - 1] + values[a][n / 2]);
    }
}

/*
 * Fits, and looks for outliers in turn.  What lies off the fit together with its neighbours is a higher aberration, and
 * stays; what lies off alone is an error.
 */
static void fit_and_hold(ronchi_bins *b, ronchi_shift_fit *fit, double *off, double *weight)
{
    ronchi_shift_points points = {b->n, b->k_row, b->k_col, b->shift_row, b->shift_col, weight};
    for (size_t i = 0; i < b->n; i++)
        b->held[i] = !(b->variance[i] < UNKNOWN_PX * UNKNOWN_PX);
    for (int round = 0; round < FIT_ROUNDS; round++) {
        for (size_t i = 0; i < b->n; i++)
            weight[i] = b->held[i] ? 0 : 1.0 / (b->variance[i] + FLOOR_PX * FLOOR_PX);
        if (!ronchi_shift_fit_points(&points, fit))
            break; /* too few: the fit stays as it was */
        for (size_t i = 0; i < b->n; i++) {
            double s[2];
            ronchi_shift_of(fit, b->k_row[i], b->k_col[i], s);
            off[2 * i] = b->shift_row[i] - s[0];
            off[2 * i + 1] = b->shift_col[i] - s[1];
        }
        for (size_t i = 0; i < b->n; i++) {
            double near[2], limit = fmax(FAR_PX, FAR_SIGMAS * sqrt(b->variance[i]));
            neighbours(b, off, i, near);
            b->held[i] = !(b->variance[i] < UNKNOWN_PX * UNKNOWN_PX) ||
                         hypot(off[2 * i] - near[0], off[2 * i + 1] - near[1]) > limit;
        }
    }
    for (size_t i = 0; i < b->n; i++)
        if (b->held[i]) {
            double s[2];
            ronchi_shift_of(fit, b->k_row[i], b->k_col[i], s);
            b->shift_row[i] = s[0];
            b->shift_col[i] = s[1];
        }
}

ronchi_status ronchi_bins_align(ronchi_bins *b, const ronchi_reference *reference, uint32_t side, int reach,
                                ronchi_shift_fit *fit, ronchi_error *err)
{
    const ronchi_spectra *s = b->spectra;
    align_job job = {.bins = b, .reference = reference, .reach = reach};
    job.each = s->size + ronchi_search_scratch(s) + ronchi_ramp_size(s);
    job.member = ronchi_calloc(b->context, b->n, sizeof *job.member);
    job.first = ronchi_calloc(b->context, b->n + 1, sizeof *job.first);
    size_t *count = ronchi_calloc(b->context, b->grid * b->grid, sizeof *count);
    double *off = ronchi_calloc(b->context, 3 * b->n, sizeof *off);
    job.scratch = ronchi_calloc(b->context, ronchi_context_threads(b->context) * job.each, sizeof *job.scratch);
    ronchi_status status = job.member && job.first && count && off && job.scratch ? RONCHI_OK : no_memory(err);
    if (status == RONCHI_OK) {
        size_t groups = make_groups(&job, side, count);
        status = ronchi_parallel_for(b->context, groups, group_item, &job, err);
    }
    if (status == RONCHI_OK)
        fit_and_hold(b, fit, off, off + 2 * b->n);
    ronchi_free(b->context, job.member);
    ronchi_free(b->context, job.first);
    ronchi_free(b->context, count);
    ronchi_free(b->context, off);
    ronchi_free(b->context, job.scratch);
    return status;
}
