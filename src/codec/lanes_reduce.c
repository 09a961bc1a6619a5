/* SPDX-License-Identifier: MIT */
/*
 * lanes_reduce.c - sums over bit lanes without frames: exact for uint32, in a fixed order for float32.
 *
 * Two passes, each owning its outputs so that the order of additions is fixed: planes with one chunk per item, which
 * adds its pixels in row-major order at each position; pixels with LANES_TILE pixels per item, which adds positions in
 * scan order.
 */
#include <math.h>
#include <string.h>

#include "codec/lanes.h"
#include "codec/span_runs.h"

typedef struct reduce_job {
    const lanes_store *store;
    const ronchi_reduction *r;
    ronchi_region region; /* its rectangle */
    size_t n_wanted;      /* unflagged pixels that have a weight in some plane */
    uint32_t *wanted;
    uint16_t *scratch; /* [threads][2 LANES_TILE][pitch] */
    uint64_t *sums;    /* [threads][n_planes][512] u64 or f64 */
} reduce_job;

static bool next_run(const reduce_job *job, const lanes_chunk *chunk, size_t t, ronchi_run *out)
{
    return ronchi_run_next(&job->region, job->store->base.shape.scan_cols, chunk->first, chunk->n_positions, t, out);
}

static size_t run_stop(const reduce_job *job, const lanes_chunk *chunk)
{
    return ronchi_run_stop(&job->region, job->store->base.shape.scan_cols, chunk->first, chunk->n_positions);
}

static uint16_t *scratch_of(const reduce_job *job, size_t worker)
{
    return job->scratch + worker * 2 * LANES_TILE * RONCHI_STREAM_PITCH;
}

static uint32_t value_at(const uint16_t *low, size_t t)
{
    return (uint32_t)low[RONCHI_STREAM_PITCH + t] << 16 | low[t];
}

static float float_at(const uint16_t *low, size_t t)
{
    uint32_t bits = value_at(low, t);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---------------------------------------------------------------------------------------------------------- planes */

static void weigh(const reduce_job *job, uint32_t weight, const uint16_t *low, size_t stop, uint64_t *sums)
{
    if (job->store->base.dtype == RONCHI_U32) {
        for (size_t t = 0; t < stop; t++)
            sums[t] += (uint64_t)weight * value_at(low, t);
        return;
    }
    double *sums_f64 = (double *)(void *)sums; /* the same memory, used as one or the other */
    for (size_t t = 0; t < stop; t++)
        sums_f64[t] += (double)weight * (double)float_at(low, t);
}

static void write_planes(const reduce_job *job, const lanes_chunk *chunk, const uint64_t *sums)
{
    const ronchi_reduction *r = job->r;
    ronchi_run run;
    for (size_t t = 0; next_run(job, chunk, t, &run); t = run.t_end)
        for (size_t p = 0; p < r->n_planes; p++) {
            size_t to = (p * r->scan_rows + run.row) * r->scan_cols + run.col;
            void *out =
                job->store->base.dtype == RONCHI_U32 ? (void *)(r->plane_sums + to) : (void *)(r->plane_sums_f64 + to);
            memcpy(out, sums + p * RONCHI_STREAM_SPAN + run.t, (run.t_end - run.t) * sizeof *sums);
        }
}

static ronchi_status planes_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const reduce_job *job = user;
    const lanes_chunk *chunk = &job->store->chunks[item];
    uint16_t *values = scratch_of(job, worker);
    uint64_t *sums = job->sums + worker * job->r->n_planes * RONCHI_STREAM_SPAN;
    size_t stop = run_stop(job, chunk);
    if (!stop)
        return RONCHI_OK;
    memset(sums, 0, job->r->n_planes * RONCHI_STREAM_SPAN * sizeof *sums); /* also 0.0 */
    for (size_t first = 0; first < job->n_wanted; first += LANES_TILE) {
        size_t n = ronchi_min_size(LANES_TILE, job->n_wanted - first);
        ronchi_status status = ronchi_lanes_decode_pixels(job->store, item, job->wanted + first, n, stop, values, err);
        if (status != RONCHI_OK)
            return status;
        for (size_t i = 0; i < n; i++)
            for (size_t p = 0; p < job->r->n_planes; p++)
                if (job->r->planes[p][job->wanted[first + i]])
                    weigh(job, job->r->planes[p][job->wanted[first + i]], values + 2 * i * RONCHI_STREAM_PITCH, stop,
                          sums + p * RONCHI_STREAM_SPAN);
    }
    write_planes(job, chunk, sums);
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- pixels */

static void clear_pixel(const ronchi_store *base, const ronchi_reduction *r, size_t pixel)
{
    if (r->pixel_sums)
        r->pixel_sums[pixel] = 0;
    if (r->pixel_max)
        r->pixel_max[pixel] = 0;
    if (r->pixel_sums_f64)
        r->pixel_sums_f64[pixel] = 0;
    if (r->pixel_max_f32)
        r->pixel_max_f32[pixel] = base->valid[pixel] ? -INFINITY : 0;
}

static void add_float(const ronchi_reduction *r, size_t pixel, float value)
{
    if (r->pixel_sums_f64)
        r->pixel_sums_f64[pixel] += (double)value;
    if (r->pixel_max_f32 && !isnan(r->pixel_max_f32[pixel]) && !(value <= r->pixel_max_f32[pixel]))
        r->pixel_max_f32[pixel] = value; /* also NaN, which then stays */
}

static void add_count(const ronchi_reduction *r, size_t pixel, uint32_t value)
{
    if (r->pixel_sums)
        r->pixel_sums[pixel] += value;
    if (r->pixel_max && value > r->pixel_max[pixel])
        r->pixel_max[pixel] = value;
}

/* Adds the wanted positions of one chunk to one pixel. */
static void add_pixel(const reduce_job *job, const lanes_chunk *chunk, size_t pixel, const uint16_t *low)
{
    const ronchi_reduction *r = job->r;
    ronchi_run run;
    for (size_t t = 0; next_run(job, chunk, t, &run); t = run.t_end) {
        const uint8_t *select = r->select ? r->select + run.row * r->scan_cols + run.col : NULL;
        for (size_t i = run.t; i < run.t_end; i++) {
            if (select && !select[i - run.t])
                continue;
            if (job->store->base.dtype == RONCHI_U32)
                add_count(r, pixel, value_at(low, i));
            else
                add_float(r, pixel, float_at(low, i));
        }
    }
}

static ronchi_status pixels_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const reduce_job *job = user;
    const ronchi_store *base = &job->store->base;
    uint16_t *values = scratch_of(job, worker);
    uint32_t pixels[LANES_TILE] = {0};
    size_t n = 0, end = ronchi_min_size((item + 1) * LANES_TILE, base->n_pixels);
    for (size_t pixel = item * LANES_TILE; pixel < end; pixel++) {
        clear_pixel(base, job->r, pixel);
        if (base->valid[pixel])
            pixels[n++] = (uint32_t)pixel;
    }
    for (size_t k = 0; n && k < job->store->n_chunks; k++) {
        const lanes_chunk *chunk = &job->store->chunks[k];
        size_t stop = run_stop(job, chunk);
        if (!stop)
            continue;
        ronchi_status status = ronchi_lanes_decode_pixels(job->store, k, pixels, n, stop, values, err);
        if (status != RONCHI_OK)
            return status;
        for (size_t i = 0; i < n; i++)
            add_pixel(job, chunk, pixels[i], values + 2 * i * RONCHI_STREAM_PITCH);
    }
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- set-up */

static ronchi_status check(const reduce_job *job, ronchi_error *err)
{
    const ronchi_reduction *r = job->r;
    const ronchi_store *base = &job->store->base;
    bool floats = r->plane_sums_f64 || r->pixel_sums_f64 || r->pixel_max_f32;
    bool counts = r->plane_sums || r->pixel_sums || r->pixel_max;
    if (!ronchi_region_inside(&job->region, &base->shape))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "the rectangle is not inside the scan");
    if (base->dtype == RONCHI_F32 ? counts : floats)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "%s data has no %s sums",
                           ronchi_dtype_name(base->dtype), base->dtype == RONCHI_F32 ? "exact" : "float");
    return RONCHI_OK;
}

