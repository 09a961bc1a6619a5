/* SPDX-License-Identifier: MIT */
/* orientation.c - how the detector lies as stored data: set, kept, carried through every change of axes, used by DPC.
 */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ronchi/ronchi.h"

static const double PI = 3.14159265358979324;
enum { R = 12, C = 10, D = 9, MIDDLE = 4, COUNTS = 10000 };

static ronchi_context *context;

static int setup(void **state)
{
    (void)state;
    return ronchi_context_create(NULL, &context, NULL) == RONCHI_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ronchi_context_destroy(context);
    return 0;
}

/* M = P R(a), row-major. */
static void matrix(double rotation_deg, int transpose, double m[4])
{
    double c = cos(rotation_deg * PI / 180), s = sin(rotation_deg * PI / 180);
    double plain[4] = {c, -s, s, c}, swapped[4] = {s, c, c, -s};
    memcpy(m, transpose ? swapped : plain, sizeof plain);
}

static void multiply(const double a[4], const double b[4], double out[4])
{
    double m[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                   a[2] * b[1] + a[3] * b[3]};
    memcpy(out, m, sizeof m);
}

/* A field (in pixels on the detector) that is the gradient of a few waves; at each position COUNTS electrons whose
 * centre lies there. */
static void gradient(size_t i, size_t j, double g[2])
{
    g[0] = 1.3 * sin(0.9 * (double)i) + 0.4 * cos(0.5 * (double)i + 0.8 * (double)j);
    g[1] = 0.9 * cos(1.1 * (double)j + 0.3) + 0.64 * cos(0.5 * (double)i + 0.8 * (double)j);
}

static ronchi_acquisition *make(double rotation_deg, int transpose)
{
    static uint16_t counts[R * C][D][D];
    double m[4], g[2];
    matrix(rotation_deg, transpose, m);
    memset(counts, 0, sizeof counts);
    for (size_t k = 0; k < R * C; k++) {
        gradient(k / C, k % C, g);
        double row = MIDDLE + m[0] * g[0] + m[1] * g[1], col = MIDDLE + m[2] * g[0] + m[3] * g[1];
        size_t r = (size_t)row, c = (size_t)col;
        double y = row - (double)r, x = col - (double)c;
        counts[k][r][c] = (uint16_t)lrint(COUNTS * (1 - y) * (1 - x));
        counts[k][r][c + 1] = (uint16_t)lrint(COUNTS * (1 - y) * x);
        counts[k][r + 1][c] = (uint16_t)lrint(COUNTS * y * (1 - x));
        counts[k][r + 1][c + 1] = (uint16_t)lrint(COUNTS * y * x);
    }
    ronchi_shape shape = {R, C, D, D};
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U16, &shape);
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.source.orientation_given = 1;
    options.source.det_rotation_deg = rotation_deg;
    options.source.det_transpose = transpose;
    ronchi_acquisition *acquisition;
    assert_int_equal(ronchi_acquisition_encode(context, &view, NULL, &options, &acquisition, NULL), RONCHI_OK);
    return acquisition;
}

static ronchi_calibration calibration_of(const ronchi_acquisition *acquisition)
{
    ronchi_acquisition_info info;
    assert_int_equal(ronchi_acquisition_describe(acquisition, &info), RONCHI_OK);
    assert_int_equal(info.calibration.det_rotation.known, 1);
    assert_string_equal(info.calibration.det_rotation.unit, "degree");
    return info.calibration;
}

/* One change of axes: what it does to vectors of the scan and of the detector. */
typedef struct change {
    double turn;            /* of the scan, degrees; or 0 */
    uint32_t flips, swaps;  /* or these */
    double scan[4], det[4]; /* row-major */
} change;

