/* SPDX-License-Identifier: MIT */
/* qem_inspect.c - the check-up of a .qem: header only, so that it takes the same time for any size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/qem_internal.h"

/* Codecs by name: this layer cannot ask the codecs themselves.  'problem' NULL: load will work. */
typedef struct known_codec {
    const char *name, *problem, *action;
} known_codec;

static const known_codec *find_codec(const char *name)
{
    static const known_codec codecs[] = {
        {"runtime-column-rans-spatial-v2", NULL, NULL},
        {"float32-bit-lanes-rans-v1", NULL, NULL},
        {"ronchi-uint32-bit-lanes-v1", NULL, NULL},
        {"ronchi-lane-rans-v1", NULL, NULL},
        {"scaled-uint16-column-rans-v1", "holds scaled approximations, not the counts (scaled-uint16-column-rans-v1)",
         "open the original acquisition"},
        {"empad-xor-row-packed-v1", "an old float layout that no current program reads (empad-xor-row-packed-v1)",
         "open the original acquisition"},
    };
    static const known_codec newer = {"", "a codec of a newer Ronchi",
                                      "update Ronchi, or open the original acquisition"};
    static const known_codec unknown = {"", "an unknown codec",
                                        "open it with the program that wrote it, or open the original"};
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++)
        if (strcmp(codecs[i].name, name) == 0)
            return &codecs[i];
    return strncmp(name, "ronchi-", 7) == 0 ? &newer : &unknown;
}

