/* SPDX-License-Identifier: MIT */
/*
 * gather_tiles.c - positions that move far: detector tile by detector tile.
 *
 * A tile is as large as half the budget holds of all its positions.  Its positions are decoded once, copied into their
 * new order and encoded in a store of their own; when all tiles are there, the profile joins these stores as they are.
 * Where it cannot, or half the budget is too small for a tile of its own, the blocks of the result are read from the
 * stores and encoded again.  The other half of the budget is the block being encoded.  The tiles' stores together are
 * one more encoded copy, for a while.
 */
#include <string.h>

#include "geometry/gather.h"

typedef struct tiles {
    const ronchi_gather *gather;
    ronchi_store *result;
    size_t row, rows; /* scan rows of the input that are used */
    size_t tile_rows, tile_cols, n_down, n_across;
    bool joined;           /* the tiles are parts that the profile joins */
    size_t size;           /* bytes of a count */
    char *counts;          /* [used positions][pixels of a tile] in axes of the result */
    ronchi_store **stores; /* [n_down x n_across] */
    char *frames;          /* a block of a tile's store or of the result */
    ronchi_progress progress;
    /* while one block is copied */
    ronchi_block block;
    char *blank; /* one tile frame of the fill */
    size_t tile_bytes;
} tiles;

static void used_rows(tiles *t)
{
    const ronchi_gather *g = t->gather;
    size_t n = g->shape.scan_rows * g->shape.scan_cols, cols = g->from->store->shape.scan_cols;
    size_t first = SIZE_MAX, last = 0;
    for (size_t i = 0; i < n; i++)
        if (g->positions[i] != RONCHI_GATHER_FILL) {
            first = ronchi_min_size(first, g->positions[i] / cols);
            last = g->positions[i] / cols > last ? g->positions[i] / cols : last;
        }
    t->row = first == SIZE_MAX ? 0 : first;
    t->rows = last - t->row + 1;
}

/* Whole detector rows where one fits, else part of one; in the profile's own units where one of these fits. */
static void choose_size(tiles *t, size_t fit)
{
    const ronchi_shape *s = &t->gather->shape;
    size_t rows = 1, cols = 1;
    if (t->result->profile->part_unit)
        t->result->profile->part_unit(t->result, &rows, &cols);
    t->joined = t->result->profile->part_unit && fit / rows >= cols;
    if (!t->joined)
        rows = cols = 1;
    size_t across = ronchi_min_size(ronchi_div_up(s->det_cols, cols), fit / rows / cols);
    size_t down = ronchi_min_size(ronchi_div_up(s->det_rows, rows), fit / (across * cols) / rows);
    t->tile_cols = ronchi_min_size(across * cols, s->det_cols);
    t->tile_rows = ronchi_min_size(down * rows, s->det_rows);
}

static ronchi_status plan(tiles *t, ronchi_error *err)
{
    const ronchi_gather *g = t->gather;
    ronchi_context *context = g->from->context;
    uint64_t column = (uint64_t)t->rows * g->from->store->shape.scan_cols * t->size,
             block = (uint64_t)ronchi_store_largest_block(t->result) * t->size; /* of a tile, being encoded */
    uint64_t pixels = ronchi_context_budget(context) / (column + (block > column ? block : column));
    if (!pixels)
        return ronchi_fail(
            err, RONCHI_ERR_MEMORY, g->from->info.source_name, RONCHI_NO_OFFSET,
            "the counts of one detector pixel at all positions need %llu bytes, half of a budget: give --budget",
            (unsigned long long)column);
    size_t fit = pixels > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)pixels;
    choose_size(t, fit);
    t->n_down = ronchi_div_up(g->shape.det_rows, t->tile_rows);
    t->n_across = ronchi_div_up(g->shape.det_cols, t->tile_cols);
    t->counts = ronchi_decoded_take(context, t->tile_rows * t->tile_cols, (size_t)column);
    t->blank = ronchi_calloc(context, t->tile_rows * t->tile_cols, t->size);
    t->stores = ronchi_calloc(context, t->n_down * t->n_across, sizeof *t->stores);
    if (!t->counts || !t->blank || !t->stores)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, g->from->info.source_name, RONCHI_NO_OFFSET,
                           "no memory for a tile of %zu x %zu detector pixels: give a smaller --budget", t->tile_rows,
                           t->tile_cols);
    return RONCHI_OK;
}

