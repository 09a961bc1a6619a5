/* SPDX-License-Identifier: MIT */
/* dpc.h - the parts of ronchi_dpc_run(), over plain arrays [rows][cols]. */
#ifndef RONCHI_DPC_DPC_H
#define RONCHI_DPC_DPC_H

#include "resident/acquisition.h"
#include "ronchi/dpc.h"

/*
 * ronchi_dpc_take_background() subtracts the undeflected beam from one component in place, fitted to valid positions by
 * least squares; invalid ones become 0.  fit: constant, per row, per column.
 */
void ronchi_dpc_take_background(ronchi_dpc_background background, size_t rows, size_t cols, const uint8_t *valid,
                                double *values, double fit[3]);

/*
 * ronchi_dpc_derive() hands out the first derivatives of a field, smoothed by a Gaussian of 'sigma' (in the larger of
 * both steps), at every position that has all of its neighbours and no invalid one among them, in row-major order.
 *   take()  row and column within the rows x cols positions that have all neighbours; out: row component along rows and
 * columns, column component along rows and columns RONCHI_ERR_MEMORY
 */
typedef struct ronchi_dpc_derivatives {
    const double *row, *col; /* [rows][cols] */
    const uint8_t *valid;    /* or NULL */
    size_t rows, cols;
    double step[2];
    void (*take)(void *user, size_t r, size_t rows, size_t c, size_t cols, const double out[4]);
    void *user;
} ronchi_dpc_derivatives;
ronchi_status ronchi_dpc_derive(const ronchi_dpc_derivatives *derivatives, double sigma);

/* ronchi_dpc_find_rotation_of() is ronchi_dpc_find_rotation() for a detector whose transpose (0, 1) is known; -1: not.
 */
ronchi_status ronchi_dpc_find_rotation_of(const ronchi_view *row, const ronchi_view *col, const ronchi_view *valid,
                                          double step_row, double step_col, int transpose, ronchi_dpc_alignment *out,
                                          ronchi_error *err);

/* ronchi_dpc_find_units() says what one pixel and one step stand for; never fails for want of a calibration. */
ronchi_status ronchi_dpc_find_units(const ronchi_acquisition *acquisition, ronchi_dpc_units *out, ronchi_error *err);

#endif
