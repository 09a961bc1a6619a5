/* SPDX-License-Identifier: MIT */
/* qem_metadata.c - scientific metadata: each rule broken once, conversion of schema 1, creating, overriding,
 * calibration. */
#include <math.h>

#include "formats/qem_internal.h"
#include "qem_make.h"

/*
 * Sets the value (JSON text, NULL: removed) at a place of the header; steps are separated by '|', numbers index lists.
 */
static void set_at(json_t *root, const char *place, const char *text)
{
    char steps[256], *step = steps;
    snprintf(steps, sizeof steps, "%s", place);
    for (char *bar = strchr(step, '|'); bar; bar = strchr(step, '|')) {
        *bar = 0;
        root = json_is_array(root) ? json_array_get(root, strtoul(step, NULL, 10)) : json_object_get(root, step);
        assert_non_null(root);
        step = bar + 1;
    }
    json_t *value = text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
    assert_true(value || !text);
    if (json_is_array(root))
        assert_int_equal(json_array_set_new(root, strtoul(step, NULL, 10), value), 0);
    else if (value)
        assert_int_equal(json_object_set_new(root, step, value), 0);
    else
        assert_int_equal(json_object_del(root, step), 0);
}

/* Several changes: place, text, place, text, ..., NULL. */
static json_t *changed(const char *const *changes)
{
    json_t *header = qem_header();
    for (; *changes; changes += 2)
        set_at(header, changes[0], changes[1]);
    return header;
}

#define S              "scientific_metadata|"
#define EM             S "electron_microscope"
#define CO             S "calibration_overrides"
#define KV             "{\"electron_source/accelerating_voltage\":"
#define AX             S "axes|"
#define Q(value, unit) "{\"value\":" value ",\"unit\":\"" unit "\",\"provenance\":\"p\"}"
#define O(value, unit) "{\"value\":" value ",\"unit\":\"" unit "\",\"provenance\":\"user_override\",\"evidence\":\"e\"}"
#define SROW           "scan_controller/regular_scan/pixel_size_row"
#define SCOL           "scan_controller/regular_scan/pixel_size_column"
#define DROW           "imaging_system/reciprocal_pixel_size_row"
#define DCOL           "imaging_system/reciprocal_pixel_size_column"
#define SHA_A          "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" /* of "a" */
#define SHA_2          "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945" /* of "[]" */
#define SHA_D          "6f3b6fcd46a8a9afda5c1b9ed6fc2c5ccb9ac3d7f0fb79fd1f0e07b15ba9b5d8" /* wrong on purpose */

typedef struct broken {
    const char *words; /* of the message */
    const char *changes[9];
} broken;

