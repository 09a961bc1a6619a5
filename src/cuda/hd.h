/* SPDX-License-Identifier: MIT */
/* hd.h - RONCHI_HD marks arithmetic that the host's and the device's walks share. */
#ifndef RONCHI_CUDA_HD_H
#define RONCHI_CUDA_HD_H

#ifdef __CUDACC__
#define RONCHI_HD static inline __host__ __device__
#else
#define RONCHI_HD static inline
#endif

#endif
