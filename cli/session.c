/* SPDX-License-Identifier: MIT */
/* session.c - the context and the acquisition that a call works with. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

int cli_start(cli *c)
{
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    if (c->given[OPT_THREADS]) {
        if (c->threads == 0)
            return cli_fail(CLI_BAD_CALL, NULL, "--threads must be 1 or more");
        if (c->threads > UINT32_MAX)
            return cli_fail(CLI_BAD_CALL, NULL, "--threads: that many are not to be had");
        options.threads = (uint32_t)c->threads;
    }
    if (c->given[OPT_BUDGET]) {
        if (c->budget == 0)
            return cli_fail(CLI_BAD_CALL, NULL, "--budget must be more than 0");
        options.budget_bytes = c->budget;
    }
    options.device = c->device;
    options.progress = cli_progress;
    options.progress_user = !c->quiet && isatty(STDERR_FILENO) ? c : NULL;
    if (ronchi_context_create(&options, &c->context, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    return CLI_DONE;
}

void cli_source_options(const cli *c, ronchi_source_options *out)
{
    ronchi_source_options_defaults(out);
    if (c->given[OPT_SCAN_SHAPE]) {
        out->scan_rows = (size_t)c->scan_shape[0];
        out->scan_cols = (size_t)c->scan_shape[1];
    }
    if (c->given[OPT_FLYBACK])
        out->flyback = c->flyback <= INT64_MAX ? (int64_t)c->flyback : INT64_MAX;
    if (c->given[OPT_FLYBACK_AT])
        out->flyback_at = c->flyback_at;
    out->skip = c->skip;
    out->dataset = c->dataset;
    out->channel = c->channel;
    out->flagged = c->flagged;
    out->voltage_kv = c->voltage_kv;
    out->semiangle_mrad = c->semiangle_mrad;
    out->scan_step_row_a = c->scan_step_a[0];
    out->scan_step_col_a = c->scan_step_a[1];
    out->camera_length_mm = c->camera_length_mm;
    out->det_step_row_mrad = c->det_step_mrad[0];
    out->det_step_col_mrad = c->det_step_mrad[1];
    out->orientation_given = c->given[OPT_ROTATION_DEG] && c->command->bit != FOR_DPC; /* dpc has it as its own */
    out->det_rotation_deg = c->rotation_deg;
    out->det_transpose = c->transpose;
}

/* A shape of zero rows would mean "by evidence", and a calibration of 0 "as recorded": nobody who types them means
 * that. */
static int check_values(const cli *c)
{
    if (c->given[OPT_SCAN_SHAPE] && (!c->scan_shape[0] || !c->scan_shape[1]))
        return cli_fail(CLI_BAD_CALL, NULL, "--scan-shape: rows and columns must be 1 or more");
    const struct {
        cli_option_id id;
        const char *name;
        double value;
    } positive[] = {
        {OPT_VOLTAGE_KV, "voltage-kv", c->voltage_kv},
        {OPT_SEMIANGLE_MRAD, "semiangle-mrad", c->semiangle_mrad},
        {OPT_SCAN_STEP_A, "scan-step-a", c->scan_step_a[0]},
        {OPT_SCAN_STEP_A, "scan-step-a", c->scan_step_a[1]},
        {OPT_DET_STEP_MRAD, "det-step-mrad", c->det_step_mrad[0]},
        {OPT_DET_STEP_MRAD, "det-step-mrad", c->det_step_mrad[1]},
        {OPT_CAMERA_LENGTH_MM, "camera-length-mm", c->camera_length_mm},
    };
    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
        if (c->given[positive[i].id] && !(positive[i].value > 0))
            return cli_fail(CLI_BAD_CALL, NULL, "--%s must be more than 0", positive[i].name);
    if (c->given[OPT_TRANSPOSE] && !c->given[OPT_ROTATION_DEG] && c->command->bit != FOR_DPC)
        return cli_fail(CLI_BAD_CALL, NULL, "--transpose goes with --rotation-deg (0 if it is none)");
    return CLI_DONE;
}

/* A .qem has its shape and its counts; an option that would be left out of account silently is refused. */
static int check_for_copy(const cli *c, const char *path)
{
    static const struct {
        cli_option_id id;
        const char *name;
    } only[] = {
        {OPT_SCAN_SHAPE, "scan-shape"}, {OPT_FLYBACK, "flyback"}, {OPT_FLYBACK_AT, "flyback-at"}, {OPT_SKIP, "skip"},
        {OPT_DATASET, "dataset"},       {OPT_CHANNEL, "channel"}, {OPT_FLAGGED, "flagged"},
    };
    for (size_t i = 0; i < sizeof only / sizeof only[0]; i++)
        if (c->given[only[i].id])
            return cli_fail(CLI_BAD_CALL, path, "--%s is for originals: a .qem keeps what it was made with",
                            only[i].name);
    return CLI_DONE;
}

int cli_check_source(const cli *c, const char *path)
{
    int code = check_values(c);
    bool for_another =
        path != c->argument[0] || c->against; /* the options are those of the original it is compared to */
    return code == CLI_DONE && !for_another && cli_ends_with(path, ".qem") ? check_for_copy(c, path) : code;
}

