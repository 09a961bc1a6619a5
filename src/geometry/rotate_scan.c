/* SPDX-License-Identifier: MIT */
/* rotate_scan.c - the scan axes of an acquisition turned, counts untouched. */
#include <math.h>
#include <string.h>

#include "geometry/gather.h"
#include "geometry/result.h"
#include "geometry/rotation.h"

static ronchi_status check_fill(const ronchi_acquisition *acquisition, double fill, ronchi_error *err)
{
    ronchi_dtype dtype = acquisition->store->dtype;
    double most = dtype == RONCHI_U8 ? UINT8_MAX : dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
    if (dtype == RONCHI_F32 || (fill >= 0 && fill <= most && fill == floor(fill)))
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_ARGUMENT, acquisition->info.source_name, RONCHI_NO_OFFSET,
                       "%g is no value of %s to fill with: give a whole number from 0 to %.0f", fill,
                       ronchi_dtype_name(dtype), most);
}

static ronchi_status check_other_angle(const ronchi_acquisition *acquisition, const ronchi_rotate_options *options,
                                       double angle_deg, ronchi_error *err)
{
    const ronchi_quantity *row = &acquisition->info.calibration.scan_step_row,
                          *col = &acquisition->info.calibration.scan_step_col;
    const char *name = acquisition->info.source_name;
    if (options->interpolation == RONCHI_INTERPOLATE_BILINEAR)
        return ronchi_fail(
            err, RONCHI_ERR_UNSUPPORTED, name, RONCHI_NO_OFFSET,
            "bilinear rotation makes numbers that are no counts, so it cannot be encoded exactly: rotate with nearest, "
            "or rotate the images made from the acquisition, or a dense float32 array, with bilinear");
    if (row->known && col->known && row->value != col->value)
        return ronchi_fail(
            err, RONCHI_ERR_UNSUPPORTED, name, RONCHI_NO_OFFSET,
            "the scan steps differ (rows %g, columns %g angstrom): turned by %g degrees the scan would be no regular "
            "grid; quarter turns work, or bin the scan to equal steps",
            row->value, col->value, angle_deg);
    return RONCHI_OK;
}

static json_t *describe(const ronchi_rotation *r, const ronchi_rotate_options *options, double angle_deg)
{
    return json_pack("{s:s, s:f, s:s, s:s, s:f, s:[I, I], s:[I, I]}", "operation", "scan_rotation", "angle_degrees",
                     angle_deg, "interpolation", r->quarter ? "exact" : "nearest", "output_shape",
                     options->output == RONCHI_ROTATE_SAME ? "same" : "full", "fill_value",
                     isfinite(options->fill) ? options->fill : 0.0, "source_scan_shape", (json_int_t)r->rows,
                     (json_int_t)r->cols, "result_scan_shape", (json_int_t)r->out_rows, (json_int_t)r->out_cols);
}

/* The list that the public reader keeps of rotations: metadata "scan_rotation_history". */
static ronchi_status public_history(ronchi_acquisition *result, const json_t *record)
{
    json_t *entry = json_deep_copy(record), *list = json_object_get(result->metadata, "scan_rotation_history");
    if (!entry)
        return RONCHI_ERR_MEMORY;
    json_object_del(entry, "operation");
    if (!json_is_array(list)) {
        list = json_array();
        if (json_object_set_new(result->metadata, "scan_rotation_history", list) != 0) {
            json_decref(entry);
            return RONCHI_ERR_MEMORY;
        }
    }
    return json_array_append_new(list, entry) == 0 ? RONCHI_OK : RONCHI_ERR_MEMORY;
}

