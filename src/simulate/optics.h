/* SPDX-License-Identifier: MIT */
/*
 * optics.h - the electron, the aperture, the aberrations, and how detector axes lie to scan axes.  docs/conventions.md.
 *
 * Vectors are (row, column) pairs.  Detector vectors are in pixels from the pattern centre or in 1/angstrom, scan
 * vectors in angstrom.
 */
#ifndef RONCHI_SIMULATE_OPTICS_H
#define RONCHI_SIMULATE_OPTICS_H

#include "core/electron.h"
#include "ronchi/simulate.h"

typedef struct ronchi_optics {
    double wavelength_a;
    double dk;                       /* 1/angstrom per detector pixel */
    double radius_px;                /* of the disk */
    double c10_a, c12_a, phi12;      /* phi12 in radian */
    double detector_from_scan[2][2]; /* P R(rotation): orthogonal */
    double scan_from_detector[2][2]; /* its transpose */
} ronchi_optics;

/* ronchi_optics_init() derives the optics from options whose values have been checked and completed. */
void ronchi_optics_init(ronchi_optics *optics, const ronchi_simulate_options *options);

/*
 * ronchi_optics_aperture() gives the share of a pixel that lies inside the disk: 1 inside, 0 outside, in between a ramp
 * of one pixel centred on the edge.  'row' and 'col' are pixels from the pattern centre.
 */
double ronchi_optics_aperture(const ronchi_optics *optics, double row, double col);

/* ronchi_optics_chi() gives chi at a detector pixel, radian: the wave in the aperture is sqrt(aperture) exp(-i chi). */
double ronchi_optics_chi(const ronchi_optics *optics, double row, double col);

/*
 * ronchi_optics_alignment() gives the matrix M with which a detector pixel d (pixels from the pattern centre) has the
 * alignment shift s = M d, angstrom, scan axes: grad chi / (2 pi).  The bright-field image of that pixel is that of the
 * centre pixel displaced by -s; shifting it by s aligns it.
 */
void ronchi_optics_alignment(const ronchi_optics *optics, double matrix[2][2]);

#endif
