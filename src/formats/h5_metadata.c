/* SPDX-License-Identifier: MIT */
/* h5_metadata.c - flat metadata, pixel mask and what the detector itself says of the calibration. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_survey.h"

#define DETECTOR "/entry/instrument/detector"
#define SPECIFIC DETECTOR "/detectorSpecific"

enum { SMALL = 100, MOST_KEYS = 4096, TEXT_BYTES = 4096 };

/* -------------------------------------------------------------------------------------------------- values as JSON */

/* Text from files may be in any encoding; JSON wants UTF-8. */
static json_t *text_value(const char *text, size_t n)
{
    json_t *value = json_stringn(text, n);
    if (value)
        return value;
    char *ascii = malloc(n + 1);
    if (!ascii)
        return NULL;
    for (size_t i = 0; i < n; i++)
        ascii[i] = (signed char)text[i] < 0x20 ? '?' : text[i];
    value = json_stringn(ascii, n);
    free(ascii);
    return value;
}

static json_t *number_value(hid_t type, const void *bytes)
{
    if (H5Tget_class(type) == H5T_FLOAT) {
        double x;
        memcpy(&x, bytes, sizeof x);
        return isfinite(x) ? json_real(x) : json_string(isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    }
    long long i;
    memcpy(&i, bytes, sizeof i);
    if (H5Tget_sign(type) == H5T_SGN_NONE && i < 0)
        return json_real((double)(unsigned long long)i);
    return json_integer(i);
}

typedef herr_t (*read_fn)(hid_t id, hid_t type, void *out);

static herr_t read_dataset(hid_t id, hid_t type, void *out)
{
    return H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
}

static json_t *elements(hid_t id, hid_t type, hid_t space, size_t n, read_fn read)
{
    H5T_class_t class = H5Tget_class(type);
    bool text = class == H5T_STRING, variable = text && H5Tis_variable_str(type) > 0;
    hid_t memory = text                                ? type
                   : class == H5T_FLOAT                ? H5T_NATIVE_DOUBLE
                   : H5Tget_sign(type) == H5T_SGN_NONE ? H5T_NATIVE_ULLONG
                                                       : H5T_NATIVE_LLONG;
    size_t width = text ? H5Tget_size(type) : 8;
    json_t *list = json_array();
    char *bytes = width <= TEXT_BYTES ? calloc(n + 1, width + 1) : NULL;
    if (list && bytes && read(id, memory, bytes) >= 0) {
        for (size_t i = 0; i < n; i++) {
            const char *at = bytes + i * width;
            if (variable) {
                char *string;
                memcpy(&string, at, sizeof string);
                json_array_append_new(list, string ? text_value(string, strnlen(string, TEXT_BYTES)) : json_null());
            } else {
                json_array_append_new(list, text ? text_value(at, strnlen(at, width)) : number_value(type, at));
            }
        }
        if (variable)
            H5Dvlen_reclaim(type, space, H5P_DEFAULT, bytes);
    }
    free(bytes);
    return list;
}

/* A small dataset or attribute: a scalar for one element, else a flat list in C order.  NULL when it is of no use. */
static json_t *small_value(hid_t id, hid_t type, hid_t space, read_fn read)
{
    H5T_class_t class = H5Tget_class(type);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    if (n < 1 || n > SMALL || (class != H5T_INTEGER && class != H5T_FLOAT && class != H5T_STRING && class != H5T_ENUM))
        return NULL;
    hid_t base = class == H5T_ENUM ? H5Tget_super(type) : -1; /* booleans, as other programs write them */
    json_t *list = NULL;
    if (class != H5T_ENUM)
        list = elements(id, type, space, (size_t)n, read);
    else if (base >= 0 && H5Tget_size(base) == 1) {
        int8_t values[SMALL];
        list = json_array();
        if (list && read(id, type, values) >= 0)
            for (hssize_t i = 0; i < n; i++)
                json_array_append_new(list, json_integer(values[i]));
    }
    if (base >= 0)
        H5Tclose(base);
    if (!list || json_array_size(list) != (size_t)n) {
        json_decref(list);
        return NULL;
    }
    if (n != 1)
        return list;
    json_t *one = json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}

static void keep(json_t *metadata, const char *key, json_t *value)
{
    if (!value)
        return;
    if (json_object_size(metadata) >= MOST_KEYS || json_object_get(metadata, key)) {
        json_decref(value);
        return;
    }
    json_object_set_new(metadata, key, value); /* keys that are no UTF-8 are left out */
}

/* ---------------------------------------------------------------------------------------------------- the walk */

typedef struct attribute_walk {
    json_t *metadata;
    const char *path; /* "" puts the bare names */
} attribute_walk;

static herr_t take_attribute(hid_t place, const char *name, const H5A_info_t *info, void *user)
{
    attribute_walk *walk = user;
    (void)info;
    hid_t id = H5Aopen(place, name, H5P_DEFAULT);
    if (id < 0)
        return 0;
    hid_t type = H5Aget_type(id), space = H5Aget_space(id);
    char key[1200];
    if (walk->path[0])
        snprintf(key, sizeof key, "%s@%.200s", walk->path, name);
    else
        snprintf(key, sizeof key, "%.200s", name);
    if (type >= 0 && space >= 0)
        keep(walk->metadata, key, small_value(id, type, space, H5Aread));
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    H5Aclose(id);
    return 0;
}

static void take_attributes(json_t *metadata, hid_t place, const char *object, const char *path)
{
    attribute_walk walk = {metadata, path};
    if (ronchi_h5_attributes_sound(place, object))
        H5Aiterate_by_name(place, object, H5_INDEX_NAME, H5_ITER_INC, NULL, take_attribute, &walk, H5P_DEFAULT);
}

static herr_t take_object(hid_t root, const char *name, const H5O_info_t *info, void *user)
{
    json_t *metadata = user;
    if (strcmp(name, ".") == 0 || strlen(name) > 1000 || info->type == H5O_TYPE_NAMED_DATATYPE)
        return 0;
    if (info->type == H5O_TYPE_DATASET) {
        hid_t id = H5Dopen2(root, name, H5P_DEFAULT);
        hid_t type = id < 0 ? -1 : H5Dget_type(id), space = id < 0 ? -1 : H5Dget_space(id);
        if (type >= 0 && space >= 0)
            keep(metadata, name, small_value(id, type, space, read_dataset));
        if (type >= 0)
            H5Tclose(type);
        if (space >= 0)
            H5Sclose(space);
        if (id >= 0)
            H5Dclose(id);
    }
    take_attributes(metadata, root, name, name);
    return json_object_size(metadata) >= MOST_KEYS ? 1 : 0;
}

/* ---------------------------------------------------------------------------------------------------- pixel mask */

static ronchi_status take_mask(ronchi_h5_survey *survey, const char *path, ronchi_error *err)
{
    ronchi_h5_info info;
    hid_t dataset = H5Dopen2(survey->master, path, H5P_DEFAULT);
    size_t n = survey->det_rows * survey->det_cols;
    if (dataset < 0)
        return RONCHI_OK;
    ronchi_error why;
    memset(&why, 0, sizeof why);
    ronchi_status status = ronchi_h5_describe(dataset, true, &info, &why);
    if (status == RONCHI_OK &&
        (info.rank != 2 || info.dims[0] != survey->det_rows || info.dims[1] != survey->det_cols)) {
        ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "check that the data files belong to this master",
                         "the pixel mask is %llu x %llu, the frames are %zu x %zu", (unsigned long long)info.dims[0],
                         (unsigned long long)(info.rank > 1 ? info.dims[1] : 1), survey->det_rows, survey->det_cols);
    } else if (status == RONCHI_OK) {
        hsize_t start[2] = {0, 0}, count[2] = {survey->det_rows, survey->det_cols};
        survey->pixel_mask = malloc(n * sizeof *survey->pixel_mask);
        if (!survey->pixel_mask) {
            H5Dclose(dataset);
            return ronchi_fail(err, RONCHI_ERR_MEMORY, survey->path, RONCHI_NO_OFFSET, "no memory for the pixel mask");
        }
        if (info.filter == RONCHI_H5_NONE || info.filter == RONCHI_H5_LIBRARY) {
            if (H5Dread(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, survey->pixel_mask) < 0)
                status = ronchi_fail(&why, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "it cannot be read");
        } else if (info.dtype != RONCHI_U32) {
            status = ronchi_fail(&why, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "it holds %s", info.type);
        } else {
            status = ronchi_h5_read_box(survey->context, dataset, &info, start, count, survey->pixel_mask, &why);
        }
    }
    H5Dclose(dataset);
    if (status != RONCHI_OK)
        ronchi_h5_refuse(survey, status, "copy the master again from the original", "the pixel mask %.80s: %.120s",
                         path, why.message);
    for (size_t i = 0; survey->pixel_mask && i < n; i++)
        survey->flagged += survey->pixel_mask[i] != 0;
    return RONCHI_OK;
}

