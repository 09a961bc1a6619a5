/* SPDX-License-Identifier: MIT */
/* simulate_physics.c - the simulation against analytic answers: vacuum, shifts, the field of a point charge. */
#include <math.h>
#include <string.h>

#include "simulate/simulation.h"
#include "test.h"

static const double DEGREE = 3.14159265358979324 / 180.0;

static ronchi_simulate_options small(void)
{
    ronchi_simulate_options o;
    ronchi_simulate_options_defaults(&o);
    o.scan_rows = 40;
    o.scan_cols = 36;
    o.det_rows = 96;
    o.det_cols = 88;
    o.disk_radius_px = 26.5;
    o.background = 0;
    o.dose = 1;
    return o;
}

static ronchi_simulation *make(ronchi_context *context, ronchi_simulate_options *options,
                               const ronchi_specimen *specimen)
{
    ronchi_simulation *simulation = NULL;
    ronchi_error err;
    if (ronchi_simulation_check(options, options, &err) != RONCHI_OK ||
        ronchi_simulation_create(context, options, specimen, &simulation, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    return simulation;
}

static int setup(void **state)
{
    ronchi_context *context;
    if (ronchi_context_create(NULL, &context, NULL) != RONCHI_OK)
        return 1;
    *state = context;
    return 0;
}

static int teardown(void **state)
{
    ronchi_context_destroy(*state);
    return 0;
}

/* ----------------------------------------------------------------------------------------------------- optics */

static void wavelengths(void **state)
{
    (void)state;
    /* textbook values, angstrom */
    static const double table[][2] = {{30, 0.069791},  {60, 0.048661},  {80, 0.041757},   {100, 0.037014},
                                      {200, 0.025079}, {300, 0.019687}, {1000, 0.0087192}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_true(fabs(ronchi_wavelength_a(table[i][0]) / table[i][1] - 1.0) < 4e-5);
}

static void aperture_has_its_area(void **state)
{
    (void)state;
    ronchi_optics optics;
    ronchi_simulate_options o = small();
    for (double radius = 3.0; radius < 30.0; radius += 1.37) {
        double area = 0;
        o.disk_radius_px = radius;
        ronchi_optics_init(&optics, &o);
        for (int i = -40; i <= 40; i++)
            for (int j = -40; j <= 40; j++)
                area += ronchi_optics_aperture(&optics, i, j);
        assert_true(fabs(area / (3.14159265358979 * radius * radius) - 1.0) < 0.01);
        assert_true(ronchi_optics_aperture(&optics, radius, 0) == 0.5);
        assert_true(ronchi_optics_aperture(&optics, 0, radius - 0.5) == 1.0);
        assert_true(ronchi_optics_aperture(&optics, 0, -radius - 0.5) == 0.0);
    }
}

/* The alignment matrix is the gradient of chi over 2 pi, brought to scan axes. */
static void alignment_is_the_gradient_of_chi(void **state)
{
    (void)state;
    ronchi_simulate_options o = small();
    o.c10_a = -123;
    o.c12_a = 45;
    o.phi12_deg = 33;
    for (int turn = 0; turn < 12; turn++) {
        ronchi_optics optics;
        double m[2][2], at[2] = {7.25, -11.5}, step = 1e-4, gradient[2];
        o.rotation_deg = 30.0 * turn - 77;
        o.transpose = turn % 2;
        ronchi_optics_init(&optics, &o);
        ronchi_optics_alignment(&optics, m);
        gradient[0] =
            (ronchi_optics_chi(&optics, at[0] + step, at[1]) - ronchi_optics_chi(&optics, at[0] - step, at[1])) /
            (2 * step * optics.dk);
        gradient[1] =
            (ronchi_optics_chi(&optics, at[0], at[1] + step) - ronchi_optics_chi(&optics, at[0], at[1] - step)) /
            (2 * step * optics.dk);
        for (int i = 0; i < 2; i++) {
            double want =
                (optics.scan_from_detector[i][0] * gradient[0] + optics.scan_from_detector[i][1] * gradient[1]) /
                6.283185307179586;
            assert_true(fabs(m[i][0] * at[0] + m[i][1] * at[1] - want) < 1e-6 * (1 + fabs(want)));
        }
    }
}

/* --------------------------------------------------------------------------------------------------- patterns */

static void vacuum_is_the_aperture(void **state)
{
    ronchi_simulate_options o = small();
    ronchi_specimen vacuum = {.context = *state};
    o.dose = 7;
    o.c10_a = 80;
    o.rotation_deg = 20;
    ronchi_simulation *s = make(*state, &o, &vacuum);
    float *out = malloc(o.det_rows * o.det_cols * sizeof *out);
    for (int p = 0; p < 3; p++) {
        ronchi_simulation_mean(s, 3.7 * p, 11.1 * p, 0, out);
        for (size_t i = 0; i < o.det_rows; i++)
            for (size_t j = 0; j < o.det_cols; j++) {
                double want = 7 * ronchi_optics_aperture(&s->optics, (double)i - 48, (double)j - 44);
                assert_true(fabs((double)out[i * o.det_cols + j] - want) < 1e-4);
            }
    }
    free(out);
    ronchi_simulation_destroy(s);
}

static void vacuum_counts_have_the_right_mean(void **state)
{
    ronchi_simulate_options o = small();
    ronchi_specimen vacuum = {.context = *state};
    o.dose = 2.5;
    o.background = 0.4;
    ronchi_simulation *s = make(*state, &o, &vacuum);
    size_t n = o.det_rows * o.det_cols, frames = 400;
    uint16_t *counts = malloc(n * sizeof *counts);
    double *sum = calloc(n, sizeof *sum), chi2 = 0;
    for (uint64_t f = 0; f < frames; f++) {
        assert_int_equal(ronchi_simulation_frame(s, f, 0, counts, NULL), RONCHI_OK);
        for (size_t i = 0; i < n; i++)
            sum[i] += counts[i];
    }
    for (size_t i = 0; i < o.det_rows; i++)
        for (size_t j = 0; j < o.det_cols; j++) {
            double row = (double)i - 48, col = (double)j - 44, r = sqrt(row * row + col * col);
            double want = (double)frames * (2.5 * ronchi_optics_aperture(&s->optics, row, col) + 0.4 * exp(-r / 53.0));
            chi2 += (sum[i * o.det_cols + j] - want) * (sum[i * o.det_cols + j] - want) / want;
        }
    assert_true(fabs(chi2 - (double)n) < 5.0 * sqrt(2.0 * (double)n));
    free(counts);
    free(sum);
    ronchi_simulation_destroy(s);
}

/* A probe between samples sees a specimen between samples as it would on them. */
static void places_are_exact(void **state)
{
    ronchi_simulate_options o = small();
    ronchi_atom here = {8.0, 8.0, 0.6, 0.45}, there = {8.0 + 0.137, 8.0 + 0.291, 0.6, 0.45};
    ronchi_specimen a = {.context = *state, .atoms = &here, .n_atoms = 1},
                    b = {.context = *state, .atoms = &there, .n_atoms = 1};
    o.c10_a = 60;
    o.rotation_deg = 31;
    ronchi_simulation *sa = make(*state, &o, &a), *sb = make(*state, &o, &b);
    size_t n = o.det_rows * o.det_cols;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    ronchi_simulation_mean(sa, 15.0, 17.0, 0, x);
    ronchi_simulation_mean(sb, 15.0 + 0.137 / 0.5, 17.0 + 0.291 / 0.5, 0, y);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)(x[i] - y[i])) < 3e-3);
    free(x);
    free(y);
    ronchi_simulation_destroy(sa);
    ronchi_simulation_destroy(sb);
}

