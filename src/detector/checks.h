/* SPDX-License-Identifier: MIT */
/* checks.h - named checks with the same messages for every operation of this folder, and masks as weights. */
#ifndef RONCHI_DETECTOR_CHECKS_H
#define RONCHI_DETECTOR_CHECKS_H

#include "resident/acquisition.h"

/* RONCHI_ERR_SHAPE unless 'view' is [1][n][rows][cols] on the host of dtype 'dtype' (0: any); 'what' names it in the
 * message. */
ronchi_status ronchi_check_view(const ronchi_view *view, const char *what, size_t n, size_t rows, size_t cols,
                                int dtype, ronchi_error *err);

/* RONCHI_ERR_UNSUPPORTED for float32 data: exact sums exist for counts only. */
ronchi_status ronchi_check_counts(const ronchi_acquisition *acquisition, const char *what, ronchi_error *err);

/*
 * ronchi_check_weights() copies a 0/1 mask [det_row][det_col] u8 (entry k of the second axis) into weights [n_pixels];
 * RONCHI_ERR_ARGUMENT for any other value.
 */
ronchi_status ronchi_check_weights(const ronchi_view *masks, size_t k, uint32_t *weights, ronchi_error *err);

/*
 * ronchi_put_sum() writes one sum to an element of dtype u64, f64 or f32: sum i of 'sums', which are u64, or f64 when
 * 'floats'.  One rounding at most.
 */
void ronchi_put_sum(void *to, ronchi_dtype dtype, const void *sums, bool floats, size_t i);

#endif
