/* SPDX-License-Identifier: MIT */
/* parallax.c - each part against an analytic answer, and the whole on simulated counts of known aberrations. */
#include "parallax_world.h"

#include "parallax/deposit.h"
#include "test.h"

static ronchi_context *context;

static int setup(void **state)
{
    (void)state;
    return ronchi_context_create(NULL, &context, NULL) != RONCHI_OK;
}

static int teardown(void **state)
{
    (void)state;
    ronchi_context_destroy(context);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- shifts, analytic */

/* Shifts by the gradient of chi, computed here from chi itself by differences; then read back. */
static double chi(const ronchi_simulate_options *o, double wavelength, double row, double col)
{
    double two = 2 * o->phi12_deg * 3.14159265358979324 / 180;
    return 3.14159265358979324 * wavelength *
           (o->c10_a * (row * row + col * col) +
            o->c12_a * ((row * row - col * col) * cos(two) + 2 * row * col * sin(two)));
}

static void read_back(double c10, double c12, double phi12, double rotation, int transpose)
{
    enum { N = 169 };
    const double step[2] = {0.4, 0.6}, dk[2] = {0.02, 0.03}, wavelength = 0.0197, d = 1e-5, tau = 6.28318530717958648;
    double k_row[N], k_col[N], shift_row[N], shift_col[N], weight[N];
    double angle = rotation * tau / 360;
    ronchi_simulate_options o = {.c10_a = c10, .c12_a = c12, .phi12_deg = phi12};
    for (int i = 0; i < N; i++) {
        k_row[i] = i / 13 - 6 + 0.3;
        k_col[i] = i % 13 - 6 - 0.2;
        weight[i] = 1 + i % 3;
        double at[2] = {k_row[i] * dk[0], k_col[i] * dk[1]};
        double p = transpose ? at[1] : at[0], q = transpose ? at[0] : at[1];
        double row = cos(angle) * p + sin(angle) * q, col = -sin(angle) * p + cos(angle) * q;
        shift_row[i] =
            (chi(&o, wavelength, row + d, col) - chi(&o, wavelength, row - d, col)) / (2 * d * tau) / step[0];
        shift_col[i] =
            (chi(&o, wavelength, row, col + d) - chi(&o, wavelength, row, col - d)) / (2 * d * tau) / step[1];
    }
    shift_row[7] += 40; /* left out */
    weight[7] = 0;
    ronchi_shift_points points = {N, k_row, k_col, shift_row, shift_col, weight};
    ronchi_shift_fit fit;
    ronchi_parallax_aberrations a = {
        .wavelength_a = wavelength, .dk_row = dk[0], .dk_col = dk[1], .step_row_a = step[0], .step_col_a = step[1]};
    assert_true(ronchi_shift_fit_points(&points, &fit));
    assert_true(fabs(fit.offset[0]) < 1e-6 && fabs(fit.offset[1]) < 1e-6 && fit.matrix_error < 1e-6);
    ronchi_parallax_find_aberrations(&fit, -1, rotation + 40, &a);
    assert_true(fabs(a.c10_a - c10) < 1e-4 && fabs(a.c12_a - c12) < 1e-4);
    assert_true(fabs(world_wrap(a.phi12_deg - phi12, 180)) < 1e-4);
    assert_true(fabs(world_wrap(a.rotation_deg - rotation, 360)) < 1e-4);
    assert_int_equal(a.transpose, transpose);
    /* The other branch is the same matrix. */
    ronchi_parallax_find_aberrations(&fit, transpose, rotation + 140, &a);
    assert_true(fabs(a.c10_a + c10) < 1e-4);
    assert_true(fabs(world_wrap(a.rotation_deg - rotation - 180, 360)) < 1e-4);
}

static void test_shifts(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++)
        for (int transpose = 0; transpose < 2; transpose++)
            read_back(i % 2 ? -130 : 90, 40 + i, 15 * i - 80, 30 * i - 170, transpose);
    const double line[4] = {1, 2, 3, 4}, ones[4] = {1, 1, 1, 1};
    ronchi_shift_points points = {4, line, line, line, line, ones};
    ronchi_shift_fit fit;
    assert_false(ronchi_shift_fit_points(&points, &fit)); /* pixels in a line span no plane */
}

