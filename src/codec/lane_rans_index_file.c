/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_index_file.c - the sum index in a file: the sums of tiles are counts of another acquisition of the same
 * scan, with a detector of tiles, and are encoded as such.  Sums of groups follow from them.
 */
#include <stdio.h>
#include <string.h>

#include "codec/header_fields.h"
#include "codec/lane_rans.h"

enum { INDEX_VERSION = 1, POSITIONS = LANE_STREAMS * LANE_SPAN /* of a rectangle */ };

/* -------------------------------------------------------------------------------------------------------- writing */

static ronchi_status find_dtype(const ronchi_sum_index *index, ronchi_dtype *out, ronchi_error *err)
{
    uint64_t largest = 0;
    for (size_t t = 0; t < index->n_tiles; t++)
        largest = index->planes[t].largest > largest ? index->planes[t].largest : largest;
    *out = largest <= UINT8_MAX ? RONCHI_U8 : largest <= UINT16_MAX ? RONCHI_U16 : RONCHI_U32;
    if (largest > UINT32_MAX)
        return ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET,
                           "a tile's counts sum to %llu, more than the 32 bits that a stored index has: save without "
                           "--index",
                           (unsigned long long)largest);
    return RONCHI_OK;
}

/* The sums at the positions of one block, as frames. */
static void fill_frames(const ronchi_lane_store *store, const ronchi_sum_index *index, ronchi_lane_cut rect,
                        uint8_t *frames)
{
    const size_t size = store->layout.value_bytes, n = index->n_tiles;
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < rect.rows * rect.cols; i++) {
            size_t at = (rect.row + i / rect.cols) * store->base.shape.scan_cols + rect.col + i % rect.cols;
            uint32_t sum = (uint32_t)ronchi_sum_index_at(index, t, at);
            uint8_t *to = frames + (i * n + t) * size;
            if (size == 1)
                *to = (uint8_t)sum;
            else if (size == 2)
                *(uint16_t *)(void *)to = (uint16_t)sum;
            else
                *(uint32_t *)(void *)to = sum;
        }
}

static ronchi_status encode(ronchi_lane_store *store, const ronchi_sum_index *index, ronchi_error *err)
{
    ronchi_context *context = store->base.context;
    const ronchi_lane_layout *l = &store->layout;
    uint8_t *frames = ronchi_calloc(context, l->rect_rows * l->rect_cols, store->base.n_pixels * l->value_bytes);
    if (!frames)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a sum index");
    ronchi_status status = RONCHI_OK;
    for (size_t rect = 0; status == RONCHI_OK && rect < l->n_rects; rect++) {
        fill_frames(store, index, ronchi_lane_rect(l, rect), frames);
        status = ronchi_lane_encode_block(&store->base, rect, frames, err);
    }
    ronchi_free(context, frames);
    return status;
}

ronchi_status ronchi_lane_pack_index(const ronchi_store *base, ronchi_store **out, ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    ronchi_sum_index *made = NULL;
    ronchi_lane_store *packed = NULL;
    ronchi_dtype dtype;
    ronchi_status status = store->index ? RONCHI_OK : ronchi_lane_make_index(store, &made, err);
    const ronchi_sum_index *index = store->index ? store->index : made;
    *out = NULL;
    if (status == RONCHI_OK)
        status = find_dtype(index, &dtype, err);
    if (status == RONCHI_OK) {
        const ronchi_shape shape = {base->shape.scan_rows, base->shape.scan_cols, index->tiles_down,
                                    index->tiles_across};
        status = ronchi_lane_create_empty(base->context, &shape, dtype, NULL, &packed, err);
    }
    if (status == RONCHI_OK)
        status = encode(packed, index, err);
    ronchi_sum_index_destroy(made);
    if (status != RONCHI_OK && packed)
        ronchi_lane_destroy(&packed->base);
    else if (status == RONCHI_OK)
        *out = &packed->base;
    return status;
}

