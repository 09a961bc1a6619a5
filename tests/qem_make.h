/* SPDX-License-Identifier: MIT */
/* qem_make.h - small .qem containers for tests, built byte by byte so that any part of them can be wrong. */
#ifndef RONCHI_TESTS_QEM_MAKE_H
#define RONCHI_TESTS_QEM_MAKE_H

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/internal.h"
#include "formats/qem.h"
#include "test.h"

/* A body of 100 bytes: 0, 1, 2, ... */
enum { QEM_BODY = 100 };

static inline void qem_hex(const void *bytes, size_t size, char out[65])
{
    uint8_t digest[32];
    SHA256(bytes, size, digest);
    for (size_t i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static inline void qem_body(uint8_t body[QEM_BODY])
{
    for (size_t i = 0; i < QEM_BODY; i++)
        body[i] = (uint8_t)i;
}

/* A good header for that body, as a tree to damage. */
static inline json_t *qem_header(void)
{
    uint8_t body[QEM_BODY];
    char hex[65];
    qem_body(body);
    qem_hex(body, sizeof body, hex);
    json_t *header =
        json_pack("{s:s, s:i, s:s, s:s, s:i, s:[iiii], s:s, s:i, s:[s], s:{s:s}, s:{"
                  "s:s, s:[{s:s,s:i},{s:s,s:i},{s:s,s:i},{s:s,s:i}], s:{}, s:{}, s:{}, s:s, s:s, s:[], s:[{s:s,s:b}]}}",
                  "container", "quantem.qem", "container_version", 1, "codec", "ronchi-test", "profile", "ronchi-test",
                  "version", 1, "shape", 2, 3, 4, 5, "dtype", "uint16", "bytes", QEM_BODY, "sha256", hex, "metadata",
                  "title", "test", "scientific_metadata", "schema", "quantem.scientific-metadata/2", "axes", "name",
                  "scan_row", "size", 2, "name", "scan_column", "size", 3, "name", "detector_row", "size", 4, "name",
                  "detector_column", "size", 5, "electron_microscope", "calibration_overrides", "source_metadata",
                  "source_metadata_coverage", "reader-retained", "source_format", "unknown", "source_documents",
                  "processing", "operation", "lossless_storage", "changes_measurements", 0);
    assert_non_null(header);
    return header;
}

/* Any file: its bytes at 'path'. */
static inline void qem_put(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void qem_put_u64(uint8_t *bytes, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

/* Envelope around any JSON text and body; the caller frees the bytes. */
static inline uint8_t *qem_wrap(const char *text, size_t text_size, const void *body, size_t body_size, size_t *size)
{
    *size = 56 + text_size + body_size;
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    memcpy(bytes, "QEMDATA1", 8);
    qem_put_u64(bytes + 8, text_size);
    qem_put_u64(bytes + 16, 56 + text_size);
    SHA256((const uint8_t *)text, text_size, bytes + 24);
    memcpy(bytes + 56, text, text_size);
    if (body_size)
        memcpy(bytes + 56 + text_size, body, body_size);
    return bytes;
}

/* Writes a container with that JSON text and the usual body. */
static inline void qem_put_text(const char *path, const char *text)
{
    uint8_t body[QEM_BODY];
    size_t size;
    qem_body(body);
    uint8_t *bytes = qem_wrap(text, strlen(text), body, sizeof body, &size);
    qem_put(path, bytes, size);
    free(bytes);
}

static inline void qem_put_header(const char *path, const json_t *header)
{
    char *text = json_dumps(header, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
    assert_non_null(text);
    qem_put_text(path, text);
    free(text);
}

/* A fresh folder for files of a test. */
static inline void qem_folder(char out[64])
{
    snprintf(out, 64, "/tmp/ronchi-qem-XXXXXX");
    assert_non_null(mkdtemp(out));
}

static inline ronchi_context *qem_context(uint32_t threads)
{
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = threads;
    ronchi_context *context;
    assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
    return context;
}

#endif
