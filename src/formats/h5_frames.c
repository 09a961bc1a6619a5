/* SPDX-License-Identifier: MIT */
/*
 * h5_frames.c - frames out of an open HDF5 source.
 *
 * Where one chunk is one frame, stage() fetches stored bytes and any thread decodes them.  Everything else is read
 * where it is decoded, one frame (or one layer of chunks) at a time under the lock, so that memory stays bounded.
 */
#include <stdlib.h>
#include <string.h>

#include "core/kernels.h"
#include "formats/bslz4.h"
#include "formats/h5_source.h"
#include "formats/npy_file.h"

typedef unsigned long long ull;

/* What stage() brings for frames of direct parts: where their bytes lie. */
typedef struct staged_frame {
    size_t offset, size;
    uint32_t skipped;
} staged_frame;

typedef struct staged_bytes {
    uint8_t *bytes; /* NULL: no frame is staged directly */
    staged_frame frames[];
} staged_bytes;

bool ronchi_h5_direct(const ronchi_h5_part *part)
{
    const ronchi_h5_info *info = &part->info;
    if (!info->chunked || info->filter == RONCHI_H5_LIBRARY)
        return false;
    for (int i = 0; i < info->rank; i++)
        if (info->chunk[i] != (i < info->rank - 2 ? 1 : info->dims[i]))
            return false;
    return true;
}

