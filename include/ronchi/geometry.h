/* SPDX-License-Identifier: MIT */
/*
 * geometry.h - how scan and detector lie: rotate, crop, flip, transpose, bin.  Encoded in, encoded out.
 *
 * Every function makes a new acquisition that the caller owns, under the profile of its input where that can hold the
 * result, and leaves the input alone.  Counts are moved, never interpolated; binning adds them exactly.  Decoded counts
 * held at a time stay within the context's budget.  Calibration, flagged pixels with their raw values, the contract and
 * the metadata are carried along; what was done is appended to scientific_metadata.extensions.ronchi "geometry".
 *
 * The contract (source_shape, crop, bins) is stated in the axes of the result: quarter turns, flips and transposes
 * carry it along.  A rotation by another angle or one that cuts or pads begins anew: source_shape is the result's,
 * lossless 0.
 */
#ifndef RONCHI_GEOMETRY_H
#define RONCHI_GEOMETRY_H

#include "ronchi/core.h"
#include "ronchi/resident.h"

#ifdef __cplusplus
extern "C" {
#endif

/* FULL: the smallest scan that holds the whole rotated one.  SAME: the shape of the input, centred. */
typedef enum ronchi_rotate_output { RONCHI_ROTATE_FULL = 0, RONCHI_ROTATE_SAME = 1 } ronchi_rotate_output;

/* AUTO: nearest for acquisitions, bilinear for dense views.  Quarter turns are exact whatever is asked for. */
typedef enum ronchi_interpolation {
    RONCHI_INTERPOLATE_AUTO = 0,
    RONCHI_INTERPOLATE_NEAREST = 1,
    RONCHI_INTERPOLATE_BILINEAR = 2
} ronchi_interpolation;

typedef struct ronchi_rotate_options {
    size_t struct_size;
    int32_t output;        /* ronchi_rotate_output; default FULL */
    int32_t interpolation; /* ronchi_interpolation; default AUTO */
    double fill; /* value of positions that come from outside the scan; a whole number for counts; default 0 */
} ronchi_rotate_options;

RONCHI_API void ronchi_rotate_options_defaults(ronchi_rotate_options *options);

/*
 * ronchi_geometry_rotated_shape() gives the scan shape after a rotation.  FULL: quarter turns exchange rows and columns
 * or keep them; other angles give ceil(rows |cos| + cols |sin|) x ceil(rows |sin| + cols |cos|).
 *
 * RONCHI_ERR_ARGUMENT  the angle is not finite, a side is 0 or above 2^31, unknown output
 */
RONCHI_API ronchi_status ronchi_geometry_rotated_shape(size_t rows, size_t cols, double angle_deg, int32_t output,
                                                       size_t *out_rows, size_t *out_cols);

/*
 * ronchi_geometry_rotate_scan() turns the scan axes; the detector stays.  A positive angle turns the image
 * counter-clockwise as displayed (row 0 at the top).
 *
 * Quarter turns (within 1e-10 degree or 1e-9 of the angle) are exact.  Other angles take for every position of the
 * result the nearest position of the scan (ties to even); docs/conventions.md has the map.  What comes from outside
 * holds 'fill' in every pixel.
 *
 *   valid  [row][col] u8 of the rotated shape, 1 where the position lies inside the scan before rounding; or NULL. Kept
 * in the result too: ronchi_geometry_scan_valid()
 *
 * Needs a second encoded copy for a while where positions move far (quarter turns but 180 degrees, other angles);
 * column-rans-v2 decodes and encodes the counts twice then, lane-rans-v1 once.  docs/performance.md.
 *
 * RONCHI_ERR_ARGUMENT     angle not finite, fill not a value of the dtype, unknown option
 * RONCHI_ERR_UNSUPPORTED  bilinear (interpolated counts are no counts: rotate results instead, or a dense float32
 * array); scan steps that differ between rows and columns, for other angles than quarter turns RONCHI_ERR_SHAPE 'valid'
 * does not have the rotated shape RONCHI_ERR_CLOSED, _DATA, _MEMORY, _CANCELLED
 */
RONCHI_API ronchi_status ronchi_geometry_rotate_scan(const ronchi_acquisition *acquisition, double angle_deg,
                                                     const ronchi_rotate_options *options, const ronchi_view *valid,
                                                     ronchi_acquisition **out, ronchi_error *err);

/*
 * ronchi_geometry_rotate_view() is the same map over a dense host array: its first two axes turn.  An image
 * [rows][cols] is a view of shape {rows, cols, 1, 1}.
 *
 *   in     [rows][cols][a][b]                any dtype and strides
 *   out    [rotated rows][rotated cols][a][b] of the dtype of 'in'; f32 for bilinear at other angles than quarter turns
 *   valid  as above, or NULL
 *
 * Bilinear: value = fill + sum over the corners inside of (corner - fill) x weight, in float64, rounded once.
 * RONCHI_ERR_ARGUMENT, _SHAPE, _MEMORY
 */
RONCHI_API ronchi_status ronchi_geometry_rotate_view(ronchi_context *context, const ronchi_view *in, double angle_deg,
                                                     const ronchi_rotate_options *options, const ronchi_view *out,
                                                     const ronchi_view *valid, ronchi_error *err);

/*
 * ronchi_geometry_scan_valid() writes which scan positions hold measured patterns: out [scan_row][scan_col] u8, all 1
 * for an acquisition that was never rotated off its grid.
 */
RONCHI_API ronchi_status ronchi_geometry_scan_valid(const ronchi_acquisition *acquisition, const ronchi_view *out,
                                                    ronchi_error *err);

/*
 * ronchi_geometry_crop() keeps a region of scan and detector.
 * RONCHI_ERR_SHAPE  the region is empty or leaves the acquisition
 */
RONCHI_API ronchi_status ronchi_geometry_crop(const ronchi_acquisition *acquisition, const ronchi_region *region,
                                              ronchi_acquisition **out, ronchi_error *err);

/* Axes that may be flipped, as bits. */
enum {
    RONCHI_FLIP_SCAN_ROWS = 1u << 0,
    RONCHI_FLIP_SCAN_COLS = 1u << 1,
    RONCHI_FLIP_DET_ROWS = 1u << 2,
    RONCHI_FLIP_DET_COLS = 1u << 3
};

/* ronchi_geometry_flip() reverses axes: 'axes' is a nonzero combination of RONCHI_FLIP_*.  RONCHI_ERR_ARGUMENT */
RONCHI_API ronchi_status ronchi_geometry_flip(const ronchi_acquisition *acquisition, uint32_t axes,
                                              ronchi_acquisition **out, ronchi_error *err);

/* Pairs of axes that may be exchanged, as bits. */
enum { RONCHI_TRANSPOSE_SCAN = 1u << 0, RONCHI_TRANSPOSE_DET = 1u << 1 };

/*
 * ronchi_geometry_transpose() exchanges rows and columns of the scan, of the detector or of both, with their
 * calibration. RONCHI_ERR_ARGUMENT  'pairs' is not a nonzero combination of RONCHI_TRANSPOSE_*
 */
RONCHI_API ronchi_status ronchi_geometry_transpose(const ronchi_acquisition *acquisition, uint32_t pairs,
                                                   ronchi_acquisition **out, ronchi_error *err);

/*
 * ronchi_geometry_bin() adds scan_bin x scan_bin positions and det_bin x det_bin pixels, exactly.  Rows and columns at
 * the end that fill no whole bin are left out (the contract's crop says so).
 *
 * Flagged pixels count as 0, so that every image, total and moment of the result is the exact one; a binned pixel is
 * flagged (and 0) when all of its pixels are.  Raw values at flagged pixels are not kept.
 *
 * dtype: that of the input when it holds every sum, else the next wider one that does (uint16, uint32); its profile
 * then follows the dtype.
 *
 * RONCHI_ERR_ARGUMENT     a bin of 0 or larger than its axes
 * RONCHI_ERR_UNSUPPORTED  float32 data: its sums would be rounded
 * RONCHI_ERR_RANGE        sums could exceed 32 bits
 */
RONCHI_API ronchi_status ronchi_geometry_bin(const ronchi_acquisition *acquisition, size_t scan_bin, size_t det_bin,
                                             ronchi_acquisition **out, ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
