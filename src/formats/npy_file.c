/* SPDX-License-Identifier: MIT */
/* npy_file.c - reads and writes .npy files: the header, whole small arrays. */
#include "formats/npy_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy_header.h"
#include "ronchi/formats.h"

enum { PREFIX = 12, HEADER_LIMIT = 65536, COLLECT = 1 << 18 };

/* ------------------------------------------------------------------------------------------------------- header */

/* The header is a Python dictionary of three entries; this walks over its text. */
typedef struct text {
    const char *at, *end;
} text;

static void skip_space(text *t)
{
    while (t->at < t->end && isspace((unsigned char)*t->at))
        t->at++;
}

static bool take(text *t, char c)
{
    skip_space(t);
    if (t->at >= t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool take_string(text *t, char *out, size_t size)
{
    skip_space(t);
    if (t->at >= t->end || (*t->at != '\'' && *t->at != '"'))
        return false;
    char quote = *t->at++;
    size_t n = 0;
    while (t->at < t->end && *t->at != quote) {
        if (n + 1 >= size)
            return false;
        out[n++] = *t->at++;
    }
    out[n] = 0;
    return take(t, quote);
}

static bool take_word(text *t, const char *word)
{
    size_t n = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

static bool take_size(text *t, size_t *out)
{
    skip_space(t);
    size_t value = 0;
    bool any = false;
    while (t->at < t->end && isdigit((unsigned char)*t->at)) {
        if (!ronchi_mul(value, 10, &value) || !ronchi_add(value, (size_t)(*t->at - '0'), &value))
            return false;
        any = true;
        t->at++;
    }
    *out = value;
    return any;
}

typedef struct entries {
    char descr[32];
    bool has_descr, structured, has_order, fortran, has_shape;
    size_t shape[32];
    int axes;
} entries;

static bool take_shape(text *t, entries *e)
{
    if (!take(t, '('))
        return false;
    e->has_shape = true;
    while (!take(t, ')')) {
        if (e->axes >= 32 || !take_size(t, &e->shape[e->axes]))
            return false;
        e->axes++;
        if (!take(t, ',')) {
            return take(t, ')');
        }
    }
    return true;
}

static bool take_entries(text *t, entries *e)
{
    if (!take(t, '{'))
        return false;
    while (!take(t, '}')) {
        char key[32];
        if (!take_string(t, key, sizeof key) || !take(t, ':'))
            return false;
        if (strcmp(key, "descr") == 0) {
            e->has_descr = true;
            e->structured = take(t, '['); /* a list of fields: what follows does not matter */
            if (e->structured)
                return true;
            if (!take_string(t, e->descr, sizeof e->descr))
                return false;
        } else if (strcmp(key, "fortran_order") == 0) {
            e->has_order = true;
            e->fortran = take_word(t, "True");
            if (!e->fortran && !take_word(t, "False"))
                return false;
        } else if (strcmp(key, "shape") != 0 || !take_shape(t, e)) {
            return false;
        }
        if (!take(t, ','))
            return take(t, '}') && e->has_descr && e->has_order && e->has_shape;
    }
    return e->has_descr && e->has_order && e->has_shape;
}

static bool find_dtype(const char *descr, ronchi_dtype *dtype, bool *swap)
{
    static const struct {
        const char *name;
        ronchi_dtype dtype;
    } known[] = {{"u1", RONCHI_U8},  {"b1", RONCHI_U8},  {"u2", RONCHI_U16}, {"u4", RONCHI_U32},
                 {"u8", RONCHI_U64}, {"f4", RONCHI_F32}, {"f8", RONCHI_F64}};
    char order = descr[0];
    if (order != '<' && order != '>' && order != '|' && order != '=')
        return false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(descr + 1, known[i].name) == 0) {
            *dtype = known[i].dtype;
            *swap = order == '>';
            return true;
        }
    return false;
}

static ronchi_status check_entries(const ronchi_input *input, const entries *e, ronchi_npy_layout *out,
                                   ronchi_error *err)
{
    if (e->structured || !find_dtype(e->descr, &out->dtype, &out->swap))
        return ronchi_fail(
            err, RONCHI_ERR_UNSUPPORTED, input->path, PREFIX,
            "dtype %s: only bool, unsigned integers, float32 and float64 are read; convert it with NumPy",
            e->structured ? "with fields" : e->descr);
    if (e->fortran && e->axes > 1)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, input->path, PREFIX,
                           "the array is in Fortran order: save it with numpy.ascontiguousarray()");
    if (e->axes > 4)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, input->path, PREFIX, "%d axes: at most four are read", e->axes);
    out->axes = e->axes;
    out->elements = 1;
    for (int i = 0; i < 4; i++) {
        int lead = 4 - e->axes;
        out->shape[i] = i < lead ? 1 : e->shape[i - lead];
        if (!ronchi_mul(out->elements, out->shape[i], &out->elements))
            return ronchi_fail(err, RONCHI_ERR_DATA, input->path, PREFIX, "the shape is beyond any memory");
    }
    size_t bytes;
    if (!ronchi_mul(out->elements, ronchi_dtype_size(out->dtype), &bytes))
        return ronchi_fail(err, RONCHI_ERR_DATA, input->path, PREFIX, "the shape is beyond any memory");
    uint64_t there = input->size_bytes - out->data_offset;
    if (there < bytes)
        return ronchi_fail(err, RONCHI_ERR_DATA, input->path, input->size_bytes,
                           "the file is truncated: %llu of %zu bytes of the array are there; copy it again",
                           (unsigned long long)there, bytes);
    if (there > bytes)
        return ronchi_fail(err, RONCHI_ERR_DATA, input->path, out->data_offset + bytes,
                           "%llu bytes are left over behind the array", (unsigned long long)(there - bytes));
    return RONCHI_OK;
}

