/* SPDX-License-Identifier: MIT */
/* dpc.c - angles, signs and sizes of DPC: analytic fields, the field of a point charge, simulated counts with known
 * answers. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ronchi/ronchi.h"
#include "simulate/simulation.h"

static const double PI = 3.14159265358979324;

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

/* ------------------------------------------------------------------------------------------------- analytic fields */

enum { H = 40, W = 48 };

/* A periodic phase of a few waves, and its gradient along scan rows and columns. */
static void wave(size_t i, size_t j, double step_row, double step_col, double *phase, double *row, double *col)
{
    static const struct {
        int u, v;
        double height, at;
    } waves[] = {{1, 2, 0.5, 0.3}, {3, -1, 0.2, 1.1}, {0, 4, 0.3, 2.0}, {5, 3, 0.1, 0.7}};
    *phase = *row = *col = 0;
    for (size_t k = 0; k < 4; k++) {
        double kr = 2 * PI * waves[k].u / (H * step_row), kc = 2 * PI * waves[k].v / (W * step_col);
        double a = kr * (double)i * step_row + kc * (double)j * step_col + waves[k].at;
        *phase += waves[k].height * cos(a);
        *row -= waves[k].height * kr * sin(a);
        *col -= waves[k].height * kc * sin(a);
    }
}

/* v = P R(rotation) g. */
static void to_detector(double rotation_deg, int transpose, double *row, double *col)
{
    double c = cos(rotation_deg * PI / 180), s = sin(rotation_deg * PI / 180), r = c * *row - s * *col,
           k = s * *row + c * *col;
    *row = transpose ? k : r;
    *col = transpose ? r : k;
}

static double wrap(double angle, double turn)
{
    return angle - turn * round(angle / turn);
}

static void test_rotation(void **state)
{
    (void)state;
    static double row[H * W], col[H * W];
    static const double angles[] = {0, 17, 90, 120, 210, -61.3};
    uint8_t valid[H * W];
    ronchi_view r = ronchi_view_2d(row, RONCHI_F64, H, W), c = ronchi_view_2d(col, RONCHI_F64, H, W);
    ronchi_view v = ronchi_view_2d(valid, RONCHI_U8, H, W);
    for (size_t k = 0; k < 6; k++)
        for (int t = 0; t < 2; t++)
            for (int holes = 0; holes < 2; holes++) {
                double phase;
                memset(valid, 1, sizeof valid);
                for (size_t i = 0; i < H * W; i++) {
                    wave(i / W, i % W, 0.5, 0.4, &phase, &row[i], &col[i]);
                    to_detector(angles[k], t, &row[i], &col[i]);
                    if (holes && i % 401 == 0) {
                        valid[i] = 0;
                        row[i] = 1e6;
                    }
                }
                ronchi_dpc_alignment a;
                assert_int_equal(ronchi_dpc_find_rotation(&r, &c, &v, 0.5, 0.4, &a, NULL), RONCHI_OK);
                assert_int_equal(a.transpose, t);
                assert_int_equal(a.branch_open, 1);
                assert_true(a.rotation_deg > -90 && a.rotation_deg <= 90);
                assert_true(fabs(wrap(a.rotation_deg - angles[k], 180)) < 0.2);
                assert_true(a.curl < 1e-4 && a.curl_other > 0.05);
                assert_true(fabs(ronchi_dpc_curl(&a, a.rotation_deg, t) - a.curl) < 1e-12);
                assert_true(ronchi_dpc_curl(&a, a.rotation_deg + 90, t) > 0.9);
            }
    /* Nothing to go by. */
    memset(row, 0, sizeof row);
    memset(col, 0, sizeof col);
    ronchi_dpc_alignment a;
    ronchi_error err = {0};
    assert_int_equal(ronchi_dpc_find_rotation(&r, &c, NULL, 1, 1, &a, &err), RONCHI_ERR_NEEDED);
    assert_non_null(strstr(err.message, "--rotation-deg"));
    ronchi_view small = ronchi_view_2d(row, RONCHI_F64, 2, 2);
    assert_int_equal(ronchi_dpc_find_rotation(&small, &small, NULL, 1, 1, &a, &err), RONCHI_ERR_NEEDED);
    assert_int_equal(ronchi_dpc_find_rotation(&r, &small, NULL, 1, 1, &a, &err), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_dpc_find_rotation(&r, &c, NULL, 0, 1, &a, &err), RONCHI_ERR_ARGUMENT);
}

