/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode_block.c - one scan rectangle of frames becomes one chunk.
 *
 * The unit of work is a group of tiles side by side, so wide that every cache line of the frames is read once: their
 * counts are turned from [position][pixel] to [pixel][position] into a buffer of the thread, then encoded tile by tile.
 */
#include <string.h>

#include "codec/lane_rans_encode.h"

enum {
    GROUP_TILES = 4, /* 32 pixels in a row: 64 bytes of 16-bit counts */
    GROUP_PIXELS = GROUP_TILES * LANE_TILE,
    AT_A_TIME = 32,                    /* positions: a cache line of 16-bit counts */
    PITCH = LANE_POSITIONS + AT_A_TIME /* counts between pixels: no power of two, which would share cache sets */
};

typedef struct worker {
    union {
        uint16_t narrow[GROUP_PIXELS * PITCH];
        uint32_t wide[GROUP_PIXELS * PITCH];
    } counts;
    uint16_t words[LANE_BRICK_WORDS];
    ronchi_lane_work work;
} worker;

typedef struct encode_job {
    ronchi_lane_store *store;
    const ronchi_kernels *kernels;
    const uint8_t *frames;
    ronchi_lane_cut rect;
    worker *workers;
    uint16_t **brick; /* [n_tiles] */
    uint32_t *words;  /* [n_tiles] */
    uint32_t *most;   /* [threads] largest unflagged count */
} encode_job;

/* Tiles of one group: consecutive in one row of tiles. */
typedef struct group {
    size_t first, n_tiles;
    ronchi_lane_cut pixels;
} group;

static size_t groups_across(const ronchi_lane_layout *l)
{
    return ronchi_div_up(l->tiles_across, GROUP_TILES);
}

static group group_of(const ronchi_lane_layout *l, size_t item)
{
    size_t down = item / groups_across(l), across = item % groups_across(l) * GROUP_TILES;
    group g = {down * l->tiles_across + across, ronchi_min_size(GROUP_TILES, l->tiles_across - across),
               ronchi_lane_tile(l, down * l->tiles_across + across)};
    ronchi_lane_cut last = ronchi_lane_tile(l, g.first + g.n_tiles - 1);
    g.pixels.cols = last.col + last.cols - g.pixels.col;
    return g;
}

/* 32-bit counts, 16 positions at a time so that whole cache lines are written. */
static void turn32(const uint8_t *from, size_t frame, size_t n, size_t cols, uint32_t *to)
{
    for (size_t first = 0; first < n; first += AT_A_TIME / 2)
        for (size_t c = 0; c < cols; c++)
            for (size_t i = first; i < ronchi_min_size(first + AT_A_TIME / 2, n); i++)
                memcpy(&to[c * PITCH + i], from + i * frame + c * sizeof *to, sizeof *to);
}

/* Frames to counts [row of the group][column][PITCH]; zeros behind the last position. */
static void gather(const encode_job *job, const group *g, size_t n, worker *w)
{
    const ronchi_store *base = &job->store->base;
    const size_t size = job->store->layout.value_bytes, frame = base->n_pixels * size, cols = g->pixels.cols;
    const size_t end = ronchi_div_up(n, LANE_SPAN) * LANE_SPAN;
    for (size_t first = 0; first < n; first += AT_A_TIME)
        for (size_t r = 0; r < g->pixels.rows; r++) {
            size_t count = ronchi_min_size(AT_A_TIME, n - first), to = r * cols * PITCH + first;
            const uint8_t *from =
                job->frames + first * frame + ((g->pixels.row + r) * base->shape.det_cols + g->pixels.col) * size;
            if (size == 4)
                turn32(from, frame, count, cols, w->counts.wide + to);
            else
                (size == 2 ? job->kernels->transpose16 : job->kernels->widen8)(
                    from, (ptrdiff_t)frame, count, cols, w->counts.narrow + to, PITCH * sizeof(uint16_t));
        }
    for (size_t p = 0; n < end && p < g->pixels.rows * cols; p++)
        if (size == 4)
            memset(w->counts.wide + p * PITCH + n, 0, (end - n) * sizeof *w->counts.wide);
        else
            memset(w->counts.narrow + p * PITCH + n, 0, (end - n) * sizeof *w->counts.narrow);
}

/* Largest count at an unflagged pixel. */
static void find_most(const ronchi_store *base, ronchi_lane_cut tile, const ronchi_lane_stats *stats, uint32_t *most)
{
    for (size_t p = 0; p < tile.rows * tile.cols; p++)
        if (stats[p].high > *most &&
            base->valid[(tile.row + p / tile.cols) * base->shape.det_cols + tile.col + p % tile.cols])
            *most = stats[p].high;
}