/* ------------------------------------------------------------------------------------------------- search, analytic */

/* Waves below Nyquist, moved exactly: the search finds by how much, to a hundredth of a pixel. */
static void test_search(void **state)
{
    (void)state;
    enum { R = 40, C = 36 };
    ronchi_spectra s;
    assert_int_equal(ronchi_spectra_init(context, R, C, &s, NULL), RONCHI_OK);
    float *x = ronchi_calloc(context, s.size, sizeof *x),
          *scratch = ronchi_calloc(context, ronchi_search_scratch(&s), sizeof *scratch);
    static const double places[][2] = {{0, 0}, {1.13, -0.71}, {-1.4, 1.31}, {0.37, 0.38}};
    for (int p = 0; p < 4; p++) {
        for (size_t r = 0; r < R; r++)
            for (size_t c = 0; c < s.half; c++) {
                double f = ronchi_frequency(r, R), g = (double)c / C;
                double angle = 6.28318530717958648 * (f * places[p][0] + g * places[p][1]);
                double size = exp(-20 * (f * f + g * g + f * g)) * (c ? 2 : 1);
                x[r * 2 * s.pitch + c] = (float)(size * cos(angle));
                x[r * 2 * s.pitch + s.pitch + c] = (float)(size * sin(angle));
            }
        ronchi_peak peak;
        ronchi_search(&s, x, 2, scratch, &peak);
        assert_true(fabs(peak.shift[0] - places[p][0]) < 0.01 && fabs(peak.shift[1] - places[p][1]) < 0.01);
        assert_true(peak.curvature[0] > 0 && peak.curvature[1] > 0);
    }
    ronchi_free(context, x);
    ronchi_free(context, scratch);
    ronchi_spectra_free(&s);
}

/* ----------------------------------------------------------------------------------------- transfer, weak phase object
 */

/* The aperture's edge is soft in the simulation and sharp in the transfer: one of the beams lies on it. */
static bool at_edge(const ronchi_reference *reference, const double k[2], double row, double col, double radius)
{
    const double(*d)[2] = reference->scattered;
    double y = d[0][0] * row + d[0][1] * col, x = d[1][0] * row + d[1][1] * col;
    return fabs(hypot(k[0] - y, k[1] - x) - radius) < 0.75 || fabs(hypot(k[0] + y, k[1] + x) - radius) < 0.75;
}

/*
 * The images of a weak Gaussian atom, simulated without noise, brought to the place of Phi by the transfer of their
 * pixel: what remains is |gamma|^2 Phi, with Phi the transform of the atom's phase.  Pixels in the middle, and at the
 * edge where one beam is cut off; a turned and transposed detector.
 */
