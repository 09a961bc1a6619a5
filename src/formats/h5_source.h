/* SPDX-License-Identifier: MIT */
/* h5_source.h - the state of an open HDF5 source: its parts, and the frames read from them. */
#ifndef RONCHI_FORMATS_H5_SOURCE_H
#define RONCHI_FORMATS_H5_SOURCE_H

#include "formats/h5_survey.h"

enum { RONCHI_H5_OPEN = 4 }; /* datasets kept open at a time */

typedef struct ronchi_h5_open {
    size_t part; /* SIZE_MAX: free */
    hid_t file, dataset;
    uint64_t used; /* larger: later */
} ronchi_h5_open;

/*
 * Everything below 'open' is touched only by whoever holds the lock of hdf5_guard.h.
 */
typedef struct ronchi_h5_state {
    ronchi_h5_file *files;
    size_t n_files;
    ronchi_h5_part *parts;
    size_t n_parts;
    size_t frame_bytes;
    ronchi_h5_open open[RONCHI_H5_OPEN];
    uint64_t uses;
    /* Frames of one layer of chunks that hold several frames, or parts of frames. */
    uint8_t *layer;
    size_t layer_part;
    uint64_t layer_first, layer_count;
} ronchi_h5_state;

/* True when every frame of the part is one chunk that decode() can take apart without libhdf5. */
bool ronchi_h5_direct(const ronchi_h5_part *part);

ronchi_status ronchi_h5_stage(ronchi_source *source, uint64_t first, uint64_t count, ronchi_staged *out,
                              ronchi_error *err);
ronchi_status ronchi_h5_decode(const ronchi_source *source, const ronchi_staged *staged, uint64_t frame, void *dst,
                               ronchi_error *err);
void ronchi_h5_unstage(ronchi_source *source, ronchi_staged *staged);

/* ronchi_h5_close_all() closes what is open and frees the layer. */
void ronchi_h5_close_all(ronchi_context *context, ronchi_h5_state *state);

#endif
