/* SPDX-License-Identifier: MIT */
/* qem_envelope.c - opening a .qem: every way in which envelope, JSON, container fields and digests can be wrong. */
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

/* Opens the file at 'path', which must be refused in that way. */
static void refused(ronchi_status status, uint64_t offset, const char *words)
{
    ronchi_qem qem;
    ronchi_error err;
    ronchi_status got = ronchi_qem_open(context, path, &qem, &err);
    if (got != status || err.offset != offset || !strstr(err.message, words))
        print_error("got %s at %llu: %s\n", ronchi_status_name(got), (unsigned long long)err.offset, err.message);
    assert_int_equal(got, status);
    assert_int_equal(err.offset, offset);
    assert_non_null(strstr(err.message, words));
    assert_string_equal(err.file, path);
    ronchi_qem_close(&qem);
    assert_int_equal(ronchi_qem_open(context, path, &qem, NULL), status);
}

/* A good container with bytes [at, at + n) replaced, cut to 'size' when that is not 0. */
static void damaged(size_t at, const void *bytes, size_t n, size_t size)
{
    json_t *header = qem_header();
    qem_put_header(path, header);
    json_decref(header);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    if (n)
        assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    if (size)
        assert_int_equal(truncate(path, (off_t)size), 0);
}

static size_t header_size(void)
{
    json_t *header = qem_header();
    char *text = json_dumps(header, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
    size_t n = strlen(text);
    free(text);
    json_decref(header);
    return n;
}

static void good_file_opens(void **state)
{
    (void)state;
    damaged(0, NULL, 0, 0);
    ronchi_qem qem;
    assert_int_equal(ronchi_qem_open(context, path, &qem, NULL), RONCHI_OK);
    assert_int_equal(qem.shape.scan_rows, 2);
    assert_int_equal(qem.shape.det_cols, 5);
    assert_int_equal(qem.dtype, RONCHI_U16);
    assert_string_equal(qem.codec, "ronchi-test");
    assert_int_equal(qem.body_start, 56 + header_size());
    assert_int_equal(qem.body_bytes, QEM_BODY);
    uint8_t body[QEM_BODY], got[QEM_BODY];
    qem_body(body);
    assert_int_equal(ronchi_qem_read_body(&qem, 10, got, 50, NULL), RONCHI_OK);
    assert_memory_equal(got, body + 10, 50);
    assert_int_equal(ronchi_qem_read_body(&qem, 0, got, QEM_BODY, NULL), RONCHI_OK);
    assert_memory_equal(got, body, QEM_BODY);
    assert_int_equal(ronchi_qem_read_body(&qem, 100, got, 0, NULL), RONCHI_OK);
    ronchi_error err;
    assert_int_equal(ronchi_qem_read_body(&qem, 60, got, 41, &err), RONCHI_ERR_DATA);
    assert_int_equal(ronchi_qem_read_body(&qem, UINT64_MAX, got, 1, &err), RONCHI_ERR_DATA);
    assert_int_equal(ronchi_qem_check_body(&qem, NULL), RONCHI_OK);
    ronchi_qem_close(&qem);
    ronchi_qem_close(&qem);
}

static void other_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *words;
    } others[] = {
        {"QGPUPAIR and more", "QGPUPAIR"},
        {"QGPUSTRM and more", "QGPUSTRM"},
        {"QEMDATA2 and more", "another version"},
        {"\x89HDF\r\n\x1a\n...", "HDF5"},
        {"\x93NUMPY\x01.....", ".npy"},
        {"PK\x03\x04.....", "reopen the original"},
        {"QEMDAT", "truncated"},
        {"x", "reopen the original acquisition"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        qem_put(path, others[i].bytes, strlen(others[i].bytes));
        bool cut = strcmp(others[i].words, "truncated") == 0;
        refused(cut ? RONCHI_ERR_DATA : RONCHI_ERR_FORMAT, cut ? 6 : 0, others[i].words);
    }
    qem_put(path, "", 0);
    refused(RONCHI_ERR_DATA, 0, "empty");
    unlink(path);
    ronchi_qem qem;
    assert_int_equal(ronchi_qem_open(context, path, &qem, NULL), RONCHI_ERR_NOT_FOUND);
    assert_int_equal(ronchi_qem_open(context, folder, &qem, NULL), RONCHI_ERR_FORMAT);
    damaged(0, NULL, 0, 0);
}

static void truncated_files_say_how_much(void **state)
{
    (void)state;
    size_t h = header_size();
    char words[80];
    for (size_t size = 1; size < 56 + h + QEM_BODY; size++) {
        damaged(0, NULL, 0, size);
        if (size < 56)
            snprintf(words, sizeof words, "56-byte prefix; at least %zu bytes are missing", 56 - size);
        else if (size < 56 + h)
            snprintf(words, sizeof words, "JSON header; at least %zu bytes are missing", 56 + h - size);
        else
            snprintf(words, sizeof words, "body; %zu bytes are missing", 56 + h + QEM_BODY - size);
        refused(RONCHI_ERR_DATA, size, words);
    }
    damaged(56 + h + QEM_BODY, "tail", 4, 0);
    refused(RONCHI_ERR_DATA, 56 + h + QEM_BODY, "4 bytes too many");
}

