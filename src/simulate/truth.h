/* SPDX-License-Identifier: MIT */
/* truth.h - the true answers of a simulation: STEM_truth.json and STEM_truth_phase.npy. */
#ifndef RONCHI_SIMULATE_TRUTH_H
#define RONCHI_SIMULATE_TRUTH_H

#include "simulate/simulation.h"

/* Gathered while frames are made. */
typedef struct ronchi_truth {
    char counts_sha256[65]; /* of the raw counts without extra frames, C order, little-endian */
    uint64_t largest;       /* count outside flagged pixels */
    double total;           /* of the counts outside flagged pixels, without extra frames; exact below 2^53 */
} ronchi_truth;

/*
 * ronchi_truth_write() writes both files, each atomically.  After an error neither is left.
 * RONCHI_ERR_EXISTS, RONCHI_ERR_IO, RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_truth_write(const ronchi_simulation *simulation, const ronchi_specimen *specimen,
                                 const char *master_path, const ronchi_truth *truth, ronchi_error *err);

/* ronchi_truth_remove() removes both files of a master that did not come about. */
void ronchi_truth_remove(const char *master_path);

/* ronchi_truth_refuse() is RONCHI_ERR_EXISTS when one of the files is there. */
ronchi_status ronchi_truth_refuse(const char *master_path, ronchi_error *err);

#endif
