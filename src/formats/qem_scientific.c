/* SPDX-License-Identifier: MIT */
/*
 * qem_scientific.c - checks quantem.scientific-metadata/1 and /2 as the public reader does, and gives schema 2 from
 * either.
 *
 * Schema 2 is canonical: every known quantity stands in its canonical unit and every scan or detector pixel size agrees
 * with its axis.  Schema 1 may use other units; ronchi_scientific_canonical() converts them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/qem_internal.h"

static const char *const axis_names[4] = {"scan_row", "scan_column", "detector_row", "detector_column"};
static const int axis_quantities[4] = {RONCHI_QUANTITY_SCAN_ROW, RONCHI_QUANTITY_SCAN_COL, RONCHI_QUANTITY_DET_ROW,
                                       RONCHI_QUANTITY_DET_COL};
static const char *const schemas[2] = {"quantem.scientific-metadata/1", "quantem.scientific-metadata/2"};

/* The axis that a pixel size belongs to, -1 for other quantities. */
static int axis_of(int quantity)
{
    for (int i = 0; i < 4; i++)
        if (axis_quantities[i] == quantity)
            return i;
    return -1;
}

static int schema_of(const json_t *scientific)
{
    const char *name = ronchi_json_text(json_object_get(scientific, "schema"));
    for (int i = 0; name && i < 2; i++)
        if (strcmp(name, schemas[i]) == 0)
            return i + 1;
    return 0;
}

/* -------------------------------------------------------------------------------------------------------- axes */

/* Samplings of the axes in canonical units; unit NULL: not calibrated. */
typedef struct samplings {
    ronchi_canonical axis[4];
} samplings;

static ronchi_status check_axis(const ronchi_json_check *check, const json_t *axis, int i, const json_t *size,
                                int schema, ronchi_canonical *out)
{
    char place[96];
    const char *name = ronchi_json_text(json_object_get(axis, "name"));
    snprintf(place, sizeof place, "scientific_metadata.axes[%d]", i);
    if (!name || strcmp(name, axis_names[i]) != 0)
        return ronchi_json_bad(check, place, "must be an object named %s", axis_names[i]);
    const json_t *n = json_object_get(axis, "size");
    if (!json_is_integer(n) || !json_equal(n, size))
        return ronchi_json_bad(check, place, "its size differs from $.shape[%d]", i);
    const json_t *sampling = json_object_get(axis, "sampling");
    if (!sampling)
        return RONCHI_OK;
    snprintf(place, sizeof place, "scientific_metadata.axes[%d].sampling", i);
    return ronchi_quantity_check(check, sampling, place, axis_quantities[i], schema, false, out);
}

static ronchi_status check_axes(const ronchi_json_check *check, const json_t *header, const json_t *axes, int schema,
                                samplings *out)
{
    const json_t *shape = json_object_get(header, "shape");
    if (!json_is_array(axes) || json_array_size(axes) != 4)
        return ronchi_json_bad(check, "scientific_metadata.axes", "must be a list of four axes");
    for (int i = 0; i < 4; i++) {
        ronchi_status status = check_axis(check, json_array_get(axes, (size_t)i), i, json_array_get(shape, (size_t)i),
                                          schema, &out->axis[i]);
        if (status != RONCHI_OK)
            return status;
    }
    for (int i = 0; i < 4; i += 2) {
        const char *row = out->axis[i].unit, *col = out->axis[i + 1].unit;
        if (row && col && strcmp(row, col) != 0)
            return ronchi_json_bad(check, "scientific_metadata.axes", "%s is in %s but %s in %s", axis_names[i], row,
                                   axis_names[i + 1], col);
    }
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------- the microscope */

static ronchi_status check_retired(const ronchi_json_check *check, const char *section, json_t *object)
{
    const char *path;
    json_t *value;
    json_object_foreach(object, path, value)
    {
        if (ronchi_quantity_retired(path)) {
            char place[RONCHI_JSON_PLACE];
            snprintf(place, sizeof place, "scientific_metadata.%s[\"%.120s\"]", section, path);
            return ronchi_json_bad(check, place, "a retired name: x is now column, y is now row");
        }
    }
    return RONCHI_OK;
}

/* Equal but for the rounding of a conversion. */
static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-14 * fmax(fabs(a), fabs(b));
}

