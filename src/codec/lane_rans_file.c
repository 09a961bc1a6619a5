/* SPDX-License-Identifier: MIT */
/* lane_rans_file.c - chunks of lane-rans-v1: their headers and checksums, to and from a container. */
#include <string.h>

#include "codec/header_fields.h"
#include "codec/lane_rans.h"

/* Fields of a chunk's header, at these bytes; all little-endian. */
enum {
    AT_MAGIC = 0,
    AT_RECT = 8,   /* scan row, column, rows, columns */
    AT_SHAPE = 24, /* detector rows, columns */
    AT_TILE = 32,  /* tile rows, tile columns, bytes of a count, 0 */
    AT_BRICKS = 36,
    AT_WORDS = 40,
    AT_PAYLOAD_CRC = 44,
    AT_ZERO = 48, /* 12 zero bytes */
    AT_HEADER_CRC = 60
};

static const char magic[8] = "RLANE1\r\n";

static void put32(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* What a chunk's header must be, up to the number of its words. */
static void fixed_header(const ronchi_lane_layout *l, size_t rect, uint8_t *out)
{
    ronchi_lane_cut cut = ronchi_lane_rect(l, rect);
    memset(out, 0, LANE_CHUNK_HEADER);
    memcpy(out + AT_MAGIC, magic, sizeof magic);
    put32(out + AT_RECT, cut.row);
    put32(out + AT_RECT + 4, cut.col);
    put32(out + AT_RECT + 8, cut.rows);
    put32(out + AT_RECT + 12, cut.cols);
    put32(out + AT_SHAPE, l->shape.det_rows);
    put32(out + AT_SHAPE + 4, l->shape.det_cols);
    out[AT_TILE] = (uint8_t)l->tile_rows;
    out[AT_TILE + 1] = (uint8_t)l->tile_cols;
    out[AT_TILE + 2] = (uint8_t)l->value_bytes;
    put32(out + AT_BRICKS, l->n_tiles);
}

static uint32_t crc_of(const ronchi_lane_store *store, const void *bytes, size_t n)
{
    return ronchi_context_kernels(store->base.context)->crc32c(store->tables->crc, bytes, n);
}

/* The checksum of header and brick sizes, taken with its own field zero. */
static uint32_t header_crc(const ronchi_lane_store *store, const ronchi_lane_chunk *chunk)
{
    uint8_t *at = chunk->bytes + AT_HEADER_CRC;
    uint32_t kept = get32(at);
    put32(at, 0);
    uint32_t crc = crc_of(store, chunk->bytes, LANE_CHUNK_HEADER + 4 * store->layout.n_tiles);
    put32(at, kept);
    return crc;
}

void ronchi_lane_chunk_seal(const ronchi_lane_store *store, size_t rect)
{
    const ronchi_lane_layout *l = &store->layout;
    ronchi_lane_chunk *chunk = &store->chunks[rect];
    uint8_t *bytes = chunk->bytes;
    fixed_header(l, rect, bytes);
    for (size_t t = 0; t < l->n_tiles; t++)
        put32(bytes + LANE_CHUNK_HEADER + 4 * t, chunk->offset[t + 1] - chunk->offset[t]);
    put32(bytes + AT_WORDS, chunk->offset[l->n_tiles]);
    put32(bytes + AT_PAYLOAD_CRC, crc_of(store, chunk->payload, 2 * (size_t)chunk->offset[l->n_tiles]));
    put32(bytes + AT_HEADER_CRC, header_crc(store, chunk));
}

static ronchi_status bad_chunk(const ronchi_lane_chunk *chunk, size_t rect, const char *what, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, chunk->body_offset,
                       "chunk %zu at body byte %llu: %s; the file is damaged", rect,
                       (unsigned long long)chunk->body_offset, what);
}

