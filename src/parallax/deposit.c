/* SPDX-License-Identifier: MIT */
/*
 * deposit.c - see the header.
 *
 * The frequencies of the fine grid are f + h: f of the scan's grid, h a whole number of cycles per scan pixel along
 * each axis, chosen so that f + h lies between -u/2 and u/2.  The ramp at f + h is that at f times one number, so one
 * product of spectrum and ramp serves all u x u zones.
 */
#include "parallax/deposit.h"

#include <math.h>
#include <string.h>

enum { MOST_UPSAMPLE = 8, MOST_ZONES = MOST_UPSAMPLE * MOST_UPSAMPLE, MARGIN = 4 };
static const double TAU = 6.28318530717958648, PI = 3.14159265358979324;
/* Density may fall to this share of its mean before a low-pass fills it; below the other nothing is known. */
static const double FULL = 0.5, EMPTY = 0.02;

/* The next multiple of 8 without prime factors above 5: sizes that transform well. */
static size_t smooth(size_t n)
{
    for (n = ronchi_div_up(n, 8) * 8;; n += 8) {
        size_t rest = n;
        for (size_t p = 2; p <= 5; p++)
            while (rest % p == 0)
                rest /= p;
        if (rest == 1)
            return n;
    }
}

void ronchi_deposit_size(const ronchi_bright_field *bf, const ronchi_pixel_shifts *shifts, uint32_t upsample,
                         size_t padded[2], uint64_t *bytes)
{
    double most[2] = {0, 0};
    for (size_t i = 0; i < shifts->n; i++) {
        most[0] = fmax(most[0], fabs(shifts->shift_row[i]));
        most[1] = fmax(most[1], fabs(shifts->shift_col[i]));
    }
    /* an image that has left the scan as a whole needs no more room */
    padded[0] = smooth(bf->shape.scan_rows + (size_t)fmin(ceil(most[0]), (double)bf->shape.scan_rows) + MARGIN);
    padded[1] = smooth(bf->shape.scan_cols + (size_t)fmin(ceil(most[1]), (double)bf->shape.scan_cols) + MARGIN);
    uint64_t spectrum = (uint64_t)padded[0] * (padded[1] + 2 * 16) * sizeof(float);
    *bytes = (RONCHI_PIECE + (uint64_t)5 * upsample * upsample) * spectrum;
}

typedef struct deposit_job {
    const ronchi_bright_field *bf;
    const ronchi_pixel_shifts *shifts;
    const ronchi_spectra *spectra;
    size_t u;
    float *images, *weights; /* [u][u][size] zones of the sums */
    float *ramps;            /* [RONCHI_PIECE][ramp] */
    float (*turns)[2];       /* [RONCHI_PIECE][2][u][u] ramps of the zones: frequencies from 0 up, below 0 */
    float *scratch;          /* [workers][each] */
    size_t each, first, n;
    const float *from;
} deposit_job;

/* --------------------------------------------------------------------------------------------------------- sums */

/* h of zone 'a' for frequencies from 0 up, or below 0. */
static int whole(size_t a, size_t u, bool negative)
{
    return (int)a - (int)(negative ? (u - 1) / 2 : u / 2);
}

/* exp(-2 pi i h . shift) for all zones of a row of frequencies. */
static void zone_ramps(size_t u, bool negative, const double shift[2], float out[][2])
{
    for (size_t a = 0; a < u; a++)
        for (size_t b = 0; b < u; b++) {
            double angle = -TAU * (whole(a, u, negative) * shift[0] + whole(b, u, false) * shift[1]);
            out[a * u + b][0] = (float)cos(angle);
            out[a * u + b][1] = (float)sin(angle);
        }
}

