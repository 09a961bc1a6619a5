/* SPDX-License-Identifier: MIT */
/*
 * flagged.h - flagged pixels on their way in: correction by zero or median, and the table of raw values that a narrower
 * store cannot hold.
 */
#ifndef RONCHI_RESIDENT_FLAGGED_H
#define RONCHI_RESIDENT_FLAGGED_H

#include "resident/acquisition.h"

/* ronchi_flagged_list() lists the zero entries of valid [n_pixels], ascending; *out from malloc (NULL when none). */
ronchi_status ronchi_flagged_list(const uint8_t *valid, size_t n_pixels, size_t **out, size_t *n_flagged,
                                  ronchi_error *err);

/*
 * ronchi_flagged_correct() replaces flagged pixels of one frame of counts (u8, u16, u32) in place.
 * ZERO: by 0.  MEDIAN: by the median of the unflagged neighbours in the 3 x 3 window cut at the detector's edge; of an
 * even number the mean of the middle two, truncated; 0 without neighbours.
 */
void ronchi_flagged_correct(const ronchi_shape *shape, ronchi_dtype dtype, const uint8_t *valid, const size_t *flagged,
                            size_t n_flagged, ronchi_flagged policy, void *frame);

/*
 * Collects the raw values at flagged pixels while loading, in any order of positions.  Memory: 4 bytes per scan
 * position for each pixel that is not constant.
 */
typedef struct ronchi_raw_collector {
    ronchi_context *context;
    size_t n_flagged, n_positions;
    struct raw_column *columns;
    uint64_t value_bytes, limit_bytes;
    uint64_t n_zeroed; /* raw values above what the store holds */
} ronchi_raw_collector;

ronchi_status ronchi_raw_collector_init(ronchi_raw_collector *collector, ronchi_context *context, size_t n_flagged,
                                        size_t n_positions, uint64_t limit_bytes, ronchi_error *err);
/*
 * ronchi_raw_collect() takes the values of all flagged pixels at one position.
 * RONCHI_ERR_RANGE when the limit is passed: hold the source in its own dtype instead.
 */
ronchi_status ronchi_raw_collect(ronchi_raw_collector *collector, uint64_t position, const uint32_t *values);
/* ronchi_raw_finish() makes the table of the pixels that had a value above 'largest' (what the store can hold). */
ronchi_status ronchi_raw_finish(ronchi_raw_collector *collector, const size_t *flagged, uint32_t largest,
                                ronchi_raw_pixel **out, size_t *n_raw, ronchi_error *err);
void ronchi_raw_collector_release(ronchi_raw_collector *collector);

#endif
