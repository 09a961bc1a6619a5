/* SPDX-License-Identifier: MIT */
/* runtime_table.cuh - how the parts of libronchi_cuda.so find its table. */
#ifndef RONCHI_CUDA_RUNTIME_TABLE_CUH
#define RONCHI_CUDA_RUNTIME_TABLE_CUH

#include "cuda/runtime.h"

/* The table of this shared object; constant after the first call. */
const ronchi_cuda_table *ronchi_cuda_table_here(void);
/* Fills the part of the table that this folder implements. */
void ronchi_cuda_runtime_fill(ronchi_cuda_table *table);

#endif
