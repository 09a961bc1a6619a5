/* SPDX-License-Identifier: MIT */
/* qem_extension.c - what Ronchi adds to the public metadata: extension object, declarations, raw table, embedded
 * original; inspect. */
#include "qem_make.h"

static char folder[64], path[128];
static ronchi_context *context;

static int set_up(void **state)
{
    (void)state;
    qem_folder(folder);
    snprintf(path, sizeof path, "%s/a.qem", folder);
    context = qem_context(2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    ronchi_context_destroy(context);
    return rmdir(folder);
}

static void extension_keeps_values(void **state)
{
    (void)state;
    json_t *header = qem_header(), *scientific = json_object_get(header, "scientific_metadata");
    assert_null(ronchi_scientific_extension_get(scientific, "lossless"));
    assert_int_equal(ronchi_scientific_extension_set(scientific, "lossless", json_true()), RONCHI_OK);
    assert_int_equal(ronchi_scientific_extension_set(scientific, "source_dtype", json_string("uint32")), RONCHI_OK);
    assert_int_equal(ronchi_scientific_extension_set(scientific, "lossless", json_false()), RONCHI_OK);
    assert_true(json_is_false(ronchi_scientific_extension_get(scientific, "lossless")));
    assert_int_equal(ronchi_scientific_check(header, NULL, NULL), RONCHI_OK);
    assert_int_equal(ronchi_scientific_extension_set(scientific, "x", NULL), RONCHI_ERR_MEMORY);
    json_object_set_new(json_object_get(scientific, "extensions"), "ronchi", json_integer(3));
    assert_null(ronchi_scientific_extension_get(scientific, "lossless"));
    assert_int_equal(ronchi_scientific_extension_set(scientific, "lossless", json_true()), RONCHI_ERR_ARGUMENT);
    json_decref(header);
}

/* The declarations make a header that holds narrowed, zeroed counts acceptable; and only they do. */
static void declarations_are_complete(void **state)
{
    (void)state;
    json_t *header = qem_header(), *scientific = json_object_get(header, "scientific_metadata");
    json_t *metadata = json_object_get(header, "metadata");
    for (int again = 0; again < 2; again++) {
        assert_int_equal(ronchi_scientific_narrowing(scientific, metadata, RONCHI_U32, RONCHI_U16), RONCHI_OK);
        assert_int_equal(ronchi_scientific_markers(scientific, metadata, 12), RONCHI_OK);
        assert_int_equal(json_array_size(json_object_get(scientific, "processing")), 3);
    }
    assert_string_equal(json_string_value(json_object_get(metadata, "source_dtype")), "uint32");
    assert_int_equal(json_integer_value(json_object_get(metadata, "flagged_markers_stored_as_zero")), 12);
    assert_int_equal(ronchi_scientific_check(header, NULL, NULL), RONCHI_OK);
    json_array_remove(json_object_get(scientific, "processing"), 1);
    assert_int_equal(ronchi_scientific_check(header, NULL, NULL), RONCHI_ERR_DATA);
    assert_int_equal(ronchi_scientific_narrowing(scientific, metadata, RONCHI_U16, RONCHI_U16), RONCHI_OK);
    assert_int_equal(ronchi_scientific_markers(scientific, metadata, 0), RONCHI_OK);
    assert_int_equal(json_array_size(json_object_get(scientific, "processing")), 1);
    assert_int_equal(ronchi_scientific_check(header, NULL, NULL), RONCHI_OK);
    assert_int_equal(ronchi_scientific_narrowing(scientific, NULL, RONCHI_U32, RONCHI_U16), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_scientific_markers(scientific, metadata, UINT64_MAX), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_scientific_process(scientific, json_pack("{s:s}", "operation", "x")), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_scientific_process(scientific, NULL), RONCHI_ERR_ARGUMENT);
    json_decref(header);
}

/* ---------------------------------------------------------------------------------------------------- raw table */

enum { POSITIONS = 1000, PIXELS = 5000 };

/* Random tables: neighbours, single pixels, several values, some with runs. */
static ronchi_raw_pixel *make_raw(uint64_t *seed, size_t *n_raw)
{
    ronchi_raw_pixel *raw = calloc(PIXELS, sizeof *raw);
    *n_raw = 0;
    for (size_t pixel = test_random(seed) % 20; pixel < PIXELS;
         pixel += 1 + (test_random(seed) % 3 == 0) * (test_random(seed) % 300)) {
        ronchi_raw_pixel *p = &raw[(*n_raw)++];
        p->pixel = pixel;
        p->n_runs = test_random(seed) % 10 == 0 ? 1 + test_random(seed) % 20 : 1;
        p->runs = calloc(p->n_runs, sizeof *p->runs);
        for (size_t i = 0; i < p->n_runs; i++) {
            p->runs[i].until = i + 1 == p->n_runs ? POSITIONS : (i + 1) * (1 + pixel % 40);
            p->runs[i].value = UINT32_MAX - (uint32_t)(test_random(seed) % 3);
        }
    }
    return raw;
}

static void raw_table_comes_back(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int repeat = 0; repeat < 30; repeat++) {
        size_t n, m;
        ronchi_raw_pixel *raw = make_raw(&seed, &n), *back;
        json_t *object;
        ronchi_error err;
        assert_int_equal(ronchi_raw_encode(n, raw, &object, &err), RONCHI_OK);
        assert_int_equal(ronchi_raw_decode(object, POSITIONS, PIXELS, &m, &back, &err), RONCHI_OK);
        assert_int_equal(m, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(back[i].pixel, raw[i].pixel);
            assert_int_equal(back[i].n_runs, raw[i].n_runs);
            for (size_t k = 0; k < raw[i].n_runs; k++) {
                assert_int_equal(back[i].runs[k].until, raw[i].runs[k].until);
                assert_int_equal(back[i].runs[k].value, raw[i].runs[k].value);
            }
        }
        ronchi_raw_free(m, back);
        ronchi_raw_free(n, raw);
        json_decref(object);
    }
    json_t *object;
    size_t m;
    ronchi_raw_pixel *back;
    assert_int_equal(ronchi_raw_encode(0, NULL, &object, NULL), RONCHI_OK);
    assert_int_equal(ronchi_raw_decode(object, 1, 1, &m, &back, NULL), RONCHI_OK);
    assert_int_equal(m, 0);
    ronchi_raw_free(m, back);
    json_decref(object);
}

