/* SPDX-License-Identifier: MIT */
/* png_file.c - a canvas into a file, by libpng. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>

#include "core/port.h"
#include "picture/canvas.h"

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

static void put_description(png_structp png, png_infop info, const char *text)
{
    char key[] = "Description", copy[160];
    snprintf(copy, sizeof copy, "%s", text);
    png_text entry = {.compression = PNG_TEXT_COMPRESSION_NONE, .key = key, .text = copy};
    png_set_text(png, info, &entry, 1);
}

/* Everything that libpng may leave by longjmp. */
static void encode(png_structp png, png_infop info, const ronchi_canvas *canvas, const char *description)
{
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(png, info, (png_uint_32)canvas->cols, (png_uint_32)canvas->rows, 8,
                 canvas->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    put_description(png, info, description);
    png_write_info(png, info);
    for (size_t i = 0; i < canvas->rows; i++)
        png_write_row(png, canvas->bytes + i * canvas->cols * canvas->channels);
    png_write_end(png, info);
}

ronchi_status ronchi_png_write(const char *path, const ronchi_canvas *canvas, const char *description, int force,
                               ronchi_error *err)
{
    png_sink sink = {.err = err, .status = RONCHI_OK};
    ronchi_status status = ronchi_output_open(path, force, &sink.output, err);
    if (status != RONCHI_OK)
        return status;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, sink_error, sink_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        sink.status = ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for a PNG");
    } else if (setjmp(sink.leave) == 0) {
        png_set_write_fn(png, &sink, sink_write, sink_flush);
        encode(png, info, canvas, description);
    }
    png_destroy_write_struct(&png, &info);
    if (sink.status == RONCHI_OK)
        sink.status = ronchi_output_commit(&sink.output, err);
    if (sink.status != RONCHI_OK)
        ronchi_output_abort(&sink.output);
    return sink.status;
}
