/* SPDX-License-Identifier: MIT */
/*
 * column_read.c - counts out of column-rans-v2: streams of a list of pixels, and bands into any strided view.
 *
 * A band is cut into items of one span and up to TILE pixels.  The streams of an item are decoded beside each other
 * into scratch that fits the second cache and turned over into the view from there.
 */
#include <string.h>

#include "codec/column.h"
#include "codec/span_runs.h"

enum { TILE = 512 };

ronchi_status ronchi_column_fail_stream(const column_store *store, const column_span *span, size_t pixel,
                                        const char *what, ronchi_error *err)
{
    const column_chunk *chunk = &store->chunks[span->chunk];
    size_t index = span->local * store->base.n_pixels + pixel;
    ronchi_stream stream = column_stream(chunk, index);
    uint16_t counts[RONCHI_STREAM_SPAN];
    if (!what)
        what = ronchi_stream_fault_text(ronchi_stream_decode(store->tables, &stream, span->n, span->n, counts));
    uint64_t byte = chunk->arrays[COLUMN_PAYLOAD].body_offset + column_offsets(chunk)[index];
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, byte,
                       "chunk %zu block %u stream %zu (selector %u) at body byte %llu: %s; the file is damaged",
                       span->chunk, (unsigned)span->local, pixel, (unsigned)stream.selector, (unsigned long long)byte,
                       what);
}

ronchi_status ronchi_column_decode_pixels(const column_store *store, const column_span *span, const uint32_t *pixels,
                                          size_t n_pixels, size_t stop, uint16_t *out, ronchi_error *err)
{
    const ronchi_kernels *kernels = ronchi_context_kernels(store->base.context);
    const column_chunk *chunk = &store->chunks[span->chunk];
    ronchi_stream streams[TILE];
    for (size_t first = 0; first < n_pixels; first += TILE) {
        size_t n = ronchi_min_size(TILE, n_pixels - first);
        uint16_t *counts = out + first * RONCHI_STREAM_PITCH;
        for (size_t i = 0; i < n; i++)
            streams[i] = column_stream(chunk, span->local * store->base.n_pixels + pixels[first + i]);
        size_t bad = kernels->streams_decode(store->tables, streams, n, span->n, stop, counts);
        if (bad < n)
            return ronchi_column_fail_stream(store, span, pixels[first + bad], NULL, err);
        for (size_t i = 0; store->base.dtype == RONCHI_U8 && i < n; i++) {
            uint64_t sum;
            uint32_t max;
            kernels->total(counts + i * RONCHI_STREAM_PITCH, NULL, stop, &sum, &max);
            if (max > UINT8_MAX)
                return ronchi_column_fail_stream(store, span, pixels[first + i], "a count is above 255 in uint8 data",
                                                 err);
        }
    }
    return RONCHI_OK;
}

/* ----------------------------------------------------------------------------------------------------------- bands */

typedef struct band_job {
    const column_store *store;
    const ronchi_kernels *kernels;
    const ronchi_region *region;
    const ronchi_view *out;
    size_t n_tiles; /* per span */
    size_t *spans;  /* numbers of the spans that hold wanted positions */
    size_t n_spans;
    uint16_t *scratch; /* [threads][TILE][pitch] */
} band_job;

static bool next_run(const band_job *job, const column_span *span, size_t t, ronchi_run *out)
{
    return ronchi_run_next(job->region, job->store->base.shape.scan_cols, span->first, span->n, t, out);
}

static ronchi_status too_large(const band_job *job, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET,
                       "a count above 255 does not fit %s: read as uint16", ronchi_dtype_name(job->out->dtype));
}

/* Writes one count where there is no faster way. */
static void put(char *to, ronchi_dtype dtype, uint16_t count)
{
    uint32_t count32 = count;
    uint64_t count64 = count;
    uint8_t count8 = (uint8_t)count;
    switch (dtype) {
    case RONCHI_U8:
        memcpy(to, &count8, 1);
        break;
    case RONCHI_U16:
        memcpy(to, &count, 2);
        break;
    case RONCHI_U32:
        memcpy(to, &count32, 4);
        break;
    default:
        memcpy(to, &count64, 8);
        break;
    }
}

