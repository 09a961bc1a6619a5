/* SPDX-License-Identifier: MIT */
/*
 * What the profiles refuse: calls that are wrong, headers that differ in one field, bodies with any byte changed,
 * memory that ends.  Nothing may crash, and nothing that validates may differ from the original at an unflagged pixel.
 */
#include "codec_cases.h"

/* A small store with its header and body. */
typedef struct sample {
    ronchi_context *context;
    const ronchi_profile *profile;
    test_case counts;
    ronchi_store *store;
    json_t *header;
    test_body body;
} sample;

static sample sample_of(ronchi_profile_id id, ronchi_dtype dtype, ronchi_shape shape, uint64_t budget)
{
    uint64_t state = 11;
    sample s;
    s.context = test_context(2, 0);
    s.profile = ronchi_profile_find(id);
    s.counts = test_case_of(shape, dtype, &state);
    s.store = test_encode(s.context, s.profile, &s.counts, budget);
    s.header = test_header_of(s.store);
    s.body = test_body_of(s.store);
    return s;
}

static void sample_free(sample *s)
{
    s->profile->destroy(s->store);
    json_decref(s->header);
    free(s->body.bytes);
    test_case_free(&s->counts);
    ronchi_context_destroy(s->context);
}

/* ---------------------------------------------------------------------------------------------------------- headers */

/* Follows a path such as "chunks.0.arrays.1.count" to the object that holds its last part. */
static json_t *holder(json_t *json, const char *path, char *last)
{
    char copy[128], *part = copy;
    strcpy(copy, path);
    for (char *dot; (dot = strchr(part, '.')) != NULL; part = dot + 1) {
        *dot = 0;
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(part)) : json_object_get(json, part);
        assert_non_null(json);
    }
    strcpy(last, part);
    return json;
}

/* Sets one field of a copy of the header (value NULL: deletes it) and expects adopt() to refuse it and to say 'says'.
 */
static void refused(const sample *s, const char *path, json_t *value, const char *says)
{
    json_t *header = json_deep_copy(s->header);
    char last[128];
    json_t *object = holder(header, path, last);
    ronchi_store *out = NULL;
    ronchi_error err = {0};
    if (json_is_array(object))
        assert_int_equal(value ? json_array_set_new(object, (size_t)atoi(last), value)
                               : json_array_remove(object, (size_t)atoi(last)),
                         0);
    else
        assert_int_equal(value ? json_object_set_new(object, last, value) : json_object_del(object, last), 0);
    test_body body = s->body;
    ronchi_status status = test_adopt(s->context, s->store, header, &body, &out, &err);
    if (status != RONCHI_ERR_DATA || !strstr(err.message, says))
        print_error("%s: %s\n", path, err.message);
    assert_int_equal(status, RONCHI_ERR_DATA);
    assert_non_null(strstr(err.message, says));
    assert_null(out);
    json_decref(header);
}

static json_int_t integer_at(const sample *s, const char *path)
{
    char last[128];
    return json_integer_value(json_object_get(holder(s->header, path, last), last));
}

