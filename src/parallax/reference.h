/* SPDX-License-Identifier: MIT */
/*
 * reference.h - what images are compared with.
 *
 * To first order the image of pixel k has the spectrum gamma(k, q) Phi(q), with Phi that of the specimen's phase and
 *
 *     gamma = i [A(k - q) exp(-i chi(q)) - A(k + q) exp(i chi(q))] exp(2 pi i s(k) . q),
 *
 * A the aperture and s the shift (docs/conventions.md).  Where both beams are inside this is 2 sin chi(q), real, and
 * only shifted; where one is cut off, chi(q) remains as a phase that a comparison with the mean takes for a shift.  So
 * with a known calibration images are compared with the Phi of all of them times their own gamma; without, with the
 * mean of the aligned images, which is the same for gamma = 1.
 */
#ifndef RONCHI_PARALLAX_REFERENCE_H
#define RONCHI_PARALLAX_REFERENCE_H

#include "parallax/search.h"
#include "parallax/shifts.h"

typedef struct ronchi_reference {
    ronchi_context *context;
    const ronchi_spectra *spectra;
    bool transfer;
    double scattered[2][2];       /* detector pixels per frequency */
    float limit;                  /* radius squared */
    float *sine, *cosine;         /* [rows][pitch] of chi(q) */
    float *along_row, *along_col; /* [pitch] q in detector pixels as far as the column decides */
    float *phi;                   /* [size] conj(Phi), columns that stand for two weighted twice */
} ronchi_reference;

/* ronchi_reference_init() allocates; 'transfer' false: the mean.  RONCHI_ERR_MEMORY */
ronchi_status ronchi_reference_init(ronchi_context *context, const ronchi_spectra *spectra, bool transfer,
                                    ronchi_reference *out, ronchi_error *err);
void ronchi_reference_free(ronchi_reference *reference);

/* ronchi_reference_set() takes aperture (pixels) and chi from a fit; 'units' are complete when 'transfer' is. */
void ronchi_reference_set(ronchi_reference *reference, const ronchi_shift_fit *fit, double radius_px,
                          const ronchi_parallax_aberrations *units);

/*
 * ronchi_reference_add() brings row r of an image's spectrum to the place of Phi, conj(gamma) x with the ramp of the
 * image's shift, and adds it to sum [2 pitch]; with 'correlate' times conj(Phi).
 */
void ronchi_reference_add(const ronchi_reference *reference, size_t r, const double k[2], const ronchi_ramp *ramp,
                          const float *x, bool correlate, float *sum);

/* ronchi_reference_weigh() adds weight |gamma|^2 of a row to sum [pitch]. */
void ronchi_reference_weigh(const ronchi_reference *reference, size_t r, const double k[2], float weight, float *sum);

#endif