static ronchi_status check_microscope(const ronchi_json_check *check, json_t *scope, int schema, const samplings *axes)
{
    const char *path;
    json_t *object;
    json_object_foreach(scope, path, object)
    {
        char place[RONCHI_JSON_PLACE];
        snprintf(place, sizeof place, "scientific_metadata.electron_microscope[\"%.120s\"]", path);
        int quantity = ronchi_quantity_find(path), axis = axis_of(quantity);
        ronchi_canonical got = {0};
        ronchi_status status = ronchi_quantity_check(check, object, place, quantity, schema, false, &got);
        if (status != RONCHI_OK)
            return status;
        if (schema == 2 && axis >= 0) {
            const ronchi_canonical *want = &axes->axis[axis];
            if (!want->unit || strcmp(want->unit, got.unit) != 0 || !same(want->value, got.value))
                return ronchi_json_bad(check, place, "disagrees with the sampling of axis %s", axis_names[axis]);
        }
    }
    return RONCHI_OK;
}

static ronchi_status check_override(const ronchi_json_check *check, const json_t *object, const char *path, int schema)
{
    char place[RONCHI_JSON_PLACE];
    snprintf(place, sizeof place, "scientific_metadata.calibration_overrides[\"%.120s\"]", path);
    int quantity = ronchi_quantity_find(path);
    if (quantity < 0 || quantity == RONCHI_QUANTITY_BEAM_ENERGY)
        return ronchi_json_bad(check, place, "no quantity that can be overridden");
    ronchi_canonical got = {0};
    ronchi_status status = ronchi_quantity_check(check, object, place, quantity, schema, true, &got);
    if (status != RONCHI_OK)
        return status;
    const char *provenance = ronchi_json_text(json_object_get(object, "provenance"));
    if (!provenance || strcmp(provenance, "user_override") != 0)
        return ronchi_json_bad(check, place, "the provenance must be user_override");
    if (json_string_length(json_object_get(object, "evidence")) == 0)
        return ronchi_json_bad(check, place, "the evidence is missing");
    bool scan = quantity == RONCHI_QUANTITY_SCAN_ROW || quantity == RONCHI_QUANTITY_SCAN_COL;
    if (scan && (got.value * (1 + 1e-12) < 1e-4 || got.value * (1 - 1e-12) > 1e4))
        return ronchi_json_bad(check, place, "%g angstrom is outside of 0.0001 to 10000", got.value);
    return RONCHI_OK;
}

static ronchi_status check_override_pair(const ronchi_json_check *check, const json_t *overrides, int row, int col)
{
    const json_t *a = json_object_get(overrides, ronchi_quantity_path(row));
    const json_t *b = json_object_get(overrides, ronchi_quantity_path(col));
    if (!a != !b)
        return ronchi_json_bad(check, "scientific_metadata.calibration_overrides", "%s needs %s beside it",
                               ronchi_quantity_path(a ? row : col), ronchi_quantity_path(a ? col : row));
    if (a && !json_equal(json_object_get(a, "unit"), json_object_get(b, "unit")))
        return ronchi_json_bad(check, "scientific_metadata.calibration_overrides", "%s and %s have different units",
                               ronchi_quantity_path(row), ronchi_quantity_path(col));
    return RONCHI_OK;
}

static ronchi_status check_overrides(const ronchi_json_check *check, json_t *overrides, int schema)
{
    const char *path;
    json_t *object;
    json_object_foreach(overrides, path, object)
    {
        ronchi_status status = check_override(check, object, path, schema);
        if (status != RONCHI_OK)
            return status;
    }
    ronchi_status status = check_override_pair(check, overrides, RONCHI_QUANTITY_SCAN_ROW, RONCHI_QUANTITY_SCAN_COL);
    if (status == RONCHI_OK)
        status = check_override_pair(check, overrides, RONCHI_QUANTITY_DET_ROW, RONCHI_QUANTITY_DET_COL);
    return status;
}

