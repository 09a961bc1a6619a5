/* SPDX-License-Identifier: MIT */
/*
 * h5_virtual.c - the sources of a virtual dataset, as parts of their own.
 *
 * libhdf5 gives zeros where a source is missing, and cannot decode the detectors' filters, so the mappings are read
 * here.  Each must map a box of whole frames onto a box of whole frames, as detectors write them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_survey.h"

typedef struct box {
    int rank;
    hsize_t start[RONCHI_H5_AXES], count[RONCHI_H5_AXES], extent[RONCHI_H5_AXES];
} box;

/* A selection that is one box; false for anything else. */
static bool get_box(hid_t space, box *out)
{
    hsize_t end[H5S_MAX_RANK], start[H5S_MAX_RANK], dims[H5S_MAX_RANK];
    memset(out, 0, sizeof *out);
    out->rank = H5Sget_simple_extent_ndims(space);
    if (out->rank < 3 || out->rank > RONCHI_H5_AXES || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return false;
    bool all = H5Sget_select_type(space) == H5S_SEL_ALL;
    hssize_t n = all ? 0 : H5Sget_select_npoints(space);
    if (!all && (n <= 0 || H5Sget_select_bounds(space, start, end) < 0))
        return false;
    uint64_t points = 1;
    for (int i = 0; i < out->rank; i++) {
        out->extent[i] = dims[i];
        out->start[i] = all ? 0 : start[i];
        out->count[i] = all ? dims[i] : end[i] - start[i] + 1;
        if (out->count[i] == 0 || points > UINT64_MAX / out->count[i])
            return false;
        points *= out->count[i];
    }
    return all || points == (uint64_t)n;
}

/* Consecutive frames that a box covers, with the given channel; false when it cuts frames or jumps. */
static bool frames_of(const box *b, ronchi_h5_order order, uint64_t *first, uint64_t *n)
{
    int k = b->rank - 2;
    if (b->start[k] || b->start[k + 1] || b->count[k] != b->extent[k] || b->count[k + 1] != b->extent[k + 1])
        return false;
    if (b->rank == 3 || order == RONCHI_H5_CHANNELS) {
        *first = b->start[0];
        *n = b->count[0];
        return true;
    }
    if (b->count[0] != 1 && b->count[1] != b->extent[1])
        return false;
    *first = b->start[0] * b->extent[1] + b->start[1];
    *n = b->count[0] * b->count[1];
    return true;
}

typedef struct mapping {
    uint64_t first, frames, from;
    hsize_t channel;
    ronchi_h5_order order;
    char *file, *dataset;
} mapping;

static int by_first(const void *a, const void *b)
{
    const mapping *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static char *name_of(hid_t plist, size_t i, ssize_t (*get)(hid_t, size_t, char *, size_t))
{
    ssize_t n = get(plist, i, NULL, 0);
    char *name = n > 0 ? malloc((size_t)n + 1) : NULL;
    if (name && get(plist, i, name, (size_t)n + 1) != n) {
        free(name);
        return NULL;
    }
    return name;
}

/* The source's side of a mapping: which frames (and channel) of it the virtual box 'v' shows. */
static bool read_source_box(const box *v, const box *s, const ronchi_h5_part *part, mapping *out)
{
    uint64_t n;
    if (part->order == RONCHI_H5_CHANNELS && v->rank == 4) {
        out->order = s->rank == 4 ? RONCHI_H5_CHANNELS : RONCHI_H5_FRAMES;
        out->channel = s->rank == 4 ? s->start[1] + (part->channel - v->start[1]) : 0;
        if (s->rank == 4 ? s->count[1] != v->count[1] : v->count[1] != 1)
            return false;
    } else {
        out->order = s->rank == 4 ? RONCHI_H5_SCAN : RONCHI_H5_FRAMES;
    }
    return frames_of(s, out->order, &out->from, &n) && n == out->frames;
}

/* Reads mapping i.  *wanted is false when it holds another channel. */
static bool read_mapping(hid_t plist, size_t i, const ronchi_h5_part *part, mapping *out, bool *wanted)
{
    hid_t to = H5Pget_virtual_vspace(plist, i), from = H5Pget_virtual_srcspace(plist, i);
    box v, s;
    bool good = to >= 0 && from >= 0 && get_box(to, &v) && frames_of(&v, part->order, &out->first, &out->frames);
    *wanted = true;
    if (good && part->order == RONCHI_H5_CHANNELS && v.rank == 4)
        *wanted = part->channel >= v.start[1] && part->channel < v.start[1] + v.count[1];
    if (good && *wanted && H5Sget_select_type(from) == H5S_SEL_ALL) {
        /* The whole of a source whose shape is not recorded here: it is checked when the source is opened. */
        out->order = part->order;
        out->channel = part->order == RONCHI_H5_CHANNELS ? part->channel - v.start[1] : 0;
    } else if (good && *wanted) {
        good = get_box(from, &s) && read_source_box(&v, &s, part, out);
    }
    if (to >= 0)
        H5Sclose(to);
    if (from >= 0)
        H5Sclose(from);
    if (!good || !*wanted)
        return good;
    out->file = name_of(plist, i, H5Pget_virtual_filename);
    out->dataset = name_of(plist, i, H5Pget_virtual_dsetname);
    return out->file && out->dataset;
}

static size_t read_mappings(ronchi_h5_survey *survey, hid_t plist, const ronchi_h5_part *part, mapping *maps, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool wanted;
        if (!read_mapping(plist, i, part, &maps[kept], &wanted)) {
            free(maps[kept].file);
            free(maps[kept].dataset);
            maps[kept].file = maps[kept].dataset = NULL;
            ronchi_h5_refuse(survey, RONCHI_ERR_UNSUPPORTED, "give the data files themselves, or repack with h5repack",
                             "the virtual dataset %.100s does not map whole frames", part->dataset);
            return kept;
        }
        kept += wanted;
    }
    return kept;
}

/* The sources must give each frame exactly once. */
static void check_cover(ronchi_h5_survey *survey, const mapping *maps, size_t n, uint64_t frames)
{
    uint64_t next = 0;
    for (size_t i = 0; i <= n; i++) {
        uint64_t first = i < n ? maps[i].first : frames;
        if (first > next)
            ronchi_h5_refuse(survey, RONCHI_ERR_INCOMPLETE, "give --scan-shape only once all data is there",
                             "frames %llu to %llu of the virtual dataset come from no file", (unsigned long long)next,
                             (unsigned long long)first - 1);
        if (first < next)
            ronchi_h5_refuse(survey, RONCHI_ERR_UNSUPPORTED, "give the data files themselves",
                             "the virtual dataset has two sources for frame %llu", (unsigned long long)first);
        next = i < n ? first + maps[i].frames : next;
    }
}

static ronchi_status add_parts(ronchi_h5_survey *survey, const ronchi_h5_part *virtual, const mapping *maps, size_t n,
                               ronchi_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t file = strcmp(maps[i].file, ".") == 0 ? virtual->file : ronchi_h5_add_file(survey, maps[i].file);
        ronchi_h5_part *part = file == SIZE_MAX ? NULL : ronchi_h5_add_part(survey, file, maps[i].dataset);
        if (!part)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, survey->path, RONCHI_NO_OFFSET, "no memory");
        part->order = maps[i].order;
        part->channel = maps[i].channel;
        part->from = maps[i].from;
        part->frames = maps[i].frames;
    }
    return RONCHI_OK;
}

