/* SPDX-License-Identifier: MIT */
/* run.c - from counts to phase: centres of mass, background, units, alignment, iDPC and dDPC. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dpc/dpc.h"
#include "geometry/result.h"
#include "ronchi/detector.h"

static const double PI = 3.14159265358979324;

void ronchi_dpc_options_defaults(ronchi_dpc_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    options->transpose = -1;
}

static ronchi_status take_options(const ronchi_dpc_options *given, ronchi_dpc_options *o, ronchi_error *err)
{
    ronchi_dpc_options_defaults(o);
    if (!given)
        return RONCHI_OK;
    if (given->struct_size != sizeof *o)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "DPC options of no known version");
    *o = *given;
    if (o->rotation_given && o->find_rotation)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "a rotation is given, or found: not both");
    bool known = o->background >= RONCHI_DPC_BACKGROUND_MEAN && o->background <= RONCHI_DPC_BACKGROUND_NONE &&
                 o->branch >= RONCHI_DPC_BRANCH_OPEN && o->branch <= RONCHI_DPC_BRANCH_POSITIVE &&
                 (o->boundary == RONCHI_DPC_MIRROR || o->boundary == RONCHI_DPC_PERIODIC) && o->transpose >= -1 &&
                 o->transpose <= 1;
    if (!known)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "unknown background, branch, boundary or transpose of DPC");
    if (!isfinite(o->rotation_deg) || !isfinite(o->near_deg) || !isfinite(o->highpass) || o->highpass < 0)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "angles must be finite and the high-pass period 0 or above");
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------ result */

void ronchi_dpc_result_free(ronchi_dpc_result *result)
{
    if (!result)
        return;
    double *owned[] = {result->com_row,   result->com_col, result->field_row,
                       result->field_col, result->phase,   result->divergence};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    free(result->valid);
    memset(result, 0, sizeof *result);
}

static ronchi_status allocate(const ronchi_acquisition *acquisition, ronchi_dpc_result *r, ronchi_error *err)
{
    size_t n = acquisition->store->n_positions;
    double **arrays[] = {&r->com_row, &r->com_col, &r->field_row, &r->field_col, &r->phase, &r->divergence};
    bool all = true;
    memset(r, 0, sizeof *r);
    r->rows = acquisition->store->shape.scan_rows;
    r->cols = acquisition->store->shape.scan_cols;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = calloc(n, sizeof **arrays[i]);
        all = all && *arrays[i];
    }
    r->valid = calloc(n, 1);
    if (all && r->valid)
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_MEMORY, acquisition->info.source_name, RONCHI_NO_OFFSET,
                       "no memory for the DPC of %zu positions", n);
}

static ronchi_view plane(const ronchi_dpc_result *r, void *data, ronchi_dtype dtype)
{
    return ronchi_view_2d(data, dtype, r->rows, r->cols);
}

/* ------------------------------------------------------------------------------------------------------- steps */

static ronchi_status take_shifts(const ronchi_acquisition *acquisition, const ronchi_dpc_options *o,
                                 ronchi_dpc_result *r, ronchi_error *err)
{
    size_t n = r->rows * r->cols;
    ronchi_view row = plane(r, r->com_row, RONCHI_F64), col = plane(r, r->com_col, RONCHI_F64),
                valid = plane(r, r->valid, RONCHI_U8);
    ronchi_status status = ronchi_detector_com(acquisition, o->mask, &row, &col, &valid, err);
    uint8_t *measured = ronchi_alloc(acquisition->context, n);
    if (status == RONCHI_OK && !measured)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                             "no memory for the validity of %zu positions", n);
    if (status == RONCHI_OK)
        status = ronchi_scan_valid_take(acquisition, measured, err);
    for (size_t i = 0; status == RONCHI_OK && i < n; i++) {
        r->valid[i] = r->valid[i] && measured[i];
        r->n_invalid += !r->valid[i];
    }
    ronchi_free(acquisition->context, measured);
    if (status != RONCHI_OK)
        return status;
    if (r->n_invalid == n)
        return ronchi_fail(err, RONCHI_ERR_DATA, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "no scan position holds a measured pattern");
    ronchi_dpc_take_background((ronchi_dpc_background)o->background, r->rows, r->cols, r->valid, r->com_row,
                               r->background[0]);
    ronchi_dpc_take_background((ronchi_dpc_background)o->background, r->rows, r->cols, r->valid, r->com_col,
                               r->background[1]);
    return RONCHI_OK;
}

/* Pixels into the field's unit, still along detector axes: 2 pi dk where calibrated, else square pixels. */
static void scale_field(ronchi_dpc_result *r)
{
    const ronchi_dpc_units *u = &r->units;
    double row = 1, col = 1;
    if (u->calibrated) {
        row = 2 * PI * u->dk_row;
        col = 2 * PI * u->dk_col;
    } else if (u->mrad_row > 0 && u->mrad_col > 0) {
        col = u->mrad_col / u->mrad_row;
    }
    for (size_t i = 0; i < r->rows * r->cols; i++) {
        r->field_row[i] = row * r->com_row[i];
        r->field_col[i] = col * r->com_col[i];
    }
}

/* The orientation of the detector that is known without looking at the field, in o; 0, 1 or 2 as in
 * ronchi_dpc_alignment. */
