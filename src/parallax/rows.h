/* SPDX-License-Identifier: MIT */
/*
 * rows.h - arithmetic on rows of spectra: n values, real and imaginary parts apart, so that compilers make vectors of
 * it.  No value depends on its neighbours, so every instruction set gives the same bits.
 */
#ifndef RONCHI_PARALLAX_ROWS_H
#define RONCHI_PARALLAX_ROWS_H

#include <stddef.h>

/* sum += weight x */
static inline void rows_add(float *restrict sum, const float *restrict x, size_t n, float weight)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += weight * x[i];
}

/* sum += a x, a complex */
static inline void rows_add_complex(float *restrict re, float *restrict im, const float *restrict x_re,
                                    const float *restrict x_im, size_t n, float a_re, float a_im)
{
    for (size_t i = 0; i < n; i++) {
        re[i] += a_re * x_re[i] - a_im * x_im[i];
        im[i] += a_re * x_im[i] + a_im * x_re[i];
    }
}

/* out = a x, a complex */
static inline void rows_scale(float *restrict re, float *restrict im, const float *restrict x_re,
                              const float *restrict x_im, size_t n, float a_re, float a_im)
{
    for (size_t i = 0; i < n; i++) {
        re[i] = a_re * x_re[i] - a_im * x_im[i];
        im[i] = a_re * x_im[i] + a_im * x_re[i];
    }
}

/* out = x y */
static inline void rows_multiply(float *restrict re, float *restrict im, const float *restrict x_re,
                                 const float *restrict x_im, const float *restrict y_re, const float *restrict y_im,
                                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        re[i] = x_re[i] * y_re[i] - x_im[i] * y_im[i];
        im[i] = x_re[i] * y_im[i] + x_im[i] * y_re[i];
    }
}

/* sum += conj(x) y */
static inline void rows_correlate(float *restrict re, float *restrict im, const float *restrict x_re,
                                  const float *restrict x_im, const float *restrict y_re, const float *restrict y_im,
                                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        re[i] += x_re[i] * y_re[i] + x_im[i] * y_im[i];
        im[i] += x_re[i] * y_im[i] - x_im[i] * y_re[i];
    }
}

/*
 * One row of the transfer of a pixel, conj(gamma) = ((plus + minus) sin chi, (plus - minus) cos chi): 'minus' and
 * 'plus' are 1 where the beams scattered by -q and +q lie within the aperture.
 *
 *   b_row, b_col  [n] the part of q, in detector pixels, that changes along the row
 *   at            pixel - rest of q (row, column), pixel + rest of q (row, column), from the disk's centre
 *   limit         radius squared
 */
static inline void rows_transfer(float *restrict re, float *restrict im, const float *restrict b_row,
                                 const float *restrict b_col, const float *restrict sine, const float *restrict cosine,
                                 size_t n, const float at[4], float limit)
{
    const float minus_row = at[0], minus_col = at[1], plus_row = at[2], plus_col = at[3];
    for (size_t i = 0; i < n; i++) {
        float a = minus_row - b_row[i], b = minus_col - b_col[i], c = plus_row + b_row[i], d = plus_col + b_col[i];
        float minus = a * a + b * b <= limit ? 1.0f : 0.0f, plus = c * c + d * d <= limit ? 1.0f : 0.0f;
        re[i] = (plus + minus) * sine[i];
        im[i] = (plus - minus) * cosine[i];
    }
}

#endif