ronchi_status ronchi_lane_chunk_check(ronchi_lane_store *store, size_t rect, ronchi_error *err)
{
    const ronchi_lane_layout *l = &store->layout;
    ronchi_lane_chunk *chunk = &store->chunks[rect];
    const size_t head = LANE_CHUNK_HEADER + 4 * l->n_tiles;
    uint8_t expected[LANE_CHUNK_HEADER];
    uint64_t words = 0;
    fixed_header(l, rect, expected);
    if (chunk->size < head || memcmp(chunk->bytes, expected, AT_WORDS) != 0 ||
        memcmp(chunk->bytes + AT_ZERO, expected + AT_ZERO, AT_HEADER_CRC - AT_ZERO) != 0)
        return bad_chunk(chunk, rect, "its header is not that of this rectangle", err);
    if (get32(chunk->bytes + AT_HEADER_CRC) != header_crc(store, chunk))
        return bad_chunk(chunk, rect, "the checksum of its header is wrong", err);
    chunk->offset[0] = 0;
    for (size_t t = 0; t < l->n_tiles; t++) {
        words += get32(chunk->bytes + LANE_CHUNK_HEADER + 4 * t);
        chunk->offset[t + 1] = (uint32_t)words;
        if (words > (chunk->size - head) / 2)
            return bad_chunk(chunk, rect, "its bricks reach beyond its end", err);
    }
    if (words != get32(chunk->bytes + AT_WORDS) || (head + 2 * words + 7) / 8 * 8 != chunk->size)
        return bad_chunk(chunk, rect, "its bricks do not fill it", err);
    chunk->payload = (const uint16_t *)(const void *)(chunk->bytes + head);
    if (get32(chunk->bytes + AT_PAYLOAD_CRC) != crc_of(store, chunk->payload, 2 * (size_t)words))
        return bad_chunk(chunk, rect, "the checksum of its counts is wrong", err);
    for (size_t i = head + 2 * (size_t)words; i < chunk->size; i++)
        if (chunk->bytes[i])
            return bad_chunk(chunk, rect, "its padding is not zero", err);
    return RONCHI_OK;
}

/* -------------------------------------------------------------------------------------------------------- writing */

json_t *ronchi_lane_chunk_sizes(const ronchi_lane_store *store)
{
    json_t *sizes = json_array();
    for (size_t i = 0; sizes && i < store->layout.n_rects; i++)
        if (json_array_append_new(sizes, json_integer((json_int_t)store->chunks[i].size)) != 0) {
            json_decref(sizes);
            return NULL;
        }
    return sizes;
}

ronchi_status ronchi_lane_describe(const ronchi_store *base, json_t *header, ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    int failed = json_object_set_new(header, "version", json_integer(1));
    failed |= json_object_set_new(header, "valid", ronchi_header_valid_text(base->valid, base->n_pixels));
    failed |= json_object_set_new(header, "chunk_bytes", ronchi_lane_chunk_sizes(store));
    if (failed)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a header of %zu chunks",
                           store->layout.n_rects);
    return RONCHI_OK;
}

size_t ronchi_lane_n_spans(const ronchi_store *base)
{
    return ((const ronchi_lane_store *)base)->layout.n_rects;
}

ronchi_span ronchi_lane_span(const ronchi_store *base, size_t index)
{
    const ronchi_lane_chunk *chunk = &((const ronchi_lane_store *)base)->chunks[index];
    ronchi_span span = {0, chunk->bytes, chunk->size};
    return span;
}

/* -------------------------------------------------------------------------------------------------------- reading */

static ronchi_status plan(ronchi_lane_store *store, const json_t *sizes, uint64_t body_bytes, ronchi_error *err)
{
    const size_t n = store->layout.n_rects;
    const uint64_t head = LANE_CHUNK_HEADER + 4 * (uint64_t)store->layout.n_tiles;
    if (!json_is_array(sizes) || json_array_size(sizes) != n)
        return ronchi_header_bad(err, "'chunk_bytes' is not a list of %zu sizes", n);
    for (size_t i = 0; i < n; i++) {
        const json_t *size = json_array_get(sizes, i);
        json_int_t value = json_is_integer(size) ? json_integer_value(size) : 0;
        if (value < (json_int_t)head || value % 8 || (uint64_t)value > body_bytes - store->body_bytes)
            return ronchi_header_bad(err, "chunk %zu: 'chunk_bytes' is not a size within the body", i);
        store->chunks[i].size = (size_t)value;
        store->chunks[i].body_offset = store->body_bytes;
        store->body_bytes += (uint64_t)value;
    }
    return RONCHI_OK;
}

