/* SPDX-License-Identifier: MIT */
/*
 * column_encode.c - frames into one chunk of column-rans-v2.
 *
 * Work is cut into items of 8 detector rows of one span, the height of the smallest field of the spatial sums.  Each
 * item turns its pixels from frames into streams, encodes them behind each other and adds up its fields; then
 * everything is joined in stream order.
 */
#include <string.h>

#include "codec/column.h"
#include "codec/stream_pack.h"

enum { TILE_COLS = RONCHI_STREAM_TILE / RONCHI_SUM_SMALL };

typedef struct encode_job {
    column_store *store;
    column_chunk *chunk;
    const char *frames;
    const ronchi_kernels *kernels;
    size_t row_groups; /* items per span */
    ronchi_stream_pack pack;
    size_t sum_pitch;          /* positions of the longest span */
    uint32_t *sums;            /* [n_spans][n_fields][sum_pitch] */
    ronchi_stream_tile *tiles; /* [threads] */
} encode_job;

static size_t span_length(const column_chunk *chunk, size_t span)
{
    return ronchi_min_size(RONCHI_STREAM_SPAN, chunk->n_positions - span * RONCHI_STREAM_SPAN);
}

static ronchi_status no_memory(ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to encode: use a smaller --budget");
}

/* Up to 8 rows and TILE_COLS columns of the detector. */
typedef struct tile_place {
    size_t span, row, rows, col, cols;
} tile_place;

/* Turns the counts of a tile over into streams: stream i is row i / cols, column i % cols of it. */
static void load_tile(const encode_job *job, const tile_place *at, ronchi_stream_tile *tile)
{
    const ronchi_store *base = &job->store->base;
    size_t size = ronchi_dtype_size(base->dtype), n = span_length(job->chunk, at->span);
    const char *frames = job->frames + at->span * RONCHI_STREAM_SPAN * base->n_pixels * size;
    ronchi_transpose_fn *transpose = size == 1 ? job->kernels->widen8 : job->kernels->transpose16;
    for (size_t r = 0; r < at->rows; r++)
        transpose(frames + ((at->row + r) * base->shape.det_cols + at->col) * size, (ptrdiff_t)(base->n_pixels * size),
                  n, at->cols, tile->values[r * at->cols], RONCHI_STREAM_PITCH * 2);
    for (size_t i = 0; i < at->rows * at->cols; i++)
        job->kernels->stream_stats(tile->values[i], n, &tile->stats[i]);
}

/* Adds the unflagged pixels of a tile to their 8 x 8 fields and to the maximum. */
static void add_tile(const encode_job *job, const tile_place *at, const ronchi_stream_tile *tile,
                     ronchi_stream_piece *piece)
{
    const ronchi_sum_fields *fields = &job->store->fields;
    size_t n = span_length(job->chunk, at->span), group = at->row / RONCHI_SUM_SMALL;
    uint32_t *sums = job->sums + (at->span * fields->n_fields + group * fields->small_cols) * job->sum_pitch;
    for (size_t i = 0; i < at->rows * at->cols; i++) {
        size_t row = at->row + i / at->cols, col = at->col + i % at->cols;
        if (!tile->stats[i].max || !job->store->base.valid[row * fields->det_cols + col])
            continue;
        piece->max = tile->stats[i].max > piece->max ? tile->stats[i].max : piece->max;
        job->kernels->weigh(tile->values[i], n, 1, sums + col / RONCHI_SUM_SMALL * job->sum_pitch);
    }
}

static bool encode_tile(encode_job *job, const tile_place *at, ronchi_stream_tile *tile, ronchi_stream_piece *piece)
{
    const ronchi_store *base = &job->store->base;
    size_t n_streams = at->rows * at->cols;
    load_tile(job, at, tile);
    add_tile(job, at, tile, piece);
    job->kernels->streams_encode(job->store->tables, tile->values[0], n_streams, span_length(job->chunk, at->span),
                                 tile->stats, tile->bytes[0], tile->sizes, tile->selectors);
    for (size_t i = 0; i < n_streams; i++) {
        size_t pixel = (at->row + i / at->cols) * base->shape.det_cols + at->col + i % at->cols;
        if (!ronchi_stream_pack_add(&job->pack, piece, at->span * base->n_pixels + pixel, tile->bytes[i],
                                    tile->sizes[i], tile->selectors[i]))
            return false;
    }
    return true;
}

