/* SPDX-License-Identifier: MIT */
/*
 * profile.h - the profile's table of functions, one of Ronchi's two tables (the other is core/kernels.h).
 *
 * A store is one acquisition encoded under one profile, in host memory or (a table of its own) on a device.  Everything
 * above this layer uses a store only through this table: blocks go in while loading; bands and reductions come out;
 * describe, span and adopt carry it to and from a file.  An empty slot means the profile cannot do that: callers answer
 * RONCHI_ERR_UNSUPPORTED and touch nothing.
 *
 * Every function may be called from several threads at once on one store, but for create, encode_block, encode_pieces,
 * build_index and destroy.
 * Functions use ronchi_parallel_for() themselves and must give results that do not depend on the number of threads.
 */
#ifndef RONCHI_CODEC_PROFILE_H
#define RONCHI_CODEC_PROFILE_H

#include <jansson.h>

#include "core/internal.h"
#include "cuda/runtime.h"
#include "ronchi/codec.h"

typedef struct ronchi_profile ronchi_profile;

/* What all profiles share; each profile's store starts with it. */
typedef struct ronchi_store {
    const ronchi_profile *profile;
    ronchi_context *context; /* borrowed: outlives the store */
    ronchi_place place;      /* where the counts are */
    int32_t device;          /* ordinal when that is not the host */
    ronchi_shape shape;
    ronchi_dtype dtype; /* as held: u8, u16, u32 or f32 */
    size_t n_positions, n_pixels;
    uint8_t *valid;     /* [det_row][det_col] 1 = unflagged, 0 = flagged; owned */
    uint64_t max_count; /* largest count at an unflagged pixel, met while encoding; the dtype's largest for an adopted
                          store, which nobody has decoded; 0 for f32 */
} ronchi_store;

/*
 * The unit in which a store wants its frames while loading, in the order 0..n_blocks-1.  Either a scan rectangle
 * (flat == 0) or a run of consecutive positions (flat == 1: 'rows' is 1, 'cols' the count, 'first' the flattened
 * index). Position j of the block is ronchi_block_position().  stage_first and stage_count name the consecutive
 * positions whose compressed frames must be at hand: equal for all blocks that share them (one row of rectangles).
 */
typedef struct ronchi_block {
    int flat;
    uint64_t first; /* flattened index of the first position */
    size_t rows, cols;
    uint64_t stage_first, stage_count;
} ronchi_block;

/* Number of positions of a block, and the flattened scan index of its position j. */
static inline size_t ronchi_block_positions(const ronchi_block *block)
{
    return block->rows * block->cols;
}

static inline uint64_t ronchi_block_position(const ronchi_block *block, const ronchi_shape *shape, size_t j)
{
    return block->first + (uint64_t)(j / block->cols) * shape->scan_cols + j % block->cols;
}

/* The rows 'row' to 'row' + 'rows' - 1 of a block, or those that it has of them; a flat one has a single row. */
static inline ronchi_block ronchi_block_rows(const ronchi_block *block, const ronchi_shape *shape, size_t row,
                                             size_t rows)
{
    ronchi_block part = *block;
    part.first += (uint64_t)row * shape->scan_cols;
    part.rows = block->rows - row < rows ? block->rows - row : rows;
    return part;
}

/*
 * Sums without frames.  All outputs are optional (n_planes 0, pixel_* NULL); all are written whole.  Flagged pixels
 * count as 0, whatever the planes say.
 *
 * For counts, exact:
 *   planes      n_planes pointers to weights [n_pixels] (0: pixel not wanted); the profile never checks for overflow:
 * the caller has made sure that sums fit 64 bits plane_sums  [n_planes][rows][cols] u64 of the scan rectangle: sum over
 * pixels of weight x count select      [scan_rows][scan_cols] of the rectangle, nonzero = take, or NULL: all.  Only for
 * pixel_sums and pixel_max pixel_sums  [n_pixels] u64: sum over the selected positions pixel_max   [n_pixels] u32:
 * maximum over the selected positions (0 when there are none) For f32 stores plane_sums_f64 and pixel_sums_f64 take
 * their place (the integer ones must be NULL): per position the pixels are added in row-major order, per pixel the
 * positions in scan order, in float64 without contraction.  Weights are converted to float64; a pixel of weight 0 is
 * not touched, so that its NaN does not spread.  pixel_max_f32 [n_pixels]: NaN if any is NaN.
 */
typedef struct ronchi_reduction {
    size_t scan_row, scan_rows, scan_col, scan_cols;
    size_t n_planes;
    const uint32_t *const *planes;
    uint64_t *plane_sums;
    const uint8_t *select;
    uint64_t *pixel_sums;
    uint32_t *pixel_max;
    double *plane_sums_f64;
    double *pixel_sums_f64;
    float *pixel_max_f32;
} ronchi_reduction;

