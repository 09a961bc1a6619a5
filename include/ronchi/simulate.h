/* SPDX-License-Identifier: MIT */
/*
 * simulate.h - a physical single-slice phase-object simulation of a 4D-STEM acquisition, with its true answers, and the
 * writing of Dectris-style masters.
 *
 * Model: the probe is the inverse Fourier transform of an aperture of 'semiangle_mrad' with the phase -chi,
 *   chi(k, phi) = pi lambda k^2 (C10 + C12 cos 2(phi - phi12)),  C10 = -defocus, k in 1/angstrom, see
 * docs/conventions.md for the sense of phi and of the rotation; the object is exp(i phase) of a lattice, heavy clusters
 * and amorphous noise; the pattern at a probe position is |FT(probe(r - r_p) object(r))|^2 plus an incoherent
 * background; counts are Poisson.
 */
#ifndef RONCHI_SIMULATE_H
#define RONCHI_SIMULATE_H

#include "ronchi/core.h"
#include "ronchi/formats.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ronchi_simulate_options {
    size_t struct_size;
    size_t scan_rows, scan_cols, det_rows, det_cols; /* default 64, 64, 192, 192 */
    double voltage_kv;                               /* 300 */
    double semiangle_mrad;                           /* 25 */
    double disk_radius_px;    /* of the bright-field disk on the detector; default 55/192 of the shorter side */
    double scan_step_a;       /* 0.5 */
    double c10_a;             /* 0; C10 = -defocus, angstrom */
    double c12_a, phi12_deg;  /* 0, 0 */
    double dose;              /* mean counts per pixel of the bright-field disk; 4 */
    double background;        /* mean counts per pixel of the dark background at the centre; 0.04 */
    double phase_scale;       /* strength of the object; 1 */
    double rotation_deg;      /* scan axes to detector axes; docs/conventions.md */
    int32_t transpose;        /* 1: detector rows and columns exchanged after the rotation */
    ronchi_dtype dtype;       /* RONCHI_U16 */
    uint32_t flagged_pixels;  /* marked in the mask, stored as the dtype's maximum */
    uint32_t hot_pixels;      /* not in the mask, constant high counts */
    uint32_t flyback;         /* extra frames per line */
    int32_t flyback_at;       /* ronchi_flyback_at */
    uint64_t frames_per_file; /* 0: one data file */
    int32_t companion;        /* 1: write the companion <stem>.h5 with "STEM Metadata" */
    int32_t truth;            /* 1: write the true answers beside the master */
    const char *filter;       /* "bslz4" (default), "lz4", "gzip", "none" */
    uint64_t seed;            /* default 1 */
    int32_t force;
} ronchi_simulate_options;

RONCHI_API void ronchi_simulate_options_defaults(ronchi_simulate_options *options);

/*
 * ronchi_simulate() writes STEM_master.h5 (the path ends so) and its data files (and companion), and with 'truth'
 * STEM_truth.json (all parameters, matrix and values of the true shifts of the bright-field images, flagged and hot
 * pixels, SHA-256 of the raw counts without extra frames) and STEM_truth_phase.npy (the object's phase at the probe
 * positions, rad, f64).  'options' may be NULL.
 *
 * Without companion and extra frames the master carries the scan shape as an attribute.  Extra frames at the end of
 * lines are in no evidence: whoever opens such a set says so.
 *
 * Deterministic for a seed on one FFT library: counts do not depend on the thread count.  Bounded memory: a batch of
 * frames of at most 16 MiB (or one frame), the specimen (8 bytes per sample) and a window per thread.
 *
 * RONCHI_ERR_ARGUMENT  impossible geometry, unknown filter, a wrong name; the message says which
 * RONCHI_ERR_RANGE     counts do not fit the dtype; nothing is left
 * RONCHI_ERR_EXISTS, _NOT_FOUND, _IO, _CANCELLED, _MEMORY: nothing of this acquisition is left
 */
RONCHI_API ronchi_status ronchi_simulate(ronchi_context *context, const char *master_path,
                                         const ronchi_simulate_options *options, ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