static void prefix_is_checked(void **state)
{
    (void)state;
    uint8_t number[8];
    qem_put_u64(number, 0);
    damaged(8, number, 8, 0);
    refused(RONCHI_ERR_DATA, 8, "header length");
    qem_put_u64(number, ((uint64_t)16 << 20) + 1);
    damaged(8, number, 8, 0);
    refused(RONCHI_ERR_DATA, 8, "header length");
    qem_put_u64(number, UINT64_MAX);
    damaged(8, number, 8, 0);
    refused(RONCHI_ERR_DATA, 8, "header length");
    qem_put_u64(number, 57 + header_size());
    damaged(16, number, 8, 0);
    refused(RONCHI_ERR_DATA, 16, "body starts");
    damaged(30, "?", 1, 0);
    refused(RONCHI_ERR_DATA, 24, "SHA-256");
    damaged(100, "\x01", 1, 0);
    refused(RONCHI_ERR_DATA, 24, "SHA-256");
}

static void text_refused(const char *text, uint64_t offset, const char *words)
{
    qem_put_text(path, text);
    refused(RONCHI_ERR_DATA, offset, words);
}

/* The parser says where it stopped: somewhere in the text. */
static void syntax_refused(const char *text)
{
    ronchi_qem qem;
    ronchi_error err;
    qem_put_text(path, text);
    assert_int_equal(ronchi_qem_open(context, path, &qem, &err), RONCHI_ERR_DATA);
    assert_non_null(strstr(err.message, "not strict JSON"));
    assert_in_range(err.offset, 56, 56 + strlen(text));
}

static void json_is_strict(void **state)
{
    (void)state;
    text_refused("[1]", 56, "not a JSON object");
    text_refused("{\"a\":1,\"b\":2,\"a\":3}", 56 + 16, "\"a\" occurs twice");
    text_refused("{\"o\":{\"a quite long key, \\\"quoted\\\"\":1,\"a quite long key, \\\"quoted\\\"\":1}}", 56 + 69,
                 "\"a quite long key, \\\"quoted\\\"\" occurs twice");
    syntax_refused("{\"a\":NaN}");
    syntax_refused("{\"a\":-Infinity}");
    syntax_refused("{\"a\":1e999}");
    syntax_refused("{\"a\":1} x");
    syntax_refused("{\"a\":1,}");
    syntax_refused("{\"a\":'x'}");
    syntax_refused("\xEF\xBB\xBF{\"a\":1}");
    syntax_refused("{\"a\":\"\xFF\"}");
    syntax_refused("{\"a\":\"\\ud800\"}");
    syntax_refused("{\"a\":01}");
    syntax_refused("7");
    char deep[9000];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    syntax_refused(deep);
}

/* Sets one field of a good header and opens it. */
static void field_refused(const char *key, json_t *value, ronchi_status status, const char *words)
{
    json_t *header = qem_header();
    if (value)
        assert_int_equal(json_object_set_new(header, key, value), 0);
    else
        assert_int_equal(json_object_del(header, key), 0);
    qem_put_header(path, header);
    json_decref(header);
    ronchi_qem qem;
    ronchi_error err;
    ronchi_status got = ronchi_qem_open(context, path, &qem, &err);
    if (got != status || !strstr(err.message, words))
        print_error("%s: got %s: %s\n", key, ronchi_status_name(got), err.message);
    assert_int_equal(got, status);
    assert_non_null(strstr(err.message, words));
}

static void container_fields_are_checked(void **state)
{
    (void)state;
    field_refused("container", NULL, RONCHI_ERR_FORMAT, "$.container");
    field_refused("container", json_string("other"), RONCHI_ERR_FORMAT, "\"other\"");
    field_refused("container_version", json_integer(2), RONCHI_ERR_FORMAT, "version 2");
    field_refused("container_version", json_real(1.0), RONCHI_ERR_DATA, "$.container_version");
    field_refused("container_version", json_true(), RONCHI_ERR_DATA, "$.container_version");
    field_refused("codec", json_string("other"), RONCHI_ERR_DATA, "$.profile");
    field_refused("codec", NULL, RONCHI_ERR_DATA, "$.codec");
    field_refused("codec", json_stringn("ronchi-test\0x", 13), RONCHI_ERR_DATA, "$.codec");
    field_refused("codec", json_string("a name that is much longer than the sixty-three characters allowed"),
                  RONCHI_ERR_DATA, "$.codec");
    field_refused("profile", NULL, RONCHI_ERR_DATA, "$.profile");
    field_refused("shape", NULL, RONCHI_ERR_DATA, "$.shape");
    field_refused("shape", json_pack("[iii]", 2, 3, 20), RONCHI_ERR_DATA, "$.shape");
    field_refused("shape", json_pack("[iiii]", 2, 3, 0, 5), RONCHI_ERR_DATA, "$.shape");
    field_refused("shape", json_pack("[iiii]", 2, 3, -4, 5), RONCHI_ERR_DATA, "$.shape");
    field_refused("shape", json_pack("[iifi]", 2, 3, 4.0, 5), RONCHI_ERR_DATA, "$.shape");
    json_int_t huge = INT64_MAX / 4;
    field_refused("shape", json_pack("[IIII]", huge, huge, huge, huge), RONCHI_ERR_DATA, "more than can be addressed");
    field_refused("dtype", json_string("int16"), RONCHI_ERR_DATA, "$.dtype");
    field_refused("dtype", NULL, RONCHI_ERR_DATA, "$.dtype");
    field_refused("metadata", json_array(), RONCHI_ERR_DATA, "$.metadata");
}

