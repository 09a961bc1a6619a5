/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - the context's table of kernels: the inner loops that have more than one version.
 *
 * Plain C fills every slot and is the reference; faster instruction sets overwrite theirs, in rising order, once, when
 * the context is created.  A slot's type says all that its versions must agree on: outputs are identical to the bit.
 * Whoever adds a slot adds its C version, its entry in the variants harness (tests/variants) and nothing else.
 */
#ifndef RONCHI_CORE_KERNELS_H
#define RONCHI_CORE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rows.h"

/*
 * Bit-transposes 'n' elements (a multiple of 8) of 'size' bytes (1, 2, 4 or 8).  Shuffled layout: plane b (bit b of
 * every element, little-endian) is n/8 bytes; bit j of byte i of a plane belongs to element 8 i + j. unshuffle: planes
 * -> elements; shuffle: elements -> planes.  'in' and 'out' do not overlap, any alignment.
 */
typedef void ronchi_bitshuffle_fn(const uint8_t *in, uint8_t *out, size_t n, size_t size);

/* ------------------------------------------------------------------------- streams of counts (codec/stream.h) */

struct ronchi_stream;
struct ronchi_stream_tables;
struct ronchi_stream_stats;

/*
 * Transposes [rows][cols] to [cols][rows]: out[c][r] = in[r][c].  Pitches are signed bytes between rows; the values of
 * a row are adjacent.  'in' and 'out' do not overlap, any alignment. transpose16: u16 -> u16; widen8: u8 -> u16;
 * narrow16: u16 -> u8 (values fit: the caller knows).
 */
typedef void ronchi_transpose_fn(const void *in, ptrdiff_t in_pitch, size_t rows, size_t cols, void *out,
                                 ptrdiff_t out_pitch);

/*
 * Decodes the first 'stop' of the n values of each of 'n_streams' streams to out [n_streams][RONCHI_STREAM_PITCH]
 * (values behind 'stop' are unspecified).  Returns the index of the first faulty stream, or n_streams; the caller asks
 * ronchi_stream_decode() what is wrong.
 */
typedef size_t ronchi_streams_decode_fn(const struct ronchi_stream_tables *tables, const struct ronchi_stream *streams,
                                        size_t n_streams, size_t n, size_t stop, uint16_t *out);

/*
 * Encodes n values of each of 'n_streams' streams, values [n_streams][RONCHI_STREAM_PITCH], in the form that
 * ronchi_stream_encode() gives, to the byte: to dst [n_streams][1024] with sizes and selectors [n_streams].
 */
typedef void ronchi_streams_encode_fn(const struct ronchi_stream_tables *tables, const uint16_t *values,
                                      size_t n_streams, size_t n, const struct ronchi_stream_stats *stats, uint8_t *dst,
                                      uint32_t *sizes, uint8_t *selectors);

/* Statistics of n values, 1 <= n <= 512. */
typedef void ronchi_stream_stats_fn(const uint16_t *values, size_t n, struct ronchi_stream_stats *out);

/* sums[t] += weight * counts[t], modulo 2^32: the caller knows that it fits. */
typedef void ronchi_weigh_fn(const uint16_t *counts, size_t n, uint32_t weight, uint32_t *sums);

/* Sum and maximum of counts[t] & keep[t] (keep NULL: all), n <= 512. */
typedef void ronchi_total_fn(const uint16_t *counts, const uint16_t *keep, size_t n, uint64_t *sum, uint32_t *max);

/* ------------------------------------------------------------------- streams of lane-rans-v1 (codec/lane_rans.h) */

struct ronchi_lane_tables;
struct ronchi_lane_brick;

/*
 * Decodes streams first..first+n-1 of a brick to out [n][64][512]; values of pixels from 'stop_pixel' on and of
 * positions behind a stream's last are unspecified. With stop_pixel == the brick's pixels the end of the stream is
 * checked.  Returns NULL, or what is wrong as a static text.
 */
typedef const char *ronchi_lane_decode_fn(const struct ronchi_lane_tables *tables,
                                          const struct ronchi_lane_brick *brick, size_t first, size_t n,
                                          size_t stop_pixel, uint32_t largest, uint16_t *out);
/*
 * The same for stream 'stream' of n bricks, 1 or 2, that have equally many positions: out[k] [64][512], up to pixel
 * stop[k].
 */
typedef const char *ronchi_lane_tiles_fn(const struct ronchi_lane_tables *tables,
                                         const struct ronchi_lane_brick *const *bricks, size_t n, size_t stream,
                                         const size_t *stop, uint32_t largest, uint16_t *const *out);

