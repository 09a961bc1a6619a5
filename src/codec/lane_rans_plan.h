/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_plan.h - how a reduction of a lane-rans-v1 store is carried out: which tiles and groups come from the sum
 * index, which tiles are decoded, and what each plane takes of them.
 */
#ifndef RONCHI_CODEC_LANE_RANS_PLAN_H
#define RONCHI_CODEC_LANE_RANS_PLAN_H

#include "codec/lane_rans.h"

/* What one plane takes of one decoded tile. */
typedef struct ronchi_lane_part {
    uint64_t take;   /* pixels, bit p for pixel p of the tile; 0: the tile is not decoded for this plane */
    uint32_t weight; /* of all of them; 0: each has its own */
    bool outside;    /* they are taken away from the whole tile, which is among the terms */
} ronchi_lane_part;

typedef struct ronchi_lane_plan {
    ronchi_lane_part *parts; /* [n_planes][tiles of the store] */
    ronchi_sum_term *terms;  /* [n_planes][tiles of the store]: planes of the index to add */
    size_t *n_terms;         /* [n_planes] */
    uint64_t *valid;         /* [tiles of the store] unflagged pixels */
    size_t *tile, *stop;     /* [n_tiles] tiles to be decoded, each from its first pixel to before 'stop' */
    size_t n_tiles;
    uint64_t counts; /* to be decoded at each position */
} ronchi_lane_plan;

/*
 * ronchi_lane_plan_make() plans a reduction; 'pixels' says that pixel sums or maxima are wanted, for which every tile
 * is decoded.  The caller owns what 'out' points to and frees it with ronchi_lane_plan_free(), also after a failure.
 */
ronchi_status ronchi_lane_plan_make(const ronchi_lane_store *store, size_t n_planes, const uint32_t *const *planes,
                                    bool pixels, ronchi_lane_plan *out, ronchi_error *err);
void ronchi_lane_plan_free(const ronchi_lane_store *store, ronchi_lane_plan *plan);

#endif
