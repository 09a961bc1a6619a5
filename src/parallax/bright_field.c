/* SPDX-License-Identifier: MIT */
/* bright_field.c - the disk, its pixels, and how they are cut into pieces. */
#include "parallax/bright_field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ronchi/geometry.h"

enum { TILE = 8, RECTANGLE = 32 /* scan rows that profiles decode together */ };
static const double TOO_BRIGHT = 3.0; /* times the median of the disk: no pixel of the disk, but a hot one */

static ronchi_status no_memory(ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the bright-field pixels");
}

/* ------------------------------------------------------------------------------------------------------- disk */

static ronchi_status find_mean(ronchi_bright_field *bf, ronchi_error *err)
{
    const ronchi_shape *s = &bf->shape;
    ronchi_view valid = ronchi_view_2d(bf->valid, RONCHI_U8, s->scan_rows, s->scan_cols);
    ronchi_view mean = ronchi_view_2d(bf->mean_pattern, RONCHI_F64, s->det_rows, s->det_cols);
    ronchi_status status = ronchi_geometry_scan_valid(bf->acquisition, &valid, err);
    if (status != RONCHI_OK)
        return status;
    for (size_t i = 0; i < bf->n_positions; i++)
        bf->n_valid += bf->valid[i] != 0;
    return ronchi_detector_pattern(bf->acquisition, RONCHI_REDUCE_MEAN, NULL,
                                   bf->n_valid < bf->n_positions ? &valid : NULL, &mean, err);
}

