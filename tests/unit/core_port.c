/* SPDX-License-Identifier: MIT */
/* core_port.c - files that appear whole or not at all, reading at any offset, threads. */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/internal.h"
#include "core/port.h"

static char folder[64], path[128], other[128];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ronchi-port-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/a.bin", folder);
    snprintf(other, sizeof other, "%s/b.bin", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(folder); /* fails when anything else was left behind */
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* The whole of a small file, or "" when it is not there. */
static const char *get(const char *name, char out[64])
{
    FILE *file = fopen(name, "rb");
    size_t n = file ? fread(out, 1, 63, file) : 0;
    if (file)
        fclose(file);
    out[n] = 0;
    return out;
}

static size_t files_in_folder(void)
{
    DIR *dir = opendir(folder);
    size_t n = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void stat_describes(void **state)
{
    (void)state;
    ronchi_stat st;
    ronchi_error err;
    char under[160];
    unlink(path);
    assert_int_equal(ronchi_stat_path(path, &st, &err), RONCHI_OK);
    assert_false(st.exists);
    put(path, "12345");
    assert_int_equal(ronchi_stat_path(path, &st, &err), RONCHI_OK);
    assert_true(st.exists && st.is_file && !st.is_folder && st.size_bytes == 5 && st.mtime_ns > 0);
    assert_int_equal(ronchi_stat_path(folder, &st, &err), RONCHI_OK);
    assert_true(st.exists && st.is_folder && !st.is_file);
    snprintf(under, sizeof under, "%s/under", path);
    assert_int_equal(ronchi_stat_path(under, &st, &err), RONCHI_OK);
    assert_false(st.exists);
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(ronchi_stat_path(longest, &st, &err), RONCHI_ERR_IO);
    assert_int_equal(err.native, ENAMETOOLONG);
}

static void input_reads_anywhere(void **state)
{
    (void)state;
    ronchi_input input;
    ronchi_error err;
    char got[8] = "";
    put(path, "0123456789");
    assert_int_equal(ronchi_input_open(path, &input, &err), RONCHI_OK);
    assert_int_equal(input.size_bytes, 10);
    assert_int_equal(ronchi_input_read(&input, 3, got, 4, &err), RONCHI_OK);
    assert_string_equal(got, "3456");
    assert_int_equal(ronchi_input_read(&input, 10, got, 0, &err), RONCHI_OK);
    assert_int_equal(ronchi_input_read(&input, 8, got, 5, &err), RONCHI_ERR_DATA);
    assert_int_equal(err.offset, 10);
    assert_non_null(strstr(err.message, "3 bytes too early"));
    assert_string_equal(err.file, path);
    assert_int_equal(ronchi_input_read(&input, UINT64_MAX - 4, got, 4, &err), RONCHI_ERR_IO);
    assert_int_equal(err.native, EINVAL);
    ronchi_input_close(&input);
    assert_int_equal(ronchi_input_read(&input, 0, got, 1, &err), RONCHI_ERR_IO);
    assert_int_equal(err.native, EBADF);
    ronchi_input_close(&input);
    ronchi_input_close(NULL);
}

static void input_refuses_other_things(void **state)
{
    (void)state;
    ronchi_input input;
    ronchi_error err;
    assert_int_equal(ronchi_input_open("/nonexistent/x", &input, &err), RONCHI_ERR_NOT_FOUND);
    ronchi_input_close(&input);
    assert_int_equal(ronchi_input_open(folder, &input, &err), RONCHI_ERR_FORMAT);
    assert_non_null(strstr(err.message, "a folder"));
    assert_int_equal(ronchi_input_open("/dev/null", &input, &err), RONCHI_ERR_FORMAT);
    unlink(other);
    assert_int_equal(mkfifo(other, 0600), 0);
    assert_int_equal(ronchi_input_open(other, &input, &err), RONCHI_ERR_FORMAT); /* and does not wait for a writer */
    assert_non_null(strstr(err.message, "pipe"));
    unlink(other);
}

static void output_appears_at_commit(void **state)
{
    (void)state;
    ronchi_output output;
    ronchi_stat st;
    char got[64];
    unlink(path);
    assert_int_equal(ronchi_output_open(path, 0, &output, NULL), RONCHI_OK);
    assert_int_equal(ronchi_output_write(&output, "hello ", 6, NULL), RONCHI_OK);
    assert_int_equal(ronchi_output_write(&output, "world", 5, NULL), RONCHI_OK);
    assert_int_equal(ronchi_output_write_at(&output, 0, "J", 1, NULL), RONCHI_OK);
    assert_int_equal(output.position, 11);
    assert_int_equal(ronchi_stat_path(path, &st, NULL), RONCHI_OK);
    assert_false(st.exists);
    assert_int_equal(strncmp(output.temporary, folder, strlen(folder)), 0);
    assert_int_equal(ronchi_output_commit(&output, NULL), RONCHI_OK);
    assert_string_equal(get(path, got), "Jello world");
    ronchi_output_abort(&output);
    assert_string_equal(get(path, got), "Jello world");
    assert_int_equal(files_in_folder(), 1);
}

static void abort_leaves_nothing(void **state)
{
    (void)state;
    ronchi_output output;
    char got[64];
    put(path, "old");
    assert_int_equal(ronchi_output_open(path, 1, &output, NULL), RONCHI_OK);
    assert_int_equal(ronchi_output_write(&output, "new", 3, NULL), RONCHI_OK);
    ronchi_output_abort(&output);
    ronchi_output_abort(&output);
    assert_string_equal(get(path, got), "old");
    assert_int_equal(files_in_folder(), 1);
}

static void existing_is_refused_twice(void **state)
{
    (void)state;
    ronchi_output output;
    ronchi_error err;
    char got[64];
    put(path, "mine");
    assert_int_equal(ronchi_output_open(path, 0, &output, &err), RONCHI_ERR_EXISTS);
    ronchi_output_abort(&output);
    assert_string_equal(get(path, got), "mine");
    /* Created by somebody else while we were writing. */
    unlink(path);
    assert_int_equal(ronchi_output_open(path, 0, &output, &err), RONCHI_OK);
    assert_int_equal(ronchi_output_write(&output, "ours", 4, NULL), RONCHI_OK);
    put(path, "theirs");
    assert_int_equal(ronchi_output_commit(&output, &err), RONCHI_ERR_EXISTS);
    assert_non_null(strstr(err.message, "--force"));
    ronchi_output_abort(&output);
    assert_string_equal(get(path, got), "theirs");
    assert_int_equal(files_in_folder(), 1);
    /* The same with force replaces. */
    assert_int_equal(ronchi_output_open(path, 1, &output, &err), RONCHI_OK);
    assert_int_equal(ronchi_output_write(&output, "ours", 4, NULL), RONCHI_OK);
    assert_int_equal(ronchi_output_commit(&output, &err), RONCHI_OK);
    assert_string_equal(get(path, got), "ours");
    /* A link that leads nowhere is something that exists. */
    unlink(path);
    assert_int_equal(symlink("/nonexistent/target", path), 0);
    assert_int_equal(ronchi_output_open(path, 0, &output, &err), RONCHI_OK);
    assert_int_equal(ronchi_output_commit(&output, &err), RONCHI_ERR_EXISTS);
    ronchi_output_abort(&output);
    assert_int_equal(files_in_folder(), 1);
    unlink(path);
}

/* A rename would take the name away from a device, a pipe or a folder. */
static void special_destinations_are_refused(void **state)
{
    (void)state;
    ronchi_output output;
    ronchi_error err;
    unlink(other);
    assert_int_equal(mkfifo(other, 0600), 0);
    for (int force = 0; force < 2; force++) {
        assert_int_equal(ronchi_output_open("/dev/null", force, &output, &err), RONCHI_ERR_EXISTS);
        assert_int_equal(ronchi_output_open(other, force, &output, &err), RONCHI_ERR_EXISTS);
        assert_int_equal(ronchi_output_open(folder, force, &output, &err), RONCHI_ERR_EXISTS);
    }
    put(path, "finished");
    assert_int_equal(ronchi_publish(path, other, 1, &err), RONCHI_ERR_EXISTS);
    assert_int_equal(ronchi_publish(path, folder, 1, &err), RONCHI_ERR_EXISTS);
    struct stat st;
    assert_int_equal(stat(other, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    unlink(other);
    unlink(path);
}

static void bad_places_are_named(void **state)
{
    (void)state;
    ronchi_output output;
    ronchi_error err;
    assert_int_equal(ronchi_output_open("/nonexistent/folder/x", 0, &output, &err), RONCHI_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "folder does not exist"));
    ronchi_output_abort(&output);
    assert_int_equal(ronchi_output_open("", 0, &output, &err), RONCHI_ERR_ARGUMENT);
    ronchi_output_abort(&output);
    assert_int_equal(ronchi_output_open("/tmp/", 1, &output, &err), RONCHI_ERR_ARGUMENT);
    ronchi_output_abort(&output);
    char under[160];
    put(path, "file");
    snprintf(under, sizeof under, "%s/x", path);
    assert_int_equal(ronchi_output_open(under, 0, &output, &err), RONCHI_ERR_NOT_FOUND);
    ronchi_output_abort(&output);
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_not_equal(ronchi_output_open(longest, 0, &output, &err), RONCHI_OK);
    ronchi_output_abort(&output);
    char name[40];
    assert_int_equal(ronchi_temporary_name(path, name, sizeof name, &err), RONCHI_ERR_ARGUMENT);
    unlink(path);
}

static void full_disk_is_an_error(void **state)
{
    (void)state;
    struct rlimit old, limit;
    ronchi_output output;
    ronchi_error err;
    char block[1000] = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 1500;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ronchi_status opened = ronchi_output_open(path, 0, &output, &err);
    ronchi_status first = ronchi_output_write(&output, block, sizeof block, &err);
    ronchi_status second = ronchi_output_write(&output, block, sizeof block, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(opened, RONCHI_OK);
    assert_int_equal(first, RONCHI_OK);
    assert_int_equal(second, RONCHI_ERR_IO);
    assert_int_equal(err.native, EFBIG);
    assert_non_null(strstr(err.message, "byte 1500"));
    ronchi_output_abort(&output);
    assert_int_equal(files_in_folder(), 0);
}

static void publish_moves(void **state)
{
    (void)state;
    ronchi_error err;
    char temporary[256], got[64];
    put(path, "old");
    assert_int_equal(ronchi_temporary_name(path, temporary, sizeof temporary, &err), RONCHI_OK);
    put(temporary, "new");
    assert_int_equal(ronchi_publish(temporary, path, 0, &err), RONCHI_ERR_EXISTS);
    assert_string_equal(get(path, got), "old");
    assert_string_equal(get(temporary, got), "new");
    assert_int_equal(ronchi_publish(temporary, path, 1, &err), RONCHI_OK);
    assert_string_equal(get(path, got), "new");
    assert_int_equal(ronchi_publish(temporary, path, 1, &err), RONCHI_ERR_IO);
    put(temporary, "newer");
    assert_int_equal(ronchi_publish(temporary, other, 0, &err), RONCHI_OK);
    assert_string_equal(get(other, got), "newer");
    assert_int_equal(files_in_folder(), 2);
    ronchi_remove_file(other);
    ronchi_remove_file(other);
    unlink(path);
}

static void add_one(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void threads_run_once(void **state)
{
    (void)state;
    atomic_int n = 0;
    ronchi_thread *threads[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(ronchi_thread_start(add_one, &n, &threads[i]), RONCHI_OK);
    for (int i = 0; i < 8; i++)
        ronchi_thread_join(threads[i]);
    ronchi_thread_join(NULL);
    assert_int_equal(atomic_load(&n), 8);
    assert_true(ronchi_processors() >= 1);
    double before = ronchi_now();
    assert_true(ronchi_now() >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_describes),
        cmocka_unit_test(input_reads_anywhere),
        cmocka_unit_test(input_refuses_other_things),
        cmocka_unit_test(output_appears_at_commit),
        cmocka_unit_test(abort_leaves_nothing),
        cmocka_unit_test(existing_is_refused_twice),
        cmocka_unit_test(special_destinations_are_refused),
        cmocka_unit_test(bad_places_are_named),
        cmocka_unit_test(full_disk_is_an_error),
        cmocka_unit_test(publish_moves),
        cmocka_unit_test(threads_run_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
