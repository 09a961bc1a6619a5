/* SPDX-License-Identifier: MIT */
/* acquisition.c - the handle: contract, metadata, close and destroy, reduction by the profile. */
#include "resident/acquisition.h"

#include <stdlib.h>
#include <string.h>

#include "resident/flagged.h"

ronchi_status ronchi_acquisition_usable(const ronchi_acquisition *acquisition, ronchi_error *err)
{
    if (!acquisition)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "no acquisition was given");
    if (!acquisition->store)
        return ronchi_fail(err, RONCHI_ERR_CLOSED, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "the acquisition was closed: load it again");
    return RONCHI_OK;
}

ronchi_status ronchi_acquisition_new(ronchi_store *store, ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_acquisition *acquisition = calloc(1, sizeof *acquisition);
    *out = NULL;
    if (!acquisition) {
        store->profile->destroy(store);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for an acquisition");
    }
    acquisition->context = store->context;
    acquisition->store = store;
    ronchi_acquisition_info *info = &acquisition->info;
    info->representation = store->profile->id == RONCHI_PROFILE_DENSE ? RONCHI_DENSE : RONCHI_ENCODED;
    info->residency = store->place;
    info->device = store->device;
    info->profile = store->profile->id;
    info->source_shape = info->shape = store->shape;
    info->source_dtype = info->dtype = store->dtype;
    info->scan_bin = info->det_bin = 1;
    info->crop = ronchi_region_all(&store->shape);
    info->max_count = store->max_count;
    ronchi_status status =
        ronchi_flagged_list(store->valid, store->n_pixels, &acquisition->flagged, &acquisition->n_flagged, err);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(acquisition);
        return status;
    }
    info->flagged_pixels = acquisition->n_flagged;
    ronchi_acquisition_account(acquisition);
    *out = acquisition;
    return RONCHI_OK;
}

void ronchi_acquisition_account(ronchi_acquisition *acquisition)
{
    const ronchi_store *store = acquisition->store;
    ronchi_store_bytes bytes = store->profile->bytes(store);
    uint64_t raw = acquisition->n_raw * sizeof *acquisition->raw;
    for (size_t i = 0; i < acquisition->n_raw; i++)
        raw += acquisition->raw[i].n_runs * sizeof *acquisition->raw[i].runs;
    acquisition->info.resident_bytes = bytes.resident_bytes + raw;
    acquisition->info.index_bytes = bytes.index_bytes;
    acquisition->info.logical_bytes =
        (uint64_t)store->n_positions * store->n_pixels * ronchi_dtype_size(acquisition->info.source_dtype);
}

size_t ronchi_store_largest_block(const ronchi_store *store)
{
    size_t largest = 1;
    for (size_t i = 0; i < store->profile->n_blocks(store); i++) {
        ronchi_block block = store->profile->block(store, i);
        if (ronchi_block_positions(&block) > largest)
            largest = ronchi_block_positions(&block);
    }
    return largest;
}

size_t ronchi_acquisition_block_rows(const ronchi_acquisition *acquisition, ronchi_dtype dtype)
{
    const ronchi_store *store = acquisition->store;
    const ronchi_block first = store->profile->block(store, 0); /* none has more rows or columns */
    uint64_t row = (uint64_t)first.cols * store->n_pixels * ronchi_dtype_size(dtype);
    uint64_t fit = ronchi_context_budget(store->context) / (row ? row : 1);
    return fit < 1 ? 1 : fit < first.rows ? (size_t)fit : first.rows;
}

void *ronchi_acquisition_block_buffer(const ronchi_acquisition *acquisition, ronchi_dtype dtype, ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    size_t positions = ronchi_acquisition_block_rows(acquisition, dtype) * store->profile->block(store, 0).cols;
    void *frames = ronchi_decoded_take(store->context, positions, store->n_pixels * ronchi_dtype_size(dtype));
    if (!frames)
        ronchi_fail(err, RONCHI_ERR_MEMORY, acquisition->info.source_name, RONCHI_NO_OFFSET,
                    "no memory for %zu decoded frames", positions);
    return frames;
}

ronchi_status ronchi_acquisition_describe(const ronchi_acquisition *acquisition, ronchi_acquisition_info *info)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, NULL);
    if (status == RONCHI_OK)
        *info = acquisition->info;
    return status;
}

ronchi_status ronchi_acquisition_metadata(const ronchi_acquisition *acquisition, char **json)
{
    *json = NULL;
    ronchi_status status = ronchi_acquisition_usable(acquisition, NULL);
    if (status != RONCHI_OK)
        return status;
    json_t *both =
        json_pack("{s:O, s:O}", "metadata", acquisition->metadata, "scientific_metadata", acquisition->scientific);
    *json = both ? json_dumps(both, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
    json_decref(both);
    return *json ? RONCHI_OK : RONCHI_ERR_MEMORY;
}

ronchi_status ronchi_acquisition_flagged(const ronchi_acquisition *acquisition, const ronchi_view *out)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, NULL);
    if (status != RONCHI_OK)
        return status;
    const ronchi_shape *shape = &acquisition->store->shape;
    if (!ronchi_view_is(out, 1, 1, shape->det_rows, shape->det_cols) || out->dtype != RONCHI_U8)
        return RONCHI_ERR_SHAPE;
    for (size_t r = 0; r < shape->det_rows; r++)
        for (size_t c = 0; c < shape->det_cols; c++)
            *(uint8_t *)ronchi_view_at(out, 0, 0, r, c) = !acquisition->store->valid[r * shape->det_cols + c];
    return RONCHI_OK;
}

ronchi_status ronchi_acquisition_reduce(const ronchi_acquisition *acquisition, const ronchi_reduction *reduction,
                                        ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_store *store = acquisition->store;
    if (!store->profile->reduce)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "profile %s cannot reduce on this device", store->profile->name);
    return store->profile->reduce(store, reduction, err);
}

ronchi_status ronchi_acquisition_build_index(ronchi_acquisition *acquisition, ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    ronchi_store *store = acquisition->store;
    if (!store->profile->build_index)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "profile %s builds no sum index: load with lane-rans-v1", store->profile->name);
    status = store->profile->build_index(store, err);
    if (status == RONCHI_OK)
        ronchi_acquisition_account(acquisition);
    return status;
}

ronchi_status ronchi_acquisition_verify(const ronchi_acquisition *acquisition, ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    status = acquisition->store->profile->validate(acquisition->store, err);
    if (status != RONCHI_OK && err && !err->file[0])
        memcpy(err->file, acquisition->info.source_name, sizeof err->file);
    return status;
}

ronchi_status ronchi_acquisition_close(ronchi_acquisition *acquisition)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, NULL);
    if (status != RONCHI_OK)
        return status;
    acquisition->store->profile->destroy(acquisition->store);
    acquisition->store = NULL;
    json_decref(acquisition->metadata);
    json_decref(acquisition->scientific);
    json_decref(acquisition->header_extra);
    acquisition->metadata = acquisition->scientific = acquisition->header_extra = NULL;
    ronchi_raw_free(acquisition->n_raw, acquisition->raw);
    acquisition->raw = NULL;
    acquisition->n_raw = 0;
    free(acquisition->flagged);
    acquisition->flagged = NULL;
    acquisition->n_flagged = 0;
    return RONCHI_OK;
}

void ronchi_acquisition_destroy(ronchi_acquisition *acquisition)
{
    if (!acquisition)
        return;
    (void)ronchi_acquisition_close(acquisition);
    free(acquisition);
}
