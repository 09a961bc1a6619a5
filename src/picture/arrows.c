/* SPDX-License-Identifier: MIT */
/* arrows.c - vectors drawn over an array, with a few lines of text below. */
#include <math.h>
#include <stdlib.h>

#include "picture/canvas.h"
#include "picture/grey.h"

enum { SHORTER = 512, LINE_POINTS = 13 };

static const uint8_t plain[3] = {255, 170, 30}, marked[3] = {90, 200, 255};

static void paint(ronchi_canvas *canvas, const ronchi_values *values, const ronchi_picture_options *options,
                  const ronchi_range *range, size_t factor)
{
    for (size_t i = 0; i < values->rows; i++)
        for (size_t j = 0; j < values->cols; j++) {
            /* half as bright, so that arrows stand out */
            uint8_t level = (uint8_t)(ronchi_grey_level(options, range, values->at[i * values->cols + j]) / 2);
            const uint8_t rgb[3] = {level, level, level};
            ronchi_canvas_square(canvas, i * factor, j * factor, factor, rgb);
        }
}

static void draw_arrow(ronchi_canvas *canvas, double row, double col, double along_row, double along_col,
                       const uint8_t *colour)
{
    double length = hypot(along_row, along_col), head = fmin(0.4 * length, 7.0);
    double to_row = row + along_row, to_col = col + along_col;
    if (!(length >= 1)) {
        ronchi_canvas_line(canvas, row, col, row, col, 2, colour); /* a point */
        return;
    }
    double u = along_row / length, v = along_col / length;
    ronchi_canvas_line(canvas, row, col, to_row, to_col, 1, colour);
    for (int side = -1; side <= 1; side += 2)
        ronchi_canvas_line(canvas, to_row, to_col, to_row - head * (u - side * 0.5 * v),
                           to_col - head * (v + side * 0.5 * u), 1, colour);
}

/* All lines of one size, so that the longest fits. */
static void draw_text(ronchi_canvas *canvas, const ronchi_arrows *arrows, size_t row, size_t scale)
{
    size_t size = scale;
    for (size_t k = 0; k < arrows->n_lines; k++)
        while (size > 1 && ronchi_text_width(arrows->lines[k], size) + 8 > canvas->cols)
            size--;
    for (size_t k = 0; k < arrows->n_lines; k++, row += LINE_POINTS * scale)
        ronchi_text_draw(canvas, arrows->lines[k], row, 4, size, 0);
}

ronchi_status ronchi_picture_arrows_png(const char *path, const ronchi_view *view, const ronchi_arrows *arrows,
                                        const ronchi_picture_options *options, ronchi_error *err)
{
    ronchi_picture_options checked;
    ronchi_values values = {0, 0, NULL};
    ronchi_canvas canvas = {0, 0, 3, NULL};
    ronchi_layout layout;
    ronchi_range range;
    if (!arrows || (arrows->n && (!arrows->row || !arrows->col || !arrows->along_row || !arrows->along_col)) ||
        (arrows->n_lines && !arrows->lines))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "arrows without places or directions");
    ronchi_status status = ronchi_picture_check(path, view, options, &checked, err);
    if (status == RONCHI_OK)
        status = ronchi_values_read(view, &values, err);
    if (status == RONCHI_OK)
        status = ronchi_range_find(&values, &checked, &range, err);
    if (status == RONCHI_OK && !checked.enlarge)
        checked.enlarge = (uint32_t)ronchi_div_up(SHORTER, ronchi_min_size(values.rows, values.cols));
    if (status == RONCHI_OK) {
        size_t bar = checked.pixel_size > 0 ? ronchi_bar_rows(1) : 2;
        status = ronchi_canvas_new(path, values.rows, values.cols, 3, bar + LINE_POINTS * arrows->n_lines, &checked,
                                   &canvas, &layout, err);
    }
    if (status == RONCHI_OK) {
        double f = (double)layout.factor, to = f * arrows->scale;
        paint(&canvas, &values, &checked, &range, layout.factor);
        for (size_t i = 0; i < arrows->n; i++)
            draw_arrow(&canvas, (arrows->row[i] + 0.5) * f, (arrows->col[i] + 0.5) * f, arrows->along_row[i] * to,
                       arrows->along_col[i] * to, arrows->marked && arrows->marked[i] ? marked : plain);
        draw_text(&canvas, arrows, layout.strip + (checked.pixel_size > 0 ? ronchi_bar_rows(layout.scale) : 2),
                  layout.scale);
        status = ronchi_png_write(path, &canvas, "arrows", checked.force, err);
    }
    free(canvas.bytes);
    ronchi_values_free(&values);
    return status;
}
