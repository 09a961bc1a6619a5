/* SPDX-License-Identifier: MIT */
/* qem_documents.c - source_documents and sample: the parts of scientific metadata with rules of their own. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "formats/qem_internal.h"

enum { MAX_DOCUMENTS = 16, MAX_DOCUMENT_BYTES = 4 << 20 };

/* ------------------------------------------------------------------------------------------------- documents */

static bool contains_nocase(const char *text, size_t size, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= size; i++)
        if (strncasecmp(text + i, word, n) == 0)
            return true;
    return false;
}

static ronchi_status check_xml(const ronchi_json_check *check, const char *place, const char *text, size_t size)
{
    if (contains_nocase(text, size, "<!DOCTYPE") || contains_nocase(text, size, "<!ENTITY"))
        return ronchi_json_bad(check, place, "XML with a DOCTYPE or ENTITY is not accepted");
    size_t at = 0;
    const char *wrong = ronchi_xml_well_formed(text, size, &at);
    return wrong ? ronchi_json_bad(check, place, "not well-formed XML: %s at its byte %zu", wrong, at) : RONCHI_OK;
}

static ronchi_status check_json(const ronchi_json_check *check, const char *place, const char *text, size_t size)
{
    ronchi_json_fault fault;
    json_t *root = ronchi_json_parse(text, size, false, &fault);
    if (!root)
        return ronchi_json_bad(check, place, "%s", fault.why);
    bool object = json_is_object(root);
    json_decref(root);
    return object ? RONCHI_OK : ronchi_json_bad(check, place, "its JSON is not an object");
}

static ronchi_status check_document(const ronchi_json_check *check, const json_t *document, const char *place,
                                    uint64_t *total)
{
    const char *name = ronchi_json_text(json_object_get(document, "filename"));
    const json_t *content = json_object_get(document, "content");
    if (!name || !*name || strpbrk(name, "/\\"))
        return ronchi_json_bad(check, place, "needs a filename without folder");
    if (!json_is_string(content))
        return ronchi_json_bad(check, place, "needs its content as text");
    const char *text = json_string_value(content), *stored = ronchi_json_text(json_object_get(document, "sha256"));
    size_t size = json_string_length(content);
    *total += size;
    if (*total > MAX_DOCUMENT_BYTES)
        return ronchi_json_bad(check, place, "the documents have more than 4 MiB together");
    uint8_t have[RONCHI_SHA256_SIZE], want[RONCHI_SHA256_SIZE];
    if (!ronchi_sha256(text, size, have))
        return ronchi_fail(check->err, RONCHI_ERR_INTERNAL, check->file, RONCHI_NO_OFFSET,
                           "libcrypto cannot compute SHA-256");
    if (!stored || !ronchi_sha256_unhex(stored, want) || memcmp(have, want, sizeof have) != 0)
        return ronchi_json_bad(check, place, "its content does not match its sha256");
    const char *type = ronchi_json_text(json_object_get(document, "mediaType"));
    if (type && strcmp(type, "application/xml") == 0)
        return check_xml(check, place, text, size);
    if (type && strcmp(type, "application/json") == 0)
        return check_json(check, place, text, size);
    return ronchi_json_bad(check, place, "mediaType must be application/xml or application/json");
}

