/* SPDX-License-Identifier: MIT */
/* npy.c - .npy arrays as sources: [scan_row][scan_col][det_row][det_col] or [frame][det_row][det_col]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy_file.h"
#include "formats/source.h"

typedef struct npy_state {
    ronchi_input input;
    ronchi_npy_layout header;
    size_t frame_bytes;
} npy_state;

static bool npy_probe(const char *path, const uint8_t *head, size_t n)
{
    (void)path;
    return n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0;
}

/* Whether the array can be an acquisition; the message says why not. */
static ronchi_status check_array(const ronchi_input *input, const ronchi_npy_layout *header, ronchi_error *err)
{
    if (header->dtype == RONCHI_U64 || header->dtype == RONCHI_F64)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, input->path, RONCHI_NO_OFFSET,
                           "%s counts: convert them to uint32 or float32 with NumPy first",
                           ronchi_dtype_name(header->dtype));
    if (header->axes < 3 || header->elements == 0)
        return ronchi_fail(err, RONCHI_ERR_FORMAT, input->path, RONCHI_NO_OFFSET,
                           header->axes < 3 ? "%d axes: an acquisition has four, or three with --scan-shape"
                                            : "the array of %d axes is empty",
                           header->axes);
    return RONCHI_OK;
}

static void choose_scan(const ronchi_npy_layout *header, const ronchi_source_options *options, ronchi_scan_choice *out)
{
    ronchi_scan_facts facts;
    memset(&facts, 0, sizeof facts);
    facts.frames = (uint64_t)header->shape[0] * header->shape[1];
    if (header->axes == 4)
        ronchi_scan_add(&facts, RONCHI_SCAN_DATASET, "the array's own axes", header->shape[0], header->shape[1], -1, 0);
    ronchi_scan_choose(&facts, options, out);
}

static ronchi_status look(const char *path, ronchi_input *input, ronchi_npy_layout *header, ronchi_error *err)
{
    ronchi_status status = ronchi_input_open(path, input, err);
    if (status != RONCHI_OK)
        return status;
    status = ronchi_npy_layout_read(input, header, err);
    if (status == RONCHI_OK)
        status = check_array(input, header, err);
    if (status != RONCHI_OK)
        ronchi_input_close(input);
    return status;
}

static ronchi_status npy_inspect(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                 ronchi_inspection *out, ronchi_error *err)
{
    (void)context;
    ronchi_input input;
    ronchi_npy_layout header;
    ronchi_error why;
    ronchi_stat st;
    snprintf(out->format, sizeof out->format, "npy");
    snprintf(out->layout, sizeof out->layout, "array");
    snprintf(out->filter, sizeof out->filter, "none");
    ronchi_source_file *file = ronchi_inspection_add_file(out);
    if (!file)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory");
    const char *slash = strrchr(path, '/');
    snprintf(file->name, sizeof file->name, "%.255s", slash ? slash + 1 : path);
    ronchi_status status = ronchi_stat_path(path, &st, err);
    if (status != RONCHI_OK)
        return status;
    file->size_bytes = out->stored_bytes = st.size_bytes;
    memset(&why, 0, sizeof why);
    status = look(path, &input, &header, &why);
    if (status == RONCHI_ERR_IO || status == RONCHI_ERR_MEMORY || status == RONCHI_ERR_NOT_FOUND) {
        if (err)
            *err = why;
        return status;
    }
    if (status != RONCHI_OK) {
        snprintf(file->problem, sizeof file->problem, "%.159s", why.message);
        char reason[256];
        snprintf(reason, sizeof reason, "%.255s", why.message);
        ronchi_inspection_refuse(out, reason, "give another file");
        return RONCHI_OK;
    }
    ronchi_input_close(&input);
    ronchi_scan_choice choice;
    choose_scan(&header, options, &choice);
    out->dtype = header.dtype;
    out->shape.det_rows = header.shape[2];
    out->shape.det_cols = header.shape[3];
    out->frames_stored = file->frames = file->frames_present = (uint64_t)header.shape[0] * header.shape[1];
    out->ready = 1;
    ronchi_calibration_override(&out->calibration, options);
    status = ronchi_inspection_take_scan(out, &choice, err);
    size_t elements;
    if (status == RONCHI_OK && out->ready && ronchi_shape_elements(&out->shape, &elements))
        out->dense_bytes = (uint64_t)elements * ronchi_dtype_size(header.dtype);
    return status;
}

