/* SPDX-License-Identifier: MIT */
/* moments.c - sums of counts, counts x row and counts x column in one pass: three planes of one reduction. */
#include "detector/moments.h"

#include <string.h>

#include "detector/checks.h"
#include "ronchi/detector.h"

/* planes 0, 1, 2: weight 1, row index, column index, where the mask selects. */
static void fill_planes(const ronchi_shape *shape, uint32_t *weights)
{
    size_t n = shape->det_rows * shape->det_cols;
    for (size_t p = 0; p < n; p++) {
        uint32_t taken = weights[p];
        weights[n + p] = taken ? (uint32_t)(p / shape->det_cols) : 0;
        weights[2 * n + p] = taken ? (uint32_t)(p % shape->det_cols) : 0;
    }
}

ronchi_status ronchi_largest_count(const ronchi_acquisition *acquisition, uint64_t *most, ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    ronchi_reduction reduction;
    memset(&reduction, 0, sizeof reduction);
    reduction.scan_rows = store->shape.scan_rows;
    reduction.scan_cols = store->shape.scan_cols;
    reduction.pixel_max = ronchi_calloc(store->context, store->n_pixels, sizeof *reduction.pixel_max);
    if (!reduction.pixel_max)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the maximum");
    ronchi_status status = ronchi_acquisition_reduce(acquisition, &reduction, err);
    *most = 0;
    for (size_t p = 0; status == RONCHI_OK && p < store->n_pixels; p++)
        if (reduction.pixel_max[p] > *most)
            *most = reduction.pixel_max[p];
    ronchi_free(store->context, reduction.pixel_max);
    return status;
}

/* Sums fit when largest count x sum of weights does; sizes are below 2^32 each, so the sum of weights itself fits. */
static ronchi_status check_fit(const ronchi_acquisition *acquisition, const uint32_t *weights, ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    uint64_t heaviest = 0;
    for (size_t k = 0; k < 3; k++) {
        uint64_t sum = 0;
        for (size_t p = 0; p < store->n_pixels; p++)
            sum += weights[k * store->n_pixels + p];
        heaviest = sum > heaviest ? sum : heaviest;
    }
    uint64_t most = store->dtype == RONCHI_U8 ? UINT8_MAX : store->dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
    if (!heaviest || most <= UINT64_MAX / heaviest)
        return RONCHI_OK;
    ronchi_status status = ronchi_largest_count(acquisition, &most, err);
    if (status != RONCHI_OK || !most || heaviest <= UINT64_MAX / most)
        return status;
    return ronchi_fail(err, RONCHI_ERR_RANGE, acquisition->info.source_name, RONCHI_NO_OFFSET,
                       "moments of counts up to %llu on this detector may exceed 64 bits: give a mask",
                       (unsigned long long)most);
}

static ronchi_status take_mask(const ronchi_acquisition *acquisition, const ronchi_view *mask, uint32_t *weights,
                               ronchi_error *err)
{
    const ronchi_shape *shape = &acquisition->store->shape;
    if (shape->det_rows > UINT32_MAX || shape->det_cols > UINT32_MAX)
        return ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET, "a detector side above 2^32 has no moments");
    if (!mask) {
        for (size_t p = 0; p < acquisition->store->n_pixels; p++)
            weights[p] = 1;
        return RONCHI_OK;
    }
    ronchi_status status = ronchi_check_view(mask, "the mask", 1, shape->det_rows, shape->det_cols, RONCHI_U8, err);
    return status == RONCHI_OK ? ronchi_check_weights(mask, 0, weights, err) : status;
}

ronchi_status ronchi_moments(const ronchi_acquisition *acquisition, const ronchi_view *mask, void *sums,
                             ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    bool floats = store->dtype == RONCHI_F32;
    uint32_t *weights = ronchi_calloc(store->context, 3 * store->n_pixels, sizeof *weights);
    if (!weights)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for weights");
    ronchi_status status = take_mask(acquisition, mask, weights, err);
    if (status == RONCHI_OK) {
        fill_planes(&store->shape, weights);
        status = floats ? RONCHI_OK : check_fit(acquisition, weights, err);
    }
    if (status == RONCHI_OK) {
        const uint32_t *planes[3] = {weights, weights + store->n_pixels, weights + 2 * store->n_pixels};
        ronchi_reduction reduction;
        memset(&reduction, 0, sizeof reduction);
        reduction.scan_rows = store->shape.scan_rows;
        reduction.scan_cols = store->shape.scan_cols;
        reduction.n_planes = 3;
        reduction.planes = planes;
        reduction.plane_sums = floats ? NULL : sums;
        reduction.plane_sums_f64 = floats ? sums : NULL;
        status = ronchi_acquisition_reduce(acquisition, &reduction, err);
    }
    ronchi_free(store->context, weights);
    return status;
}

ronchi_status ronchi_detector_moments(const ronchi_acquisition *acquisition, const ronchi_view *mask,
                                      const ronchi_view *total, const ronchi_view *row, const ronchi_view *col,
                                      ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status == RONCHI_OK)
        status = ronchi_check_counts(acquisition, "a moment", err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_store *store = acquisition->store;
    const ronchi_view *outs[3] = {total, row, col};
    static const char *const names[3] = {"the total", "the row moment", "the column moment"};
    for (int k = 0; k < 3 && status == RONCHI_OK; k++)
        status =
            ronchi_check_view(outs[k], names[k], 1, store->shape.scan_rows, store->shape.scan_cols, RONCHI_U64, err);
    if (status != RONCHI_OK)
        return status;
    uint64_t *sums = ronchi_calloc(store->context, 3 * store->n_positions, sizeof *sums);
    if (!sums)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for moments");
    status = ronchi_moments(acquisition, mask, sums, err);
    for (size_t k = 0; k < 3 && status == RONCHI_OK; k++)
        for (size_t i = 0; i < store->n_positions; i++)
            *(uint64_t *)ronchi_view_at(outs[k], 0, 0, i / store->shape.scan_cols, i % store->shape.scan_cols) =
                sums[k * store->n_positions + i];
    ronchi_free(store->context, sums);
    return status;
}
