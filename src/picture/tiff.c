/* SPDX-License-Identifier: MIT */
/* tiff.c - one array as a TIFF of its own numbers, uncompressed, as ImageJ and everything else read it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "core/port.h"
#include "picture/grey.h"

static const uint64_t LARGEST_IN_F64 = (uint64_t)1 << 53;

/* What libtiff said, kept instead of printed. */
typedef struct tiff_words {
    char text[256];
} tiff_words;

#if TIFFLIB_VERSION >=                                                                                                 \
    20221213 /* 4.5: handlers for one file; before, they are one for the process and are left alone */
static int keep_words(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
{
    (void)tiff;
    (void)module;
    vsnprintf(((tiff_words *)user)->text, sizeof((tiff_words *)user)->text, format, args);
    return 1;
}

static TIFF *open_tiff(const char *path, const char *mode, tiff_words *words)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_words, words);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_words, words);
    TIFF *tiff = TIFFOpenExt(path, mode, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}
#else
static TIFF *open_tiff(const char *path, const char *mode, tiff_words *words)
{
    (void)words;
    return TIFFOpen(path, mode);
}
#endif

/* ImageJ takes unit and display range from here, the pixel size from the resolution. */
static void describe(const ronchi_picture_options *options, const ronchi_range *range, char *out, size_t size)
{
    int n = snprintf(out, size, "ImageJ=1.53t\n");
    if (options->pixel_size > 0.0 && options->pixel_unit)
        n += snprintf(out + n, size - (size_t)n, "unit=%.40s\n", options->pixel_unit);
    if (range->low < range->high)
        snprintf(out + n, size - (size_t)n, "min=%.9g\nmax=%.9g\n", range->low, range->high);
}

static bool set_fields(TIFF *tiff, const ronchi_view *view, ronchi_dtype stored, const ronchi_picture_options *options,
                       const ronchi_range *range)
{
    char text[160];
    size_t size = ronchi_dtype_size(stored);
    bool is_float = stored == RONCHI_F32 || stored == RONCHI_F64;
    uint32_t rows = (uint32_t)view->shape[2], cols = (uint32_t)view->shape[3];
    describe(options, range, text, sizeof text);
    bool set = TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, cols) && TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, rows) &&
               TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, (int)(8 * size)) &&
               TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1) &&
               TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, is_float ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT) &&
               TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) &&
               TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
               TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE) &&
               TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(tiff, 0)) &&
               TIFFSetField(tiff, TIFFTAG_SOFTWARE, "Ronchi " RONCHI_VERSION_STRING) &&
               TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, text);
    if (set && options->pixel_size > 0.0) /* pixels per unit */
        set = TIFFSetField(tiff, TIFFTAG_XRESOLUTION, 1.0 / options->pixel_size) &&
              TIFFSetField(tiff, TIFFTAG_YRESOLUTION, 1.0 / options->pixel_size) &&
              TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
    return set;
}

/* One row of the view, contiguous, in the stored dtype. */
static void gather_row(const ronchi_view *view, size_t row, ronchi_dtype stored, uint8_t *out)
{
    size_t size = ronchi_dtype_size(stored);
    for (size_t j = 0; j < view->shape[3]; j++) {
        const void *at = ronchi_view_at(view, 0, 0, row, j);
        if (view->dtype == RONCHI_U64) {
            uint64_t v;
            memcpy(&v, at, sizeof v);
            double d = (double)v;
            memcpy(out + j * size, &d, sizeof d);
        } else {
            memcpy(out + j * size, at, size);
        }
    }
}

static bool write_rows(TIFF *tiff, const ronchi_view *view, ronchi_dtype stored, uint8_t *line)
{
    for (size_t i = 0; i < view->shape[2]; i++) {
        gather_row(view, i, stored, line);
        if (TIFFWriteScanline(tiff, line, (uint32_t)i, 0) < 0)
            return false;
    }
    return TIFFWriteDirectory(tiff) != 0;
}