static const change changes[] = {
    {90, 0, 0, {0, -1, 1, 0}, {1, 0, 0, 1}},
    {180, 0, 0, {-1, 0, 0, -1}, {1, 0, 0, 1}},
    {-90, 0, 0, {0, 1, -1, 0}, {1, 0, 0, 1}},
    {0, RONCHI_FLIP_SCAN_ROWS, 0, {-1, 0, 0, 1}, {1, 0, 0, 1}},
    {0, RONCHI_FLIP_SCAN_COLS, 0, {1, 0, 0, -1}, {1, 0, 0, 1}},
    {0, RONCHI_FLIP_DET_ROWS, 0, {1, 0, 0, 1}, {-1, 0, 0, 1}},
    {0, RONCHI_FLIP_DET_COLS, 0, {1, 0, 0, 1}, {1, 0, 0, -1}},
    {0, RONCHI_FLIP_DET_COLS | RONCHI_FLIP_SCAN_ROWS, 0, {-1, 0, 0, 1}, {1, 0, 0, -1}},
    {0, 0, RONCHI_TRANSPOSE_SCAN, {0, 1, 1, 0}, {1, 0, 0, 1}},
    {0, 0, RONCHI_TRANSPOSE_DET, {1, 0, 0, 1}, {0, 1, 1, 0}},
    {0, 0, RONCHI_TRANSPOSE_SCAN | RONCHI_TRANSPOSE_DET, {0, 1, 1, 0}, {0, 1, 1, 0}},
};
enum { CHANGES = sizeof changes / sizeof changes[0] };

static ronchi_acquisition *apply(const ronchi_acquisition *from, const change *c)
{
    ronchi_acquisition *out = NULL;
    ronchi_status status;
    if (c->flips)
        status = ronchi_geometry_flip(from, c->flips, &out, NULL);
    else if (c->swaps)
        status = ronchi_geometry_transpose(from, c->swaps, &out, NULL);
    else
        status = ronchi_geometry_rotate_scan(from, c->turn, NULL, NULL, &out, NULL);
    assert_int_equal(status, RONCHI_OK);
    return out;
}

/* Where position (i, j) of the original lies after the change: about the middle of the scan. */
static size_t moved(const change *c, size_t i, size_t j)
{
    double y = (double)i - (R - 1) / 2.0, x = (double)j - (C - 1) / 2.0;
    bool sides = fabs(c->scan[0]) < 0.5; /* rows become columns */
    double rows = sides ? C : R, cols = sides ? R : C;
    double row = c->scan[0] * y + c->scan[1] * x + (rows - 1) / 2,
           col = c->scan[2] * y + c->scan[3] * x + (cols - 1) / 2;
    return (size_t)lrint(row * cols + col);
}

static void check_change(const ronchi_acquisition *original, double rotation_deg, int transpose, const change *c)
{
    double m[4], inverse[4] = {c->scan[0], c->scan[2], c->scan[1], c->scan[3]}, want[4], got[4];
    ronchi_acquisition *changed = apply(original, c);
    ronchi_calibration k = calibration_of(changed);
    matrix(rotation_deg, transpose, m);
    multiply(m, inverse, want);
    multiply(c->det, want, want);
    matrix(k.det_rotation.value, k.det_transpose, got);
    for (size_t e = 0; e < 4; e++)
        assert_true(fabs(want[e] - got[e]) < 1e-12);
    assert_true(k.det_rotation.value > -180 && k.det_rotation.value <= 180);

    /* And the field that follows is the old one, turned with the scan. */
    ronchi_dpc_result before, after;
    assert_int_equal(ronchi_dpc_run(original, NULL, &before, NULL), RONCHI_OK);
    assert_int_equal(ronchi_dpc_run(changed, NULL, &after, NULL), RONCHI_OK);
    assert_int_equal(after.alignment.given, 2);
    for (size_t p = 0; p < R * C; p++) {
        size_t q = moved(c, p / C, p % C);
        double row = c->scan[0] * before.field_row[p] + c->scan[1] * before.field_col[p],
               col = c->scan[2] * before.field_row[p] + c->scan[3] * before.field_col[p];
        assert_true(fabs(after.field_row[q] - row) < 1e-9 && fabs(after.field_col[q] - col) < 1e-9);
    }
    ronchi_dpc_result_free(&before);
    ronchi_dpc_result_free(&after);
    ronchi_acquisition_destroy(changed);
}