static ronchi_status npy_open(ronchi_context *context, const char *path, const ronchi_source_options *options,
                              ronchi_source **out, ronchi_error *err)
{
    ronchi_scan_choice choice;
    npy_state *state = calloc(1, sizeof *state);
    ronchi_source *source = ronchi_source_new(context, &ronchi_format_npy, path);
    json_t *metadata = json_object();
    ronchi_status status;
    if (!state || !source || !metadata) {
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for the source");
        goto failed;
    }
    status = look(path, &state->input, &state->header, err);
    if (status != RONCHI_OK)
        goto failed;
    choose_scan(&state->header, options, &choice);
    if (choice.status != RONCHI_OK) {
        ronchi_input_close(&state->input);
        status = ronchi_fail(err, choice.status, path, RONCHI_NO_OFFSET, "%s: %s", choice.reason, choice.action);
        goto failed;
    }
    ronchi_source_take_scan(source, &choice);
    source->state = state;
    source->shape.det_rows = state->header.shape[2];
    source->shape.det_cols = state->header.shape[3];
    source->dtype = state->header.dtype;
    source->frames_stored = (uint64_t)state->header.shape[0] * state->header.shape[1];
    source->metadata = metadata;
    state->frame_bytes = source->shape.det_rows * source->shape.det_cols * ronchi_dtype_size(source->dtype);
    ronchi_calibration_override(&source->calibration, options);
    *out = source;
    return RONCHI_OK;
failed:
    json_decref(metadata);
    free(state);
    free(source);
    return status;
}

/* Nothing to fetch ahead: every frame is read where it is decoded. */
static ronchi_status npy_stage(ronchi_source *source, uint64_t first, uint64_t count, ronchi_staged *out,
                               ronchi_error *err)
{
    const npy_state *state = source->state;
    memset(out, 0, sizeof *out);
    if (first > source->frames_stored || count > source->frames_stored - first)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, source->path, RONCHI_NO_OFFSET, "frames %llu to %llu of %llu",
                           (unsigned long long)first, (unsigned long long)(first + count),
                           (unsigned long long)source->frames_stored);
    out->first = first;
    out->count = count;
    out->stored_bytes = count * state->frame_bytes;
    return RONCHI_OK;
}

static ronchi_status npy_decode(const ronchi_source *source, const ronchi_staged *staged, uint64_t frame, void *dst,
                                ronchi_error *err)
{
    const npy_state *state = source->state;
    if (frame < staged->first || frame - staged->first >= staged->count)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, source->path, RONCHI_NO_OFFSET, "frame %llu is not staged",
                           (unsigned long long)frame);
    ronchi_status status = ronchi_input_read(&state->input, state->header.data_offset + frame * state->frame_bytes, dst,
                                             state->frame_bytes, err);
    size_t size = ronchi_dtype_size(source->dtype);
    if (status == RONCHI_OK && state->header.swap)
        ronchi_swap_bytes(dst, state->frame_bytes / size, size);
    return status;
}

static void npy_unstage(ronchi_source *source, ronchi_staged *staged)
{
    (void)source;
    memset(staged, 0, sizeof *staged);
}

static void npy_close(ronchi_source *source)
{
    npy_state *state = source->state;
    ronchi_input_close(&state->input);
    free(state);
    ronchi_source_release(source);
}

const ronchi_format ronchi_format_npy = {
    .name = "npy",
    .probe = npy_probe,
    .inspect = npy_inspect,
    .open = npy_open,
    .stage = npy_stage,
    .decode = npy_decode,
    .unstage = npy_unstage,
    .close = npy_close,
};
