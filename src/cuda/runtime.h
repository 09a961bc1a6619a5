/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - the seam between libronchi and libronchi_cuda.so: devices, their memory, streams of work, errors.
 *
 * libronchi has no CUDA in it.  It opens libronchi_cuda.so, which lies beside it, asks its one export for this table
 * and calls everything through it.  The shared object has the CUDA runtime linked in, and contains this folder and the
 * .cu files that lie beside their CPU twins; they know of libronchi only the headers and core/error.c.
 *
 * Adding an operation: declare a struct of functions in a header beside the operation (codec/lane_rans_cuda.h is one),
 * define one instance of it in the .cu file, and name it in ronchi_cuda_table below and in src/cuda/table.cu.
 *
 * Every function may be called by any thread; each leaves the calling thread's current CUDA device as it found it.
 * Errors of CUDA become RONCHI_ERR_MEMORY (no device memory) or RONCHI_ERR_DEVICE (everything else), with the code of
 * CUDA in err->native.
 */
#ifndef RONCHI_CUDA_RUNTIME_H
#define RONCHI_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "ronchi/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever the table or a struct that crosses the seam does: both sides must have been built together. */
#define RONCHI_CUDA_ABI 1

typedef struct ronchi_cuda_table ronchi_cuda_table;

/* A CUDA stream, the same type as cudaStream_t; and a CUDA event. */
typedef struct CUstream_st *ronchi_cuda_stream;
typedef struct CUevent_st *ronchi_cuda_event;

/* One open device.  Made by device_open; constant but for what is counted behind it. */
typedef struct ronchi_device {
    const ronchi_cuda_table *table;
    int32_t ordinal;
    int32_t capability;     /* 10 x major + minor: 90 */
    int32_t runtime;        /* version of the CUDA runtime that is linked in: 13000 */
    int32_t driver;         /* newest CUDA version that the driver knows */
    size_t multiprocessors; /* SMs */
    size_t shared_bytes;    /* shared memory that one block can have */
    size_t cache_bytes;     /* L2 */
    uint64_t memory_bytes;
    char name[128];
} ronchi_device;

/*
 * A growing piece of device memory with one life: what is taken from it goes with it.  It asks the device for blocks of
 * 'block_bytes' (or of one piece, where that is larger).  Not for several threads at once.
 */
typedef struct ronchi_arena ronchi_arena;

/*
 * A place to work: a stream, scratch on the device and page-locked memory of the host, both at least as large as asked
 * for and aligned to 256 bytes.  The device keeps those given back for the next who asks, so taking one costs nothing
 * after the first time.  Everything a taker enqueues must be done (stream_wait) before it gives the job back.
 */
typedef struct ronchi_cuda_job {
    ronchi_device *device;
    ronchi_cuda_stream stream;
    void *scratch; /* device */
    size_t scratch_bytes;
    void *host; /* page-locked */
    size_t host_bytes;
    struct ronchi_cuda_job *next;
} ronchi_cuda_job;

/* Device memory now and at most since the device was opened (or the peak was reset), taken through this table. */
typedef struct ronchi_device_memory {
    uint64_t used_bytes, peak_bytes;
    uint64_t free_bytes, total_bytes; /* of the whole device, other programs included */
} ronchi_device_memory;

struct ronchi_cuda_table {
    uint32_t abi;
    size_t table_bytes; /* sizeof(ronchi_cuda_table) */
    const char *version;

    /*
     * device_open() opens device 'ordinal' and prepares it (CUDA's context of it is made here, 0.1 to 1 s).
     * RONCHI_ERR_DEVICE: no driver, no such device, capability below 8.0.
     */
    ronchi_status (*device_open)(int32_t ordinal, ronchi_device **out, ronchi_error *err);
    void (*device_close)(ronchi_device *device);
    ronchi_status (*device_memory)(ronchi_device *device, ronchi_device_memory *out, ronchi_error *err);
    void (*reset_peak)(ronchi_device *device);

