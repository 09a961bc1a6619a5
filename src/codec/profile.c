/* SPDX-License-Identifier: MIT */
/* profile.c - the list of profiles, and what their stores share. */
#include "codec/profile.h"

#include <string.h>

const char *ronchi_profile_name(ronchi_profile_id profile)
{
    switch (profile) {
    case RONCHI_PROFILE_AUTO:
        return "auto";
    case RONCHI_PROFILE_COLUMN:
        return "column-rans-v2";
    case RONCHI_PROFILE_FLOAT_LANES:
        return "float32-bit-lanes";
    case RONCHI_PROFILE_UINT32_LANES:
        return "uint32-bit-lanes";
    case RONCHI_PROFILE_LANE:
        return "lane-rans-v1";
    case RONCHI_PROFILE_DENSE:
        return "dense";
    }
    return "?";
}

static const ronchi_profile *const profiles[] = {
    &ronchi_profile_dense,       &ronchi_profile_column,       &ronchi_profile_lane,
    &ronchi_profile_float_lanes, &ronchi_profile_uint32_lanes,
};

const ronchi_profile *ronchi_profile_find(ronchi_profile_id id)
{
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
        if (profiles[i]->id == id)
            return profiles[i];
    return NULL;
}

const ronchi_profile *ronchi_profile_by_codec(const char *codec)
{
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
        if (profiles[i]->codec && strcmp(profiles[i]->codec, codec) == 0)
            return profiles[i];
    return NULL;
}

ronchi_status ronchi_profile_place(ronchi_context *context, const ronchi_profile **profile, ronchi_error *err)
{
    const bool asked = ronchi_context_device_asked(context);
    if (!(*profile)->on_cuda && !asked) /* before a device is looked for */
        return RONCHI_OK;
    if (!ronchi_context_device(context))
        return RONCHI_OK;
    if (!(*profile)->on_cuda)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "%s cannot be held on a CUDA device yet: use --device cpu", (*profile)->name);
    *profile = (*profile)->on_cuda;
    return RONCHI_OK;
}

ronchi_status ronchi_store_init(ronchi_store *store, const ronchi_profile *profile, ronchi_context *context,
                                const ronchi_shape *shape, ronchi_dtype dtype, const uint8_t *valid, ronchi_error *err)
{
    size_t n_elements;
    store->profile = profile;
    store->context = context;
    store->shape = *shape;
    store->dtype = dtype;
    if (!ronchi_shape_elements(shape, &n_elements) || !ronchi_shape_scan(shape, &store->n_positions) ||
        !ronchi_shape_detector(shape, &store->n_pixels))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "shape %zu x %zu x %zu x %zu is empty or too large", shape->scan_rows, shape->scan_cols,
                           shape->det_rows, shape->det_cols);
    store->valid = ronchi_alloc(context, store->n_pixels);
    if (!store->valid)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a mask of %zu pixels",
                           store->n_pixels);
    for (size_t i = 0; i < store->n_pixels; i++)
        store->valid[i] = valid ? valid[i] != 0 : 1;
    return RONCHI_OK;
}

void ronchi_store_release(ronchi_store *store)
{
    ronchi_free(store->context, store->valid);
    store->valid = NULL;
}

ronchi_status ronchi_store_check_band(const ronchi_store *store, const ronchi_region *region, const ronchi_view *out,
                                      ronchi_error *err)
{
    if (!ronchi_region_inside(region, &store->shape) ||
        !ronchi_view_near(out, store->place, store->device, region->scan_rows, region->scan_cols, region->det_rows,
                          region->det_cols))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "the view does not have the shape of the region");
    bool counts =
        out->dtype == RONCHI_U8 || out->dtype == RONCHI_U16 || out->dtype == RONCHI_U32 || out->dtype == RONCHI_U64;
    if (store->dtype == RONCHI_F32 ? out->dtype != RONCHI_F32 : !counts)
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "%s data cannot be read as %s",
                           ronchi_dtype_name(store->dtype), ronchi_dtype_name(out->dtype));
    return RONCHI_OK;
}
