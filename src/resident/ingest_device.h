/* SPDX-License-Identifier: MIT */
/*
 * ingest_device.h - the way in for a store on a device: stored chunks are read by all workers into page-locked memory,
 * copied to the device and decoded there, block by block, while the block before is encoded.
 */
#ifndef RONCHI_RESIDENT_INGEST_DEVICE_H
#define RONCHI_RESIDENT_INGEST_DEVICE_H

#include "cuda/runtime.h"
#include "formats/format.h"
#include "resident/ingest.h"

/* A load on a device.  Blocks are taken in order, each through encode(), by the calling thread. */
typedef struct ronchi_device_ingest {
    ronchi_context *context;
    ronchi_device *device;
    ronchi_source *source;
    ronchi_dtype dtype; /* to encode: the source's, or u16 for a u32 source */
    const ronchi_ingest_options *options;
    ronchi_raw_collector *raw; /* raw values of a narrowed store; or NULL */
    size_t n_blocks;
    ronchi_block (*block)(void *user, size_t index);
    /* encode() gets [positions][pixels] of 'dtype' on the device, complete once 'stream' is; they may be overwritten
     * when it returns. */
    ronchi_status (*encode)(void *user, size_t index, const void *frames, ronchi_cuda_stream stream, ronchi_error *err);
    /*
     * rescue() decodes a block on the host, for which the device found a fault: the source's own error when it is
     * damaged, else frames as above, on the host, with their raw values collected.
     */
    ronchi_status (*rescue)(void *user, size_t index, const void **frames, ronchi_error *err);
    void *user;
} ronchi_device_ingest;

/*
 * ronchi_device_ingest_why_not() says why a source cannot be decoded on a device ("its chunks are gzip", ...), in
 * static words; NULL when it can.  Looks up the place of every frame.
 */
const char *ronchi_device_ingest_why_not(ronchi_source *source, const ronchi_device *device,
                                         const ronchi_ingest_options *options);

/*
 * ronchi_device_ingest_bytes() gives the most device memory that a load takes beside the encoded counts, for blocks of
 * that many positions.
 */
uint64_t ronchi_device_ingest_bytes(const ronchi_source *source, ronchi_dtype dtype, size_t positions);

/*
 * ronchi_device_ingest_run() does it.  Never more than the context's budget of decoded counts is on the device.
 * RONCHI_ERR_RANGE as ronchi_ingest(), and what reading, the device and encode() give.
 */
ronchi_status ronchi_device_ingest_run(const ronchi_device_ingest *how, ronchi_error *err);

#endif
