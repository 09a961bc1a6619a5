/* SPDX-License-Identifier: MIT */
/*
 * specimen.h - the simulated object: a phase that is defined at every point of the plane, in scan axes, angstrom from
 * scan position (0, 0).
 *
 * A square lattice of atoms of two alternating weights, turned by 0.17 rad, fills a round grain at the middle of the
 * scan; heavy clusters lie on it; amorphous noise covers everything.  All are sums of Gaussians, so the phase is exact
 * at any point without interpolation, and what lies at a point depends on the seed alone, not on how much of the plane
 * is asked for.
 */
#ifndef RONCHI_SIMULATE_SPECIMEN_H
#define RONCHI_SIMULATE_SPECIMEN_H

#include "core/internal.h"

/* phase_rad exp(-r^2 / (2 width_a^2)) up to r = 5 width_a, 0 beyond. */
typedef struct ronchi_atom {
    double row_a, col_a, phase_rad, width_a;
} ronchi_atom;

typedef struct ronchi_specimen {
    ronchi_context *context;
    ronchi_atom *atoms; /* owned */
    size_t n_atoms;
    double noise_rad; /* root mean square of the amorphous noise; 0: none */
    uint64_t seed;
} ronchi_specimen;

/* A rectangle in scan axes, angstrom. */
typedef struct ronchi_box {
    double row_min, row_max, col_min, col_max;
} ronchi_box;

/* Points origin + i along_rows + j along_cols, i < rows, j < cols; scan axes, angstrom. */
typedef struct ronchi_points {
    double origin[2], along_rows[2], along_cols[2];
    size_t rows, cols;
} ronchi_points;

/* ronchi_points_box() gives the smallest box around all the points. */
ronchi_box ronchi_points_box(const ronchi_points *points);

/*
 * ronchi_specimen_create() makes the specimen as far as 'box' reaches.
 *
 *   scale  multiplies every phase; 0 is vacuum
 *   grain  centre (row, column) and radius of the lattice, angstrom
 *
 * The caller owns *out.  RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_specimen_create(ronchi_context *context, uint64_t seed, double scale, const double grain[3],
                                     const ronchi_box *box, ronchi_specimen **out, ronchi_error *err);
/* ronchi_specimen_destroy() frees it.  NULL does nothing. */
void ronchi_specimen_destroy(ronchi_specimen *specimen);

/*
 * ronchi_specimen_sample() gives the phase at points: out [rows][cols] f64, radian.  Runs on the context's workers; the
 * same bits for any thread count.  RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_specimen_sample(const ronchi_specimen *specimen, const ronchi_points *points, double *out,
                                     ronchi_error *err);

#endif
