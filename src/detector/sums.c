/* SPDX-License-Identifier: MIT */
/* sums.c - masked sums: one image a mask, all masks in one pass over the encoded counts. */
#include <string.h>

#include "detector/checks.h"
#include "ronchi/detector.h"

/* Weights of all masks and the pointers to them, in one piece of memory each. */
static ronchi_status take_masks(const ronchi_acquisition *acquisition, const ronchi_view *masks, uint32_t *weights,
                                const uint32_t **planes, ronchi_error *err)
{
    for (size_t k = 0; k < masks->shape[1]; k++) {
        planes[k] = weights + k * acquisition->store->n_pixels;
        ronchi_status status = ronchi_check_weights(masks, k, weights + k * acquisition->store->n_pixels, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

void ronchi_put_sum(void *to, ronchi_dtype dtype, const void *sums, bool floats, size_t i)
{
    double f = floats ? ((const double *)sums)[i] : 0;
    uint64_t u = floats ? 0 : ((const uint64_t *)sums)[i];
    if (dtype == RONCHI_U64)
        *(uint64_t *)to = u;
    else if (dtype == RONCHI_F64)
        *(double *)to = floats ? f : (double)u;
    else
        *(float *)to = floats ? (float)f : (float)u; /* from the exact integer: one rounding */
}

static void put_sums(const ronchi_view *out, const void *sums, bool floats)
{
    size_t i = 0;
    for (size_t k = 0; k < out->shape[1]; k++)
        for (size_t r = 0; r < out->shape[2]; r++)
            for (size_t c = 0; c < out->shape[3]; c++, i++)
                ronchi_put_sum(ronchi_view_at(out, 0, k, r, c), out->dtype, sums, floats, i);
}

ronchi_status ronchi_detector_sums(const ronchi_acquisition *acquisition, const ronchi_view *masks,
                                   const ronchi_view *out, ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_store *store = acquisition->store;
    const ronchi_shape *shape = &store->shape;
    ronchi_context *context = acquisition->context;
    size_t n = masks ? masks->shape[1] : 0;
    bool floats = store->dtype == RONCHI_F32;
    status = ronchi_check_view(masks, "the masks", n ? n : 1, shape->det_rows, shape->det_cols, RONCHI_U8, err);
    if (status == RONCHI_OK)
        status = ronchi_check_view(out, "the result", n, shape->scan_rows, shape->scan_cols, 0, err);
    if (status != RONCHI_OK)
        return status;
    if (out->dtype == RONCHI_U64)
        status = ronchi_check_counts(acquisition, "a sum", err);
    else if (out->dtype != RONCHI_F64 && out->dtype != RONCHI_F32)
        status = ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                             "sums are uint64, float64 or float32, not %s", ronchi_dtype_name(out->dtype));
    if (status != RONCHI_OK)
        return status;
    uint32_t *weights = ronchi_calloc(context, n * store->n_pixels, sizeof *weights);
    const uint32_t **planes = ronchi_calloc(context, n, sizeof *planes);
    void *sums = ronchi_calloc(context, n * store->n_positions, 8);
    if (!weights || !planes || !sums)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu masks", n);
    if (status == RONCHI_OK)
        status = take_masks(acquisition, masks, weights, planes, err);
    if (status == RONCHI_OK) {
        ronchi_reduction reduction;
        memset(&reduction, 0, sizeof reduction);
        reduction.scan_rows = shape->scan_rows;
        reduction.scan_cols = shape->scan_cols;
        reduction.n_planes = n;
        reduction.planes = planes;
        reduction.plane_sums = floats ? NULL : sums;
        reduction.plane_sums_f64 = floats ? sums : NULL;
        status = ronchi_acquisition_reduce(acquisition, &reduction, err);
    }
    if (status == RONCHI_OK)
        put_sums(out, sums, floats);
    ronchi_free(context, weights);
    ronchi_free(context, planes);
    ronchi_free(context, sums);
    return status;
}
