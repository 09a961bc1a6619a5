/* SPDX-License-Identifier: MIT */
/*
 * ingest.h - the way in: frames from anywhere, block by block, into a store, in bounded memory.
 */
#ifndef RONCHI_RESIDENT_INGEST_H
#define RONCHI_RESIDENT_INGEST_H

#include "resident/acquisition.h"
#include "resident/flagged.h"

/*
 * Where frames come from.  stage() makes the frames of consecutive scan positions available in one of two slots, called
 * by one reader thread while the other slot is being decoded; frame() decodes one of them, by any thread; unstage()
 * empties a slot. stage and unstage may be NULL.
 */
typedef struct ronchi_feed {
    ronchi_shape shape;
    ronchi_dtype dtype;
    void *user;
    ronchi_status (*stage)(void *user, int slot, uint64_t first_position, uint64_t count, ronchi_error *err);
    ronchi_status (*frame)(void *user, int slot, uint64_t position, void *dst, ronchi_error *err);
    void (*unstage)(void *user, int slot);
    const char *name;             /* for messages */
    struct ronchi_source *source; /* where frames come from that have places in files; NULL: they come in another way */
    /*
     * Frames piece by piece, as ronchi_format has them: pieces() of a slot gives 0 where that cannot be.  '*at' begins
     * as 0 for each frame.  Both may be NULL.
     */
    size_t (*pieces)(void *user, int slot);
    ronchi_status (*decode_piece)(void *user, int slot, uint64_t position, size_t piece, size_t *at, void *dst,
                                  ronchi_error *err);
} ronchi_feed;

typedef struct ronchi_ingest_options {
    const uint8_t *valid;  /* [n_pixels] of the feed, 0 = flagged; NULL: none flagged */
    const size_t *flagged; /* the same as a list */
    size_t n_flagged;
    ronchi_flagged policy;
    bool verify;            /* decode each block right after encoding and compare */
    const char *stage_name; /* for progress */
} ronchi_ingest_options;

/*
 * ronchi_ingest_why_host() says, in static words, why frames for a store on a device are decoded on the host; NULL when
 * they are decoded on the device, or the store is not on one.
 */
const char *ronchi_ingest_why_host(ronchi_store *store, const ronchi_feed *feed, const ronchi_ingest_options *options);

/*
 * ronchi_ingest() runs all blocks of an empty store.  The store's dtype is the feed's, or u16 for a u32 feed: then
 * unflagged counts above 65535 end it with RONCHI_ERR_RANGE (nothing is narrowed without proof), flagged ones are
 * stored as 0 and kept in 'raw'.
 */
ronchi_status ronchi_ingest(ronchi_store *store, const ronchi_feed *feed, const ronchi_ingest_options *options,
                            ronchi_raw_collector *raw, ronchi_error *err);

#endif
