/* SPDX-License-Identifier: MIT */
/* rotate_view.c - rotation of the first two axes of a dense array: exact, nearest or bilinear. */
#include <math.h>
#include <string.h>

#include "geometry/rotation.h"

typedef struct turn {
    const ronchi_rotation *rotation;
    const ronchi_view *in, *out;
    double fill;
} turn;

/* Whole numbers that the integer types hold exactly; any number for floats. */
static bool put_number(void *to, ronchi_dtype dtype, double v)
{
    bool whole = v >= 0 && v <= 9007199254740992.0 && v == floor(v);
    uint64_t u = whole ? (uint64_t)v : 0;
    switch (dtype) {
    case RONCHI_U8:
        *(uint8_t *)to = (uint8_t)u;
        return whole && u <= UINT8_MAX;
    case RONCHI_U16:
        *(uint16_t *)to = (uint16_t)u;
        return whole && u <= UINT16_MAX;
    case RONCHI_U32:
        *(uint32_t *)to = (uint32_t)u;
        return whole && u <= UINT32_MAX;
    case RONCHI_U64:
        *(uint64_t *)to = u;
        return whole;
    case RONCHI_F32:
        *(float *)to = (float)v;
        return true;
    case RONCHI_F64:
        *(double *)to = v;
        return true;
    }
    return false;
}

static double get_number(const void *from, ronchi_dtype dtype)
{
    switch (dtype) {
    case RONCHI_U8:
        return *(const uint8_t *)from;
    case RONCHI_U16:
        return *(const uint16_t *)from;
    case RONCHI_U32:
        return *(const uint32_t *)from;
    case RONCHI_U64:
        return (double)*(const uint64_t *)from;
    case RONCHI_F32:
        return (double)*(const float *)from;
    case RONCHI_F64:
        return *(const double *)from;
    }
    return 0;
}

static void put_nearest(const turn *t, size_t i, size_t j)
{
    size_t from, size = ronchi_dtype_size(t->in->dtype), cols = t->rotation->cols;
    bool inside = ronchi_rotation_nearest(t->rotation, i, j, &from);
    for (size_t a = 0; a < t->in->shape[2]; a++)
        for (size_t b = 0; b < t->in->shape[3]; b++) {
            void *to = ronchi_view_at(t->out, i, j, a, b);
            if (inside)
                memcpy(to, ronchi_view_at(t->in, from / cols, from % cols, a, b), size);
            else
                put_number(to, t->in->dtype, t->fill);
        }
}

/*
 * value = fill + sum over the corners inside of (corner - fill) x weight.  A fill that is no number must not spread to
 * where it has no part: there 0 stands in for it, and elsewhere the value is the fill itself.
 */
static void put_bilinear(const turn *t, size_t i, size_t j)
{
    double row, col;
    ronchi_rotation_point(t->rotation, i, j, &row, &col);
    double r0 = floor(row), c0 = floor(col), fr = row - r0, fc = col - c0;
    const double weights[4] = {(1 - fr) * (1 - fc), (1 - fr) * fc, fr * (1 - fc), fr * fc};
    double base = isfinite(t->fill) ? t->fill : 0;
    for (size_t a = 0; a < t->in->shape[2]; a++)
        for (size_t b = 0; b < t->in->shape[3]; b++) {
            double sum = 0, taken = 0;
            for (int k = 0; k < 4; k++) {
                double r = r0 + k / 2, c = c0 + k % 2;
                if (weights[k] > 0 && r >= 0 && r < (double)t->rotation->rows && c >= 0 &&
                    c < (double)t->rotation->cols) {
                    sum += (get_number(ronchi_view_at(t->in, (size_t)r, (size_t)c, a, b), t->in->dtype) - base) *
                           weights[k];
                    taken += weights[k];
                }
            }
            bool partly = taken < 1 - 1e-12 && !isfinite(t->fill);
            *(float *)ronchi_view_at(t->out, i, j, a, b) = (float)(partly ? t->fill : base + sum);
        }
}

static ronchi_status nearest_row(void *user, size_t i, size_t worker, ronchi_error *err)
{
    const turn *t = user;
    (void)worker;
    (void)err;
    for (size_t j = 0; j < t->rotation->out_cols; j++)
        put_nearest(t, i, j);
    return RONCHI_OK;
}

static ronchi_status bilinear_row(void *user, size_t i, size_t worker, ronchi_error *err)
{
    const turn *t = user;
    (void)worker;
    (void)err;
    for (size_t j = 0; j < t->rotation->out_cols; j++)
        put_bilinear(t, i, j);
    return RONCHI_OK;
}

static bool is_array(const ronchi_view *view)
{
    return view && ronchi_view_is(view, view->shape[0], view->shape[1], view->shape[2], view->shape[3]) &&
           ronchi_dtype_size(view->dtype);
}

ronchi_status ronchi_geometry_rotate_view(ronchi_context *context, const ronchi_view *in, double angle_deg,
                                          const ronchi_rotate_options *options, const ronchi_view *out,
                                          const ronchi_view *valid, ronchi_error *err)
{
    ronchi_rotate_options chosen;
    ronchi_rotation rotation;
    double scratch;
    ronchi_status status = ronchi_rotate_options_take(options, &chosen, err);
    if (status == RONCHI_OK && !is_array(in))
        status = ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                             "the array to rotate must be on the host and not empty");
    if (status == RONCHI_OK)
        status = ronchi_rotation_check(in->shape[0], in->shape[1], angle_deg, &chosen, valid, &rotation, err);
    if (status != RONCHI_OK)
        return status;
    bool bilinear = !rotation.quarter && chosen.interpolation != RONCHI_INTERPOLATE_NEAREST;
    ronchi_dtype dtype = bilinear ? RONCHI_F32 : in->dtype;
    if (!ronchi_view_is(out, rotation.out_rows, rotation.out_cols, in->shape[2], in->shape[3]) || out->dtype != dtype)
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "the rotated array must be %s of %zu x %zu x %zu x %zu", ronchi_dtype_name(dtype),
                           rotation.out_rows, rotation.out_cols, in->shape[2], in->shape[3]);
    if (!bilinear && !put_number(&scratch, dtype, chosen.fill))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "%g is no value of %s to fill with",
                           chosen.fill, ronchi_dtype_name(dtype));
    turn t = {&rotation, in, out, chosen.fill};
    status = ronchi_parallel_for(context, rotation.out_rows, bilinear ? bilinear_row : nearest_row, &t, err);
    if (status == RONCHI_OK && valid)
        ronchi_rotation_fill_valid(&rotation, valid);
    return status;
}
