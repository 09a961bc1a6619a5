/* SPDX-License-Identifier: MIT */
/*
 * column_reduce.c - sums over column-rans-v2 without frames.
 *
 * Items are one span and a run of pixels.  An item decodes TILE streams at a time into scratch and adds them up there:
 * positions lie along the vectors, so that a plane's sums and a pixel's sum need no shuffling.  Items share outputs; as
 * all sums are integers they are added atomically in any order.
 */
#include <string.h>

#include "codec/column.h"
#include "codec/span_runs.h"

enum { TILE = 512, SEGMENT = 4096 };

typedef struct reduce_job {
    const column_store *store;
    const ronchi_kernels *kernels;
    const ronchi_reduction *r;
    ronchi_region region; /* its rectangle */
    size_t n_wanted;      /* pixels that any output needs */
    uint32_t *wanted;     /* their numbers */
    size_t n_segments;    /* of wanted pixels, per span */
    size_t *run_pixels;   /* [n_planes] pixels whose sums are sure to fit 32 bits */
    size_t *spans;        /* numbers of the spans that touch the rectangle */
    size_t n_spans;
    uint16_t *scratch; /* [threads][TILE][pitch] */
    uint64_t *sums;    /* [threads][n_planes][512] */
    uint32_t *sums32;  /* [threads][512] */
} reduce_job;

