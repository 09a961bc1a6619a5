/* SPDX-License-Identifier: MIT */
/*
 * acquisition.h - what lies behind ronchi_acquisition, for resident and for the operations above it.
 */
#ifndef RONCHI_RESIDENT_ACQUISITION_H
#define RONCHI_RESIDENT_ACQUISITION_H

#include <jansson.h>

#include "codec/profile.h"
#include "formats/qem.h"
#include "ronchi/resident.h"

struct ronchi_acquisition {
    ronchi_context *context;
    ronchi_store *store;       /* NULL after close */
    ronchi_acquisition_info info;
    json_t *metadata;          /* header "metadata" */
    json_t *scientific;        /* header "scientific_metadata", schema 2 */
    json_t *header_extra;      /* unknown header fields of a reopened file, kept for the next save; or NULL */
    size_t n_raw;
    ronchi_raw_pixel *raw;     /* sorted by pixel, owned, from malloc */
    size_t n_flagged;
    size_t *flagged;           /* sorted flat indices of flagged pixels, owned, from malloc */
};

/* RONCHI_OK, or RONCHI_ERR_ARGUMENT / RONCHI_ERR_CLOSED with the message filled. */
ronchi_status ronchi_acquisition_usable(const ronchi_acquisition *acquisition, ronchi_error *err);

/*
 * ronchi_acquisition_reduce() runs the profile's reduction; RONCHI_ERR_UNSUPPORTED for an empty slot.  The way in for all of
 * detector/: see ronchi_reduction in codec/profile.h.
 */
ronchi_status ronchi_acquisition_reduce(const ronchi_acquisition *acquisition, const ronchi_reduction *reduction,
                                        ronchi_error *err);

/*
 * ronchi_store_read_block() decodes one block's positions, in block order, as contiguous frames of the store's dtype.
 *   frames  [positions of the block][n_pixels]
 */
ronchi_status ronchi_store_read_block(const ronchi_store *store, const ronchi_block *block, void *frames, ronchi_error *err);

/* ronchi_raw_free() frees a table of raw values. */
void ronchi_raw_free(ronchi_raw_pixel *raw, size_t n_raw);

#endif
