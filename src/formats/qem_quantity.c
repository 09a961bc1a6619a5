/* SPDX-License-Identifier: MIT */
/* qem_quantity.c - calibrated quantities: their paths, the units that are accepted, canonical units. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/qem_internal.h"

#define ANGSTROM_SIGN "\xC3\x85" /* U+00C5, as the public reader spells it */

/* One accepted unit: canonical value = value x factor. */
typedef struct unit {
    const char *name;
    double factor;
    const char *canonical; /* the same text when the unit is canonical itself */
    bool in_overrides;     /* accepted in the calibration_overrides of schema 1 */
} unit;

static const unit voltage_units[] = {{"kV", 1.0, "kV", false}, {"V", 1e-3, "kV", true}, {0}};
static const unit energy_units[] = {{"keV", 1.0, "keV", false}, {"eV", 1e-3, "keV", false}, {0}};
static const unit angle_units[] = {{"mrad", 1.0, "mrad", true}, {"rad", 1e3, "mrad", false}, {0}};
static const unit time_units[] = {{"us", 1.0, "us", false}, {"ms", 1e3, "us", false}, {"s", 1e6, "us", true}, {0}};
static const unit camera_units[] = {{"mm", 1.0, "mm", false}, {"cm", 10.0, "mm", false}, {"m", 1e3, "mm", true}, {0}};
static const unit length_units[] = {{"angstrom", 1.0, "angstrom", false},
                                    {ANGSTROM_SIGN, 1.0, "angstrom", false},
                                    {"nm", 10.0, "angstrom", false},
                                    {"m", 1e10, "angstrom", true},
                                    {0}};
static const unit reciprocal_units[] = {{"mrad", 1.0, "mrad", true},
                                        {"rad", 1e3, "mrad", false},
                                        {"1/angstrom", 1.0, "1/angstrom", false},
                                        {"1/" ANGSTROM_SIGN, 1.0, "1/angstrom", true},
                                        {"1/nm", 0.1, "1/angstrom", true},
                                        {0}};

static const struct {
    const char *path;
    const unit *units;
} rules[RONCHI_QUANTITIES] = {
    [RONCHI_QUANTITY_VOLTAGE] = {"electron_source/accelerating_voltage", voltage_units},
    [RONCHI_QUANTITY_BEAM_ENERGY] = {"electron_source/beam_energy", energy_units},
    [RONCHI_QUANTITY_SEMIANGLE] = {"illumination_system/semi_convergence_angle", angle_units},
    [RONCHI_QUANTITY_DWELL] = {"scan_controller/regular_scan/dwell_time", time_units},
    [RONCHI_QUANTITY_SCAN_ROW] = {"scan_controller/regular_scan/pixel_size_row", length_units},
    [RONCHI_QUANTITY_SCAN_COL] = {"scan_controller/regular_scan/pixel_size_column", length_units},
    [RONCHI_QUANTITY_CAMERA_LENGTH] = {"imaging_system/camera_length", camera_units},
    [RONCHI_QUANTITY_DET_ROW] = {"imaging_system/reciprocal_pixel_size_row", reciprocal_units},
    [RONCHI_QUANTITY_DET_COL] = {"imaging_system/reciprocal_pixel_size_column", reciprocal_units},
};

const char *ronchi_quantity_path(int quantity)
{
    return rules[quantity].path;
}

int ronchi_quantity_find(const char *path)
{
    for (int i = 0; i < RONCHI_QUANTITIES; i++)
        if (strcmp(rules[i].path, path) == 0)
            return i;
    return -1;
}

bool ronchi_quantity_retired(const char *path)
{
    static const char *const stems[] = {"scan_controller/regular_scan/pixel_size",
                                        "imaging_system/reciprocal_pixel_size"};
    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++) {
        size_t n = strlen(stems[i]);
        if (strncmp(path, stems[i], n) == 0 && (strcmp(path + n, "_x") == 0 || strcmp(path + n, "_y") == 0))
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------------ checks */

/* Bytes of the white-space character at 'text' (also the Unicode ones, in UTF-8), 0 when it is none. */
static size_t space_length(const char *text)
{
    static const char *const wide[] = {"\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\xA8",
                                       "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};
    unsigned char c = (unsigned char)text[0];
    if (c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F))
        return 1;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (strncmp(text, wide[i], strlen(wide[i])) == 0)
            return strlen(wide[i]);
    unsigned char last = c == 0xE2 && text[1] == '\x80' ? (unsigned char)text[2] : 0;
    return last >= 0x80 && last <= 0x8A ? 3 : 0; /* U+2000 to U+200A */
}

bool ronchi_json_has_words(const json_t *value)
{
    const char *text = json_string_value(value);
    if (!text)
        return false;
    if (strlen(text) != json_string_length(value))
        return true; /* a NUL is no white space */
    while (*text) {
        size_t n = space_length(text);
        if (!n)
            return true;
        text += n;
    }
    return false;
}

static const unit *find_unit(const unit *units, const char *name)
{
    for (; name && units->name; units++)
        if (strcmp(units->name, name) == 0)
            return units;
    return NULL;
}

/* "kV, V" for messages. */
static void list_units(const unit *units, int schema, bool override, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (; units->name; units++) {
        bool canonical = units->canonical == units->name || strcmp(units->canonical, units->name) == 0;
        if (schema == 2 ? !canonical : override && !units->in_overrides)
            continue;
        int put = snprintf(out + n, size - n, "%s%s", n ? ", " : "", units->name);
        if (put < 0 || (size_t)put >= size - n)
            return;
        n += (size_t)put;
    }
}

static ronchi_status check_unit(const ronchi_json_check *check, const json_t *object, const char *place, int quantity,
                                int schema, bool override, ronchi_canonical *out)
{
    const unit *units = rules[quantity].units;
    const char *name = ronchi_json_text(json_object_get(object, "unit"));
    const unit *found = find_unit(units, name);
    bool canonical = found && strcmp(found->canonical, found->name) == 0;
    if (!found || (schema == 2 ? !canonical : override && !found->in_overrides)) {
        char allowed[96];
        list_units(units, schema, override, allowed, sizeof allowed);
        return ronchi_json_bad(check, place, "unit \"%.40s\" is not accepted here in schema %d (accepted: %s)",
                               name ? name : "", schema, allowed);
    }
    double value = json_number_value(json_object_get(object, "value")) * found->factor;
    if (!isfinite(value))
        return ronchi_json_bad(check, place, "the value overflows in %s", found->canonical);
    if (out) {
        out->value = value;
        out->unit = found->canonical;
        out->as_stored = canonical;
    }
    return RONCHI_OK;
}

ronchi_status ronchi_quantity_check(const ronchi_json_check *check, const json_t *object, const char *place,
                                    int quantity, int schema, bool override, ronchi_canonical *out)
{
    if (!json_is_object(object))
        return ronchi_json_bad(check, place, "a quantity must be an object with value, unit and provenance");
    const json_t *value = json_object_get(object, "value");
    if (!json_is_number(value) || !isfinite(json_number_value(value)) || json_number_value(value) <= 0)
        return ronchi_json_bad(check, place, "the value must be a finite number above 0");
    if (json_string_length(json_object_get(object, "unit")) == 0)
        return ronchi_json_bad(check, place, "the unit is missing");
    if (!ronchi_json_has_words(json_object_get(object, "provenance")))
        return ronchi_json_bad(check, place, "the provenance is missing");
    return quantity < 0 ? RONCHI_OK : check_unit(check, object, place, quantity, schema, override, out);
}
