/* SPDX-License-Identifier: MIT */
/* frame.c - one diffraction pattern. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static int write_frame(cli *c, const ronchi_acquisition *acquisition, const ronchi_acquisition_info *info, size_t row,
                       size_t col)
{
    const ronchi_shape *shape = &info->shape;
    ronchi_view out, flagged = {0};
    ronchi_picture_options picture;
    int code = cli_array(shape->det_rows, shape->det_cols, info->source_dtype, &out);
    if (code == CLI_DONE)
        code = cli_flagged_mask(acquisition, shape, &flagged);
    if (code == CLI_DONE &&
        ronchi_detector_frame(acquisition, row, col, c->masked ? RONCHI_READ_MASKED : RONCHI_READ_RAW, &out, &c->err) !=
            RONCHI_OK)
        code = cli_error(&c->err);
    cli_picture_pattern(c, info, &picture);
    picture.ignore = &flagged;
    for (size_t i = 0; code == CLI_DONE && i < c->n_outputs; i++)
        code = cli_write(c, c->output[i], &out, &picture);
    free(out.data);
    free(flagged.data);
    return code;
}

static int run(cli *c)
{
    uint64_t row, col;
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    const char *row_text = c->argument[1], *col_text = c->argument[2];
    if (!cli_number_count(row_text, strlen(row_text), &row) || !cli_number_count(col_text, strlen(col_text), &col))
        return cli_fail(CLI_BAD_CALL, NULL, "%s %s: scan row and column must be whole numbers from 0", row_text,
                        col_text);
    int code = cli_output_needed(c);
    if (code == CLI_DONE)
        code = cli_load(c, c->argument[0], &acquisition, &info);
    if (code != CLI_DONE)
        return code;
    if (row >= info.shape.scan_rows || col >= info.shape.scan_cols)
        code = cli_fail(CLI_BAD_CALL, c->argument[0], "no scan position (%s, %s): the scan has %zu rows x %zu columns",
                        row_text, col_text, info.shape.scan_rows, info.shape.scan_cols);
    else
        code = write_frame(c, acquisition, &info, (size_t)row, (size_t)col);
    ronchi_acquisition_destroy(acquisition);
    return code;
}

const cli_command command_frame = {
    "frame",
    "PATH ROW COL -o FILE",
    "one diffraction pattern",
    "The pattern at scan row ROW and column COL, counted from 0, in the type of the original. Flagged pixels are given "
    "as\n"
    "stored (--masked: as 0) and are left out of a picture's grey levels.",
    "ronchi frame scan_01.qem 12 40 -o pattern.png",
    3,
    3,
    FOR_FRAME,
    run,
};
