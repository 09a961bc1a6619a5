/* SPDX-License-Identifier: MIT */
/* port.c - files, threads and processors on POSIX. */
#define _GNU_SOURCE
#include "core/port.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/internal.h"

ronchi_status ronchi_stat_path(const char *path, ronchi_stat *out, ronchi_error *err)
{
    struct stat st;
    memset(out, 0, sizeof *out);
    if (stat(path, &st) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return RONCHI_OK;
        return ronchi_fail_native(err, RONCHI_ERR_IO, path, errno, "cannot look at it: %s", strerror(errno));
    }
    out->exists = true;
    out->is_file = S_ISREG(st.st_mode);
    out->is_folder = S_ISDIR(st.st_mode);
    out->size_bytes = (uint64_t)st.st_size;
    out->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------ input */

ronchi_status ronchi_input_open(const char *path, ronchi_input *out, ronchi_error *err)
{
    memset(out, 0, sizeof *out);
    out->fd = -1;
    size_t n = strlen(path);
    snprintf(out->path, sizeof out->path, "%s", n < sizeof out->path ? path : path + (n - (sizeof out->path - 1)));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must be refused, not waited for */
    if (fd < 0) {
        int native = errno;
        if (native == ENOENT || native == ENOTDIR)
            return ronchi_fail_native(err, RONCHI_ERR_NOT_FOUND, path, native, "no such file");
        return ronchi_fail_native(err, RONCHI_ERR_IO, path, native, "cannot open: %s", strerror(native));
    }
    struct stat st = {0};
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return ronchi_fail(err, RONCHI_ERR_FORMAT, path, RONCHI_NO_OFFSET, "%s, not a regular file",
                           S_ISDIR(st.st_mode) ? "a folder" : "a device or pipe");
    }
    out->fd = fd;
    out->size_bytes = (uint64_t)st.st_size;
    return RONCHI_OK;
}

ronchi_status ronchi_input_read(const ronchi_input *input, uint64_t offset, void *dst, size_t size, ronchi_error *err)
{
    char *to = dst;
    while (size) {
        ssize_t got = pread(input->fd, to, size < (1u << 30) ? size : (1u << 30), (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ronchi_fail_native(err, RONCHI_ERR_IO, input->path, errno, "reading at byte %llu failed: %s",
                                      (unsigned long long)offset, strerror(errno));
        if (got == 0)
            return ronchi_fail(err, RONCHI_ERR_DATA, input->path, offset,
                               "the file ends at byte %llu, %zu bytes too early: copy it again from the original",
                               (unsigned long long)offset, size);
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return RONCHI_OK;
}

void ronchi_input_close(ronchi_input *input)
{
    if (input && input->fd >= 0)
        close(input->fd);
    if (input)
        input->fd = -1;
}

/* ----------------------------------------------------------------------------------------------------- output */

static ronchi_status refuse_existing(const char *path, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET,
                       "exists already: give --force to replace it, or another name");
}

/* What may be replaced at all: a rename would put a file in the place of a folder's, device's or pipe's name. */
static ronchi_status refuse_destination(const char *path, int force, ronchi_error *err)
{
    ronchi_stat st;
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "names no file: give the name of a file");
    ronchi_status status = ronchi_stat_path(path, &st, err);
    if (status != RONCHI_OK)
        return status;
    if (st.is_folder)
        return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET, "is a folder: give the name of a file");
    if (st.exists && !st.is_file)
        return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET,
                           "is a device or pipe: give the name of a file");
    return st.exists && !force ? refuse_existing(path, err) : RONCHI_OK;
}

ronchi_status ronchi_temporary_name(const char *path, char *out, size_t size, ronchi_error *err)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int n = snprintf(out, size, "%.*s.%.96s.%ld.%09ld.tmp", folder, path, path + folder, (long)getpid(), now.tv_nsec);
    if (n < 0 || (size_t)n >= size)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "the path is too long");
    return RONCHI_OK;
}

