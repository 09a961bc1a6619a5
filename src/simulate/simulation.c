/* SPDX-License-Identifier: MIT */
/* simulation.c - the wave behind the specimen, its intensity on the detector, and its counts. */
#include "simulate/simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/random.h"

/* The narrowest atom is 0.35 A wide: at this spacing 1e-3 of its spectrum's height is left at the edge of the band. */
static const double COARSEST_A = 0.3;

/* Limits of the workspace: 512 MiB for one window, 4 GiB for the specimen. */
enum { MAX_WINDOW = 8192 };
static const double MAX_GRID = 536870912.0;

static const double TAU = 6.28318530717958648;

/* ------------------------------------------------------------------------------------------------------ plan */

typedef struct window {
    size_t oversampling, n[2];
    double step[2];
    int64_t origin[2];
    size_t grid[2];
} window;

/* The samples that the windows of all positions touch.  Sample g of an axis lies at g * step, detector axes. */
static window plan_window(const ronchi_simulate_options *options, const ronchi_optics *optics)
{
    window w = {.oversampling = 1};
    size_t sides[2] = {options->det_rows, options->det_cols};
    double coarse = 1.0 / (optics->dk * (double)ronchi_min_size(sides[0], sides[1]));
    w.oversampling = (size_t)fmax(1.0, ceil(coarse / COARSEST_A - 1e-9));
    ronchi_points points = ronchi_simulation_points(options);
    for (int axis = 0; axis < 2; axis++) {
        const double *to = optics->detector_from_scan[axis];
        double low = INFINITY, high = -INFINITY;
        for (int corner = 0; corner < 4; corner++) {
            double row = corner & 1 ? (double)(points.rows - 1) * points.along_rows[0] : 0.0;
            double col = corner & 2 ? (double)(points.cols - 1) * points.along_cols[1] : 0.0;
            low = fmin(low, to[0] * row + to[1] * col);
            high = fmax(high, to[0] * row + to[1] * col);
        }
        w.n[axis] = sides[axis] * w.oversampling;
        w.step[axis] = 1.0 / (optics->dk * (double)w.n[axis]);
        /* one sample more on each side: positions inside may be rounded to just outside the corners' box */
        int64_t first = (int64_t)floor(low / w.step[axis]) - 1, last = (int64_t)floor(high / w.step[axis]) + 1;
        w.origin[axis] = first - (int64_t)(w.n[axis] / 2);
        w.grid[axis] = (size_t)(last - first) + w.n[axis];
    }
    return w;
}

/* The grid of the transmission as points of the specimen. */
static ronchi_points grid_points(const ronchi_optics *optics, const window *w)
{
    const double(*to_scan)[2] = optics->scan_from_detector;
    ronchi_points points = {.rows = w->grid[0], .cols = w->grid[1]};
    double row = (double)w->origin[0] * w->step[0], col = (double)w->origin[1] * w->step[1];
    for (int i = 0; i < 2; i++) {
        points.origin[i] = to_scan[i][0] * row + to_scan[i][1] * col;
        points.along_rows[i] = to_scan[i][0] * w->step[0];
        points.along_cols[i] = to_scan[i][1] * w->step[1];
    }
    return points;
}

ronchi_status ronchi_simulation_fits(const ronchi_simulate_options *options, ronchi_error *err)
{
    ronchi_optics optics;
    ronchi_optics_init(&optics, options);
    window w = plan_window(options, &optics);
    if (w.n[0] > MAX_WINDOW || w.n[1] > MAX_WINDOW)
        return ronchi_fail(
            err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
            "a semi-angle of %.4g mrad on a disk of %.4g px needs %zu x %zu samples to resolve the atoms, at most "
            "%d a side: a larger semi-angle or a smaller disk radius in px",
            options->semiangle_mrad, options->disk_radius_px, w.n[0], w.n[1], MAX_WINDOW);
    if ((double)w.grid[0] * (double)w.grid[1] > MAX_GRID)
        return ronchi_fail(
            err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
            "a scan of %zu x %zu steps of %.4g A needs a specimen of %zu x %zu samples, more than 4 GiB: fewer or "
            "smaller steps",
            options->scan_rows, options->scan_cols, options->scan_step_a, w.grid[0], w.grid[1]);
    return RONCHI_OK;
}

ronchi_box ronchi_simulation_box(const ronchi_simulate_options *options)
{
    ronchi_optics optics;
    ronchi_optics_init(&optics, options);
    window w = plan_window(options, &optics);
    ronchi_points points = grid_points(&optics, &w);
    return ronchi_points_box(&points);
}

