/* SPDX-License-Identifier: MIT */
/* kernels.c - fills the context's table of kernels: plain C first, then each instruction set in rising order. */
#include "core/kernels.h"

#include <string.h>

#include "codec/stream_kernels.h"
#include "ronchi/core.h"

void ronchi_kernels_fill(ronchi_kernels *kernels, uint32_t cpu)
{
    (void)cpu;
    memset(kernels, 0, sizeof *kernels);
    ronchi_stream_kernels_c(kernels);
}