ronchi_status ronchi_lane_describe_index(const ronchi_store *packed, json_t *header, ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)packed;
    json_t *field = json_pack("{s:i, s:s, s:o}", "version", INDEX_VERSION, "dtype", ronchi_dtype_name(packed->dtype),
                              "chunk_bytes", ronchi_lane_chunk_sizes(store));
    if (!field || json_object_set_new(header, "sum_index", field) != 0)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a header of %zu chunks",
                           store->layout.n_rects);
    return RONCHI_OK;
}

/* -------------------------------------------------------------------------------------------------------- reading */

typedef struct unpack_job {
    const ronchi_lane_store *packed;
    ronchi_sum_index *index;
    uint32_t *counts; /* [threads][LANE_STREAMS][LANE_TILE][LANE_SPAN], used as u16 for narrow sums */
} unpack_job;

static uint32_t count_at(const unpack_job *job, const uint32_t *counts, size_t p, size_t i)
{
    const size_t at = (i / LANE_SPAN * LANE_TILE + p) * LANE_SPAN + i % LANE_SPAN;
    return job->packed->layout.value_bytes < 4 ? ((const uint16_t *)(const void *)counts)[at] : counts[at];
}

static ronchi_status decode(const unpack_job *job, size_t rect, size_t item, uint32_t *counts, ronchi_lane_brick *brick,
                            ronchi_error *err)
{
    const ronchi_lane_store *packed = job->packed;
    const size_t bytes = packed->layout.value_bytes;
    ronchi_status status = ronchi_lane_brick_at(packed, rect, item, brick, err);
    if (status != RONCHI_OK)
        return status;
    const char *wrong =
        bytes == 4
            ? ronchi_lane_decode32(packed->tables, brick, 0, brick->n_streams, brick->n_pixels, UINT32_MAX, counts)
            : ronchi_context_kernels(packed->base.context)
                  ->lane_decode16(packed->tables, brick, 0, brick->n_streams, brick->n_pixels,
                                  bytes == 1 ? UINT8_MAX : UINT16_MAX, (uint16_t *)(void *)counts);
    return wrong ? ronchi_lane_bad(packed, rect, item, wrong, err) : RONCHI_OK;
}

/* Writes the sums of one brick to their planes, or only finds the largest of each. */
static void take_brick(const unpack_job *job, size_t rect, ronchi_lane_cut tile, const uint32_t *counts,
                       uint64_t *largest)
{
    const ronchi_lane_cut cut = ronchi_lane_rect(&job->packed->layout, rect);
    const ronchi_shape *shape = &job->packed->base.shape;
    uint64_t row[LANE_RECTANGLE];
    for (size_t p = 0; p < tile.rows * tile.cols; p++) {
        size_t plane = (tile.row + p / tile.cols) * shape->det_cols + tile.col + p % tile.cols;
        for (size_t r = 0; r < cut.rows; r++) {
            for (size_t c = 0; c < cut.cols; c++) {
                row[c] = count_at(job, counts, p, r * cut.cols + c);
                if (largest)
                    largest[p] = row[c] > largest[p] ? row[c] : largest[p];
            }
            if (!largest && job->index->planes[plane].width)
                ronchi_sum_index_put(job->index, plane, (cut.row + r) * shape->scan_cols + cut.col, row, cut.cols);
        }
    }
}

