/* SPDX-License-Identifier: MIT */
/* crop.c - a region of scan and detector. */
#include "geometry/gather.h"
#include "geometry/result.h"
#include "ronchi/geometry.h"

/* The region in the source's own indices: bins count several of them. */
static void crop_contract(ronchi_acquisition_info *info, const ronchi_region *g)
{
    ronchi_region *c = &info->crop;
    c->scan_row += g->scan_row * info->scan_bin;
    c->scan_col += g->scan_col * info->scan_bin;
    c->det_row += g->det_row * info->det_bin;
    c->det_col += g->det_col * info->det_bin;
    c->scan_rows = g->scan_rows * info->scan_bin;
    c->scan_cols = g->scan_cols * info->scan_bin;
    c->det_rows = g->det_rows * info->det_bin;
    c->det_cols = g->det_cols * info->det_bin;
}

static ronchi_status finish(ronchi_acquisition *result, const ronchi_region *g, ronchi_error *err)
{
    json_t *record =
        json_pack("{s:s, s:[I, I, I, I], s:[I, I, I, I]}", "operation", "crop", "first", (json_int_t)g->scan_row,
                  (json_int_t)g->scan_col, (json_int_t)g->det_row, (json_int_t)g->det_col, "size",
                  (json_int_t)g->scan_rows, (json_int_t)g->scan_cols, (json_int_t)g->det_rows, (json_int_t)g->det_cols);
    crop_contract(&result->info, g);
    ronchi_status status = ronchi_result_record(result, record, false, err);
    ronchi_result_finish(result);
    return status;
}

ronchi_status ronchi_geometry_crop(const ronchi_acquisition *acquisition, const ronchi_region *region,
                                   ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_gather gather;
    *out = NULL;
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_shape *s = &acquisition->store->shape;
    if (!region || !ronchi_region_inside(region, s))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "the region to keep is empty or leaves the acquisition of %zu x %zu x %zu x %zu",
                           s->scan_rows, s->scan_cols, s->det_rows, s->det_cols);
    status = ronchi_gather_init(&gather, acquisition, region->scan_rows, region->scan_cols, "crop", err);
    if (status != RONCHI_OK)
        return status;
    for (size_t i = 0; i < region->scan_rows; i++)
        for (size_t j = 0; j < region->scan_cols; j++)
            gather.positions[i * region->scan_cols + j] = (region->scan_row + i) * s->scan_cols + region->scan_col + j;
    gather.shape.det_rows = region->det_rows;
    gather.shape.det_cols = region->det_cols;
    gather.det_row = region->det_row;
    gather.det_col = region->det_col;
    status = ronchi_gather_run(&gather, out, err);
    ronchi_gather_release(&gather);
    if (status == RONCHI_OK)
        status = finish(*out, region, err);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(*out);
        *out = NULL;
    }
    return status;
}
