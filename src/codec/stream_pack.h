/* SPDX-License-Identifier: MIT */
/*
 * stream_pack.h - many streams, encoded in parallel, joined into one payload in stream order.
 *
 * The streams are cut into pieces of consecutive streams.  A piece is filled by one thread at a time, in any order of
 * its streams; different pieces by different threads at once.
 */
#ifndef RONCHI_CODEC_STREAM_PACK_H
#define RONCHI_CODEC_STREAM_PACK_H

#include "codec/stream.h"
#include "core/internal.h"

typedef struct ronchi_stream_piece {
    size_t first, n_streams;
    uint8_t *bytes; /* owned: its streams in the order of their encoding */
    size_t capacity, used;
    uint64_t max; /* for the caller's use */
} ronchi_stream_piece;

typedef struct ronchi_stream_pack {
    ronchi_context *context;
    size_t n_streams, n_pieces;
    uint32_t *offsets;           /* [n_streams + 1] borrowed: sizes until joined, then offsets */
    uint8_t *selectors;          /* [n_streams] borrowed */
    uint32_t *where;             /* [n_streams] owned: where each stream lies in its piece */
    ronchi_stream_piece *pieces; /* [n_pieces] owned; the caller sets first and n_streams of each */
    uint8_t *payload;            /* made by join; owned until taken */
} ronchi_stream_pack;

/* Scratch of one thread: streams that are encoded beside each other. */
enum { RONCHI_STREAM_TILE = 256 };
typedef struct ronchi_stream_tile {
    uint16_t values[RONCHI_STREAM_TILE][RONCHI_STREAM_PITCH];
    ronchi_stream_stats stats[RONCHI_STREAM_TILE];
    uint8_t bytes[RONCHI_STREAM_TILE][2 * RONCHI_STREAM_SPAN];
    uint32_t sizes[RONCHI_STREAM_TILE];
    uint8_t selectors[RONCHI_STREAM_TILE];
} ronchi_stream_tile;

/* ronchi_stream_pack_init() makes room for the bookkeeping; 'offsets' is zeroed.  False without memory. */
bool ronchi_stream_pack_init(ronchi_stream_pack *pack, ronchi_context *context, size_t n_streams, size_t n_pieces,
                             uint32_t *offsets, uint8_t *selectors);

/* ronchi_stream_pack_add() adds encoded stream number 'stream', which belongs to 'piece'.  False without memory. */
bool ronchi_stream_pack_add(ronchi_stream_pack *pack, ronchi_stream_piece *piece, size_t stream, const uint8_t *bytes,
                            size_t size, uint8_t selector);

/* ronchi_stream_pack_join() turns sizes into offsets and makes the payload (at least 1 byte is allocated). */
ronchi_status ronchi_stream_pack_join(ronchi_stream_pack *pack, ronchi_error *err);

/* ronchi_stream_pack_release() frees what it owns; harmless on a zeroed struct. */
void ronchi_stream_pack_release(ronchi_stream_pack *pack);

#endif
