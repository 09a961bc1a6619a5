/* SPDX-License-Identifier: MIT */
/*
 * h5_chunks.h - where the chunks of an HDF5 dataset lie in its file, read without libhdf5.
 *
 * libhdf5 1.10 finds one chunk at a time and lets one thread in at a time.  With the places of all chunks known, any
 * number of threads can read them.  Understood are superblocks 0 to 3, object headers 1 and 2, layouts 3 and 4 and
 * every chunk index of theirs: B-trees 1 and 2, fixed and extensible array, implicit, single chunk.  What is not
 * understood is refused; the caller then asks libhdf5, whose answer is the reference.
 *
 * Nothing in the file is believed unchecked: places are held against the file's size, checksums are verified,
 * counts, recursion, memory and the bytes read are bounded.
 */
#ifndef RONCHI_FORMATS_H5_CHUNKS_H
#define RONCHI_FORMATS_H5_CHUNKS_H

#include "core/internal.h"

enum { RONCHI_H5_CHUNK_AXES = 4 };

#define RONCHI_H5_NOT_STORED UINT64_MAX

/* The file, as something that gives exactly 'size' bytes at 'offset', or an error. */
typedef struct ronchi_h5_bytes {
    ronchi_status (*read)(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err);
    void *user;
    uint64_t size_bytes;
    const char *name; /* for messages */
} ronchi_h5_bytes;

/* One chunk: its stored bytes in the file, and which filters were not applied to it. */
typedef struct ronchi_h5_chunk {
    uint64_t offset; /* RONCHI_H5_NOT_STORED: there is none, and size is 0 */
    uint32_t size;
    uint32_t skipped;
} ronchi_h5_chunk;

/* All chunks of a dataset, in row-major order of their place in it. */
typedef struct ronchi_h5_chunks {
    int rank;
    uint64_t dims[RONCHI_H5_CHUNK_AXES];
    uint64_t chunk[RONCHI_H5_CHUNK_AXES]; /* elements of one chunk along each axis */
    uint64_t grid[RONCHI_H5_CHUNK_AXES];  /* chunks along each axis */
    uint32_t element_bytes;
    size_t n, n_stored; /* chunks declared, and those that are there */
    ronchi_h5_chunk *at;
    const char *index; /* "B-tree 1", "fixed array", ...; static */
} ronchi_h5_chunks;

/*
 * ronchi_h5_chunks_read() reads the index of the dataset whose object header lies at 'header' (H5O_info_t.addr).
 * 'name' in messages is the file's.  Free with ronchi_h5_chunks_free().
 *
 * RONCHI_ERR_DATA         something contradicts itself or the file; err->offset is its byte
 * RONCHI_ERR_UNSUPPORTED  another layout, version or size than those above
 * RONCHI_ERR_MEMORY       no memory
 */
ronchi_status ronchi_h5_chunks_read(ronchi_context *context, const ronchi_h5_bytes *file, uint64_t header,
                                    ronchi_h5_chunks *out, ronchi_error *err);
void ronchi_h5_chunks_free(ronchi_context *context, ronchi_h5_chunks *chunks);

#endif
