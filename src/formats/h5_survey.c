/* SPDX-License-Identifier: MIT */
/* h5_survey.c - looks at an HDF5 source step by step. */
#include "formats/h5_survey.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/port.h"

void ronchi_h5_refuse(ronchi_h5_survey *survey, ronchi_status status, const char *action, const char *format, ...)
{
    if (survey->status != RONCHI_OK)
        return;
    survey->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(survey->reason, sizeof survey->reason, format, args);
    va_end(args);
    snprintf(survey->action, sizeof survey->action, "%s", action);
}

/* The last component of a path of either kind of slash: links from Windows machines have the other. */
static const char *base_name(const char *path)
{
    const char *base = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == '\\')
            base = c + 1;
    return base;
}

/* The path to open for a link's file name; the caller frees it. */
static char *resolve(const ronchi_h5_survey *survey, const char *name)
{
    const char *home = getenv("HOME");
    size_t n = strlen(survey->folder) + strlen(name) + (home ? strlen(home) : 0) + 2;
    char *path = malloc(n);
    if (!path)
        return NULL;
    if (name[0] == '/')
        snprintf(path, n, "%s", name);
    else if (name[0] == '~' && name[1] == '/' && home)
        snprintf(path, n, "%s%s", home, name + 1);
    else
        snprintf(path, n, "%s%s", survey->folder, name);
    ronchi_stat st;
    /* A set that was copied elsewhere keeps the old absolute names: look beside the master, as libhdf5 does. */
    if (ronchi_stat_path(path, &st, NULL) == RONCHI_OK && !st.exists) {
        char *beside = malloc(n);
        if (beside) {
            snprintf(beside, n, "%s%s", survey->folder, base_name(name));
            if (ronchi_stat_path(beside, &st, NULL) == RONCHI_OK && st.exists) {
                free(path);
                return beside;
            }
            free(beside);
        }
    }
    return path;
}

static size_t append_file(ronchi_h5_survey *survey, char *path, const char *name)
{
    size_t n = survey->n_files;
    if (path && (n & (n - 1)) == 0) {
        ronchi_h5_file *files = realloc(survey->files, (n ? 2 * n : 1) * sizeof *files);
        if (!files) {
            free(path);
            return SIZE_MAX;
        }
        survey->files = files;
    }
    if (!path)
        return SIZE_MAX;
    ronchi_h5_file *file = &survey->files[n];
    memset(file, 0, sizeof *file);
    file->path = path;
    snprintf(file->about.name, sizeof file->about.name, "%.255s", name);
    ronchi_stat st;
    if (ronchi_stat_path(path, &st, NULL) != RONCHI_OK || !st.exists)
        snprintf(file->about.problem, sizeof file->about.problem, "missing");
    else if (!st.is_file)
        snprintf(file->about.problem, sizeof file->about.problem, "not a regular file");
    else if (st.size_bytes == 0)
        snprintf(file->about.problem, sizeof file->about.problem, "empty");
    file->about.size_bytes = st.size_bytes;
    survey->n_files++;
    return n;
}

size_t ronchi_h5_add_file(ronchi_h5_survey *survey, const char *name)
{
    char *path = resolve(survey, name);
    if (!path)
        return SIZE_MAX;
    /* Links come in order, so a file that is named again is the last one (or the master). */
    size_t last = survey->n_files - 1;
    if (strcmp(survey->files[last].path, path) == 0 || strcmp(survey->files[0].path, path) == 0) {
        size_t found = strcmp(survey->files[last].path, path) == 0 ? last : 0;
        free(path);
        return found;
    }
    return append_file(survey, path, name);
}

ronchi_h5_part *ronchi_h5_add_part(ronchi_h5_survey *survey, size_t file, const char *dataset)
{
    size_t n = survey->n_parts;
    if ((n & (n - 1)) == 0) {
        ronchi_h5_part *parts = realloc(survey->parts, (n ? 2 * n : 1) * sizeof *parts);
        if (!parts)
            return NULL;
        survey->parts = parts;
    }
    ronchi_h5_part *part = &survey->parts[n];
    memset(part, 0, sizeof *part);
    part->file = file;
    part->dataset = malloc(strlen(dataset) + 1);
    if (!part->dataset)
        return NULL;
    memcpy(part->dataset, dataset, strlen(dataset) + 1);
    survey->n_parts++;
    return part;
}

