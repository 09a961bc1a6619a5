/* SPDX-License-Identifier: MIT */
/* export.c - counts back into an array or a master that other programs read. */
#include <string.h>

#include "commands.h"

static int run(cli *c)
{
    const char *path = c->argument[1];
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    ronchi_export_options options;
    char shape[128];
    if (!cli_ends_with(path, ".npy") && !cli_ends_with(path, "_master.h5"))
        return cli_fail(CLI_BAD_CALL, path, "the name of an export must end in .npy or _master.h5");
    int code = cli_output_free(c, path);
    if (code == CLI_DONE)
        code = cli_load(c, c->argument[0], &acquisition, &info);
    if (code != CLI_DONE)
        return code;
    ronchi_export_options_defaults(&options);
    options.force = c->force;
    options.flagged = c->masked ? RONCHI_READ_MASKED : RONCHI_READ_RAW;
    if (c->filter)
        options.filter = c->filter;
    if (ronchi_acquisition_export(acquisition, path, &options, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    ronchi_acquisition_destroy(acquisition);
    if (code != CLI_DONE)
        return code;
    cli_progress_clear();
    if (!c->quiet)
        cli_print("wrote %s: %s, %s\n", path, cli_shape(&info.shape, shape), ronchi_dtype_name(info.source_dtype));
    return CLI_DONE;
}

const cli_command command_export = {
    "export",
    "PATH OUT.npy | OUT_master.h5",
    "the counts back as a dense .npy array or as an HDF5 master",
    "Writes every count in the original's type, in bounded memory: a four-dimensional .npy, or a Dectris-style master "
    "with its\n"
    "data file beside it. Flagged pixels as stored in the original (--masked: as 0).",
    "ronchi export scan_01.qem scan_01.npy",
    2,
    2,
    FOR_EXPORT,
    run,
};
