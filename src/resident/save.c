/* SPDX-License-Identifier: MIT */
/* save.c - an acquisition becomes a .qem file. */
#include <string.h>

#include "resident/acquisition.h"

void ronchi_save_options_defaults(ronchi_save_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

/* The body: the counts, then the index or NULL. */
typedef struct body {
    const ronchi_store *counts, *index;
    size_t n_counts; /* spans of the counts */
} body;

static ronchi_qem_part body_part(void *user, size_t part)
{
    const body *b = user;
    const ronchi_store *store = part < b->n_counts ? b->counts : b->index;
    ronchi_span span = store->profile->span(store, part < b->n_counts ? part : part - b->n_counts);
    ronchi_qem_part out = {span.gap_bytes, span.data, span.size};
    return out;
}

/* The container's own fields over what an earlier reader did not know; the codec adds its fields in describe(). */
static json_t *make_header(const ronchi_acquisition *acquisition, json_t *metadata, json_t *scientific)
{
    const ronchi_store *store = acquisition->store;
    const ronchi_shape *s = &store->shape;
    json_t *header = acquisition->header_extra ? json_deep_copy(acquisition->header_extra) : json_object();
    json_t *own =
        json_pack("{s:s, s:i, s:s, s:s, s:[I, I, I, I], s:s, s:O, s:O}", "container", "quantem.qem",
                  "container_version", 1, "codec", store->profile->codec, "profile", store->profile->codec, "shape",
                  (json_int_t)s->scan_rows, (json_int_t)s->scan_cols, (json_int_t)s->det_rows, (json_int_t)s->det_cols,
                  "dtype", ronchi_dtype_name(store->dtype), "metadata", metadata, "scientific_metadata", scientific);
    if (!header || !own || json_object_update(header, own) != 0) {
        json_decref(header);
        header = NULL;
    }
    json_decref(own);
    return header;
}

static ronchi_status write_parts(body *b, const char *path, int force, json_t *header, ronchi_error *err)
{
    const ronchi_profile *profile = b->counts->profile;
    ronchi_status status = profile->describe(b->counts, header, err);
    if (status == RONCHI_OK && b->index)
        status = profile->describe_index(b->index, header, err);
    size_t n_parts = b->n_counts + (b->index ? profile->n_spans(b->index) : 0);
    return status == RONCHI_OK ? ronchi_qem_write(b->counts->context, path, force, header, n_parts, body_part, b, err)
                               : status;
}

static ronchi_status write_store(const ronchi_acquisition *acquisition, const ronchi_store *store, const char *path,
                                 const ronchi_save_options *options, json_t *metadata, json_t *scientific,
                                 ronchi_error *err)
{
    ronchi_store *index = NULL;
    ronchi_status status = RONCHI_OK;
    if (options->index && store->profile->pack_index)
        status = store->profile->pack_index(store, &index, err);
    if (status != RONCHI_OK)
        return status;
    json_t *header = make_header(acquisition, metadata, scientific);
    body b = {store, index, store->profile->n_spans(store)};
    status = header ? write_parts(&b, path, options->force, header, err)
                    : ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for the header");
    json_decref(header);
    if (index)
        index->profile->destroy(index);
    return status;
}

/* What lies on a device is written from a copy in host memory, which is as large as the file. */
static ronchi_status write_file(const ronchi_acquisition *acquisition, const char *path,
                                const ronchi_save_options *options, json_t *metadata, json_t *scientific,
                                ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    ronchi_store *copy = NULL;
    ronchi_status status = RONCHI_OK;
    if (options->embed_source)
        status = ronchi_qem_embed(metadata, options->embed_source, err);
    if (status == RONCHI_OK && store->profile->to_host)
        status = store->profile->to_host(store, &copy, err);
    if (status == RONCHI_OK)
        status = write_store(acquisition, copy ? copy : store, path, options, metadata, scientific, err);
    if (copy)
        copy->profile->destroy(copy);
    return status;
}

ronchi_status ronchi_acquisition_save(const ronchi_acquisition *acquisition, const char *path,
                                      const ronchi_save_options *options, ronchi_error *err)
{
    ronchi_save_options chosen;
    ronchi_save_options_defaults(&chosen);
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    if (options && options->struct_size != sizeof chosen)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "save options of no known version");
    if (options)
        chosen = *options;
    if (!acquisition->store->profile->codec)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, path, RONCHI_NO_OFFSET,
                           "a dense acquisition has no file form: load it encoded and save that");
    json_t *metadata = json_deep_copy(acquisition->metadata), *scientific = json_deep_copy(acquisition->scientific);
    if (metadata && scientific) {
        status = ronchi_contract_store(acquisition, scientific, err);
        if (status == RONCHI_OK)
            status = write_file(acquisition, path, &chosen, metadata, scientific, err);
    } else {
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for the header");
    }
    json_decref(metadata);
    json_decref(scientific);
    return status;
}
