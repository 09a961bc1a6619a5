/* SPDX-License-Identifier: MIT */
/* dectris_write.c - the writer: temporary files, encoding in parallel, publication. */
#include "formats/dectris_write.h"

#include <stdio.h>
#include <string.h>

#include "core/port.h"
#include "formats/bslz4.h"
#include "formats/dectris_write_files.h"
#include "formats/dectris_write_plan.h"
#include "formats/h5_output.h"
#include "formats/hdf5_guard.h"

enum { BATCH_BYTES = 16 << 20 };

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static ronchi_status library_failed(const char *path, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_INTERNAL, path, RONCHI_NO_OFFSET,
                       "libhdf5 refused to make this file: please report");
}

/* ------------------------------------------------------------------------------------------------------------ create
 */

static ronchi_status make_slots(ronchi_dectris_writer *writer, ronchi_error *err)
{
    const char *filter = writer->filter;
    size_t bound = strcmp(filter, "bslz4") == 0
                       ? ronchi_bslz4_bound(writer->frame_bytes, ronchi_dtype_size(writer->options.dtype))
                   : strcmp(filter, "lz4") == 0 ? ronchi_lz4_bound(writer->frame_bytes)
                                                : 0;
    writer->n_slots = BATCH_BYTES / writer->frame_bytes;
    if (writer->n_slots < ronchi_context_threads(writer->context))
        writer->n_slots = ronchi_context_threads(writer->context);
    if (bound == 0)
        return RONCHI_OK; /* written as they are */
    writer->slot_bytes = bound;
    size_t total;
    if (ronchi_mul(writer->n_slots, bound, &total)) {
        writer->slots = ronchi_alloc(writer->context, total);
        writer->sizes = ronchi_calloc(writer->context, writer->n_slots, sizeof *writer->sizes);
    }
    return writer->slots && writer->sizes ? RONCHI_OK : ronchi_dectris_no_memory(writer, err);
}

/* Master and companion at once: a folder that cannot be written to is known before the first frame. */
static ronchi_status write_small_file(ronchi_dectris_writer *writer, ronchi_dectris_file *to, bool is_master,
                                      ronchi_error *err)
{
    ronchi_h5_output *output;
    hid_t file;
    ronchi_status status = ronchi_h5_output_create(writer->context, to->temporary, to->path, &output, &file, err);
    if (status != RONCHI_OK)
        return status;
    bool filled = is_master ? ronchi_dectris_master_fill(file, file_name(writer->stem), &writer->options)
                            : ronchi_dectris_companion_fill(file, &writer->options);
    filled = H5Fclose(file) >= 0 && filled;
    status = filled ? ronchi_h5_output_commit(output, err) : library_failed(to->path, err);
    to->created = status == RONCHI_OK;
    ronchi_h5_output_destroy(output);
    return status;
}

static ronchi_status write_small_files(ronchi_dectris_writer *writer, ronchi_error *err)
{
    ronchi_hdf5_guard guard;
    ronchi_dectris_file *master = &writer->outputs[writer->n_outputs - 1];
    ronchi_hdf5_enter(&guard);
    ronchi_status status = ronchi_dectris_filter_register(writer->filter, &writer->registered)
                               ? write_small_file(writer, master, true, err)
                               : library_failed(master->path, err);
    if (status == RONCHI_OK && writer->options.companion)
        status = write_small_file(writer, master - 1, false, err);
    ronchi_hdf5_leave(&guard);
    return status;
}

ronchi_status ronchi_dectris_writer_create(ronchi_context *context, const char *master_path,
                                           const ronchi_dectris_options *options, ronchi_dectris_writer **out,
                                           ronchi_error *err)
{
    *out = NULL;
    ronchi_dectris_writer *writer = ronchi_calloc(context, 1, sizeof *writer);
    if (!writer)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, master_path, RONCHI_NO_OFFSET, "no memory for the writer");
    writer->context = context;
    writer->options = *options;
    writer->file = writer->dataset = -1;
    ronchi_status status = ronchi_dectris_name(master_path, "", writer->stem, sizeof writer->stem, err);
    if (status == RONCHI_OK)
        status = ronchi_dectris_check(writer, err);
    if (status == RONCHI_OK) {
        snprintf(writer->filter, sizeof writer->filter, "%s", options->filter);
        writer->options.filter = writer->filter;
        status = ronchi_dectris_plan(writer, err);
    }
    if (status == RONCHI_OK)
        status = make_slots(writer, err);
    if (status == RONCHI_OK)
        status = write_small_files(writer, err);
    writer->options.pixel_mask = NULL; /* borrowed for this call only */
    writer->options.description = NULL;
    if (status != RONCHI_OK) {
        ronchi_dectris_writer_destroy(writer);
        return status;
    }
    *out = writer;
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------------ append
 */