/* Everything between an empty temporary file and a finished one. */
static ronchi_status write_temporary(const char *path, const char *temporary, const ronchi_view *view,
                                     ronchi_dtype stored, const ronchi_picture_options *options,
                                     const ronchi_range *range, ronchi_error *err)
{
    tiff_words words = {"cannot create or write: is the folder writable, is the disk full?"};
    size_t line_bytes, bytes;
    if (view->shape[2] > INT32_MAX || view->shape[3] > INT32_MAX ||
        !ronchi_mul(view->shape[3], ronchi_dtype_size(stored), &line_bytes) ||
        !ronchi_mul(line_bytes, view->shape[2], &bytes))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, path, RONCHI_NO_OFFSET, "%zu x %zu is too large for a TIFF",
                           view->shape[2], view->shape[3]);
    uint8_t *line = malloc(line_bytes);
    if (!line)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for a row of the picture");
    TIFF *tiff = open_tiff(temporary, bytes > 4000000000u ? "w8" : "w", &words); /* beyond 4 GB: BigTIFF */
    bool done = tiff && set_fields(tiff, view, stored, options, range) && write_rows(tiff, view, stored, line);
    if (tiff)
        TIFFClose(tiff);
    free(line);
    return done ? RONCHI_OK : ronchi_fail(err, RONCHI_ERR_IO, path, RONCHI_NO_OFFSET, "TIFF: %s", words.text);
}

/* The file as libtiff left it must hold all rows: TIFFClose() has no way to say that its last write failed. */
static ronchi_status check_size(const char *path, const char *temporary, const ronchi_view *view, ronchi_dtype stored,
                                ronchi_error *err)
{
    ronchi_stat st;
    ronchi_status status = ronchi_stat_path(temporary, &st, err);
    if (status == RONCHI_OK && st.size_bytes < (uint64_t)view->shape[2] * view->shape[3] * ronchi_dtype_size(stored))
        return ronchi_fail(err, RONCHI_ERR_IO, path, RONCHI_NO_OFFSET,
                           "TIFF: the file is too short: is the disk full?");
    return status;
}

static ronchi_status check_target(const char *path, int force, ronchi_error *err)
{
    ronchi_stat st;
    ronchi_status status = ronchi_stat_path(path, &st, err);
    if (status != RONCHI_OK)
        return status;
    if (st.is_folder)
        return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET, "is a folder: give the name of a file");
    if (st.exists && !force)
        return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET,
                           "exists already: give --force to replace it, or another name");
    return RONCHI_OK;
}

static ronchi_status check_range(const char *path, const ronchi_view *view, ronchi_error *err)
{
    if (view->dtype != RONCHI_U64)
        return RONCHI_OK;
    for (size_t i = 0; i < view->shape[2]; i++)
        for (size_t j = 0; j < view->shape[3]; j++) {
            uint64_t v;
            memcpy(&v, ronchi_view_at(view, 0, 0, i, j), sizeof v);
            if (v >= LARGEST_IN_F64)
                return ronchi_fail(err, RONCHI_ERR_RANGE, path, RONCHI_NO_OFFSET,
                                   "the value %llu at (%zu, %zu) has no exact place in a TIFF: write .npy instead",
                                   (unsigned long long)v, i, j);
        }
    return RONCHI_OK;
}

ronchi_status ronchi_picture_tiff(const char *path, const ronchi_view *view, const ronchi_picture_options *options,
                                  ronchi_error *err)
{
    ronchi_picture_options checked;
    ronchi_values values = {0, 0, NULL};
    ronchi_range range;
    char temporary[4160];
    ronchi_status status = ronchi_picture_check(path, view, options, &checked, err);
    if (status == RONCHI_OK)
        status = check_target(path, checked.force, err);
    if (status == RONCHI_OK)
        status = check_range(path, view, err);
    if (status == RONCHI_OK)
        status = ronchi_values_read(view, &values, err);
    if (status == RONCHI_OK)
        status = ronchi_range_find(&values, &checked, &range, err);
    if (status == RONCHI_OK)
        status = ronchi_temporary_name(path, temporary, sizeof temporary, err);
    ronchi_values_free(&values);
    if (status != RONCHI_OK)
        return status;
    ronchi_dtype stored = view->dtype == RONCHI_U64 ? RONCHI_F64 : view->dtype;
    status = write_temporary(path, temporary, view, stored, &checked, &range, err);
    if (status == RONCHI_OK)
        status = check_size(path, temporary, view, stored, err);
    if (status == RONCHI_OK)
        status = ronchi_publish(temporary, path, checked.force, err);
    if (status != RONCHI_OK)
        ronchi_remove_file(temporary);
    return status;
}
