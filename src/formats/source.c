/* SPDX-License-Identifier: MIT */
/* source.c - options, sources and inspections: what the formats share. */
#include "formats/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ronchi_source_options_defaults(ronchi_source_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    options->flyback = -1;
    options->flyback_at = -1;
    options->flagged = RONCHI_FLAGGED_KEEP;
}

static ronchi_status bad_option(ronchi_error *err, const char *option, const char *what)
{
    return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "%s: %s", option, what);
}

ronchi_status ronchi_source_options_check(const ronchi_source_options *options, ronchi_source_options *out,
                                          ronchi_error *err)
{
    ronchi_source_options_defaults(out);
    if (!options)
        return RONCHI_OK;
    if (options->struct_size != sizeof *options)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "ronchi_source_options of %zu bytes is of no known version", options->struct_size);
    *out = *options;
    if ((out->scan_rows == 0) != (out->scan_cols == 0))
        return bad_option(err, "--scan-shape", "give two positive numbers, R,C");
    if (out->flyback < -1)
        return bad_option(err, "--flyback", "the number of extra frames per line cannot be negative");
    if (out->flyback_at < -1 || out->flyback_at > RONCHI_FLYBACK_END)
        return bad_option(err, "--flyback-at", "is start or end");
    if (out->flagged < RONCHI_FLAGGED_KEEP || out->flagged > RONCHI_FLAGGED_MEDIAN)
        return bad_option(err, "--flagged", "is keep, zero or median");
    const struct {
        double value;
        const char *option;
    } positive[] = {
        {out->voltage_kv, "--voltage-kv"},
        {out->semiangle_mrad, "--semiangle-mrad"},
        {out->scan_step_row_a, "--scan-step-a"},
        {out->scan_step_col_a, "--scan-step-a"},
        {out->camera_length_mm, "--camera-length-mm"},
        {out->det_step_row_mrad, "--det-step-mrad"},
        {out->det_step_col_mrad, "--det-step-mrad"},
    };
    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
        if (!(positive[i].value >= 0) || !isfinite(positive[i].value))
            return bad_option(err, positive[i].option, "is a positive number");
    return RONCHI_OK;
}

ronchi_source *ronchi_source_new(ronchi_context *context, const ronchi_format *format, const char *path)
{
    ronchi_source *source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->format = format;
    source->context = context;
    snprintf(source->path, sizeof source->path, "%s", path);
    return source;
}

void ronchi_source_release(ronchi_source *source)
{
    free(source->pixel_mask);
    json_decref(source->metadata);
    json_decref(source->scientific);
    free(source);
}

void ronchi_source_take_scan(ronchi_source *source, const ronchi_scan_choice *choice)
{
    source->shape.scan_rows = choice->rows;
    source->shape.scan_cols = choice->cols;
    source->skip = choice->skip;
    source->flyback = choice->flyback;
    source->flyback_at = choice->flyback_at;
}

ronchi_status ronchi_inspection_take_scan(ronchi_inspection *out, const ronchi_scan_choice *choice, ronchi_error *err)
{
    if (choice->n_evidence) {
        out->evidence = calloc(choice->n_evidence, sizeof *out->evidence);
        if (!out->evidence)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the evidence");
        memcpy(out->evidence, choice->evidence, choice->n_evidence * sizeof *out->evidence);
        out->n_evidence = choice->n_evidence;
    }
    out->frames_expected = choice->expected;
    out->skip = choice->skip;
    out->flyback_at = choice->flyback_at;
    if (choice->status != RONCHI_OK) {
        ronchi_inspection_refuse(out, choice->reason, choice->action);
        return RONCHI_OK;
    }
    out->shape.scan_rows = choice->rows;
    out->shape.scan_cols = choice->cols;
    out->flyback = (int64_t)choice->flyback;
    return RONCHI_OK;
}

void ronchi_inspection_refuse(ronchi_inspection *out, const char *reason, const char *action)
{
    out->ready = 0;
    snprintf(out->reason, sizeof out->reason, "%s", reason);
    snprintf(out->action, sizeof out->action, "%s", action);
}

ronchi_source_file *ronchi_inspection_add_file(ronchi_inspection *out)
{
    /* Grown at powers of two: the count says when. */
    size_t n = out->n_files;
    if ((n & (n - 1)) == 0) {
        size_t room = n ? 2 * n : 1;
        ronchi_source_file *files = realloc(out->files, room * sizeof *files);
        if (!files)
            return NULL;
        out->files = files;
    }
    out->n_files++;
    memset(&out->files[n], 0, sizeof out->files[n]);
    return &out->files[n];
}

/* -------------------------------------------------------------------------------------------------- calibration */

static void set(ronchi_quantity *quantity, double value, const char *unit, const char *provenance, const char *where)
{
    quantity->known = 1;
    quantity->value = value;
    snprintf(quantity->unit, sizeof quantity->unit, "%s", unit);
    snprintf(quantity->provenance, sizeof quantity->provenance, "%s: %s", provenance, where);
}

void ronchi_quantity_set(ronchi_quantity *quantity, double value, const char *unit, const char *where)
{
    if (!isfinite(value))
        return;
    if (!quantity->known) {
        set(quantity, value, unit, "source_metadata", where);
    } else if (strcmp(quantity->unit, unit) == 0 && fabs(value - quantity->value) > 0.01 * fabs(quantity->value)) {
        /* Two records that disagree: the first is used, the second is shown. */
        size_t n = strlen(quantity->provenance);
        snprintf(quantity->provenance + n, sizeof quantity->provenance - n, "; %s says %g", where, value);
    }
}

void ronchi_calibration_override(ronchi_calibration *calibration, const ronchi_source_options *options)
{
    const struct {
        double value;
        ronchi_quantity *quantity;
        const char *unit, *option;
    } given[] = {
        {options->voltage_kv, &calibration->voltage, "kV", "--voltage-kv"},
        {options->semiangle_mrad, &calibration->semiangle, "mrad", "--semiangle-mrad"},
        {options->scan_step_row_a, &calibration->scan_step_row, "angstrom", "--scan-step-a"},
        {options->scan_step_col_a, &calibration->scan_step_col, "angstrom", "--scan-step-a"},
        {options->camera_length_mm, &calibration->camera_length, "mm", "--camera-length-mm"},
        {options->det_step_row_mrad, &calibration->det_step_row, "mrad", "--det-step-mrad"},
        {options->det_step_col_mrad, &calibration->det_step_col, "mrad", "--det-step-mrad"},
    };
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        if (given[i].value > 0)
            set(given[i].quantity, given[i].value, given[i].unit, "user_override", given[i].option);
    if (options->orientation_given) {
        set(&calibration->det_rotation, options->det_rotation_deg, "degree", "user_override", "--rotation-deg");
        calibration->det_transpose = options->det_transpose != 0;
    }
}