static const broken breakers[] = {
    {"$.scientific_metadata:", {"scientific_metadata", NULL}},
    {"$.scientific_metadata:", {"scientific_metadata", "[]"}},
    {"$.scientific_metadata.schema", {S "schema", "\"quantem.scientific-metadata/3\""}},
    {"$.scientific_metadata.schema", {S "schema", NULL}},
    {"$.scientific_metadata.axes:", {S "axes", NULL}},
    {"$.scientific_metadata.axes:", {S "axes", "[{\"name\":\"scan_row\",\"size\":2}]"}},
    {"$.scientific_metadata.axes[0]", {AX "0", "7"}},
    {"$.scientific_metadata.axes[1]", {AX "1|name", "\"scan_row\""}},
    {"$.scientific_metadata.axes[2]", {AX "2|size", "5"}},
    {"$.scientific_metadata.axes[2]", {AX "2|size", "4.0"}},
    {"$.scientific_metadata.axes[3]", {AX "3|size", NULL}},
    {"$.scientific_metadata.source_metadata:", {S "source_metadata", NULL}},
    {"$.scientific_metadata.source_metadata:", {S "source_metadata", "[]"}},
    {"$.scientific_metadata.source_metadata_coverage", {S "source_metadata_coverage", "\"some\""}},
    {"$.scientific_metadata.source_metadata_coverage", {S "source_metadata_coverage", NULL}},
    {"$.scientific_metadata.source_format", {S "source_format", "7"}},
    {"$.scientific_metadata.extensions", {S "extensions", "null"}},
    /* quantities */
    {"axes[0].sampling: a quantity", {AX "0|sampling", "3"}},
    {"axes[0].sampling: the value", {AX "0|sampling", Q("0", "angstrom")}},
    {"axes[0].sampling: the value", {AX "0|sampling", Q("-1.5", "angstrom")}},
    {"axes[0].sampling: the value", {AX "0|sampling", Q("true", "angstrom")}},
    {"axes[0].sampling: the value", {AX "0|sampling", Q("\"1\"", "angstrom")}},
    {"axes[0].sampling: the unit is missing", {AX "0|sampling", Q("1", "")}},
    {"axes[0].sampling: the provenance", {AX "0|sampling", "{\"value\":1,\"unit\":\"angstrom\"}"}},
    {"axes[0].sampling: the provenance",
     {AX "0|sampling", "{\"value\":1,\"unit\":\"angstrom\",\"provenance\":\" \\t\\u00a0\\u2003\"}"}},
    {"axes[0].sampling: unit \"nm\"", {AX "0|sampling", Q("1", "nm")}},
    {"axes[0].sampling: unit \"inch\"", {AX "0|sampling", Q("1", "inch")}},
    {"axes[2].sampling: unit \"angstrom\"", {AX "2|sampling", Q("1", "angstrom")}},
    {"axes[2].sampling: unit \"1/nm\"", {AX "2|sampling", Q("1", "1/nm")}},
    {"detector_row is in mrad but detector_column in 1/angstrom",
     {AX "2|sampling", Q("1", "mrad"), AX "3|sampling", Q("1", "1/angstrom")}},
    {"$.scientific_metadata.electron_microscope:", {EM, "[]"}},
    {"$.scientific_metadata.electron_microscope:", {EM, "null"}},
    {"[\"electron_source/accelerating_voltage\"]: unit \"V\"", {EM, KV Q("3e5", "V") "}"}},
    {"[\"anything\"]: the value", {EM, "{\"anything\":" Q("0", "x") "}"}},
    {"retired name", {EM, "{\"scan_controller/regular_scan/pixel_size_x\":" Q("1", "angstrom") "}"}},
    {"retired name", {CO, "{\"imaging_system/reciprocal_pixel_size_y\":" O("1", "mrad") "}"}},
    {"[\"" SROW "\"]: disagrees", {EM, "{\"" SROW "\":" Q("1", "angstrom") "}"}},
    {"[\"" SROW "\"]: disagrees", {AX "0|sampling", Q("2", "angstrom"), EM, "{\"" SROW "\":" Q("1", "angstrom") "}"}},
    {"[\"" DROW "\"]: disagrees", {AX "2|sampling", Q("1", "mrad"), EM, "{\"" DROW "\":" Q("1", "1/angstrom") "}"}},
    {"[\"" DROW "\"]: disagrees",
     {AX "2|sampling", Q("1", "mrad"), EM, "{\"" DROW "\":" Q("1.0000000000001", "mrad") "}"}},
    /* overrides */
    {"$.scientific_metadata.calibration_overrides:", {CO, "3"}},
    {"no quantity that can be overridden", {CO, "{\"other\":" O("1", "kV") "}"}},
    {"no quantity that can be overridden", {CO, "{\"electron_source/beam_energy\":" O("1", "keV") "}"}},
    {"must be user_override", {CO, KV Q("1", "kV") "}"}},
    {"the evidence is missing", {CO, KV "{\"value\":1,\"unit\":\"kV\",\"provenance\":\"user_override\"}}"}},
    {"the evidence is missing",
     {CO, KV "{\"value\":1,\"unit\":\"kV\",\"provenance\":\"user_override\",\"evidence\":\"\"}}"}},
    {"needs " SCOL " beside it", {CO, "{\"" SROW "\":" O("1", "angstrom") "}"}},
    {"needs " DROW " beside it", {CO, "{\"" DCOL "\":" O("1", "mrad") "}"}},
    {"have different units", {CO, "{\"" DROW "\":" O("1", "mrad") ",\"" DCOL "\":" O("1", "1/angstrom") "}"}},
    {"outside of 0.0001 to 10000", {CO, "{\"" SROW "\":" O("2e4", "angstrom") ",\"" SCOL "\":" O("1", "angstrom") "}"}},
    {"outside of 0.0001 to 10000",
     {CO, "{\"" SROW "\":" O("9e-5", "angstrom") ",\"" SCOL "\":" O("1", "angstrom") "}"}},
    {"unit \"kV\" is not accepted here in schema 1",
     {S "schema", "\"quantem.scientific-metadata/1\"", CO, KV O("200", "kV") "}"}},
    {"overflows", {S "schema", "\"quantem.scientific-metadata/1\"", AX "0|sampling", Q("1e300", "m")}},
    /* documents */
    {"source_documents: must be a list", {S "source_documents", "{}"}},
    {"source_documents: must be a list", {S "source_documents", "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"}},
    {"source_documents[0]: needs a filename", {S "source_documents", "[7]"}},
    {"source_documents[0]: needs a filename", {S "source_documents", "[{\"filename\":\"a/b\",\"content\":\"a\"}]"}},
    {"source_documents[0]: needs a filename", {S "source_documents", "[{\"filename\":\"a\\\\b\",\"content\":\"a\"}]"}},
    {"source_documents[0]: needs its content", {S "source_documents", "[{\"filename\":\"a\"}]"}},
    {"source_documents[0]: its content does not match",
     {S "source_documents", "[{\"filename\":\"a\",\"content\":\"a\",\"sha256\":\"" SHA_D "\"}]"}},
    {"source_documents[0]: mediaType",
     {S "source_documents", "[{\"filename\":\"a\",\"content\":\"a\",\"sha256\":\"" SHA_A "\"}]"}},
    {"not well-formed XML",
     {S "source_documents",
      "[{\"filename\":\"a\",\"content\":\"a\",\"sha256\":\"" SHA_A "\",\"mediaType\":\"application/xml\"}]"}},
    {"not strict JSON",
     {S "source_documents",
      "[{\"filename\":\"a\",\"content\":\"a\",\"sha256\":\"" SHA_A "\",\"mediaType\":\"application/json\"}]"}},
    {"its JSON is not an object",
     {S "source_documents",
      "[{\"filename\":\"a\",\"content\":\"[]\",\"sha256\":\"" SHA_2 "\",\"mediaType\":\"application/json\"}]"}},
    /* processing */
    {"processing: must be a list", {S "processing", NULL}},
    {"processing: must be a list", {S "processing", "[]"}},
    {"processing[1]: needs operation", {S "processing", "[{\"operation\":\"a\",\"changes_measurements\":true},3]"}},
    {"processing[0]: needs operation", {S "processing|0|operation", "\"\""}},
    {"processing[0]: needs operation", {S "processing|0|changes_measurements", "0"}},
    {"flagged_pixel_replacement", {"metadata", "{\"hot_pixel_correction\":{\"applied\":true}}"}},
    {"flagged_pixel_replacement",
     {"metadata", "{\"hot_pixel_correction\":{\"applied\":true}}", S "processing",
      "[{\"operation\":\"flagged_pixel_replacement\",\"changes_measurements\":false}]"}},
    {"flagged_marker_zeroing", {"metadata", "{\"flagged_markers_stored_as_zero\":4}"}},
    {"exact_integer_narrowing from uint32 to uint16", {"metadata", "{\"source_dtype\":\"uint32\"}"}},
    {"exact_integer_narrowing",
     {"metadata", "{\"source_dtype\":\"uint32\"}", S "processing",
      "[{\"operation\":\"exact_integer_narrowing\",\"changes_measurements\":false,\"source_dtype\":\"int32\",\"stored_"
      "dtype\":"
      "\"uint16\"}]"}},
    {"exact_float_narrowing", {"dtype", "\"float32\"", "metadata", "{\"source_dtype\":\"float64\"}"}},
    /* sample */
    {"sample: must be an object with a provenance", {S "sample", "null"}},
    {"sample: must be an object with a provenance", {S "sample", "{}"}},
    {"sample: name must be text", {S "sample", "{\"provenance\":\"p\",\"name\":3}"}},
    {"sample: geometry", {S "sample", "{\"provenance\":\"p\",\"geometry\":\"tilted\"}"}},
    {"sample: growth_direction", {S "sample", "{\"provenance\":\"p\",\"growth_direction\":[0,0,0]}"}},
    {"sample: growth_direction", {S "sample", "{\"provenance\":\"p\",\"growth_direction\":[1,0]}"}},
    {"sample: components", {S "sample", "{\"provenance\":\"p\",\"components\":[]}"}},
    {"components[\"\"]", {S "sample", "{\"provenance\":\"p\",\"components\":{\"\":{}}}"}},
    {"components[\"a\"]: role", {S "sample", "{\"provenance\":\"p\",\"components\":{\"a\":{\"role\":\"hat\"}}}"}},
    {"components[\"a\"]: zone_axis",
     {S "sample", "{\"provenance\":\"p\",\"components\":{\"a\":{\"zone_axis\":[1,1.0,0]}}}"}},
    {"components[\"a\"]: cif",
     {S "sample", "{\"provenance\":\"p\",\"components\":{\"a\":{\"cif\":{\"document\":\"d\"}}}}"}},
    {"components[\"a\"]: chemical",
     {S "sample", "{\"provenance\":\"p\",\"components\":{\"a\":{\"chemical_formula\":1}}}"}},
    {"components_in_view", {S "sample", "{\"provenance\":\"p\",\"components_in_view\":[\"a\"]}"}},
};