ronchi_status ronchi_output_open(const char *path, int force, ronchi_output *out, ronchi_error *err)
{
    memset(out, 0, sizeof *out);
    out->fd = -1;
    out->force = force;
    ronchi_status status = refuse_destination(path, force, err);
    if (status != RONCHI_OK)
        return status;
    if (strlen(path) >= sizeof out->path)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "the path is too long");
    memcpy(out->path, path, strlen(path) + 1);
    status = ronchi_temporary_name(path, out->temporary, sizeof out->temporary, err);
    if (status != RONCHI_OK)
        return status;
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out->fd < 0) {
        int native = errno;
        out->temporary[0] = 0;
        if (native == ENOENT || native == ENOTDIR)
            return ronchi_fail_native(err, RONCHI_ERR_NOT_FOUND, path, native, "its folder does not exist");
        return ronchi_fail_native(err, RONCHI_ERR_IO, path, native, "cannot create: %s", strerror(native));
    }
    return RONCHI_OK;
}

ronchi_status ronchi_output_write_at(ronchi_output *output, uint64_t offset, const void *bytes, size_t size,
                                     ronchi_error *err)
{
    const char *from = bytes;
    while (size) {
        ssize_t put = pwrite(output->fd, from, size < (1u << 30) ? size : (1u << 30), (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0) /* no system does that; if one did, it would be for want of room */
            errno = ENOSPC;
        if (put <= 0)
            return ronchi_fail_native(err, RONCHI_ERR_IO, output->path, errno, "writing at byte %llu failed: %s",
                                      (unsigned long long)offset, strerror(errno));
        from += put;
        size -= (size_t)put;
        offset += (uint64_t)put;
    }
    return RONCHI_OK;
}

ronchi_status ronchi_output_write(ronchi_output *output, const void *bytes, size_t size, ronchi_error *err)
{
    ronchi_status status = ronchi_output_write_at(output, output->position, bytes, size, err);
    if (status == RONCHI_OK)
        output->position += size;
    return status;
}

/* The rename is durable only once the folder that holds the name is on disk. */
static void sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd); /* file systems that cannot sync a folder say so; the rename stands */
        close(fd);
    }
}

/*
 * Gives the name only where there is none, in one step, so that nobody who created it meanwhile is overwritten.  1:
 * done, 0: this file system has no such step, -1: errno says why not.
 */
static int rename_to_new(const char *temporary, const char *path)
{
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 1;
    if (errno == EEXIST)
        return -1;
#endif
    if (link(temporary, path) == 0) {
        unlink(temporary);
        return 1;
    }
    return errno == EEXIST ? -1 : 0;
}

static ronchi_status rename_into_place(const char *temporary, const char *path, int force, ronchi_error *err)
{
    int done = force ? 0 : rename_to_new(temporary, path);
    if (done < 0)
        return refuse_existing(path, err);
    if (done == 0) { /* replacing, or a last look where the file system can do no better */
        ronchi_status status = refuse_destination(path, force, err);
        if (status != RONCHI_OK)
            return status;
        if (rename(temporary, path) != 0)
            return ronchi_fail_native(err, RONCHI_ERR_IO, path, errno, "cannot give the file its name: %s",
                                      strerror(errno));
    }
    sync_folder(path);
    return RONCHI_OK;
}

/* File systems that cannot sync a file say so with one of these; then there is nothing to wait for. */
static bool sync_file(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
}

ronchi_status ronchi_output_commit(ronchi_output *output, ronchi_error *err)
{
    if (!sync_file(output->fd))
        return ronchi_fail_native(err, RONCHI_ERR_IO, output->path, errno, "cannot bring the file to disk: %s",
                                  strerror(errno));
    close(output->fd);
    output->fd = -1;
    ronchi_status status = rename_into_place(output->temporary, output->path, output->force, err);
    if (status == RONCHI_OK)
        output->temporary[0] = 0;
    return status;
}

void ronchi_output_abort(ronchi_output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    output->fd = -1;
    if (output->temporary[0])
        unlink(output->temporary);
    output->temporary[0] = 0;
}