/* Writes the run for pixels q..q_end-1 of the band, which lie in one detector row of it. */
static void write_run(const band_job *job, const ronchi_run *r, size_t q, size_t q_end, const uint16_t *counts)
{
    const ronchi_view *out = job->out;
    size_t cols = job->region->det_cols, n = q_end - q, rows = r->t_end - r->t;
    char *to = ronchi_view_at(out, r->row, r->col, q / cols, q % cols);
    counts += r->t;
    if (out->dtype == RONCHI_U16 && out->stride[3] == 2) {
        job->kernels->transpose16(counts, RONCHI_STREAM_PITCH * 2, n, rows, to, out->stride[1]);
    } else if (out->dtype == RONCHI_U8 && out->stride[3] == 1) {
        job->kernels->narrow16(counts, RONCHI_STREAM_PITCH * 2, n, rows, to, out->stride[1]);
    } else {
        for (size_t t = 0; t < rows; t++)
            for (size_t i = 0; i < n; i++)
                put(to + (ptrdiff_t)t * out->stride[1] + (ptrdiff_t)i * out->stride[3], out->dtype,
                    counts[i * RONCHI_STREAM_PITCH + t]);
    }
}

/* Pixels of the band that can be written with one stride: the rest of the detector row, or all when rows join. */
static size_t same_stride_end(const band_job *job, size_t q, size_t q_end)
{
    size_t cols = job->region->det_cols;
    if (job->out->stride[2] == (ptrdiff_t)cols * job->out->stride[3])
        return q_end;
    return ronchi_min_size(q_end, (q / cols + 1) * cols);
}

static ronchi_status check_range(const band_job *job, const ronchi_run *r, size_t n, const uint16_t *counts,
                                 ronchi_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t sum;
        uint32_t max;
        job->kernels->total(counts + i * RONCHI_STREAM_PITCH + r->t, NULL, r->t_end - r->t, &sum, &max);
        if (max > UINT8_MAX)
            return too_large(job, err);
    }
    return RONCHI_OK;
}

static ronchi_status band_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const band_job *job = user;
    const ronchi_store *base = &job->store->base;
    const ronchi_region *region = job->region;
    const column_span *span = &job->store->spans[job->spans[item / job->n_tiles]];
    uint16_t *counts = job->scratch + worker * TILE * RONCHI_STREAM_PITCH;
    uint32_t pixels[TILE];
    size_t first = item % job->n_tiles * TILE, n = ronchi_min_size(TILE, region->det_rows * region->det_cols - first);
    for (size_t i = 0; i < n; i++) {
        size_t row = region->det_row + (first + i) / region->det_cols,
               col = region->det_col + (first + i) % region->det_cols;
        pixels[i] = (uint32_t)(row * base->shape.det_cols + col);
    }
    size_t stop = ronchi_run_stop(region, base->shape.scan_cols, span->first, span->n);
    ronchi_status status = ronchi_column_decode_pixels(job->store, span, pixels, n, stop, counts, err);
    if (status != RONCHI_OK)
        return status;
    ronchi_run r;
    for (size_t t = 0; next_run(job, span, t, &r); t = r.t_end) {
        if (job->out->dtype == RONCHI_U8 && base->dtype == RONCHI_U16 &&
            (status = check_range(job, &r, n, counts, err)) != RONCHI_OK)
            return status;
        for (size_t i = 0, end; i < n; i = end) {
            end = same_stride_end(job, first + i, first + n) - first;
            write_run(job, &r, first + i, first + end, counts + i * RONCHI_STREAM_PITCH);
        }
    }
    return RONCHI_OK;
}

ronchi_status ronchi_column_decode_band(const ronchi_store *base, const ronchi_region *region, const ronchi_view *out,
                                        ronchi_error *err)
{
    const column_store *store = (const column_store *)base;
    ronchi_context *context = base->context;
    ronchi_status status = ronchi_store_check_band(base, region, out, err);
    if (status != RONCHI_OK)
        return status;
    size_t n_tiles = ronchi_div_up(region->det_rows * region->det_cols, TILE);
    band_job job = {store, ronchi_context_kernels(context), region, out, n_tiles, NULL, 0, NULL};
    job.spans = ronchi_calloc(context, store->n_spans, sizeof *job.spans);
    job.scratch =
        ronchi_alloc(context, ronchi_context_threads(context) * TILE * RONCHI_STREAM_PITCH * sizeof *job.scratch);
    if (!job.spans || !job.scratch)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to decode");
    for (size_t i = 0; job.spans && i < store->n_spans; i++)
        if (ronchi_run_stop(region, base->shape.scan_cols, store->spans[i].first, store->spans[i].n))
            job.spans[job.n_spans++] = i;
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(context, job.n_spans * job.n_tiles, band_item, &job, err);
    ronchi_free(context, job.spans);
    ronchi_free(context, job.scratch);
    return status;
}