static void column_headers(void **unused)
{
    (void)unused;
    sample s = sample_of(RONCHI_PROFILE_COLUMN, RONCHI_U16, (ronchi_shape){3, 400, 3, 5}, 2 * 30 * 512);
    assert_int_equal(s.profile->n_blocks(s.store), 3);
    refused(&s, "version", json_integer(2), "'version'");
    refused(&s, "version", json_real(1.0), "'version'");
    refused(&s, "version", NULL, "'version'");
    refused(&s, "interval", json_integer(511), "'interval'");
    refused(&s, "metadata", json_array(), "'metadata'");
    refused(&s, "metadata", NULL, "'metadata'");
    refused(&s, "valid", json_string("ff"), "'valid'");
    refused(&s, "valid", json_string("ffffff"), "'valid'");
    refused(&s, "valid", json_string("zzff"), "hexadecimal");
    refused(&s, "valid", json_integer(1), "'valid'");
    refused(&s, "chunks", json_array(), "'chunks'");
    refused(&s, "chunks", json_object(), "'chunks'");
    refused(&s, "chunks.2", NULL, "cover 1024 of 1200");
    refused(&s, "chunks.1", NULL, "chunk 1 does not begin");
    refused(&s, "chunks.0.first", json_integer(1), "chunk 0 does not begin");
    refused(&s, "chunks.0.scans", json_integer(0), "'scans'");
    refused(&s, "chunks.0.scans", json_integer(-1), "'scans'");
    refused(&s, "chunks.0.scans", json_integer(1201), "'scans'");
    refused(&s, "chunks.0.scans", json_true(), "'scans'");
    refused(&s, "chunks.0.scans", json_integer(513), "elements");
    refused(&s, "chunks.0.arrays", json_array(), "six arrays");
    refused(&s, "chunks.0.arrays.5", NULL, "six arrays");
    refused(&s, "chunks.0.arrays.0", json_integer(0), "'offset' and 'count'");
    for (int k = 0; k < 6; k++) {
        char path[64];
        snprintf(path, sizeof path, "chunks.0.arrays.%d.offset", k);
        refused(&s, path, json_integer(integer_at(&s, path) + 8), "at body byte");
        refused(&s, path, json_integer(-8), "'offset' and 'count'");
        snprintf(path, sizeof path, "chunks.0.arrays.%d.count", k);
        refused(&s, path, json_integer(integer_at(&s, path) + 64), k == 0 || k == 3 ? "at body byte" : "elements");
        refused(&s, path, json_integer(INT64_MAX), k == 0 || k == 3 ? "beyond the body" : "elements");
    }
    test_body longer = s.body; /* a body that goes on */
    longer.size += 8;
    longer.bytes = realloc(longer.bytes, longer.size);
    memset(longer.bytes + s.body.size, 0, 8);
    s.body.bytes = longer.bytes;
    ronchi_store *out = NULL;
    ronchi_error err = {0};
    assert_int_equal(test_adopt(s.context, s.store, s.header, &longer, &out, &err), RONCHI_ERR_DATA);
    assert_non_null(strstr(err.message, "the arrays end"));
    longer.size = s.body.size - 1; /* and one that ends early */
    assert_int_equal(test_adopt(s.context, s.store, s.header, &longer, &out, &err), RONCHI_ERR_DATA);
    ronchi_shape shape = s.counts.shape; /* other types and shapes than the body was made for */
    assert_int_equal(
        s.profile->adopt(s.context, s.header, &shape, RONCHI_F32, s.body.size, test_body_read, &s.body, &out, &err),
        RONCHI_ERR_DATA);
    shape.det_cols = 6;
    assert_int_equal(
        s.profile->adopt(s.context, s.header, &shape, RONCHI_U16, s.body.size, test_body_read, &s.body, &out, &err),
        RONCHI_ERR_DATA);
    shape = (ronchi_shape){SIZE_MAX / 2, 3, SIZE_MAX / 4, 8};
    assert_int_equal(
        s.profile->adopt(s.context, s.header, &shape, RONCHI_U16, s.body.size, test_body_read, &s.body, &out, &err),
        RONCHI_ERR_DATA);
    assert_null(out);
    sample_free(&s);
}

static void lanes_headers(ronchi_profile_id id, ronchi_dtype dtype)
{
    sample s = sample_of(id, dtype, (ronchi_shape){3, 400, 3, 5}, UINT64_C(1) << 28);
    static const char *const names[] = {"payload", "offset", "model"};
    assert_int_equal(s.profile->n_blocks(s.store), 3);
    refused(&s, "version", json_integer(2), "'version'");
    refused(&s, "metadata", json_array(), "'metadata'");
    refused(&s, "logical_sha256", json_string("00"), "'logical_sha256'");
    refused(&s, "logical_sha256", NULL, "'logical_sha256'");
    if (dtype == RONCHI_F32)
        refused(&s, "empad", NULL, "'empad'");
    else
        refused(&s, "valid", json_string("ff"), "'valid'");
    refused(&s, "chunks", NULL, "'chunks'");
    refused(&s, "chunks.2", NULL, "cover 1024 of 1200");
    refused(&s, "chunks.0.first", json_integer(1), "chunk 0 does not begin");
    refused(&s, "chunks.0.scans", json_integer(0), "'scans'");
    refused(&s, "chunks.0.scans", json_integer(513), "'scans'");
    refused(&s, "chunks.2.scans", json_integer(177), "'scans'");
    for (int k = 0; k < 3; k++) {
        char path[64];
        snprintf(path, sizeof path, "chunks.1.%s_offset", names[k]);
        refused(&s, path, json_integer(integer_at(&s, path) + 1), "_offset' is not");
        snprintf(path, sizeof path, "chunks.1.%s_bytes", names[k]);
        refused(&s, path, json_integer(0), "_bytes' is not");
        refused(&s, path, json_integer(INT64_MAX), k ? "_bytes' is not" : "beyond the body");
    }
    sample_free(&s);
}

static void float_headers(void **unused)
{
    (void)unused;
    lanes_headers(RONCHI_PROFILE_FLOAT_LANES, RONCHI_F32);
}

static void uint32_headers(void **unused)
{
    (void)unused;
    lanes_headers(RONCHI_PROFILE_UINT32_LANES, RONCHI_U32);
}

/* ----------------------------------------------------------------------------------------------------------- damage */