typedef struct batch {
    ronchi_dectris_writer *writer;
    const uint8_t *frames;
} batch;

static ronchi_status encode_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    const batch *b = user;
    ronchi_dectris_writer *w = b->writer;
    const uint8_t *frame = b->frames + item * w->frame_bytes;
    uint8_t *slot = w->slots + item * w->slot_bytes;
    if (strcmp(w->filter, "lz4") == 0)
        return ronchi_lz4_encode(frame, w->frame_bytes, slot, w->slot_bytes, &w->sizes[item], err);
    return ronchi_bslz4_encode(ronchi_context_kernels(w->context), frame, w->frame_bytes,
                               ronchi_dtype_size(w->options.dtype), slot, w->slot_bytes, &w->sizes[item], err);
}

static uint64_t frames_a_file(const ronchi_dectris_writer *writer)
{
    return writer->options.frames_per_file ? writer->options.frames_per_file : writer->options.n_frames;
}

/* Closes the data file that is being filled; as a whole one (complete) or to be thrown away. */
static ronchi_status close_data(ronchi_dectris_writer *writer, bool complete, ronchi_error *err)
{
    if (!writer->output)
        return RONCHI_OK;
    ronchi_dectris_file *to = &writer->outputs[(writer->done - (writer->done > 0)) / frames_a_file(writer)];
    bool closed = H5Dclose(writer->dataset) >= 0;
    closed = H5Fclose(writer->file) >= 0 && closed;
    ronchi_status status = RONCHI_OK;
    if (complete)
        status = closed ? ronchi_h5_output_commit(writer->output, err) : library_failed(to->path, err);
    to->created = complete && status == RONCHI_OK;
    ronchi_h5_output_destroy(writer->output);
    writer->output = NULL;
    writer->file = writer->dataset = -1;
    return status;
}

static ronchi_status open_data(ronchi_dectris_writer *writer, ronchi_error *err)
{
    uint64_t index = writer->done / frames_a_file(writer), count = ronchi_dectris_file_frames(&writer->options, index);
    ronchi_dectris_file *to = &writer->outputs[index];
    ronchi_status status = close_data(writer, true, err);
    if (status == RONCHI_OK)
        status = ronchi_h5_output_create(writer->context, to->temporary, to->path, &writer->output, &writer->file, err);
    if (status == RONCHI_OK &&
        !ronchi_dectris_data_fill(writer->file, &writer->options, writer->done, count, &writer->dataset))
        status = library_failed(to->path, err);
    return status;
}

static bool write_through_library(ronchi_dectris_writer *writer, hsize_t at, const void *frame)
{
    hsize_t start[3] = {at, 0, 0}, count[3] = {1, writer->options.shape.det_rows, writer->options.shape.det_cols};
    hid_t space = H5Dget_space(writer->dataset), memory = H5Screate_simple(3, count, NULL),
          type = H5Dget_type(writer->dataset);
    bool done = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                H5Dwrite(writer->dataset, type, memory, space, H5P_DEFAULT, frame) >= 0;
    H5Tclose(type);
    H5Sclose(memory);
    H5Sclose(space);
    return done;
}

static ronchi_status write_frame(ronchi_dectris_writer *writer, const uint8_t *frame, size_t slot, ronchi_error *err)
{
    uint64_t at = writer->done % frames_a_file(writer);
    hsize_t offset[3] = {at, 0, 0};
    if (at == 0) {
        ronchi_status status = open_data(writer, err);
        if (status != RONCHI_OK)
            return status;
    }
    bool written;
    if (strcmp(writer->filter, "gzip") == 0)
        written = write_through_library(writer, at, frame);
    else if (writer->slots)
        written = H5Dwrite_chunk(writer->dataset, H5P_DEFAULT, 0, offset, writer->sizes[slot],
                                 writer->slots + slot * writer->slot_bytes) >= 0;
    else
        written = H5Dwrite_chunk(writer->dataset, H5P_DEFAULT, 0, offset, writer->frame_bytes, frame) >= 0;
    if (!written)
        return library_failed(writer->outputs[writer->done / frames_a_file(writer)].path, err);
    writer->done++;
    return ronchi_h5_output_check(writer->output, err);
}

