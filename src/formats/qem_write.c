/* SPDX-License-Identifier: MIT */
/*
 * qem_write.c - writes a container: digests of the parts in memory, envelope, header, body, then the name.
 *
 * The header needs the digests of the body that follows it.  Hashing comes first, straight from the parts and in
 * parallel; so the body is written once and in order.
 */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "formats/qem_internal.h"

enum { GATHER = 1 << 20 }; /* parts smaller than this are written together */

typedef struct body {
    const char *path;
    size_t n_parts;
    ronchi_qem_part *parts;
    uint64_t *ends; /* body offset after each part */
    uint64_t bytes;
    size_t n_blocks;
    uint8_t (*digests)[RONCHI_SHA256_SIZE];
} body;

static ronchi_status no_memory(const char *path, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory to write the container");
}

static ronchi_status collect_parts(body *b, size_t n_parts, ronchi_qem_part_fn part, void *user, ronchi_error *err)
{
    b->n_parts = n_parts;
    b->parts = calloc(n_parts ? n_parts : 1, sizeof *b->parts);
    b->ends = calloc(n_parts ? n_parts : 1, sizeof *b->ends);
    if (!b->parts || !b->ends)
        return no_memory(b->path, err);
    for (size_t i = 0; i < n_parts; i++) {
        ronchi_qem_part p = part(user, i);
        if (p.gap_bytes > (uint64_t)INT64_MAX - b->bytes || p.size > (uint64_t)INT64_MAX - b->bytes - p.gap_bytes)
            return ronchi_fail(err, RONCHI_ERR_ARGUMENT, b->path, RONCHI_NO_OFFSET,
                               "the body is larger than a file can be");
        b->parts[i] = p;
        b->bytes += (uint64_t)p.gap_bytes + p.size;
        b->ends[i] = b->bytes;
    }
    if (b->bytes == 0)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, b->path, RONCHI_NO_OFFSET, "the body is empty");
    b->n_blocks = (size_t)((b->bytes + RONCHI_QEM_DIGEST_BLOCK - 1) / RONCHI_QEM_DIGEST_BLOCK);
    b->digests = calloc(b->n_blocks, sizeof *b->digests);
    return b->digests ? RONCHI_OK : no_memory(b->path, err);
}

static void free_body(body *b)
{
    free(b->parts);
    free(b->ends);
    free(b->digests);
}

/* ----------------------------------------------------------------------------------------------------- digests */