static void list_pixels(reduce_job *job)
{
    const ronchi_store *base = &job->store->base;
    for (size_t pixel = 0; pixel < base->n_pixels; pixel++) {
        bool wanted = false;
        for (size_t p = 0; base->valid[pixel] && p < job->r->n_planes; p++)
            wanted = wanted || job->r->planes[p][pixel];
        if (wanted)
            job->wanted[job->n_wanted++] = (uint32_t)pixel;
    }
}

static ronchi_status run(reduce_job *job, ronchi_error *err)
{
    ronchi_context *context = job->store->base.context;
    const ronchi_reduction *r = job->r;
    size_t threads = ronchi_context_threads(context), n_pixels = job->store->base.n_pixels;
    job->wanted = ronchi_calloc(context, n_pixels, sizeof *job->wanted);
    job->scratch = ronchi_alloc(context, threads * 2 * LANES_TILE * RONCHI_STREAM_PITCH * sizeof *job->scratch);
    job->sums = ronchi_alloc(context, threads * r->n_planes * RONCHI_STREAM_SPAN * sizeof *job->sums);
    if (!job->wanted || !job->scratch || !job->sums)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to add up counts");
    list_pixels(job);
    ronchi_status status = RONCHI_OK;
    if (r->n_planes)
        status = ronchi_parallel_for(context, job->store->n_chunks, planes_item, job, err);
    if (status == RONCHI_OK && (r->pixel_sums || r->pixel_max || r->pixel_sums_f64 || r->pixel_max_f32))
        status = ronchi_parallel_for(context, ronchi_div_up(n_pixels, LANES_TILE), pixels_item, job, err);
    return status;
}

ronchi_status ronchi_lanes_reduce(const ronchi_store *base, const ronchi_reduction *reduction, ronchi_error *err)
{
    reduce_job job;
    memset(&job, 0, sizeof job);
    job.store = (const lanes_store *)base;
    job.r = reduction;
    job.region = ronchi_region_all(&base->shape);
    job.region.scan_row = reduction->scan_row;
    job.region.scan_rows = reduction->scan_rows;
    job.region.scan_col = reduction->scan_col;
    job.region.scan_cols = reduction->scan_cols;
    ronchi_status status = check(&job, err);
    if (status == RONCHI_OK)
        status = run(&job, err);
    ronchi_free(base->context, job.wanted);
    ronchi_free(base->context, job.scratch);
    ronchi_free(base->context, job.sums);
    return status;
}
