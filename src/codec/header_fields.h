/* SPDX-License-Identifier: MIT */
/* header_fields.h - what the codecs' header fields have in common: strict integers and the validity mask. */
#ifndef RONCHI_CODEC_HEADER_FIELDS_H
#define RONCHI_CODEC_HEADER_FIELDS_H

#include <jansson.h>

#include "core/internal.h"

/* ronchi_header_size() reads a non-negative integer field; false when it is missing, of another type or negative. */
bool ronchi_header_size(const json_t *object, const char *key, uint64_t *out);
/* ronchi_header_is() is true when the field is an integer of exactly that value. */
bool ronchi_header_is(const json_t *object, const char *key, uint64_t value);

/*
 * The validity mask as text: two hexadecimal digits per 8 pixels, row-major, the first pixel in the highest bit.
 * ronchi_header_valid_text() makes it from valid [n_pixels] (1 = unflagged); NULL without memory.
 * ronchi_header_valid_parse() fills valid [n_pixels] from the field "valid"; RONCHI_ERR_DATA when it is missing, has
 * another length or other characters.  ronchi_header_valid_check() looks at the length alone, before anything is
 * allocated.
 */
json_t *ronchi_header_valid_text(const uint8_t *valid, size_t n_pixels);
ronchi_status ronchi_header_valid_check(const json_t *header, const ronchi_shape *shape, ronchi_error *err);
ronchi_status ronchi_header_valid_parse(const json_t *header, uint8_t *valid, size_t n_pixels, ronchi_error *err);

/* ronchi_header_bad() fails with RONCHI_ERR_DATA and "header: " before the text. */
ronchi_status ronchi_header_bad(ronchi_error *err, const char *format, ...) RONCHI_PRINTF(2, 3);

#endif
