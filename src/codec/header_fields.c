/* SPDX-License-Identifier: MIT */
/* header_fields.c - strict integers and the validity mask in the header of a container. */
#include "codec/header_fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ronchi_header_size(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

bool ronchi_header_is(const json_t *object, const char *key, uint64_t value)
{
    uint64_t found;
    return ronchi_header_size(object, key, &found) && found == value;
}

ronchi_status ronchi_header_bad(ronchi_error *err, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET,
                       "header: %s; the file is damaged or not of this codec", text);
}

json_t *ronchi_header_valid_text(const uint8_t *valid, size_t n_pixels)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = ronchi_div_up(n_pixels, 8) * 2;
    char *text = calloc(n, 1);
    if (!text)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        unsigned nibble = 0;
        for (size_t bit = 0; bit < 4; bit++) {
            size_t pixel = 4 * i + bit;
            nibble = nibble << 1 | (pixel < n_pixels && valid[pixel]);
        }
        text[i] = digits[nibble];
    }
    json_t *json = json_stringn(text, n);
    free(text);
    return json;
}

static int nibble_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

ronchi_status ronchi_header_valid_check(const json_t *header, const ronchi_shape *shape, ronchi_error *err)
{
    const json_t *text = json_object_get(header, "valid");
    size_t n_pixels;
    if (!json_is_string(text))
        return ronchi_header_bad(err, "'valid' is not a text of hexadecimal digits");
    if (!ronchi_shape_detector(shape, &n_pixels) || n_pixels > SIZE_MAX / 2 ||
        json_string_length(text) != ronchi_div_up(n_pixels, 8) * 2)
        return ronchi_header_bad(err, "'valid' has %zu digits, which does not suit a detector of %zu x %zu",
                                 json_string_length(text), shape->det_rows, shape->det_cols);
    return RONCHI_OK;
}

ronchi_status ronchi_header_valid_parse(const json_t *header, uint8_t *valid, size_t n_pixels, ronchi_error *err)
{
    const char *text = json_string_value(json_object_get(header, "valid"));
    for (size_t i = 0; i < ronchi_div_up(n_pixels, 8) * 2; i++) {
        int nibble = nibble_of(text[i]);
        if (nibble < 0)
            return ronchi_header_bad(err, "digit %zu of 'valid' is not hexadecimal", i);
        for (size_t bit = 0; bit < 4 && 4 * i + bit < n_pixels; bit++)
            valid[4 * i + bit] = (uint8_t)(nibble >> (3 - bit) & 1);
    }
    return RONCHI_OK;
}
