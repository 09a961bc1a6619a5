/* SPDX-License-Identifier: MIT */
/*
 * simulation.h - the plan behind ronchi_simulate(): mean patterns of a specimen at scan positions, and their counts.
 *
 * The wave is computed on a window of n_rows x n_cols samples centred on the probe, whose transform has the detector's
 * pixel pitch.  The window has a whole number of samples per detector pixel pitch ('oversampling'), chosen so that the
 * specimen's atoms are resolved and what is scattered past the detector's edge is lost instead of folded back.
 */
#ifndef RONCHI_SIMULATE_SIMULATION_H
#define RONCHI_SIMULATE_SIMULATION_H

#include "core/fft.h"
#include "ronchi/simulate.h"
#include "simulate/optics.h"
#include "simulate/specimen.h"

typedef struct ronchi_simulation {
    ronchi_context *context;
    ronchi_simulate_options options; /* checked and completed */
    ronchi_optics optics;
    ronchi_fft *fft;
    size_t oversampling, n_rows, n_cols; /* window */
    double step[2];                      /* sample spacing, angstrom, detector axes */
    int64_t origin[2];                   /* window samples of the transmission's first element, detector axes */
    size_t grid_rows, grid_cols;
    ronchi_complex *transmission; /* [grid_rows][grid_cols] exp(i phase), detector axes */
    ronchi_complex *aperture;     /* [n_rows][n_cols] sqrt(aperture) exp(-i chi), transform order */
    uint8_t *lit;                 /* [n_rows] 1 where a row of the aperture is not all 0 */
    float *background;            /* [det_rows][det_cols] */
    ronchi_complex *wave;         /* [workers][n_rows][n_cols] scratch */
    ronchi_complex *ramps;        /* [workers][n_rows + n_cols] scratch */
    float *mean;                  /* [workers][det_rows][det_cols] scratch */
    uint32_t *fixed;              /* [det_rows][det_cols] 0, or the constant that a flagged or hot pixel stores */
    uint8_t *flagged;             /* [det_rows][det_cols] */
} ronchi_simulation;

/*
 * ronchi_simulation_check() checks options and completes those left at 0.  RONCHI_ERR_ARGUMENT or _RANGE names the
 * option.
 */
ronchi_status ronchi_simulation_check(const ronchi_simulate_options *options, ronchi_simulate_options *out,
                                      ronchi_error *err);

/* ronchi_simulation_fits() refuses what would need more workspace than is sensible; called by the check. */
ronchi_status ronchi_simulation_fits(const ronchi_simulate_options *options, ronchi_error *err);

/* The box, in scan axes, that the simulation's windows cover: what a specimen must reach over.  Options as checked. */
ronchi_box ronchi_simulation_box(const ronchi_simulate_options *options);

/*
 * ronchi_simulation_create() plans the simulation of 'specimen' (borrowed during the call).  Options as checked.  The
 * caller owns *out.  RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_simulation_create(ronchi_context *context, const ronchi_simulate_options *options,
                                       const ronchi_specimen *specimen, ronchi_simulation **out, ronchi_error *err);
/* ronchi_simulation_destroy() frees it.  NULL does nothing. */
void ronchi_simulation_destroy(ronchi_simulation *simulation);

/*
 * ronchi_simulation_mean() computes the expected counts at a scan position (in scan steps, any real number inside the
 * scan).
 *
 *   worker  number of the calling worker, for scratch
 *   out     [det_rows][det_cols] f32
 */
void ronchi_simulation_mean(const ronchi_simulation *simulation, double scan_row, double scan_col, size_t worker,
                            float *out);

/*
 * ronchi_simulation_frame() draws the counts of one stored frame, flyback frames included, into out
 * [det_rows][det_cols] of the options' dtype.  Depends on seed and frame alone.
 *
 * RONCHI_ERR_RANGE  a count does not fit the dtype
 */
ronchi_status ronchi_simulation_frame(const ronchi_simulation *simulation, uint64_t frame, size_t worker, void *out,
                                      ronchi_error *err);

/* Stored frames: positions and flyback. */
uint64_t ronchi_simulation_frames(const ronchi_simulate_options *options);
/* True where a stored frame is a scan position; *position is then its flattened index. */
bool ronchi_simulation_position(const ronchi_simulate_options *options, uint64_t frame, uint64_t *position);

/* ronchi_simulation_points() gives the probe positions as points of the specimen. */
ronchi_points ronchi_simulation_points(const ronchi_simulate_options *options);

#endif
