/* SPDX-License-Identifier: MIT */
/* moments.h - total and first moments as plain arrays, for what is built on them (centre of mass, DPC). */
#ifndef RONCHI_DETECTOR_MOMENTS_H
#define RONCHI_DETECTOR_MOMENTS_H

#include "resident/acquisition.h"

/*
 * ronchi_moments() fills total, row, col [n_positions], of u64 for counts and of f64 for float data.  'mask' as
 * ronchi_detector_moments().  RONCHI_ERR_RANGE when a moment could exceed 64 bits.
 */
ronchi_status ronchi_moments(const ronchi_acquisition *acquisition, const ronchi_view *mask, void *sums,
                             ronchi_error *err);

/*
 * ronchi_largest_count() finds the largest unflagged count that is there.  One more reduction: asked for only when the
 * dtype's maximum is too pessimistic.
 */
ronchi_status ronchi_largest_count(const ronchi_acquisition *acquisition, uint64_t *most, ronchi_error *err);

#endif
