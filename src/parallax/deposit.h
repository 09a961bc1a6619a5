/* SPDX-License-Identifier: MIT */
/*
 * deposit.h - every image shifted once, by its spectrum, and laid down on a finer grid.
 *
 * On a grid u times finer an image is its samples with zeros between them, so its spectrum repeats u times along each
 * axis; a ramp over all of them shifts the samples to places between.  Images are surrounded by zeros, so that what
 * leaves the scan on one side does not come back on the other; 'density' is the same deposit of the counts that each
 * image has on average, so that image / density is right at the edges too.
 */
#ifndef RONCHI_PARALLAX_DEPOSIT_H
#define RONCHI_PARALLAX_DEPOSIT_H

#include "parallax/pixels.h"

/* What is made: arrays [scan_rows * upsample][scan_cols * upsample], the caller's. */
typedef struct ronchi_deposit {
    uint32_t upsample;
    float *image, *raw, *density;
    double low_pass; /* set: sigma in scan pixels */
} ronchi_deposit;

/* ronchi_deposit_size() gives the sizes of the padded images, and the bytes of spectra that the deposit holds. */
void ronchi_deposit_size(const ronchi_bright_field *bf, const ronchi_pixel_shifts *shifts, uint32_t upsample,
                         size_t padded[2], uint64_t *bytes);

/* ronchi_deposit_run() reads all images once more and adds them.  RONCHI_ERR_MEMORY, _CANCELLED */
ronchi_status ronchi_deposit_run(ronchi_bright_field *bf, const ronchi_pixel_shifts *shifts, ronchi_deposit *out,
                                 ronchi_error *err);

#endif
