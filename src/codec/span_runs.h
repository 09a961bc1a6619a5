/* SPDX-License-Identifier: MIT */
/*
 * span_runs.h - which positions of a span (consecutive flattened scan positions) lie in a rectangle of the scan.
 */
#ifndef RONCHI_CODEC_SPAN_RUNS_H
#define RONCHI_CODEC_SPAN_RUNS_H

#include "core/internal.h"

/* Positions t..t_end-1 of a span; they follow each other in one row of the rectangle, from (row, col) of it on. */
typedef struct ronchi_run {
    size_t t, t_end, row, col;
} ronchi_run;

/*
 * ronchi_run_next() finds the next run at or behind position t of the span of n positions from 'first' on.  Only the
 * scan part of 'region' counts.  False when there is none.
 */
bool ronchi_run_next(const ronchi_region *region, size_t scan_cols, uint64_t first, size_t n, size_t t,
                     ronchi_run *out);

/* ronchi_run_stop() gives one past the last position of the span that lies in the region; 0 when none does. */
size_t ronchi_run_stop(const ronchi_region *region, size_t scan_cols, uint64_t first, size_t n);

#endif
