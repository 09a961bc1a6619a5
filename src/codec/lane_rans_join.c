/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_join.c - stores of detector rectangles put together: a brick knows nothing of where its tile lies, so the
 * bricks of the parts are those of the whole.
 */
#include <string.h>

#include "codec/lane_rans.h"

void ronchi_lane_part_unit(const ronchi_store *whole, size_t *rows, size_t *cols)
{
    const ronchi_lane_layout *l = &((const ronchi_lane_store *)whole)->layout;
    *rows = l->tile_rows;
    *cols = l->tile_cols;
}

/* A part is cut as the whole is, though a detector of its size alone might be cut otherwise. */
static ronchi_status cut_as(ronchi_lane_store *part, const ronchi_lane_layout *whole, ronchi_error *err)
{
    ronchi_lane_layout *l = &part->layout;
    ronchi_context *context = part->base.context;
    l->tile_rows = whole->tile_rows;
    l->tile_cols = whole->tile_cols;
    l->tiles_down = ronchi_div_up(l->shape.det_rows, l->tile_rows);
    l->tiles_across = ronchi_div_up(l->shape.det_cols, l->tile_cols);
    l->n_tiles = l->tiles_down * l->tiles_across;
    l->rect_rows = whole->rect_rows;
    l->rect_cols = whole->rect_cols;
    l->rects_down = whole->rects_down;
    l->rects_across = whole->rects_across;
    l->n_rects = whole->n_rects;
    ronchi_free(context, part->chunks);
    part->chunks = ronchi_calloc(context, l->n_rects, sizeof *part->chunks);
    if (!part->chunks)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu chunks", l->n_rects);
    return RONCHI_OK;
}

ronchi_status ronchi_lane_make_part(const ronchi_store *base, const ronchi_region *det, ronchi_store **out,
                                    ronchi_error *err)
{
    const ronchi_lane_store *whole = (const ronchi_lane_store *)base;
    const ronchi_shape shape = {base->shape.scan_rows, base->shape.scan_cols, det->det_rows, det->det_cols};
    uint8_t *valid = ronchi_alloc(base->context, det->det_rows * det->det_cols);
    ronchi_lane_store *part = NULL;
    *out = NULL;
    if (!valid)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the pixel mask");
    for (size_t r = 0; r < det->det_rows; r++)
        memcpy(valid + r * det->det_cols, base->valid + (det->det_row + r) * base->shape.det_cols + det->det_col,
               det->det_cols);
    ronchi_status status = ronchi_lane_create_empty(base->context, &shape, base->dtype, valid, &part, err);
    ronchi_free(base->context, valid);
    if (status == RONCHI_OK)
        status = cut_as(part, &whole->layout, err);
    if (status != RONCHI_OK) {
        if (part)
            ronchi_lane_destroy(&part->base);
        return status;
    }
    *out = &part->base;
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------- joining */

/* Where a tile of the whole lies. */
typedef struct place {
    size_t part, tile;
} place;

typedef struct join_job {
    ronchi_lane_store *whole;
    ronchi_lane_store *const *parts;
    const place *places; /* [n_tiles] of the whole */
    size_t n_parts;
} join_job;

static ronchi_status join_chunk(void *user, size_t rect, size_t worker, ronchi_error *err)
{
    const join_job *job = user;
    ronchi_lane_store *whole = job->whole;
    ronchi_lane_chunk *chunk = &whole->chunks[rect];
    ronchi_context *context = whole->base.context;
    const size_t n_tiles = whole->layout.n_tiles, head = LANE_CHUNK_HEADER + 4 * n_tiles;
    uint64_t words = 0;
    (void)worker;
    for (size_t k = 0; k < job->n_parts; k++)
        words += job->parts[k]->chunks[rect].offset[job->parts[k]->layout.n_tiles];
    if (words > UINT32_MAX)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "a chunk of %llu encoded words is too large", (unsigned long long)words);
    chunk->size = (head + 2 * (size_t)words + 7) / 8 * 8;
    chunk->bytes = ronchi_calloc(context, 1, chunk->size + 2 * LANE_SLACK_WORDS);
    chunk->offset = ronchi_calloc(context, n_tiles + 1, sizeof *chunk->offset);
    if (!chunk->bytes || !chunk->offset)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu bytes of encoded counts",
                           chunk->size);
    uint16_t *payload = (uint16_t *)(void *)(chunk->bytes + head);
    chunk->payload = payload;
    for (size_t t = 0; t < n_tiles; t++) {
        const ronchi_lane_chunk *from = &job->parts[job->places[t].part]->chunks[rect];
        const uint32_t *offset = from->offset + job->places[t].tile;
        memcpy(payload + chunk->offset[t], from->payload + offset[0], 2 * (size_t)(offset[1] - offset[0]));
        chunk->offset[t + 1] = chunk->offset[t] + (offset[1] - offset[0]);
    }
    ronchi_lane_chunk_seal(whole, rect);
    for (size_t k = 0; k < job->n_parts; k++) { /* not needed any more: two copies of a chunk at most */
        ronchi_free(context, job->parts[k]->chunks[rect].bytes);
        job->parts[k]->chunks[rect].bytes = NULL;
    }
    return RONCHI_OK;
}

static void find_places(const ronchi_lane_layout *whole, const ronchi_lane_layout *part, const ronchi_region *at,
                        size_t index, place *places)
{
    const size_t row = at->det_row / whole->tile_rows, col = at->det_col / whole->tile_cols;
    for (size_t t = 0; t < part->n_tiles; t++)
        places[(row + t / part->tiles_across) * whole->tiles_across + col + t % part->tiles_across] = (place){index, t};
}

ronchi_status ronchi_lane_join_parts(ronchi_store *base, ronchi_store *const *parts, const ronchi_region *at,
                                     size_t n_parts, ronchi_error *err)
{
    ronchi_lane_store *whole = (ronchi_lane_store *)base;
    ronchi_context *context = base->context;
    place *places = ronchi_calloc(context, whole->layout.n_tiles, sizeof *places);
    join_job job = {whole, (ronchi_lane_store *const *)parts, places, n_parts};
    if (!places)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu tiles",
                           whole->layout.n_tiles);
    for (size_t k = 0; k < n_parts; k++) {
        find_places(&whole->layout, &job.parts[k]->layout, &at[k], k, places);
        base->max_count = parts[k]->max_count > base->max_count ? parts[k]->max_count : base->max_count;
    }
    ronchi_status status = ronchi_parallel_for(context, whole->layout.n_rects, join_chunk, &job, err);
    ronchi_free(context, places);
    for (size_t r = 0; status == RONCHI_OK && r < whole->layout.n_rects; r++) {
        whole->chunks[r].body_offset = whole->body_bytes;
        whole->body_bytes += whole->chunks[r].size;
        whole->n_filled++;
    }
    return status == RONCHI_OK ? base->profile->finish(base, err) : status;
}
