/* SPDX-License-Identifier: MIT */
/* lane_rans_encode_job.c - one scan rectangle: its tiles become bricks, its bricks a chunk. */
#include "codec/lane_rans_encode_job.h"

#include <string.h>

ronchi_status ronchi_lane_job_begin(ronchi_lane_store *store, size_t index, ronchi_lane_job *job, ronchi_error *err)
{
    ronchi_context *context = store->base.context;
    const size_t threads = ronchi_context_threads(context), n_tiles = store->layout.n_tiles;
    memset(job, 0, sizeof *job);
    job->store = store;
    job->kernels = ronchi_context_kernels(context);
    job->index = index;
    job->rect = ronchi_lane_rect(&store->layout, index);
    job->n_positions = job->rect.rows * job->rect.cols;
    job->pitch = ronchi_lane_pitch(job->n_positions);
    job->threads = ronchi_alloc(context, threads * sizeof *job->threads);
    job->brick = ronchi_calloc(context, n_tiles, sizeof *job->brick);
    job->words = ronchi_calloc(context, n_tiles, sizeof *job->words);
    job->most = ronchi_calloc(context, threads, sizeof *job->most);
    if (!job->threads || !job->brick || !job->words || !job->most)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to encode with");
    return RONCHI_OK;
}

/* Largest count at an unflagged pixel. */
static void find_most(const ronchi_store *base, ronchi_lane_cut tile, const ronchi_lane_stats *stats, uint32_t *most)
{
    for (size_t p = 0; p < tile.rows * tile.cols; p++)
        if (stats[p].high > *most &&
            base->valid[(tile.row + p / tile.cols) * base->shape.det_cols + tile.col + p % tile.cols])
            *most = stats[p].high;
}

ronchi_status ronchi_lane_job_tile(const ronchi_lane_job *job, size_t tile, const void *counts, size_t row_pixels,
                                   size_t worker, ronchi_error *err)
{
    ronchi_lane_store *store = job->store;
    ronchi_lane_thread *thread = &job->threads[worker];
    const ronchi_lane_cut cut = ronchi_lane_tile(&store->layout, tile);
    const size_t size = store->layout.value_bytes == 4 ? 4 : 2;
    ronchi_lane_pixels pixels = {.n_pixels = cut.rows * cut.cols, .n_positions = job->n_positions, .value_bytes = size};
    for (size_t p = 0; p < pixels.n_pixels; p++)
        pixels.at[p] = (const char *)counts + (p / cut.cols * row_pixels + p % cut.cols) * job->pitch * size;
    size_t words = ronchi_lane_encode(job->kernels, store->tables, &pixels, &thread->work, thread->words);
    find_most(&store->base, cut, thread->work.stats, &job->most[worker]);
    job->words[tile] = (uint32_t)words;
    job->brick[tile] = ronchi_alloc(store->base.context, words * 2 + 1);
    if (!job->brick[tile])
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for encoded counts");
    memcpy(job->brick[tile], thread->words, words * 2);
    return RONCHI_OK;
}

/* Puts the bricks of a rectangle together. */
static ronchi_status assemble(const ronchi_lane_job *job, ronchi_error *err)
{
    ronchi_lane_store *store = job->store;
    ronchi_lane_chunk *chunk = &store->chunks[job->index];
    const size_t n_tiles = store->layout.n_tiles, head = LANE_CHUNK_HEADER + 4 * n_tiles;
    uint64_t words = 0;
    for (size_t t = 0; t < n_tiles; t++)
        words += job->words[t];
    if (words > UINT32_MAX)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "a chunk of %llu encoded words is too large", (unsigned long long)words);
    const size_t used = head + 2 * (size_t)words;
    chunk->size = (used + 7) / 8 * 8;
    chunk->bytes = ronchi_alloc(store->base.context, chunk->size + 2 * LANE_SLACK_WORDS);
    chunk->offset = ronchi_alloc(store->base.context, (n_tiles + 1) * sizeof *chunk->offset);
    if (!chunk->bytes || !chunk->offset)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu bytes of encoded counts",
                           chunk->size);
    memset(chunk->bytes, 0, head);
    memset(chunk->bytes + used, 0, chunk->size - used + 2 * LANE_SLACK_WORDS);
    uint16_t *payload = (uint16_t *)(void *)(chunk->bytes + head);
    chunk->payload = payload;
    chunk->offset[0] = 0;
    for (size_t t = 0; t < n_tiles; t++) {
        memcpy(payload + chunk->offset[t], job->brick[t], 2 * (size_t)job->words[t]);
        chunk->offset[t + 1] = chunk->offset[t] + job->words[t];
    }
    chunk->body_offset = store->body_bytes;
    store->body_bytes += chunk->size;
    ronchi_lane_chunk_seal(store, job->index);
    return RONCHI_OK;
}

ronchi_status ronchi_lane_job_end(ronchi_lane_job *job, ronchi_status status, ronchi_error *err)
{
    ronchi_lane_store *store = job->store;
    ronchi_context *context = store->base.context;
    if (status == RONCHI_OK)
        status = assemble(job, err);
    for (size_t i = 0; job->most && i < ronchi_context_threads(context); i++)
        store->base.max_count = job->most[i] > store->base.max_count ? job->most[i] : store->base.max_count;
    for (size_t t = 0; job->brick && t < store->layout.n_tiles; t++)
        ronchi_free(context, job->brick[t]);
    ronchi_free(context, job->brick);
    ronchi_free(context, job->words);
    ronchi_free(context, job->most);
    ronchi_free(context, job->threads);
    store->n_filled += status == RONCHI_OK;
    return status;
}
