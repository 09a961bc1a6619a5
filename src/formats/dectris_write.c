/* SPDX-License-Identifier: MIT */
/* dectris_write.c - the writer: temporary files, encoding in parallel, publication. */
#include "formats/dectris_write.h"

#include <stdio.h>
#include <string.h>

#include "core/port.h"
#include "formats/bslz4.h"
#include "formats/dectris_write_files.h"
#include "formats/hdf5_guard.h"

enum { NAME_SIZE = 4096, TEMPORARY_SIZE = 4160, BATCH_BYTES = 16 << 20, MAX_FILES = 999999 };

/* A file on its way: where it is and where it goes. */
typedef struct output_file {
    char *temporary, *path;
    bool created, published;
} output_file;

struct ronchi_dectris_writer {
    ronchi_context *context;
    ronchi_dectris_options options;
    char stem[NAME_SIZE]; /* with folder */
    char filter[8];
    size_t frame_bytes;
    uint64_t done;    /* frames */
    size_t n_outputs; /* data files, then companion if any, master last */
    output_file *outputs;
    hid_t file, dataset; /* of the data file that is being filled */
    bool registered, finished;
    size_t n_slots, slot_bytes; /* encoded chunks of one batch */
    uint8_t *slots;
    size_t *sizes;
};

/* ------------------------------------------------------------------------------------------------------------ names */

ronchi_status ronchi_dectris_name(const char *master_path, const char *suffix, char *out, size_t size,
                                  ronchi_error *err)
{
    static const char ending[] = "_master.h5";
    size_t n = strlen(master_path), tail = sizeof ending - 1;
    if (n <= tail || strcmp(master_path + n - tail, ending) != 0 || master_path[n - tail - 1] == '/')
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, master_path, RONCHI_NO_OFFSET,
                           "the name of a master ends in _master.h5, after a name of its own");
    int put = snprintf(out, size, "%.*s%s", (int)(n - tail), master_path, suffix);
    if (put < 0 || (size_t)put >= size)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, master_path, RONCHI_NO_OFFSET, "the path is too long");
    return RONCHI_OK;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *copy_text(ronchi_context *context, const char *text)
{
    char *copy = ronchi_alloc(context, strlen(text) + 1);
    return copy ? memcpy(copy, text, strlen(text) + 1) : NULL;
}

static ronchi_status no_memory(const ronchi_dectris_writer *writer, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, writer->stem, RONCHI_NO_OFFSET, "no memory for the writer");
}

/* Names output 'index' and refuses what is in its way. */
static ronchi_status plan_output(ronchi_dectris_writer *writer, size_t index, const char *suffix, ronchi_error *err)
{
    char path[NAME_SIZE], temporary[TEMPORARY_SIZE];
    ronchi_stat st;
    int n = snprintf(path, sizeof path, "%s%s", writer->stem, suffix);
    if (n < 0 || (size_t)n >= sizeof path)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, writer->stem, RONCHI_NO_OFFSET, "the path is too long");
    ronchi_status status = ronchi_stat_path(path, &st, err);
    if (status == RONCHI_OK && st.is_folder)
        return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET, "is a folder: another name");
    if (status == RONCHI_OK && st.exists && !writer->options.force)
        return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET,
                           "exists already: give --force to replace it, or another name");
    if (status == RONCHI_OK)
        status = ronchi_temporary_name(path, temporary, sizeof temporary, err);
    if (status != RONCHI_OK)
        return status;
    output_file *output = &writer->outputs[index];
    output->path = copy_text(writer->context, path);
    output->temporary = copy_text(writer->context, temporary);
    return output->path && output->temporary ? RONCHI_OK : no_memory(writer, err);
}

static ronchi_status check_folder(const char *master_path, ronchi_error *err)
{
    char folder[NAME_SIZE];
    ronchi_stat st;
    const char *slash = strrchr(master_path, '/');
    if (!slash || slash == master_path)
        return RONCHI_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - master_path), master_path);
    ronchi_status status = ronchi_stat_path(folder, &st, err);
    if (status == RONCHI_OK && !st.is_folder)
        return ronchi_fail(err, RONCHI_ERR_NOT_FOUND, master_path, RONCHI_NO_OFFSET, "its folder does not exist");
    return status;
}