/*
 * Frames of a block that are decoded piece by piece: n_counts consecutive counts each, the last piece of a frame what
 * remains.  decode() writes one piece of position j to dst, in the store's dtype; any thread, but for one position the
 * pieces in order 0, 1, 2, ...
 */
typedef struct ronchi_pieces {
    size_t n_counts;
    void *user;
    ronchi_status (*decode)(void *user, size_t j, size_t piece, void *dst, ronchi_error *err);
} ronchi_pieces;

/* Reads 'size' bytes of the body of a container at body-relative 'offset'; digests are checked underneath. */
typedef ronchi_status (*ronchi_body_read_fn)(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err);

/* One run of bytes of the body, in file order: gap zero bytes first, then 'size' bytes at 'data'. */
typedef struct ronchi_span {
    size_t gap_bytes;
    const void *data;
    size_t size;
} ronchi_span;

typedef struct ronchi_store_bytes {
    uint64_t resident_bytes; /* everything held for the store */
    uint64_t index_bytes;    /* of which index */
    uint64_t body_bytes;     /* of a file's body */
} ronchi_store_bytes;

struct ronchi_profile {
    ronchi_profile_id id;
    const char *name;  /* "column-rans-v2": what users see */
    const char *codec; /* "runtime-column-rans-spatial-v2": the codec identifier in .qem; NULL: never in a file */

    /*
     * create() makes an empty store for counts of that shape and dtype.  'valid' [n_pixels] is copied (NULL: all
     * valid). 'budget_bytes' bounds the decoded counts of one block. RONCHI_ERR_UNSUPPORTED  the dtype, or flagged
     * pixels where the profile has no validity mask RONCHI_ERR_MEMORY       the budget is smaller than the smallest
     * block; the message says how much is needed
     */
    ronchi_status (*create)(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                            const uint8_t *valid, uint64_t budget_bytes, ronchi_store **out, ronchi_error *err);
    size_t (*n_blocks)(const ronchi_store *store);
    ronchi_block (*block)(const ronchi_store *store, size_t index);

    /*
     * encode_block() adds block 'index' (0, 1, 2, ... each once, in order).
     *   frames  [n_positions of the block][n_pixels] of the store's dtype, contiguous, borrowed
     */
    ronchi_status (*encode_block)(ronchi_store *store, size_t index, const void *frames, ronchi_error *err);

    /*
     * encode_frames() of a device's table is encode_block() for frames that lie on the device and are complete once
     * 'stream' is; they may be overwritten when it returns.  With frames NULL it only says whether it can: RONCHI_OK or
     * RONCHI_ERR_UNSUPPORTED.  Empty: frames come from the host.
     */
    ronchi_status (*encode_frames)(ronchi_store *store, size_t index, const void *frames, ronchi_cuda_stream stream,
                                   ronchi_error *err);

    /*
     * encode_pieces() is encode_block() where frames can be decoded piece by piece, so that they never are in memory as
     * a whole; the same bytes.  Both slots may be empty.  'scratch' is piece_bytes() of memory, aligned to 64, anything
     * in it; 0: not with pieces of that size.
     */
    uint64_t (*piece_bytes)(const ronchi_store *store, size_t n_counts);
    ronchi_status (*encode_pieces)(ronchi_store *store, size_t index, const ronchi_pieces *pieces, void *scratch,
                                   ronchi_error *err);

    /*
     * finish() is called once after the last block: checks that all came, trims memory.  decode_band() of positions
     * whose blocks are encoded works before it too: the loader compares each block right after encoding when asked to.
     */
    ronchi_status (*finish)(ronchi_store *store, ronchi_error *err);

    /*
     * For work that goes by detector tiles.  part() makes an empty store for a rectangle of the detector ('det': the
     * rest of the region plays no part) at all positions of 'whole', which is empty: it is filled block by block with
     * its own frames, as any other.  join() puts n_parts finished parts, which lie 'at' these rectangles and cover the
     * detector once, into the whole and finishes it: nothing is decoded, and the bytes are those that encode_block()
     * gives.  The parts are good for nothing then but to be destroyed.  Rectangles begin and end at multiples of the
     * part_unit(), or at the detector's end.  All three slots are filled, or none.
     */
    void (*part_unit)(const ronchi_store *whole, size_t *rows, size_t *cols);
    ronchi_status (*part)(const ronchi_store *whole, const ronchi_region *det, ronchi_store **out, ronchi_error *err);
    ronchi_status (*join)(ronchi_store *whole, ronchi_store *const *parts, const ronchi_region *at, size_t n_parts,
                          ronchi_error *err);

    /* validate() decodes everything and checks every stream and stored sum.  RONCHI_ERR_DATA names the place. */
    ronchi_status (*validate)(const ronchi_store *store, ronchi_error *err);

