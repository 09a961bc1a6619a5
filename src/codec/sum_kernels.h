/* SPDX-License-Identifier: MIT */
/* sum_kernels.h - versions of the kernels that add sums (see core/kernels.h). */
#ifndef RONCHI_CODEC_SUM_KERNELS_H
#define RONCHI_CODEC_SUM_KERNELS_H

#include "core/kernels.h"

ronchi_weigh_planes_fn ronchi_weigh_planes_c;
ronchi_add_sums_fn ronchi_add_sums_c;
#if defined(__x86_64__) && defined(__GNUC__)
ronchi_weigh_planes_fn ronchi_weigh_planes_avx2;
ronchi_weigh_planes_fn ronchi_weigh_planes_avx512;
ronchi_add_sums_fn ronchi_add_sums_avx2;
#endif

#endif