static ronchi_status plan_outputs(ronchi_dectris_writer *writer, ronchi_error *err)
{
    size_t n_data = (size_t)ronchi_dectris_files(&writer->options), index = 0;
    writer->n_outputs = n_data + (writer->options.companion != NULL) + 1;
    writer->outputs = ronchi_calloc(writer->context, writer->n_outputs, sizeof *writer->outputs);
    if (!writer->outputs)
        return no_memory(writer, err);
    ronchi_status status = RONCHI_OK;
    for (; status == RONCHI_OK && index < n_data; index++) {
        char suffix[32];
        snprintf(suffix, sizeof suffix, "_data_%06zu.h5", index + 1);
        status = plan_output(writer, index, suffix, err);
    }
    if (status == RONCHI_OK && writer->options.companion)
        status = plan_output(writer, index++, ".h5", err);
    return status == RONCHI_OK ? plan_output(writer, index, "_master.h5", err) : status;
}

/* ------------------------------------------------------------------------------------------------------------ create
 */

static bool known_filter(const char *filter)
{
    static const char *const known[] = {"bslz4", "lz4", "gzip", "none"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (filter && strcmp(filter, known[i]) == 0)
            return true;
    return false;
}

static ronchi_status check(ronchi_dectris_writer *writer, ronchi_error *err)
{
    const ronchi_dectris_options *o = &writer->options;
    size_t pixels, n_positions;
    if (!known_filter(o->filter))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, writer->stem, RONCHI_NO_OFFSET,
                           "filter %s is not known: bslz4, lz4, gzip or none", o->filter ? o->filter : "(none given)");
    if (o->dtype != RONCHI_U8 && o->dtype != RONCHI_U16 && o->dtype != RONCHI_U32 && o->dtype != RONCHI_F32)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, writer->stem, RONCHI_NO_OFFSET, "a master does not hold %s",
                           ronchi_dtype_name(o->dtype));
    /* HDF5 chunks stay below 4 GiB */
    if (!ronchi_shape_detector(&o->shape, &pixels) ||
        !ronchi_mul(pixels, ronchi_dtype_size(o->dtype), &writer->frame_bytes) || writer->frame_bytes > UINT32_MAX / 2)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, writer->stem, RONCHI_NO_OFFSET,
                           "frames of %zu x %zu do not fit a chunk", o->shape.det_rows, o->shape.det_cols);
    if (o->n_frames == 0 || ronchi_dectris_files(o) > MAX_FILES)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, writer->stem, RONCHI_NO_OFFSET,
                           "%llu frames, %llu a file: needs 1 to %d files", (unsigned long long)o->n_frames,
                           (unsigned long long)o->frames_per_file, MAX_FILES);
    if (o->scan_attributes && (!ronchi_shape_scan(&o->shape, &n_positions) || n_positions != o->n_frames))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, writer->stem, RONCHI_NO_OFFSET,
                           "a scan of %zu x %zu is not %llu frames: no scan attributes", o->shape.scan_rows,
                           o->shape.scan_cols, (unsigned long long)o->n_frames);
    char companion[NAME_SIZE];
    ronchi_stat st;
    if (o->companion || snprintf(companion, sizeof companion, "%s.h5", writer->stem) >= (int)sizeof companion)
        return RONCHI_OK;
    ronchi_status status = ronchi_stat_path(companion, &st, err);
    if (status == RONCHI_OK && st.exists)
        return ronchi_fail(err, RONCHI_ERR_EXISTS, companion, RONCHI_NO_OFFSET,
                           "would be taken for the companion of the new master: move it away, or another name");
    return status;
}

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
    return writer->slots && writer->sizes ? RONCHI_OK : no_memory(writer, err);
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
        status = check_folder(master_path, err);
    if (status == RONCHI_OK)
        status = check(writer, err);
    if (status == RONCHI_OK) {
        snprintf(writer->filter, sizeof writer->filter, "%s", options->filter);
        writer->options.filter = writer->filter;
        status = plan_outputs(writer, err);
    }
    if (status == RONCHI_OK)
        status = make_slots(writer, err);
    if (status == RONCHI_OK) { /* master and companion at once: a folder that cannot be written to is known now */
        ronchi_hdf5_guard guard;
        output_file *master = &writer->outputs[writer->n_outputs - 1], *companion = master - 1;
        ronchi_hdf5_enter(&guard);
        bool made = ronchi_dectris_filter_register(writer->filter, &writer->registered);
        master->created = true;
        made = made && ronchi_dectris_master_create(master->temporary, file_name(writer->stem), &writer->options);
        if (made && options->companion) {
            companion->created = true;
            made = ronchi_dectris_companion_create(companion->temporary, &writer->options);
        }
        ronchi_hdf5_leave(&guard);
        if (!made)
            status = ronchi_fail(err, RONCHI_ERR_IO, master_path, RONCHI_NO_OFFSET,
                                 "cannot be created: is its folder writable, is there space?");
    }
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

