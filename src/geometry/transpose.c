/* SPDX-License-Identifier: MIT */
/* transpose.c - rows and columns exchanged, of the scan, the detector or both. */
#include "geometry/gather.h"
#include "geometry/result.h"
#include "ronchi/geometry.h"

static ronchi_status finish(ronchi_acquisition *result, bool scan, bool det, ronchi_error *err)
{
    if (scan)
        ronchi_result_transpose(result, RONCHI_RESULT_SCAN);
    if (det)
        ronchi_result_transpose(result, RONCHI_RESULT_DET);
    ronchi_status status = ronchi_result_record(
        result, json_pack("{s:s, s:b, s:b}", "operation", "transpose", "scan", scan, "detector", det), false, err);
    if (status == RONCHI_OK && scan)
        status = ronchi_result_orient_transposed(result, RONCHI_RESULT_SCAN, err);
    if (status == RONCHI_OK && det)
        status = ronchi_result_orient_transposed(result, RONCHI_RESULT_DET, err);
    ronchi_result_finish(result);
    return status;
}

ronchi_status ronchi_geometry_transpose(const ronchi_acquisition *acquisition, uint32_t pairs, ronchi_acquisition **out,
                                        ronchi_error *err)
{
    ronchi_gather gather;
    *out = NULL;
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    bool scan = (pairs & RONCHI_TRANSPOSE_SCAN) != 0, det = (pairs & RONCHI_TRANSPOSE_DET) != 0;
    if (!pairs || (pairs & ~(uint32_t)(RONCHI_TRANSPOSE_SCAN | RONCHI_TRANSPOSE_DET)))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "no axes to exchange");
    const ronchi_shape *s = &acquisition->store->shape;
    size_t rows = scan ? s->scan_cols : s->scan_rows, cols = scan ? s->scan_rows : s->scan_cols;
    status = ronchi_gather_init(&gather, acquisition, rows, cols, "transpose", err);
    if (status != RONCHI_OK)
        return status;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            gather.positions[i * cols + j] = scan ? j * s->scan_cols + i : i * s->scan_cols + j;
    gather.transpose_det = det;
    gather.shape.det_rows = det ? s->det_cols : s->det_rows;
    gather.shape.det_cols = det ? s->det_rows : s->det_cols;
    status = ronchi_gather_run(&gather, out, err);
    ronchi_gather_release(&gather);
    if (status == RONCHI_OK)
        status = finish(*out, scan, det, err);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(*out);
        *out = NULL;
    }
    return status;
}
