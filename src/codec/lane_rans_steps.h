/* SPDX-License-Identifier: MIT */
/* lane_rans_steps.h - between the two halves of the AVX-512 encoder: what a pixel's steps encode. */
#ifndef RONCHI_CODEC_LANE_RANS_STEPS_H
#define RONCHI_CODEC_LANE_RANS_STEPS_H

#include "codec/lane_rans_encode.h"

#if defined(__x86_64__) && defined(__GNUC__)

/* A pixel's steps of one stream: what they encode, 32-bit lanes in reverse. */
typedef struct ronchi_lane_steps {
    uint32_t raw[LANE_ROWS][LANE_LANES];    /* bits below the symbol */
    uint32_t symbol[LANE_ROWS][LANE_LANES]; /* in bits 0..3; steps of two symbols: the second one in bits 16..19 */
    size_t n;
} __attribute__((aligned(64))) ronchi_lane_steps;

/*
 * The symbols of n counts of one stream, which zeros follow up to LANE_SPAN; escapes go to 'h'.  easy: of count models,
 * a whole stream of counts below the model's 'top'.  wide: of count and wide models.  sparse: of sparse ones.
 */
void ronchi_lane_easy_symbols_avx512(const uint16_t *counts, ronchi_lane_steps *out);
void ronchi_lane_wide_symbols_avx512(const ronchi_lane_code *code, const uint16_t *counts, size_t n, unsigned shift,
                                     int32_t base, ronchi_lane_half *h, ronchi_lane_steps *out);
void ronchi_lane_sparse_symbols_avx512(const ronchi_lane_code *code, const uint16_t *counts, size_t n,
                                       ronchi_lane_half *h, ronchi_lane_steps *out);

#endif

#endif