static bool close_data(ronchi_dectris_writer *writer)
{
    bool done = writer->dataset < 0 || H5Dclose(writer->dataset) >= 0;
    done = (writer->file < 0 || H5Fclose(writer->file) >= 0) && done;
    writer->dataset = writer->file = -1;
    return done;
}

static uint64_t frames_a_file(const ronchi_dectris_writer *writer)
{
    return writer->options.frames_per_file ? writer->options.frames_per_file : writer->options.n_frames;
}

static bool open_data(ronchi_dectris_writer *writer)
{
    uint64_t index = writer->done / frames_a_file(writer);
    writer->outputs[index].created = true;
    return close_data(writer) &&
           ronchi_dectris_data_create(writer->outputs[index].temporary, &writer->options, writer->done,
                                      ronchi_dectris_file_frames(&writer->options, index), &writer->file,
                                      &writer->dataset);
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

static bool write_frame(ronchi_dectris_writer *writer, const uint8_t *frame, size_t slot)
{
    uint64_t at = writer->done % frames_a_file(writer);
    hsize_t offset[3] = {at, 0, 0};
    if (at == 0 && !open_data(writer))
        return false;
    if (strcmp(writer->filter, "gzip") == 0)
        return write_through_library(writer, at, frame);
    if (writer->slots)
        return H5Dwrite_chunk(writer->dataset, H5P_DEFAULT, 0, offset, writer->sizes[slot],
                              writer->slots + slot * writer->slot_bytes) >= 0;
    return H5Dwrite_chunk(writer->dataset, H5P_DEFAULT, 0, offset, writer->frame_bytes, frame) >= 0;
}

static ronchi_status write_failed(const ronchi_dectris_writer *writer, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_IO, writer->outputs[writer->n_outputs - 1].path, RONCHI_NO_OFFSET,
                       "writing stopped at frame %llu of %llu: is the disk full?", (unsigned long long)writer->done,
                       (unsigned long long)writer->options.n_frames);
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
        bool written = true;
        ronchi_hdf5_enter(&guard);
        for (size_t i = 0; written && i < n; i++) {
            written = write_frame(writer, from + i * writer->frame_bytes, i);
            writer->done += written;
        }
        ronchi_hdf5_leave(&guard);
        if (!written)
            return write_failed(writer, err);
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
        output_file *output = &writer->outputs[i];
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
    bool closed = close_data(writer);
    ronchi_hdf5_leave(&guard);
    if (!closed)
        status = write_failed(writer, err);
    else if (writer->done != writer->options.n_frames)
        status =
            ronchi_fail(err, RONCHI_ERR_INCOMPLETE, writer->stem, RONCHI_NO_OFFSET, "%llu of %llu frames were written",
                        (unsigned long long)writer->done, (unsigned long long)writer->options.n_frames);
    /* An old master goes first, so that it never stands beside new data. */
    if (status == RONCHI_OK && writer->options.force)
        ronchi_remove_file(writer->outputs[writer->n_outputs - 1].path);
    for (size_t i = 0; status == RONCHI_OK && i < writer->n_outputs; i++) {
        output_file *output = &writer->outputs[i];
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
    if (writer->file >= 0 || writer->registered) {
        ronchi_hdf5_guard guard;
        ronchi_hdf5_enter(&guard);
        close_data(writer);
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