static ronchi_status find_mask(ronchi_h5_survey *survey, ronchi_error *err)
{
    char channel[160] = "";
    if (survey->channel[0])
        snprintf(channel, sizeof channel, DETECTOR "/%.63s_channel/pixel_mask", survey->channel);
    const char *const places[] = {channel, SPECIFIC "/pixel_mask", DETECTOR "/pixel_mask"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (places[i][0] && ronchi_h5_exists(survey->master, places[i]))
            return take_mask(survey, places[i], err);
    return RONCHI_OK;
}

/* --------------------------------------------------------------------------------------------------- calibration */

/* A time in microseconds from a dataset in seconds (or as its units say). */
static void take_dwell(ronchi_h5_survey *survey, const char *path)
{
    double value;
    char unit[16] = "s";
    if (!ronchi_h5_number(survey->master, path, &value) || !(value > 0))
        return;
    (void)ronchi_h5_attribute_string(survey->master, path, "units", unit, sizeof unit);
    double factor = strcmp(unit, "s") == 0 ? 1e6 : strcmp(unit, "ms") == 0 ? 1e3 : strcmp(unit, "us") == 0 ? 1 : 0;
    if (factor > 0)
        ronchi_quantity_set(&survey->calibration.dwell, value * factor, "us", path + 1);
}

static void take_energy(ronchi_h5_survey *survey, const char *path)
{
    double value;
    char unit[16] = "eV";
    if (!ronchi_h5_number(survey->master, path, &value) || !(value > 0))
        return;
    (void)ronchi_h5_attribute_string(survey->master, path, "units", unit, sizeof unit);
    double factor = strcmp(unit, "eV") == 0 ? 1e-3 : strcmp(unit, "keV") == 0 ? 1 : 0;
    if (factor > 0)
        ronchi_quantity_set(&survey->calibration.voltage, value * factor, "kV", path + 1);
}

/* Keys that are there under the same name for every source. */
static void derive(ronchi_h5_survey *survey)
{
    json_t *m = survey->metadata;
    double saturation;
    keep(m, "detector_shape", json_pack("[I, I]", (json_int_t)survey->det_rows, (json_int_t)survey->det_cols));
    keep(m, "n_frames", json_integer((json_int_t)survey->frames));
    if (survey->detector[0])
        keep(m, "detector_name", text_value(survey->detector, strlen(survey->detector)));
    if (survey->calibration.dwell.known)
        keep(m, "dwell_time_us", json_real(survey->calibration.dwell.value));
    if (ronchi_h5_number(survey->master, DETECTOR "/saturation_value", &saturation))
        keep(m, "saturation", json_real(saturation));
    if (survey->channel[0])
        keep(m, "channel", text_value(survey->channel, strlen(survey->channel)));
}

ronchi_status ronchi_h5_metadata(ronchi_h5_survey *survey, ronchi_error *err)
{
    hid_t master = survey->master;
    if (!ronchi_h5_visit(master, take_object, survey->metadata))
        ronchi_h5_refuse(survey, RONCHI_ERR_DATA, "copy it again from the original",
                         "damaged: a group in it cannot be read, so a pixel mask or a calibration may be missing");
    take_attributes(survey->metadata, master, "/", "");
    if (ronchi_h5_exists(master, "/entry/data"))
        take_attributes(survey->metadata, master, "/entry/data", "");
    (void)ronchi_h5_string(master, DETECTOR "/description", survey->detector, sizeof survey->detector);
    (void)ronchi_h5_count(master, SPECIFIC "/ntrigger", &survey->facts.ntrigger);
    (void)ronchi_h5_count(master, SPECIFIC "/nimages", &survey->facts.nimages);
    /* An ARINA's photon energy is the high tension; on X-ray detectors it is what its name says. */
    if (strstr(survey->detector, "ARINA"))
        take_energy(survey, SPECIFIC "/photon_energy");
    take_energy(survey, DETECTOR "/incident_energy");
    take_energy(survey, "/entry/instrument/beam/incident_energy");
    take_dwell(survey, DETECTOR "/count_time");
    take_dwell(survey, DETECTOR "/frame_time");
    derive(survey);
    return survey->dtype == 0 ? RONCHI_OK : find_mask(survey, err);
}
