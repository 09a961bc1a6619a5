/* SPDX-License-Identifier: MIT */
/* lanes_read.c - values out of bit lanes: lists of pixels, and bands into any strided view. */
#include <string.h>

#include "codec/lanes.h"
#include "codec/span_runs.h"

ronchi_status ronchi_lanes_fail_stream(const lanes_store *store, size_t index, size_t stream, const char *what,
                                       ronchi_error *err)
{
    const lanes_chunk *chunk = &store->chunks[index];
    ronchi_stream s = lanes_stream(chunk, stream);
    uint16_t values[RONCHI_STREAM_SPAN];
    if (!what)
        what = ronchi_stream_fault_text(
            ronchi_stream_decode(store->tables, &s, chunk->n_positions, chunk->n_positions, values));
    uint64_t byte = chunk->body_offset + chunk->offsets[stream];
    return ronchi_fail(
        err, RONCHI_ERR_DATA, NULL, byte,
        "chunk %zu stream %zu (%s half of pixel %zu, selector %u) at body byte %llu: %s; the file is damaged", index,
        stream, stream % 2 ? "high" : "low", stream / 2, (unsigned)s.selector, (unsigned long long)byte, what);
}

ronchi_status ronchi_lanes_decode_pixels(const lanes_store *store, size_t index, const uint32_t *pixels,
                                         size_t n_pixels, size_t stop, uint16_t *out, ronchi_error *err)
{
    const lanes_chunk *chunk = &store->chunks[index];
    ronchi_stream streams[2 * LANES_TILE];
    for (size_t i = 0; i < 2 * n_pixels; i++)
        streams[i] = lanes_stream(chunk, 2 * (size_t)pixels[i / 2] + i % 2);
    size_t bad = ronchi_context_kernels(store->base.context)
                     ->streams_decode(store->tables, streams, 2 * n_pixels, chunk->n_positions, stop, out);
    if (bad < 2 * n_pixels)
        return ronchi_lanes_fail_stream(store, index, 2 * (size_t)pixels[bad / 2] + bad % 2, NULL, err);
    return RONCHI_OK;
}

typedef struct band_job {
    const lanes_store *store;
    const ronchi_kernels *kernels;
    const ronchi_region *region;
    const ronchi_view *out;
    size_t n_tiles; /* per chunk */
    size_t *chunks; /* numbers of those that hold wanted positions */
    size_t n_chunks;
    uint16_t *scratch; /* [threads][2 LANES_TILE][pitch] */
} band_job;

/* Writes one value; false when it does not fit. */
static bool put(char *to, ronchi_dtype dtype, uint32_t value)
{
    uint8_t value8 = (uint8_t)value;
    uint16_t value16 = (uint16_t)value;
    uint64_t value64 = value;
    switch (dtype) {
    case RONCHI_U8:
        memcpy(to, &value8, 1);
        return value <= UINT8_MAX;
    case RONCHI_U16:
        memcpy(to, &value16, 2);
        return value <= UINT16_MAX;
    case RONCHI_U64:
        memcpy(to, &value64, 8);
        return true;
    default: /* u32, and the bits of f32 */
        memcpy(to, &value, 4);
        return true;
    }
}

/* Writes the run for pixels q..q_end-1 of the band, which lie in one detector row of it. */
static ronchi_status write_run(const band_job *job, const ronchi_run *r, size_t q, size_t q_end, const uint16_t *values,
                               ronchi_error *err)
{
    const ronchi_view *out = job->out;
    size_t cols = job->region->det_cols, n = q_end - q, rows = r->t_end - r->t;
    char *to = ronchi_view_at(out, r->row, r->col, q / cols, q % cols);
    values += r->t;
    if (ronchi_dtype_size(out->dtype) == 4 && out->stride[3] == 4) {
        job->kernels->transpose16(values, RONCHI_STREAM_PITCH * 2, 2 * n, rows, to, out->stride[1]);
        return RONCHI_OK;
    }
    for (size_t t = 0; t < rows; t++)
        for (size_t i = 0; i < n; i++) {
            const uint16_t *low = values + 2 * i * RONCHI_STREAM_PITCH + t;
            uint32_t value = (uint32_t)low[RONCHI_STREAM_PITCH] << 16 | low[0];
            if (!put(to + (ptrdiff_t)t * out->stride[1] + (ptrdiff_t)i * out->stride[3], out->dtype, value))
                return ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET,
                                   "the count %lu does not fit %s: read as uint32", (unsigned long)value,
                                   ronchi_dtype_name(out->dtype));
        }
    return RONCHI_OK;
}

static ronchi_status band_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const band_job *job = user;
    const ronchi_region *region = job->region;
    const ronchi_shape *shape = &job->store->base.shape;
    size_t index = job->chunks[item / job->n_tiles];
    const lanes_chunk *chunk = &job->store->chunks[index];
    uint16_t *values = job->scratch + worker * 2 * LANES_TILE * RONCHI_STREAM_PITCH;
    uint32_t pixels[LANES_TILE] = {0};
    size_t cols = region->det_cols, first = item % job->n_tiles * LANES_TILE;
    size_t n = ronchi_min_size(LANES_TILE, region->det_rows * cols - first);
    for (size_t i = 0; i < n; i++)
        pixels[i] =
            (uint32_t)((region->det_row + (first + i) / cols) * shape->det_cols + region->det_col + (first + i) % cols);
    size_t stop = ronchi_run_stop(region, shape->scan_cols, chunk->first, chunk->n_positions);
    ronchi_status status = ronchi_lanes_decode_pixels(job->store, index, pixels, n, stop, values, err);
    if (status != RONCHI_OK)
        return status;
    ronchi_run r;
    for (size_t t = 0; ronchi_run_next(region, shape->scan_cols, chunk->first, chunk->n_positions, t, &r); t = r.t_end)
        for (size_t q = first, end; q < first + n; q = end) {
            end = ronchi_min_size(first + n, (q / cols + 1) * cols);
            status = write_run(job, &r, q, end, values + 2 * (q - first) * RONCHI_STREAM_PITCH, err);
            if (status != RONCHI_OK)
                return status;
        }
    return RONCHI_OK;
}

ronchi_status ronchi_lanes_decode_band(const ronchi_store *base, const ronchi_region *region, const ronchi_view *out,
                                       ronchi_error *err)
{
    const lanes_store *store = (const lanes_store *)base;
    ronchi_context *context = base->context;
    ronchi_status status = ronchi_store_check_band(base, region, out, err);
    if (status != RONCHI_OK)
        return status;
    size_t n_tiles = ronchi_div_up(region->det_rows * region->det_cols, LANES_TILE);
    band_job job = {store, ronchi_context_kernels(context), region, out, n_tiles, NULL, 0, NULL};
    job.chunks = ronchi_calloc(context, store->n_chunks, sizeof *job.chunks);
    job.scratch = ronchi_alloc(context, ronchi_context_threads(context) * 2 * LANES_TILE * RONCHI_STREAM_PITCH * 2);
    if (!job.chunks || !job.scratch)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to decode");
    for (size_t i = 0; status == RONCHI_OK && i < store->n_chunks; i++)
        if (ronchi_run_stop(region, base->shape.scan_cols, store->chunks[i].first, store->chunks[i].n_positions))
            job.chunks[job.n_chunks++] = i;
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(context, job.n_chunks * job.n_tiles, band_item, &job, err);
    ronchi_free(context, job.chunks);
    ronchi_free(context, job.scratch);
    return status;
}
