/* SPDX-License-Identifier: MIT */
/* registry.c - the list of formats, and the entries that go through it. */
#include <stdlib.h>
#include <string.h>

#include "core/port.h"
#include "formats/format.h"
#include "formats/qem.h"
#include "formats/source.h"

enum { HEAD_BYTES = 4096 };

static const ronchi_format *const formats[] = {
    &ronchi_format_hdf5,
    &ronchi_format_npy,
};

/* Reads the first bytes of a file; what cannot be a source at all is refused. */
static ronchi_status read_head(const char *path, uint8_t head[HEAD_BYTES], size_t *n, ronchi_error *err)
{
    ronchi_stat st;
    ronchi_status status = ronchi_stat_path(path, &st, err);
    if (status != RONCHI_OK)
        return status;
    if (!st.exists)
        return ronchi_fail(err, RONCHI_ERR_NOT_FOUND, path, RONCHI_NO_OFFSET, "no such file");
    if (st.is_folder)
        return ronchi_fail(err, RONCHI_ERR_FORMAT, path, RONCHI_NO_OFFSET,
                           "is a folder: give one file, such as its *_master.h5");
    if (!st.is_file)
        return ronchi_fail(err, RONCHI_ERR_FORMAT, path, RONCHI_NO_OFFSET, "a device or pipe, not a regular file");
    if (st.size_bytes == 0)
        return ronchi_fail(err, RONCHI_ERR_FORMAT, path, 0, "is empty: copy it again from the original");
    ronchi_input input;
    status = ronchi_input_open(path, &input, err);
    if (status != RONCHI_OK)
        return status;
    *n = st.size_bytes < HEAD_BYTES ? (size_t)st.size_bytes : HEAD_BYTES;
    status = ronchi_input_read(&input, 0, head, *n, err);
    ronchi_input_close(&input);
    return status;
}

static ronchi_status find(const char *path, const uint8_t *head, size_t n, const ronchi_format **out, ronchi_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i]->probe(path, head, n)) {
            *out = formats[i];
            return RONCHI_OK;
        }
    if (ronchi_qem_probe(head, n))
        return ronchi_fail(err, RONCHI_ERR_FORMAT, path, 0,
                           "a .qem is no original file: give the file that it was made from");
    if (head[0] == '{')
        return ronchi_fail(err, RONCHI_ERR_FORMAT, path, 0,
                           "JSON holds no frames: give the *_master.h5 of the acquisition, it is read along with it");
    return ronchi_fail(
        err, RONCHI_ERR_FORMAT, path, 0,
        "no reader knows this file: Ronchi opens Dectris masters and other HDF5 files, .npy and .qem; bring "
        "other data into a .npy of [scan_row][scan_col][det_row][det_col]");
}

ronchi_status ronchi_format_find(const char *path, const ronchi_format **out, ronchi_error *err)
{
    uint8_t head[HEAD_BYTES];
    size_t n = 0;
    *out = NULL;
    ronchi_status status = read_head(path, head, &n, err);
    return status == RONCHI_OK ? find(path, head, n, out, err) : status;
}

ronchi_status ronchi_source_open(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                 ronchi_source **out, ronchi_error *err)
{
    const ronchi_format *format;
    ronchi_source_options chosen;
    *out = NULL;
    ronchi_status status = ronchi_source_options_check(options, &chosen, err);
    if (status == RONCHI_OK)
        status = ronchi_format_find(path, &format, err);
    return status == RONCHI_OK ? format->open(context, path, &chosen, out, err) : status;
}

void ronchi_source_close(ronchi_source *source)
{
    if (source)
        source->format->close(source);
}

ronchi_status ronchi_inspect(ronchi_context *context, const char *path, const ronchi_source_options *options,
                             ronchi_inspection *out, ronchi_error *err)
{
    uint8_t head[HEAD_BYTES];
    size_t n = 0;
    const ronchi_format *format;
    ronchi_source_options chosen;
    memset(out, 0, sizeof *out);
    ronchi_status status = ronchi_source_options_check(options, &chosen, err);
    if (status == RONCHI_OK)
        status = read_head(path, head, &n, err);
    if (status == RONCHI_OK && ronchi_qem_probe(head, n)) {
        status = ronchi_qem_inspect(context, path, &chosen, out, err);
    } else if (status == RONCHI_OK) {
        status = find(path, head, n, &format, err);
        if (status == RONCHI_OK)
            status = format->inspect(context, path, &chosen, out, err);
    }
    if (status != RONCHI_OK)
        ronchi_inspection_free(out);
    return status;
}

void ronchi_inspection_free(ronchi_inspection *inspection)
{
    if (!inspection)
        return;
    free(inspection->evidence);
    free(inspection->files);
    free(inspection->metadata_json);
    memset(inspection, 0, sizeof *inspection);
}