static double transfer_error(double rotation, int32_t transpose, size_t dr, size_t dc, double sign)
{
    ronchi_atom atom = {8.1, 7.9, 0.02, 0.6};
    ronchi_specimen specimen = {.context = context, .atoms = &atom, .n_atoms = 1};
    ronchi_simulate_options o;
    ronchi_simulation *sim;
    ronchi_error err;
    enum { N = 32 };
    ronchi_simulate_options_defaults(&o);
    o.scan_rows = o.scan_cols = N;
    o.det_rows = o.det_cols = 48;
    o.background = 0;
    o.dose = 1;
    o.c10_a = -60;
    o.c12_a = 25;
    o.phi12_deg = 30;
    o.rotation_deg = rotation;
    o.transpose = transpose;
    assert_int_equal(ronchi_simulation_check(&o, &o, &err), RONCHI_OK);
    assert_int_equal(ronchi_simulation_create(context, &o, &specimen, &sim, &err), RONCHI_OK);
    ronchi_spectra s;
    assert_int_equal(ronchi_spectra_init(context, N, N, &s, NULL), RONCHI_OK);
    float *image = ronchi_calloc(context, N * N, sizeof *image), *phase = ronchi_calloc(context, N * N, sizeof *phase),
          *pattern = malloc(48 * 48 * sizeof *pattern), *rows = ronchi_calloc(context, 2 * s.pitch, sizeof *rows),
          *x = ronchi_calloc(context, 2 * s.pitch, sizeof *x),
          *weight = ronchi_calloc(context, s.pitch, sizeof *weight);
    ronchi_complex *half = ronchi_calloc(context, N * s.half, sizeof *half),
                   *phi = ronchi_calloc(context, N * s.half, sizeof *phi);
    for (size_t i = 0; i < N * N; i++) {
        double y = (double)(i / N) * 0.5 - atom.row_a, z = (double)(i % N) * 0.5 - atom.col_a;
        ronchi_simulation_mean(sim, (double)(i / N), (double)(i % N), 0, pattern);
        image[i] = pattern[dr * 48 + dc] - 1.0f;
        phase[i] = (float)(atom.phase_rad * exp(-0.5 * (y * y + z * z) / (atom.width_a * atom.width_a)));
    }
    ronchi_fft_real_forward(s.fft, image, half);
    ronchi_fft_real_forward(s.fft, phase, phi);
    ronchi_shift_fit fit = {{{0}}, {0}, 0};
    ronchi_optics_alignment(&sim->optics, fit.matrix);
    for (int i = 0; i < 4; i++)
        fit.matrix[i / 2][i % 2] *= sign / o.scan_step_a;
    ronchi_parallax_aberrations units = {.wavelength_a = sim->optics.wavelength_a,
                                         .dk_row = sim->optics.dk,
                                         .dk_col = sim->optics.dk,
                                         .step_row_a = 0.5,
                                         .step_col_a = 0.5};
    ronchi_reference reference;
    assert_int_equal(ronchi_reference_init(context, &s, true, &reference, NULL), RONCHI_OK);
    ronchi_parallax_find_aberrations(&fit, -1, rotation, &units);
    ronchi_reference_set(&reference, &fit, o.disk_radius_px, &units);
    const double k[2] = {(double)dr - 24, (double)dc - 24};
    double shift[2], off = 0, all = 0;
    ronchi_shift_of(&fit, k[0], k[1], shift);
    float *memory = ronchi_calloc(context, ronchi_ramp_size(&s), sizeof *memory);
    ronchi_ramp ramp = ronchi_ramp_at(&s, memory);
    ronchi_ramp_make(&s, shift, &ramp);
    for (size_t r = 0; r < N; r++) {
        for (size_t c = 0; c < s.half; c++) {
            x[c] = half[r * s.half + c].re;
            x[s.pitch + c] = half[r * s.half + c].im;
        }
        memset(weight, 0, s.pitch * sizeof *weight);
        memset(rows, 0, 2 * s.pitch * sizeof *rows);
        ronchi_reference_add(&reference, r, k, &ramp, x, false, rows);
        ronchi_reference_weigh(&reference, r, k, 1.0f, weight);
        for (size_t c = 0; c < s.half; c++) {
            if (at_edge(&reference, k, ronchi_frequency(r, N), (double)c / N, o.disk_radius_px))
                continue;
            double re = (double)(weight[c] * phi[r * s.half + c].re), im = (double)(weight[c] * phi[r * s.half + c].im);
            off += pow((double)rows[c] - re, 2) + pow((double)rows[s.pitch + c] - im, 2);
            all += re * re + im * im;
        }
    }
    ronchi_reference_free(&reference);
    ronchi_spectra_free(&s);
    ronchi_simulation_destroy(sim);
    void *owned[] = {image, phase, rows, x, weight, half, phi, memory};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        ronchi_free(context, owned[i]);
    free(pattern);
    return sqrt(off / all);
}

