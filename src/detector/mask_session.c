/* SPDX-License-Identifier: MIT */
/*
 * mask_session.c - masked sums one after the other: the new image from the last one where that decodes less.
 *
 *   image(new) = image(last) + sum(pixels gained) - sum(pixels lost)      exact, modulo 2^64
 */
#include <string.h>

#include "detector/checks.h"
#include "ronchi/detector.h"

/* Planes of weights. */
enum { NEW, GAINED, LOST, PLANES };

struct ronchi_mask_session {
    const ronchi_acquisition *acquisition;
    ronchi_context *context;
    bool known;        /* 'last' and 'image' belong together */
    uint8_t *last;     /* [n_pixels] */
    uint32_t *weights; /* [PLANES][n_pixels] */
    uint64_t *image;   /* [n_positions] */
    uint64_t *sums;    /* [2][n_positions] gained, lost */
};

ronchi_status ronchi_mask_session_create(const ronchi_acquisition *acquisition, ronchi_mask_session **out,
                                         ronchi_error *err)
{
    *out = NULL;
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status == RONCHI_OK)
        status = ronchi_check_counts(acquisition, "a mask session", err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_store *store = acquisition->store;
    ronchi_context *context = acquisition->context;
    ronchi_mask_session *session = ronchi_calloc(context, 1, sizeof *session);
    if (session) {
        session->acquisition = acquisition;
        session->context = context;
        session->last = ronchi_calloc(context, store->n_pixels, sizeof *session->last);
        session->weights = ronchi_calloc(context, PLANES * store->n_pixels, sizeof *session->weights);
        session->image = ronchi_calloc(context, store->n_positions, sizeof *session->image);
        session->sums = ronchi_calloc(context, 2 * store->n_positions, sizeof *session->sums);
    }
    if (!session || !session->last || !session->weights || !session->image || !session->sums) {
        ronchi_mask_session_destroy(session);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a mask session");
    }
    *out = session;
    return RONCHI_OK;
}

void ronchi_mask_session_destroy(ronchi_mask_session *session)
{
    if (!session)
        return;
    ronchi_free(session->context, session->last);
    ronchi_free(session->context, session->weights);
    ronchi_free(session->context, session->image);
    ronchi_free(session->context, session->sums);
    ronchi_free(session->context, session);
}

static ronchi_status cost_of(const ronchi_store *store, size_t n_planes, const uint32_t *const *planes,
                             uint64_t *counts, ronchi_error *err)
{
    if (store->profile->cost)
        return store->profile->cost(store, n_planes, planes, counts, err);
    *counts = 0;
    for (size_t p = 0; p < store->n_pixels; p++) {
        bool any = false;
        for (size_t k = 0; k < n_planes; k++)
            any |= planes[k][p] != 0;
        *counts += any;
    }
    return RONCHI_OK;
}

static ronchi_status reduce(const ronchi_mask_session *session, size_t n_planes, const uint32_t *const *planes,
                            uint64_t *sums, ronchi_error *err)
{
    const ronchi_shape *shape = &session->acquisition->store->shape;
    ronchi_reduction reduction;
    memset(&reduction, 0, sizeof reduction);
    reduction.scan_rows = shape->scan_rows;
    reduction.scan_cols = shape->scan_cols;
    reduction.n_planes = n_planes;
    reduction.planes = planes;
    reduction.plane_sums = sums;
    return ronchi_acquisition_reduce(session->acquisition, &reduction, err);
}

/* Brings the image up to date with the plane NEW. */
static ronchi_status update(ronchi_mask_session *session, ronchi_error *err)
{
    const ronchi_store *store = session->acquisition->store;
    const size_t n = store->n_pixels, n_positions = store->n_positions;
    const uint32_t *planes[PLANES];
    uint64_t whole = 0, change = 0;
    for (size_t k = 0; k < PLANES; k++)
        planes[k] = session->weights + k * n;
    for (size_t p = 0; p < n; p++) {
        session->weights[GAINED * n + p] = planes[NEW][p] && !session->last[p];
        session->weights[LOST * n + p] = !planes[NEW][p] && session->last[p];
    }
    ronchi_status status = cost_of(store, 1, planes + NEW, &whole, err);
    if (status == RONCHI_OK)
        status = cost_of(store, 2, planes + GAINED, &change, err);
    if (status != RONCHI_OK)
        return status;
    if (!session->known || change >= whole)
        return reduce(session, 1, planes + NEW, session->image, err);
    status = reduce(session, 2, planes + GAINED, session->sums, err);
    for (size_t i = 0; status == RONCHI_OK && i < n_positions; i++)
        session->image[i] += session->sums[i] - session->sums[n_positions + i];
    return status;
}

ronchi_status ronchi_mask_session_sum(ronchi_mask_session *session, const ronchi_view *mask, const ronchi_view *out,
                                      ronchi_error *err)
{
    if (!session)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "no mask session was given");
    ronchi_status status = ronchi_acquisition_usable(session->acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_store *store = session->acquisition->store;
    const ronchi_shape *shape = &store->shape;
    status = ronchi_check_view(mask, "the mask", 1, shape->det_rows, shape->det_cols, RONCHI_U8, err);
    if (status == RONCHI_OK)
        status = ronchi_check_view(out, "the result", 1, shape->scan_rows, shape->scan_cols, 0, err);
    if (status == RONCHI_OK && out->dtype != RONCHI_U64 && out->dtype != RONCHI_F64 && out->dtype != RONCHI_F32)
        status = ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                             "sums are uint64, float64 or float32, not %s", ronchi_dtype_name(out->dtype));
    if (status == RONCHI_OK)
        status = ronchi_check_weights(mask, 0, session->weights, err);
    if (status != RONCHI_OK) {
        session->known = false;
        return status;
    }
    status = update(session, err);
    session->known = status == RONCHI_OK;
    for (size_t p = 0; session->known && p < store->n_pixels; p++)
        session->last[p] = session->weights[p] != 0;
    for (size_t i = 0; session->known && i < store->n_positions; i++)
        ronchi_put_sum(ronchi_view_at(out, 0, 0, i / shape->scan_cols, i % shape->scan_cols), out->dtype,
                       session->image, false, i);
    return status;
}
