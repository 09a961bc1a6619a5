/* SPDX-License-Identifier: MIT */
/*
 * qem_judgement.c - headers changed at random, judged by Ronchi and by an independent validator of the format: both
 * must accept, or both refuse.  The validator (qem_oracle.py, beside the test data) runs once over all files.
 */
#include <stdbool.h>

#include "qem_make.h"

enum { FILES = 1500 };

/* A header in which every rule has something to check. */
static json_t *rich_header(int schema)
{
    json_t *header = qem_header(), *s = json_object_get(header, "scientific_metadata");
    const bool old = schema == 1;
    json_object_set_new(s, "schema",
                        json_string(old ? "quantem.scientific-metadata/1" : "quantem.scientific-metadata/2"));
    for (size_t i = 0; i < 4; i++)
        json_object_set_new(json_array_get(json_object_get(s, "axes"), i), "sampling",
                            json_pack("{s:f, s:s, s:s}", "value", 0.25, "unit",
                                      i < 2 ? old ? "nm" : "angstrom"
                                      : old ? "rad"
                                            : "mrad",
                                      "provenance", "source_metadata"));
    json_object_set_new(s, "electron_microscope",
                        json_pack("{s:{s:i,s:s,s:s}, s:{s:f,s:s,s:s}, s:{s:f,s:s,s:s,s:s}}",
                                  "electron_source/accelerating_voltage", "value", 300, "unit", old ? "V" : "kV",
                                  "provenance", "p", "scan_controller/regular_scan/pixel_size_row", "value", 0.25,
                                  "unit", old ? "nm" : "angstrom", "provenance", "p", "other/quantity", "value", 1.5,
                                  "unit", "T", "provenance", "p", "evidence", "e"));
    json_object_set_new(s, "calibration_overrides",
                        json_pack("{s:{s:f,s:s,s:s,s:s}, s:{s:f,s:s,s:s,s:s}, s:{s:f,s:s,s:s,s:s}}",
                                  "illumination_system/semi_convergence_angle", "value", 21.4, "unit", "mrad",
                                  "provenance", "user_override", "evidence", "typed",
                                  "scan_controller/regular_scan/pixel_size_row", "value", 1e-9, "unit",
                                  old ? "m" : "angstrom", "provenance", "user_override", "evidence", "typed",
                                  "scan_controller/regular_scan/pixel_size_column", "value", 2e-9, "unit",
                                  old ? "m" : "angstrom", "provenance", "user_override", "evidence", "typed"));
    json_t *overrides = json_object_get(s, "calibration_overrides");
    for (int i = 0; i < 2 && !old; i++)
        json_object_set_new(json_object_get(overrides, i ? "scan_controller/regular_scan/pixel_size_column"
                                                         : "scan_controller/regular_scan/pixel_size_row"),
                            "value", json_real(0.3 + i));
    const char *xml = "<?xml version=\"1.0\"?><scan><n a='1'>x</n></scan>", *text = "{\"a\": [1, 2.5, null]}";
    char hex[2][65];
    qem_hex(xml, strlen(xml), hex[0]);
    qem_hex(text, strlen(text), hex[1]);
    json_object_set_new(s, "source_documents",
                        json_pack("[{s:s,s:s,s:s,s:s}, {s:s,s:s,s:s,s:s}]", "filename", "a.xml", "mediaType",
                                  "application/xml", "content", xml, "sha256", hex[0], "filename", "b.json",
                                  "mediaType", "application/json", "content", text, "sha256", hex[1]));
    json_object_set_new(s, "extensions", json_pack("{s:{s:i}}", "ronchi", "x", 1));
    json_object_set_new(s, "sample",
                        json_pack("{s:s,s:s,s:s,s:[iii],s:[s],s:{s:{s:s,s:s,s:[iiii],s:{s:s,s:s},s:[{s:s,s:s,s:i,s:f,s:"
                                  "[ii],s:{s:[ii],s:[ii]},s:b},"
                                  "{s:s,s:s,s:i,s:s,s:s}]},s:{}}}",
                                  "provenance", "p", "name", "n", "geometry", "plan-view", "growth_direction", 0, 0, 1,
                                  "components_in_view", "a", "components", "a", "chemical_formula", "Si", "role",
                                  "film", "zone_axis", 1, 1, 0, 0, "cif", "document", "d", "sha256", "s",
                                  "thickness_estimates", "method", "nominal", "unit", "angstrom", "value", 100,
                                  "uncertainty", 1.5, "range", 90, 110, "region", "rows", 0, 4, "cols", 1, 3,
                                  "preferred", 1, "method", "ssb_depth", "unit", "angstrom", "value", 90, "region", "b",
                                  "date", "d", "b"));
    json_object_set_new(header, "metadata",
                        json_pack("{s:s, s:i, s:{s:b}}", "source_dtype", "uint32", "flagged_markers_stored_as_zero", 4,
                                  "hot_pixel_correction", "applied", 1));
    json_object_set_new(s, "processing",
                        json_pack("[{s:s,s:b},{s:s,s:b,s:s,s:s},{s:s,s:b,s:i},{s:s,s:b,s:s}]", "operation",
                                  "lossless_storage", "changes_measurements", 0, "operation", "exact_integer_narrowing",
                                  "changes_measurements", 0, "source_dtype", "uint32", "stored_dtype", "uint16",
                                  "operation", "flagged_marker_zeroing", "changes_measurements", 0, "value_count", 4,
                                  "operation", "flagged_pixel_replacement", "changes_measurements", 1, "method",
                                  "median"));
    return header;
}