static void check_transfer(double rotation, int32_t transpose, size_t dr, size_t dc)
{
    double right = transfer_error(rotation, transpose, dr, dc, 1),
           wrong = transfer_error(rotation, transpose, dr, dc, -1);
    /* what is left: the atom is not infinitely weak, and its fringes leave the scan */
    if (!(right < 0.12 && wrong > 1))
        fail_msg("rotation %g, transpose %d, pixel (%zu, %zu): off by %.3f, and by %.3f with the wrong sign", rotation,
                 transpose, dr, dc, right, wrong);
}

static void test_transfer(void **state)
{
    (void)state;
    check_transfer(0, 0, 24, 24);
    check_transfer(0, 0, 35, 25);
    check_transfer(25, 0, 24, 13);
    check_transfer(25, 0, 32, 32);
    check_transfer(-40, 1, 35, 22);
}

/* --------------------------------------------------------------------------------------------------- simulated counts
 */

static world small_world(double dose, double c10)
{
    world w = {0};
    ronchi_simulate_options_defaults(&w.options);
    w.options.scan_rows = 36;
    w.options.scan_cols = 40;
    w.options.det_rows = w.options.det_cols = 56;
    w.options.dose = dose;
    w.options.c10_a = c10;
    w.options.c12_a = 30;
    w.options.phi12_deg = 20;
    w.options.rotation_deg = 25;
    w.options.flagged_pixels = 40;
    world_make(context, &w);
    return w;
}

