/* SPDX-License-Identifier: MIT */
/*
 * h5_survey.h - everything that is known of an HDF5 source before a count is read: files, frames, scan, mask, metadata.
 *
 * Inspecting and opening both start here, so they cannot disagree.  The steps stand in h5_find.c (which datasets, by
 * link target), h5_parts.c (what is in them), h5_metadata.c (flat metadata, mask, detector) and companion.c (files
 * beside the master).
 */
#ifndef RONCHI_FORMATS_H5_SURVEY_H
#define RONCHI_FORMATS_H5_SURVEY_H

#include <jansson.h>

#include "formats/h5.h"
#include "formats/source.h"

/* How a dataset's leading axes count frames. */
typedef enum ronchi_h5_order {
    RONCHI_H5_FRAMES,  /* [frame][row][col] */
    RONCHI_H5_SCAN,    /* [scan_row][scan_col][row][col] */
    RONCHI_H5_CHANNELS /* [frame][channel][row][col] */
} ronchi_h5_order;

/* A run of consecutive frames that lies in one dataset. */
typedef struct ronchi_h5_part {
    size_t file;   /* index into the survey's files */
    char *dataset; /* path inside that file; owned */
    ronchi_h5_info info;
    ronchi_h5_order order;
    hsize_t channel;
    uint64_t first, frames; /* in the source's numbering */
    uint64_t from;          /* frame of the dataset that is 'first' */
} ronchi_h5_part;

typedef struct ronchi_h5_file {
    char *path; /* to open; owned */
    ronchi_source_file about;
} ronchi_h5_file;

typedef struct ronchi_h5_survey {
    ronchi_context *context;
    const ronchi_source_options *options;
    const char *path;  /* as the caller gave it */
    char folder[4096]; /* of 'path', with its slash */
    hid_t master;

    ronchi_h5_file *files; /* [0] is 'path' itself */
    size_t n_files;
    ronchi_h5_part *parts;
    size_t n_parts;
    const char *format; /* "dectris-master" or "hdf5" */
    const char *layout; /* "external", "inline", "virtual", "dataset" */
    char channel[64];   /* name of the channel, "" for files without */

    size_t det_rows, det_cols;
    ronchi_dtype dtype;
    char filter[32];
    uint64_t frames, frames_present;
    uint32_t *pixel_mask; /* or NULL; owned */
    uint64_t flagged;
    char detector[96];
    json_t *metadata;
    ronchi_calibration calibration;
    ronchi_scan_facts facts;
    ronchi_scan_choice choice;

    ronchi_status status; /* RONCHI_OK: ready; else reason and action say why not */
    char reason[256], action[256];
} ronchi_h5_survey;

/*
 * ronchi_h5_survey_make() looks at 'path'.  Errors only when it cannot be looked at; what cannot be loaded is in
 * out->status.  'out' is freed with ronchi_h5_survey_free() in any case.  Takes the lock itself.
 */
ronchi_status ronchi_h5_survey_make(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                    ronchi_h5_survey *out, ronchi_error *err);
void ronchi_h5_survey_free(ronchi_h5_survey *survey);

/* ronchi_h5_refuse() keeps the first reason why the source is not ready. */
void ronchi_h5_refuse(ronchi_h5_survey *survey, ronchi_status status, const char *action, const char *format, ...)
    RONCHI_PRINTF(4, 5);

/* Index of the file a link names: relative to the master's folder, absolute, or ~; SIZE_MAX without memory. */
size_t ronchi_h5_add_file(ronchi_h5_survey *survey, const char *name);
/* A part whose info is not known yet; NULL without memory. */
ronchi_h5_part *ronchi_h5_add_part(ronchi_h5_survey *survey, size_t file, const char *dataset);

/* The steps; each may refuse, and returns an error only when there is no memory. */
ronchi_status ronchi_h5_find(ronchi_h5_survey *survey, ronchi_error *err);
ronchi_status ronchi_h5_examine(ronchi_h5_survey *survey, ronchi_error *err);
ronchi_status ronchi_h5_metadata(ronchi_h5_survey *survey, ronchi_error *err);
ronchi_status ronchi_h5_companions(ronchi_h5_survey *survey, ronchi_error *err);
/* Replaces a virtual part by the parts of its sources. */
ronchi_status ronchi_h5_unfold_virtual(ronchi_h5_survey *survey, hid_t dataset, const ronchi_h5_part *part,
                                       ronchi_error *err);

#endif
