/* SPDX-License-Identifier: MIT */
/* check.cuh - what every .cu file needs of the runtime: errors of CUDA, the current device, first failures of kernels.
 */
#ifndef RONCHI_CUDA_CHECK_CUH
#define RONCHI_CUDA_CHECK_CUH

#include <cuda_runtime_api.h>

extern "C" {
#include "core/internal.h"
}
#include "cuda/runtime.h"

/* ronchi_cuda_fail() turns a CUDA error into ours; 'what' names the call. */
ronchi_status ronchi_cuda_fail(cudaError_t error, const char *what, ronchi_error *err);

static inline ronchi_status ronchi_cuda_status(cudaError_t error, const char *what, ronchi_error *err)
{
    return error == cudaSuccess ? RONCHI_OK : ronchi_cuda_fail(error, what, err);
}

/* The status of a call of CUDA. */
#define RONCHI_CUDA(call, err) ronchi_cuda_status((call), #call, (err))
/* The status of the kernel launch right before it. */
#define RONCHI_CUDA_LAUNCH(name, err) ronchi_cuda_status(cudaGetLastError(), "launch of " name, (err))

/* Makes a device current while it lives. */
class ronchi_device_scope
{
  public:
    explicit ronchi_device_scope(const ronchi_device *device) : before_(-1)
    {
        cudaGetDevice(&before_);
        if (before_ != device->ordinal)
            cudaSetDevice(device->ordinal);
        else
            before_ = -1;
    }
    ~ronchi_device_scope()
    {
        if (before_ >= 0)
            cudaSetDevice(before_);
    }
    ronchi_device_scope(const ronchi_device_scope &) = delete;
    ronchi_device_scope &operator=(const ronchi_device_scope &) = delete;

  private:
    int before_;
};

#endif
