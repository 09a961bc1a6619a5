/* SPDX-License-Identifier: MIT */
/* canvas.h - the bytes of a picture, its enlargement, its scale bar and the letters for it. */
#ifndef RONCHI_PICTURE_CANVAS_H
#define RONCHI_PICTURE_CANVAS_H

#include "core/internal.h"
#include "ronchi/picture.h"

typedef struct ronchi_canvas {
    size_t rows, cols, channels; /* 1 grey, 3 red green blue */
    uint8_t *bytes;              /* [rows][cols][channels], owned: free() */
} ronchi_canvas;

/* How an array lies on its canvas: at the top left, each number a square of 'factor' pixels, text of size 'scale'. */
typedef struct ronchi_layout {
    size_t factor, scale;
    size_t strip; /* first row below the array */
} ronchi_layout;

/* ronchi_canvas_blank() makes a white canvas.  RONCHI_ERR_MEMORY */
ronchi_status ronchi_canvas_blank(const char *path, size_t rows, size_t cols, size_t channels, ronchi_canvas *out,
                                  ronchi_error *err);
/*
 * ronchi_canvas_new() makes a white canvas for rows x cols numbers, enlarged as the options say, with their scale bar
 * in the strip below, which has room for 'strip_points' text points in both directions beside the bar.
 * RONCHI_ERR_ARGUMENT  too large for a PNG; RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_canvas_new(const char *path, size_t rows, size_t cols, size_t channels, size_t strip_points,
                                const ronchi_picture_options *options, ronchi_canvas *out, ronchi_layout *layout,
                                ronchi_error *err);
/* Fills a square, or draws a line with a square pen, cut at the edges; colour [channels]. */
void ronchi_canvas_square(ronchi_canvas *canvas, size_t row, size_t col, size_t size, const uint8_t *colour);
void ronchi_canvas_line(ronchi_canvas *canvas, double row, double col, double to_row, double to_col, size_t pen,
                        const uint8_t *colour);
/* ronchi_png_write() writes a canvas with a description inside the file.  Atomic.  RONCHI_ERR_EXISTS, _IO, _MEMORY */
ronchi_status ronchi_png_write(const char *path, const ronchi_canvas *canvas, const char *description, int force,
                               ronchi_error *err);

/* A scale bar: a 1-2-5 length and what to call it. */
typedef struct ronchi_bar {
    size_t pixels;  /* on the canvas */
    double length;  /* in 'unit' */
    char label[32]; /* UTF-8, such as "5 A-ring" or "20 mrad" */
} ronchi_bar;

/*
 * ronchi_bar_choose() takes the longest 1-2-5 length that is at most 'share' of 'width' canvas pixels, in the unit that
 * keeps its number small (angstrom become nm from 10 on).
 *
 *   pixel_size  length of one canvas pixel
 *   false when not even one pixel fits
 */
bool ronchi_bar_choose(double pixel_size, const char *unit, size_t width, double share, ronchi_bar *out);

/*
 * ronchi_enlargement() gives the whole factor: 'asked', or where that is 0 the one that brings the shorter side to at
 * least 256 pixels without the longer one passing 4096.
 */
size_t ronchi_enlargement(size_t rows, size_t cols, uint32_t asked);

/* Width and height of a text in canvas pixels, at a whole scale; every letter is 5 x 9 of them and one apart. */
size_t ronchi_text_width(const char *text, size_t scale);
size_t ronchi_text_height(size_t scale);

/* ronchi_text_draw() draws a text with its top left corner at (row, col), cut at the canvas's edge. */
void ronchi_text_draw(ronchi_canvas *canvas, const char *text, size_t row, size_t col, size_t scale, uint8_t level);

/* ronchi_bar_draw() draws bar and label in the strip of rows first..rows-1. */
void ronchi_bar_draw(ronchi_canvas *canvas, const ronchi_bar *bar, size_t first, size_t scale);
/* Rows that the strip takes, columns that bar and label need. */
size_t ronchi_bar_rows(size_t scale);
size_t ronchi_bar_cols(const ronchi_bar *bar, size_t scale);

#endif