int cli_load(cli *c, const char *path, ronchi_acquisition **out, ronchi_acquisition_info *info)
{
    ronchi_load_options options;
    int code = cli_check_source(c, path);
    *out = NULL;
    if (code != CLI_DONE)
        return code;
    ronchi_load_options_defaults(&options);
    cli_source_options(c, &options.source);
    if (c->given[OPT_PROFILE]) {
        static const ronchi_profile_id profiles[] = {RONCHI_PROFILE_AUTO, RONCHI_PROFILE_COLUMN, RONCHI_PROFILE_LANE};
        options.profile = profiles[c->profile];
    }
    if (ronchi_acquisition_load(c->context, path, &options, out, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    ronchi_status status = ronchi_acquisition_describe(*out, info);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(*out);
        *out = NULL;
        return cli_fail(cli_exit_code(status), path, "cannot be described: %s", ronchi_status_name(status));
    }
    cli_progress_clear();
    if (info->host_work[0] && c->given[OPT_DEVICE] && !c->quiet)
        (void)cli_fail(CLI_DONE, path, "%s", info->host_work);
    return CLI_DONE;
}

int cli_array(size_t rows, size_t cols, ronchi_dtype dtype, ronchi_view *view)
{
    size_t size = ronchi_dtype_size(dtype);
    void *memory = cols && rows <= SIZE_MAX / cols ? calloc(rows * cols, size) : NULL;
    *view = ronchi_view_2d(memory, dtype, rows, cols);
    if (!memory)
        return cli_fail(CLI_FAILED, NULL, "no memory for %zu x %zu %s", rows, cols, ronchi_dtype_name(dtype));
    return CLI_DONE;
}

int cli_flagged_mask(const ronchi_acquisition *acquisition, const ronchi_shape *shape, ronchi_view *view)
{
    int code = cli_array(shape->det_rows, shape->det_cols, RONCHI_U8, view);
    if (code != CLI_DONE)
        return code;
    ronchi_status status = ronchi_acquisition_flagged(acquisition, view);
    if (status == RONCHI_OK)
        return CLI_DONE;
    free(view->data);
    view->data = NULL;
    return cli_fail(cli_exit_code(status), NULL, "the pixel mask cannot be read: %s", ronchi_status_name(status));
}

static double element(const char *at, ronchi_dtype dtype)
{
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f32;
        double f64;
    } value;
    memcpy(&value, at, ronchi_dtype_size(dtype));
    switch (dtype) {
    case RONCHI_U8:
        return value.u8;
    case RONCHI_U16:
        return value.u16;
    case RONCHI_U32:
        return value.u32;
    case RONCHI_U64:
        return (double)value.u64;
    case RONCHI_F32:
        return (double)value.f32;
    case RONCHI_F64:
        return value.f64;
    }
    return -1;
}

/* Copies zeros and ones; CLI_BAD_CALL at any other value, since a weight that counts as 1 would be a silent error. */
static int copy_mask(const char *path, const ronchi_view *stored, const ronchi_view *view)
{
    size_t rows = view->shape[2], cols = view->shape[3];
    if (stored->shape[0] != 1 || stored->shape[1] != 1)
        return cli_fail(CLI_BAD_CALL, path, "it has more than two axes, but a mask of %zu x %zu is needed", rows, cols);
    if (stored->shape[2] != rows || stored->shape[3] != cols)
        return cli_fail(CLI_BAD_CALL, path, "%zu x %zu, but a mask of %zu x %zu is needed", stored->shape[2],
                        stored->shape[3], rows, cols);
    for (size_t r = 0; r < rows; r++) {
        for (size_t col = 0; col < cols; col++) {
            const char *row = (const char *)stored->data + (ptrdiff_t)r * stored->stride[2];
            double value = element(row + (ptrdiff_t)col * stored->stride[3], stored->dtype);
            if (value != 0 && value != 1)
                return cli_fail(CLI_BAD_CALL, path, "a mask holds zeros and ones, not %g at (%zu, %zu)", value, r, col);
            ((uint8_t *)view->data)[r * cols + col] = value != 0;
        }
    }
    return CLI_DONE;
}

int cli_scan_outside(cli *c, const ronchi_acquisition *acquisition, const ronchi_shape *shape, ronchi_view *view)
{
    size_t n = shape->scan_rows * shape->scan_cols, outside = 0;
    int code = cli_array(shape->scan_rows, shape->scan_cols, RONCHI_U8, view);
    if (code != CLI_DONE)
        return code;
    if (ronchi_geometry_scan_valid(acquisition, view, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    for (size_t i = 0; i < n; i++)
        outside += ((uint8_t *)view->data)[i] ^= 1;
    if (code != CLI_DONE || !outside) {
        free(view->data);
        view->data = NULL;
    }
    return code;
}

int cli_mask_read(cli *c, const char *path, size_t rows, size_t cols, ronchi_view *view)
{
    ronchi_view stored;
    void *memory = NULL;
    view->data = NULL;
    if (ronchi_npy_read(path, &stored, &memory, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    int code = cli_array(rows, cols, RONCHI_U8, view);
    if (code == CLI_DONE)
        code = copy_mask(path, &stored, view);
    free(memory);
    if (code != CLI_DONE) {
        free(view->data);
        view->data = NULL;
    }
    return code;
}