static ronchi_status read_chunk(ronchi_lane_store *store, size_t rect, ronchi_body_read_fn read, void *user,
                                ronchi_error *err)
{
    ronchi_lane_chunk *chunk = &store->chunks[rect];
    ronchi_context *context = store->base.context;
    chunk->bytes = ronchi_alloc(context, chunk->size + 2 * LANE_SLACK_WORDS);
    chunk->offset = ronchi_calloc(context, store->layout.n_tiles + 1, sizeof *chunk->offset);
    if (!chunk->bytes || !chunk->offset)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu bytes of encoded counts",
                           chunk->size);
    memset(chunk->bytes + chunk->size, 0, 2 * LANE_SLACK_WORDS);
    ronchi_status status = read(user, chunk->body_offset, chunk->bytes, chunk->size, err);
    return status == RONCHI_OK ? ronchi_lane_chunk_check(store, rect, err) : status;
}

ronchi_status ronchi_lane_read_chunks(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                      const json_t *sizes, uint64_t first, uint64_t body_bytes,
                                      ronchi_body_read_fn read, void *user, ronchi_lane_store **out, ronchi_error *err)
{
    ronchi_lane_store *store;
    ronchi_lane_layout layout;
    *out = NULL;
    ronchi_lane_layout_of(shape, dtype, &layout);
    if (layout.n_rects > (body_bytes - first) / LANE_CHUNK_HEADER) /* before anything is allocated for them */
        return ronchi_header_bad(err, "%zu chunks do not fit a body of %llu bytes", layout.n_rects,
                                 (unsigned long long)(body_bytes - first));
    ronchi_status status = ronchi_lane_create_empty(context, shape, dtype, NULL, &store, err);
    if (status != RONCHI_OK)
        return status;
    store->body_bytes = first;
    status = plan(store, sizes, body_bytes, err);
    for (size_t i = 0; status == RONCHI_OK && i < store->layout.n_rects; i++, store->n_filled++)
        status = read_chunk(store, i, read, user, err);
    if (status != RONCHI_OK) {
        ronchi_lane_destroy(&store->base);
        return status;
    }
    *out = store;
    return RONCHI_OK;
}

/* What follows the chunks: an index that the header names, or nothing. */
static ronchi_status read_rest(ronchi_lane_store *store, const json_t *header, uint64_t body_bytes,
                               ronchi_body_read_fn read, void *user, ronchi_error *err)
{
    const json_t *field = json_object_get(header, "sum_index");
    if (field)
        return ronchi_lane_adopt_index(store, field, store->body_bytes, body_bytes, read, user, err);
    if (store->body_bytes != body_bytes)
        return ronchi_header_bad(err, "the chunks end at body byte %llu, the body at %llu",
                                 (unsigned long long)store->body_bytes, (unsigned long long)body_bytes);
    return RONCHI_OK;
}

ronchi_status ronchi_lane_adopt(ronchi_context *context, const json_t *header, const ronchi_shape *shape,
                                ronchi_dtype dtype, uint64_t body_bytes, ronchi_body_read_fn read, void *user,
                                ronchi_store **out, ronchi_error *err)
{
    ronchi_lane_store *store;
    *out = NULL;
    if (!ronchi_header_is(header, "version", 1))
        return ronchi_header_bad(err, "'version' of the codec is not 1");
    ronchi_status status = ronchi_header_valid_check(header, shape, err);
    if (status == RONCHI_OK)
        status = ronchi_lane_read_chunks(context, shape, dtype, json_object_get(header, "chunk_bytes"), 0, body_bytes,
                                         read, user, &store, err);
    if (status != RONCHI_OK)
        return status;
    status = ronchi_header_valid_parse(header, store->base.valid, store->base.n_pixels, err);
    if (status == RONCHI_OK)
        status = read_rest(store, header, body_bytes, read, user, err);
    if (status != RONCHI_OK) {
        ronchi_lane_destroy(&store->base);
        return status;
    }
    store->base.max_count = dtype == RONCHI_U8 ? UINT8_MAX : dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
    *out = &store->base;
    return RONCHI_OK;
}
