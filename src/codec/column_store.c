/* SPDX-License-Identifier: MIT */
/* column_store.c - the store of column-rans-v2: making, blocks, bytes, ending; and the profile's table. */
#include <string.h>

#include "codec/column.h"

enum { MOST_BLOCK_BYTES = 96 << 20 };

static const char no_memory[] = "no memory for %zu bytes of encoded counts";

size_t ronchi_column_item_size(size_t which)
{
    static const size_t sizes[COLUMN_ARRAYS] = {1, 4, 1, 4, 8, 1};
    return sizes[which];
}

void ronchi_column_place(column_store *store, size_t index)
{
    for (size_t k = 0; k < COLUMN_ARRAYS; k++) {
        column_array *array = &store->chunks[index].arrays[k];
        array->body_offset = (store->body_bytes + 7) / 8 * 8;
        store->body_bytes = array->body_offset + array->count * ronchi_column_item_size(k);
    }
}

/* ------------------------------------------------------------------------------------------------ create, destroy */

void ronchi_column_destroy(ronchi_store *base)
{
    if (!base)
        return;
    column_store *store = (column_store *)base;
    ronchi_context *context = base->context;
    for (size_t i = 0; store->chunks && i < store->n_chunks; i++)
        for (size_t k = 0; k < COLUMN_ARRAYS; k++)
            ronchi_free(context, store->chunks[i].arrays[k].data);
    ronchi_free(context, store->chunks);
    ronchi_free(context, store->spans);
    ronchi_free(context, store->tables);
    ronchi_store_release(base);
    ronchi_free(context, store);
}

ronchi_status ronchi_column_create_empty(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                         const uint8_t *valid, column_store **out, ronchi_error *err)
{
    *out = NULL;
    if (dtype != RONCHI_U8 && dtype != RONCHI_U16)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "column-rans-v2 holds uint8 and uint16 counts, not %s: use a bit-lane profile",
                           ronchi_dtype_name(dtype));
    column_store *store = ronchi_calloc(context, 1, sizeof *store);
    if (!store)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a store");
    store->base.context = context;
    ronchi_status status = ronchi_store_init(&store->base, &ronchi_profile_column, context, shape, dtype, valid, err);
    if (status == RONCHI_OK && store->base.n_pixels > UINT32_MAX / 6)
        status = ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                             "column-rans-v2 holds at most %u detector pixels, not %zu", UINT32_MAX / 6,
                             store->base.n_pixels);
    if (status == RONCHI_OK) {
        store->fields = ronchi_sum_fields_of(shape->det_rows, shape->det_cols);
        store->tables = ronchi_alloc(context, sizeof *store->tables);
        if (!store->tables)
            status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, no_memory, sizeof *store->tables);
    }
    if (status != RONCHI_OK) {
        ronchi_column_destroy(&store->base);
        return status;
    }
    ronchi_stream_tables_fill(store->tables);
    *out = store;
    return RONCHI_OK;
}

/*
 * Positions of a block: as many as fit half the budget (the loader decodes one while another is encoded) and 96 MiB,
 * whole spans where one fits, and few enough that offsets into the payload fit 32 bits even if every stream is literal.
 */
static uint64_t block_positions(const ronchi_store *store, uint64_t budget_bytes)
{
    uint64_t frame = (uint64_t)store->n_pixels * ronchi_dtype_size(store->dtype);
    uint64_t room = budget_bytes / 2 < MOST_BLOCK_BYTES ? budget_bytes / 2 : MOST_BLOCK_BYTES;
    uint64_t fit = room / frame ? room / frame : 1;
    uint64_t per_stream = UINT32_MAX / store->n_pixels; /* bytes of all spans of one pixel */
    if (fit >= RONCHI_STREAM_SPAN && per_stream >= 2 * RONCHI_STREAM_SPAN + 4) {
        uint64_t spans = per_stream / (2 * RONCHI_STREAM_SPAN + 4);
        fit = fit / RONCHI_STREAM_SPAN < spans ? fit / RONCHI_STREAM_SPAN : spans;
        return fit * RONCHI_STREAM_SPAN;
    }
    uint64_t one_span = (per_stream - 4) / 2;
    fit = fit < RONCHI_STREAM_SPAN ? fit : RONCHI_STREAM_SPAN - 1;
    return fit < one_span ? fit : one_span;
}

