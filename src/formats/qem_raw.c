/* SPDX-License-Identifier: MIT */
/*
 * qem_raw.c - raw values at flagged pixels as JSON (extensions.ronchi "flagged_raw"):
 *
 *   {"constant": [{"value": 4294967295, "pixels": [first, count, first, count, ...]}, ...],
 *    "runs":     [{"pixel": 17, "until_value": [until, value, until, value, ...]}, ...]}
 *
 * Pixels that hold one value through the whole scan, nearly always all of them, are ranges under that value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/qem_internal.h"

enum { MAX_PAIRS = 400000 }; /* about 8 MiB of JSON, half of what a header may have */

static const char place[] = "scientific_metadata.extensions.ronchi.flagged_raw";

void ronchi_raw_free(size_t n_raw, ronchi_raw_pixel *raw)
{
    for (size_t i = 0; raw && i < n_raw; i++)
        free(raw[i].runs);
    free(raw);
}

/* ---------------------------------------------------------------------------------------------------- encoding */

/* Order of pixels in the JSON: by constant value, then by index; those with several runs last. */
static int by_value(const void *a, const void *b)
{
    const ronchi_raw_pixel *x = *(const ronchi_raw_pixel *const *)a, *y = *(const ronchi_raw_pixel *const *)b;
    bool several_x = x->n_runs > 1, several_y = y->n_runs > 1;
    if (several_x != several_y)
        return several_x ? 1 : -1;
    if (!several_x && x->runs[0].value != y->runs[0].value)
        return x->runs[0].value < y->runs[0].value ? -1 : 1;
    return x->pixel < y->pixel ? -1 : x->pixel > y->pixel;
}

/* The group of one value, pixels [0, n) of 'sorted' as ranges. */
static json_t *constant_group(const ronchi_raw_pixel *const *sorted, size_t n)
{
    json_t *ranges = json_array();
    int failed = !ranges;
    for (size_t i = 0; i < n && !failed;) {
        size_t count = 1;
        while (i + count < n && sorted[i + count]->pixel == sorted[i]->pixel + count)
            count++;
        failed = json_array_append_new(ranges, json_integer((json_int_t)sorted[i]->pixel)) ||
                 json_array_append_new(ranges, json_integer((json_int_t)count));
        i += count;
    }
    if (failed) {
        json_decref(ranges);
        return NULL;
    }
    return json_pack("{s:I, s:o}", "value", (json_int_t)sorted[0]->runs[0].value, "pixels", ranges);
}

static json_t *run_list(const ronchi_raw_pixel *pixel)
{
    json_t *list = json_array();
    int failed = !list;
    for (size_t i = 0; i < pixel->n_runs && !failed; i++)
        failed = json_array_append_new(list, json_integer((json_int_t)pixel->runs[i].until)) ||
                 json_array_append_new(list, json_integer((json_int_t)pixel->runs[i].value));
    if (failed) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:I, s:o}", "pixel", (json_int_t)pixel->pixel, "until_value", list);
}

static json_t *encode_sorted(const ronchi_raw_pixel *const *sorted, size_t n)
{
    json_t *constant = json_array(), *runs = json_array();
    int failed = !constant || !runs;
    for (size_t i = 0; i < n && !failed;) {
        size_t count = 1;
        if (sorted[i]->n_runs > 1) {
            failed = json_array_append_new(runs, run_list(sorted[i]));
        } else {
            while (i + count < n && sorted[i + count]->n_runs == 1 &&
                   sorted[i + count]->runs[0].value == sorted[i]->runs[0].value)
                count++;
            failed = json_array_append_new(constant, constant_group(sorted + i, count));
        }
        i += count;
    }
    if (failed) {
        json_decref(constant);
        json_decref(runs);
        return NULL;
    }
    return json_pack("{s:o, s:o}", "constant", constant, "runs", runs);
}

