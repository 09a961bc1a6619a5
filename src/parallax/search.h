/* SPDX-License-Identifier: MIT */
/* search.h - where a correlation has its peak, between pixels, by a discrete Fourier transform around a prediction. */
#ifndef RONCHI_PARALLAX_SEARCH_H
#define RONCHI_PARALLAX_SEARCH_H

#include "parallax/bright_field.h"

/* ronchi_frequency() is that of element i of a transform of n, in cycles per element, -1/2 up to 1/2. */
static inline double ronchi_frequency(size_t i, size_t n)
{
    return (i <= (n - 1) / 2 ? (double)i : (double)i - (double)n) / (double)n;
}

/*
 * A ramp exp(-2 pi i f . shift) over a half spectrum, as the product of one number a row and one a column.
 *   row  [rows][2]; col  [2 pitch], 0 behind the last column
 */
typedef struct ronchi_ramp {
    float *row, *col;
} ronchi_ramp;

/* Floats that a ramp takes, and the ramp that lies at 'memory'. */
size_t ronchi_ramp_size(const ronchi_spectra *spectra);
ronchi_ramp ronchi_ramp_at(const ronchi_spectra *spectra, float *memory);
void ronchi_ramp_make(const ronchi_spectra *spectra, const double shift[2], const ronchi_ramp *out);

/* What one search finds. */
typedef struct ronchi_peak {
    double shift[2];
    double curvature[2]; /* minus the second derivatives of the correlation at the peak, rows and columns */
} ronchi_peak;

/* Floats of scratch that a search takes. */
size_t ronchi_search_scratch(const ronchi_spectra *spectra);

/*
 * ronchi_search() finds the largest value of the real part of sum over f of x(f) exp(-2 pi i f . shift), |shift| up to
 * 'reach' steps of 3/4 pixel per axis (at most 4), then between them.
 *
 *   x  [size] spectrum, columns that stand for two weighted twice
 */
void ronchi_search(const ronchi_spectra *spectra, const float *x, int reach, float *scratch, ronchi_peak *out);

#endif
