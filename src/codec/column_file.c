/* SPDX-License-Identifier: MIT */
/* column_file.c - column-rans-v2 to and from a container: header fields, the body's arrays, and every check of the
 * layout. */
#include <string.h>

#include "codec/column.h"
#include "codec/header_fields.h"

/* -------------------------------------------------------------------------------------------------------- writing */

static json_t *describe_chunk(const column_chunk *chunk)
{
    json_t *arrays = json_array();
    for (size_t k = 0; k < COLUMN_ARRAYS; k++)
        json_array_append_new(arrays, json_pack("{s:I, s:I}", "offset", (json_int_t)chunk->arrays[k].body_offset,
                                                "count", (json_int_t)chunk->arrays[k].count));
    return json_pack("{s:I, s:I, s:o}", "first", (json_int_t)chunk->first, "scans", (json_int_t)chunk->n_positions,
                     "arrays", arrays);
}

ronchi_status ronchi_column_describe(const ronchi_store *base, json_t *header, ronchi_error *err)
{
    const column_store *store = (const column_store *)base;
    json_t *chunks = json_array();
    int failed = 0;
    for (size_t i = 0; i < store->n_chunks; i++)
        failed |= json_array_append_new(chunks, describe_chunk(&store->chunks[i]));
    failed |= json_object_set_new(header, "version", json_integer(1));
    failed |= json_object_set_new(header, "interval", json_integer(RONCHI_STREAM_SPAN));
    failed |= json_object_set_new(header, "valid", ronchi_header_valid_text(base->valid, base->n_pixels));
    failed |= json_object_set_new(header, "chunks", chunks);
    if (failed)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a header of %zu chunks",
                           store->n_chunks);
    return RONCHI_OK;
}

size_t ronchi_column_n_spans(const ronchi_store *base)
{
    return ((const column_store *)base)->n_chunks * COLUMN_ARRAYS;
}

ronchi_span ronchi_column_span(const ronchi_store *base, size_t index)
{
    const column_store *store = (const column_store *)base;
    size_t which = index % COLUMN_ARRAYS;
    const column_array *array = &store->chunks[index / COLUMN_ARRAYS].arrays[which];
    uint64_t before = 0;
    if (index) {
        const column_array *last = &store->chunks[(index - 1) / COLUMN_ARRAYS].arrays[(index - 1) % COLUMN_ARRAYS];
        before = last->body_offset + last->count * ronchi_column_item_size((index - 1) % COLUMN_ARRAYS);
    }
    ronchi_span span = {(size_t)(array->body_offset - before), array->data,
                        array->count * ronchi_column_item_size(which)};
    return span;
}

/* --------------------------------------------------------------------------------------------- the layout, reading */

static ronchi_status check_fields(const json_t *header, ronchi_dtype dtype, ronchi_error *err)
{
    if (!ronchi_header_is(header, "version", 1))
        return ronchi_header_bad(err, "'version' of the codec is not 1");
    if (!ronchi_header_is(header, "interval", RONCHI_STREAM_SPAN))
        return ronchi_header_bad(err, "'interval' is not 512");
    if (dtype != RONCHI_U8 && dtype != RONCHI_U16)
        return ronchi_header_bad(err, "'dtype' is %s, not uint8 or uint16", ronchi_dtype_name(dtype));
    if (!json_is_object(json_object_get(header, "metadata")))
        return ronchi_header_bad(err, "'metadata' is not an object");
    if (!json_is_array(json_object_get(header, "chunks")) || json_array_size(json_object_get(header, "chunks")) == 0)
        return ronchi_header_bad(err, "'chunks' is not a list of chunks");
    return RONCHI_OK;
}

/* Lays out one array as the format demands and compares that with what the header says. */
static ronchi_status plan_array(column_store *store, size_t index, size_t which, const json_t *json,
                                uint64_t body_bytes, ronchi_error *err)
{
    column_chunk *chunk = &store->chunks[index];
    column_array *array = &chunk->arrays[which];
    const uint64_t streams = chunk->n_streams, fields = (uint64_t)chunk->n_spans * store->fields.n_fields;
    const uint64_t required[COLUMN_ARRAYS] = {0, streams + 1, streams, 0, fields + 1, fields};
    uint64_t offset, count, item = ronchi_column_item_size(which);
    if (!ronchi_header_size(json, "offset", &offset) || !ronchi_header_size(json, "count", &count))
        return ronchi_header_bad(err, "chunk %zu array %zu needs 'offset' and 'count'", index, which);
    uint64_t cursor = (store->body_bytes + 7) / 8 * 8;
    if (offset != cursor)
        return ronchi_header_bad(err, "chunk %zu array %zu is at body byte %llu, not at %llu", index, which,
                                 (unsigned long long)offset, (unsigned long long)cursor);
    if (which != COLUMN_PAYLOAD && which != COLUMN_SUMS && count != required[which])
        return ronchi_header_bad(err, "chunk %zu array %zu has %llu elements, not %llu", index, which,
                                 (unsigned long long)count, (unsigned long long)required[which]);
    if (cursor > body_bytes || count > (body_bytes - cursor) / item)
        return ronchi_header_bad(err, "chunk %zu array %zu reaches beyond the body of %llu bytes", index, which,
                                 (unsigned long long)body_bytes);
    array->count = (size_t)count;
    array->body_offset = cursor;
    store->body_bytes = cursor + count * item;
    return RONCHI_OK;
}

