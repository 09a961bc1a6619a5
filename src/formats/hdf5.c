/* SPDX-License-Identifier: MIT */
/* hdf5.c - the format "HDF5": Dectris masters of both layouts, their data files alone, and other files with one stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_source.h"

static bool hdf5_probe(const char *path, const uint8_t *head, size_t n)
{
    (void)path;
    /* A user block may stand before the signature, at a power of two from 512. */
    for (size_t at = 0; at + 8 <= n; at = at ? 2 * at : 512)
        if (memcmp(head + at, "\x89HDF\r\n\x1a\n", 8) == 0)
            return true;
    return false;
}

static ronchi_status copy_files(const ronchi_h5_survey *survey, ronchi_inspection *out, ronchi_error *err)
{
    for (size_t i = 0; i < survey->n_files; i++) {
        ronchi_source_file *file = ronchi_inspection_add_file(out);
        if (!file)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, survey->path, RONCHI_NO_OFFSET, "no memory");
        *file = survey->files[i].about;
        out->stored_bytes += file->size_bytes;
    }
    return RONCHI_OK;
}

static ronchi_status hdf5_inspect(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                  ronchi_inspection *out, ronchi_error *err)
{
    ronchi_h5_survey survey;
    size_t elements;
    ronchi_status status = ronchi_h5_survey_make(context, path, options, &survey, err);
    if (status == RONCHI_OK)
        status = copy_files(&survey, out, err);
    if (status == RONCHI_OK) {
        snprintf(out->format, sizeof out->format, "%s", survey.format);
        snprintf(out->layout, sizeof out->layout, "%s", survey.layout);
        snprintf(out->filter, sizeof out->filter, "%s", survey.filter);
        snprintf(out->detector, sizeof out->detector, "%s", survey.detector);
        out->dtype = survey.dtype;
        out->shape.det_rows = survey.det_rows;
        out->shape.det_cols = survey.det_cols;
        out->frames_stored = survey.frames;
        out->flagged_pixels = survey.flagged;
        out->calibration = survey.calibration;
        ronchi_calibration_override(&out->calibration, options);
        out->metadata_json = json_dumps(survey.metadata, JSON_SORT_KEYS | JSON_COMPACT);
        out->ready = 1;
        status = ronchi_inspection_take_scan(out, &survey.choice, err);
    }
    if (status == RONCHI_OK && survey.status != RONCHI_OK)
        ronchi_inspection_refuse(out, survey.reason, survey.action);
    if (status == RONCHI_OK && ronchi_shape_elements(&out->shape, &elements))
        out->dense_bytes = (uint64_t)elements * ronchi_dtype_size(out->dtype);
    ronchi_h5_survey_free(&survey);
    return status;
}

/* Moves what the survey found into a source. */
static ronchi_status hdf5_make(ronchi_h5_survey *survey, ronchi_source **out, ronchi_error *err)
{
    ronchi_source *source = ronchi_source_new(survey->context, &ronchi_format_hdf5, survey->path);
    ronchi_h5_state *state = calloc(1, sizeof *state);
    ronchi_h5_places *places = calloc(survey->n_parts + 1, sizeof *places);
    if (!source || !state || !places) {
        free(source);
        free(state);
        free(places);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, survey->path, RONCHI_NO_OFFSET, "no memory for the source");
    }
    for (size_t i = 0; i < RONCHI_H5_OPEN; i++)
        state->open[i].part = SIZE_MAX;
    state->places = places;
    state->input_file = SIZE_MAX;
    state->files = survey->files;
    state->n_files = survey->n_files;
    state->parts = survey->parts;
    state->n_parts = survey->n_parts;
    state->frame_bytes = survey->det_rows * survey->det_cols * ronchi_dtype_size(survey->dtype);
    source->state = state;
    ronchi_source_take_scan(source, &survey->choice);
    source->shape.det_rows = survey->det_rows;
    source->shape.det_cols = survey->det_cols;
    source->dtype = survey->dtype;
    source->frames_stored = survey->frames;
    source->pixel_mask = survey->pixel_mask;
    source->metadata = survey->metadata;
    source->calibration = survey->calibration;
    ronchi_calibration_override(&source->calibration, survey->options);
    survey->files = NULL;
    survey->parts = NULL;
    survey->n_files = survey->n_parts = 0;
    survey->pixel_mask = NULL;
    survey->metadata = NULL;
    *out = source;
    return RONCHI_OK;
}

static ronchi_status hdf5_open(ronchi_context *context, const char *path, const ronchi_source_options *options,
                               ronchi_source **out, ronchi_error *err)
{
    ronchi_h5_survey survey;
    ronchi_status status = ronchi_h5_survey_make(context, path, options, &survey, err);
    if (status == RONCHI_OK && survey.status != RONCHI_OK)
        status = ronchi_fail(err, survey.status, path, RONCHI_NO_OFFSET, "%s: %s", survey.reason, survey.action);
    if (status == RONCHI_OK)
        status = hdf5_make(&survey, out, err);
    ronchi_h5_survey_free(&survey);
    return status;
}

static void hdf5_close(ronchi_source *source)
{
    ronchi_h5_state *state = source->state;
    ronchi_h5_places_free(source->context, state);
    ronchi_h5_close_all(source->context, state);
    for (size_t i = 0; i < state->n_files; i++)
        free(state->files[i].path);
    for (size_t i = 0; i < state->n_parts; i++)
        free(state->parts[i].dataset);
    free(state->files);
    free(state->parts);
    free(state);
    ronchi_source_release(source);
}

const ronchi_format ronchi_format_hdf5 = {
    .name = "hdf5",
    .probe = hdf5_probe,
    .inspect = hdf5_inspect,
    .open = hdf5_open,
    .stage = ronchi_h5_stage,
    .decode = ronchi_h5_decode,
    .pieces = ronchi_h5_pieces,
    .decode_piece = ronchi_h5_decode_piece,
    .unstage = ronchi_h5_unstage,
    .locate = ronchi_h5_locate,
    .file = ronchi_h5_file_path,
    .close = hdf5_close,
};
