/* SPDX-License-Identifier: MIT */
/* qem_write.c - writing containers: whole round trips, unknown keys, and every way in which writing can end badly. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "qem_make.h"

static char folder[64], path[128];

static int set_up(void **state)
{
    (void)state;
    qem_folder(folder);
    snprintf(path, sizeof path, "%s/a.qem", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* Names in the folder, and how many of them are temporary. */
static size_t count_files(size_t *temporary)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    *temporary = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n++;
        *temporary += length > 4 && strcmp(entry->d_name + length - 4, ".tmp") == 0;
    }
    closedir(dir);
    return n;
}

static void folder_holds(size_t n)
{
    size_t temporary;
    assert_int_equal(count_files(&temporary), n);
    assert_int_equal(temporary, 0);
}

/* A body of 'size' bytes cut into parts of odd sizes with gaps of 0 to 7 bytes between them. */
typedef struct source {
    uint8_t *bytes;
    size_t size, n_parts;
    ronchi_qem_part *parts;
} source;

static ronchi_qem_part next_part(void *user, size_t index)
{
    return ((source *)user)->parts[index];
}

static source make_source(size_t size, size_t largest, uint64_t seed)
{
    source s = {malloc(size), size, 0, calloc(size / largest * 4 + 4, sizeof(ronchi_qem_part))};
    assert_non_null(s.bytes);
    for (size_t at = 0; at < size;) {
        size_t gap = ronchi_min_size(test_random(&seed) % 8, size - at);
        size_t n = ronchi_min_size(test_random(&seed) % largest + largest / 2, size - at - gap);
        memset(s.bytes + at, 0, gap);
        for (size_t i = 0; i < n; i++)
            s.bytes[at + gap + i] = (uint8_t)(i * 7 + s.n_parts);
        s.parts[s.n_parts++] = (ronchi_qem_part){gap, s.bytes + at + gap, n};
        at += gap + n;
    }
    return s;
}

static void free_source(source *s)
{
    free(s->bytes);
    free(s->parts);
}

static ronchi_status write_source(ronchi_context *context, int force, const json_t *header, source *s,
                                  ronchi_error *err)
{
    return ronchi_qem_write(context, path, force, header, s->n_parts, next_part, s, err);
}

/* A header with everything that Ronchi does not know. */
static json_t *strange_header(void)
{
    json_t *header = qem_header(), *scientific = json_object_get(header, "scientific_metadata");
    json_object_del(header, "bytes");
    json_object_del(header, "sha256");
    json_object_set_new(header, "later_field", json_pack("{s:[ifbn], s:s#}", "list", -3, 0.1, 1, "zero", "a\0b", 3));
    json_object_set_new(header, "empad", json_pack("{s:s}", "format_name", "NumPy float32"));
    json_object_set_new(scientific, "later_key", json_string("caf\xC3\xA9 \xCE\xB1 \xF0\x9F\x94\xAC"));
    json_object_set_new(scientific, "extensions", json_pack("{s:{s:i}}", "someone", "x", 1));
    json_object_set_new(scientific, "sample",
                        json_pack("{s:s, s:s, s:s}", "provenance", "typed", "name", "gold", "more", "x"));
    const char *content = "<?xml version=\"1.0\"?><scan><note>\xC2\xB5</note></scan>";
    char hex[65];
    qem_hex(content, strlen(content), hex);
    json_object_set_new(scientific, "source_documents",
                        json_pack("[{s:s, s:s, s:s, s:s}]", "filename", "scan.xml", "mediaType", "application/xml",
                                  "content", content, "sha256", hex));
    return header;
}

