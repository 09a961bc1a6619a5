/* SPDX-License-Identifier: MIT */
/* frame.c - one diffraction pattern. */
#include "detector/checks.h"
#include "ronchi/detector.h"

ronchi_status ronchi_detector_frame(const ronchi_acquisition *acquisition, size_t scan_row, size_t scan_col,
                                    ronchi_flagged_read flagged, const ronchi_view *out, ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_shape *shape = &acquisition->store->shape;
    if (scan_row >= shape->scan_rows || scan_col >= shape->scan_cols)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "scan position (%zu, %zu) lies outside the scan of %zu rows x %zu columns", scan_row,
                           scan_col, shape->scan_rows, shape->scan_cols);
    ronchi_region region = {scan_row, 1, scan_col, 1, 0, shape->det_rows, 0, shape->det_cols};
    return ronchi_acquisition_read(acquisition, &region, flagged, out, err);
}
