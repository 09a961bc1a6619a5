/* SPDX-License-Identifier: MIT */
/* qem_calibration.c - scientific metadata of schema 2 from a calibration, and the effective calibration from it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/qem_internal.h"

/* Which member of ronchi_calibration a quantity fills. */
static ronchi_quantity *member(ronchi_calibration *calibration, int quantity)
{
    switch (quantity) {
    case RONCHI_QUANTITY_VOLTAGE:
        return &calibration->voltage;
    case RONCHI_QUANTITY_SEMIANGLE:
        return &calibration->semiangle;
    case RONCHI_QUANTITY_DWELL:
        return &calibration->dwell;
    case RONCHI_QUANTITY_SCAN_ROW:
        return &calibration->scan_step_row;
    case RONCHI_QUANTITY_SCAN_COL:
        return &calibration->scan_step_col;
    case RONCHI_QUANTITY_CAMERA_LENGTH:
        return &calibration->camera_length;
    case RONCHI_QUANTITY_DET_ROW:
        return &calibration->det_step_row;
    case RONCHI_QUANTITY_DET_COL:
        return &calibration->det_step_col;
    default:
        return NULL;
    }
}

/* --------------------------------------------------------------------------------------------------- reading */

/* Copies as much of the text as fits, whole UTF-8 characters only: it may be written to a file again. */
static void copy_text(char *dst, size_t size, const char *text)
{
    size_t n = strlen(text);
    if (n >= size)
        for (n = size - 1; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
            n--;
    memcpy(dst, text, n);
    dst[n] = 0;
}

static void take(ronchi_quantity *out, const json_t *object, const char *unit)
{
    const json_t *value = json_object_get(object, "value");
    const char *stored = ronchi_json_text(json_object_get(object, "unit"));
    const char *provenance = json_string_value(json_object_get(object, "provenance"));
    if (!json_is_number(value) || !stored || strlen(stored) >= sizeof out->unit)
        return;
    out->known = 1;
    out->value = json_number_value(value);
    snprintf(out->unit, sizeof out->unit, "%s", unit ? unit : stored);
    copy_text(out->provenance, sizeof out->provenance, provenance ? provenance : "");
}

void ronchi_scientific_calibration(const json_t *scientific, ronchi_calibration *out)
{
    static const int axes[4] = {RONCHI_QUANTITY_SCAN_ROW, RONCHI_QUANTITY_SCAN_COL, RONCHI_QUANTITY_DET_ROW,
                                RONCHI_QUANTITY_DET_COL};
    memset(out, 0, sizeof *out);
    const json_t *scope = json_object_get(scientific, "electron_microscope");
    const json_t *overrides = json_object_get(scientific, "calibration_overrides");
    for (int i = 0; i < RONCHI_QUANTITIES; i++) {
        ronchi_quantity *quantity = member(out, i);
        if (!quantity)
            continue;
        take(quantity, json_object_get(scope, ronchi_quantity_path(i)), NULL);
        for (int k = 0; k < 4; k++)
            if (axes[k] == i)
                take(quantity,
                     json_object_get(json_array_get(json_object_get(scientific, "axes"), (size_t)k), "sampling"), NULL);
        take(quantity, json_object_get(overrides, ronchi_quantity_path(i)), NULL);
    }
    /* An electron of E keV was accelerated by E kV. */
    if (!out->voltage.known)
        take(&out->voltage, json_object_get(scope, ronchi_quantity_path(RONCHI_QUANTITY_BEAM_ENERGY)), "kV");
    take(&out->scan_rotation, ronchi_scientific_extension_get(scientific, "scan_rotation"), NULL);
    const json_t *orientation = ronchi_scientific_extension_get(scientific, "orientation");
    take(&out->det_rotation, json_object_get(orientation, "rotation"), NULL);
    out->det_transpose = json_is_true(json_object_get(orientation, "transpose"));
}

/* --------------------------------------------------------------------------------------------------- creating */

static json_t *quantity_object(double value, const char *unit, const char *provenance, const char *evidence)
{
    json_t *object =
        json_pack("{s:f, s:s, s:o}", "value", value, "unit", unit, "provenance", ronchi_json_name(provenance));
    if (object && evidence && json_object_set_new(object, "evidence", json_string(evidence)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Recorded values only: what the user gave goes into calibration_overrides. */
static bool recorded(const ronchi_quantity *quantity)
{
    return quantity->known && isfinite(quantity->value) && quantity->value > 0 &&
           strncmp(quantity->provenance, "user_override", 13) != 0;
}

static json_t *recorded_object(const ronchi_quantity *quantity)
{
    return quantity_object(quantity->value, quantity->unit,
                           quantity->provenance[0] ? quantity->provenance : "source_metadata", NULL);
}

/* A pixel size is kept only where its unit is canonical and agrees with that of its partner. */
static bool usable_step(const ronchi_quantity *step, const ronchi_quantity *partner, bool scan)
{
    if (!recorded(step) || (recorded(partner) && strcmp(step->unit, partner->unit) != 0))
        return false;
    return scan ? strcmp(step->unit, "angstrom") == 0
                : strcmp(step->unit, "mrad") == 0 || strcmp(step->unit, "1/angstrom") == 0;
}

static json_t *axis_object(const char *name, size_t size, const ronchi_quantity *step, bool usable)
{
    json_t *axis = json_pack("{s:s, s:I}", "name", name, "size", (json_int_t)size);
    if (axis && usable && json_object_set_new(axis, "sampling", recorded_object(step)) != 0) {
        json_decref(axis);
        return NULL;
    }
    return axis;
}

static json_t *axes_list(const ronchi_shape *shape, const ronchi_calibration *c)
{
    json_t *axes = json_array();
    int failed = json_array_append_new(axes, axis_object("scan_row", shape->scan_rows, &c->scan_step_row,
                                                         usable_step(&c->scan_step_row, &c->scan_step_col, true)));
    failed |= json_array_append_new(axes, axis_object("scan_column", shape->scan_cols, &c->scan_step_col,
                                                      usable_step(&c->scan_step_col, &c->scan_step_row, true)));
    failed |= json_array_append_new(axes, axis_object("detector_row", shape->det_rows, &c->det_step_row,
                                                      usable_step(&c->det_step_row, &c->det_step_col, false)));
    failed |= json_array_append_new(axes, axis_object("detector_column", shape->det_cols, &c->det_step_col,
                                                      usable_step(&c->det_step_col, &c->det_step_row, false)));
    if (failed) {
        json_decref(axes);
        return NULL;
    }
    return axes;
}

static json_t *microscope_object(const ronchi_calibration *calibration)
{
    static const struct {
        int quantity;
        const char *unit;
    } plain[] = {{RONCHI_QUANTITY_VOLTAGE, "kV"},
                 {RONCHI_QUANTITY_SEMIANGLE, "mrad"},
                 {RONCHI_QUANTITY_DWELL, "us"},
                 {RONCHI_QUANTITY_CAMERA_LENGTH, "mm"}};
    ronchi_calibration c = *calibration;
    json_t *scope = json_object();
    int failed = 0;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        const ronchi_quantity *quantity = member(&c, plain[i].quantity);
        if (recorded(quantity) && strcmp(quantity->unit, plain[i].unit) == 0)
            failed |= json_object_set_new(scope, ronchi_quantity_path(plain[i].quantity), recorded_object(quantity));
    }
    static const int pairs[4][2] = {{RONCHI_QUANTITY_SCAN_ROW, RONCHI_QUANTITY_SCAN_COL},
                                    {RONCHI_QUANTITY_SCAN_COL, RONCHI_QUANTITY_SCAN_ROW},
                                    {RONCHI_QUANTITY_DET_ROW, RONCHI_QUANTITY_DET_COL},
                                    {RONCHI_QUANTITY_DET_COL, RONCHI_QUANTITY_DET_ROW}};
    for (int i = 0; i < 4; i++) {
        const ronchi_quantity *step = member(&c, pairs[i][0]);
        if (usable_step(step, member(&c, pairs[i][1]), i < 2))
            failed |= json_object_set_new(scope, ronchi_quantity_path(pairs[i][0]), recorded_object(step));
    }
    if (failed) {
        json_decref(scope);
        return NULL;
    }
    return scope;
}

/* The recorded rotation may be zero or negative, which the schema's quantities may not: it lives in the extension. */
static ronchi_status add_rotation(json_t *scientific, const ronchi_quantity *rotation)
{
    if (!rotation->known || !isfinite(rotation->value))
        return RONCHI_OK;
    return ronchi_scientific_extension_set(scientific, "scan_rotation", recorded_object(rotation));
}

json_t *ronchi_scientific_create(const ronchi_shape *shape, const ronchi_calibration *calibration,
                                 const json_t *source_metadata, const char *source_format)
{
    json_t *axes = axes_list(shape, calibration), *scope = microscope_object(calibration);
    json_t *kept = source_metadata ? json_deep_copy(source_metadata) : json_object();
    json_t *scientific = json_pack(
        "{s:s, s:o, s:o, s:{}, s:o, s:s, s:s, s:[], s:[{s:s, s:b}]}", "schema", "quantem.scientific-metadata/2", "axes",
        axes, "electron_microscope", scope, "calibration_overrides", "source_metadata", kept,
        "source_metadata_coverage", "reader-retained", "source_format", source_format ? source_format : "unknown",
        "source_documents", "processing", "operation", "lossless_storage", "changes_measurements", 0);
    if (scientific && add_rotation(scientific, &calibration->scan_rotation) != RONCHI_OK) {
        json_decref(scientific);
        return NULL;
    }
    return scientific;
}

ronchi_status ronchi_scientific_orient(json_t *scientific, double rotation_deg, bool transpose, const char *provenance,
                                       const char *evidence)
{
    json_t *rotation = quantity_object(rotation_deg, "degree", provenance, evidence);
    json_t *orientation = json_pack("{s:o, s:b}", "rotation", rotation, "transpose", (int)transpose);
    return ronchi_scientific_extension_set(scientific, "orientation", orientation);
}

/* -------------------------------------------------------------------------------------------------- overriding */

/* One option of the user: 0 means not given. */
typedef struct choice {
    int quantity;
    double value;
    const char *unit, *option;
    int partner; /* the quantity that must be given with it, or -1 */
} choice;

static ronchi_status check_choice(const choice *c, const choice *partner, ronchi_error *err)
{
    if (!isfinite(c->value) || c->value <= 0)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "%s must be a number above 0", c->option);
    if (partner && (partner->value <= 0 || !isfinite(partner->value)))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "%s needs a value for rows and one for columns", c->option);
    bool scan = c->quantity == RONCHI_QUANTITY_SCAN_ROW || c->quantity == RONCHI_QUANTITY_SCAN_COL;
    if (scan && (c->value < 1e-4 || c->value > 1e4))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "%s %g angstrom is outside of 0.0001 to 10000: is the unit right?", c->option, c->value);
    return RONCHI_OK;
}