static void run(const ronchi_acquisition *acquisition, const ronchi_parallax_options *options,
                ronchi_parallax_result *out)
{
    ronchi_error err = {0};
    if (ronchi_parallax_run(acquisition, options, out, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
}

static void same_bits(const ronchi_parallax_result *a, const ronchi_parallax_result *b)
{
    size_t plane = a->rows * a->cols * sizeof(float), n = a->n;
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->mean, b->mean, a->det_rows * a->det_cols * sizeof(double));
    assert_memory_equal(&a->disk, &b->disk, sizeof a->disk);
    assert_memory_equal(a->pixel_row, b->pixel_row, n * sizeof *a->pixel_row);
    assert_memory_equal(a->shift_row, b->shift_row, n * sizeof(double));
    assert_memory_equal(a->shift_col, b->shift_col, n * sizeof(double));
    assert_memory_equal(a->error, b->error, n * sizeof(double));
    assert_memory_equal(a->held, b->held, n);
    assert_memory_equal(a->image, b->image, plane);
    assert_memory_equal(a->raw, b->raw, plane);
    assert_memory_equal(a->density, b->density, plane);
    assert_memory_equal(a->matrix, b->matrix, sizeof a->matrix);
    assert_memory_equal(&a->aberrations, &b->aberrations, sizeof a->aberrations);
}

static void same_stack(const ronchi_acquisition *a, const ronchi_acquisition *b, const ronchi_parallax_result *r)
{
    ronchi_shape shape = {1, r->n - 3, r->scan_rows, r->scan_cols};
    size_t bytes = shape.scan_cols * shape.det_rows * shape.det_cols * sizeof(float);
    float *x = malloc(bytes), *y = malloc(bytes);
    ronchi_view vx = ronchi_view_4d(x, RONCHI_F32, &shape), vy = ronchi_view_4d(y, RONCHI_F32, &shape);
    assert_int_equal(ronchi_parallax_stack(a, r, 3, &vx, NULL), RONCHI_OK);
    assert_int_equal(ronchi_parallax_stack(b, r, 3, &vy, NULL), RONCHI_OK);
    assert_memory_equal(x, y, bytes);
    assert_int_equal(ronchi_parallax_stack(a, r, 4, &vx, NULL), RONCHI_ERR_SHAPE);
    free(x);
    free(y);
}

/* Every profile, dense counts, any number of threads, any budget, and every run give the same bits. */
static void test_same_bits(void **state)
{
    (void)state;
    world w = small_world(20, -150);
    ronchi_parallax_result first, other;
    ronchi_acquisition *dense = world_acquisition(&w, RONCHI_DENSE, RONCHI_PROFILE_AUTO);
    run(dense, NULL, &first);
    static const ronchi_profile_id profiles[] = {RONCHI_PROFILE_COLUMN, RONCHI_PROFILE_LANE};
    for (size_t i = 0; i < 2; i++) {
        ronchi_acquisition *encoded = world_acquisition(&w, RONCHI_ENCODED, profiles[i]);
        run(encoded, NULL, &other);
        same_bits(&first, &other);
        same_stack(dense, encoded, &first);
        ronchi_parallax_result_free(&other);
        ronchi_acquisition_destroy(encoded);
    }
    run(dense, NULL, &other);
    same_bits(&first, &other);
    ronchi_parallax_result_free(&other);
    ronchi_acquisition_destroy(dense);

    static const struct {
        uint32_t threads;
        uint64_t budget;
    } kinds[] = {{1, 0}, {3, 100000}, {2, 20000}};
    ronchi_context *usual = context;
    for (size_t i = 0; i < 3; i++) {
        ronchi_context_options o;
        ronchi_context_options_defaults(&o);
        o.threads = kinds[i].threads;
        o.budget_bytes = kinds[i].budget ? kinds[i].budget : (uint64_t)256 << 20;
        assert_int_equal(ronchi_context_create(&o, &context, NULL), RONCHI_OK);
        w.context = context;
        o.budget_bytes = (uint64_t)256 << 20;
        ronchi_acquisition *acquisition = world_acquisition(&w, RONCHI_DENSE, RONCHI_PROFILE_AUTO);
        run(acquisition, NULL, &other);
        same_bits(&first, &other);
        assert_true(other.peak_decoded_bytes > 0 && other.peak_decoded_bytes <= ronchi_context_budget(context));
        assert_true(ronchi_context_decoded_peak(context) >= other.peak_decoded_bytes);
        ronchi_parallax_result_free(&other);
        ronchi_acquisition_destroy(acquisition);
        ronchi_context_destroy(context);
        context = usual;
        w.context = context;
    }
    /* Flagged pixels take no part. */
    assert_true(first.n_flagged > 0);
    for (size_t k = 0; k < first.n; k++)
        assert_int_equal(w.simulation->fixed[first.pixel_row[k] * first.det_cols + first.pixel_col[k]], 0);
    ronchi_parallax_result_free(&first);
    ronchi_parallax_result_free(NULL);
    world_free(&w);
}

/* A small selection of what bench/parallax_grid.c runs as a whole, on smaller scans. */
static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        double dose, c10, median_px, outliers;
    } cases[] = {{20, -150, 0.25, 0.01}, {4, 100, 0.45, 0.05}};
    for (size_t i = 0; i < 2; i++) {
        world w = small_world(cases[i].dose, cases[i].c10);
        judgement j;
        ronchi_parallax_result r;
        ronchi_acquisition *a = world_acquisition(&w, RONCHI_ENCODED, RONCHI_PROFILE_AUTO);
        run(a, NULL, &r);
        world_judge(&w, &r, &j);
        assert_int_equal(r.aberrations.fitted, 1);
        assert_int_equal(r.reference, RONCHI_PARALLAX_REFERENCE_TRANSFER);
        if (!(fabs(j.c10_off_a) < 0.05 * fabs(cases[i].c10) && j.c12_off_a < 5 && fabs(j.rotation_off_deg) < 1 &&
              j.median_px < cases[i].median_px && j.outliers < cases[i].outliers && j.image > 0.8 &&
              j.image > j.plain + 0.3 && j.zeros == 0))
            fail_msg("dose %g, C10 %g: off by %.2f A, C12 by %.2f A, rotation by %.2f, shifts by %.3f px, %.2f %% "
                     "outliers, correlation %.3f against %.3f, %zu zeros",
                     cases[i].dose, cases[i].c10, j.c10_off_a, j.c12_off_a, j.rotation_off_deg, j.median_px,
                     100 * j.outliers, j.image, j.plain, j.zeros);
        assert_true(r.aberrations.c10_error_a > 0 && fabs(j.c10_off_a) < 5 + 6 * r.aberrations.c10_error_a);
        ronchi_parallax_result_free(&r);
        ronchi_acquisition_destroy(a);
        world_free(&w);
    }
}