/* The usual case, four sentinels that never change, is a few numbers. */
static void usual_raw_table_is_small(void **state)
{
    (void)state;
    ronchi_raw_run run[4] = {{9, UINT32_MAX}, {9, UINT32_MAX}, {9, UINT32_MAX}, {9, UINT32_MAX}};
    ronchi_raw_pixel raw[4] = {{5, 1, &run[0]}, {6, 1, &run[1]}, {7, 1, &run[2]}, {100, 1, &run[3]}};
    json_t *object;
    assert_int_equal(ronchi_raw_encode(4, raw, &object, NULL), RONCHI_OK);
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"constant\":[{\"pixels\":[5,3,100,1],\"value\":4294967295}],\"runs\":[]}");
    free(text);
    json_decref(object);
}

static void raw_table_is_bounded(void **state)
{
    (void)state;
    size_t n = 400001;
    ronchi_raw_run *runs = calloc(n, sizeof *runs);
    ronchi_raw_pixel raw = {0, n, runs}, empty = {3, 0, NULL};
    json_t *object;
    assert_int_equal(ronchi_raw_encode(1, &raw, &object, NULL), RONCHI_ERR_UNSUPPORTED);
    assert_null(object);
    assert_int_equal(ronchi_raw_encode(1, &empty, &object, NULL), RONCHI_ERR_ARGUMENT);
    free(runs);

    /* A detector with a million pixels between its modules is no trouble: they are few ranges. */
    size_t many = 1000000, m;
    ronchi_raw_pixel *gaps = calloc(many, sizeof *gaps), *back;
    ronchi_raw_run same = {7, UINT32_MAX};
    for (size_t i = 0; i < many; i++)
        gaps[i] = (ronchi_raw_pixel){i + i / 500 * 500, 1, &same};
    assert_int_equal(ronchi_raw_encode(many, gaps, &object, NULL), RONCHI_OK);
    assert_int_equal(json_array_size(json_object_get(json_array_get(json_object_get(object, "constant"), 0), "pixels")),
                     4000);
    assert_int_equal(ronchi_raw_decode(object, 7, 2 * many, &m, &back, NULL), RONCHI_OK);
    assert_int_equal(m, many);
    assert_int_equal(back[many - 1].pixel, gaps[many - 1].pixel);
    ronchi_raw_free(m, back);
    json_decref(object);
    free(gaps);
}

