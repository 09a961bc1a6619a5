/* SPDX-License-Identifier: MIT */
/*
 * Bodies of lane-rans-v1 kept forever: they decode to the counts whose CRC stands here, and encoding these counts again
 * gives the same bytes, with and without vector instructions.
 */
#include <stdio.h>
#include <zlib.h>

#include "codec/header_fields.h"
#include "codec/lane_rans.h"
#include "codec_cases.h"

static const struct golden {
    const char *file;
    ronchi_shape shape;
    ronchi_dtype dtype;
    uint32_t crc; /* CRC-32 of the raw counts */
} goldens[] = {
    {"5x7x3x40_u8.lane", {5, 7, 3, 40}, RONCHI_U8, 0x3ce1fbf8},
    {"5x7x3x40_u16.lane", {5, 7, 3, 40}, RONCHI_U16, 0x6c3e0546},
    {"5x7x3x40_u32.lane", {5, 7, 3, 40}, RONCHI_U32, 0xe8f52b30},
    {"33x20x10x13_u16.lane", {33, 20, 10, 13}, RONCHI_U16, 0x8930ded9},
    {"40x33x8x8_u8.lane", {40, 33, 8, 8}, RONCHI_U8, 0x1c81f840},
    {"3x2x17x5_u16.lane", {3, 2, 17, 5}, RONCHI_U16, 0x7271da88},
};

static test_body read_body(const char *name)
{
    char path[1024];
    test_body body = {malloc(1 << 20), 0};
    snprintf(path, sizeof path, "%s/lane/%s", GOLDEN_FOLDER, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    body.size = fread(body.bytes, 1, 1 << 20, file);
    fclose(file);
    return body;
}

/* The header fields that belong to a body: sizes of chunks follow from the chunks. */
static json_t *header_of(const test_body *body, const struct golden *g)
{
    size_t n_pixels = g->shape.det_rows * g->shape.det_cols, at = 0;
    uint8_t *valid = malloc(n_pixels);
    memset(valid, 1, n_pixels);
    json_t *sizes = json_array();
    while (at < body->size) {
        uint32_t bricks, words;
        memcpy(&bricks, body->bytes + at + 36, 4);
        memcpy(&words, body->bytes + at + 40, 4);
        size_t size = (64 + 4 * (size_t)bricks + 2 * (size_t)words + 7) / 8 * 8;
        json_array_append_new(sizes, json_integer((json_int_t)size));
        at += size;
    }
    json_t *header = json_pack("{s:i, s:o, s:o}", "version", 1, "valid", ronchi_header_valid_text(valid, n_pixels),
                               "chunk_bytes", sizes);
    free(valid);
    return header;
}

static void check(const struct golden *g, uint32_t cpu_disable)
{
    ronchi_context *context = test_context(2, cpu_disable);
    ronchi_store *store = NULL;
    ronchi_error err = {0};
    test_body body = read_body(g->file);
    json_t *header = header_of(&body, g);
    assert_int_equal(
        ronchi_profile_lane.adopt(context, header, &g->shape, g->dtype, body.size, test_body_read, &body, &store, &err),
        RONCHI_OK);
    assert_int_equal(ronchi_profile_lane.validate(store, &err), RONCHI_OK);
    test_case c = {g->shape, g->dtype, store->n_positions, store->n_pixels, 0, NULL, NULL};
    c.n_bytes = c.n_positions * c.n_pixels * ronchi_dtype_size(g->dtype);
    c.counts = malloc(c.n_bytes);
    assert_int_equal(test_decode(store, c.counts, &err), RONCHI_OK);
    assert_int_equal(crc32(0, c.counts, (uInt)c.n_bytes), g->crc);
    ronchi_store *again = test_encode(context, &ronchi_profile_lane, &c, UINT64_C(1) << 28);
    test_body bytes = test_body_of(again);
    assert_int_equal(bytes.size, body.size);
    assert_memory_equal(bytes.bytes, body.bytes, body.size);
    free(bytes.bytes);
    free(body.bytes);
    free(c.counts);
    json_decref(header);
    ronchi_profile_lane.destroy(store);
    ronchi_profile_lane.destroy(again);
    ronchi_context_destroy(context);
}

static void all_files(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        check(&goldens[i], 0);
        check(&goldens[i], ~UINT32_C(0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