static ronchi_status ramp_item(void *user, size_t k, size_t worker, ronchi_error *err)
{
    const deposit_job *job = user;
    const double shift[2] = {job->shifts->shift_row[job->first + k], job->shifts->shift_col[job->first + k]};
    ronchi_ramp ramp = ronchi_ramp_at(job->spectra, job->ramps + k * ronchi_ramp_size(job->spectra));
    size_t zones = job->u * job->u;
    ronchi_ramp_make(job->spectra, shift, &ramp);
    zone_ramps(job->u, false, shift, job->turns + 2 * k * zones);
    zone_ramps(job->u, true, shift, job->turns + (2 * k + 1) * zones);
    (void)worker;
    (void)err;
    return RONCHI_OK;
}

/* One row of frequencies of all images of the piece, in their order. */
static ronchi_status add_item(void *user, size_t r, size_t worker, ronchi_error *err)
{
    const deposit_job *job = user;
    const ronchi_spectra *s = job->spectra;
    size_t pitch = s->pitch, zones = job->u * job->u, half = ronchi_frequency(r, s->rows) < 0;
    float *images[MOST_ZONES], *weights[MOST_ZONES];
    (void)err;
    for (size_t z = 0; z < zones; z++) {
        images[z] = job->images + z * s->size + r * 2 * pitch;
        weights[z] = job->weights + z * s->size + r * 2 * pitch;
    }
    for (size_t k = 0; k < job->n; k++) {
        ronchi_ramp ramp = ronchi_ramp_at(s, job->ramps + k * ronchi_ramp_size(s));
        float mean = (float)job->bf->mean[job->first + k];
        s->kernels->deposit(images, weights, (const float(*)[2])job->turns + (2 * k + half) * zones, zones,
                            job->from + k * s->size + r * 2 * pitch, mean * ramp.row[2 * r], mean * ramp.row[2 * r + 1],
                            ramp.col, job->scratch + worker * job->each, pitch);
    }
    return RONCHI_OK;
}

static ronchi_status add_piece(void *user, size_t first, size_t n, const float *spectra, ronchi_error *err)
{
    deposit_job *job = user;
    job->first = first;
    job->n = n;
    job->from = spectra;
    ronchi_status status = ronchi_parallel_for(job->bf->context, n, ramp_item, job, err);
    if (status != RONCHI_OK)
        return status;
    return ronchi_parallel_for(job->bf->context, job->spectra->rows, add_item, job, err);
}

/* ------------------------------------------------------------------------------------------------- to the fine grid */

/* The spectrum of the valid positions, by which sums of ramps become densities; interleaved. */
static ronchi_complex *mask_spectrum(const ronchi_bright_field *bf, const ronchi_spectra *s)
{
    float *mask = ronchi_calloc(bf->context, s->rows * s->cols, sizeof *mask);
    ronchi_complex *half = ronchi_calloc(bf->context, s->rows * s->half, sizeof *half);
    if (mask && half) {
        for (size_t r = 0; r < bf->shape.scan_rows; r++)
            for (size_t c = 0; c < bf->shape.scan_cols; c++)
                mask[r * s->cols + c] = bf->valid[r * bf->shape.scan_cols + c] ? 1.0f : 0.0f;
        ronchi_fft_real_forward(s->fft, mask, half);
    }
    ronchi_free(bf->context, mask);
    if (!mask) {
        ronchi_free(bf->context, half);
        half = NULL;
    }
    return half;
}

