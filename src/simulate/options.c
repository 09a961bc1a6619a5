/* SPDX-License-Identifier: MIT */
/* options.c - what can be simulated: defaults, checks, and how frames are stored. */
#include <math.h>
#include <string.h>

#include "simulate/simulation.h"

enum { MAX_SIDE = 65535, MAX_DETECTOR = 8192 };

void ronchi_simulate_options_defaults(ronchi_simulate_options *options)
{
    *options = (ronchi_simulate_options){
        .struct_size = sizeof *options,
        .scan_rows = 64,
        .scan_cols = 64,
        .det_rows = 192,
        .det_cols = 192,
        .voltage_kv = 300.0,
        .semiangle_mrad = 25.0,
        .scan_step_a = 0.5,
        .dose = 4.0,
        .background = 0.04,
        .phase_scale = 1.0,
        .dtype = RONCHI_U16,
        .companion = 1,
        .truth = 1,
        .filter = "bslz4",
        .seed = 1,
    };
}

static ronchi_status refuse(ronchi_error *err, const char *name, double value, const char *rule)
{
    return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "%s is %.9g, but must be %s", name, value,
                       rule);
}

/* The numbers one by one. */
static ronchi_status check_numbers(const ronchi_simulate_options *o, ronchi_error *err)
{
    const struct {
        const char *name;
        double value, low, high;
        const char *rule;
    } table[] = {
        {"scan rows", (double)o->scan_rows, 1, MAX_SIDE, "1 to 65535"},
        {"scan columns", (double)o->scan_cols, 1, MAX_SIDE, "1 to 65535"},
        {"detector rows", (double)o->det_rows, 8, MAX_DETECTOR, "8 to 8192"},
        {"detector columns", (double)o->det_cols, 8, MAX_DETECTOR, "8 to 8192"},
        {"voltage (kV)", o->voltage_kv, 1, 10000, "1 to 10000"},
        {"semi-angle (mrad)", o->semiangle_mrad, 0.1, 200, "0.1 to 200"},
        {"scan step (A)", o->scan_step_a, 1e-3, 1e4, "0.001 to 10000"},
        {"C10 (A)", o->c10_a, -1e6, 1e6, "-1e6 to 1e6"},
        {"C12 (A)", o->c12_a, -1e6, 1e6, "-1e6 to 1e6"},
        {"phi12 (degree)", o->phi12_deg, -360, 360, "-360 to 360"},
        {"dose", o->dose, 0, 4e9, "0 to 4e9"},
        {"background", o->background, 0, 4e9, "0 to 4e9"},
        {"phase scale", o->phase_scale, -100, 100, "-100 to 100"},
        {"rotation (degree)", o->rotation_deg, -360, 360, "-360 to 360"},
        {"extra frames per line", (double)o->flyback, 0, MAX_SIDE, "0 to 65535"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!(table[i].value >= table[i].low && table[i].value <= table[i].high)) /* NaN too */
            return refuse(err, table[i].name, table[i].value, table[i].rule);
    if (o->seed > INT64_MAX)
        return refuse(err, "seed", (double)o->seed, "below 2^63");
    if (o->transpose != 0 && o->transpose != 1)
        return refuse(err, "transpose", (double)o->transpose, "0 or 1");
    if (o->flyback_at != RONCHI_FLYBACK_START && o->flyback_at != RONCHI_FLYBACK_END)
        return refuse(err, "place of the extra frames", (double)o->flyback_at, "start or end");
    return RONCHI_OK;
}

static double dtype_maximum(ronchi_dtype dtype)
{
    return dtype == RONCHI_U8 ? 255.0 : dtype == RONCHI_U16 ? 65535.0 : dtype == RONCHI_U32 ? 4294967295.0 : 0.0;
}

/* What must fit together. */
static ronchi_status check_geometry(const ronchi_simulate_options *o, ronchi_error *err)
{
    double shorter = (double)ronchi_min_size(o->det_rows, o->det_cols);
    if (!(o->disk_radius_px >= 1.0 && o->disk_radius_px <= 0.5 * shorter - 1.0))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "a disk radius of %.6g px does not fit a detector of %zu x %zu: 1 to %.6g",
                           o->disk_radius_px, o->det_rows, o->det_cols, 0.5 * shorter - 1.0);
    /* The window is one over the pixel pitch wide and periodic: a probe that fills it would meet itself. */
    double wavelength = ronchi_wavelength_a(o->voltage_kv), angle = o->semiangle_mrad * 1e-3;
    double window = wavelength * o->disk_radius_px / angle;
    double probe = (fabs(o->c10_a) + fabs(o->c12_a)) * angle + 2.0 * wavelength / angle;
    if (probe > 0.5 * window && (o->c10_a != 0.0 || o->c12_a != 0.0))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "the defocused probe has a radius of %.4g A, but this detector sees only %.4g A around its "
                           "centre: less C10 and C12, or a larger disk radius in px",
                           probe, 0.5 * window);
    double maximum = dtype_maximum(o->dtype), mean = o->dose + o->background;
    if (maximum == 0.0)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "counts are uint8, uint16 or uint32, not %s", ronchi_dtype_name(o->dtype));
    if (mean + 6.0 * sqrt(mean) >= maximum)
        return ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET,
                           "counts of a mean of %.6g do not fit %s: a larger dtype or a lower dose", mean,
                           ronchi_dtype_name(o->dtype));
    if ((uint64_t)o->flagged_pixels + o->hot_pixels > (uint64_t)o->det_rows * o->det_cols)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "%u flagged and %u hot pixels are more than the detector has", o->flagged_pixels,
                           o->hot_pixels);
    return RONCHI_OK;
}

ronchi_status ronchi_simulation_check(const ronchi_simulate_options *options, ronchi_simulate_options *out,
                                      ronchi_error *err)
{
    if (options && options->struct_size != sizeof *options)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "ronchi_simulate_options has %zu bytes, expected %zu: start from _defaults()",
                           options->struct_size, sizeof *options);
    if (options)
        *out = *options;
    else
        ronchi_simulate_options_defaults(out);
    if (out->disk_radius_px == 0.0)
        out->disk_radius_px = 55.0 / 192.0 * (double)ronchi_min_size(out->det_rows, out->det_cols);
    if (!out->filter)
        out->filter = "bslz4";
    ronchi_status status = check_numbers(out, err);
    if (status == RONCHI_OK)
        status = check_geometry(out, err);
    return status == RONCHI_OK ? ronchi_simulation_fits(out, err) : status;
}

/* ---------------------------------------------------------------------------------------------------- frames */

uint64_t ronchi_simulation_frames(const ronchi_simulate_options *options)
{
    return (uint64_t)options->scan_rows * (options->scan_cols + options->flyback);
}

bool ronchi_simulation_position(const ronchi_simulate_options *options, uint64_t frame, uint64_t *position)
{
    uint64_t line = options->scan_cols + options->flyback, row = frame / line, col = frame % line;
    uint64_t lead = options->flyback_at == RONCHI_FLYBACK_START ? options->flyback : 0;
    if (col < lead || col - lead >= options->scan_cols)
        return false;
    *position = row * options->scan_cols + (col - lead);
    return true;
}

ronchi_points ronchi_simulation_points(const ronchi_simulate_options *options)
{
    double step = options->scan_step_a;
    return (ronchi_points){{0.0, 0.0}, {step, 0.0}, {0.0, step}, options->scan_rows, options->scan_cols};
}