ronchi_status ronchi_dectris_writer_append(ronchi_dectris_writer *writer, const void *frames, uint64_t count,
                                           ronchi_error *err)
{
    const uint8_t *from = frames;
    if (writer->finished || count > writer->options.n_frames - writer->done)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, writer->stem, RONCHI_NO_OFFSET,
                           "%llu frames more than the %llu announced", (unsigned long long)(writer->done + count),
                           (unsigned long long)writer->options.n_frames);
    while (count) {
        size_t n = count < writer->n_slots ? (size_t)count : writer->n_slots;
        batch b = {writer, from};
        ronchi_status status = RONCHI_OK;
        if (writer->slots)
            status = ronchi_parallel_for(writer->context, n, encode_item, &b, err);
        if (status != RONCHI_OK)
            return status;
        ronchi_hdf5_guard guard;
        ronchi_hdf5_enter(&guard);
        for (size_t i = 0; status == RONCHI_OK && i < n; i++)
            status = write_frame(writer, from + i * writer->frame_bytes, i, err);
        ronchi_hdf5_leave(&guard);
        if (status != RONCHI_OK)
            return status;
        from += n * writer->frame_bytes;
        count -= n;
    }
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------------ finish
 */

static void remove_outputs(ronchi_dectris_writer *writer)
{
    for (size_t i = writer->n_outputs; i-- > 0;) { /* the master first */
        ronchi_dectris_file *output = &writer->outputs[i];
        if (output->published)
            ronchi_remove_file(output->path);
        else if (output->created)
            ronchi_remove_file(output->temporary);
        output->published = output->created = false;
    }
}

ronchi_status ronchi_dectris_writer_finish(ronchi_dectris_writer *writer, ronchi_error *err)
{
    ronchi_status status = RONCHI_OK;
    ronchi_hdf5_guard guard;
    if (writer->finished)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, writer->stem, RONCHI_NO_OFFSET, "the writer is finished already");
    ronchi_hdf5_enter(&guard);
    bool whole = writer->done == writer->options.n_frames;
    status = close_data(writer, whole, err);
    ronchi_hdf5_leave(&guard);
    if (status == RONCHI_OK && !whole)
        status =
            ronchi_fail(err, RONCHI_ERR_INCOMPLETE, writer->stem, RONCHI_NO_OFFSET, "%llu of %llu frames were written",
                        (unsigned long long)writer->done, (unsigned long long)writer->options.n_frames);
    /* An old master goes first, so that it never stands beside new data. */
    if (status == RONCHI_OK && writer->options.force)
        ronchi_remove_file(writer->outputs[writer->n_outputs - 1].path);
    for (size_t i = 0; status == RONCHI_OK && i < writer->n_outputs; i++) {
        ronchi_dectris_file *output = &writer->outputs[i];
        status = ronchi_publish(output->temporary, output->path, writer->options.force, err);
        output->published = status == RONCHI_OK;
    }
    if (status != RONCHI_OK)
        remove_outputs(writer);
    writer->finished = true;
    return status;
}

void ronchi_dectris_writer_destroy(ronchi_dectris_writer *writer)
{
    if (!writer)
        return;
    ronchi_context *context = writer->context;
    if (writer->output || writer->registered) {
        ronchi_hdf5_guard guard;
        ronchi_hdf5_enter(&guard);
        close_data(writer, false, NULL);
        if (writer->registered)
            ronchi_dectris_filter_unregister(writer->filter);
        ronchi_hdf5_leave(&guard);
    }
    if (!writer->finished && writer->outputs)
        remove_outputs(writer);
    for (size_t i = 0; writer->outputs && i < writer->n_outputs; i++) {
        ronchi_free(context, writer->outputs[i].path);
        ronchi_free(context, writer->outputs[i].temporary);
    }
    ronchi_free(context, writer->outputs);
    ronchi_free(context, writer->slots);
    ronchi_free(context, writer->sizes);
    ronchi_free(context, writer);
}
