/* SPDX-License-Identifier: MIT */
/* h5_box.c - reads boxes of datasets: our own filters chunk by chunk, everything else through libhdf5. */
#include <string.h>

#include "core/kernels.h"
#include "formats/bslz4.h"
#include "formats/h5.h"
#include "formats/npy_file.h"

enum { CHUNK_LIMIT = 1 << 30 }; /* bytes of one decoded chunk: HDF5's own limit is 4 GiB, detectors stay far below */

ronchi_status ronchi_h5_decode_chunk(const ronchi_kernels *kernels, const ronchi_h5_info *info, uint32_t skipped,
                                     const uint8_t *chunk, size_t size, uint8_t *out, size_t out_size,
                                     ronchi_error *err)
{
    size_t element = ronchi_dtype_size(info->dtype);
    ronchi_status status = RONCHI_OK;
    if (info->filter == RONCHI_H5_NONE || (skipped & 1)) { /* stored as it is */
        if (size != out_size)
            return ronchi_fail(err, RONCHI_ERR_DATA, NULL, 0, "an uncoded chunk of %zu bytes, expected %zu", size,
                               out_size);
        memcpy(out, chunk, size);
    } else if (info->filter == RONCHI_H5_BSLZ4) {
        status = ronchi_bslz4_decode(kernels, chunk, size, element, out, out_size, err);
    } else if (info->filter == RONCHI_H5_LZ4) {
        status = ronchi_lz4_decode(chunk, size, out, out_size, err);
    } else {
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET,
                           "a chunk that libhdf5 should have decoded");
    }
    if (status == RONCHI_OK && info->swap)
        ronchi_swap_bytes(out, out_size / element, element);
    return status;
}

ronchi_status ronchi_h5_chunk_size(hid_t dataset, const hsize_t *offset, uint64_t *size, ronchi_error *err)
{
    hsize_t bytes = 0;
    *size = 0;
    if (H5Dget_chunk_storage_size(dataset, offset, &bytes) < 0 || bytes == 0)
        return ronchi_fail(err, RONCHI_ERR_INCOMPLETE, NULL, RONCHI_NO_OFFSET, "its chunk was never written");
    *size = bytes;
    return RONCHI_OK;
}

/* Copies what one decoded chunk has of the box.  'at' is the chunk's first element. */
static void copy_part(const ronchi_h5_info *info, const hsize_t *at, const hsize_t *start, const hsize_t *count,
                      const uint8_t *chunk, uint8_t *dst)
{
    hsize_t low[RONCHI_H5_AXES] = {0}, high[RONCHI_H5_AXES] = {0}, from[RONCHI_H5_AXES], to[RONCHI_H5_AXES];
    hsize_t extent[RONCHI_H5_AXES] = {1, 1, 1, 1}, box[RONCHI_H5_AXES] = {1, 1, 1, 1};
    int lead = RONCHI_H5_AXES - info->rank;
    for (int i = 0; i < RONCHI_H5_AXES; i++) { /* leading axes of size 1 make every rank four */
        high[i] = 1;
        from[i] = to[i] = 0;
        if (i < lead)
            continue;
        int k = i - lead;
        low[i] = at[k] > start[k] ? at[k] : start[k];
        high[i] = at[k] + info->chunk[k] < start[k] + count[k] ? at[k] + info->chunk[k] : start[k] + count[k];
        from[i] = low[i] - at[k];
        to[i] = low[i] - start[k];
        extent[i] = info->chunk[k];
        box[i] = count[k];
    }
    size_t element = ronchi_dtype_size(info->dtype), run = (size_t)(high[3] - low[3]) * element;
    for (hsize_t a = 0; a < high[0] - low[0]; a++)
        for (hsize_t b = 0; b < high[1] - low[1]; b++)
            for (hsize_t c = 0; c < high[2] - low[2]; c++) {
                hsize_t s = (((from[0] + a) * extent[1] + from[1] + b) * extent[2] + from[2] + c) * extent[3] + from[3];
                hsize_t d = (((to[0] + a) * box[1] + to[1] + b) * box[2] + to[2] + c) * box[3] + to[3];
                memcpy(dst + (size_t)d * element, chunk + (size_t)s * element, run);
            }
}

/* Memory for one chunk: decoded bytes at 'decoded', room for any honest stored form behind them. */
typedef struct chunk_room {
    uint8_t *decoded, *stored;
    size_t decoded_bytes, stored_bytes;
} chunk_room;

