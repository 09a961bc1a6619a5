/* SPDX-License-Identifier: MIT */
/*
 * result_orientation.c - the stored orientation of the detector follows what is done to scan and detector.
 *
 * It is the matrix M = P^t R(a) of v_detector = M v_scan.  With P R(-90) the flip of rows, P R(90) that of columns and
 * R(a) P = P R(-a), every change is an exchange of t and a sum of angles: no quarter turn is ever rounded.
 */
#include <math.h>

#include "geometry/result.h"

typedef struct orientation {
    bool known, transpose;
    double rotation_deg;
} orientation;

static orientation take(const ronchi_acquisition *acquisition)
{
    ronchi_calibration c;
    ronchi_scientific_calibration(acquisition->scientific, &c);
    return (orientation){c.det_rotation.known != 0, c.det_transpose != 0, c.det_rotation.value};
}

static ronchi_status put(ronchi_acquisition *acquisition, orientation o, ronchi_error *err)
{
    ronchi_calibration c;
    ronchi_scientific_calibration(acquisition->scientific, &c);
    double turns = ceil((o.rotation_deg - 180.0) / 360.0); /* into (-180, 180] */
    if (ronchi_scientific_orient(acquisition->scientific, o.rotation_deg - 360.0 * turns, o.transpose,
                                 c.det_rotation.provenance, NULL) != RONCHI_OK)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "no memory for metadata");
    return RONCHI_OK;
}

ronchi_status ronchi_result_orient_rotated(ronchi_acquisition *acquisition, double angle_deg, ronchi_error *err)
{
    orientation o = take(acquisition);
    if (!o.known)
        return RONCHI_OK;
    o.rotation_deg -= angle_deg;
    return put(acquisition, o, err);
}

ronchi_status ronchi_result_orient_transposed(ronchi_acquisition *acquisition, ronchi_result_axes axes,
                                              ronchi_error *err)
{
    orientation o = take(acquisition);
    if (!o.known)
        return RONCHI_OK;
    o.transpose = !o.transpose;
    if (axes == RONCHI_RESULT_SCAN)
        o.rotation_deg = -o.rotation_deg;
    return put(acquisition, o, err);
}

/* Of the scan: M F = P^t R(a) P R(b) = P^(t+1) R(b - a), with b = -90 for rows, 90 for columns. */
static void flip_scan(orientation *o, double b)
{
    o->transpose = !o->transpose;
    o->rotation_deg = b - o->rotation_deg;
}

/* Of the detector: F M = P R(b) P^t R(a), which is P R(a + b) without P before, and R(a - b) with. */
static void flip_det(orientation *o, double b)
{
    o->rotation_deg += o->transpose ? -b : b;
    o->transpose = !o->transpose;
}

ronchi_status ronchi_result_orient_flipped(ronchi_acquisition *acquisition, uint32_t flips, ronchi_error *err)
{
    orientation o = take(acquisition);
    if (!o.known)
        return RONCHI_OK;
    if (flips & RONCHI_FLIP_SCAN_ROWS)
        flip_scan(&o, -90.0);
    if (flips & RONCHI_FLIP_SCAN_COLS)
        flip_scan(&o, 90.0);
    if (flips & RONCHI_FLIP_DET_ROWS)
        flip_det(&o, -90.0);
    if (flips & RONCHI_FLIP_DET_COLS)
        flip_det(&o, 90.0);
    return put(acquisition, o, err);
}
