/* SPDX-License-Identifier: MIT */
/* grey.h - numbers to grey levels: which values become black and white, and what lies between. */
#ifndef RONCHI_PICTURE_GREY_H
#define RONCHI_PICTURE_GREY_H

#include "core/internal.h"
#include "ronchi/picture.h"

/* A picture's numbers, row-major, as double; counts above 2^53 are rounded, which no grey level shows. */
typedef struct ronchi_values {
    size_t rows, cols;
    double *at; /* [rows][cols], owned */
} ronchi_values;

/*
 * ronchi_values_read() copies a [row][col] host view of any dtype.  ronchi_values_free() frees it.
 * RONCHI_ERR_SHAPE  no such view; RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_values_read(const ronchi_view *view, ronchi_values *out, ronchi_error *err);
void ronchi_values_free(ronchi_values *values);

/* The values that become black and white. */
typedef struct ronchi_range {
    double low, high;
} ronchi_range;

/*
 * ronchi_range_find() finds the percentiles (linear between ranks, as NumPy does) over finite values that are not
 * ignored; for LOG over positive ones; for a signed range the symmetric limits -x, x with x the high percentile of the
 * magnitudes. Where both percentiles fall together the smallest and largest value are taken; for a constant picture low
 * equals high. Without any value both are NaN.
 *
 * RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_range_find(const ronchi_values *values, const ronchi_picture_options *options, ronchi_range *out,
                                ronchi_error *err);

/*
 * ronchi_grey_level() maps a value: 0 to 255, everything outside the range to its ends, a constant picture to 127, NaN
 * to 0.
 */
uint8_t ronchi_grey_level(const ronchi_picture_options *options, const ronchi_range *range, double value);

/* ronchi_signed_colour() maps a value of a signed picture: blue below 0, white at 0, red above; NaN is grey. */
void ronchi_signed_colour(const ronchi_range *range, double value, uint8_t rgb[3]);

/*
 * ronchi_picture_check() checks options against a view and completes those left at 0; 'path' is for the message.
 * RONCHI_ERR_ARGUMENT, RONCHI_ERR_SHAPE
 */
ronchi_status ronchi_picture_check(const char *path, const ronchi_view *view, const ronchi_picture_options *options,
                                   ronchi_picture_options *out, ronchi_error *err);

#endif
