/* SPDX-License-Identifier: MIT */
/* span_runs.c - walks a span row by row of the scan. */
#include "codec/span_runs.h"

bool ronchi_run_next(const ronchi_region *region, size_t scan_cols, uint64_t first, size_t n, size_t t, ronchi_run *out)
{
    const uint64_t row_end = region->scan_row + region->scan_rows;
    while (t < n) {
        uint64_t position = first + t, row = position / scan_cols, col = position % scan_cols;
        if (row >= row_end)
            return false;
        uint64_t begin = (row < region->scan_row ? region->scan_row : row) * scan_cols + region->scan_col;
        uint64_t end = begin + region->scan_cols;
        if (position < end) {
            begin = position > begin ? position : begin;
            if (begin - first >= n)
                return false;
            out->t = (size_t)(begin - first);
            out->t_end = end - first < n ? (size_t)(end - first) : n;
            out->row = (size_t)(begin / scan_cols - region->scan_row);
            out->col = (size_t)(begin % scan_cols - region->scan_col);
            return true;
        }
        t += (size_t)(scan_cols - col); /* the next scan row */
    }
    return false;
}

size_t ronchi_run_stop(const ronchi_region *region, size_t scan_cols, uint64_t first, size_t n)
{
    size_t stop = 0;
    ronchi_run run;
    for (size_t t = 0; ronchi_run_next(region, scan_cols, first, n, t, &run); t = run.t_end)
        stop = run.t_end;
    return stop;
}
