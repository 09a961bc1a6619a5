// SPDX-License-Identifier: MIT
// ingest.cu - flagged pixels and narrowing on the device.
#include <cuda_runtime.h>

#include "cuda/check.cuh"
#include "resident/flagged_core.h"
#include "resident/ingest_cuda.h"

namespace
{

constexpr unsigned THREADS = 256, MOST_BLOCKS = 8192;

unsigned grid_of(size_t n)
{
    size_t blocks = (n + THREADS - 1) / THREADS;
    return blocks < MOST_BLOCKS ? (unsigned)blocks : MOST_BLOCKS;
}

// Neighbours are unflagged only, so flagged pixels may be replaced in any order.
__global__ void correct_flagged(const ronchi_ingest_frames about, int32_t median, size_t element, uint8_t *frames)
{
    const size_t n = about.n_frames * about.n_flagged, step = (size_t)gridDim.x * blockDim.x;
    const size_t rows = about.n_pixels / about.det_cols;
    for (size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x; k < n; k += step) {
        void *frame = frames + k / about.n_flagged * about.n_pixels * element;
        const size_t pixel = about.flagged[k % about.n_flagged];
        uint32_t v = median ? ronchi_flagged_median(rows, about.det_cols, element, about.valid, frame, pixel) : 0;
        ronchi_flagged_put(frame, element, pixel, v);
    }
}

__global__ void narrow_frames(const ronchi_ingest_frames about, const uint32_t *wide, uint16_t *frames, uint32_t *over)
{
    const size_t n = about.n_frames * about.n_pixels, step = (size_t)gridDim.x * blockDim.x;
    for (size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x; k < n; k += step) {
        uint32_t v = wide[k];
        if (v > UINT16_MAX) {
            if (!about.valid || about.valid[k % about.n_pixels])
                atomicOr(over, 1u);
            v = 0;
        }
        frames[k] = (uint16_t)v;
    }
}

__global__ void take_raw(const ronchi_ingest_frames about, const uint32_t *wide, uint32_t *raw)
{
    const size_t n = about.n_frames * about.n_flagged, step = (size_t)gridDim.x * blockDim.x;
    for (size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x; k < n; k += step)
        raw[k] = wide[k / about.n_flagged * about.n_pixels + about.flagged[k % about.n_flagged]];
}

ronchi_status correct(ronchi_device *device, ronchi_cuda_stream stream, const ronchi_ingest_frames *about,
                      int32_t median, size_t element, void *frames, ronchi_error *err)
{
    ronchi_device_scope here(device);
    size_t n = about->n_frames * about->n_flagged;
    if (n == 0)
        return RONCHI_OK;
    correct_flagged<<<grid_of(n), THREADS, 0, stream>>>(*about, median, element, static_cast<uint8_t *>(frames));
    return RONCHI_CUDA_LAUNCH("correct_flagged", err);
}

ronchi_status narrow(ronchi_device *device, ronchi_cuda_stream stream, const ronchi_ingest_frames *about,
                     const uint32_t *wide, uint16_t *frames, uint32_t *raw, uint32_t *over, ronchi_error *err)
{
    ronchi_device_scope here(device);
    if (about->n_frames * about->n_pixels == 0)
        return RONCHI_OK;
    narrow_frames<<<grid_of(about->n_frames * about->n_pixels), THREADS, 0, stream>>>(*about, wide, frames, over);
    ronchi_status status = RONCHI_CUDA_LAUNCH("narrow_frames", err);
    if (status == RONCHI_OK && about->n_flagged) {
        take_raw<<<grid_of(about->n_frames * about->n_flagged), THREADS, 0, stream>>>(*about, wide, raw);
        status = RONCHI_CUDA_LAUNCH("take_raw", err);
    }
    return status;
}

} // namespace

const ronchi_ingest_cuda ronchi_ingest_cuda_functions = {correct, narrow};
