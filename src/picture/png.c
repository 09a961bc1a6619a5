/* SPDX-License-Identifier: MIT */
/* png.c - one array as an 8-bit PNG. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/port.h"
#include "picture/canvas.h"
#include "picture/grey.h"

enum { MAX_SIDE = 1 << 20, STRIP_LEVEL = 255 };
static const double BAR_SHARE = 0.3;

/* ------------------------------------------------------------------------------------------------------- canvas */

/* Each number becomes a square of 'factor' canvas pixels; the rest of the canvas is the strip's white. */
static void paint(ronchi_canvas *canvas, const ronchi_values *values, const ronchi_picture_options *options,
                  const ronchi_range *range, size_t factor)
{
    size_t channels = canvas->channels, line = canvas->cols * channels;
    for (size_t i = 0; i < values->rows; i++) {
        uint8_t *first = canvas->bytes + i * factor * line;
        for (size_t j = 0; j < values->cols; j++) {
            uint8_t rgb[3];
            double value = values->at[i * values->cols + j];
            if (channels == 3)
                ronchi_signed_colour(range, value, rgb);
            else
                rgb[0] = ronchi_grey_level(options, range, value);
            for (size_t k = 0; k < factor; k++)
                memcpy(first + (j * factor + k) * channels, rgb, channels);
        }
        for (size_t k = 1; k < factor; k++)
            memcpy(first + k * line, first, values->cols * factor * channels);
    }
}

/* Lays out picture and scale bar, and draws both. */
static ronchi_status compose(const char *path, const ronchi_values *values, const ronchi_picture_options *options,
                             const ronchi_range *range, ronchi_canvas *canvas, ronchi_error *err)
{
    size_t factor = ronchi_enlargement(values->rows, values->cols, options->enlarge), rows, cols, bytes;
    if (!ronchi_mul(values->rows, factor, &rows) || !ronchi_mul(values->cols, factor, &cols) || rows > MAX_SIDE ||
        cols > MAX_SIDE)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET,
                           "%zu x %zu enlarged %zu times is too large for a PNG: at most %d a side", values->rows,
                           values->cols, factor, MAX_SIDE);
    ronchi_bar bar;
    bool with_bar = options->pixel_size > 0.0 &&
                    ronchi_bar_choose(options->pixel_size / (double)factor, options->pixel_unit, cols, BAR_SHARE, &bar);
    size_t scale = cols / 160 ? cols / 160 : 1;
    *canvas = (ronchi_canvas){rows, cols, options->signed_range ? 3 : 1, NULL};
    if (with_bar) {
        canvas->rows += ronchi_bar_rows(scale);
        if (canvas->cols < ronchi_bar_cols(&bar, scale))
            canvas->cols = ronchi_bar_cols(&bar, scale);
    }
    if (ronchi_mul(canvas->rows, canvas->cols, &bytes) && ronchi_mul(bytes, canvas->channels, &bytes))
        canvas->bytes = malloc(bytes);
    if (!canvas->bytes)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for a picture of %zu x %zu",
                           canvas->rows, canvas->cols);
    memset(canvas->bytes, STRIP_LEVEL, bytes);
    paint(canvas, values, options, range, factor);
    if (with_bar)
        ronchi_bar_draw(canvas, &bar, rows, scale);
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- file */

typedef struct png_sink {
    ronchi_output output;
    ronchi_error *err;
    ronchi_status status;
    jmp_buf leave; /* libpng's own way out of an error */
} png_sink;

static void sink_write(png_structp png, png_bytep bytes, png_size_t size)
{
    png_sink *sink = png_get_io_ptr(png);
    sink->status = ronchi_output_write(&sink->output, bytes, size, sink->err);
    if (sink->status != RONCHI_OK)
        longjmp(sink->leave, 1);
}

static void sink_flush(png_structp png)
{
    (void)png;
}

static void sink_error(png_structp png, png_const_charp message)
{
    png_sink *sink = png_get_error_ptr(png);
    sink->status = ronchi_fail(sink->err, RONCHI_ERR_IO, sink->output.path, RONCHI_NO_OFFSET, "libpng: %s", message);
    longjmp(sink->leave, 1);
}

static void sink_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* What black and white stand for, for whoever looks into the file. */
static void put_description(png_structp png, png_infop info, const ronchi_picture_options *options,
                            const ronchi_range *range)
{
    static const char *const names[] = {"linear", "gamma", "log"};
    char text[128], key[] = "Description";
    snprintf(text, sizeof text, options->signed_range ? "blue %.9g, white 0, red %.9g" : "black %.9g, white %.9g, %s",
             range->low, range->high, names[options->scaling]);
    png_text entry = {.compression = PNG_TEXT_COMPRESSION_NONE, .key = key, .text = text};
    png_set_text(png, info, &entry, 1);
}

/* Everything that libpng may leave by longjmp. */
static void encode(png_structp png, png_infop info, const ronchi_canvas *canvas, const ronchi_picture_options *options,
                   const ronchi_range *range)
{
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(png, info, (png_uint_32)canvas->cols, (png_uint_32)canvas->rows, 8,
                 canvas->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    put_description(png, info, options, range);
    png_write_info(png, info);
    for (size_t i = 0; i < canvas->rows; i++)
        png_write_row(png, canvas->bytes + i * canvas->cols * canvas->channels);
    png_write_end(png, info);
}

static ronchi_status write_png(const char *path, const ronchi_canvas *canvas, const ronchi_picture_options *options,
                               const ronchi_range *range, ronchi_error *err)
{
    png_sink sink = {.err = err, .status = RONCHI_OK};
    ronchi_status status = ronchi_output_open(path, options->force, &sink.output, err);
    if (status != RONCHI_OK)
        return status;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, sink_error, sink_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        sink.status = ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for a PNG");
    } else if (setjmp(sink.leave) == 0) {
        png_set_write_fn(png, &sink, sink_write, sink_flush);
        encode(png, info, canvas, options, range);
    }
    png_destroy_write_struct(&png, &info);
    if (sink.status == RONCHI_OK)
        sink.status = ronchi_output_commit(&sink.output, err);
    if (sink.status != RONCHI_OK)
        ronchi_output_abort(&sink.output);
    return sink.status;
}

ronchi_status ronchi_picture_png(const char *path, const ronchi_view *view, const ronchi_picture_options *options,
                                 ronchi_error *err)
{
    ronchi_picture_options checked;
    ronchi_values values = {0, 0, NULL};
    ronchi_canvas canvas = {0, 0, 1, NULL};
    ronchi_range range;
    ronchi_status status = ronchi_picture_check(path, view, options, &checked, err);
    if (status == RONCHI_OK)
        status = ronchi_values_read(view, &values, err);
    if (status == RONCHI_OK)
        status = ronchi_range_find(&values, &checked, &range, err);
    if (status == RONCHI_OK)
        status = compose(path, &values, &checked, &range, &canvas, err);
    if (status == RONCHI_OK)
        status = write_png(path, &canvas, &checked, &range, err);
    free(canvas.bytes);
    ronchi_values_free(&values);
    return status;
}
