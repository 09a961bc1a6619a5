/* SPDX-License-Identifier: MIT */
/* bins.h - the disk in square bins of pixels, their spectra, and the shifts of the bins, coarse to fine. */
#ifndef RONCHI_PARALLAX_BINS_H
#define RONCHI_PARALLAX_BINS_H

#include "parallax/reference.h"

typedef struct ronchi_bins {
    ronchi_context *context;
    const ronchi_spectra *spectra;
    uint32_t side;         /* detector pixels */
    size_t n, grid;        /* bins; bins a side of the grid that holds them, the disk's centre in its middle bin */
    size_t *at;            /* [grid][grid] number of the bin, SIZE_MAX: none */
    uint32_t *cell;        /* [n] place in the grid */
    size_t *of;            /* [images] bin of an image */
    double *k_row, *k_col; /* [n] mean pixel, from the disk's centre */
    double *weight;        /* [n] sum of mean counts over the dose */
    float *sums;           /* [n][size] weighted sums of spectra */
    double *shift_row, *shift_col; /* [n] */
    double *variance;              /* [n] of a shift per axis */
    uint8_t *held;                 /* [n] */
    double window;                 /* sum of the squared window: noise of a spectrum is window / counts */
    double dose;
} ronchi_bins;

/* ronchi_bins_count() tells how many bins of that side hold pixels. */
size_t ronchi_bins_count(const ronchi_bright_field *bf, uint32_t side);

/* ronchi_bins_init() assigns pixels to bins and allocates; RONCHI_ERR_MEMORY. */
ronchi_status ronchi_bins_init(const ronchi_bright_field *bf, const ronchi_spectra *spectra, uint32_t side,
                               ronchi_bins *out, ronchi_error *err);
void ronchi_bins_free(ronchi_bins *bins);

/* ronchi_bins_fill() reads all images, adds those of each bin, and transforms the sums times 'window'. */
ronchi_status ronchi_bins_fill(ronchi_bins *bins, ronchi_bright_field *bf, const float *window, ronchi_error *err);

/*
 * ronchi_bins_start() finds a first fit without any reference: neighbours in the disk differ by the same shift
 * everywhere, so the correlations of all pairs of neighbours are added before the peak is looked for; pairs further
 * apart then sharpen it.  Sets the shifts of all bins.
 */
ronchi_status ronchi_bins_start(ronchi_bins *bins, double radius_px, ronchi_shift_fit *fit, ronchi_error *err);

/* ronchi_bins_refer() makes the reference from all bins as they are aligned now. */
ronchi_status ronchi_bins_refer(const ronchi_bins *bins, ronchi_reference *reference, ronchi_error *err);

/*
 * ronchi_bins_align() measures shifts of groups of bins, squares of 'side' detector pixels, against the reference; then
 * fits, and holds outliers to the fit.
 */
ronchi_status ronchi_bins_align(ronchi_bins *bins, const ronchi_reference *reference, uint32_t side, int reach,
                                ronchi_shift_fit *fit, ronchi_error *err);

#endif
