/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_reduce.c - sums over a lane-rans-v1 store without frames.
 *
 * An item is one stream of positions of a rectangle and a run of tiles.  Where a plane has one weight for the wanted
 * pixels of a tile, and it is the only output, the fused kernel sums while decoding; else the stream is decoded to
 * scratch first.  Items share outputs; all sums are integers, so they are added atomically in any order.
 */
#include <string.h>

#include "codec/lane_rans.h"

enum { RUN = 48 }; /* tiles of an item */

typedef struct reduce_job {
    const ronchi_lane_store *store;
    const ronchi_kernels *kernels;
    const ronchi_reduction *r;
    size_t *tile; /* tiles that any output needs */
    size_t n_tiles, n_runs;
    size_t rect_row, rect_col, rects_across;
    bool pixels;      /* sums or maxima of pixels are wanted */
    uint32_t *counts; /* [threads][LANE_TILE][LANE_SPAN] */
    uint64_t *sums;   /* [threads][n_planes + 1][LANE_SPAN]: planes, and 32-bit scratch */
} reduce_job;

/* Positions of one stream that lie in the rectangle of the reduction: their indices there, or SIZE_MAX. */
typedef struct places {
    size_t at[LANE_SPAN];
    uint16_t keep[LANE_SPAN]; /* all ones where pixel sums take the position */
    size_t n;
    bool all, any;
} places;

static void find_places(const reduce_job *job, ronchi_lane_cut rect, size_t s, places *out)
{
    const ronchi_reduction *r = job->r;
    out->n = ronchi_min_size(LANE_SPAN, rect.rows * rect.cols - s * LANE_SPAN);
    out->all = true;
    out->any = false;
    for (size_t i = 0; i < out->n; i++) {
        size_t j = s * LANE_SPAN + i, row = rect.row + j / rect.cols, col = rect.col + j % rect.cols;
        bool in = row >= r->scan_row && row - r->scan_row < r->scan_rows && col >= r->scan_col &&
                  col - r->scan_col < r->scan_cols;
        out->at[i] = in ? (row - r->scan_row) * r->scan_cols + col - r->scan_col : SIZE_MAX;
        out->any |= in;
        in = in && (!r->select || r->select[out->at[i]]);
        out->keep[i] = in ? UINT16_MAX : 0;
        out->all &= in;
    }
}

static size_t pixel_of(const ronchi_lane_store *store, ronchi_lane_cut tile, size_t p)
{
    return (tile.row + p / tile.cols) * store->base.shape.det_cols + tile.col + p % tile.cols;
}

/* ------------------------------------------------------------------------------------------------------ one tile */

/* The pixels with weight of plane k; true when they all have the same weight. */
static bool one_weight(const reduce_job *job, ronchi_lane_cut tile, size_t k, uint64_t *take, uint32_t *weight)
{
    bool same = true;
    *take = 0;
    *weight = 0;
    for (size_t p = 0; p < tile.rows * tile.cols; p++) {
        size_t pixel = pixel_of(job->store, tile, p);
        uint32_t w = job->store->base.valid[pixel] ? job->r->planes[k][pixel] : 0;
        if (!w)
            continue;
        same = same && (!*take || w == *weight);
        *weight = w;
        *take |= UINT64_C(1) << p;
    }
    return same;
}

