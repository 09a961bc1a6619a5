/* SPDX-License-Identifier: MIT */
/* pattern.c - many frames become one pattern: sum, mean or maximum of a scan region or of selected positions. */
#include <string.h>

#include "detector/checks.h"
#include "ronchi/detector.h"

static ronchi_status check_dtype(const ronchi_acquisition *acquisition, ronchi_detector_reduce what, ronchi_dtype dtype,
                                 ronchi_error *err)
{
    bool floats = acquisition->store->dtype == RONCHI_F32;
    ronchi_dtype want = what == RONCHI_REDUCE_MEAN ? RONCHI_F64 : floats ? RONCHI_F64 : RONCHI_U64;
    if (dtype == want || (what == RONCHI_REDUCE_MAX && dtype == acquisition->store->dtype))
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "this pattern is %s, not %s",
                       ronchi_dtype_name(want), ronchi_dtype_name(dtype));
}

static ronchi_status check_region(const ronchi_acquisition *acquisition, const ronchi_region *region, ronchi_error *err)
{
    const ronchi_shape *shape = &acquisition->store->shape;
    if (!ronchi_region_inside(region, shape) || region->det_rows != shape->det_rows ||
        region->det_cols != shape->det_cols)
        return ronchi_fail(err, RONCHI_ERR_SHAPE, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "the region must lie in the scan of %zu rows x %zu columns and hold the whole detector",
                           shape->scan_rows, shape->scan_cols);
    return RONCHI_OK;
}

/* The selection within the region, [rows][cols], and how many it takes. */
static void take_selection(const ronchi_view *select, const ronchi_region *region, uint8_t *out, uint64_t *n_selected)
{
    *n_selected = 0;
    for (size_t i = 0; i < region->scan_rows; i++)
        for (size_t j = 0; j < region->scan_cols; j++) {
            uint8_t taken =
                !select || *(const uint8_t *)ronchi_view_at(select, 0, 0, region->scan_row + i, region->scan_col + j);
            out[i * region->scan_cols + j] = taken != 0;
            *n_selected += taken != 0;
        }
}

/* Results of the reduction, whichever of them was asked for. */
typedef struct results {
    uint64_t *sums;
    uint32_t *max;
    double *sums_f64;
    float *max_f32;
} results;

static void put_result(const results *r, ronchi_detector_reduce what, uint64_t n, const ronchi_view *out, void *to,
                       size_t p)
{
    if (what == RONCHI_REDUCE_MEAN)
        *(double *)to = r->sums_f64 ? r->sums_f64[p] / (double)n : ronchi_quotient(r->sums[p], n);
    else if (what == RONCHI_REDUCE_SUM && r->sums_f64)
        *(double *)to = r->sums_f64[p];
    else if (what == RONCHI_REDUCE_SUM)
        *(uint64_t *)to = r->sums[p];
    else if (r->max_f32 && out->dtype == RONCHI_F64)
        *(double *)to = (double)r->max_f32[p];
    else if (r->max_f32)
        *(float *)to = r->max_f32[p];
    else if (out->dtype == RONCHI_U64)
        *(uint64_t *)to = r->max[p];
    else if (out->dtype == RONCHI_U32)
        *(uint32_t *)to = r->max[p];
    else if (out->dtype == RONCHI_U16)
        *(uint16_t *)to = (uint16_t)r->max[p];
    else
        *(uint8_t *)to = (uint8_t)r->max[p];
}

static ronchi_status reduce(const ronchi_acquisition *acquisition, ronchi_detector_reduce what,
                            const ronchi_region *region, const uint8_t *select, results *r, ronchi_error *err)
{
    ronchi_context *context = acquisition->context;
    size_t n = acquisition->store->n_pixels;
    bool floats = acquisition->store->dtype == RONCHI_F32, sums = what != RONCHI_REDUCE_MAX;
    void *memory = ronchi_calloc(context, n, 8);
    if (!memory)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a pattern");
    if (floats && sums)
        r->sums_f64 = memory;
    else if (floats)
        r->max_f32 = memory;
    else if (sums)
        r->sums = memory;
    else
        r->max = memory;
    ronchi_reduction reduction;
    memset(&reduction, 0, sizeof reduction);
    reduction.scan_row = region->scan_row;
    reduction.scan_rows = region->scan_rows;
    reduction.scan_col = region->scan_col;
    reduction.scan_cols = region->scan_cols;
    reduction.select = select;
    reduction.pixel_sums = r->sums;
    reduction.pixel_max = r->max;
    reduction.pixel_sums_f64 = r->sums_f64;
    reduction.pixel_max_f32 = r->max_f32;
    return ronchi_acquisition_reduce(acquisition, &reduction, err);
}

static ronchi_status run(const ronchi_acquisition *acquisition, ronchi_detector_reduce what,
                         const ronchi_region *region, const ronchi_view *select, const ronchi_view *out, uint8_t *taken,
                         ronchi_error *err)
{
    uint64_t n_selected;
    results r = {NULL, NULL, NULL, NULL};
    take_selection(select, region, taken, &n_selected);
    if (!n_selected)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "no scan position is selected");
    ronchi_status status = reduce(acquisition, what, region, taken, &r, err);
    for (size_t row = 0; status == RONCHI_OK && row < out->shape[2]; row++)
        for (size_t col = 0; col < out->shape[3]; col++) {
            put_result(&r, what, n_selected, out, ronchi_view_at(out, 0, 0, row, col), row * out->shape[3] + col);
        }
    ronchi_free(acquisition->context, r.sums);
    ronchi_free(acquisition->context, r.max);
    ronchi_free(acquisition->context, r.sums_f64);
    ronchi_free(acquisition->context, r.max_f32);
    return status;
}

ronchi_status ronchi_detector_pattern(const ronchi_acquisition *acquisition, ronchi_detector_reduce what,
                                      const ronchi_region *region, const ronchi_view *select, const ronchi_view *out,
                                      ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_shape *shape = &acquisition->store->shape;
    ronchi_region all = ronchi_region_all(shape);
    const ronchi_region *g = region ? region : &all;
    if (what != RONCHI_REDUCE_SUM && what != RONCHI_REDUCE_MEAN && what != RONCHI_REDUCE_MAX)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "unknown reduction %d", (int)what);
    status = ronchi_check_view(out, "the pattern", 1, shape->det_rows, shape->det_cols, 0, err);
    if (status == RONCHI_OK)
        status = check_dtype(acquisition, what, out->dtype, err);
    if (status == RONCHI_OK)
        status = check_region(acquisition, g, err);
    if (status == RONCHI_OK && select)
        status = ronchi_check_view(select, "the selection", 1, shape->scan_rows, shape->scan_cols, RONCHI_U8, err);
    if (status != RONCHI_OK)
        return status;
    uint8_t *taken = ronchi_alloc(acquisition->context, g->scan_rows * g->scan_cols);
    if (!taken)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the selection");
    status = run(acquisition, what, g, select, out, taken, err);
    ronchi_free(acquisition->context, taken);
    return status;
}
