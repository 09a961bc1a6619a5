/* SPDX-License-Identifier: MIT */
/* files.h - what a test leaves in its folder. */
#ifndef RONCHI_TEST_FILES_H
#define RONCHI_TEST_FILES_H

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Files in the folder, hidden ones too; removes them when asked. */
static inline size_t test_files(const char *folder, int remove)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[512];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (remove)
            unlink(path);
    }
    closedir(dir);
    return n;
}

#endif