/* ------------------------------------------------------------------------------------------------- changing */

/* Counts the values of a tree; when *left reaches 0 inside, gives that value's parent and place. */
typedef struct spot {
    json_t *parent;
    char key[128];
    size_t index;
} spot;

static bool find_spot(json_t *root, size_t *left, spot *out)
{
    json_t *value;
    const char *key;
    size_t i;
    json_object_foreach(root, key, value)
    {
        if ((*left)-- == 0) {
            out->parent = root;
            snprintf(out->key, sizeof out->key, "%s", key);
            return true;
        }
        if (find_spot(value, left, out))
            return true;
    }
    json_array_foreach(root, i, value)
    {
        if ((*left)-- == 0) {
            *out = (spot){root, "", i};
            return true;
        }
        if (find_spot(value, left, out))
            return true;
    }
    return false;
}

static size_t count_values(json_t *root)
{
    size_t left = SIZE_MAX;
    spot none;
    find_spot(root, &left, &none);
    return SIZE_MAX - left;
}

static json_t *pick(json_t *root, uint64_t *seed, spot *where)
{
    size_t left = test_random(seed) % count_values(root);
    assert_true(find_spot(root, &left, where));
    return json_is_array(where->parent) ? json_array_get(where->parent, where->index)
                                        : json_object_get(where->parent, where->key);
}

static json_t *random_value(uint64_t *seed)
{
    static const char *const texts[] = {"null",
                                        "true",
                                        "false",
                                        "0",
                                        "1",
                                        "-1",
                                        "2",
                                        "1.0",
                                        "0.25",
                                        "-0.5",
                                        "1e-5",
                                        "1e5",
                                        "1e308",
                                        "\"\"",
                                        "\" \"",
                                        "\"x\"",
                                        "\"\\u00a0\"",
                                        "[]",
                                        "{}",
                                        "[1]",
                                        "[0,0,0]",
                                        "[1,0,0]",
                                        "[2,1]",
                                        "[1,2]",
                                        "\"kV\"",
                                        "\"V\"",
                                        "\"nm\"",
                                        "\"m\"",
                                        "\"mrad\"",
                                        "\"rad\"",
                                        "\"1/nm\"",
                                        "\"1/angstrom\"",
                                        "\"angstrom\"",
                                        "\"\\u00c5\"",
                                        "\"user_override\"",
                                        "\"uint16\"",
                                        "\"uint32\"",
                                        "\"float64\"",
                                        "\"b\"",
                                        "\"a/b\"",
                                        "{\"value\":0.25,\"unit\":\"angstrom\",\"provenance\":\"p\"}",
                                        "{\"value\":2.5,\"unit\":\"nm\",\"provenance\":\"p\"}",
                                        "{\"point\":[1,2]}",
                                        "{\"a\":{}}",
                                        "{\"\":{}}",
                                        "{\"operation\":\"x\",\"changes_measurements\":false}",
                                        "\"quantem.scientific-metadata/1\"",
                                        "\"quantem.scientific-metadata/2\"",
                                        "\"application/json\"",
                                        "\"application/xml\"",
                                        "\"unknown\""};
    return json_loads(texts[test_random(seed) % (sizeof texts / sizeof texts[0])], JSON_DECODE_ANY, NULL);
}

