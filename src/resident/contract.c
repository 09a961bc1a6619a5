/* SPDX-License-Identifier: MIT */
/* contract.c - the contract of an acquisition in a file's metadata, and back. */
#include <stdio.h>
#include <string.h>

#include "resident/acquisition.h"

static json_t *pack_shape(const ronchi_shape *s)
{
    return json_pack("[I, I, I, I]", (json_int_t)s->scan_rows, (json_int_t)s->scan_cols, (json_int_t)s->det_rows,
                     (json_int_t)s->det_cols);
}

static json_t *pack_crop(const ronchi_region *g)
{
    return json_pack("[I, I, I, I, I, I, I, I]", (json_int_t)g->scan_row, (json_int_t)g->scan_rows,
                     (json_int_t)g->scan_col, (json_int_t)g->scan_cols, (json_int_t)g->det_row, (json_int_t)g->det_rows,
                     (json_int_t)g->det_col, (json_int_t)g->det_cols);
}

ronchi_status ronchi_contract_store(const ronchi_acquisition *acquisition, json_t *scientific, ronchi_error *err)
{
    const ronchi_acquisition_info *info = &acquisition->info;
    json_t *contract = json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:b, s:s, s:s, s:o}", "generator", "ronchi " RONCHI_VERSION_STRING,
        "source_dtype", ronchi_dtype_name(info->source_dtype), "source_shape", pack_shape(&info->source_shape), "crop",
        pack_crop(&info->crop), "scan_bin", (json_int_t)info->scan_bin, "det_bin", (json_int_t)info->det_bin,
        "max_count", (json_int_t)info->max_count, "lossless", info->lossless, "lossless_by", info->lossless_by,
        "mask_policy", info->mask_policy, "source_name", ronchi_json_name(info->source_name));
    ronchi_status status =
        contract ? ronchi_scientific_extension_set(scientific, "contract", contract) : RONCHI_ERR_MEMORY;
    if (status == RONCHI_OK && acquisition->n_raw) {
        json_t *table = NULL;
        status = ronchi_raw_encode(acquisition->n_raw, acquisition->raw, &table, err);
        if (status != RONCHI_OK)
            return status;
        status = ronchi_scientific_extension_set(scientific, "flagged_raw", table);
    }
    return status == RONCHI_OK ? status
                               : ronchi_fail(err, status, NULL, RONCHI_NO_OFFSET, "the contract cannot be written");
}

/* ------------------------------------------------------------------------------------------------------ and back */

static ronchi_status damaged(const char *what, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET,
                       "scientific_metadata.extensions.ronchi.contract.%s is damaged: convert the original again",
                       what);
}

static bool take_sizes(const json_t *array, size_t n, size_t *out)
{
    if (!json_is_array(array) || json_array_size(array) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return false;
        out[i] = (size_t)json_integer_value(item);
    }
    return true;
}

static bool take_dtype(const json_t *text, ronchi_dtype *out)
{
    for (int d = RONCHI_U8; d <= RONCHI_F64; d++)
        if (json_is_string(text) && strcmp(json_string_value(text), ronchi_dtype_name((ronchi_dtype)d)) == 0) {
            *out = (ronchi_dtype)d;
            return true;
        }
    return false;
}

static bool take_bin(const json_t *value, size_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 1)
        return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

static bool take_text(const json_t *value, char *out, size_t size)
{
    if (!json_is_string(value))
        return false;
    snprintf(out, size, "%s", json_string_value(value));
    return true;
}