/* Fitted, then overwritten by what was given; without a fit both must be. */
static ronchi_status find_disk(ronchi_bright_field *bf, const ronchi_parallax_options *options, uint8_t *flagged,
                               ronchi_error *err)
{
    const ronchi_shape *s = &bf->shape;
    ronchi_view mean = ronchi_view_2d(bf->mean_pattern, RONCHI_F64, s->det_rows, s->det_cols);
    ronchi_view mask = ronchi_view_2d(flagged, RONCHI_U8, s->det_rows, s->det_cols);
    ronchi_status status = ronchi_acquisition_flagged(bf->acquisition, &mask);
    if (status == RONCHI_OK)
        status = ronchi_detector_fit_disk(&mean, &mask, &bf->disk, err);
    if (status != RONCHI_OK && !(options->center_given && options->radius_px > 0))
        return status;
    if (options->center_given) {
        bf->disk.row = options->center_row;
        bf->disk.col = options->center_col;
    }
    if (options->radius_px > 0)
        bf->disk.radius = options->radius_px;
    return RONCHI_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over unflagged pixels of the disk that have counts; 0 when there are none. */
static double median_of_disk(const ronchi_bright_field *bf, const uint8_t *inside, const uint8_t *flagged, double *sort)
{
    size_t n = 0;
    for (size_t i = 0; i < bf->shape.det_rows * bf->shape.det_cols; i++)
        if (inside[i] && !flagged[i] && isfinite(bf->mean_pattern[i]) && bf->mean_pattern[i] > 0)
            sort[n++] = bf->mean_pattern[i];
    qsort(sort, n, sizeof *sort, compare);
    return n ? sort[n / 2] : 0;
}

static void take_tile(ronchi_bright_field *bf, const uint8_t *take, size_t tile_row, size_t tile_col)
{
    const ronchi_shape *s = &bf->shape;
    for (size_t r = tile_row; r < ronchi_min_size(tile_row + TILE, s->det_rows); r++)
        for (size_t c = tile_col; c < ronchi_min_size(tile_col + TILE, s->det_cols); c++)
            if (take[r * s->det_cols + c]) {
                bf->row[bf->n] = (uint32_t)r;
                bf->col[bf->n] = (uint32_t)c;
                bf->mean[bf->n++] = bf->mean_pattern[r * s->det_cols + c];
            }
}

/* Pixels of the disk in order, without flagged ones and those that cannot belong to it. */
static ronchi_status find_pixels(ronchi_bright_field *bf, const uint8_t *flagged, uint8_t *inside, double *sort,
                                 ronchi_error *err)
{
    const ronchi_shape *s = &bf->shape;
    ronchi_view view = ronchi_view_2d(inside, RONCHI_U8, s->det_rows, s->det_cols);
    ronchi_status status = ronchi_detector_annulus(bf->disk.row, bf->disk.col, 0, bf->disk.radius, &view);
    if (status != RONCHI_OK)
        return ronchi_fail(err, status, NULL, RONCHI_NO_OFFSET, "no disk of radius %g px around (%g, %g)",
                           bf->disk.radius, bf->disk.row, bf->disk.col);
    double median = median_of_disk(bf, inside, flagged, sort);
    for (size_t i = 0; i < s->det_rows * s->det_cols; i++) {
        double mean = bf->mean_pattern[i];
        bool odd = !(mean > 0 && mean <= TOO_BRIGHT * median);
        bf->n_flagged += inside[i] && flagged[i];
        bf->n_left_out += inside[i] && !flagged[i] && odd;
        inside[i] = inside[i] && !flagged[i] && !odd;
    }
    for (size_t r = 0; r < s->det_rows; r += TILE)
        for (size_t c = 0; c < s->det_cols; c += TILE)
            take_tile(bf, inside, r, c);
    for (size_t i = 0; i < bf->n; i++)
        bf->dose += bf->mean[i] / (double)bf->n;
    if (bf->n < 4)
        return ronchi_fail(err, RONCHI_ERR_DATA, bf->acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "%zu pixels with counts within %.3g px of (%.2f, %.2f): no bright-field disk; give --center "
                           "and --radius",
                           bf->n, bf->disk.radius, bf->disk.row, bf->disk.col);
    return RONCHI_OK;
}

/* ----------------------------------------------------------------------------------------------------- pieces */

static size_t value_bytes(const ronchi_bright_field *bf)
{
    return ronchi_dtype_size(bf->acquisition->store->dtype);
}

/*
 * Images first.. that lie in one rectangle of at most rows x cols within one tile.  As wide as allowed, though fewer
 * columns may be wanted: whole tiles are what profiles decode and write fastest.
 */
static ronchi_piece next_piece(const ronchi_bright_field *bf, size_t first, size_t rows, size_t cols)
{
    size_t tile_row = bf->row[first] / TILE, tile_col = bf->col[first] / TILE, row = bf->row[first], n = 0;
    size_t col = cols == TILE ? tile_col * TILE : bf->col[first],
           wide = ronchi_min_size(cols, bf->shape.det_cols - col);
    for (size_t i = first; i < bf->n && bf->row[i] / TILE == tile_row && bf->col[i] / TILE == tile_col; i++, n++)
        if (bf->row[i] - row >= rows || bf->col[i] - col >= cols)
            break;
    return (ronchi_piece){row, bf->row[first + n - 1] - row + 1, col, wide, first, n};
}

/* Scan rows of a rectangle of that many pixels that fit the budget beside their images; 0: none do. */
static size_t rows_that_fit(const ronchi_bright_field *bf, size_t pixels, uint64_t *bytes)
{
    uint64_t budget = ronchi_context_budget(bf->context), images = (uint64_t)bf->n_positions * pixels * sizeof(float);
    uint64_t one = (uint64_t)bf->shape.scan_cols * pixels * value_bytes(bf);
    images += one * ronchi_context_threads(bf->context); /* rows of the scan while they are turned */
    if (images + one > budget)
        return 0;
    uint64_t rows = (budget - images) / one, most = ronchi_min_size(bf->shape.scan_rows, RECTANGLE);
    if (rows > most) /* more gains nothing, and leaves the caches */
        rows = most;
    *bytes = images + rows * one;
    return (size_t)rows;
}

ronchi_status ronchi_bright_field_plan(ronchi_bright_field *bf, ronchi_error *err)
{
    static const size_t sizes[][2] = {{TILE, TILE}, {1, TILE}, {1, 1}};
    size_t k = 0;
    for (; k < 3; k++)
        if ((bf->band_rows = rows_that_fit(bf, sizes[k][0] * sizes[k][1], &bf->decoded_bytes)))
            break;
    if (k == 3)
        return ronchi_fail(
            err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
            "one bright-field image of %zu x %zu positions needs %zu bytes, more than the budget: give --budget",
            bf->shape.scan_rows, bf->shape.scan_cols,
            bf->n_positions * sizeof(float) +
                (1 + ronchi_context_threads(bf->context)) * bf->shape.scan_cols * value_bytes(bf));
    bf->pieces = ronchi_calloc(bf->context, bf->n, sizeof *bf->pieces);
    if (!bf->pieces)
        return no_memory(err);
    for (size_t first = 0; first < bf->n; first += bf->pieces[bf->n_pieces++].n)
        bf->pieces[bf->n_pieces] = next_piece(bf, first, sizes[k][0], sizes[k][1]);
    size_t pixels = sizes[k][0] * sizes[k][1];
    bf->band = ronchi_decoded_take(bf->context, bf->band_rows * bf->shape.scan_cols * pixels, value_bytes(bf));
    bf->images = ronchi_decoded_take(bf->context, bf->n_positions * pixels, sizeof *bf->images);
    return bf->band && bf->images ? RONCHI_OK : no_memory(err);
}

/* -------------------------------------------------------------------------------------------------- open, close */

static ronchi_status allocate(ronchi_bright_field *bf, size_t n_pixels, ronchi_error *err)
{
    bf->valid = ronchi_calloc(bf->context, bf->n_positions, 1);
    bf->mean_pattern = ronchi_calloc(bf->context, n_pixels, sizeof *bf->mean_pattern);
    bf->row = ronchi_calloc(bf->context, n_pixels, sizeof *bf->row);
    bf->col = ronchi_calloc(bf->context, n_pixels, sizeof *bf->col);
    bf->mean = ronchi_calloc(bf->context, n_pixels, sizeof *bf->mean);
    return bf->valid && bf->mean_pattern && bf->row && bf->col && bf->mean ? RONCHI_OK : no_memory(err);
}

static ronchi_status find_all(ronchi_bright_field *bf, const ronchi_parallax_options *options, size_t n_pixels,
                              ronchi_error *err)
{
    uint8_t *flagged = ronchi_calloc(bf->context, n_pixels, 1), *inside = ronchi_calloc(bf->context, n_pixels, 1);
    double *sort = ronchi_calloc(bf->context, n_pixels, sizeof *sort);
    ronchi_status status = flagged && inside && sort ? find_mean(bf, err) : no_memory(err);
    if (status == RONCHI_OK)
        status = find_disk(bf, options, flagged, err);
    if (status == RONCHI_OK)
        status = find_pixels(bf, flagged, inside, sort, err);
    ronchi_free(bf->context, flagged);
    ronchi_free(bf->context, inside);
    ronchi_free(bf->context, sort);
    return status;
}

ronchi_status ronchi_bright_field_open(const ronchi_acquisition *acquisition, const ronchi_parallax_options *options,
                                       ronchi_bright_field *bf, ronchi_error *err)
{
    memset(bf, 0, sizeof *bf);
    bf->acquisition = acquisition;
    bf->context = acquisition->context;
    bf->base = 1.0f;
    bf->shape = acquisition->store->shape;
    bf->n_positions = acquisition->store->n_positions;
    ronchi_status status = allocate(bf, acquisition->store->n_pixels, err);
    if (status == RONCHI_OK)
        status = find_all(bf, options, acquisition->store->n_pixels, err);
    return status == RONCHI_OK ? ronchi_bright_field_plan(bf, err) : status;
}

void ronchi_bright_field_close(ronchi_bright_field *bf)
{
    void *owned[] = {bf->valid, bf->mean_pattern, bf->row, bf->col, bf->mean, bf->pieces};
    for (size_t i = 0; bf->context && i < sizeof owned / sizeof owned[0]; i++)
        ronchi_free(bf->context, owned[i]);
    if (bf->context) {
        ronchi_decoded_give(bf->context, bf->band);
        ronchi_decoded_give(bf->context, bf->images);
    }
    memset(bf, 0, sizeof *bf);
}
