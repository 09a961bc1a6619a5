/* SPDX-License-Identifier: MIT */
/*
 * sum_fields.h - the spatial sums of column-rans-v2: per scan position the sums of all 8 x 8 tiles of the detector,
 * row-major, then of all 32 x 32 tiles; tiles at the border are cut short.  Only unflagged pixels count.
 */
#ifndef RONCHI_CODEC_SUM_FIELDS_H
#define RONCHI_CODEC_SUM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RONCHI_SUM_SMALL = 8, RONCHI_SUM_LARGE = 32 };

typedef struct ronchi_sum_fields {
    size_t det_rows, det_cols;
    size_t small_rows, small_cols; /* 8 x 8 tiles */
    size_t large_rows, large_cols; /* 32 x 32 tiles */
    size_t n_small, n_fields;
} ronchi_sum_fields;

/* ronchi_sum_fields_of() lays the tiles over a detector. */
ronchi_sum_fields ronchi_sum_fields_of(size_t det_rows, size_t det_cols);

/*
 * ronchi_sum_fields_inner() names the 8 x 8 fields that make up the 32 x 32 field 'large' (counted from 0): rows
 * row..row_end-1 and columns col..col_end-1 of the grid of 8 x 8 tiles.
 */
typedef struct ronchi_sum_inner {
    size_t row, row_end, col, col_end;
} ronchi_sum_inner;
ronchi_sum_inner ronchi_sum_fields_inner(const ronchi_sum_fields *fields, size_t large);

/* ronchi_sum_width() gives the bits that the largest of n values needs, 0..32. */
unsigned ronchi_sum_width(const uint32_t *values, size_t n);
/* ronchi_sum_words() gives the 32-bit words of n values of that width. */
static inline size_t ronchi_sum_words(size_t n, unsigned width)
{
    return (n * width + 31) / 32;
}
/* ronchi_sum_pack() packs n values, lowest bits first, into ronchi_sum_words() words. */
void ronchi_sum_pack(const uint32_t *values, size_t n, unsigned width, uint32_t *words);
/* ronchi_sum_unpack() is its inverse; false when a bit behind the last value is set. */
bool ronchi_sum_unpack(const uint32_t *words, size_t n, unsigned width, uint32_t *values);

#endif