/*
 * Laid down by given shifts.  Whole pixels move whole images: the sum is known exactly.  Unmoved images leave holes
 * between scan positions in raw and density, and none in the normalised image.
 */
static void check_deposit(uint32_t u, int moved)
{
    world w = {0};
    ronchi_simulate_options_defaults(&w.options);
    w.options.scan_rows = 20;
    w.options.scan_cols = 18;
    w.options.det_rows = w.options.det_cols = 24;
    w.options.dose = 10;
    w.options.hot_pixels = 2;
    world_make(context, &w);
    ronchi_acquisition *a = world_acquisition(&w, RONCHI_ENCODED, RONCHI_PROFILE_AUTO);
    ronchi_parallax_options options;
    ronchi_bright_field bf;
    ronchi_pixel_shifts shifts;
    ronchi_parallax_options_defaults(&options);
    options.center_given = 1; /* hot pixels spoil the fit of so small a disk */
    options.center_row = options.center_col = 12;
    options.radius_px = 6.5;
    assert_int_equal(ronchi_bright_field_open(a, &options, &bf, NULL), RONCHI_OK);
    assert_int_equal(ronchi_pixel_shifts_init(&bf, &shifts, NULL), RONCHI_OK);
    size_t rows = 20 * u, cols = 18 * u, n = rows * cols;
    float *planes = calloc(3 * n, sizeof *planes);
    double *raw = calloc(n, sizeof *raw), *density = calloc(n, sizeof *density), total = 0;
    for (size_t i = 0; i < bf.n; i++) {
        int row = moved ? (int)(i % 7) - 3 : 0, col = moved ? (int)(i % 5) - 1 : 0;
        shifts.shift_row[i] = row;
        shifts.shift_col[i] = col;
        total += bf.mean[i];
        assert_int_equal(w.simulation->fixed[bf.row[i] * 24 + bf.col[i]], 0); /* hot pixels take no part */
        for (int r = 0; r < 20; r++)
            for (int c = 0; c < 18; c++) {
                if (r + row < 0 || r + row >= 20 || c + col < 0 || c + col >= 18)
                    continue;
                size_t at = (size_t)(r + row) * u * cols + (size_t)(c + col) * u;
                raw[at] += w.counts[(size_t)(r * 18 + c) * 576 + bf.row[i] * 24 + bf.col[i]];
                density[at] += bf.mean[i];
            }
    }
    ronchi_deposit out = {u, planes, planes + n, planes + 2 * n, 0};
    ronchi_error err = {0};
    if (ronchi_deposit_run(&bf, &shifts, &out, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs((double)out.raw[i] - raw[i]) < 2e-5 * total);
        assert_true(fabs((double)out.density[i] - density[i]) < 2e-5 * total);
        assert_true(out.image[i] > 0.3f && out.image[i] < 3.0f); /* no holes */
        if (u == 1)
            assert_true(fabs((double)out.image[i] - raw[i] / density[i]) < 1e-3);
    }
    assert_true(u == 1 ? out.low_pass == 0 : out.low_pass > 0);
    ronchi_pixel_shifts_free(context, &shifts);
    ronchi_bright_field_close(&bf);
    ronchi_acquisition_destroy(a);
    world_free(&w);
    free(planes);
    free(raw);
    free(density);
}

static void test_deposit(void **state)
{
    (void)state;
    for (uint32_t u = 1; u <= 4; u++)
        for (int moved = 0; moved < 2; moved++)
            check_deposit(u, moved);
}

/* ----------------------------------------------------------------------------------------------------- refusals */