/* Pairs of numbers that the JSON will have: ranges of pixels and runs. */
static size_t count_pairs(const ronchi_raw_pixel *const *sorted, size_t n)
{
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++) {
        bool continues = i && sorted[i]->n_runs == 1 && sorted[i - 1]->n_runs == 1 &&
                         sorted[i]->runs[0].value == sorted[i - 1]->runs[0].value &&
                         sorted[i]->pixel == sorted[i - 1]->pixel + 1;
        pairs += continues ? 0 : sorted[i]->n_runs;
    }
    return pairs;
}

ronchi_status ronchi_raw_encode(size_t n_raw, const ronchi_raw_pixel *raw, json_t **out, ronchi_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < n_raw; i++)
        if (!raw[i].n_runs)
            return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "flagged pixel %zu has no value",
                               raw[i].pixel);
    const ronchi_raw_pixel **sorted = malloc((n_raw ? n_raw : 1) * sizeof *sorted);
    size_t pairs = 0;
    if (sorted) {
        for (size_t i = 0; i < n_raw; i++)
            sorted[i] = &raw[i];
        qsort(sorted, n_raw, sizeof *sorted, by_value);
        pairs = count_pairs(sorted, n_raw);
        *out = pairs > MAX_PAIRS ? NULL : encode_sorted(sorted, n_raw);
    }
    free(sorted);
    if (pairs > MAX_PAIRS)
        return ronchi_fail(
            err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
            "the raw values at flagged pixels change %zu times, more than the %d that a header holds: keep the "
            "counts as uint32",
            pairs, MAX_PAIRS);
    return *out ? RONCHI_OK
                : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                              "no memory for the table of flagged pixels");
}

/* ---------------------------------------------------------------------------------------------------- decoding */

/* What has been read so far. */
typedef struct table {
    ronchi_json_check check;
    size_t n_positions, n_pixels;
    size_t n, room;
    ronchi_raw_pixel *raw;
} table;

static ronchi_status no_memory(const table *t)
{
    return ronchi_fail(t->check.err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                       "no memory for the table of flagged pixels");
}

/* Adds a pixel with room for 'n_runs' runs. */
static ronchi_status add_pixel(table *t, uint64_t pixel, size_t n_runs, ronchi_raw_run **runs)
{
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 64;
        ronchi_raw_pixel *more = realloc(t->raw, room * sizeof *more);
        if (!more)
            return no_memory(t);
        t->raw = more;
        t->room = room;
    }
    *runs = calloc(n_runs, sizeof **runs);
    if (!*runs)
        return no_memory(t);
    t->raw[t->n++] = (ronchi_raw_pixel){(size_t)pixel, n_runs, *runs};
    return RONCHI_OK;
}

static bool is_value(const json_t *value, uint32_t *out)
{
    uint64_t wide;
    if (!ronchi_json_count(value, 0, &wide) || wide > UINT32_MAX)
        return false;
    *out = (uint32_t)wide;
    return true;
}

static ronchi_status decode_range(table *t, uint64_t first, uint64_t count, uint32_t value)
{
    /* Ranges may not overlap, so the pixels of a good table are never more than the detector has. */
    if (first >= t->n_pixels || count > t->n_pixels - first || count > t->n_pixels - t->n)
        return ronchi_json_bad(&t->check, place, "pixels %llu + %llu are more than the %zu of the detector",
                               (unsigned long long)first, (unsigned long long)count, t->n_pixels);
    for (uint64_t i = 0; i < count; i++) {
        ronchi_raw_run *run;
        ronchi_status status = add_pixel(t, first + i, 1, &run);
        if (status != RONCHI_OK)
            return status;
        *run = (ronchi_raw_run){t->n_positions, value};
    }
    return RONCHI_OK;
}