static ronchi_status plan_chunk(column_store *store, size_t index, const json_t *json, uint64_t body_bytes,
                                uint64_t *next, ronchi_error *err)
{
    const uint64_t n_pixels = store->base.n_pixels, left = store->base.n_positions - *next;
    column_chunk *chunk = &store->chunks[index];
    uint64_t first, scans;
    if (!ronchi_header_size(json, "first", &first) || first != *next)
        return ronchi_header_bad(err, "chunk %zu does not begin at position %llu", index, (unsigned long long)*next);
    if (!ronchi_header_size(json, "scans", &scans) || scans == 0 || scans > left)
        return ronchi_header_bad(err, "chunk %zu: 'scans' is not a number from 1 to %llu", index,
                                 (unsigned long long)left);
    uint64_t n_spans = scans / RONCHI_STREAM_SPAN + (scans % RONCHI_STREAM_SPAN != 0);
    uint64_t per_stream = 2 * (scans < RONCHI_STREAM_SPAN ? scans : RONCHI_STREAM_SPAN) + 4;
    if (n_spans > UINT32_MAX / per_stream / n_pixels)
        return ronchi_header_bad(err, "chunk %zu: its payload could exceed 32-bit offsets", index);
    chunk->first = first;
    chunk->n_positions = (size_t)scans;
    chunk->n_spans = (size_t)n_spans;
    chunk->n_streams = (size_t)(n_spans * n_pixels);
    const json_t *arrays = json_object_get(json, "arrays");
    if (!json_is_array(arrays) || json_array_size(arrays) != COLUMN_ARRAYS)
        return ronchi_header_bad(err, "chunk %zu does not have six arrays", index);
    for (size_t k = 0; k < COLUMN_ARRAYS; k++) {
        ronchi_status status = plan_array(store, index, k, json_array_get(arrays, k), body_bytes, err);
        if (status != RONCHI_OK)
            return status;
    }
    *next += scans;
    return RONCHI_OK;
}

static ronchi_status plan(column_store *store, const json_t *chunks, uint64_t body_bytes, ronchi_error *err)
{
    store->n_chunks = json_array_size(chunks);
    if (store->n_chunks > store->base.n_positions || store->n_chunks > body_bytes / 8)
        return ronchi_header_bad(err, "%zu chunks do not fit the scan and a body of %llu bytes", store->n_chunks,
                                 (unsigned long long)body_bytes);
    store->chunks = ronchi_calloc(store->base.context, store->n_chunks, sizeof *store->chunks);
    if (!store->chunks)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu chunks", store->n_chunks);
    uint64_t next = 0;
    for (size_t i = 0; i < store->n_chunks; i++) {
        ronchi_status status = plan_chunk(store, i, json_array_get(chunks, i), body_bytes, &next, err);
        if (status != RONCHI_OK)
            return status;
    }
    if (next != store->base.n_positions)
        return ronchi_header_bad(err, "the chunks cover %llu of %zu positions", (unsigned long long)next,
                                 store->base.n_positions);
    if (store->body_bytes != body_bytes)
        return ronchi_header_bad(err, "the arrays end at body byte %llu, the body at %llu",
                                 (unsigned long long)store->body_bytes, (unsigned long long)body_bytes);
    return RONCHI_OK;
}

/* --------------------------------------------------------------------------------------------------- the arrays */

static ronchi_status bad_array(const column_chunk *chunk, size_t index, size_t which, size_t element, const char *what,
                               ronchi_error *err)
{
    uint64_t byte = chunk->arrays[which].body_offset + element * ronchi_column_item_size(which);
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, byte,
                       "chunk %zu array %zu element %zu at body byte %llu: %s; the file is damaged", index, which,
                       element, (unsigned long long)byte, what);
}

