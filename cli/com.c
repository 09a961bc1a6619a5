/* SPDX-License-Identifier: MIT */
/* com.c - the centre of mass of every pattern. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

enum { MAX_PATH = 4096 };

/* The results of one call, [scan_row][scan_col]. */
typedef struct field {
    ronchi_view row, col, valid;
} field;

/* NAME_row.SUFFIX for NAME.SUFFIX. */
static int part_name(const char *path, const char *part, char out[MAX_PATH])
{
    const char *dot = strrchr(path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);
    int n = snprintf(out, MAX_PATH, "%.*s_%s%s", stem, path, part, dot ? dot : "");
    if (n < 0 || n >= MAX_PATH)
        return cli_fail(CLI_BAD_CALL, path, "the path is too long");
    return CLI_DONE;
}

static int check_outputs(const cli *c)
{
    static const char *const parts[] = {"row", "col"};
    char path[MAX_PATH];
    if (!c->n_outputs)
        return cli_output_needed(c);
    for (size_t i = 0; i < c->n_outputs; i++) {
        for (size_t k = 0; k < 2; k++) {
            int code = part_name(c->output[i], parts[k], path);
            if (code == CLI_DONE)
                code = cli_output_check(c, path);
            if (code != CLI_DONE)
                return code;
        }
    }
    return CLI_DONE;
}

/* Mean over the valid positions, and the number of the others. */
static double mean_of(const ronchi_view *view, const ronchi_view *valid, size_t *n_empty)
{
    size_t n = view->shape[2] * view->shape[3], used = 0;
    const double *value = view->data;
    const uint8_t *good = valid->data;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += good[i] ? value[i] : 0;
        used += good[i];
    }
    *n_empty = n - used;
    return used ? sum / (double)used : 0;
}

/* Numbers are absolute positions; pictures show the shift from the mean, symmetric about 0. */
static int write_part(cli *c, const char *path, const ronchi_view *view, double mean,
                      const ronchi_acquisition_info *info)
{
    ronchi_picture_options picture;
    cli_picture_image(c, info, &picture);
    if (!cli_ends_with(path, ".png"))
        return cli_write(c, path, view, &picture);
    ronchi_view shift;
    int code = cli_array(view->shape[2], view->shape[3], RONCHI_F64, &shift);
    if (code != CLI_DONE)
        return code;
    for (size_t i = 0; i < view->shape[2] * view->shape[3]; i++)
        ((double *)shift.data)[i] = ((const double *)view->data)[i] - mean;
    picture.signed_range = 1;
    code = cli_write(c, path, &shift, &picture);
    free(shift.data);
    return code;
}

static int write_all(cli *c, const field *f, const ronchi_acquisition_info *info)
{
    char path[MAX_PATH];
    size_t n_empty = 0;
    double row = mean_of(&f->row, &f->valid, &n_empty), col = mean_of(&f->col, &f->valid, &n_empty);
    if (!c->quiet) {
        printf("centre of mass: mean (%.3f, %.3f) px\n", row, col);
        printf("empty positions: %zu of %zu%s\n", n_empty, info->shape.scan_rows * info->shape.scan_cols,
               n_empty ? ", they hold the mean" : "");
    }
    for (size_t i = 0; i < c->n_outputs; i++) {
        int code = part_name(c->output[i], "row", path);
        if (code == CLI_DONE)
            code = write_part(c, path, &f->row, row, info);
        if (code == CLI_DONE)
            code = part_name(c->output[i], "col", path);
        if (code == CLI_DONE)
            code = write_part(c, path, &f->col, col, info);
        if (code != CLI_DONE)
            return code;
    }
    return CLI_DONE;
}

static int compute(cli *c, const ronchi_acquisition *acquisition, const ronchi_acquisition_info *info)
{
    const ronchi_shape *s = &info->shape;
    field f = {0};
    ronchi_view mask = {0};
    int code = cli_array(s->scan_rows, s->scan_cols, RONCHI_F64, &f.row);
    if (code == CLI_DONE)
        code = cli_array(s->scan_rows, s->scan_cols, RONCHI_F64, &f.col);
    if (code == CLI_DONE)
        code = cli_array(s->scan_rows, s->scan_cols, RONCHI_U8, &f.valid);
    if (code == CLI_DONE && c->n_images)
        code = cli_mask_read(c, c->image[0].mask, s->det_rows, s->det_cols, &mask);
    if (code == CLI_DONE &&
        ronchi_detector_com(acquisition, c->n_images ? &mask : NULL, &f.row, &f.col, &f.valid, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    if (code == CLI_DONE)
        code = write_all(c, &f, info);
    free(f.row.data);
    free(f.col.data);
    free(f.valid.data);
    free(mask.data);
    return code;
}

static int run(cli *c)
{
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    int code = check_outputs(c);
    if (code == CLI_DONE && c->n_images > 1)
        code = cli_fail(CLI_BAD_CALL, NULL, "one --mask at a time");
    if (code == CLI_DONE)
        code = cli_load(c, c->argument[0], &acquisition, &info);
    if (code == CLI_DONE)
        code = compute(c, acquisition, &info);
    ronchi_acquisition_destroy(acquisition);
    return code;
}

const cli_command command_com = {
    "com",
    "PATH [--mask M.npy] -o FILE",
    "the centre of mass of every pattern",
    "-o com.npy writes com_row.npy and com_col.npy: absolute detector positions in pixels (float64), exact integer "
    "moments\n"
    "divided once. -o com.png writes com_row.png and com_col.png: the shift from the mean, blue below, red above.\n"
    "Positions without counts hold the mean of the others; how many there are is printed.",
    "ronchi com scan_01.qem -o com.npy",
    1,
    1,
    FOR_COM,
    run,
};