static ronchi_status encode_tile(const encode_job *job, const group *g, size_t t, size_t index, ronchi_error *err)
{
    ronchi_lane_store *store = job->store;
    worker *w = &job->workers[index];
    ronchi_lane_cut tile = ronchi_lane_tile(&store->layout, t);
    ronchi_lane_pixels pixels = {.n_pixels = tile.rows * tile.cols,
                                 .n_positions = job->rect.rows * job->rect.cols,
                                 .value_bytes = store->layout.value_bytes == 4 ? 4 : 2};
    for (size_t p = 0; p < pixels.n_pixels; p++) {
        size_t at = (p / tile.cols * g->pixels.cols + tile.col - g->pixels.col + p % tile.cols) * PITCH;
        pixels.at[p] = pixels.value_bytes == 4 ? (void *)(w->counts.wide + at) : (void *)(w->counts.narrow + at);
    }
    size_t words = ronchi_lane_encode(job->kernels, store->tables, &pixels, &w->work, w->words);
    find_most(&store->base, tile, w->work.stats, &job->most[index]);
    job->words[t] = (uint32_t)words;
    job->brick[t] = ronchi_alloc(store->base.context, words * 2 + 1);
    if (!job->brick[t])
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for encoded counts");
    memcpy(job->brick[t], w->words, words * 2);
    return RONCHI_OK;
}

static ronchi_status encode_group(void *user, size_t item, size_t index, ronchi_error *err)
{
    const encode_job *job = user;
    group g = group_of(&job->store->layout, item);
    gather(job, &g, job->rect.rows * job->rect.cols, &job->workers[index]);
    ronchi_status status = RONCHI_OK;
    for (size_t t = 0; status == RONCHI_OK && t < g.n_tiles; t++)
        status = encode_tile(job, &g, g.first + t, index, err);
    return status;
}

/* Puts the bricks of a rectangle together. */
static ronchi_status assemble(const encode_job *job, size_t index, ronchi_error *err)
{
    ronchi_lane_store *store = job->store;
    ronchi_lane_chunk *chunk = &store->chunks[index];
    const size_t n_tiles = store->layout.n_tiles, head = LANE_CHUNK_HEADER + 4 * n_tiles;
    uint64_t words = 0;
    for (size_t t = 0; t < n_tiles; t++)
        words += job->words[t];
    if (words > UINT32_MAX)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "a chunk of %llu encoded words is too large", (unsigned long long)words);
    chunk->size = (head + 2 * (size_t)words + 7) / 8 * 8;
    chunk->bytes = ronchi_calloc(store->base.context, 1, chunk->size + 2 * LANE_SLACK_WORDS);
    chunk->offset = ronchi_alloc(store->base.context, (n_tiles + 1) * sizeof *chunk->offset);
    if (!chunk->bytes || !chunk->offset)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu bytes of encoded counts",
                           chunk->size);
    uint16_t *payload = (uint16_t *)(void *)(chunk->bytes + head);
    chunk->payload = payload;
    chunk->offset[0] = 0;
    for (size_t t = 0; t < n_tiles; t++) {
        memcpy(payload + chunk->offset[t], job->brick[t], 2 * (size_t)job->words[t]);
        chunk->offset[t + 1] = chunk->offset[t] + job->words[t];
    }
    chunk->body_offset = store->body_bytes;
    store->body_bytes += chunk->size;
    ronchi_lane_chunk_seal(store, index);
    return RONCHI_OK;
}

static ronchi_status encode_rectangle(encode_job *job, size_t index, ronchi_error *err)
{
    ronchi_lane_store *store = job->store;
    ronchi_context *context = store->base.context;
    const size_t threads = ronchi_context_threads(context), n_tiles = store->layout.n_tiles;
    job->workers = ronchi_alloc(context, threads * sizeof *job->workers);
    job->brick = ronchi_calloc(context, n_tiles, sizeof *job->brick);
    job->words = ronchi_calloc(context, n_tiles, sizeof *job->words);
    job->most = ronchi_calloc(context, threads, sizeof *job->most);
    if (!job->workers || !job->brick || !job->words || !job->most)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to encode with");
    ronchi_status status =
        ronchi_parallel_for(context, store->layout.tiles_down * groups_across(&store->layout), encode_group, job, err);
    if (status == RONCHI_OK)
        status = assemble(job, index, err);
    for (size_t i = 0; i < threads; i++)
        store->base.max_count = job->most[i] > store->base.max_count ? job->most[i] : store->base.max_count;
    return status;
}

ronchi_status ronchi_lane_encode_block(ronchi_store *base, size_t index, const void *frames, ronchi_error *err)
{
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    encode_job job = {.store = store,
                      .kernels = ronchi_context_kernels(base->context),
                      .frames = frames,
                      .rect = ronchi_lane_rect(&store->layout, index)};
    ronchi_status status = encode_rectangle(&job, index, err);
    for (size_t t = 0; job.brick && t < store->layout.n_tiles; t++)
        ronchi_free(base->context, job.brick[t]);
    ronchi_free(base->context, job.brick);
    ronchi_free(base->context, job.words);
    ronchi_free(base->context, job.most);
    ronchi_free(base->context, job.workers);
    store->n_filled += status == RONCHI_OK;
    return status;
}
