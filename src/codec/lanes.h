/* SPDX-License-Identifier: MIT */
/*
 * lanes.h - the store of the bit-lane profiles (float32 and uint32) and what its files share.  docs/uint32-bit-lanes.md
 * has the layout.
 *
 * A value of 32 bits is two lanes of 16, the low half first; each lane of each pixel over the positions of a chunk is
 * one stream (codec/stream.h), number 2 x pixel for the low half and 2 x pixel + 1 for the high one.  In memory a frame
 * of P values is the same bytes as a row of 2 P lanes.
 */
#ifndef RONCHI_CODEC_LANES_H
#define RONCHI_CODEC_LANES_H

#include "codec/profile.h"
#include "codec/stream.h"
#include "core/kernels.h"

enum { LANES_FRAME_BYTES = 32 << 20 }; /* most bytes of a frame, and of a chunk decoded */

typedef struct lanes_chunk {
    uint64_t first;
    size_t n_positions; /* at most 512 */
    uint8_t *payload;   /* the three arrays, owned; they follow each other in the body without gaps */
    uint32_t *offsets;  /* [2 P + 1] */
    uint8_t *selectors; /* [2 P] */
    uint64_t payload_bytes, body_offset;
} lanes_chunk;

typedef struct lanes_store {
    ronchi_store base;
    size_t block_positions;    /* positions of a chunk while encoding; 0 for an adopted store */
    size_t n_chunks, n_filled; /* all; encoded or read so far */
    lanes_chunk *chunks;
    uint64_t body_bytes;
    ronchi_stream_tables *tables;
    void *hash;       /* SHA-256 of the values so far, while encoding */
    char logical[65]; /* SHA-256 of all values, little-endian, C order, as hexadecimal digits */
    json_t *identity; /* float32: header "empad", as it was read or our own; owned */
} lanes_store;

static inline size_t lanes_n_streams(const lanes_store *store)
{
    return 2 * store->base.n_pixels;
}

static inline ronchi_stream lanes_stream(const lanes_chunk *chunk, size_t index)
{
    ronchi_stream stream = {chunk->payload + chunk->offsets[index], chunk->offsets[index + 1] - chunk->offsets[index],
                            chunk->selectors[index]};
    return stream;
}

/* ronchi_lanes_most_positions() gives the most positions of a chunk; 0 when a frame is above 32 MiB. */
size_t ronchi_lanes_most_positions(size_t n_pixels);

/* ronchi_lanes_create_empty() makes a store without chunks. */
ronchi_status ronchi_lanes_create_empty(const ronchi_profile *profile, ronchi_context *context,
                                        const ronchi_shape *shape, ronchi_dtype dtype, const uint8_t *valid,
                                        lanes_store **out, ronchi_error *err);

/* ronchi_lanes_place() lays chunk 'index' behind those before it: sets body_offset and body_bytes. */
void ronchi_lanes_place(lanes_store *store, size_t index);

/*
 * ronchi_lanes_decode_pixels() decodes the first 'stop' positions of a chunk for a list of at most LANES_TILE pixels.
 *   out  [2 n_pixels][RONCHI_STREAM_PITCH] u16: low and high half of each pixel
 */
enum { LANES_TILE = 128 };
ronchi_status ronchi_lanes_decode_pixels(const lanes_store *store, size_t chunk, const uint32_t *pixels,
                                         size_t n_pixels, size_t stop, uint16_t *out, ronchi_error *err);

/* ronchi_lanes_fail_stream() says what is wrong with one stream.  'what' NULL: asks the plain decoder. */
ronchi_status ronchi_lanes_fail_stream(const lanes_store *store, size_t chunk, size_t stream, const char *what,
                                       ronchi_error *err);

/* ronchi_lanes_digits() writes 32 bytes of a digest as 64 digits and a terminator. */
void ronchi_lanes_digits(const uint8_t digest[32], char out[65]);

/* Slots of the profiles' tables. */
ronchi_status ronchi_lanes_encode_block(ronchi_store *store, size_t index, const void *frames, ronchi_error *err);
ronchi_status ronchi_lanes_finish(ronchi_store *store, ronchi_error *err);
ronchi_status ronchi_lanes_validate(const ronchi_store *store, ronchi_error *err);
ronchi_status ronchi_lanes_decode_band(const ronchi_store *store, const ronchi_region *region, const ronchi_view *out,
                                       ronchi_error *err);
ronchi_status ronchi_lanes_reduce(const ronchi_store *store, const ronchi_reduction *reduction, ronchi_error *err);
ronchi_status ronchi_lanes_describe(const ronchi_store *store, json_t *header, ronchi_error *err);
size_t ronchi_lanes_n_spans(const ronchi_store *store);
ronchi_span ronchi_lanes_span(const ronchi_store *store, size_t index);
ronchi_status ronchi_lanes_adopt(const ronchi_profile *profile, ronchi_context *context, const json_t *header,
                                 const ronchi_shape *shape, ronchi_dtype dtype, uint64_t body_bytes,
                                 ronchi_body_read_fn read, void *user, ronchi_store **out, ronchi_error *err);
void ronchi_lanes_destroy(ronchi_store *store);

#endif
