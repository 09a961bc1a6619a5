/* SPDX-License-Identifier: MIT */
/* qem_files.c - files of the public format: good ones open with the right calibration, damaged ones are refused with
 * the place. */
#include <dirent.h>
#include <math.h>

#include "qem_make.h"

static ronchi_context *context;

static int set_up(void **state)
{
    (void)state;
    context = qem_context(2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ronchi_context_destroy(context);
    return 0;
}

static const char *data_path(const char *name, char out[512])
{
    snprintf(out, 512, "%s/qem/%s", test_data(), name);
    return out;
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *words;
        uint64_t offset;
        ronchi_status status;
    } bad[] = {
        {"bad_duplicate_key.qem", "\"interval\" occurs twice", UINT64_MAX, RONCHI_ERR_DATA},
        {"bad_header_digest.qem", "SHA-256", 24, RONCHI_ERR_DATA},
        {"bad_truncated_body.qem", "37 bytes are missing", 36436, RONCHI_ERR_DATA},
        {"bad_wrong_magic.qem", "reopen the original acquisition", 0, RONCHI_ERR_FORMAT},
    };
    if (!test_data())
        skip();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char path[512];
        ronchi_qem qem;
        ronchi_error err;
        assert_int_equal(ronchi_qem_open(context, data_path(bad[i].name, path), &qem, &err), bad[i].status);
        assert_non_null(strstr(err.message, bad[i].words));
        if (bad[i].offset != UINT64_MAX)
            assert_int_equal(err.offset, bad[i].offset);
    }
}

static void good_files_open(void **state)
{
    (void)state;
    char path[512];
    if (!test_data())
        skip();
    snprintf(path, sizeof path, "%s/qem", test_data());
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t n = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, "bad_", 4) == 0 || length < 4 || strcmp(entry->d_name + length - 4, ".qem") != 0)
            continue;
        ronchi_qem qem;
        ronchi_error err;
        ronchi_status status = ronchi_qem_open(context, data_path(entry->d_name, path), &qem, &err);
        if (status != RONCHI_OK)
            print_error("%s: %s\n", entry->d_name, err.message);
        assert_int_equal(status, RONCHI_OK);
        assert_int_equal(ronchi_qem_check_body(&qem, &err), RONCHI_OK);
        json_t *canonical;
        assert_int_equal(
            ronchi_scientific_canonical(json_object_get(qem.header, "scientific_metadata"), &canonical, &err),
            RONCHI_OK);
        json_object_set_new(qem.header, "scientific_metadata", canonical);
        assert_int_equal(ronchi_scientific_check(qem.header, path, &err), RONCHI_OK);
        ronchi_qem_close(&qem);
        n++;
    }
    closedir(dir);
    assert_true(n >= 8);
}

static void known(const ronchi_quantity *q, double value, const char *unit)
{
    assert_int_equal(q->known, 1);
    assert_true(fabs(q->value - value) <= 1e-14 * value);
    assert_string_equal(q->unit, unit);
}

static void calibration_of(const char *name, ronchi_calibration *out)
{
    char path[512];
    ronchi_qem qem;
    assert_int_equal(ronchi_qem_open(context, data_path(name, path), &qem, NULL), RONCHI_OK);
    json_t *canonical;
    assert_int_equal(ronchi_scientific_canonical(json_object_get(qem.header, "scientific_metadata"), &canonical, NULL),
                     RONCHI_OK);
    ronchi_scientific_calibration(canonical, out);
    json_decref(canonical);
    ronchi_qem_close(&qem);
}

/* The expected numbers stand in the json beside each file. */
static void calibration_is_effective(void **state)
{
    (void)state;
    ronchi_calibration c;
    if (!test_data())
        skip();
    calibration_of("u16_calibrated_overrides_9x15_40x24.qem", &c);
    known(&c.voltage, 200.0, "kV");
    known(&c.semiangle, 21.4, "mrad");
    known(&c.camera_length, 115.0, "mm");
    known(&c.det_step_row, 0.55, "mrad");
    known(&c.det_step_col, 0.56, "mrad");
    known(&c.scan_step_row, 0.32, "angstrom");
    known(&c.scan_step_col, 0.48, "angstrom");
    known(&c.dwell, 25.0, "us");
    assert_string_equal(c.voltage.provenance, "user_override");
    calibration_of("u8_schema1_6x10_17x12.qem", &c);
    known(&c.voltage, 80.0, "kV");
    known(&c.scan_step_row, 0.3, "angstrom");
    known(&c.det_step_col, 1.1, "mrad");
    known(&c.camera_length, 185.0, "mm");
    known(&c.dwell, 10.0, "us");
    assert_int_equal(c.semiangle.known, 0);
    calibration_of("f32_special_7x9_8x11.qem", &c);
    assert_int_equal(c.voltage.known + c.scan_step_row.known + c.det_step_row.known, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(good_files_open),
        cmocka_unit_test(calibration_is_effective),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
