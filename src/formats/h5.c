/* SPDX-License-Identifier: MIT */
/* h5.c - errors, what a dataset is, and small values. */
#include "formats/h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct why {
    char *out;
    size_t size;
} why;

static herr_t take_first(unsigned n, const H5E_error2_t *error, void *user)
{
    why *w = user;
    if (n == 0 && error->desc)
        snprintf(w->out, w->size, "%s", error->desc);
    return 0;
}

void ronchi_h5_why(char *out, size_t size)
{
    why w = {out, size};
    out[0] = 0;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &w);
}

/* ----------------------------------------------------------------------------------------------------- describe */

static void describe_type(hid_t type, ronchi_h5_info *out)
{
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    H5T_order_t order = H5Tget_order(type);
    const char *end = order == H5T_ORDER_BE ? ", big-endian" : "";
    if (class == H5T_INTEGER) {
        bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
        snprintf(out->type, sizeof out->type, "%sint%zu%s", is_signed ? "" : "u", 8 * size, end);
        if (!is_signed)
            out->dtype = size == 1 ? RONCHI_U8 : size == 2 ? RONCHI_U16 : size == 4 ? RONCHI_U32 : 0;
    } else if (class == H5T_FLOAT) {
        snprintf(out->type, sizeof out->type, "float%zu%s", 8 * size, end);
        out->dtype = size == 4 ? RONCHI_F32 : 0;
    } else {
        snprintf(out->type, sizeof out->type, "%s", class == H5T_STRING ? "text" : "no number");
    }
    out->swap = order == H5T_ORDER_BE && size > 1;
}

static ronchi_status describe_filters(hid_t plist, ronchi_h5_info *out, ronchi_error *err)
{
    int n = H5Pget_nfilters(plist);
    snprintf(out->filter_name, sizeof out->filter_name, "none");
    out->filter = RONCHI_H5_NONE;
    for (int i = 0; i < n; i++) {
        unsigned flags, config, values[8];
        size_t n_values = 8;
        char name[64] = "";
        H5Z_filter_t id = H5Pget_filter2(plist, (unsigned)i, &flags, &n_values, values, sizeof name, name, &config);
        if (id == 32008 && n_values > 4 && values[4] != 2 && values[4] != 0)
            return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                               "bitshuffle with compressor %u: only LZ4 is read", values[4]);
        if (id == 32008 && (n_values <= 4 || values[4] == 0))
            return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                               "bitshuffle without LZ4: rewrite the file with bitshuffle + LZ4");
        if ((id == 32008 || id == 32004) && n == 1) {
            out->filter = id == 32008 ? RONCHI_H5_BSLZ4 : RONCHI_H5_LZ4;
            snprintf(out->filter_name, sizeof out->filter_name, "%s", id == 32008 ? "bslz4" : "lz4");
            return RONCHI_OK;
        }
        static const H5Z_filter_t own[] = {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE, H5Z_FILTER_FLETCHER32,
                                           H5Z_FILTER_SZIP,    H5Z_FILTER_NBIT,    H5Z_FILTER_SCALEOFFSET};
        bool known = false;
        for (size_t k = 0; k < sizeof own / sizeof own[0]; k++)
            known = known || (id == own[k] && H5Zfilter_avail(id) > 0);
        if (!known)
            return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                               "HDF5 filter %d (%s)%s: rewrite the file with bitshuffle + LZ4 or gzip", (int)id,
                               name[0] ? name : "unnamed", n > 1 ? " in a chain of filters" : "");
        out->filter = RONCHI_H5_LIBRARY;
        if (i == 0 || id == H5Z_FILTER_DEFLATE)
            snprintf(out->filter_name, sizeof out->filter_name, "%.31s", id == H5Z_FILTER_DEFLATE ? "gzip" : name);
    }
    return RONCHI_OK;
}

static ronchi_status describe_layout(hid_t dataset, hid_t plist, bool count, ronchi_h5_info *out, ronchi_error *err)
{
    H5D_layout_t layout = H5Pget_layout(plist);
    out->is_virtual = layout == H5D_VIRTUAL;
    out->chunked = layout == H5D_CHUNKED;
    out->pieces = out->pieces_present = 1;
    if (layout == H5D_CONTIGUOUS) {
        if (H5Pget_external_count(plist) > 0)
            return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                               "its values lie in external raw files: repack it with h5repack");
        H5D_space_status_t allocated;
        if (H5Dget_space_status(dataset, &allocated) >= 0 && allocated == H5D_SPACE_STATUS_NOT_ALLOCATED)
            out->pieces_present = 0;
    }
    if (layout != H5D_CHUNKED)
        return RONCHI_OK;
    if (H5Pget_chunk(plist, RONCHI_H5_AXES, out->chunk) != out->rank)
        return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "its chunk shape cannot be read");
    for (int i = 0; i < out->rank; i++) {
        if (out->chunk[i] == 0)
            return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "its chunk shape cannot be");
        uint64_t n = out->dims[i] / out->chunk[i] + (out->dims[i] % out->chunk[i] != 0);
        if (n && out->pieces > UINT64_MAX / n)
            return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "its number of chunks cannot be");
        out->pieces *= n;
    }
    out->pieces_present = out->pieces;
    if (count) {
        hid_t space = H5Dget_space(dataset);
        hsize_t n = 0;
        if (space < 0 || H5Dget_num_chunks(dataset, space, &n) < 0)
            n = 0;
        H5Sclose(space);
        out->pieces_present = n;
    }
    return RONCHI_OK;
}