static void test_integral(void **state)
{
    (void)state;
    static double row[H * W], col[H * W], want[H * W], got[H * W];
    ronchi_view r = ronchi_view_2d(row, RONCHI_F64, H, W), c = ronchi_view_2d(col, RONCHI_F64, H, W);
    ronchi_view out = ronchi_view_2d(got, RONCHI_F64, H, W);
    double mean = 0;
    for (size_t i = 0; i < H * W; i++) {
        wave(i / W, i % W, 0.5, 0.4, &want[i], &row[i], &col[i]);
        mean += want[i] / (H * W);
    }
    assert_int_equal(ronchi_dpc_integrate(context, &r, &c, 0.5, 0.4, RONCHI_DPC_PERIODIC, 0, &out, NULL), RONCHI_OK);
    for (size_t i = 0; i < H * W; i++)
        assert_true(fabs(got[i] - (want[i] - mean)) < 1e-5);
    /* A high-pass far above all waves leaves nothing of them. */
    assert_int_equal(ronchi_dpc_integrate(context, &r, &c, 0.5, 0.4, RONCHI_DPC_PERIODIC, 1e-3, &out, NULL), RONCHI_OK);
    for (size_t i = 0; i < H * W; i++)
        assert_true(fabs(got[i]) < 1e-3);
    /* Divergence: minus the sum of k^2 times each wave, by differences to first order in the step. */
    assert_int_equal(ronchi_dpc_divergence(&r, &c, 0.5, 0.4, &out, NULL), RONCHI_OK);
    double dot = 0, norm = 0, other = 0;
    for (size_t i = 0; i < H * W; i++) {
        dot += got[i] * (want[i] - mean);
        norm += got[i] * got[i];
        other += (want[i] - mean) * (want[i] - mean);
    }
    assert_true(dot / sqrt(norm * other) < -0.7);

    /* Not periodic: a hump off the middle comes back whole under the mirror boundary. */
    mean = 0;
    for (size_t i = 0; i < H * W; i++) {
        double y = (double)(i / W) - 12, x = (double)(i % W) - 30, g = exp(-(x * x + y * y) / 200);
        want[i] = g;
        row[i] = -y / 100 * g;
        col[i] = -x / 100 * g;
        mean += g / (H * W);
    }
    assert_int_equal(ronchi_dpc_integrate(context, &r, &c, 1, 1, RONCHI_DPC_MIRROR, 0, &out, NULL), RONCHI_OK);
    for (size_t i = 0; i < H * W; i++)
        assert_true(fabs(got[i] - (want[i] - mean)) < 0.01);
    assert_int_equal(ronchi_dpc_integrate(context, &r, &c, 1, 1, 5, 0, &out, NULL), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_dpc_integrate(context, &r, &c, 1, 1, 0, -1, &out, NULL), RONCHI_ERR_ARGUMENT);
    ronchi_view narrow = ronchi_view_2d(got, RONCHI_F64, H, W - 1);
    assert_int_equal(ronchi_dpc_integrate(context, &r, &c, 1, 1, 0, 0, &narrow, NULL), RONCHI_ERR_SHAPE);
}

/* ---------------------------------------------------------------------------------------------------- simulated counts
 */

typedef struct world {
    ronchi_simulate_options options;
    ronchi_specimen *specimen;
    ronchi_simulation *simulation;
    uint16_t *counts;
    size_t n_pixels;
} world;

static ronchi_status draw(void *user, size_t i, size_t worker, ronchi_error *err)
{
    world *w = user;
    return ronchi_simulation_frame(w->simulation, i, worker, w->counts + i * w->n_pixels, err);
}

static ronchi_simulate_options options_of(size_t side, size_t det, double dose, double rotation_deg, int32_t transpose)
{
    ronchi_simulate_options o;
    ronchi_simulate_options_defaults(&o);
    o.scan_rows = side;
    o.scan_cols = side + 4;
    o.det_rows = o.det_cols = det;
    o.dose = dose;
    o.rotation_deg = rotation_deg;
    o.transpose = transpose;
    return o;
}

