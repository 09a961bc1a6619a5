/* SPDX-License-Identifier: MIT */
/*
 * search.c - matrix Fourier transforms: first a coarse grid around 0, then a fine one around its maximum, then the
 * vertex of the paraboloid through the fine maximum and its neighbours.
 */
#include "parallax/search.h"

#include <math.h>
#include <string.h>

enum { MOST = 9 };
static const double TAU = 6.28318530717958648, COARSE = 0.75, FINE = 0.3;

/* ------------------------------------------------------------------------------------------------------ ramps */

size_t ronchi_ramp_size(const ronchi_spectra *s)
{
    return ronchi_div_up(2 * s->rows, 16) * 16 + 2 * s->pitch;
}

ronchi_ramp ronchi_ramp_at(const ronchi_spectra *s, float *memory)
{
    size_t rows = ronchi_div_up(2 * s->rows, 16) * 16;
    return (ronchi_ramp){memory, memory + rows};
}

/* Powers of one number, in double precision: no sine for each. */
void ronchi_ramp_make(const ronchi_spectra *s, const double shift[2], const ronchi_ramp *out)
{
    const double row = -TAU * shift[0] / (double)s->rows, col = -TAU * shift[1] / (double)s->cols;
    const double row_re = cos(row), row_im = sin(row), col_re = cos(col), col_im = sin(col);
    double re = 1, im = 0;
    for (size_t r = 0; 2 * r <= s->rows; r++) {
        size_t other = r ? s->rows - r : 0; /* minus that frequency; of one that is its own minus, the negative */
        out->row[2 * r] = (float)re;
        out->row[2 * r + 1] = (float)im;
        out->row[2 * other] = (float)re;
        out->row[2 * other + 1] = r ? (float)-im : (float)im;
        double next = re * row_re - im * row_im;
        im = re * row_im + im * row_re;
        re = next;
    }
    re = 1;
    im = 0;
    for (size_t c = 0; c < s->half; c++) {
        out->col[c] = (float)re;
        out->col[s->pitch + c] = (float)im;
        double next = re * col_re - im * col_im;
        im = re * col_im + im * col_re;
        re = next;
    }
    for (size_t c = s->half; c < s->pitch; c++)
        out->col[c] = out->col[s->pitch + c] = 0;
}

/* ----------------------------------------------------------------------------------------------------- search */

size_t ronchi_search_scratch(const ronchi_spectra *s)
{
    return MOST * (2 * s->pitch + ronchi_ramp_size(s));
}

/* values[i][j] of the correlation at (origin + i, j steps). */
static void transform(const ronchi_spectra *s, const float *x, const double origin[2], double step, int n,
                      float *scratch, double values[MOST][MOST])
{
    float *sums = scratch, *ramps = scratch + MOST * 2 * s->pitch;
    ronchi_ramp ramp[MOST] = {0};
    const float *rows[MOST] = {NULL};
    memset(sums, 0, (size_t)n * 2 * s->pitch * sizeof *sums);
    for (int i = 0; i < n; i++) {
        const double shift[2] = {origin[0] + i * step, origin[1] + i * step};
        ramp[i] = ronchi_ramp_at(s, ramps + (size_t)i * ronchi_ramp_size(s));
        ronchi_ramp_make(s, shift, &ramp[i]);
        rows[i] = ramp[i].row;
    }
    s->kernels->transform(x, s->rows, s->pitch, rows, (size_t)n, sums);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const float *re = sums + (size_t)i * 2 * s->pitch, *im = re + s->pitch;
            double sum = 0;
            for (size_t c = 0; c < s->half; c++)
                sum += (double)(re[c] * ramp[j].col[c] - im[c] * ramp[j].col[s->pitch + c]);
            values[i][j] = sum;
        }
}

static void largest(double values[MOST][MOST], int n, int *row, int *col)
{
    *row = *col = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (values[i][j] > values[*row][*col]) {
                *row = i;
                *col = j;
            }
}

/* The vertex, in steps from the middle, by the full second-order surface; the middle where that is no maximum. */
static void vertex(double v[MOST][MOST], int i, int j, double out[2], double curvature[2])
{
    double gr = 0.5 * (v[i + 1][j] - v[i - 1][j]), gc = 0.5 * (v[i][j + 1] - v[i][j - 1]);
    double rr = 2 * v[i][j] - v[i + 1][j] - v[i - 1][j], cc = 2 * v[i][j] - v[i][j + 1] - v[i][j - 1];
    double rc = 0.25 * (v[i + 1][j - 1] + v[i - 1][j + 1] - v[i + 1][j + 1] - v[i - 1][j - 1]);
    double det = rr * cc - rc * rc;
    out[0] = out[1] = 0;
    curvature[0] = rr;
    curvature[1] = cc;
    if (!(det > 0 && rr > 0))
        return;
    out[0] = fmax(-1, fmin(1, (cc * gr - rc * gc) / det));
    out[1] = fmax(-1, fmin(1, (rr * gc - rc * gr) / det));
}

void ronchi_search(const ronchi_spectra *s, const float *x, int reach, float *scratch, ronchi_peak *out)
{
    double values[MOST][MOST], origin[2] = {-reach * COARSE, -reach * COARSE}, away[2] = {0, 0}, curvature[2] = {0, 0};
    int i, j, n = 2 * reach + 1, fine = 5;
    transform(s, x, origin, COARSE, n, scratch, values);
    largest(values, n, &i, &j);
    origin[0] += i * COARSE - 2 * FINE;
    origin[1] += j * COARSE - 2 * FINE;
    transform(s, x, origin, FINE, fine, scratch, values);
    largest(values, fine, &i, &j);
    if (i > 0 && i < fine - 1 && j > 0 && j < fine - 1)
        vertex(values, i, j, away, curvature);
    out->shift[0] = origin[0] + (i + away[0]) * FINE;
    out->shift[1] = origin[1] + (j + away[1]) * FINE;
    for (int a = 0; a < 2; a++)
        out->curvature[a] = curvature[a] / (FINE * FINE);
}
