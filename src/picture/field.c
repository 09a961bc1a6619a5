/* SPDX-License-Identifier: MIT */
/* field.c - a vector field in colours: the hue is the direction, the brightness the length; with the wheel to read it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture/canvas.h"
#include "picture/grey.h"

static const double PI = 3.14159265358979324;
enum { WHEEL = 34, MARGIN = 5 }; /* diameter of the wheel and room around it, in text points */

/* Hue from the angle counter-clockwise from the right as displayed (red; 120 degrees green, 240 blue), full colours,
 * brightness 0..1. */
static void colour_of(double row, double col, double brightness, uint8_t rgb[3])
{
    double sextant = atan2(-row, col) * 3.0 / PI;
    for (int k = 0; k < 3; k++) {
        double away = fabs(remainder(sextant - 2.0 * k, 6.0)); /* 0 at the pure colour, 3 opposite */
        rgb[k] = (uint8_t)lrint(255.0 * brightness * fmin(fmax(2.0 - away, 0.0), 1.0));
    }
}

static void paint(ronchi_canvas *canvas, const ronchi_values *row, const ronchi_values *col, double longest,
                  size_t factor)
{
    static const uint8_t grey[3] = {128, 128, 128};
    for (size_t i = 0; i < row->rows * row->cols; i++) {
        double r = row->at[i], c = col->at[i], length = hypot(r, c);
        uint8_t rgb[3] = {0, 0, 0};
        if (longest > 0.0)
            colour_of(r, c, fmin(length / longest, 1.0), rgb);
        ronchi_canvas_square(canvas, i / row->cols * factor, i % row->cols * factor, factor,
                             isfinite(length) ? rgb : grey);
    }
}

/* At the right end of the strip: each colour where it points to. */
static void draw_wheel(ronchi_canvas *canvas, const ronchi_layout *layout)
{
    double radius = 0.5 * WHEEL * (double)layout->scale;
    size_t top = layout->strip + MARGIN * layout->scale, size = WHEEL * layout->scale,
           left = canvas->cols > size + MARGIN * layout->scale ? canvas->cols - size - MARGIN * layout->scale : 0;
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) {
            double y = (double)i + 0.5 - radius, x = (double)j + 0.5 - radius, r = hypot(x, y) / radius;
            uint8_t rgb[3];
            if (r > 1.0)
                continue;
            colour_of(y, x, r, rgb);
            ronchi_canvas_square(canvas, top + i, left + j, 1, rgb);
        }
}

/* The length that gets full brightness: the high percentile. */
static ronchi_status find_longest(const ronchi_values *row, const ronchi_values *col,
                                  const ronchi_picture_options *options, double *out, ronchi_error *err)
{
    ronchi_picture_options lengths = *options;
    ronchi_values v = {row->rows, row->cols, malloc(row->rows * row->cols * sizeof(double))};
    ronchi_range range;
    if (!v.at)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a picture of %zu x %zu",
                           row->rows, row->cols);
    for (size_t i = 0; i < row->rows * row->cols; i++)
        v.at[i] = hypot(row->at[i], col->at[i]);
    lengths.signed_range = 1; /* from 0 on */
    ronchi_status status = ronchi_range_find(&v, &lengths, &range, err);
    *out = range.high;
    free(v.at);
    return status;
}

ronchi_status ronchi_picture_field_png(const char *path, const ronchi_view *row, const ronchi_view *col,
                                       const ronchi_picture_options *options, ronchi_error *err)
{
    ronchi_picture_options checked;
    ronchi_values rows = {0, 0, NULL}, cols = {0, 0, NULL};
    ronchi_canvas canvas = {0, 0, 3, NULL};
    ronchi_layout layout;
    double longest = 0.0;
    ronchi_status status = ronchi_picture_check(path, row, options, &checked, err);
    if (status == RONCHI_OK)
        status = ronchi_picture_check(path, col, options, &checked, err);
    if (status == RONCHI_OK && !ronchi_view_is(col, 1, 1, row->shape[2], row->shape[3]))
        status = ronchi_fail(err, RONCHI_ERR_SHAPE, path, RONCHI_NO_OFFSET,
                             "the two components of a field must have one shape");
    if (status == RONCHI_OK)
        status = ronchi_values_read(row, &rows, err);
    if (status == RONCHI_OK)
        status = ronchi_values_read(col, &cols, err);
    if (status == RONCHI_OK)
        status = find_longest(&rows, &cols, &checked, &longest, err);
    if (status == RONCHI_OK)
        status = ronchi_canvas_new(path, rows.rows, rows.cols, 3, WHEEL + 2 * MARGIN, &checked, &canvas, &layout, err);
    if (status == RONCHI_OK) {
        char text[128];
        snprintf(text, sizeof text, "hue: direction, red to the right, counter-clockwise; full brightness %.9g",
                 longest);
        paint(&canvas, &rows, &cols, longest, layout.factor);
        draw_wheel(&canvas, &layout);
        status = ronchi_png_write(path, &canvas, text, checked.force, err);
    }
    free(canvas.bytes);
    ronchi_values_free(&rows);
    ronchi_values_free(&cols);
    return status;
}
