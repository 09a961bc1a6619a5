/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_device.c - lane-rans-v1 on a CUDA device: the same store, with its counts behind codec/lane_rans_cuda.h.
 *
 * The host keeps the layout, the sizes of the chunks and the pixel mask.  Files are read and written through a host
 * store, so their bytes cannot differ.
 */
#include <string.h>

#include "codec/lane_rans_cuda.h"

static const ronchi_lane_cuda *lane_of(const ronchi_lane_store *store)
{
    return store->device->table->lane;
}

static void destroy(ronchi_store *base)
{
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    if (store && store->on)
        lane_of(store)->close(store->on);
    ronchi_lane_destroy(base);
}

/* Makes a host store one of the device, without counts yet. */
static ronchi_status move_to_device(ronchi_lane_store *store, ronchi_error *err)
{
    ronchi_device *device = ronchi_context_device(store->base.context);
    if (!device || !device->table->lane)
        return ronchi_fail(err, RONCHI_ERR_DEVICE, NULL, RONCHI_NO_OFFSET, "no CUDA device for lane-rans-v1");
    store->device = device;
    store->base.profile = &ronchi_profile_lane_cuda;
    store->base.place = RONCHI_CUDA;
    store->base.device = device->ordinal;
    return device->table->lane->open(device, &store->layout, store->tables, store->base.valid, &store->on, err);
}

/* Hands a finished chunk to the device; the host keeps its size. */
static ronchi_status move_chunk(ronchi_lane_store *store, size_t rect, ronchi_error *err)
{
    ronchi_lane_chunk *chunk = &store->chunks[rect];
    ronchi_status status = lane_of(store)->put(store->on, rect, chunk->payload, chunk->offset, err);
    ronchi_free(store->base.context, chunk->bytes);
    ronchi_free(store->base.context, chunk->offset);
    chunk->bytes = NULL;
    chunk->offset = NULL;
    chunk->payload = NULL;
    return status;
}

/* The other way: chunk 'rect' into 'host', which has the same layout. */
static ronchi_status fetch_chunk(const ronchi_lane_store *store, size_t rect, ronchi_lane_store *host,
                                 ronchi_error *err)
{
    ronchi_lane_chunk *chunk = &host->chunks[rect];
    const size_t n_tiles = store->layout.n_tiles, head = LANE_CHUNK_HEADER + 4 * n_tiles;
    chunk->size = store->chunks[rect].size;
    chunk->body_offset = store->chunks[rect].body_offset;
    chunk->bytes = ronchi_calloc(host->base.context, 1, chunk->size + 2 * LANE_SLACK_WORDS);
    chunk->offset = ronchi_calloc(host->base.context, n_tiles + 1, sizeof *chunk->offset);
    if (!chunk->bytes || !chunk->offset)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu bytes of encoded counts",
                           chunk->size);
    uint16_t *words = (uint16_t *)(void *)(chunk->bytes + head);
    chunk->payload = words;
    ronchi_status status = lane_of(store)->get(store->on, rect, words, chunk->offset, err);
    if (status == RONCHI_OK)
        ronchi_lane_chunk_seal(host, rect);
    return status;
}

static ronchi_status to_host(const ronchi_store *base, ronchi_store **out, ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    ronchi_lane_store *host;
    *out = NULL;
    ronchi_status status = ronchi_lane_create_empty(base->context, &base->shape, base->dtype, base->valid, &host, err);
    if (status != RONCHI_OK)
        return status;
    for (size_t i = 0; status == RONCHI_OK && i < store->layout.n_rects; i++, host->n_filled++)
        status = fetch_chunk(store, i, host, err);
    if (status != RONCHI_OK) {
        ronchi_lane_destroy(&host->base);
        return status;
    }
    host->body_bytes = store->body_bytes;
    host->base.max_count = base->max_count;
    *out = &host->base;
    return RONCHI_OK;
}

