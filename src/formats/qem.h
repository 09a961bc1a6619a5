/* SPDX-License-Identifier: MIT */
/*
 * qem.h - the .qem container, version 1: envelope, JSON header, digests, scientific metadata.  Knows nothing of codecs:
 * what a codec adds to the header and the body passes through (codec/profile.h: describe, span, adopt).
 */
#ifndef RONCHI_FORMATS_QEM_H
#define RONCHI_FORMATS_QEM_H

#include <jansson.h>

#include "core/internal.h"
#include "core/port.h"
#include "ronchi/formats.h"

/* A container open for reading.  Its envelope, header digest, JSON and metadata are checked; body blocks as they are
 * read. */
typedef struct ronchi_qem {
    ronchi_context *context; /* borrowed */
    ronchi_input input;
    json_t *header; /* the whole header, owned */
    ronchi_shape shape;
    ronchi_dtype dtype;
    char codec[64];
    uint64_t body_start, body_bytes;
    void *digests; /* private */
} ronchi_qem;

/*
 * ronchi_qem_open() opens and checks everything up to the body.  Files of other kinds (QGPUPAIR, QGPUSTRM, unknown
 * magic) are RONCHI_ERR_FORMAT with the remedy; damage is RONCHI_ERR_DATA with the byte.
 */
ronchi_status ronchi_qem_open(ronchi_context *context, const char *path, ronchi_qem *out, ronchi_error *err);
/* ronchi_qem_close() frees everything; harmless after a failed open and when called twice. */
void ronchi_qem_close(ronchi_qem *qem);

/* ronchi_qem_probe() says whether the first bytes of a file are those of a .qem container. */
bool ronchi_qem_probe(const uint8_t *head, size_t n);

/*
 * ronchi_qem_inspect() is ronchi_inspect() for a .qem: header only, no body digests.  *out is zeroed by the caller; a
 * damaged file is no error but not ready, with the reason.  Calibration given in 'options' (may be NULL) wins.
 */
ronchi_status ronchi_qem_inspect(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                 ronchi_inspection *out, ronchi_error *err);

/*
 * ronchi_qem_extra_fields() gives a new object with the header fields that neither the container nor a codec's layout
 * defines, so that they survive reading and saving (among them "empad", the source identity of float files).  Put them
 * into a new header before anything else, so that defined fields win.  NULL when memory ran out.
 */
json_t *ronchi_qem_extra_fields(const json_t *header);

/*
 * ronchi_qem_read_body() is a ronchi_body_read_fn with user = ronchi_qem *: a 64 MiB body block's SHA-256 is checked
 * before any of its bytes is handed out (blocks that were checked before are not checked again).
 */
ronchi_status ronchi_qem_read_body(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err);
/* ronchi_qem_check_body() checks all body digests, in parallel. */
ronchi_status ronchi_qem_check_body(ronchi_qem *qem, ronchi_error *err);

/* The bytes of a body to be written, in order; each part is asked for once, its data must stay until the writing is
 * over. */
typedef struct ronchi_qem_part {
    size_t gap_bytes; /* zero bytes before */
    const void *data;
    size_t size;
} ronchi_qem_part;
typedef ronchi_qem_part (*ronchi_qem_part_fn)(void *user, size_t index);

/*
 * ronchi_qem_write() writes a container atomically: adds 'bytes' and 'sha256' to a copy of 'header' (every other field
 * is the caller's), checks the metadata against the schema as a reader would, writes envelope, header and the parts.
 */
ronchi_status ronchi_qem_write(ronchi_context *context, const char *path, int force, const json_t *header,
                               size_t n_parts, ronchi_qem_part_fn part, void *user, ronchi_error *err);

/* ------------------------------------------------------------------------------------- scientific metadata */

/*
 * ronchi_scientific_check() checks quantem.scientific-metadata/1 or /2 in a header against quantem-gpu's rules;
 * RONCHI_ERR_DATA with the JSON path.  ronchi_scientific_canonical() gives a new schema 2 object (converting schema 1
 * units).
 */
ronchi_status ronchi_scientific_check(const json_t *header, const char *file, ronchi_error *err);
ronchi_status ronchi_scientific_canonical(const json_t *scientific, json_t **out, ronchi_error *err);

/* ronchi_scientific_calibration() derives the effective calibration (overrides win) from a schema 2 object. */
void ronchi_scientific_calibration(const json_t *scientific, ronchi_calibration *out);

/*
 * ronchi_scientific_create() makes a schema 2 object for a source: axes with sizes and samplings, recorded quantities,
 * source_metadata, coverage, processing [lossless_storage].  ronchi_scientific_override() adds calibration_overrides
 * for the quantities given in 'options' (evidence: the option's name).  ronchi_scientific_process() appends a
 * processing record.
 */
