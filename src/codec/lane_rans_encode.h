/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode.h - what the encoder's parts share: a brick's counts on their way in, its streams on their way out.
 *
 * One brick goes through statistics (kernel lane_stats), the choice of models, its streams (kernel lane_encode) and is
 * then put together.  Both kernels take 16-bit counts; 32-bit ones that fit are narrowed first, others go through the
 * plain versions.
 */
#ifndef RONCHI_CODEC_LANE_RANS_ENCODE_H
#define RONCHI_CODEC_LANE_RANS_ENCODE_H

#include "codec/lane_rans.h"

enum {
    LANE_POSITIONS = LANE_STREAMS * LANE_SPAN, /* of a brick, at most */
    LANE_WORDS_MOST = LANE_TILE * LANE_SPAN,   /* of a stream: no step puts out more than one a lane */
    LANE_ESCAPES_MOST = 4 * LANE_TILE * LANE_SPAN
};

/*
 * Counts of a brick: at[p] points to those of pixel p, in order of positions, of value_bytes (2 or 4) each.  Behind the
 * last position zeros follow up to a multiple of LANE_SPAN.  Aligned to 64 bytes.
 */
struct ronchi_lane_pixels {
    const void *at[LANE_TILE];
    size_t n_pixels, n_positions, value_bytes;
};
typedef struct ronchi_lane_pixels ronchi_lane_pixels;

/* One stream as encoded: states, words (from 'word' to the end of 'words'), escapes in the order of the brick. */
struct ronchi_lane_half {
    uint32_t x[LANE_LANES];
    uint16_t *word;
    size_t n_escapes;
    uint16_t words[LANE_WORDS_MOST], escapes[LANE_ESCAPES_MOST];
    uint16_t turned[LANE_WORDS_MOST + LANE_LANES]; /* scratch: the words, the last first */
};
typedef struct ronchi_lane_half ronchi_lane_half;

/* Scratch of one thread. */
typedef struct ronchi_lane_work {
    ronchi_lane_stats stats[LANE_TILE]; /* of the brick encoded last */
    ronchi_lane_choice choice;
    ronchi_lane_half half[LANE_STREAMS];
    uint16_t narrow[LANE_TILE][LANE_POSITIONS];
} ronchi_lane_work;

/*
 * ronchi_lane_encode() encodes a brick into 'out' of LANE_BRICK_WORDS words and returns the number of words;
 * work->stats are the pixels' statistics then.
 */
size_t ronchi_lane_encode(const ronchi_kernels *kernels, const ronchi_lane_tables *tables,
                          const ronchi_lane_pixels *pixels, ronchi_lane_work *work, uint16_t *out);

/* An escape's count, as it is read backwards: a word, or 65535 before the two words of a larger one. */
static inline void ronchi_lane_put_escape(ronchi_lane_half *h, uint32_t value)
{
    if (value >= UINT16_MAX) {
        h->escapes[h->n_escapes++] = (uint16_t)(value >> 16);
        h->escapes[h->n_escapes++] = (uint16_t)value;
        value = UINT16_MAX;
    }
    h->escapes[h->n_escapes++] = (uint16_t)value;
}

/* The kernels' versions; _c32 are the plain ones for 32-bit counts. */
ronchi_lane_stats_fn ronchi_lane_stats_c;
ronchi_lane_encode_fn ronchi_lane_encode_c;
void ronchi_lane_stats_c32(const uint32_t *counts, size_t n, ronchi_lane_stats *out);
ronchi_lane_encode_fn ronchi_lane_encode_c32;
#if defined(__x86_64__) && defined(__GNUC__)
ronchi_lane_stats_fn ronchi_lane_stats_avx512;
ronchi_lane_encode_fn ronchi_lane_encode_avx512;
#endif

#endif