ronchi_status ronchi_h5_unfold_virtual(ronchi_h5_survey *survey, hid_t dataset, const ronchi_h5_part *part,
                                       ronchi_error *err)
{
    size_t n = 0;
    hid_t plist = H5Dget_create_plist(dataset), space = H5Dget_space(dataset);
    hsize_t dims[H5S_MAX_RANK] = {0};
    int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    bool known = plist >= 0 && H5Pget_virtual_count(plist, &n) >= 0 && (rank == 3 || rank == 4) &&
                 H5Sget_simple_extent_dims(space, dims, NULL) >= 0;
    mapping *maps = known ? calloc(n + 1, sizeof *maps) : NULL;
    ronchi_status status = RONCHI_OK;
    if (!known) {
        ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "copy the file again from the original",
                         "the virtual dataset %.100s cannot be read", part->dataset);
    } else if (!maps) {
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, survey->path, RONCHI_NO_OFFSET, "no memory");
    } else {
        size_t kept = read_mappings(survey, plist, part, maps, n);
        qsort(maps, kept, sizeof *maps, by_first);
        check_cover(survey, maps, kept, part->order == RONCHI_H5_SCAN ? dims[0] * dims[1] : dims[0]);
        status = add_parts(survey, part, maps, kept, err);
        for (size_t i = 0; i < kept; i++) {
            free(maps[i].file);
            free(maps[i].dataset);
        }
    }
    free(maps);
    if (plist >= 0)
        H5Pclose(plist);
    if (space >= 0)
        H5Sclose(space);
    return status;
}
