/* SPDX-License-Identifier: MIT */
/* lanes_file.c - bit lanes to and from a container: header fields, the body's arrays, and every check of the layout. */
#include <string.h>

#include "codec/header_fields.h"
#include "codec/lanes.h"

static uint64_t offset_bytes(const lanes_store *store)
{
    return ((uint64_t)lanes_n_streams(store) + 1) * 4;
}

/* -------------------------------------------------------------------------------------------------------- writing */

static json_t *describe_chunk(const lanes_store *store, const lanes_chunk *chunk)
{
    json_int_t payload = (json_int_t)chunk->payload_bytes, at = (json_int_t)chunk->body_offset;
    json_int_t offsets = (json_int_t)offset_bytes(store), models = (json_int_t)lanes_n_streams(store);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "first", (json_int_t)chunk->first, "scans",
                     (json_int_t)chunk->n_positions, "payload_offset", at, "payload_bytes", payload, "offset_offset",
                     at + payload, "offset_bytes", offsets, "model_offset", at + payload + offsets, "model_bytes",
                     models);
}

ronchi_status ronchi_lanes_describe(const ronchi_store *base, json_t *header, ronchi_error *err)
{
    const lanes_store *store = (const lanes_store *)base;
    json_t *chunks = json_array();
    int failed = 0;
    for (size_t i = 0; i < store->n_chunks; i++)
        failed |= json_array_append_new(chunks, describe_chunk(store, &store->chunks[i]));
    failed |= json_object_set_new(header, "version", json_integer(1));
    failed |= json_object_set_new(header, "logical_sha256", json_string(store->logical));
    failed |= json_object_set_new(header, "chunks", chunks);
    if (base->dtype == RONCHI_F32)
        failed |= json_object_set(header, "empad", store->identity);
    else
        failed |= json_object_set_new(header, "valid", ronchi_header_valid_text(base->valid, base->n_pixels));
    if (failed)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a header of %zu chunks",
                           store->n_chunks);
    return RONCHI_OK;
}

size_t ronchi_lanes_n_spans(const ronchi_store *base)
{
    return 3 * ((const lanes_store *)base)->n_chunks;
}

ronchi_span ronchi_lanes_span(const ronchi_store *base, size_t index)
{
    const lanes_store *store = (const lanes_store *)base;
    const lanes_chunk *chunk = &store->chunks[index / 3];
    ronchi_span spans[3] = {{0, chunk->payload, (size_t)chunk->payload_bytes},
                            {0, chunk->offsets, (size_t)offset_bytes(store)},
                            {0, chunk->selectors, lanes_n_streams(store)}};
    return spans[index % 3];
}

/* --------------------------------------------------------------------------------------------- the layout, reading */

static bool is_digest(const json_t *text)
{
    if (!json_is_string(text) || json_string_length(text) != 64)
        return false;
    return strspn(json_string_value(text), "0123456789abcdef") == 64;
}

static ronchi_status check_fields(const json_t *header, ronchi_dtype own, const ronchi_shape *shape, ronchi_dtype dtype,
                                  ronchi_error *err)
{
    size_t n_pixels;
    const json_t *metadata = json_object_get(header, "metadata");
    if (!ronchi_header_is(header, "version", 1))
        return ronchi_header_bad(err, "'version' of the codec is not 1");
    if (dtype != own)
        return ronchi_header_bad(err, "'dtype' is %s, not %s", ronchi_dtype_name(dtype), ronchi_dtype_name(own));
    if (!ronchi_shape_detector(shape, &n_pixels) || !ronchi_lanes_most_positions(n_pixels))
        return ronchi_header_bad(err, "frames of %zu x %zu are above 32 MiB", shape->det_rows, shape->det_cols);
    if (metadata && !json_is_object(metadata))
        return ronchi_header_bad(err, "'metadata' is not an object");
    if (!is_digest(json_object_get(header, "logical_sha256")))
        return ronchi_header_bad(err, "'logical_sha256' is not 64 hexadecimal digits");
    if (own == RONCHI_F32 && !json_is_object(json_object_get(header, "empad")))
        return ronchi_header_bad(err, "'empad' is not an object");
    if (!json_is_array(json_object_get(header, "chunks")) || json_array_size(json_object_get(header, "chunks")) == 0)
        return ronchi_header_bad(err, "'chunks' is not a list of chunks");
    return own == RONCHI_U32 ? ronchi_header_valid_check(header, shape, err) : RONCHI_OK;
}

