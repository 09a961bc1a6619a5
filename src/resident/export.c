/* SPDX-License-Identifier: MIT */
/* export.c - the counts back as a file that other programs read, in the source's dtype, in bounded memory. */
#include <string.h>

#include "core/port.h"
#include "formats/dectris_write.h"
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
 * Blocks come in the store's order, which need not be the file's: each run of positions within one scan row is written
 * where it belongs.
 */
static ronchi_status write_block(ronchi_output *output, uint64_t start, const ronchi_store *store,
                                 const ronchi_block *block, const uint8_t *frames, size_t frame_bytes,
                                 ronchi_error *err)
{
    ronchi_status status = RONCHI_OK;
    for (size_t row = 0; row < block->rows && status == RONCHI_OK; row++) {
        uint64_t position = ronchi_block_position(block, &store->shape, row * block->cols);
        status = ronchi_output_write_at(output, start + position * frame_bytes,
                                        frames + row * block->cols * frame_bytes, block->cols * frame_bytes, err);
    }
    return status;
}

static ronchi_status export_npy(const ronchi_acquisition *acquisition, const char *path,
                                const ronchi_export_options *options, ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    ronchi_dtype dtype = acquisition->info.source_dtype;
    size_t frame_bytes = store->n_pixels * ronchi_dtype_size(dtype);
    const size_t shape[4] = {store->shape.scan_rows, store->shape.scan_cols, store->shape.det_rows,
                             store->shape.det_cols};
    ronchi_output output;
    char header[RONCHI_NPY_HEADER_MAX];
    size_t start = ronchi_npy_header(header, dtype, 4, shape);
    ronchi_status status = ronchi_output_open(path, options->force, &output, err);
    if (status != RONCHI_OK)
        return status;
    const size_t rows = ronchi_acquisition_block_rows(acquisition, dtype);
    void *frames = ronchi_acquisition_block_buffer(acquisition, dtype, err);
    status = frames ? ronchi_output_write(&output, header, start, err) : RONCHI_ERR_MEMORY;
    ronchi_progress progress = {"export", 0, store->n_positions, "frames", frame_bytes};
    for (size_t i = 0; status == RONCHI_OK && i < store->profile->n_blocks(store); i++) {
        const ronchi_block block = store->profile->block(store, i);
        for (size_t row = 0; status == RONCHI_OK && row < block.rows; row += rows) {
            ronchi_block part = ronchi_block_rows(&block, &store->shape, row, rows);
            status = ronchi_acquisition_read_block(acquisition, &part, options->flagged, dtype, frames, err);
            if (status == RONCHI_OK)
                status = write_block(&output, start, store, &part, frames, frame_bytes, err);
            progress.done += ronchi_block_positions(&part);
            if (status == RONCHI_OK)
                status = ronchi_report(store->context, &progress, err);
        }
    }
    ronchi_decoded_give(store->context, frames);
    if (status == RONCHI_OK)
        status = ronchi_output_commit(&output, err);
    if (status != RONCHI_OK)
        ronchi_output_abort(&output);
    return status;
}

/* ------------------------------------------------------------------------------------------------ HDF5 master */

/* The mask's own flag bits where the metadata still has them, else 1. */
static uint32_t *flag_bits(const ronchi_acquisition *acquisition)
{
    const json_t *record = json_object_get(acquisition->metadata, "hot_pixel_correction");
    const json_t *flags = json_object_get(record, "source_flags");
    uint32_t *mask = ronchi_calloc(acquisition->context, acquisition->store->n_pixels, sizeof *mask);
    bool known = json_array_size(flags) == acquisition->n_flagged;
    for (size_t k = 0; mask && k < acquisition->n_flagged; k++) {
        json_int_t bits = known ? json_integer_value(json_array_get(flags, k)) : 1;
        mask[acquisition->flagged[k]] = bits > 0 && bits <= (json_int_t)UINT32_MAX ? (uint32_t)bits : 1;
    }
    return mask;
}

