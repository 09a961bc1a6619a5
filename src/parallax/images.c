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
    case RONCHI_U16:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)((const uint16_t *)counts)[i * pitch] * scale - base;
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

static ronchi_status band_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const band_job *job = user;
    const ronchi_bright_field *bf = job->bf;
    ronchi_dtype dtype = bf->acquisition->store->dtype;
    size_t pixels = job->piece->rows * job->piece->cols, cols = bf->shape.scan_cols, row = job->scan_row + item;
    size_t wide = ronchi_dtype_size(dtype);
    const char *from = (const char *)bf->band + item * cols * pixels * wide;
    const uint8_t *valid = bf->valid + row * cols;
    ronchi_status status = RONCHI_OK;
    (void)worker;
    for (size_t k = 0; k < job->piece->n && status == RONCHI_OK; k++) {
        float *line = bf->images + k * bf->n_positions + row * cols;
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
    band_job job = {.bf = bf, .piece = piece};
    for (size_t k = 0; k < piece->n; k++) {
        size_t i = piece->first + k;
        job.offset[k] = (bf->row[i] - piece->row) * piece->cols + bf->col[i] - piece->col;
        job.scale[k] = (float)(1.0 / bf->mean[i]);
    }
    ronchi_status status = RONCHI_OK;
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
    return ronchi_fft_real_create(context, rows, cols, &out->fft, err);
}

void ronchi_spectra_free(ronchi_spectra *spectra)
{
    ronchi_fft_real_destroy(spectra->fft);
    spectra->fft = NULL;
}

typedef struct walk_job {
    const ronchi_bright_field *bf;
    const ronchi_spectra *to;
    const float *window;
    float *padded;        /* [workers][rows][cols] */
    ronchi_complex *half; /* [workers][rows][half] */
    float *spectra;       /* [RONCHI_PIECE][size] */
} walk_job;

static ronchi_status walk_item(void *user, size_t k, size_t worker, ronchi_error *err)
{
    const walk_job *job = user;
    const ronchi_bright_field *bf = job->bf;
    const ronchi_spectra *to = job->to;
    const size_t cols = bf->shape.scan_cols;
    const float *image = bf->images + k * bf->n_positions;
    float *padded = job->padded + worker * to->rows * to->cols, *spectrum = job->spectra + k * to->size;
    ronchi_complex *half = job->half + worker * to->rows * to->half;
    (void)err;
    for (size_t r = 0; r < bf->shape.scan_rows; r++)
        for (size_t c = 0; c < cols; c++)
            padded[r * to->cols + c] =
                job->window ? image[r * cols + c] * job->window[r * cols + c] : image[r * cols + c];
    ronchi_fft_real_forward(to->fft, padded, half);
    for (size_t r = 0; r < to->rows; r++) {
        float *re = spectrum + r * 2 * to->pitch, *im = re + to->pitch;
        const ronchi_complex *from = half + r * to->half;
        for (size_t c = 0; c < to->half; c++) {
            re[c] = from[c].re;
            im[c] = from[c].im;
        }
    }
    return RONCHI_OK;
}

static ronchi_status walk_pieces(ronchi_bright_field *bf, walk_job *job, const char *stage, ronchi_spectra_fn take,
                                 void *user, ronchi_error *err)
{
    ronchi_progress progress = {stage, 0, bf->n, "images", (uint64_t)bf->n_positions};
    ronchi_status status = ronchi_report(bf->context, &progress, err);
    for (size_t i = 0; i < bf->n_pieces && status == RONCHI_OK; i++) {
        const ronchi_piece *piece = &bf->pieces[i];
        status = ronchi_bright_field_read(bf, piece, err);
        if (status == RONCHI_OK)
            status = ronchi_parallel_for(bf->context, piece->n, walk_item, job, err);
        if (status == RONCHI_OK)
            status = take(user, piece->first, piece->n, job->spectra, err);
        progress.done += piece->n;
        if (status == RONCHI_OK)
            status = ronchi_report(bf->context, &progress, err);
    }
    return status;
}

ronchi_status ronchi_bright_field_walk(ronchi_bright_field *bf, const ronchi_spectra *spectra, const float *window,
                                       const char *stage, ronchi_spectra_fn take, void *user, ronchi_error *err)
{
    size_t workers = ronchi_context_threads(bf->context), most = 0;
    for (size_t i = 0; i < bf->n_pieces; i++)
        most = bf->pieces[i].n > most ? bf->pieces[i].n : most;
    walk_job job = {.bf = bf, .to = spectra, .window = window};
    job.padded = ronchi_calloc(bf->context, workers * spectra->rows * spectra->cols, sizeof *job.padded);
    job.half = ronchi_calloc(bf->context, workers * spectra->rows * spectra->half, sizeof *job.half);
    job.spectra = ronchi_calloc(bf->context, most * spectra->size, sizeof *job.spectra);
    ronchi_status status =
        job.padded && job.half && job.spectra
            ? walk_pieces(bf, &job, stage, take, user, err)
            : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                          "no memory for the spectra of %zu images of %zu x %zu", most, spectra->rows, spectra->cols);
    ronchi_free(bf->context, job.padded);
    ronchi_free(bf->context, job.half);
    ronchi_free(bf->context, job.spectra);
    return status;
}