static void raise_shared(uint32_t *to, uint32_t value)
{
    uint32_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(to, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void add_pixel(const reduce_job *job, size_t pixel, const void *counts, size_t p, const places *at)
{
    uint64_t sum = 0;
    uint32_t max = 0;
    if (job->store->layout.value_bytes < 4) {
        job->kernels->total((const uint16_t *)counts + p * LANE_SPAN, at->all ? NULL : at->keep, at->n, &sum, &max);
    } else {
        const uint32_t *v = (const uint32_t *)counts + p * LANE_SPAN;
        for (size_t i = 0; i < at->n; i++)
            if (at->keep[i]) {
                sum += v[i];
                max = v[i] > max ? v[i] : max;
            }
    }
    if (job->r->pixel_sums && sum)
        __atomic_fetch_add(&job->r->pixel_sums[pixel], sum, __ATOMIC_RELAXED);
    if (job->r->pixel_max && max)
        raise_shared(&job->r->pixel_max[pixel], max);
}

/* Adds weight x counts of one pixel: in 32 bits and with the kernel while 64 such pixels are sure to fit. */
static void add_plane(const reduce_job *job, const void *counts, size_t p, size_t n, uint32_t weight, uint32_t *sums32,
                      uint64_t *sums)
{
    if (job->store->layout.value_bytes < 4 && weight <= UINT32_MAX / LANE_TILE / UINT16_MAX) {
        job->kernels->weigh((const uint16_t *)counts + p * LANE_SPAN, n, weight, sums32);
        return;
    }
    for (size_t i = 0; i < n; i++)
        sums[i] +=
            (uint64_t)weight * (job->store->layout.value_bytes < 4 ? ((const uint16_t *)counts)[p * LANE_SPAN + i]
                                                                   : ((const uint32_t *)counts)[p * LANE_SPAN + i]);
}

static const char *add_decoded(const reduce_job *job, const ronchi_lane_brick *brick, ronchi_lane_cut tile, size_t s,
                               const places *at, uint32_t *counts, uint32_t *sums32, uint64_t *sums)
{
    const ronchi_lane_store *store = job->store;
    const char *wrong =
        store->layout.value_bytes == 4
            ? ronchi_lane_decode32(store->tables, brick, s, brick->n_pixels, UINT32_MAX, counts)
            : job->kernels->lane_decode16(store->tables, brick, s, brick->n_pixels,
                                          store->layout.value_bytes == 1 ? UINT8_MAX : UINT16_MAX, (uint16_t *)counts);
    if (wrong)
        return wrong;
    for (size_t k = 0; k < job->r->n_planes; k++) {
        memset(sums32, 0, LANE_SPAN * sizeof *sums32);
        for (size_t p = 0; p < brick->n_pixels; p++) {
            size_t pixel = pixel_of(store, tile, p);
            uint32_t weight = store->base.valid[pixel] ? job->r->planes[k][pixel] : 0;
            if (weight)
                add_plane(job, counts, p, at->n, weight, sums32, sums + k * LANE_SPAN);
        }
        for (size_t i = 0; i < at->n; i++)
            sums[k * LANE_SPAN + i] += sums32[i];
    }
    for (size_t p = 0; job->pixels && p < brick->n_pixels; p++) {
        size_t pixel = pixel_of(store, tile, p);
        if (store->base.valid[pixel])
            add_pixel(job, pixel, counts, p, at);
    }
    return NULL;
}

static const char *add_tile(const reduce_job *job, const ronchi_lane_brick *brick, ronchi_lane_cut tile, size_t s,
                            const places *at, uint32_t *counts, uint64_t *sums)
{
    const size_t bytes = job->store->layout.value_bytes;
    uint32_t *sums32 = (uint32_t *)(void *)(sums + job->r->n_planes * LANE_SPAN), weight;
    uint64_t take;
    if (!job->pixels && job->r->n_planes == 1 && bytes < 4 && one_weight(job, tile, 0, &take, &weight)) {
        memset(sums32, 0, LANE_SPAN * sizeof *sums32);
        const char *wrong = job->kernels->lane_sum(job->store->tables, brick, s, take,
                                                   bytes == 1 ? UINT8_MAX : UINT16_MAX, (uint16_t *)counts, sums32);
        for (size_t i = 0; i < at->n; i++)
            sums[i] += (uint64_t)weight * sums32[i];
        return wrong;
    }
    return add_decoded(job, brick, tile, s, at, counts, sums32, sums);
}

/* ------------------------------------------------------------------------------------------------------- one item */

static ronchi_status reduce_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const reduce_job *job = user;
    const ronchi_lane_store *store = job->store;
    const ronchi_lane_layout *l = &store->layout;
    const size_t run = item % job->n_runs, s = item / job->n_runs % LANE_STREAMS, k = item / job->n_runs / LANE_STREAMS;
    const size_t rect =
        (job->rect_row + k / job->rects_across) * l->rects_across + job->rect_col + k % job->rects_across;
    const ronchi_lane_cut cut = ronchi_lane_rect(l, rect);
    uint32_t *counts = job->counts + worker * LANE_TILE * LANE_SPAN;
    uint64_t *sums = job->sums + worker * (job->r->n_planes + 1) * LANE_SPAN;
    places at;
    if (s * LANE_SPAN >= cut.rows * cut.cols)
        return RONCHI_OK;
    find_places(job, cut, s, &at);
    if (!at.any)
        return RONCHI_OK;
    memset(sums, 0, job->r->n_planes * LANE_SPAN * sizeof *sums);
    for (size_t t = run * RUN; t < ronchi_min_size((run + 1) * RUN, job->n_tiles); t++) {
        ronchi_lane_brick brick;
        ronchi_status status = ronchi_lane_brick_at(store, rect, job->tile[t], &brick, err);
        if (status != RONCHI_OK)
            return status;
        const char *wrong = add_tile(job, &brick, ronchi_lane_tile(l, job->tile[t]), s, &at, counts, sums);
        if (wrong)
            return ronchi_lane_bad(store, rect, job->tile[t], wrong, err);
    }
    for (size_t p = 0; p < job->r->n_planes; p++)
        for (size_t i = 0; i < at.n; i++)
            if (at.at[i] != SIZE_MAX && sums[p * LANE_SPAN + i])
                __atomic_fetch_add(&job->r->plane_sums[p * job->r->scan_rows * job->r->scan_cols + at.at[i]],
                                   sums[p * LANE_SPAN + i], __ATOMIC_RELAXED);
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- set-up */

static bool tile_wanted(const reduce_job *job, ronchi_lane_cut tile)
{
    for (size_t p = 0; p < tile.rows * tile.cols; p++) {
        size_t pixel = pixel_of(job->store, tile, p);
        bool wanted = job->pixels;
        for (size_t k = 0; !wanted && k < job->r->n_planes; k++)
            wanted = job->r->planes[k][pixel] != 0;
        if (wanted && job->store->base.valid[pixel])
            return true;
    }
    return false;
}

static ronchi_status run_all(reduce_job *job, ronchi_error *err)
{
    const ronchi_store *base = &job->store->base;
    const ronchi_lane_layout *l = &job->store->layout;
    const ronchi_reduction *r = job->r;
    const size_t threads = ronchi_context_threads(base->context);
    job->tile = ronchi_calloc(base->context, l->n_tiles, sizeof *job->tile);
    job->counts = ronchi_alloc(base->context, threads * LANE_TILE * LANE_SPAN * sizeof *job->counts);
    job->sums = ronchi_alloc(base->context, threads * (r->n_planes + 1) * LANE_SPAN * sizeof *job->sums);
    if (!job->tile || !job->counts || !job->sums)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a reduction");
    for (size_t t = 0; t < l->n_tiles; t++)
        if (tile_wanted(job, ronchi_lane_tile(l, t)))
            job->tile[job->n_tiles++] = t;
    job->n_runs = ronchi_div_up(job->n_tiles, RUN);
    job->rect_row = r->scan_row / l->rect_rows;
    job->rect_col = r->scan_col / l->rect_cols;
    job->rects_across = (r->scan_col + r->scan_cols - 1) / l->rect_cols - job->rect_col + 1;
    size_t rects = ((r->scan_row + r->scan_rows - 1) / l->rect_rows - job->rect_row + 1) * job->rects_across;
    return ronchi_parallel_for(base->context, rects * LANE_STREAMS * job->n_runs, reduce_item, job, err);
}

ronchi_status ronchi_lane_reduce(const ronchi_store *base, const ronchi_reduction *r, ronchi_error *err)
{
    const ronchi_region region = {r->scan_row, r->scan_rows,         r->scan_col, r->scan_cols,
                                  0,           base->shape.det_rows, 0,           base->shape.det_cols};
    reduce_job job = {
        .store = (const ronchi_lane_store *)base, .kernels = ronchi_context_kernels(base->context), .r = r};
    if (!ronchi_region_inside(&region, &base->shape))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "the rectangle is not inside the scan");
    if (r->plane_sums_f64 || r->pixel_sums_f64 || r->pixel_max_f32)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "counts are summed in integers, not floats");
    job.pixels = r->pixel_sums || r->pixel_max;
    if (r->n_planes)
        memset(r->plane_sums, 0, r->n_planes * r->scan_rows * r->scan_cols * sizeof *r->plane_sums);
    if (r->pixel_sums)
        memset(r->pixel_sums, 0, base->n_pixels * sizeof *r->pixel_sums);
    if (r->pixel_max)
        memset(r->pixel_max, 0, base->n_pixels * sizeof *r->pixel_max);
    ronchi_status status = run_all(&job, err);
    ronchi_free(base->context, job.tile);
    ronchi_free(base->context, job.counts);
    ronchi_free(base->context, job.sums);
    return status;
}
