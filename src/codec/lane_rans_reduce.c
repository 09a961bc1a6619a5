/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_reduce.c - sums over a lane-rans-v1 store without frames.
 *
 * What the plan takes from the sum index is added first, plane by plane.  Then the other tiles are decoded: an item is
 * a scan rectangle and a run of tiles.  Where one plane alone wants pixels of a tile with one weight, the fused kernel
 * sums while decoding; else the stream is decoded to scratch first.  Items share outputs; all sums are integers, so
 * they are added atomically in any order.
 */
#include <string.h>

#include "codec/lane_rans_plan.h"

enum {
    RUN = 48,                             /* tiles of an item */
    POSITIONS = LANE_STREAMS * LANE_SPAN, /* of a rectangle */
    STREAM_COUNTS = LANE_TILE * LANE_SPAN,
    INDEX_RUN = 8192 /* positions of an item that adds from the index */
};

typedef struct reduce_job {
    const ronchi_lane_store *store;
    const ronchi_kernels *kernels;
    const ronchi_reduction *r;
    ronchi_lane_plan plan;
    size_t n_runs;
    size_t rect_row, rect_col, rects_across;
    size_t index_rows; /* scan rows of an item that adds from the index */
    bool pixels;       /* sums or maxima of pixels are wanted */
    uint32_t *counts;  /* [threads][LANE_STREAMS][STREAM_COUNTS] */
    uint64_t *sums;    /* [threads][n_planes][POSITIONS] */
    uint32_t *sums32;  /* [threads][n_planes + LANE_STREAMS][LANE_SPAN] scratch */
    uint16_t *weights; /* [threads][n_planes][LANE_TILE] scratch */
    bool *together;    /* [threads][n_planes] scratch */
} reduce_job;

/* Positions of a rectangle that lie in that of the reduction: their indices there, or SIZE_MAX. */
typedef struct places {
    size_t at[POSITIONS];
    uint16_t keep[POSITIONS];          /* all ones where pixel sums take the position */
    size_t n, first_stream, n_streams; /* streams that have such positions */
    bool all;                          /* pixel sums take every position */
} places;

static void find_places(const reduce_job *job, ronchi_lane_cut rect, places *out)
{
    const ronchi_reduction *r = job->r;
    size_t first = SIZE_MAX, last = 0;
    out->n = rect.rows * rect.cols;
    out->all = true;
    for (size_t i = 0, row = rect.row, col = rect.col; i < out->n; i++) {
        bool in = row >= r->scan_row && row - r->scan_row < r->scan_rows && col >= r->scan_col &&
                  col - r->scan_col < r->scan_cols;
        out->at[i] = in ? (row - r->scan_row) * r->scan_cols + col - r->scan_col : SIZE_MAX;
        first = in && first == SIZE_MAX ? i : first;
        last = in ? i : last;
        in = in && (!r->select || r->select[out->at[i]]);
        out->keep[i] = in ? UINT16_MAX : 0;
        out->all &= in;
        row += ++col == rect.col + rect.cols;
        col -= col == rect.col + rect.cols ? rect.cols : 0;
    }
    out->first_stream = first / LANE_SPAN; /* rectangles that the region does not touch are not visited */
    out->n_streams = last / LANE_SPAN - out->first_stream + 1;
}

/* Detector indices of a tile's pixels. */
static void list_pixels(const ronchi_lane_store *store, size_t tile, size_t *out)
{
    const ronchi_lane_cut cut = ronchi_lane_tile(&store->layout, tile);
    size_t n = 0;
    for (size_t r = 0; r < cut.rows; r++)
        for (size_t c = 0; c < cut.cols; c++)
            out[n++] = (cut.row + r) * store->base.shape.det_cols + cut.col + c;
}

/* ------------------------------------------------------------------------------------------------------ one tile */

