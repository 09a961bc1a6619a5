/* SPDX-License-Identifier: MIT */
/* reopen.c - a .qem file becomes an acquisition again, without decoding. */
#include <stdio.h>
#include <string.h>

#include "resident/forecast.h"
#include "resident/acquisition.h"

static ronchi_status adopt_store(ronchi_context *context, ronchi_qem *qem, const char *path, ronchi_store **out,
                                 ronchi_error *err)
{
    const ronchi_profile *profile = ronchi_profile_by_codec(qem->codec);
    if (!profile || !profile->adopt)
        return ronchi_fail(
            err, RONCHI_ERR_FORMAT, path, RONCHI_NO_OFFSET,
            "codec '%s' is not known to ronchi %s: a newer version may read it, or reopen the original acquisition",
            qem->codec, RONCHI_VERSION_STRING);
    ronchi_status status = ronchi_qem_check_body(qem, err);
    if (status == RONCHI_OK)
        status = ronchi_forecast_place(context, NULL, qem->body_bytes, path, &profile, err);
    if (status != RONCHI_OK)
        return status;
    return profile->adopt(context, qem->header, &qem->shape, qem->dtype, qem->body_bytes, ronchi_qem_read_body, qem,
                          out, err);
}

/* The dense array on request: decoded block by block into a store that does not encode. */
static ronchi_status make_dense(ronchi_store **store, ronchi_error *err)
{
    ronchi_store *from = *store, *to = NULL;
    ronchi_context *context = from->context;
    const ronchi_profile *dense = ronchi_profile_find(RONCHI_PROFILE_DENSE);
    ronchi_status status =
        dense->create(context, &from->shape, from->dtype, from->valid, ronchi_context_budget(context), &to, err);
    void *frames = status == RONCHI_OK ? ronchi_decoded_take(context, ronchi_store_largest_block(to),
                                                             from->n_pixels * ronchi_dtype_size(from->dtype))
                                       : NULL;
    if (status == RONCHI_OK && !frames)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a block of frames");
    for (size_t i = 0; status == RONCHI_OK && i < dense->n_blocks(to); i++) {
        ronchi_block block = dense->block(to, i);
        status = ronchi_store_read_block(from, &block, frames, err);
        if (status == RONCHI_OK)
            status = dense->encode_block(to, i, frames, err);
    }
    ronchi_decoded_give(context, frames);
    from->profile->destroy(from);
    if (status != RONCHI_OK && to)
        dense->destroy(to);
    *store = status == RONCHI_OK ? to : NULL;
    return status;
}

/* Fills what lies around the store from the header. */
static ronchi_status take_header(ronchi_acquisition *acquisition, const ronchi_qem *qem,
                                 const ronchi_load_options *options, ronchi_error *err)
{
    const json_t *metadata = json_object_get(qem->header, "metadata");
    acquisition->metadata = metadata ? json_deep_copy(metadata) : json_object();
    acquisition->header_extra = ronchi_qem_extra_fields(qem->header);
    ronchi_status status =
        ronchi_scientific_canonical(json_object_get(qem->header, "scientific_metadata"), &acquisition->scientific, err);
    if (status == RONCHI_OK && (!acquisition->metadata || !acquisition->header_extra))
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for metadata");
    if (status == RONCHI_OK)
        status = ronchi_contract_restore(acquisition, err);
    if (status == RONCHI_OK)
        status = ronchi_scientific_override(acquisition->scientific, &options->source, err);
    if (status == RONCHI_OK)
        ronchi_scientific_calibration(acquisition->scientific, &acquisition->info.calibration);
    return status;
}

ronchi_status ronchi_acquisition_reopen(ronchi_context *context, const char *path, const ronchi_load_options *options,
                                        ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_qem qem;
    ronchi_store *store = NULL;
    ronchi_acquisition *acquisition = NULL;
    ronchi_status status = ronchi_qem_open(context, path, &qem, err);
    if (status == RONCHI_OK)
        status = adopt_store(context, &qem, path, &store, err);
    if (status == RONCHI_OK && options->representation == RONCHI_DENSE)
        status = make_dense(&store, err);
    if (status == RONCHI_OK)
        status = ronchi_acquisition_new(store, &acquisition, err);
    if (status == RONCHI_OK) {
        const char *slash = strrchr(path, '/');
        snprintf(acquisition->info.source_name, sizeof acquisition->info.source_name, "%.255s",
                 slash ? slash + 1 : path);
        status = take_header(acquisition, &qem, options, err);
    }
    ronchi_qem_close(&qem);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(acquisition);
        if (err && !err->file[0])
            snprintf(err->file, sizeof err->file, "%.255s", path);
        return status;
    }
    *out = acquisition;
    return RONCHI_OK;
}
