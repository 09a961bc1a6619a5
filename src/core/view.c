/* SPDX-License-Identifier: MIT */
/* view.c - dtypes, checked sizes, shapes, regions and views. */
#include <string.h>

#include "core/internal.h"

size_t ronchi_dtype_size(ronchi_dtype dtype)
{
    switch (dtype) {
    case RONCHI_U8:
        return 1;
    case RONCHI_U16:
        return 2;
    case RONCHI_U32:
    case RONCHI_F32:
        return 4;
    case RONCHI_U64:
    case RONCHI_F64:
        return 8;
    }
    return 0;
}

const char *ronchi_dtype_name(ronchi_dtype dtype)
{
    switch (dtype) {
    case RONCHI_U8:
        return "uint8";
    case RONCHI_U16:
        return "uint16";
    case RONCHI_U32:
        return "uint32";
    case RONCHI_U64:
        return "uint64";
    case RONCHI_F32:
        return "float32";
    case RONCHI_F64:
        return "float64";
    }
    return "?";
}

bool ronchi_mul(size_t a, size_t b, size_t *out)
{
    if (b && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool ronchi_add(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

bool ronchi_shape_scan(const ronchi_shape *shape, size_t *n_positions)
{
    return shape->scan_rows && shape->scan_cols && ronchi_mul(shape->scan_rows, shape->scan_cols, n_positions);
}

bool ronchi_shape_detector(const ronchi_shape *shape, size_t *n_pixels)
{
    return shape->det_rows && shape->det_cols && ronchi_mul(shape->det_rows, shape->det_cols, n_pixels);
}

bool ronchi_shape_elements(const ronchi_shape *shape, size_t *n_elements)
{
    size_t n_positions, n_pixels;
    return ronchi_shape_scan(shape, &n_positions) && ronchi_shape_detector(shape, &n_pixels) &&
           ronchi_mul(n_positions, n_pixels, n_elements);
}

ronchi_region ronchi_region_all(const ronchi_shape *shape)
{
    ronchi_region region = {0, shape->scan_rows, 0, shape->scan_cols, 0, shape->det_rows, 0, shape->det_cols};
    return region;
}

static bool axis_inside(size_t first, size_t n, size_t size)
{
    return n && n <= size && first <= size - n;
}

bool ronchi_region_inside(const ronchi_region *region, const ronchi_shape *shape)
{
    return axis_inside(region->scan_row, region->scan_rows, shape->scan_rows) &&
           axis_inside(region->scan_col, region->scan_cols, shape->scan_cols) &&
           axis_inside(region->det_row, region->det_rows, shape->det_rows) &&
           axis_inside(region->det_col, region->det_cols, shape->det_cols);
}

ronchi_view ronchi_view_4d(void *data, ronchi_dtype dtype, const ronchi_shape *shape)
{
    ronchi_view view;
    size_t n_elements, n_bytes;
    memset(&view, 0, sizeof view);
    view.dtype = dtype;
    view.shape[0] = shape->scan_rows;
    view.shape[1] = shape->scan_cols;
    view.shape[2] = shape->det_rows;
    view.shape[3] = shape->det_cols;
    if (!ronchi_shape_elements(shape, &n_elements) || !ronchi_mul(n_elements, ronchi_dtype_size(dtype), &n_bytes) ||
        n_bytes == 0 || n_bytes > PTRDIFF_MAX)
        return view;
    view.data = data;
    ptrdiff_t step = (ptrdiff_t)ronchi_dtype_size(dtype);
    for (int axis = 3; axis >= 0; axis--) {
        view.stride[axis] = step;
        step *= (ptrdiff_t)view.shape[axis];
    }
    return view;
}

ronchi_view ronchi_view_2d(void *data, ronchi_dtype dtype, size_t rows, size_t cols)
{
    ronchi_shape shape = {1, 1, rows, cols};
    return ronchi_view_4d(data, dtype, &shape);
}

bool ronchi_view_is(const ronchi_view *view, size_t n0, size_t n1, size_t n2, size_t n3)
{
    return ronchi_view_near(view, RONCHI_HOST, 0, n0, n1, n2, n3);
}

bool ronchi_view_near(const ronchi_view *view, ronchi_place place, int32_t device, size_t n0, size_t n1, size_t n2,
                      size_t n3)
{
    return view && view->data && (view->place == RONCHI_HOST || (view->place == place && view->device == device)) &&
           view->shape[0] == n0 && view->shape[1] == n1 && view->shape[2] == n2 && view->shape[3] == n3;
}