static void damaged_raw_tables_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[]",
        "{}",
        "{\"constant\":[]}",
        "{\"constant\":{},\"runs\":[]}",
        "{\"constant\":[3],\"runs\":[]}",
        "{\"constant\":[{\"value\":1}],\"runs\":[]}",
        "{\"constant\":[{\"value\":-1,\"pixels\":[0,1]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":4294967296,\"pixels\":[0,1]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[0]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[0,0]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[-1,1]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[20,1]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[19,2]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[1,9223372036854775807]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[0,12,0,12]}],\"runs\":[]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[3,2,4,1]}],\"runs\":[]}",
        "{\"constant\":[],\"runs\":[{\"pixel\":20,\"until_value\":[10,1]}]}",
        "{\"constant\":[],\"runs\":[{\"pixel\":2,\"until_value\":[]}]}",
        "{\"constant\":[],\"runs\":[{\"pixel\":2,\"until_value\":[10]}]}",
        "{\"constant\":[],\"runs\":[{\"pixel\":2,\"until_value\":[9,1]}]}",
        "{\"constant\":[],\"runs\":[{\"pixel\":2,\"until_value\":[11,1]}]}",
        "{\"constant\":[],\"runs\":[{\"pixel\":2,\"until_value\":[5,1,5,2,10,1]}]}",
        "{\"constant\":[],\"runs\":[{\"pixel\":2,\"until_value\":[0,1,10,2]}]}",
        "{\"constant\":[],\"runs\":[{\"pixel\":2,\"until_value\":[10,1.0]}]}",
        "{\"constant\":[{\"value\":1,\"pixels\":[2,1]}],\"runs\":[{\"pixel\":2,\"until_value\":[4,1,10,2]}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *object = json_loads(bad[i], 0, NULL);
        assert_non_null(object);
        size_t n;
        ronchi_raw_pixel *raw;
        ronchi_error err;
        ronchi_status status = ronchi_raw_decode(object, 10, 20, &n, &raw, &err);
        if (status != RONCHI_ERR_DATA)
            print_error("accepted: %s\n", bad[i]);
        assert_int_equal(status, RONCHI_ERR_DATA);
        assert_non_null(strstr(err.message, "flagged_raw"));
        assert_null(raw);
        json_decref(object);
    }
}

/* ---------------------------------------------------------------------------------------------- embedded original */

static void original_comes_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 1000, 300001};
    uint64_t seed = 9;
    char name[64];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *bytes = malloc(sizes[i] + 1), *back;
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (uint8_t)(test_random(&seed) >> (k % 3 ? 60 : 0));
        qem_put(path, bytes, sizes[i]);
        json_t *metadata = json_object();
        size_t size;
        assert_int_equal(ronchi_qem_embed(metadata, path, NULL), RONCHI_OK);
        assert_int_equal(ronchi_qem_extract(metadata, name, sizeof name, &back, &size, NULL), RONCHI_OK);
        assert_int_equal(size, sizes[i]);
        assert_memory_equal(back, bytes, size);
        assert_string_equal(name, "a.qem");
        free(back);
        assert_int_equal(ronchi_qem_extract(metadata, name, 5, &back, &size, NULL), RONCHI_ERR_DATA);
        assert_null(back);
        json_decref(metadata);
        free(bytes);
    }
}

