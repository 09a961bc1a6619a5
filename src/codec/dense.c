/* SPDX-License-Identifier: MIT */
/*
 * dense.c - the profile that does not encode: counts as they are, in memory, when somebody asked for the dense array.
 *
 * Also the plain reference for every other profile: its loops are the definition of decode_band and reduce.
 */
#include <math.h>
#include <string.h>

#include "codec/profile.h"

typedef struct dense_store {
    ronchi_store base;
    uint64_t block_positions;
    uint8_t *counts; /* [n_positions][n_pixels] of base.dtype */
} dense_store;

static size_t frame_bytes(const ronchi_store *store)
{
    return store->n_pixels * ronchi_dtype_size(store->dtype);
}

static void dense_destroy(ronchi_store *store)
{
    if (!store)
        return;
    ronchi_context *context = store->context;
    ronchi_free(context, ((dense_store *)store)->counts);
    ronchi_store_release(store);
    ronchi_free(context, store);
}

static ronchi_status dense_create(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                  const uint8_t *valid, uint64_t budget_bytes, ronchi_store **out, ronchi_error *err)
{
    dense_store *dense = ronchi_calloc(context, 1, sizeof *dense);
    *out = NULL;
    if (!dense)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a store");
    dense->base.context = context;
    ronchi_status status = ronchi_store_init(&dense->base, &ronchi_profile_dense, context, shape, dtype, valid, err);
    size_t total = 0;
    if (status == RONCHI_OK && ronchi_mul(dense->base.n_positions, frame_bytes(&dense->base), &total))
        dense->counts = ronchi_alloc(context, total);
    if (status == RONCHI_OK && !dense->counts)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                             "the dense array needs %zu bytes: there is no such memory; load it encoded", total);
    if (status != RONCHI_OK) {
        dense_destroy(&dense->base);
        return status;
    }
    uint64_t fit = budget_bytes / 2 / frame_bytes(&dense->base);
    dense->block_positions = fit < 1 ? 1 : fit > 4096 ? 4096 : fit;
    *out = &dense->base;
    return RONCHI_OK;
}

static size_t dense_n_blocks(const ronchi_store *store)
{
    return ronchi_div_up(store->n_positions, (size_t)((const dense_store *)store)->block_positions);
}

static ronchi_block dense_block(const ronchi_store *store, size_t index)
{
    uint64_t per = ((const dense_store *)store)->block_positions, first = per * index;
    uint64_t left = store->n_positions - first, count = left < per ? left : per;
    ronchi_block block = {1, first, 1, (size_t)count, first, count};
    return block;
}

static uint64_t load_count(const void *at, ronchi_dtype dtype)
{
    if (dtype == RONCHI_U8)
        return *(const uint8_t *)at;
    return dtype == RONCHI_U16 ? *(const uint16_t *)at : *(const uint32_t *)at;
}

static ronchi_status dense_encode_block(ronchi_store *store, size_t index, const void *frames, ronchi_error *err)
{
    (void)err;
    dense_store *dense = (dense_store *)store;
    ronchi_block block = dense_block(store, index);
    size_t bytes = frame_bytes(store), n = (size_t)block.cols;
    memcpy(dense->counts + (size_t)block.first * bytes, frames, n * bytes);
    if (store->dtype == RONCHI_F32)
        return RONCHI_OK;
    size_t size = ronchi_dtype_size(store->dtype);
    for (size_t i = 0; i < n * store->n_pixels; i++) {
        uint64_t v = load_count((const char *)frames + i * size, store->dtype);
        if (v > store->max_count && store->valid[i % store->n_pixels])
            store->max_count = v;
    }
    return RONCHI_OK;
}

static ronchi_status dense_finish(ronchi_store *store, ronchi_error *err)
{
    (void)store;
    (void)err;
    return RONCHI_OK;
}

static ronchi_status dense_validate(const ronchi_store *store, ronchi_error *err)
{
    (void)store;
    (void)err;
    return RONCHI_OK; /* nothing is encoded, so nothing can be damaged */
}

/* Stores one count; false when it does not fit. */
static bool store_count(void *to, ronchi_dtype dtype, uint64_t v)
{
    switch (dtype) {
    case RONCHI_U8:
        *(uint8_t *)to = (uint8_t)v;
        return v <= UINT8_MAX;
    case RONCHI_U16:
        *(uint16_t *)to = (uint16_t)v;
        return v <= UINT16_MAX;
    case RONCHI_U32:
        *(uint32_t *)to = (uint32_t)v;
        return v <= UINT32_MAX;
    case RONCHI_U64:
        *(uint64_t *)to = v;
        return true;
    default:
        return false;
    }
}

typedef struct band_job {
    const dense_store *dense;
    const ronchi_region *region;
    const ronchi_view *out;
} band_job;

static ronchi_status band_position(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    const band_job *job = user;
    const ronchi_store *store = &job->dense->base;
    const ronchi_region *region = job->region;
    size_t size = ronchi_dtype_size(store->dtype), i = item / region->scan_cols, j = item % region->scan_cols;
    size_t position = (region->scan_row + i) * store->shape.scan_cols + region->scan_col + j;
    const uint8_t *frame = job->dense->counts + position * frame_bytes(store);
    for (size_t r = 0; r < region->det_rows; r++)
        for (size_t c = 0; c < region->det_cols; c++) {
            size_t pixel = (region->det_row + r) * store->shape.det_cols + region->det_col + c;
            void *to = ronchi_view_at(job->out, i, j, r, c);
            if (store->dtype == RONCHI_F32)
                memcpy(to, frame + pixel * size, size);
            else if (!store_count(to, job->out->dtype, load_count(frame + pixel * size, store->dtype)))
                return ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET,
                                   "a count at detector pixel (%zu, %zu) does not fit %s: read it as %s",
                                   pixel / store->shape.det_cols, pixel % store->shape.det_cols,
                                   ronchi_dtype_name(job->out->dtype), ronchi_dtype_name(store->dtype));
        }
    return RONCHI_OK;
}

