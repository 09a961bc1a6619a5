/* SPDX-License-Identifier: MIT */
/* sources.c - real and synthetic acquisitions: shapes found without being told, counts by their SHA-256. */
#include "test.h"

#include <openssl/evp.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "formats/format.h"

static ronchi_context *context;

static int setup(void **state)
{
    (void)state;
    return ronchi_context_create(NULL, &context, NULL) == RONCHI_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ronchi_context_destroy(context);
    return 0;
}

static const char *data_path(const char *name, char *out, size_t size)
{
    if (!test_data())
        skip();
    snprintf(out, size, "%s/%s", test_data(), name);
    return out;
}

static ronchi_source *open_source(const char *name, const ronchi_source_options *options)
{
    char path[1024];
    ronchi_source *source;
    ronchi_error err;
    data_path(name, path, sizeof path);
    if (ronchi_source_open(context, path, options, &source, &err) != RONCHI_OK)
        fail_msg("%s: %s", name, err.message);
    return source;
}

/* Hash of all frames in scan order, staged 'window' positions at a time. */
static void hash_scan(ronchi_source *source, uint64_t window, char hex[65])
{
    size_t pixels = source->shape.det_rows * source->shape.det_cols, bytes = pixels * ronchi_dtype_size(source->dtype);
    uint64_t n = (uint64_t)source->shape.scan_rows * source->shape.scan_cols;
    uint8_t *frame = malloc(bytes), digest[32];
    ronchi_error err;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
    for (uint64_t p = 0; p < n; p += window) {
        uint64_t last = p + window < n ? p + window - 1 : n - 1;
        uint64_t first_frame = ronchi_source_frame(source, p), last_frame = ronchi_source_frame(source, last);
        ronchi_staged staged;
        if (source->format->stage(source, first_frame, last_frame - first_frame + 1, &staged, &err) != RONCHI_OK)
            fail_msg("%s", err.message);
        for (uint64_t q = p; q <= last; q++) {
            if (source->format->decode(source, &staged, ronchi_source_frame(source, q), frame, &err) != RONCHI_OK)
                fail_msg("%s", err.message);
            EVP_DigestUpdate(hash, frame, bytes);
        }
        source->format->unstage(source, &staged);
    }
    EVP_DigestFinal_ex(hash, digest, NULL);
    EVP_MD_CTX_free(hash);
    free(frame);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void check_synthetic(const char *set)
{
    char name[256], path[1024], hex[65];
    snprintf(name, sizeof name, "synthetic/%s/%s_expected.json", set, set);
    json_t *expected = json_load_file(data_path(name, path, sizeof path), 0, NULL);
    assert_non_null(expected);
    snprintf(name, sizeof name, "synthetic/%s/%s_master.h5", set, set);
    ronchi_source *source = open_source(name, NULL);
    const json_t *scan = json_object_get(expected, "scan_shape"), *flagged = json_object_get(expected, "flagged");
    assert_int_equal(source->shape.scan_rows, json_integer_value(json_array_get(scan, 0)));
    assert_int_equal(source->shape.scan_cols, json_integer_value(json_array_get(scan, 1)));
    assert_string_equal(ronchi_dtype_name(source->dtype), json_string_value(json_object_get(expected, "dtype")));
    const json_t *extra = json_object_get(expected, "extra_frames_per_line");
    assert_int_equal(source->flyback, json_integer_value(extra));
    assert_non_null(source->pixel_mask);
    size_t n = 0;
    for (size_t i = 0; i < source->shape.det_rows * source->shape.det_cols; i++)
        n += source->pixel_mask[i] != 0;
    assert_int_equal(n, json_array_size(flagged));
    for (size_t i = 0; i < json_array_size(flagged); i++) {
        const json_t *at = json_array_get(flagged, i);
        size_t row = (size_t)json_integer_value(json_array_get(at, 0)),
               col = (size_t)json_integer_value(json_array_get(at, 1));
        assert_true(source->pixel_mask[row * source->shape.det_cols + col] != 0);
    }
    hash_scan(source, 100, hex);
    assert_string_equal(hex, json_string_value(json_object_get(expected, "counts_sha256")));
    ronchi_source_close(source);
    json_decref(expected);
}

static void test_synthetic_a(void **state)
{
    (void)state;
    check_synthetic("arina_a");
}

static void test_synthetic_b(void **state)
{
    (void)state;
    check_synthetic("arina_b");
}

static void test_synthetic_g(void **state)
{
    (void)state;
    check_synthetic("arina_g");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synthetic_a),
        cmocka_unit_test(test_synthetic_b),
        cmocka_unit_test(test_synthetic_g),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