    /*
     * memory_take() takes device memory, aligned to 256 bytes, uninitialised; slow (it may wait for the whole device).
     * pinned_take() takes page-locked host memory, which copies overlap with work.  Free with the function beside it;
     * NULL does nothing.
     */
    ronchi_status (*memory_take)(ronchi_device *device, size_t bytes, void **out, ronchi_error *err);
    void (*memory_give)(ronchi_device *device, void *memory, size_t bytes);
    ronchi_status (*pinned_take)(ronchi_device *device, size_t bytes, void **out, ronchi_error *err);
    void (*pinned_give)(ronchi_device *device, void *memory);

    ronchi_status (*arena_open)(ronchi_device *device, size_t block_bytes, ronchi_arena **out, ronchi_error *err);
    ronchi_status (*arena_take)(ronchi_arena *arena, size_t bytes, void **out, ronchi_error *err);
    uint64_t (*arena_bytes)(const ronchi_arena *arena); /* held by the arena */
    void (*arena_close)(ronchi_arena *arena);

    ronchi_status (*job_take)(ronchi_device *device, size_t scratch_bytes, size_t host_bytes, ronchi_cuda_job **out,
                              ronchi_error *err);
    void (*job_give)(ronchi_cuda_job *job);

    ronchi_status (*stream_open)(ronchi_device *device, ronchi_cuda_stream *out, ronchi_error *err);
    void (*stream_close)(ronchi_device *device, ronchi_cuda_stream stream);
    /* stream_wait() waits until all that was enqueued is done; the place where errors of kernels come out. */
    ronchi_status (*stream_wait)(ronchi_device *device, ronchi_cuda_stream stream, ronchi_error *err);

    /* copy() enqueues a copy between any two of host and device; fill() sets bytes of device memory. */
    ronchi_status (*copy)(ronchi_device *device, ronchi_cuda_stream stream, void *to, const void *from, size_t bytes,
                          ronchi_error *err);
    ronchi_status (*fill)(ronchi_device *device, ronchi_cuda_stream stream, void *to, int byte, size_t bytes,
                          ronchi_error *err);

    /* Events order streams, and time them: event_seconds() is the time between two that have both happened. */
    ronchi_status (*event_open)(ronchi_device *device, ronchi_cuda_event *out, ronchi_error *err);
    void (*event_close)(ronchi_device *device, ronchi_cuda_event event);
    ronchi_status (*event_record)(ronchi_device *device, ronchi_cuda_event event, ronchi_cuda_stream stream,
                                  ronchi_error *err);
    ronchi_status (*event_order)(ronchi_device *device, ronchi_cuda_stream later, ronchi_cuda_event event,
                                 ronchi_error *err); /* what is enqueued on 'later' from now on waits for the event */
    ronchi_status (*event_wait)(ronchi_device *device, ronchi_cuda_event event, ronchi_error *err);
    ronchi_status (*event_seconds)(ronchi_device *device, ronchi_cuda_event from, ronchi_cuda_event to, double *seconds,
                                   ronchi_error *err);

    /* What works on the device: each operation's own struct, NULL where it is not built. */
    const struct ronchi_lane_cuda *lane;     /* codec/lane_rans_cuda.h */
    const struct ronchi_bslz4_cuda *bslz4;   /* formats/bslz4_cuda.h */
    const struct ronchi_ingest_cuda *ingest; /* resident/ingest_cuda.h */
};

/* The one export of libronchi_cuda.so.  NULL when it was built for another 'abi'. */
typedef const ronchi_cuda_table *(*ronchi_cuda_entry_fn)(uint32_t abi);
#define RONCHI_CUDA_ENTRY "ronchi_cuda_entry"

/*
 * ronchi_cuda_load() opens libronchi_cuda.so beside this library (nowhere else) and gives its table.  The library stays
 * loaded for the life of the process: CUDA does not like to be unloaded.  In libronchi.
 *
 * RONCHI_ERR_DEVICE  it is not there, cannot be loaded, or was not built together with this library
 */
ronchi_status ronchi_cuda_load(const ronchi_cuda_table **out, ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
