/* SPDX-License-Identifier: MIT */
/*
 * rotation.c - the angle between detector and scan from the field alone: a gradient has no curl.
 *
 * With K and D curl and divergence of v = P (row, col), the curl of R(phi) v is cos(phi) K + sin(phi) D, so its mean
 * square is
 * (<K^2> + <D^2>) / 2 + cos(2 phi) (<K^2> - <D^2>) / 2 + sin(2 phi) <K D>: a cosine of 2 phi, whose minimum is known.
 * White noise adds the same to <K^2> and <D^2> and nothing to <K D>: the angle stays unbiased.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dpc/dpc.h"

static const double PI = 3.14159265358979324;

/*
 * The scan is cut into at most PARTS x PARTS for the jackknife, and at least FEWEST x FEWEST; a part is wider than
 * smoothed noise is correlated, else it would look more certain than it is.
 */
enum { PARTS = 8, ALL_PARTS = PARTS * PARTS, FEWEST = 3 };
/* Standard errors in the uncertainty: the least of several estimates is itself too sure, by a quarter in simulations.
 */
static const double ERRORS = 4.0;
static const double WIDEST_CORRELATION = 5.0; /* in units of the smoothing */

/* Gaussians of these many steps; small ones keep more signal, large ones less noise. */
static const double SMOOTHINGS[] = {0.25, 0.7, 1.0, 1.4, 2.0, 2.8};

/* Sums over one part, for both orientations of the detector. */
typedef struct part {
    ronchi_dpc_moments sum[2];
    double n;
} part;

static void add(ronchi_dpc_moments *m, double curl, double div)
{
    m->curl2 += curl * curl;
    m->div2 += div * div;
    m->curl_div += curl * div;
}

/* What one amount of smoothing gives. */
typedef struct attempt {
    part parts[ALL_PARTS], all;
    double sigma, angle[2], least[2], error;
    size_t n_down, n_across; /* parts */
    int transpose;
} attempt;

static size_t parts_along(size_t n, double sigma)
{
    double fit = (double)n / fmax(WIDEST_CORRELATION * sigma, 2.0);
    return fit >= PARTS ? PARTS : (size_t)fit;
}

static void take(void *user, size_t r, size_t rows, size_t c, size_t cols, const double out[4])
{
    attempt *t = user;
    t->n_down = parts_along(rows, t->sigma);
    t->n_across = parts_along(cols, t->sigma);
    if (t->n_down < FEWEST || t->n_across < FEWEST)
        return;
    part *p = &t->parts[r * t->n_down / rows * t->n_across + c * t->n_across / cols];
    add(&p->sum[0], out[2] - out[1], out[0] + out[3]);
    add(&p->sum[1], out[0] - out[3], out[2] + out[1]); /* row and column exchanged */
    p->n += 1;
}

static void sum_moments(const part parts[ALL_PARTS], size_t without, part *out)
{
    memset(out, 0, sizeof *out);
    for (size_t k = 0; k < ALL_PARTS; k++) {
        if (k == without)
            continue;
        for (int t = 0; t < 2; t++) {
            out->sum[t].curl2 += parts[k].sum[t].curl2;
            out->sum[t].div2 += parts[k].sum[t].div2;
            out->sum[t].curl_div += parts[k].sum[t].curl_div;
        }
        out->n += parts[k].n;
    }
}

/* The rotation in degrees, in (-90, 90]. */
static double best_rotation(const ronchi_dpc_moments *m)
{
    double angle = -0.5 * atan2(-2.0 * m->curl_div, m->div2 - m->curl2) * 180.0 / PI;
    return angle <= -90.0 ? angle + 180.0 : angle;
}

static double share(const ronchi_dpc_moments *m, double rotation_deg)
{
    double phi = -rotation_deg * PI / 180.0, all = m->curl2 + m->div2;
    double score =
        cos(phi) * cos(phi) * m->curl2 + sin(phi) * sin(phi) * m->div2 + 2.0 * cos(phi) * sin(phi) * m->curl_div;
    return all > 0 ? fmax(score, 0) / all : 0;
}

double ronchi_dpc_curl(const ronchi_dpc_alignment *alignment, double rotation_deg, int32_t transpose)
{
    return share(&alignment->moments[transpose != 0], rotation_deg);
}

/* Delete-one-part jackknife; parts without positions do not count. */
static double standard_error(const part parts[ALL_PARTS], int transpose, double angle)
{
    double sum = 0, squares = 0, n = 0;
    for (size_t k = 0; k < ALL_PARTS; k++) {
        part rest;
        if (!(parts[k].n > 0))
            continue;
        sum_moments(parts, k, &rest);
        if (!(rest.n > 0))
            continue;
        double d = best_rotation(&rest.sum[transpose]) - angle;
        d -= 180.0 * round(d / 180.0);
        sum += d;
        squares += d * d;
        n += 1;
    }
    return n > 1 ? sqrt((n - 1) / n * fmax(squares - sum * sum / n, 0)) : 90.0;
}

