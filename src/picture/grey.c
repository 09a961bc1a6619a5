/* SPDX-License-Identifier: MIT */
/* grey.c - see the header. */
#include "picture/grey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ronchi_picture_options_defaults(ronchi_picture_options *options)
{
    *options = (ronchi_picture_options){
        .struct_size = sizeof *options,
        .gamma = 0.5,
        .low_percent = 2.0,
        .high_percent = 98.0,
    };
}

ronchi_status ronchi_picture_check(const char *path, const ronchi_view *view, const ronchi_picture_options *options,
                                   ronchi_picture_options *out, ronchi_error *err)
{
    if (!path)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "a picture needs a path");
    if (options && options->struct_size != sizeof *options)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET,
                           "ronchi_picture_options has %zu bytes, expected %zu: start from _defaults()",
                           options->struct_size, sizeof *options);
    if (options)
        *out = *options;
    else
        ronchi_picture_options_defaults(out);
    if (!view || view->shape[2] == 0 || view->shape[3] == 0 || ronchi_dtype_size(view->dtype) == 0 ||
        !ronchi_view_is(view, 1, 1, view->shape[2], view->shape[3]))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, path, RONCHI_NO_OFFSET,
                           "a picture is made of one [row][col] host array");
    if (!(out->low_percent >= 0.0 && out->low_percent <= out->high_percent && out->high_percent <= 100.0))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET,
                           "percentiles %.6g and %.6g: need 0 <= low <= high <= 100", out->low_percent,
                           out->high_percent);
    if (out->scaling < RONCHI_SCALE_LINEAR || out->scaling > RONCHI_SCALE_LOG)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "unknown scaling %d", (int)out->scaling);
    if (out->scaling == RONCHI_SCALE_GAMMA && !(out->gamma > 0.0 && isfinite(out->gamma)))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "gamma is %.6g, but must be above 0",
                           out->gamma);
    if (out->pixel_size != 0.0 && !(out->pixel_size > 0.0 && isfinite(out->pixel_size)))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "a pixel of %.6g has no size",
                           out->pixel_size);
    if (out->ignore &&
        (out->ignore->dtype != RONCHI_U8 || !ronchi_view_is(out->ignore, 1, 1, view->shape[2], view->shape[3])))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, path, RONCHI_NO_OFFSET,
                           "the pixels to ignore are not %zu x %zu uint8", view->shape[2], view->shape[3]);
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------- values */

