/* SPDX-License-Identifier: MIT */
/*
 * scan_valid.c - which scan positions hold measured patterns, kept in extensions.ronchi "scan_valid" as run lengths
 * along the flattened scan: {"runs": [n0, n1, ...]}, the first run invalid (perhaps 0 long), the next valid, and so on.
 */
#include <string.h>

#include "geometry/result.h"
#include "ronchi/geometry.h"

/* A header holds 16 MiB; this many numbers are at most a third of it. */
enum { MOST_RUNS = 500000 };

static ronchi_status damaged(const ronchi_acquisition *acquisition, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_DATA, acquisition->info.source_name, RONCHI_NO_OFFSET,
                       "scientific_metadata.extensions.ronchi.scan_valid does not fit the scan: make the file again");
}

ronchi_status ronchi_scan_valid_take(const ronchi_acquisition *acquisition, uint8_t *valid, ronchi_error *err)
{
    size_t n = acquisition->store->n_positions, done = 0, i;
    const json_t *stored = ronchi_scientific_extension_get(acquisition->scientific, "scan_valid");
    const json_t *runs = json_object_get(stored, "runs"), *run;
    memset(valid, 1, n);
    if (!stored)
        return RONCHI_OK;
    if (!json_is_array(runs))
        return damaged(acquisition, err);
    json_array_foreach(runs, i, run)
    {
        json_int_t length = json_integer_value(run);
        if (!json_is_integer(run) || length < 0 || (uint64_t)length > n - done)
            return damaged(acquisition, err);
        memset(valid + done, i % 2 != 0, (size_t)length);
        done += (size_t)length;
    }
    return done == n ? RONCHI_OK : damaged(acquisition, err);
}

ronchi_status ronchi_scan_valid_put(ronchi_acquisition *acquisition, const uint8_t *valid, ronchi_error *err)
{
    size_t n = acquisition->store->n_positions, n_runs = 0;
    bool all = true;
    json_t *runs = json_array();
    for (size_t i = 0, end; i < n && n_runs <= MOST_RUNS; i = end, n_runs++) {
        for (end = i; end < n && (valid[end] != 0) == (n_runs % 2 != 0);)
            end++;
        all = all && (n_runs % 2 != 0 || end == i);
        json_array_append_new(runs, json_integer((json_int_t)(end - i)));
    }
    json_t *ours = json_object_get(json_object_get(acquisition->scientific, "extensions"), "ronchi");
    if (all) {
        json_object_del(ours, "scan_valid");
        json_decref(runs);
        return RONCHI_OK;
    }
    ronchi_status status = RONCHI_ERR_UNSUPPORTED;
    if (n_runs <= MOST_RUNS)
        status =
            ronchi_scientific_extension_set(acquisition->scientific, "scan_valid", json_pack("{s:o}", "runs", runs));
    else
        json_decref(runs);
    if (status == RONCHI_OK)
        return status;
    return ronchi_fail(err, status, acquisition->info.source_name, RONCHI_NO_OFFSET,
                       "the validity of %zu scan positions cannot be kept in the metadata", n);
}

ronchi_status ronchi_geometry_scan_valid(const ronchi_acquisition *acquisition, const ronchi_view *out,
                                         ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_store *store = acquisition->store;
    if (!ronchi_view_is(out, 1, 1, store->shape.scan_rows, store->shape.scan_cols) || out->dtype != RONCHI_U8)
        return ronchi_fail(err, RONCHI_ERR_SHAPE, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "the validity mask must be uint8 of %zu x %zu", store->shape.scan_rows,
                           store->shape.scan_cols);
    uint8_t *valid = ronchi_alloc(store->context, store->n_positions);
    if (!valid)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the validity mask");
    status = ronchi_scan_valid_take(acquisition, valid, err);
    for (size_t i = 0; status == RONCHI_OK && i < store->n_positions; i++)
        *(uint8_t *)ronchi_view_at(out, 0, 0, i / store->shape.scan_cols, i % store->shape.scan_cols) = valid[i];
    ronchi_free(store->context, valid);
    return status;
}
