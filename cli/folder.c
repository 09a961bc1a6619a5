/* SPDX-License-Identifier: MIT */
/* folder.c - folders: finding files in them, making them. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

bool cli_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool cli_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add(cli_paths *paths, const char *path)
{
    if (paths->n == paths->room) {
        size_t room = paths->room ? 2 * paths->room : 64;
        char **more = realloc(paths->path, room * sizeof *more);
        if (!more)
            return cli_fail(CLI_FAILED, path, "no memory for the list of files");
        paths->path = more;
        paths->room = room;
    }
    char *copy = malloc(strlen(path) + 1);
    if (!copy)
        return cli_fail(CLI_FAILED, path, "no memory for the list of files");
    memcpy(copy, path, strlen(path) + 1);
    paths->path[paths->n++] = copy;
    return CLI_DONE;
}

/* Folders are not followed through links, so that a link upwards cannot send the search in circles; files are. */
static int search(const char *folder, const char *suffix, int depth, cli_paths *out)
{
    enum { DEEPEST = 64 };
    DIR *dir = opendir(folder);
    if (!dir)
        return cli_fail(errno == EACCES ? CLI_FAILED : CLI_BAD_CALL, folder, "cannot be listed: %s", strerror(errno));
    int code = CLI_DONE;
    for (struct dirent *entry; code == CLI_DONE && (entry = readdir(dir));) {
        char path[4096];
        struct stat st;
        size_t n = strlen(folder);
        const char *slash = n && folder[n - 1] == '/' ? "" : "/";
        if (entry->d_name[0] == '.')
            continue;
        int length = snprintf(path, sizeof path, "%s%s%s", folder, slash, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof path || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < DEEPEST)
            code = search(path, suffix, depth + 1, out);
        else if (!S_ISDIR(st.st_mode) && cli_ends_with(entry->d_name, suffix) && !cli_is_folder(path))
            code = add(out, path);
    }
    closedir(dir);
    return code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int cli_find_files(const char *folder, const char *suffix, cli_paths *out)
{
    memset(out, 0, sizeof *out);
    int code = search(folder, suffix, 0, out);
    if (out->n)
        qsort(out->path, out->n, sizeof *out->path, by_name);
    return code;
}

void cli_paths_free(cli_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->path[i]);
    free(paths->path);
    memset(paths, 0, sizeof *paths);
}

int cli_make_folders(const char *path)
{
    char part[4096];
    size_t n = strlen(path);
    if (n >= sizeof part)
        return cli_fail(CLI_BAD_CALL, path, "the path is too long");
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return cli_fail(CLI_FAILED, part, "the folder cannot be made: %s", strerror(errno));
    }
    if (!cli_is_folder(path))
        return cli_fail(CLI_BAD_CALL, path, "is not a folder");
    return CLI_DONE;
}

void cli_remove_folder(const char *path)
{
    cli_paths files;
    if (cli_find_files(path, "", &files) == CLI_DONE)
        for (size_t i = 0; i < files.n; i++)
            unlink(files.path[i]);
    cli_paths_free(&files);
    rmdir(path);
}