ronchi_status ronchi_npy_layout_read(const ronchi_input *input, ronchi_npy_layout *out, ronchi_error *err)
{
    uint8_t head[PREFIX];
    memset(out, 0, sizeof *out);
    if (input->size_bytes < PREFIX)
        return ronchi_fail(err, RONCHI_ERR_FORMAT, input->path, 0, "too short for an .npy file");
    ronchi_status status = ronchi_input_read(input, 0, head, PREFIX, err);
    if (status != RONCHI_OK)
        return status;
    if (memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 || head[6] > 3)
        return ronchi_fail(err, RONCHI_ERR_FORMAT, input->path, 0, "not an .npy file of version 1, 2 or 3");
    size_t at = head[6] == 1 ? 10 : 12;
    size_t length = (size_t)head[8] | (size_t)head[9] << 8;
    if (head[6] != 1)
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (length > HEADER_LIMIT || length > input->size_bytes - at)
        return ronchi_fail(err, RONCHI_ERR_FORMAT, input->path, 8, "a header of %zu bytes cannot be", length);
    char *words = malloc(length + 1);
    if (!words)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, input->path, RONCHI_NO_OFFSET, "no memory for the header");
    status = ronchi_input_read(input, at, words, length, err);
    if (status == RONCHI_OK) {
        text t = {words, words + length};
        entries e;
        memset(&e, 0, sizeof e);
        out->data_offset = at + length;
        if (take_entries(&t, &e))
            status = check_entries(input, &e, out, err);
        else
            status = ronchi_fail(err, RONCHI_ERR_FORMAT, input->path, at, "the .npy header cannot be understood");
    }
    free(words);
    return status;
}

void ronchi_swap_bytes(void *data, size_t n, size_t size)
{
    uint8_t *p = data;
    for (size_t i = 0; i < n; i++, p += size)
        for (size_t k = 0; k < size / 2; k++) {
            uint8_t t = p[k];
            p[k] = p[size - 1 - k];
            p[size - 1 - k] = t;
        }
}

/* -------------------------------------------------------------------------------------------------------- read */

