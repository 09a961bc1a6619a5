/* SPDX-License-Identifier: MIT */
/*
 * dectris_write.h - writes acquisitions as the detectors' own software does: STEM_master.h5 with external links to
 * STEM_data_000001.h5, ..., and on request the companion STEM.h5 of the scan generator.
 *
 * Everything is written under temporary names in the same folder and gets its names only when all of it is complete,
 * the master last.  After a failure, a cancel or a kill no file of these names is incomplete.
 */
#ifndef RONCHI_FORMATS_DECTRIS_WRITE_H
#define RONCHI_FORMATS_DECTRIS_WRITE_H

#include "core/internal.h"

/* What the companion says.  Values of 0 stand for "not known", as in real ones. */
typedef struct ronchi_dectris_companion {
    double voltage_kv;
    double camera_length_m;
    double scan_step_a;
    double rotation_deg;
    uint32_t prescan; /* extra frames before each line */
} ronchi_dectris_companion;

typedef struct ronchi_dectris_options {
    ronchi_shape shape;         /* the scan may be 0 x 0: not known */
    ronchi_dtype dtype;         /* u8, u16, u32 or f32 */
    uint64_t n_frames;          /* stored frames, extra ones included */
    uint64_t frames_per_file;   /* 0: all in one */
    const char *filter;         /* "bslz4", "lz4", "gzip", "none" */
    const char *description;    /* of the detector; NULL: "Dectris ARINA" */
    const uint32_t *pixel_mask; /* [det_rows][det_cols] flag bits, NULL: none */
    double voltage_kv;          /* 0: not known, then no photon_energy */
    double frame_time_s;        /* 0: not known */
    int64_t saturation;         /* largest count that means something; 0: not known */
    int32_t scan_attributes; /* 1: scan_shape and what belongs to it as attributes; only where n_frames is the scan */
    const ronchi_dectris_companion *companion; /* NULL: none is written */
    int32_t force;                             /* 1: existing files of these names are replaced */
} ronchi_dectris_options;

/* A writer serves one thread. */
typedef struct ronchi_dectris_writer ronchi_dectris_writer;

/*
 * ronchi_dectris_writer_create() checks everything that can be checked and opens the temporary files.  'options' and
 * what it points to are borrowed during the call.  The caller owns *out.
 *
 * RONCHI_ERR_ARGUMENT  the name does not end in _master.h5, unknown filter or dtype, impossible sizes
 * RONCHI_ERR_EXISTS    one of the files is there and 'force' is 0, or a companion that would be taken for the new
 * master's RONCHI_ERR_NOT_FOUND the folder does not exist RONCHI_ERR_IO, RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_dectris_writer_create(ronchi_context *context, const char *master_path,
                                           const ronchi_dectris_options *options, ronchi_dectris_writer **out,
                                           ronchi_error *err);

/*
 * ronchi_dectris_writer_append() encodes (on the context's workers) and writes the next 'count' frames.
 *
 *   frames  [count][det_rows][det_cols] of the options' dtype, contiguous
 *
 * RONCHI_ERR_ARGUMENT when there are more than n_frames, RONCHI_ERR_IO, RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_dectris_writer_append(ronchi_dectris_writer *writer, const void *frames, uint64_t count,
                                           ronchi_error *err);

/*
 * ronchi_dectris_writer_finish() completes the files and gives them their names.  RONCHI_ERR_INCOMPLETE when fewer than
 * n_frames were appended; RONCHI_ERR_EXISTS, RONCHI_ERR_IO.  After an error nothing of this acquisition is left.
 */
ronchi_status ronchi_dectris_writer_finish(ronchi_dectris_writer *writer, ronchi_error *err);

/* ronchi_dectris_writer_destroy() frees the writer; what was not finished is removed.  NULL does nothing. */
void ronchi_dectris_writer_destroy(ronchi_dectris_writer *writer);

/*
 * ronchi_dectris_name() makes the name of a file that belongs to a master: stem + suffix, such as "_truth.json".
 * RONCHI_ERR_ARGUMENT when the master's name does not end in _master.h5 or the result does not fit.
 */
ronchi_status ronchi_dectris_name(const char *master_path, const char *suffix, char *out, size_t size,
                                  ronchi_error *err);

#endif