static int32_t known_orientation(const ronchi_acquisition *acquisition, ronchi_dpc_options *o)
{
    const ronchi_calibration *c = &acquisition->info.calibration;
    if (o->rotation_given && o->transpose < 0 && c->det_rotation.known)
        o->transpose = c->det_transpose;
    if (o->rotation_given)
        return 1;
    if (o->find_rotation || !c->det_rotation.known)
        return 0;
    o->rotation_given = 1;
    o->rotation_deg = c->det_rotation.value;
    o->transpose = c->det_transpose;
    return 2;
}

static ronchi_status align(const ronchi_dpc_options *o, int32_t known, ronchi_dpc_result *r, ronchi_error *err)
{
    ronchi_view row = plane(r, r->field_row, RONCHI_F64), col = plane(r, r->field_col, RONCHI_F64),
                valid = plane(r, r->valid, RONCHI_U8);
    ronchi_dpc_alignment *a = &r->alignment;
    int transpose = o->rotation_given ? -1 : o->transpose;
    ronchi_status status =
        ronchi_dpc_find_rotation_of(&row, &col, &valid, r->units.step_row, r->units.step_col, transpose, a, err);
    if (status != RONCHI_OK && !(o->rotation_given && status == RONCHI_ERR_NEEDED))
        return status;
    if (!o->rotation_given)
        return RONCHI_OK;
    a->given = known;
    a->rotation_deg = o->rotation_deg;
    a->transpose = o->transpose > 0;
    a->branch_open = 0;
    a->uncertainty_deg = 0;
    a->curl = ronchi_dpc_curl(a, a->rotation_deg, a->transpose);
    a->curl_other = ronchi_dpc_curl(a, a->rotation_deg, !a->transpose);
    return RONCHI_OK;
}

/* Along the scan: R(-rotation) P. */
static void turn(ronchi_dpc_result *r, double rotation_deg, bool transpose)
{
    double c = cos(rotation_deg * PI / 180), s = sin(rotation_deg * PI / 180);
    for (size_t i = 0; i < r->rows * r->cols; i++) {
        double row = transpose ? r->field_col[i] : r->field_row[i], col = transpose ? r->field_row[i] : r->field_col[i];
        r->field_row[i] = c * row + s * col;
        r->field_col[i] = c * col - s * row;
    }
}

static ronchi_status integrate(ronchi_context *context, const ronchi_dpc_options *o, ronchi_dpc_result *r,
                               ronchi_error *err)
{
    ronchi_view row = plane(r, r->field_row, RONCHI_F64), col = plane(r, r->field_col, RONCHI_F64);
    ronchi_view phase = plane(r, r->phase, RONCHI_F64), divergence = plane(r, r->divergence, RONCHI_F64);
    const ronchi_dpc_units *u = &r->units;
    ronchi_status status =
        ronchi_dpc_integrate(context, &row, &col, u->step_row, u->step_col, o->boundary, o->highpass, &phase, err);
    return status == RONCHI_OK ? ronchi_dpc_divergence(&row, &col, u->step_row, u->step_col, &divergence, err) : status;
}

/* 180 degrees more: field and phase change their sign. */
static void other_branch(ronchi_dpc_result *r)
{
    double *arrays[] = {r->field_row, r->field_col, r->phase, r->divergence};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++)
        for (size_t i = 0; i < r->rows * r->cols; i++)
            arrays[k][i] = -arrays[k][i];
    r->alignment.rotation_deg += r->alignment.rotation_deg > 0 ? -180.0 : 180.0;
}

static double third_moment(const ronchi_dpc_result *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->rows * r->cols; i++)
        sum += r->phase[i] * r->phase[i] * r->phase[i];
    return sum;
}

static void choose_branch(const ronchi_dpc_options *o, ronchi_dpc_result *r)
{
    if (o->branch == RONCHI_DPC_BRANCH_OPEN || r->alignment.given)
        return;
    double away = r->alignment.rotation_deg - o->near_deg;
    away -= 360.0 * round(away / 360.0);
    bool other = o->branch == RONCHI_DPC_BRANCH_NEAR ? fabs(away) > 90.0 : third_moment(r) < 0;
    r->alignment.branch_open = 0;
    if (other)
        other_branch(r);
}

ronchi_status ronchi_dpc_run(const ronchi_acquisition *acquisition, const ronchi_dpc_options *options,
                             ronchi_dpc_result *out, ronchi_error *err)
{
    ronchi_dpc_options o;
    memset(out, 0, sizeof *out);
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status == RONCHI_OK)
        status = take_options(options, &o, err);
    if (status == RONCHI_OK)
        status = allocate(acquisition, out, err);
    if (status == RONCHI_OK)
        status = take_shifts(acquisition, &o, out, err);
    if (status == RONCHI_OK)
        status = ronchi_dpc_find_units(acquisition, &out->units, err);
    if (status == RONCHI_OK) {
        int32_t known = known_orientation(acquisition, &o);
        scale_field(out);
        status = align(&o, known, out, err);
    }
    if (status == RONCHI_OK) {
        turn(out, out->alignment.rotation_deg, out->alignment.transpose != 0);
        status = integrate(acquisition->context, &o, out, err);
    }
    if (status == RONCHI_OK)
        choose_branch(&o, out);
    else
        ronchi_dpc_result_free(out);
    return status;
}
