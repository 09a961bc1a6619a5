/* SPDX-License-Identifier: MIT */
/* stream_kernels.h - the versions of the kernels for streams of counts; core/kernels.h says what they do. */
#ifndef RONCHI_CODEC_STREAM_KERNELS_H
#define RONCHI_CODEC_STREAM_KERNELS_H

#include "core/kernels.h"

/* ronchi_stream_kernels_c() fills the slots with plain C, the reference. */
void ronchi_stream_kernels_c(ronchi_kernels *kernels);

#endif