/* The whole rotates with the detector: the pattern at a position is that of the unrotated detector, turned. */
static void a_quarter_turn_turns_the_pattern(void **state)
{
    ronchi_simulate_options o = small();
    ronchi_specimen *specimen;
    double grain[3] = {9, 9, 30};
    ronchi_box box = {-60, 80, -60, 80};
    o.det_rows = o.det_cols = 96;
    o.c10_a = 90;
    o.c12_a = 40;
    o.phi12_deg = 20;
    assert_int_equal(ronchi_specimen_create(*state, 3, 1.0, grain, &box, &specimen, NULL), RONCHI_OK);
    ronchi_simulation *plain = make(*state, &o, specimen);
    o.rotation_deg = 90;
    ronchi_simulation *turned = make(*state, &o, specimen);
    o.rotation_deg = 0;
    o.transpose = 1;
    ronchi_simulation *swapped = make(*state, &o, specimen);
    float *a = malloc(96 * 96 * sizeof *a), *b = malloc(96 * 96 * sizeof *b), *c = malloc(96 * 96 * sizeof *c);
    ronchi_simulation_mean(plain, 10.3, 21.9, 0, a);
    ronchi_simulation_mean(turned, 10.3, 21.9, 0, b);
    ronchi_simulation_mean(swapped, 10.3, 21.9, 0, c);
    for (int i = -40; i <= 40; i++)
        for (int j = -40; j <= 40; j++) {
            /* R(90) sends (row, col) to (-col, row) */
            double want = (double)a[(48 + i) * 96 + 48 + j];
            /* turned, the window lies differently around the probe: what differs are the faint tails that it cuts */
            assert_true(fabs((double)b[(48 - j) * 96 + 48 + i] - want) < 8e-3);
            assert_true(fabs((double)c[(48 + j) * 96 + 48 + i] - want) < 1e-5);
        }
    free(a);
    free(b);
    free(c);
    ronchi_simulation_destroy(plain);
    ronchi_simulation_destroy(turned);
    ronchi_simulation_destroy(swapped);
    ronchi_specimen_destroy(specimen);
}

