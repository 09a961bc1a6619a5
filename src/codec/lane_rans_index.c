/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_index.c - the sum index of a lane-rans-v1 store: made from the counts, checked against them.
 *
 * An item is a tile over the whole scan, so that its plane is written once, by one worker, in its final width.
 */
#include <string.h>

#include "codec/lane_rans.h"

enum { POSITIONS = LANE_STREAMS * LANE_SPAN /* of a rectangle */ };

typedef struct worker {
    uint32_t counts[LANE_STREAMS * LANE_TILE * LANE_SPAN]; /* of 16 bits where counts are narrow */
    uint32_t sums[POSITIONS];
} worker;

typedef struct index_job {
    const ronchi_lane_store *store;
    ronchi_sum_index *index;
    worker *workers;
    uint64_t *sums; /* [threads][n_positions] */
} index_job;

static uint64_t unflagged(const ronchi_lane_store *store, ronchi_lane_cut tile)
{
    uint64_t valid = 0;
    for (size_t p = 0; p < tile.rows * tile.cols; p++)
        if (store->base.valid[(tile.row + p / tile.cols) * store->base.shape.det_cols + tile.col + p % tile.cols])
            valid |= UINT64_C(1) << p;
    return valid;
}

/* The sums of a brick's unflagged pixels to 'sums' [positions of the rectangle]. */
static const char *sum_brick(const ronchi_lane_store *store, const ronchi_lane_brick *brick, uint64_t valid, worker *w,
                             uint64_t *sums)
{
    const size_t bytes = store->layout.value_bytes;
    if (bytes < 4) {
        memset(w->sums, 0, sizeof w->sums);
        const char *wrong = ronchi_context_kernels(store->base.context)
                                ->lane_sum(store->tables, brick, 0, brick->n_streams, valid,
                                           bytes == 1 ? UINT8_MAX : UINT16_MAX, (uint16_t *)w->counts, w->sums);
        for (size_t i = 0; i < brick->n_positions; i++)
            sums[i] = w->sums[i];
        return wrong;
    }
    const char *wrong =
        ronchi_lane_decode32(store->tables, brick, 0, brick->n_streams, brick->n_pixels, UINT32_MAX, w->counts);
    for (size_t i = 0; !wrong && i < brick->n_positions; i++) {
        sums[i] = 0;
        for (size_t p = 0; p < brick->n_pixels; p++)
            if (valid >> p & 1)
                sums[i] += w->counts[(i / LANE_SPAN * LANE_TILE + p) * LANE_SPAN + i % LANE_SPAN];
    }
    return wrong;
}

/* The sums of one tile at all scan positions. */
static ronchi_status sum_tile(const index_job *job, size_t tile, worker *w, uint64_t *sums, ronchi_error *err)
{
    const ronchi_lane_store *store = job->store;
    const size_t scan_cols = store->base.shape.scan_cols;
    const uint64_t valid = unflagged(store, ronchi_lane_tile(&store->layout, tile));
    uint64_t part[POSITIONS];
    memset(sums, 0, store->base.n_positions * sizeof *sums);
    for (size_t rect = 0; valid && rect < store->layout.n_rects; rect++) {
        const ronchi_lane_cut cut = ronchi_lane_rect(&store->layout, rect);
        ronchi_lane_brick brick;
        ronchi_status status = ronchi_lane_brick_at(store, rect, tile, &brick, err);
        if (status != RONCHI_OK)
            return status;
        const char *wrong = sum_brick(store, &brick, valid, w, part);
        if (wrong)
            return ronchi_lane_bad(store, rect, tile, wrong, err);
        for (size_t r = 0; r < cut.rows; r++)
            memcpy(sums + (cut.row + r) * scan_cols + cut.col, part + r * cut.cols, cut.cols * sizeof *sums);
    }
    return RONCHI_OK;
}

static ronchi_status build_tile(void *user, size_t item, size_t worker_index, ronchi_error *err)
{
    const index_job *job = user;
    uint64_t *sums = job->sums + worker_index * job->store->base.n_positions;
    ronchi_status status = sum_tile(job, item, &job->workers[worker_index], sums, err);
    return status == RONCHI_OK ? ronchi_sum_index_set(job->index, item, sums, err) : status;
}

static ronchi_status check_tile(void *user, size_t item, size_t worker_index, ronchi_error *err)
{
    const index_job *job = user;
    const size_t n = job->store->base.n_positions, scan_cols = job->store->base.shape.scan_cols;
    uint64_t *sums = job->sums + worker_index * n;
    ronchi_status status = sum_tile(job, item, &job->workers[worker_index], sums, err);
    for (size_t i = 0; status == RONCHI_OK && i < n; i++) {
        uint64_t found = ronchi_sum_index_at(job->index, item, i);
        ronchi_lane_cut tile = ronchi_lane_tile(&job->store->layout, item);
        if (found != sums[i])
            status = ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET,
                                 "sum index: tile %zu (from detector row %zu, column %zu) at scan row %zu, column %zu "
                                 "holds %llu, its counts sum to %llu; the index is damaged: convert again",
                                 item, tile.row, tile.col, i / scan_cols, i % scan_cols, (unsigned long long)found,
                                 (unsigned long long)sums[i]);
    }
    return status;
}

static ronchi_status run_tiles(const ronchi_lane_store *store, ronchi_sum_index *index, ronchi_item_fn work,
                               ronchi_error *err)
{
    ronchi_context *context = store->base.context;
    const size_t threads = ronchi_context_threads(context);
    size_t n;
    index_job job = {store, index, ronchi_alloc(context, threads * sizeof *job.workers), NULL};
    if (ronchi_mul(threads, store->base.n_positions, &n))
        job.sums = ronchi_calloc(context, n, sizeof *job.sums);
    ronchi_status status =
        job.workers && job.sums
            ? ronchi_parallel_for(context, store->layout.n_tiles, work, &job, err)
            : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a sum index");
    ronchi_free(context, job.workers);
    ronchi_free(context, job.sums);
    return status;
}

ronchi_status ronchi_lane_make_index(const ronchi_lane_store *store, ronchi_sum_index **out, ronchi_error *err)
{
    ronchi_sum_index *index;
    *out = NULL;
    ronchi_status status = ronchi_sum_index_create(store->base.context, store->layout.tiles_down,
                                                   store->layout.tiles_across, store->base.n_positions, &index, err);
    if (status != RONCHI_OK)
        return status;
    status = run_tiles(store, index, build_tile, err);
    if (status == RONCHI_OK)
        status = ronchi_sum_index_groups(index, err);
    if (status == RONCHI_OK)
        *out = index;
    else
        ronchi_sum_index_destroy(index);
    return status;
}

ronchi_status ronchi_lane_build_index(ronchi_store *base, ronchi_error *err)
{
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    return store->index ? RONCHI_OK : ronchi_lane_make_index(store, &store->index, err);
}

ronchi_status ronchi_lane_check_index(const ronchi_lane_store *store, ronchi_error *err)
{
    return run_tiles(store, store->index, check_tile, err);
}
