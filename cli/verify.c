/* SPDX-License-Identifier: MIT */
/* verify.c - is a .qem whole, does it hold every count of its source, and what does it not keep. */
#include <string.h>

#include "commands.h"

/* Frames that the source stores outside the scan, or 0 when that is not known. */
static uint64_t frames_outside(cli *c, const char *source, const ronchi_shape *shape)
{
    ronchi_source_options options;
    ronchi_inspection in;
    cli_source_options(c, &options);
    if (ronchi_inspect(c->context, source, &options, &in, NULL) != RONCHI_OK)
        return 0;
    uint64_t positions = (uint64_t)shape->scan_rows * shape->scan_cols;
    uint64_t outside = in.frames_stored > positions ? in.frames_stored - positions : 0;
    ronchi_inspection_free(&in);
    return outside;
}

static void print_not_kept(cli *c, const char *source, const ronchi_acquisition_info *info)
{
    puts("not kept by the copy:");
    if (source) {
        uint64_t outside = frames_outside(c, source, &info->shape);
        if (outside)
            cli_print("  %llu frames outside the scan (flyback, skipped or surplus)\n", (unsigned long long)outside);
    } else {
        puts("  frames outside the scan (flyback, skipped or surplus), where the source had any");
    }
    if (!info->lossless)
        cli_print("  the source's counts as they were: %s\n", info->mask_policy);
    puts("  how the source was stored: names and cut of its files, chunks, compression, links, unused space\n"
         "  entries of the source that no reader retained (ronchi inspect --json lists what is kept)");
}

static int run(cli *c)
{
    const char *path = c->argument[0];
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    char shape[128];
    if (!cli_ends_with(path, ".qem"))
        return cli_fail(CLI_BAD_CALL, path, "verify checks .qem files: ronchi inspect looks at originals");
    int code = cli_load(c, path, &acquisition, &info);
    if (code != CLI_DONE)
        return code;
    uint64_t different = 0;
    ronchi_status status = ronchi_acquisition_verify(acquisition, &c->err);
    if (status == RONCHI_OK && c->against) {
        ronchi_source_options options;
        cli_source_options(c, &options);
        status = ronchi_acquisition_compare(acquisition, c->against, &options, &different, &c->err);
    }
    ronchi_acquisition_destroy(acquisition);
    if (status != RONCHI_OK)
        return cli_error(&c->err);
    if (different)
        return cli_fail(CLI_BAD_DATA, path, "differs from %s: %s", c->against, c->err.message);
    cli_progress_clear();
    if (c->quiet)
        return CLI_DONE;
    cli_print("%s: whole: %s, %s, %s\n", path, cli_shape(&info.shape, shape), ronchi_dtype_name(info.source_dtype),
              ronchi_profile_name(info.profile));
    puts("checked: digests, layout, every stream and every index sum");
    if (c->against)
        cli_print("compared: every count equals %s\n", c->against);
    else
        puts("not compared with a source: give --against SRC");
    print_not_kept(c, c->against, &info);
    return CLI_DONE;
}

const cli_command command_verify = {
    "verify",
    "FILE.qem [--against SRC]",
    "check a .qem, and compare every count with its source",
    "Checks digests and layout, decodes every stream and checks every index sum. With --against, each count is also\n"
    "compared with the original, read again. Ends with what the copy does not keep. Exit code 1 for damage or "
    "difference.",
    "ronchi verify scan_01.qem --against scan_01_master.h5",
    1,
    1,
    FOR_VERIFY,
    run,
};
