/* SPDX-License-Identifier: MIT */
/*
 * qem.h - the .qem container, version 1: envelope, JSON header, digests, scientific metadata.  Knows nothing of codecs: what a
 * codec adds to the header and the body passes through (codec/profile.h: describe, span, adopt).
 */
#ifndef RONCHI_FORMATS_QEM_H
#define RONCHI_FORMATS_QEM_H

#include <jansson.h>

#include "core/internal.h"
#include "core/port.h"
#include "ronchi/formats.h"

/* A container open for reading.  Its envelope, header digest, JSON and metadata are checked; body blocks as they are read. */
typedef struct ronchi_qem {
    ronchi_input input;
    json_t *header;           /* the whole header, owned */
    ronchi_shape shape;
    ronchi_dtype dtype;
    char codec[64];
    uint64_t body_start, body_bytes;
    void *digests;            /* private */
} ronchi_qem;

/*
 * ronchi_qem_open() opens and checks everything up to the body.  Files of other kinds (QGPUPAIR, QGPUSTRM, unknown magic) are
 * RONCHI_ERR_FORMAT with the remedy; damage is RONCHI_ERR_DATA with the byte.
 */
ronchi_status ronchi_qem_open(ronchi_context *context, const char *path, ronchi_qem *out, ronchi_error *err);
void ronchi_qem_close(ronchi_qem *qem);

/*
 * ronchi_qem_read_body() is a ronchi_body_read_fn with user = ronchi_qem *: a 64 MiB body block's SHA-256 is checked before any of
 * its bytes is handed out (blocks that were checked before are not checked again).
 */
ronchi_status ronchi_qem_read_body(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err);
/* ronchi_qem_check_body() checks all body digests, in parallel. */
ronchi_status ronchi_qem_check_body(ronchi_qem *qem, ronchi_error *err);

/* The bytes of a body to be written, in order; asked for in order, possibly twice (digests first, then the writing). */
typedef struct ronchi_qem_part {
    size_t gap_bytes; /* zero bytes before */
    const void *data;
    size_t size;
} ronchi_qem_part;
typedef ronchi_qem_part (*ronchi_qem_part_fn)(void *user, size_t index);

/*
 * ronchi_qem_write() writes a container atomically: adds 'bytes' and 'sha256' to a copy of 'header' (every other field is
 * the caller's), checks the metadata against the schema as a reader would, writes envelope, header and the parts.
 */
ronchi_status ronchi_qem_write(ronchi_context *context, const char *path, int force, const json_t *header, size_t n_parts,
                               ronchi_qem_part_fn part, void *user, ronchi_error *err);

/* ------------------------------------------------------------------------------------- scientific metadata */

/*
 * ronchi_scientific_check() checks quantem.scientific-metadata/1 or /2 in a header against quantem-gpu's rules;
 * RONCHI_ERR_DATA with the JSON path.  ronchi_scientific_canonical() gives a new schema 2 object (converting schema 1 units).
 */
ronchi_status ronchi_scientific_check(const json_t *header, const char *file, ronchi_error *err);
ronchi_status ronchi_scientific_canonical(const json_t *scientific, json_t **out, ronchi_error *err);

/* ronchi_scientific_calibration() derives the effective calibration (overrides win) from a schema 2 object. */
void ronchi_scientific_calibration(const json_t *scientific, ronchi_calibration *out);

/*
 * ronchi_scientific_create() makes a schema 2 object for a source: axes with sizes and samplings, recorded quantities,
 * source_metadata, coverage, processing [lossless_storage].  ronchi_scientific_override() adds calibration_overrides for the
 * quantities given in 'options' (evidence: the option's name).  ronchi_scientific_process() appends a processing record.
 */
json_t *ronchi_scientific_create(const ronchi_shape *shape, const ronchi_calibration *calibration, const json_t *source_metadata,
                                 const char *source_format);
ronchi_status ronchi_scientific_override(json_t *scientific, const ronchi_source_options *options, ronchi_error *err);
ronchi_status ronchi_scientific_process(json_t *scientific, json_t *record);

#endif