static double known_value(const ronchi_quantity *quantity)
{
    return quantity->known ? quantity->value : 0;
}

/* A master holds one frame after the other, so blocks that are not runs are read as scan rows instead. */
static ronchi_block export_block(const ronchi_store *store, size_t index, bool flat)
{
    if (flat)
        return store->profile->block(store, index);
    uint64_t first = (uint64_t)index * store->shape.scan_cols;
    ronchi_block row = {1, first, 1, store->shape.scan_cols, first, store->shape.scan_cols};
    return row;
}

static ronchi_status write_frames(const ronchi_acquisition *acquisition, ronchi_dectris_writer *writer,
                                  ronchi_flagged_read flagged, ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    ronchi_dtype dtype = acquisition->info.source_dtype;
    size_t frame_bytes = store->n_pixels * ronchi_dtype_size(dtype);
    bool flat = store->profile->block(store, 0).flat;
    size_t n_blocks = flat ? store->profile->n_blocks(store) : store->shape.scan_rows;
    void *frames = flat ? ronchi_acquisition_block_buffer(acquisition, dtype, err)
                        : ronchi_decoded_take(store->context, store->shape.scan_cols, frame_bytes);
    ronchi_status status =
        frames ? RONCHI_OK
               : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for decoded frames");
    ronchi_progress progress = {"export", 0, store->n_positions, "frames", frame_bytes};
    for (size_t i = 0; status == RONCHI_OK && i < n_blocks; i++) {
        ronchi_block block = export_block(store, i, flat);
        status = ronchi_acquisition_read_block(acquisition, &block, flagged, dtype, frames, err);
        if (status == RONCHI_OK)
            status = ronchi_dectris_writer_append(writer, frames, ronchi_block_positions(&block), err);
        progress.done += ronchi_block_positions(&block);
        if (status == RONCHI_OK)
            status = ronchi_report(store->context, &progress, err);
    }
    ronchi_decoded_give(store->context, frames);
    return status;
}

static ronchi_status export_master(const ronchi_acquisition *acquisition, const char *path,
                                   const ronchi_export_options *options, ronchi_error *err)
{
    const ronchi_calibration *c = &acquisition->info.calibration;
    bool square = c->scan_step_row.known && c->scan_step_col.known && c->scan_step_row.value == c->scan_step_col.value;
    ronchi_dectris_companion companion = {known_value(&c->voltage), known_value(&c->camera_length) / 1000,
                                          known_value(&c->scan_step_row), known_value(&c->scan_rotation), 0};
    ronchi_dectris_options how;
    memset(&how, 0, sizeof how);
    how.shape = acquisition->store->shape;
    how.dtype = acquisition->info.source_dtype;
    how.n_frames = acquisition->store->n_positions;
    how.filter = options->filter ? options->filter : "bslz4";
    how.voltage_kv = known_value(&c->voltage);
    how.frame_time_s = known_value(&c->dwell) / 1e6;
    how.scan_attributes = 1;
    how.companion = square ? &companion : NULL;
    how.force = options->force;
    uint32_t *mask = acquisition->n_flagged ? flag_bits(acquisition) : NULL;
    if (acquisition->n_flagged && !mask)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for the pixel mask");
    how.pixel_mask = mask;
    ronchi_dectris_writer *writer = NULL;
    ronchi_status status = ronchi_dectris_writer_create(acquisition->context, path, &how, &writer, err);
    ronchi_free(acquisition->context, mask);
    if (status == RONCHI_OK)
        status = write_frames(acquisition, writer, options->flagged, err);
    if (status == RONCHI_OK)
        status = ronchi_dectris_writer_finish(writer, err);
    ronchi_dectris_writer_destroy(writer);
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
    if (ends_with(path, "_master.h5"))
        return export_master(acquisition, path, &chosen, err);
    return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "exports end in .npy or _master.h5");
}
