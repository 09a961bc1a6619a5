/* SPDX-License-Identifier: MIT */
/* qem_open.c - opens a .qem: envelope, header digest, strict JSON, container fields, sizes that must agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/qem_internal.h"

/* ---------------------------------------------------------------------------------------------------- envelope */

static uint64_t read_u64(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

bool ronchi_qem_probe(const uint8_t *head, size_t n)
{
    return n >= 8 && memcmp(head, "QEMDATA1", 8) == 0;
}

/* Says what a file is that is no container, and what to do with it. */
static ronchi_status name_other(const char *path, const uint8_t *head, size_t n, ronchi_error *err)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *what;
    } others[] = {
        {"QGPUPAIR", 8,
         "a paired layout (QGPUPAIR), which belongs to one program version: reopen the original acquisition"},
        {"QGPUSTRM", 8,
         "an old stream container (QGPUSTRM) that no current program reads: reopen the original acquisition"},
        {"QEMDATA", 7, "a .qem container of another version: reopen the original acquisition, or use a newer Ronchi"},
        {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file, not a .qem: open it as a source (ronchi convert makes a .qem of it)"},
        {"\x93NUMPY", 6, "an .npy array, not a .qem: open it as a source (ronchi convert makes a .qem of it)"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (n >= others[i].size && memcmp(head, others[i].magic, others[i].size) == 0)
            return ronchi_fail(err, RONCHI_ERR_FORMAT, path, 0, "this is %s", others[i].what);
    return ronchi_fail(err, RONCHI_ERR_FORMAT, path, 0,
                       "no .qem container: it does not begin with QEMDATA1; reopen the original acquisition");
}

static ronchi_status too_short(const ronchi_input *input, uint64_t missing, const char *least, const char *within,
                               ronchi_error *err)
{
    return ronchi_fail(
        err, RONCHI_ERR_DATA, input->path, input->size_bytes,
        "truncated: the file ends at byte %llu, inside its %s; %s%llu bytes are missing: copy it again, or "
        "convert the original acquisition again",
        (unsigned long long)input->size_bytes, within, least, (unsigned long long)missing);
}

/* Checks the 56 bytes before the JSON; *size is that of the JSON, the file is long enough for it. */
static ronchi_status check_prefix(const ronchi_input *input, uint8_t prefix[RONCHI_QEM_PREFIX], size_t *size,
                                  ronchi_error *err)
{
    size_t have = input->size_bytes < RONCHI_QEM_PREFIX ? (size_t)input->size_bytes : RONCHI_QEM_PREFIX;
    if (have == 0)
        return ronchi_fail(err, RONCHI_ERR_DATA, input->path, 0, "the file is empty: copy it again");
    ronchi_status status = ronchi_input_read(input, 0, prefix, have, err);
    if (status != RONCHI_OK)
        return status;
    if (memcmp(prefix, "QEMDATA1", have < 8 ? have : 8) != 0)
        return name_other(input->path, prefix, have, err);
    if (have < RONCHI_QEM_PREFIX)
        return too_short(input, RONCHI_QEM_PREFIX - have, "at least ", "56-byte prefix", err);
    uint64_t length = read_u64(prefix + 8), start = read_u64(prefix + 16);
    if (length == 0 || length > RONCHI_QEM_MAX_HEADER)
        return ronchi_fail(err, RONCHI_ERR_DATA, input->path, 8,
                           "the header length is %llu bytes, not 1 to 16777216: damaged", (unsigned long long)length);
    if (start != RONCHI_QEM_PREFIX + length)
        return ronchi_fail(err, RONCHI_ERR_DATA, input->path, 16, "the body starts at %llu, not at 56 + %llu: damaged",
                           (unsigned long long)start, (unsigned long long)length);
    if (start > input->size_bytes)
        return too_short(input, start - input->size_bytes, "at least ", "JSON header", err);
    *size = (size_t)length;
    return RONCHI_OK;
}

static ronchi_status parse_header(const ronchi_input *input, const char *text, size_t size, json_t **out,
                                  ronchi_error *err)
{
    ronchi_json_fault fault;
    json_t *header = ronchi_json_parse(text, size, true, &fault);
    if (header && json_is_object(header)) {
        *out = header;
        return RONCHI_OK;
    }
    if (header) {
        json_decref(header);
        return ronchi_fail(err, RONCHI_ERR_DATA, input->path, RONCHI_QEM_PREFIX, "header $: not a JSON object");
    }
    uint64_t at = RONCHI_QEM_PREFIX + (fault.at == SIZE_MAX ? 0 : (uint64_t)fault.at);
    return ronchi_fail(err, RONCHI_ERR_DATA, input->path, at, "header, file byte %llu: %s", (unsigned long long)at,
                       fault.why);
}

/* Gives the parsed header and the size of its text. */
static ronchi_status read_header(const ronchi_input *input, json_t **out, size_t *out_size, ronchi_error *err)
{
    uint8_t prefix[RONCHI_QEM_PREFIX], digest[RONCHI_SHA256_SIZE];
    ronchi_status status = check_prefix(input, prefix, out_size, err);
    if (status != RONCHI_OK)
        return status;
    size_t size = *out_size;
    char *text = malloc(size);
    if (!text)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, input->path, RONCHI_NO_OFFSET, "no memory for a header of %zu bytes",
                           size);
    status = ronchi_input_read(input, RONCHI_QEM_PREFIX, text, size, err);
    if (status == RONCHI_OK && !ronchi_sha256(text, size, digest))
        status = ronchi_fail(err, RONCHI_ERR_INTERNAL, input->path, 24, "libcrypto cannot compute SHA-256");
    if (status == RONCHI_OK && memcmp(digest, prefix + 24, sizeof digest) != 0)
        status =
            ronchi_fail(err, RONCHI_ERR_DATA, input->path, 24,
                        "the header (file bytes 56 to %zu) does not match its SHA-256 at byte 24: it was damaged; take "
                        "another copy, or convert the original acquisition again",
                        RONCHI_QEM_PREFIX + size);
    if (status == RONCHI_OK)
        status = parse_header(input, text, size, out, err);
    free(text);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ header */

static ronchi_status check_container(const ronchi_json_check *check, const json_t *header, char *codec)
{
    const char *container = ronchi_json_text(json_object_get(header, "container"));
    const json_t *version = json_object_get(header, "container_version");
    if (!container || strcmp(container, "quantem.qem") != 0)
        return ronchi_fail(check->err, RONCHI_ERR_FORMAT, check->file, RONCHI_NO_OFFSET,
                           "header $.container: \"%.40s\" is not quantem.qem; reopen the original acquisition",
                           container ? container : "");
    if (!json_is_integer(version))
        return ronchi_json_bad(check, "container_version", "must be an integer");
    if (json_integer_value(version) != 1)
        return ronchi_fail(
            check->err, RONCHI_ERR_FORMAT, check->file, RONCHI_NO_OFFSET,
            "header $.container_version: version %lld is not known (known: 1); a newer Ronchi may read it",
            (long long)json_integer_value(version));
    const char *name = ronchi_json_text(json_object_get(header, "codec"));
    const char *profile = ronchi_json_text(json_object_get(header, "profile"));
    if (!name || !*name || strlen(name) > 63)
        return ronchi_json_bad(check, "codec", "must be a name of at most 63 characters");
    if (!profile || strcmp(name, profile) != 0)
        return ronchi_json_bad(check, "profile", "differs from $.codec \"%s\"", name);
    if (codec)
        memcpy(codec, name, strlen(name) + 1);
    return RONCHI_OK;
}

static ronchi_status check_shape(const ronchi_json_check *check, const json_t *header, ronchi_shape *out)
{
    const json_t *list = json_object_get(header, "shape");
    uint64_t size[4];
    bool ok = json_is_array(list) && json_array_size(list) == 4;
    for (size_t i = 0; ok && i < 4; i++)
        ok = ronchi_json_count(json_array_get(list, i), 1, &size[i]) && size[i] <= SIZE_MAX;
    if (!ok)
        return ronchi_json_bad(check, "shape", "must be four positive integers");
    ronchi_shape shape = {(size_t)size[0], (size_t)size[1], (size_t)size[2], (size_t)size[3]};
    size_t elements;
    if (!ronchi_shape_elements(&shape, &elements) || elements > SIZE_MAX / 16)
        return ronchi_json_bad(check, "shape", "%zu x %zu x %zu x %zu counts are more than can be addressed",
                               shape.scan_rows, shape.scan_cols, shape.det_rows, shape.det_cols);
    if (out)
        *out = shape;
    return RONCHI_OK;
}

static ronchi_status check_dtype(const ronchi_json_check *check, const json_t *header, ronchi_dtype *out)
{
    static const ronchi_dtype known[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32, RONCHI_F32};
    const char *name = ronchi_json_text(json_object_get(header, "dtype"));
    for (size_t i = 0; name && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, ronchi_dtype_name(known[i])) == 0) {
            if (out)
                *out = known[i];
            return RONCHI_OK;
        }
    return ronchi_json_bad(check, "dtype", "\"%.40s\" is none of uint8, uint16, uint32, float32", name ? name : "");
}

ronchi_status ronchi_qem_check_header(const json_t *header, const char *file, ronchi_shape *shape, ronchi_dtype *dtype,
                                      char *codec, ronchi_error *err)
{
    const ronchi_json_check check = {file, err};
    ronchi_status status = check_container(&check, header, codec);
    if (status == RONCHI_OK)
        status = check_shape(&check, header, shape);
    if (status == RONCHI_OK)
        status = check_dtype(&check, header, dtype);
    const json_t *metadata = json_object_get(header, "metadata");
    if (status == RONCHI_OK && metadata && !json_is_object(metadata))
        status = ronchi_json_bad(&check, "metadata", "must be an object");
    return status == RONCHI_OK ? ronchi_scientific_check(header, file, err) : status;
}

json_t *ronchi_qem_extra_fields(const json_t *header)
{
    static const char *const defined[] = {"container",      "container_version",
                                          "codec",          "profile",
                                          "version",        "interval",
                                          "shape",          "dtype",
                                          "valid",          "chunks",
                                          "bytes",          "sha256",
                                          "metadata",       "scientific_metadata",
                                          "logical_sha256", "chunk_bytes",
                                          "sum_index"};
    json_t *extra = json_deep_copy(header);
    for (size_t i = 0; extra && i < sizeof defined / sizeof defined[0]; i++)
        json_object_del(extra, defined[i]);
    return extra;
}

/* -------------------------------------------------------------------------------------------------------- open */

/* The size in the header against the size of the file. */
static ronchi_status check_extent(ronchi_qem *qem, size_t header_size, ronchi_error *err)
{
    const ronchi_json_check check = {qem->input.path, err};
    qem->body_start = RONCHI_QEM_PREFIX + (uint64_t)header_size;
    uint64_t have = qem->input.size_bytes - qem->body_start;
    if (!ronchi_json_count(json_object_get(qem->header, "bytes"), 1, &qem->body_bytes))
        return ronchi_json_bad(&check, "bytes", "must be a positive integer");
    if (qem->body_bytes > have)
        return too_short(&qem->input, qem->body_bytes - have, "", "body", err);
    if (qem->body_bytes < have)
        return ronchi_fail(
            err, RONCHI_ERR_DATA, qem->input.path, qem->body_start + qem->body_bytes,
            "%llu bytes too many after the body, which ends at byte %llu: something was appended; take another "
            "copy",
            (unsigned long long)(have - qem->body_bytes), (unsigned long long)(qem->body_start + qem->body_bytes));
    return RONCHI_OK;
}

ronchi_status ronchi_qem_open(ronchi_context *context, const char *path, ronchi_qem *out, ronchi_error *err)
{
    memset(out, 0, sizeof *out);
    out->context = context;
    size_t header_size = 0;
    ronchi_status status = ronchi_input_open(path, &out->input, err);
    if (status == RONCHI_OK)
        status = read_header(&out->input, &out->header, &header_size, err);
    if (status == RONCHI_OK)
        status = check_extent(out, header_size, err);
    if (status == RONCHI_OK)
        status = ronchi_qem_digests_load(out, err);
    if (status == RONCHI_OK)
        status = ronchi_qem_check_header(out->header, out->input.path, &out->shape, &out->dtype, out->codec, err);
    if (status != RONCHI_OK)
        ronchi_qem_close(out);
    return status;
}

void ronchi_qem_close(ronchi_qem *qem)
{
    if (!qem)
        return;
    ronchi_input_close(&qem->input);
    ronchi_qem_digests_free(qem);
    json_decref(qem->header);
    qem->header = NULL;
}
