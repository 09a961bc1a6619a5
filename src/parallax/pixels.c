/* SPDX-License-Identifier: MIT */
/* pixels.c - see the header. */
#include "parallax/pixels.h"

#include <math.h>
#include <string.h>

enum { REACH = 2 };
static const double FAR_PX = 0.35, FAR_SIGMAS = 3.5, UNKNOWN_PX = 0.5, FLOOR_PX = 0.03;

ronchi_status ronchi_pixel_shifts_init(const ronchi_bright_field *bf, ronchi_pixel_shifts *out, ronchi_error *err)
{
    double **arrays[] = {&out->k_row, &out->k_col, &out->shift_row, &out->shift_col, &out->variance};
    bool ok = true;
    memset(out, 0, sizeof *out);
    out->n = bf->n;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        ok = (*arrays[i] = ronchi_calloc(bf->context, bf->n, sizeof(double))) && ok;
    out->held = ronchi_calloc(bf->context, bf->n, 1);
    if (!ok || !out->held)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu shifts", bf->n);
    for (size_t i = 0; i < bf->n; i++) {
        out->k_row[i] = (double)bf->row[i] - bf->disk.row;
        out->k_col[i] = (double)bf->col[i] - bf->disk.col;
    }
    return RONCHI_OK;
}

void ronchi_pixel_shifts_free(ronchi_context *context, ronchi_pixel_shifts *shifts)
{
    void *owned[] = {shifts->k_row,     shifts->k_col,    shifts->shift_row,
                     shifts->shift_col, shifts->variance, shifts->held};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        ronchi_free(context, owned[i]);
    memset(shifts, 0, sizeof *shifts);
}

void ronchi_pixels_predict(const ronchi_bins *bins, const ronchi_shift_fit *fit, ronchi_pixel_shifts *shifts)
{
    for (size_t i = 0; i < shifts->n; i++) {
        size_t k = bins->of[i];
        double here[2], there[2];
        ronchi_shift_of(fit, shifts->k_row[i], shifts->k_col[i], here);
        ronchi_shift_of(fit, bins->k_row[k], bins->k_col[k], there);
        shifts->shift_row[i] = here[0] + bins->shift_row[k] - there[0];
        shifts->shift_col[i] = here[1] + bins->shift_col[k] - there[1];
        shifts->variance[i] = (double)NAN;
    }
}

/* ----------------------------------------------------------------------------------------------------- measure */

typedef struct measure_job {
    const ronchi_bright_field *bf;
    const ronchi_bins *bins;
    const ronchi_reference *reference;
    ronchi_pixel_shifts *shifts;
    double *off; /* [n][2] from the prediction */
    float *scratch;
    size_t each, first;
    const float *spectra;
} measure_job;

static ronchi_status measure_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const measure_job *job = user;
    const ronchi_spectra *s = job->reference->spectra;
    size_t i = job->first + item, pitch = s->pitch;
    float *x = job->scratch + worker * job->each, *search = x + s->size;
    const double shift[2] = {job->shifts->shift_row[i], job->shifts->shift_col[i]};
    const double k[2] = {job->shifts->k_row[i], job->shifts->k_col[i]};
    ronchi_ramp ramp = ronchi_ramp_at(s, search);
    ronchi_peak peak;
    (void)err;
    ronchi_ramp_make(s, shift, &ramp);
    memset(x, 0, s->size * sizeof *x);
    for (size_t r = 0; r < s->rows; r++)
        ronchi_reference_add(job->reference, r, k, &ramp, job->spectra + item * s->size + r * 2 * pitch, true,
                             x + r * 2 * pitch);
    ronchi_search(s, x, REACH, search, &peak);
    double curvature = fmin(peak.curvature[0], peak.curvature[1]);
    job->off[2 * i] = peak.shift[0];
    job->off[2 * i + 1] = peak.shift[1];
    job->shifts->variance[i] = curvature > 0 ? job->bins->window / (job->bf->mean[i] * curvature) : INFINITY;
    return RONCHI_OK;
}

static ronchi_status measure(void *user, size_t first, size_t n, const float *spectra, ronchi_error *err)
{
    measure_job *job = user;
    job->first = first;
    job->spectra = spectra;
    return ronchi_parallel_for(job->bf->context, n, measure_item, job, err);
}

/* ---------------------------------------------------------------------------------------------------- outliers */

/* Measured where that is near the prediction within its expected error, else held to the prediction. */
static void accept(ronchi_pixel_shifts *shifts, const double *off)
{
    shifts->n_held = 0;
    for (size_t i = 0; i < shifts->n; i++) {
        double limit = fmax(FAR_PX, FAR_SIGMAS * sqrt(shifts->variance[i]));
        bool known = shifts->variance[i] < UNKNOWN_PX * UNKNOWN_PX;
        shifts->held[i] = !known || hypot(off[2 * i], off[2 * i + 1]) > limit;
        shifts->n_held += shifts->held[i];
        if (shifts->held[i])
            continue;
        shifts->shift_row[i] += off[2 * i];
        shifts->shift_col[i] += off[2 * i + 1];
    }
}

static void fit_again(ronchi_pixel_shifts *shifts, ronchi_shift_fit *fit, double *weight)
{
    ronchi_shift_points points = {shifts->n,         shifts->k_row,     shifts->k_col,
                                  shifts->shift_row, shifts->shift_col, weight};
    for (size_t i = 0; i < shifts->n; i++)
        weight[i] = shifts->held[i] ? 0 : 1.0 / (shifts->variance[i] + FLOOR_PX * FLOOR_PX);
    ronchi_shift_fit_points(&points, fit); /* with too few, that of the bins stays */
}

ronchi_status ronchi_pixels_align(ronchi_bright_field *bf, const ronchi_bins *bins, const ronchi_reference *reference,
                                  const float *window, ronchi_pixel_shifts *shifts, ronchi_shift_fit *fit,
                                  ronchi_error *err)
{
    const ronchi_spectra *s = reference->spectra;
    measure_job job = {.bf = bf, .bins = bins, .reference = reference, .shifts = shifts};
    job.each = s->size + ronchi_search_scratch(s) + ronchi_ramp_size(s);
    job.scratch = ronchi_calloc(bf->context, ronchi_context_threads(bf->context) * job.each, sizeof *job.scratch);
    job.off = ronchi_calloc(bf->context, 3 * shifts->n, sizeof *job.off);
    ronchi_status status = job.scratch && job.off ? ronchi_bright_field_walk(bf, s, window, "align", measure, &job, err)
                                                  : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                                                                "no memory for the alignment of the images");
    if (status == RONCHI_OK) {
        accept(shifts, job.off);
        fit_again(shifts, fit, job.off + 2 * shifts->n);
    }
    ronchi_free(bf->context, job.scratch);
    ronchi_free(bf->context, job.off);
    return status;
}