static void embedding_refuses(void **state)
{
    (void)state;
    json_t *metadata = json_object();
    char name[64];
    uint8_t *back;
    size_t size;
    ronchi_error err;
    assert_int_equal(ronchi_qem_extract(metadata, name, sizeof name, &back, &size, &err), RONCHI_ERR_NOT_FOUND);
    assert_int_equal(ronchi_qem_embed(metadata, "/nonexistent", &err), RONCHI_ERR_NOT_FOUND);
    qem_put(path, "", 0);
    assert_int_equal(truncate(path, RONCHI_EMBED_MAX_BYTES + 1), 0);
    assert_int_equal(ronchi_qem_embed(metadata, path, &err), RONCHI_ERR_RANGE);
    assert_int_equal(json_object_size(metadata), 0);
    assert_int_equal(truncate(path, RONCHI_EMBED_MAX_BYTES), 0);
    assert_int_equal(ronchi_qem_embed(metadata, path, &err), RONCHI_OK);
    qem_put(path, "the master", 10);
    assert_int_equal(ronchi_qem_embed(metadata, path, &err), RONCHI_OK); /* replaces */

    static const struct {
        const char *key, *value;
    } bad[] = {
        {"name", "\"a/b\""},    {"name", "\"..\""},   {"name", "\"\""},         {"name", "7"},
        {"size_bytes", "11"},   {"size_bytes", "9"},  {"size_bytes", "-1"},     {"size_bytes", "8388609"},
        {"size_bytes", "10.0"}, {"sha256", "\"00\""}, {"encoding", "\"none\""}, {"data", "7"},
        {"data", "\"eNo=\""},   {"data", "\"eN!o\""}, {"data", "\"eNo\""},      {"data", "\"\""},
        {"data", "\"====\""},   {"data", "\"e===\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *copy = json_deep_copy(metadata);
        json_object_set_new(json_object_get(copy, RONCHI_QEM_EMBED_KEY), bad[i].key,
                            json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        ronchi_status status = ronchi_qem_extract(copy, name, sizeof name, &back, &size, &err);
        if (status != RONCHI_ERR_DATA)
            print_error("%s: accepted\n", bad[i].key);
        assert_int_equal(status, RONCHI_ERR_DATA);
        assert_non_null(strstr(err.message, "$.metadata." RONCHI_QEM_EMBED_KEY));
        assert_null(back);
        json_decref(copy);
    }
    /* The right form, but other bytes. */
    json_t *other = json_object();
    qem_put(path, "the Master", 10);
    assert_int_equal(ronchi_qem_embed(other, path, &err), RONCHI_OK);
    json_object_set(json_object_get(metadata, RONCHI_QEM_EMBED_KEY), "data",
                    json_object_get(json_object_get(other, RONCHI_QEM_EMBED_KEY), "data"));
    assert_int_equal(ronchi_qem_extract(metadata, name, sizeof name, &back, &size, &err), RONCHI_ERR_DATA);
    assert_non_null(strstr(err.message, "sha256"));
    json_decref(other);
    json_decref(metadata);
}

static void any_name_becomes_text(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"plain_master.h5", "plain_master.h5"},
                                           {"\xCE\xB1-phase", "\xCE\xB1-phase"},
                                           {"caf\xE9.h5", "caf?.h5"},
                                           {"\xCE\xB1\xFF\xCE\xB2\xE2\x82", "\xCE\xB1?\xCE\xB2??"},
                                           {"\xC0\x80\xED\xA0\x80x", "?????x"},
                                           {"", ""}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_t *name = ronchi_json_name(names[i][0]);
        assert_string_equal(json_string_value(name), names[i][1]);
        json_decref(name);
    }
}

/* ----------------------------------------------------------------------------------------------------- inspect */

static void release(ronchi_inspection *inspection)
{
    free(inspection->evidence);
    free(inspection->files);
    free(inspection->metadata_json);
    memset(inspection, 0, sizeof *inspection);
}

