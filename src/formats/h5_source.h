/* SPDX-License-Identifier: MIT */
/* h5_source.h - the state of an open HDF5 source: its parts, and the frames read from them. */
#ifndef RONCHI_FORMATS_H5_SOURCE_H
#define RONCHI_FORMATS_H5_SOURCE_H

#include "core/port.h"
#include "formats/h5_chunks.h"
#include "formats/h5_survey.h"

enum { RONCHI_H5_OPEN = 4 }; /* datasets kept open at a time */

typedef struct ronchi_h5_open {
    size_t part; /* SIZE_MAX: free */
    hid_t file, dataset;
    uint64_t used; /* larger: later */
} ronchi_h5_open;

/* The places of a part's chunks, once they have been looked for. */
typedef struct ronchi_h5_places {
    bool tried, known;
    ronchi_h5_chunks chunks;
} ronchi_h5_places;

/*
 * Everything from 'open' on is touched only by whoever holds the lock of hdf5_guard.h.
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
    /* Touched only by whoever stages or locates: one thread at a time. */
    ronchi_h5_places *places; /* [n_parts] */
    bool by_library;          /* never look for places: libhdf5 reads every chunk (tests, benchmarks) */
    ronchi_input input;       /* the file that was read from last */
    size_t input_file;        /* SIZE_MAX: none is open */
} ronchi_h5_state;

/* True when every frame of the part is one chunk that decode() can take apart without libhdf5. */
bool ronchi_h5_direct(const ronchi_h5_part *part);

ronchi_status ronchi_h5_stage(ronchi_source *source, uint64_t first, uint64_t count, ronchi_staged *out,
                              ronchi_error *err);
ronchi_status ronchi_h5_decode(const ronchi_source *source, const ronchi_staged *staged, uint64_t frame, void *dst,
                               ronchi_error *err);
size_t ronchi_h5_pieces(const ronchi_source *source, const ronchi_staged *staged);
ronchi_status ronchi_h5_decode_piece(const ronchi_source *source, const ronchi_staged *staged, uint64_t frame,
                                     size_t piece, size_t *at, void *dst, ronchi_error *err);
void ronchi_h5_unstage(ronchi_source *source, ronchi_staged *staged);

/* ronchi_h5_part_of() gives the part that holds a frame. */
size_t ronchi_h5_part_of(const ronchi_h5_state *state, uint64_t frame);
/* An honest frame is at most a little longer than its counts; more is damage, and is not allocated. */
bool ronchi_h5_honest_size(const ronchi_h5_state *state, uint64_t size);
/* ronchi_h5_dataset() gives the open dataset of a part, borrowed until the next call; under the lock. */
ronchi_status ronchi_h5_dataset(ronchi_h5_state *state, size_t part, hid_t *out, ronchi_error *err);

/* The slots locate and file of the format. */
ronchi_status ronchi_h5_locate(ronchi_source *source, uint64_t first, uint64_t count, ronchi_stored_frame *out,
                               bool *known, ronchi_error *err);
const char *ronchi_h5_file_path(const ronchi_source *source, uint32_t file);
/* ronchi_h5_read_at() reads bytes of a file by number, opening it when it is not the one read from last. */
ronchi_status ronchi_h5_read_at(ronchi_h5_state *state, size_t file, uint64_t offset, void *dst, size_t size,
                                ronchi_error *err);
void ronchi_h5_places_free(ronchi_context *context, ronchi_h5_state *state);

/* ronchi_h5_close_all() closes what is open and frees the layer. */
void ronchi_h5_close_all(ronchi_context *context, ronchi_h5_state *state);

#endif
