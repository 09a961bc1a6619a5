/* SPDX-License-Identifier: MIT */
/*
 * gather.h - the engine behind rotate, crop, flip and transpose: a new acquisition whose every count is one of the
 * input's.
 *
 * Positions come by a list, pixels by a rectangle that may be flipped and transposed.  Three ways, chosen by what they
 * cost:
 *   - positions of every block are rectangles of the input, perhaps mirrored: each block is read straight from it;
 *   - the input is dense: frame by frame;
 *   - else by detector tiles: all positions of a tile are decoded once, put into their new order and encoded in a store
 *     of that tile, of which the profile makes one store.  So each count is decoded once and encoded once, however the
 *     positions move; by a profile that cannot join stores twice, unless one tile holds the whole detector.
 */
#ifndef RONCHI_GEOMETRY_GATHER_H
#define RONCHI_GEOMETRY_GATHER_H

#include "resident/acquisition.h"

/* A position of the result that comes from nowhere. */
#define RONCHI_GATHER_FILL SIZE_MAX

typedef struct ronchi_gather {
    const ronchi_acquisition *from;
    ronchi_shape shape;      /* of the result */
    size_t *positions;       /* [scan_rows][scan_cols] flattened position of the input, or RONCHI_GATHER_FILL */
    double fill;             /* a value of the dtype */
    size_t det_row, det_col; /* the rectangle of the detector; its size follows from the result's */
    bool flip_det_rows, flip_det_cols, transpose_det; /* flips in axes of the input, then the transpose */
    const char *stage;                                /* for progress */
} ronchi_gather;

/*
 * ronchi_gather_init() starts with an identity of the input for a result of 'scan_rows' x 'scan_cols' positions:
 * 'positions' is allocated and to be filled.  ronchi_gather_release() frees it.
 */
ronchi_status ronchi_gather_init(ronchi_gather *gather, const ronchi_acquisition *from, size_t scan_rows,
                                 size_t scan_cols, const char *stage, ronchi_error *err);
void ronchi_gather_release(ronchi_gather *gather);

/* ronchi_gather_run() makes the result: store, flagged pixels, raw table, validity of the scan, sizes in the metadata.
 */
ronchi_status ronchi_gather_run(const ronchi_gather *gather, ronchi_acquisition **out, ronchi_error *err);

/* The pixel of the input that a pixel of the result comes from, flattened. */
size_t ronchi_gather_pixel(const ronchi_gather *gather, size_t row, size_t col);

/* A rectangle of the result's detector. */
typedef struct ronchi_tile {
    size_t row, rows, col, cols;
} ronchi_tile;

/*
 * ronchi_gather_source() gives the input's detector rectangle behind a tile and describes in 'out' how it lies in
 * memory at 'data',
 * [.][.][tile rows][tile cols] contiguous in axes of the result: shape and stride of axes 2 and 3, and data.
 */
void ronchi_gather_source(const ronchi_gather *gather, const ronchi_tile *tile, void *data, ronchi_region *region,
                          ronchi_view *out);

/* ronchi_gather_tiles() fills an empty store by detector tiles. */
ronchi_status ronchi_gather_tiles(const ronchi_gather *gather, ronchi_store *store, ronchi_error *err);

/* ronchi_gather_fill() writes n values of the fill. */
void ronchi_gather_fill(const ronchi_gather *gather, void *to, size_t n);

#endif
