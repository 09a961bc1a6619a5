/* SPDX-License-Identifier: MIT */
/* gather.c - choosing the way, blocks read straight from the input, and what lies around the counts. */
#include "geometry/gather.h"

#include <stdlib.h>
#include <string.h>

#include "geometry/result.h"

ronchi_status ronchi_gather_init(ronchi_gather *gather, const ronchi_acquisition *from, size_t scan_rows,
                                 size_t scan_cols, const char *stage, ronchi_error *err)
{
    memset(gather, 0, sizeof *gather);
    size_t n;
    gather->from = from;
    gather->shape = from->store->shape;
    gather->shape.scan_rows = scan_rows;
    gather->shape.scan_cols = scan_cols;
    gather->stage = stage;
    if (ronchi_mul(scan_rows, scan_cols, &n))
        gather->positions = ronchi_calloc(from->context, n, sizeof *gather->positions);
    if (!gather->positions)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, from->info.source_name, RONCHI_NO_OFFSET,
                           "no memory for a scan of %zu x %zu positions", scan_rows, scan_cols);
    return RONCHI_OK;
}

void ronchi_gather_release(ronchi_gather *gather)
{
    ronchi_free(gather->from->context, gather->positions);
    gather->positions = NULL;
}

/* ------------------------------------------------------------------------------------------------------- pixels */

size_t ronchi_gather_pixel(const ronchi_gather *g, size_t row, size_t col)
{
    size_t rows = g->transpose_det ? g->shape.det_cols : g->shape.det_rows;
    size_t cols = g->transpose_det ? g->shape.det_rows : g->shape.det_cols;
    size_t u = g->transpose_det ? col : row, v = g->transpose_det ? row : col;
    u = g->flip_det_rows ? rows - 1 - u : u;
    v = g->flip_det_cols ? cols - 1 - v : v;
    return (g->det_row + u) * g->from->store->shape.det_cols + g->det_col + v;
}

/* One axis of the input: its first index and number of pixels behind a tile, and the signed step in memory. */
static ptrdiff_t source_axis(size_t side, size_t first, size_t n, bool flip, ptrdiff_t step, size_t *begin, char **data)
{
    *begin = flip ? side - first - n : first;
    if (!flip)
        return step;
    *data += (ptrdiff_t)(n - 1) * step;
    return -step;
}

void ronchi_gather_source(const ronchi_gather *g, const ronchi_tile *tile, void *data, ronchi_region *region,
                          ronchi_view *out)
{
    ptrdiff_t size = (ptrdiff_t)ronchi_dtype_size(g->from->store->dtype), pitch = (ptrdiff_t)tile->cols * size;
    const ronchi_shape *s = &g->shape;
    char *at = data;
    bool t = g->transpose_det;
    region->det_rows = t ? tile->cols : tile->rows;
    region->det_cols = t ? tile->rows : tile->cols;
    out->stride[2] = source_axis(t ? s->det_cols : s->det_rows, t ? tile->col : tile->row, region->det_rows,
                                 g->flip_det_rows, t ? size : pitch, &region->det_row, &at);
    out->stride[3] = source_axis(t ? s->det_rows : s->det_cols, t ? tile->row : tile->col, region->det_cols,
                                 g->flip_det_cols, t ? pitch : size, &region->det_col, &at);
    region->det_row += g->det_row;
    region->det_col += g->det_col;
    out->shape[2] = region->det_rows;
    out->shape[3] = region->det_cols;
    out->data = at;
    out->dtype = g->from->store->dtype;
    out->place = RONCHI_HOST;
    out->device = 0;
}

void ronchi_gather_fill(const ronchi_gather *g, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (g->from->store->dtype) {
        case RONCHI_U8:
            ((uint8_t *)to)[i] = (uint8_t)g->fill;
            break;
        case RONCHI_U16:
            ((uint16_t *)to)[i] = (uint16_t)g->fill;
            break;
        case RONCHI_U32:
            ((uint32_t *)to)[i] = (uint32_t)g->fill;
            break;
        default:
            ((float *)to)[i] = (float)g->fill;
        }
}

/* ------------------------------------------------------------------------------------ straight from the input */

