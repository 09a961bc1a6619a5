/* SPDX-License-Identifier: MIT */
/* result_metadata.c - calibration, history and the record of flagged pixels of a result. */
#include <string.h>

#include "geometry/result.h"

/* The steps of rows and columns in the public schema: paths of quantities and axes. */
static const char *const step_paths[2][2] = {
    {"scan_controller/regular_scan/pixel_size_row", "scan_controller/regular_scan/pixel_size_column"},
    {"imaging_system/reciprocal_pixel_size_row", "imaging_system/reciprocal_pixel_size_column"}};

static void exchange(json_t *object, const char *a, const char *b, json_t *other)
{
    json_t *first = json_incref(json_object_get(object, a)), *second = json_incref(json_object_get(other, b));
    if (second)
        json_object_set_new(object, a, second);
    else
        json_object_del(object, a);
    if (first)
        json_object_set_new(other, b, first);
    else
        json_object_del(other, b);
}

/* Where quantities stand: recorded and overriding ones. */
static json_t *quantities(const ronchi_acquisition *acquisition, int which)
{
    return json_object_get(acquisition->scientific, which ? "calibration_overrides" : "electron_microscope");
}

static json_t *axis(const ronchi_acquisition *acquisition, size_t index)
{
    return json_array_get(json_object_get(acquisition->scientific, "axes"), index);
}

static void swap_sizes(size_t *a, size_t *b)
{
    size_t kept = *a;
    *a = *b;
    *b = kept;
}

void ronchi_result_transpose(ronchi_acquisition *acquisition, ronchi_result_axes axes)
{
    ronchi_acquisition_info *info = &acquisition->info;
    for (int k = 0; k < 2; k++)
        if (quantities(acquisition, k))
            exchange(quantities(acquisition, k), step_paths[axes][0], step_paths[axes][1], quantities(acquisition, k));
    if (axis(acquisition, 0))
        exchange(axis(acquisition, 2 * (size_t)axes), "sampling", "sampling", axis(acquisition, 2 * (size_t)axes + 1));
    if (axes == RONCHI_RESULT_SCAN) {
        swap_sizes(&info->source_shape.scan_rows, &info->source_shape.scan_cols);
        swap_sizes(&info->crop.scan_row, &info->crop.scan_col);
        swap_sizes(&info->crop.scan_rows, &info->crop.scan_cols);
    } else {
        swap_sizes(&info->source_shape.det_rows, &info->source_shape.det_cols);
        swap_sizes(&info->crop.det_row, &info->crop.det_col);
        swap_sizes(&info->crop.det_rows, &info->crop.det_cols);
    }
}

/* Objects may be shared between places: a scaled one is a new one. */
static void scale(json_t *object, const char *key, double factor)
{
    json_t *quantity = json_object_get(object, key), *value = json_object_get(quantity, "value");
    if (!json_is_number(value))
        return;
    json_t *scaled = json_deep_copy(quantity);
    json_object_set_new(scaled, "value", json_real(json_number_value(value) * factor));
    json_object_set_new(object, key, scaled);
}

void ronchi_result_scale(ronchi_acquisition *acquisition, ronchi_result_axes axes, size_t bin)
{
    for (size_t side = 0; side < 2; side++) {
        for (int k = 0; k < 2; k++)
            scale(quantities(acquisition, k), step_paths[axes][side], (double)bin);
        scale(axis(acquisition, 2 * (size_t)axes + side), "sampling", (double)bin);
    }
}

/* ------------------------------------------------------------------------------------------------------ history */

/* Sizes that readers of the flat metadata look at. */
static void set_sizes(const ronchi_acquisition *acquisition)
{
    const ronchi_shape *s = &acquisition->store->shape;
    json_int_t v[4] = {(json_int_t)s->scan_rows, (json_int_t)s->scan_cols, (json_int_t)s->det_rows,
                       (json_int_t)s->det_cols};
    json_t *m = acquisition->metadata;
    if (json_object_get(m, "scan_shape"))
        json_object_set_new(m, "scan_shape", json_pack("[I, I]", v[0], v[1]));
    if (json_object_get(m, "detector_shape"))
        json_object_set_new(m, "detector_shape", json_pack("[I, I]", v[2], v[3]));
    if (json_object_get(m, "working_shape"))
        json_object_set_new(m, "working_shape", json_pack("[I, I, I, I]", v[0], v[1], v[2], v[3]));
    if (json_object_get(m, "n_frames"))
        json_object_set_new(m, "n_frames", json_integer(v[0] * v[1]));
}