static void sizes_and_digests_are_checked(void **state)
{
    (void)state;
    field_refused("bytes", NULL, RONCHI_ERR_DATA, "$.bytes");
    field_refused("bytes", json_integer(0), RONCHI_ERR_DATA, "$.bytes");
    field_refused("bytes", json_real(100.0), RONCHI_ERR_DATA, "$.bytes");
    field_refused("bytes", json_integer(99), RONCHI_ERR_DATA, "1 bytes too many");
    field_refused("bytes", json_integer(103), RONCHI_ERR_DATA, "3 bytes are missing");
    field_refused("bytes", json_integer(INT64_MAX), RONCHI_ERR_DATA, "are missing");
    field_refused("sha256", NULL, RONCHI_ERR_DATA, "$.sha256");
    field_refused("sha256", json_array(), RONCHI_ERR_DATA, "list of 1 digests");
    field_refused("sha256", json_pack("[s]", "00"), RONCHI_ERR_DATA, "$.sha256[0]");
    field_refused("sha256", json_pack("[i]", 7), RONCHI_ERR_DATA, "$.sha256[0]");
    field_refused("sha256", json_pack("[s]", "ABCDEF0000000000000000000000000000000000000000000000000000000000"),
                  RONCHI_ERR_DATA, "$.sha256[0]");
}

static void damaged_body_is_never_handed_out(void **state)
{
    (void)state;
    size_t start = 56 + header_size();
    damaged(start + 77, "\xff", 1, 0);
    ronchi_qem qem;
    ronchi_error err;
    uint8_t got[QEM_BODY];
    assert_int_equal(ronchi_qem_open(context, path, &qem, NULL), RONCHI_OK);
    assert_int_equal(ronchi_qem_read_body(&qem, 0, got, 3, &err), RONCHI_ERR_DATA);
    assert_int_equal(err.offset, start);
    assert_non_null(strstr(err.message, "body block 0"));
    assert_int_equal(ronchi_qem_check_body(&qem, &err), RONCHI_ERR_DATA);
    assert_int_equal(err.offset, start);
    ronchi_qem_close(&qem);
}

/* A NUL in a string and integers of any length are data like any other. */
static void unusual_text_survives(void **state)
{
    (void)state;
    json_t *header = qem_header();
    json_object_set_new(header, "zero", json_stringn("a\0b", 3));
    char *text = json_dumps(header, JSON_COMPACT);
    size_t n = strlen(text);
    char *longer = malloc(n + 400);
    snprintf(longer, n + 400,
             "%.*s,\"big\":[18446744073709551615,-9223372036854775808,9223372036854775808,"
             "123456789012345678901234567890,\"99999999999999999999\",-99999999999999999999],\"real\":1e25}",
             (int)n - 1, text);
    qem_put_text(path, longer);
    ronchi_qem qem;
    assert_int_equal(ronchi_qem_open(context, path, &qem, NULL), RONCHI_OK);
    assert_int_equal(json_string_length(json_object_get(qem.header, "zero")), 3);
    json_t *big = json_object_get(qem.header, "big");
    assert_string_equal(json_string_value(json_array_get(big, 0)), "18446744073709551615");
    assert_true(json_integer_value(json_array_get(big, 1)) == INT64_MIN);
    assert_string_equal(json_string_value(json_array_get(big, 2)), "9223372036854775808");
    assert_string_equal(json_string_value(json_array_get(big, 3)), "123456789012345678901234567890");
    assert_string_equal(json_string_value(json_array_get(big, 4)), "99999999999999999999");
    assert_string_equal(json_string_value(json_array_get(big, 5)), "-99999999999999999999");
    assert_true(json_is_real(json_object_get(qem.header, "real")));
    ronchi_qem_close(&qem);
    free(longer);
    free(text);
    json_decref(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_file_opens),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(truncated_files_say_how_much),
        cmocka_unit_test(prefix_is_checked),
        cmocka_unit_test(json_is_strict),
        cmocka_unit_test(container_fields_are_checked),
        cmocka_unit_test(sizes_and_digests_are_checked),
        cmocka_unit_test(damaged_body_is_never_handed_out),
        cmocka_unit_test(unusual_text_survives),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
