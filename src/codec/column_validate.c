/* SPDX-License-Identifier: MIT */
/*
 * column_validate.c - decodes all of a column-rans-v2 store and compares every spatial sum with the counts.
 *
 * First each row of 8 x 8 fields of each span is decoded and its sums are compared; then the 32 x 32 fields are
 * compared with the sums of the 8 x 8 fields that they hold, which are known to be right by then.
 */
#include <string.h>

#include "codec/column.h"

enum { TILE_COLS = 32, TILE_PIXELS = RONCHI_SUM_SMALL * TILE_COLS };

typedef struct validate_job {
    const column_store *store;
    const ronchi_kernels *kernels;
    uint16_t *scratch; /* [threads][TILE_PIXELS][pitch] */
} validate_job;

static ronchi_status bad_sum(const column_store *store, const column_span *span, size_t field, const char *what,
                             size_t t, ronchi_error *err)
{
    const column_chunk *chunk = &store->chunks[span->chunk];
    const uint64_t *offsets = chunk->arrays[COLUMN_SUM_OFFSETS].data;
    uint64_t byte = chunk->arrays[COLUMN_SUMS].body_offset + 4 * offsets[span->local * store->fields.n_fields + field];
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, byte,
                       "chunk %zu block %u spatial sum %zu at body byte %llu: %s (position %llu); the file is damaged",
                       span->chunk, (unsigned)span->local, field, (unsigned long long)byte, what,
                       (unsigned long long)(span->first + t));
}

static bool unpack(const column_store *store, const column_span *span, size_t field, uint32_t *values)
{
    const column_chunk *chunk = &store->chunks[span->chunk];
    const uint64_t *offsets = chunk->arrays[COLUMN_SUM_OFFSETS].data;
    const uint8_t *widths = chunk->arrays[COLUMN_SUM_WIDTHS].data;
    const uint32_t *words = chunk->arrays[COLUMN_SUMS].data;
    size_t i = span->local * store->fields.n_fields + field;
    return ronchi_sum_unpack(words + offsets[i], span->n, widths[i], values);
}

static ronchi_status compare(const column_store *store, const column_span *span, size_t field, const uint32_t *right,
                             ronchi_error *err)
{
    uint32_t stored[RONCHI_STREAM_SPAN];
    if (!unpack(store, span, field, stored))
        return bad_sum(store, span, field, "bits behind the last sum are set", span->n - 1, err);
    for (size_t t = 0; t < span->n; t++)
        if (stored[t] != right[t])
            return bad_sum(store, span, field, "the sum differs from the counts", t, err);
    return RONCHI_OK;
}

/* One tile of 8 rows and up to 32 columns: decode, add up, compare. */
static ronchi_status check_tile(const validate_job *job, const column_span *span, size_t group, size_t col,
                                uint16_t *counts, ronchi_error *err)
{
    const column_store *store = job->store;
    const ronchi_shape *shape = &store->base.shape;
    uint32_t pixels[TILE_PIXELS] = {0};
    uint32_t sums[TILE_COLS / RONCHI_SUM_SMALL][RONCHI_STREAM_SPAN];
    size_t width = ronchi_min_size(TILE_COLS, shape->det_cols - col), row = group * RONCHI_SUM_SMALL;
    size_t n = ronchi_min_size(RONCHI_SUM_SMALL, shape->det_rows - row) * width;
    for (size_t i = 0; i < n; i++)
        pixels[i] = (uint32_t)((row + i / width) * shape->det_cols + col + i % width);
    ronchi_status status = ronchi_column_decode_pixels(store, span, pixels, n, span->n, counts, err);
    memset(sums, 0, sizeof sums);
    for (size_t i = 0; status == RONCHI_OK && i < n; i++)
        if (store->base.valid[pixels[i]])
            job->kernels->weigh(counts + i * RONCHI_STREAM_PITCH, span->n, 1, sums[i % width / RONCHI_SUM_SMALL]);
    for (size_t c = 0; status == RONCHI_OK && c * RONCHI_SUM_SMALL < width; c++)
        status = compare(store, span, group * store->fields.small_cols + col / RONCHI_SUM_SMALL + c, sums[c], err);
    return status;
}

static ronchi_status small_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const validate_job *job = user;
    const column_store *store = job->store;
    const column_span *span = &store->spans[item / store->fields.small_rows];
    uint16_t *counts = job->scratch + worker * TILE_PIXELS * RONCHI_STREAM_PITCH;
    for (size_t col = 0; col < store->base.shape.det_cols; col += TILE_COLS) {
        ronchi_status status = check_tile(job, span, item % store->fields.small_rows, col, counts, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

static ronchi_status large_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    const validate_job *job = user;
    const column_store *store = job->store;
    const column_span *span = &store->spans[item];
    uint32_t sums[RONCHI_STREAM_SPAN], small[RONCHI_STREAM_SPAN];
    for (size_t field = store->fields.n_small; field < store->fields.n_fields; field++) {
        ronchi_sum_inner in = ronchi_sum_fields_inner(&store->fields, field - store->fields.n_small);
        memset(sums, 0, sizeof sums);
        for (size_t r = in.row; r < in.row_end; r++)
            for (size_t c = in.col; c < in.col_end; c++) {
                unpack(store, span, r * store->fields.small_cols + c, small); /* checked before */
                for (size_t t = 0; t < span->n; t++)
                    sums[t] += small[t];
            }
        ronchi_status status = compare(store, span, field, sums, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

ronchi_status ronchi_column_validate(const ronchi_store *base, ronchi_error *err)
{
    const column_store *store = (const column_store *)base;
    validate_job job = {store, ronchi_context_kernels(base->context), NULL};
    job.scratch =
        ronchi_alloc(base->context, ronchi_context_threads(base->context) * TILE_PIXELS * RONCHI_STREAM_PITCH * 2);
    if (!job.scratch)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to validate");
    ronchi_status status =
        ronchi_parallel_for(base->context, store->n_spans * store->fields.small_rows, small_item, &job, err);
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(base->context, store->n_spans, large_item, &job, err);
    ronchi_free(base->context, job.scratch);
    return status;
}
