/* SPDX-License-Identifier: MIT */
/* images.c - a piece of the detector decoded to images, and their spectra. */
#include <math.h>
#include <string.h>

#include "parallax/bright_field.h"

/* ----------------------------------------------------------------------------------------------------- images */

typedef struct band_job {
    const ronchi_bright_field *bf;
    const ronchi_piece *piece;
    size_t scan_row;
    size_t offset[RONCHI_PIECE]; /* of each image's pixel in the rectangle */
    float scale[RONCHI_PIECE];
    uint16_t *turned; /* [workers][pixels of the rectangle][scan_cols] */
} band_job;

/* One row of the scan of one pixel: counts that lie 'pitch' values apart become contrast. */
static void put_contrast(const void *counts, ronchi_dtype dtype, size_t pitch, size_t n, float scale, float base,
                         float *out)
{
    switch (dtype) {
    case RONCHI_U8:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)((const uint8_t *)counts)[i * pitch] * scale - base;
        break;
    case RONCHI_U16: /* turned before */
        for (size_t i = 0; i < n; i++)
            out[i] = (float)((const uint16_t *)counts)[i] * scale - base;
        break;
    case RONCHI_U32:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)((const uint32_t *)counts)[i * pitch] * scale - base;
        break;
    default:
        for (size_t i = 0; i < n; i++)
            out[i] = ((const float *)counts)[i * pitch] * scale - base;
        break;
    }
}

static ronchi_status check_finite(const band_job *job, size_t k, size_t row, const float *line, ronchi_error *err)
{
    const ronchi_bright_field *bf = job->bf;
    for (size_t c = 0; c < bf->shape.scan_cols; c++)
        if (!isfinite(line[c]))
            return ronchi_fail(err, RONCHI_ERR_DATA, bf->acquisition->info.source_name, RONCHI_NO_OFFSET,
                               "position (%zu, %zu), detector pixel (%u, %u): not a finite number", row, c,
                               bf->row[job->piece->first + k], bf->col[job->piece->first + k]);
    return RONCHI_OK;
}

/* One row of the scan of all pixels of the rectangle, turned so that each pixel's counts lie together. */
static const uint16_t *turn(const band_job *job, const char *from, size_t pixels, size_t worker)
{
    size_t cols = job->bf->shape.scan_cols;
    uint16_t *turned = job->turned + worker * pixels * cols;
    ronchi_context_kernels(job->bf->context)
        ->transpose16(from, (ptrdiff_t)(pixels * sizeof *turned), cols, pixels, turned,
                      (ptrdiff_t)(cols * sizeof *turned));
    return turned;
}

static ronchi_status band_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const band_job *job = user;
    const ronchi_bright_field *bf = job->bf;
    ronchi_dtype dtype = bf->acquisition->store->dtype;
    size_t pixels = job->piece->rows * job->piece->cols, cols = bf->shape.scan_cols, row = job->scan_row + item;
    size_t wide = ronchi_dtype_size(dtype);
    const char *from = (const char *)bf->band + item * cols * pixels * wide;
    const uint16_t *turned = dtype == RONCHI_U16 ? turn(job, from, pixels, worker) : NULL;
    const uint8_t *valid = bf->valid + row * cols;
    ronchi_status status = RONCHI_OK;
    for (size_t k = 0; k < job->piece->n && status == RONCHI_OK; k++) {
        float *line = bf->images + k * bf->n_positions + row * cols;
        if (turned)
            put_contrast(turned + job->offset[k] * cols, dtype, 1, cols, job->scale[k], bf->base, line);
        else
            put_contrast(from + job->offset[k] * wide, dtype, pixels, cols, job->scale[k], bf->base, line);
        for (size_t c = 0; bf->n_valid < bf->n_positions && c < cols; c++)
            line[c] = valid[c] ? line[c] : 0.0f;
        if (dtype == RONCHI_F32)
            status = check_finite(job, k, row, line, err);
    }
    return status;
}

ronchi_status ronchi_bright_field_read(ronchi_bright_field *bf, const ronchi_piece *piece, ronchi_error *err)
{
    const size_t value_bytes = ronchi_dtype_size(bf->acquisition->store->dtype);
    band_job job = {.bf = bf, .piece = piece};
    for (size_t k = 0; k < piece->n; k++) {
        size_t i = piece->first + k;
        job.offset[k] = (bf->row[i] - piece->row) * piece->cols + bf->col[i] - piece->col;
        job.scale[k] = (float)(1.0 / bf->mean[i]);
    }
    job.turned = ronchi_decoded_take(
        bf->context, ronchi_context_threads(bf->context) * piece->rows * piece->cols * bf->shape.scan_cols,
        value_bytes);
    ronchi_status status =
        job.turned ? RONCHI_OK
                   : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a row of the scan");
    for (; job.scan_row < bf->shape.scan_rows && status == RONCHI_OK; job.scan_row += bf->band_rows) {
        size_t rows = ronchi_min_size(bf->band_rows, bf->shape.scan_rows - job.scan_row);
        ronchi_region region = {job.scan_row, rows,        0,          bf->shape.scan_cols,
                                piece->row,   piece->rows, piece->col, piece->cols};
        ronchi_shape shape = {rows, bf->shape.scan_cols, piece->rows, piece->cols};
        ronchi_view view = ronchi_view_4d(bf->band, bf->acquisition->store->dtype, &shape);
        status = ronchi_acquisition_read(bf->acquisition, &region, RONCHI_READ_MASKED, &view, err);
        if (status == RONCHI_OK)
            status = ronchi_parallel_for(bf->context, rows, band_item, &job, err);
    }
    ronchi_decoded_give(bf->context, job.turned);
    return status;
}