size_t ronchi_h5_part_of(const ronchi_h5_state *state, uint64_t frame)
{
    size_t low = 0, high = state->n_parts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (state->parts[middle].first <= frame)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* First element of a frame in its dataset. */
static void frame_start(const ronchi_h5_part *part, uint64_t local, hsize_t *start)
{
    memset(start, 0, RONCHI_H5_AXES * sizeof *start);
    if (part->order == RONCHI_H5_SCAN) {
        start[0] = local / part->info.dims[1];
        start[1] = local % part->info.dims[1];
    } else {
        start[0] = local;
        if (part->order == RONCHI_H5_CHANNELS)
            start[1] = part->channel;
    }
}

/* Says which frame of which file an error is about. */
static ronchi_status blame(const ronchi_h5_state *state, size_t part, uint64_t frame, const ronchi_error *why,
                           ronchi_status status, ronchi_error *err)
{
    const ronchi_h5_part *p = &state->parts[part];
    return ronchi_fail(err, status, state->files[p->file].path, why->offset,
                       "frame %llu (number %llu in %.100s): %.300s", (ull)frame, (ull)(frame - p->first + p->from),
                       state->files[p->file].about.name, why->message);
}

/* ----------------------------------------------------------------------------------------------------- open datasets
 */

static void close_one(ronchi_h5_open *open)
{
    if (open->part == SIZE_MAX)
        return;
    H5Dclose(open->dataset);
    H5Fclose(open->file);
    open->part = SIZE_MAX;
}

static ronchi_status open_one(ronchi_h5_state *state, size_t part, ronchi_h5_open *open, ronchi_error *err)
{
    const ronchi_h5_part *p = &state->parts[part];
    const char *path = state->files[p->file].path;
    open->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    open->dataset = open->file < 0 ? -1 : H5Dopen2(open->file, p->dataset, H5P_DEFAULT);
    if (open->dataset >= 0) {
        open->part = part;
        return RONCHI_OK;
    }
    if (open->file >= 0)
        H5Fclose(open->file);
    char text[160];
    ronchi_h5_why(text, sizeof text);
    return ronchi_fail(err, RONCHI_ERR_IO, path, RONCHI_NO_OFFSET, "%s cannot be opened any more (%s)", p->dataset,
                       text);
}

/* The open dataset of a part; the one that was used longest ago makes room. */
ronchi_status ronchi_h5_dataset(ronchi_h5_state *state, size_t part, hid_t *out, ronchi_error *err)
{
    ronchi_h5_open *oldest = &state->open[0];
    for (size_t i = 0; i < RONCHI_H5_OPEN; i++) {
        ronchi_h5_open *open = &state->open[i];
        if (open->part == part) {
            open->used = ++state->uses;
            *out = open->dataset;
            return RONCHI_OK;
        }
        if (open->part == SIZE_MAX ? oldest->part != SIZE_MAX : open->used < oldest->used && oldest->part != SIZE_MAX)
            oldest = open;
    }
    close_one(oldest);
    ronchi_status status = open_one(state, part, oldest, err);
    oldest->used = ++state->uses;
    *out = oldest->dataset;
    return status;
}

void ronchi_h5_close_all(ronchi_context *context, ronchi_h5_state *state)
{
    ronchi_hdf5_guard guard;
    ronchi_hdf5_enter(&guard);
    for (size_t i = 0; i < RONCHI_H5_OPEN; i++)
        close_one(&state->open[i]);
    ronchi_hdf5_leave(&guard);
    ronchi_free(context, state->layer);
    state->layer = NULL;
}

/* ------------------------------------------------------------------------------------------------------------ stage */

bool ronchi_h5_honest_size(const ronchi_h5_state *state, uint64_t size)
{
    return size <= state->frame_bytes + state->frame_bytes / 4 + 4096;
}

/* Reads frames whose places are known: neighbours in one piece, with the little that lies between them. */
static ronchi_status stage_located(ronchi_h5_state *state, ronchi_context *context, const ronchi_stored_frame *at,
                                   uint64_t count, staged_bytes *staged, size_t *total, ronchi_error *err)
{
    enum { GAP = 4096, RUN = 16 << 20 };
    uint64_t i = 0, end = 0, from = 0; /* of the run, in its file */
    size_t start = 0;                  /* of the run, among the staged bytes */
    *total = 0;
    for (i = 0; i < count; i++) {
        bool joined = i && at[i].file == at[i - 1].file && at[i].offset >= end && at[i].offset - end <= GAP &&
                      at[i].offset - from < RUN;
        if (!joined) {
            from = at[i].offset;
            start = *total;
        }
        end = at[i].offset + at[i].size;
        staged->frames[i].offset = start + (size_t)(at[i].offset - from);
        staged->frames[i].size = at[i].size;
        staged->frames[i].skipped = at[i].coding == RONCHI_CODING_NONE;
        *total = start + (size_t)(end - from);
    }
    staged->bytes = ronchi_alloc(context, *total);
    if (!staged->bytes)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu stored bytes", *total);
    ronchi_status status = RONCHI_OK;
    for (i = 0; status == RONCHI_OK && i < count;) {
        uint64_t last = i; /* frames lie in one run while their distances in the file and in memory are the same */
        while (last + 1 < count && at[last + 1].file == at[i].file && at[last + 1].offset >= at[i].offset &&
               at[last + 1].offset - at[i].offset == staged->frames[last + 1].offset - staged->frames[i].offset)
            last++;
        status =
            ronchi_h5_read_at(state, at[i].file, at[i].offset, staged->bytes + staged->frames[i].offset,
                              staged->frames[last].offset + staged->frames[last].size - staged->frames[i].offset, err);
        i = last + 1;
    }
    return status;
}

/* First pass: sizes; second pass, with 'bytes' allocated: the bytes. */
static ronchi_status stage_pass(ronchi_h5_state *state, uint64_t first, uint64_t count, staged_bytes *staged,
                                size_t *total, ronchi_error *err)
{
    ronchi_error why;
    memset(&why, 0, sizeof why);
    *total = 0;
    for (uint64_t i = 0; i < count; i++) {
        size_t part = ronchi_h5_part_of(state, first + i);
        const ronchi_h5_part *p = &state->parts[part];
        staged_frame *frame = &staged->frames[i];
        hsize_t start[RONCHI_H5_AXES];
        hid_t dataset;
        uint64_t size;
        if (!ronchi_h5_direct(p))
            continue;
        ronchi_status status = ronchi_h5_dataset(state, part, &dataset, err);
        if (status != RONCHI_OK)
            return status;
        frame_start(p, first + i - p->first + p->from, start);
        if (staged->bytes) {
            if (H5Dread_chunk(dataset, H5P_DEFAULT, start, &frame->skipped, staged->bytes + frame->offset) < 0) {
                char said[160]; /* names errno where the system refused to read; else the file contradicts itself */
                ronchi_h5_why(said, sizeof said);
                bool system = strstr(said, "errno") != NULL;
                ronchi_fail(&why, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "%s%s", said,
                            system ? "" : "; the file is damaged: copy it again");
                return blame(state, part, first + i, &why, system ? RONCHI_ERR_IO : RONCHI_ERR_DATA, err);
            }
            continue;
        }
        status = ronchi_h5_chunk_size(dataset, start, &size, &why);
        if (status == RONCHI_OK && !ronchi_h5_honest_size(state, size))
            status = ronchi_fail(&why, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "%llu stored bytes for a frame of %zu",
                                 (ull)size, state->frame_bytes);
        if (status != RONCHI_OK)
            return blame(state, part, first + i, &why, status, err);
        frame->offset = *total;
        frame->size = (size_t)size;
        *total += (size_t)size;
    }
    return RONCHI_OK;
}

static ronchi_status stage_by_library(ronchi_source *source, uint64_t first, uint64_t count, staged_bytes *staged,
                                      size_t *total, ronchi_error *err)
{
    ronchi_h5_state *state = source->state;
    ronchi_hdf5_guard guard;
    size_t again;
    ronchi_hdf5_enter(&guard);
    ronchi_status status = stage_pass(state, first, count, staged, total, err);
    if (status == RONCHI_OK && *total != 0) {
        staged->bytes = ronchi_alloc(source->context, *total);
        if (!staged->bytes)
            status = ronchi_fail(err, RONCHI_ERR_MEMORY, source->path, RONCHI_NO_OFFSET,
                                 "no memory for %zu stored bytes", *total);
        else
            status = stage_pass(state, first, count, staged, &again, err);
    }
    ronchi_hdf5_leave(&guard);
    return status;
}

ronchi_status ronchi_h5_stage(ronchi_source *source, uint64_t first, uint64_t count, ronchi_staged *out,
                              ronchi_error *err)
{
    ronchi_h5_state *state = source->state;
    size_t table, total = 0;
    memset(out, 0, sizeof *out);
    if (first > source->frames_stored || count > source->frames_stored - first)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, source->path, RONCHI_NO_OFFSET, "frames %llu to %llu of %llu",
                           (ull)first, (ull)(first + count), (ull)source->frames_stored);
    if (!ronchi_mul((size_t)count, sizeof(staged_frame), &table) || !ronchi_add(table, sizeof(staged_bytes), &table))
        table = 0;
    staged_bytes *staged = table ? ronchi_alloc(source->context, table) : NULL;
    if (!staged)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, source->path, RONCHI_NO_OFFSET, "no memory to stage %llu frames",
                           (ull)count);
    memset(staged, 0, table);
    ronchi_stored_frame *places = ronchi_calloc(source->context, (size_t)count, sizeof *places);
    bool known = false;
    ronchi_status status = places ? ronchi_h5_locate(source, first, count, places, &known, err) : RONCHI_OK;
    if (status == RONCHI_OK && known)
        status = stage_located(state, source->context, places, count, staged, &total, err);
    else if (status == RONCHI_OK)
        status = stage_by_library(source, first, count, staged, &total, err);
    ronchi_free(source->context, places);
    out->first = first;
    out->count = count;
    out->state = staged;
    out->stored_bytes = total;
    if (status != RONCHI_OK)
        ronchi_h5_unstage(source, out);
    return status;
}