/* 'specimen' NULL: the usual one, over the whole scan. */
static ronchi_acquisition *simulate(world *w, ronchi_specimen *specimen, int32_t representation)
{
    ronchi_simulate_options *o = &w->options;
    ronchi_error err = {0};
    assert_int_equal(ronchi_simulation_check(o, o, &err), RONCHI_OK);
    ronchi_box box = ronchi_simulation_box(o);
    double grain[3] = {0.25 * (double)o->scan_rows, 0.25 * (double)o->scan_cols, 0.25 * (double)o->scan_rows};
    w->specimen = NULL;
    if (!specimen)
        assert_int_equal(ronchi_specimen_create(context, o->seed, o->phase_scale, grain, &box, &w->specimen, &err),
                         RONCHI_OK);
    assert_int_equal(ronchi_simulation_create(context, o, specimen ? specimen : w->specimen, &w->simulation, &err),
                     RONCHI_OK);
    size_t n = o->scan_rows * o->scan_cols;
    w->n_pixels = o->det_rows * o->det_cols;
    w->counts = malloc(n * w->n_pixels * sizeof *w->counts);
    assert_non_null(w->counts);
    assert_int_equal(ronchi_parallel_for(context, n, draw, w, &err), RONCHI_OK);
    ronchi_shape shape = {o->scan_rows, o->scan_cols, o->det_rows, o->det_cols};
    ronchi_view view = ronchi_view_4d(w->counts, RONCHI_U16, &shape);
    ronchi_load_options load;
    ronchi_load_options_defaults(&load);
    load.representation = representation;
    load.source.voltage_kv = o->voltage_kv;
    load.source.scan_step_row_a = load.source.scan_step_col_a = o->scan_step_a;
    load.source.det_step_row_mrad = load.source.det_step_col_mrad = o->semiangle_mrad / o->disk_radius_px;
    ronchi_acquisition *acquisition;
    assert_int_equal(ronchi_acquisition_encode(context, &view, NULL, &load, &acquisition, &err), RONCHI_OK);
    return acquisition;
}

static void release(world *w)
{
    ronchi_simulation_destroy(w->simulation);
    ronchi_specimen_destroy(w->specimen);
    free(w->counts);
}

/*
 * Correlation of the phase with the true one as the probe sees it: blurred by its intensity, a Gaussian of sigma 0.22
 * angstrom to a few percent at 25 mrad in focus and 300 kV.  Slope: size of the phase against it.
 */
static double compare_phase(const world *w, const ronchi_dpc_result *r, double *slope)
{
    size_t n = r->rows * r->cols;
    double *truth = malloc(n * sizeof *truth), *sum = calloc(n, sizeof *sum), weight = 0;
    assert_non_null(truth);
    assert_non_null(sum);
    ronchi_points points = ronchi_simulation_points(&w->options), moved = points;
    for (int a = -2; a <= 2; a++)
        for (int b = -2; b <= 2; b++) {
            double g = exp(-0.5 * (a * a + b * b));
            moved.origin[0] = points.origin[0] + 0.22 * a;
            moved.origin[1] = points.origin[1] + 0.22 * b;
            assert_int_equal(ronchi_specimen_sample(w->specimen, &moved, truth, NULL), RONCHI_OK);
            for (size_t i = 0; i < n; i++)
                sum[i] += g * truth[i];
            weight += g;
        }
    double mt = 0, tt = 0, pp = 0, tp = 0;
    for (size_t i = 0; i < n; i++)
        mt += sum[i] / weight / (double)n;
    for (size_t i = 0; i < n; i++) {
        double t = sum[i] / weight - mt;
        tt += t * t;
        pp += r->phase[i] * r->phase[i];
        tp += t * r->phase[i];
    }
    free(truth);
    free(sum);
    *slope = tp / tt;
    return tp / sqrt(tt * pp);
}