static ronchi_status check_calibration(const ronchi_json_check *check, const json_t *scientific, int schema,
                                       const samplings *axes)
{
    static const char *const names[2] = {"electron_microscope", "calibration_overrides"};
    json_t *section[2];
    for (int i = 0; i < 2; i++) {
        char place[64];
        section[i] = json_object_get(scientific, names[i]);
        snprintf(place, sizeof place, "scientific_metadata.%s", names[i]);
        if (section[i] && !json_is_object(section[i]))
            return ronchi_json_bad(check, place, "must be an object");
        ronchi_status status = check_retired(check, names[i], section[i]);
        if (status != RONCHI_OK)
            return status;
    }
    ronchi_status status = check_microscope(check, section[0], schema, axes);
    return status == RONCHI_OK ? check_overrides(check, section[1], schema) : status;
}

/* -------------------------------------------------------------------------------------------------- processing */

/* The last record of that operation, or NULL. */
static const json_t *find_record(const json_t *records, const char *operation)
{
    const json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *record = json_array_get(records, i);
        const char *name = ronchi_json_text(json_object_get(record, "operation"));
        if (name && strcmp(name, operation) == 0)
            found = record;
    }
    return found;
}

static ronchi_status check_narrowing(const ronchi_json_check *check, const json_t *header, const json_t *records)
{
    const json_t *was = json_object_get(json_object_get(header, "metadata"), "source_dtype");
    const json_t *now = json_object_get(header, "dtype");
    if (!ronchi_json_truthy(was) || !ronchi_json_truthy(now) || json_equal(was, now))
        return RONCHI_OK;
    const char *from = ronchi_json_text(was), *to = ronchi_json_text(now);
    bool floats = from && to && strcmp(from, "float64") == 0 && strcmp(to, "float32") == 0;
    const char *operation = floats ? "exact_float_narrowing" : "exact_integer_narrowing";
    const json_t *record = find_record(records, operation);
    if (!record || !json_equal(json_object_get(record, "source_dtype"), was) ||
        !json_equal(json_object_get(record, "stored_dtype"), now) ||
        !json_is_false(json_object_get(record, "changes_measurements")))
        return ronchi_json_bad(check, "scientific_metadata.processing", "%s from %.20s to %.20s is not declared",
                               operation, from ? from : "?", to ? to : "?");
    return RONCHI_OK;
}

/* What header "metadata" says was done must be declared in the processing list. */
static ronchi_status check_declared(const ronchi_json_check *check, const json_t *header, const json_t *records)
{
    const json_t *kept = json_object_get(header, "metadata");
    if (!json_is_object(kept))
        return RONCHI_OK;
    const json_t *fix = json_object_get(kept, "hot_pixel_correction");
    if (ronchi_json_truthy(json_object_get(fix, "applied"))) {
        const json_t *record = find_record(records, "flagged_pixel_replacement");
        if (!json_is_true(json_object_get(record, "changes_measurements")))
            return ronchi_json_bad(check, "scientific_metadata.processing",
                                   "flagged_pixel_replacement with changes_measurements true is not declared");
    }
    if (ronchi_json_truthy(json_object_get(kept, "flagged_markers_stored_as_zero")) &&
        !find_record(records, "flagged_marker_zeroing"))
        return ronchi_json_bad(check, "scientific_metadata.processing", "flagged_marker_zeroing is not declared");
    return check_narrowing(check, header, records);
}

static ronchi_status check_processing(const ronchi_json_check *check, const json_t *header, const json_t *records)
{
    if (!json_is_array(records) || json_array_size(records) == 0)
        return ronchi_json_bad(check, "scientific_metadata.processing", "must be a list of at least one record");
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *record = json_array_get(records, i);
        if (json_string_length(json_object_get(record, "operation")) == 0 ||
            !json_is_boolean(json_object_get(record, "changes_measurements"))) {
            char place[64];
            snprintf(place, sizeof place, "scientific_metadata.processing[%zu]", i);
            return ronchi_json_bad(check, place, "needs operation (text) and changes_measurements (true or false)");
        }
    }
    return check_declared(check, header, records);
}

