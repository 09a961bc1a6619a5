/* SPDX-License-Identifier: MIT */
/* qem_internal.h - what the files of the .qem container share: strict JSON, places in it, digests, rules of quantities.
 */
#ifndef RONCHI_FORMATS_QEM_INTERNAL_H
#define RONCHI_FORMATS_QEM_INTERNAL_H

#include "formats/qem.h"

enum {
    RONCHI_QEM_PREFIX = 56, /* magic, header length, body start, header digest */
    RONCHI_QEM_MAX_HEADER = 16 << 20,
    RONCHI_QEM_DIGEST_BLOCK = 64 << 20,
    RONCHI_SHA256_SIZE = 32,
    RONCHI_JSON_PLACE = 288
};

/* ------------------------------------------------------------------------------------------------------- JSON */

/* Why a text is not the JSON that is wanted: one line and the byte of the text, SIZE_MAX when that is not known. */
typedef struct ronchi_json_fault {
    char why[224];
    size_t at;
} ronchi_json_fault;

/*
 * ronchi_json_parse() parses strict JSON (an object or array at the top, no NaN or Infinity, no BOM, valid UTF-8).
 * 'unique' refuses keys that occur twice and names them.  Integers beyond 64 bits become strings of their digits, so
 * that nothing is lost.  NULL with *fault filled when the text is wrong.
 */
json_t *ronchi_json_parse(const char *text, size_t size, bool unique, ronchi_json_fault *fault);

/* ronchi_json_text() returns the characters of a JSON string without embedded NUL, NULL for anything else. */
const char *ronchi_json_text(const json_t *value);
/* ronchi_json_has_words() is true for a string that is not empty and not all white space. */
bool ronchi_json_has_words(const json_t *value);
/* ronchi_json_count() is true for a JSON integer >= low, given in *out. */
bool ronchi_json_count(const json_t *value, uint64_t low, uint64_t *out);
/* ronchi_json_truthy(): neither missing, null, false, zero nor empty. */
bool ronchi_json_truthy(const json_t *value);

/* Where and for whom a JSON tree is checked. */
typedef struct ronchi_json_check {
    const char *file;
    ronchi_error *err;
} ronchi_json_check;

/* ronchi_json_bad() fills the error with RONCHI_ERR_DATA and "header $.place: what". */
ronchi_status ronchi_json_bad(const ronchi_json_check *check, const char *place, const char *format, ...)
    RONCHI_PRINTF(3, 4);

/* ---------------------------------------------------------------------------------------------------- digests */

/* ronchi_sha256() false when libcrypto cannot (no memory). */
bool ronchi_sha256(const void *bytes, size_t size, uint8_t out[RONCHI_SHA256_SIZE]);
void ronchi_sha256_hex(const uint8_t digest[RONCHI_SHA256_SIZE], char out[2 * RONCHI_SHA256_SIZE + 1]);
/* ronchi_sha256_unhex() is true for exactly 64 lower-case hexadecimal digits. */
bool ronchi_sha256_unhex(const char *text, uint8_t out[RONCHI_SHA256_SIZE]);

/* ronchi_qem_digests_load() takes the list "sha256" of a header for a body of qem->body_bytes into qem->digests. */
ronchi_status ronchi_qem_digests_load(ronchi_qem *qem, ronchi_error *err);
void ronchi_qem_digests_free(ronchi_qem *qem);

/* ----------------------------------------------------------------------------------------------------- header */

/*
 * ronchi_qem_check_header() checks everything in a header that does not depend on the codec, but for 'bytes' and
 * 'sha256'. The outputs may be NULL.  'codec' has 64 bytes.
 */
ronchi_status ronchi_qem_check_header(const json_t *header, const char *file, ronchi_shape *shape, ronchi_dtype *dtype,
                                      char *codec, ronchi_error *err);

/* ------------------------------------------------------------------------------------------------- quantities */

/* The calibrated quantities with known units, in the order of the table in qem_quantity.c. */
enum {
    RONCHI_QUANTITY_VOLTAGE,
    RONCHI_QUANTITY_BEAM_ENERGY,
    RONCHI_QUANTITY_SEMIANGLE,
    RONCHI_QUANTITY_DWELL,
    RONCHI_QUANTITY_SCAN_ROW,
    RONCHI_QUANTITY_SCAN_COL,
    RONCHI_QUANTITY_CAMERA_LENGTH,
    RONCHI_QUANTITY_DET_ROW,
    RONCHI_QUANTITY_DET_COL,
    RONCHI_QUANTITIES
};

/* A quantity in canonical units. */
typedef struct ronchi_canonical {
    double value;
    const char *unit;
    bool as_stored; /* the stored value and unit are the canonical ones */
} ronchi_canonical;

/* ronchi_quantity_path() gives the metadata path; ronchi_quantity_find() its number, or -1 for an unknown path. */
const char *ronchi_quantity_path(int quantity);
int ronchi_quantity_find(const char *path);
/* ronchi_quantity_retired(): one of the names ending in _x, _y that were given up. */
bool ronchi_quantity_retired(const char *path);

/*
 * ronchi_quantity_check() checks one quantity object at 'place'.  'quantity' is its number or -1, then any unit is
 * accepted. 'schema' is 1 or 2.  'override' asks for the units that schema 1 allows there.  *out (may be NULL) is
 * filled for known ones.
 */
ronchi_status ronchi_quantity_check(const ronchi_json_check *check, const json_t *object, const char *place,
                                    int quantity, int schema, bool override, ronchi_canonical *out);

/* The parts of scientific metadata with rules of their own. */
ronchi_status ronchi_documents_check(const ronchi_json_check *check, const json_t *documents);
ronchi_status ronchi_sample_check(const ronchi_json_check *check, const json_t *sample);
/* ronchi_xml_well_formed() NULL when the text is well-formed XML without a document type, else what is wrong. */
const char *ronchi_xml_well_formed(const char *text, size_t size, size_t *at);

#endif