/* A rectangle of the result whose positions are a rectangle of the input, each axis perhaps mirrored. */
typedef struct mirror {
    size_t row, col;
    bool flip_rows, flip_cols;
} mirror;

static bool is_mirror(const ronchi_gather *g, const ronchi_region *part, mirror *out)
{
    size_t cols = g->from->store->shape.scan_cols, stride = g->shape.scan_cols;
    const size_t *p = g->positions + part->scan_row * stride + part->scan_col;
    size_t last = (part->scan_rows - 1) * stride + part->scan_cols - 1;
    if (p[0] == RONCHI_GATHER_FILL || p[last] == RONCHI_GATHER_FILL)
        return false;
    size_t r0 = p[0] / cols, c0 = p[0] % cols, r1 = p[last] / cols, c1 = p[last] % cols;
    out->flip_rows = r1 < r0;
    out->flip_cols = c1 < c0;
    for (size_t i = 0; i < part->scan_rows; i++)
        for (size_t j = 0; j < part->scan_cols; j++) {
            size_t r = out->flip_rows ? r0 - i : r0 + i, c = out->flip_cols ? c0 - j : c0 + j;
            if (c >= cols || p[i * stride + j] != r * cols + c) /* below 0 wraps to beyond the last column */
                return false;
        }
    out->row = out->flip_rows ? r1 : r0;
    out->col = out->flip_cols ? c1 : c0;
    return true;
}

/* True when every rectangle of every block is one. */
static bool all_mirrors(const ronchi_gather *g, const ronchi_store *store)
{
    ronchi_region part;
    mirror m;
    for (size_t i = 0; i < store->profile->n_blocks(store); i++) {
        ronchi_block block = store->profile->block(store, i);
        for (size_t done = 0; ronchi_block_next(&store->shape, &block, &done, &part);)
            if (!is_mirror(g, &part, &m))
                return false;
    }
    return true;
}

static ronchi_status read_mirror(const ronchi_gather *g, const ronchi_region *part, const mirror *m, void *frames,
                                 ronchi_error *err)
{
    const ronchi_store *from = g->from->store;
    size_t frame = g->shape.det_rows * g->shape.det_cols * ronchi_dtype_size(from->dtype);
    const ronchi_tile whole = {0, g->shape.det_rows, 0, g->shape.det_cols};
    ptrdiff_t along_cols = (ptrdiff_t)frame, along_rows = (ptrdiff_t)(frame * part->scan_cols);
    char *at = frames;
    ronchi_region region;
    ronchi_view view;
    if (m->flip_rows)
        at += (ptrdiff_t)(part->scan_rows - 1) * along_rows;
    if (m->flip_cols)
        at += (ptrdiff_t)(part->scan_cols - 1) * along_cols;
    ronchi_gather_source(g, &whole, at, &region, &view);
    region.scan_row = m->row;
    region.scan_col = m->col;
    view.shape[0] = region.scan_rows = part->scan_rows;
    view.shape[1] = region.scan_cols = part->scan_cols;
    view.stride[0] = m->flip_rows ? -along_rows : along_rows;
    view.stride[1] = m->flip_cols ? -along_cols : along_cols;
    return from->profile->decode_band(from, &region, &view, err);
}

/* -------------------------------------------------------------------------------------------- frame by frame */

typedef struct frames_job {
    const ronchi_gather *gather;
    const ronchi_block *block;
    char *frames;
    size_t frame_bytes;
} frames_job;

static ronchi_status read_frame(void *user, size_t j, size_t worker, ronchi_error *err)
{
    const frames_job *job = user;
    const ronchi_gather *g = job->gather;
    const ronchi_store *from = g->from->store;
    size_t p = g->positions[ronchi_block_position(job->block, &g->shape, j)], cols = from->shape.scan_cols;
    ronchi_region one = {0, 1, 0, 1, 0, 1, 0, 1};
    const mirror m = {p / cols, p % cols, false, false};
    (void)worker;
    if (p != RONCHI_GATHER_FILL)
        return read_mirror(g, &one, &m, job->frames + j * job->frame_bytes, err);
    ronchi_gather_fill(g, job->frames + j * job->frame_bytes, g->shape.det_rows * g->shape.det_cols);
    return RONCHI_OK;
}

