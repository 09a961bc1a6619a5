/* SPDX-License-Identifier: MIT */
/* result.c - store and contract of a result. */
#include "geometry/result.h"

#include <stdio.h>
#include <string.h>

#include "ronchi/geometry.h"

static bool holds(ronchi_profile_id id, ronchi_dtype dtype)
{
    switch (id) {
    case RONCHI_PROFILE_COLUMN:
        return dtype == RONCHI_U8 || dtype == RONCHI_U16;
    case RONCHI_PROFILE_FLOAT_LANES:
        return dtype == RONCHI_F32;
    case RONCHI_PROFILE_UINT32_LANES:
        return dtype == RONCHI_U32;
    default:
        return true;
    }
}

ronchi_status ronchi_result_store(const ronchi_acquisition *from, const ronchi_shape *shape, ronchi_dtype dtype,
                                  const uint8_t *valid, ronchi_store **out, ronchi_error *err)
{
    ronchi_profile_id id = from->store->profile->id;
    const ronchi_profile *profile =
        ronchi_profile_find(holds(id, dtype) ? id : RONCHI_PROFILE_LANE); /* of counts: sums are */
    *out = NULL;
    if (!profile || !profile->create)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, from->info.source_name, RONCHI_NO_OFFSET,
                           "no profile here can encode %s", ronchi_dtype_name(dtype));
    return profile->create(from->context, shape, dtype, valid, ronchi_context_budget(from->context), out, err);
}

ronchi_status ronchi_result_new(const ronchi_acquisition *from, ronchi_store *store, ronchi_acquisition **out,
                                ronchi_error *err)
{
    static const char *const names[4] = {"scan_row", "scan_column", "detector_row", "detector_column"};
    size_t sizes[4] = {store->shape.scan_rows, store->shape.scan_cols, store->shape.det_rows, store->shape.det_cols};
    ronchi_status status = ronchi_acquisition_new(store, out, err);
    if (status != RONCHI_OK)
        return status;
    ronchi_acquisition *a = *out;
    ronchi_acquisition_info held = a->info;
    a->info = from->info; /* what was known of the source stays true; what is held is the store's */
    a->info.representation = held.representation;
    a->info.residency = held.residency;
    a->info.device = held.device;
    a->info.profile = held.profile;
    a->info.shape = held.shape;
    a->info.dtype = held.dtype;
    a->info.flagged_pixels = held.flagged_pixels;
    a->info.max_count = held.max_count;
    a->metadata = json_deep_copy(from->metadata);
    a->scientific = json_deep_copy(from->scientific);
    a->header_extra = from->header_extra ? json_deep_copy(from->header_extra) : NULL;
    if (!a->metadata || !a->scientific || (from->header_extra && !a->header_extra)) {
        ronchi_acquisition_destroy(a);
        *out = NULL;
        return ronchi_fail(err, RONCHI_ERR_MEMORY, from->info.source_name, RONCHI_NO_OFFSET, "no memory for metadata");
    }
    for (size_t k = 0; k < 4; k++) {
        json_t *axis = json_array_get(json_object_get(a->scientific, "axes"), k);
        if (axis)
            json_object_set_new(axis, "size", json_integer((json_int_t)sizes[k]));
        if (axis && !json_object_get(axis, "name"))
            json_object_set_new(axis, "name", json_string(names[k]));
    }
    json_object_del(a->metadata, RONCHI_QEM_EMBED_KEY); /* the original is that of other counts */
    return RONCHI_OK;
}

void ronchi_result_flip(ronchi_acquisition *acquisition, uint32_t flips)
{
    const ronchi_shape *s = &acquisition->info.source_shape;
    ronchi_region *c = &acquisition->info.crop;
    if (flips & RONCHI_FLIP_SCAN_ROWS)
        c->scan_row = s->scan_rows - c->scan_row - c->scan_rows;
    if (flips & RONCHI_FLIP_SCAN_COLS)
        c->scan_col = s->scan_cols - c->scan_col - c->scan_cols;
    if (flips & RONCHI_FLIP_DET_ROWS)
        c->det_row = s->det_rows - c->det_row - c->det_rows;
    if (flips & RONCHI_FLIP_DET_COLS)
        c->det_col = s->det_cols - c->det_col - c->det_cols;
}

void ronchi_result_begin_anew(ronchi_acquisition *acquisition, const char *why)
{
    ronchi_acquisition_info *info = &acquisition->info;
    info->source_shape = info->shape;
    info->crop = ronchi_region_all(&info->shape);
    info->lossless = 0;
    snprintf(info->lossless_by, sizeof info->lossless_by, "%s", why);
}

void ronchi_result_finish(ronchi_acquisition *acquisition)
{
    ronchi_scientific_calibration(acquisition->scientific, &acquisition->info.calibration);
    ronchi_acquisition_account(acquisition);
}