static double correlation(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xy / sqrt(xx * yy);
}

/* Values of one detector pixel at random positions, all displaced by the same scan steps. */
static void sample_pixel(const ronchi_simulation *s, size_t pixel, double row, double col, size_t n, double *out)
{
    float *pattern = malloc(s->options.det_rows * s->options.det_cols * sizeof *pattern);
    uint64_t random = 99;
    for (size_t i = 0; i < n; i++) {
        double r = 12.0 + (double)(test_random(&random) % 1600) / 100.0,
               c = 10.0 + (double)(test_random(&random) % 1600) / 100.0;
        ronchi_simulation_mean(s, r + row, c + col, 0, pattern);
        out[i] = (double)pattern[pixel];
    }
    free(pattern);
}

/* I_k(r) = I_0(r + s): the alignment shift of the header is the one, no other. */
static void bright_field_images_are_shifted(void **state)
{
    enum { N = 160 };
    static const double cases[][5] = {{150, 0, 0, 0, 0}, {-150, 40, 25, 30, 0}, {150, 50, -40, 115, 1}};
    double want[N], got[N], grain[3] = {9, 9, 1};
    ronchi_box box = {-60, 80, -60, 80};
    ronchi_specimen *specimen;
    assert_int_equal(ronchi_specimen_create(*state, 5, 0.3, grain, &box, &specimen, NULL), RONCHI_OK);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        ronchi_simulate_options o = small();
        double m[2][2];
        o.c10_a = cases[k][0];
        o.c12_a = cases[k][1];
        o.phi12_deg = cases[k][2];
        o.rotation_deg = cases[k][3];
        o.transpose = (int32_t)cases[k][4];
        ronchi_simulation *s = make(*state, &o, specimen);
        ronchi_optics_alignment(&s->optics, m);
        double d[2] = {9, -6}; /* a detector pixel, from the centre */
        double row = (m[0][0] * d[0] + m[0][1] * d[1]) / o.scan_step_a,
               col = (m[1][0] * d[0] + m[1][1] * d[1]) / o.scan_step_a;
        sample_pixel(s, (48 + 9) * 88 + 44 - 6, 0, 0, N, want);
        sample_pixel(s, 48 * 88 + 44, row, col, N, got);
        double right = correlation(want, got, N);
        assert_true(right > 0.9);
        static const double away[][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
        for (int a = 0; a < 4; a++) {
            sample_pixel(s, 48 * 88 + 44, row + away[a][0], col + away[a][1], N, got);
            assert_true(correlation(want, got, N) < right - 0.05);
        }
        sample_pixel(s, 48 * 88 + 44, -row, -col, N, got);
        assert_true(correlation(want, got, N) < 0.5);
        ronchi_simulation_destroy(s);
    }
    ronchi_specimen_destroy(specimen);
}

