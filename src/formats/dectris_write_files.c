/* SPDX-License-Identifier: MIT */
/* dectris_write_files.c - see the header.  Names, types and places are those of real ARINA files. */
#include "formats/dectris_write_files.h"

#include <stdio.h>
#include <string.h>

enum { FILTER_LZ4 = 32004, FILTER_BSLZ4 = 32008 };

/* ------------------------------------------------------------------------------------------------- small values */

/* Objects without time stamps: the same acquisition gives the same bytes. */
static hid_t dataset_properties(void)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (properties >= 0 && H5Pset_obj_track_times(properties, false) < 0) {
        H5Pclose(properties);
        return -1;
    }
    return properties;
}

static bool put_array(hid_t place, const char *name, hid_t type, int rank, const hsize_t *dims, const void *value)
{
    hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR), properties = dataset_properties();
    hid_t dataset = H5Dcreate2(place, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    bool done = dataset >= 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0;
    H5Dclose(dataset);
    H5Pclose(properties);
    H5Sclose(space);
    return done;
}

static bool put_attribute(hid_t place, const char *name, hid_t type, int rank, const hsize_t *dims, const void *value)
{
    hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(place, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    H5Aclose(attribute);
    H5Sclose(space);
    return done;
}

static hid_t text_type(const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    return type;
}

static bool put_text(hid_t place, const char *name, const char *text)
{
    hid_t type = text_type(text);
    bool done = put_array(place, name, type, 0, NULL, text);
    H5Tclose(type);
    return done;
}

static bool attribute_text(hid_t place, const char *name, const char *text)
{
    hid_t type = text_type(text);
    bool done = put_attribute(place, name, type, 0, NULL, text);
    H5Tclose(type);
    return done;
}

/* A number with its unit. */
static bool put_double(hid_t place, const char *name, double value, const char *unit)
{
    bool done = put_array(place, name, H5T_NATIVE_DOUBLE, 0, NULL, &value);
    if (done && unit) {
        hid_t dataset = H5Dopen2(place, name, H5P_DEFAULT);
        done = attribute_text(dataset, "units", unit);
        H5Dclose(dataset);
    }
    return done;
}

static bool put_u64(hid_t place, const char *name, uint64_t value)
{
    return put_array(place, name, H5T_NATIVE_UINT64, 0, NULL, &value);
}

static bool put_u16(hid_t place, const char *name, unsigned value)
{
    uint16_t v = (uint16_t)value;
    return put_array(place, name, H5T_NATIVE_UINT16, 0, NULL, &v);
}

static hid_t make_group(hid_t place, const char *name, const char *nx_class)
{
    hid_t group = H5Gcreate2(place, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group >= 0 && nx_class)
        attribute_text(group, "NX_class", nx_class);
    return group;
}

/* -------------------------------------------------------------------------------------------------------- filters */

static size_t refuse_to_filter(unsigned flags, size_t n, const unsigned values[], size_t bytes, size_t *size,
                               void **buffer)
{
    (void)flags, (void)n, (void)values, (void)bytes, (void)size, (void)buffer;
    return 0; /* an error to libhdf5: nothing passes here, chunks are written as they are */
}

static int filter_id(const char *filter)
{
    return strcmp(filter, "bslz4") == 0 ? FILTER_BSLZ4 : strcmp(filter, "lz4") == 0 ? FILTER_LZ4 : 0;
}

bool ronchi_dectris_filter_register(const char *filter, bool *registered)
{
    int id = filter_id(filter);
    *registered = false;
    if (id == 0 || H5Zfilter_avail(id) > 0)
        return true;
    const H5Z_class2_t stand_in = {
        .version = H5Z_CLASS_T_VERS,
        .id = id,
        .encoder_present = 1,
        .decoder_present = 1,
        .name = id == FILTER_BSLZ4 ? "bitshuffle; see https://github.com/kiyo-masui/bitshuffle"
                                   : "HDF5 lz4 filter; see http://www.hdfgroup.org/services/contributions.html",
        .filter = refuse_to_filter,
    };
    *registered = H5Zregister(&stand_in) >= 0;
    return *registered;
}

void ronchi_dectris_filter_unregister(const char *filter)
{
    if (filter_id(filter))
        H5Zunregister(
            filter_id(filter)); /* fails while others have such a dataset open; they need it no longer than that */
}

/* As the bitshuffle plugin writes them: version 0.3, element size, default block size, 2 = LZ4. */
static bool set_filter(hid_t properties, const ronchi_dectris_options *options)
{
    unsigned values[] = {0, 3, (unsigned)ronchi_dtype_size(options->dtype), 0, 2};
    int id = filter_id(options->filter);
    if (strcmp(options->filter, "gzip") == 0)
        return H5Pset_deflate(properties, 4) >= 0;
    return id == 0 || H5Pset_filter(properties, id, H5Z_FLAG_MANDATORY, id == FILTER_BSLZ4 ? 5 : 0, values) >= 0;
}

/* ------------------------------------------------------------------------------------------------------ data files */

uint64_t ronchi_dectris_files(const ronchi_dectris_options *options)
{
    uint64_t each = options->frames_per_file ? options->frames_per_file : options->n_frames;
    return options->n_frames / each + (options->n_frames % each != 0);
}

uint64_t ronchi_dectris_file_frames(const ronchi_dectris_options *options, uint64_t index)
{
    uint64_t each = options->frames_per_file ? options->frames_per_file : options->n_frames;
    uint64_t left = options->n_frames - index * each;
    return left < each ? left : each;
}

static hid_t count_type(ronchi_dtype dtype)
{
    return dtype == RONCHI_U8    ? H5T_NATIVE_UINT8
           : dtype == RONCHI_U16 ? H5T_NATIVE_UINT16
           : dtype == RONCHI_U32 ? H5T_NATIVE_UINT32
                                 : H5T_NATIVE_FLOAT;
}

static hid_t create_counts(hid_t group, const ronchi_dectris_options *options, uint64_t count)
{
    hsize_t dims[3] = {count, options->shape.det_rows, options->shape.det_cols};
    hsize_t most[3] = {H5S_UNLIMITED, dims[1], dims[2]}, chunk[3] = {1, dims[1], dims[2]};
    uint32_t blank = UINT32_MAX; /* frames that never came read as flagged, as in the detectors' own files */
    hid_t space = H5Screate_simple(3, dims, most), properties = dataset_properties(), dataset = -1;
    bool set = H5Pset_chunk(properties, 3, chunk) >= 0 && set_filter(properties, options);
    if (set && options->dtype != RONCHI_F32)
        set = H5Pset_fill_value(properties, count_type(options->dtype), &blank) >= 0;
    if (set)
        dataset = H5Dcreate2(group, "data", count_type(options->dtype), space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Pclose(properties);
    H5Sclose(space);
    return dataset;
}

bool ronchi_dectris_data_fill(hid_t file, const ronchi_dectris_options *options, uint64_t first, uint64_t count,
                              hid_t *dataset)
{
    uint64_t low = first + 1, high = first + count;
    hid_t entry = make_group(file, "entry", "NXentry"), data = make_group(entry, "data", "NXdata");
    *dataset = create_counts(data, options, count);
    bool done = *dataset >= 0 && put_attribute(*dataset, "image_nr_low", H5T_NATIVE_UINT64, 0, NULL, &low) &&
                put_attribute(*dataset, "image_nr_high", H5T_NATIVE_UINT64, 0, NULL, &high);
    H5Gclose(data);
    H5Gclose(entry);
    return done;
}

/* ---------------------------------------------------------------------------------------------------------- master */

static bool put_scan_attributes(hid_t place, bool root, const ronchi_dectris_options *options)
{
    const ronchi_shape *s = &options->shape;
    int64_t scan[2] = {(int64_t)s->scan_rows, (int64_t)s->scan_cols}, n = (int64_t)options->n_frames;
    int64_t detector[2] = {(int64_t)s->det_rows, (int64_t)s->det_cols};
    hsize_t two = 2;
    return put_attribute(place, "scan_shape", H5T_NATIVE_INT64, 1, &two, scan) &&
           put_attribute(place, root ? "detector_shape" : "det_shape", H5T_NATIVE_INT64, 1, &two, detector) &&
           attribute_text(place, "dtype", ronchi_dtype_name(options->dtype)) &&
           put_attribute(place, "n_frames", H5T_NATIVE_INT64, 0, NULL, &n);
}

static bool put_links(hid_t data, const char *stem, const ronchi_dectris_options *options)
{
    for (uint64_t i = 0; i < ronchi_dectris_files(options); i++) {
        char name[32], target[4096];
        snprintf(name, sizeof name, "data_%06u", (unsigned)(i + 1));
        snprintf(target, sizeof target, "%s_%s.h5", stem, name); /* by name only, so that a folder can be moved */
        if (H5Lcreate_external(target, "/entry/data/data", data, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
            return false;
    }
    return true;
}

static bool put_mask(hid_t specific, const ronchi_dectris_options *options)
{
    if (!options->pixel_mask)
        return true;
    hsize_t dims[2] = {options->shape.det_rows, options->shape.det_cols};
    uint32_t excluded = 0;
    for (size_t i = 0; i < options->shape.det_rows * options->shape.det_cols; i++)
        excluded += options->pixel_mask[i] != 0;
    return put_array(specific, "pixel_mask", H5T_NATIVE_UINT32, 2, dims, options->pixel_mask) &&
           put_array(specific, "number_of_excluded_pixels", H5T_NATIVE_UINT32, 0, NULL, &excluded);
}

static bool put_specific(hid_t detector, const ronchi_dectris_options *options)
{
    hid_t specific = make_group(detector, "detectorSpecific", "NXcollection");
    bool done = specific >= 0 && put_text(specific, "compression", options->filter) &&
                put_text(specific, "software_version", "Ronchi " RONCHI_VERSION_STRING) &&
                put_text(specific, "trigger_mode", "exts") && put_u64(specific, "nimages", 1) &&
                put_u64(specific, "ntrigger", options->n_frames) && put_mask(specific, options) &&
                put_u64(specific, "x_pixels_in_detector", options->shape.det_cols) &&
                put_u64(specific, "y_pixels_in_detector", options->shape.det_rows);
    if (done && options->voltage_kv > 0.0)
        done = put_double(specific, "photon_energy", 1e3 * options->voltage_kv, "eV");
    H5Gclose(specific);
    return done;
}

static bool put_detector(hid_t instrument, const ronchi_dectris_options *options)
{
    hid_t detector = make_group(instrument, "detector", "NXdetector");
    int8_t applied = options->pixel_mask != NULL;
    bool done = detector >= 0 &&
                put_text(detector, "description", options->description ? options->description : "Dectris ARINA") &&
                put_u16(detector, "bit_depth_image", 8 * (unsigned)ronchi_dtype_size(options->dtype)) &&
                put_array(detector, "pixel_mask_applied", H5T_NATIVE_INT8, 0, NULL, &applied) &&
                put_text(detector, "type", "HPC") && put_double(detector, "x_pixel_size", 1e-4, "m") &&
                put_double(detector, "y_pixel_size", 1e-4, "m") && put_specific(detector, options);
    if (done && options->frame_time_s > 0.0)
        done = put_double(detector, "frame_time", options->frame_time_s, "s") &&
               put_double(detector, "count_time", options->frame_time_s, "s");
    if (done && options->saturation > 0)
        done = put_array(detector, "saturation_value", H5T_NATIVE_INT64, 0, NULL, &options->saturation);
    H5Gclose(detector);
    return done;
}

bool ronchi_dectris_master_fill(hid_t file, const char *stem, const ronchi_dectris_options *options)
{
    hid_t entry = make_group(file, "entry", "NXentry"), data = make_group(entry, "data", "NXdata");
    hid_t instrument = make_group(entry, "instrument", "NXinstrument");
    bool done = data >= 0 && instrument >= 0 && attribute_text(file, "default", "entry") &&
                attribute_text(entry, "default", "data") && put_text(entry, "definition", "NXmx") &&
                attribute_text(data, "signal", "data_000001") && put_links(data, stem, options) &&
                put_detector(instrument, options);
    if (done && options->scan_attributes)
        done = put_scan_attributes(file, true, options) && put_scan_attributes(data, false, options);
    H5Gclose(instrument);
    H5Gclose(data);
    H5Gclose(entry);
    return done;
}

/* ------------------------------------------------------------------------------------------------------- companion */

bool ronchi_dectris_companion_fill(hid_t file, const ronchi_dectris_options *options)
{
    const ronchi_dectris_companion *c = options->companion;
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"Camera Length", c->camera_length_m}, /* m */
        {"High Tension", 1e3 * c->voltage_kv}, /* V */
        {"Magnification", 0.0},
        {"Pixel Size", 0.1 * c->scan_step_a}, /* nm */
        {"Rotation", c->rotation_deg},
        {"ScanDwellTime", 0.0},
        {"ScanIncrement", 0.0},
        {"SpotSize", 0.0},
    };
    hsize_t one = 1;
    int64_t cols = (int64_t)options->shape.scan_cols, rows = (int64_t)options->shape.scan_rows;
    uint8_t calibrated = c->scan_step_a > 0.0;
    hid_t group = make_group(file, "STEM Metadata", NULL);
    bool done = group >= 0 && put_attribute(group, "NumPixelsX", H5T_NATIVE_INT64, 0, NULL, &cols) &&
                put_attribute(group, "NumPixelsY", H5T_NATIVE_INT64, 0, NULL, &rows) &&
                put_attribute(group, "NumPixelsPrescan", H5T_NATIVE_UINT32, 1, &one, &c->prescan) &&
                put_attribute(group, "IsPixelSizeCalibrated", H5T_NATIVE_UINT8, 1, &one, &calibrated);
    for (size_t i = 0; done && i < sizeof numbers / sizeof numbers[0]; i++)
        done = put_attribute(group, numbers[i].name, H5T_NATIVE_DOUBLE, 1, &one, &numbers[i].value);
    H5Gclose(group);
    return done;
}
