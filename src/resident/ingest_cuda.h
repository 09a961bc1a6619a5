/* SPDX-License-Identifier: MIT */
/*
 * ingest_cuda.h - what happens to decoded frames on a CUDA device before they are encoded: the twin of load_frame() in
 * ingest.c.
 */
#ifndef RONCHI_RESIDENT_INGEST_CUDA_H
#define RONCHI_RESIDENT_INGEST_CUDA_H

#include "cuda/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frames of a block in device memory, and what narrows them.  All pointers are the device's. */
typedef struct ronchi_ingest_frames {
    size_t n_frames, n_pixels;
    size_t det_cols;
    const uint8_t *valid;    /* [n_pixels] 0 = flagged; NULL: none is */
    const uint32_t *flagged; /* [n_flagged] pixels, ascending */
    size_t n_flagged;
} ronchi_ingest_frames;

/* The slot of ronchi_cuda_table.  Everything is enqueued on 'stream'. */
typedef struct ronchi_ingest_cuda {
    /*
     * correct() is ronchi_flagged_correct() for frames [n_frames][n_pixels] of 'element' bytes: 0 at flagged pixels, or
     * with 'median' that of their neighbours.
     */
    ronchi_status (*correct)(ronchi_device *device, ronchi_cuda_stream stream, const ronchi_ingest_frames *about,
                             int32_t median, size_t element, void *frames, ronchi_error *err);
    /*
     * narrow() copies uint32 frames to uint16: *over becomes nonzero when an unflagged count does not fit; flagged ones
     * that do not are 0.  raw [n_frames][n_flagged] gets the flagged pixels' own values.
     */
    ronchi_status (*narrow)(ronchi_device *device, ronchi_cuda_stream stream, const ronchi_ingest_frames *about,
                            const uint32_t *wide, uint16_t *frames, uint32_t *raw, uint32_t *over, ronchi_error *err);
} ronchi_ingest_cuda;

extern const ronchi_ingest_cuda ronchi_ingest_cuda_functions; /* in ingest.cu */

#ifdef __cplusplus
}
#endif
#endif