/* One of the three arrays of a chunk: where the last ended, with the bytes that the header says and 'required' unless
 * that is 0. */
static ronchi_status plan_array(lanes_store *store, size_t index, const json_t *json, const char *name,
                                uint64_t required, uint64_t body_bytes, uint64_t *bytes, ronchi_error *err)
{
    char key[2][24];
    uint64_t offset;
    for (size_t i = 0; i < 2; i++) {
        strcpy(key[i], name);
        strcat(key[i], i ? "_bytes" : "_offset");
    }
    if (!ronchi_header_size(json, key[0], &offset) || offset != store->body_bytes)
        return ronchi_header_bad(err, "chunk %zu: '%s' is not %llu", index, key[0],
                                 (unsigned long long)store->body_bytes);
    if (!ronchi_header_size(json, key[1], bytes) || *bytes == 0 || (required && *bytes != required))
        return ronchi_header_bad(err, "chunk %zu: '%s' is not what the shape demands", index, key[1]);
    if (*bytes > body_bytes - store->body_bytes)
        return ronchi_header_bad(err, "chunk %zu: '%s' reaches beyond the body of %llu bytes", index, key[1],
                                 (unsigned long long)body_bytes);
    store->body_bytes += *bytes;
    return RONCHI_OK;
}

static ronchi_status plan_chunk(lanes_store *store, size_t index, const json_t *json, uint64_t body_bytes,
                                uint64_t *next, ronchi_error *err)
{
    const uint64_t left = store->base.n_positions - *next, most = ronchi_lanes_most_positions(store->base.n_pixels);
    lanes_chunk *chunk = &store->chunks[index];
    uint64_t first, scans, ignored, limit = left < most ? left : most;
    if (!ronchi_header_size(json, "first", &first) || first != *next)
        return ronchi_header_bad(err, "chunk %zu does not begin at position %llu", index, (unsigned long long)*next);
    if (!ronchi_header_size(json, "scans", &scans) || scans == 0 || scans > limit)
        return ronchi_header_bad(err, "chunk %zu: 'scans' is not a number from 1 to %llu", index,
                                 (unsigned long long)limit);
    chunk->first = first;
    chunk->n_positions = (size_t)scans;
    chunk->body_offset = store->body_bytes;
    ronchi_status status = plan_array(store, index, json, "payload", 0, body_bytes, &chunk->payload_bytes, err);
    if (status == RONCHI_OK)
        status = plan_array(store, index, json, "offset", offset_bytes(store), body_bytes, &ignored, err);
    if (status == RONCHI_OK)
        status = plan_array(store, index, json, "model", lanes_n_streams(store), body_bytes, &ignored, err);
    *next += scans;
    return status;
}

static ronchi_status plan(lanes_store *store, const json_t *chunks, uint64_t body_bytes, ronchi_error *err)
{
    uint64_t next = 0;
    store->n_chunks = json_array_size(chunks);
    if (store->n_chunks > store->base.n_positions || store->n_chunks > body_bytes / 8)
        return ronchi_header_bad(err, "%zu chunks do not fit the scan and a body of %llu bytes", store->n_chunks,
                                 (unsigned long long)body_bytes);
    store->chunks = ronchi_calloc(store->base.context, store->n_chunks, sizeof *store->chunks);
    if (!store->chunks)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu chunks", store->n_chunks);
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

/* ----------------------------------------------------------------------------------------------------- the arrays */

static ronchi_status bad_offset(const lanes_chunk *chunk, size_t index, size_t element, const char *what,
                                ronchi_error *err)
{
    uint64_t byte = chunk->body_offset + chunk->payload_bytes + 4 * (uint64_t)element;
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, byte,
                       "chunk %zu offset %zu at body byte %llu: %s; the file is damaged", index, element,
                       (unsigned long long)byte, what);
}

