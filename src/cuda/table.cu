// SPDX-License-Identifier: MIT
// table.cu - the one export of libronchi_cuda.so: the table of everything in it.
#include "cuda/runtime_table.cuh"
#include "formats/bslz4_cuda.h"
#include "resident/ingest_cuda.h"

extern "C" {
#include "codec/lane_rans_cuda.h"
}

// Operations are named here, beside their slot in ronchi_cuda_table.
extern const ronchi_lane_cuda ronchi_lane_cuda_here; // codec/lane_rans_store.cu

static ronchi_cuda_table make_table(void)
{
    ronchi_cuda_table table = {};
    table.abi = RONCHI_CUDA_ABI;
    table.table_bytes = sizeof table;
    table.version = RONCHI_VERSION_STRING;
    ronchi_cuda_runtime_fill(&table);
    table.lane = &ronchi_lane_cuda_here;
    table.bslz4 = &ronchi_bslz4_cuda_functions;
    table.ingest = &ronchi_ingest_cuda_functions;
    return table;
}

const ronchi_cuda_table *ronchi_cuda_table_here(void)
{
    static const ronchi_cuda_table table = make_table();
    return &table;
}

extern "C" RONCHI_API const ronchi_cuda_table *ronchi_cuda_entry(uint32_t abi)
{
    return abi == RONCHI_CUDA_ABI ? ronchi_cuda_table_here() : nullptr;
}
