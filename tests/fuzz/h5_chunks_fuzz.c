/* SPDX-License-Identifier: MIT */
/*
 * h5_chunks_fuzz.c - any bytes as an HDF5 file with a dataset: the last four bytes are where its object header is.
 * Built with FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, which lets wrong checksums pass, so that what they guard is met.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/h5_chunks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct image {
    uint8_t *bytes;
    size_t size;
} image;

static ronchi_status read_image(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err)
{
    const image *file = user;
    (void)err;
    if (offset > file->size || size > file->size - offset)
        abort(); /* the reader must have held it against the size */
    memcpy(dst, file->bytes + offset, size);
    return RONCHI_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ronchi_context *context; /* one for all runs */
    if (!context && ronchi_context_create(NULL, &context, NULL) != RONCHI_OK)
        abort();
    if (size < 4)
        return 0;
    image file = {malloc(size), size - 4};
    memcpy(file.bytes, data, size);
    uint64_t header = (uint64_t)data[size - 1] | (uint64_t)data[size - 2] << 8 | (uint64_t)data[size - 3] << 16;
    ronchi_h5_bytes bytes = {read_image, &file, file.size, "fuzz"};
    ronchi_h5_chunks chunks;
    ronchi_error err;
    ronchi_status status = ronchi_h5_chunks_read(context, &bytes, header, &chunks, &err);
    if (status != RONCHI_OK && status != RONCHI_ERR_DATA && status != RONCHI_ERR_UNSUPPORTED &&
        status != RONCHI_ERR_MEMORY)
        abort();
    for (size_t i = 0; status == RONCHI_OK && i < chunks.n; i++)
        if (chunks.at[i].offset != RONCHI_H5_NOT_STORED &&
            (chunks.at[i].offset > file.size || chunks.at[i].size > file.size - chunks.at[i].offset))
            abort();
    if (status == RONCHI_OK)
        ronchi_h5_chunks_free(context, &chunks);
    free(file.bytes);
    return 0;
}