static ronchi_status encode_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    encode_job *job = user;
    const ronchi_sum_fields *fields = &job->store->fields;
    tile_place at = {item / job->row_groups, item % job->row_groups * RONCHI_SUM_SMALL, 0, 0, 0};
    at.rows = ronchi_min_size(RONCHI_SUM_SMALL, fields->det_rows - at.row);
    size_t first = at.span * fields->n_fields + at.row / RONCHI_SUM_SMALL * fields->small_cols;
    memset(job->sums + first * job->sum_pitch, 0, fields->small_cols * job->sum_pitch * sizeof *job->sums);
    for (; at.col < fields->det_cols; at.col += TILE_COLS) {
        at.cols = ronchi_min_size(TILE_COLS, fields->det_cols - at.col);
        if (!encode_tile(job, &at, &job->tiles[worker], &job->pack.pieces[item]))
            return no_memory(err);
    }
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------- spatial sums */

/* Adds up the 32 x 32 fields of a span and finds the width of each of its fields. */
static ronchi_status widths_item(void *user, size_t span, size_t worker, ronchi_error *err)
{
    (void)worker;
    (void)err;
    encode_job *job = user;
    const ronchi_sum_fields *fields = &job->store->fields;
    uint32_t *sums = job->sums + span * fields->n_fields * job->sum_pitch;
    size_t n = span_length(job->chunk, span);
    for (size_t k = fields->n_small; k < fields->n_fields; k++) {
        ronchi_sum_inner in = ronchi_sum_fields_inner(fields, k - fields->n_small);
        uint32_t *large = sums + k * job->sum_pitch;
        memset(large, 0, n * sizeof *large);
        for (size_t r = in.row; r < in.row_end; r++)
            for (size_t c = in.col; c < in.col_end; c++)
                for (size_t t = 0; t < n; t++)
                    large[t] += sums[(r * fields->small_cols + c) * job->sum_pitch + t];
    }
    uint8_t *widths = (uint8_t *)job->chunk->arrays[COLUMN_SUM_WIDTHS].data + span * fields->n_fields;
    for (size_t k = 0; k < fields->n_fields; k++)
        widths[k] = (uint8_t)ronchi_sum_width(sums + k * job->sum_pitch, n);
    return RONCHI_OK;
}

