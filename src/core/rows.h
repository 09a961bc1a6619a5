/* SPDX-License-Identifier: MIT */
/*
 * rows.h - arithmetic on rows of half spectra: 'pitch' real parts, then 'pitch' imaginary parts.
 *
 * 'pitch' is a multiple of 16; padding holds zeros.  No value depends on its neighbours in the row and every sum over
 * rows has one order, so all versions give the same bits.  Arrays do not overlap.
 */
#ifndef RONCHI_CORE_ROWS_H
#define RONCHI_CORE_ROWS_H

#include <stddef.h>

#include "core/fft.h"

/* sum[i] += weight x[i], i < n. */
typedef void ronchi_rows_add_fn(float *sum, const float *x, size_t n, float weight);

/* sum += conj(x) y, one row. */
typedef void ronchi_rows_correlate_fn(float *sum, const float *x, const float *y, size_t pitch);

/*
 * The transfer of one pixel at one row of frequencies, conj(gamma) = ((plus + minus) sine, (plus - minus) cosine):
 * 'minus' and 'plus' are 1 where the beams scattered by -q and +q lie within the aperture.
 *
 *   along_row, along_col  [pitch] the part of q, in detector pixels, that changes along the row
 *   sine, cosine          [pitch] of chi(q)
 *   at                    pixel - rest of q (row, column), pixel + rest of q (row, column), from the disk's centre
 *   limit                 radius of the aperture squared
 */
typedef struct ronchi_transfer_row {
    const float *along_row, *along_col, *sine, *cosine;
    float at[4], limit;
} ronchi_transfer_row;

/*
 * sum += phi conj(gamma) ramp x, one row.  ramp is row_re + i row_im times 'col'; 'transfer' and 'phi' may be NULL: 1.
 */
typedef void ronchi_rows_bring_fn(float *sum, const float *x, float row_re, float row_im, const float *col,
                                  const ronchi_transfer_row *transfer, const float *phi, size_t pitch);

/* sum[i] += weight |gamma|^2, i < pitch. */
typedef void ronchi_rows_weigh_fn(float *sum, const ronchi_transfer_row *transfer, float weight, size_t pitch);

/*
 * sums of one row each: sums[k] += sum over r of factor[k][r] x[r], r rising.
 *   x  [rows][2 pitch]; factors  n pointers to [rows][2]; sums  [n][2 pitch]
 */
typedef void ronchi_rows_transform_fn(const float *x, size_t rows, size_t pitch, const float *const *factors, size_t n,
                                      float *sums);

/*
 * One row of a shifted image to the zones of a finer grid: images[z] += zone[z] ramp x, weights[z] += zone[z] ramp.
 *   images, weights  n_zones pointers to [2 pitch]; zones  [n_zones][2]; scratch  [4 pitch]
 */
typedef void ronchi_rows_deposit_fn(float *const *images, float *const *weights, const float (*zones)[2],
                                    size_t n_zones, const float *x, float row_re, float row_im, const float *col,
                                    float *scratch, size_t pitch);

/* out[i] = a[i] b[i], i < n. */
typedef void ronchi_rows_window_fn(float *out, const float *a, const float *b, size_t n);

/* n complex numbers to a row. */
typedef void ronchi_rows_split_fn(float *out, const ronchi_complex *in, size_t n, size_t pitch);

/* One version of all of them. */
typedef struct ronchi_rows {
    ronchi_rows_add_fn *add;
    ronchi_rows_correlate_fn *correlate;
    ronchi_rows_bring_fn *bring;
    ronchi_rows_weigh_fn *weigh;
    ronchi_rows_transform_fn *transform;
    ronchi_rows_deposit_fn *deposit;
    ronchi_rows_window_fn *window;
    ronchi_rows_split_fn *split;
} ronchi_rows;

/* The versions; those for an instruction set exist on processors that may have it. */
extern const ronchi_rows ronchi_rows_c, ronchi_rows_avx2, ronchi_rows_avx512;

#endif
