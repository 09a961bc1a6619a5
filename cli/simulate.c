/* SPDX-License-Identifier: MIT */
/* simulate.c - an acquisition with known answers, as an instrument would have written it. */
#include <math.h>
#include <string.h>

#include "simulate.h"

#include "commands.h"

int cli_simulate_options(cli *c, ronchi_simulate_options *o)
{
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32};
    const struct {
        cli_option_id id;
        double from, *to;
    } reals[] = {
        {OPT_DOSE, c->dose, &o->dose},
        {OPT_BACKGROUND, c->background, &o->background},
        {OPT_PHASE_SCALE, c->phase_scale, &o->phase_scale},
        {OPT_DISK_RADIUS_PX, c->disk_radius_px, &o->disk_radius_px},
        {OPT_C10_A, c->c10_a, &o->c10_a},
        {OPT_C12_A, c->c12_a, &o->c12_a},
        {OPT_PHI12_DEG, c->phi12_deg, &o->phi12_deg},
        {OPT_ROTATION_DEG, c->rotation_deg, &o->rotation_deg},
        {OPT_VOLTAGE_KV, c->voltage_kv, &o->voltage_kv},
        {OPT_SEMIANGLE_MRAD, c->semiangle_mrad, &o->semiangle_mrad},
        {OPT_SCAN_STEP_A, c->scan_step_a[0], &o->scan_step_a},
    };
    ronchi_simulate_options_defaults(o);
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        if (c->given[reals[i].id])
            *reals[i].to = reals[i].from;
    if (c->given[OPT_SCAN]) {
        o->scan_rows = (size_t)c->scan[0];
        o->scan_cols = (size_t)c->scan[1];
    }
    if (c->given[OPT_DETECTOR]) {
        o->det_rows = (size_t)c->detector[0];
        o->det_cols = (size_t)c->detector[1];
    }
    if (c->given[OPT_DTYPE])
        o->dtype = dtypes[c->dtype];
    if (c->given[OPT_FLYBACK_AT])
        o->flyback_at = c->flyback_at;
    if (c->flagged_pixels > UINT32_MAX || c->hot_pixels > UINT32_MAX || c->flyback > UINT32_MAX)
        return cli_fail(CLI_BAD_CALL, NULL, "--flagged-pixels, --hot-pixels and --flyback: at most %u", UINT32_MAX);
    o->flagged_pixels = (uint32_t)c->flagged_pixels;
    o->hot_pixels = (uint32_t)c->hot_pixels;
    o->flyback = (uint32_t)c->flyback;
    o->frames_per_file = c->frames_per_file;
    o->transpose = c->transpose;
    o->companion = c->companion;
    o->truth = c->truth;
    o->seed = c->seed;
    o->force = c->force;
    if (c->filter)
        o->filter = c->filter;
    return CLI_DONE;
}

static int run(cli *c)
{
    const char *path = c->argument[0];
    ronchi_simulate_options options;
    char shape[128];
    if (!cli_ends_with(path, "_master.h5"))
        return cli_fail(CLI_BAD_CALL, path, "the name must end in _master.h5");
    if (c->given[OPT_SCAN_STEP_A] && fabs(c->scan_step_a[0] - c->scan_step_a[1]) > 0)
        return cli_fail(CLI_BAD_CALL, NULL, "--scan-step-a: a simulation has one step for rows and columns");
    int code = cli_output_free(c, path);
    if (code == CLI_DONE)
        code = cli_simulate_options(c, &options);
    if (code != CLI_DONE)
        return code;
    if (ronchi_simulate(c->context, path, &options, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    cli_progress_clear();
    ronchi_shape written = {options.scan_rows, options.scan_cols, options.det_rows, options.det_cols};
    if (!c->quiet)
        cli_print("wrote %s: %s, %s\n", path, cli_shape(&written, shape), ronchi_dtype_name(options.dtype));
    return CLI_DONE;
}

const cli_command command_simulate = {
    "simulate",
    "OUT_master.h5",
    "a simulated acquisition with known answers",
    "A single-slice phase object under a converged probe, Poisson counts, written as a Dectris-style master with its "
    "data\n"
    "files. The same seed gives the same counts. --truth writes parameters, shifts and the object's phase beside it.",
    "ronchi simulate demo_master.h5 --scan 128,128 --dose 2 --c10-a -200 --companion --truth",
    1,
    1,
    FOR_SIMULATE,
    run,
};
