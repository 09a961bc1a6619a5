/* SPDX-License-Identifier: MIT */
/* flip.c - axes reversed. */
#include "geometry/gather.h"
#include "geometry/result.h"
#include "ronchi/geometry.h"

static const uint32_t ALL_FLIPS =
    RONCHI_FLIP_SCAN_ROWS | RONCHI_FLIP_SCAN_COLS | RONCHI_FLIP_DET_ROWS | RONCHI_FLIP_DET_COLS;

static ronchi_status finish(ronchi_acquisition *result, uint32_t axes, ronchi_error *err)
{
    static const char *const names[4] = {"scan_row", "scan_column", "detector_row", "detector_column"};
    json_t *list = json_array();
    for (unsigned k = 0; k < 4; k++)
        if (axes & 1u << k)
            json_array_append_new(list, json_string(names[k]));
    ronchi_result_flip(result, axes);
    ronchi_status status =
        ronchi_result_record(result, json_pack("{s:s, s:o}", "operation", "flip", "axes", list), false, err);
    if (status == RONCHI_OK)
        status = ronchi_result_orient_flipped(result, axes, err);
    ronchi_result_finish(result);
    return status;
}

ronchi_status ronchi_geometry_flip(const ronchi_acquisition *acquisition, uint32_t axes, ronchi_acquisition **out,
                                   ronchi_error *err)
{
    ronchi_gather gather;
    *out = NULL;
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    if (!axes || (axes & ~ALL_FLIPS))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "no axes to flip");
    size_t rows = acquisition->store->shape.scan_rows, cols = acquisition->store->shape.scan_cols;
    status = ronchi_gather_init(&gather, acquisition, rows, cols, "flip", err);
    if (status != RONCHI_OK)
        return status;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            gather.positions[i * cols + j] = (axes & RONCHI_FLIP_SCAN_ROWS ? rows - 1 - i : i) * cols +
                                             (axes & RONCHI_FLIP_SCAN_COLS ? cols - 1 - j : j);
    gather.flip_det_rows = (axes & RONCHI_FLIP_DET_ROWS) != 0;
    gather.flip_det_cols = (axes & RONCHI_FLIP_DET_COLS) != 0;
    status = ronchi_gather_run(&gather, out, err);
    ronchi_gather_release(&gather);
    if (status == RONCHI_OK)
        status = finish(*out, axes, err);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(*out);
        *out = NULL;
    }
    return status;
}
