/* SPDX-License-Identifier: MIT */
/* lanes_store.c - the store of the bit-lane profiles: making, blocks, bytes, ending; and the profiles' tables. */
#include <openssl/evp.h>
#include <string.h>

#include "codec/lanes.h"

size_t ronchi_lanes_most_positions(size_t n_pixels)
{
    return n_pixels > LANES_FRAME_BYTES / 4 ? 0
                                            : ronchi_min_size(RONCHI_STREAM_SPAN, LANES_FRAME_BYTES / (4 * n_pixels));
}

void ronchi_lanes_place(lanes_store *store, size_t index)
{
    lanes_chunk *chunk = &store->chunks[index];
    chunk->body_offset = store->body_bytes;
    store->body_bytes +=
        chunk->payload_bytes + (lanes_n_streams(store) + 1) * sizeof *chunk->offsets + lanes_n_streams(store);
}

/* ------------------------------------------------------------------------------------------------ create, destroy */

void ronchi_lanes_destroy(ronchi_store *base)
{
    if (!base)
        return;
    lanes_store *store = (lanes_store *)base;
    ronchi_context *context = base->context;
    for (size_t i = 0; store->chunks && i < store->n_chunks; i++) {
        ronchi_free(context, store->chunks[i].payload);
        ronchi_free(context, store->chunks[i].offsets);
        ronchi_free(context, store->chunks[i].selectors);
    }
    ronchi_free(context, store->chunks);
    ronchi_free(context, store->tables);
    EVP_MD_CTX_free(store->hash);
    json_decref(store->identity);
    ronchi_store_release(base);
    ronchi_free(context, store);
}

static ronchi_status check_create(const ronchi_profile *profile, const ronchi_shape *shape, ronchi_dtype dtype,
                                  const uint8_t *valid, ronchi_error *err)
{
    size_t n_pixels;
    ronchi_dtype own = profile->id == RONCHI_PROFILE_FLOAT_LANES ? RONCHI_F32 : RONCHI_U32;
    if (dtype != own)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "%s holds %s, not %s", profile->name,
                           ronchi_dtype_name(own), ronchi_dtype_name(dtype));
    if (!ronchi_shape_detector(shape, &n_pixels) || !ronchi_lanes_most_positions(n_pixels))
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "%s holds frames of 1 pixel to 32 MiB, not %zu x %zu", profile->name, shape->det_rows,
                           shape->det_cols);
    for (size_t i = 0; dtype == RONCHI_F32 && valid && i < n_pixels; i++)
        if (!valid[i])
            return ronchi_fail(
                err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                "float32-bit-lanes has no mask, but pixel (%zu, %zu) is flagged: load with --flagged zero or median",
                i / shape->det_cols, i % shape->det_cols);
    return RONCHI_OK;
}

ronchi_status ronchi_lanes_create_empty(const ronchi_profile *profile, ronchi_context *context,
                                        const ronchi_shape *shape, ronchi_dtype dtype, const uint8_t *valid,
                                        lanes_store **out, ronchi_error *err)
{
    *out = NULL;
    ronchi_status status = check_create(profile, shape, dtype, valid, err);
    if (status != RONCHI_OK)
        return status;
    lanes_store *store = ronchi_calloc(context, 1, sizeof *store);
    if (!store)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a store");
    store->base.context = context;
    status = ronchi_store_init(&store->base, profile, context, shape, dtype, valid, err);
    if (status == RONCHI_OK) {
        store->tables = ronchi_alloc(context, sizeof *store->tables);
        if (!store->tables)
            status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for tables");
    }
    if (status != RONCHI_OK) {
        ronchi_lanes_destroy(&store->base);
        return status;
    }
    ronchi_stream_tables_fill(store->tables);
    *out = store;
    return RONCHI_OK;
}

/* What only a store that is being encoded has. */
static ronchi_status begin_encoding(lanes_store *store, ronchi_error *err)
{
    store->chunks = ronchi_calloc(store->base.context, store->n_chunks, sizeof *store->chunks);
    store->hash = EVP_MD_CTX_new();
    if (store->base.dtype == RONCHI_F32)
        store->identity = json_pack("{s:s, s:s, s:{}}", "format_identifier", "ronchi-float32", "format_name",
                                    "Ronchi float32", "microscope_metadata");
    if (!store->chunks || !store->hash || (store->base.dtype == RONCHI_F32 && !store->identity) ||
        EVP_DigestInit_ex(store->hash, EVP_sha256(), NULL) != 1)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu chunks", store->n_chunks);
    return RONCHI_OK;
}

