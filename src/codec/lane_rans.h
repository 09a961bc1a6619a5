/* SPDX-License-Identifier: MIT */
/*
 * lane_rans.h - lane-rans-v1: bricks of a detector tile and a scan rectangle, coded by 16 rANS lanes over the
 * positions.
 *
 * docs/format.md fixes every bit; the names here are its names.  One chunk holds one scan rectangle: a header, the
 * sizes of its bricks (one per detector tile) and the bricks.  A brick holds one or two streams of up to 512 positions;
 * each can be decoded without the other.
 */
#ifndef RONCHI_CODEC_LANE_RANS_H
#define RONCHI_CODEC_LANE_RANS_H

#include "codec/profile.h"
#include "codec/sum_index.h"
#include "core/kernels.h"

enum {
    LANE_LANES = 16,
    LANE_ROWS = 32,                     /* positions of one lane in a stream, at most */
    LANE_SPAN = LANE_LANES * LANE_ROWS, /* positions of a stream, at most */
    LANE_STREAMS = 2,                   /* streams of a brick, at most */
    LANE_TILE = 64,                     /* pixels of a tile, at most */
    LANE_SLOTS = 256,                   /* slots of a table */
    LANE_SYMBOLS = 16,                  /* symbols of a table */
    LANE_ESCAPE = 15,                   /* the symbol that says: see the escapes */
    LANE_CODE_ESCAPE = 31,              /* its code in the in-register form of a table; of others it is the symbol */
    LANE_SPARSE = 40,                   /* sparse models: ids 1..40 */
    LANE_COUNT = 96,                    /* count models: ids 41..136 */
    LANE_WIDE = 10,                     /* wide models: ids 137..146 */
    LANE_MODELS = LANE_SPARSE + LANE_COUNT + LANE_WIDE,
    LANE_ID_ZERO = 0, /* pixel without counts */
    LANE_ID_COUNT = 1 + LANE_SPARSE,
    LANE_ID_WIDE = LANE_ID_COUNT + LANE_COUNT,
    LANE_ID_PACKED = 1 + LANE_MODELS, /* 147: base and plain bits */
    LANE_MAX_SHIFT = 8,
    LANE_CHUNK_HEADER = 64,                    /* bytes before the brick sizes */
    LANE_SLACK_WORDS = LANE_SPAN + LANE_LANES, /* words behind a chunk's payload that a decoder may read, not use */
    LANE_ABREAST = 4,                          /* rows of 8 pixels that fill a cache line */
    LANE_RECTANGLE = 32                        /* side of a scan rectangle, at most */
};

/* Decoded bytes of the frames of one scan rectangle, at most. */
#define LANE_RECTANGLE_BYTES (UINT64_C(96) << 20)
/* State of a lane: at least this between symbols, and exactly this at the beginning of encoding = end of decoding. */
#define LANE_STATE UINT32_C(65536)

/* One model's table, in the forms that decoders and the encoder want. */
typedef struct ronchi_lane_table {
    /* In-register form, by bucket.  Entries: code 0..7, 256 - f 8..15, rank - slot 16..27, and in 'own' the last slot
     * of the bucket's own piece in 28..31. */
    uint32_t own[LANE_SYMBOLS], alias[LANE_SYMBOLS];
    uint32_t slot[LANE_SLOTS]; /* per slot: symbol << 16 | f << 8 | rank */
    uint8_t place[LANE_SLOTS]; /* slot of (first[symbol] + rank) */
    uint8_t frequency[LANE_SYMBOLS];
    uint8_t first[LANE_SYMBOLS];
    uint8_t shift;   /* sparse: log2 of the rows of a group */
    uint8_t largest; /* symbol of the largest frequency, the lowest of several */
    uint8_t padding[14];
    uint64_t inverse[LANE_SYMBOLS]; /* floor(2^40 / f) + 1, so that x / f = x * inverse >> 40 for x < f << 24 */
} ronchi_lane_table;

/*
 * One model's table as vector encoders want it, by symbol; those without slots stand for the escape.
 *
 * For x < f << 24: x / f = (x + bump) * inverse >> 32 >> (rotate & 31); why stands where they are computed.
 */