/*
 * sums[k][i] += the counts of position i of stream first + k, k < n, at the pixels whose bit in 'take' is set.
 * 'scratch' is [64][512]. Positions behind the stream's last get anything.
 */
typedef const char *ronchi_lane_sum_fn(const struct ronchi_lane_tables *tables, const struct ronchi_lane_brick *brick,
                                       size_t first, size_t n, uint64_t take, uint32_t largest, uint16_t *scratch,
                                       uint32_t *sums);

/* CRC-32C of n bytes; 'table' is that of codec/crc32c.h. */
typedef uint32_t ronchi_crc32c_fn(const uint32_t *table, const void *bytes, size_t n);

struct ronchi_lane_stats;
struct ronchi_lane_choice;
struct ronchi_lane_pixels;
struct ronchi_lane_half;

/* Statistics of n counts, 1 <= n <= 1024, by which models are chosen. */
typedef void ronchi_lane_stats_fn(const uint16_t *counts, size_t n, struct ronchi_lane_stats *out);

/*
 * Encodes all streams of a brick under the models chosen, which some pixel's symbols must need, to halves [n_streams].
 * 'stats' are the pixels' statistics; how they are used is up to the version, the words are the same.
 */
typedef void ronchi_lane_encode_fn(const struct ronchi_lane_tables *tables, const struct ronchi_lane_pixels *pixels,
                                   const struct ronchi_lane_stats *stats, const struct ronchi_lane_choice *choice,
                                   struct ronchi_lane_half *halves);

/*
 * Adds decoded counts [64][512] to several planes at once: sums[k][i] += the sum over j < n_pixels of weights[k][j] x
 * counts[pixels[j]][i], i < n <= 512, k < n_planes, modulo 2^32.  weights [n_planes][64]: at most 32767 each.  sums
 * [n_planes][512]: those from n on get anything.
 */
typedef void ronchi_weigh_planes_fn(const uint16_t *counts, const uint8_t *pixels, size_t n_pixels, size_t n,
                                    const uint16_t *weights, size_t n_planes, uint32_t *sums);

/*
 * Puts decoded tiles into frames: 'rows' rows of 8 pixels of up to 4 tiles side by side, at n positions, u16.  Pixel i
 * of row r of tile k at position t is from[k][(8 r + i) * 512 + t], and up to 7 values behind the last position may be
 * read; it goes to 'to' + r * row_pitch + t * pitch + 16 k + 2 i.  With 'past' (width 4, 'to' and pitches multiples of
 * 64) the lines go past the caches, and the caller ends with ronchi_lane_lines_end().
 */
typedef struct ronchi_lane_lines {
    const uint16_t *from[4];
    size_t width, rows, n;
    char *to;
    ptrdiff_t pitch, row_pitch; /* bytes */
    bool past;
} ronchi_lane_lines;

typedef void ronchi_lane_lines_fn(const ronchi_lane_lines *lines);

/* ------------------------------------------------------------------------------- planes of sums (codec/sum_index.h) */

/* sums[i] += from[i] for n unsigned values of 1, 2 or 4 bytes, modulo 2^32; 'from' is aligned to their size. */
typedef void ronchi_add_sums_fn(const void *from, size_t bytes, size_t n, uint32_t *sums);

typedef struct ronchi_kernels {
    ronchi_bitshuffle_fn *bitunshuffle;
    ronchi_bitshuffle_fn *bitshuffle;
    ronchi_transpose_fn *transpose16, *widen8, *narrow16;
    ronchi_streams_decode_fn *streams_decode;
    ronchi_streams_encode_fn *streams_encode;
    ronchi_stream_stats_fn *stream_stats;
    ronchi_weigh_fn *weigh;
    ronchi_total_fn *total;
    ronchi_lane_decode_fn *lane_decode16;
    ronchi_lane_tiles_fn *lane_tiles;
    ronchi_lane_sum_fn *lane_sum;
    ronchi_lane_stats_fn *lane_stats;
    ronchi_lane_encode_fn *lane_encode;
    ronchi_crc32c_fn *crc32c;
    ronchi_weigh_planes_fn *weigh_planes;
    ronchi_lane_lines_fn *lane_lines;
    ronchi_add_sums_fn *add_sums;
    ronchi_rows rows; /* core/rows.h */
} ronchi_kernels;

/*
 * ronchi_kernels_fill() fills the table for the given RONCHI_CPU_* bits.  Declared here and defined in
 * src/codec/kernels.c, the only place that knows all the kernels: core must not import what lies above it.
 */
void ronchi_kernels_fill(ronchi_kernels *kernels, uint32_t cpu);

#endif
