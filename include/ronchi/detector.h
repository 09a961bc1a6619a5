/* SPDX-License-Identifier: MIT */
/*
 * detector.h - exact images and patterns: frame, total, mean, masked sums, moments, centre of mass, disk fit.
 *
 * All of them reduce in the encoded form; the dense array is never built.  Flagged pixels count as 0 here (frame: as
 * asked). For counts every sum is exact: the same integers on every CPU, thread count and device.  float32 data has
 * float64 sums in a fixed order; functions with uint64 results refuse it (RONCHI_ERR_UNSUPPORTED), NaN and infinity
 * propagate.
 */
#ifndef RONCHI_DETECTOR_H
#define RONCHI_DETECTOR_H

#include "ronchi/core.h"
#include "ronchi/resident.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ronchi_detector_frame() gives one diffraction pattern: out [det_row][det_col], dtypes as ronchi_acquisition_read().
 */
RONCHI_API ronchi_status ronchi_detector_frame(const ronchi_acquisition *acquisition, size_t scan_row, size_t scan_col,
                                               ronchi_flagged_read flagged, const ronchi_view *out, ronchi_error *err);

/* What a set of selected frames is reduced to. */
typedef enum ronchi_detector_reduce {
    RONCHI_REDUCE_SUM = 0,
    RONCHI_REDUCE_MEAN = 1,
    RONCHI_REDUCE_MAX = 2
} ronchi_detector_reduce;

/*
 * ronchi_detector_pattern() reduces many frames to one pattern.
 *
 *   region  scan rectangle (its detector part must be whole), NULL: the whole scan
 *   select  [scan_row][scan_col] u8 of the whole scan, nonzero = take; NULL: all of the region
 *   out     [det_row][det_col]  SUM: u64 (f64 for float data); MAX: u64 or the working dtype; MEAN: f64
 *
 * MEAN is the exact sum divided by the number of frames, rounded once.
 * RONCHI_ERR_ARGUMENT when no frame is selected.
 */
RONCHI_API ronchi_status ronchi_detector_pattern(const ronchi_acquisition *acquisition, ronchi_detector_reduce what,
                                                 const ronchi_region *region, const ronchi_view *select,
                                                 const ronchi_view *out, ronchi_error *err);

/*
 * ronchi_detector_sums() adds the counts that each mask selects, once per probe position, all masks in one pass.
 *
 *   masks  [1][n_masks][det_row][det_col] u8, 0 or 1
 *   out    [1][n_masks][scan_row][scan_col] u64 (f64 for float data), or f32 on request (one rounding)
 */
RONCHI_API ronchi_status ronchi_detector_sums(const ronchi_acquisition *acquisition, const ronchi_view *masks,
                                              const ronchi_view *out, ronchi_error *err);

/*
 * A mask session is for a mask that is dragged or resized: it remembers its last mask and the exact image of it, and
 * when a new mask differs from that by few pixels, only these are decoded.  The images are those of
 * ronchi_detector_sums(), whichever way was taken.  It borrows the acquisition, holds 8 bytes a scan position and one a
 * detector pixel, and serves one thread at a time.  Counts only.
 */
typedef struct ronchi_mask_session ronchi_mask_session;

/*
 * ronchi_mask_session_create() begins a session without a mask; the caller owns *out and ends it with
 * ronchi_mask_session_destroy() before the acquisition is destroyed.  destroy(NULL) does nothing.
 *
 * RONCHI_ERR_UNSUPPORTED  float32 data
 */
RONCHI_API ronchi_status ronchi_mask_session_create(const ronchi_acquisition *acquisition, ronchi_mask_session **out,
                                                    ronchi_error *err);
RONCHI_API void ronchi_mask_session_destroy(ronchi_mask_session *session);

/*
 * ronchi_mask_session_sum() adds the counts that a mask selects, once per probe position.
 *
 *   mask  [det_row][det_col] u8, 0 or 1
 *   out   [scan_row][scan_col] u64, or f64 or f32 (one rounding)
 *
 * After an error the session begins anew with the next mask.
 */
RONCHI_API ronchi_status ronchi_mask_session_sum(ronchi_mask_session *session, const ronchi_view *mask,
                                                 const ronchi_view *out, ronchi_error *err);

/*
 * ronchi_detector_moments() gives for every probe position the sum of the counts and the sums of counts times row and
 * times column index, exact.
 *
 *   mask    [det_row][det_col] u8, 0 or 1, or NULL: all pixels
 *   total, row, col  [scan_row][scan_col] u64
 *
 * RONCHI_ERR_RANGE  a moment could exceed 64 bits
 */
RONCHI_API ronchi_status ronchi_detector_moments(const ronchi_acquisition *acquisition, const ronchi_view *mask,
                                                 const ronchi_view *total, const ronchi_view *row,
                                                 const ronchi_view *col, ronchi_error *err);

/*
 * ronchi_detector_com() gives the centre of mass of every pattern in absolute detector pixels.
 *
 *   mask      as above
 *   row, col  [scan_row][scan_col] f64: exact integer moments, the quotient rounded once
 *   valid     [scan_row][scan_col] u8, 0 where the pattern is empty: there row and col are the mean over the others; or
 * NULL
 *
 * Float data: float64 sums in row-major order.
 * RONCHI_ERR_DATA when every pattern is empty.
 */
RONCHI_API ronchi_status ronchi_detector_com(const ronchi_acquisition *acquisition, const ronchi_view *mask,
                                             const ronchi_view *row, const ronchi_view *col, const ronchi_view *valid,
                                             ronchi_error *err);

/* The bright-field disk: centre and radius in detector pixels. */
typedef struct ronchi_disk {
    double row, col, radius;
    uint64_t pixels;  /* above the threshold */
    double threshold; /* mean + standard deviation of the pattern */
} ronchi_disk;

/*
 * ronchi_detector_fit_disk() finds the bright-field disk in a mean pattern: pixels above mean + population standard
 * deviation (over unflagged pixels), their unweighted centroid, radius = sqrt(pixels / pi).
 *
 *   mean     [det_row][det_col] f64
 *   flagged  [det_row][det_col] u8 or NULL: left out
 *
 * RONCHI_ERR_DATA  no pixel above the threshold (a blank pattern)
 */
RONCHI_API ronchi_status ronchi_detector_fit_disk(const ronchi_view *mean, const ronchi_view *flagged, ronchi_disk *out,
                                                  ronchi_error *err);

/*
 * ronchi_detector_annulus() marks pixels with inner <= r <= outer.  r is the distance from the centre in float32:
 * sqrtf(dr*dr + dc*dc) with dr, dc float32.  'outer' may be INFINITY.
 *
 *   out  [det_row][det_col] u8
 */
RONCHI_API ronchi_status ronchi_detector_annulus(double center_row, double center_col, double inner_px, double outer_px,
                                                 const ronchi_view *out);

/*
 * ronchi_detector_mrad_to_px() converts an angle from the disk centre to pixels: by the calibrated detector step where
 * it is known, else angle / semiangle x disk radius.
 *
 * RONCHI_ERR_NEEDED  neither detector step nor semi-angle is calibrated
 */
RONCHI_API ronchi_status ronchi_detector_mrad_to_px(const ronchi_acquisition *acquisition, const ronchi_disk *disk,
                                                    double angle_mrad, double *px, ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