static void raise_shared(uint32_t *to, uint32_t value)
{
    uint32_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(to, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Sum and maximum of one pixel over the kept positions of stream s. */
static void add_pixel(const reduce_job *job, size_t pixel, const void *counts, size_t p, size_t s, const places *at)
{
    const uint16_t *keep = at->keep + s * LANE_SPAN;
    const size_t n = ronchi_min_size(LANE_SPAN, at->n - s * LANE_SPAN);
    uint64_t sum = 0;
    uint32_t max = 0;
    if (job->store->layout.value_bytes < 4) {
        job->kernels->total((const uint16_t *)counts + p * LANE_SPAN, at->all ? NULL : keep, n, &sum, &max);
    } else {
        const uint32_t *v = (const uint32_t *)counts + p * LANE_SPAN;
        for (size_t i = 0; i < n; i++)
            if (keep[i]) {
                sum += v[i];
                max = v[i] > max ? v[i] : max;
            }
    }
    if (job->r->pixel_sums && sum)
        __atomic_fetch_add(&job->r->pixel_sums[pixel], sum, __ATOMIC_RELAXED);
    if (job->r->pixel_max && max)
        raise_shared(&job->r->pixel_max[pixel], max);
}

static const ronchi_lane_part *part_of(const reduce_job *job, size_t plane, size_t tile)
{
    return &job->plan.parts[plane * job->store->layout.n_tiles + tile];
}

/* What is known of a tile while its streams are added up. */
typedef struct tile_state {
    size_t tile, pixel[LANE_TILE]; /* detector indices */
    /* the planes of which a stream's sums are sure to fit 32 bits are added together */
    bool *together;          /* [n_planes] */
    uint16_t *weights;       /* [n_together][LANE_TILE], in the order of 'list' */
    uint8_t list[LANE_TILE]; /* all pixels that any of them takes */
    size_t n_list, n_together;
} tile_state;

static uint32_t weight_at(const reduce_job *job, size_t plane, const ronchi_lane_part *part, const tile_state *t,
                          size_t p)
{
    if (!(part->take >> p & 1))
        return 0;
    return part->weight ? part->weight : job->r->planes[plane][t->pixel[p]];
}

static bool fits(const reduce_job *job, size_t plane, const ronchi_lane_part *part, const tile_state *t)
{
    uint64_t sum = 0;
    if (job->store->layout.value_bytes == 4 || !part->take || part->weight > INT16_MAX)
        return false;
    if (part->weight && part->weight <= UINT32_MAX / UINT16_MAX / LANE_TILE)
        return true;
    for (size_t p = 0; p < LANE_TILE; p++) {
        uint32_t w = weight_at(job, plane, part, t, p);
        sum += w <= INT16_MAX ? w : UINT32_MAX;
    }
    return sum <= UINT32_MAX / UINT16_MAX;
}

/* Finds the planes of a tile that are added together, and their weights. */
static void find_together(const reduce_job *job, tile_state *t)
{
    uint64_t any = 0;
    t->n_list = t->n_together = 0;
    list_pixels(job->store, t->tile, t->pixel);
    for (size_t k = 0; k < job->r->n_planes; k++) {
        const ronchi_lane_part *part = part_of(job, k, t->tile);
        t->together[k] = fits(job, k, part, t);
        any |= t->together[k] ? part->take : 0;
    }
    for (size_t p = 0; p < LANE_TILE; p++)
        if (any >> p & 1)
            t->list[t->n_list++] = (uint8_t)p;
    for (size_t k = 0; k < job->r->n_planes; k++) {
        const ronchi_lane_part *part = part_of(job, k, t->tile);
        uint16_t *weights = t->weights + t->n_together * LANE_TILE;
        for (size_t j = 0; t->together[k] && j < t->n_list; j++)
            weights[j] = (uint16_t)weight_at(job, k, part, t, t->list[j]);
        t->n_together += t->together[k];
    }
}

/* One decoded stream into one plane, in 64 bits. */
static void add_wide(const reduce_job *job, size_t k, const tile_state *t, const void *counts, size_t n, uint64_t *sums)
{
    const ronchi_lane_part *part = part_of(job, k, t->tile);
    const uint64_t sign = part->outside ? UINT64_MAX : 1;
    for (size_t p = 0; p < LANE_TILE; p++) {
        const uint64_t weight = sign * weight_at(job, k, part, t, p);
        const uint16_t *u16 = (const uint16_t *)counts + p * LANE_SPAN;
        const uint32_t *u32 = (const uint32_t *)counts + p * LANE_SPAN;
        for (size_t i = 0; weight && job->store->layout.value_bytes < 4 && i < n; i++)
            sums[i] += weight * u16[i];
        for (size_t i = 0; weight && job->store->layout.value_bytes == 4 && i < n; i++)
            sums[i] += weight * u32[i];
    }
}

/* One decoded stream into planes and pixels; what lies outside a mask is taken away: all modulo 2^64. */
static void add_stream(const reduce_job *job, const tile_state *t, size_t s, const void *counts, const places *at,
                       uint32_t *sums32, uint64_t *sums)
{
    const size_t n = ronchi_min_size(LANE_SPAN, at->n - s * LANE_SPAN);
    size_t found = 0;
    memset(sums32, 0, t->n_together * LANE_SPAN * sizeof *sums32);
    if (t->n_together)
        job->kernels->weigh_planes(counts, t->list, t->n_list, n, t->weights, t->n_together, sums32);
    for (size_t k = 0; k < job->r->n_planes; k++) {
        const ronchi_lane_part *part = part_of(job, k, t->tile);
        uint64_t *to = sums + k * POSITIONS + s * LANE_SPAN;
        const uint64_t sign = part->outside ? UINT64_MAX : 1;
        for (size_t i = 0; t->together[k] && i < n; i++)
            to[i] += sign * sums32[found * LANE_SPAN + i];
        found += t->together[k];
        if (!t->together[k] && part->take)
            add_wide(job, k, t, counts, n, to);
    }
    for (size_t p = 0; job->pixels && p < LANE_TILE; p++)
        if (job->plan.valid[t->tile] >> p & 1)
            add_pixel(job, t->pixel[p], counts, p, s, at);
}

/* The pixels of a tile that all planes take alike, each with one weight; or 0. */
static uint64_t shared_take(const reduce_job *job, size_t tile)
{
    uint64_t take = 0;
    for (size_t k = 0; k < job->r->n_planes; k++) {
        const ronchi_lane_part *part = part_of(job, k, tile);
        if (part->take && (!part->weight || (take && part->take != take)))
            return 0;
        take = part->take ? part->take : take;
    }
    return take;
}

/* Sums while decoding. */
static const char *add_shared(const reduce_job *job, const ronchi_lane_brick *brick, size_t tile, uint64_t take,
                              const places *at, uint16_t *counts, uint32_t *sums32, uint64_t *sums)
{
    const size_t first = at->first_stream, n = at->n_streams;
    memset(sums32, 0, n * LANE_SPAN * sizeof *sums32);
    const char *wrong =
        job->kernels->lane_sum(job->store->tables, brick, first, n, take,
                               job->store->layout.value_bytes == 1 ? UINT8_MAX : UINT16_MAX, counts, sums32);
    for (size_t k = 0; !wrong && k < job->r->n_planes; k++) {
        const ronchi_lane_part *part = part_of(job, k, tile);
        const uint64_t weight = part->outside ? -(uint64_t)part->weight : part->weight;
        uint64_t *to = sums + k * POSITIONS + first * LANE_SPAN;
        for (size_t i = 0; part->take && i < n * LANE_SPAN; i++)
            to[i] += weight * sums32[i];
    }
    return wrong;
}

static const char *add_tile(const reduce_job *job, const ronchi_lane_brick *brick, size_t t, const places *at,
                            size_t worker)
{
    const ronchi_lane_tables *tables = job->store->tables;
    const size_t tile = job->plan.tile[t], stop = job->plan.stop[t], n_planes = job->r->n_planes;
    const size_t bytes = job->store->layout.value_bytes, first = at->first_stream, n = at->n_streams;
    const uint32_t largest = bytes == 1 ? UINT8_MAX : bytes == 2 ? UINT16_MAX : UINT32_MAX;
    const uint64_t take = job->pixels || bytes == 4 ? 0 : shared_take(job, tile);
    uint32_t *counts = job->counts + worker * LANE_STREAMS * STREAM_COUNTS;
    uint32_t *sums32 = job->sums32 + worker * (n_planes + LANE_STREAMS) * LANE_SPAN;
    uint64_t *sums = job->sums + worker * n_planes * POSITIONS;
    if (take)
        return add_shared(job, brick, tile, take, at, (uint16_t *)counts, sums32, sums);
    const char *wrong = bytes == 4
                            ? ronchi_lane_decode32(tables, brick, first, n, stop, largest, counts)
                            : job->kernels->lane_decode16(tables, brick, first, n, stop, largest, (uint16_t *)counts);
    tile_state state = {.tile = tile,
                        .together = job->together + worker * n_planes,
                        .weights = job->weights + worker * n_planes * LANE_TILE};
    if (!wrong)
        find_together(job, &state);
    for (size_t k = 0; !wrong && k < n; k++)
        add_stream(job, &state, first + k, (const char *)counts + k * STREAM_COUNTS * (bytes == 4 ? 4 : 2), at, sums32,
                   sums);
    return wrong;
}

/* ------------------------------------------------------------------------------------------------------- one item */

static ronchi_status reduce_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const reduce_job *job = user;
    const ronchi_lane_store *store = job->store;
    const ronchi_lane_layout *l = &store->layout;
    const size_t run = item % job->n_runs, k = item / job->n_runs;
    const size_t rect =
        (job->rect_row + k / job->rects_across) * l->rects_across + job->rect_col + k % job->rects_across;
    uint64_t *sums = job->sums + worker * job->r->n_planes * POSITIONS;
    places at;
    find_places(job, ronchi_lane_rect(l, rect), &at);
    memset(sums, 0, job->r->n_planes * POSITIONS * sizeof *sums);
    for (size_t t = run * RUN; t < ronchi_min_size((run + 1) * RUN, job->plan.n_tiles); t++) {
        ronchi_lane_brick brick;
        ronchi_status status = ronchi_lane_brick_at(store, rect, job->plan.tile[t], &brick, err);
        if (status != RONCHI_OK)
            return status;
        const char *wrong = add_tile(job, &brick, t, &at, worker);
        if (wrong)
            return ronchi_lane_bad(store, rect, job->plan.tile[t], wrong, err);
    }
    for (size_t p = 0; p < job->r->n_planes; p++)
        for (size_t i = 0; i < at.n; i++)
            if (at.at[i] != SIZE_MAX && sums[p * POSITIONS + i])
                __atomic_fetch_add(&job->r->plane_sums[p * job->r->scan_rows * job->r->scan_cols + at.at[i]],
                                   sums[p * POSITIONS + i], __ATOMIC_RELAXED);
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------- from the index */

/* Some scan rows of one plane. */
static ronchi_status add_index(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const reduce_job *job = user;
    const ronchi_reduction *r = job->r;
    const size_t scan_cols = job->store->base.shape.scan_cols, n_blocks = ronchi_div_up(r->scan_rows, job->index_rows);
    const size_t k = item / n_blocks, row = item % n_blocks * job->index_rows;
    const size_t rows = ronchi_min_size(job->index_rows, r->scan_rows - row),
                 step = r->scan_cols == scan_cols ? rows : 1;
    (void)worker;
    (void)err;
    for (size_t i = 0; i < rows; i += step)
        ronchi_sum_index_add(job->store->index, job->plan.terms + k * job->store->layout.n_tiles, job->plan.n_terms[k],
                             (r->scan_row + row + i) * scan_cols + r->scan_col, step * r->scan_cols,
                             r->plane_sums + (k * r->scan_rows + row + i) * r->scan_cols);
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- set-up */

static ronchi_status run_all(reduce_job *job, ronchi_error *err)
{
    const ronchi_store *base = &job->store->base;
    const ronchi_lane_layout *l = &job->store->layout;
    const ronchi_reduction *r = job->r;
    const size_t threads = ronchi_context_threads(base->context);
    ronchi_status status = ronchi_lane_plan_make(job->store, r->n_planes, r->planes, job->pixels, &job->plan, err);
    if (status != RONCHI_OK)
        return status;
    job->counts = ronchi_alloc(base->context, threads * LANE_STREAMS * STREAM_COUNTS * sizeof *job->counts);
    job->sums = ronchi_alloc(base->context, threads * r->n_planes * POSITIONS * sizeof *job->sums);
    job->sums32 = ronchi_alloc(base->context, threads * (r->n_planes + LANE_STREAMS) * LANE_SPAN * sizeof *job->sums32);
    job->weights = ronchi_alloc(base->context, threads * r->n_planes * LANE_TILE * sizeof *job->weights);
    job->together = ronchi_alloc(base->context, threads * r->n_planes * sizeof *job->together);
    if (!job->counts || !job->sums || !job->sums32 || !job->weights || !job->together)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a reduction");
    job->index_rows = ronchi_div_up(INDEX_RUN, r->scan_cols);
    if (job->store->index)
        status = ronchi_parallel_for(base->context, r->n_planes * ronchi_div_up(r->scan_rows, job->index_rows),
                                     add_index, job, err);
    if (status != RONCHI_OK)
        return status;
    job->n_runs = ronchi_div_up(job->plan.n_tiles, RUN);
    job->rect_row = r->scan_row / l->rect_rows;
    job->rect_col = r->scan_col / l->rect_cols;
    job->rects_across = (r->scan_col + r->scan_cols - 1) / l->rect_cols - job->rect_col + 1;
    size_t rects = ((r->scan_row + r->scan_rows - 1) / l->rect_rows - job->rect_row + 1) * job->rects_across;
    return ronchi_parallel_for(base->context, rects * job->n_runs, reduce_item, job, err);
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
    ronchi_lane_plan_free(job.store, &job.plan);
    ronchi_free(base->context, job.counts);
    ronchi_free(base->context, job.sums);
    ronchi_free(base->context, job.sums32);
    ronchi_free(base->context, job.weights);
    ronchi_free(base->context, job.together);
    return status;
}