void ronchi_h5_unstage(ronchi_source *source, ronchi_staged *staged)
{
    staged_bytes *state = staged->state;
    if (state)
        ronchi_free(source->context, state->bytes);
    ronchi_free(source->context, state);
    memset(staged, 0, sizeof *staged);
}

/* ----------------------------------------------------------------------------------------------------------- decode */

/* Frames of the layer of chunks that holds 'local', cut to the part; 1 where a layer would be too large to keep. */
static void layer_extent(const ronchi_source *source, const ronchi_h5_part *part, uint64_t local, uint64_t *first,
                         uint64_t *count)
{
    const ronchi_h5_info *info = &part->info;
    const ronchi_h5_state *state = source->state;
    int axis = part->order == RONCHI_H5_SCAN ? 1 : 0;
    uint64_t deep = info->chunked ? info->chunk[axis] : 1, along = axis ? local % info->dims[1] : local;
    *first = local;
    *count = 1;
    if (deep < 2 || deep > ronchi_context_budget(source->context) / state->frame_bytes)
        return;
    uint64_t start = along / deep * deep, end = start + deep < info->dims[axis] ? start + deep : info->dims[axis];
    *first = local - (along - start);
    *count = end - start;
}

static ronchi_status read_layer(const ronchi_source *source, size_t part, uint64_t local, uint8_t *dst,
                                ronchi_error *err)
{
    ronchi_h5_state *state = source->state;
    const ronchi_h5_part *p = &state->parts[part];
    uint64_t first, count;
    hid_t dataset;
    hsize_t start[RONCHI_H5_AXES], box[RONCHI_H5_AXES] = {1, 1, 1, 1};
    layer_extent(source, p, local, &first, &count);
    bool kept = count > 1;
    if (kept && state->layer && state->layer_part == part && state->layer_first == first) {
        memcpy(dst, state->layer + (size_t)(local - first) * state->frame_bytes, state->frame_bytes);
        return RONCHI_OK;
    }
    ronchi_status status = ronchi_h5_dataset(state, part, &dataset, err);
    if (status != RONCHI_OK)
        return status;
    if (kept) {
        ronchi_free(source->context, state->layer);
        state->layer = ronchi_alloc(source->context, (size_t)count * state->frame_bytes);
        if (!state->layer)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %llu frames", (ull)count);
        state->layer_part = SIZE_MAX; /* until it is filled */
    }
    frame_start(p, first, start);
    box[p->order == RONCHI_H5_SCAN ? 1 : 0] = count;
    box[p->info.rank - 2] = source->shape.det_rows;
    box[p->info.rank - 1] = source->shape.det_cols;
    status = ronchi_h5_read_box(source->context, dataset, &p->info, start, box, kept ? state->layer : dst, err);
    if (status == RONCHI_OK && kept) {
        state->layer_part = part;
        state->layer_first = first;
        state->layer_count = count;
        memcpy(dst, state->layer + (size_t)(local - first) * state->frame_bytes, state->frame_bytes);
    }
    return status;
}

