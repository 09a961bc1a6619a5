/* SPDX-License-Identifier: MIT */
/* shifts.h - shifts as a linear function of the detector pixel, and that function as aberrations and back. */
#ifndef RONCHI_PARALLAX_SHIFTS_H
#define RONCHI_PARALLAX_SHIFTS_H

#include "parallax/bright_field.h"

/* shift = matrix (pixel - centre) + offset; scan pixels, detector pixels. */
typedef struct ronchi_shift_fit {
    double matrix[2][2], offset[2];
    double matrix_error; /* standard error of an element, by the scatter */
} ronchi_shift_fit;

/* Points to fit: [n] pixels from the centre, shifts, weights (1 / variance; 0: left out). */
typedef struct ronchi_shift_points {
    size_t n;
    const double *k_row, *k_col, *shift_row, *shift_col, *weight;
} ronchi_shift_points;

/*
 * ronchi_shift_fit_points() fits by least squares; false, with *out untouched, when the points do not span a plane.
 */
bool ronchi_shift_fit_points(const ronchi_shift_points *points, ronchi_shift_fit *out);

/* ronchi_shift_of() gives the fit's shift at a pixel. */
static inline void ronchi_shift_of(const ronchi_shift_fit *fit, double k_row, double k_col, double out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] = fit->matrix[i][0] * k_row + fit->matrix[i][1] * k_col + fit->offset[i];
}

/*
 * ronchi_parallax_find_units() fills wavelength, dk, steps and where they come from, or 'missing'.  True when all is
 * known.  'radius_px' is the fitted disk's, for calibrations by semi-angle.
 */
bool ronchi_parallax_find_units(const ronchi_acquisition *acquisition, double radius_px,
                                ronchi_parallax_aberrations *out);

/*
 * ronchi_parallax_find_aberrations() reads the fit: the units in 'out' are known.  transpose and near_deg as in the
 * options.
 */
void ronchi_parallax_find_aberrations(const ronchi_shift_fit *fit, int32_t transpose, double near_deg,
                                      ronchi_parallax_aberrations *out);

/*
 * ronchi_parallax_pixels_per_frequency() gives the matrix from spatial frequencies (cycles per scan pixel) to detector
 * pixels: how far a scattered beam lies from its own.
 */
void ronchi_parallax_pixels_per_frequency(const ronchi_parallax_aberrations *aberrations, double out[2][2]);

#endif