/* Steps and contract: turned with the scan where it was turned whole, else begun anew. */
static void turn_contract(ronchi_acquisition *result, const ronchi_rotation *r)
{
    static const uint32_t flips[4] = {0, RONCHI_FLIP_SCAN_ROWS, RONCHI_FLIP_SCAN_ROWS | RONCHI_FLIP_SCAN_COLS,
                                      RONCHI_FLIP_SCAN_COLS};
    if (r->quarter && r->turns % 2)
        ronchi_result_transpose(result, RONCHI_RESULT_SCAN);
    bool whole = r->quarter && r->copy_rows * r->copy_cols == r->rows * r->cols &&
                 r->out_rows * r->out_cols == r->rows * r->cols;
    if (whole)
        ronchi_result_flip(result, flips[r->turns]);
    else
        ronchi_result_begin_anew(result, r->quarter ? "the scan was turned and cut or padded"
                                                    : "the scan was turned off its grid: nearest positions");
}

/* Inside the scan before rounding, and measured there. */
static ronchi_status store_valid(ronchi_acquisition *result, const ronchi_rotation *r, const ronchi_view *valid,
                                 ronchi_error *err)
{
    size_t n = result->store->n_positions;
    uint8_t *kept = ronchi_alloc(result->context, n);
    if (!kept)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the validity mask");
    ronchi_status status = ronchi_scan_valid_take(result, kept, err);
    for (size_t i = 0; status == RONCHI_OK && i < n; i++) {
        kept[i] = kept[i] && ronchi_rotation_valid(r, i / r->out_cols, i % r->out_cols);
        if (valid)
            *(uint8_t *)ronchi_view_at(valid, 0, 0, i / r->out_cols, i % r->out_cols) = kept[i];
    }
    if (status == RONCHI_OK)
        status = ronchi_scan_valid_put(result, kept, err);
    ronchi_free(result->context, kept);
    return status;
}

static ronchi_status finish(ronchi_acquisition *result, const ronchi_rotation *r, const ronchi_rotate_options *options,
                            double angle_deg, const ronchi_view *valid, ronchi_error *err)
{
    json_t *record = describe(r, options, angle_deg);
    ronchi_status status = record ? public_history(result, record) : RONCHI_ERR_MEMORY;
    if (status != RONCHI_OK) {
        json_decref(record);
        return ronchi_fail(err, status, result->info.source_name, RONCHI_NO_OFFSET, "the history cannot be written");
    }
    turn_contract(result, r);
    status = ronchi_result_record(result, record, !r->quarter, err);
    if (status == RONCHI_OK)
        status = ronchi_result_orient_rotated(result, r->quarter ? 90.0 * (double)r->turns : angle_deg, err);
    if (status == RONCHI_OK)
        status = store_valid(result, r, valid, err);
    ronchi_result_finish(result);
    return status;
}

ronchi_status ronchi_geometry_rotate_scan(const ronchi_acquisition *acquisition, double angle_deg,
                                          const ronchi_rotate_options *options, const ronchi_view *valid,
                                          ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_rotate_options chosen;
    ronchi_rotation r;
    ronchi_gather gather;
    *out = NULL;
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status == RONCHI_OK)
        status = ronchi_rotate_options_take(options, &chosen, err);
    if (status == RONCHI_OK)
        status = check_fill(acquisition, chosen.fill, err);
    if (status == RONCHI_OK)
        status = ronchi_rotation_check(acquisition->store->shape.scan_rows, acquisition->store->shape.scan_cols,
                                       angle_deg, &chosen, valid, &r, err);
    if (status == RONCHI_OK && !r.quarter)
        status = check_other_angle(acquisition, &chosen, angle_deg, err);
    if (status == RONCHI_OK)
        status = ronchi_gather_init(&gather, acquisition, r.out_rows, r.out_cols, "rotate", err);
    if (status != RONCHI_OK)
        return status;
    for (size_t i = 0; i < r.out_rows * r.out_cols; i++)
        if (!ronchi_rotation_nearest(&r, i / r.out_cols, i % r.out_cols, &gather.positions[i]))
            gather.positions[i] = RONCHI_GATHER_FILL;
    gather.fill = chosen.fill;
    status = ronchi_gather_run(&gather, out, err);
    ronchi_gather_release(&gather);
    if (status == RONCHI_OK)
        status = finish(*out, &r, &chosen, angle_deg, valid, err);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(*out);
        *out = NULL;
    }
    return status;
}