/* A half spectrum of the fine grid from the zones; 'times' [rows][half] multiplies, or NULL. */
static void assemble(const deposit_job *job, const float *zones, const ronchi_complex *times, double sigma,
                     ronchi_complex *fine)
{
    const ronchi_spectra *s = job->spectra;
    const ptrdiff_t u = (ptrdiff_t)job->u, rows = (ptrdiff_t)s->rows, cols = (ptrdiff_t)s->cols,
                    half = u * cols / 2 + 1;
    for (size_t z = 0; z < job->u * job->u; z++)
        for (size_t r = 0; r < s->rows; r++) {
            double f = ronchi_frequency(r, s->rows);
            int h = whole(z / job->u, job->u, f < 0), g = whole(z % job->u, job->u, false);
            ptrdiff_t row = (((ptrdiff_t)r + h * rows - (f < 0 ? rows : 0)) % (u * rows) + u * rows) % (u * rows);
            const float *re = zones + z * s->size + r * 2 * s->pitch, *im = re + s->pitch;
            for (size_t c = 0; c < s->half; c++) {
                double e = (double)c / (double)cols, q2 = (f + h) * (f + h) + (e + g) * (e + g);
                float low = (float)exp(-2.0 * PI * PI * sigma * sigma * q2);
                ronchi_complex v = {re[c] * low, im[c] * low};
                if (times) {
                    ronchi_complex t = times[r * s->half + c];
                    v = (ronchi_complex){v.re * t.re - v.im * t.im, v.re * t.im + v.im * t.re};
                }
                ptrdiff_t col = (ptrdiff_t)c + g * cols;
                if (col >= 0 && col < half)
                    fine[row * half + col] = v;
                else if (col < 0 && -col < half)
                    fine[(u * rows - row) % (u * rows) * half - col] = (ronchi_complex){v.re, -v.im};
            }
        }
}

typedef struct fine_grid {
    ronchi_fft_real *fft;
    ronchi_complex *half;
    float *values;
    size_t rows, cols;
} fine_grid;

static ronchi_status fine_init(ronchi_context *context, const deposit_job *job, fine_grid *out, ronchi_error *err)
{
    *out = (fine_grid){.rows = job->u * job->spectra->rows, .cols = job->u * job->spectra->cols};
    out->half = ronchi_calloc(context, out->rows * (out->cols / 2 + 1), sizeof *out->half);
    out->values = ronchi_calloc(context, out->rows * out->cols, sizeof *out->values);
    if (!out->half || !out->values)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the fine grid of %zu x %zu",
                           out->rows, out->cols);
    return ronchi_fft_real_create(context, out->rows, out->cols, &out->fft, err);
}

static void fine_free(ronchi_context *context, fine_grid *grid)
{
    ronchi_fft_real_destroy(grid->fft);
    ronchi_free(context, grid->half);
    ronchi_free(context, grid->values);
}

/* Zones to the part of the fine grid that the scan covers. */
static void make_plane(const deposit_job *job, const fine_grid *grid, const float *zones, const ronchi_complex *times,
                       double sigma, float *out)
{
    size_t rows = job->bf->shape.scan_rows * job->u, cols = job->bf->shape.scan_cols * job->u;
    float scale = (float)(1.0 / ((double)grid->rows * (double)grid->cols));
    memset(grid->half, 0, grid->rows * (grid->cols / 2 + 1) * sizeof *grid->half);
    assemble(job, zones, times, sigma, grid->half);
    ronchi_fft_real_inverse(grid->fft, grid->half, grid->values);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            out[r * cols + c] = grid->values[r * grid->cols + c] * scale;
}

/* Lowest density within one scan pixel, as a share of the mean, after a low-pass. */
static double lowest(const ronchi_bright_field *bf, const ronchi_pixel_shifts *shifts, size_t u, double sigma)
{
    double re[MOST_UPSAMPLE * MOST_UPSAMPLE] = {0}, im[MOST_UPSAMPLE * MOST_UPSAMPLE] = {0}, total = 0,
                              least = INFINITY;
    for (size_t i = 0; i < bf->n; i++) {
        total += bf->mean[i];
        for (size_t z = 0; z < u * u; z++) {
            double angle =
                -TAU * (whole(z / u, u, false) * shifts->shift_row[i] + whole(z % u, u, false) * shifts->shift_col[i]);
            re[z] += bf->mean[i] * cos(angle);
            im[z] += bf->mean[i] * sin(angle);
        }
    }
    for (size_t p = 0; p < u * u; p++) {
        double sum = 0;
        for (size_t z = 0; z < u * u; z++) {
            double h = whole(z / u, u, false), g = whole(z % u, u, false);
            double angle = TAU * (h * (double)(p / u) + g * (double)(p % u)) / (double)u;
            sum += exp(-2.0 * PI * PI * sigma * sigma * (h * h + g * g)) * (re[z] * cos(angle) - im[z] * sin(angle));
        }
        least = fmin(least, sum / total);
    }
    return least;
}