static ronchi_tile tile_of(const tiles *t, size_t index)
{
    size_t row = index / t->n_across * t->tile_rows, col = index % t->n_across * t->tile_cols;
    const ronchi_shape *s = &t->gather->shape;
    ronchi_tile tile = {row, ronchi_min_size(t->tile_rows, s->det_rows - row), col,
                        ronchi_min_size(t->tile_cols, s->det_cols - col)};
    return tile;
}

static ronchi_status decode_tile(const tiles *t, const ronchi_tile *tile, ronchi_error *err)
{
    const ronchi_store *from = t->gather->from->store;
    ronchi_region region = ronchi_region_all(&from->shape);
    ronchi_view view;
    ronchi_gather_source(t->gather, tile, t->counts, &region, &view);
    region.scan_row = t->row;
    region.scan_rows = view.shape[0] = t->rows;
    view.shape[1] = from->shape.scan_cols;
    view.stride[1] = (ptrdiff_t)(tile->rows * tile->cols * t->size);
    view.stride[0] = view.stride[1] * (ptrdiff_t)from->shape.scan_cols;
    return from->profile->decode_band(from, &region, &view, err);
}

static ronchi_status copy_frame(void *user, size_t j, size_t worker, ronchi_error *err)
{
    const tiles *t = user;
    const ronchi_gather *g = t->gather;
    size_t p = g->positions[ronchi_block_position(&t->block, &g->shape, j)];
    const char *from =
        p == RONCHI_GATHER_FILL ? t->blank : t->counts + (p - t->row * g->from->store->shape.scan_cols) * t->tile_bytes;
    (void)worker;
    (void)err;
    memcpy(t->frames + j * t->tile_bytes, from, t->tile_bytes);
    return RONCHI_OK;
}

static ronchi_status make_frames(tiles *t, const ronchi_store *store, ronchi_error *err)
{
    size_t n = ronchi_store_largest_block(store);
    t->frames = ronchi_decoded_take(store->context, n, store->n_pixels * t->size);
    if (!t->frames)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu decoded frames", n);
    return RONCHI_OK;
}

static void drop_frames(tiles *t)
{
    ronchi_decoded_give(t->gather->from->context, t->frames);
    t->frames = NULL;
}

/* Encodes the decoded tile in its new order. */
static ronchi_status encode_tile(tiles *t, const ronchi_tile *tile, ronchi_store *store, ronchi_error *err)
{
    t->tile_bytes = tile->rows * tile->cols * t->size;
    ronchi_status status = make_frames(t, store, err);
    for (size_t i = 0; status == RONCHI_OK && i < store->profile->n_blocks(store); i++) {
        t->block = store->profile->block(store, i);
        status = ronchi_parallel_for(store->context, ronchi_block_positions(&t->block), copy_frame, t, err);
        if (status == RONCHI_OK)
            status = store->profile->encode_block(store, i, t->frames, err);
        if (status == RONCHI_OK)
            status = ronchi_report(store->context, &t->progress, err);
    }
    drop_frames(t);
    return status == RONCHI_OK ? store->profile->finish(store, err) : status;
}

static ronchi_region region_of(const tiles *t, const ronchi_tile *tile)
{
    ronchi_region det = ronchi_region_all(&t->gather->shape);
    det.det_row = tile->row;
    det.det_rows = tile->rows;
    det.det_col = tile->col;
    det.det_cols = tile->cols;
    return det;
}

static ronchi_status make_tile_store(tiles *t, const ronchi_tile *tile, ronchi_store **out, ronchi_error *err)
{
    const ronchi_gather *g = t->gather;
    const ronchi_profile *profile = t->result->profile;
    ronchi_shape shape = {g->shape.scan_rows, g->shape.scan_cols, tile->rows, tile->cols};
    ronchi_region det = region_of(t, tile);
    if (t->joined)
        return profile->part(t->result, &det, out, err);
    return profile->create(g->from->context, &shape, t->result->dtype, NULL, ronchi_context_budget(g->from->context),
                           out, err);
}