static ronchi_status read_block(const ronchi_gather *g, const ronchi_store *store, const ronchi_block *block,
                                bool mirrors, char *frames, ronchi_error *err)
{
    size_t frame = store->n_pixels * ronchi_dtype_size(store->dtype);
    frames_job job = {g, block, frames, frame};
    if (!mirrors)
        return ronchi_parallel_for(store->context, ronchi_block_positions(block), read_frame, &job, err);
    ronchi_region part;
    mirror m;
    for (size_t done = 0, start = 0; ronchi_block_next(&store->shape, block, &done, &part); start = done) {
        if (!is_mirror(g, &part, &m))
            return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "a block changed its positions");
        ronchi_status status = read_mirror(g, &part, &m, frames + start * frame, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

static ronchi_status fill_straight(const ronchi_gather *g, ronchi_store *store, bool mirrors, ronchi_error *err)
{
    size_t frame = store->n_pixels * ronchi_dtype_size(store->dtype);
    ronchi_progress progress = {g->stage, 0, store->n_positions, "frames", frame};
    char *frames = ronchi_decoded_take(store->context, ronchi_store_largest_block(store), frame);
    ronchi_status status = RONCHI_OK;
    if (!frames)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu decoded frames",
                           ronchi_store_largest_block(store));
    for (size_t i = 0; status == RONCHI_OK && i < store->profile->n_blocks(store); i++) {
        ronchi_block block = store->profile->block(store, i);
        status = read_block(g, store, &block, mirrors, frames, err);
        if (status == RONCHI_OK)
            status = store->profile->encode_block(store, i, frames, err);
        progress.done += ronchi_block_positions(&block);
        if (status == RONCHI_OK)
            status = ronchi_report(store->context, &progress, err);
    }
    ronchi_decoded_give(store->context, frames);
    return status == RONCHI_OK ? store->profile->finish(store, err) : status;
}

/* ------------------------------------------------------------------------------------------ around the counts */

/* valid [n_pixels] of the result; NULL in *out when nothing is flagged. */
static ronchi_status make_valid(const ronchi_gather *g, uint8_t **out, ronchi_error *err)
{
    size_t n = g->shape.det_rows * g->shape.det_cols, n_valid = 0;
    uint8_t *valid = ronchi_alloc(g->from->context, n);
    *out = NULL;
    if (!valid)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the pixel mask");
    for (size_t p = 0; p < n; p++) {
        valid[p] = g->from->store->valid[ronchi_gather_pixel(g, p / g->shape.det_cols, p % g->shape.det_cols)];
        n_valid += valid[p];
    }
    if (n_valid < n)
        *out = valid;
    else
        ronchi_free(g->from->context, valid);
    return RONCHI_OK;
}

static uint32_t raw_value(const ronchi_gather *g, const ronchi_raw_pixel *raw, size_t i)
{
    return g->positions[i] == RONCHI_GATHER_FILL ? (uint32_t)g->fill : ronchi_raw_at(raw, g->positions[i]);
}

static ronchi_status make_runs(const ronchi_gather *g, const ronchi_raw_pixel *raw, ronchi_raw_pixel *out)
{
    size_t n_positions = g->shape.scan_rows * g->shape.scan_cols, n = 1, k = 0;
    for (size_t i = 1; i < n_positions; i++)
        n += raw_value(g, raw, i) != raw_value(g, raw, i - 1);
    out->runs = malloc(n * sizeof *out->runs);
    out->n_runs = n;
    if (!out->runs)
        return RONCHI_ERR_MEMORY;
    for (size_t i = 1; i <= n_positions; i++)
        if (i == n_positions || raw_value(g, raw, i) != raw_value(g, raw, i - 1)) {
            out->runs[k].until = i;
            out->runs[k++].value = raw_value(g, raw, i - 1);
        }
    return RONCHI_OK;
}

/* The raw table, ascending in pixels of the result. */
static ronchi_status carry_raw(const ronchi_gather *g, ronchi_acquisition *result, ronchi_error *err)
{
    const ronchi_acquisition *from = g->from;
    size_t n_pixels = g->shape.det_rows * g->shape.det_cols;
    if (!from->n_raw)
        return RONCHI_OK;
    result->raw = calloc(from->n_raw, sizeof *result->raw);
    ronchi_status status = result->raw ? RONCHI_OK : RONCHI_ERR_MEMORY;
    for (size_t p = 0; status == RONCHI_OK && p < n_pixels; p++) {
        size_t source = ronchi_gather_pixel(g, p / g->shape.det_cols, p % g->shape.det_cols);
        if (from->store->valid[source])
            continue;
        for (size_t k = 0; status == RONCHI_OK && k < from->n_raw; k++)
            if (from->raw[k].pixel == source) {
                result->raw[result->n_raw].pixel = p;
                status = make_runs(g, &from->raw[k], &result->raw[result->n_raw]);
                result->n_raw += status == RONCHI_OK;
            }
    }
    return status == RONCHI_OK
               ? status
               : ronchi_fail(err, status, NULL, RONCHI_NO_OFFSET, "no memory for the raw values of flagged pixels");
}

/* A position is valid when it comes from one that is. */
static ronchi_status carry_scan_valid(const ronchi_gather *g, ronchi_acquisition *result, ronchi_error *err)
{
    const ronchi_store *from = g->from->store, *to = result->store;
    uint8_t *before = ronchi_alloc(from->context, from->n_positions),
            *after = ronchi_alloc(to->context, to->n_positions);
    ronchi_status status = before && after
                               ? ronchi_scan_valid_take(g->from, before, err)
                               : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                                             "no memory for the validity of %zu positions", to->n_positions);
    for (size_t i = 0; status == RONCHI_OK && i < to->n_positions; i++)
        after[i] = g->positions[i] != RONCHI_GATHER_FILL && before[g->positions[i]];
    if (status == RONCHI_OK)
        status = ronchi_scan_valid_put(result, after, err);
    ronchi_free(from->context, before);
    ronchi_free(from->context, after);
    return status;
}