static ronchi_status restore_own(ronchi_acquisition_info *info, const json_t *contract, ronchi_error *err)
{
    size_t shape[4], crop[8];
    if (!take_dtype(json_object_get(contract, "source_dtype"), &info->source_dtype))
        return damaged("source_dtype", err);
    if (!take_sizes(json_object_get(contract, "source_shape"), 4, shape))
        return damaged("source_shape", err);
    if (!take_sizes(json_object_get(contract, "crop"), 8, crop))
        return damaged("crop", err);
    ronchi_shape source = {shape[0], shape[1], shape[2], shape[3]};
    ronchi_region region = {crop[0], crop[1], crop[2], crop[3], crop[4], crop[5], crop[6], crop[7]};
    if (!ronchi_region_inside(&region, &source))
        return damaged("crop", err);
    info->source_shape = source;
    info->crop = region;
    if (!take_bin(json_object_get(contract, "scan_bin"), &info->scan_bin) ||
        !take_bin(json_object_get(contract, "det_bin"), &info->det_bin))
        return damaged("scan_bin", err);
    const json_t *most = json_object_get(contract, "max_count"), *lossless = json_object_get(contract, "lossless");
    if (!json_is_integer(most) || json_integer_value(most) < 0)
        return damaged("max_count", err);
    if (!json_is_boolean(lossless))
        return damaged("lossless", err);
    info->max_count = (uint64_t)json_integer_value(most);
    info->lossless = json_is_true(lossless);
    if (!take_text(json_object_get(contract, "lossless_by"), info->lossless_by, sizeof info->lossless_by) ||
        !take_text(json_object_get(contract, "mask_policy"), info->mask_policy, sizeof info->mask_policy) ||
        !take_text(json_object_get(contract, "source_name"), info->source_name, sizeof info->source_name))
        return damaged("lossless_by", err);
    return RONCHI_OK;
}

/* A file of another writer: its processing list and its record of flagged pixels say what it can still give back. */
static void derive(ronchi_acquisition *acquisition)
{
    ronchi_acquisition_info *info = &acquisition->info;
    const json_t *kept = json_object_get(acquisition->metadata, "source_dtype");
    const json_t *steps = json_object_get(acquisition->scientific, "processing"), *step;
    size_t i;
    (void)take_dtype(kept, &info->source_dtype);
    info->max_count = 0; /* a foreign file does not say */
    info->lossless = 1;
    snprintf(info->lossless_by, sizeof info->lossless_by, "the file's processing list records no change of counts");
    snprintf(info->mask_policy, sizeof info->mask_policy, "preserve-stored-counts");
    json_array_foreach(steps, i, step)
    {
        const char *operation = json_string_value(json_object_get(step, "operation"));
        bool zeroed = operation && strcmp(operation, "flagged_marker_zeroing") == 0;
        if (!json_is_true(json_object_get(step, "changes_measurements")) && !zeroed)
            continue;
        info->lossless = 0;
        snprintf(info->lossless_by, sizeof info->lossless_by, "the file records %.64s",
                 operation ? operation : "a change of counts");
        snprintf(info->mask_policy, sizeof info->mask_policy, "%s",
                 zeroed ? "flagged-markers-stored-as-zero" : "flagged-pixels-corrected");
    }
}

ronchi_status ronchi_contract_restore(ronchi_acquisition *acquisition, ronchi_error *err)
{
    const ronchi_store *store = acquisition->store;
    const json_t *contract = ronchi_scientific_extension_get(acquisition->scientific, "contract");
    const json_t *table = ronchi_scientific_extension_get(acquisition->scientific, "flagged_raw");
    ronchi_status status = RONCHI_OK;
    if (contract)
        status = restore_own(&acquisition->info, contract, err);
    else
        derive(acquisition);
    if (status == RONCHI_OK && table)
        status =
            ronchi_raw_decode(table, store->n_positions, store->n_pixels, &acquisition->n_raw, &acquisition->raw, err);
    for (size_t k = 0; status == RONCHI_OK && k < acquisition->n_raw; k++)
        if (store->valid[acquisition->raw[k].pixel])
            status = ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET,
                                 "extensions.ronchi.flagged_raw: pixel %zu is not flagged", acquisition->raw[k].pixel);
    if (status == RONCHI_OK)
        ronchi_acquisition_account(acquisition);
    return status;
}