static ronchi_status pack_item(void *user, size_t span, size_t worker, ronchi_error *err)
{
    (void)worker;
    (void)err;
    encode_job *job = user;
    const ronchi_sum_fields *fields = &job->store->fields;
    const uint8_t *widths = job->chunk->arrays[COLUMN_SUM_WIDTHS].data;
    const uint64_t *offsets = job->chunk->arrays[COLUMN_SUM_OFFSETS].data;
    uint32_t *words = job->chunk->arrays[COLUMN_SUMS].data;
    for (size_t i = span * fields->n_fields; i < (span + 1) * fields->n_fields; i++)
        ronchi_sum_pack(job->sums + i * job->sum_pitch, span_length(job->chunk, span), widths[i], words + offsets[i]);
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------ the whole */

static bool make_array(column_store *store, column_chunk *chunk, size_t which, size_t count)
{
    chunk->arrays[which].count = count;
    chunk->arrays[which].data = ronchi_calloc(store->base.context, count ? count : 1, ronchi_column_item_size(which));
    return chunk->arrays[which].data != NULL;
}

static ronchi_status join_streams(encode_job *job, ronchi_error *err)
{
    column_array *payload = &job->chunk->arrays[COLUMN_PAYLOAD];
    ronchi_status status = ronchi_stream_pack_join(&job->pack, err);
    if (status != RONCHI_OK)
        return status;
    payload->count = column_offsets(job->chunk)[job->chunk->n_streams];
    payload->data = job->pack.payload;
    job->pack.payload = NULL;
    return RONCHI_OK;
}

/* Makes the arrays whose sizes are known, scratch, and the pieces: one for each item. */
static bool prepare(encode_job *job)
{
    column_store *store = job->store;
    column_chunk *chunk = job->chunk;
    ronchi_context *context = store->base.context;
    size_t n_pixels = store->base.n_pixels, per = RONCHI_SUM_SMALL * store->base.shape.det_cols;
    size_t n_fields = chunk->n_spans * store->fields.n_fields;
    job->sums = ronchi_alloc(context, n_fields * job->sum_pitch * sizeof *job->sums);
    job->tiles = ronchi_alloc(context, ronchi_context_threads(context) * sizeof *job->tiles);
    if (!job->sums || !job->tiles || !make_array(store, chunk, COLUMN_OFFSETS, chunk->n_streams + 1) ||
        !make_array(store, chunk, COLUMN_SELECTORS, chunk->n_streams) ||
        !make_array(store, chunk, COLUMN_SUM_OFFSETS, n_fields + 1) ||
        !make_array(store, chunk, COLUMN_SUM_WIDTHS, n_fields) ||
        !ronchi_stream_pack_init(&job->pack, context, chunk->n_streams, chunk->n_spans * job->row_groups,
                                 chunk->arrays[COLUMN_OFFSETS].data, chunk->arrays[COLUMN_SELECTORS].data))
        return false;
    for (size_t i = 0; i < job->pack.n_pieces; i++) {
        size_t pixel = i % job->row_groups * per;
        job->pack.pieces[i].first = i / job->row_groups * n_pixels + pixel;
        job->pack.pieces[i].n_streams = ronchi_min_size(per, n_pixels - pixel);
    }
    return true;
}

static ronchi_status join_sums(encode_job *job, ronchi_error *err)
{
    column_chunk *chunk = job->chunk;
    size_t n_fields = job->store->fields.n_fields;
    ronchi_status status = ronchi_parallel_for(job->store->base.context, chunk->n_spans, widths_item, job, err);
    if (status != RONCHI_OK)
        return status;
    const uint8_t *widths = chunk->arrays[COLUMN_SUM_WIDTHS].data;
    uint64_t *offsets = chunk->arrays[COLUMN_SUM_OFFSETS].data;
    for (size_t i = 0; i < chunk->n_spans * n_fields; i++)
        offsets[i + 1] = offsets[i] + ronchi_sum_words(span_length(chunk, i / n_fields), widths[i]);
    if (!make_array(job->store, chunk, COLUMN_SUMS, (size_t)offsets[chunk->n_spans * n_fields]))
        return no_memory(err);
    return ronchi_parallel_for(job->store->base.context, chunk->n_spans, pack_item, job, err);
}

static ronchi_status run(encode_job *job, ronchi_error *err)
{
    ronchi_store *base = &job->store->base;
    if (!prepare(job))
        return no_memory(err);
    ronchi_status status = ronchi_parallel_for(base->context, job->pack.n_pieces, encode_item, job, err);
    if (status == RONCHI_OK)
        status = join_streams(job, err);
    if (status == RONCHI_OK)
        status = join_sums(job, err);
    for (size_t i = 0; status == RONCHI_OK && i < job->pack.n_pieces; i++)
        if (job->pack.pieces[i].max > job->store->largest)
            job->store->largest = (uint32_t)job->pack.pieces[i].max;
    base->max_count = job->store->largest;
    return status;
}

ronchi_status ronchi_column_encode_block(ronchi_store *base, size_t index, const void *frames, ronchi_error *err)
{
    column_store *store = (column_store *)base;
    if (!store->block_positions || index != store->n_filled || index >= store->n_chunks)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "block %zu is not the next to encode",
                           index);
    column_chunk *chunk = &store->chunks[index];
    ronchi_block block = base->profile->block(base, index);
    chunk->first = block.first;
    chunk->n_positions = block.cols;
    chunk->n_spans = ronchi_div_up(block.cols, RONCHI_STREAM_SPAN);
    chunk->n_streams = chunk->n_spans * base->n_pixels;

    encode_job job;
    memset(&job, 0, sizeof job);
    job.store = store;
    job.chunk = chunk;
    job.frames = frames;
    job.kernels = ronchi_context_kernels(base->context);
    job.row_groups = store->fields.small_rows;
    job.sum_pitch = ronchi_min_size(RONCHI_STREAM_SPAN, block.cols);
    ronchi_status status = run(&job, err);
    ronchi_stream_pack_release(&job.pack);
    ronchi_free(base->context, job.sums);
    ronchi_free(base->context, job.tiles);
    if (status != RONCHI_OK)
        return status;
    ronchi_column_place(store, index);
    store->n_filled++;
    return RONCHI_OK;
}
