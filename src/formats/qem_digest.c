/* SPDX-License-Identifier: MIT */
/*
 * qem_digest.c - SHA-256 of headers and of 64 MiB body blocks.
 *
 * A block is checked by whoever first asks for one of its bytes: the bytes handed out then are the bytes that were
 * hashed. Hashing is what costs, so a reader that meets an unchecked block checks as many blocks ahead as there are
 * workers.
 */
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/qem_internal.h"

enum { PIECE = 1 << 20 }; /* bytes read and hashed at a time */

typedef struct digests {
    size_t n_blocks;
    uint8_t (*want)[RONCHI_SHA256_SIZE];
    atomic_uchar *checked; /* 1: the digest was right */
} digests;

bool ronchi_sha256(const void *bytes, size_t size, uint8_t out[RONCHI_SHA256_SIZE])
{
    return EVP_Digest(bytes, size, out, NULL, EVP_sha256(), NULL) == 1;
}

void ronchi_sha256_hex(const uint8_t digest[RONCHI_SHA256_SIZE], char out[2 * RONCHI_SHA256_SIZE + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < RONCHI_SHA256_SIZE; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * RONCHI_SHA256_SIZE] = 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ronchi_sha256_unhex(const char *text, uint8_t out[RONCHI_SHA256_SIZE])
{
    if (strlen(text) != 2 * RONCHI_SHA256_SIZE)
        return false;
    for (size_t i = 0; i < RONCHI_SHA256_SIZE; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------- the list */

void ronchi_qem_digests_free(ronchi_qem *qem)
{
    digests *d = qem->digests;
    if (d) {
        free(d->want);
        free(d->checked);
        free(d);
    }
    qem->digests = NULL;
}

static ronchi_status no_memory(const ronchi_qem *qem, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, qem->input.path, RONCHI_NO_OFFSET,
                       "no memory for the digests of the body");
}

ronchi_status ronchi_qem_digests_load(ronchi_qem *qem, ronchi_error *err)
{
    const ronchi_json_check check = {qem->input.path, err};
    const json_t *list = json_object_get(qem->header, "sha256");
    uint64_t expected = qem->body_bytes / RONCHI_QEM_DIGEST_BLOCK + (qem->body_bytes % RONCHI_QEM_DIGEST_BLOCK != 0);
    if (!json_is_array(list) || json_array_size(list) != expected)
        return ronchi_json_bad(&check, "sha256", "must be a list of %llu digests for a body of %llu bytes, has %zu",
                               (unsigned long long)expected, (unsigned long long)qem->body_bytes,
                               json_array_size(list));
    digests *d = calloc(1, sizeof *d);
    if (!d)
        return no_memory(qem, err);
    qem->digests = d;
    d->n_blocks = json_array_size(list);
    d->want = calloc(d->n_blocks, sizeof *d->want);
    d->checked = calloc(d->n_blocks, sizeof *d->checked);
    if (!d->want || !d->checked)
        return no_memory(qem, err);
    for (size_t i = 0; i < d->n_blocks; i++) {
        const char *text = ronchi_json_text(json_array_get(list, i));
        char place[48];
        snprintf(place, sizeof place, "sha256[%zu]", i);
        if (!text || !ronchi_sha256_unhex(text, d->want[i]))
            return ronchi_json_bad(&check, place, "not 64 lower-case hexadecimal digits");
        atomic_init(&d->checked[i], 0);
    }
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------------- checking */

/* A request for bytes of the body; blocks of a pass may lie outside of it, then they are only checked. */
typedef struct pass {
    ronchi_qem *qem;
    uint64_t offset;
    char *dst;
    size_t size;
    size_t first; /* block of item 0 */
} pass;

/* Where a piece [at, at + n) of the body and the request overlap: bytes to copy, from where in the piece, to where in
 * dst. */
static size_t overlap(const pass *p, uint64_t at, size_t n, size_t *from, size_t *to)
{
    uint64_t end = p->offset + p->size, piece_end = at + n;
    uint64_t first = at > p->offset ? at : p->offset, last = piece_end < end ? piece_end : end;
    if (last <= first)
        return 0;
    *from = (size_t)(first - at);
    *to = (size_t)(first - p->offset);
    return (size_t)(last - first);
}

/* Reads, hashes and (where asked for) copies one block in pieces. */
static ronchi_status hash_block(const pass *p, uint64_t begin, uint64_t end, char *piece, EVP_MD_CTX *hash,
                                uint8_t have[RONCHI_SHA256_SIZE], ronchi_error *err)
{
    bool ok = EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1;
    for (uint64_t at = begin; ok && at < end;) {
        size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE, from, to;
        ronchi_status status = ronchi_input_read(&p->qem->input, p->qem->body_start + at, piece, n, err);
        if (status != RONCHI_OK)
            return status;
        ok = EVP_DigestUpdate(hash, piece, n) == 1;
        size_t wanted = overlap(p, at, n, &from, &to);
        if (wanted)
            memcpy(p->dst + to, piece + from, wanted);
        at += n;
    }
    if (!ok || EVP_DigestFinal_ex(hash, have, NULL) != 1)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, p->qem->input.path, RONCHI_NO_OFFSET,
                           "libcrypto cannot compute SHA-256");
    return RONCHI_OK;
}

static ronchi_status check_block(const pass *p, size_t item, ronchi_error *err)
{
    digests *d = p->qem->digests;
    size_t block = p->first + item;
    uint64_t begin = (uint64_t)block * RONCHI_QEM_DIGEST_BLOCK, end = begin + RONCHI_QEM_DIGEST_BLOCK;
    if (end > p->qem->body_bytes)
        end = p->qem->body_bytes;
    if (atomic_load_explicit(&d->checked[block], memory_order_acquire)) {
        size_t from, to, wanted = overlap(p, begin, (size_t)(end - begin), &from, &to);
        return wanted ? ronchi_input_read(&p->qem->input, p->qem->body_start + begin + from, p->dst + to, wanted, err)
                      : RONCHI_OK;
    }
    char *piece = malloc(PIECE);
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    uint8_t have[RONCHI_SHA256_SIZE];
    ronchi_status status = piece && hash ? hash_block(p, begin, end, piece, hash, have, err) : no_memory(p->qem, err);
    EVP_MD_CTX_free(hash);
    free(piece);
    if (status != RONCHI_OK)
        return status;
    if (memcmp(have, d->want[block], sizeof have) != 0) {
        uint64_t at = p->qem->body_start + begin;
        return ronchi_fail(
            err, RONCHI_ERR_DATA, p->qem->input.path, at,
            "body block %zu (file bytes %llu to %llu) does not match its SHA-256: it was damaged; take another "
            "copy, or convert the original acquisition again",
            block, (unsigned long long)at, (unsigned long long)(p->qem->body_start + end));
    }
    atomic_store_explicit(&d->checked[block], 1, memory_order_release);
    return RONCHI_OK;
}

static ronchi_status check_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    return check_block(user, item, err);
}

/* Blocks ahead of the request: what is wrong with them concerns whoever asks for their bytes. */
static ronchi_status read_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    const pass *p = user;
    bool wanted = (uint64_t)(p->first + item) * RONCHI_QEM_DIGEST_BLOCK < p->offset + p->size;
    ronchi_status status = check_block(p, item, wanted ? err : NULL);
    return wanted ? status : RONCHI_OK;
}