/* True when all unflagged counts (for the lanes all values) are those of the original. */
static bool same_counts(const sample *s, const void *out)
{
    size_t size = ronchi_dtype_size(s->counts.dtype);
    bool all = s->profile->id != RONCHI_PROFILE_COLUMN;
    for (size_t i = 0; i < s->counts.n_positions * s->counts.n_pixels; i++)
        if ((all || s->counts.valid[i % s->counts.n_pixels]) &&
            memcmp((const char *)out + i * size, (const char *)s->counts.counts + i * size, size) != 0)
            return false;
    return true;
}

static void every_byte(ronchi_profile_id id, ronchi_dtype dtype, size_t step)
{
    sample s = sample_of(id, dtype, (ronchi_shape){5, 7, 9, 9}, UINT64_C(1) << 28);
    void *out = malloc(s.counts.n_bytes);
    size_t refused_early = 0, refused_late = 0;
    for (size_t i = 0; i < s.body.size; i += step)
        for (size_t bit = i % 3; bit < 8; bit += 5) {
            ronchi_store *store = NULL;
            ronchi_error err = {0};
            s.body.bytes[i] ^= (uint8_t)(1u << bit);
            ronchi_status status = test_adopt(s.context, s.store, s.header, &s.body, &store, &err);
            refused_early += status != RONCHI_OK;
            if (status == RONCHI_OK) {
                ronchi_status valid = s.profile->validate(store, &err);
                status = test_decode(store, out, &err);
                refused_late += valid != RONCHI_OK;
                assert_true(status == RONCHI_OK || status == RONCHI_ERR_DATA);
                if (valid == RONCHI_OK) {
                    assert_int_equal(status, RONCHI_OK);
                    assert_true(same_counts(&s, out));
                } else {
                    assert_int_equal(valid, RONCHI_ERR_DATA);
                }
            } else {
                assert_int_equal(status, RONCHI_ERR_DATA);
                assert_null(store);
            }
            s.profile->destroy(store);
            s.body.bytes[i] ^= (uint8_t)(1u << bit);
        }
    assert_true(refused_early > 20 && refused_late > 20);
    free(out);
    sample_free(&s);
}

static void column_damage(void **unused)
{
    (void)unused;
    every_byte(RONCHI_PROFILE_COLUMN, RONCHI_U16, 1);
    every_byte(RONCHI_PROFILE_COLUMN, RONCHI_U8, 2);
}

static void lanes_damage(void **unused)
{
    (void)unused;
    every_byte(RONCHI_PROFILE_FLOAT_LANES, RONCHI_F32, 7);
    every_byte(RONCHI_PROFILE_UINT32_LANES, RONCHI_U32, 5);
}

/* ----------------------------------------------------------------------------------------------------- wrong calls */

static void calls(void **unused)
{
    (void)unused;
    ronchi_context *context = test_context(1, 0);
    ronchi_error err = {0};
    ronchi_store *store = NULL;
    const ronchi_shape shape = {4, 4, 6, 7}, empty = {4, 0, 6, 7}, huge = {2, 2, 4096, 4096};
    const ronchi_profile *column = ronchi_profile_find(RONCHI_PROFILE_COLUMN);
    const ronchi_profile *floats = ronchi_profile_find(RONCHI_PROFILE_FLOAT_LANES);
    const ronchi_profile *counts = ronchi_profile_find(RONCHI_PROFILE_UINT32_LANES);
    uint8_t valid[42];
    memset(valid, 1, sizeof valid);
    valid[8] = 0;
    assert_int_equal(column->create(context, &shape, RONCHI_U32, NULL, 1 << 20, &store, &err), RONCHI_ERR_UNSUPPORTED);
    assert_int_equal(column->create(context, &empty, RONCHI_U16, NULL, 1 << 20, &store, &err), RONCHI_ERR_SHAPE);
    assert_int_equal(column->create(context, &shape, RONCHI_U16, NULL, 83, &store, &err), RONCHI_ERR_MEMORY);
    assert_non_null(strstr(err.message, "84"));
    assert_int_equal(floats->create(context, &shape, RONCHI_F32, valid, 1 << 20, &store, &err), RONCHI_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "(1, 1)"));
    assert_int_equal(floats->create(context, &shape, RONCHI_U32, NULL, 1 << 20, &store, &err), RONCHI_ERR_UNSUPPORTED);
    assert_int_equal(counts->create(context, &huge, RONCHI_U32, NULL, 1 << 20, &store, &err), RONCHI_ERR_UNSUPPORTED);
    assert_int_equal(counts->create(context, &shape, RONCHI_U32, valid, 100, &store, &err), RONCHI_ERR_MEMORY);
    assert_null(store);

    assert_int_equal(column->create(context, &shape, RONCHI_U16, valid, 4 * 84, &store, &err), RONCHI_OK);
    uint16_t frames[2 * 42] = {0};
    assert_int_equal(column->encode_block(store, 1, frames, &err), RONCHI_ERR_INTERNAL); /* not the next */
    assert_int_equal(column->encode_block(store, 0, frames, &err), RONCHI_OK);
    assert_int_equal(column->encode_block(store, 0, frames, &err), RONCHI_ERR_INTERNAL);
    assert_int_equal(column->finish(store, &err), RONCHI_ERR_INTERNAL); /* not all came */
    column->destroy(store);
    column->destroy(NULL);
    floats->destroy(NULL);
    ronchi_context_destroy(context);
}

