/* SPDX-License-Identifier: MIT */
/* folder.h - folders: finding files in them, making them. */
#ifndef RONCHI_CLI_FOLDER_H
#define RONCHI_CLI_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_paths {
    char **path;
    size_t n, room;
} cli_paths;

bool cli_exists(const char *path);
bool cli_is_folder(const char *path);
/* cli_find_files() finds files of that ending in a folder and below, sorted; the caller frees with cli_paths_free(). */
int cli_find_files(const char *folder, const char *suffix, cli_paths *out);
void cli_paths_free(cli_paths *paths);
/* cli_make_folders() makes a folder and those above it that are missing. */
int cli_make_folders(const char *path);
/* cli_remove_folder() removes a folder and the files in it (not the folders). */
void cli_remove_folder(const char *path);

#endif
