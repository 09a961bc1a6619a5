/* SPDX-License-Identifier: MIT */
/* flagged.c - correction of flagged pixels, and their raw values as run lengths. */
#include "resident/flagged.h"

#include <stdlib.h>
#include <string.h>

#include "resident/flagged_core.h"

ronchi_status ronchi_flagged_list(const uint8_t *valid, size_t n_pixels, size_t **out, size_t *n_flagged,
                                  ronchi_error *err)
{
    size_t n = 0;
    *out = NULL;
    *n_flagged = 0;
    for (size_t p = 0; p < n_pixels; p++)
        n += !valid[p];
    if (!n)
        return RONCHI_OK;
    size_t *list = malloc(n * sizeof *list);
    if (!list)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu flagged pixels", n);
    size_t k = 0;
    for (size_t p = 0; p < n_pixels; p++)
        if (!valid[p])
            list[k++] = p;
    *out = list;
    *n_flagged = n;
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------- correction */

void ronchi_flagged_correct(const ronchi_shape *shape, ronchi_dtype dtype, const uint8_t *valid, const size_t *flagged,
                            size_t n_flagged, ronchi_flagged policy, void *frame)
{
    /* Neighbours are unflagged only, so the order of replacement does not matter. */
    size_t element = ronchi_dtype_size(dtype), rows = shape->det_rows, cols = shape->det_cols;
    for (size_t k = 0; k < n_flagged; k++)
        ronchi_flagged_put(
            frame, element, flagged[k],
            policy == RONCHI_FLAGGED_MEDIAN ? ronchi_flagged_median(rows, cols, element, valid, frame, flagged[k]) : 0);
}

/* ------------------------------------------------------------------------------------------- table of raw values */

struct raw_column {
    bool seen;
    uint32_t constant, largest;
    uint32_t *values; /* [n_positions] once it varies */
};

ronchi_status ronchi_raw_collector_init(ronchi_raw_collector *collector, ronchi_context *context, size_t n_flagged,
                                        size_t n_positions, uint64_t limit_bytes, ronchi_error *err)
{
    memset(collector, 0, sizeof *collector);
    collector->context = context;
    collector->n_flagged = n_flagged;
    collector->n_positions = n_positions;
    collector->limit_bytes = limit_bytes;
    collector->columns = ronchi_calloc(context, n_flagged ? n_flagged : 1, sizeof *collector->columns);
    if (!collector->columns)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu flagged pixels",
                           n_flagged);
    return RONCHI_OK;
}

/* The first value that differs: from here on every position has its own.  Positions not met yet are overwritten later.
 */
static ronchi_status start_values(ronchi_raw_collector *collector, struct raw_column *column)
{
    uint64_t bytes = (uint64_t)collector->n_positions * sizeof *column->values;
    if (collector->value_bytes + bytes > collector->limit_bytes)
        return RONCHI_ERR_RANGE;
    column->values = ronchi_alloc(collector->context, (size_t)bytes);
    if (!column->values)
        return RONCHI_ERR_MEMORY;
    collector->value_bytes += bytes;
    for (size_t i = 0; i < collector->n_positions; i++)
        column->values[i] = column->constant;
    return RONCHI_OK;
}

ronchi_status ronchi_raw_collect(ronchi_raw_collector *collector, uint64_t position, const uint32_t *values)
{
    for (size_t k = 0; k < collector->n_flagged; k++) {
        struct raw_column *column = &collector->columns[k];
        uint32_t v = values[k];
        if (!column->seen) {
            column->seen = true;
            column->constant = v;
        }
        if (v > column->largest)
            column->largest = v;
        collector->n_zeroed += v > UINT16_MAX;
        if (!column->values && v != column->constant) {
            ronchi_status status = start_values(collector, column);
            if (status != RONCHI_OK)
                return status;
        }
        if (column->values)
            column->values[position] = v;
    }
    return RONCHI_OK;
}

static ronchi_status make_runs(const struct raw_column *column, size_t n_positions, ronchi_raw_pixel *out)
{
    size_t n = 1;
    for (size_t i = 1; column->values && i < n_positions; i++)
        n += column->values[i] != column->values[i - 1];
    out->runs = malloc(n * sizeof *out->runs);
    out->n_runs = n;
    if (!out->runs)
        return RONCHI_ERR_MEMORY;
    size_t k = 0;
    for (size_t i = 1; column->values && i < n_positions; i++)
        if (column->values[i] != column->values[i - 1]) {
            out->runs[k].until = i;
            out->runs[k++].value = column->values[i - 1];
        }
    out->runs[k].until = n_positions;
    out->runs[k].value = column->values ? column->values[n_positions - 1] : column->constant;
    return RONCHI_OK;
}

ronchi_status ronchi_raw_finish(ronchi_raw_collector *collector, const size_t *flagged, uint32_t largest,
                                ronchi_raw_pixel **out, size_t *n_raw, ronchi_error *err)
{
    size_t n = 0;
    *out = NULL;
    *n_raw = 0;
    for (size_t k = 0; k < collector->n_flagged; k++)
        n += collector->columns[k].largest > largest;
    if (!n)
        return RONCHI_OK;
    ronchi_raw_pixel *raw = calloc(n, sizeof *raw);
    ronchi_status status = raw ? RONCHI_OK : RONCHI_ERR_MEMORY;
    size_t made = 0;
    for (size_t k = 0; status == RONCHI_OK && k < collector->n_flagged; k++)
        if (collector->columns[k].largest > largest) {
            raw[made].pixel = flagged[k];
            status = make_runs(&collector->columns[k], collector->n_positions, &raw[made++]);
        }
    if (status != RONCHI_OK) {
        ronchi_raw_free(made, raw);
        return ronchi_fail(err, status, NULL, RONCHI_NO_OFFSET, "no memory for the raw values of %zu flagged pixels",
                           n);
    }
    *out = raw;
    *n_raw = n;
    return RONCHI_OK;
}

void ronchi_raw_collector_release(ronchi_raw_collector *collector)
{
    for (size_t k = 0; collector->columns && k < collector->n_flagged; k++)
        ronchi_free(collector->context, collector->columns[k].values);
    if (collector->columns)
        ronchi_free(collector->context, collector->columns);
    collector->columns = NULL;
}
