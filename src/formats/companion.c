/* SPDX-License-Identifier: MIT */
/*
 * companion.c - what lies beside a master STEM_master.h5 and belongs to it: the microscope's companion STEM.h5 with the
 * group "STEM Metadata", and the json STEM.json of the microscope software.  Both know the scan, which the detector
 * does not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/port.h"
#include "formats/h5_survey.h"

enum { JSON_LIMIT = 16 << 20 };

/* The path of the master with "_master.h5" replaced by 'ending'; false for files that are no masters. */
static bool beside(const ronchi_h5_survey *survey, const char *ending, char *out, size_t size)
{
    const char *mark = NULL;
    for (const char *at = strstr(survey->path, "_master."); at; at = strstr(at + 1, "_master."))
        mark = at;
    if (!mark || strchr(mark, '/'))
        return false;
    int n = snprintf(out, size, "%.*s%s", (int)(mark - survey->path), survey->path, ending);
    return n > 0 && (size_t)n < size;
}

static ronchi_source_file *list_file(ronchi_h5_survey *survey, const char *path, const ronchi_stat *st)
{
    const char *slash = strrchr(path, '/');
    size_t i = ronchi_h5_add_file(survey, slash ? slash + 1 : path);
    if (i == SIZE_MAX)
        return NULL;
    survey->files[i].about.size_bytes = st->size_bytes;
    return &survey->files[i].about;
}

/* ------------------------------------------------------------------------------------------------- companion file */

static herr_t take_attribute(hid_t group, const char *name, const H5A_info_t *info, void *user)
{
    double value;
    char text[256];
    (void)info;
    if (ronchi_h5_attribute_number(group, ".", name, &value) && isfinite(value))
        json_object_set_new(user, name, json_real(value));
    else if (ronchi_h5_attribute_string(group, ".", name, text, sizeof text))
        json_object_set_new(user, name, json_string(text));
    return 0;
}

static bool positive(const json_t *values, const char *name, double *out)
{
    const json_t *value = json_object_get(values, name);
    *out = json_number_value(value);
    return json_is_number(value) && *out > 0;
}

static void use_companion(ronchi_h5_survey *survey, const json_t *values, const char *file)
{
    double cols, rows, x;
    char where[160];
    ronchi_calibration *c = &survey->calibration;
    if (positive(values, "NumPixelsX", &cols) && positive(values, "NumPixelsY", &rows) && cols < 1e9 && rows < 1e9) {
        const json_t *prescan = json_object_get(values, "NumPixelsPrescan");
        double extra = json_number_value(prescan);
        snprintf(where, sizeof where, "companion %.80s", file);
        ronchi_scan_add(&survey->facts, RONCHI_SCAN_COMPANION, where, (size_t)rows, (size_t)cols,
                        json_is_number(prescan) && extra >= 0 && extra < 1e9 ? (int64_t)extra : -1, 0);
    }
    if (positive(values, "High Tension", &x)) {
        snprintf(where, sizeof where, "%.40s High Tension", file);
        ronchi_quantity_set(&c->voltage, x * 1e-3, "kV", where);
    }
    if (positive(values, "Pixel Size", &x)) {
        bool calibrated = json_number_value(json_object_get(values, "IsPixelSizeCalibrated")) != 0;
        snprintf(where, sizeof where, "%.30s Pixel Size%s", file, calibrated ? "" : " (said to be uncalibrated)");
        ronchi_quantity_set(&c->scan_step_row, x * 10, "angstrom", where);
        ronchi_quantity_set(&c->scan_step_col, x * 10, "angstrom", where);
    }
    if (positive(values, "Camera Length", &x)) {
        snprintf(where, sizeof where, "%.40s Camera Length", file);
        ronchi_quantity_set(&c->camera_length, x * 1e3, "mm", where);
    }
    const json_t *rotation = json_object_get(values, "Rotation");
    if (json_is_number(rotation)) {
        snprintf(where, sizeof where, "%.40s Rotation", file);
        ronchi_quantity_set(&c->scan_rotation, json_number_value(rotation), "degree", where);
    }
}

static ronchi_status read_companion(ronchi_h5_survey *survey, ronchi_error *err)
{
    char path[4200];
    ronchi_stat st;
    if (!beside(survey, ".h5", path, sizeof path) || ronchi_stat_path(path, &st, NULL) != RONCHI_OK || !st.is_file)
        return RONCHI_OK;
    ronchi_source_file *file = list_file(survey, path, &st);
    if (!file)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory");
    hid_t id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    json_t *values = json_object();
    if (id < 0)
        snprintf(file->problem, sizeof file->problem, "no readable HDF5: its scan shape and calibration are not used");
    else if (values && ronchi_h5_exists(id, "/STEM Metadata") && !ronchi_h5_attributes_sound(id, "/STEM Metadata"))
        snprintf(file->problem, sizeof file->problem, "damaged: its scan shape and calibration are not used");
    else if (values && ronchi_h5_exists(id, "/STEM Metadata"))
        H5Aiterate_by_name(id, "/STEM Metadata", H5_INDEX_NAME, H5_ITER_INC, NULL, take_attribute, values, H5P_DEFAULT);
    if (id >= 0)
        H5Fclose(id);
    if (json_object_size(values)) {
        use_companion(survey, values, file->name);
        json_object_set(survey->metadata, "STEM Metadata", values);
    }
    json_decref(values);
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------- microscope software's json
 */

/* Follows "a.b.c" through objects. */
static const json_t *follow(const json_t *from, const char *path)
{
    char key[64];
    while (from && *path) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        from = json_object_get(from, key);
        path += n + (path[n] == '.');
    }
    return from;
}

