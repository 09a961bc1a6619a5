/* SPDX-License-Identifier: MIT */
/* bins.c - pixels into bins, and the sums of their spectra. */
#include "parallax/bins.h"

#include <math.h>
#include <string.h>

enum { SLAB = 4096 /* positions that one item adds */ };

/* Place on one axis: bins are centred on the disk's centre; 'middle' is the grid's middle bin. */
static size_t place(double pixel, double centre, uint32_t side, size_t middle)
{
    return (size_t)((double)middle + floor((pixel - centre) / (double)side + 0.5));
}

/* Farthest bin from the middle one. */
static size_t reach_of(const ronchi_bright_field *bf, uint32_t side)
{
    double most = 0;
    for (size_t i = 0; i < bf->n; i++)
        most = fmax(most, fmax(fabs((double)bf->row[i] - bf->disk.row), fabs((double)bf->col[i] - bf->disk.col)));
    return (size_t)ceil(most / (double)side + 0.5);
}

static size_t cell_of(const ronchi_bright_field *bf, size_t i, uint32_t side, size_t middle)
{
    return place((double)bf->row[i], bf->disk.row, side, middle) * (2 * middle + 1) +
           place((double)bf->col[i], bf->disk.col, side, middle);
}

/* Numbers the cells that hold pixels, in the order of the cells. */
static size_t number_cells(const ronchi_bright_field *bf, uint32_t side, size_t middle, size_t *at)
{
    size_t cells = (2 * middle + 1) * (2 * middle + 1), n = 0;
    for (size_t i = 0; i < cells; i++)
        at[i] = SIZE_MAX;
    for (size_t i = 0; i < bf->n; i++)
        at[cell_of(bf, i, side, middle)] = 0;
    for (size_t i = 0; i < cells; i++)
        if (at[i] != SIZE_MAX)
            at[i] = n++;
    return n;
}

size_t ronchi_bins_count(const ronchi_bright_field *bf, uint32_t side)
{
    size_t middle = reach_of(bf, side), cells = (2 * middle + 1) * (2 * middle + 1), n = 0;
    size_t *at = ronchi_calloc(bf->context, cells, sizeof *at);
    if (at)
        n = number_cells(bf, side, middle, at);
    ronchi_free(bf->context, at);
    return n;
}

static ronchi_status allocate(ronchi_bins *b, size_t images, ronchi_error *err)
{
    ronchi_context *context = b->context;
    b->cell = ronchi_calloc(context, b->n, sizeof *b->cell);
    b->of = ronchi_calloc(context, images, sizeof *b->of);
    b->k_row = ronchi_calloc(context, b->n, sizeof(double));
    b->k_col = ronchi_calloc(context, b->n, sizeof(double));
    b->weight = ronchi_calloc(context, b->n, sizeof(double));
    b->shift_row = ronchi_calloc(context, b->n, sizeof(double));
    b->shift_col = ronchi_calloc(context, b->n, sizeof(double));
    b->variance = ronchi_calloc(context, b->n, sizeof(double));
    b->held = ronchi_calloc(context, b->n, 1);
    b->sums = ronchi_calloc(context, b->n, b->spectra->size * sizeof(float));
    if (b->cell && b->of && b->k_row && b->k_col && b->weight && b->shift_row && b->shift_col && b->variance &&
        b->held && b->sums)
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                       "no memory for the spectra of %zu bins: give a smaller --workspace or larger bins", b->n);
}