/* The transmission in bands of rows, so that the phase in double precision is never held as a whole. */
static ronchi_status make_transmission(ronchi_simulation *s, const window *w, const ronchi_specimen *specimen,
                                       ronchi_error *err)
{
    enum { BAND = 256 };
    ronchi_points all = grid_points(&s->optics, w), band = all;
    double *phase = ronchi_calloc(s->context, BAND * s->grid_cols, sizeof *phase);
    ronchi_status status = RONCHI_OK;
    if (!phase)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the specimen");
    for (size_t first = 0; status == RONCHI_OK && first < all.rows; first += BAND) {
        band.rows = ronchi_min_size(BAND, all.rows - first);
        for (int i = 0; i < 2; i++)
            band.origin[i] = all.origin[i] + (double)first * all.along_rows[i];
        status = ronchi_specimen_sample(specimen, &band, phase, err);
        ronchi_complex *to = s->transmission + first * s->grid_cols;
        for (size_t i = 0; status == RONCHI_OK && i < band.rows * band.cols; i++)
            to[i] = (ronchi_complex){(float)cos(phase[i]), (float)sin(phase[i])};
    }
    ronchi_free(s->context, phase);
    return status;
}

/* Signed frequency of a transform's element, and back. */
static double frequency(size_t index, size_t n)
{
    return index <= (n - 1) / 2 ? (double)index : (double)index - (double)n;
}

static void make_aperture(ronchi_simulation *s)
{
    for (size_t i = 0; i < s->n_rows; i++)
        for (size_t j = 0; j < s->n_cols; j++) {
            double row = frequency(i, s->n_rows), col = frequency(j, s->n_cols);
            double amplitude = sqrt(ronchi_optics_aperture(&s->optics, row, col));
            double chi = ronchi_optics_chi(&s->optics, row, col);
            s->aperture[i * s->n_cols + j] =
                (ronchi_complex){(float)(amplitude * cos(chi)), (float)(-amplitude * sin(chi))};
            if (amplitude > 0.0)
                s->lit[i] = 1;
        }
}

static void make_background(ronchi_simulation *s)
{
    const ronchi_simulate_options *o = &s->options;
    for (size_t i = 0; i < o->det_rows; i++)
        for (size_t j = 0; j < o->det_cols; j++) {
            double row = (double)i - (double)(o->det_rows / 2), col = (double)j - (double)(o->det_cols / 2);
            s->background[i * o->det_cols + j] =
                (float)(o->background * exp(-sqrt(row * row + col * col) / (2.0 * o->disk_radius_px)));
        }
}

/* Flagged pixels store the dtype's maximum, hot ones a value far above the disk that the dtype can hold. */
static void make_pixels(ronchi_simulation *s)
{
    const ronchi_simulate_options *o = &s->options;
    uint64_t n = (uint64_t)o->det_rows * o->det_cols;
    uint32_t maximum = o->dtype == RONCHI_U8 ? UINT8_MAX : o->dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
    ronchi_random random;
    ronchi_random_init(&random, o->seed, RONCHI_STREAM_PIXELS, 0);
    for (uint32_t made = 0; made < o->flagged_pixels + o->hot_pixels;) {
        uint64_t pixel = (uint64_t)(ronchi_random_uniform(&random) * (double)n);
        double hot = fmin(20.0 * (o->dose + 5.0) * (1.0 + ronchi_random_uniform(&random)), (double)maximum - 1.0);
        if (s->fixed[pixel])
            continue;
        s->flagged[pixel] = made < o->flagged_pixels;
        s->fixed[pixel] = made < o->flagged_pixels ? maximum : (uint32_t)hot;
        made++;
    }
}