ronchi_status ronchi_documents_check(const ronchi_json_check *check, const json_t *documents)
{
    uint64_t total = 0;
    if (!documents)
        return RONCHI_OK;
    if (!json_is_array(documents) || json_array_size(documents) > MAX_DOCUMENTS)
        return ronchi_json_bad(check, "scientific_metadata.source_documents", "must be a list of at most %d documents",
                               MAX_DOCUMENTS);
    for (size_t i = 0; i < json_array_size(documents); i++) {
        char place[64];
        snprintf(place, sizeof place, "scientific_metadata.source_documents[%zu]", i);
        ronchi_status status = check_document(check, json_array_get(documents, i), place, &total);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

/* ---------------------------------------------------------------------------------------------------- sample */

/* Missing, or text. */
static bool optional_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return !value || json_is_string(value);
}

/* Missing, or one of the words (a list that ends with NULL). */
static bool optional_word(const json_t *object, const char *key, const char *const *words)
{
    const json_t *value = json_object_get(object, key);
    const char *text = ronchi_json_text(value);
    if (!value)
        return true;
    for (; text && *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static bool missing_or_null(const json_t *value)
{
    return !value || json_is_null(value);
}

static bool positive(const json_t *value)
{
    return json_is_number(value) && isfinite(json_number_value(value)) && json_number_value(value) > 0;
}

/* Three or four integers, not all zero. */
static bool is_direction(const json_t *value)
{
    size_t n = json_array_size(value);
    bool any = false;
    if (n != 3 && n != 4)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_integer(item))
            return false;
        any = any || json_integer_value(item) != 0;
    }
    return any;
}

/* Two integers >= 0, given in out. */
static bool is_pair(const json_t *value, uint64_t out[2])
{
    return json_is_array(value) && json_array_size(value) == 2 &&
           ronchi_json_count(json_array_get(value, 0), 0, &out[0]) &&
           ronchi_json_count(json_array_get(value, 1), 0, &out[1]);
}

static bool is_region(const json_t *region, const json_t *components)
{
    uint64_t a[2], b[2];
    if (missing_or_null(region))
        return true;
    if (json_is_string(region))
        return ronchi_json_text(region) && json_object_get(components, ronchi_json_text(region));
    if (json_object_size(region) == 1)
        return is_pair(json_object_get(region, "point"), a);
    return json_object_size(region) == 2 && is_pair(json_object_get(region, "rows"), a) &&
           is_pair(json_object_get(region, "cols"), b) && a[0] < a[1] && b[0] < b[1];
}

static bool is_range(const json_t *range)
{
    if (missing_or_null(range))
        return true;
    const json_t *low = json_array_get(range, 0), *high = json_array_get(range, 1);
    return json_is_array(range) && json_array_size(range) == 2 && positive(low) && positive(high) &&
           json_number_value(low) <= json_number_value(high);
}

static ronchi_status check_thickness(const ronchi_json_check *check, const json_t *estimate, const json_t *components,
                                     const char *place)
{
    static const char *const methods[] = {"diffraction_ridge", "pacbed_fit", "ssb_depth", "ptychography_multislice",
                                          "cross_section",     "nominal",    NULL};
    const char *unit = ronchi_json_text(json_object_get(estimate, "unit"));
    const json_t *uncertainty = json_object_get(estimate, "uncertainty"),
                 *preferred = json_object_get(estimate, "preferred");
    if (!json_object_get(estimate, "method") || !optional_word(estimate, "method", methods))
        return ronchi_json_bad(check, place, "its method is not known");
    if (!unit || strcmp(unit, "angstrom") != 0)
        return ronchi_json_bad(check, place, "its unit must be angstrom");
    if (!positive(json_object_get(estimate, "value")) || (uncertainty && !positive(uncertainty)))
        return ronchi_json_bad(check, place, "value and uncertainty must be finite numbers above 0");
    if (!is_range(json_object_get(estimate, "range")))
        return ronchi_json_bad(check, place, "its range must be two positive numbers, the lower first");
    if (!is_region(json_object_get(estimate, "region"), components))
        return ronchi_json_bad(check, place, "its region must name a component, rows and cols, or a point");
    if (!optional_text(estimate, "reference") || !optional_text(estimate, "date"))
        return ronchi_json_bad(check, place, "reference and date must be text");
    if (preferred && !json_is_boolean(preferred))
        return ronchi_json_bad(check, place, "preferred must be true or false");
    return RONCHI_OK;
}

static ronchi_status check_thicknesses(const ronchi_json_check *check, const json_t *list, const json_t *components,
                                       const char *place)
{
    size_t preferred = 0;
    if (list && !json_is_array(list))
        return ronchi_json_bad(check, place, "thickness_estimates must be a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        char item[RONCHI_JSON_PLACE + 48];
        snprintf(item, sizeof item, "%s.thickness_estimates[%zu]", place, i);
        ronchi_status status = check_thickness(check, json_array_get(list, i), components, item);
        if (status != RONCHI_OK)
            return status;
        preferred += json_is_true(json_object_get(json_array_get(list, i), "preferred"));
    }
    return preferred > 1 ? ronchi_json_bad(check, place, "more than one thickness is preferred") : RONCHI_OK;
}

static ronchi_status check_component(const ronchi_json_check *check, const char *name, const json_t *part,
                                     const json_t *components)
{
    static const char *const roles[] = {"film", "substrate", "support", "particle", NULL};
    char place[RONCHI_JSON_PLACE];
    snprintf(place, sizeof place, "scientific_metadata.sample.components[\"%.100s\"]", name);
    const json_t *axis = json_object_get(part, "zone_axis"), *cif = json_object_get(part, "cif");
    if (!*name || !json_is_object(part))
        return ronchi_json_bad(check, place, "a component needs a name and must be an object");
    if (!optional_text(part, "chemical_formula"))
        return ronchi_json_bad(check, place, "chemical_formula must be text");
    if (!optional_word(part, "role", roles))
        return ronchi_json_bad(check, place, "role must be film, substrate, support or particle");
    if (axis && !is_direction(axis))
        return ronchi_json_bad(check, place, "zone_axis must be 3 or 4 integers, not all zero");
    if (!missing_or_null(cif) &&
        !(json_is_string(json_object_get(cif, "document")) && json_is_string(json_object_get(cif, "sha256"))))
        return ronchi_json_bad(check, place, "cif needs document and sha256");
    return check_thicknesses(check, json_object_get(part, "thickness_estimates"), components, place);
}

static ronchi_status check_view(const ronchi_json_check *check, const json_t *seen, const json_t *components)
{
    bool ok = missing_or_null(seen) || json_is_array(seen);
    for (size_t i = 0; ok && i < json_array_size(seen); i++) {
        const char *name = ronchi_json_text(json_array_get(seen, i));
        ok = name && json_object_get(components, name);
    }
    return ok ? RONCHI_OK
              : ronchi_json_bad(check, "scientific_metadata.sample.components_in_view",
                                "must be a list of component names");
}

ronchi_status ronchi_sample_check(const ronchi_json_check *check, const json_t *sample)
{
    static const char *const texts[] = {"id", "name", "description", "orientation_relationship", "evidence"};
    static const char *const geometries[] = {"cross-section", "plan-view", NULL};
    static const char place[] = "scientific_metadata.sample";
    if (!json_is_object(sample) || !ronchi_json_has_words(json_object_get(sample, "provenance")))
        return ronchi_json_bad(check, place, "must be an object with a provenance");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!optional_text(sample, texts[i]))
            return ronchi_json_bad(check, place, "%s must be text", texts[i]);
    if (!optional_word(sample, "geometry", geometries))
        return ronchi_json_bad(check, place, "geometry must be cross-section or plan-view");
    const json_t *growth = json_object_get(sample, "growth_direction");
    if (growth && !is_direction(growth))
        return ronchi_json_bad(check, place, "growth_direction must be 3 or 4 integers, not all zero");
    json_t *components = json_object_get(sample, "components"), *part;
    if (components && !json_is_object(components))
        return ronchi_json_bad(check, place, "components must be an object");
    const char *name;
    json_object_foreach(components, name, part)
    {
        ronchi_status status = check_component(check, name, part, components);
        if (status != RONCHI_OK)
            return status;
    }
    return check_view(check, json_object_get(sample, "components_in_view"), components);
}
