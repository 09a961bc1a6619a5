/* SPDX-License-Identifier: MIT */
/* output.c - arrays into files, by the suffix of the name. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

typedef enum suffix { SUFFIX_UNKNOWN, SUFFIX_NPY, SUFFIX_PNG, SUFFIX_TIFF } suffix;

static suffix suffix_of(const char *path)
{
    if (cli_ends_with(path, ".npy"))
        return SUFFIX_NPY;
    if (cli_ends_with(path, ".png"))
        return SUFFIX_PNG;
    if (cli_ends_with(path, ".tiff") || cli_ends_with(path, ".tif"))
        return SUFFIX_TIFF;
    return SUFFIX_UNKNOWN;
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return a && b && stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

bool cli_is_input(const cli *c, const char *path)
{
    const char *first = c->argument[0];
    bool found = cli_same_file(c->against, path) || cli_same_file(c->select, path);
    for (size_t i = 0; i < c->n_images && !found; i++)
        found = c->image[i].kind == OPT_MASK && cli_same_file(c->image[i].mask, path);
    return found ||
           (first != path && cli_same_file(first, path)); /* of a simulation the first argument is the output */
}

int cli_output_free(const cli *c, const char *path)
{
    struct stat st;
    if (cli_is_input(c, path) && c->force)
        return cli_fail(CLI_BAD_CALL, path, "is what this call reads, and is never replaced: give another name");
    if (!c->force && stat(path, &st) == 0)
        return cli_fail(CLI_BAD_CALL, path, "exists already: give --force to replace it, or another name");
    return CLI_DONE;
}

int cli_output_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    struct stat st;
    if (!slash || (size_t)(slash - path) >= sizeof folder - 1)
        return CLI_DONE;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    if (stat(folder, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return cli_fail(CLI_BAD_CALL, path, "its folder does not exist");
    return CLI_DONE;
}

int cli_output_check(const cli *c, const char *path)
{
    if (suffix_of(path) == SUFFIX_UNKNOWN)
        return cli_fail(CLI_BAD_CALL, path, "the name of an output must end in .npy, .tiff or .png");
    int code = cli_output_free(c, path);
    return code == CLI_DONE ? cli_output_folder(path) : code;
}

int cli_output_needed(const cli *c)
{
    if (!c->n_outputs)
        return cli_fail(CLI_BAD_CALL, NULL, "say where to: -o NAME.npy, NAME.tiff or NAME.png; see ronchi %s --help",
                        c->command->name);
    for (size_t i = 0; i < c->n_outputs; i++) {
        int code = cli_output_check(c, c->output[i]);
        if (code != CLI_DONE)
            return code;
    }
    return CLI_DONE;
}

int cli_write(cli *c, const char *path, const ronchi_view *view, const ronchi_picture_options *picture)
{
    ronchi_picture_options options = *picture;
    ronchi_status status = RONCHI_OK;
    options.force = c->force;
    if (cli_interrupted()) {
        c->err.status = RONCHI_ERR_CANCELLED;
        return cli_error(&c->err);
    }
    switch (suffix_of(path)) {
    case SUFFIX_PNG:
        status = ronchi_picture_png(path, view, &options, &c->err);
        break;
    case SUFFIX_TIFF:
        status = ronchi_picture_tiff(path, view, &options, &c->err);
        break;
    case SUFFIX_NPY:
    case SUFFIX_UNKNOWN:
        status = ronchi_npy_write(path, view, 2, c->force, &c->err);
        break;
    }
    if (status != RONCHI_OK)
        return cli_error(&c->err);
    cli_progress_clear();
    if (!c->quiet)
        cli_print("wrote %s: %zu x %zu%s%s\n", path, view->shape[2], view->shape[3],
                  suffix_of(path) == SUFFIX_PNG ? "" : " ",
                  suffix_of(path) == SUFFIX_PNG ? "" : ronchi_dtype_name(view->dtype));
    return CLI_DONE;
}

static void scale_bar(const ronchi_quantity *step, ronchi_picture_options *out)
{
    if (step->known && step->value > 0) {
        out->pixel_size = step->value;
        out->pixel_unit = step->unit;
    }
}

void cli_picture_pattern(const cli *c, const ronchi_acquisition_info *info, ronchi_picture_options *out)
{
    ronchi_picture_options_defaults(out);
    out->scaling = c->given[OPT_SCALE] ? c->scale : RONCHI_SCALE_GAMMA;
    scale_bar(&info->calibration.det_step_col, out);
}

void cli_picture_image(const cli *c, const ronchi_acquisition_info *info, ronchi_picture_options *out)
{
    ronchi_picture_options_defaults(out);
    out->scaling = c->given[OPT_SCALE] ? c->scale : RONCHI_SCALE_LINEAR;
    scale_bar(&info->calibration.scan_step_col, out);
}
