/* SPDX-License-Identifier: MIT */
/* rotation.c - the map of a rotation, and its options. */
#include "geometry/rotation.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979324;

/* Sides whose coordinates, sums and products are exact or safe in float64 and size_t. */
static const size_t MOST_SIDE = (size_t)1 << 31;

static bool is_quarter(double angle, double turns)
{
    double right = 90.0 * turns, tolerance = fmax(1e-9 * fmax(fabs(angle), fabs(right)), 1e-10);
    return fabs(angle - right) <= tolerance;
}

static void plan_quarter(ronchi_rotation *r, double turns, bool same)
{
    r->quarter = true;
    r->turns = (int)(turns - 4.0 * floor(turns / 4.0));
    bool odd = r->turns % 2 != 0;
    size_t turned_rows = odd ? r->cols : r->rows, turned_cols = odd ? r->rows : r->cols;
    r->out_rows = same ? r->rows : turned_rows;
    r->out_cols = same ? r->cols : turned_cols;
    r->copy_rows = ronchi_min_size(turned_rows, r->out_rows);
    r->copy_cols = ronchi_min_size(turned_cols, r->out_cols);
    r->from_row = (turned_rows - r->copy_rows) / 2;
    r->from_col = (turned_cols - r->copy_cols) / 2;
    r->to_row = (r->out_rows - r->copy_rows) / 2;
    r->to_col = (r->out_cols - r->copy_cols) / 2;
}

ronchi_status ronchi_rotation_plan(size_t rows, size_t cols, double angle_deg, int32_t output, ronchi_rotation *out)
{
    memset(out, 0, sizeof *out);
    bool same = output == RONCHI_ROTATE_SAME;
    if (!isfinite(angle_deg) || !rows || !cols || rows > MOST_SIDE || cols > MOST_SIDE ||
        (!same && output != RONCHI_ROTATE_FULL))
        return RONCHI_ERR_ARGUMENT;
    out->rows = rows;
    out->cols = cols;
    double turns = round(angle_deg / 90.0);
    if (is_quarter(angle_deg, turns)) {
        plan_quarter(out, turns, same);
        return RONCHI_OK;
    }
    double angle = angle_deg * (PI / 180.0);
    out->cosine = cos(angle);
    out->sine = sin(angle);
    double height = ceil((double)rows * fabs(out->cosine) + (double)cols * fabs(out->sine));
    double width = ceil((double)rows * fabs(out->sine) + (double)cols * fabs(out->cosine));
    out->out_rows = same ? rows : (size_t)fmax(height, 1.0);
    out->out_cols = same ? cols : (size_t)fmax(width, 1.0);
    return RONCHI_OK;
}

ronchi_status ronchi_geometry_rotated_shape(size_t rows, size_t cols, double angle_deg, int32_t output,
                                            size_t *out_rows, size_t *out_cols)
{
    ronchi_rotation rotation;
    ronchi_status status = ronchi_rotation_plan(rows, cols, angle_deg, output, &rotation);
    *out_rows = rotation.out_rows;
    *out_cols = rotation.out_cols;
    return status;
}

void ronchi_rotation_point(const ronchi_rotation *r, size_t i, size_t j, double *row, double *col)
{
    double y = (double)i - (double)(r->out_rows - 1) / 2.0, x = (double)j - (double)(r->out_cols - 1) / 2.0;
    *row = r->sine * x + r->cosine * y + (double)(r->rows - 1) / 2.0;
    *col = r->cosine * x - r->sine * y + (double)(r->cols - 1) / 2.0;
}

/* numpy.rot90: turned[a][b] of 'turns' quarter turns counter-clockwise. */
static size_t quarter_source(const ronchi_rotation *r, size_t a, size_t b)
{
    switch (r->turns) {
    case 0:
        return a * r->cols + b;
    case 1:
        return b * r->cols + (r->cols - 1 - a);
    case 2:
        return (r->rows - 1 - a) * r->cols + (r->cols - 1 - b);
    default:
        return (r->rows - 1 - b) * r->cols + a;
    }
}

static bool quarter_inside(const ronchi_rotation *r, size_t i, size_t j)
{
    return i >= r->to_row && i - r->to_row < r->copy_rows && j >= r->to_col && j - r->to_col < r->copy_cols;
}

bool ronchi_rotation_nearest(const ronchi_rotation *r, size_t i, size_t j, size_t *position)
{
    if (r->quarter) {
        if (!quarter_inside(r, i, j))
            return false;
        *position = quarter_source(r, i - r->to_row + r->from_row, j - r->to_col + r->from_col);
        return true;
    }
    double row, col;
    ronchi_rotation_point(r, i, j, &row, &col);
    row = rint(row);
    col = rint(col);
    if (!(row >= 0 && row < (double)r->rows && col >= 0 && col < (double)r->cols))
        return false;
    *position = (size_t)row * r->cols + (size_t)col;
    return true;
}

bool ronchi_rotation_valid(const ronchi_rotation *r, size_t i, size_t j)
{
    if (r->quarter)
        return quarter_inside(r, i, j);
    double row, col;
    ronchi_rotation_point(r, i, j, &row, &col);
    return row >= 0 && row <= (double)(r->rows - 1) && col >= 0 && col <= (double)(r->cols - 1);
}

/* ------------------------------------------------------------------------------------------------------ options */

void ronchi_rotate_options_defaults(ronchi_rotate_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

ronchi_status ronchi_rotate_options_take(const ronchi_rotate_options *given, ronchi_rotate_options *chosen,
                                         ronchi_error *err)
{
    ronchi_rotate_options_defaults(chosen);
    if (!given)
        return RONCHI_OK;
    if (given->struct_size != sizeof *chosen)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "rotate options of no known version");
    *chosen = *given;
    if (given->interpolation < RONCHI_INTERPOLATE_AUTO || given->interpolation > RONCHI_INTERPOLATE_BILINEAR)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "unknown interpolation %d",
                           (int)given->interpolation);
    return RONCHI_OK;
}

ronchi_status ronchi_rotation_check(size_t rows, size_t cols, double angle_deg, const ronchi_rotate_options *options,
                                    const ronchi_view *valid, ronchi_rotation *out, ronchi_error *err)
{
    if (options->output != RONCHI_ROTATE_FULL && options->output != RONCHI_ROTATE_SAME)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "the output of a rotation is full or same");
    if (ronchi_rotation_plan(rows, cols, angle_deg, options->output, out) != RONCHI_OK)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "a scan of %zu x %zu cannot be turned by %g degrees", rows, cols, angle_deg);
    if (valid && (!ronchi_view_is(valid, 1, 1, out->out_rows, out->out_cols) || valid->dtype != RONCHI_U8))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "the validity mask must be uint8 of the rotated shape %zu x %zu", out->out_rows,
                           out->out_cols);
    return RONCHI_OK;
}

void ronchi_rotation_fill_valid(const ronchi_rotation *r, const ronchi_view *valid)
{
    for (size_t i = 0; i < r->out_rows; i++)
        for (size_t j = 0; j < r->out_cols; j++)
            *(uint8_t *)ronchi_view_at(valid, 0, 0, i, j) = ronchi_rotation_valid(r, i, j);
}
