/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_cuda.h - the counts of a lane-rans-v1 store on a CUDA device: what libronchi asks of libronchi_cuda.so.
 *
 * The words of every chunk lie on the device as they lie in a file; headers, sizes and checksums are the host's to
 * make. Nothing is trusted before check() has looked at every brick: then kernels follow offsets and ids blindly, and
 * streams as far as the slack behind a chunk, which no stream can leave within one pixel.
 *
 * Functions that answer (reduce, read, validate) may run in several threads at once; put, encode, check and close need
 * the object alone.  RONCHI_ERR_DATA of a brick is reported through *bad (its number, rectangle x tiles + tile), not in
 * words: the caller decodes that brick on the host and says what is wrong with it, as if it had never left it.
 */
#ifndef RONCHI_CODEC_LANE_RANS_CUDA_H
#define RONCHI_CODEC_LANE_RANS_CUDA_H

#include "codec/lane_rans.h"
#include "cuda/runtime.h"

/* Counts on a device. */
typedef struct ronchi_lane_on ronchi_lane_on;

#define RONCHI_LANE_NOT_BAD UINT64_MAX

typedef struct ronchi_lane_cuda {
    /* 'valid' [det pixels] 1 = unflagged; copied, as the tables are.  layout is copied. */
    ronchi_status (*open)(ronchi_device *device, const ronchi_lane_layout *layout, const ronchi_lane_tables *tables,
                          const uint8_t *valid, ronchi_lane_on **out, ronchi_error *err);
    void (*close)(ronchi_lane_on *on);
    uint64_t (*bytes)(const ronchi_lane_on *on); /* held on the device */

    /* put() copies the words of chunk 'rect' from host memory; offset [n_tiles + 1] counts words.  Once a chunk. */
    ronchi_status (*put)(ronchi_lane_on *on, size_t rect, const uint16_t *words, const uint32_t *offset,
                         ronchi_error *err);
    /*
     * encode() makes chunk 'rect' from frames that lie on the device, in the order of ronchi_block: [positions][pixels]
     * of the layout's dtype.  What 'stream' holds is done first; returns when the frames may be overwritten.  The same
     * words as ronchi_lane_encode_block(); they, words_of() and *most, raised to the largest unflagged count, are there
     * after check(), so that several rectangles can be under way.  So are errors of the device, or earlier.
     */
    ronchi_status (*encode)(ronchi_lane_on *on, size_t rect, const void *frames, ronchi_cuda_stream stream,
                            uint64_t *most, ronchi_error *err);
    /* check() follows the last put() or encode(): looks at every brick. */
    ronchi_status (*check)(ronchi_lane_on *on, uint64_t *bad, ronchi_error *err);

    /* words_of() gives the words of a chunk; get() copies them and its offsets to the host. */
    uint64_t (*words_of)(const ronchi_lane_on *on, size_t rect);
    ronchi_status (*get)(const ronchi_lane_on *on, size_t rect, uint16_t *words, uint32_t *offset, ronchi_error *err);

    /* reduce(): ronchi_profile.reduce without its checks of arguments.  All pointers are the host's. */
    ronchi_status (*reduce)(const ronchi_lane_on *on, const ronchi_reduction *reduction, uint64_t *bad,
                            ronchi_error *err);
    /* read(): ronchi_profile.decode_band without its checks; 'out' may lie on the device.  RONCHI_ERR_RANGE. */
    ronchi_status (*read)(const ronchi_lane_on *on, const ronchi_region *region, const ronchi_view *out, uint64_t *bad,
                          ronchi_error *err);
    /* validate() decodes everything. */
    ronchi_status (*validate)(const ronchi_lane_on *on, uint64_t *bad, ronchi_error *err);

    /* For benchmarks: reduce() and read() to the device are timed by events; seconds() of the last one. */
    void (*timing)(ronchi_lane_on *on, int on_or_off);
    double (*seconds)(const ronchi_lane_on *on);
} ronchi_lane_cuda;

/*
 * ronchi_lane_encode_on_device() is encode_frames() of ronchi_profile_lane_cuda: encode_block() for frames that lie on
 * the device already; see encode() above.  Blocks 0, 1, 2, ... in order.  In libronchi.
 */
ronchi_status ronchi_lane_encode_on_device(ronchi_store *store, size_t index, const void *frames,
                                           ronchi_cuda_stream stream, ronchi_error *err);

#endif