static ronchi_status create(const ronchi_profile *profile, ronchi_context *context, const ronchi_shape *shape,
                            ronchi_dtype dtype, const uint8_t *valid, uint64_t budget_bytes, ronchi_store **out,
                            ronchi_error *err)
{
    lanes_store *store;
    *out = NULL;
    ronchi_status status = ronchi_lanes_create_empty(profile, context, shape, dtype, valid, &store, err);
    if (status != RONCHI_OK)
        return status;
    uint64_t frame = 4 * (uint64_t)store->base.n_pixels, fit = budget_bytes / 2 / frame;
    if (budget_bytes < frame) {
        ronchi_lanes_destroy(&store->base);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                           "the budget of %llu bytes is smaller than one frame of %llu: give --budget",
                           (unsigned long long)budget_bytes, (unsigned long long)frame);
    }
    size_t most = ronchi_lanes_most_positions(store->base.n_pixels);
    store->block_positions = fit >= most ? most : fit ? (size_t)fit : 1;
    store->n_chunks = ronchi_div_up(store->base.n_positions, store->block_positions);
    status = begin_encoding(store, err);
    if (status != RONCHI_OK) {
        ronchi_lanes_destroy(&store->base);
        return status;
    }
    *out = &store->base;
    return RONCHI_OK;
}

/* --------------------------------------------------------------------------------------------------------- blocks */

static size_t n_blocks(const ronchi_store *base)
{
    return ((const lanes_store *)base)->n_chunks;
}

static ronchi_block block_of(const ronchi_store *base, size_t index)
{
    const lanes_store *store = (const lanes_store *)base;
    uint64_t first = (uint64_t)index * store->block_positions, left = base->n_positions - first;
    uint64_t count = left < store->block_positions ? left : store->block_positions;
    if (!store->block_positions) { /* adopted: as the chunks are */
        first = store->chunks[index].first;
        count = store->chunks[index].n_positions;
    }
    ronchi_block block = {1, first, 1, (size_t)count, first, count};
    return block;
}

static ronchi_store_bytes bytes_of(const ronchi_store *base)
{
    const lanes_store *store = (const lanes_store *)base;
    ronchi_store_bytes bytes = {sizeof *store + sizeof *store->tables + base->n_pixels, 0, store->body_bytes};
    bytes.resident_bytes += store->n_chunks * sizeof *store->chunks + store->body_bytes;
    return bytes;
}

/* ------------------------------------------------------------------------------------------------------ the tables */

static ronchi_status float_create(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                  const uint8_t *valid, uint64_t budget_bytes, ronchi_store **out, ronchi_error *err)
{
    return create(&ronchi_profile_float_lanes, context, shape, dtype, valid, budget_bytes, out, err);
}

static ronchi_status uint32_create(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                   const uint8_t *valid, uint64_t budget_bytes, ronchi_store **out, ronchi_error *err)
{
    return create(&ronchi_profile_uint32_lanes, context, shape, dtype, valid, budget_bytes, out, err);
}

static ronchi_status float_adopt(ronchi_context *context, const json_t *header, const ronchi_shape *shape,
                                 ronchi_dtype dtype, uint64_t body_bytes, ronchi_body_read_fn read, void *user,
                                 ronchi_store **out, ronchi_error *err)
{
    return ronchi_lanes_adopt(&ronchi_profile_float_lanes, context, header, shape, dtype, body_bytes, read, user, out,
                              err);
}

static ronchi_status uint32_adopt(ronchi_context *context, const json_t *header, const ronchi_shape *shape,
                                  ronchi_dtype dtype, uint64_t body_bytes, ronchi_body_read_fn read, void *user,
                                  ronchi_store **out, ronchi_error *err)
{
    return ronchi_lanes_adopt(&ronchi_profile_uint32_lanes, context, header, shape, dtype, body_bytes, read, user, out,
                              err);
}

const ronchi_profile ronchi_profile_float_lanes = {
    .id = RONCHI_PROFILE_FLOAT_LANES,
    .name = "float32-bit-lanes",
    .codec = "float32-bit-lanes-rans-v1",
    .create = float_create,
    .n_blocks = n_blocks,
    .block = block_of,
    .encode_block = ronchi_lanes_encode_block,
    .finish = ronchi_lanes_finish,
    .validate = ronchi_lanes_validate,
    .decode_band = ronchi_lanes_decode_band,
    .reduce = ronchi_lanes_reduce,
    .bytes = bytes_of,
    .describe = ronchi_lanes_describe,
    .n_spans = ronchi_lanes_n_spans,
    .span = ronchi_lanes_span,
    .adopt = float_adopt,
    .destroy = ronchi_lanes_destroy,
};

const ronchi_profile ronchi_profile_uint32_lanes = {
    .id = RONCHI_PROFILE_UINT32_LANES,
    .name = "uint32-bit-lanes",
    .codec = "ronchi-uint32-bit-lanes-v1",
    .create = uint32_create,
    .n_blocks = n_blocks,
    .block = block_of,
    .encode_block = ronchi_lanes_encode_block,
    .finish = ronchi_lanes_finish,
    .validate = ronchi_lanes_validate,
    .decode_band = ronchi_lanes_decode_band,
    .reduce = ronchi_lanes_reduce,
    .bytes = bytes_of,
    .describe = ronchi_lanes_describe,
    .n_spans = ronchi_lanes_n_spans,
    .span = ronchi_lanes_span,
    .adopt = uint32_adopt,
    .destroy = ronchi_lanes_destroy,
};