static double element(const void *at, ronchi_dtype dtype)
{
    switch (dtype) {
    case RONCHI_U8:
        return *(const uint8_t *)at;
    case RONCHI_U16: {
        uint16_t v;
        memcpy(&v, at, sizeof v); /* strides may leave elements unaligned */
        return v;
    }
    case RONCHI_U32: {
        uint32_t v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    case RONCHI_U64: {
        uint64_t v;
        memcpy(&v, at, sizeof v);
        return (double)v;
    }
    case RONCHI_F32: {
        float v;
        memcpy(&v, at, sizeof v);
        return (double)v;
    }
    default: {
        double v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    }
}

ronchi_status ronchi_values_read(const ronchi_view *view, ronchi_values *out, ronchi_error *err)
{
    size_t n, bytes;
    *out = (ronchi_values){view->shape[2], view->shape[3], NULL};
    if (ronchi_mul(out->rows, out->cols, &n) && ronchi_mul(n, sizeof(double), &bytes))
        out->at = malloc(bytes);
    if (!out->at)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a picture of %zu x %zu",
                           out->rows, out->cols);
    for (size_t i = 0; i < out->rows; i++)
        for (size_t j = 0; j < out->cols; j++)
            out->at[i * out->cols + j] = element(ronchi_view_at(view, 0, 0, i, j), view->dtype);
    return RONCHI_OK;
}

void ronchi_values_free(ronchi_values *values)
{
    free(values->at);
    values->at = NULL;
}

/* -------------------------------------------------------------------------------------------------- percentiles */

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

/* The k-th smallest; reorders v.  Values equal to the pivot are set apart, as pictures hold few different counts. */
static double select_rank(double *v, size_t n, size_t k)
{
    size_t low = 0, high = n; /* the k-th is in [low, high) */
    while (high - low > 1) {
        double a = v[low], b = v[low + (high - low) / 2], c = v[high - 1];
        double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
        size_t less = low, at = low, more = high;
        while (at < more) {
            if (v[at] < pivot)
                swap(&v[less++], &v[at++]);
            else if (v[at] > pivot)
                swap(&v[at], &v[--more]);
            else
                at++;
        }
        if (k < less)
            high = less;
        else if (k >= more)
            low = more;
        else
            return pivot;
    }
    return v[low];
}

static double percentile(double *v, size_t n, double percent)
{
    double rank = percent / 100.0 * (double)(n - 1), whole = floor(rank);
    double a = select_rank(v, n, (size_t)whole);
    if (rank == whole)
        return a;
    double b = select_rank(v, n, (size_t)whole + 1);
    return a + (rank - whole) * (b - a);
}

static void extremes(const double *v, size_t n, ronchi_range *out)
{
    out->low = out->high = v[0];
    for (size_t i = 1; i < n; i++) {
        out->low = fmin(out->low, v[i]);
        out->high = fmax(out->high, v[i]);
    }
}

/* The values that count, in v; returns how many. */
static size_t gather(const ronchi_values *values, const ronchi_picture_options *options, double *v)
{
    size_t n = 0;
    for (size_t i = 0; i < values->rows; i++)
        for (size_t j = 0; j < values->cols; j++) {
            double x = values->at[i * values->cols + j];
            if (!isfinite(x) || (options->ignore && *(const uint8_t *)ronchi_view_at(options->ignore, 0, 0, i, j)))
                continue;
            if (options->signed_range)
                x = fabs(x);
            else if (options->scaling == RONCHI_SCALE_LOG && !(x > 0.0))
                continue;
            v[n++] = x;
        }
    return n;
}

ronchi_status ronchi_range_find(const ronchi_values *values, const ronchi_picture_options *options, ronchi_range *out,
                                ronchi_error *err)
{
    size_t all = values->rows * values->cols; /* fitted memory as double before */
    double *v = malloc(all * sizeof *v);
    if (!v)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a picture of %zu x %zu",
                           values->rows, values->cols);
    size_t n = gather(values, options, v);
    *out = (ronchi_range){(double)NAN, (double)NAN};
    if (n > 0 && options->signed_range) {
        out->high = percentile(v, n, options->high_percent);
        if (out->high == 0.0)
            extremes(v, n, out);
        out->low = -out->high;
    } else if (n > 0) {
        out->low = percentile(v, n, options->low_percent);
        out->high = percentile(v, n, options->high_percent);
        if (!(out->low < out->high)) /* nearly all of it is one value: let the rest be seen */
            extremes(v, n, out);
    }
    free(v);
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------- levels */

uint8_t ronchi_grey_level(const ronchi_picture_options *options, const ronchi_range *range, double value)
{
    double low = range->low, high = range->high, t;
    if (isnan(value) || (isnan(low) && !isinf(value)))
        return 0;
    if (value == INFINITY || value == -INFINITY)
        return value > 0.0 ? 255 : 0;
    if (options->scaling == RONCHI_SCALE_LOG) {
        if (!(value > 0.0))
            return 0;
        if (low == high)
            return 127;
        t = (log(value) - log(low)) / (log(high) - log(low));
    } else {
        if (low == high)
            return value < low ? 0 : value > high ? 255 : 127;
        t = value / (high - low) - low / (high - low); /* the difference of the values alone might overflow */
    }
    t = fmin(fmax(t, 0.0), 1.0);
    if (options->scaling == RONCHI_SCALE_GAMMA)
        t = pow(t, options->gamma);
    return (uint8_t)lrint(255.0 * t);
}

void ronchi_signed_colour(const ronchi_range *range, double value, uint8_t rgb[3])
{
    /* from 0 outwards: white, a light and a full tone; lightness falls evenly on both sides */
    static const double blue[3][3] = {{255, 255, 255}, {120, 170, 225}, {20, 55, 150}};
    static const double red[3][3] = {{255, 255, 255}, {235, 140, 110}, {150, 15, 35}};
    if (isnan(value)) {
        memset(rgb, 128, 3);
        return;
    }
    double t = range->high > 0.0 ? fmin(fabs(value) / range->high, 1.0) : isinf(value) ? 1.0 : 0.0;
    const double(*tone)[3] = value < 0.0 ? blue : red;
    size_t step = t < 0.5 ? 0 : 1;
    double part = 2.0 * t - (double)step;
    for (size_t i = 0; i < 3; i++)
        rgb[i] = (uint8_t)lrint(tone[step][i] + part * (tone[step + 1][i] - tone[step][i]));
}
