/* SPDX-License-Identifier: MIT */
/* dectris_write_plan.c - names, checks, and what is in the way. */
#include "formats/dectris_write_plan.h"

#include <stdio.h>
#include <string.h>

#include "core/port.h"
#include "formats/dectris_write_files.h"

enum { TEMPORARY_SIZE = 4160, MAX_FILES = 999999 };

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

static char *copy_text(ronchi_context *context, const char *text)
{
    char *copy = ronchi_alloc(context, strlen(text) + 1);
    return copy ? memcpy(copy, text, strlen(text) + 1) : NULL;
}

ronchi_status ronchi_dectris_no_memory(const ronchi_dectris_writer *writer, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, writer->stem, RONCHI_NO_OFFSET, "no memory for the writer");
}

/* Names output 'index' and refuses what is in its way. */
static ronchi_status plan_output(ronchi_dectris_writer *writer, size_t index, const char *suffix, ronchi_error *err)
{
    char path[RONCHI_DECTRIS_NAME_SIZE], temporary[TEMPORARY_SIZE];
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
    ronchi_dectris_file *output = &writer->outputs[index];
    output->path = copy_text(writer->context, path);
    output->temporary = copy_text(writer->context, temporary);
    return output->path && output->temporary ? RONCHI_OK : ronchi_dectris_no_memory(writer, err);
}

static ronchi_status check_folder(const ronchi_dectris_writer *writer, ronchi_error *err)
{
    char folder[RONCHI_DECTRIS_NAME_SIZE];
    ronchi_stat st;
    const char *slash = strrchr(writer->stem, '/');
    if (!slash || slash == writer->stem)
        return RONCHI_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - writer->stem), writer->stem);
    ronchi_status status = ronchi_stat_path(folder, &st, err);
    if (status == RONCHI_OK && !st.is_folder)
        return ronchi_fail(err, RONCHI_ERR_NOT_FOUND, writer->stem, RONCHI_NO_OFFSET, "its folder does not exist");
    return status;
}

ronchi_status ronchi_dectris_plan(ronchi_dectris_writer *writer, ronchi_error *err)
{
    size_t n_data = (size_t)ronchi_dectris_files(&writer->options), index = 0;
    writer->n_outputs = n_data + (writer->options.companion != NULL) + 1;
    writer->outputs = ronchi_calloc(writer->context, writer->n_outputs, sizeof *writer->outputs);
    if (!writer->outputs)
        return ronchi_dectris_no_memory(writer, err);
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

/* ----------------------------------------------------------------------------------------------------------- checks */

static bool known_filter(const char *filter)
{
    static const char *const known[] = {"bslz4", "lz4", "gzip", "none"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (filter && strcmp(filter, known[i]) == 0)
            return true;
    return false;
}

ronchi_status ronchi_dectris_check(ronchi_dectris_writer *writer, ronchi_error *err)
{
    const ronchi_dectris_options *o = &writer->options;
    size_t pixels, n_positions;
    ronchi_status folder = check_folder(writer, err);
    if (folder != RONCHI_OK)
        return folder;
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
    char companion[RONCHI_DECTRIS_NAME_SIZE];
    ronchi_stat st;
    if (o->companion || snprintf(companion, sizeof companion, "%s.h5", writer->stem) >= (int)sizeof companion)
        return RONCHI_OK;
    ronchi_status status = ronchi_stat_path(companion, &st, err);
    if (status == RONCHI_OK && st.exists)
        return ronchi_fail(err, RONCHI_ERR_EXISTS, companion, RONCHI_NO_OFFSET,
                           "would be taken for the companion of the new master: move it away, or another name");
    return status;
}