static void every_rule_is_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof breakers / sizeof breakers[0]; i++) {
        json_t *header = changed(breakers[i].changes);
        ronchi_error err;
        ronchi_status status = ronchi_scientific_check(header, "a.qem", &err);
        bool schema = strstr(breakers[i].words, "metadata.schema") != NULL;
        if (status == RONCHI_OK || !strstr(err.message, breakers[i].words))
            print_error("%s: %s\n", breakers[i].words, status == RONCHI_OK ? "accepted" : err.message);
        assert_int_equal(status, schema ? RONCHI_ERR_FORMAT : RONCHI_ERR_DATA);
        assert_non_null(strstr(err.message, breakers[i].words));
        assert_string_equal(err.file, "a.qem");
        json_decref(header);
    }
}

/* One thickness estimate; the fields given as JSON members. */
static ronchi_status thickness(const char *members)
{
    char text[600];
    snprintf(text, sizeof text,
             "{\"provenance\":\"p\",\"components\":{\"a\":{\"thickness_estimates\":[{%s}]},\"b\":{}},\"components_in_"
             "view\":[\"a\"]}",
             members);
    json_t *header = qem_header();
    set_at(header, S "sample", text);
    ronchi_status status = ronchi_scientific_check(header, NULL, NULL);
    json_decref(header);
    return status;
}

