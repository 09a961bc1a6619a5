/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode_block.c - a scan rectangle of whole frames becomes one chunk.
 *
 * The unit of work is a group of tiles side by side, so wide that every cache line of the frames is read once: their
 * counts are turned from [position][pixel] to [pixel][position] into a buffer of the thread, then encoded tile by tile.
 */
#include <string.h>

#include "codec/lane_rans_encode_job.h"

typedef struct block_job {
    ronchi_lane_job job;
    const uint8_t *frames;
} block_job;

/* Tiles of one group: consecutive in one row of tiles. */
typedef struct group {
    size_t first, n_tiles;
    ronchi_lane_cut pixels;
} group;

static size_t groups_across(const ronchi_lane_layout *l)
{
    return ronchi_div_up(l->tiles_across, LANE_GROUP_TILES);
}

static group group_of(const ronchi_lane_layout *l, size_t item)
{
    size_t down = item / groups_across(l), across = item % groups_across(l) * LANE_GROUP_TILES;
    group g = {down * l->tiles_across + across, ronchi_min_size(LANE_GROUP_TILES, l->tiles_across - across),
               ronchi_lane_tile(l, down * l->tiles_across + across)};
    ronchi_lane_cut last = ronchi_lane_tile(l, g.first + g.n_tiles - 1);
    g.pixels.cols = last.col + last.cols - g.pixels.col;
    return g;
}

/* 32-bit counts, so many positions at a time that whole cache lines are written. */
static void turn32(const uint8_t *from, size_t frame, size_t n, size_t cols, uint32_t *to, size_t pitch)
{
    for (size_t first = 0; first < n; first += LANE_LINE / 2)
        for (size_t c = 0; c < cols; c++)
            for (size_t i = first; i < ronchi_min_size(first + LANE_LINE / 2, n); i++)
                memcpy(&to[c * pitch + i], from + i * frame + c * sizeof *to, sizeof *to);
}

/* Frames to counts [row of the group][column][pitch]; zeros behind the last position. */
static void gather(const block_job *block, const group *g, ronchi_lane_thread *thread)
{
    const ronchi_lane_job *job = &block->job;
    const ronchi_store *base = &job->store->base;
    const size_t size = job->store->layout.value_bytes, frame = base->n_pixels * size, cols = g->pixels.cols;
    const size_t n = job->n_positions, pitch = job->pitch, end = ronchi_div_up(n, LANE_SPAN) * LANE_SPAN;
    for (size_t first = 0; first < n; first += LANE_LINE)
        for (size_t r = 0; r < g->pixels.rows; r++) {
            size_t count = ronchi_min_size(LANE_LINE, n - first), to = r * cols * pitch + first;
            const uint8_t *from =
                block->frames + first * frame + ((g->pixels.row + r) * base->shape.det_cols + g->pixels.col) * size;
            if (size == 4)
                turn32(from, frame, count, cols, thread->counts.wide + to, pitch);
            else
                (size == 2 ? job->kernels->transpose16 : job->kernels->widen8)(from, (ptrdiff_t)frame, count, cols,
                                                                               thread->counts.narrow + to,
                                                                               (ptrdiff_t)(pitch * sizeof(uint16_t)));
        }
    for (size_t p = 0; n < end && p < g->pixels.rows * cols; p++)
        if (size == 4)
            memset(thread->counts.wide + p * pitch + n, 0, (end - n) * sizeof *thread->counts.wide);
        else
            memset(thread->counts.narrow + p * pitch + n, 0, (end - n) * sizeof *thread->counts.narrow);
}

static ronchi_status encode_group(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const block_job *block = user;
    const ronchi_lane_layout *l = &block->job.store->layout;
    ronchi_lane_thread *thread = &block->job.threads[worker];
    group g = group_of(l, item);
    gather(block, &g, thread);
    ronchi_status status = RONCHI_OK;
    for (size_t t = 0; status == RONCHI_OK && t < g.n_tiles; t++) {
        size_t at = t * l->tile_cols * block->job.pitch * (l->value_bytes == 4 ? 4 : 2);
        status = ronchi_lane_job_tile(&block->job, g.first + t, thread->counts.bytes + at, g.pixels.cols, worker, err);
    }
    return status;
}

ronchi_status ronchi_lane_encode_block(ronchi_store *base, size_t index, const void *frames, ronchi_error *err)
{
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    block_job block = {.frames = frames};
    ronchi_status status = ronchi_lane_job_begin(store, index, &block.job, err);
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(base->context, store->layout.tiles_down * groups_across(&store->layout),
                                     encode_group, &block, err);
    return ronchi_lane_job_end(&block.job, status, err);
}