static ronchi_status decode_constant(table *t, const json_t *group)
{
    uint32_t value;
    const json_t *ranges = json_object_get(group, "pixels");
    if (!is_value(json_object_get(group, "value"), &value) || !json_is_array(ranges) || json_array_size(ranges) % 2)
        return ronchi_json_bad(&t->check, place, "constant: each group needs value and pixels [first, count, ...]");
    for (size_t i = 0; i < json_array_size(ranges); i += 2) {
        uint64_t first, count;
        if (!ronchi_json_count(json_array_get(ranges, i), 0, &first) ||
            !ronchi_json_count(json_array_get(ranges, i + 1), 1, &count))
            return ronchi_json_bad(&t->check, place, "constant: pixels must be pairs of first and count");
        ronchi_status status = decode_range(t, first, count, value);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

static ronchi_status decode_runs(table *t, const json_t *entry)
{
    uint64_t pixel, before = 0;
    const json_t *list = json_object_get(entry, "until_value");
    size_t n = json_array_size(list) / 2;
    if (!ronchi_json_count(json_object_get(entry, "pixel"), 0, &pixel) || pixel >= t->n_pixels || !n ||
        json_array_size(list) % 2)
        return ronchi_json_bad(&t->check, place, "runs: each entry needs a pixel below %zu and until_value",
                               t->n_pixels);
    ronchi_raw_run *runs;
    ronchi_status status = add_pixel(t, pixel, n, &runs);
    for (size_t i = 0; i < n && status == RONCHI_OK; i++) {
        if (!ronchi_json_count(json_array_get(list, 2 * i), before + 1, &runs[i].until) ||
            !is_value(json_array_get(list, 2 * i + 1), &runs[i].value) || runs[i].until > t->n_positions)
            return ronchi_json_bad(&t->check, place,
                                   "runs: those of pixel %llu must increase to the %zu scan positions",
                                   (unsigned long long)pixel, t->n_positions);
        before = runs[i].until;
    }
    if (status == RONCHI_OK && before != t->n_positions)
        return ronchi_json_bad(&t->check, place, "runs: those of pixel %llu end at scan position %llu of %zu",
                               (unsigned long long)pixel, (unsigned long long)before, t->n_positions);
    return status;
}

static int by_pixel(const void *a, const void *b)
{
    const ronchi_raw_pixel *x = a, *y = b;
    return x->pixel < y->pixel ? -1 : x->pixel > y->pixel;
}

static ronchi_status decode_all(table *t, const json_t *object)
{
    const json_t *constant = json_object_get(object, "constant"), *runs = json_object_get(object, "runs");
    ronchi_status status = RONCHI_OK;
    if (!json_is_array(constant) || !json_is_array(runs))
        return ronchi_json_bad(&t->check, place, "must be an object with the lists constant and runs");
    for (size_t i = 0; i < json_array_size(constant) && status == RONCHI_OK; i++)
        status = decode_constant(t, json_array_get(constant, i));
    for (size_t i = 0; i < json_array_size(runs) && status == RONCHI_OK; i++)
        status = decode_runs(t, json_array_get(runs, i));
    if (status != RONCHI_OK || !t->n)
        return status;
    qsort(t->raw, t->n, sizeof *t->raw, by_pixel);
    for (size_t i = 1; i < t->n; i++)
        if (t->raw[i].pixel == t->raw[i - 1].pixel)
            return ronchi_json_bad(&t->check, place, "pixel %zu occurs twice", t->raw[i].pixel);
    return RONCHI_OK;
}

ronchi_status ronchi_raw_decode(const json_t *object, size_t n_positions, size_t n_pixels, size_t *n_raw,
                                ronchi_raw_pixel **out, ronchi_error *err)
{
    table t = {{NULL, err}, n_positions, n_pixels, 0, 0, NULL};
    *n_raw = 0;
    *out = NULL;
    ronchi_status status = decode_all(&t, object);
    if (status != RONCHI_OK) {
        ronchi_raw_free(t.n, t.raw);
        return status;
    }
    *n_raw = t.n;
    *out = t.raw;
    return RONCHI_OK;
}