static void add_shared(uint64_t *to, uint64_t value)
{
    __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

static void raise_shared(uint32_t *to, uint32_t value)
{
    uint32_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(to, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Positions of a span whose counts enter pixel sums, as masks; the end of the wanted ones. */
typedef struct keep {
    uint16_t mask[RONCHI_STREAM_SPAN];
    size_t stop;
    bool all; /* mask is all ones up to stop */
} keep;

static void make_keep(const reduce_job *job, const column_span *span, keep *k)
{
    const uint8_t *select = job->r->select;
    size_t cols = job->store->base.shape.scan_cols;
    ronchi_run run;
    memset(k->mask, 0, sizeof k->mask);
    k->stop = 0;
    k->all = true;
    for (size_t t = 0; ronchi_run_next(&job->region, cols, span->first, span->n, t, &run); t = run.t_end) {
        k->all = k->all && run.t == k->stop; /* nothing left out before */
        for (size_t i = run.t; i < run.t_end; i++) {
            bool take = !select || select[run.row * job->r->scan_cols + run.col + i - run.t];
            k->mask[i] = take ? UINT16_MAX : 0;
            k->all = k->all && take;
        }
        k->stop = run.t_end;
    }
}

/* Shorter runs than this are added in 64 bits at once. */
enum { SHORT_RUN = 8 };

/* Adds the counts of a run of pixels to one plane. */
static void add_run(const reduce_job *job, size_t plane, const uint32_t *pixels, size_t n, const uint16_t *counts,
                    size_t stop, uint64_t *sums, uint32_t *sums32)
{
    const uint32_t *weights = job->r->planes[plane];
    bool wide = job->run_pixels[plane] < SHORT_RUN;
    memset(sums32, 0, stop * sizeof *sums32);
    for (size_t i = 0; i < n; i++, counts += RONCHI_STREAM_PITCH) {
        uint32_t weight = weights[pixels[i]];
        if (weight && !wide)
            job->kernels->weigh(counts, stop, weight, sums32);
        for (size_t t = 0; weight && wide && t < stop; t++)
            sums[t] += (uint64_t)weight * counts[t];
    }
    for (size_t t = 0; !wide && t < stop; t++)
        sums[t] += sums32[t];
}

static void add_planes(const reduce_job *job, const uint32_t *pixels, size_t n, const uint16_t *counts, size_t stop,
                       uint64_t *sums, uint32_t *sums32)
{
    for (size_t k = 0; k < job->r->n_planes; k++)
        for (size_t i = 0, run; i < n; i += run) {
            run = job->run_pixels[k] < SHORT_RUN ? n - i : ronchi_min_size(n - i, job->run_pixels[k]);
            add_run(job, k, pixels + i, run, counts + i * RONCHI_STREAM_PITCH, stop, sums + k * RONCHI_STREAM_SPAN,
                    sums32);
        }
}

static void add_pixel(const reduce_job *job, size_t pixel, const uint16_t *counts, const keep *k)
{
    uint64_t sum;
    uint32_t max;
    job->kernels->total(counts, k->all ? NULL : k->mask, k->stop, &sum, &max);
    if (job->r->pixel_sums && sum)
        add_shared(&job->r->pixel_sums[pixel], sum);
    if (job->r->pixel_max && max)
        raise_shared(&job->r->pixel_max[pixel], max);
}

/* Adds the sums of one item to the outputs. */
static void share_planes(const reduce_job *job, const column_span *span, const uint64_t *sums)
{
    const ronchi_reduction *r = job->r;
    size_t cols = job->store->base.shape.scan_cols;
    ronchi_run run;
    for (size_t t = 0; ronchi_run_next(&job->region, cols, span->first, span->n, t, &run); t = run.t_end)
        for (size_t p = 0; p < r->n_planes; p++) {
            uint64_t *to = r->plane_sums + (p * r->scan_rows + run.row) * r->scan_cols + run.col;
            for (size_t i = run.t; i < run.t_end; i++)
                add_shared(&to[i - run.t], sums[p * RONCHI_STREAM_SPAN + i]);
        }
}

/* Lists the next TILE pixels of an item that have a count above 0 in the span; returns where to go on. */
static size_t next_pixels(const reduce_job *job, const column_span *span, size_t first, size_t end, uint32_t *pixels,
                          size_t *n)
{
    const column_chunk *chunk = &job->store->chunks[span->chunk];
    const uint8_t *selectors = column_selectors(chunk) + span->local * job->store->base.n_pixels;
    for (*n = 0; first < end && *n < TILE; first++)
        if (selectors[job->wanted[first]] != RONCHI_STREAM_ZERO)
            pixels[(*n)++] = job->wanted[first];
    return first;
}

static ronchi_status reduce_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const reduce_job *job = user;
    const ronchi_reduction *r = job->r;
    const column_span *span = &job->store->spans[job->spans[item / job->n_segments]];
    uint16_t *counts = job->scratch + worker * TILE * RONCHI_STREAM_PITCH;
    uint64_t *sums = job->sums + worker * r->n_planes * RONCHI_STREAM_SPAN;
    size_t first = item % job->n_segments * SEGMENT, end = ronchi_min_size(first + SEGMENT, job->n_wanted), n;
    uint32_t pixels[TILE] = {0};
    keep k;
    make_keep(job, span, &k);
    memset(sums, 0, r->n_planes * RONCHI_STREAM_SPAN * sizeof *sums);
    while (first < end) {
        first = next_pixels(job, span, first, end, pixels, &n);
        ronchi_status status = ronchi_column_decode_pixels(job->store, span, pixels, n, k.stop, counts, err);
        if (status != RONCHI_OK)
            return status;
        add_planes(job, pixels, n, counts, k.stop, sums, job->sums32 + worker * RONCHI_STREAM_SPAN);
        for (size_t i = 0; (r->pixel_sums || r->pixel_max) && i < n; i++)
            add_pixel(job, pixels[i], counts + i * RONCHI_STREAM_PITCH, &k);
    }
    share_planes(job, span, sums);
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- set-up */

static bool is_wanted(const ronchi_store *base, const ronchi_reduction *r, size_t pixel)
{
    if (!base->valid[pixel])
        return false;
    if (r->pixel_sums || r->pixel_max)
        return true;
    for (size_t k = 0; k < r->n_planes; k++)
        if (r->planes[k][pixel])
            return true;
    return false;
}

static void list_pixels(reduce_job *job)
{
    const ronchi_store *base = &job->store->base;
    for (size_t pixel = 0; pixel < base->n_pixels; pixel++)
        if (is_wanted(base, job->r, pixel))
            job->wanted[job->n_wanted++] = (uint32_t)pixel;
    job->n_segments = ronchi_div_up(job->n_wanted, SEGMENT);
    for (size_t k = 0; k < job->r->n_planes; k++) {
        uint64_t most = 1; /* that one pixel can add */
        for (size_t i = 0; i < job->n_wanted; i++)
            most = job->r->planes[k][job->wanted[i]] > most ? job->r->planes[k][job->wanted[i]] : most;
        most *= job->store->largest ? job->store->largest : 1;
        job->run_pixels[k] = most < UINT32_MAX ? (size_t)(UINT32_MAX / most) : 1;
    }
}

static void list_spans(reduce_job *job)
{
    const column_store *store = job->store;
    for (size_t i = 0; i < store->n_spans; i++)
        if (ronchi_run_stop(&job->region, store->base.shape.scan_cols, store->spans[i].first, store->spans[i].n))
            job->spans[job->n_spans++] = i;
}

static ronchi_status check(const ronchi_store *base, const ronchi_reduction *r, const ronchi_region *region,
                           ronchi_error *err)
{
    if (!ronchi_region_inside(region, &base->shape))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "the rectangle is not inside the scan");
    if (r->plane_sums_f64 || r->pixel_sums_f64 || r->pixel_max_f32)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "counts are summed in integers, not floats");
    return RONCHI_OK;
}

static ronchi_status run(reduce_job *job, ronchi_error *err)
{
    const ronchi_store *base = &job->store->base;
    const ronchi_reduction *r = job->r;
    size_t threads = ronchi_context_threads(base->context), planes = threads * r->n_planes * RONCHI_STREAM_SPAN;
    job->wanted = ronchi_calloc(base->context, base->n_pixels, sizeof *job->wanted);
    job->run_pixels = ronchi_calloc(base->context, r->n_planes, sizeof *job->run_pixels);
    job->spans = ronchi_calloc(base->context, job->store->n_spans, sizeof *job->spans);
    job->scratch = ronchi_alloc(base->context, threads * TILE * RONCHI_STREAM_PITCH * sizeof *job->scratch);
    job->sums = ronchi_alloc(base->context, planes * sizeof *job->sums);
    job->sums32 = ronchi_alloc(base->context, threads * RONCHI_STREAM_SPAN * sizeof *job->sums32);
    if (!job->wanted || !job->run_pixels || !job->spans || !job->scratch || !job->sums || !job->sums32)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to add up counts");
    if (r->n_planes)
        memset(r->plane_sums, 0, r->n_planes * r->scan_rows * r->scan_cols * sizeof *r->plane_sums);
    if (r->pixel_sums)
        memset(r->pixel_sums, 0, base->n_pixels * sizeof *r->pixel_sums);
    if (r->pixel_max)
        memset(r->pixel_max, 0, base->n_pixels * sizeof *r->pixel_max);
    list_pixels(job);
    list_spans(job);
    return ronchi_parallel_for(base->context, job->n_spans * job->n_segments, reduce_item, job, err);
}

ronchi_status ronchi_column_reduce(const ronchi_store *base, const ronchi_reduction *reduction, ronchi_error *err)
{
    reduce_job job;
    memset(&job, 0, sizeof job);
    job.region = ronchi_region_all(&base->shape);
    job.region.scan_row = reduction->scan_row;
    job.region.scan_rows = reduction->scan_rows;
    job.region.scan_col = reduction->scan_col;
    job.region.scan_cols = reduction->scan_cols;
    ronchi_status status = check(base, reduction, &job.region, err);
    if (status != RONCHI_OK)
        return status;
    job.store = (const column_store *)base;
    job.kernels = ronchi_context_kernels(base->context);
    job.r = reduction;
    status = run(&job, err);
    ronchi_free(base->context, job.wanted);
    ronchi_free(base->context, job.run_pixels);
    ronchi_free(base->context, job.spans);
    ronchi_free(base->context, job.scratch);
    ronchi_free(base->context, job.sums);
    ronchi_free(base->context, job.sums32);
    return status;
}