/* The first part that ends after 'at'. */
static size_t part_at(const body *b, uint64_t at)
{
    size_t low = 0, high = b->n_parts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->ends[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool hash_zeros(EVP_MD_CTX *hash, uint64_t n)
{
    static const uint8_t zeros[4096];
    bool ok = true;
    for (; ok && n; n -= n < sizeof zeros ? n : sizeof zeros)
        ok = EVP_DigestUpdate(hash, zeros, n < sizeof zeros ? (size_t)n : sizeof zeros) == 1;
    return ok;
}

static bool hash_range(const body *b, uint64_t begin, uint64_t end, EVP_MD_CTX *hash)
{
    bool ok = true;
    uint64_t at = begin;
    for (size_t i = part_at(b, begin); ok && at < end; i++) {
        const ronchi_qem_part *p = &b->parts[i];
        uint64_t data = b->ends[i] - p->size, stop = b->ends[i] < end ? b->ends[i] : end;
        if (at < data) {
            uint64_t gap_end = data < end ? data : end;
            ok = hash_zeros(hash, gap_end - at);
            at = gap_end;
        }
        if (ok && at < stop)
            ok = EVP_DigestUpdate(hash, (const char *)p->data + (at - data), (size_t)(stop - at)) == 1;
        at = stop > at ? stop : at;
    }
    return ok;
}

typedef struct group {
    body *body;
    size_t first;
} group;

static ronchi_status hash_block(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    const group *g = user;
    body *b = g->body;
    size_t block = g->first + item;
    uint64_t begin = (uint64_t)block * RONCHI_QEM_DIGEST_BLOCK;
    uint64_t end = b->bytes - begin < RONCHI_QEM_DIGEST_BLOCK ? b->bytes : begin + RONCHI_QEM_DIGEST_BLOCK;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    if (!hash)
        return no_memory(b->path, err);
    bool ok = EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 && hash_range(b, begin, end, hash) &&
              EVP_DigestFinal_ex(hash, b->digests[block], NULL) == 1;
    EVP_MD_CTX_free(hash);
    return ok ? RONCHI_OK
              : ronchi_fail(err, RONCHI_ERR_INTERNAL, b->path, RONCHI_NO_OFFSET, "libcrypto cannot compute SHA-256");
}

static ronchi_status hash_body(ronchi_context *context, body *b, ronchi_error *err)
{
    size_t many = (size_t)4 * ronchi_context_threads(context);
    for (size_t first = 0; first < b->n_blocks; first += many) {
        group g = {b, first};
        ronchi_progress progress = {"digest", (uint64_t)first * RONCHI_QEM_DIGEST_BLOCK, b->bytes, "bytes", 0};
        ronchi_status status = ronchi_report(context, &progress, err);
        if (status == RONCHI_OK)
            status = ronchi_parallel_for(context, ronchi_min_size(many, b->n_blocks - first), hash_block, &g, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------ header */

static ronchi_status header_text(const body *b, const json_t *header, char **out, ronchi_error *err)
{
    json_t *whole = json_copy((json_t *)header); /* shallow: only top-level fields are added */
    json_t *list = json_array();
    int failed = !whole || !list;
    for (size_t i = 0; !failed && i < b->n_blocks; i++) {
        char hex[2 * RONCHI_SHA256_SIZE + 1];
        ronchi_sha256_hex(b->digests[i], hex);
        failed = json_array_append_new(list, json_string(hex));
    }
    if (!failed)
        failed = json_object_set(whole, "sha256", list) ||
                 json_object_set_new(whole, "bytes", json_integer((json_int_t)b->bytes));
    *out = failed ? NULL : json_dumps(whole, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
    json_decref(list);
    json_decref(whole);
    return *out ? RONCHI_OK : no_memory(b->path, err);
}

static void put_u64(uint8_t *bytes, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static ronchi_status write_header(ronchi_output *output, const char *text, ronchi_error *err)
{
    uint8_t prefix[RONCHI_QEM_PREFIX];
    size_t size = strlen(text); /* ASCII: a NUL in a string is written as an escape */
    if (size > RONCHI_QEM_MAX_HEADER)
        return ronchi_fail(
            err, RONCHI_ERR_RANGE, output->path, RONCHI_NO_OFFSET,
            "the header would have %zu bytes, more than the 16777216 that a .qem allows: keep less metadata (do "
            "not embed the original)",
            size);
    memcpy(prefix, "QEMDATA1", 8);
    put_u64(prefix + 8, size);
    put_u64(prefix + 16, RONCHI_QEM_PREFIX + size);
    if (!ronchi_sha256(text, size, prefix + 24))
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, output->path, RONCHI_NO_OFFSET,
                           "libcrypto cannot compute SHA-256");
    ronchi_status status = ronchi_output_write(output, prefix, sizeof prefix, err);
    return status == RONCHI_OK ? ronchi_output_write(output, text, size, err) : status;
}

/* -------------------------------------------------------------------------------------------------------- body */

/* Small parts collect here, so that many of them are one call of the operating system. */
typedef struct writer {
    ronchi_context *context;
    ronchi_output *output;
    uint64_t written, total; /* of the body */
    size_t held;
    char *buffer; /* GATHER bytes */
} writer;

static ronchi_status flush(writer *w, ronchi_error *err)
{
    ronchi_status status = ronchi_output_write(w->output, w->buffer, w->held, err);
    w->held = 0;
    return status;
}

static ronchi_status put(writer *w, const char *data, uint64_t size, ronchi_error *err)
{
    ronchi_status status = RONCHI_OK;
    while (size && status == RONCHI_OK) {
        size_t room = GATHER - w->held, n = size < room ? (size_t)size : room;
        if (data && w->held == 0 &&
            size >= GATHER) { /* a large part goes straight out, in pieces that let progress be seen */
            n = size < 16 * (uint64_t)GATHER ? (size_t)size : 16 * (size_t)GATHER;
            status = ronchi_output_write(w->output, data, n, err);
        } else {
            if (data)
                memcpy(w->buffer + w->held, data, n);
            else
                memset(w->buffer + w->held, 0, n);
            w->held += n;
            if (w->held == GATHER)
                status = flush(w, err);
        }
        data = data ? data + n : NULL;
        size -= n;
        w->written += n;
        if (w->held == 0 && status == RONCHI_OK) {
            ronchi_progress progress = {"save", w->written, w->total, "bytes", 0};
            status = ronchi_report(w->context, &progress, err);
        }
    }
    return status;
}

static ronchi_status write_body(ronchi_context *context, const body *b, ronchi_output *output, ronchi_error *err)
{
    writer w = {context, output, 0, b->bytes, 0, malloc(GATHER)};
    ronchi_status status = w.buffer ? RONCHI_OK : no_memory(b->path, err);
    for (size_t i = 0; i < b->n_parts && status == RONCHI_OK; i++) {
        status = put(&w, NULL, b->parts[i].gap_bytes, err);
        if (status == RONCHI_OK)
            status = put(&w, b->parts[i].data, b->parts[i].size, err);
    }
    if (status == RONCHI_OK)
        status = flush(&w, err);
    free(w.buffer);
    ronchi_progress progress = {"save", b->bytes, b->bytes, "bytes", 0};
    return status == RONCHI_OK ? ronchi_report(context, &progress, err) : status;
}

static ronchi_status write_all(ronchi_context *context, const char *path, int force, const body *b, const char *text,
                               ronchi_error *err)
{
    ronchi_output output;
    ronchi_status status = ronchi_output_open(path, force, &output, err);
    if (status != RONCHI_OK)
        return status;
    status = write_header(&output, text, err);
    if (status == RONCHI_OK)
        status = write_body(context, b, &output, err);
    if (status == RONCHI_OK)
        status = ronchi_output_commit(&output, err);
    if (status != RONCHI_OK)
        ronchi_output_abort(&output);
    return status;
}

ronchi_status ronchi_qem_write(ronchi_context *context, const char *path, int force, const json_t *header,
                               size_t n_parts, ronchi_qem_part_fn part, void *user, ronchi_error *err)
{
    ronchi_stat st;
    ronchi_status status = ronchi_stat_path(path, &st, err);
    if (status != RONCHI_OK)
        return status;
    if (st.exists && !force) /* before the digests take their time; asked again at open and at commit */
        return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET,
                           "exists already: give --force to replace it, or another name");
    status = ronchi_qem_check_header(header, path, NULL, NULL, NULL, err);
    if (status != RONCHI_OK)
        return status;
    body b = {0};
    char *text = NULL;
    b.path = path;
    status = collect_parts(&b, n_parts, part, user, err);
    if (status == RONCHI_OK)
        status = hash_body(context, &b, err);
    if (status == RONCHI_OK)
        status = header_text(&b, header, &text, err);
    if (status == RONCHI_OK)
        status = write_all(context, path, force, &b, text, err);
    free(text);
    free_body(&b);
    return status;
}
