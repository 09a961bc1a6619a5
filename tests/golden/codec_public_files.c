/* SPDX-License-Identifier: MIT */
/*
 * Files of the public format, written by its original reference code: good ones decode to their counts, those with a
 * damaged body are refused.  Has a small envelope reader of its own; what lies in the envelope is judged by the
 * container's tests.
 */
#include <stdio.h>

#include "codec_cases.h"

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static bytes slurp(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/qem/%s", test_data(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    bytes b = {NULL, (size_t)ftell(file)};
    rewind(file);
    b.data = malloc(b.size);
    assert_int_equal(fread(b.data, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

/* Adopts a file's header and body; *header is the caller's. */
static ronchi_status adopt(ronchi_context *context, const bytes *file, json_t **header, ronchi_store **out,
                           ronchi_error *err)
{
    uint64_t length;
    memcpy(&length, file->data + 8, 8);
    assert_true(length <= file->size - 56);
    *header = json_loadb((const char *)file->data + 56, (size_t)length, 0, NULL);
    assert_non_null(*header);
    const json_t *sizes = json_object_get(*header, "shape");
    ronchi_shape shape = {
        (size_t)json_integer_value(json_array_get(sizes, 0)), (size_t)json_integer_value(json_array_get(sizes, 1)),
        (size_t)json_integer_value(json_array_get(sizes, 2)), (size_t)json_integer_value(json_array_get(sizes, 3))};
    const char *dtype = json_string_value(json_object_get(*header, "dtype"));
    ronchi_dtype type = strcmp(dtype, "uint8") == 0    ? RONCHI_U8
                        : strcmp(dtype, "uint16") == 0 ? RONCHI_U16
                                                       : RONCHI_F32;
    const ronchi_profile *profile = ronchi_profile_by_codec(json_string_value(json_object_get(*header, "codec")));
    assert_non_null(profile);
    test_body body = {file->data + 56 + length, file->size - 56 - (size_t)length};
    ronchi_status status = profile->adopt(context, *header, &shape, type, body.size, test_body_read, &body, out, err);
    if (status == RONCHI_OK)
        status = profile->validate(*out, err);
    return status;
}

static void check_good(const char *name, uint32_t threads)
{
    char qem[256], npy[256];
    snprintf(qem, sizeof qem, "%s.qem", name);
    snprintf(npy, sizeof npy, "%s.npy", name);
    bytes file = slurp(qem), counts = slurp(npy);
    ronchi_context *context = test_context(threads, 0);
    ronchi_store *store = NULL;
    json_t *header;
    ronchi_error err = {0};
    ronchi_status status = adopt(context, &file, &header, &store, &err);
    if (status != RONCHI_OK)
        print_error("%s: %s\n", name, err.message);
    assert_int_equal(status, RONCHI_OK);
    size_t start = 10u + counts.data[8] + 256u * counts.data[9], n = counts.size - start; /* .npy version 1 */
    assert_int_equal(n, store->n_positions * store->n_pixels * ronchi_dtype_size(store->dtype));
    void *out = malloc(n);
    assert_int_equal(test_decode(store, out, &err), RONCHI_OK);
    assert_memory_equal(out, counts.data + start, n);
    free(out);

    /* What the store would write again says the same of chunks, mask and body. */
    json_t *own = test_header_of(store);
    assert_true(json_equal(json_object_get(own, "chunks"), json_object_get(header, "chunks")));
    assert_true(json_equal(json_object_get(own, "valid"), json_object_get(header, "valid")) ||
                store->dtype == RONCHI_F32);
    assert_true(json_equal(json_object_get(own, "logical_sha256"), json_object_get(header, "logical_sha256")) ||
                store->dtype != RONCHI_F32);
    assert_true(json_equal(json_object_get(own, "empad"), json_object_get(header, "empad")) ||
                store->dtype != RONCHI_F32);
    test_body body = test_body_of(store);
    assert_memory_equal(body.bytes, file.data + file.size - body.size, body.size);
    free(body.bytes);
    json_decref(own);
    json_decref(header);
    store->profile->destroy(store);
    ronchi_context_destroy(context);
    free(file.data);
    free(counts.data);
}

static void good_files(void **unused)
{
    (void)unused;
    static const char *const names[] = {
        "u8_selectors_13x21_17x19",
        "u8_schema1_6x10_17x12",
        "u8_chunk1024_27x40_40x24",
        "u16_chunks512_27x40_9x20",
        "u16_escapes_11x13_16x24",
        "u16_mask_flagged_9x13_17x19",
        "u16_calibrated_overrides_9x15_40x24",
        "f32_special_7x9_8x11",
    };
    if (!test_data())
        skip();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (uint32_t threads = 1; threads <= 3; threads += 2)
            check_good(names[i], threads);
}

static void bad_files(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *says;
    } files[] = {
        {"bad_offsets_decrease.qem", "payload offsets decrease"},
        {"bad_rans_state_low.qem", "the first entropy state is outside"},
        {"bad_sparse_order.qem", "a sparse position is out of order"},
        {"bad_spatial_sum.qem", "the sum differs from the counts"},
    };
    if (!test_data())
        skip();
    ronchi_context *context = test_context(2, 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        bytes file = slurp(files[i].name);
        ronchi_store *store = NULL;
        json_t *header;
        ronchi_error err = {0};
        assert_int_equal(adopt(context, &file, &header, &store, &err), RONCHI_ERR_DATA);
        if (!strstr(err.message, files[i].says))
            print_error("%s: %s\n", files[i].name, err.message);
        assert_non_null(strstr(err.message, files[i].says));
        assert_non_null(strstr(err.message, "chunk 0"));
        assert_true(err.offset < file.size);
        if (store)
            store->profile->destroy(store);
        json_decref(header);
        free(file.data);
    }
    ronchi_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_files), cmocka_unit_test(bad_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
