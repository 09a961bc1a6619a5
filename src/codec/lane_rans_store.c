/* SPDX-License-Identifier: MIT */
/* lane_rans_store.c - the store of lane-rans-v1: making, validating, bytes; the profile's table. */
#include <string.h>

#include "codec/lane_rans.h"

void ronchi_lane_destroy(ronchi_store *base)
{
    if (!base)
        return;
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    ronchi_context *context = base->context;
    for (size_t i = 0; store->chunks && i < store->layout.n_rects; i++) {
        ronchi_free(context, store->chunks[i].bytes);
        ronchi_free(context, store->chunks[i].offset);
    }
    ronchi_sum_index_destroy(store->index);
    ronchi_free(context, store->chunks);
    ronchi_free(context, store->tables);
    ronchi_store_release(base);
    ronchi_free(context, store);
}

static uint32_t largest_of(ronchi_dtype dtype)
{
    return dtype == RONCHI_U8 ? UINT8_MAX : dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
}

ronchi_status ronchi_lane_create_empty(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                       const uint8_t *valid, ronchi_lane_store **out, ronchi_error *err)
{
    *out = NULL;
    if (dtype != RONCHI_U8 && dtype != RONCHI_U16 && dtype != RONCHI_U32)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "lane-rans-v1 holds counts, not %s",
                           ronchi_dtype_name(dtype));
    ronchi_lane_store *store = ronchi_calloc(context, 1, sizeof *store);
    if (!store)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a store");
    store->base.context = context;
    ronchi_status status = ronchi_store_init(&store->base, &ronchi_profile_lane, context, shape, dtype, valid, err);
    if (status == RONCHI_OK && store->base.n_pixels > UINT32_MAX / 2)
        status = ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "frames of %zu pixels are too large",
                             store->base.n_pixels);
    if (status == RONCHI_OK) {
        ronchi_lane_layout_of(shape, dtype, &store->layout);
        store->tables = ronchi_alloc(context, sizeof *store->tables);
        store->chunks = ronchi_calloc(context, store->layout.n_rects, sizeof *store->chunks);
        if (!store->tables || !store->chunks)
            status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu chunks",
                                 store->layout.n_rects);
    }
    if (status != RONCHI_OK) {
        ronchi_lane_destroy(&store->base);
        return status;
    }
    ronchi_lane_tables_fill(store->tables);
    *out = store;
    return RONCHI_OK;
}

static ronchi_status create(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                            const uint8_t *valid, uint64_t budget_bytes, ronchi_store **out, ronchi_error *err)
{
    ronchi_lane_store *store;
    *out = NULL;
    ronchi_status status = ronchi_lane_create_empty(context, shape, dtype, valid, &store, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_lane_layout *l = &store->layout;
    uint64_t need = (uint64_t)ronchi_min_size(l->rect_rows, shape->scan_rows) *
                    ronchi_min_size(l->rect_cols, shape->scan_cols) * store->base.n_pixels * l->value_bytes;
    if (budget_bytes < need) {
        ronchi_lane_destroy(&store->base);
        return ronchi_fail(
            err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
            "the budget of %llu bytes is smaller than one scan rectangle of lane-rans-v1, %llu: give --budget %lluK",
            (unsigned long long)budget_bytes, (unsigned long long)need, (unsigned long long)(need / 1024 + 1));
    }
    *out = &store->base;
    return RONCHI_OK;
}

static size_t n_blocks(const ronchi_store *base)
{
    return ((const ronchi_lane_store *)base)->layout.n_rects;
}

static ronchi_block block_of(const ronchi_store *base, size_t index)
{
    const ronchi_lane_layout *l = &((const ronchi_lane_store *)base)->layout;
    ronchi_lane_cut rect = ronchi_lane_rect(l, index);
    uint64_t cols = base->shape.scan_cols, first = rect.row * cols;
    ronchi_block block = {0, first + rect.col, rect.rows, rect.cols, first, rect.rows * cols};
    return block;
}

static ronchi_status finish(ronchi_store *base, ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    if (store->n_filled < store->layout.n_rects)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "only %zu of %zu blocks were encoded",
                           store->n_filled, store->layout.n_rects);
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------- validating */

ronchi_status ronchi_lane_bad(const ronchi_lane_store *store, size_t rect, size_t tile, const char *what,
                              ronchi_error *err)
{
    const ronchi_lane_chunk *chunk = &store->chunks[rect];
    uint64_t byte =
        chunk->body_offset + LANE_CHUNK_HEADER + 4 * store->layout.n_tiles + 2 * (uint64_t)chunk->offset[tile];
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, byte,
                       "chunk %zu brick %zu at body byte %llu: %s; the file is damaged", rect, tile,
                       (unsigned long long)byte, what);
}

