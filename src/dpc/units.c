/* SPDX-License-Identifier: MIT */
/* units.c - what one detector pixel and one scan step stand for. */
#include <stdio.h>
#include <string.h>

#include "core/electron.h"
#include "dpc/dpc.h"
#include "ronchi/detector.h"

/* Radius of the bright-field disk in pixels; 0 when there is none to be seen. */
static ronchi_status disk_radius(const ronchi_acquisition *acquisition, double *radius, ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    const ronchi_shape *s = &store->shape;
    double *mean = ronchi_calloc(store->context, store->n_pixels, sizeof *mean);
    uint8_t *flagged = ronchi_alloc(store->context, store->n_pixels);
    ronchi_view mean_view = ronchi_view_2d(mean, RONCHI_F64, s->det_rows, s->det_cols);
    ronchi_view flagged_view = ronchi_view_2d(flagged, RONCHI_U8, s->det_rows, s->det_cols);
    ronchi_disk disk;
    *radius = 0;
    ronchi_status status = mean && flagged
                               ? ronchi_acquisition_flagged(acquisition, &flagged_view)
                               : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a pattern");
    if (status == RONCHI_OK)
        status = ronchi_detector_pattern(acquisition, RONCHI_REDUCE_MEAN, NULL, NULL, &mean_view, err);
    if (status == RONCHI_OK && ronchi_detector_fit_disk(&mean_view, &flagged_view, &disk, NULL) == RONCHI_OK)
        *radius = disk.radius;
    ronchi_free(store->context, mean);
    ronchi_free(store->context, flagged);
    return status;
}

static bool known(const ronchi_quantity *row, const ronchi_quantity *col, const char *unit)
{
    return row->known && col->known && row->value > 0 && col->value > 0 && strcmp(row->unit, unit) == 0 &&
           strcmp(col->unit, unit) == 0;
}

/* Angles and reciprocal lengths of a pixel, each from the other where the wavelength is known. */
static ronchi_status find_pixel(const ronchi_acquisition *acquisition, ronchi_dpc_units *u, ronchi_error *err)
{
    const ronchi_calibration *c = &acquisition->info.calibration;
    double wavelength = c->voltage.known && c->voltage.value > 0 ? ronchi_wavelength_a(c->voltage.value) : 0,
           radius = 0;
    ronchi_status status = RONCHI_OK;
    if (known(&c->det_step_row, &c->det_step_col, "1/angstrom")) {
        u->dk_row = c->det_step_row.value;
        u->dk_col = c->det_step_col.value;
        u->mrad_row = u->dk_row * wavelength * 1e3;
        u->mrad_col = u->dk_col * wavelength * 1e3;
        snprintf(u->dk_from, sizeof u->dk_from, "detector step");
        return status;
    }
    if (known(&c->det_step_row, &c->det_step_col, "mrad")) {
        u->mrad_row = c->det_step_row.value;
        u->mrad_col = c->det_step_col.value;
        snprintf(u->dk_from, sizeof u->dk_from, "detector step and voltage");
    } else if (c->semiangle.known) {
        status = disk_radius(acquisition, &radius, err);
        u->mrad_row = u->mrad_col = radius > 0 ? c->semiangle.value / radius : 0;
        snprintf(u->dk_from, sizeof u->dk_from, "semi-angle, disk radius %.3f px and voltage", radius);
    }
    if (wavelength > 0) {
        u->dk_row = u->mrad_row * 1e-3 / wavelength;
        u->dk_col = u->mrad_col * 1e-3 / wavelength;
    }
    return status;
}

static void say_missing(const ronchi_acquisition *acquisition, ronchi_dpc_units *u, bool steps)
{
    const ronchi_calibration *c = &acquisition->info.calibration;
    bool angle = u->mrad_row > 0 || u->dk_row > 0, voltage = u->dk_row > 0 || c->voltage.known;
    snprintf(u->missing, sizeof u->missing, "not known: %s%s%s%s%s",
             angle ? "" : "angle of a pixel (--det-step-mrad or --semiangle-mrad)", !angle && !voltage ? ", " : "",
             voltage ? "" : "voltage (--voltage-kv)", (!angle || !voltage) && !steps ? ", " : "",
             steps ? "" : "scan step (--scan-step-a)");
    u->dk_from[0] = 0;
}

ronchi_status ronchi_dpc_find_units(const ronchi_acquisition *acquisition, ronchi_dpc_units *u, ronchi_error *err)
{
    const ronchi_calibration *c = &acquisition->info.calibration;
    memset(u, 0, sizeof *u);
    ronchi_status status = find_pixel(acquisition, u, err);
    if (status != RONCHI_OK)
        return status;
    bool steps = known(&c->scan_step_row, &c->scan_step_col, "angstrom");
    u->calibrated = steps && u->dk_row > 0 && u->dk_col > 0;
    u->step_row = u->calibrated ? c->scan_step_row.value : 1;
    u->step_col = u->calibrated ? c->scan_step_col.value : steps ? c->scan_step_col.value / c->scan_step_row.value : 1;
    if (!u->calibrated)
        say_missing(acquisition, u, steps);
    snprintf(u->field_unit, sizeof u->field_unit, "%s", u->calibrated ? "rad/angstrom" : "px");
    snprintf(u->phase_unit, sizeof u->phase_unit, "%s", u->calibrated ? "rad" : "px x scan step");
    snprintf(u->divergence_unit, sizeof u->divergence_unit, "%s", u->calibrated ? "rad/angstrom^2" : "px / scan step");
    return RONCHI_OK;
}
