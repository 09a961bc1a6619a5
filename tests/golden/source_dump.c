/* SPDX-License-Identifier: MIT */
/*
 * source_dump.c - opens a source and prints what an independent program can compare: shape, dtype, flyback, flagged
 * pixels and the SHA-256 of all counts in scan order.  Errors and inspections are printed as one line.
 *
 *   source_dump PATH [--scan-shape R,C] [--flyback K] [--flyback-at start|end] [--skip N] [--dataset P] [--channel C]
 * [--window N]
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"

static int refuse(ronchi_status status, const ronchi_error *err)
{
    printf("ERROR %s %s\n", ronchi_status_name(status), err->message);
    return 0;
}

static ronchi_status hash_source(ronchi_source *source, uint64_t window, char hex[65], ronchi_error *err)
{
    size_t bytes = source->shape.det_rows * source->shape.det_cols * ronchi_dtype_size(source->dtype);
    uint64_t n = (uint64_t)source->shape.scan_rows * source->shape.scan_cols;
    uint8_t *frame = malloc(bytes), digest[32];
    ronchi_status status = RONCHI_OK;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
    for (uint64_t p = 0; p < n && status == RONCHI_OK; p += window) {
        uint64_t end = p + window < n ? p + window : n;
        uint64_t first = ronchi_source_frame(source, p), last = ronchi_source_frame(source, end - 1);
        ronchi_staged staged;
        status = source->format->stage(source, first, last - first + 1, &staged, err);
        for (uint64_t q = p; q < end && status == RONCHI_OK; q++) {
            status = source->format->decode(source, &staged, ronchi_source_frame(source, q), frame, err);
            EVP_DigestUpdate(hash, frame, bytes);
        }
        source->format->unstage(source, &staged);
    }
    EVP_DigestFinal_ex(hash, digest, NULL);
    EVP_MD_CTX_free(hash);
    free(frame);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return status;
}

int main(int argc, char **argv)
{
    ronchi_source_options options;
    ronchi_context *context;
    ronchi_source *source;
    ronchi_error err;
    uint64_t window = 50;
    ronchi_source_options_defaults(&options);
    if (argc < 2)
        return 2;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--scan-shape") == 0) {
            char *comma;
            options.scan_rows = strtoul(argv[i + 1], &comma, 10);
            options.scan_cols = *comma ? strtoul(comma + 1, NULL, 10) : 0;
        } else if (strcmp(argv[i], "--flyback") == 0) {
            options.flyback = atoi(argv[i + 1]);
        } else if (strcmp(argv[i], "--flyback-at") == 0) {
            options.flyback_at = strcmp(argv[i + 1], "end") == 0 ? RONCHI_FLYBACK_END : RONCHI_FLYBACK_START;
        } else if (strcmp(argv[i], "--skip") == 0) {
            options.skip = strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--dataset") == 0) {
            options.dataset = argv[i + 1];
        } else if (strcmp(argv[i], "--channel") == 0) {
            options.channel = argv[i + 1];
        } else if (strcmp(argv[i], "--window") == 0) {
            window = strtoul(argv[i + 1], NULL, 10);
        } else {
            return 2;
        }
    }
    if (ronchi_context_create(NULL, &context, &err) != RONCHI_OK)
        return 3;
    ronchi_status status = ronchi_source_open(context, argv[1], &options, &source, &err);
    if (status == RONCHI_OK) {
        char hex[65];
        status = hash_source(source, window, hex, &err);
        size_t flagged = 0, pixels = source->shape.det_rows * source->shape.det_cols;
        for (size_t i = 0; source->pixel_mask && i < pixels; i++)
            flagged += source->pixel_mask[i] != 0;
        if (status == RONCHI_OK)
            printf("%zu %zu %zu %zu %s %llu %zu %s\n", source->shape.scan_rows, source->shape.scan_cols,
                   source->shape.det_rows, source->shape.det_cols, ronchi_dtype_name(source->dtype),
                   (unsigned long long)source->flyback, flagged, hex);
        ronchi_source_close(source);
    }
    if (status != RONCHI_OK)
        refuse(status, &err);
    ronchi_context_destroy(context);
    return 0;
}
