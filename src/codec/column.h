/* SPDX-License-Identifier: MIT */
/*
 * column.h - the store of column-rans-v2 and what its files share.  The layout is described in docs/column-rans-v2.md.
 *
 * A chunk covers consecutive scan positions and is cut into spans of 512.  In a span each detector pixel is one stream
 * (codec/stream.h); stream number = span * n_pixels + pixel.
 */
#ifndef RONCHI_CODEC_COLUMN_H
#define RONCHI_CODEC_COLUMN_H

#include "codec/profile.h"
#include "codec/stream.h"
#include "codec/sum_fields.h"
#include "core/kernels.h"

/* The six arrays of a chunk, in file order. */
enum {
    COLUMN_PAYLOAD,     /* u8  [payload bytes] */
    COLUMN_OFFSETS,     /* u32 [n_streams + 1] */
    COLUMN_SELECTORS,   /* u8  [n_streams] */
    COLUMN_SUMS,        /* u32 [words] */
    COLUMN_SUM_OFFSETS, /* u64 [n_spans * n_fields + 1] */
    COLUMN_SUM_WIDTHS,  /* u8  [n_spans * n_fields] */
    COLUMN_ARRAYS
};

typedef struct column_array {
    void *data;           /* owned */
    size_t count;         /* elements */
    uint64_t body_offset; /* bytes from the start of the body */
} column_array;

typedef struct column_chunk {
    uint64_t first;
    size_t n_positions, n_spans, n_streams;
    column_array arrays[COLUMN_ARRAYS];
} column_chunk;

/* One span of up to 512 positions, for walking over all of them. */
typedef struct column_span {
    uint64_t first; /* flattened scan index */
    uint32_t n;
    uint32_t local; /* its number in its chunk */
    size_t chunk;
} column_span;

typedef struct column_store {
    ronchi_store base;
    ronchi_sum_fields fields;
    size_t block_positions;    /* positions of a chunk while encoding; 0 for an adopted store */
    size_t n_chunks, n_filled; /* all; encoded or read so far */
    column_chunk *chunks;
    size_t n_spans;
    column_span *spans; /* made by finish() and adopt() */
    uint64_t body_bytes;
    ronchi_stream_tables *tables;
    uint32_t largest; /* no unflagged count is above: as encoded, or the dtype's largest */
} column_store;

static inline const uint8_t *column_payload(const column_chunk *chunk)
{
    return (const uint8_t *)chunk->arrays[COLUMN_PAYLOAD].data;
}
static inline const uint32_t *column_offsets(const column_chunk *chunk)
{
    return (const uint32_t *)chunk->arrays[COLUMN_OFFSETS].data;
}
static inline const uint8_t *column_selectors(const column_chunk *chunk)
{
    return (const uint8_t *)chunk->arrays[COLUMN_SELECTORS].data;
}

/* The stream of a pixel in a span. */
static inline ronchi_stream column_stream(const column_chunk *chunk, size_t index)
{
    const uint32_t *offsets = column_offsets(chunk);
    ronchi_stream stream = {column_payload(chunk) + offsets[index], offsets[index + 1] - offsets[index],
                            column_selectors(chunk)[index]};
    return stream;
}

/* Bytes of one element of array 'which'. */
size_t ronchi_column_item_size(size_t which);

/* ronchi_column_place() lays the arrays of chunk 'index' behind those of the chunks before it: sets body offsets,
 * body_bytes. */
void ronchi_column_place(column_store *store, size_t index);

/* ronchi_column_create_empty() makes a store without chunks: shared part, tables, fields. */
ronchi_status ronchi_column_create_empty(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                         const uint8_t *valid, column_store **out, ronchi_error *err);

/* ronchi_column_list_spans() fills store->spans from the chunks. */
ronchi_status ronchi_column_list_spans(column_store *store, ronchi_error *err);

/*
 * ronchi_column_fail_stream() says what is wrong with one stream: RONCHI_ERR_DATA with chunk, block, stream, selector
 * and the body byte.  'what' NULL: asks the plain decoder.
 */
ronchi_status ronchi_column_fail_stream(const column_store *store, const column_span *span, size_t pixel,
                                        const char *what, ronchi_error *err);

/*
 * ronchi_column_decode_pixels() decodes the first 'stop' positions of a span for a list of pixels.
 *   out  [n_pixels][RONCHI_STREAM_PITCH] u16, values behind 'stop' unspecified
 * Checks that counts of a u8 store fit.
 */
ronchi_status ronchi_column_decode_pixels(const column_store *store, const column_span *span, const uint32_t *pixels,
                                          size_t n_pixels, size_t stop, uint16_t *out, ronchi_error *err);

/* Slots of the profile's table. */
ronchi_status ronchi_column_encode_block(ronchi_store *store, size_t index, const void *frames, ronchi_error *err);
ronchi_status ronchi_column_validate(const ronchi_store *store, ronchi_error *err);
ronchi_status ronchi_column_decode_band(const ronchi_store *store, const ronchi_region *region, const ronchi_view *out,
                                        ronchi_error *err);
ronchi_status ronchi_column_reduce(const ronchi_store *store, const ronchi_reduction *reduction, ronchi_error *err);
ronchi_status ronchi_column_describe(const ronchi_store *store, json_t *header, ronchi_error *err);
size_t ronchi_column_n_spans(const ronchi_store *store);
ronchi_span ronchi_column_span(const ronchi_store *store, size_t index);
ronchi_status ronchi_column_adopt(ronchi_context *context, const json_t *header, const ronchi_shape *shape,
                                  ronchi_dtype dtype, uint64_t body_bytes, ronchi_body_read_fn read, void *user,
                                  ronchi_store **out, ronchi_error *err);
void ronchi_column_destroy(ronchi_store *store);

#endif