/* Opens the main file; a file that is no readable HDF5 is refused with what libhdf5 says. */
static ronchi_status open_master(ronchi_h5_survey *survey, ronchi_error *err)
{
    const char *slash = strrchr(survey->path, '/');
    size_t n = slash ? (size_t)(slash - survey->path + 1) : 0;
    if (strlen(survey->path) >= sizeof survey->folder)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, survey->path, RONCHI_NO_OFFSET, "the path is too long");
    memcpy(survey->folder, survey->path, n);
    survey->folder[n] = 0;
    char *path = malloc(strlen(survey->path) + 1);
    if (path)
        memcpy(path, survey->path, strlen(survey->path) + 1);
    if (append_file(survey, path, base_name(survey->path)) == SIZE_MAX)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, survey->path, RONCHI_NO_OFFSET, "no memory");
    survey->master = H5Fopen(survey->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (survey->master < 0) {
        char text[160];
        ronchi_h5_why(text, sizeof text);
        snprintf(survey->files[0].about.problem, sizeof survey->files[0].about.problem, "no readable HDF5: %.130s",
                 text);
        ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "wait until it is written, or copy it again from the original",
                         "it is no readable HDF5 file: %.200s", text);
    }
    return RONCHI_OK;
}

static void check_frames(ronchi_h5_survey *survey)
{
    if (survey->status != RONCHI_OK)
        return;
    if (survey->frames_present < survey->frames) {
        const char *name = survey->path;
        for (size_t i = 0; i < survey->n_files; i++)
            if (survey->files[i].about.frames_present < survey->files[i].about.frames) {
                name = survey->files[i].about.name;
                break;
            }
        ronchi_h5_refuse(
            survey, RONCHI_ERR_INCOMPLETE, "wait until the acquisition is written, or copy the files again",
            "%llu of %llu frames are not written yet (first in %.100s)",
            (unsigned long long)(survey->frames - survey->frames_present), (unsigned long long)survey->frames, name);
    }
    if (survey->choice.status != RONCHI_OK)
        ronchi_h5_refuse(survey, survey->choice.status, survey->choice.action, "%s", survey->choice.reason);
}

ronchi_status ronchi_h5_survey_make(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                    ronchi_h5_survey *out, ronchi_error *err)
{
    ronchi_hdf5_guard guard;
    memset(out, 0, sizeof *out);
    out->context = context;
    out->options = options;
    out->path = path;
    out->master = -1;
    out->format = "hdf5";
    out->layout = "dataset";
    out->metadata = json_object();
    if (!out->metadata)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory");
    ronchi_hdf5_enter(&guard);
    ronchi_status status = open_master(out, err);
    if (status == RONCHI_OK && out->master >= 0) {
        status = ronchi_h5_find(out, err);
        if (status == RONCHI_OK)
            status = ronchi_h5_examine(out, err);
        if (status == RONCHI_OK)
            status = ronchi_h5_metadata(out, err);
        if (status == RONCHI_OK)
            status = ronchi_h5_companions(out, err);
    }
    if (out->master >= 0)
        H5Fclose(out->master);
    out->master = -1;
    ronchi_hdf5_leave(&guard);
    if (status != RONCHI_OK)
        return status;
    out->facts.frames = out->frames;
    if (out->n_parts != 0)
        ronchi_scan_choose(&out->facts, options, &out->choice);
    check_frames(out);
    return RONCHI_OK;
}

void ronchi_h5_survey_free(ronchi_h5_survey *survey)
{
    for (size_t i = 0; i < survey->n_files; i++)
        free(survey->files[i].path);
    for (size_t i = 0; i < survey->n_parts; i++)
        free(survey->parts[i].dataset);
    free(survey->files);
    free(survey->parts);
    free(survey->pixel_mask);
    json_decref(survey->metadata);
    memset(survey, 0, sizeof *survey);
}