ronchi_status ronchi_publish(const char *temporary, const char *path, int force, ronchi_error *err)
{
    int fd = open(temporary, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !sync_file(fd)) {
        int native = errno;
        if (fd >= 0)
            close(fd);
        return ronchi_fail_native(err, RONCHI_ERR_IO, path, native, "cannot bring the file to disk: %s",
                                  strerror(native));
    }
    close(fd);
    return rename_into_place(temporary, path, force, err);
}

void ronchi_remove_file(const char *path)
{
    unlink(path);
}

/* ---------------------------------------------------------------------------------------------------- threads */

struct ronchi_thread {
    pthread_t handle;
    void (*fn)(void *user);
    void *user;
};

static void *thread_main(void *argument)
{
    ronchi_thread *thread = argument;
    thread->fn(thread->user);
    return NULL;
}

ronchi_status ronchi_thread_start(void (*fn)(void *user), void *user, ronchi_thread **out)
{
    ronchi_thread *thread = malloc(sizeof *thread);
    *out = NULL;
    if (!thread)
        return RONCHI_ERR_MEMORY;
    thread->fn = fn;
    thread->user = user;
    if (pthread_create(&thread->handle, NULL, thread_main, thread) != 0) {
        free(thread);
        return RONCHI_ERR_MEMORY;
    }
    *out = thread;
    return RONCHI_OK;
}

void ronchi_thread_join(ronchi_thread *thread)
{
    if (!thread)
        return;
    pthread_join(thread->handle, NULL);
    free(thread);
}

/* Not state of ours: they stand for that of the libraries, of which a process has one each. */
static pthread_mutex_t *library_mutex(ronchi_library library)
{
    static pthread_mutex_t hdf5 = PTHREAD_MUTEX_INITIALIZER, fft = PTHREAD_MUTEX_INITIALIZER;
    return library == RONCHI_LIBRARY_HDF5 ? &hdf5 : &fft;
}

void ronchi_library_lock(ronchi_library library)
{
    pthread_mutex_lock(library_mutex(library));
}

void ronchi_library_unlock(ronchi_library library)
{
    pthread_mutex_unlock(library_mutex(library));
}

ronchi_status ronchi_beside_library(const char *name, char *out, size_t size, ronchi_error *err)
{
    static const char here = 0; /* an address in this library */
    Dl_info info;
    const char *path = dladdr(&here, &info) && info.dli_fname ? info.dli_fname : "";
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    if (folder == 0) /* a program found through PATH, known by its name alone */
        return ronchi_fail(err, RONCHI_ERR_DEVICE, NULL, RONCHI_NO_OFFSET,
                           "%s cannot be found: the library does not know its own folder", name);
    int n = snprintf(out, size, "%.*s%s", folder, path, name);
    if (n < 0 || (size_t)n >= size)
        return ronchi_fail(err, RONCHI_ERR_DEVICE, NULL, RONCHI_NO_OFFSET, "the path of %s is too long", name);
    return RONCHI_OK;
}

ronchi_status ronchi_module_symbol(const char *path, const char *symbol, void (**out)(void), ronchi_error *err)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *address = module ? dlsym(module, symbol) : NULL;
    *out = NULL;
    if (!address)
        return ronchi_fail(err, RONCHI_ERR_DEVICE, path, RONCHI_NO_OFFSET, "cannot be loaded: %s", dlerror());
    memcpy(out, &address, sizeof address); /* POSIX: the same representation */
    return RONCHI_OK;
}

void ronchi_large_pages(void *memory, size_t size_bytes)
{
#if defined(MADV_HUGEPAGE)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = ((uintptr_t)memory + page - 1) / page * page,
                    end = ((uintptr_t)memory + size_bytes) / page * page;
    if (start < end)
        (void)madvise((char *)memory + (start - (uintptr_t)memory), end - start, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size_bytes;
#endif
}

uint32_t ronchi_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int n = CPU_COUNT(&set);
        if (n > 0)
            return (uint32_t)n;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

double ronchi_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