typedef struct ronchi_lane_code {
    uint8_t place[LANE_SLOTS]; /* slot of (first[symbol] + rank) */
    uint32_t inverse[LANE_SYMBOLS];
    uint32_t rotate[LANE_SYMBOLS];
    uint32_t bump[LANE_SYMBOLS]; /* 0 or 1 */
    uint8_t frequency[LANE_SYMBOLS];
    uint8_t first[LANE_SYMBOLS];
    uint8_t coded[LANE_SYMBOLS]; /* the symbol itself, or 15 */
    uint8_t even;                /* all bumps are 1 */
    uint8_t largest;             /* symbol of the largest frequency, the lowest of several */
    uint8_t top;                 /* symbols 0..top - 1 have slots, top has none (or is the escape) */
    uint8_t shift;               /* sparse: log2 of the rows of a group */
    uint8_t padding[12];
} ronchi_lane_code;

/* All models, index id - 1, and what else is computed once.  Constant after ronchi_lane_tables_fill(). */
struct ronchi_lane_tables {
    ronchi_lane_code code[LANE_MODELS];
    ronchi_lane_table model[LANE_MODELS];
    uint32_t crc[256];
    uint8_t expand[256][16]; /* [lanes of 8 in need of a word]: for each lane the bytes of its word, else 128 */
};
typedef struct ronchi_lane_tables ronchi_lane_tables;

/* Fills 'tables'.  Pure: the same on every machine. */
void ronchi_lane_tables_fill(ronchi_lane_tables *tables);

/* How one shape is cut: a function of shape and dtype alone. */
typedef struct ronchi_lane_layout {
    ronchi_shape shape;
    size_t value_bytes;
    size_t tile_rows, tile_cols; /* of a whole tile */
    size_t tiles_down, tiles_across, n_tiles;
    size_t rect_rows, rect_cols; /* of a whole rectangle */
    size_t rects_down, rects_across, n_rects;
} ronchi_lane_layout;

/* Pixels [row, row + rows) x [col, col + cols) of tile, or positions of a rectangle. */
typedef struct ronchi_lane_cut {
    size_t row, col, rows, cols;
} ronchi_lane_cut;

void ronchi_lane_layout_of(const ronchi_shape *shape, ronchi_dtype dtype, ronchi_lane_layout *out);
ronchi_lane_cut ronchi_lane_tile(const ronchi_lane_layout *layout, size_t index);
ronchi_lane_cut ronchi_lane_rect(const ronchi_lane_layout *layout, size_t index);

/* Where one stream of a brick lies: words forward from 'words', escapes backward from 'end'. */
typedef struct ronchi_lane_stream {
    const uint16_t *states; /* 16 states, low word first */
    const uint16_t *words, *end;
} ronchi_lane_stream;

/* A brick as parsed: everything but the symbols. */
struct ronchi_lane_brick {
    size_t n_pixels, n_positions, n_streams;
    bool coded; /* streams are there */
    uint8_t id[LANE_TILE];
    uint8_t shift[LANE_TILE];          /* wide: raw low bits */
    int64_t base[LANE_TILE];           /* wide and packed */
    uint8_t width[LANE_TILE];          /* packed: bits of a count */
    const uint16_t *packed[LANE_TILE]; /* packed: its words */
    size_t whole_width;                /* packed as a whole: bit offset of pixel p is p * n_positions * width */
    bool whole;                        /* one packed array for all pixels, at packed[0] */
    ronchi_lane_stream stream[LANE_STREAMS];
};
typedef struct ronchi_lane_brick ronchi_lane_brick;

/*
 * ronchi_lane_brick_parse() reads the 'n_words' words of a brick of n_pixels x n_positions.  Pointers of 'out' point
 * into 'words'.  NULL, or what is wrong as a static text; never reads beyond the words.
 */
const char *ronchi_lane_brick_parse(const uint16_t *words, size_t n_words, size_t n_pixels, size_t n_positions,
                                    ronchi_lane_brick *out);

/*
 * ronchi_lane_decode16() / 32() decode streams first..first+n-1 of a brick: out [n][LANE_TILE][LANE_SPAN]; values of
 * pixels from 'stop_pixel' on and of positions behind a stream's last are unspecified.  With stop_pixel == n_pixels the
 * final states and the end of the streams are checked.  NULL, or what is wrong as a static text.  'largest' is what
 * counts may not exceed. LANE_SLACK_WORDS words behind the end of every stream must be readable.  The 16-bit ones and
 * the sums are slots of ronchi_kernels; all versions agree to the bit.
 */
