/* SPDX-License-Identifier: MIT */
/* pixels.h - the shift of every image by itself. */
#ifndef RONCHI_PARALLAX_PIXELS_H
#define RONCHI_PARALLAX_PIXELS_H

#include "parallax/bins.h"

/* Shifts of the images, in the order of the bright field. */
typedef struct ronchi_pixel_shifts {
    double *k_row, *k_col; /* [n] from the disk's centre */
    double *shift_row, *shift_col;
    double *variance; /* [n] per axis; NAN: not measured by itself */
    uint8_t *held;    /* [n] */
    size_t n, n_held;
} ronchi_pixel_shifts;

ronchi_status ronchi_pixel_shifts_init(const ronchi_bright_field *bf, ronchi_pixel_shifts *out, ronchi_error *err);
void ronchi_pixel_shifts_free(ronchi_context *context, ronchi_pixel_shifts *shifts);

/* ronchi_pixels_predict() gives each image the fit's shift and what its bin is off by. */
void ronchi_pixels_predict(const ronchi_bins *bins, const ronchi_shift_fit *fit, ronchi_pixel_shifts *shifts);

/* ronchi_pixels_align() measures every image around its prediction, holds outliers to that, and fits again. */
ronchi_status ronchi_pixels_align(ronchi_bright_field *bf, const ronchi_bins *bins, const ronchi_reference *reference,
                                  const float *window, ronchi_pixel_shifts *shifts, ronchi_shift_fit *fit,
                                  ronchi_error *err);

#endif
