/* SPDX-License-Identifier: MIT */
/* load.c - finds libronchi_cuda.so beside this library and checks that it belongs to it. */
#include <stdio.h>
#include <string.h>

#include "core/internal.h"
#include "core/port.h"
#include "cuda/runtime.h"

static const char file_name[] = "libronchi_cuda.so";

ronchi_status ronchi_cuda_load(const ronchi_cuda_table **out, ronchi_error *err)
{
    char path[4096];
    ronchi_stat st;
    *out = NULL;
    ronchi_status status = ronchi_beside_library(file_name, path, sizeof path, err);
    if (status == RONCHI_OK)
        status = ronchi_stat_path(path, &st, err);
    if (status != RONCHI_OK)
        return status;
    if (!st.exists)
        return ronchi_fail(err, RONCHI_ERR_DEVICE, path, RONCHI_NO_OFFSET,
                           "no CUDA here: the CUDA part of ronchi is not installed beside the library; use --device "
                           "cpu");
    ronchi_cuda_entry_fn entry = NULL;
    void (*symbol)(void) = NULL;
    status = ronchi_module_symbol(path, RONCHI_CUDA_ENTRY, &symbol, err);
    if (status != RONCHI_OK)
        return status;
    entry = (ronchi_cuda_entry_fn)symbol;
    const ronchi_cuda_table *table = entry(RONCHI_CUDA_ABI);
    if (!table || table->abi != RONCHI_CUDA_ABI || table->table_bytes != sizeof *table ||
        strcmp(table->version, RONCHI_VERSION_STRING) != 0)
        return ronchi_fail(err, RONCHI_ERR_DEVICE, path, RONCHI_NO_OFFSET,
                           "the CUDA part was not built together with ronchi %s: install both again",
                           RONCHI_VERSION_STRING);
    *out = table;
    return RONCHI_OK;
}
