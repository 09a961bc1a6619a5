/* SPDX-License-Identifier: MIT */
/*
 * h5_find.c - which datasets of an HDF5 file are the acquisition.
 *
 * In this order: the dataset the user names; the members data_NNNNNN of /entry/data, by what their links say; the one
 * member 'data' there; the only 4-D dataset of the file; the only 3-D one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_survey.h"

static ronchi_status no_memory(ronchi_h5_survey *survey, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, survey->path, RONCHI_NO_OFFSET, "no memory");
}

/* The link itself is looked at, never the file name guessed from the master's own name. */
static ronchi_status add_link(ronchi_h5_survey *survey, const char *path, bool *external, ronchi_error *err)
{
    H5L_info_t info;
    size_t file = 0;
    const char *dataset = path, *name;
    char *value = NULL;
    unsigned flags;
    *external = false;
    if (H5Lget_info(survey->master, path, &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_EXTERNAL) {
        value = malloc(info.u.val_size + 1);
        if (!value)
            return no_memory(survey, err);
        if (H5Lget_val(survey->master, path, value, info.u.val_size, H5P_DEFAULT) < 0 ||
            H5Lunpack_elink_val(value, info.u.val_size, &flags, &name, &dataset) < 0) {
            free(value);
            ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "copy the file again from the original",
                             "the link %.100s cannot be read", path);
            return RONCHI_OK;
        }
        *external = true;
        file = ronchi_h5_add_file(survey, name);
    }
    ronchi_h5_part *part = file == SIZE_MAX ? NULL : ronchi_h5_add_part(survey, file, dataset);
    free(value);
    return part ? RONCHI_OK : no_memory(survey, err);
}

/* ------------------------------------------------------------------------------------------------------- masters */

typedef struct members {
    char (*names)[16];
    size_t n, room;
    bool failed;
} members;

static bool is_data_member(const char *name)
{
    if (strlen(name) != 11 || memcmp(name, "data_", 5) != 0)
        return false;
    for (int i = 5; i < 11; i++)
        if (!isdigit((unsigned char)name[i]))
            return false;
    return true;
}

static herr_t take_member(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    members *m = user;
    (void)group;
    (void)info;
    if (!is_data_member(name))
        return 0;
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 64;
        void *names = realloc(m->names, room * sizeof *m->names);
        if (!names) {
            m->failed = true;
            return -1;
        }
        m->names = names;
        m->room = room;
    }
    snprintf(m->names[m->n++], sizeof m->names[0], "%.15s", name);
    return 0;
}

static ronchi_status find_members(ronchi_h5_survey *survey, bool *found, ronchi_error *err)
{
    members m = {NULL, 0, 0, false};
    ronchi_status status = RONCHI_OK;
    bool external, any_external = false;
    if (ronchi_h5_links_sound(survey->master, "/entry/data"))
        H5Literate_by_name(survey->master, "/entry/data", H5_INDEX_NAME, H5_ITER_INC, NULL, take_member, &m,
                           H5P_DEFAULT);
    if (m.failed)
        status = no_memory(survey, err);
    for (size_t i = 0; i < m.n && status == RONCHI_OK; i++) {
        char path[64];
        snprintf(path, sizeof path, "/entry/data/%s", m.names[i]);
        status = add_link(survey, path, &external, err);
        any_external = any_external || external;
    }
    *found = m.n != 0;
    if (*found) {
        survey->format = "dectris-master";
        survey->layout = any_external ? "external" : "inline";
    }
    free(m.names);
    return status;
}

/* Names of the channels of a multi-channel file, in the order of the data's second axis. */
static size_t channel_names(const ronchi_h5_survey *survey, char (*names)[64], size_t max)
{
    return ronchi_h5_strings(survey->master, "/entry/data/channel", names, max);
}

static void choose_channel(ronchi_h5_survey *survey, ronchi_h5_part *part, hsize_t n_channels)
{
    char names[16][64], list[160] = "";
    size_t n = channel_names(survey, names, 16), at = 0;
    const char *wanted = survey->options->channel;
    for (hsize_t i = 0; i < n_channels && i < 16; i++) {
        if (i >= n)
            snprintf(names[i], sizeof names[i], "%d", (int)i);
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", names[i]);
    }
    part->order = RONCHI_H5_CHANNELS;
    if (!wanted && n_channels == 1) {
        snprintf(survey->channel, sizeof survey->channel, "%s", names[0]);
        return;
    }
    for (hsize_t i = 0; wanted && i < n_channels && i < 16; i++)
        if (strcmp(wanted, names[i]) == 0) {
            part->channel = i;
            snprintf(survey->channel, sizeof survey->channel, "%s", names[i]);
            return;
        }
    char action[256];
    snprintf(action, sizeof action, "give --channel with one of: %s", list);
    if (wanted)
        ronchi_h5_refuse(survey, RONCHI_ERR_NEEDED, action, "there is no channel %.60s", wanted);
    else
        ronchi_h5_refuse(survey, RONCHI_ERR_NEEDED, action, "the file has %d channels", (int)n_channels);
}

/* Whether a 4-D dataset at 'path' counts [frame][channel], as multi-channel detectors write it. */
static bool has_channels(const ronchi_h5_survey *survey, const char *path)
{
    return strcmp(path, "/entry/data/data") == 0 && ronchi_h5_exists(survey->master, "/entry/data/channel");
}