static void test_changes(void **state)
{
    (void)state;
    static const double angles[] = {0, 17.5, -123};
    for (size_t a = 0; a < 3; a++)
        for (int t = 0; t < 2; t++) {
            ronchi_acquisition *original = make(angles[a], t);
            for (size_t k = 0; k < CHANGES; k++)
                check_change(original, angles[a], t, &changes[k]);
            /* By another angle, cropped and binned. */
            ronchi_acquisition *turned, *binned;
            assert_int_equal(ronchi_geometry_rotate_scan(original, 33, NULL, NULL, &turned, NULL), RONCHI_OK);
            assert_int_equal(ronchi_geometry_bin(turned, 2, 1, &binned, NULL), RONCHI_OK);
            ronchi_calibration c = calibration_of(binned);
            assert_true(fabs(c.det_rotation.value - (angles[a] - 33)) < 1e-12);
            assert_int_equal(c.det_transpose, t);
            ronchi_acquisition_destroy(binned);
            ronchi_acquisition_destroy(turned);
            ronchi_acquisition_destroy(original);
        }
}

static void test_field(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        ronchi_acquisition *original = make(17.5, t);
        ronchi_dpc_options options;
        ronchi_dpc_result r;
        ronchi_dpc_options_defaults(&options);
        options.background = RONCHI_DPC_BACKGROUND_NONE;
        assert_int_equal(ronchi_dpc_run(original, &options, &r, NULL), RONCHI_OK);
        assert_int_equal(r.alignment.given, 2);
        assert_int_equal(r.alignment.branch_open, 0);
        assert_int_equal(r.alignment.transpose, t);
        double m[4], g[2];
        matrix(17.5, t, m);
        for (size_t p = 0; p < R * C; p++) {
            /* the absolute position: the middle of the detector is not taken off */
            gradient(p / C, p % C, g);
            double row = g[0] + (m[0] + m[2]) * MIDDLE, col = g[1] + (m[1] + m[3]) * MIDDLE;
            assert_true(fabs(r.field_row[p] - row) < 2e-3 && fabs(r.field_col[p] - col) < 2e-3);
        }
        ronchi_dpc_result_free(&r);
        /* What the caller says wins; and the field can be asked in spite of both. */
        options.rotation_given = 1;
        options.rotation_deg = 5;
        assert_int_equal(ronchi_dpc_run(original, &options, &r, NULL), RONCHI_OK);
        assert_int_equal(r.alignment.given, 1);
        assert_true(r.alignment.rotation_deg == 5);
        assert_int_equal(r.alignment.transpose, t); /* as stored */
        ronchi_dpc_result_free(&r);
        options.find_rotation = 1;
        assert_int_equal(ronchi_dpc_run(original, &options, &r, NULL), RONCHI_ERR_ARGUMENT);
        options.rotation_given = 0;
        assert_int_equal(ronchi_dpc_run(original, &options, &r, NULL), RONCHI_OK);
        assert_int_equal(r.alignment.given, 0);
        ronchi_dpc_result_free(&r);
        ronchi_acquisition_destroy(original);
    }
}

static void test_file(void **state)
{
    (void)state;
    const char *path = "orientation.qem";
    ronchi_acquisition *original = make(-33.25, 1), *again;
    ronchi_save_options save;
    ronchi_save_options_defaults(&save);
    save.force = 1;
    assert_int_equal(ronchi_acquisition_save(original, path, &save, NULL), RONCHI_OK);
    ronchi_acquisition_destroy(original);
    ronchi_inspection inspection;
    assert_int_equal(ronchi_inspect(context, path, NULL, &inspection, NULL), RONCHI_OK);
    assert_true(inspection.calibration.det_rotation.value == -33.25);
    assert_int_equal(inspection.calibration.det_transpose, 1);
    ronchi_inspection_free(&inspection);
    assert_int_equal(ronchi_acquisition_load(context, path, NULL, &again, NULL), RONCHI_OK);
    ronchi_calibration c = calibration_of(again);
    assert_true(c.det_rotation.value == -33.25);
    assert_int_equal(c.det_transpose, 1);
    assert_string_equal(c.det_rotation.provenance, "user_override");
    ronchi_acquisition_destroy(again);
    /* Said anew when opening, kept at the next save. */
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.source.orientation_given = 1;
    options.source.det_rotation_deg = 0;
    assert_int_equal(ronchi_acquisition_load(context, path, &options, &again, NULL), RONCHI_OK);
    c = calibration_of(again);
    assert_true(c.det_rotation.value == 0);
    assert_int_equal(c.det_transpose, 0);
    ronchi_acquisition_destroy(again);
    ronchi_error err = {0};
    options.source.det_rotation_deg = NAN;
    assert_int_equal(ronchi_acquisition_load(context, path, &options, &again, &err), RONCHI_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "--rotation-deg"));
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_field),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