ronchi_status ronchi_npy_read(const char *path, ronchi_view *view, void **memory, ronchi_error *err)
{
    ronchi_input input;
    ronchi_npy_layout header;
    *memory = NULL;
    memset(view, 0, sizeof *view);
    ronchi_status status = ronchi_input_open(path, &input, err);
    if (status != RONCHI_OK)
        return status;
    status = ronchi_npy_layout_read(&input, &header, err);
    if (status == RONCHI_OK) {
        size_t size = ronchi_dtype_size(header.dtype), bytes = header.elements * size;
        *memory = malloc(bytes ? bytes : 1);
        if (!*memory)
            status = ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for %zu bytes", bytes);
        else
            status = ronchi_input_read(&input, header.data_offset, *memory, bytes, err);
        if (status == RONCHI_OK) {
            if (header.swap)
                ronchi_swap_bytes(*memory, header.elements, size);
            ronchi_shape shape = {header.shape[0], header.shape[1], header.shape[2], header.shape[3]};
            *view = ronchi_view_4d(*memory, header.dtype, &shape);
        } else {
            free(*memory);
            *memory = NULL;
        }
    }
    ronchi_input_close(&input);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- write */

/* Rows are collected, so that small ones do not become a call to the system each. */
typedef struct collected {
    ronchi_output *output;
    char *bytes;
    size_t n, room;
} collected;

static ronchi_status flush(collected *c, ronchi_error *err)
{
    ronchi_status status = ronchi_output_write(c->output, c->bytes, c->n, err);
    c->n = 0;
    return status;
}

static void gather(const ronchi_view *view, size_t i, size_t j, size_t k, char *row, size_t size)
{
    if (view->stride[3] == (ptrdiff_t)size)
        memcpy(row, ronchi_view_at(view, i, j, k, 0), view->shape[3] * size);
    else
        for (size_t l = 0; l < view->shape[3]; l++)
            memcpy(row + l * size, ronchi_view_at(view, i, j, k, l), size);
}

static ronchi_status write_rows(collected *c, const ronchi_view *view, size_t size, ronchi_error *err)
{
    size_t row = view->shape[3] * size;
    for (size_t i = 0; i < view->shape[0]; i++)
        for (size_t j = 0; j < view->shape[1]; j++)
            for (size_t k = 0; k < view->shape[2]; k++) {
                ronchi_status status = c->n + row > c->room ? flush(c, err) : RONCHI_OK;
                if (status != RONCHI_OK)
                    return status;
                gather(view, i, j, k, c->bytes + c->n, size);
                c->n += row;
            }
    return flush(c, err);
}

ronchi_status ronchi_npy_write(const char *path, const ronchi_view *view, int axes, int force, ronchi_error *err)
{
    size_t size = view ? ronchi_dtype_size(view->dtype) : 0;
    if (!view || !view->data || size == 0 || view->place != RONCHI_HOST || axes < 2 || axes > 4)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "no host array of 2 to 4 axes");
    for (int i = 0; i < 4 - axes; i++)
        if (view->shape[i] != 1)
            return ronchi_fail(err, RONCHI_ERR_SHAPE, path, RONCHI_NO_OFFSET, "the array has more than %d axes", axes);
    char header[RONCHI_NPY_HEADER_MAX];
    size_t n = ronchi_npy_header(header, view->dtype, axes, view->shape);
    size_t room;
    if (!ronchi_mul(view->shape[3], size, &room) || !ronchi_add(room, COLLECT, &room))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, path, RONCHI_NO_OFFSET, "rows of %zu elements", view->shape[3]);
    ronchi_output output;
    collected c = {&output, malloc(room), 0, room};
    if (!c.bytes)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for one row");
    ronchi_status status = ronchi_output_open(path, force, &output, err);
    if (status == RONCHI_OK) {
        status = ronchi_output_write(&output, header, n, err);
        if (status == RONCHI_OK)
            status = write_rows(&c, view, size, err);
        if (status == RONCHI_OK)
            status = ronchi_output_commit(&output, err);
        ronchi_output_abort(&output);
    }
    free(c.bytes);
    return status;
}