/* ---------------------------------------------------------------------------------------------------- spectra */

ronchi_status ronchi_spectra_init(ronchi_context *context, size_t rows, size_t cols, ronchi_spectra *out,
                                  ronchi_error *err)
{
    enum { LANES = 16 };
    *out = (ronchi_spectra){.rows = rows, .cols = cols, .half = cols / 2 + 1};
    out->pitch = ronchi_div_up(out->half, LANES) * LANES;
    out->size = rows * 2 * out->pitch;
    out->kernels = &ronchi_context_kernels(context)->rows;
    return ronchi_fft_real_create(context, rows, cols, &out->fft, err);
}

void ronchi_spectra_free(ronchi_spectra *spectra)
{
    ronchi_fft_real_destroy(spectra->fft);
    spectra->fft = NULL;
}

void ronchi_spectra_transform(const ronchi_spectra *s, const ronchi_shape *scan, const float *image,
                              const float *window, float *padded, ronchi_complex *half, float *out)
{
    const size_t cols = scan->scan_cols, rest = s->pitch - s->half;
    for (size_t r = 0; r < scan->scan_rows; r++)
        if (window)
            s->kernels->window(padded + r * s->cols, image + r * cols, window + r * cols, cols);
        else
            memcpy(padded + r * s->cols, image + r * cols, cols * sizeof *padded);
    ronchi_fft_real_forward(s->fft, padded, half);
    for (size_t r = 0; r < s->rows; r++, out += 2 * s->pitch) {
        s->kernels->split(out, half + r * s->half, s->half, s->pitch);
        memset(out + s->half, 0, rest * sizeof *out);
        memset(out + s->pitch + s->half, 0, rest * sizeof *out);
    }
}

ronchi_status ronchi_bright_field_visit(ronchi_bright_field *bf, const char *stage, ronchi_images_fn take, void *user,
                                        ronchi_error *err)
{
    ronchi_progress progress = {stage, 0, bf->n, "images", (uint64_t)bf->n_positions};
    ronchi_status status = ronchi_report(bf->context, &progress, err);
    for (size_t i = 0; i < bf->n_pieces && status == RONCHI_OK; i++) {
        const ronchi_piece *piece = &bf->pieces[i];
        status = ronchi_bright_field_read(bf, piece, err);
        if (status == RONCHI_OK)
            status = take(user, piece->first, piece->n, err);
        progress.done += piece->n;
        if (status == RONCHI_OK)
            status = ronchi_report(bf->context, &progress, err);
    }
    return status;
}

typedef struct walk_job {
    const ronchi_bright_field *bf;
    const ronchi_spectra *to;
    const float *window;
    float *padded;        /* [workers][rows][cols] */
    ronchi_complex *half; /* [workers][rows][half] */
    float *spectra;       /* [images of a piece][size] */
    ronchi_spectra_fn take;
    void *user;
} walk_job;

static ronchi_status walk_item(void *user, size_t k, size_t worker, ronchi_error *err)
{
    const walk_job *job = user;
    const ronchi_spectra *to = job->to;
    (void)err;
    ronchi_spectra_transform(to, &job->bf->shape, job->bf->images + k * job->bf->n_positions, job->window,
                             job->padded + worker * to->rows * to->cols, job->half + worker * to->rows * to->half,
                             job->spectra + k * to->size);
    return RONCHI_OK;
}

static ronchi_status walk_piece(void *user, size_t first, size_t n, ronchi_error *err)
{
    walk_job *job = user;
    ronchi_status status = ronchi_parallel_for(job->bf->context, n, walk_item, job, err);
    return status == RONCHI_OK ? job->take(job->user, first, n, job->spectra, err) : status;
}

ronchi_status ronchi_bright_field_walk(ronchi_bright_field *bf, const ronchi_spectra *spectra, const float *window,
                                       const char *stage, ronchi_spectra_fn take, void *user, ronchi_error *err)
{
    size_t workers = ronchi_context_threads(bf->context), most = 0;
    for (size_t i = 0; i < bf->n_pieces; i++)
        most = bf->pieces[i].n > most ? bf->pieces[i].n : most;
    walk_job job = {.bf = bf, .to = spectra, .window = window, .take = take, .user = user};
    job.padded = ronchi_calloc(bf->context, workers * spectra->rows * spectra->cols, sizeof *job.padded);
    job.half = ronchi_calloc(bf->context, workers * spectra->rows * spectra->half, sizeof *job.half);
    job.spectra = ronchi_calloc(bf->context, most * spectra->size, sizeof *job.spectra);
    ronchi_status status =
        job.padded && job.half && job.spectra
            ? ronchi_bright_field_visit(bf, stage, walk_piece, &job, err)
            : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                          "no memory for the spectra of %zu images of %zu x %zu", most, spectra->rows, spectra->cols);
    ronchi_free(bf->context, job.padded);
    ronchi_free(bf->context, job.half);
    ronchi_free(bf->context, job.spectra);
    return status;
}
