/* SPDX-License-Identifier: MIT */
/* picture.h - arrays as pictures that people open: PNG with sensible contrast, TIFF with the numbers. */
#ifndef RONCHI_PICTURE_H
#define RONCHI_PICTURE_H

#include "ronchi/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ronchi_scaling { RONCHI_SCALE_LINEAR = 0, RONCHI_SCALE_GAMMA = 1, RONCHI_SCALE_LOG = 2 } ronchi_scaling;

typedef struct ronchi_picture_options {
    size_t struct_size;
    int32_t scaling;                  /* ronchi_scaling; patterns look best with GAMMA (0.5) or LOG, images LINEAR */
    double gamma;                     /* exponent of GAMMA; default 0.5 */
    double low_percent, high_percent; /* percentiles mapped to black and white; default 2 and 98 */
    int32_t signed_range;             /* 1: symmetric about 0, blue-white-red, for shifts and fields */
    const ronchi_view *ignore; /* [row][col] u8, nonzero = not used for the scaling (flagged pixels); NULL: none */
    double pixel_size;         /* length of one pixel for the scale bar; 0: no bar */
    const char *pixel_unit;    /* "angstrom", "nm", "mrad", "1/angstrom" */
    uint32_t enlarge;          /* whole factor; 0: chosen so that the shorter side has at least 256 pixels */
    int32_t force;             /* 1: replace an existing file */
} ronchi_picture_options;

RONCHI_API void ronchi_picture_options_defaults(ronchi_picture_options *options);

/*
 * ronchi_picture_png() writes a [row][col] view of any dtype as an 8-bit PNG.  Row 0 is at the top.  NaN is drawn black
 * (grey scale) and never enters the percentiles.  A scale bar of a 1-2-5 length with its label is drawn below the
 * picture where pixel_size is given.  Atomic.
 *
 * RONCHI_ERR_EXISTS, _IO, _SHAPE
 */
RONCHI_API ronchi_status ronchi_picture_png(const char *path, const ronchi_view *view,
                                            const ronchi_picture_options *options, ronchi_error *err);

/*
 * ronchi_picture_field_png() writes a vector field in colours: the hue is the direction (red to the right, then
 * counter-clockwise as displayed: green at 120 degrees, blue at 240), the brightness the length, full at the options'
 * high percentile of the lengths.  The wheel below the picture shows which colour points where.  NaN is grey.  Atomic.
 *
 *   row, col  [row][col] components, any dtype; scaling and signed_range of the options play no part
 *
 * RONCHI_ERR_EXISTS, _IO, _SHAPE, _MEMORY
 */
RONCHI_API ronchi_status ronchi_picture_field_png(const char *path, const ronchi_view *row, const ronchi_view *col,
                                                  const ronchi_picture_options *options, ronchi_error *err);

enum { RONCHI_PLOT_CURVES = 4 };

/* Curves over one axis; arrays are borrowed. */
typedef struct ronchi_plot {
    size_t n, n_curves;       /* points of each curve; curves, at most RONCHI_PLOT_CURVES */
    const double *x;          /* [n] */
    const double *const *y;   /* [n_curves] pointers to [n]; NaN leaves a gap */
    const char *const *names; /* [n_curves] */
    const char *x_name;       /* with its unit */
    double mark;              /* a dashed line at this x; NaN: none */
} ronchi_plot;

/* ronchi_picture_plot_png() draws curves as a PNG of 720 x 480.  Atomic.  RONCHI_ERR_ARGUMENT, _EXISTS, _IO, _MEMORY */
RONCHI_API ronchi_status ronchi_picture_plot_png(const char *path, const ronchi_plot *plot, int force,
                                                 ronchi_error *err);

/* Vectors over an array, all arrays borrowed. */
typedef struct ronchi_arrows {
    size_t n;
    const double *row, *col;             /* [n] where each begins, in pixels of the array */
    const double *along_row, *along_col; /* [n] */
    const uint8_t *marked;               /* [n] nonzero: in another colour; or NULL */
    double scale;                        /* pixels of the array that a vector of length 1 takes */
    size_t n_lines;
    const char *const *lines; /* [n_lines] texts below the picture */
} ronchi_arrows;

/*
 * ronchi_picture_arrows_png() draws arrows over an array in grey at half its brightness, enlarged to 512 pixels or
 * more. Atomic.  RONCHI_ERR_ARGUMENT, _EXISTS, _IO, _SHAPE, _MEMORY
 */
RONCHI_API ronchi_status ronchi_picture_arrows_png(const char *path, const ronchi_view *view,
                                                   const ronchi_arrows *arrows, const ronchi_picture_options *options,
                                                   ronchi_error *err);

/*
 * ronchi_picture_tiff() writes the numbers themselves: one grey TIFF of the view's own dtype (u64 as float64 only when
 * every value is below 2^53, else RONCHI_ERR_RANGE), with the pixel size as resolution and ImageJ-readable description.
 * Atomic.
 */
RONCHI_API ronchi_status ronchi_picture_tiff(const char *path, const ronchi_view *view,
                                             const ronchi_picture_options *options, ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