/* Settles how the single part's axes count frames; needs its rank, so it is opened here already. */
static ronchi_status settle_single(ronchi_h5_survey *survey, const char *path, ronchi_error *err)
{
    hid_t dataset = H5Dopen2(survey->master, path, H5P_DEFAULT);
    if (dataset < 0)
        return RONCHI_OK; /* examined, and refused, with its file */
    hid_t space = H5Dget_space(dataset);
    int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    hsize_t dims[H5S_MAX_RANK] = {0};
    ronchi_h5_part *part = &survey->parts[survey->n_parts - 1];
    (void)err;
    if (rank == 4 && H5Sget_simple_extent_dims(space, dims, NULL) >= 0) {
        if (has_channels(survey, path)) {
            choose_channel(survey, part, dims[1]);
        } else {
            part->order = RONCHI_H5_SCAN;
            char from[96];
            snprintf(from, sizeof from, "axes of %.80s", path);
            ronchi_scan_add(&survey->facts, RONCHI_SCAN_DATASET, from, (size_t)dims[0], (size_t)dims[1], -1, 0);
        }
    }
    if (space >= 0)
        H5Sclose(space);
    H5Dclose(dataset);
    return RONCHI_OK;
}

static ronchi_status use_single(ronchi_h5_survey *survey, const char *path, ronchi_error *err)
{
    bool external;
    ronchi_status status = add_link(survey, path, &external, err);
    if (status == RONCHI_OK && survey->n_parts != 0)
        status = settle_single(survey, path, err);
    if (external)
        survey->layout = "external";
    return status;
}

/* ---------------------------------------------------------------------------------------------------- any other file
 */

enum { SHOWN = 6 };

typedef struct candidates {
    char paths[2][SHOWN][128]; /* [0]: four axes, [1]: three */
    size_t n[2];
    bool other; /* a large numeric dataset of a dtype that cannot be counts */
    char other_path[128], other_type[48];
} candidates;

static herr_t take_candidate(hid_t root, const char *name, const H5O_info_t *info, void *user)
{
    candidates *c = user;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    hid_t dataset = H5Dopen2(root, name, H5P_DEFAULT);
    if (dataset < 0)
        return 0;
    ronchi_h5_info about;
    (void)ronchi_h5_describe(dataset, false, &about, NULL); /* unreadable filters are refused later, by name */
    H5Dclose(dataset);
    if (about.rank != 3 && about.rank != 4)
        return 0;
    if (about.dtype == 0 || (about.dtype == RONCHI_F32 && about.rank == 3)) {
        if (about.rank == 4 && !c->other) {
            c->other = true;
            snprintf(c->other_path, sizeof c->other_path, "/%.120s", name);
            snprintf(c->other_type, sizeof c->other_type, "%s", about.type);
        }
        return 0;
    }
    int k = about.rank == 4 ? 0 : 1;
    if (c->n[k] < SHOWN)
        snprintf(c->paths[k][c->n[k]], sizeof c->paths[k][0], "/%.120s", name);
    c->n[k]++;
    return 0;
}

static ronchi_status search(ronchi_h5_survey *survey, ronchi_error *err)
{
    candidates c;
    memset(&c, 0, sizeof c);
    (void)ronchi_h5_visit(survey->master, take_candidate, &c); /* what it cannot read is refused with the metadata */
    int k = c.n[0] ? 0 : 1;
    if (c.n[k] == 1)
        return use_single(survey, c.paths[k][0], err);
    if (c.n[k] == 0 && c.other) {
        ronchi_h5_refuse(survey, RONCHI_ERR_UNSUPPORTED, "convert it to unsigned integers or float32",
                         "%.100s holds %s, not counts", c.other_path, c.other_type);
    } else if (c.n[k] == 0 && ronchi_h5_exists(survey->master, "/STEM Metadata")) {
        char action[256];
        const char *name = survey->files[0].about.name, *dot = strrchr(name, '.');
        snprintf(action, sizeof action, "give the master, %.*s_master.h5: this file is read along with it",
                 dot ? (int)(dot - name) : 200, name);
        ronchi_h5_refuse(survey, RONCHI_ERR_FORMAT, action,
                         "it is the companion of an acquisition and holds no frames");
    } else if (c.n[k] == 0) {
        ronchi_h5_refuse(survey, RONCHI_ERR_FORMAT, "give the *_master.h5 or a data file of an acquisition",
                         "no dataset in it can be an acquisition");
    } else {
        char list[200] = "";
        size_t at = 0;
        for (size_t i = 0; i < c.n[k] && i < SHOWN && at < sizeof list; i++)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", c.paths[k][i]);
        char action[256];
        snprintf(action, sizeof action, "give --dataset with one of: %s%s", list, c.n[k] > SHOWN ? ", ..." : "");
        ronchi_h5_refuse(survey, RONCHI_ERR_NEEDED, action, "%zu datasets could be the acquisition", c.n[k]);
    }
    return RONCHI_OK;
}

ronchi_status ronchi_h5_find(ronchi_h5_survey *survey, ronchi_error *err)
{
    const char *given = survey->options->dataset;
    bool found = false;
    if (ronchi_h5_exists(survey->master, "/entry/instrument/detector") &&
        ronchi_h5_exists(survey->master, "/entry/data"))
        survey->format = "dectris-master";
    if (given && given[0]) {
        if (H5Lexists(survey->master, given, H5P_DEFAULT) <= 0) {
            ronchi_h5_refuse(survey, RONCHI_ERR_NOT_FOUND, "give another --dataset", "there is no dataset %.120s",
                             given);
            return RONCHI_OK;
        }
        return use_single(survey, given, err);
    }
    if (ronchi_h5_exists(survey->master, "/entry/data")) {
        ronchi_status status = find_members(survey, &found, err);
        if (status != RONCHI_OK || found)
            return status;
        if (H5Lexists(survey->master, "/entry/data/data", H5P_DEFAULT) > 0) {
            survey->layout = "inline";
            return use_single(survey, "/entry/data/data", err);
        }
    }
    return search(survey, err);
}