static void refused(const ronchi_acquisition *a, const ronchi_parallax_options *o, ronchi_status status,
                    const char *word)
{
    ronchi_error err = {0};
    ronchi_parallax_result r;
    ronchi_status got = ronchi_parallax_run(a, o, &r, &err);
    if (got != status || !strstr(err.message, word))
        fail_msg("status %d, not %d; '%s' does not say '%s'", got, status, err.message, word);
    assert_null(r.image);
}

static ronchi_acquisition *plain_counts(ronchi_context *in, uint16_t value, size_t side)
{
    ronchi_shape shape = {side, side, 16, 16};
    uint16_t *counts = malloc(side * side * 256 * sizeof *counts);
    for (size_t i = 0; i < side * side * 256; i++)
        counts[i] = (i / 16 % 16) / 5 == 1 && i % 16 / 5 == 1 ? (uint16_t)(value * (1 + i / 256 % 3)) : 0;
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U16, &shape);
    ronchi_acquisition *a;
    assert_int_equal(ronchi_acquisition_encode(in, &view, NULL, NULL, &a, NULL), RONCHI_OK);
    free(counts);
    return a;
}

static void test_refusals(void **state)
{
    (void)state;
    ronchi_acquisition *a = plain_counts(context, 3, 16), *blank = plain_counts(context, 0, 16),
                       *tiny = plain_counts(context, 3, 12);
    ronchi_parallax_options o;
    ronchi_parallax_options_defaults(&o);
    refused(tiny, NULL, RONCHI_ERR_ARGUMENT, "at least 16 x 16");
    refused(blank, NULL, RONCHI_ERR_DATA, "no bright-field disk");
    o.fit = RONCHI_PARALLAX_FIT_NEEDED;
    refused(a, &o, RONCHI_ERR_NEEDED, "--scan-step-a");
    refused(a, &o, RONCHI_ERR_NEEDED, "--semiangle-mrad");
    refused(a, &o, RONCHI_ERR_NEEDED, "--voltage-kv");
    o.fit = 0;
    o.center_given = 1;
    o.center_row = 1;
    o.center_col = 1;
    o.radius_px = 1.5;
    refused(a, &o, RONCHI_ERR_DATA, "--radius");
    refused(blank, &o, RONCHI_ERR_DATA, "--radius");
    ronchi_parallax_options_defaults(&o);
    o.n_bins = 2;
    o.bins[0] = 2;
    o.bins[1] = 2;
    refused(a, &o, RONCHI_ERR_ARGUMENT, "fall");
    o.n_bins = 0;
    o.upsample = 9;
    refused(a, &o, RONCHI_ERR_ARGUMENT, "1 to 8");
    o.upsample = 2;
    o.workspace_bytes = 1000;
    refused(a, &o, RONCHI_ERR_MEMORY, "--workspace");
    o.struct_size = 3;
    refused(a, &o, RONCHI_ERR_ARGUMENT, "version");

    const ronchi_acquisition *both[2] = {a, blank};
    ronchi_parallax_result r[2];
    ronchi_error err;
    size_t failed = 9;
    assert_int_equal(ronchi_parallax_run_all(both, 2, NULL, r, &failed, &err), RONCHI_ERR_DATA);
    assert_int_equal(failed, 1);
    both[1] = a;
    assert_int_equal(ronchi_parallax_run_all(both, 2, NULL, r, &failed, &err), RONCHI_OK);
    same_bits(&r[0], &r[1]);
    assert_int_equal(r[0].aberrations.fitted, 0);
    assert_non_null(strstr(r[0].aberrations.missing, "--scan-step-a"));
    ronchi_parallax_result_free(&r[0]);
    ronchi_parallax_result_free(&r[1]);
    assert_int_equal(ronchi_acquisition_close(a), RONCHI_OK);
    refused(a, NULL, RONCHI_ERR_CLOSED, "");
    ronchi_acquisition_destroy(a);
    ronchi_acquisition_destroy(blank);
    ronchi_acquisition_destroy(tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shifts),        cmocka_unit_test(test_search),
                                       cmocka_unit_test(test_transfer),      cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_known_answers), cmocka_unit_test(test_deposit),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
