/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode_job.h - encoding one scan rectangle: what its two ways in share.
 *
 * Whole frames come through lane_rans_encode_block.c, frames decoded piece by piece through lane_rans_encode_pieces.c.
 * Both turn counts to [pixel][pitch] and hand them over tile by tile, from any thread.
 */
#ifndef RONCHI_CODEC_LANE_RANS_ENCODE_JOB_H
#define RONCHI_CODEC_LANE_RANS_ENCODE_JOB_H

#include "codec/lane_rans_encode.h"

enum {
    LANE_LINE = 32,       /* positions turned at a time: a cache line of 16-bit counts */
    LANE_GROUP_TILES = 4, /* tiles side by side, 32 pixels: 64 bytes of 16-bit counts */
    LANE_GROUP_PIXELS = LANE_GROUP_TILES * LANE_TILE,
    LANE_PITCH_MOST = LANE_POSITIONS + LANE_LINE
};

/* What a thread has to itself. */
typedef struct ronchi_lane_thread {
    union {
        uint16_t narrow[LANE_GROUP_PIXELS * LANE_PITCH_MOST];
        uint32_t wide[LANE_GROUP_PIXELS * LANE_PITCH_MOST];
        uint8_t bytes[1];
    } counts; /* for the way in */
    uint16_t words[LANE_BRICK_WORDS];
    ronchi_lane_work work;
} ronchi_lane_thread;

typedef struct ronchi_lane_job {
    ronchi_lane_store *store;
    const ronchi_kernels *kernels;
    size_t index; /* of the rectangle */
    ronchi_lane_cut rect;
    size_t n_positions;
    size_t pitch; /* counts between pixels; no power of two, which would share cache sets */
    ronchi_lane_thread *threads;
    uint16_t **brick; /* [n_tiles] */
    uint32_t *words;  /* [n_tiles] */
    uint32_t *most;   /* [threads] largest unflagged count */
} ronchi_lane_job;

/* Counts between pixels for a rectangle of so many positions. */
static inline size_t ronchi_lane_pitch(size_t n_positions)
{
    return ronchi_div_up(n_positions, LANE_SPAN) * LANE_SPAN + LANE_LINE;
}

/* ronchi_lane_job_begin() fills *job; job_end() must follow, also when it fails.  RONCHI_ERR_MEMORY. */
ronchi_status ronchi_lane_job_begin(ronchi_lane_store *store, size_t index, ronchi_lane_job *job, ronchi_error *err);

/*
 * ronchi_lane_job_tile() encodes a tile under a worker's number.
 *
 *   counts  [tile row][row_pixels][pitch]  u16, or u32 where the store's counts are: from the tile's first pixel on,
 *                                          zeros behind the last position up to a multiple of LANE_SPAN
 */
ronchi_status ronchi_lane_job_tile(const ronchi_lane_job *job, size_t tile, const void *counts, size_t row_pixels,
                                   size_t worker, ronchi_error *err);

/* ronchi_lane_job_end() puts the chunk together when 'status' is RONCHI_OK, frees the job and returns how it went. */
ronchi_status ronchi_lane_job_end(ronchi_lane_job *job, ronchi_status status, ronchi_error *err);

#endif
