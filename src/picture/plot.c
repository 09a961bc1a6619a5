/* SPDX-License-Identifier: MIT */
/* plot.c - a few curves over one axis, to look at. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "picture/canvas.h"
#include "ronchi/picture.h"

enum { HEIGHT = 480, WIDTH = 720, SCALE = 2, LEFT = 96, RIGHT = 24, TOP = 44, BOTTOM = 64, TICK = 8, MOST_TICKS = 12 };

static const uint8_t black[3] = {0, 0, 0}, light[3] = {225, 225, 225};
static const uint8_t colours[RONCHI_PLOT_CURVES][3] = {{20, 55, 150}, {200, 80, 20}, {30, 130, 70}, {120, 40, 140}};

typedef struct axis {
    double low, high, step;
} axis;

/* Ends on whole steps of a 1-2-5 length, about 'ticks' of them. */
static axis axis_of(double low, double high, double ticks)
{
    double span = high > low ? high - low : fmax(fabs(low), 1.0), decade = pow(10.0, floor(log10(span / ticks)));
    double times = span / ticks / decade;
    axis a = {low, high, decade * (times > 5.0 ? 10.0 : times > 2.0 ? 5.0 : times > 1.0 ? 2.0 : 1.0)};
    a.low = a.step * floor(low / a.step + 1e-9);
    a.high = a.step * ceil(high / a.step - 1e-9);
    if (!(a.high > a.low))
        a.high = a.low + a.step;
    return a;
}

typedef struct frame {
    axis x, y;
} frame;

static double col_of(const frame *f, double x)
{
    return LEFT + (x - f->x.low) / (f->x.high - f->x.low) * (WIDTH - LEFT - RIGHT);
}

static double row_of(const frame *f, double y)
{
    return HEIGHT - BOTTOM - (y - f->y.low) / (f->y.high - f->y.low) * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(ronchi_canvas *canvas, const frame *f, const char *x_name)
{
    char label[32];
    for (int k = 0; k <= MOST_TICKS && f->x.low + k * f->x.step <= f->x.high + 0.5 * f->x.step; k++) {
        double x = f->x.low + k * f->x.step, at = col_of(f, x);
        snprintf(label, sizeof label, "%.6g", fabs(x) < 1e-9 * f->x.step ? 0.0 : x);
        double left = at - (double)ronchi_text_width(label, SCALE) / 2;
        ronchi_canvas_line(canvas, TOP, at, HEIGHT - BOTTOM, at, 1, light);
        ronchi_text_draw(canvas, label, HEIGHT - BOTTOM + TICK - 2 * SCALE, left > 0 ? (size_t)left : 0, SCALE, 0);
    }
    for (int k = 0; k <= MOST_TICKS && f->y.low + k * f->y.step <= f->y.high + 0.5 * f->y.step; k++) {
        double y = f->y.low + k * f->y.step, at = row_of(f, y);
        snprintf(label, sizeof label, "%.6g", fabs(y) < 1e-9 * f->y.step ? 0.0 : y);
        size_t width = ronchi_text_width(label, SCALE) + TICK;
        ronchi_canvas_line(canvas, at, LEFT, at, WIDTH - RIGHT, 1, light);
        ronchi_text_draw(canvas, label, (size_t)at - 5 * SCALE, width < LEFT ? LEFT - width : 0, SCALE, 0);
    }
    size_t width = ronchi_text_width(x_name, SCALE);
    ronchi_text_draw(canvas, x_name, HEIGHT - BOTTOM / 2, LEFT + (WIDTH - LEFT - RIGHT - width) / 2, SCALE, 0);
}

static void draw_frame(ronchi_canvas *canvas)
{
    double right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM;
    ronchi_canvas_line(canvas, TOP, LEFT, bottom, LEFT, 1, black);
    ronchi_canvas_line(canvas, bottom, LEFT, bottom, right, 1, black);
    ronchi_canvas_line(canvas, TOP, right, bottom, right, 1, black);
    ronchi_canvas_line(canvas, TOP, LEFT, TOP, right, 1, black);
}

static void draw_curves(ronchi_canvas *canvas, const frame *f, const ronchi_plot *plot)
{
    size_t left = LEFT;
    for (size_t k = 0; k < plot->n_curves; k++) {
        const double *y = plot->y[k];
        for (size_t i = 1; i < plot->n; i++)
            ronchi_canvas_line(canvas, row_of(f, y[i - 1]), col_of(f, plot->x[i - 1]), row_of(f, y[i]),
                               col_of(f, plot->x[i]), 2, colours[k]);
        ronchi_canvas_line(canvas, TOP / 2, (double)left, TOP / 2, (double)left + 24, 4, colours[k]);
        ronchi_text_draw(canvas, plot->names[k], TOP / 2 - 5 * SCALE, left + 32, SCALE, 0);
        left += 32 + ronchi_text_width(plot->names[k], SCALE) + 24;
    }
    if (isfinite(plot->mark)) /* dashed */
        for (double row = TOP; row < HEIGHT - BOTTOM; row += 10)
            ronchi_canvas_line(canvas, row, col_of(f, plot->mark), row + 5, col_of(f, plot->mark), 1, black);
}

static ronchi_status find_frame(const char *path, const ronchi_plot *plot, frame *out, ronchi_error *err)
{
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
    for (size_t k = 0; k < plot->n_curves; k++)
        for (size_t i = 0; i < plot->n; i++)
            if (isfinite(plot->x[i]) && isfinite(plot->y[k][i])) {
                x[0] = fmin(x[0], plot->x[i]);
                x[1] = fmax(x[1], plot->x[i]);
                y[0] = fmin(y[0], plot->y[k][i]);
                y[1] = fmax(y[1], plot->y[k][i]);
            }
    if (!(x[0] <= x[1]))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "there is nothing to plot");
    *out = (frame){axis_of(x[0], x[1], 6), axis_of(y[0], y[1], 5)};
    return RONCHI_OK;
}

ronchi_status ronchi_picture_plot_png(const char *path, const ronchi_plot *plot, int force, ronchi_error *err)
{
    ronchi_canvas canvas = {0, 0, 3, NULL};
    frame f = {{0, 0, 0}, {0, 0, 0}};
    if (!path || !plot || !plot->x || !plot->y || !plot->names || !plot->x_name || plot->n_curves == 0 ||
        plot->n_curves > RONCHI_PLOT_CURVES || plot->n < 2)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET,
                           "a plot needs names, 1 to %d curves and 2 points or more", (int)RONCHI_PLOT_CURVES);
    ronchi_status status = find_frame(path, plot, &f, err);
    if (status == RONCHI_OK)
        status = ronchi_canvas_blank(path, HEIGHT, WIDTH, 3, &canvas, err);
    if (status == RONCHI_OK) {
        draw_axes(&canvas, &f, plot->x_name);
        draw_curves(&canvas, &f, plot);
        draw_frame(&canvas);
        status = ronchi_png_write(path, &canvas, plot->x_name, force, err);
    }
    free(canvas.bytes);
    return status;
}