static ronchi_status allocate(ronchi_simulation *s, ronchi_error *err)
{
    size_t workers = ronchi_context_threads(s->context), window_n, grid_n, detector_n, all_waves, all_means;
    const ronchi_simulate_options *o = &s->options;
    bool fits = ronchi_mul(s->n_rows, s->n_cols, &window_n) && ronchi_mul(s->grid_rows, s->grid_cols, &grid_n) &&
                ronchi_mul(o->det_rows, o->det_cols, &detector_n) && ronchi_mul(window_n, workers, &all_waves) &&
                ronchi_mul(detector_n, workers, &all_means);
    if (fits) {
        s->transmission = ronchi_calloc(s->context, grid_n, sizeof *s->transmission);
        s->aperture = ronchi_calloc(s->context, window_n, sizeof *s->aperture);
        s->lit = ronchi_calloc(s->context, s->n_rows, 1);
        s->background = ronchi_calloc(s->context, detector_n, sizeof *s->background);
        s->wave = ronchi_calloc(s->context, all_waves, sizeof *s->wave);
        s->ramps = ronchi_calloc(s->context, workers * (s->n_rows + s->n_cols), sizeof *s->ramps);
        s->mean = ronchi_calloc(s->context, all_means, sizeof *s->mean);
        s->fixed = ronchi_calloc(s->context, detector_n, sizeof *s->fixed);
        s->flagged = ronchi_calloc(s->context, detector_n, 1);
    }
    if (!s->transmission || !s->aperture || !s->lit || !s->background || !s->wave || !s->ramps || !s->mean ||
        !s->fixed || !s->flagged)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                           "no memory for a specimen of %zu x %zu samples and windows of %zu x %zu", s->grid_rows,
                           s->grid_cols, s->n_rows, s->n_cols);
    return RONCHI_OK;
}

ronchi_status ronchi_simulation_create(ronchi_context *context, const ronchi_simulate_options *options,
                                       const ronchi_specimen *specimen, ronchi_simulation **out, ronchi_error *err)
{
    *out = NULL;
    ronchi_simulation *s = ronchi_calloc(context, 1, sizeof *s);
    if (!s)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a simulation");
    s->context = context;
    s->options = *options;
    ronchi_optics_init(&s->optics, options);
    window w = plan_window(options, &s->optics);
    s->oversampling = w.oversampling;
    s->n_rows = w.n[0];
    s->n_cols = w.n[1];
    s->grid_rows = w.grid[0];
    s->grid_cols = w.grid[1];
    memcpy(s->step, w.step, sizeof s->step);
    memcpy(s->origin, w.origin, sizeof s->origin);
    ronchi_status status = allocate(s, err);
    if (status == RONCHI_OK)
        status = ronchi_fft_create(context, s->n_rows, s->n_cols, &s->fft, err);
    if (status == RONCHI_OK)
        status = make_transmission(s, &w, specimen, err);
    if (status != RONCHI_OK) {
        ronchi_simulation_destroy(s);
        return status;
    }
    make_aperture(s);
    make_background(s);
    make_pixels(s);
    *out = s;
    return RONCHI_OK;
}

void ronchi_simulation_destroy(ronchi_simulation *s)
{
    if (!s)
        return;
    void *owned[] = {s->transmission, s->aperture, s->lit,   s->background, s->wave,
                     s->ramps,        s->mean,     s->fixed, s->flagged};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        ronchi_free(s->context, owned[i]);
    ronchi_fft_destroy(s->fft);
    ronchi_free(s->context, s);
}

/* -------------------------------------------------------------------------------------------------- patterns */

