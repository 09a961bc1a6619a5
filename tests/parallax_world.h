/* SPDX-License-Identifier: MIT */
/*
 * parallax_world.h - simulated acquisitions in memory and how far a parallax result is from the truth; shared by the
 * unit test and by the grid of bench/.  The truth comes from the simulation alone.
 */
#ifndef RONCHI_TEST_PARALLAX_WORLD_H
#define RONCHI_TEST_PARALLAX_WORLD_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"
#include "resident/acquisition.h"
#include "ronchi/parallax.h"
#include "simulate/simulation.h"

typedef struct world {
    ronchi_context *context;
    ronchi_simulate_options options;
    ronchi_specimen *specimen;
    ronchi_simulation *simulation;
    uint16_t *counts;
    size_t n_pixels;
} world;

static inline void world_die(const ronchi_error *err, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(1);
}

static inline ronchi_status world_draw(void *user, size_t i, size_t worker, ronchi_error *err)
{
    world *w = user;
    return ronchi_simulation_frame(w->simulation, i, worker, w->counts + i * w->n_pixels, err);
}

/* Draws all counts; options filled by the caller, completed here. */
static inline void world_make(ronchi_context *context, world *w)
{
    ronchi_simulate_options *o = &w->options;
    ronchi_error err = {0};
    w->context = context;
    if (ronchi_simulation_check(o, o, &err) != RONCHI_OK)
        world_die(&err, "options");
    ronchi_box box = ronchi_simulation_box(o);
    double step = o->scan_step_a, rows = (double)o->scan_rows * step, cols = (double)o->scan_cols * step;
    double grain[3] = {0.5 * rows, 0.5 * cols, 0.45 * fmin(rows, cols)};
    if (ronchi_specimen_create(context, o->seed, o->phase_scale, grain, &box, &w->specimen, &err) != RONCHI_OK ||
        ronchi_simulation_create(context, o, w->specimen, &w->simulation, &err) != RONCHI_OK)
        world_die(&err, "simulation");
    size_t n = o->scan_rows * o->scan_cols;
    w->n_pixels = o->det_rows * o->det_cols;
    w->counts = malloc(n * w->n_pixels * sizeof *w->counts);
    if (!w->counts || ronchi_parallel_for(context, n, world_draw, w, &err) != RONCHI_OK)
        world_die(&err, "counts");
}

static inline void world_free(world *w)
{
    ronchi_simulation_destroy(w->simulation);
    ronchi_specimen_destroy(w->specimen);
    free(w->counts);
    memset(w, 0, sizeof *w);
}

/* The counts as an acquisition, calibrated by the detector's step. */
static inline ronchi_acquisition *world_acquisition(const world *w, int32_t representation, ronchi_profile_id profile)
{
    const ronchi_simulate_options *o = &w->options;
    ronchi_shape shape = {o->scan_rows, o->scan_cols, o->det_rows, o->det_cols};
    ronchi_view view = ronchi_view_4d(w->counts, RONCHI_U16, &shape);
    ronchi_view flagged = ronchi_view_2d(w->simulation->flagged, RONCHI_U8, o->det_rows, o->det_cols);
    ronchi_acquisition *acquisition;
    ronchi_load_options load;
    ronchi_error err = {0};
    ronchi_load_options_defaults(&load);
    load.representation = representation;
    load.profile = profile;
    load.source.voltage_kv = o->voltage_kv;
    load.source.scan_step_row_a = load.source.scan_step_col_a = o->scan_step_a;
    load.source.det_step_row_mrad = load.source.det_step_col_mrad = o->semiangle_mrad / o->disk_radius_px;
    if (ronchi_acquisition_encode(w->context, &view, &flagged, &load, &acquisition, &err) != RONCHI_OK)
        world_die(&err, "encode");
    return acquisition;
}

/* ------------------------------------------------------------------------------------------------------- judging */

typedef struct judgement {
    double median_px, outliers;  /* of the shifts; share of those more than 1 pixel off */
    double image, plain;         /* correlation with the contrast-transferred true phase, inside */
    double c10_off_a, c12_off_a; /* c12: length of the difference as a vector of twice phi12 */
    double rotation_off_deg;
    size_t zeros; /* pixels of the image that are exactly 0 or not finite */
} judgement;

static inline int world_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double world_correlation(const double *a, const double *b, size_t rows, size_t cols, size_t margin)
{
    double n = 0, sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;
    for (size_t r = margin; r + margin < rows; r++)
        for (size_t c = margin; c + margin < cols; c++) {
            double x = a[r * cols + c], y = b[r * cols + c];
            n += 1;
            sa += x;
            sb += y;
            aa += x * x;
            bb += y * y;
            ab += x * y;
        }
    return (ab - sa * sb / n) / sqrt((aa - sa * sa / n) * (bb - sb * sb / n));
}

/* Share of the aperture that stays inside when it is moved by q, in radii. */
static inline double world_overlap(double q)
{
    double half = 0.5 * q;
    return half >= 1 ? 0 : 2 / 3.14159265358979324 * (acos(half) - half * sqrt(1 - half * half));
}

