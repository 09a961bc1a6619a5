/* SPDX-License-Identifier: MIT */
/* qem_extension.c - processing records, extensions.ronchi, and the declarations where a copy differs from its source.
 */
#include <string.h>

#include "formats/qem_internal.h"

ronchi_status ronchi_scientific_process(json_t *scientific, json_t *record)
{
    if (json_string_length(json_object_get(record, "operation")) == 0 ||
        !json_is_boolean(json_object_get(record, "changes_measurements"))) {
        json_decref(record);
        return RONCHI_ERR_ARGUMENT;
    }
    json_t *records = json_object_get(scientific, "processing");
    if (!json_is_array(records)) {
        records = json_array();
        if (json_object_set_new(scientific, "processing", records) != 0) {
            json_decref(record);
            return RONCHI_ERR_MEMORY;
        }
    }
    return json_array_append_new(records, record) == 0 ? RONCHI_OK : RONCHI_ERR_MEMORY;
}

const json_t *ronchi_scientific_extension_get(const json_t *scientific, const char *key)
{
    return json_object_get(json_object_get(json_object_get(scientific, "extensions"), "ronchi"), key);
}

/* The object under 'key', made when it is absent; NULL when something else stands there or memory ran out. */
static json_t *child(json_t *object, const char *key)
{
    json_t *found = json_object_get(object, key);
    if (found)
        return json_is_object(found) ? found : NULL;
    found = json_object();
    return json_object_set_new(object, key, found) == 0 ? found : NULL;
}

ronchi_status ronchi_scientific_extension_set(json_t *scientific, const char *key, json_t *value)
{
    json_t *extensions = child(scientific, "extensions");
    json_t *ours = extensions ? child(extensions, "ronchi") : NULL;
    if (!ours || !value) {
        json_decref(value);
        return value ? RONCHI_ERR_ARGUMENT : RONCHI_ERR_MEMORY;
    }
    return json_object_set_new(ours, key, value) == 0 ? RONCHI_OK : RONCHI_ERR_MEMORY;
}

/* -------------------------------------------------------------------------------------------------- declarations */

/* Removes older records of the operation, so that saving again does not repeat them. */
static void forget(json_t *scientific, const char *operation)
{
    json_t *records = json_object_get(scientific, "processing");
    for (size_t i = json_array_size(records); i-- > 0;) {
        const char *name = ronchi_json_text(json_object_get(json_array_get(records, i), "operation"));
        if (name && strcmp(name, operation) == 0)
            json_array_remove(records, i);
    }
}

ronchi_status ronchi_scientific_narrowing(json_t *scientific, json_t *metadata, ronchi_dtype source,
                                          ronchi_dtype stored)
{
    if (!json_is_object(metadata) || !ronchi_dtype_size(source) || !ronchi_dtype_size(stored))
        return RONCHI_ERR_ARGUMENT;
    bool real = source == RONCHI_F64 || source == RONCHI_F32;
    const char *operation = real ? "exact_float_narrowing" : "exact_integer_narrowing";
    const char *from = ronchi_dtype_name(source), *to = ronchi_dtype_name(stored);
    if (json_object_set_new(metadata, "source_dtype", json_string(from)) != 0)
        return RONCHI_ERR_MEMORY;
    forget(scientific, operation);
    if (source == stored)
        return RONCHI_OK;
    return ronchi_scientific_process(scientific,
                                     json_pack("{s:s, s:s, s:s, s:b}", "operation", operation, "source_dtype", from,
                                               "stored_dtype", to, "changes_measurements", 0));
}

ronchi_status ronchi_scientific_markers(json_t *scientific, json_t *metadata, uint64_t value_count)
{
    if (!json_is_object(metadata) || value_count > INT64_MAX)
        return RONCHI_ERR_ARGUMENT;
    forget(scientific, "flagged_marker_zeroing");
    if (value_count == 0) {
        json_object_del(metadata, "flagged_markers_stored_as_zero");
        return RONCHI_OK;
    }
    json_int_t n = (json_int_t)value_count;
    if (json_object_set_new(metadata, "flagged_markers_stored_as_zero", json_integer(n)) != 0)
        return RONCHI_ERR_MEMORY;
    return ronchi_scientific_process(scientific, json_pack("{s:s, s:I, s:b}", "operation", "flagged_marker_zeroing",
                                                           "value_count", n, "changes_measurements", 0));
}