/* Mean moments, best angles and their error; false when there is too little to go by. */
static bool evaluate(attempt *t, int transpose)
{
    sum_moments(t->parts, SIZE_MAX, &t->all);
    double power = t->all.sum[0].curl2 + t->all.sum[0].div2;
    if (!(t->all.n > 0) || !(power > 0) || !isfinite(power))
        return false;
    for (int k = 0; k < 2; k++) {
        t->angle[k] = best_rotation(&t->all.sum[k]);
        t->least[k] = share(&t->all.sum[k], t->angle[k]);
    }
    t->transpose = transpose < 0 ? t->least[1] < t->least[0] : transpose;
    t->error = standard_error(t->parts, t->transpose, t->angle[t->transpose]);
    return true;
}

static void report(const attempt *t, ronchi_dpc_alignment *out)
{
    for (int k = 0; k < 2; k++) {
        out->moments[k].curl2 = t->all.sum[k].curl2 / t->all.n;
        out->moments[k].div2 = t->all.sum[k].div2 / t->all.n;
        out->moments[k].curl_div = t->all.sum[k].curl_div / t->all.n;
    }
    out->transpose = t->transpose;
    out->rotation_deg = t->angle[t->transpose];
    out->branch_open = 1;
    out->curl = t->least[t->transpose];
    out->curl_other = t->least[!t->transpose];
    out->smoothing = t->sigma;
    out->uncertainty_deg = fmin(ERRORS * t->error, 90.0);
}

static ronchi_status check(const ronchi_view *row, const ronchi_view *col, const ronchi_view *valid, double step_row,
                           double step_col, ronchi_error *err)
{
    if (!row || !ronchi_view_is(row, 1, 1, row->shape[2], row->shape[3]) || row->dtype != RONCHI_F64 || !col ||
        col->dtype != RONCHI_F64 || !ronchi_view_is(col, 1, 1, row->shape[2], row->shape[3]) ||
        (valid && (!ronchi_view_is(valid, 1, 1, row->shape[2], row->shape[3]) || valid->dtype != RONCHI_U8)))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "the field must be two float64 arrays of one shape");
    if (!(step_row > 0) || !(step_col > 0) || !isfinite(step_row) || !isfinite(step_col))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "scan steps must be above 0");
    return RONCHI_OK;
}

/* Tries every smoothing and reports the one with the least error. */
static ronchi_status try_all(ronchi_dpc_derivatives *d, int transpose, attempt *t, ronchi_dpc_alignment *out,
                             ronchi_error *err)
{
    double least = INFINITY;
    for (size_t k = 0; k < sizeof SMOOTHINGS / sizeof SMOOTHINGS[0]; k++) {
        memset(t, 0, sizeof *t);
        t->sigma = SMOOTHINGS[k];
        d->user = t;
        if (ronchi_dpc_derive(d, SMOOTHINGS[k]) != RONCHI_OK)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                               "no memory for the derivatives of the field");
        if (evaluate(t, transpose) && t->error < least) {
            least = t->error;
            report(t, out);
        }
    }
    if (isfinite(least))
        return RONCHI_OK;
    return ronchi_fail(
        err, RONCHI_ERR_NEEDED, NULL, RONCHI_NO_OFFSET,
        "the rotation between detector and scan cannot be found in a scan of %zu x %zu (too small, or no field in it): "
        "give --rotation-deg (0 if it is not known)",
        d->rows, d->cols);
}

/* A contiguous copy of a view; NULL when memory ran out. */
static void *copy_of(const ronchi_view *view)
{
    size_t size = ronchi_dtype_size(view->dtype), cols = view->shape[3], n;
    char *copy = ronchi_mul(view->shape[2], cols, &n) && ronchi_mul(n, size, &n) ? malloc(n) : NULL;
    for (size_t r = 0; copy && r < view->shape[2]; r++)
        for (size_t c = 0; c < cols; c++)
            memcpy(copy + (r * cols + c) * size, ronchi_view_at(view, 0, 0, r, c), size);
    return copy;
}

ronchi_status ronchi_dpc_find_rotation_of(const ronchi_view *row, const ronchi_view *col, const ronchi_view *valid,
                                          double step_row, double step_col, int transpose, ronchi_dpc_alignment *out,
                                          ronchi_error *err)
{
    memset(out, 0, sizeof *out);
    ronchi_status status = check(row, col, valid, step_row, step_col, err);
    if (status != RONCHI_OK)
        return status;
    double *rows = copy_of(row), *cols = copy_of(col);
    uint8_t *good = valid ? copy_of(valid) : NULL;
    attempt *t = malloc(sizeof *t);
    ronchi_dpc_derivatives d = {rows, cols, good, row->shape[2], row->shape[3], {step_row, step_col}, take, NULL};
    if (rows && cols && t && (good || !valid))
        status = try_all(&d, transpose, t, out, err);
    else
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a field of %zu x %zu",
                             d.rows, d.cols);
    free(rows);
    free(cols);
    free(good);
    free(t);
    return status;
}

ronchi_status ronchi_dpc_find_rotation(const ronchi_view *row, const ronchi_view *col, const ronchi_view *valid,
                                       double step_row, double step_col, ronchi_dpc_alignment *out, ronchi_error *err)
{
    return ronchi_dpc_find_rotation_of(row, col, valid, step_row, step_col, -1, out, err);
}