ronchi_status ronchi_h5_describe(hid_t dataset, bool count, ronchi_h5_info *out, ronchi_error *err)
{
    memset(out, 0, sizeof *out);
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset), plist = H5Dget_create_plist(dataset);
    ronchi_status status = RONCHI_OK;
    if (space < 0 || type < 0 || plist < 0) {
        char text[160];
        ronchi_h5_why(text, sizeof text);
        status = ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "its header cannot be read (%s)", text);
    } else {
        describe_type(type, out);
        out->rank = H5Sget_simple_extent_ndims(space);
        if (out->rank < 1 || out->rank > RONCHI_H5_AXES)
            status = ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "it has %d axes", out->rank);
        else if (H5Sget_simple_extent_dims(space, out->dims, NULL) < 0)
            status = ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "its shape cannot be read");
    }
    if (status == RONCHI_OK)
        status = describe_filters(plist, out, err);
    if (status == RONCHI_OK)
        status = describe_layout(dataset, plist, count, out, err);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (plist >= 0)
        H5Pclose(plist);
    return status;
}

/* --------------------------------------------------------------------------------------------------- small values */

/* Datasets and attributes are read alike; this says which it is. */
typedef struct value {
    hid_t id, type, space;
    bool attribute;
} value;

static void value_close(value *v)
{
    if (v->space >= 0)
        H5Sclose(v->space);
    if (v->type >= 0)
        H5Tclose(v->type);
    if (v->id >= 0)
        (void)(v->attribute ? H5Aclose(v->id) : H5Dclose(v->id));
}

static bool value_finish(value *v)
{
    v->type = v->space = -1;
    if (v->id < 0)
        return false;
    v->type = v->attribute ? H5Aget_type(v->id) : H5Dget_type(v->id);
    v->space = v->attribute ? H5Aget_space(v->id) : H5Dget_space(v->id);
    if (v->type < 0 || v->space < 0) {
        value_close(v);
        return false;
    }
    return true;
}

static bool open_dataset(hid_t place, const char *path, value *v)
{
    v->attribute = false;
    v->id = H5Dopen2(place, path, H5P_DEFAULT);
    return value_finish(v);
}

static bool open_attribute(hid_t place, const char *path, const char *name, value *v)
{
    v->attribute = true;
    v->id = -1;
    if (H5Aexists_by_name(place, path, name, H5P_DEFAULT) > 0)
        v->id = H5Aopen_by_name(place, path, name, H5P_DEFAULT, H5P_DEFAULT);
    return value_finish(v);
}

static bool value_read(const value *v, hid_t type, void *out)
{
    return (v->attribute ? H5Aread(v->id, type, out) : H5Dread(v->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out)) >= 0;
}

static bool value_number(value *v, double *out)
{
    H5T_class_t class = H5Tget_class(v->type);
    bool done = (class == H5T_INTEGER || class == H5T_FLOAT) && H5Sget_simple_extent_npoints(v->space) == 1 &&
                value_read(v, H5T_NATIVE_DOUBLE, out);
    value_close(v);
    return done;
}

/* Text of one element, fixed or of variable length. */
static bool value_text(value *v, char *out, size_t size)
{
    bool done = false;
    if (H5Tget_class(v->type) == H5T_STRING && H5Sget_simple_extent_npoints(v->space) == 1) {
        if (H5Tis_variable_str(v->type) > 0) {
            char *text = NULL;
            if (value_read(v, v->type, &text) && text) {
                snprintf(out, size, "%s", text);
                H5Dvlen_reclaim(v->type, v->space, H5P_DEFAULT, &text);
                done = true;
            }
        } else {
            size_t n = H5Tget_size(v->type);
            char *text = n < (1u << 20) ? calloc(n + 1, 1) : NULL;
            if (text && value_read(v, v->type, text)) {
                snprintf(out, size, "%s", text);
                done = true;
            }
            free(text);
        }
    }
    value_close(v);
    return done;
}