const char *ronchi_lane_decode32(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first,
                                 size_t n, size_t stop_pixel, uint32_t largest, uint32_t *out);
const char *ronchi_lane_decode16_c(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first,
                                   size_t n, size_t stop_pixel, uint32_t largest, uint16_t *out);
const char *ronchi_lane_sum_c(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first, size_t n,
                              uint64_t take, uint32_t largest, uint16_t *scratch, uint32_t *sums);
#if defined(__x86_64__) && defined(__GNUC__)
ronchi_lane_decode_fn ronchi_lane_decode16_avx2, ronchi_lane_decode16_avx512;
ronchi_lane_sum_fn ronchi_lane_sum_avx2, ronchi_lane_sum_avx512;
#endif
ronchi_lane_tiles_fn ronchi_lane_tiles_c, ronchi_lane_tiles_avx2, ronchi_lane_tiles_avx512;
ronchi_lane_lines_fn ronchi_lane_lines_c, ronchi_lane_lines_avx512;
/* Everything that was written past the caches is seen by whoever sees what is written after this. */
void ronchi_lane_lines_end(void);
/* Counts of pixel 'p' of stream 's' where it has no symbols: none, or packed.  As above. */
const char *ronchi_lane_decode_plain16(const ronchi_lane_brick *brick, size_t s, size_t p, uint32_t largest,
                                       uint16_t *out);

/* Words that a brick can have at most: packed as a whole at 32 bits. */
#define LANE_BRICK_WORDS (4 + 2 * LANE_TILE * LANE_STREAMS * LANE_SPAN)

/* ------------------------------------------------------------------------------------------------ model choice */

/* What the choice of a pixel's model is made from: exact sums over its n positions, of counts or of counts above 'low'.
 */
typedef struct ronchi_lane_stats {
    uint64_t sum;               /* of counts */
    uint32_t low, high;         /* smallest and largest count */
    uint64_t sum_low, sum_low2; /* of d and d * d, d = min(count - low, 65535) */
} ronchi_lane_stats;

/* Models of a brick's pixels, with shift and base of wide ones, width and base of packed ones. */
typedef struct ronchi_lane_choice {
    uint8_t id[LANE_TILE], shift[LANE_TILE], width[LANE_TILE];
    int64_t base[LANE_TILE];
} ronchi_lane_choice;

/* Chooses the models of a brick: integers only, so the same everywhere. */
void ronchi_lane_choose(const ronchi_lane_stats *stats, size_t n_pixels, size_t n_positions, ronchi_lane_choice *out);

/* -------------------------------------------------------------------------------------------------- the store */

typedef struct ronchi_lane_chunk {
    uint8_t *bytes;   /* header, sizes, payload and LANE_SLACK_WORDS zero words; owned */
    size_t size;      /* bytes without the slack */
    uint32_t *offset; /* [n_tiles + 1] words of the payload; owned */
    const uint16_t *payload;
    uint64_t body_offset;
} ronchi_lane_chunk;

typedef struct ronchi_lane_store {
    ronchi_store base;
    ronchi_lane_layout layout;
    ronchi_lane_tables *tables;
    ronchi_lane_chunk *chunks; /* [n_rects] */
    size_t n_filled;
    uint64_t body_bytes;
    ronchi_sum_index *index;      /* sums of tiles and groups, or NULL; owned */
    struct ronchi_device *device; /* where the counts are (codec/lane_rans_cuda.h); then the chunks have no bytes */
    struct ronchi_lane_on *on;    /* NULL: on the host; owned by ronchi_profile_lane_cuda */
} ronchi_lane_store;

ronchi_status ronchi_lane_create_empty(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                       const uint8_t *valid, ronchi_lane_store **out, ronchi_error *err);
void ronchi_lane_destroy(ronchi_store *store);

/* Finds and parses brick (rect, tile) of a store; RONCHI_ERR_DATA names the place. */
ronchi_status ronchi_lane_brick_at(const ronchi_lane_store *store, size_t rect, size_t tile, ronchi_lane_brick *out,
                                   ronchi_error *err);
