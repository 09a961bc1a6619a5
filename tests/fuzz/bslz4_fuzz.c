/* SPDX-License-Identifier: MIT */
/* bslz4_fuzz.c - any bytes as a chunk of filter 32008 or 32004: the first bytes choose element and decoded size. */
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "core/kernels.h"
#include "formats/bslz4.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t elements[] = {1, 2, 4, 8};
    ronchi_kernels kernels;
    if (size < 4)
        return 0;
    size_t element = elements[data[0] & 3], out_size = ((size_t)data[1] << 8 | data[2]) * element, n = size - 4;
    ronchi_kernels_fill(&kernels, data[0] & 8 ? 0 : RONCHI_CPU_AVX2);
    /* Copies of the exact sizes, so that every step beyond them is seen. */
    uint8_t *chunk = malloc(n ? n : 1), *out = malloc(out_size ? out_size : 1);
    if (chunk && out) {
        memcpy(chunk, data + 4, n);
        /* Most inputs should come past the header: with this bit the declared size is made to agree. */
        for (size_t i = 0; data[0] & 16 && n >= 12 && i < 8; i++)
            chunk[i] = (uint8_t)((uint64_t)out_size >> (56 - 8 * i));
        ronchi_error err;
        ronchi_status status = data[0] & 4 ? ronchi_lz4_decode(chunk, n, out, out_size, &err)
                                           : ronchi_bslz4_decode(&kernels, chunk, n, element, out, out_size, &err);
        if (status != RONCHI_OK && status != RONCHI_ERR_DATA && status != RONCHI_ERR_MEMORY)
            abort();
    }
    free(chunk);
    free(out);
    return 0;
}
