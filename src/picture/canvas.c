/* SPDX-License-Identifier: MIT */
/* canvas.c - an empty picture with its scale bar, and what is drawn on it: squares and lines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "picture/canvas.h"

enum { MAX_SIDE = 1 << 20, WHITE = 255 };
static const double BAR_SHARE = 0.3;

ronchi_status ronchi_canvas_blank(const char *path, size_t rows, size_t cols, size_t channels, ronchi_canvas *out,
                                  ronchi_error *err)
{
    size_t bytes;
    *out = (ronchi_canvas){rows, cols, channels, NULL};
    if (ronchi_mul(rows, cols, &bytes) && ronchi_mul(bytes, channels, &bytes))
        out->bytes = malloc(bytes);
    if (!out->bytes)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for a picture of %zu x %zu", rows,
                           cols);
    memset(out->bytes, WHITE, bytes);
    return RONCHI_OK;
}

ronchi_status ronchi_canvas_new(const char *path, size_t rows, size_t cols, size_t channels, size_t strip_points,
                                const ronchi_picture_options *options, ronchi_canvas *out, ronchi_layout *layout,
                                ronchi_error *err)
{
    size_t factor = ronchi_enlargement(rows, cols, options->enlarge), high, wide;
    if (!ronchi_mul(rows, factor, &high) || !ronchi_mul(cols, factor, &wide) || high > MAX_SIDE || wide > MAX_SIDE)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET,
                           "%zu x %zu enlarged %zu times is too large for a PNG: at most %d a side", rows, cols, factor,
                           MAX_SIDE);
    ronchi_bar bar;
    bool with_bar = options->pixel_size > 0.0 &&
                    ronchi_bar_choose(options->pixel_size / (double)factor, options->pixel_unit, wide, BAR_SHARE, &bar);
    size_t scale = wide / 160 ? wide / 160 : 1, strip = strip_points * scale, width = wide;
    if (with_bar && strip < ronchi_bar_rows(scale))
        strip = ronchi_bar_rows(scale);
    size_t below = strip_points * scale + (with_bar ? ronchi_bar_cols(&bar, scale) : 0);
    if (width < below)
        width = below;
    *layout = (ronchi_layout){factor, scale, high};
    ronchi_status status = ronchi_canvas_blank(path, high + strip, width, channels, out, err);
    if (status == RONCHI_OK && with_bar)
        ronchi_bar_draw(out, &bar, high, scale);
    return status;
}

void ronchi_canvas_square(ronchi_canvas *canvas, size_t row, size_t col, size_t size, const uint8_t *colour)
{
    for (size_t i = row; i < row + size && i < canvas->rows; i++)
        for (size_t j = col; j < col + size && j < canvas->cols; j++)
            memcpy(canvas->bytes + (i * canvas->cols + j) * canvas->channels, colour, canvas->channels);
}

void ronchi_canvas_line(ronchi_canvas *canvas, double row, double col, double to_row, double to_col, size_t pen,
                        const uint8_t *colour)
{
    double length = fmax(fabs(to_row - row), fabs(to_col - col)), half = (double)(pen - 1) / 2;
    size_t steps = length < 1 ? 1 : (size_t)ceil(length);
    if (!isfinite(row) || !isfinite(col) || !isfinite(length))
        return;
    for (size_t k = 0; k <= steps; k++) {
        double t = (double)k / (double)steps, r = row + t * (to_row - row) - half, c = col + t * (to_col - col) - half;
        if (r > -0.5 && c > -0.5 && r < (double)canvas->rows && c < (double)canvas->cols)
            ronchi_canvas_square(canvas, (size_t)lrint(r), (size_t)lrint(c), pen, colour);
    }
}