/* Fails with RONCHI_ERR_DATA: brick and what is wrong with it. */
ronchi_status ronchi_lane_bad(const ronchi_lane_store *store, size_t rect, size_t tile, const char *what,
                              ronchi_error *err);

ronchi_status ronchi_lane_encode_block(ronchi_store *store, size_t index, const void *frames, ronchi_error *err);
uint64_t ronchi_lane_piece_bytes(const ronchi_store *store, size_t n_counts);
ronchi_status ronchi_lane_encode_pieces(ronchi_store *store, size_t index, const ronchi_pieces *pieces, void *scratch,
                                        ronchi_error *err);
ronchi_status ronchi_lane_decode_band(const ronchi_store *store, const ronchi_region *region, const ronchi_view *out,
                                      ronchi_error *err);
ronchi_status ronchi_lane_reduce(const ronchi_store *store, const ronchi_reduction *reduction, ronchi_error *err);
ronchi_status ronchi_lane_cost(const ronchi_store *store, size_t n_planes, const uint32_t *const *planes,
                               uint64_t *counts, ronchi_error *err);

/* ronchi_lane_part_unit(), _make_part() and _join_parts() are slots of the profile. */
void ronchi_lane_part_unit(const ronchi_store *whole, size_t *rows, size_t *cols);
ronchi_status ronchi_lane_make_part(const ronchi_store *whole, const ronchi_region *det, ronchi_store **out,
                                    ronchi_error *err);
ronchi_status ronchi_lane_join_parts(ronchi_store *whole, ronchi_store *const *parts, const ronchi_region *at,
                                     size_t n_parts, ronchi_error *err);

/*
 * Makes the sum index of a finished store, for the caller or for the store itself where it has none; checks every sum
 * of one that it has.
 */
ronchi_status ronchi_lane_make_index(const ronchi_lane_store *store, ronchi_sum_index **out, ronchi_error *err);
ronchi_status ronchi_lane_build_index(ronchi_store *store, ronchi_error *err);
ronchi_status ronchi_lane_check_index(const ronchi_lane_store *store, ronchi_error *err);

/*
 * The index in a file: the sums of tiles as the counts of another acquisition, whose chunks follow those of the counts
 * (docs/format.md section 11).  pack() makes its store, which the caller destroys; describe() adds its header field;
 * adopt() reads it back, its first chunk at 'first' in the body, to store->index.
 */
ronchi_status ronchi_lane_pack_index(const ronchi_store *store, ronchi_store **out, ronchi_error *err);
ronchi_status ronchi_lane_describe_index(const ronchi_store *packed, json_t *header, ronchi_error *err);
ronchi_status ronchi_lane_adopt_index(ronchi_lane_store *store, const json_t *field, uint64_t first,
                                      uint64_t body_bytes, ronchi_body_read_fn read, void *user, ronchi_error *err);

/*
 * ronchi_lane_read_chunks() makes a store from its chunks: sizes from the list 'sizes', the first at byte 'first' of
 * the body.  (*out)->body_bytes is where the last one ends, not beyond 'body_bytes'.
 */
ronchi_status ronchi_lane_read_chunks(ronchi_context *context, const ronchi_shape *shape, ronchi_dtype dtype,
                                      const json_t *sizes, uint64_t first, uint64_t body_bytes,
                                      ronchi_body_read_fn read, void *user, ronchi_lane_store **out, ronchi_error *err);
/* The sizes of all chunks as a list; NULL without memory. */
json_t *ronchi_lane_chunk_sizes(const ronchi_lane_store *store);

/* Fills the fixed part and the CRCs of a finished chunk; checks those of one that was read and fills its offsets. */
void ronchi_lane_chunk_seal(const ronchi_lane_store *store, size_t rect);
ronchi_status ronchi_lane_chunk_check(ronchi_lane_store *store, size_t rect, ronchi_error *err);

ronchi_status ronchi_lane_describe(const ronchi_store *store, json_t *header, ronchi_error *err);
size_t ronchi_lane_n_spans(const ronchi_store *store);
ronchi_span ronchi_lane_span(const ronchi_store *store, size_t index);
ronchi_status ronchi_lane_adopt(ronchi_context *context, const json_t *header, const ronchi_shape *shape,
                                ronchi_dtype dtype, uint64_t body_bytes, ronchi_body_read_fn read, void *user,
                                ronchi_store **out, ronchi_error *err);

#endif