static const char *random_key(uint64_t *seed)
{
    static const char *const keys[] = {"sampling",
                                       "value",
                                       "unit",
                                       "provenance",
                                       "evidence",
                                       "x",
                                       "region",
                                       "range",
                                       "preferred",
                                       "imaging_system/camera_length",
                                       "imaging_system/reciprocal_pixel_size_row",
                                       "imaging_system/reciprocal_pixel_size_x",
                                       "electron_source/beam_energy",
                                       "sample",
                                       "scan_controller/regular_scan/pixel_size_y",
                                       "source_dtype",
                                       "uncertainty",
                                       "cif"};
    return keys[test_random(seed) % (sizeof keys / sizeof keys[0])];
}

/* One change: remove, replace by a stock value, replace by a value of another place, or add under a telling key. */
static void change(json_t *header, uint64_t *seed)
{
    spot where, from;
    json_t *old = pick(header, seed, &where), *value = NULL;
    uint64_t kind = test_random(seed) % 8;
    if (kind == 0 && json_is_object(where.parent)) {
        json_object_del(where.parent, where.key);
        return;
    }
    if (kind == 1 && json_is_object(old)) {
        json_object_set_new(old, random_key(seed), random_value(seed));
        return;
    }
    value = kind < 4 ? json_deep_copy(pick(header, seed, &from)) : random_value(seed);
    if (json_is_array(where.parent))
        json_array_set_new(where.parent, where.index, value);
    else
        json_object_set_new(where.parent, where.key, value);
}

/* -------------------------------------------------------------------------------------------------- judging */

/* What Ronchi checks at opening and the validator only in its codecs. */
static bool codec_matter(const ronchi_error *err)
{
    return strstr(err->message, "$.dtype:") || strstr(err->message, "$.metadata:") ||
           strstr(err->message, "$.codec:") || strstr(err->message, "can be addressed");
}

static const char judge[] = "import sys; sys.path.insert(0, sys.argv[1])\n"
                            "import qem_oracle as o\n"
                            "for i in range(int(sys.argv[3])):\n"
                            "    try:\n"
                            "        head, body = o.open_envelope(open('%s/%d.qem' % (sys.argv[2], i), 'rb').read())\n"
                            "        o.check_metadata(head); o.check_body(head, body); print('ok')\n"
                            "    except o.Bad as e: print('bad', ascii(str(e)))\n";

static void both_judge_alike(void **state)
{
    (void)state;
    char folder[64], path[128], tool[600], line[600];
    if (!test_data())
        skip();
    snprintf(tool, sizeof tool, "%s/../tools/qem_oracle.py", test_data());
    if (access(tool, R_OK) != 0)
        skip();
    qem_folder(folder);
    ronchi_context *context = qem_context(1);
    static ronchi_error errors[FILES];
    static ronchi_status verdict[FILES];
    const char *other = getenv("RONCHI_TEST_SEED"); /* for long runs by hand */
    uint64_t seed = other ? strtoull(other, NULL, 10) : 2026;
    for (int i = 0; i < FILES; i++) {
        json_t *header = rich_header(1 + i % 2);
        for (uint64_t k = i < 2 ? 0 : 1 + test_random(&seed) % 2; k > 0; k--)
            change(header, &seed);
        snprintf(path, sizeof path, "%s/%d.qem", folder, i);
        qem_put_header(path, header);
        json_decref(header);
        ronchi_qem qem;
        verdict[i] = ronchi_qem_open(context, path, &qem, &errors[i]);
        if (verdict[i] == RONCHI_OK)
            verdict[i] = ronchi_qem_check_body(&qem, &errors[i]);
        ronchi_qem_close(&qem);
    }
    snprintf(path, sizeof path, "%s/judge.py", folder);
    qem_put(path, judge, strlen(judge));
    char command[1200];
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' '%s/../tools' '%s' %d", path, test_data(), folder, FILES);
    FILE *answers = popen(command, "r");
    assert_non_null(answers);
    size_t accepted = 0, wrong = 0;
    for (int i = 0; i < FILES; i++) {
        assert_non_null(fgets(line, sizeof line, answers));
        bool ok = strncmp(line, "ok", 2) == 0;
        accepted += ok;
        if (ok != (verdict[i] == RONCHI_OK) && !(ok && codec_matter(&errors[i]))) {
            wrong++;
            print_error("%d: Ronchi %s, validator %s", i, verdict[i] == RONCHI_OK ? "accepts" : errors[i].message,
                        line);
        }
    }
    assert_int_equal(pclose(answers), 0);
    assert_int_equal(wrong, 0);
    assert_true(accepted > FILES / 10 && accepted < FILES * 9 / 10);
    assert_true(verdict[0] == RONCHI_OK && verdict[1] == RONCHI_OK);
    ronchi_context_destroy(context);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_judge_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