static ronchi_status apply_choice(json_t *overrides, const choice *c)
{
    json_t *object = quantity_object(c->value, c->unit, "user_override", c->option);
    return json_object_set_new(overrides, ronchi_quantity_path(c->quantity), object) == 0 ? RONCHI_OK
                                                                                          : RONCHI_ERR_MEMORY;
}

ronchi_status ronchi_scientific_override(json_t *scientific, const ronchi_source_options *options, ronchi_error *err)
{
    const choice choices[] = {
        {RONCHI_QUANTITY_VOLTAGE, options->voltage_kv, "kV", "--voltage-kv", -1},
        {RONCHI_QUANTITY_SEMIANGLE, options->semiangle_mrad, "mrad", "--semiangle-mrad", -1},
        {RONCHI_QUANTITY_CAMERA_LENGTH, options->camera_length_mm, "mm", "--camera-length-mm", -1},
        {RONCHI_QUANTITY_SCAN_ROW, options->scan_step_row_a, "angstrom", "--scan-step-a", 4},
        {RONCHI_QUANTITY_SCAN_COL, options->scan_step_col_a, "angstrom", "--scan-step-a", 3},
        {RONCHI_QUANTITY_DET_ROW, options->det_step_row_mrad, "mrad", "--det-step-mrad", 6},
        {RONCHI_QUANTITY_DET_COL, options->det_step_col_mrad, "mrad", "--det-step-mrad", 5},
    };
    json_t *overrides = json_object_get(scientific, "calibration_overrides");
    if (!json_is_object(overrides)) {
        overrides = json_object();
        if (json_object_set_new(scientific, "calibration_overrides", overrides) != 0)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for metadata");
    }
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        const choice *c = &choices[i];
        if (!(c->value < 0 || c->value > 0) && !isnan(c->value))
            continue;
        ronchi_status status = check_choice(c, c->partner < 0 ? NULL : &choices[c->partner], err);
        if (status != RONCHI_OK)
            return status;
    }
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (choices[i].value > 0 && apply_choice(overrides, &choices[i]) != RONCHI_OK)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for metadata");
    if (!options->orientation_given)
        return RONCHI_OK;
    if (!isfinite(options->det_rotation_deg))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "--rotation-deg must be a number");
    if (ronchi_scientific_orient(scientific, options->det_rotation_deg, options->det_transpose != 0, "user_override",
                                 "--rotation-deg") != RONCHI_OK)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for metadata");
    return RONCHI_OK;
}
