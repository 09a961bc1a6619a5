/* SPDX-License-Identifier: MIT */
/* error.c - status names and the one place where error structs are filled. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/internal.h"

const char *ronchi_version(void)
{
    return RONCHI_VERSION_STRING;
}

const char *ronchi_status_name(ronchi_status status)
{
    static const char *const names[] = {
        "OK",         "ARGUMENT", "SHAPE",       "RANGE",  "NOT_FOUND", "EXISTS", "NEEDED",    "CLOSED",   "DATA",
        "INCOMPLETE", "FORMAT",   "UNSUPPORTED", "MEMORY", "IO",        "DEVICE", "CANCELLED", "INTERNAL",
    };
    size_t i = (size_t)status;
    return i < sizeof names / sizeof names[0] ? names[i] : "?";
}

/* Copies the end of 'text' when it is too long: the end of a path says more than its beginning. */
static void copy_end(char *dst, size_t size, const char *text)
{
    size_t n = strlen(text);
    const char *from = n < size ? text : text + (n - (size - 1));
    memcpy(dst, from, strlen(from) + 1);
}

static void fill(ronchi_error *err, ronchi_status status, const char *file, uint64_t offset, int native,
                 const char *format, va_list args)
{
    err->status = status;
    err->offset = offset;
    err->native = native;
    copy_end(err->file, sizeof err->file, file ? file : "");
    vsnprintf(err->message, sizeof err->message, format, args);
    for (char *c = err->message; *c; c++) /* names from files must not break the line or the terminal */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

ronchi_status ronchi_fail(ronchi_error *err, ronchi_status status, const char *file, uint64_t offset,
                          const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, file, offset, 0, format, args);
        va_end(args);
    }
    return status;
}

ronchi_status ronchi_fail_native(ronchi_error *err, ronchi_status status, const char *file, int native,
                                 const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, file, RONCHI_NO_OFFSET, native, format, args);
        va_end(args);
    }
    return status;
}