static ronchi_complex times(ronchi_complex a, ronchi_complex b)
{
    return (ronchi_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* exp(-2 pi i f place / n) for every frequency of an axis: moves a wave at sample 0 to 'place'. */
static void make_ramp(size_t n, double place, ronchi_complex *ramp)
{
    for (size_t i = 0; i < n; i++) {
        double angle = -TAU * fmod(frequency(i, n) * place / (double)n, 1.0);
        ramp[i] = (ronchi_complex){(float)cos(angle), (float)sin(angle)};
    }
}

/* The aperture's wave with the ramps of the probe's place, transformed to the window: the probe, exactly between
 * samples. */
static void make_probe(const ronchi_simulation *s, const double place[2], ronchi_complex *ramps, ronchi_complex *wave)
{
    ronchi_complex *along_rows = ramps, *along_cols = ramps + s->n_rows;
    make_ramp(s->n_rows, place[0], along_rows);
    make_ramp(s->n_cols, place[1], along_cols);
    for (size_t i = 0; i < s->n_rows; i++) {
        ronchi_complex *row = wave + i * s->n_cols;
        const ronchi_complex *aperture = s->aperture + i * s->n_cols;
        if (!s->lit[i]) {
            memset(row, 0, s->n_cols * sizeof *row);
            continue;
        }
        for (size_t j = 0; j < s->n_cols; j++)
            row[j] = times(times(aperture[j], along_cols[j]), along_rows[i]);
    }
    ronchi_fft_inverse(s->fft, wave);
}

/* Intensity from transform order to the detector, centre at (rows / 2, cols / 2). */
static void collect(const ronchi_simulation *s, const ronchi_complex *wave, float *out)
{
    const ronchi_simulate_options *o = &s->options;
    double n = (double)s->n_rows * (double)s->n_cols;
    float scale =
        (float)(o->dose / (n * n)); /* both transforms are unscaled: without a specimen this gives dose * aperture */
    size_t half = o->det_cols / 2, rest = o->det_cols - half;
    for (size_t i = 0; i < o->det_rows; i++) {
        size_t from = (i + s->n_rows - o->det_rows / 2) % s->n_rows;
        const ronchi_complex *row = wave + from * s->n_cols;
        const float *background = s->background + i * o->det_cols;
        float *to = out + i * o->det_cols;
        const ronchi_complex *left = row + (s->n_cols - half);
        for (size_t j = 0; j < half; j++)
            to[j] = (left[j].re * left[j].re + left[j].im * left[j].im) * scale + background[j];
        for (size_t j = 0; j < rest; j++)
            to[half + j] = (row[j].re * row[j].re + row[j].im * row[j].im) * scale + background[half + j];
    }
}

void ronchi_simulation_mean(const ronchi_simulation *s, double scan_row, double scan_col, size_t worker, float *out)
{
    double place[2];
    size_t first[2];
    for (int axis = 0; axis < 2; axis++) {
        const double *to = s->optics.detector_from_scan[axis];
        double at = (to[0] * scan_row + to[1] * scan_col) * s->options.scan_step_a / s->step[axis], whole = floor(at);
        size_t half = (axis ? s->n_cols : s->n_rows) / 2;
        place[axis] = (double)half + (at - whole);
        first[axis] = (size_t)((int64_t)whole - (int64_t)half - s->origin[axis]);
    }
    ronchi_complex *wave = s->wave + worker * s->n_rows * s->n_cols;
    make_probe(s, place, s->ramps + worker * (s->n_rows + s->n_cols), wave);
    for (size_t i = 0; i < s->n_rows; i++) {
        const ronchi_complex *t = s->transmission + (first[0] + i) * s->grid_cols + first[1];
        ronchi_complex *row = wave + i * s->n_cols;
        for (size_t j = 0; j < s->n_cols; j++)
            row[j] = times(row[j], t[j]);
    }
    ronchi_fft_forward(s->fft, wave);
    collect(s, wave, out);
}

/* ---------------------------------------------------------------------------------------------------- counts */

static void store(void *out, ronchi_dtype dtype, size_t pixel, uint32_t count)
{
    if (dtype == RONCHI_U8)
        ((uint8_t *)out)[pixel] = (uint8_t)count;
    else if (dtype == RONCHI_U16)
        ((uint16_t *)out)[pixel] = (uint16_t)count;
    else
        ((uint32_t *)out)[pixel] = count;
}

ronchi_status ronchi_simulation_frame(const ronchi_simulation *s, uint64_t frame, size_t worker, void *out,
                                      ronchi_error *err)
{
    const ronchi_simulate_options *o = &s->options;
    size_t n = o->det_rows * o->det_cols;
    uint64_t position = 0, limit = o->dtype == RONCHI_U8 ? 254 : o->dtype == RONCHI_U16 ? 65534 : 4294967294u;
    float *mean = s->mean + worker * n;
    ronchi_random random;
    if (ronchi_simulation_position(o, frame, &position)) {
        ronchi_simulation_mean(s, (double)(position / o->scan_cols), (double)(position % o->scan_cols), worker, mean);
        ronchi_random_init(&random, o->seed, RONCHI_STREAM_COUNTS, position);
    } else { /* the beam flies back blanked: a little of the background is left */
        for (size_t i = 0; i < n; i++)
            mean[i] = 0.25f * s->background[i];
        ronchi_random_init(&random, o->seed, RONCHI_STREAM_FLYBACK, frame);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t count = ronchi_random_poisson(&random, (double)mean[i]);
        if (s->fixed[i]) {
            store(out, o->dtype, i, s->fixed[i]);
            continue;
        }
        if (count > limit) /* the maximum itself stays the mark of flagged pixels */
            return ronchi_fail(
                err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET,
                "frame %llu, pixel (%zu, %zu): a count of %llu does not fit %s: a larger dtype or a lower dose",
                (unsigned long long)frame, i / o->det_cols, i % o->det_cols, (unsigned long long)count,
                ronchi_dtype_name(o->dtype));
        store(out, o->dtype, i, (uint32_t)count);
    }
    return RONCHI_OK;
}