static void thickness_rules(void **state)
{
    (void)state;
#define T "\"method\":\"nominal\",\"unit\":\"angstrom\",\"value\":100"
    static const char *const good[] = {T,
                                       T ",\"uncertainty\":1.5,\"range\":[90,110],\"reference\":\"r\",\"date\":\"d\"",
                                       T ",\"range\":null,\"region\":null,\"preferred\":true",
                                       T ",\"region\":\"b\"",
                                       T ",\"region\":{\"point\":[0,7]}",
                                       T ",\"region\":{\"rows\":[0,7],\"cols\":[3,4]}"};
    static const char *const bad[] = {"\"method\":\"guess\",\"unit\":\"angstrom\",\"value\":100",
                                      "\"unit\":\"angstrom\",\"value\":100",
                                      "\"method\":\"nominal\",\"unit\":\"nm\",\"value\":100",
                                      "\"method\":\"nominal\",\"unit\":\"angstrom\",\"value\":0",
                                      "\"method\":\"nominal\",\"unit\":\"angstrom\"",
                                      T ",\"uncertainty\":null",
                                      T ",\"range\":[2,1]",
                                      T ",\"range\":[1,2,3]",
                                      T ",\"region\":\"c\"",
                                      T ",\"region\":7",
                                      T ",\"region\":{\"point\":[0,-1]}",
                                      T ",\"region\":{\"rows\":[7,7],\"cols\":[3,4]}",
                                      T ",\"region\":{\"rows\":[0,7]}",
                                      T ",\"date\":7",
                                      T ",\"preferred\":1",
                                      T ",\"preferred\":true},{" T ",\"preferred\":true"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(thickness(good[i]), RONCHI_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(thickness(bad[i]), RONCHI_ERR_DATA);
}

static void xml_rules(void **state)
{
    (void)state;
    static const char *const good[] = {
        "<a/>", "<?xml version='1.0' encoding=\"utf-8\" standalone='yes'?>\n<a b='1' c=\"&lt;&#65;&#x41;\">t</a>\n",
        "<!-- c --><?pi x?><a><b></b >x &amp; y<![CDATA[<&]]></a><!--d-->",
        "\xEF\xBB\xBF<a:b xmlns:a='u'>\xC2\xB5</a:b>"};
    static const char *const bad[] = {"",
                                      "a",
                                      "<a>",
                                      "<a></b>",
                                      "<a/><b/>",
                                      "<a b/>",
                                      "<a b=c/>",
                                      "<a b='1' b='2'/>",
                                      "<a b='<'/>",
                                      "<a>&x;</a>",
                                      "<a>&#0;</a>",
                                      "<a>& </a>",
                                      "<a>]]></a>",
                                      "<a/>t",
                                      "<!-- a -- b --><a/>",
                                      "<a><![CDATA[</a>",
                                      " <?xml version='1.0'?><a/>",
                                      "<?xml?><a/>",
                                      "<a b='1'c='2'/>",
                                      "</a>",
                                      "<a>\x01</a>",
                                      "<1/>",
                                      "<?xml version='1.0' encoding='UTF-16'?><a/>",
                                      "<a b='x",
                                      "<a",
                                      "<",
                                      "<a/",
                                      "<!-",
                                      "<?x",
                                      "<a>&#xD800;</a>",
                                      "<a>&#99999999999;</a>"};
    size_t at;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_null(ronchi_xml_well_formed(good[i], strlen(good[i]), &at));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (!ronchi_xml_well_formed(bad[i], strlen(bad[i]), &at))
            print_error("accepted: %s\n", bad[i]);
        assert_non_null(ronchi_xml_well_formed(bad[i], strlen(bad[i]), &at));
        assert_true(at <= strlen(bad[i]));
    }
    json_t *header = qem_header();
    const char *text = "<!doctype a><a/>";
    char hex[65];
    qem_hex(text, strlen(text), hex);
    json_object_set_new(json_object_get(header, "scientific_metadata"), "source_documents",
                        json_pack("[{s:s, s:s, s:s, s:s}]", "filename", "a", "content", text, "sha256", hex,
                                  "mediaType", "application/xml"));
    ronchi_error err;
    assert_int_equal(ronchi_scientific_check(header, NULL, &err), RONCHI_ERR_DATA);
    assert_non_null(strstr(err.message, "DOCTYPE"));
    json_decref(header);
}

static void close_to(const ronchi_quantity *q, double value, const char *unit)
{
    assert_int_equal(q->known, 1);
    assert_true(fabs(q->value - value) <= 1e-14 * value);
    assert_string_equal(q->unit, unit);
}

/* Every unit of schema 1 arrives in its canonical unit, and what comes out is schema 2. */
static void schema_1_is_converted(void **state)
{
    (void)state;
    static const char *const changes[] = {S "schema",
                                          "\"quantem.scientific-metadata/1\"",
                                          AX "0|sampling",
                                          Q("3e-11", "m"),
                                          AX "1|sampling",
                                          "{\"value\":0.04,\"unit\":\"nm\",\"provenance\":\"p\",\"kept\":[1]}",
                                          AX "2|sampling",
                                          Q("2", "1/nm"),
                                          NULL};
    json_t *header = changed(changes), *out;
    set_at(header, AX "3|sampling", Q("3", "1/\xC3\x85"));
    set_at(header, EM,
           KV Q("300000", "V") ",\"electron_source/beam_energy\":" Q(
               "3e5",
               "eV") ",\"illumination_system/"
                     "semi_convergence_angle\":" Q(
                         "0.02",
                         "r"
                         "a"
                         "d") ",\"scan_controller/regular_scan/dwell_time\":" Q("2",
                                                                                "ms") ",\"imaging_system/"
                                                                                      "camera_length\":" Q(
                                                                                          "9.1",
                                                                                          "cm") ","
                                                                                                "\""
                                                                                                "ot"
                                                                                                "he"
                                                                                                "r/"
                                                                                                "th"
                                                                                                "in"
                                                                                                "g"
                                                                                                "\""
                                                                                                ":" Q("7", "furlong") ",\"" SROW "\":" Q(
                                                                                                    "0.03",
                                                                                                    "nm") ",\"" SCOL
                                                                                                          "\":" Q(
                                                                                                              "9",
                                                                                                              "angstro"
                                                                                                              "m") "}");
    set_at(header, CO, "{\"" DROW "\":" O("5", "1/nm") ",\"" DCOL "\":" O("6", "1/nm") "}");
    ronchi_error err;
    assert_int_equal(ronchi_scientific_check(header, NULL, &err), RONCHI_OK);
    assert_int_equal(ronchi_scientific_canonical(json_object_get(header, "scientific_metadata"), &out, &err),
                     RONCHI_OK);
    json_object_set_new(header, "scientific_metadata", out);
    ronchi_status status = ronchi_scientific_check(header, NULL, &err);
    if (status != RONCHI_OK)
        print_error("%s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    ronchi_calibration c;
    ronchi_scientific_calibration(out, &c);
    close_to(&c.scan_step_row, 0.3, "angstrom");
    close_to(&c.scan_step_col, 0.4, "angstrom");
    close_to(&c.det_step_row, 0.5, "1/angstrom");
    close_to(&c.det_step_col, 0.6, "1/angstrom");
    close_to(&c.voltage, 300, "kV");
    close_to(&c.semiangle, 20, "mrad");
    close_to(&c.dwell, 2000, "us");
    close_to(&c.camera_length, 91, "mm");
    const json_t *scope = json_object_get(out, "electron_microscope");
    assert_string_equal(json_string_value(json_object_get(json_object_get(scope, "other/thing"), "unit")), "furlong");
    /* The recorded pixel size that disagreed with its axis stands apart. */
    assert_null(json_object_get(scope, SCOL));
    assert_non_null(json_object_get(ronchi_scientific_extension_get(out, "schema1_pixel_sizes"), SCOL));
    json_t *axis = json_array_get(json_object_get(out, "axes"), 1);
    assert_int_equal(json_array_size(json_object_get(json_object_get(axis, "sampling"), "kept")), 1);
    json_t *again;
    assert_int_equal(ronchi_scientific_canonical(out, &again, &err), RONCHI_OK);
    assert_true(json_equal(again, out));
    json_decref(again);
    json_decref(header);
    assert_int_equal(ronchi_scientific_canonical(json_null(), &again, &err), RONCHI_ERR_FORMAT);
}

static void pixel_size_fills_its_axis(void **state)
{
    (void)state;
    static const char *const changes[] = {
        S "schema", "\"quantem.scientific-metadata/1\"", EM,
        "{\"" SROW "\":" Q("3e-11", "m") ",\"" DROW "\":" Q("0.5", "mrad") ",\"" DCOL "\":" Q("1", "1/nm") "}", NULL};
    json_t *header = changed(changes), *out;
    assert_int_equal(ronchi_scientific_check(header, NULL, NULL), RONCHI_OK);
    assert_int_equal(ronchi_scientific_canonical(json_object_get(header, "scientific_metadata"), &out, NULL),
                     RONCHI_OK);
    json_object_set_new(header, "scientific_metadata", out);
    assert_int_equal(ronchi_scientific_check(header, NULL, NULL), RONCHI_OK);
    ronchi_calibration c;
    ronchi_scientific_calibration(out, &c);
    close_to(&c.scan_step_row, 0.3, "angstrom");
    close_to(&c.det_step_row, 0.5, "mrad");
    assert_int_equal(c.det_step_col.known, 0);
    json_decref(header);
}

static ronchi_quantity quantity(double value, const char *unit, const char *provenance)
{
    ronchi_quantity q = {1, value, "", ""};
    snprintf(q.unit, sizeof q.unit, "%s", unit);
    snprintf(q.provenance, sizeof q.provenance, "%s", provenance);
    return q;
}

/* What create() makes passes the check, and the calibration comes back. */
static void created_metadata_is_good(void **state)
{
    (void)state;
    ronchi_shape shape = {2, 3, 4, 5};
    ronchi_calibration c = {0}, back;
    c.voltage = quantity(300, "kV", "source_metadata: photon_energy");
    c.semiangle = quantity(21.4, "mrad", "source_metadata");
    c.scan_step_row = quantity(0.25, "angstrom", "source_metadata");
    c.scan_step_col = quantity(0.5, "angstrom", "bad \xFF text");
    c.det_step_row = quantity(0.02, "1/angstrom", "source_metadata");
    c.dwell = quantity(10, "us", "source_metadata");
    c.camera_length = quantity(80, "mm", "user_override");
    c.scan_rotation = quantity(-90, "degree", "source_metadata");
    json_t *kept = json_pack("{s:s, s:i}", "entry/x", "y", "n", 3);
    json_t *header = qem_header(), *scientific = ronchi_scientific_create(&shape, &c, kept, "dectris-master");
    assert_non_null(scientific);
    json_object_set_new(header, "scientific_metadata", scientific);
    ronchi_error err;
    ronchi_status status = ronchi_scientific_check(header, NULL, &err);
    if (status != RONCHI_OK)
        print_error("%s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    assert_true(json_equal(json_object_get(scientific, "source_metadata"), kept));
    ronchi_scientific_calibration(scientific, &back);
    close_to(&back.voltage, 300, "kV");
    assert_string_equal(back.voltage.provenance, "source_metadata: photon_energy");
    close_to(&back.scan_step_row, 0.25, "angstrom");
    close_to(&back.scan_step_col, 0.5, "angstrom");
    close_to(&back.det_step_row, 0.02, "1/angstrom");
    assert_int_equal(back.camera_length.known, 0); /* the user's values are overrides, not records */
    assert_true(back.scan_rotation.known && back.scan_rotation.value < -89.9);
    assert_int_equal(back.det_step_col.known, 0);
    json_decref(kept);
    json_decref(header);

    ronchi_calibration none = {0}, odd = {0};
    odd.voltage = quantity(-1, "kV", "x");
    odd.semiangle = quantity(NAN, "mrad", "x");
    odd.dwell = quantity(1, "s", "x");
    odd.scan_step_row = quantity(1, "nm", "x");
    odd.det_step_row = quantity(1, "mrad", "x");
    odd.det_step_col = quantity(1, "1/angstrom", "x");
    const ronchi_calibration *empty[] = {&none, &odd};
    for (int i = 0; i < 2; i++) {
        header = qem_header();
        scientific = ronchi_scientific_create(&shape, empty[i], NULL, NULL);
        json_object_set_new(header, "scientific_metadata", scientific);
        assert_int_equal(ronchi_scientific_check(header, NULL, NULL), RONCHI_OK);
        assert_int_equal(json_object_size(json_object_get(scientific, "electron_microscope")), 0);
        json_decref(header);
    }
}

static void beam_energy_gives_voltage(void **state)
{
    (void)state;
    static const char *const changes[] = {EM, "{\"electron_source/beam_energy\":" Q("80", "keV") "}", NULL};
    json_t *header = changed(changes);
    ronchi_calibration c;
    ronchi_scientific_calibration(json_object_get(header, "scientific_metadata"), &c);
    close_to(&c.voltage, 80, "kV");
    json_decref(header);
}

static void long_provenance_is_cut_between_characters(void **state)
{
    (void)state;
    char text[400] = KV "{\"value\":1,\"unit\":\"kV\",\"provenance\":\"x";
    for (int i = 0; i < 100; i++)
        strcat(text, "\xC2\xB5");
    strcat(text, "\"}}");
    json_t *header = qem_header();
    set_at(header, EM, text);
    ronchi_calibration c;
    ronchi_scientific_calibration(json_object_get(header, "scientific_metadata"), &c);
    assert_int_equal(strlen(c.voltage.provenance), sizeof c.voltage.provenance - 1);
    c.voltage.provenance[sizeof c.voltage.provenance - 2] = 'x';
    ronchi_shape shape = {2, 3, 4, 5};
    json_t *again = ronchi_scientific_create(&shape, &c, NULL, NULL);
    assert_non_null(again);
    json_decref(again);
    json_decref(header);
}

static void overrides_win(void **state)
{
    (void)state;
    json_t *header = qem_header(), *scientific = json_object_get(header, "scientific_metadata");
    set_at(header, EM, KV Q("300", "kV") "}");
    json_object_del(scientific, "calibration_overrides");
    ronchi_source_options options = {0};
    ronchi_error err;
    options.voltage_kv = 200;
    options.semiangle_mrad = 30;
    options.camera_length_mm = 91;
    options.scan_step_row_a = options.scan_step_col_a = 0.4;
    options.det_step_row_mrad = 0.5;
    options.det_step_col_mrad = 0.6;
    assert_int_equal(ronchi_scientific_override(scientific, &options, &err), RONCHI_OK);
    assert_int_equal(ronchi_scientific_check(header, NULL, &err), RONCHI_OK);
    ronchi_calibration c;
    ronchi_scientific_calibration(scientific, &c);
    close_to(&c.voltage, 200, "kV");
    close_to(&c.semiangle, 30, "mrad");
    close_to(&c.camera_length, 91, "mm");
    close_to(&c.scan_step_col, 0.4, "angstrom");
    close_to(&c.det_step_col, 0.6, "mrad");
    const json_t *stored =
        json_object_get(json_object_get(scientific, "calibration_overrides"), "electron_source/accelerating_voltage");
    assert_string_equal(json_string_value(json_object_get(stored, "evidence")), "--voltage-kv");

    static const struct {
        double voltage, row, col, det;
    } wrong[] = {{-1, 0, 0, 0}, {NAN, 0, 0, 0}, {INFINITY, 0, 0, 0}, {0, 1, 0, 0},
                 {0, 0, 1, 0},  {0, 2e4, 1, 0}, {0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *before = json_deep_copy(scientific);
        options = (ronchi_source_options){0};
        options.voltage_kv = wrong[i].voltage;
        options.scan_step_row_a = wrong[i].row;
        options.scan_step_col_a = wrong[i].col;
        options.det_step_row_mrad = wrong[i].det;
        assert_int_equal(ronchi_scientific_override(scientific, &options, &err), RONCHI_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, "--"));
        assert_true(json_equal(before, scientific));
        json_decref(before);
    }
    json_decref(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_is_checked),
        cmocka_unit_test(thickness_rules),
        cmocka_unit_test(xml_rules),
        cmocka_unit_test(schema_1_is_converted),
        cmocka_unit_test(pixel_size_fills_its_axis),
        cmocka_unit_test(created_metadata_is_good),
        cmocka_unit_test(beam_energy_gives_voltage),
        cmocka_unit_test(long_provenance_is_cut_between_characters),
        cmocka_unit_test(overrides_win),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
