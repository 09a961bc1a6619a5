/* SPDX-License-Identifier: MIT */
/*
 * qem_fuzz.c - libFuzzer target: no bytes may crash the reader of the container, and what it accepts it must be able to
 * write and read again unchanged.
 *
 * An input that begins with QEMDATA is taken as a whole file.  Anything else is taken as the JSON of a header, inside
 * an envelope with right sizes and digests, so that the search gets behind them.  The body is 1, 2, 3, 4. Whole files
 * meet the digest of the header, which no search can guess: their header digest is put right first.
 */
#define _GNU_SOURCE
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/internal.h"
#include "formats/qem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_u64(uint8_t *bytes, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

/* Makes the digest in the prefix that of the header, where the sizes allow it. */
static void put_digest(uint8_t *file, size_t size)
{
    uint64_t length = 0;
    if (size < 56)
        return;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | file[8 + i];
    if (length <= size - 56)
        SHA256(file + 56, (size_t)length, file + 24);
}

/* The file that the input stands for; the caller frees it. */
static uint8_t *make_file(const uint8_t *data, size_t size, size_t *file_size)
{
    static const uint8_t body[4] = {1, 2, 3, 4};
    bool whole = size >= 7 && memcmp(data, "QEMDATA", 7) == 0;
    *file_size = whole ? size : 56 + size + sizeof body;
    uint8_t *file = malloc(*file_size);
    if (!file)
        abort();
    if (whole) {
        memcpy(file, data, size);
    } else {
        memcpy(file, "QEMDATA1", 8);
        put_u64(file + 8, size);
        put_u64(file + 16, 56 + size);
        memcpy(file + 56, data, size);
        memcpy(file + 56 + size, body, sizeof body);
    }
    put_digest(file, *file_size);
    return file;
}

static ronchi_qem_part one_part(void *user, size_t index)
{
    (void)index;
    return *(ronchi_qem_part *)user;
}

/* What was accepted can be converted, described, written and opened again. */
static void use(ronchi_context *context, ronchi_qem *qem)
{
    json_t *scientific, *again;
    ronchi_calibration calibration;
    ronchi_error err;
    if (ronchi_scientific_canonical(json_object_get(qem->header, "scientific_metadata"), &scientific, &err) !=
        RONCHI_OK)
        abort();
    ronchi_scientific_calibration(scientific, &calibration);
    size_t n_raw;
    ronchi_raw_pixel *raw;
    const json_t *table = ronchi_scientific_extension_get(scientific, "flagged_raw");
    if (table && ronchi_raw_decode(table, 100, 100, &n_raw, &raw, &err) == RONCHI_OK)
        ronchi_raw_free(n_raw, raw);
    char name[256];
    uint8_t *bytes;
    size_t size;
    if (ronchi_qem_extract(json_object_get(qem->header, "metadata"), name, sizeof name, &bytes, &size, &err) ==
        RONCHI_OK)
        free(bytes);
    json_object_set_new(qem->header, "scientific_metadata", scientific);
    static uint8_t body[4] = {1, 2, 3, 4};
    ronchi_qem_part part = {3, body, sizeof body};
    static const char path[] = "/dev/shm/ronchi-qem-fuzz.qem";
    char mine[64];
    snprintf(mine, sizeof mine, "%s.%ld", path, (long)getpid());
    ronchi_qem back;
    ronchi_status status = ronchi_qem_write(context, mine, 1, qem->header, 1, one_part, &part, &err);
    if (status != RONCHI_OK || ronchi_qem_open(context, mine, &back, &err) != RONCHI_OK)
        abort();
    unlink(mine);
    again = json_deep_copy(back.header);
    json_object_set(again, "bytes", json_object_get(qem->header, "bytes"));
    json_object_set(again, "sha256", json_object_get(qem->header, "sha256"));
    if (!json_equal(again, qem->header))
        abort();
    json_decref(again);
    ronchi_qem_close(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ronchi_context *context; /* one for all inputs: this is a program of its own */
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = 1;
    if (!context && ronchi_context_create(&options, &context, NULL) != RONCHI_OK)
        abort();
    size_t file_size;
    uint8_t *file = make_file(data, size, &file_size);
    int fd = memfd_create("qem", 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, file, file_size) != (ssize_t)file_size)
        abort();
    ronchi_qem qem;
    ronchi_error err;
    ronchi_inspection inspection;
    memset(&inspection, 0, sizeof inspection);
    if (ronchi_qem_open(context, path, &qem, &err) == RONCHI_OK) {
        (void)ronchi_qem_check_body(&qem, &err);
        use(context, &qem);
        ronchi_qem_close(&qem);
    }
    (void)ronchi_qem_inspect(context, path, NULL, &inspection, &err);
    ronchi_inspection_free(&inspection);
    close(fd);
    free(file);
    return 0;
}