static ronchi_status check_streams(const column_store *store, size_t index, ronchi_error *err)
{
    const column_chunk *chunk = &store->chunks[index];
    const uint32_t *offsets = column_offsets(chunk);
    if (offsets[0] != 0)
        return bad_array(chunk, index, COLUMN_OFFSETS, 0, "the first payload offset is not 0", err);
    for (size_t i = 0; i < chunk->n_streams; i++)
        if (offsets[i + 1] < offsets[i])
            return bad_array(chunk, index, COLUMN_OFFSETS, i + 1, "payload offsets decrease", err);
    if (offsets[chunk->n_streams] != chunk->arrays[COLUMN_PAYLOAD].count)
        return bad_array(chunk, index, COLUMN_OFFSETS, chunk->n_streams,
                         "the last payload offset is not the end of the payload", err);
    for (size_t i = 0; i < chunk->n_streams; i++) {
        size_t span = i / store->base.n_pixels;
        size_t n = ronchi_min_size(RONCHI_STREAM_SPAN, chunk->n_positions - span * RONCHI_STREAM_SPAN);
        ronchi_stream_fault fault = ronchi_stream_check(column_selectors(chunk)[i], offsets[i + 1] - offsets[i], n);
        if (fault != RONCHI_STREAM_OK) {
            column_span where = {0, (uint32_t)n, (uint32_t)span, index};
            return ronchi_column_fail_stream(store, &where, i % store->base.n_pixels, ronchi_stream_fault_text(fault),
                                             err);
        }
    }
    return RONCHI_OK;
}

static ronchi_status check_sums(const column_store *store, size_t index, ronchi_error *err)
{
    const column_chunk *chunk = &store->chunks[index];
    const uint64_t *offsets = chunk->arrays[COLUMN_SUM_OFFSETS].data;
    const uint8_t *widths = chunk->arrays[COLUMN_SUM_WIDTHS].data;
    size_t n_fields = store->fields.n_fields, n_all = chunk->n_spans * n_fields;
    if (offsets[0] != 0)
        return bad_array(chunk, index, COLUMN_SUM_OFFSETS, 0, "the first offset of the sums is not 0", err);
    for (size_t i = 0; i < n_all; i++) {
        size_t n = ronchi_min_size(RONCHI_STREAM_SPAN, chunk->n_positions - i / n_fields * RONCHI_STREAM_SPAN);
        if (widths[i] > 32)
            return bad_array(chunk, index, COLUMN_SUM_WIDTHS, i, "a width of the sums is above 32", err);
        if (offsets[i + 1] < offsets[i] || offsets[i + 1] - offsets[i] != ronchi_sum_words(n, widths[i]))
            return bad_array(chunk, index, COLUMN_SUM_OFFSETS, i + 1, "an offset of the sums does not suit the width",
                             err);
    }
    if (offsets[n_all] != chunk->arrays[COLUMN_SUMS].count)
        return bad_array(chunk, index, COLUMN_SUM_OFFSETS, n_all, "the last offset is not the end of the sums", err);
    return RONCHI_OK;
}

static ronchi_status read_chunk(column_store *store, size_t index, ronchi_body_read_fn read, void *user,
                                ronchi_error *err)
{
    for (size_t k = 0; k < COLUMN_ARRAYS; k++) {
        column_array *array = &store->chunks[index].arrays[k];
        size_t size = array->count * ronchi_column_item_size(k);
        array->data = ronchi_alloc(store->base.context, size);
        if (!array->data)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                               "no memory for %zu bytes of encoded counts", size);
        ronchi_status status = size ? read(user, array->body_offset, array->data, size, err) : RONCHI_OK;
        if (status != RONCHI_OK)
            return status;
    }
    ronchi_status status = check_streams(store, index, err);
    return status == RONCHI_OK ? check_sums(store, index, err) : status;
}

ronchi_status ronchi_column_adopt(ronchi_context *context, const json_t *header, const ronchi_shape *shape,
                                  ronchi_dtype dtype, uint64_t body_bytes, ronchi_body_read_fn read, void *user,
                                  ronchi_store **out, ronchi_error *err)
{
    column_store *store;
    *out = NULL;
    ronchi_status status = check_fields(header, dtype, err);
    if (status == RONCHI_OK)
        status = ronchi_header_valid_check(header, shape, err);
    if (status == RONCHI_OK)
        status = ronchi_column_create_empty(context, shape, dtype, NULL, &store, err);
    if (status != RONCHI_OK)
        return status;
    status = ronchi_header_valid_parse(header, store->base.valid, store->base.n_pixels, err);
    if (status == RONCHI_OK)
        status = plan(store, json_object_get(header, "chunks"), body_bytes, err);
    for (size_t i = 0; status == RONCHI_OK && i < store->n_chunks; i++, store->n_filled++)
        status = read_chunk(store, i, read, user, err);
    if (status == RONCHI_OK)
        status = ronchi_column_list_spans(store, err);
    if (status != RONCHI_OK) {
        ronchi_column_destroy(&store->base);
        return status;
    }
    store->largest = dtype == RONCHI_U8 ? UINT8_MAX : UINT16_MAX;
    store->base.max_count = store->largest;
    *out = &store->base;
    return RONCHI_OK;
}
