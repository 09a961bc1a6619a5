/* SPDX-License-Identifier: MIT */
/*
 * h5.h - libhdf5 behind a small checked surface.
 *
 * The serial libhdf5 serves one thread: everything here but enter and leave is called between ronchi_hdf5_enter() and
 * ronchi_hdf5_leave(), which hold one lock for the process (libhdf5's own state is one for the process) and keep
 * libhdf5 from printing.  Data filters of the detectors are decoded here, so no plugin is ever needed.
 */
#ifndef RONCHI_FORMATS_H5_H
#define RONCHI_FORMATS_H5_H

#include "core/internal.h"
#include "formats/hdf5_guard.h"

/* ronchi_h5_why() copies libhdf5's innermost message about the last failure; "" when there is none. */
void ronchi_h5_why(char *out, size_t size);

/* -------------------------------------------------------------------------------------------------------- datasets */

enum { RONCHI_H5_AXES = 4 };

/* How a dataset's chunks are coded. */
typedef enum ronchi_h5_filter {
    RONCHI_H5_NONE = 0,
    RONCHI_H5_BSLZ4,  /* 32008 alone */
    RONCHI_H5_LZ4,    /* 32004 alone */
    RONCHI_H5_LIBRARY /* filters that libhdf5 itself has: deflate, shuffle, ... */
} ronchi_h5_filter;

/* What is known of a dataset of one to four axes without reading it. */
typedef struct ronchi_h5_info {
    int rank;
    hsize_t dims[RONCHI_H5_AXES];
    hsize_t chunk[RONCHI_H5_AXES]; /* 0 when not chunked */
    bool chunked, is_virtual;
    ronchi_dtype dtype; /* 0: none of ours */
    bool swap;          /* stored in the other byte order */
    char type[48];      /* the stored type in words */
    ronchi_h5_filter filter;
    char filter_name[32];            /* "bslz4", "lz4", "gzip", "none", ... */
    uint64_t pieces, pieces_present; /* chunks declared and allocated; 1 and 0 or 1 for other layouts */
} ronchi_h5_info;

/*
 * ronchi_h5_describe() fills *out for an open dataset.  'count' says whether allocated chunks are counted (linear in
 * their number).  RONCHI_ERR_UNSUPPORTED for filters, layouts and ranks that cannot be read, with the reason (and *out
 * as far as known).
 */
ronchi_status ronchi_h5_describe(hid_t dataset, bool count, ronchi_h5_info *out, ronchi_error *err);

/*
 * ronchi_h5_read_box() reads a box of a dataset into a C-ordered array of info->dtype in host byte order, in bounded
 * memory (one decoded chunk beside the result).  Chunks that are not there are RONCHI_ERR_INCOMPLETE, damaged ones
 * RONCHI_ERR_DATA.
 */
ronchi_status ronchi_h5_read_box(ronchi_context *context, hid_t dataset, const ronchi_h5_info *info,
                                 const hsize_t *start, const hsize_t *count, void *dst, ronchi_error *err);

/* ronchi_h5_chunk_size() gives the stored bytes of the chunk at 'offset'; RONCHI_ERR_INCOMPLETE when it is not there.
 */
ronchi_status ronchi_h5_chunk_size(hid_t dataset, const hsize_t *offset, uint64_t *size, ronchi_error *err);

/*
 * ronchi_h5_decode_chunk() decodes the stored bytes of one chunk into 'out_size' bytes in host byte order.  'skipped'
 * is the chunk's filter mask.  Needs no lock.
 */
ronchi_status ronchi_h5_decode_chunk(const struct ronchi_kernels *kernels, const ronchi_h5_info *info, uint32_t skipped,
                                     const uint8_t *chunk, size_t size, uint8_t *out, size_t out_size,
                                     ronchi_error *err);

/* ------------------------------------------------------------------------------------------------------ small values
 */

/* Scalars (or arrays of one element) below 'place'; false when they are not there or of another kind. */
bool ronchi_h5_number(hid_t place, const char *path, double *out);
bool ronchi_h5_count(hid_t place, const char *path, uint64_t *out);
bool ronchi_h5_string(hid_t place, const char *path, char *out, size_t size);
/* The same for an attribute of the object at 'path' ("." for 'place' itself). */
bool ronchi_h5_attribute_number(hid_t place, const char *path, const char *name, double *out);
bool ronchi_h5_attribute_string(hid_t place, const char *path, const char *name, char *out, size_t size);
/*
 * Whether every attribute of the object at 'path' can be decoded.  To be asked before H5Aiterate_by_name(): libhdf5
 * 1.10 crashes there on a damaged one.
 */
bool ronchi_h5_attributes_sound(hid_t place, const char *path);
/*
 * ronchi_h5_visit() shows every object below 'place' to the callback, by name, as H5Ovisit() does; false when links on
 * the way cannot be read: then in no order, those that could.  libhdf5 1.10 crashes when it sorts links of a damaged
 * group, so they are walked unsorted first.
 */
bool ronchi_h5_visit(hid_t place, H5O_iterate_t callback, void *user);
/* Whether every link of the group at 'path' can be read; false for what is no group.  To be asked before H5Literate. */
bool ronchi_h5_links_sound(hid_t place, const char *path);
/* An attribute of exactly n whole numbers. */
bool ronchi_h5_attribute_counts(hid_t place, const char *path, const char *name, size_t n, uint64_t *out);
/* An array of strings: returns how many were copied into out[max][64]. */
size_t ronchi_h5_strings(hid_t place, const char *path, char (*out)[64], size_t max);

/* ronchi_h5_exists() is true when every link of the path is there and the last one resolves. */
bool ronchi_h5_exists(hid_t place, const char *path);

#endif