static ronchi_status no_memory(const char *path, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory to inspect it");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The entry of the file itself; 'problem' may be NULL. */
static ronchi_status add_file(const char *path, const char *problem, ronchi_inspection *out, ronchi_error *err)
{
    ronchi_stat st;
    ronchi_status status = ronchi_stat_path(path, &st, err);
    if (status != RONCHI_OK)
        return status;
    out->files = calloc(1, sizeof *out->files);
    if (!out->files)
        return no_memory(path, err);
    out->n_files = 1;
    snprintf(out->files->name, sizeof out->files->name, "%.255s", base_name(path));
    snprintf(out->files->problem, sizeof out->files->problem, "%.159s", problem ? problem : "");
    out->files->size_bytes = st.size_bytes;
    out->files->frames = out->files->frames_present = out->frames_stored;
    out->stored_bytes = st.size_bytes;
    return RONCHI_OK;
}

static ronchi_status add_evidence(const char *path, ronchi_inspection *out, ronchi_error *err)
{
    out->evidence = calloc(1, sizeof *out->evidence);
    if (!out->evidence)
        return no_memory(path, err);
    out->n_evidence = 1;
    ronchi_evidence *e = out->evidence;
    snprintf(e->from, sizeof e->from, "header of the .qem");
    snprintf(e->says, sizeof e->says, "%zu rows x %zu columns", out->shape.scan_rows, out->shape.scan_cols);
    e->scan_rows = out->shape.scan_rows;
    e->scan_cols = out->shape.scan_cols;
    e->flyback = 0;
    e->chosen = e->agrees = 1;
    return RONCHI_OK;
}

/* Cleared bits of the field "valid" (first pixel: highest bit of the first byte); 0 where a codec has no such field. */
static uint64_t count_flagged(const json_t *header, const ronchi_shape *shape)
{
    const char *hex = ronchi_json_text(json_object_get(header, "valid"));
    size_t n_pixels;
    if (!hex || !ronchi_shape_detector(shape, &n_pixels) || strlen(hex) != 2 * ronchi_div_up(n_pixels, 8))
        return 0;
    uint64_t flagged = 0;
    for (size_t i = 0; i < n_pixels; i++) {
        char c = hex[i / 4];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 15;
        flagged += !(digit >> (3 - i % 4) & 1);
    }
    return flagged;
}

static void copy_detector(const json_t *metadata, ronchi_inspection *out)
{
    static const char *const keys[] = {"detector_name", "entry/instrument/detector/description"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *name = ronchi_json_text(json_object_get(metadata, keys[i]));
        if (name && *name) {
            snprintf(out->detector, sizeof out->detector, "%.95s", name);
            return;
        }
    }
}

/* What was retained, without the bytes of an embedded original. */
static char *metadata_text(const json_t *header, json_t *scientific)
{
    json_t *metadata = json_deep_copy(json_object_get(header, "metadata"));
    if (!metadata)
        metadata = json_object();
    json_object_del(json_object_get(metadata, RONCHI_QEM_EMBED_KEY), "data");
    json_t *both = json_pack("{s:o, s:O}", "metadata", metadata, "scientific_metadata", scientific);
    char *text = json_dumps(both, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(both);
    return text;
}

static ronchi_status fill_calibration(const ronchi_qem *qem, const char *path, const ronchi_source_options *options,
                                      ronchi_inspection *out, ronchi_error *err)
{
    json_t *scientific;
    ronchi_status status =
        ronchi_scientific_canonical(json_object_get(qem->header, "scientific_metadata"), &scientific, err);
    if (status == RONCHI_OK && options)
        status = ronchi_scientific_override(scientific, options, err);
    if (status == RONCHI_OK) {
        ronchi_scientific_calibration(scientific, &out->calibration);
        out->metadata_json = metadata_text(qem->header, scientific);
        status = out->metadata_json ? RONCHI_OK : no_memory(path, err);
    }
    json_decref(scientific);
    return status;
}

static ronchi_status fill(const ronchi_qem *qem, const char *path, const ronchi_source_options *options,
                          ronchi_inspection *out, ronchi_error *err)
{
    const known_codec *codec = find_codec(qem->codec);
    size_t n_positions = 0, n_elements = 0;
    ronchi_shape_scan(&qem->shape, &n_positions);
    ronchi_shape_elements(&qem->shape, &n_elements);
    snprintf(out->layout, sizeof out->layout, "%.31s", qem->codec);
    out->ready = !codec->problem;
    if (codec->problem) {
        snprintf(out->reason, sizeof out->reason, "%s: %.63s", codec->problem, qem->codec);
        snprintf(out->action, sizeof out->action, "%s", codec->action);
    } else {
        snprintf(out->action, sizeof out->action, "ronchi verify %.200s", path);
    }
    out->shape = qem->shape;
    out->dtype = qem->dtype;
    out->frames_stored = out->frames_expected = n_positions;
    out->dense_bytes = (uint64_t)n_elements * ronchi_dtype_size(qem->dtype);
    out->flagged_pixels = count_flagged(qem->header, &qem->shape);
    copy_detector(json_object_get(qem->header, "metadata"), out);
    ronchi_status status = add_file(path, NULL, out, err);
    if (status == RONCHI_OK)
        status = add_evidence(path, out, err);
    return status == RONCHI_OK ? fill_calibration(qem, path, options, out, err) : status;
}

/* A container that is there but damaged or of an unknown version. */
static ronchi_status fill_not_ready(const char *path, const ronchi_error *why, ronchi_inspection *out,
                                    ronchi_error *err)
{
    out->ready = 0;
    snprintf(out->reason, sizeof out->reason, "%.255s", why->message);
    snprintf(out->action, sizeof out->action, "%s",
             why->status == RONCHI_ERR_FORMAT
                 ? "use a newer Ronchi, or open the original acquisition"
                 : "take another copy of the file, or convert the original acquisition again");
    return add_file(path, why->message, out, err);
}

ronchi_status ronchi_qem_inspect(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                 ronchi_inspection *out, ronchi_error *err)
{
    ronchi_qem qem;
    ronchi_error why;
    snprintf(out->format, sizeof out->format, "qem");
    ronchi_status status = ronchi_qem_open(context, path, &qem, &why);
    if (status == RONCHI_OK) {
        status = fill(&qem, path, options, out, err);
        ronchi_qem_close(&qem);
        return status;
    }
    bool other_kind = status == RONCHI_ERR_FORMAT && why.offset == 0;
    if (status == RONCHI_ERR_DATA || (status == RONCHI_ERR_FORMAT && !other_kind))
        return fill_not_ready(path, &why, out, err);
    if (err)
        *err = why;
    return status;
}