static ronchi_status dense_decode_band(const ronchi_store *store, const ronchi_region *region, const ronchi_view *out,
                                       ronchi_error *err)
{
    band_job job = {(const dense_store *)store, region, out};
    return ronchi_parallel_for(store->context, region->scan_rows * region->scan_cols, band_position, &job, err);
}

/* ------------------------------------------------------------------------------------------------- reductions */

typedef struct reduce_job {
    const dense_store *dense;
    const ronchi_reduction *reduction;
} reduce_job;

static const uint8_t *frame_at(const reduce_job *job, size_t item)
{
    const ronchi_store *store = &job->dense->base;
    const ronchi_reduction *r = job->reduction;
    size_t position = (r->scan_row + item / r->scan_cols) * store->shape.scan_cols + r->scan_col + item % r->scan_cols;
    return job->dense->counts + position * frame_bytes(store);
}

static ronchi_status planes_position(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    (void)err;
    const reduce_job *job = user;
    const ronchi_store *store = &job->dense->base;
    const ronchi_reduction *r = job->reduction;
    size_t size = ronchi_dtype_size(store->dtype), n_positions = r->scan_rows * r->scan_cols;
    const uint8_t *frame = frame_at(job, item);
    for (size_t k = 0; k < r->n_planes; k++) {
        uint64_t sum = 0;
        double sum_f64 = 0;
        for (size_t p = 0; p < store->n_pixels; p++) {
            uint32_t weight = store->valid[p] ? r->planes[k][p] : 0;
            if (!weight)
                continue;
            if (store->dtype == RONCHI_F32)
                sum_f64 += (double)weight * (double)((const float *)(const void *)frame)[p];
            else
                sum += weight * load_count(frame + p * size, store->dtype);
        }
        if (store->dtype == RONCHI_F32)
            r->plane_sums_f64[k * n_positions + item] = sum_f64;
        else
            r->plane_sums[k * n_positions + item] = sum;
    }
    return RONCHI_OK;
}

enum { PIXEL_TILE = 1024 }; /* pixels of one item: each pixel's positions are added by one thread, in scan order */

static void pixel_add(const ronchi_store *store, const ronchi_reduction *r, size_t p, const uint8_t *at)
{
    if (store->dtype == RONCHI_F32) {
        float v = *(const float *)(const void *)at;
        if (r->pixel_sums_f64)
            r->pixel_sums_f64[p] += (double)v;
        if (r->pixel_max_f32 && !(v <= r->pixel_max_f32[p])) /* also true for NaN, which then stays */
            r->pixel_max_f32[p] = isnan(r->pixel_max_f32[p]) ? r->pixel_max_f32[p] : v;
        return;
    }
    uint64_t v = load_count(at, store->dtype);
    if (r->pixel_sums)
        r->pixel_sums[p] += v;
    if (r->pixel_max && v > r->pixel_max[p])
        r->pixel_max[p] = (uint32_t)v;
}

static ronchi_status pixels_tile(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    (void)err;
    const reduce_job *job = user;
    const ronchi_store *store = &job->dense->base;
    const ronchi_reduction *r = job->reduction;
    size_t size = ronchi_dtype_size(store->dtype), first = item * PIXEL_TILE;
    size_t last = ronchi_min_size(first + PIXEL_TILE, store->n_pixels);
    for (size_t p = first; p < last; p++) {
        if (r->pixel_sums)
            r->pixel_sums[p] = 0;
        if (r->pixel_max)
            r->pixel_max[p] = 0;
        if (r->pixel_sums_f64)
            r->pixel_sums_f64[p] = 0;
        if (r->pixel_max_f32)
            r->pixel_max_f32[p] = store->valid[p] ? -INFINITY : 0;
    }
    for (size_t j = 0; j < r->scan_rows * r->scan_cols; j++)
        if (!r->select || r->select[j])
            for (size_t p = first; p < last; p++)
                if (store->valid[p])
                    pixel_add(store, r, p, frame_at(job, j) + p * size);
    return RONCHI_OK;
}

static ronchi_status dense_reduce(const ronchi_store *store, const ronchi_reduction *reduction, ronchi_error *err)
{
    reduce_job job = {(const dense_store *)store, reduction};
    ronchi_status status = RONCHI_OK;
    if (reduction->n_planes)
        status = ronchi_parallel_for(store->context, reduction->scan_rows * reduction->scan_cols, planes_position, &job,
                                     err);
    if (status == RONCHI_OK &&
        (reduction->pixel_sums || reduction->pixel_max || reduction->pixel_sums_f64 || reduction->pixel_max_f32))
        status =
            ronchi_parallel_for(store->context, ronchi_div_up(store->n_pixels, PIXEL_TILE), pixels_tile, &job, err);
    return status;
}

static ronchi_store_bytes dense_bytes(const ronchi_store *store)
{
    ronchi_store_bytes bytes = {(uint64_t)store->n_positions * frame_bytes(store), 0, 0};
    return bytes;
}

const ronchi_profile ronchi_profile_dense = {
    .id = RONCHI_PROFILE_DENSE,
    .name = "dense",
    .create = dense_create,
    .n_blocks = dense_n_blocks,
    .block = dense_block,
    .encode_block = dense_encode_block,
    .finish = dense_finish,
    .validate = dense_validate,
    .decode_band = dense_decode_band,
    .reduce = dense_reduce,
    .bytes = dense_bytes,
    .destroy = dense_destroy,
};