static ronchi_status make_room(ronchi_context *context, const ronchi_h5_info *info, chunk_room *room, ronchi_error *err)
{
    size_t bytes = ronchi_dtype_size(info->dtype);
    for (int i = 0; i < info->rank; i++)
        if (!ronchi_mul(bytes, (size_t)info->chunk[i], &bytes) || bytes > CHUNK_LIMIT)
            return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                               "its chunks are larger than 1 GiB: rewrite it with one frame a chunk");
    room->decoded_bytes = bytes;
    room->stored_bytes = bytes + bytes / 4 + 4096;
    room->decoded = ronchi_alloc(context, room->decoded_bytes + room->stored_bytes);
    if (!room->decoded)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a chunk of %zu bytes", bytes);
    room->stored = room->decoded + room->decoded_bytes;
    return RONCHI_OK;
}

static ronchi_status read_chunk(ronchi_context *context, hid_t dataset, const ronchi_h5_info *info, const hsize_t *at,
                                const chunk_room *room, ronchi_error *err)
{
    uint64_t size;
    uint32_t skipped = 0;
    ronchi_status status = ronchi_h5_chunk_size(dataset, at, &size, err);
    if (status != RONCHI_OK)
        return status;
    if (size > room->stored_bytes)
        return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET,
                           "a stored chunk of %llu bytes for %zu decoded ones", (unsigned long long)size,
                           room->decoded_bytes);
    if (H5Dread_chunk(dataset, H5P_DEFAULT, at, &skipped, room->stored) < 0) {
        char text[160];
        ronchi_h5_why(text, sizeof text);
        return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "a chunk cannot be read (%s)", text);
    }
    return ronchi_h5_decode_chunk(ronchi_context_kernels(context), info, skipped, room->stored, (size_t)size,
                                  room->decoded, room->decoded_bytes, err);
}

static ronchi_status read_chunks(ronchi_context *context, hid_t dataset, const ronchi_h5_info *info,
                                 const hsize_t *start, const hsize_t *count, uint8_t *dst, ronchi_error *err)
{
    chunk_room room = {0};
    hsize_t at[RONCHI_H5_AXES];
    ronchi_status status = make_room(context, info, &room, err);
    if (status != RONCHI_OK)
        return status;
    for (int i = 0; i < info->rank; i++)
        at[i] = start[i] / info->chunk[i] * info->chunk[i];
    for (int axis = 0; status == RONCHI_OK && axis >= 0;) {
        status = read_chunk(context, dataset, info, at, &room, err);
        if (status == RONCHI_OK)
            copy_part(info, at, start, count, room.decoded, dst);
        for (axis = info->rank - 1; axis >= 0; axis--) { /* the next chunk of the box, last axis first */
            at[axis] += info->chunk[axis];
            if (at[axis] < start[axis] + count[axis])
                break;
            at[axis] = start[axis] / info->chunk[axis] * info->chunk[axis];
        }
    }
    ronchi_free(context, room.decoded);
    return status;
}

static hid_t memory_type(ronchi_dtype dtype)
{
    switch (dtype) {
    case RONCHI_U8:
        return H5T_NATIVE_UINT8;
    case RONCHI_U16:
        return H5T_NATIVE_UINT16;
    case RONCHI_U32:
        return H5T_NATIVE_UINT32;
    default:
        return H5T_NATIVE_FLOAT;
    }
}

static ronchi_status read_library(hid_t dataset, const ronchi_h5_info *info, const hsize_t *start, const hsize_t *count,
                                  void *dst, ronchi_error *err)
{
    hid_t file_space = H5Dget_space(dataset), memory = H5Screate_simple(info->rank, count, NULL);
    bool done = file_space >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                H5Dread(dataset, memory_type(info->dtype), memory, file_space, H5P_DEFAULT, dst) >= 0;
    char text[160] = "";
    if (!done)
        ronchi_h5_why(text, sizeof text);
    if (file_space >= 0)
        H5Sclose(file_space);
    if (memory >= 0)
        H5Sclose(memory);
    return done ? RONCHI_OK : ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "it cannot be read (%s)", text);
}

ronchi_status ronchi_h5_read_box(ronchi_context *context, hid_t dataset, const ronchi_h5_info *info,
                                 const hsize_t *start, const hsize_t *count, void *dst, ronchi_error *err)
{
    for (int i = 0; i < info->rank; i++)
        if (count[i] == 0 || start[i] >= info->dims[i] || count[i] > info->dims[i] - start[i])
            return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "a box outside its dataset");
    if (info->filter == RONCHI_H5_BSLZ4 || info->filter == RONCHI_H5_LZ4)
        return read_chunks(context, dataset, info, start, count, dst, err);
    if (info->pieces_present < info->pieces) /* libhdf5 would give fill values for what is not there */
        return ronchi_fail(err, RONCHI_ERR_INCOMPLETE, NULL, RONCHI_NO_OFFSET, "some of its values were never written");
    return read_library(dataset, info, start, count, dst, err);
}