static ronchi_status check_streams(const lanes_store *store, size_t index, ronchi_error *err)
{
    const lanes_chunk *chunk = &store->chunks[index];
    const uint32_t *offsets = chunk->offsets;
    size_t n_streams = lanes_n_streams(store);
    if (offsets[0] != 0)
        return bad_offset(chunk, index, 0, "the first offset is not 0", err);
    for (size_t i = 0; i < n_streams; i++)
        if (offsets[i + 1] < offsets[i])
            return bad_offset(chunk, index, i + 1, "offsets decrease", err);
    if (offsets[n_streams] > chunk->payload_bytes)
        return bad_offset(chunk, index, n_streams, "the last offset is beyond the payload", err);
    for (size_t i = 0; i < n_streams; i++) {
        ronchi_stream s = lanes_stream(chunk, i);
        ronchi_stream_fault fault = ronchi_stream_check(s.selector, s.size_bytes, chunk->n_positions);
        if (fault == RONCHI_STREAM_OK && s.size_bytes > 2 * chunk->n_positions && s.selector != RONCHI_STREAM_CONSTANT)
            fault = RONCHI_STREAM_BAD_LENGTH; /* longer than the values themselves */
        if (fault != RONCHI_STREAM_OK)
            return ronchi_lanes_fail_stream(store, index, i, ronchi_stream_fault_text(fault), err);
    }
    return RONCHI_OK;
}

static ronchi_status read_chunk(lanes_store *store, size_t index, ronchi_body_read_fn read, void *user,
                                ronchi_error *err)
{
    lanes_chunk *chunk = &store->chunks[index];
    ronchi_context *context = store->base.context;
    uint64_t at = chunk->body_offset;
    chunk->payload = ronchi_alloc(context, (size_t)chunk->payload_bytes);
    chunk->offsets = ronchi_alloc(context, (size_t)offset_bytes(store));
    chunk->selectors = ronchi_alloc(context, lanes_n_streams(store));
    if (!chunk->payload || !chunk->offsets || !chunk->selectors)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %llu bytes of encoded values",
                           (unsigned long long)chunk->payload_bytes);
    ronchi_status status = read(user, at, chunk->payload, (size_t)chunk->payload_bytes, err);
    at += chunk->payload_bytes;
    if (status == RONCHI_OK)
        status = read(user, at, chunk->offsets, (size_t)offset_bytes(store), err);
    at += offset_bytes(store);
    if (status == RONCHI_OK)
        status = read(user, at, chunk->selectors, lanes_n_streams(store), err);
    return status == RONCHI_OK ? check_streams(store, index, err) : status;
}

ronchi_status ronchi_lanes_adopt(const ronchi_profile *profile, ronchi_context *context, const json_t *header,
                                 const ronchi_shape *shape, ronchi_dtype dtype, uint64_t body_bytes,
                                 ronchi_body_read_fn read, void *user, ronchi_store **out, ronchi_error *err)
{
    lanes_store *store;
    bool floats = profile->id == RONCHI_PROFILE_FLOAT_LANES;
    *out = NULL;
    ronchi_status status = check_fields(header, floats ? RONCHI_F32 : RONCHI_U32, shape, dtype, err);
    if (status == RONCHI_OK)
        status = ronchi_lanes_create_empty(profile, context, shape, dtype, NULL, &store, err);
    if (status != RONCHI_OK)
        return status;
    if (!floats)
        status = ronchi_header_valid_parse(header, store->base.valid, store->base.n_pixels, err);
    else if (!(store->identity = json_deep_copy(json_object_get(header, "empad"))))
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the header");
    memcpy(store->logical, json_string_value(json_object_get(header, "logical_sha256")), sizeof store->logical);
    if (status == RONCHI_OK)
        status = plan(store, json_object_get(header, "chunks"), body_bytes, err);
    for (size_t i = 0; status == RONCHI_OK && i < store->n_chunks; i++, store->n_filled++)
        status = read_chunk(store, i, read, user, err);
    if (status != RONCHI_OK) {
        ronchi_lanes_destroy(&store->base);
        return status;
    }
    store->base.max_count = floats ? 0 : UINT32_MAX;
    *out = &store->base;
    return RONCHI_OK;
}