/* Says what is wrong with a brick as the host does: it is fetched and decoded there. */
static ronchi_status explain(const ronchi_lane_store *store, uint64_t bad, ronchi_status status, ronchi_error *err)
{
    if (status != RONCHI_ERR_DATA || bad == RONCHI_LANE_NOT_BAD)
        return status;
    const size_t rect = (size_t)(bad / store->layout.n_tiles), tile = (size_t)(bad % store->layout.n_tiles);
    const ronchi_store *base = &store->base;
    ronchi_lane_store *host;
    ronchi_lane_brick brick;
    uint32_t *counts = ronchi_alloc(base->context, LANE_TILE * LANE_SPAN * sizeof *counts);
    if (!counts || ronchi_lane_create_empty(base->context, &base->shape, base->dtype, NULL, &host, NULL) != RONCHI_OK) {
        ronchi_free(base->context, counts);
        return status;
    }
    const uint32_t most = base->dtype == RONCHI_U8 ? UINT8_MAX : base->dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
    ronchi_status found = fetch_chunk(store, rect, host, err);
    if (found == RONCHI_OK)
        found = ronchi_lane_brick_at(host, rect, tile, &brick, err);
    for (size_t s = 0; found == RONCHI_OK && s < brick.n_streams; s++) {
        const char *wrong = ronchi_lane_decode32(host->tables, &brick, s, 1, brick.n_pixels, most, counts);
        if (wrong)
            found = ronchi_lane_bad(host, rect, tile, wrong, err);
    }
    if (found == RONCHI_OK) /* the device was wrong, not the data */
        found = ronchi_fail(err, RONCHI_ERR_DEVICE, NULL, RONCHI_NO_OFFSET,
                            "cuda:%d decodes chunk %zu brick %zu differently from the CPU: use --device cpu",
                            store->device->ordinal, rect, tile);
    ronchi_free(base->context, counts);
    ronchi_lane_destroy(&host->base);
    return found;
}

/* --------------------------------------------------------------------------------------------------------- the way in
 */

static ronchi_status create(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                            const uint8_t *valid, uint64_t budget_bytes, ronchi_store **out, ronchi_error *err)
{
    ronchi_status status = ronchi_profile_lane.create(context, shape, dtype, valid, budget_bytes, out, err);
    if (status == RONCHI_OK)
        status = move_to_device((ronchi_lane_store *)*out, err);
    if (status != RONCHI_OK && *out) {
        destroy(*out);
        *out = NULL;
    }
    return status;
}

static size_t n_blocks(const ronchi_store *base)
{
    return ronchi_profile_lane.n_blocks(base);
}

static ronchi_block block_of(const ronchi_store *base, size_t index)
{
    return ronchi_profile_lane.block(base, index);
}

/* Notes the sizes of chunks that were encoded on the device. */
static void note_chunks(ronchi_lane_store *store)
{
    const size_t head = LANE_CHUNK_HEADER + 4 * store->layout.n_tiles;
    store->body_bytes = 0;
    for (size_t i = 0; i < store->layout.n_rects; i++) {
        ronchi_lane_chunk *chunk = &store->chunks[i];
        chunk->size = (head + 2 * (size_t)lane_of(store)->words_of(store->on, i) + 7) / 8 * 8;
        chunk->body_offset = store->body_bytes;
        store->body_bytes += chunk->size;
    }
}

ronchi_status ronchi_lane_encode_on_device(ronchi_store *base, size_t index, const void *frames,
                                           ronchi_cuda_stream stream, ronchi_error *err)
{
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    if (!lane_of(store)->encode)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "the CUDA part does not encode");
    if (!frames)
        return RONCHI_OK;
    ronchi_status status = lane_of(store)->encode(store->on, index, frames, stream, &base->max_count, err);
    store->n_filled += status == RONCHI_OK;
    return status;
}

static ronchi_status encode_block(ronchi_store *base, size_t index, const void *frames, ronchi_error *err)
{
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    ronchi_device *device = store->device;
    ronchi_status status;
    if (!lane_of(store)->encode) {
        status = ronchi_lane_encode_block(base, index, frames, err);
        return status == RONCHI_OK ? move_chunk(store, index, err) : status;
    }
    const ronchi_lane_cut rect = ronchi_lane_rect(&store->layout, index);
    const size_t bytes = rect.rows * rect.cols * base->n_pixels * store->layout.value_bytes;
    ronchi_cuda_job *job;
    status = device->table->job_take(device, bytes, 1, &job, err);
    if (status != RONCHI_OK)
        return status;
    status = device->table->copy(device, job->stream, job->scratch, frames, bytes, err);
    if (status == RONCHI_OK)
        status = ronchi_lane_encode_on_device(base, index, job->scratch, job->stream, err);
    ronchi_status waited = device->table->stream_wait(device, job->stream, status == RONCHI_OK ? err : NULL);
    device->table->job_give(job);
    return status == RONCHI_OK ? waited : status;
}

