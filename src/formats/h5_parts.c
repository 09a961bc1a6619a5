/* SPDX-License-Identifier: MIT */
/* h5_parts.c - opens every dataset of a source once, from its header alone: shape, dtype, filter, chunks that are
 * there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_survey.h"

enum { FRAME_LIMIT = 1 << 30 }; /* bytes of one frame */

static void problem(ronchi_h5_file *file, const char *text)
{
    if (!file->about.problem[0])
        snprintf(file->about.problem, sizeof file->about.problem, "%.159s", text);
}

/* Names the first file with a problem and how many there are. */
static void refuse_files(ronchi_h5_survey *survey)
{
    size_t bad = 0, missing = 0, first = 0;
    for (size_t i = survey->n_files; i-- > 0;)
        if (survey->files[i].about.problem[0]) {
            first = i;
            bad++;
            missing += strcmp(survey->files[i].about.problem, "missing") == 0;
        }
    if (bad == 0)
        return;
    const ronchi_source_file *file = &survey->files[first].about;
    char more[64] = "";
    if (bad > 1)
        snprintf(more, sizeof more, " (and %zu more of %zu files)", bad - 1, survey->n_files - 1);
    if (strcmp(file->problem, "missing") == 0)
        ronchi_h5_refuse(survey, RONCHI_ERR_INCOMPLETE,
                         missing == survey->n_files - 1
                             ? "copy the data files beside the master: it holds no counts itself"
                             : "copy it beside the master; if the run was aborted it was never written",
                         "data file %.140s is missing%s", file->name, more);
    else
        ronchi_h5_refuse(survey, RONCHI_ERR_INCOMPLETE, "wait until it is written, or copy it again from the original",
                         "data file %.90s: %.110s%s", file->name, file->problem, more);
}

static uint64_t frames_of(const ronchi_h5_part *part)
{
    return part->order == RONCHI_H5_SCAN ? part->info.dims[0] * part->info.dims[1] : part->info.dims[0];
}

/* The first dataset decides detector and dtype; the others must agree. */
static bool check_agrees(ronchi_h5_survey *survey, const ronchi_h5_part *part)
{
    const ronchi_h5_info *info = &part->info;
    const char *name = survey->files[part->file].about.name;
    size_t rows = (size_t)info->dims[info->rank - 2], cols = (size_t)info->dims[info->rank - 1], bytes;
    if (info->dtype == 0) {
        ronchi_h5_refuse(survey, RONCHI_ERR_UNSUPPORTED, "convert it to unsigned integers or float32",
                         "%.100s in %.60s holds %s, not counts", part->dataset, name, info->type);
        return false;
    }
    if (rows == 0 || cols == 0 || info->dims[0] > (hsize_t)1 << 40 || info->dims[1] > (hsize_t)1 << 40 ||
        !ronchi_mul(rows, cols, &bytes) || !ronchi_mul(bytes, ronchi_dtype_size(info->dtype), &bytes) ||
        bytes > FRAME_LIMIT) {
        ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "copy it again from the original",
                         "%.60s declares frames of %zu x %zu", name, rows, cols);
        return false;
    }
    if (survey->dtype == 0) {
        survey->det_rows = rows;
        survey->det_cols = cols;
        survey->dtype = info->dtype;
        snprintf(survey->filter, sizeof survey->filter, "%s", info->filter_name);
    } else if (survey->det_rows != rows || survey->det_cols != cols || survey->dtype != info->dtype) {
        ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "check that all data files belong to this master",
                         "%.80s holds %zu x %zu %s, the files before it %zu x %zu %s", name, rows, cols,
                         ronchi_dtype_name(info->dtype), survey->det_rows, survey->det_cols,
                         ronchi_dtype_name(survey->dtype));
        return false;
    }
    return true;
}

static void count_frames(ronchi_h5_survey *survey, ronchi_h5_part *part, bool whole)
{
    uint64_t there = frames_of(part), present = there;
    ronchi_source_file *about = &survey->files[part->file].about;
    if (part->info.pieces_present < part->info.pieces) {
        /* Pieces of one frame each are the rule; otherwise the share of the pieces is what can be said. */
        uint64_t per_frame = part->info.pieces / (there ? there : 1);
        present = per_frame ? part->info.pieces_present / per_frame : 0;
    }
    if (whole)
        part->frames = there;
    part->first = survey->frames;
    survey->frames += part->frames;
    if (part->from + part->frames > there) {
        uint64_t cut = part->from < there ? there - part->from : 0;
        survey->frames_present += cut;
        about->frames_present += cut;
    } else {
        uint64_t n = present < there ? ronchi_min_size(part->frames, present) : part->frames;
        survey->frames_present += n;
        about->frames_present += n;
    }
    about->frames += part->frames;
}

