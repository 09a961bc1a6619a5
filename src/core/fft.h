/* SPDX-License-Identifier: MIT */
/*
 * fft.h - the seam for Fourier transforms on the CPU: complex and real, single precision, two axes, any size.
 *
 * FFTW stands behind it today; another library needs only another fft.c.  Plans are chosen by estimate, never by
 * measurement, so that the same library on the same kind of CPU gives the same bits in every run and on every thread.
 */
#ifndef RONCHI_CORE_FFT_H
#define RONCHI_CORE_FFT_H

#include "core/internal.h"

/* One complex number. */
typedef struct ronchi_complex {
    float re, im;
} ronchi_complex;

/* A plan for arrays of one size.  Constant after creation: any number of threads may run it on arrays of their own. */
typedef struct ronchi_fft ronchi_fft;

/*
 * ronchi_fft_create() plans transforms of [rows][cols] arrays, rows and cols at least 1.  The caller owns *out.
 *
 * RONCHI_ERR_ARGUMENT  a size of 0, or one that the library cannot take
 * RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_fft_create(ronchi_context *context, size_t rows, size_t cols, ronchi_fft **out, ronchi_error *err);
/* ronchi_fft_destroy() frees the plan.  NULL does nothing. */
void ronchi_fft_destroy(ronchi_fft *fft);

/*
 * ronchi_fft_forward() replaces 'data' by its transform, sum over (r, c) of data[r][c] exp(-2 pi i (u r / rows + v c /
 * cols)); ronchi_fft_inverse() the same with +i, not divided by rows * cols.
 *
 *   data  [rows][cols] complex, contiguous, aligned to 64 bytes (ronchi_alloc), in place
 */
void ronchi_fft_forward(const ronchi_fft *fft, ronchi_complex *data);
void ronchi_fft_inverse(const ronchi_fft *fft, ronchi_complex *data);

/* A plan for real arrays of one size and their half spectra; constant after creation, like ronchi_fft. */
typedef struct ronchi_fft_real ronchi_fft_real;

/* ronchi_fft_real_create() is ronchi_fft_create() for real arrays [rows][cols]. */
ronchi_status ronchi_fft_real_create(ronchi_context *context, size_t rows, size_t cols, ronchi_fft_real **out,
                                     ronchi_error *err);
/* ronchi_fft_real_destroy() frees the plan.  NULL does nothing. */
void ronchi_fft_real_destroy(ronchi_fft_real *fft);

/*
 * ronchi_fft_real_forward() gives columns 0..cols/2 of the transform of a real array; 'image' is kept.
 * ronchi_fft_real_inverse() gives the real array of a half spectrum, not divided by rows * cols; 'half' is destroyed.
 *
 *   image  [rows][cols] f32, half  [rows][cols / 2 + 1] complex; contiguous, aligned to 64 bytes
 */
void ronchi_fft_real_forward(const ronchi_fft_real *fft, const float *image, ronchi_complex *half);
void ronchi_fft_real_inverse(const ronchi_fft_real *fft, ronchi_complex *half, float *image);

#endif