static void inspect_describes(void **state)
{
    (void)state;
    ronchi_inspection out = {0};
    ronchi_error err;
    json_t *header = qem_header();
    json_object_set_new(header, "codec", json_string("runtime-column-rans-spatial-v2"));
    json_object_set_new(header, "profile", json_string("runtime-column-rans-spatial-v2"));
    json_object_set_new(header, "valid", json_string("7fFe10"));
    qem_put(path, "whole", 5);
    assert_int_equal(ronchi_qem_embed(json_object_get(header, "metadata"), path, NULL), RONCHI_OK);
    json_object_set_new(json_object_get(header, "metadata"), "detector_name", json_string("Dectris ARINA"));
    qem_put_header(path, header);
    json_decref(header);
    ronchi_source_options options = {0};
    options.voltage_kv = 60;
    assert_int_equal(ronchi_qem_inspect(context, path, &options, &out, &err), RONCHI_OK);
    assert_string_equal(out.format, "qem");
    assert_string_equal(out.layout, "runtime-column-rans-spatial-v2");
    assert_int_equal(out.ready, 1);
    assert_int_equal(out.shape.det_rows, 4);
    assert_int_equal(out.dtype, RONCHI_U16);
    assert_int_equal(out.frames_stored, 6);
    assert_int_equal(out.dense_bytes, 240);
    assert_int_equal(out.flagged_pixels, 1 + 1 + 3); /* 20 pixels: 0111 1111 1111 1110 0001 */
    assert_string_equal(out.detector, "Dectris ARINA");
    assert_true(out.calibration.voltage.known && out.calibration.voltage.value > 59.9);
    assert_int_equal(out.n_evidence, 1);
    assert_int_equal(out.n_files, 1);
    assert_string_equal(out.files[0].name, "a.qem");
    assert_non_null(strstr(out.metadata_json, "\"title\":\"test\""));
    assert_null(strstr(out.metadata_json, "\"data\""));
    release(&out);
    options.voltage_kv = -60;
    assert_int_equal(ronchi_qem_inspect(context, path, &options, &out, &err), RONCHI_ERR_ARGUMENT);
    release(&out);
}

static void inspect_says_why_not(void **state)
{
    (void)state;
    static const struct {
        const char *codec, *reason, *action;
    } codecs[] = {{"scaled-uint16-column-rans-v1", "approximations", "original"},
                  {"empad-xor-row-packed-v1", "old float", "original"},
                  {"ronchi-next-v9", "newer Ronchi", "update"},
                  {"something", "unknown codec: something", "program that wrote it"}};
    ronchi_error err;
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        ronchi_inspection out = {0};
        json_t *header = qem_header();
        json_object_set_new(header, "codec", json_string(codecs[i].codec));
        json_object_set_new(header, "profile", json_string(codecs[i].codec));
        qem_put_header(path, header);
        json_decref(header);
        assert_int_equal(ronchi_qem_inspect(context, path, NULL, &out, &err), RONCHI_OK);
        assert_int_equal(out.ready, 0);
        assert_non_null(strstr(out.reason, codecs[i].reason));
        assert_non_null(strstr(out.action, codecs[i].action));
        release(&out);
    }
    ronchi_inspection out = {0};
    assert_int_equal(truncate(path, 300), 0);
    assert_int_equal(ronchi_qem_inspect(context, path, NULL, &out, &err), RONCHI_OK);
    assert_int_equal(out.ready, 0);
    assert_non_null(strstr(out.reason, "bytes are missing"));
    assert_non_null(strstr(out.files[0].problem, "truncated"));
    release(&out);
    qem_put(path, "something else", 14);
    assert_int_equal(ronchi_qem_inspect(context, path, NULL, &out, &err), RONCHI_ERR_FORMAT);
    release(&out);
    unlink(path);
    assert_int_equal(ronchi_qem_inspect(context, path, NULL, &out, &err), RONCHI_ERR_NOT_FOUND);
    release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extension_keeps_values), cmocka_unit_test(declarations_are_complete),
        cmocka_unit_test(raw_table_comes_back),   cmocka_unit_test(usual_raw_table_is_small),
        cmocka_unit_test(raw_table_is_bounded),   cmocka_unit_test(damaged_raw_tables_are_refused),
        cmocka_unit_test(original_comes_back),    cmocka_unit_test(embedding_refuses),
        cmocka_unit_test(any_name_becomes_text),  cmocka_unit_test(inspect_describes),
        cmocka_unit_test(inspect_says_why_not),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
