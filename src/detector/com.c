/* SPDX-License-Identifier: MIT */
/*
 * com.c - centre of mass of every pattern: exact integer moments, the quotient rounded once.
 *
 *   row = sum(row x count) / sum(count), col likewise, over unflagged pixels that the mask selects.
 */
#include <math.h>

#include "detector/checks.h"
#include "detector/moments.h"
#include "ronchi/detector.h"

static double *at(const ronchi_view *view, size_t cols, size_t i)
{
    return ronchi_view_at(view, 0, 0, i / cols, i % cols);
}

/* Fills what is known; returns the number of patterns with counts, and the mean position of those in 'mean'. */
static size_t fill_known(const ronchi_store *store, const void *sums, const ronchi_view *out[2], uint8_t *known,
                         double mean[2])
{
    bool floats = store->dtype == RONCHI_F32;
    size_t n = store->n_positions, cols = store->shape.scan_cols, n_known = 0;
    const double *f = sums;
    const uint64_t *u = sums;
    mean[0] = mean[1] = 0;
    for (size_t i = 0; i < n; i++) {
        known[i] = floats ? f[i] != 0 : u[i] != 0; /* NaN is no empty pattern: it propagates */
        if (!known[i])
            continue;
        n_known++;
        for (size_t k = 0; k < 2; k++) {
            double v = floats ? f[(k + 1) * n + i] / f[i] : ronchi_quotient(u[(k + 1) * n + i], u[i]);
            *at(out[k], cols, i) = v;
            mean[k] += v;
        }
    }
    for (size_t k = 0; k < 2 && n_known; k++)
        mean[k] /= (double)n_known;
    return n_known;
}

static ronchi_status check_outputs(const ronchi_acquisition *acquisition, const ronchi_view *row,
                                   const ronchi_view *col, const ronchi_view *valid, ronchi_error *err)
{
    const ronchi_shape *shape = &acquisition->store->shape;
    ronchi_status status =
        ronchi_check_view(row, "the row positions", 1, shape->scan_rows, shape->scan_cols, RONCHI_F64, err);
    if (status == RONCHI_OK)
        status = ronchi_check_view(col, "the column positions", 1, shape->scan_rows, shape->scan_cols, RONCHI_F64, err);
    if (status == RONCHI_OK && valid)
        status = ronchi_check_view(valid, "the validity map", 1, shape->scan_rows, shape->scan_cols, RONCHI_U8, err);
    return status;
}

ronchi_status ronchi_detector_com(const ronchi_acquisition *acquisition, const ronchi_view *mask,
                                  const ronchi_view *row, const ronchi_view *col, const ronchi_view *valid,
                                  ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status == RONCHI_OK)
        status = check_outputs(acquisition, row, col, valid, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_store *store = acquisition->store;
    const ronchi_view *out[2] = {row, col};
    size_t n = store->n_positions, cols = store->shape.scan_cols;
    void *sums = ronchi_calloc(store->context, 3 * n, 8);
    uint8_t *known = ronchi_calloc(store->context, n, 1);
    double mean[2];
    status = sums && known ? ronchi_moments(acquisition, mask, sums, err)
                           : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for moments");
    if (status == RONCHI_OK && !fill_known(store, sums, out, known, mean))
        status = ronchi_fail(err, RONCHI_ERR_DATA, acquisition->info.source_name, RONCHI_NO_OFFSET,
                             "every pattern is empty where the mask selects: there is no centre of mass");
    for (size_t i = 0; status == RONCHI_OK && i < n; i++) {
        for (size_t k = 0; k < 2 && !known[i]; k++)
            *at(out[k], cols, i) = mean[k];
        if (valid)
            *(uint8_t *)ronchi_view_at(valid, 0, 0, i / cols, i % cols) = known[i];
    }
    ronchi_free(store->context, sums);
    ronchi_free(store->context, known);
    return status;
}