/*
 * The worked example of docs/conventions.md: one positive charge.  Electrons bend towards it, so the centre of mass
 * moves from the pattern centre along P R (x_charge - x_probe), by the gradient of the phase over 2 pi dk.
 */
static void a_point_charge_attracts(void **state)
{
    ronchi_atom charge = {9.0, 8.0, 0.5, 2.5};
    ronchi_specimen specimen = {.context = *state, .atoms = &charge, .n_atoms = 1};
    for (int turn = 0; turn < 8; turn++) {
        ronchi_simulate_options o = small();
        o.rotation_deg = 45.0 * turn + 10.0;
        o.transpose = turn % 2;
        ronchi_simulation *s = make(*state, &o, &specimen);
        float *pattern = malloc(o.det_rows * o.det_cols * sizeof *pattern);
        for (int p = 0; p < 4; p++) {
            double angle = (90.0 * p + 20.0) * DEGREE,
                   to[2] = {2.5 * cos(angle), 2.5 * sin(angle)}; /* towards the charge */
            double sum = 0, com[2] = {0, 0};
            ronchi_simulation_mean(s, (charge.row_a - to[0]) / 0.5, (charge.col_a - to[1]) / 0.5, 0, pattern);
            for (size_t i = 0; i < o.det_rows; i++)
                for (size_t j = 0; j < o.det_cols; j++) {
                    double v = (double)pattern[i * o.det_cols + j];
                    sum += v;
                    com[0] += v * ((double)i - 48);
                    com[1] += v * ((double)j - 44);
                }
            /* |grad| of 0.5 exp(-r^2 / 2w^2) at r = w is 0.5 exp(-1/2) / w, towards the charge; the probe blurs it a
             * little */
            double size = 0.5 * exp(-0.5) / 2.5 / 6.283185307179586 / s->optics.dk,
                   unit[2] = {to[0] / 2.5, to[1] / 2.5};
            double c = cos(o.rotation_deg * DEGREE), n = sin(o.rotation_deg * DEGREE);
            double want[2] = {c * unit[0] - n * unit[1], n * unit[0] + c * unit[1]};
            if (o.transpose) {
                double swap = want[0];
                want[0] = want[1];
                want[1] = swap;
            }
            double length = hypot(com[0], com[1]) / sum;
            double along = (com[0] * want[0] + com[1] * want[1]) / sum / length;
            assert_true(along > cos(1.0 * DEGREE));
            assert_true(length > 0.9 * size && length < 1.02 * size);
        }
        free(pattern);
        ronchi_simulation_destroy(s);
    }
}

/* ------------------------------------------------------------------------------------------------------ frames */

static void fixed_pixels_and_flyback(void **state)
{
    ronchi_simulate_options o = small();
    ronchi_specimen vacuum = {.context = *state};
    o.flagged_pixels = 5;
    o.hot_pixels = 3;
    o.flyback = 2;
    o.background = 0.1;
    for (int at = 0; at < 2; at++) {
        o.flyback_at = at;
        ronchi_simulation *s = make(*state, &o, &vacuum);
        assert_int_equal(ronchi_simulation_frames(&o), 40 * 38);
        size_t n = o.det_rows * o.det_cols, flagged = 0, fixed = 0;
        uint16_t *counts = malloc(n * sizeof *counts);
        for (uint64_t f = 0; f < 80; f++) {
            uint64_t position = 12345, col = f % 38, sum = 0;
            bool extra = at == RONCHI_FLYBACK_START ? col < 2 : col >= 36;
            assert_int_equal(ronchi_simulation_position(&o, f, &position), !extra);
            if (!extra)
                assert_int_equal(position, f / 38 * 36 + col - (at == RONCHI_FLYBACK_START ? 2 : 0));
            assert_int_equal(ronchi_simulation_frame(s, f, 0, counts, NULL), RONCHI_OK);
            flagged = fixed = 0;
            for (size_t i = 0; i < n; i++) {
                if (s->fixed[i])
                    assert_int_equal(counts[i], s->fixed[i]);
                else
                    sum += counts[i];
                flagged += s->flagged[i];
                fixed += s->fixed[i] != 0;
                assert_int_equal(s->flagged[i], s->fixed[i] == 65535);
            }
            assert_int_equal(flagged, 5);
            assert_int_equal(fixed, 8);
            assert_true(extra ? sum < 700 : sum > 1500); /* dark against a disk of 2,200 */
        }
        free(counts);
        ronchi_simulation_destroy(s);
    }
}