ronchi_status ronchi_h5_decode(const ronchi_source *source, const ronchi_staged *staged, uint64_t frame, void *dst,
                               ronchi_error *err)
{
    const ronchi_h5_state *state = source->state;
    const staged_bytes *bytes = staged->state;
    if (!bytes || frame < staged->first || frame - staged->first >= staged->count)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, source->path, RONCHI_NO_OFFSET, "frame %llu is not staged",
                           (ull)frame);
    size_t part = ronchi_h5_part_of(state, frame);
    const ronchi_h5_part *p = &state->parts[part];
    ronchi_error why;
    ronchi_status status;
    memset(&why, 0, sizeof why);
    why.offset = RONCHI_NO_OFFSET;
    if (ronchi_h5_direct(p)) {
        const staged_frame *f = &bytes->frames[frame - staged->first];
        status = ronchi_h5_decode_chunk(ronchi_context_kernels(source->context), &p->info, f->skipped,
                                        bytes->bytes + f->offset, f->size, dst, state->frame_bytes, &why);
    } else {
        ronchi_hdf5_guard guard;
        ronchi_hdf5_enter(&guard);
        status = read_layer(source, part, frame - p->first + p->from, dst, &why);
        ronchi_hdf5_leave(&guard);
    }
    return status == RONCHI_OK ? RONCHI_OK : blame(state, part, frame, &why, status, err);
}

/* ----------------------------------------------------------------------------------------------------------- pieces */

size_t ronchi_h5_pieces(const ronchi_source *source, const ronchi_staged *staged)
{
    const ronchi_h5_state *state = source->state;
    const staged_bytes *bytes = staged->state;
    size_t element = ronchi_dtype_size(source->dtype), block = 0;
    for (uint64_t i = 0; bytes && bytes->bytes && i < staged->count; i++) {
        const ronchi_h5_part *p = &state->parts[ronchi_h5_part_of(state, staged->first + i)];
        const staged_frame *f = &bytes->frames[i];
        if (!ronchi_h5_direct(p) || p->info.filter != RONCHI_H5_BSLZ4 || (f->skipped & 1) ||
            p->info.dtype != source->dtype)
            return 0;
        size_t own = ronchi_bslz4_block(bytes->bytes + f->offset, f->size, element);
        if (own == 0 || (i && own != block))
            return 0;
        block = own;
    }
    return block / element;
}

ronchi_status ronchi_h5_decode_piece(const ronchi_source *source, const ronchi_staged *staged, uint64_t frame,
                                     size_t piece, size_t *at, void *dst, ronchi_error *err)
{
    const ronchi_h5_state *state = source->state;
    const staged_bytes *bytes = staged->state;
    const staged_frame *f = &bytes->frames[frame - staged->first];
    const uint8_t *chunk = bytes->bytes + f->offset;
    const size_t part = ronchi_h5_part_of(state, frame), element = ronchi_dtype_size(source->dtype);
    const size_t block = ronchi_bslz4_block(chunk, f->size, element);
    ronchi_error why;
    memset(&why, 0, sizeof why);
    why.offset = RONCHI_NO_OFFSET;
    ronchi_status status = ronchi_bslz4_decode_block(ronchi_context_kernels(source->context), chunk, f->size, element,
                                                     block, piece, at, dst, state->frame_bytes, &why);
    if (status != RONCHI_OK)
        return blame(state, part, frame, &why, status, err);
    if (state->parts[part].info.swap)
        ronchi_swap_bytes(dst, ronchi_min_size(block, state->frame_bytes - piece * block) / element, element);
    return RONCHI_OK;
}