ronchi_status ronchi_result_record(ronchi_acquisition *acquisition, json_t *record, bool changes, ronchi_error *err)
{
    const json_t *before = ronchi_scientific_extension_get(acquisition->scientific, "geometry");
    json_t *history = json_is_array(before) ? json_deep_copy(before) : json_array();
    json_t *process = record ? json_deep_copy(record) : NULL;
    ronchi_status status = RONCHI_ERR_MEMORY;
    set_sizes(acquisition);
    if (history && process && json_array_append(history, record) == 0 &&
        json_object_set_new(process, "changes_measurements", json_boolean(changes)) == 0) {
        status = ronchi_scientific_extension_set(acquisition->scientific, "geometry", history);
        history = NULL;
    }
    if (status == RONCHI_OK) {
        status = ronchi_scientific_process(acquisition->scientific, process);
        process = NULL;
    }
    json_decref(history);
    json_decref(process);
    json_decref(record);
    if (status != RONCHI_OK)
        return ronchi_fail(err, status, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "the history cannot be written");
    return RONCHI_OK;
}

/* ----------------------------------------------------------------------------------------------- flagged pixels */

/* Raw values that the store holds as 0. */
static uint64_t count_markers(const ronchi_acquisition *acquisition)
{
    uint64_t n = 0;
    for (size_t k = 0; k < acquisition->n_raw; k++)
        for (size_t i = 0, start = 0; i < acquisition->raw[k].n_runs; start = acquisition->raw[k].runs[i++].until)
            n += acquisition->raw[k].runs[i].value > UINT16_MAX ? acquisition->raw[k].runs[i].until - start : 0;
    return n;
}

/* metadata "hot_pixel_correction": coordinates of old pixels become those of new ones. */
static void move_coordinates(json_t *record, size_t from_cols, size_t cols,
                             size_t (*place)(const void *user, size_t row, size_t col), const void *user)
{
    const json_t *old = json_object_get(record, "coordinates"), *old_flags = json_object_get(record, "source_flags"),
                 *pair;
    json_t *coordinates = json_array(), *flags = json_array();
    size_t i, last = SIZE_MAX;
    json_array_foreach(old, i, pair)
    {
        json_int_t row = json_integer_value(json_array_get(pair, 0)), col = json_integer_value(json_array_get(pair, 1));
        size_t to = row < 0 || col < 0 || (size_t)col >= from_cols ? SIZE_MAX : place(user, (size_t)row, (size_t)col);
        if (to == SIZE_MAX || to == last)
            continue;
        last = to;
        json_array_append_new(coordinates, json_pack("[I, I]", (json_int_t)(to / cols), (json_int_t)(to % cols)));
        json_array_append(flags, json_array_get(old_flags, i) ? json_array_get(old_flags, i) : json_true());
    }
    json_object_set_new(record, "pixel_count", json_integer((json_int_t)json_array_size(coordinates)));
    json_object_set_new(record, "coordinates", coordinates);
    json_object_set_new(record, "source_flags", flags);
}

ronchi_status ronchi_result_flagged(ronchi_acquisition *acquisition, size_t from_cols,
                                    size_t (*place)(const void *user, size_t row, size_t col), const void *user,
                                    ronchi_error *err)
{
    json_t *record = json_object_get(acquisition->metadata, "hot_pixel_correction");
    if (json_is_array(json_object_get(record, "coordinates")) &&
        json_array_size(json_object_get(record, "coordinates")))
        move_coordinates(record, from_cols, acquisition->store->shape.det_cols, place, user);
    else if (record && !json_is_true(json_object_get(record, "applied")))
        json_object_set_new(record, "pixel_count", json_integer((json_int_t)acquisition->n_flagged));
    ronchi_status status = RONCHI_OK;
    bool declared = json_object_get(acquisition->metadata, "flagged_markers_stored_as_zero") != NULL;
    if (declared || acquisition->n_raw)
        status = ronchi_scientific_markers(acquisition->scientific, acquisition->metadata, count_markers(acquisition));
    if (status != RONCHI_OK)
        return ronchi_fail(err, status, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "the record of flagged pixels cannot be written");
    return RONCHI_OK;
}