/* One tile of tiles, twice: the planes are made when their largest sums are known. */
static ronchi_status unpack_tile(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const unpack_job *job = user;
    const ronchi_lane_layout *l = &job->packed->layout;
    const ronchi_lane_cut tile = ronchi_lane_tile(l, item);
    uint32_t *counts = job->counts + worker * LANE_STREAMS * LANE_TILE * LANE_SPAN;
    uint64_t largest[LANE_TILE] = {0};
    ronchi_status status = RONCHI_OK;
    ronchi_lane_brick brick;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t rect = 0; status == RONCHI_OK && rect < l->n_rects; rect++) {
            status = decode(job, rect, item, counts, &brick, err);
            if (status == RONCHI_OK)
                take_brick(job, rect, tile, counts, pass ? NULL : largest);
        }
        for (size_t p = 0; !pass && status == RONCHI_OK && p < tile.rows * tile.cols; p++)
            status = ronchi_sum_index_reserve(
                job->index, (tile.row + p / tile.cols) * l->shape.det_cols + tile.col + p % tile.cols, largest[p], err);
    }
    return status;
}

static ronchi_status unpack(const ronchi_lane_store *packed, ronchi_sum_index **out, ronchi_error *err)
{
    ronchi_context *context = packed->base.context;
    const ronchi_shape *shape = &packed->base.shape;
    ronchi_sum_index *index;
    ronchi_status status =
        ronchi_sum_index_create(context, shape->det_rows, shape->det_cols, packed->base.n_positions, &index, err);
    if (status != RONCHI_OK)
        return status;
    unpack_job job = {packed, index,
                      ronchi_alloc(context, ronchi_context_threads(context) * LANE_STREAMS * LANE_TILE * LANE_SPAN *
                                                sizeof *job.counts)};
    status = job.counts ? ronchi_parallel_for(context, packed->layout.n_tiles, unpack_tile, &job, err)
                        : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a sum index");
    ronchi_free(context, job.counts);
    if (status == RONCHI_OK)
        status = ronchi_sum_index_groups(index, err);
    if (status == RONCHI_OK)
        *out = index;
    else
        ronchi_sum_index_destroy(index);
    return status;
}

static ronchi_status read_index(ronchi_lane_store *store, const json_t *field, uint64_t first, uint64_t body_bytes,
                                ronchi_body_read_fn read, void *user, ronchi_error *err)
{
    const ronchi_shape shape = {store->base.shape.scan_rows, store->base.shape.scan_cols, store->layout.tiles_down,
                                store->layout.tiles_across};
    const char *name = json_string_value(json_object_get(field, "dtype"));
    ronchi_dtype dtype = RONCHI_U8;
    while (dtype <= RONCHI_U32 && (!name || strcmp(name, ronchi_dtype_name(dtype)) != 0))
        dtype++;
    if (dtype > RONCHI_U32)
        return ronchi_header_bad(err, "'dtype' is none of uint8, uint16, uint32");
    ronchi_lane_store *packed;
    ronchi_status status =
        ronchi_lane_read_chunks(store->base.context, &shape, dtype, json_object_get(field, "chunk_bytes"), first,
                                body_bytes, read, user, &packed, err);
    if (status != RONCHI_OK)
        return status;
    if (packed->body_bytes != body_bytes)
        status = ronchi_header_bad(err, "its chunks end at body byte %llu, the body at %llu",
                                   (unsigned long long)packed->body_bytes, (unsigned long long)body_bytes);
    if (status == RONCHI_OK)
        status = unpack(packed, &store->index, err);
    ronchi_lane_destroy(&packed->base);
    return status;
}

ronchi_status ronchi_lane_adopt_index(ronchi_lane_store *store, const json_t *field, uint64_t first,
                                      uint64_t body_bytes, ronchi_body_read_fn read, void *user, ronchi_error *err)
{
    uint64_t version;
    if (!json_is_object(field) || !ronchi_header_size(field, "version", &version))
        return ronchi_header_bad(err, "'sum_index' is not an object with a version");
    if (version != INDEX_VERSION) /* of a later Ronchi; the counts need none */
        return RONCHI_OK;
    ronchi_status status = read_index(store, field, first, body_bytes, read, user, err);
    if (status != RONCHI_OK && err) {
        char text[sizeof err->message];
        memcpy(text, err->message, sizeof text);
        snprintf(err->message, sizeof err->message, "sum index: %.480s", text);
    }
    return status;
}