static void round_trip(size_t size, size_t largest, uint32_t threads)
{
    ronchi_context *context = qem_context(threads);
    source s = make_source(size, largest, 7);
    json_t *header = strange_header();
    ronchi_error err;
    ronchi_status status = write_source(context, 1, header, &s, &err);
    if (status != RONCHI_OK)
        print_error("%s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    folder_holds(1);

    ronchi_qem qem;
    assert_int_equal(ronchi_qem_open(context, path, &qem, &err), RONCHI_OK);
    assert_int_equal(qem.body_bytes, size);
    uint8_t *got = malloc(size);
    assert_int_equal(ronchi_qem_read_body(&qem, 0, got, size, &err), RONCHI_OK);
    assert_memory_equal(got, s.bytes, size);
    assert_int_equal(ronchi_qem_check_body(&qem, &err), RONCHI_OK);
    uint64_t seed = 3;
    for (int i = 0; i < 50; i++) {
        size_t at = test_random(&seed) % size, n = test_random(&seed) % (size - at + 1);
        n = ronchi_min_size(n, 100000);
        assert_int_equal(ronchi_qem_read_body(&qem, at, got, n, &err), RONCHI_OK);
        assert_memory_equal(got, s.bytes + at, n);
    }
    json_t *extra = ronchi_qem_extra_fields(qem.header);
    assert_int_equal(json_object_size(extra), 2);
    assert_true(json_equal(json_object_get(extra, "later_field"), json_object_get(header, "later_field")));
    json_decref(extra);
    assert_int_equal(json_integer_value(json_object_get(qem.header, "bytes")), size);
    json_object_del(qem.header, "bytes");
    json_object_del(qem.header, "sha256");
    assert_true(json_equal(qem.header, header));
    ronchi_qem_close(&qem);
    free(got);
    json_decref(header);
    free_source(&s);
    ronchi_context_destroy(context);
}

static void round_trips(void **state)
{
    (void)state;
    round_trip(1, 10, 1);
    round_trip(1000, 10, 1);
    round_trip(3000000, 400000, 2);
    round_trip(5000001, 3000000, 3);
}

/* Several digest blocks, the last one short; the bytes do not depend on the number of threads. */
static void many_blocks(void **state)
{
    (void)state;
    size_t size = ((size_t)64 << 20) * 2 + 12345;
    round_trip(size, 30000000, 2);
    ronchi_context *context = qem_context(3);
    ronchi_qem qem;
    ronchi_error err;
    assert_int_equal(ronchi_qem_open(context, path, &qem, &err), RONCHI_OK);
    assert_int_equal(json_array_size(json_object_get(qem.header, "sha256")), 3);
    uint64_t start = qem.body_start;
    ronchi_qem_close(&qem);

    /* One flipped bit in the last block: named, and the bytes of good blocks can still be read one by one. */
    FILE *file = fopen(path, "r+b");
    assert_int_equal(fseek(file, (long)(start + size - 5), SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, (long)(start + size - 5), SEEK_SET), 0);
    fputc(byte ^ 16, file);
    fclose(file);
    assert_int_equal(ronchi_qem_open(context, path, &qem, &err), RONCHI_OK);
    assert_int_equal(ronchi_qem_check_body(&qem, &err), RONCHI_ERR_DATA);
    assert_int_equal(err.offset, start + ((uint64_t)128 << 20));
    assert_non_null(strstr(err.message, "body block 2"));
    char c[4];
    assert_int_equal(ronchi_qem_read_body(&qem, ((uint64_t)64 << 20) - 2, c, 4, &err), RONCHI_OK);
    assert_int_equal(ronchi_qem_read_body(&qem, size - 4, c, 4, &err), RONCHI_ERR_DATA);
    ronchi_qem_close(&qem);
    ronchi_context_destroy(context);
    unlink(path);
}

static void same_bytes_for_any_threads(void **state)
{
    (void)state;
    uint8_t first[32];
    for (uint32_t threads = 1; threads <= 4; threads++) {
        ronchi_context *context = qem_context(threads);
        source s = make_source(700000, 5000, 11);
        json_t *header = strange_header();
        assert_int_equal(write_source(context, 1, header, &s, NULL), RONCHI_OK);
        ronchi_stat st;
        assert_int_equal(ronchi_stat_path(path, &st, NULL), RONCHI_OK);
        uint8_t *bytes = malloc(st.size_bytes), digest[32];
        FILE *file = fopen(path, "rb");
        assert_int_equal(fread(bytes, 1, st.size_bytes, file), st.size_bytes);
        fclose(file);
        SHA256(bytes, st.size_bytes, digest);
        if (threads == 1)
            memcpy(first, digest, sizeof first);
        assert_memory_equal(digest, first, sizeof first);
        free(bytes);
        json_decref(header);
        free_source(&s);
        ronchi_context_destroy(context);
    }
    unlink(path);
}

static void existing_files_are_kept(void **state)
{
    (void)state;
    ronchi_context *context = qem_context(1);
    source s = make_source(1000, 100, 1);
    json_t *header = strange_header();
    ronchi_error err;
    qem_put(path, "mine", 4);
    assert_int_equal(write_source(context, 0, header, &s, &err), RONCHI_ERR_EXISTS);
    assert_non_null(strstr(err.message, "--force"));
    ronchi_stat st;
    assert_int_equal(ronchi_stat_path(path, &st, NULL), RONCHI_OK);
    assert_int_equal(st.size_bytes, 4);
    folder_holds(1);
    assert_int_equal(write_source(context, 1, header, &s, &err), RONCHI_OK);
    folder_holds(1);
    ronchi_qem qem;
    assert_int_equal(ronchi_qem_open(context, path, &qem, NULL), RONCHI_OK);
    ronchi_qem_close(&qem);
    unlink(path);
    assert_int_equal(ronchi_qem_write(context, "/nonexistent/folder/a.qem", 0, header, s.n_parts, next_part, &s, &err),
                     RONCHI_ERR_NOT_FOUND);
    assert_int_equal(ronchi_qem_write(context, folder, 1, header, s.n_parts, next_part, &s, &err), RONCHI_ERR_EXISTS);
    folder_holds(0);
    json_decref(header);
    free_source(&s);
    ronchi_context_destroy(context);
}

static void bad_headers_write_nothing(void **state)
{
    (void)state;
    ronchi_context *context = qem_context(1);
    source s = make_source(1000, 100, 1);
    ronchi_error err;
    json_t *header = strange_header();
    json_object_set_new(json_object_get(header, "scientific_metadata"), "processing", json_array());
    assert_int_equal(write_source(context, 0, header, &s, &err), RONCHI_ERR_DATA);
    assert_non_null(strstr(err.message, "$.scientific_metadata.processing"));
    json_decref(header);

    header = strange_header();
    size_t size = (size_t)17 << 20;
    char *text = malloc(size);
    memset(text, 'x', size);
    json_object_set_new(header, "large", json_stringn(text, size));
    free(text);
    assert_int_equal(write_source(context, 0, header, &s, &err), RONCHI_ERR_RANGE);
    json_decref(header);

    header = strange_header();
    s.n_parts = 0;
    assert_int_equal(write_source(context, 0, header, &s, &err), RONCHI_ERR_ARGUMENT);
    json_decref(header);
    folder_holds(0);
    free_source(&s);
    ronchi_context_destroy(context);
}

/* The file system refuses the rest of the file at any byte: nothing stays behind. */
static void full_disk_leaves_nothing(void **state)
{
    (void)state;
    ronchi_context *context = qem_context(1);
    source s = make_source(3000000, 700000, 1);
    json_t *header = strange_header();
    struct rlimit old, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    static const rlim_t sizes[] = {0, 10, 56, 300, 5000, 1000000, 2999000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        limit = old;
        limit.rlim_cur = sizes[i];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        ronchi_error err;
        ronchi_status status = write_source(context, 0, header, &s, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, RONCHI_ERR_IO);
        assert_int_equal(err.native, EFBIG);
        folder_holds(0);
    }
    signal(SIGXFSZ, handler);
    json_decref(header);
    free_source(&s);
    ronchi_context_destroy(context);
}

typedef struct stopper {
    uint64_t calls, stop_at;
} stopper;

static int stop_later(void *user, const ronchi_progress *progress)
{
    (void)progress;
    stopper *s = user;
    return s->calls++ >= s->stop_at;
}

static void cancelling_leaves_nothing(void **state)
{
    (void)state;
    stopper stop = {0, UINT64_MAX};
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = 1;
    options.progress = stop_later;
    options.progress_user = &stop;
    ronchi_context *context;
    assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
    source s = make_source(9000000, 700000, 1);
    json_t *header = strange_header();
    assert_int_equal(write_source(context, 0, header, &s, NULL), RONCHI_OK);
    uint64_t calls = stop.calls;
    assert_true(calls > 5);
    unlink(path);
    for (uint64_t at = 0; at < calls; at++) {
        stop = (stopper){0, at};
        assert_int_equal(write_source(context, 0, header, &s, NULL), RONCHI_ERR_CANCELLED);
        folder_holds(0);
    }
    json_decref(header);
    free_source(&s);
    ronchi_context_destroy(context);
}

static int kill_later(void *user, const ronchi_progress *progress)
{
    if (stop_later(user, progress))
        kill(getpid(), SIGKILL);
    return 0;
}

/* Killed at any point of writing: under the final name there is either nothing or the whole file. */
static void killed_leaves_no_half_file(void **state)
{
    (void)state;
    source s = make_source(9000000, 700000, 1);
    json_t *header = strange_header();
    for (uint64_t at = 0; at < 12; at++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            stopper stop = {0, at};
            ronchi_context_options options;
            ronchi_context_options_defaults(&options);
            options.threads = 1;
            options.progress = kill_later;
            options.progress_user = &stop;
            ronchi_context *context;
            if (ronchi_context_create(&options, &context, NULL) == RONCHI_OK)
                (void)write_source(context, 0, header, &s, NULL);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        size_t temporary, n = count_files(&temporary);
        ronchi_stat st;
        assert_int_equal(ronchi_stat_path(path, &st, NULL), RONCHI_OK);
        if (WIFSIGNALED(status)) {
            assert_int_equal(n, temporary);
            assert_false(st.exists);
        } else {
            assert_true(st.exists && st.size_bytes > s.size);
        }
        char command[256];
        snprintf(command, sizeof command, "rm -f %s/* %s/.*.tmp", folder, folder);
        assert_int_equal(system(command), 0);
    }
    json_decref(header);
    free_source(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(same_bytes_for_any_threads),
        cmocka_unit_test(existing_files_are_kept),
        cmocka_unit_test(bad_headers_write_nothing),
        cmocka_unit_test(full_disk_leaves_nothing),
        cmocka_unit_test(cancelling_leaves_nothing),
        cmocka_unit_test(killed_leaves_no_half_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