    /*
     * decode_band() decodes a region into out [scan_rows][scan_cols][det_rows][det_cols], any strides, dtype u8, u16,
     * u32 or u64 for counts and f32 for float stores, as held (flagged pixels included).  The region lies inside the
     * shape. RONCHI_ERR_RANGE when a count does not fit.
     */
    ronchi_status (*decode_band)(const ronchi_store *store, const ronchi_region *region, const ronchi_view *out,
                                 ronchi_error *err);

    ronchi_status (*reduce)(const ronchi_store *store, const ronchi_reduction *reduction, ronchi_error *err);

    /*
     * cost() tells how many counts reduce() would decode at each scan position for these planes, with the index as it
     * is; RONCHI_ERR_MEMORY.  Empty: as many as there are pixels with a weight.
     */
    ronchi_status (*cost)(const ronchi_store *store, size_t n_planes, const uint32_t *const *planes, uint64_t *counts,
                          ronchi_error *err);

    /*
     * build_index() makes sums in memory that reduce() uses from then on: same results, less decoding.  Does nothing
     * where they are there.  Needs the store alone, as encode_block does.  validate() checks them against the counts.
     */
    ronchi_status (*build_index)(ronchi_store *store, ronchi_error *err);

    /*
     * The index in a file, for profiles that can go without: pack_index() makes a store of its sums (made from the
     * counts where there is no index), which the caller destroys; its spans follow those of the counts, and
     * describe_index() adds its header field.  adopt() reads it.  RONCHI_ERR_RANGE: the sums are too large for a file.
     */
    ronchi_status (*pack_index)(const ronchi_store *store, ronchi_store **out, ronchi_error *err);
    ronchi_status (*describe_index)(const ronchi_store *packed, json_t *header, ronchi_error *err);

    ronchi_store_bytes (*bytes)(const ronchi_store *store);

    /*
     * describe() adds the codec's own header fields to 'header' (a JSON object that already has container, codec,
     * profile, shape, dtype, metadata...).  Spans 0..n_spans-1 are the body that these fields describe.
     */
    ronchi_status (*describe)(const ronchi_store *store, json_t *header, ronchi_error *err);
    size_t (*n_spans)(const ronchi_store *store);
    ronchi_span (*span)(const ronchi_store *store, size_t index);

    /*
     * adopt() makes a store from a container: checks the codec's header fields and the layout against 'body_bytes',
     * reads the arrays through 'read', checks offset tables and selectors (but does not decode).  RONCHI_ERR_DATA names
     * the place.
     */
    ronchi_status (*adopt)(ronchi_context *context, const json_t *header, const ronchi_shape *shape, ronchi_dtype dtype,
                           uint64_t body_bytes, ronchi_body_read_fn read, void *user, ronchi_store **out,
                           ronchi_error *err);

    void (*destroy)(ronchi_store *store); /* NULL does nothing */

    /* to_host(): of a device's table: the same store in host memory; files are written from that one. */
    ronchi_status (*to_host)(const ronchi_store *store, ronchi_store **out, ronchi_error *err);
    const ronchi_profile *on_cuda; /* of a host's table: that of the same profile on a CUDA device, or NULL */
};

/* The tables, one per profile. */
extern const ronchi_profile ronchi_profile_dense;
extern const ronchi_profile ronchi_profile_column;
extern const ronchi_profile ronchi_profile_lane;
extern const ronchi_profile ronchi_profile_lane_cuda; /* the same profile with its counts on a device */
extern const ronchi_profile ronchi_profile_float_lanes;
extern const ronchi_profile ronchi_profile_uint32_lanes;

/* The profile of that id (not AUTO), or of that .qem codec identifier; NULL when there is none. */
const ronchi_profile *ronchi_profile_find(ronchi_profile_id id);
const ronchi_profile *ronchi_profile_by_codec(const char *codec);

/*
 * ronchi_profile_place() replaces *profile by its table for the context's device, if there is one and the profile can
 * be there.  RONCHI_ERR_UNSUPPORTED when the caller named a device and the profile cannot be on it.
 */
ronchi_status ronchi_profile_place(ronchi_context *context, const ronchi_profile **profile, ronchi_error *err);

/*
 * ronchi_store_init() checks the sizes and fills the shared part of a profile's fresh, zeroed store (allocates and
 * copies 'valid'); ronchi_store_release() frees that part.
 */
ronchi_status ronchi_store_init(ronchi_store *store, const ronchi_profile *profile, ronchi_context *context,
                                const ronchi_shape *shape, ronchi_dtype dtype, const uint8_t *valid, ronchi_error *err);
void ronchi_store_release(ronchi_store *store);

/*
 * ronchi_store_check_band() is the first step of a profile's decode_band(): RONCHI_ERR_SHAPE unless the region lies
 * inside the store, 'out' has its shape and lies on the host or where the store is, and the dtype is one that
 * decode_band() gives.
 */
ronchi_status ronchi_store_check_band(const ronchi_store *store, const ronchi_region *region, const ronchi_view *out,
                                      ronchi_error *err);

#endif
