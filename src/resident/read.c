/* SPDX-License-Identifier: MIT */
/* read.c - bands out: any region, any strides, flagged pixels raw or masked, never a clipped value. */
#include <string.h>

#include "resident/acquisition.h"

bool ronchi_block_next(const ronchi_shape *shape, const ronchi_block *block, size_t *done, ronchi_region *region)
{
    size_t n = ronchi_block_positions(block), left = n - *done;
    if (!left)
        return false;
    uint64_t position = ronchi_block_position(block, shape, *done);
    *region = ronchi_region_all(shape);
    region->scan_row = (size_t)(position / shape->scan_cols);
    region->scan_col = (size_t)(position % shape->scan_cols);
    if (!block->flat) {
        region->scan_rows = block->rows;
        region->scan_cols = block->cols;
    } else if (region->scan_col == 0 && left >= shape->scan_cols) { /* whole scan rows of a flat run */
        region->scan_rows = left / shape->scan_cols;
    } else { /* the beginning or the end of one */
        region->scan_rows = 1;
        region->scan_cols = ronchi_min_size(left, shape->scan_cols - region->scan_col);
    }
    *done += region->scan_rows * region->scan_cols;
    return true;
}

ronchi_status ronchi_store_read_block(const ronchi_store *store, const ronchi_block *block, void *frames,
                                      ronchi_error *err)
{
    size_t frame_bytes = store->n_pixels * ronchi_dtype_size(store->dtype), done = 0;
    ronchi_region region;
    for (size_t start = 0; ronchi_block_next(&store->shape, block, &done, &region); start = done) {
        ronchi_shape shape = {region.scan_rows, region.scan_cols, region.det_rows, region.det_cols};
        ronchi_view view = ronchi_view_4d((uint8_t *)frames + start * frame_bytes, store->dtype, &shape);
        ronchi_status status = store->profile->decode_band(store, &region, &view, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

ronchi_status ronchi_acquisition_read_block(const ronchi_acquisition *acquisition, const ronchi_block *block,
                                            ronchi_flagged_read flagged, ronchi_dtype dtype, void *frames,
                                            ronchi_error *err)
{
    const ronchi_shape *all = &acquisition->store->shape;
    size_t frame_bytes = acquisition->store->n_pixels * ronchi_dtype_size(dtype), done = 0;
    ronchi_region region;
    for (size_t start = 0; ronchi_block_next(all, block, &done, &region); start = done) {
        ronchi_shape shape = {region.scan_rows, region.scan_cols, region.det_rows, region.det_cols};
        ronchi_view view = ronchi_view_4d((uint8_t *)frames + start * frame_bytes, dtype, &shape);
        ronchi_status status = ronchi_acquisition_read(acquisition, &region, flagged, &view, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------ flagged pixels */

uint32_t ronchi_raw_at(const ronchi_raw_pixel *raw, uint64_t position)
{
    size_t low = 0, high = raw->n_runs - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (raw->runs[middle].until > position)
            high = middle;
        else
            low = middle + 1;
    }
    return raw->runs[low].value;
}

static const ronchi_raw_pixel *raw_find(const ronchi_acquisition *acquisition, size_t pixel)
{
    size_t low = 0, high = acquisition->n_raw;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (acquisition->raw[middle].pixel < pixel)
            low = middle + 1;
        else
            high = middle;
    }
    return low < acquisition->n_raw && acquisition->raw[low].pixel == pixel ? &acquisition->raw[low] : NULL;
}

/* Stores one value in any dtype; false when the dtype cannot hold it exactly. */
static bool put_value(void *to, ronchi_dtype dtype, uint32_t v)
{
    float f = (float)v;
    switch (dtype) {
    case RONCHI_U8:
        *(uint8_t *)to = (uint8_t)v;
        return v <= UINT8_MAX;
    case RONCHI_U16:
        *(uint16_t *)to = (uint16_t)v;
        return v <= UINT16_MAX;
    case RONCHI_U32:
        *(uint32_t *)to = v;
        return true;
    case RONCHI_U64:
        *(uint64_t *)to = v;
        return true;
    case RONCHI_F32:
        *(float *)to = f;
        return (double)f == (double)v;
    case RONCHI_F64:
        *(double *)to = (double)v;
        return true;
    }
    return false;
}

static ronchi_status does_not_fit(const ronchi_acquisition *acquisition, size_t pixel, uint32_t v, ronchi_dtype dtype,
                                  ronchi_error *err)
{
    size_t cols = acquisition->store->shape.det_cols;
    return ronchi_fail(err, RONCHI_ERR_RANGE, acquisition->info.source_name, RONCHI_NO_OFFSET,
                       "detector pixel (%zu, %zu) holds %u, which %s cannot: read as %s%s", pixel / cols, pixel % cols,
                       v, ronchi_dtype_name(dtype), ronchi_dtype_name(acquisition->info.source_dtype),
                       acquisition->store->valid[pixel] ? "" : ", or masked");
}

typedef struct band {
    const ronchi_acquisition *acquisition;
    const ronchi_region *region;
    ronchi_flagged_read flagged;
    const ronchi_view *out;
} band;

/* Writes the flagged pixels of the band that the store's own value is not right for. */
static ronchi_status patch_flagged(const band *b, ronchi_error *err)
{
    const ronchi_acquisition *acquisition = b->acquisition;
    const ronchi_region *g = b->region;
    size_t det_cols = acquisition->store->shape.det_cols, scan_cols = acquisition->store->shape.scan_cols;
    for (size_t k = 0; k < acquisition->n_flagged; k++) {
        size_t pixel = acquisition->flagged[k], r = pixel / det_cols - g->det_row, c = pixel % det_cols - g->det_col;
        const ronchi_raw_pixel *raw = b->flagged == RONCHI_READ_MASKED ? NULL : raw_find(acquisition, pixel);
        if (r >= g->det_rows || c >= g->det_cols ||
            (b->flagged == RONCHI_READ_RAW && !raw)) /* also when below the first */
            continue;
        for (size_t i = 0; i < g->scan_rows; i++)
            for (size_t j = 0; j < g->scan_cols; j++) {
                uint32_t v = raw ? ronchi_raw_at(raw, (uint64_t)(g->scan_row + i) * scan_cols + g->scan_col + j) : 0;
                if (!put_value(ronchi_view_at(b->out, i, j, r, c), b->out->dtype, v))
                    return does_not_fit(acquisition, pixel, v, b->out->dtype, err);
            }
    }
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------- converting */

/* A band in the store's own dtype, a few scan positions at a time, then converted value by value. */
static ronchi_status convert_position(const band *b, const uint8_t *frame, size_t i, size_t j, ronchi_error *err)
{
    const ronchi_store *store = b->acquisition->store;
    const ronchi_region *g = b->region;
    for (size_t r = 0; r < g->det_rows; r++)
        for (size_t c = 0; c < g->det_cols; c++) {
            size_t k = r * g->det_cols + c, pixel = (g->det_row + r) * store->shape.det_cols + g->det_col + c;
            void *to = ronchi_view_at(b->out, i, j, r, c);
            if (store->dtype == RONCHI_F32) {
                *(double *)to = (double)((const float *)(const void *)frame)[k];
                continue;
            }
            uint32_t v = store->dtype == RONCHI_U8    ? frame[k]
                         : store->dtype == RONCHI_U16 ? ((const uint16_t *)(const void *)frame)[k]
                                                      : ((const uint32_t *)(const void *)frame)[k];
            if (!put_value(to, b->out->dtype, v) && (b->flagged == RONCHI_READ_RAW || store->valid[pixel]))
                return does_not_fit(b->acquisition, pixel, v, b->out->dtype, err);
        }
    return RONCHI_OK;
}

static ronchi_status read_converted(const band *b, ronchi_error *err)
{
    const ronchi_store *store = b->acquisition->store;
    const ronchi_region *g = b->region;
    size_t frame_bytes = g->det_rows * g->det_cols * ronchi_dtype_size(store->dtype);
    uint64_t fit = ronchi_context_budget(store->context) / 4 / frame_bytes;
    size_t step = (size_t)(fit < 1 ? 1 : fit > 512 ? 512 : fit);
    uint8_t *frames = ronchi_decoded_take(store->context, step, frame_bytes);
    if (!frames)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, b->acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "no memory for a band");
    ronchi_status status = RONCHI_OK;
    for (size_t i = 0; i < g->scan_rows && status == RONCHI_OK; i++)
        for (size_t j = 0; j < g->scan_cols && status == RONCHI_OK; j += step) {
            ronchi_region part = *g;
            part.scan_row += i;
            part.scan_rows = 1;
            part.scan_col += j;
            part.scan_cols = ronchi_min_size(step, g->scan_cols - j);
            ronchi_shape shape = {1, part.scan_cols, g->det_rows, g->det_cols};
            ronchi_view view = ronchi_view_4d(frames, store->dtype, &shape);
            status = store->profile->decode_band(store, &part, &view, err);
            for (size_t k = 0; k < part.scan_cols && status == RONCHI_OK; k++)
                status = convert_position(b, frames + k * frame_bytes, i, j + k, err);
        }
    ronchi_decoded_give(store->context, frames);
    return status;
}

static bool decodes_directly(ronchi_dtype held, ronchi_dtype out)
{
    if (held == RONCHI_F32)
        return out == RONCHI_F32;
    return out != RONCHI_F32 && out != RONCHI_F64 && ronchi_dtype_size(out) >= ronchi_dtype_size(held);
}

static bool converts(ronchi_dtype held, ronchi_dtype out)
{
    return held != RONCHI_F32 || out == RONCHI_F64;
}

ronchi_status ronchi_acquisition_read(const ronchi_acquisition *acquisition, const ronchi_region *region,
                                      ronchi_flagged_read flagged, const ronchi_view *out, ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_store *store = acquisition->store;
    ronchi_region all = ronchi_region_all(&store->shape);
    const ronchi_region *g = region ? region : &all;
    const char *name = acquisition->info.source_name;
    if (!ronchi_region_inside(g, &store->shape))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, name, RONCHI_NO_OFFSET,
                           "the region leaves the acquisition of %zu x %zu x %zu x %zu", store->shape.scan_rows,
                           store->shape.scan_cols, store->shape.det_rows, store->shape.det_cols);
    if (!ronchi_view_is(out, g->scan_rows, g->scan_cols, g->det_rows, g->det_cols) || !ronchi_dtype_size(out->dtype))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, name, RONCHI_NO_OFFSET,
                           "the array does not have the region's shape %zu x %zu x %zu x %zu", g->scan_rows,
                           g->scan_cols, g->det_rows, g->det_cols);
    if (flagged != RONCHI_READ_RAW && flagged != RONCHI_READ_MASKED)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, name, RONCHI_NO_OFFSET, "flagged pixels are read raw or masked");
    if (!decodes_directly(store->dtype, out->dtype) && !converts(store->dtype, out->dtype))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, name, RONCHI_NO_OFFSET,
                           "%s data cannot be read as %s: use %s or float64", ronchi_dtype_name(store->dtype),
                           ronchi_dtype_name(out->dtype), ronchi_dtype_name(store->dtype));
    band b = {acquisition, g, flagged, out};
    if (decodes_directly(store->dtype, out->dtype))
        status = store->profile->decode_band(store, g, out, err);
    else
        status = read_converted(&b, err);
    return status == RONCHI_OK ? patch_flagged(&b, err) : status;
}