/* True phase times 2 sin chi(q) and the overlap of the beams: what the sum of aligned images shows, to first order. */
static inline void world_transferred(const world *w, double *out)
{
    const ronchi_simulate_options *o = &w->options;
    size_t rows = o->scan_rows, cols = o->scan_cols;
    ronchi_points points = ronchi_simulation_points(o);
    ronchi_complex *data = ronchi_alloc(w->context, rows * cols * sizeof *data);
    ronchi_fft *fft;
    double mean = 0;
    if (ronchi_specimen_sample(w->specimen, &points, out, NULL) != RONCHI_OK ||
        ronchi_fft_create(w->context, rows, cols, &fft, NULL) != RONCHI_OK)
        abort();
    for (size_t i = 0; i < rows * cols; i++)
        mean += out[i] / (double)(rows * cols);
    for (size_t i = 0; i < rows * cols; i++)
        data[i] = (ronchi_complex){(float)(out[i] - mean), 0};
    ronchi_fft_forward(fft, data);
    double radius = o->semiangle_mrad * 1e-3 / w->simulation->optics.wavelength_a, pi = 3.14159265358979324;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            double r = (i <= (rows - 1) / 2 ? (double)i : (double)i - (double)rows) / ((double)rows * o->scan_step_a);
            double c = (j <= (cols - 1) / 2 ? (double)j : (double)j - (double)cols) / ((double)cols * o->scan_step_a);
            double two = 2 * o->phi12_deg * pi / 180;
            double chi = pi * w->simulation->optics.wavelength_a *
                         (o->c10_a * (r * r + c * c) + o->c12_a * ((r * r - c * c) * cos(two) + 2 * r * c * sin(two)));
            float t = (float)(2 * sin(chi) * world_overlap(hypot(r, c) / radius));
            data[i * cols + j].re *= t;
            data[i * cols + j].im *= t;
        }
    ronchi_fft_inverse(fft, data);
    for (size_t i = 0; i < rows * cols; i++)
        out[i] = (double)data[i].re;
    ronchi_fft_destroy(fft);
    ronchi_free(w->context, data);
}

/* Sum of the counts of all images, not moved. */
static inline void world_plain(const world *w, const ronchi_parallax_result *r, double *out)
{
    for (size_t i = 0; i < r->scan_rows * r->scan_cols; i++) {
        out[i] = 0;
        for (size_t k = 0; k < r->n; k++)
            out[i] += w->counts[i * w->n_pixels + r->pixel_row[k] * r->det_cols + r->pixel_col[k]];
    }
}

static inline double world_wrap(double degrees, double period)
{
    return degrees - period * round(degrees / period);
}

static inline void world_judge(const world *w, const ronchi_parallax_result *r, judgement *out)
{
    const ronchi_simulate_options *o = &w->options;
    const ronchi_parallax_aberrations *a = &r->aberrations;
    size_t n = r->scan_rows * r->scan_cols, u = r->upsample, margin = 0;
    double m[2][2], *off = malloc(r->n * sizeof *off), most = 0;
    double *truth = malloc(n * sizeof *truth), *image = malloc(n * sizeof *image);
    memset(out, 0, sizeof *out);
    if (!off || !truth || !image)
        abort();
    ronchi_optics_alignment(&w->simulation->optics, m);
    for (size_t i = 0; i < r->n; i++) {
        double y = (double)r->pixel_row[i] - (double)(o->det_rows / 2),
               x = (double)r->pixel_col[i] - (double)(o->det_cols / 2);
        double row = (m[0][0] * y + m[0][1] * x) / o->scan_step_a, col = (m[1][0] * y + m[1][1] * x) / o->scan_step_a;
        off[i] = hypot(r->shift_row[i] - row, r->shift_col[i] - col);
        most = fmax(most, hypot(row, col));
        out->outliers += off[i] > 1 ? 1.0 / (double)r->n : 0;
    }
    qsort(off, r->n, sizeof *off, world_compare);
    out->median_px = off[r->n / 2];
    margin = (size_t)fmin(most + 2, 0.25 * (double)r->scan_rows);
    world_transferred(w, truth);
    for (size_t i = 0; i < n; i++)
        image[i] = (double)r->image[i / r->scan_cols * u * r->cols + i % r->scan_cols * u];
    out->image = world_correlation(image, truth, r->scan_rows, r->scan_cols, margin);
    world_plain(w, r, image);
    out->plain = world_correlation(image, truth, r->scan_rows, r->scan_cols, margin);
    for (size_t i = 0; i < r->rows * r->cols; i++)
        out->zeros += r->image[i] == 0 || !isfinite(r->image[i]);
    double two = 3.14159265358979324 / 90;
    out->c10_off_a = a->c10_a - o->c10_a;
    out->c12_off_a = hypot(a->c12_a * cos(two * a->phi12_deg) - o->c12_a * cos(two * o->phi12_deg),
                           a->c12_a * sin(two * a->phi12_deg) - o->c12_a * sin(two * o->phi12_deg));
    out->rotation_off_deg = world_wrap(a->rotation_deg - o->rotation_deg, 360);
    free(off);
    free(truth);
    free(image);
}

#endif
