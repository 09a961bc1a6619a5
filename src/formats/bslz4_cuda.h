/* SPDX-License-Identifier: MIT */
/*
 * bslz4_cuda.h - chunks of filters 32008 and 32004, and uncoded ones, decoded on a CUDA device: the twin of bslz4.h.
 *
 * A batch of chunks lies in device memory as it lay in the file and is decoded to frames beside it.  Everything that a
 * chunk says of itself is checked on the device; the first fault of the batch (lowest chunk, then lowest byte) comes
 * back in one word.  What is accepted, and what it decodes to, is what bslz4.h says, but for matches at distance 0,
 * which are refused here.
 */
#ifndef RONCHI_FORMATS_BSLZ4_CUDA_H
#define RONCHI_FORMATS_BSLZ4_CUDA_H

#include "cuda/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Codings of a chunk; those of ronchi_coding in format.h. */
enum { RONCHI_BSLZ4_NONE = 0, RONCHI_BSLZ4_BSLZ4 = 1, RONCHI_BSLZ4_LZ4 = 2 };

enum {
    RONCHI_BSLZ4_BLOCK = 8192,          /* largest block of bit-transposed elements that is decoded here */
    RONCHI_BSLZ4_MOST_CHUNKS = 1 << 23, /* of one batch */
    RONCHI_BSLZ4_MOST_BYTES = 1 << 30   /* of one chunk, stored or decoded */
};

/* One chunk of a batch: where its stored bytes are, and where its frame goes. */
typedef struct ronchi_bslz4_chunk {
    uint64_t from; /* in 'bytes' */
    uint64_t to;   /* in 'out' */
    uint32_t size; /* stored */
    uint32_t coding;
} ronchi_bslz4_chunk;

/* Device memory throughout.  A multiple of 16 for 'to' and the frame's bytes makes the fastest stores. */
typedef struct ronchi_bslz4_batch {
    const uint8_t *bytes;
    size_t n_bytes;
    const ronchi_bslz4_chunk *chunks; /* [n_chunks] */
    size_t n_chunks;
    size_t element;     /* 1, 2 or 4 bytes */
    size_t chunk_bytes; /* decoded, of each chunk; a multiple of 'element' */
    int32_t others;     /* 1: some chunks are not bslz4 */
    int32_t swap;       /* 1: the elements are in the other byte order */
    uint8_t *out;
    size_t out_bytes;
    uint32_t *slots; /* [n_chunks x ronchi_bslz4_slots(chunk_bytes)], scratch */
    uint64_t *fault; /* set to RONCHI_BSLZ4_SOUND before the first batch that uses it; only ever lowered */
} ronchi_bslz4_batch;

#define RONCHI_BSLZ4_SOUND UINT64_MAX

static inline size_t ronchi_bslz4_slots(size_t chunk_bytes)
{
    return chunk_bytes / RONCHI_BSLZ4_BLOCK + 1;
}

/* A fault: chunk of the batch, byte of the chunk, and what is wrong there. */
typedef enum ronchi_bslz4_fault {
    RONCHI_BSLZ4_HEADER = 1, /* shorter than its header */
    RONCHI_BSLZ4_SIZE,       /* declares another size */
    RONCHI_BSLZ4_BLOCK_SIZE, /* impossible block size */
    RONCHI_BSLZ4_LARGE,      /* sound so far, but its blocks are larger than those decoded here */
    RONCHI_BSLZ4_ENDS,       /* ends before a block's length */
    RONCHI_BSLZ4_LENGTH,     /* a block is longer than the rest */
    RONCHI_BSLZ4_LZ4_BLOCK,  /* a damaged LZ4 block */
    RONCHI_BSLZ4_TAIL,       /* ends before its last elements */
    RONCHI_BSLZ4_LEFT,       /* bytes are left over */
    RONCHI_BSLZ4_PLACE       /* the batch itself is wrong: the chunk's place lies outside of it */
} ronchi_bslz4_fault;

static inline uint64_t ronchi_bslz4_fault_chunk(uint64_t word)
{
    return word >> 40;
}
static inline uint32_t ronchi_bslz4_fault_byte(uint64_t word)
{
    return (uint32_t)(word >> 8);
}
static inline ronchi_bslz4_fault ronchi_bslz4_fault_kind(uint64_t word)
{
    return (ronchi_bslz4_fault)(word & 0xFF);
}

/* The slot of ronchi_cuda_table. */
typedef struct ronchi_bslz4_cuda {
    /*
     * decode() enqueues the decoding of a batch.  After the stream was waited for, *fault is RONCHI_BSLZ4_SOUND, or the
     * frames are not to be used.  Nothing outside of the batch's memory is read or written, whatever the bytes say.
     * RONCHI_ERR_ARGUMENT for sizes other than those above, RONCHI_ERR_DEVICE.
     */
    ronchi_status (*decode)(ronchi_device *device, ronchi_cuda_stream stream, const ronchi_bslz4_batch *batch,
                            ronchi_error *err);
} ronchi_bslz4_cuda;

extern const ronchi_bslz4_cuda ronchi_bslz4_cuda_functions; /* in bslz4.cu */

#ifdef __cplusplus
}
#endif
#endif