static double choose_low_pass(const ronchi_bright_field *bf, const ronchi_pixel_shifts *shifts, size_t u)
{
    for (int tenths = 0; tenths < 10; tenths++)
        if (lowest(bf, shifts, u, 0.1 * tenths) >= FULL)
            return 0.1 * tenths;
    return 1.0;
}

static ronchi_status finish(const deposit_job *job, ronchi_deposit *out, ronchi_error *err)
{
    const ronchi_bright_field *bf = job->bf;
    size_t n = bf->n_positions * job->u * job->u;
    fine_grid grid;
    double total = 0;
    ronchi_status status = fine_init(bf->context, job, &grid, err);
    ronchi_complex *mask = mask_spectrum(bf, job->spectra);
    float *smoothed = ronchi_calloc(bf->context, n, sizeof *smoothed);
    if (status == RONCHI_OK && (!mask || !smoothed))
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the density");
    if (status == RONCHI_OK) {
        for (size_t i = 0; i < bf->n; i++)
            total += bf->mean[i];
        out->low_pass = choose_low_pass(bf, job->shifts, job->u);
        make_plane(job, &grid, job->images, NULL, 0, out->raw);
        make_plane(job, &grid, job->weights, mask, 0, out->density);
        make_plane(job, &grid, job->images, NULL, out->low_pass, out->image);
        make_plane(job, &grid, job->weights, mask, out->low_pass, smoothed);
        float empty = (float)(EMPTY * total / (double)(job->u * job->u));
        for (size_t i = 0; i < n; i++) {
            out->raw[i] += out->density[i];
            out->image[i] = smoothed[i] > empty ? 1.0f + out->image[i] / smoothed[i] : 1.0f;
        }
    }
    ronchi_free(bf->context, smoothed);
    ronchi_free(bf->context, mask);
    fine_free(bf->context, &grid);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- run */

ronchi_status ronchi_deposit_run(ronchi_bright_field *bf, const ronchi_pixel_shifts *shifts, ronchi_deposit *out,
                                 ronchi_error *err)
{
    ronchi_context *context = bf->context;
    size_t padded[2];
    uint64_t bytes;
    ronchi_spectra spectra;
    ronchi_deposit_size(bf, shifts, out->upsample, padded, &bytes);
    ronchi_status status = ronchi_spectra_init(context, padded[0], padded[1], &spectra, err);
    if (status != RONCHI_OK)
        return status;
    deposit_job job = {.bf = bf, .shifts = shifts, .spectra = &spectra, .u = out->upsample, .each = 4 * spectra.pitch};
    job.images = ronchi_calloc(context, job.u * job.u * spectra.size, sizeof *job.images);
    job.weights = ronchi_calloc(context, job.u * job.u * spectra.size, sizeof *job.weights);
    job.ramps = ronchi_calloc(context, RONCHI_PIECE * ronchi_ramp_size(&spectra), sizeof *job.ramps);
    job.turns = ronchi_calloc(context, RONCHI_PIECE * 2 * job.u * job.u, sizeof *job.turns);
    job.scratch = ronchi_calloc(context, ronchi_context_threads(context) * job.each, sizeof *job.scratch);
    if (!job.images || !job.weights || !job.ramps || !job.turns || !job.scratch)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                             "no memory for an image of %zu x %zu: give a smaller --upsample", padded[0] * job.u,
                             padded[1] * job.u);
    if (status == RONCHI_OK)
        status = ronchi_bright_field_walk(bf, &spectra, NULL, "add", add_piece, &job, err);
    if (status == RONCHI_OK)
        status = finish(&job, out, err);
    ronchi_free(context, job.images);
    ronchi_free(context, job.weights);
    ronchi_free(context, job.ramps);
    ronchi_free(context, job.turns);
    ronchi_free(context, job.scratch);
    ronchi_spectra_free(&spectra);
    return status;
}