/* Describes one open dataset; false when it cannot be used. */
static bool take_dataset(ronchi_h5_survey *survey, ronchi_h5_part *part, hid_t dataset, bool whole)
{
    ronchi_error why;
    memset(&why, 0, sizeof why);
    ronchi_h5_file *file = &survey->files[part->file];
    ronchi_status status = ronchi_h5_describe(dataset, true, &part->info, &why);
    if (status != RONCHI_OK) {
        ronchi_h5_refuse(survey, status, "give a file that can be read", "%.90s in %.60s: %.90s", part->dataset,
                         file->about.name, why.message);
        return false;
    }
    int rank = part->info.rank;
    if (rank == 4 && part->order == RONCHI_H5_FRAMES)
        part->order = RONCHI_H5_SCAN;
    if (rank != 3 && !(rank == 4)) {
        ronchi_h5_refuse(survey, RONCHI_ERR_FORMAT, "give --dataset with a stack of frames",
                         "%.100s in %.60s has %d axes, frames have three or four", part->dataset, file->about.name,
                         rank);
        return false;
    }
    if (rank == 3 && part->order != RONCHI_H5_FRAMES && part->channel == 0)
        part->order = RONCHI_H5_FRAMES;
    if (part->order == RONCHI_H5_CHANNELS && (rank != 4 || part->channel >= part->info.dims[1])) {
        ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "check that all data files belong to this master",
                         "%.100s in %.60s has no channel %llu", part->dataset, file->about.name,
                         (unsigned long long)part->channel);
        return false;
    }
    if (part->info.is_virtual) {
        ronchi_h5_refuse(survey, RONCHI_ERR_UNSUPPORTED, "give that file itself",
                         "%.100s in %.60s is a virtual dataset again", part->dataset, file->about.name);
        return false;
    }
    if (!check_agrees(survey, part))
        return false;
    count_frames(survey, part, whole);
    return true;
}

/* An attribute scan_shape of the first dataset counts like one of the master. */
static void take_shape_attribute(ronchi_h5_survey *survey, hid_t place, const char *path, const char *from)
{
    uint64_t shape[2];
    if (ronchi_h5_attribute_counts(place, path, "scan_shape", 2, shape))
        ronchi_scan_add(&survey->facts, RONCHI_SCAN_ATTRIBUTE, from, (size_t)shape[0], (size_t)shape[1], -1, 0);
}

/* Opens the file of a part, unless it is the one that is open already. */
static hid_t open_file(ronchi_h5_survey *survey, size_t file, hid_t open, size_t *which)
{
    if (open >= 0 && *which == file)
        return open;
    if (open >= 0)
        H5Fclose(open);
    *which = file;
    hid_t id = H5Fopen(survey->files[file].path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (id < 0) {
        char text[128], line[160];
        ronchi_h5_why(text, sizeof text);
        snprintf(line, sizeof line, "no readable HDF5 (%.120s)", text);
        problem(&survey->files[file], line);
    }
    return id;
}

static hid_t open_part(ronchi_h5_survey *survey, const ronchi_h5_part *part, hid_t id)
{
    hid_t dataset = H5Dopen2(id, part->dataset, H5P_DEFAULT);
    if (dataset < 0) {
        char line[160];
        if (part->file == 0)
            ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "check the file, or give another --dataset",
                             "the dataset %.140s cannot be opened", part->dataset);
        snprintf(line, sizeof line, "holds no dataset %.120s", part->dataset);
        if (part->file != 0)
            problem(&survey->files[part->file], line);
    }
    return dataset;
}

static void examine_parts(ronchi_h5_survey *survey, bool whole)
{
    hid_t id = -1;
    size_t which = SIZE_MAX;
    for (size_t i = 0; i < survey->n_parts; i++) {
        ronchi_h5_part *part = &survey->parts[i];
        if (survey->files[part->file].about.problem[0])
            continue;
        id = open_file(survey, part->file, id, &which);
        hid_t dataset = id < 0 ? -1 : open_part(survey, part, id);
        if (dataset < 0)
            continue;
        if (i == 0)
            take_shape_attribute(survey, dataset, ".", "attribute scan_shape of the first dataset");
        bool usable = take_dataset(survey, part, dataset, whole);
        H5Dclose(dataset);
        if (!usable)
            break;
    }
    if (id >= 0)
        H5Fclose(id);
}

/* A virtual dataset stands alone; its sources take its place. */
static ronchi_status unfold(ronchi_h5_survey *survey, bool *virtual, ronchi_error *err)
{
    *virtual = false;
    if (survey->n_parts != 1 || survey->files[survey->parts[0].file].about.problem[0])
        return RONCHI_OK;
    size_t which = SIZE_MAX;
    hid_t id = open_file(survey, survey->parts[0].file, -1, &which);
    hid_t dataset = id < 0 ? -1 : H5Dopen2(id, survey->parts[0].dataset, H5P_DEFAULT);
    hid_t plist = dataset < 0 ? -1 : H5Dget_create_plist(dataset);
    ronchi_status status = RONCHI_OK;
    if (plist >= 0 && H5Pget_layout(plist) == H5D_VIRTUAL) {
        ronchi_h5_part part = survey->parts[0];
        *virtual = true;
        survey->layout = "virtual";
        take_shape_attribute(survey, dataset, ".", "attribute scan_shape of the virtual dataset");
        survey->n_parts = 0;
        status = ronchi_h5_unfold_virtual(survey, dataset, &part, err);
        free(part.dataset);
    }
    if (plist >= 0)
        H5Pclose(plist);
    if (dataset >= 0)
        H5Dclose(dataset);
    if (id >= 0)
        H5Fclose(id);
    return status;
}

ronchi_status ronchi_h5_examine(ronchi_h5_survey *survey, ronchi_error *err)
{
    bool virtual;
    take_shape_attribute(survey, survey->master, "/", "attribute /@scan_shape");
    if (ronchi_h5_exists(survey->master, "/entry/data"))
        take_shape_attribute(survey, survey->master, "/entry/data", "attribute /entry/data@scan_shape");
    ronchi_status status = unfold(survey, &virtual, err);
    if (status != RONCHI_OK)
        return status;
    examine_parts(survey, !virtual);
    refuse_files(survey);
    return RONCHI_OK;
}
