/* SPDX-License-Identifier: MIT */
/*
 * qem_embed.c - keeps a small original file whole inside header "metadata":
 *
 *   "ronchi_embedded_source": {"name", "size_bytes", "sha256", "encoding": "zlib+base64", "data"}
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/qem_internal.h"

static const char place[] = "metadata." RONCHI_QEM_EMBED_KEY;

/* --------------------------------------------------------------------------------------------------- embedding */

static ronchi_status no_memory(const char *file, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, file, RONCHI_NO_OFFSET, "no memory for the embedded original");
}

static ronchi_status read_whole(const char *path, uint8_t **bytes, size_t *size, ronchi_error *err)
{
    ronchi_input input;
    *bytes = NULL;
    ronchi_status status = ronchi_input_open(path, &input, err);
    if (status != RONCHI_OK)
        return status;
    if (input.size_bytes > RONCHI_EMBED_MAX_BYTES)
        status = ronchi_fail(err, RONCHI_ERR_RANGE, path, RONCHI_NO_OFFSET,
                             "%llu bytes are more than the %d that can be embedded: keep the file beside the .qem",
                             (unsigned long long)input.size_bytes, RONCHI_EMBED_MAX_BYTES);
    *size = status == RONCHI_OK ? (size_t)input.size_bytes : 0;
    if (status == RONCHI_OK) {
        *bytes = malloc(*size ? *size : 1);
        status = *bytes ? ronchi_input_read(&input, 0, *bytes, *size, err) : no_memory(path, err);
    }
    ronchi_input_close(&input);
    return status;
}

/* zlib, then base64; NULL when memory ran out. */
static char *pack_bytes(const uint8_t *bytes, size_t size)
{
    uLongf packed_size = compressBound((uLong)size);
    uint8_t *packed = malloc(packed_size);
    char *text = NULL;
    if (packed && compress2(packed, &packed_size, bytes, (uLong)size, 9) == Z_OK) {
        text = malloc((packed_size + 2) / 3 * 4 + 1);
        if (text)
            EVP_EncodeBlock((unsigned char *)text, packed, (int)packed_size);
    }
    free(packed);
    return text;
}

/* The name without its folder. */
static json_t *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return ronchi_json_name(slash ? slash + 1 : path);
}

ronchi_status ronchi_qem_embed(json_t *metadata, const char *path, ronchi_error *err)
{
    uint8_t *bytes, digest[RONCHI_SHA256_SIZE];
    size_t size;
    if (!json_is_object(metadata))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "metadata is not an object");
    ronchi_status status = read_whole(path, &bytes, &size, err);
    char *text = status == RONCHI_OK ? pack_bytes(bytes, size) : NULL;
    if (status == RONCHI_OK && (!text || !ronchi_sha256(bytes, size, digest)))
        status = no_memory(path, err);
    if (status == RONCHI_OK) {
        char hex[2 * RONCHI_SHA256_SIZE + 1];
        ronchi_sha256_hex(digest, hex);
        json_t *object = json_pack("{s:o, s:I, s:s, s:s, s:s}", "name", base_name(path), "size_bytes", (json_int_t)size,
                                   "sha256", hex, "encoding", "zlib+base64", "data", text);
        if (json_object_set_new(metadata, RONCHI_QEM_EMBED_KEY, object) != 0)
            status = no_memory(path, err);
    }
    free(text);
    free(bytes);
    return status;
}

/* -------------------------------------------------------------------------------------------------- extracting */

static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Strict base64: full groups of four, '=' only at the end, unused bits zero.  The bytes are written to out, their
 * number to *size. */
static bool unbase64(const char *text, size_t length, uint8_t *out, size_t *size)
{
    size_t n = 0;
    if (length % 4)
        return false;
    for (size_t i = 0; i < length; i += 4) {
        size_t pad = i + 4 < length ? 0 : (size_t)(text[i + 3] == '=') + (text[i + 3] == '=' && text[i + 2] == '=');
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++) {
            int value = k + pad >= 4 ? 0 : sextet(text[i + k]);
            if (value < 0)
                return false;
            bits = bits << 6 | (uint32_t)value;
        }
        if (bits & (((uint32_t)1 << (8 * pad)) - 1))
            return false;
        for (size_t k = 0; k < 3 - pad; k++)
            out[n++] = (uint8_t)(bits >> (16 - 8 * k));
    }
    *size = n;
    return true;
}

/* Gives exactly 'size' bytes, or NULL with *wrong. */
static uint8_t *unpack_bytes(const json_t *data, size_t size, const char **wrong)
{
    size_t length = json_string_length(data), packed_size = 0;
    uint8_t *packed = malloc(length / 4 * 3 + 3), *bytes = malloc(size ? size : 1);
    uLongf got = (uLongf)size;
    *wrong = NULL;
    if (!packed || !bytes)
        *wrong = "no memory";
    else if (!unbase64(json_string_value(data), length, packed, &packed_size))
        *wrong = "its data is not base64";
    else if (uncompress(bytes, &got, packed, (uLong)packed_size) != Z_OK || got != size)
        *wrong = "its data does not decompress to its size";
    free(packed);
    if (*wrong) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* A name that cannot lead out of a folder. */
static bool plain_name(const char *name)
{
    return name && *name && !strpbrk(name, "/\\") && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

ronchi_status ronchi_qem_extract(const json_t *metadata, char *name, size_t name_size, uint8_t **bytes, size_t *size,
                                 ronchi_error *err)
{
    const ronchi_json_check check = {NULL, err};
    const json_t *object = json_object_get(metadata, RONCHI_QEM_EMBED_KEY), *data = json_object_get(object, "data");
    *bytes = NULL;
    *size = 0;
    if (!object)
        return ronchi_fail(err, RONCHI_ERR_NOT_FOUND, NULL, RONCHI_NO_OFFSET, "no original is embedded");
    const char *stored_name = ronchi_json_text(json_object_get(object, "name"));
    const char *encoding = ronchi_json_text(json_object_get(object, "encoding"));
    const char *hex = ronchi_json_text(json_object_get(object, "sha256"));
    uint8_t want[RONCHI_SHA256_SIZE], have[RONCHI_SHA256_SIZE];
    uint64_t stored_size;
    if (!plain_name(stored_name) || strlen(stored_name) >= name_size)
        return ronchi_json_bad(&check, place, "its name must be a file name without folder");
    if (!encoding || strcmp(encoding, "zlib+base64") != 0)
        return ronchi_json_bad(&check, place, "its encoding must be zlib+base64");
    if (!ronchi_json_count(json_object_get(object, "size_bytes"), 0, &stored_size) ||
        stored_size > RONCHI_EMBED_MAX_BYTES)
        return ronchi_json_bad(&check, place, "its size_bytes must be 0 to %d", RONCHI_EMBED_MAX_BYTES);
    if (!hex || !ronchi_sha256_unhex(hex, want) || !json_is_string(data))
        return ronchi_json_bad(&check, place, "needs sha256 and data");
    const char *wrong;
    uint8_t *got = unpack_bytes(data, (size_t)stored_size, &wrong);
    if (!got)
        return ronchi_json_bad(&check, place, "%s", wrong);
    if (!ronchi_sha256(got, (size_t)stored_size, have) || memcmp(have, want, sizeof have) != 0) {
        free(got);
        return ronchi_json_bad(&check, place, "the bytes do not match its sha256");
    }
    memcpy(name, stored_name, strlen(stored_name) + 1);
    *bytes = got;
    *size = (size_t)stored_size;
    return RONCHI_OK;
}
