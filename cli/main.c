/* SPDX-License-Identifier: MIT */
/* main.c - the command. */
#include <stdio.h>
#include <string.h>

#include "ronchi/ronchi.h"

int main(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "version") == 0 || strcmp(argv[1], "--version") == 0)) {
        printf("ronchi %s\n", ronchi_version());
        return fflush(stdout) == 0 ? 0 : 3;
    }
    fputs("ronchi: give a command: version\n", stderr);
    return 2;
}
