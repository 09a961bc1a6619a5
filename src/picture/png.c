/* SPDX-License-Identifier: MIT */
/* png.c - one array as an 8-bit PNG, grey or in two colours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture/canvas.h"
#include "picture/grey.h"

/* Each number becomes a square of 'factor' canvas pixels. */
static void paint(ronchi_canvas *canvas, const ronchi_values *values, const ronchi_picture_options *options,
                  const ronchi_range *range, size_t factor)
{
    for (size_t i = 0; i < values->rows; i++)
        for (size_t j = 0; j < values->cols; j++) {
            uint8_t rgb[3];
            double value = values->at[i * values->cols + j];
            if (canvas->channels == 3)
                ronchi_signed_colour(range, value, rgb);
            else
                rgb[0] = ronchi_grey_level(options, range, value);
            ronchi_canvas_square(canvas, i * factor, j * factor, factor, rgb);
        }
}

ronchi_status ronchi_picture_png(const char *path, const ronchi_view *view, const ronchi_picture_options *options,
                                 ronchi_error *err)
{
    ronchi_picture_options checked;
    ronchi_values values = {0, 0, NULL};
    ronchi_canvas canvas = {0, 0, 1, NULL};
    ronchi_layout layout;
    ronchi_range range;
    ronchi_status status = ronchi_picture_check(path, view, options, &checked, err);
    if (status == RONCHI_OK)
        status = ronchi_values_read(view, &values, err);
    if (status == RONCHI_OK)
        status = ronchi_range_find(&values, &checked, &range, err);
    if (status == RONCHI_OK)
        status = ronchi_canvas_new(path, values.rows, values.cols, checked.signed_range ? 3 : 1, 0, &checked, &canvas,
                                   &layout, err);
    if (status == RONCHI_OK) {
        static const char *const names[] = {"linear", "gamma", "log"};
        char text[128]; /* what black and white stand for, for whoever looks into the file */
        snprintf(text, sizeof text,
                 checked.signed_range ? "blue %.9g, white 0, red %.9g" : "black %.9g, white %.9g, %s", range.low,
                 range.high, names[checked.scaling]);
        paint(&canvas, &values, &checked, &range, layout.factor);
        status = ronchi_png_write(path, &canvas, text, checked.force, err);
    }
    free(canvas.bytes);
    ronchi_values_free(&values);
    return status;
}
