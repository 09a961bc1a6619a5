/* SPDX-License-Identifier: MIT */
/* export.c - counts back into an array or a master that other programs read. */
#include <string.h>

#include "commands.h"

static bool is_listed(const cli *c, const ronchi_inspection *in, const char *path)
{
    char listed[4096];
    const char *main_file = c->argument[0];
    int folder = (int)(cli_base(main_file) - main_file);
    for (size_t i = 0; i < in->n_files; i++) {
        bool absolute = in->files[i].name[0] == '/';
        snprintf(listed, sizeof listed, "%.*s%s", absolute ? 0 : folder, main_file, in->files[i].name);
        if (cli_same_file(listed, path))
            return true;
    }
    return false;
}

/* A master comes with files beside it: none of them may take the place of one that the original consists of. */
static int check_beside(cli *c, const char *path)
{
    static const char *const endings[] = {"_master.h5", "_data_000001.h5", ".h5"};
    char beside[4096];
    ronchi_source_options options;
    ronchi_inspection in;
    if (!c->force || !cli_ends_with(path, endings[0]))
        return CLI_DONE;
    cli_source_options(c, &options);
    if (ronchi_inspect(c->context, c->argument[0], &options, &in, NULL) != RONCHI_OK)
        return CLI_DONE; /* loading says why */
    int code = CLI_DONE;
    for (size_t i = 0; code == CLI_DONE && i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(beside, sizeof beside, "%.*s%s", (int)(strlen(path) - strlen(endings[0])), path, endings[i]);
        if (cli_is_input(c, beside) || is_listed(c, &in, beside))
            code = cli_fail(CLI_BAD_CALL, beside,
                            "belongs to what this call reads, and is never replaced: give "
                            "another name");
    }
    ronchi_inspection_free(&in);
    return code;
}

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
        code = check_beside(c, path);
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