ronchi_status ronchi_qem_read_body(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err)
{
    ronchi_qem *qem = user;
    if (offset > qem->body_bytes || size > qem->body_bytes - offset)
        return ronchi_fail(err, RONCHI_ERR_DATA, qem->input.path, qem->body_start + qem->body_bytes,
                           "%zu bytes at byte %llu of the body reach beyond its %llu bytes", size,
                           (unsigned long long)offset, (unsigned long long)qem->body_bytes);
    if (!size)
        return RONCHI_OK;
    digests *d = qem->digests;
    size_t first = (size_t)(offset / RONCHI_QEM_DIGEST_BLOCK),
           last = (size_t)((offset + size - 1) / RONCHI_QEM_DIGEST_BLOCK);
    size_t unchecked = first;
    while (unchecked <= last && atomic_load_explicit(&d->checked[unchecked], memory_order_acquire))
        unchecked++;
    if (unchecked > last)
        return ronchi_input_read(&qem->input, qem->body_start + offset, dst, size, err);
    size_t ahead = first + ronchi_context_threads(qem->context);
    size_t stop = ronchi_min_size(ahead > last + 1 ? ahead : last + 1, d->n_blocks);
    pass p = {qem, offset, dst, size, first};
    return ronchi_parallel_for(qem->context, stop - first, read_item, &p, err);
}

ronchi_status ronchi_qem_check_body(ronchi_qem *qem, ronchi_error *err)
{
    digests *d = qem->digests;
    size_t group = (size_t)4 * ronchi_context_threads(qem->context);
    for (size_t first = 0; first < d->n_blocks; first += group) {
        uint64_t done = (uint64_t)first * RONCHI_QEM_DIGEST_BLOCK;
        ronchi_progress progress = {"check", done, qem->body_bytes, "bytes", 1};
        ronchi_status status = ronchi_report(qem->context, &progress, err);
        if (status != RONCHI_OK)
            return status;
        pass p = {qem, 0, NULL, 0, first};
        status = ronchi_parallel_for(qem->context, ronchi_min_size(group, d->n_blocks - first), check_item, &p, err);
        if (status != RONCHI_OK)
            return status;
    }
    ronchi_progress progress = {"check", qem->body_bytes, qem->body_bytes, "bytes", 1};
    return ronchi_report(qem->context, &progress, err);
}
