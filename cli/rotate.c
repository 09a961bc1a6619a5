/* SPDX-License-Identifier: MIT */
/* rotate.c - a scan turned, kept as a .qem. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"

/* Positions of the result that lie inside the scan. */
static int count_valid(cli *c, const ronchi_acquisition *rotated, const ronchi_shape *shape, size_t *n)
{
    ronchi_view valid;
    *n = 0;
    int code = cli_array(shape->scan_rows, shape->scan_cols, RONCHI_U8, &valid);
    if (code != CLI_DONE)
        return code;
    if (ronchi_geometry_scan_valid(rotated, &valid, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    for (size_t i = 0; i < shape->scan_rows * shape->scan_cols; i++)
        *n += ((const uint8_t *)valid.data)[i];
    free(valid.data);
    return code;
}

static int write_copy(cli *c, const ronchi_acquisition *rotated, const ronchi_shape *before)
{
    ronchi_acquisition_info info;
    ronchi_save_options options;
    struct stat st;
    char shape[128], size[32];
    size_t n_valid, n;
    ronchi_status status = ronchi_acquisition_describe(rotated, &info);
    if (status != RONCHI_OK)
        return cli_fail(cli_exit_code(status), NULL, "cannot be described: %s", ronchi_status_name(status));
    int code = count_valid(c, rotated, &info.shape, &n_valid);
    if (code != CLI_DONE)
        return code;
    ronchi_save_options_defaults(&options);
    options.force = c->force;
    if (ronchi_acquisition_save(rotated, c->output[0], &options, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    cli_progress_clear();
    if (c->quiet)
        return CLI_DONE;
    n = info.shape.scan_rows * info.shape.scan_cols;
    printf("turned by %g degrees: %zu x %zu -> %zu x %zu scan, %zu of %zu positions inside\n", c->angle,
           before->scan_rows, before->scan_cols, info.shape.scan_rows, info.shape.scan_cols, n_valid, n);
    cli_print("wrote %s: %s, %s, %s\n", c->output[0], cli_shape(&info.shape, shape), ronchi_dtype_name(info.dtype),
              cli_size(stat(c->output[0], &st) == 0 ? (uint64_t)st.st_size : 0, size));
    return CLI_DONE;
}

static int check_call(const cli *c)
{
    if (!c->given[OPT_ANGLE])
        return cli_fail(CLI_BAD_CALL, NULL, "say by how much: --angle DEGREES; see ronchi rotate --help");
    if (c->n_outputs != 1)
        return cli_fail(CLI_BAD_CALL, NULL, "say where to, once: -o OUT.qem; see ronchi rotate --help");
    if (!cli_ends_with(c->output[0], ".qem"))
        return cli_fail(CLI_BAD_CALL, c->output[0], "the name of a rotated copy must end in .qem");
    int code = cli_output_free(c, c->output[0]);
    return code == CLI_DONE ? cli_output_folder(c->output[0]) : code;
}

static int run(cli *c)
{
    ronchi_acquisition *acquisition = NULL, *rotated = NULL;
    ronchi_acquisition_info info;
    ronchi_rotate_options options;
    int code = check_call(c);
    if (code == CLI_DONE)
        code = cli_load(c, c->argument[0], &acquisition, &info);
    if (code != CLI_DONE)
        return code;
    ronchi_rotate_options_defaults(&options);
    options.output = c->full_or_same;
    options.fill = (double)c->fill;
    if (ronchi_geometry_rotate_scan(acquisition, c->angle, &options, NULL, &rotated, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    ronchi_acquisition_destroy(acquisition);
    if (code == CLI_DONE)
        code = write_copy(c, rotated, &info.shape);
    ronchi_acquisition_destroy(rotated);
    return code;
}

const cli_command command_rotate = {
    "rotate",
    "PATH --angle A [--output full|same] [--fill N] -o OUT.qem",
    "the scan turned, every count kept",
    "Turns the scan by A degrees, counter-clockwise as displayed; the detector stays. Quarter turns are exact; any "
    "other "
    "angle\n"
    "takes the nearest position for each position of the result, so counts stay counts. What comes from outside holds "
    "N "
    "in every\n"
    "pixel; which positions lie inside is kept in the copy. Steps, flagged pixels and metadata are carried along.",
    "ronchi rotate scan_01.qem --angle -90 -o turned.qem",
    1,
    1,
    FOR_ROTATE,
    run,
};
