/* SPDX-License-Identifier: MIT */
/* mean.c - mean, sum or maximum of many patterns. */
#include <stdlib.h>

#include "commands.h"

/* The scan rectangle of --region; CLI_BAD_CALL when it leaves the scan. */
static int scan_region(cli *c, const ronchi_shape *shape, ronchi_region *out)
{
    *out = ronchi_region_all(shape);
    if (!c->given[OPT_REGION])
        return CLI_DONE;
    uint64_t row_end = c->region[1] == UINT64_MAX ? shape->scan_rows : c->region[1];
    uint64_t col_end = c->region[3] == UINT64_MAX ? shape->scan_cols : c->region[3];
    if (row_end > shape->scan_rows || col_end > shape->scan_cols || c->region[0] >= row_end || c->region[2] >= col_end)
        return cli_fail(CLI_BAD_CALL, c->argument[0], "--region leaves the scan of %zu rows x %zu columns",
                        shape->scan_rows, shape->scan_cols);
    out->scan_row = (size_t)c->region[0];
    out->scan_rows = (size_t)(row_end - c->region[0]);
    out->scan_col = (size_t)c->region[2];
    out->scan_cols = (size_t)(col_end - c->region[2]);
    return CLI_DONE;
}

static int write_pattern(cli *c, const ronchi_acquisition *acquisition, const ronchi_acquisition_info *info)
{
    const ronchi_shape *shape = &info->shape;
    ronchi_region region;
    ronchi_view out = {0}, flagged = {0}, select = {0};
    ronchi_picture_options picture;
    bool real = c->reduce == RONCHI_REDUCE_MEAN || info->dtype == RONCHI_F32;
    int code = scan_region(c, shape, &region);
    if (code == CLI_DONE)
        code = cli_array(shape->det_rows, shape->det_cols, real ? RONCHI_F64 : RONCHI_U64, &out);
    if (code == CLI_DONE)
        code = cli_flagged_mask(acquisition, shape, &flagged);
    if (code == CLI_DONE && c->select)
        code = cli_mask_read(c, c->select, shape->scan_rows, shape->scan_cols, &select);
    if (code == CLI_DONE && ronchi_detector_pattern(acquisition, (ronchi_detector_reduce)c->reduce, &region,
                                                    c->select ? &select : NULL, &out, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    cli_picture_pattern(c, info, &picture);
    picture.ignore = &flagged;
    for (size_t i = 0; code == CLI_DONE && i < c->n_outputs; i++)
        code = cli_write(c, c->output[i], &out, &picture);
    free(out.data);
    free(flagged.data);
    free(select.data);
    return code;
}

static int run(cli *c)
{
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    int code = cli_output_needed(c);
    if (code == CLI_DONE)
        code = cli_load(c, c->argument[0], &acquisition, &info);
    if (code == CLI_DONE)
        code = write_pattern(c, acquisition, &info);
    ronchi_acquisition_destroy(acquisition);
    return code;
}

const cli_command command_mean = {
    "mean",
    "PATH [--region R0:R1,C0:C1] -o FILE",
    "the mean pattern of the scan or of a part of it",
    "The exact sum of the patterns divided by their number, rounded once (float64). Flagged pixels are 0.\n"
    "--reduce sum or max gives the sum or the largest count of every pixel instead (uint64).",
    "ronchi mean scan_01.qem --region 0:16,0:16 -o corner.png",
    1,
    1,
    FOR_MEAN,
    run,
};