ronchi_status ronchi_lane_brick_at(const ronchi_lane_store *store, size_t rect, size_t tile, ronchi_lane_brick *out,
                                   ronchi_error *err)
{
    const ronchi_lane_chunk *chunk = &store->chunks[rect];
    ronchi_lane_cut cut = ronchi_lane_rect(&store->layout, rect), pixels = ronchi_lane_tile(&store->layout, tile);
    const char *wrong =
        ronchi_lane_brick_parse(chunk->payload + chunk->offset[tile], chunk->offset[tile + 1] - chunk->offset[tile],
                                pixels.rows * pixels.cols, cut.rows * cut.cols, out);
    return wrong ? ronchi_lane_bad(store, rect, tile, wrong, err) : RONCHI_OK;
}

typedef struct validate_job {
    const ronchi_lane_store *store;
    uint32_t *counts; /* [threads][LANE_TILE][LANE_SPAN] */
} validate_job;

static ronchi_status validate_brick(void *user, size_t item, size_t index, ronchi_error *err)
{
    const validate_job *job = user;
    const ronchi_lane_store *store = job->store;
    size_t rect = item / store->layout.n_tiles, tile = item % store->layout.n_tiles;
    uint32_t *counts = job->counts + index * LANE_TILE * LANE_SPAN, most = largest_of(store->base.dtype);
    ronchi_lane_brick brick;
    ronchi_status status = ronchi_lane_brick_at(store, rect, tile, &brick, err);
    for (size_t s = 0; status == RONCHI_OK && s < brick.n_streams; s++) {
        const char *wrong = ronchi_lane_decode32(store->tables, &brick, s, 1, brick.n_pixels, most, counts);
        if (wrong)
            status = ronchi_lane_bad(store, rect, tile, wrong, err);
    }
    return status;
}

static ronchi_status validate(const ronchi_store *base, ronchi_error *err)
{
    validate_job job = {(const ronchi_lane_store *)base, NULL};
    const ronchi_lane_layout *l = &job.store->layout;
    size_t threads = ronchi_context_threads(base->context);
    job.counts = ronchi_alloc(base->context, threads * LANE_TILE * LANE_SPAN * sizeof *job.counts);
    if (!job.counts)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to validate with");
    ronchi_status status = ronchi_parallel_for(base->context, l->n_rects * l->n_tiles, validate_brick, &job, err);
    ronchi_free(base->context, job.counts);
    return status == RONCHI_OK && job.store->index ? ronchi_lane_check_index(job.store, err) : status;
}

static ronchi_store_bytes bytes(const ronchi_store *base)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    uint64_t per = (store->layout.n_tiles + 1) * sizeof(uint32_t) + 2 * LANE_SLACK_WORDS + sizeof *store->chunks;
    uint64_t index = store->index ? ronchi_sum_index_bytes(store->index) : 0;
    ronchi_store_bytes b = {sizeof *store + sizeof *store->tables + base->n_pixels + store->body_bytes +
                                store->layout.n_rects * per + index,
                            index, store->body_bytes};
    return b;
}

const ronchi_profile ronchi_profile_lane = {
    .id = RONCHI_PROFILE_LANE,
    .name = "lane-rans-v1",
    .codec = "ronchi-lane-rans-v1",
    .create = create,
    .n_blocks = n_blocks,
    .block = block_of,
    .encode_block = ronchi_lane_encode_block,
    .piece_bytes = ronchi_lane_piece_bytes,
    .encode_pieces = ronchi_lane_encode_pieces,
    .finish = finish,
    .part_unit = ronchi_lane_part_unit,
    .part = ronchi_lane_make_part,
    .join = ronchi_lane_join_parts,
    .validate = validate,
    .decode_band = ronchi_lane_decode_band,
    .reduce = ronchi_lane_reduce,
    .cost = ronchi_lane_cost,
    .build_index = ronchi_lane_build_index,
    .pack_index = ronchi_lane_pack_index,
    .describe_index = ronchi_lane_describe_index,
    .bytes = bytes,
    .describe = ronchi_lane_describe,
    .n_spans = ronchi_lane_n_spans,
    .span = ronchi_lane_span,
    .adopt = ronchi_lane_adopt,
    .destroy = ronchi_lane_destroy,
    .on_cuda = &ronchi_profile_lane_cuda,
};