ronchi_status ronchi_bins_init(const ronchi_bright_field *bf, const ronchi_spectra *spectra, uint32_t side,
                               ronchi_bins *b, ronchi_error *err)
{
    size_t middle = reach_of(bf, side);
    *b = (ronchi_bins){.context = bf->context, .spectra = spectra, .side = side, .grid = 2 * middle + 1};
    b->dose = bf->dose;
    b->at = ronchi_calloc(bf->context, b->grid * b->grid, sizeof *b->at);
    if (!b->at)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the bins");
    b->n = number_cells(bf, side, middle, b->at);
    ronchi_status status = allocate(b, bf->n, err);
    if (status != RONCHI_OK)
        return status;
    for (size_t i = 0; i < b->grid * b->grid; i++)
        if (b->at[i] != SIZE_MAX)
            b->cell[b->at[i]] = (uint32_t)i;
    for (size_t i = 0; i < bf->n; i++) {
        size_t k = b->of[i] = b->at[cell_of(bf, i, side, middle)];
        double weight = bf->mean[i] / bf->dose;
        b->weight[k] += weight;
        b->k_row[k] += weight * ((double)bf->row[i] - bf->disk.row);
        b->k_col[k] += weight * ((double)bf->col[i] - bf->disk.col);
    }
    for (size_t k = 0; k < b->n; k++) {
        b->k_row[k] /= b->weight[k];
        b->k_col[k] /= b->weight[k];
    }
    return RONCHI_OK;
}

void ronchi_bins_free(ronchi_bins *b)
{
    void *owned[] = {b->at,   b->cell, b->of,        b->k_row,     b->k_col,   b->weight,
                     b->sums, b->held, b->shift_row, b->shift_col, b->variance};
    for (size_t i = 0; b->context && i < sizeof owned / sizeof owned[0]; i++)
        ronchi_free(b->context, owned[i]);
    memset(b, 0, sizeof *b);
}

/* ------------------------------------------------------------------------------------------------------- sums */

typedef struct fill_job {
    ronchi_bins *bins;
    const ronchi_bright_field *bf;
    const float *window;
    size_t first, n;
    float *padded;
    ronchi_complex *half;
} fill_job;

/* Some positions of all images of the piece, in their order: the sum is the same whatever the workers do. */
static ronchi_status add_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const fill_job *job = user;
    const ronchi_bins *b = job->bins;
    size_t from = item * SLAB, n = ronchi_min_size(SLAB, job->bf->n_positions - from);
    (void)worker;
    (void)err;
    for (size_t k = 0; k < job->n; k++)
        b->spectra->kernels->add(b->sums + b->of[job->first + k] * b->spectra->size + from,
                                 job->bf->images + k * job->bf->n_positions + from, n,
                                 (float)(job->bf->mean[job->first + k] / b->dose));
    return RONCHI_OK;
}

static ronchi_status add_piece(void *user, size_t first, size_t n, ronchi_error *err)
{
    fill_job *job = user;
    job->first = first;
    job->n = n;
    return ronchi_parallel_for(job->bf->context, ronchi_div_up(job->bf->n_positions, SLAB), add_item, job, err);
}

/* The sum of a bin lies where its spectrum goes. */
static ronchi_status transform_item(void *user, size_t i, size_t worker, ronchi_error *err)
{
    const fill_job *job = user;
    const ronchi_spectra *s = job->bins->spectra;
    float *sum = job->bins->sums + i * s->size;
    (void)err;
    ronchi_spectra_transform(s, &job->bf->shape, sum, job->window, job->padded + worker * s->rows * s->cols,
                             job->half + worker * s->rows * s->half, sum);
    return RONCHI_OK;
}

ronchi_status ronchi_bins_fill(ronchi_bins *b, ronchi_bright_field *bf, const float *window, ronchi_error *err)
{
    const ronchi_spectra *s = b->spectra;
    size_t workers = ronchi_context_threads(b->context);
    fill_job job = {.bins = b, .bf = bf, .window = window};
    job.padded = ronchi_calloc(b->context, workers * s->rows * s->cols, sizeof *job.padded);
    job.half = ronchi_calloc(b->context, workers * s->rows * s->half, sizeof *job.half);
    ronchi_status status = job.padded && job.half ? ronchi_bright_field_visit(bf, "read", add_piece, &job, err)
                                                  : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                                                                "no memory for a spectrum");
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(b->context, b->n, transform_item, &job, err);
    ronchi_free(b->context, job.padded);
    ronchi_free(b->context, job.half);
    return status;
}
