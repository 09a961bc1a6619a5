/* SPDX-License-Identifier: MIT */
/*
 * h5_places.c - where the frames of an open HDF5 source lie in its files, by our own reader of chunk indexes.
 *
 * Whatever that reader does not understand, and whatever it finds that libhdf5's view of the dataset does not bear out,
 * is "not known": then libhdf5 fetches the frames, and says what is wrong if something is.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/h5_source.h"

ronchi_status ronchi_h5_read_at(ronchi_h5_state *state, size_t file, uint64_t offset, void *dst, size_t size,
                                ronchi_error *err)
{
    if (state->input_file != file) {
        if (state->input_file != SIZE_MAX)
            ronchi_input_close(&state->input);
        state->input_file = SIZE_MAX;
        ronchi_status status = ronchi_input_open(state->files[file].path, &state->input, err);
        if (status != RONCHI_OK)
            return status;
        state->input_file = file;
    }
    return ronchi_input_read(&state->input, offset, dst, size, err);
}

/* The address of a part's object header, when it lies in the part's own file. */
static bool find_header(ronchi_h5_state *state, size_t part, uint64_t *address)
{
    ronchi_hdf5_guard guard;
    H5O_info_t own, root;
    hid_t dataset;
    ronchi_hdf5_enter(&guard);
    bool found = ronchi_h5_dataset(state, part, &dataset, NULL) == RONCHI_OK && H5Oget_info(dataset, &own) >= 0;
    for (size_t i = 0; found && i < RONCHI_H5_OPEN; i++)
        if (state->open[i].part == part)
            found = H5Oget_info(state->open[i].file, &root) >= 0 && root.fileno == own.fileno;
    ronchi_hdf5_leave(&guard);
    *address = found ? own.addr : 0;
    return found;
}

typedef struct part_file {
    ronchi_h5_state *state;
    size_t file;
} part_file;

static ronchi_status read_file(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err)
{
    const part_file *from = user;
    return ronchi_h5_read_at(from->state, from->file, offset, dst, size, err);
}

static bool same_dataset(const ronchi_h5_info *info, const ronchi_h5_chunks *chunks)
{
    bool same = info->rank == chunks->rank && ronchi_dtype_size(info->dtype) == chunks->element_bytes;
    for (int i = 0; same && i < info->rank; i++)
        same = info->dims[i] == chunks->dims[i] && info->chunk[i] == chunks->chunk[i];
    return same;
}

static void look(ronchi_source *source, size_t part)
{
    ronchi_h5_state *state = source->state;
    ronchi_h5_places *places = &state->places[part];
    const ronchi_h5_part *p = &state->parts[part];
    part_file from = {state, p->file};
    uint64_t header;
    ronchi_stat st;
    places->tried = true;
    if (state->by_library || !ronchi_h5_direct(p) || !find_header(state, part, &header) ||
        ronchi_stat_path(state->files[p->file].path, &st, NULL) != RONCHI_OK || !st.is_file)
        return;
    ronchi_h5_bytes bytes = {read_file, &from, st.size_bytes, state->files[p->file].path};
    if (ronchi_h5_chunks_read(source->context, &bytes, header, &places->chunks, NULL) != RONCHI_OK)
        return;
    places->known = same_dataset(&p->info, &places->chunks);
    if (!places->known)
        ronchi_h5_chunks_free(source->context, &places->chunks);
}

/* Number of a frame's chunk: a frame is one chunk, and the detector's axes have one chunk each. */
static uint64_t chunk_of(const ronchi_h5_part *part, uint64_t local)
{
    return part->order == RONCHI_H5_CHANNELS ? local * part->info.dims[1] + part->channel : local;
}

ronchi_status ronchi_h5_locate(ronchi_source *source, uint64_t first, uint64_t count, ronchi_stored_frame *out,
                               bool *known, ronchi_error *err)
{
    ronchi_h5_state *state = source->state;
    *known = false;
    if (first > source->frames_stored || count > source->frames_stored - first)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, source->path, RONCHI_NO_OFFSET, "frames that are not stored");
    for (uint64_t i = 0; i < count; i++) {
        size_t part = ronchi_h5_part_of(state, first + i);
        const ronchi_h5_part *p = &state->parts[part];
        ronchi_h5_places *places = &state->places[part];
        if (!places->tried)
            look(source, part);
        uint64_t chunk = chunk_of(p, first + i - p->first + p->from);
        if (!places->known || chunk >= places->chunks.n)
            return RONCHI_OK;
        const ronchi_h5_chunk *at = &places->chunks.at[chunk];
        if (at->offset == RONCHI_H5_NOT_STORED || !ronchi_h5_honest_size(state, at->size))
            return RONCHI_OK;
        bool plain = p->info.filter == RONCHI_H5_NONE || (at->skipped & 1);
        out[i].offset = at->offset;
        out[i].size = at->size;
        out[i].file = (uint32_t)p->file;
        out[i].coding = plain                               ? RONCHI_CODING_NONE
                        : p->info.filter == RONCHI_H5_BSLZ4 ? RONCHI_CODING_BSLZ4
                                                            : RONCHI_CODING_LZ4;
        out[i].swap = p->info.swap;
    }
    *known = true;
    return RONCHI_OK;
}

const char *ronchi_h5_file_path(const ronchi_source *source, uint32_t file)
{
    const ronchi_h5_state *state = source->state;
    return file < state->n_files ? state->files[file].path : NULL;
}

void ronchi_h5_places_free(ronchi_context *context, ronchi_h5_state *state)
{
    for (size_t i = 0; i < state->n_parts; i++)
        ronchi_h5_chunks_free(context, &state->places[i].chunks);
    free(state->places);
    state->places = NULL;
    if (state->input_file != SIZE_MAX)
        ronchi_input_close(&state->input);
    state->input_file = SIZE_MAX;
}