/* --------------------------------------------------------------------------------------------------- the whole */

static ronchi_status check_source(const ronchi_json_check *check, const json_t *scientific)
{
    static const char *const coverages[] = {"reader-retained", "exhaustive", "unknown"};
    if (!json_is_object(json_object_get(scientific, "source_metadata")))
        return ronchi_json_bad(check, "scientific_metadata.source_metadata", "must be an object");
    const char *coverage = ronchi_json_text(json_object_get(scientific, "source_metadata_coverage"));
    bool known = false;
    for (size_t i = 0; coverage && i < 3; i++)
        known = known || strcmp(coverage, coverages[i]) == 0;
    if (!known)
        return ronchi_json_bad(check, "scientific_metadata.source_metadata_coverage",
                               "must be reader-retained, exhaustive or unknown");
    const json_t *format = json_object_get(scientific, "source_format");
    if (format && !json_is_string(format))
        return ronchi_json_bad(check, "scientific_metadata.source_format", "must be text");
    const json_t *extensions = json_object_get(scientific, "extensions");
    if (extensions && !json_is_object(extensions))
        return ronchi_json_bad(check, "scientific_metadata.extensions", "must be an object");
    return RONCHI_OK;
}

ronchi_status ronchi_scientific_check(const json_t *header, const char *file, ronchi_error *err)
{
    const ronchi_json_check check = {file, err};
    const json_t *scientific = json_object_get(header, "scientific_metadata");
    if (!json_is_object(scientific))
        return ronchi_json_bad(&check, "scientific_metadata", "must be an object");
    int schema = schema_of(scientific);
    if (!schema) {
        const char *name = ronchi_json_text(json_object_get(scientific, "schema"));
        return ronchi_fail(
            err, RONCHI_ERR_FORMAT, file, RONCHI_NO_OFFSET,
            "header $.scientific_metadata.schema: \"%.60s\" is not known (known: %s and /2); a newer version of "
            "Ronchi may read it",
            name ? name : "", schemas[0]);
    }
    samplings axes = {0};
    ronchi_status status = check_axes(&check, header, json_object_get(scientific, "axes"), schema, &axes);
    if (status == RONCHI_OK)
        status = check_source(&check, scientific);
    if (status == RONCHI_OK)
        status = check_calibration(&check, scientific, schema, &axes);
    if (status == RONCHI_OK)
        status = ronchi_documents_check(&check, json_object_get(scientific, "source_documents"));
    if (status == RONCHI_OK)
        status = check_processing(&check, header, json_object_get(scientific, "processing"));
    const json_t *sample = json_object_get(scientific, "sample");
    return status == RONCHI_OK && sample ? ronchi_sample_check(&check, sample) : status;
}

/* ---------------------------------------------------------------------------------------------- canonical form */

