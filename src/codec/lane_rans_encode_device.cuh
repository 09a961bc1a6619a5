/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode_device.cuh - what the encoder's kernels share: one scan rectangle on its way from frames to bricks.
 *
 * 1. turn: frames [position][pixel] become counts [tile][pixel][position], each pixel with its sums; reads whole
 *    sectors.
 * 2. encode: a warp a brick chooses the models and makes both streams, lanes 0..15 the first, 16..31 the second. Words
 *    grow down from the end of the stream's slot, escapes up from its beginning.
 * 3. place: sizes of bricks become offsets.
 * 4. assemble: a block a brick puts it where it belongs; packed counts are packed here.
 */
#ifndef RONCHI_CODEC_LANE_RANS_ENCODE_DEVICE_CUH
#define RONCHI_CODEC_LANE_RANS_ENCODE_DEVICE_CUH

#include "cuda/check.cuh"

extern "C" {
#include "codec/lane_rans.h"
}

enum : uint32_t {
    LANE_ENTRY_ESCAPE = 1u << 16, /* in the fourth word of a table's entry */
    LANE_TABLE_BYTES = 512        /* of a model: 16 entries of 4 words, 256 places */
};

/* Sums of the counts of one pixel and half (512 positions).  Squares modulo 2^64. */
struct lane_part {
    unsigned long long sum, sum2;
    uint32_t low, high;
};

/* A brick as encoded, but for what lies in its slots. */
struct lane_made {
    uint32_t words; /* of the brick; 0: all its counts are 0 */
    uint32_t coded, whole, low, width;
    uint32_t stream_words[LANE_STREAMS], escapes[LANE_STREAMS];
    uint32_t x[LANE_STREAMS * LANE_LANES];
    int32_t base[LANE_TILE];                /* of packed pixels: as uint32_t */
    uint8_t id[LANE_TILE], bits[LANE_TILE]; /* bits: shift of a wide pixel, width of a packed one */
};

/* What the host learns of a rectangle. */
struct lane_encoded {
    unsigned long long words;
    uint32_t most; /* largest unflagged count */
    uint32_t unused;
};

/* One rectangle; passed to kernels by value.  All pointers are the device's. */
struct lane_encode_plan {
    const uint8_t *frames; /* [n][pitch bytes] */
    size_t pitch;
    const uint8_t *valid;        /* [det_rows][det_cols] */
    const uint4 *table;          /* [LANE_MODELS][LANE_TABLE_BYTES / 16] */
    uint32_t n, n_streams, rows; /* positions, streams, rows of the first stream */
    uint32_t value_bytes, det_rows, det_cols, tile_rows, tile_cols, tiles_across, tiles_down, n_tiles;
    uint32_t vectors;    /* 16-byte vectors of counts of a pixel and lane */
    uint32_t slot_words; /* of a stream */
    uint32_t slack;      /* words that one pixel can add to a stream, at most */
    uint4 *counts;       /* [n_tiles][LANE_TILE][vectors][16 n_streams], see lane_count_of() */
    lane_part *parts;    /* [n_streams][n_tiles][LANE_TILE] */
    lane_made *made;     /* [n_tiles] */
    uint16_t *slots;     /* [n_tiles][n_streams][slot_words] */
    uint32_t *offset;    /* [n_tiles + 1] */
    lane_encoded *result;
};

/* Pixels are numbered as in a whole tile: row * tile_cols + column, whether the tile is cut off or not. */
__device__ __forceinline__ uint32_t lane_whole_pixel(const lane_encode_plan &plan, uint32_t cols, uint32_t p)
{
    return cols == plan.tile_cols ? p : p / cols * plan.tile_cols + p % cols;
}

__device__ __forceinline__ void lane_tile_size(const lane_encode_plan &plan, uint32_t tile, uint32_t *rows,
                                               uint32_t *cols)
{
    *rows = min(plan.tile_rows, plan.det_rows - tile / plan.tiles_across * plan.tile_rows);
    *cols = min(plan.tile_cols, plan.det_cols - tile % plan.tiles_across * plan.tile_cols);
}

/* The vectors of a pixel. */
__device__ __forceinline__ const uint4 *lane_counts_of(const lane_encode_plan &plan, uint32_t tile, uint32_t whole)
{
    return plan.counts + ((size_t)tile * LANE_TILE + whole) * plan.vectors * plan.n_streams * LANE_LANES;
}

/*
 * A count of a pixel.  Of 16-bit counts a word holds row w (low) and row w + 16 (high), so that flags of all rows can
 * be gathered with one mask; vector q of a lane holds words 4 q to 4 q + 3.  Of 32-bit counts a word holds a row.
 */
template <class T>
__device__ __forceinline__ uint32_t lane_count_of(const lane_encode_plan &plan, const uint4 *counts, uint32_t lane,
                                                  uint32_t row)
{
    const uint32_t *words = reinterpret_cast<const uint32_t *>(counts);
    const uint32_t w = sizeof(T) == 4 ? row : row & 15;
    const uint32_t v = words[((w >> 2) * plan.n_streams * LANE_LANES + lane) * 4 + (w & 3)];
    return sizeof(T) == 4 ? v : row < 16 ? v & 0xffff : v >> 16;
}

/* Launches of the kernels, by file. */
ronchi_status lane_launch_turn(const lane_encode_plan &plan, cudaStream_t stream, ronchi_error *err);
ronchi_status lane_launch_encode(const lane_encode_plan &plan, cudaStream_t stream, ronchi_error *err);
ronchi_status lane_launch_place(const lane_encode_plan &plan, cudaStream_t stream, ronchi_error *err);
ronchi_status lane_launch_assemble(const lane_encode_plan &plan, uint16_t *words, cudaStream_t stream,
                                   ronchi_error *err);

#endif
