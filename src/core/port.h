/* SPDX-License-Identifier: MIT */
/*
 * port.h - the operating system, behind one seam: files, threads, processors.  POSIX today.
 */
#ifndef RONCHI_CORE_PORT_H
#define RONCHI_CORE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ronchi/core.h"

/* ----------------------------------------------------------------------------------------------------- files */

/* What the file system says of a path. */
typedef struct ronchi_stat {
    bool exists, is_file, is_folder;
    uint64_t size_bytes;
    int64_t mtime_ns;
} ronchi_stat;

/* ronchi_stat_path() fills *out; a path that is not there is no error. */
ronchi_status ronchi_stat_path(const char *path, ronchi_stat *out, ronchi_error *err);

/* A file open for reading at any offset, by any thread at once. */
typedef struct ronchi_input {
    int fd;
    uint64_t size_bytes;
    char path[256]; /* for messages: as given, its end if longer */
} ronchi_input;

ronchi_status ronchi_input_open(const char *path, ronchi_input *out, ronchi_error *err);
/* ronchi_input_read() reads exactly 'size' bytes at 'offset'; RONCHI_ERR_DATA when the file ends before. */
ronchi_status ronchi_input_read(const ronchi_input *input, uint64_t offset, void *dst, size_t size, ronchi_error *err);
void ronchi_input_close(ronchi_input *input);

/*
 * A file that appears whole or not at all: written under a temporary name in the same folder, published by commit
 * (fsync, rename, fsync of the folder).  Without 'force' an existing destination is refused at open and again,
 * atomically, at commit.
 */
typedef struct ronchi_output {
    int fd;
    uint64_t position;
    int force;
    char path[4096];
    char temporary[4160];
} ronchi_output;

ronchi_status ronchi_output_open(const char *path, int force, ronchi_output *out, ronchi_error *err);
ronchi_status ronchi_output_write(ronchi_output *output, const void *bytes, size_t size, ronchi_error *err);
/* ronchi_output_write_at() writes at any offset, leaving the position of ronchi_output_write() alone. */
ronchi_status ronchi_output_write_at(ronchi_output *output, uint64_t offset, const void *bytes, size_t size,
                                     ronchi_error *err);
ronchi_status ronchi_output_commit(ronchi_output *output, ronchi_error *err);
/* ronchi_output_abort() removes the temporary file; harmless after commit or a failed open. */
void ronchi_output_abort(ronchi_output *output);

/*
 * ronchi_publish() gives a finished temporary file (written by a library that needs its own handle) its name under the
 * same promises as commit.  ronchi_temporary_name() makes a fresh name in the folder of 'path'.
 */
ronchi_status ronchi_temporary_name(const char *path, char *out, size_t size, ronchi_error *err);
ronchi_status ronchi_publish(const char *temporary, const char *path, int force, ronchi_error *err);
void ronchi_remove_file(const char *path);

/* --------------------------------------------------------------------------------------------------- threads */

/* One thread that runs fn(user) once.  Join exactly once. */
typedef struct ronchi_thread ronchi_thread;
ronchi_status ronchi_thread_start(void (*fn)(void *user), void *user, ronchi_thread **out);
void ronchi_thread_join(ronchi_thread *thread);

/*
 * Libraries with state of their own that is shared by the whole process and not protected by them: whoever calls into
 * one holds its lock.  ronchi_library_lock() waits; not recursive; at most one of them is held at a time.
 */
typedef enum ronchi_library { RONCHI_LIBRARY_HDF5 = 0, RONCHI_LIBRARY_FFT = 1 } ronchi_library;
void ronchi_library_lock(ronchi_library library);
void ronchi_library_unlock(ronchi_library library);

/*
 * ronchi_beside_library() writes the path of 'name' in the folder of the file that this code was loaded from:
 * libronchi, or the program that it was linked into.
 */
ronchi_status ronchi_beside_library(const char *name, char *out, size_t size, ronchi_error *err);
/*
 * ronchi_module_symbol() loads the shared object at 'path' for the life of the process and looks up one function.
 * RONCHI_ERR_DEVICE with the loader's words: only devices are loaded in this way.
 */
ronchi_status ronchi_module_symbol(const char *path, const char *symbol, void (**out)(void), ronchi_error *err);

/*
 * ronchi_large_pages() asks for large pages under memory that is used in long strides; a hint, nothing depends on it.
 */
void ronchi_large_pages(void *memory, size_t size_bytes);

uint32_t ronchi_processors(void);
/* Seconds on a clock that never goes back. */
double ronchi_now(void);

#endif
