/* SPDX-License-Identifier: MIT */
/* text.c - sizes, shapes and paths as text; JSON. */
#include <math.h>
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

/* ------------------------------------------------------------------------------------------------------- JSON */

static void quote(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
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