static void check_orientation(double dose, size_t det, double rotation_deg, int32_t transpose, double within_deg)
{
    world w = {.options = options_of(48, det, dose, rotation_deg, transpose)};
    ronchi_acquisition *acquisition = simulate(&w, NULL, RONCHI_ENCODED);
    ronchi_dpc_options options;
    ronchi_dpc_result r;
    ronchi_error err = {0};
    ronchi_dpc_options_defaults(&options);
    options.branch = RONCHI_DPC_BRANCH_NEAR;
    options.near_deg = rotation_deg + 50;
    if (ronchi_dpc_run(acquisition, &options, &r, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    double off = wrap(r.alignment.rotation_deg - rotation_deg, 360), slope, same = compare_phase(&w, &r, &slope);
    if (!(fabs(off) < within_deg && fabs(off) < r.alignment.uncertainty_deg && r.alignment.transpose == transpose))
        fail_msg("dose %g, rotation %g, transpose %d: off by %.3f, uncertainty %.3f, transpose %d", dose, rotation_deg,
                 transpose, off, r.alignment.uncertainty_deg, r.alignment.transpose);
    assert_int_equal(r.alignment.branch_open, 0);
    assert_true(r.alignment.uncertainty_deg < 3);
    assert_int_equal(r.units.calibrated, 1);
    assert_string_equal(r.units.phase_unit, "rad");
    if (!(same > 0.95 && slope > 0.85 && slope < 1.15))
        fail_msg("dose %g, rotation %g, transpose %d: correlation %.4f, size %.3f", dose, rotation_deg, transpose, same,
                 slope);
    ronchi_dpc_result_free(&r);
    ronchi_acquisition_destroy(acquisition);
    release(&w);
}

static void test_orientations(void **state)
{
    (void)state;
    static const double angles[] = {0, 17, 120, 210};
    for (size_t k = 0; k < 4; k++)
        for (int t = 0; t < 2; t++)
            check_orientation(2000, 32, angles[k], t, 0.2);
    /* The error goes with the square root of all electrons: at 20 counts it takes a detector of half the usual 192. */
    check_orientation(20, 96, 17, 1, 0.5);
    check_orientation(20, 96, 210, 0, 0.5);
}

/* The worked example of docs/conventions.md: towards a positive charge the phase rises, whatever the detector's
 * orientation. */
static void test_point_charge(void **state)
{
    (void)state;
    ronchi_atom charge = {9.0, 8.0, 0.5, 2.5};
    ronchi_specimen specimen = {.context = context, .atoms = &charge, .n_atoms = 1};
    for (int t = 0; t < 2; t++) {
        world w = {.options = options_of(32, 32, 2000, 90, t)};
        ronchi_acquisition *acquisition = simulate(&w, &specimen, RONCHI_ENCODED);
        ronchi_dpc_options options;
        ronchi_dpc_result r;
        ronchi_dpc_options_defaults(&options);
        options.rotation_given = 1;
        options.rotation_deg = 90;
        options.transpose = t;
        assert_int_equal(ronchi_dpc_run(acquisition, &options, &r, NULL), RONCHI_OK);
        assert_int_equal(r.alignment.given, 1);
        size_t left = 18 * r.cols + 11, at = 18 * r.cols + 16;
        /* The beam at (18, 11): up on the detector, to the left when it is transposed. */
        double along = t ? r.com_col[left] : r.com_row[left], across = t ? r.com_row[left] : r.com_col[left];
        assert_true(along < 0 && fabs(across) < 0.1 * -along);
        /* The field points to the right, of the size that a Gaussian has at its width. */
        double size = 0.5 * exp(-0.5) / 2.5;
        assert_true(r.field_col[left] > 0.85 * size && r.field_col[left] < 1.05 * size);
        assert_true(fabs(r.field_row[left]) < 0.1 * size);
        size_t highest = 0;
        for (size_t i = 0; i < r.rows * r.cols; i++)
            highest = r.phase[i] > r.phase[highest] ? i : highest;
        assert_true(fabs((double)(highest / r.cols) - 18) <= 1 && fabs((double)(highest % r.cols) - 16) <= 1);
        assert_true(fabs(r.phase[at] - r.phase[left] - 0.5 * (1 - exp(-0.5))) < 0.03);
        assert_true(r.divergence[at] < 0);
        ronchi_dpc_result_free(&r);
        /* Found, with peaks: the same answer. */
        ronchi_dpc_options_defaults(&options);
        options.branch = RONCHI_DPC_BRANCH_POSITIVE;
        assert_int_equal(ronchi_dpc_run(acquisition, &options, &r, NULL), RONCHI_OK);
        assert_true(fabs(wrap(r.alignment.rotation_deg - 90, 360)) < 2);
        assert_int_equal(r.alignment.transpose, t);
        ronchi_dpc_result_free(&r);
        ronchi_acquisition_destroy(acquisition);
        release(&w);
    }
}

static void same_bits(const ronchi_dpc_result *a, const ronchi_dpc_result *b)
{
    size_t n = a->rows * a->cols * sizeof(double);
    assert_memory_equal(a->com_row, b->com_row, n);
    assert_memory_equal(a->field_col, b->field_col, n);
    assert_memory_equal(a->phase, b->phase, n);
    assert_memory_equal(a->divergence, b->divergence, n);
    assert_memory_equal(&a->alignment.rotation_deg, &b->alignment.rotation_deg, sizeof(double));
}

/* Encoded and dense give the same bits; a drift of the beam is a plane; a mask and an open branch are as asked. */
static void test_run(void **state)
{
    (void)state;
    world w = {.options = options_of(16, 32, 200, 30, 0)}, dense = w;
    ronchi_acquisition *a = simulate(&w, NULL, RONCHI_ENCODED), *b = simulate(&dense, NULL, RONCHI_DENSE);
    ronchi_dpc_options options;
    ronchi_dpc_result r, s;
    ronchi_error err = {0};
    ronchi_dpc_options_defaults(&options);
    options.background = RONCHI_DPC_BACKGROUND_PLANE;
    options.highpass = 20;
    assert_int_equal(ronchi_dpc_run(a, &options, &r, &err), RONCHI_OK);
    assert_int_equal(ronchi_dpc_run(b, &options, &s, &err), RONCHI_OK);
    same_bits(&r, &s);
    assert_int_equal(r.alignment.branch_open, 1);
    double sum = 0, rows = 0;
    for (size_t i = 0; i < r.rows * r.cols; i++) {
        sum += r.com_row[i];
        rows += r.com_row[i] * (double)(i / r.cols);
    }
    assert_true(fabs(sum) < 1e-9 && fabs(rows) < 1e-7); /* what is left has no mean and no slope */
    assert_true(fabs(r.background[0][0] - 16) < 1);
    ronchi_dpc_result_free(&s);
    ronchi_dpc_result_free(&r);
    ronchi_dpc_result_free(NULL);

    /* A scan turned off its grid: positions outside take no part, though they are filled with counts. */
    ronchi_acquisition *turned;
    ronchi_rotate_options rotate;
    ronchi_rotate_options_defaults(&rotate);
    rotate.fill = 7;
    assert_int_equal(ronchi_geometry_rotate_scan(a, 90, NULL, NULL, &turned, &err), RONCHI_OK);
    ronchi_acquisition_destroy(turned);
    assert_int_equal(ronchi_geometry_rotate_scan(a, 20, &rotate, NULL, &turned, &err), RONCHI_OK);
    ronchi_dpc_options_defaults(&options);
    options.rotation_given = 1;
    options.rotation_deg = 10; /* 30 less the 20 of the scan */
    assert_int_equal(ronchi_dpc_run(turned, &options, &r, &err), RONCHI_OK);
    assert_true(r.n_invalid > 0);
    for (size_t i = 0; i < r.rows * r.cols; i++)
        assert_true(r.valid[i] || (r.field_row[i] == 0 && r.field_col[i] == 0));
    ronchi_dpc_result_free(&r);
    ronchi_acquisition_destroy(turned);

    options.branch = 9;
    assert_int_equal(ronchi_dpc_run(a, &options, &r, &err), RONCHI_ERR_ARGUMENT);
    options.branch = 0;
    options.rotation_deg = (double)NAN;
    assert_int_equal(ronchi_dpc_run(a, &options, &r, &err), RONCHI_ERR_ARGUMENT);
    assert_null(r.phase);
    assert_int_equal(ronchi_acquisition_close(a), RONCHI_OK);
    assert_int_equal(ronchi_dpc_run(a, NULL, &r, &err), RONCHI_ERR_CLOSED);
    ronchi_acquisition_destroy(a);
    ronchi_acquisition_destroy(b);
    release(&w);
    release(&dense);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rotation), cmocka_unit_test(test_integral),
                                       cmocka_unit_test(test_point_charge), cmocka_unit_test(test_run),
                                       cmocka_unit_test(test_orientations)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
