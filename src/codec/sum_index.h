/* SPDX-License-Identifier: MIT */
/*
 * sum_index.h - the exact sum index in memory: for every tile of the detector, and for every group of 4 x 4 tiles, the
 * sum of its unflagged counts at each scan position.
 *
 * One plane a tile or group: [scan_row][scan_col], without gaps, in the narrowest unsigned integers that hold its
 * largest sum.  So adding a tile to an image is one straight walk through memory, on a host and on a device.
 */
#ifndef RONCHI_CODEC_SUM_INDEX_H
#define RONCHI_CODEC_SUM_INDEX_H

#include "core/internal.h"
#include "core/kernels.h"

enum { RONCHI_SUM_GROUP = 4 /* tiles along a side of a group */ };

typedef struct ronchi_sum_plane {
    void *sums;       /* [n_positions] of 'width' bytes; NULL when all are 0; owned */
    uint64_t largest; /* sum */
    size_t width;     /* 0, 1, 2, 4 or 8 bytes */
} ronchi_sum_plane;

typedef struct ronchi_sum_index {
    ronchi_context *context;
    size_t tiles_down, tiles_across, n_tiles;    /* numbered row by row */
    size_t groups_down, groups_across, n_groups; /* the same; those at the lower and right edge have fewer tiles */
    size_t n_positions;
    ronchi_sum_plane *planes; /* [n_tiles + n_groups], tiles first */
} ronchi_sum_index;

/* ronchi_sum_index_create() makes an index of zeros; the caller owns *out.  destroy(NULL) does nothing. */
ronchi_status ronchi_sum_index_create(ronchi_context *context, size_t tiles_down, size_t tiles_across,
                                      size_t n_positions, ronchi_sum_index **out, ronchi_error *err);
void ronchi_sum_index_destroy(ronchi_sum_index *index);

/* ronchi_sum_index_set() gives one plane its sums [n_positions].  Planes may be set by several threads at once. */
ronchi_status ronchi_sum_index_set(ronchi_sum_index *index, size_t plane, const uint64_t *sums, ronchi_error *err);
/*
 * The same in pieces: reserve() takes memory for sums up to 'largest', put() writes n of them from position 'first' on.
 */
ronchi_status ronchi_sum_index_reserve(ronchi_sum_index *index, size_t plane, uint64_t largest, ronchi_error *err);
void ronchi_sum_index_put(ronchi_sum_index *index, size_t plane, size_t first, const uint64_t *sums, size_t n);
/* ronchi_sum_index_groups() makes the planes of all groups, when those of the tiles are set. */
ronchi_status ronchi_sum_index_groups(ronchi_sum_index *index, ronchi_error *err);

/* ronchi_sum_index_group() gives the group in which a tile lies. */
static inline size_t ronchi_sum_index_group(const ronchi_sum_index *index, size_t tile)
{
    return tile / index->tiles_across / RONCHI_SUM_GROUP * index->groups_across +
           tile % index->tiles_across / RONCHI_SUM_GROUP;
}

/* ronchi_sum_index_bytes() gives the bytes held for the index. */
uint64_t ronchi_sum_index_bytes(const ronchi_sum_index *index);

/* One plane of the index and what it is to be multiplied by. */
typedef struct ronchi_sum_term {
    size_t plane;
    uint32_t weight;
} ronchi_sum_term;

/*
 * ronchi_sum_index_add() adds n positions from 'first' on of several planes: out[i] += sum over the terms of weight x
 * plane[first + i], modulo 2^64.
 */
void ronchi_sum_index_add(const ronchi_sum_index *index, const ronchi_sum_term *terms, size_t n_terms, size_t first,
                          size_t n, uint64_t *out);

/* One sum. */
uint64_t ronchi_sum_index_at(const ronchi_sum_index *index, size_t plane, size_t position);

#endif