static bool follow_number(const json_t *from, const char *path, double *out)
{
    const json_t *value = follow(from, path);
    *out = json_number_value(value);
    return json_is_number(value);
}

/* Two whole numbers; false when they are not. */
static bool pair(const json_t *list, size_t *a, size_t *b)
{
    json_int_t x = json_integer_value(json_array_get(list, 0)), y = json_integer_value(json_array_get(list, 1));
    *a = x > 0 ? (size_t)x : 0;
    *b = y > 0 ? (size_t)y : 0;
    return x > 0 && y > 0 && x < (1 << 30) && y < (1 << 30);
}

static void take_sampling(ronchi_quantity *quantity, const json_t *axis, bool detector, const char *where)
{
    static const struct {
        const char *unit;
        bool detector;
        double factor;
        const char *ours;
    } units[] = {
        {"nm", false, 10, "angstrom"}, {"um", false, 1e4, "angstrom"},    {"m", false, 1e10, "angstrom"},
        {"A", false, 1, "angstrom"},   {"pm", false, 0.01, "angstrom"},   {"rad", true, 1e3, "mrad"},
        {"mrad", true, 1, "mrad"},     {"1/nm", true, 0.1, "1/angstrom"}, {"1/A", true, 1, "1/angstrom"},
    };
    double scale;
    const char *unit = json_string_value(json_object_get(axis, "units"));
    if (!unit || !follow_number(axis, "scale", &scale) || !(scale > 0))
        return;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].unit) == 0 && units[i].detector == detector)
            ronchi_quantity_set(quantity, scale * units[i].factor, units[i].ours, where);
}

static void use_json_calibration(ronchi_h5_survey *survey, const json_t *root, const char *file)
{
    char where[96];
    double x;
    ronchi_calibration *c = &survey->calibration;
    static const char *const tension[] = {"metadata.hardware_source.high_tension", "metadata.instrument.high_tension"};
    for (size_t i = 0; i < 2; i++)
        if (follow_number(root, tension[i], &x) && x > 0) {
            snprintf(where, sizeof where, "%.40s high_tension", file);
            ronchi_quantity_set(&c->voltage, x * 1e-3, "kV", where);
        }
    static const char *const angle[] = {"metadata.instrument.ImageScanned.probe_ha",
                                        "metadata.hardware_source.ImageRonchigram.probe_ha"};
    for (size_t i = 0; i < 2; i++)
        if (follow_number(root, angle[i], &x) && x > 0) {
            snprintf(where, sizeof where, "%.40s probe_ha", file);
            ronchi_quantity_set(&c->semiangle, x * 1e3, "mrad", where);
        }
    const json_t *axes = json_object_get(root, "dimensional_calibrations");
    if (json_array_size(axes) == 4) {
        snprintf(where, sizeof where, "%.40s dimensional_calibrations", file);
        take_sampling(&c->scan_step_row, json_array_get(axes, 0), false, where);
        take_sampling(&c->scan_step_col, json_array_get(axes, 1), false, where);
        take_sampling(&c->det_step_row, json_array_get(axes, 2), true, where);
        take_sampling(&c->det_step_col, json_array_get(axes, 3), true, where);
    }
    if (follow_number(root, "metadata.scan.rotation_deg", &x)) {
        snprintf(where, sizeof where, "%.40s rotation_deg", file);
        ronchi_quantity_set(&c->scan_rotation, x, "degree", where);
    }
    if (follow_number(root, "metadata.hardware_source.detector_configuration.count_time", &x) && x > 0) {
        snprintf(where, sizeof where, "%.40s count_time", file);
        ronchi_quantity_set(&c->dwell, x * 1e6, "us", where);
    }
}

static void use_json(ronchi_h5_survey *survey, const json_t *root, const char *file)
{
    size_t rows, cols;
    char where[96];
    double images;
    if (!follow_number(root, "metadata.hardware_source.detector_configuration.nimages", &images) || !(images > 0) ||
        images > 9e15)
        images = 0;
    snprintf(where, sizeof where, "json %.80s", file);
    if (pair(follow(root, "metadata.scan.scan_size"), &rows, &cols) ||
        (json_array_size(json_object_get(root, "data_shape")) == 4 &&
         pair(json_object_get(root, "data_shape"), &rows, &cols)))
        ronchi_scan_add(&survey->facts, RONCHI_SCAN_JSON, where, rows, cols, -1, (uint64_t)images);
    use_json_calibration(survey, root, file);
}

static ronchi_status read_json(ronchi_h5_survey *survey, ronchi_error *err)
{
    char path[4200];
    ronchi_stat st;
    json_error_t why;
    if (!beside(survey, ".json", path, sizeof path) || ronchi_stat_path(path, &st, NULL) != RONCHI_OK || !st.is_file)
        return RONCHI_OK;
    ronchi_source_file *file = list_file(survey, path, &st);
    if (!file)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory");
    json_t *root = st.size_bytes < JSON_LIMIT ? json_load_file(path, 0, &why) : NULL;
    if (json_is_object(root)) {
        use_json(survey, root, file->name);
        json_object_set(survey->metadata, "microscope_software", root);
    } else {
        snprintf(file->problem, sizeof file->problem, "no readable JSON object (line %d): it is not used",
                 st.size_bytes < JSON_LIMIT && !root ? why.line : 0);
    }
    json_decref(root);
    return RONCHI_OK;
}

ronchi_status ronchi_h5_companions(ronchi_h5_survey *survey, ronchi_error *err)
{
    ronchi_status status = read_companion(survey, err);
    return status == RONCHI_OK ? read_json(survey, err) : status;
}
