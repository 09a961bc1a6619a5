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
    ronchi_store *store; /* NULL after close */
    ronchi_acquisition_info info;
    json_t *metadata;     /* header "metadata" */
    json_t *scientific;   /* header "scientific_metadata", schema 2 */
    json_t *header_extra; /* unknown header fields of a reopened file, kept for the next save; or NULL */
    size_t n_raw;
    ronchi_raw_pixel *raw; /* raw values that the store cannot hold (see formats/qem.h), sorted by pixel; owned */
    size_t n_flagged;
    size_t *flagged; /* sorted flat indices of flagged pixels, owned, from malloc */
};

/* RONCHI_OK, or RONCHI_ERR_ARGUMENT / RONCHI_ERR_CLOSED with the message filled. */
ronchi_status ronchi_acquisition_usable(const ronchi_acquisition *acquisition, ronchi_error *err);

/*
 * ronchi_acquisition_reduce() runs the profile's reduction; RONCHI_ERR_UNSUPPORTED for an empty slot.  The way in for
 * all of detector/: see ronchi_reduction in codec/profile.h.
 */
ronchi_status ronchi_acquisition_reduce(const ronchi_acquisition *acquisition, const ronchi_reduction *reduction,
                                        ronchi_error *err);

/*
 * ronchi_store_read_block() decodes one block's positions, in block order, as contiguous frames of the store's dtype.
 *   frames  [positions of the block][n_pixels]
 */
ronchi_status ronchi_store_read_block(const ronchi_store *store, const ronchi_block *block, void *frames,
                                      ronchi_error *err);

/*
 * ronchi_block_next() cuts a block into scan rectangles: *done (positions delivered so far, 0 at first) advances by the
 * rectangle's; false when all are delivered.  A block that is a rectangle is one piece, a flat run at most three.
 */
bool ronchi_block_next(const ronchi_shape *shape, const ronchi_block *block, size_t *done, ronchi_region *region);

/* ronchi_acquisition_read_block() is ronchi_acquisition_read() for one block's positions as contiguous frames of
 * 'dtype'. */
ronchi_status ronchi_acquisition_read_block(const ronchi_acquisition *acquisition, const ronchi_block *block,
                                            ronchi_flagged_read flagged, ronchi_dtype dtype, void *frames,
                                            ronchi_error *err);

/* ronchi_acquisition_block_rows() gives how many rows of a block of frames of 'dtype' the budget holds: at least one,
 * and of a flat block its only one. */
size_t ronchi_acquisition_block_rows(const ronchi_acquisition *acquisition, ronchi_dtype dtype);
/* ronchi_acquisition_block_buffer() takes room for so many rows; the caller gives it back with ronchi_decoded_give().
 */
void *ronchi_acquisition_block_buffer(const ronchi_acquisition *acquisition, ronchi_dtype dtype, ronchi_error *err);

/* ronchi_store_largest_block() gives the positions of the largest block. */
size_t ronchi_store_largest_block(const ronchi_store *store);

/* ronchi_raw_at() gives the raw value of one pixel of the table at a flattened scan position. */
uint32_t ronchi_raw_at(const ronchi_raw_pixel *raw, uint64_t position);

/*
 * ronchi_acquisition_new() makes an acquisition around a store that it takes over (also when it fails), with an
 * otherwise empty contract: dtype, shape, profile and residency are the store's, the rest is the caller's to fill.
 */
ronchi_status ronchi_acquisition_new(ronchi_store *store, ronchi_acquisition **out, ronchi_error *err);

/* ronchi_acquisition_account() brings the byte counts of the contract up to date. */
void ronchi_acquisition_account(ronchi_acquisition *acquisition);

/*
 * The contract in a file: scientific_metadata.extensions.ronchi "contract" and "flagged_raw".  store() writes them
 * before saving, restore() reads them after reopening, with what can be derived where they are absent (a file of
 * another writer).
 */
ronchi_status ronchi_contract_store(const ronchi_acquisition *acquisition, json_t *scientific, ronchi_error *err);
ronchi_status ronchi_contract_restore(ronchi_acquisition *acquisition, ronchi_error *err);

/* ronchi_acquisition_reopen() loads a .qem; see ronchi_acquisition_load(). */
ronchi_status ronchi_acquisition_reopen(ronchi_context *context, const char *path, const ronchi_load_options *options,
                                        ronchi_acquisition **out, ronchi_error *err);

#endif