/* Puts a quantity of schema 1 into its canonical unit, in place. */
static ronchi_status convert(const ronchi_json_check *check, json_t *object, const char *place, int quantity,
                             ronchi_canonical *out)
{
    ronchi_status status = ronchi_quantity_check(check, object, place, quantity, 1, false, out);
    if (status != RONCHI_OK || quantity < 0 || out->as_stored)
        return status;
    if (json_object_set_new(object, "value", json_real(out->value)) != 0 ||
        json_object_set_new(object, "unit", json_string(out->unit)) != 0)
        return ronchi_fail(check->err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for metadata");
    return RONCHI_OK;
}

static ronchi_status convert_axes(const ronchi_json_check *check, json_t *scientific, samplings *out)
{
    json_t *axes = json_object_get(scientific, "axes");
    for (int i = 0; i < 4; i++) {
        json_t *sampling = json_object_get(json_array_get(axes, (size_t)i), "sampling");
        if (!sampling)
            continue;
        char place[96];
        snprintf(place, sizeof place, "scientific_metadata.axes[%d].sampling", i);
        ronchi_status status = convert(check, sampling, place, axis_quantities[i], &out->axis[i]);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

static ronchi_status convert_section(const ronchi_json_check *check, json_t *scientific, const char *section)
{
    json_t *objects = json_object_get(scientific, section), *object;
    const char *path;
    json_object_foreach(objects, path, object)
    {
        char place[RONCHI_JSON_PLACE];
        ronchi_canonical got = {0};
        snprintf(place, sizeof place, "scientific_metadata.%s[\"%.120s\"]", section, path);
        ronchi_status status = convert(check, object, place, ronchi_quantity_find(path), &got);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

/*
 * Schema 1 let a recorded pixel size differ from its axis.  In schema 2 the axis stands; an axis without sampling takes
 * the recorded value, and one that disagrees is kept apart.
 */
static ronchi_status settle_pixel_size(json_t *scientific, int axis, const ronchi_canonical *have)
{
    const char *path = ronchi_quantity_path(axis_quantities[axis]);
    json_t *scope = json_object_get(scientific, "electron_microscope"), *recorded = json_object_get(scope, path);
    if (!recorded)
        return RONCHI_OK;
    const char *unit = ronchi_json_text(json_object_get(recorded, "unit"));
    const json_t *pair = json_array_get(json_object_get(scientific, "axes"), (size_t)(axis ^ 1));
    const char *pair_unit = ronchi_json_text(json_object_get(json_object_get(pair, "sampling"), "unit"));
    if (!have->unit && unit && (!pair_unit || strcmp(unit, pair_unit) == 0)) {
        json_t *target = json_array_get(json_object_get(scientific, "axes"), (size_t)axis);
        return json_object_set_new(target, "sampling", json_deep_copy(recorded)) == 0 ? RONCHI_OK : RONCHI_ERR_MEMORY;
    }
    if (have->unit && unit && strcmp(unit, have->unit) == 0 &&
        same(json_number_value(json_object_get(recorded, "value")), have->value))
        return RONCHI_OK;
    json_t *apart = json_deep_copy(ronchi_scientific_extension_get(scientific, "schema1_pixel_sizes"));
    if (!apart)
        apart = json_object();
    if (json_object_set(apart, path, recorded) != 0) {
        json_decref(apart);
        return RONCHI_ERR_MEMORY;
    }
    ronchi_status status = ronchi_scientific_extension_set(scientific, "schema1_pixel_sizes", apart);
    return status == RONCHI_OK && json_object_del(scope, path) != 0 ? RONCHI_ERR_MEMORY : status;
}

static ronchi_status convert_schema1(const ronchi_json_check *check, json_t *scientific)
{
    samplings axes = {0};
    ronchi_status status = convert_axes(check, scientific, &axes);
    if (status == RONCHI_OK)
        status = convert_section(check, scientific, "electron_microscope");
    if (status == RONCHI_OK)
        status = convert_section(check, scientific, "calibration_overrides");
    for (int i = 0; i < 4 && status == RONCHI_OK; i++) {
        status = settle_pixel_size(scientific, i, &axes.axis[i]);
        if (status != RONCHI_OK)
            ronchi_fail(check->err, status, check->file, RONCHI_NO_OFFSET, "cannot convert the metadata of schema 1");
    }
    if (status == RONCHI_OK && json_object_set_new(scientific, "schema", json_string(schemas[1])) != 0)
        status = ronchi_fail(check->err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for metadata");
    return status;
}

ronchi_status ronchi_scientific_canonical(const json_t *scientific, json_t **out, ronchi_error *err)
{
    const ronchi_json_check check = {NULL, err};
    *out = NULL;
    int schema = json_is_object(scientific) ? schema_of(scientific) : 0;
    if (!schema)
        return ronchi_fail(err, RONCHI_ERR_FORMAT, NULL, RONCHI_NO_OFFSET,
                           "header $.scientific_metadata.schema: not a known schema");
    json_t *copy = json_deep_copy(scientific);
    if (!copy)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for metadata");
    ronchi_status status = schema == 1 ? convert_schema1(&check, copy) : RONCHI_OK;
    if (status != RONCHI_OK) {
        json_decref(copy);
        return status;
    }
    *out = copy;
    return RONCHI_OK;
}
