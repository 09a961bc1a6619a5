/* SPDX-License-Identifier: MIT */
/* export.c - the counts back as a file that other programs read, in the source's dtype, in bounded memory. */
#include <string.h>

#include "core/port.h"
#include "formats/npy_header.h"
#include "resident/acquisition.h"

void ronchi_export_options_defaults(ronchi_export_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/*
 * Blocks come in the store's order, which need not be the file's: each run of positions within one scan row is written where it
 * belongs.
 */
static ronchi_status write_block(ronchi_output *output, uint64_t start, const ronchi_store *store, const ronchi_block *block,
                                 const uint8_t *frames, size_t frame_bytes, ronchi_error *err)
{
    ronchi_status status = RONCHI_OK;
    for (size_t row = 0; row < block->rows && status == RONCHI_OK; row++) {
        uint64_t position = ronchi_block_position(block, &store->shape, row * block->cols);
        status = ronchi_output_write_at(output, start + position * frame_bytes, frames + row * block->cols * frame_bytes,
                                        block->cols * frame_bytes, err);
    }
    return status;
}

static ronchi_status export_npy(const ronchi_acquisition *acquisition, const char *path, const ronchi_export_options *options,
                                ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    ronchi_dtype dtype = acquisition->info.source_dtype;
    size_t frame_bytes = store->n_pixels * ronchi_dtype_size(dtype);
    const size_t shape[4] = {store->shape.scan_rows, store->shape.scan_cols, store->shape.det_rows, store->shape.det_cols};
    ronchi_output output;
    char header[RONCHI_NPY_HEADER_MAX];
    size_t start = ronchi_npy_header(header, dtype, 4, shape);
    ronchi_status status = ronchi_output_open(path, options->force, &output, err);
    if (status != RONCHI_OK)
        return status;
    void *frames = ronchi_acquisition_block_buffer(acquisition, dtype, err);
    status = frames ? ronchi_output_write(&output, header, start, err) : RONCHI_ERR_MEMORY;
    ronchi_progress progress = {"export", 0, store->n_positions, "frames", frame_bytes};
    for (size_t i = 0; status == RONCHI_OK && i < store->profile->n_blocks(store); i++) {
        ronchi_block block = store->profile->block(store, i);
        status = ronchi_acquisition_read_block(acquisition, &block, options->flagged, dtype, frames, err);
        if (status == RONCHI_OK)
            status = write_block(&output, start, store, &block, frames, frame_bytes, err);
        progress.done += ronchi_block_positions(&block);
        if (status == RONCHI_OK)
            status = ronchi_report(store->context, &progress, err);
    }
    ronchi_free(store->context, frames);
    if (status == RONCHI_OK)
        status = ronchi_output_commit(&output, err);
    if (status != RONCHI_OK)
        ronchi_output_abort(&output);
    return status;
}

ronchi_status ronchi_acquisition_export(const ronchi_acquisition *acquisition, const char *path,
                                        const ronchi_export_options *options, ronchi_error *err)
{
    ronchi_export_options chosen;
    ronchi_export_options_defaults(&chosen);
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    if (options && options->struct_size != sizeof chosen)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "export options of no known version");
    if (options)
        chosen = *options;
    if (ends_with(path, ".npy"))
        return export_npy(acquisition, path, &chosen, err);
    return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "exports end in .npy or _master.h5");
}