static ronchi_status column_create(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                   const uint8_t *valid, uint64_t budget_bytes, ronchi_store **out, ronchi_error *err)
{
    column_store *store;
    *out = NULL;
    ronchi_status status = ronchi_column_create_empty(context, shape, dtype, valid, &store, err);
    if (status != RONCHI_OK)
        return status;
    uint64_t frame = (uint64_t)store->base.n_pixels * ronchi_dtype_size(dtype);
    if (budget_bytes < frame) {
        ronchi_column_destroy(&store->base);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                           "the budget of %llu bytes is smaller than one frame of %llu: give --budget",
                           (unsigned long long)budget_bytes, (unsigned long long)frame);
    }
    store->block_positions = (size_t)block_positions(&store->base, budget_bytes);
    store->n_chunks = ronchi_div_up(store->base.n_positions, store->block_positions);
    store->chunks = ronchi_calloc(context, store->n_chunks, sizeof *store->chunks);
    if (!store->chunks) {
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, no_memory,
                             store->n_chunks * sizeof *store->chunks);
        ronchi_column_destroy(&store->base);
        return status;
    }
    for (size_t i = 0; i < store->n_chunks; i++) {
        column_chunk *chunk = &store->chunks[i];
        chunk->first = (uint64_t)i * store->block_positions;
        chunk->n_positions = ronchi_min_size(store->block_positions, store->base.n_positions - (size_t)chunk->first);
        chunk->n_spans = ronchi_div_up(chunk->n_positions, RONCHI_STREAM_SPAN);
    }
    status = ronchi_column_list_spans(store, err); /* so that blocks can be read as soon as they are encoded */
    if (status != RONCHI_OK) {
        ronchi_column_destroy(&store->base);
        return status;
    }
    *out = &store->base;
    return RONCHI_OK;
}

/* --------------------------------------------------------------------------------------------------------- blocks */

static size_t column_n_blocks(const ronchi_store *base)
{
    return ((const column_store *)base)->n_chunks;
}

static ronchi_block column_block(const ronchi_store *base, size_t index)
{
    const column_store *store = (const column_store *)base;
    uint64_t first = (uint64_t)index * store->block_positions, left = base->n_positions - first;
    uint64_t count = left < store->block_positions ? left : store->block_positions;
    if (!store->block_positions) { /* adopted: as the chunks are */
        first = store->chunks[index].first;
        count = store->chunks[index].n_positions;
    }
    ronchi_block block = {1, first, 1, (size_t)count, first, count};
    return block;
}

ronchi_status ronchi_column_list_spans(column_store *store, ronchi_error *err)
{
    store->n_spans = 0;
    for (size_t i = 0; i < store->n_chunks; i++)
        store->n_spans += store->chunks[i].n_spans;
    store->spans = ronchi_calloc(store->base.context, store->n_spans, sizeof *store->spans);
    if (!store->spans)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, no_memory,
                           store->n_spans * sizeof *store->spans);
    column_span *span = store->spans;
    for (size_t i = 0; i < store->n_chunks; i++)
        for (size_t b = 0; b < store->chunks[i].n_spans; b++, span++) {
            size_t done = b * RONCHI_STREAM_SPAN;
            span->first = store->chunks[i].first + done;
            span->n = (uint32_t)ronchi_min_size(RONCHI_STREAM_SPAN, store->chunks[i].n_positions - done);
            span->local = (uint32_t)b;
            span->chunk = i;
        }
    return RONCHI_OK;
}

static ronchi_status column_finish(ronchi_store *base, ronchi_error *err)
{
    column_store *store = (column_store *)base;
    if (store->n_filled != store->n_chunks)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "%zu of %zu blocks were encoded",
                           store->n_filled, store->n_chunks);
    return RONCHI_OK;
}

static ronchi_store_bytes column_bytes(const ronchi_store *base)
{
    const column_store *store = (const column_store *)base;
    ronchi_store_bytes bytes = {sizeof *store + sizeof *store->tables + base->n_pixels, 0, store->body_bytes};
    bytes.resident_bytes += store->n_chunks * sizeof *store->chunks + store->n_spans * sizeof *store->spans;
    for (size_t i = 0; i < store->n_chunks; i++)
        for (size_t k = 0; k < COLUMN_ARRAYS; k++) {
            uint64_t size = store->chunks[i].arrays[k].count * ronchi_column_item_size(k);
            bytes.resident_bytes += size;
            bytes.index_bytes += k >= COLUMN_SUMS ? size : 0;
        }
    return bytes;
}

const ronchi_profile ronchi_profile_column = {
    .id = RONCHI_PROFILE_COLUMN,
    .name = "column-rans-v2",
    .codec = "runtime-column-rans-spatial-v2",
    .create = column_create,
    .n_blocks = column_n_blocks,
    .block = column_block,
    .encode_block = ronchi_column_encode_block,
    .finish = column_finish,
    .validate = ronchi_column_validate,
    .decode_band = ronchi_column_decode_band,
    .reduce = ronchi_column_reduce,
    .bytes = column_bytes,
    .describe = ronchi_column_describe,
    .n_spans = ronchi_column_n_spans,
    .span = ronchi_column_span,
    .adopt = ronchi_column_adopt,
    .destroy = ronchi_column_destroy,
};
