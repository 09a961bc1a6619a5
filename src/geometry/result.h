/* SPDX-License-Identifier: MIT */
/*
 * result.h - what surrounds the counts of a result: contract, metadata, calibration, raw table, validity of the scan,
 * history.
 */
#ifndef RONCHI_GEOMETRY_RESULT_H
#define RONCHI_GEOMETRY_RESULT_H

#include "resident/acquisition.h"
#include "ronchi/geometry.h"

/*
 * ronchi_result_new() makes an acquisition around a finished store that it takes over (also when it fails), with the
 * contract and metadata of 'from' and the sizes of the store.
 */
ronchi_status ronchi_result_new(const ronchi_acquisition *from, ronchi_store *store, ronchi_acquisition **out,
                                ronchi_error *err);

/* ronchi_result_store() makes an empty store for a result under the profile of 'from', or the default where that cannot
 * hold 'dtype'. */
ronchi_status ronchi_result_store(const ronchi_acquisition *from, const ronchi_shape *shape, ronchi_dtype dtype,
                                  const uint8_t *valid, ronchi_store **out, ronchi_error *err);

/* The axes of which calibration and contract are exchanged or scaled. */
typedef enum ronchi_result_axes { RONCHI_RESULT_SCAN = 0, RONCHI_RESULT_DET = 1 } ronchi_result_axes;

/* ronchi_result_transpose() exchanges row and column: steps, source shape, crop. */
void ronchi_result_transpose(ronchi_acquisition *acquisition, ronchi_result_axes axes);
/* ronchi_result_flip() mirrors the crop along the axes of 'flips' (RONCHI_FLIP_*), which are those of the result. */
void ronchi_result_flip(ronchi_acquisition *acquisition, uint32_t flips);
/*
 * ronchi_result_orient_*() bring the stored orientation of the detector, where there is one, in line with a scan turned
 * by an angle (counter-clockwise as displayed), with exchanged rows and columns, or with flips (RONCHI_FLIP_*).
 */
ronchi_status ronchi_result_orient_rotated(ronchi_acquisition *acquisition, double angle_deg, ronchi_error *err);
ronchi_status ronchi_result_orient_transposed(ronchi_acquisition *acquisition, ronchi_result_axes axes,
                                              ronchi_error *err);
ronchi_status ronchi_result_orient_flipped(ronchi_acquisition *acquisition, uint32_t flips, ronchi_error *err);
/* ronchi_result_scale() multiplies the steps by a bin. */
void ronchi_result_scale(ronchi_acquisition *acquisition, ronchi_result_axes axes, size_t bin);
/* ronchi_result_begin_anew(): the contract no longer tells the source's shape, and counts were dropped or made up. */
void ronchi_result_begin_anew(ronchi_acquisition *acquisition, const char *why);

/*
 * ronchi_result_record() appends to the history and to the processing list; takes over 'record' {"operation": ...,
 * ...}.
 */
ronchi_status ronchi_result_record(ronchi_acquisition *acquisition, json_t *record, bool changes, ronchi_error *err);

/*
 * ronchi_result_flagged() brings the record of flagged pixels in line with the result: new pixel of an old one by
 * 'place' (SIZE_MAX: not there any more), and the number of raw values that the store holds as 0.
 */
ronchi_status ronchi_result_flagged(ronchi_acquisition *acquisition, size_t from_cols,
                                    size_t (*place)(const void *user, size_t row, size_t col), const void *user,
                                    ronchi_error *err);

/* ronchi_result_finish() derives the calibration and the byte counts. */
void ronchi_result_finish(ronchi_acquisition *acquisition);

/* Scan validity in extensions.ronchi "scan_valid": take() fills valid [n_positions] (all 1 when absent), put() stores
 * it. */
ronchi_status ronchi_scan_valid_take(const ronchi_acquisition *acquisition, uint8_t *valid, ronchi_error *err);
ronchi_status ronchi_scan_valid_put(ronchi_acquisition *acquisition, const uint8_t *valid, ronchi_error *err);

#endif