static ronchi_status run_tiles(tiles *t, ronchi_error *err)
{
    size_t n = t->n_down * t->n_across;
    ronchi_status status = RONCHI_OK;
    ronchi_gather_fill(t->gather, t->blank, t->tile_rows * t->tile_cols);
    for (size_t k = 0; k < n && status == RONCHI_OK; k++) {
        ronchi_tile tile = tile_of(t, k);
        status = decode_tile(t, &tile, err);
        if (status == RONCHI_OK && n == 1) /* the tile is the detector */
            return encode_tile(t, &tile, t->result, err);
        if (status == RONCHI_OK)
            status = make_tile_store(t, &tile, &t->stores[k], err);
        if (status == RONCHI_OK)
            status = encode_tile(t, &tile, t->stores[k], err);
        t->progress.done = t->result->n_positions * (k + 1) / n;
    }
    return status;
}

/* One rectangle of a block from all tiles. */
static ronchi_status join_part(const tiles *t, const ronchi_region *part, char *frames, ronchi_error *err)
{
    const ronchi_shape *s = &t->gather->shape;
    ptrdiff_t size = (ptrdiff_t)t->size, frame = (ptrdiff_t)(s->det_rows * s->det_cols) * size;
    for (size_t k = 0; k < t->n_down * t->n_across; k++) {
        ronchi_tile tile = tile_of(t, k);
        ronchi_region region = *part;
        region.det_row = region.det_col = 0;
        region.det_rows = tile.rows;
        region.det_cols = tile.cols;
        ronchi_view view = {frames + (ptrdiff_t)(tile.row * s->det_cols + tile.col) * size,
                            t->result->dtype,
                            RONCHI_HOST,
                            0,
                            {part->scan_rows, part->scan_cols, tile.rows, tile.cols},
                            {frame * (ptrdiff_t)part->scan_cols, frame, (ptrdiff_t)s->det_cols * size, size}};
        ronchi_status status = t->result->profile->decode_band(t->stores[k], &region, &view, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

static ronchi_status join_tiles(tiles *t, ronchi_error *err)
{
    ronchi_store *store = t->result;
    size_t frame = store->n_pixels * t->size;
    ronchi_region part;
    ronchi_status status = make_frames(t, store, err);
    for (size_t i = 0; status == RONCHI_OK && i < store->profile->n_blocks(store); i++) {
        ronchi_block block = store->profile->block(store, i);
        for (size_t done = 0, start = 0; status == RONCHI_OK && ronchi_block_next(&store->shape, &block, &done, &part);
             start = done)
            status = join_part(t, &part, t->frames + start * frame, err);
        if (status == RONCHI_OK)
            status = store->profile->encode_block(store, i, t->frames, err);
        t->progress.done += ronchi_block_positions(&block);
        if (status == RONCHI_OK)
            status = ronchi_report(store->context, &t->progress, err);
    }
    drop_frames(t);
    return status == RONCHI_OK ? store->profile->finish(store, err) : status;
}

static ronchi_status join_parts(tiles *t, ronchi_error *err)
{
    size_t n = t->n_down * t->n_across;
    ronchi_region *at = ronchi_calloc(t->result->context, n, sizeof *at);
    if (!at)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu tiles", n);
    for (size_t k = 0; k < n; k++) {
        ronchi_tile tile = tile_of(t, k);
        at[k] = region_of(t, &tile);
    }
    ronchi_status status = t->result->profile->join(t->result, t->stores, at, n, err);
    ronchi_free(t->result->context, at);
    return status;
}

ronchi_status ronchi_gather_tiles(const ronchi_gather *gather, ronchi_store *store, ronchi_error *err)
{
    ronchi_context *context = store->context;
    tiles t;
    memset(&t, 0, sizeof t);
    t.gather = gather;
    t.result = store;
    t.size = ronchi_dtype_size(store->dtype);
    used_rows(&t);
    ronchi_status status = plan(&t, err);
    bool one = status == RONCHI_OK && t.n_down * t.n_across == 1;
    ronchi_progress progress = {gather->stage, 0, store->n_positions * (one || t.joined ? 1 : 2), "frames",
                                store->n_pixels * t.size};
    t.progress = progress;
    if (status == RONCHI_OK)
        status = run_tiles(&t, err);
    ronchi_decoded_give(context, t.counts);
    t.counts = NULL;
    if (status == RONCHI_OK && !one)
        status = t.joined ? join_parts(&t, err) : join_tiles(&t, err);
    for (size_t k = 0; t.stores && k < t.n_down * t.n_across; k++)
        if (t.stores[k])
            store->profile->destroy(t.stores[k]);
    ronchi_free(context, t.stores);
    ronchi_free(context, t.blank);
    return status;
}