static ronchi_status check(ronchi_lane_store *store, ronchi_error *err)
{
    uint64_t bad;
    ronchi_status status = lane_of(store)->check(store->on, &bad, err);
    return explain(store, bad, status, err);
}

static ronchi_status finish(ronchi_store *base, ronchi_error *err)
{
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    ronchi_status status = ronchi_profile_lane.finish(base, err);
    if (status == RONCHI_OK)
        status = check(store, err);
    if (status == RONCHI_OK)
        note_chunks(store);
    return status;
}

static ronchi_status adopt(ronchi_context *context, const json_t *header, const ronchi_shape *shape, ronchi_dtype dtype,
                           uint64_t body_bytes, ronchi_body_read_fn read, void *user, ronchi_store **out,
                           ronchi_error *err)
{
    ronchi_status status = ronchi_lane_adopt(context, header, shape, dtype, body_bytes, read, user, out, err);
    ronchi_lane_store *store = (ronchi_lane_store *)*out;
    if (status == RONCHI_OK)
        status = move_to_device(store, err);
    for (size_t i = 0; status == RONCHI_OK && i < store->layout.n_rects; i++)
        status = move_chunk(store, i, err);
    if (status == RONCHI_OK)
        status = check(store, err);
    if (status != RONCHI_OK && *out) {
        destroy(*out);
        *out = NULL;
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------- the way out
 */

static ronchi_status validate(const ronchi_store *base, ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    uint64_t bad;
    ronchi_status status = lane_of(store)->validate(store->on, &bad, err);
    return explain(store, bad, status, err);
}

static ronchi_status decode_band(const ronchi_store *base, const ronchi_region *region, const ronchi_view *out,
                                 ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    uint64_t bad;
    ronchi_status status = ronchi_store_check_band(base, region, out, err);
    if (status != RONCHI_OK)
        return status;
    status = lane_of(store)->read(store->on, region, out, &bad, err);
    return explain(store, bad, status, err);
}

static ronchi_status reduce(const ronchi_store *base, const ronchi_reduction *r, ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    const ronchi_region region = {r->scan_row, r->scan_rows,         r->scan_col, r->scan_cols,
                                  0,           base->shape.det_rows, 0,           base->shape.det_cols};
    uint64_t bad;
    if (!ronchi_region_inside(&region, &base->shape))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "the rectangle is not inside the scan");
    if (r->plane_sums_f64 || r->pixel_sums_f64 || r->pixel_max_f32)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "counts are summed in integers, not floats");
    ronchi_status status = lane_of(store)->reduce(store->on, r, &bad, err);
    return explain(store, bad, status, err);
}

static ronchi_store_bytes bytes(const ronchi_store *base)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    ronchi_store_bytes b = {sizeof *store + sizeof *store->tables + base->n_pixels +
                                store->layout.n_rects * sizeof *store->chunks + lane_of(store)->bytes(store->on),
                            0, store->body_bytes};
    return b;
}

/* Files are written from what to_host() gives: describe, n_spans and span stay empty. */
const ronchi_profile ronchi_profile_lane_cuda = {
    .id = RONCHI_PROFILE_LANE,
    .name = "lane-rans-v1",
    .codec = "ronchi-lane-rans-v1",
    .create = create,
    .n_blocks = n_blocks,
    .block = block_of,
    .encode_block = encode_block,
    .encode_frames = ronchi_lane_encode_on_device,
    .finish = finish,
    .validate = validate,
    .decode_band = decode_band,
    .reduce = reduce,
    .bytes = bytes,
    .to_host = to_host,
    .adopt = adopt,
    .destroy = destroy,
};