bool ronchi_h5_number(hid_t place, const char *path, double *out)
{
    value v;
    return ronchi_h5_exists(place, path) && open_dataset(place, path, &v) && value_number(&v, out);
}

bool ronchi_h5_count(hid_t place, const char *path, uint64_t *out)
{
    double number;
    if (!ronchi_h5_number(place, path, &number) || !(number >= 0) || number > 9e15)
        return false;
    *out = (uint64_t)number;
    return true;
}

bool ronchi_h5_string(hid_t place, const char *path, char *out, size_t size)
{
    value v;
    return ronchi_h5_exists(place, path) && open_dataset(place, path, &v) && value_text(&v, out, size);
}

bool ronchi_h5_attributes_sound(hid_t place, const char *path)
{
    /* looking for a name that nobody gives decodes all of them, without the table that the library trips over */
    return H5Aexists_by_name(place, path, "ronchi: no such attribute", H5P_DEFAULT) >= 0;
}

static herr_t pass_object(hid_t place, const char *name, const H5O_info_t *info, void *user)
{
    (void)place, (void)name, (void)info, (void)user;
    return 0;
}

bool ronchi_h5_visit(hid_t place, H5O_iterate_t callback, void *user)
{
    bool sound = H5Ovisit(place, H5_INDEX_NAME, H5_ITER_NATIVE, pass_object, NULL) >= 0;
    H5Ovisit(place, H5_INDEX_NAME, sound ? H5_ITER_INC : H5_ITER_NATIVE, callback, user);
    return sound;
}

static herr_t pass_link(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    (void)group, (void)name, (void)info, (void)user;
    return 0;
}

bool ronchi_h5_links_sound(hid_t place, const char *path)
{
    return H5Literate_by_name(place, path, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, pass_link, NULL, H5P_DEFAULT) >= 0;
}

bool ronchi_h5_attribute_number(hid_t place, const char *path, const char *name, double *out)
{
    value v;
    return open_attribute(place, path, name, &v) && value_number(&v, out);
}

bool ronchi_h5_attribute_string(hid_t place, const char *path, const char *name, char *out, size_t size)
{
    value v;
    return open_attribute(place, path, name, &v) && value_text(&v, out, size);
}

bool ronchi_h5_attribute_counts(hid_t place, const char *path, const char *name, size_t n, uint64_t *out)
{
    value v;
    double numbers[8];
    if (n > 8 || !open_attribute(place, path, name, &v))
        return false;
    H5T_class_t class = H5Tget_class(v.type);
    bool done = (class == H5T_INTEGER || class == H5T_FLOAT) && H5Sget_simple_extent_npoints(v.space) == (hssize_t)n &&
                value_read(&v, H5T_NATIVE_DOUBLE, numbers);
    value_close(&v);
    for (size_t i = 0; done && i < n; i++) {
        done = numbers[i] >= 0 && numbers[i] < 9e15 && numbers[i] == (double)(uint64_t)numbers[i];
        out[i] = done ? (uint64_t)numbers[i] : 0;
    }
    return done;
}

size_t ronchi_h5_strings(hid_t place, const char *path, char (*out)[64], size_t max)
{
    value v;
    size_t copied = 0;
    if (!ronchi_h5_exists(place, path) || !open_dataset(place, path, &v))
        return 0;
    hssize_t n = H5Sget_simple_extent_npoints(v.space);
    size_t width = H5Tget_size(v.type);
    if (H5Tget_class(v.type) == H5T_STRING && n > 0 && (size_t)n <= max && width < (1u << 16)) {
        char *bytes = calloc((size_t)n, width + 1);
        bool variable = H5Tis_variable_str(v.type) > 0;
        if (bytes && value_read(&v, v.type, bytes)) {
            for (; copied < (size_t)n; copied++) {
                char *text;
                if (variable)
                    memcpy(&text, bytes + copied * width, sizeof text);
                else
                    text = bytes + copied * width;
                snprintf(out[copied], 64, "%.*s", (int)(variable ? 63 : ronchi_min_size(width, 63)), text ? text : "");
            }
            if (variable)
                H5Dvlen_reclaim(v.type, v.space, H5P_DEFAULT, bytes);
        }
        free(bytes);
    }
    value_close(&v);
    return copied;
}

bool ronchi_h5_exists(hid_t place, const char *path)
{
    char part[1024];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part)
        return false;
    for (size_t i = 1; i < n; i++)
        if (path[i] == '/') {
            memcpy(part, path, i);
            part[i] = 0;
            if (H5Lexists(place, part, H5P_DEFAULT) <= 0)
                return false;
        }
    return strcmp(path, "/") == 0 ||
           (H5Lexists(place, path, H5P_DEFAULT) > 0 && H5Oexists_by_name(place, path, H5P_DEFAULT) > 0);
}
