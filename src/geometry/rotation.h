/* SPDX-License-Identifier: MIT */
/*
 * rotation.h - where the positions of a rotated scan come from: pure arithmetic, shared by encoded and dense.
 *
 * With i, j a position of the result and y = i - (out_rows - 1) / 2, x = j - (out_cols - 1) / 2 (float64):
 *   source row = sin x + cos y + (rows - 1) / 2
 *   source col = cos x - sin y + (cols - 1) / 2
 * At quarter turns this is numpy.rot90, done in integers.
 */
#ifndef RONCHI_GEOMETRY_ROTATION_H
#define RONCHI_GEOMETRY_ROTATION_H

#include "core/internal.h"
#include "ronchi/geometry.h"

typedef struct ronchi_rotation {
    size_t rows, cols, out_rows, out_cols;
    bool quarter; /* exact: 'turns' x 90 degrees */
    int turns;    /* 0..3 */
    double cosine, sine;
    size_t copy_rows, copy_cols; /* quarter turns: what of the turned scan lies in the result, */
    size_t from_row, from_col;   /* its beginning there */
    size_t to_row, to_col;       /* and in the result */
} ronchi_rotation;

/* ronchi_rotation_plan() as ronchi_geometry_rotated_shape(). */
ronchi_status ronchi_rotation_plan(size_t rows, size_t cols, double angle_deg, int32_t output, ronchi_rotation *out);

/* ronchi_rotation_point() gives the place in the source, unrounded.  Not for quarter turns. */
void ronchi_rotation_point(const ronchi_rotation *rotation, size_t i, size_t j, double *row, double *col);

/* ronchi_rotation_nearest() gives the source position of (i, j) as a flattened index; false when there is none. */
bool ronchi_rotation_nearest(const ronchi_rotation *rotation, size_t i, size_t j, size_t *position);

/* ronchi_rotation_valid(): true when (i, j) lies inside the scan before rounding. */
bool ronchi_rotation_valid(const ronchi_rotation *rotation, size_t i, size_t j);

/* ronchi_rotate_options_take() checks options (NULL: defaults).  RONCHI_ERR_ARGUMENT */
ronchi_status ronchi_rotate_options_take(const ronchi_rotate_options *given, ronchi_rotate_options *chosen,
                                         ronchi_error *err);

/* ronchi_rotation_check() plans with a message for every refusal. */
ronchi_status ronchi_rotation_check(size_t rows, size_t cols, double angle_deg, const ronchi_rotate_options *options,
                                    const ronchi_view *valid, ronchi_rotation *out, ronchi_error *err);

/* ronchi_rotation_fill_valid() writes the validity mask, [out_rows][out_cols] u8 in the view's last two axes. */
void ronchi_rotation_fill_valid(const ronchi_rotation *rotation, const ronchi_view *valid);

#endif