static void counts_that_do_not_fit_are_refused(void **state)
{
    ronchi_simulate_options o = small();
    ronchi_error err;
    ronchi_specimen *specimen;
    double grain[3] = {9, 9, 30};
    ronchi_box box = {-60, 80, -60, 80};
    o.dtype = RONCHI_U8;
    o.dose = 400;
    assert_int_equal(ronchi_simulation_check(&o, &o, &err), RONCHI_ERR_RANGE);
    assert_non_null(strstr(err.message, "uint8"));
    /* fits on average, but not where the lattice concentrates the beam */
    o.dose = 150;
    o.phase_scale = 3;
    assert_int_equal(ronchi_specimen_create(*state, 3, 3.0, grain, &box, &specimen, NULL), RONCHI_OK);
    ronchi_simulation *s = make(*state, &o, specimen);
    uint8_t *counts = malloc(o.det_rows * o.det_cols);
    ronchi_status status = RONCHI_OK;
    for (uint64_t f = 0; f < 1440 && status == RONCHI_OK; f++)
        status = ronchi_simulation_frame(s, f, 0, counts, &err);
    assert_int_equal(status, RONCHI_ERR_RANGE);
    assert_non_null(strstr(err.message, "does not fit uint8"));
    free(counts);
    ronchi_simulation_destroy(s);
    ronchi_specimen_destroy(specimen);
}

static void impossible_options_are_named(void **state)
{
    (void)state;
    ronchi_simulate_options o, out;
    ronchi_error err;
#define REFUSED(change, word)                                                                                          \
    do {                                                                                                               \
        o = small();                                                                                                   \
        change;                                                                                                        \
        assert_int_equal(ronchi_simulation_check(&o, &out, &err), RONCHI_ERR_ARGUMENT);                                \
        assert_non_null(strstr(err.message, word));                                                                    \
    } while (0)
    REFUSED(o.scan_rows = 0, "scan rows");
    REFUSED(o.det_cols = 9000, "detector columns");
    REFUSED(o.voltage_kv = 0, "voltage");
    REFUSED(o.semiangle_mrad = (double)NAN, "semi-angle");
    REFUSED(o.scan_step_a = 0, "scan step");
    REFUSED(o.disk_radius_px = 44, "disk radius");
    REFUSED(o.disk_radius_px = -1, "disk radius");
    REFUSED(o.c10_a = 3000, "defocused probe");
    REFUSED(o.dtype = RONCHI_F32, "float32");
    REFUSED(o.flagged_pixels = 96 * 88; o.hot_pixels = 1, "flagged");
    REFUSED(o.transpose = 2, "transpose");
    REFUSED(o.flyback_at = 3, "extra frames");
    REFUSED(o.semiangle_mrad = 0.2, "semi-angle");
    REFUSED(o.scan_rows = o.scan_cols = 60000; o.scan_step_a = 10, "specimen");
    REFUSED(o.struct_size = 4, "_defaults");
#undef REFUSED
    o = small();
    o.disk_radius_px = 0;
    assert_int_equal(ronchi_simulation_check(&o, &out, &err), RONCHI_OK);
    assert_true(fabs(out.disk_radius_px - 55.0 / 192 * 88) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wavelengths),
        cmocka_unit_test(aperture_has_its_area),
        cmocka_unit_test(alignment_is_the_gradient_of_chi),
        cmocka_unit_test(vacuum_is_the_aperture),
        cmocka_unit_test(vacuum_counts_have_the_right_mean),
        cmocka_unit_test(places_are_exact),
        cmocka_unit_test(a_quarter_turn_turns_the_pattern),
        cmocka_unit_test(bright_field_images_are_shifted),
        cmocka_unit_test(a_point_charge_attracts),
        cmocka_unit_test(fixed_pixels_and_flyback),
        cmocka_unit_test(counts_that_do_not_fit_are_refused),
        cmocka_unit_test(impossible_options_are_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
