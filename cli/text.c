/* SPDX-License-Identifier: MIT */
/* text.c - sizes, shapes and paths as text; text that is safe to show; JSON. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

const char *cli_size(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t i = 0;
    if (bytes < 1000) {
        snprintf(text, 32, "%u B", (unsigned)bytes);
        return text;
    }
    for (value /= 1000; value >= 999.95 && i + 1 < sizeof units / sizeof units[0]; i++)
        value /= 1000;
    snprintf(text, 32, "%.1f %s", value, units[i]);
    return text;
}

const char *cli_shape(const ronchi_shape *shape, char text[128])
{
    snprintf(text, 128, "%zu x %zu scan, %zu x %zu detector", shape->scan_rows, shape->scan_cols, shape->det_rows,
             shape->det_cols);
    return text;
}

bool cli_ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

const char *cli_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ------------------------------------------------------------------------------------------------------ safe text */

/*
 * Bytes of the UTF-8 character at 'c', which ends with a 0 byte at the latest; 0 where there is none: stray, overlong
 * and truncated sequences, surrogates, and what lies above U+10FFFF.
 */
static size_t utf8_length(const unsigned char *c)
{
    if (c[0] < 0x80)
        return 1;
    size_t n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return overlong || beyond ? 0 : n;
}

/* U+0080 to U+009F are control characters too; some terminals obey them. */
static bool is_control(const unsigned char *c)
{
    return *c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0);
}

void cli_put_safe(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t n = utf8_length(c);
        if (n && !is_control(c)) {
            fwrite(c, 1, n, out);
            c += n;
            continue;
        }
        for (n = n ? n : 1; n; n--)
            fprintf(out, "\\x%02x", *c++);
    }
}

void cli_print_args(FILE *out, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = n >= 0 ? malloc((size_t)n + 1) : NULL;
    if (text) {
        size_t length = strlen(format);
        bool line = length && format[length - 1] == '\n';
        vsnprintf(text, (size_t)n + 1, format, again);
        if (line)
            text[n - 1] = 0;
        cli_put_safe(out, text);
        if (line)
            fputc('\n', out);
    }
    va_end(again);
    free(text);
}

void cli_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cli_print_args(stdout, format, args);
    va_end(args);
}

/* ------------------------------------------------------------------------------------------------------- JSON */

static void quote(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t n = utf8_length(c);
        if (n == 0) /* JSON is UTF-8, names of files need not be */
            fputs("\\ufffd", out);
        else if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (n == 1 && is_control(c))
            fprintf(out, "\\u%04x", *c);
        else if (is_control(c))
            fprintf(out, "\\u%04x", c[1]);
        else
            fwrite(c, 1, n, out);
        c += n ? n : 1;
    }
    fputc('"', out);
}

/* Comma, new line, indentation and key: what comes before every value. */
static void begin(cli_json *json, const char *key)
{
    if (json->depth)
        fprintf(json->out, "%s\n%*s", json->first ? "" : ",", 2 * json->depth, "");
    json->first = false;
    if (key) {
        quote(json->out, key);
        fputs(": ", json->out);
    }
}

void cli_json_open(cli_json *json, const char *key, char bracket)
{
    begin(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

void cli_json_close(cli_json *json, char bracket)
{
    json->depth--;
    if (!json->first)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    json->first = false;
    if (!json->depth)
        fputc('\n', json->out);
}

void cli_json_text(cli_json *json, const char *key, const char *text)
{
    if (!text) {
        cli_json_null(json, key);
        return;
    }
    begin(json, key);
    quote(json->out, text);
}

void cli_json_count(cli_json *json, const char *key, uint64_t value)
{
    begin(json, key);
    fprintf(json->out, "%llu", (unsigned long long)value);
}

void cli_json_real(cli_json *json, const char *key, double value)
{
    char text[40];
    if (!isfinite(value)) {
        cli_json_null(json, key);
        return;
    }
    begin(json, key);
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) /* the shorter of the two that reads back as the same number */
        snprintf(text, sizeof text, "%.17g", value);
    fputs(text, json->out);
}

void cli_json_bool(cli_json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", json->out);
}

void cli_json_null(cli_json *json, const char *key)
{
    begin(json, key);
    fputs("null", json->out);
}

void cli_json_raw(cli_json *json, const char *key, const char *value)
{
    begin(json, key);
    fputs(value, json->out);
}

void cli_json_shape(cli_json *json, const char *key, const ronchi_shape *shape)
{
    if (!shape->scan_rows || !shape->det_rows) {
        cli_json_null(json, key);
        return;
    }
    begin(json, key);
    fprintf(json->out, "[%zu, %zu, %zu, %zu]", shape->scan_rows, shape->scan_cols, shape->det_rows, shape->det_cols);
}