static size_t place_of(const void *user, size_t row, size_t col)
{
    const ronchi_gather *g = user;
    size_t u = row - g->det_row, v = col - g->det_col; /* before the rectangle: wraps to beyond it */
    size_t rows = g->transpose_det ? g->shape.det_cols : g->shape.det_rows;
    size_t cols = g->transpose_det ? g->shape.det_rows : g->shape.det_cols;
    if (u >= rows || v >= cols)
        return SIZE_MAX;
    u = g->flip_det_rows ? rows - 1 - u : u;
    v = g->flip_det_cols ? cols - 1 - v : v;
    return g->transpose_det ? v * g->shape.det_cols + u : u * g->shape.det_cols + v;
}

static ronchi_status fill_store(const ronchi_gather *g, ronchi_store *store, ronchi_error *err)
{
    bool mirrors = all_mirrors(g, store);
    if (mirrors || g->from->store->profile->id == RONCHI_PROFILE_DENSE)
        return fill_straight(g, store, mirrors, err);
    return ronchi_gather_tiles(g, store, err);
}

ronchi_status ronchi_gather_run(const ronchi_gather *g, ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_store *store = NULL;
    ronchi_acquisition *result = NULL;
    uint8_t *valid;
    *out = NULL;
    ronchi_status status = make_valid(g, &valid, err);
    if (status == RONCHI_OK)
        status = ronchi_result_store(g->from, &g->shape, g->from->store->dtype, valid, &store, err);
    ronchi_free(g->from->context, valid);
    if (status != RONCHI_OK)
        return status;
    status = fill_store(g, store, err);
    if (status != RONCHI_OK) {
        store->profile->destroy(store);
        return status;
    }
    status = ronchi_result_new(g->from, store, &result, err);
    if (status == RONCHI_OK)
        status = carry_raw(g, result, err);
    if (status == RONCHI_OK)
        status = carry_scan_valid(g, result, err);
    if (status == RONCHI_OK)
        status = ronchi_result_flagged(result, g->from->store->shape.det_cols, place_of, g, err);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(result);
        return status;
    }
    *out = result;
    return RONCHI_OK;
}