json_t *ronchi_scientific_create(const ronchi_shape *shape, const ronchi_calibration *calibration,
                                 const json_t *source_metadata, const char *source_format);
ronchi_status ronchi_scientific_override(json_t *scientific, const ronchi_source_options *options, ronchi_error *err);
ronchi_status ronchi_scientific_process(json_t *scientific, json_t *record);
/* ronchi_scientific_orient() stores how the detector lies: extensions.ronchi "orientation".  'evidence' may be NULL. */
ronchi_status ronchi_scientific_orient(json_t *scientific, double rotation_deg, bool transpose, const char *provenance,
                                       const char *evidence);

/*
 * scientific_metadata.extensions.ronchi holds what Ronchi knows beyond the public schema (docs/qem.md lists the keys).
 * get() borrows, NULL when absent; set() takes over 'value' (also when it fails) and replaces an older value.
 */
const json_t *ronchi_scientific_extension_get(const json_t *scientific, const char *key);
ronchi_status ronchi_scientific_extension_set(json_t *scientific, const char *key, json_t *value);

/*
 * Declarations that the public reader demands where the stored copy differs from the source; each adds the processing
 * record and the key of 'metadata' (header "metadata") that belong together, and each may be called again for the same
 * copy. narrowing  counts of 'source' held as the narrower 'stored', every value equal markers    'value_count' raw
 * values at flagged pixels that the store holds as 0
 */
ronchi_status ronchi_scientific_narrowing(json_t *scientific, json_t *metadata, ronchi_dtype source,
                                          ronchi_dtype stored);
ronchi_status ronchi_scientific_markers(json_t *scientific, json_t *metadata, uint64_t value_count);

/*
 * ronchi_json_name() makes a JSON string of a file name or other text from outside: bytes that are no UTF-8, which JSON
 * cannot hold, become '?'.  NULL when memory ran out.
 */
json_t *ronchi_json_name(const char *text);

/* ------------------------------------------------------------------------------- raw values at flagged pixels */

/*
 * Raw values at flagged pixels that the store cannot hold (uint32 sentinels over a uint16 store): run lengths along the
 * flattened scan, one run when constant.  The store holds 0 there.
 */
typedef struct ronchi_raw_run {
    uint64_t until; /* flattened scan index one past the run's end */
    uint32_t value;
} ronchi_raw_run;

typedef struct ronchi_raw_pixel {
    size_t pixel; /* flattened detector index */
    size_t n_runs;
    ronchi_raw_run *runs;
} ronchi_raw_pixel;

/*
 * ronchi_raw_encode() writes the table (sorted by pixel) as JSON for extensions.ronchi "flagged_raw"; the caller owns
 * *out. ronchi_raw_decode() reads it back and checks every index against the sizes: *out is the caller's, for
 * ronchi_raw_free().
 *
 * RONCHI_ERR_UNSUPPORTED  more ranges of pixels and runs than a header can hold (400,000)
 * RONCHI_ERR_DATA         the table is damaged; the message names the JSON path
 */
ronchi_status ronchi_raw_encode(size_t n_raw, const ronchi_raw_pixel *raw, json_t **out, ronchi_error *err);
ronchi_status ronchi_raw_decode(const json_t *table, size_t n_positions, size_t n_pixels, size_t *n_raw,
                                ronchi_raw_pixel **out, ronchi_error *err);
/* ronchi_raw_free() frees the runs of every pixel (malloc) and the array itself. */
void ronchi_raw_free(size_t n_raw, ronchi_raw_pixel *raw);

/* ------------------------------------------------------------------------------------- the embedded original */

/* Where it stands in "metadata", and the largest file that is embedded. */
#define RONCHI_QEM_EMBED_KEY "ronchi_embedded_source"
enum { RONCHI_EMBED_MAX_BYTES = 8 << 20 };

/*
 * ronchi_qem_embed() keeps a whole small file (the original master) in header "metadata": name, size, SHA-256, zlib and
 * base64. ronchi_qem_extract() gives its bytes back, checked against size and SHA-256; the caller frees *bytes with
 * free().
 *
 * RONCHI_ERR_RANGE      the file is larger than 8 MiB
 * RONCHI_ERR_NOT_FOUND  no such file; nothing is embedded
 * RONCHI_ERR_DATA       what is embedded is damaged
 */
ronchi_status ronchi_qem_embed(json_t *metadata, const char *path, ronchi_error *err);
ronchi_status ronchi_qem_extract(const json_t *metadata, char *name, size_t name_size, uint8_t **bytes, size_t *size,
                                 ronchi_error *err);

#endif