static void wrong_views(void **unused)
{
    (void)unused;
    sample s = sample_of(RONCHI_PROFILE_COLUMN, RONCHI_U16, (ronchi_shape){4, 5, 6, 7}, UINT64_C(1) << 20);
    ronchi_error err = {0};
    ronchi_region region = ronchi_region_all(&s.counts.shape);
    float out[840];
    ronchi_view view = ronchi_view_4d(out, RONCHI_F32, &s.counts.shape);
    assert_int_equal(s.profile->decode_band(s.store, &region, &view, &err), RONCHI_ERR_SHAPE);
    view.dtype = RONCHI_U32;
    region.scan_col = 1;
    assert_int_equal(s.profile->decode_band(s.store, &region, &view, &err), RONCHI_ERR_SHAPE);
    region.scan_cols = 4;
    assert_int_equal(s.profile->decode_band(s.store, &region, &view, &err), RONCHI_ERR_SHAPE);
    ronchi_reduction r = {0};
    r.scan_rows = 4;
    r.scan_cols = 6;
    assert_int_equal(s.profile->reduce(s.store, &r, &err), RONCHI_ERR_SHAPE);
    double sums[42];
    r.scan_cols = 5;
    r.pixel_sums_f64 = sums;
    assert_int_equal(s.profile->reduce(s.store, &r, &err), RONCHI_ERR_UNSUPPORTED);
    sample_free(&s);
}

/* ------------------------------------------------------------------------------------------------- memory that ends */

typedef struct limit {
    size_t left; /* allocations that still succeed */
} limit;

static void *limited_alloc(void *user, size_t size)
{
    limit *l = user;
    if (l->left == 0)
        return NULL;
    l->left--;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void limited_free(void *user, void *memory)
{
    (void)user;
    free(memory);
}

/* Runs everything with the first 'left' allocations succeeding; true when all went well. */
static bool with_memory(const sample *s, size_t left)
{
    limit l = {left};
    ronchi_context_options options;
    ronchi_context *context = NULL;
    ronchi_error err = {0};
    ronchi_store *store = NULL, *again = NULL;
    ronchi_context_options_defaults(&options);
    options.threads = 1;
    options.allocator = (ronchi_allocator){limited_alloc, limited_free, &l};
    if (ronchi_context_create(&options, &context, &err) != RONCHI_OK)
        return false;
    void *out = malloc(s->counts.n_bytes);
    ronchi_status status = s->profile->create(context, &s->counts.shape, s->counts.dtype, NULL, 1 << 28, &store, &err);
    if (status == RONCHI_OK)
        status = s->profile->encode_block(store, 0, s->counts.counts, &err);
    if (status == RONCHI_OK)
        status = s->profile->finish(store, &err);
    if (status == RONCHI_OK)
        status = s->profile->validate(store, &err);
    if (status == RONCHI_OK)
        status = test_decode(store, out, &err);
    test_body body = s->body;
    if (status == RONCHI_OK)
        status = test_adopt(context, store, s->header, &body, &again, &err);
    if (status != RONCHI_OK)
        assert_int_equal(status, RONCHI_ERR_MEMORY);
    s->profile->destroy(store);
    s->profile->destroy(again);
    ronchi_context_destroy(context);
    free(out);
    return status == RONCHI_OK;
}

static void memory_ends(void **unused)
{
    (void)unused;
    static const struct {
        ronchi_profile_id id;
        ronchi_dtype dtype;
    } cases[] = {{RONCHI_PROFILE_COLUMN, RONCHI_U16}, {RONCHI_PROFILE_FLOAT_LANES, RONCHI_F32}};
    for (size_t i = 0; i < 2; i++) {
        sample s = sample_of(cases[i].id, cases[i].dtype, (ronchi_shape){4, 5, 20, 7}, UINT64_C(1) << 28);
        size_t left = 0;
        while (!with_memory(&s, left))
            left++;
        assert_true(left > 15);
        sample_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(column_headers), cmocka_unit_test(float_headers), cmocka_unit_test(uint32_headers),
        cmocka_unit_test(column_damage),  cmocka_unit_test(lanes_damage),  cmocka_unit_test(calls),
        cmocka_unit_test(wrong_views),    cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
