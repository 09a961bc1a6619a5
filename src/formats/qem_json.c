/* SPDX-License-Identifier: MIT */
/* qem_json.c - strict JSON on top of jansson: named duplicate keys, integers of any length, places in messages. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/qem_internal.h"

/* ------------------------------------------------------------------------------------------------ long integers */

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* True for an integer literal that strtoll() says is beyond 64 bits. */
static bool too_long(const char *token, size_t n)
{
    size_t first = token[0] == '-';
    if (n - first < 19 || n == first)
        return false;
    for (size_t i = first; i < n; i++)
        if (token[i] < '0' || token[i] > '9')
            return false;
    if (token[first] == '0')
        return false; /* no JSON number: the parser says so */
    if (n - first > 19)
        return true;
    char digits[24];
    memcpy(digits, token, n);
    digits[n] = 0;
    errno = 0;
    (void)strtoll(digits, NULL, 10);
    return errno == ERANGE;
}

/* A copy of the text in which integers beyond 64 bits are strings of their digits. */
static char *quote_long_integers(const char *text, size_t size, size_t *new_size)
{
    char *out = malloc(size + size / 8 + 64); /* two quotes for at least 19 digits */
    if (!out)
        return NULL;
    size_t to = 0;
    bool in_string = false;
    for (size_t i = 0; i < size;) {
        size_t n = 1;
        bool quote = false;
        if (in_string) {
            n = text[i] == '\\' && i + 1 < size ? 2 : 1;
            in_string = text[i] != '"';
        } else if (text[i] == '"') {
            in_string = true;
        } else if (in_number(text[i])) {
            while (i + n < size && in_number(text[i + n]))
                n++;
            quote = too_long(text + i, n);
        }
        if (quote)
            out[to++] = '"';
        memcpy(out + to, text + i, n);
        to += n;
        if (quote)
            out[to++] = '"';
        i += n;
    }
    *new_size = to;
    return out;
}

/* ----------------------------------------------------------------------------------------------------- parsing */

/* jansson stops right after the second occurrence of the key: its text stands before. */
static void name_duplicate(const char *text, size_t size, size_t end, ronchi_json_fault *fault)
{
    size_t first = end;
    if (end >= 2 && end <= size && text[end - 1] == '"') {
        for (first = end - 1; first > 0; first--) {
            size_t slashes = 0;
            while (slashes < first - 1 && text[first - 2 - slashes] == '\\')
                slashes++;
            if (text[first - 1] == '"' && slashes % 2 == 0)
                break;
        }
    }
    int n = first < end ? (int)ronchi_min_size(end - 1 - first, 100) : 0;
    snprintf(fault->why, sizeof fault->why, "the key \"%.*s\" occurs twice in one object", n, text + first);
}

static void describe_fault(const char *text, size_t size, const json_error_t *error, bool shifted,
                           ronchi_json_fault *fault)
{
    size_t at = error->position < 0 ? 0 : (size_t)error->position;
    fault->at = shifted ? SIZE_MAX : ronchi_min_size(at, size);
    if (json_error_code(error) == json_error_duplicate_key)
        name_duplicate(text, size, at, fault);
    else
        snprintf(fault->why, sizeof fault->why, "not strict JSON: %.160s", error->text);
}

json_t *ronchi_json_parse(const char *text, size_t size, bool unique, ronchi_json_fault *fault)
{
    size_t flags = JSON_ALLOW_NUL | (unique ? JSON_REJECT_DUPLICATES : 0);
    json_error_t error;
    json_t *root = json_loadb(text, size, flags, &error);
    if (root)
        return root;
    if (json_error_code(&error) != json_error_numeric_overflow) {
        describe_fault(text, size, &error, false, fault);
        return NULL;
    }
    size_t new_size = 0;
    char *copy = quote_long_integers(text, size, &new_size);
    if (!copy) {
        fault->at = SIZE_MAX;
        snprintf(fault->why, sizeof fault->why, "no memory to parse it");
        return NULL;
    }
    root = json_loadb(copy, new_size, flags, &error);
    if (!root)
        describe_fault(copy, new_size, &error, true, fault);
    free(copy);
    return root;
}

/* ----------------------------------------------------------------------------------------------------- values */

json_t *ronchi_json_name(const char *text)
{
    json_t *name = json_string(text);
    if (name)
        return name;
    char *copy = strdup(text);
    if (!copy)
        return NULL;
    /* One wrong byte at a time becomes '?'; valid characters before and after it stay. */
    for (size_t i = 0; copy[i];) {
        unsigned char c = (unsigned char)copy[i];
        size_t n = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 0;
        json_t *one = n && strnlen(copy + i, n) == n ? json_stringn(copy + i, n) : NULL;
        if (!one)
            copy[i] = '?';
        json_decref(one);
        i += one ? n : 1;
    }
    name = json_string(copy);
    free(copy);
    return name;
}

const char *ronchi_json_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

bool ronchi_json_count(const json_t *value, uint64_t low, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) < low)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

bool ronchi_json_truthy(const json_t *value)
{
    if (!value)
        return false;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return json_object_size(value) > 0;
    case JSON_ARRAY:
        return json_array_size(value) > 0;
    case JSON_STRING:
        return json_string_length(value) > 0;
    case JSON_INTEGER:
        return json_integer_value(value) != 0;
    case JSON_REAL:
        return json_real_value(value) < 0 || json_real_value(value) > 0;
    case JSON_TRUE:
        return true;
    case JSON_FALSE:
    case JSON_NULL:
        break;
    }
    return false;
}

ronchi_status ronchi_json_bad(const ronchi_json_check *check, const char *place, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return ronchi_fail(check->err, RONCHI_ERR_DATA, check->file, RONCHI_NO_OFFSET, "header $.%.220s: %s", place, what);
}
