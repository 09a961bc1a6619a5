/* SPDX-License-Identifier: MIT */
/*
 * run.c - parallax from an acquisition to an image: disk, shifts coarse to fine, aberrations, sum.
 *
 * Images are read three times: for the bins, for the shift of each image, for the sum.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parallax/deposit.h"

enum { SHORTEST_SCAN = 16, MOST_UPSAMPLE = 8, TAPER = 8, MOST_ITERATIONS = 20 };
static const double ENOUGH_COUNTS = 10.0; /* of a bin's image at a position */
static const double FINEST_BINS = 3.0;    /* pixels a side: smaller ones cost more than they tell */
static const double PIXEL_ERROR = 0.5;    /* expected error above which images are not aligned by themselves */
static const double EDGE_SHIFT = 0.75;    /* scan pixels at the disk's edge: below, rotation and chi mean nothing */
static const uint64_t WORKSPACE = (uint64_t)1 << 30;

void ronchi_parallax_options_defaults(ronchi_parallax_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    options->iterations = 2;
    options->upsample = 2;
    options->transpose = -1;
    options->workspace_bytes = WORKSPACE;
}

static ronchi_status bad(ronchi_error *err, const char *what)
{
    return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "%s", what);
}

static ronchi_status take_options(const ronchi_parallax_options *from, ronchi_parallax_options *o, ronchi_error *err)
{
    ronchi_parallax_options_defaults(o);
    if (from && from->struct_size != sizeof *o)
        return bad(err, "ronchi_parallax_options of no known version");
    if (from)
        *o = *from;
    if (!o->workspace_bytes)
        o->workspace_bytes = WORKSPACE;
    if (o->upsample < 1 || o->upsample > MOST_UPSAMPLE)
        return bad(err, "upsampling is 1 to 8");
    if (o->iterations < 1 || o->iterations > MOST_ITERATIONS)
        return bad(err, "iterations are 1 to 20");
    if (o->n_bins > RONCHI_PARALLAX_LEVELS)
        return bad(err, "at most 8 levels of bins");
    for (uint32_t i = 0; i < o->n_bins; i++)
        if (o->bins[i] < 1 || o->bins[i] > 4096 || (i && o->bins[i] >= o->bins[i - 1]))
            return bad(err, "bins are whole numbers of detector pixels that fall, such as 6,3,1");
    if (o->center_given && (!isfinite(o->center_row) || !isfinite(o->center_col)))
        return bad(err, "the disk's centre must be finite");
    if (!(o->radius_px >= 0) || !isfinite(o->radius_px) || !isfinite(o->near_deg))
        return bad(err, "radius and angle must be finite, the radius not below 0");
    if (o->fit < 0 || o->fit > RONCHI_PARALLAX_FIT_NONE || o->reference < 0 ||
        o->reference > RONCHI_PARALLAX_REFERENCE_MEAN || o->transpose < -1 || o->transpose > 1)
        return bad(err, "unknown fit, reference or transpose");
    return RONCHI_OK;
}

/* Everything between reading and result. */
typedef struct parallax {
    ronchi_parallax_options options;
    ronchi_bright_field bf;
    ronchi_spectra spectra;
    float *window;
    ronchi_bins bins;
    ronchi_reference reference;
    ronchi_pixel_shifts shifts;
    ronchi_shift_fit fit;
    ronchi_parallax_aberrations units;
    bool known;
    uint32_t levels[RONCHI_PARALLAX_LEVELS], n_levels;
    uint64_t workspace;
} parallax;

static void release(parallax *p)
{
    ronchi_context *context = p->bf.context;
    ronchi_bins_free(&p->bins);
    ronchi_reference_free(&p->reference);
    ronchi_spectra_free(&p->spectra);
    if (context) {
        ronchi_pixel_shifts_free(context, &p->shifts);
        ronchi_free(context, p->window);
    }
    ronchi_bright_field_close(&p->bf);
}

/* --------------------------------------------------------------------------------------------------------- start */

/* Rises over the first positions from the edge, so that the edges of images have no say in their alignment. */
static double rise(size_t i, size_t n)
{
    double edge = (double)ronchi_min_size(i, n - 1 - i) + 0.5, width = fmin(TAPER, 0.25 * (double)n);
    return edge < width ? 0.5 - 0.5 * cos(3.14159265358979324 * edge / width) : 1.0;
}

static ronchi_status make_window(parallax *p, ronchi_error *err)
{
    const ronchi_shape *s = &p->bf.shape;
    p->window = ronchi_calloc(p->bf.context, p->bf.n_positions, sizeof *p->window);
    if (!p->window)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a window over the scan");
    for (size_t i = 0; i < p->bf.n_positions; i++)
        p->window[i] = (float)(rise(i / s->scan_cols, s->scan_rows) * rise(i % s->scan_cols, s->scan_cols));
    return RONCHI_OK;
}

static uint64_t bins_bytes(const parallax *p, uint32_t side)
{
    return ((uint64_t)ronchi_bins_count(&p->bf, side) + RONCHI_PIECE + 4) * p->spectra.size * sizeof(float);
}

static ronchi_status too_small(const parallax *p, uint64_t bytes, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                       "spectra need %llu bytes of workspace, of which %llu are allowed: give --workspace, larger "
                       "--bins or a smaller --upsample",
                       (unsigned long long)bytes, (unsigned long long)p->options.workspace_bytes);
}

/* Bins that hold enough counts for a start and fit the workspace; the levels above and below follow. */
static ronchi_status choose_levels(parallax *p, ronchi_error *err)
{
    const ronchi_parallax_options *o = &p->options;
    double most = fmax(1.0, floor(p->bf.disk.radius / 4.0)), side = ceil(sqrt(ENOUGH_COUNTS / p->bf.dose));
    uint32_t base = (uint32_t)fmin(fmax(FINEST_BINS, side), most);
    if (o->n_bins) {
        p->n_levels = o->n_bins;
        memcpy(p->levels, o->bins, sizeof p->levels);
        base = o->bins[o->n_bins - 1];
        if (base == 1 && o->n_bins > 1)
            base = o->bins[o->n_bins - 2];
    } else {
        while (bins_bytes(p, base) > o->workspace_bytes && (double)base < most)
            base++;
        p->levels[p->n_levels++] = 2 * base;
        p->levels[p->n_levels++] = base;
        if (base > 1)
            p->levels[p->n_levels++] = 1;
    }
    p->workspace = bins_bytes(p, base);
    if (p->workspace > o->workspace_bytes)
        return too_small(p, p->workspace, err);
    return ronchi_bins_init(&p->bf, &p->spectra, base, &p->bins, err);
}

/* What is recorded about the detector's orientation decides what the shifts leave open. */
static void take_orientation(parallax *p)
{
    const ronchi_calibration *c = &p->bf.acquisition->info.calibration;
    if (!c->det_rotation.known)
        return;
    if (!p->options.near_given)
        p->options.near_deg = c->det_rotation.value;
    if (p->options.transpose < 0)
        p->options.transpose = c->det_transpose;
}

static ronchi_status find_units(parallax *p, ronchi_error *err)
{
    const ronchi_parallax_options *o = &p->options;
    take_orientation(p);
    p->known = ronchi_parallax_find_units(p->bf.acquisition, p->bf.disk.radius, &p->units);
    if (!p->known && (o->fit == RONCHI_PARALLAX_FIT_NEEDED || o->reference == RONCHI_PARALLAX_REFERENCE_TRANSFER))
        return ronchi_fail(
            err, RONCHI_ERR_NEEDED, p->bf.acquisition->info.source_name, RONCHI_NO_OFFSET, "%s needs a calibration; %s",
            o->fit == RONCHI_PARALLAX_FIT_NEEDED ? "the aberration fit" : "the transfer function", p->units.missing);
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------- shifts */

/* The transfer function of the fit so far; the mean where nothing is known, or nothing moves. */
static void set_reference(parallax *p)
{
    double(*m)[2] = p->fit.matrix;
    double size = sqrt(m[0][0] * m[0][0] + m[0][1] * m[0][1] + m[1][0] * m[1][0] + m[1][1] * m[1][1]) / sqrt(2.0);
    p->reference.transfer =
        p->known && p->options.reference != RONCHI_PARALLAX_REFERENCE_MEAN && size * p->bf.disk.radius >= EDGE_SHIFT;
    if (!p->reference.transfer)
        return;
    ronchi_parallax_find_aberrations(&p->fit, p->options.transpose, p->options.near_deg, &p->units);
    ronchi_reference_set(&p->reference, &p->fit, p->bf.disk.radius, &p->units);
}

static ronchi_status align_level(parallax *p, uint32_t side, ronchi_error *err)
{
    ronchi_status status = RONCHI_OK;
    for (uint32_t i = 0; i < p->options.iterations && status == RONCHI_OK; i++) {
        set_reference(p);
        status = ronchi_bins_refer(&p->bins, &p->reference, err);
        if (status == RONCHI_OK)
            status = ronchi_bins_align(&p->bins, &p->reference, side, i ? 2 : 3, &p->fit, err);
        ronchi_progress progress = {"align", 0, 0, "images", 0};
        if (status == RONCHI_OK)
            status = ronchi_report(p->bf.context, &progress, err);
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The error that a single image's shift would have, from those of the bins. */
static double expected_error(const ronchi_bins *b, double *sort)
{
    for (size_t i = 0; i < b->n; i++)
        sort[i] = b->variance[i] * b->weight[i];
    qsort(sort, b->n, sizeof *sort, compare);
    return sqrt(sort[b->n / 2]);
}

static ronchi_status align_pixels(parallax *p, ronchi_error *err)
{
    double *sort = ronchi_calloc(p->bf.context, p->bins.n, sizeof *sort);
    if (!sort)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the shifts");
    double error = expected_error(&p->bins, sort);
    ronchi_free(p->bf.context, sort);
    if (!p->options.n_bins && !(error <= PIXEL_ERROR)) { /* too few counts */
        p->n_levels--;
        return RONCHI_OK;
    }
    set_reference(p);
    ronchi_status status = ronchi_bins_refer(&p->bins, &p->reference, err);
    return status == RONCHI_OK
               ? ronchi_pixels_align(&p->bf, &p->bins, &p->reference, p->window, &p->shifts, &p->fit, err)
               : status;
}

static ronchi_status find_shifts(parallax *p, ronchi_error *err)
{
    for (size_t i = 0; i < p->bf.n_positions; i++)
        p->bins.window += (double)p->window[i] * (double)p->window[i];
    ronchi_status status = ronchi_bins_fill(&p->bins, &p->bf, p->window, err);
    if (status == RONCHI_OK)
        status = ronchi_bins_start(&p->bins, p->bf.disk.radius, &p->fit, err);
    if (status == RONCHI_OK)
        status = ronchi_reference_init(p->bf.context, &p->spectra, p->known, &p->reference, err);
    for (uint32_t i = 0; i < p->n_levels && status == RONCHI_OK; i++)
        if (p->levels[i] >= p->bins.side)
            status = align_level(p, p->levels[i], err);
    if (status == RONCHI_OK)
        status = ronchi_pixel_shifts_init(&p->bf, &p->shifts, err);
    if (status != RONCHI_OK)
        return status;
    ronchi_pixels_predict(&p->bins, &p->fit, &p->shifts);
    if (p->levels[p->n_levels - 1] < p->bins.side)
        status = align_pixels(p, err);
    for (size_t i = 0; i < p->shifts.n; i++) { /* the centre of the disk does not move */
        p->shifts.shift_row[i] -= p->fit.offset[0];
        p->shifts.shift_col[i] -= p->fit.offset[1];
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------- result */

typedef struct sorted {
    uint32_t row, col;
    size_t i;
} sorted;

static int by_place(const void *a, const void *b)
{
    const sorted *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->col < y->col ? -1 : x->col > y->col;
}

static ronchi_status allocate(const parallax *p, ronchi_parallax_result *r, ronchi_error *err)
{
    size_t n = p->bf.n, u = p->options.upsample, bytes;
    r->scan_rows = p->bf.shape.scan_rows;
    r->scan_cols = p->bf.shape.scan_cols;
    r->det_rows = p->bf.shape.det_rows;
    r->det_cols = p->bf.shape.det_cols;
    r->rows = r->scan_rows * u;
    r->cols = r->scan_cols * u;
    r->n = n;
    if (ronchi_mul(r->rows, r->cols, &bytes) && ronchi_mul(bytes, sizeof(float), &bytes)) {
        r->image = malloc(bytes);
        r->raw = malloc(bytes);
        r->density = malloc(bytes);
    }
    r->mean = malloc(r->det_rows * r->det_cols * sizeof *r->mean);
    r->pixel_row = malloc(n * sizeof *r->pixel_row);
    r->pixel_col = malloc(n * sizeof *r->pixel_col);
    r->shift_row = malloc(n * sizeof *r->shift_row);
    r->shift_col = malloc(n * sizeof *r->shift_col);
    r->error = malloc(n * sizeof *r->error);
    r->held = malloc(n);
    if (r->image && r->raw && r->density && r->mean && r->pixel_row && r->pixel_col && r->shift_row && r->shift_col &&
        r->error && r->held)
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for an image of %zu x %zu", r->rows,
                       r->cols);
}

static ronchi_status put_shifts(const parallax *p, ronchi_parallax_result *r, ronchi_error *err)
{
    sorted *order = ronchi_calloc(p->bf.context, r->n, sizeof *order);
    if (!order)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu shifts", r->n);
    for (size_t i = 0; i < r->n; i++)
        order[i] = (sorted){p->bf.row[i], p->bf.col[i], i};
    qsort(order, r->n, sizeof *order, by_place);
    for (size_t k = 0; k < r->n; k++) {
        size_t i = order[k].i;
        r->pixel_row[k] = order[k].row;
        r->pixel_col[k] = order[k].col;
        r->shift_row[k] = p->shifts.shift_row[i];
        r->shift_col[k] = p->shifts.shift_col[i];
        r->error[k] = sqrt(p->shifts.variance[i]);
        r->held[k] = p->shifts.held[i];
    }
    ronchi_free(p->bf.context, order);
    return RONCHI_OK;
}

static void put_facts(parallax *p, ronchi_parallax_result *r)
{
    memcpy(r->mean, p->bf.mean_pattern, r->det_rows * r->det_cols * sizeof *r->mean);
    memcpy(r->matrix, p->fit.matrix, sizeof r->matrix);
    r->disk = p->bf.disk;
    r->n_held = p->shifts.n_held;
    r->n_flagged = p->bf.n_flagged;
    r->n_left_out = p->bf.n_left_out;
    r->dose = p->bf.dose;
    memcpy(r->bins, p->levels, sizeof r->bins);
    r->n_bins = p->n_levels;
    r->upsample = p->options.upsample;
    r->reference = p->reference.transfer ? RONCHI_PARALLAX_REFERENCE_TRANSFER : RONCHI_PARALLAX_REFERENCE_MEAN;
    p->units.fitted = 0;
    if (p->known && p->options.fit != RONCHI_PARALLAX_FIT_NONE)
        ronchi_parallax_find_aberrations(&p->fit, p->options.transpose, p->options.near_deg, &p->units);
    r->aberrations = p->units;
    r->peak_decoded_bytes = p->bf.decoded_bytes;
    r->workspace_bytes = p->workspace;
}

static ronchi_status make_image(parallax *p, ronchi_parallax_result *r, ronchi_error *err)
{
    ronchi_deposit deposit = {.upsample = p->options.upsample, .image = r->image, .raw = r->raw, .density = r->density};
    size_t padded[2];
    uint64_t bytes;
    ronchi_deposit_size(&p->bf, &p->shifts, p->options.upsample, padded, &bytes);
    ronchi_bins_free(&p->bins);
    if (bytes > p->options.workspace_bytes)
        return too_small(p, bytes, err);
    p->workspace = bytes > p->workspace ? bytes : p->workspace;
    ronchi_status status = ronchi_deposit_run(&p->bf, &p->shifts, &deposit, err);
    r->low_pass = deposit.low_pass;
    return status;
}

static ronchi_status run(const ronchi_acquisition *acquisition, parallax *p, ronchi_parallax_result *r,
                         ronchi_error *err)
{
    ronchi_status status = ronchi_bright_field_open(acquisition, &p->options, &p->bf, err);
    if (status == RONCHI_OK)
        status = find_units(p, err);
    if (status == RONCHI_OK)
        status = make_window(p, err);
    if (status == RONCHI_OK)
        status = ronchi_spectra_init(p->bf.context, p->bf.shape.scan_rows, p->bf.shape.scan_cols, &p->spectra, err);
    if (status == RONCHI_OK)
        status = choose_levels(p, err);
    if (status == RONCHI_OK)
        status = allocate(p, r, err);
    if (status == RONCHI_OK)
        status = find_shifts(p, err);
    if (status == RONCHI_OK)
        status = make_image(p, r, err);
    if (status == RONCHI_OK)
        status = put_shifts(p, r, err);
    if (status == RONCHI_OK)
        put_facts(p, r);
    return status;
}

ronchi_status ronchi_parallax_run(const ronchi_acquisition *acquisition, const ronchi_parallax_options *options,
                                  ronchi_parallax_result *out, ronchi_error *err)
{
    parallax p;
    memset(out, 0, sizeof *out);
    memset(&p, 0, sizeof p);
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status == RONCHI_OK)
        status = take_options(options, &p.options, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_shape *s = &acquisition->store->shape;
    if (s->scan_rows < SHORTEST_SCAN || s->scan_cols < SHORTEST_SCAN)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "a scan of %zu x %zu: parallax aligns images of at least %d x %d positions", s->scan_rows,
                           s->scan_cols, SHORTEST_SCAN, SHORTEST_SCAN);
    status = run(acquisition, &p, out, err);
    release(&p);
    if (status != RONCHI_OK)
        ronchi_parallax_result_free(out);
    return status;
}

ronchi_status ronchi_parallax_run_all(const ronchi_acquisition *const *acquisitions, size_t n,
                                      const ronchi_parallax_options *options, ronchi_parallax_result *out,
                                      size_t *failed, ronchi_error *err)
{
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        ronchi_status status = ronchi_parallax_run(acquisitions[i], options, &out[i], err);
        if (status == RONCHI_OK)
            continue;
        if (failed)
            *failed = i;
        for (size_t k = 0; k < i; k++)
            ronchi_parallax_result_free(&out[k]);
        return status;
    }
    return RONCHI_OK;
}

void ronchi_parallax_result_free(ronchi_parallax_result *r)
{
    if (!r)
        return;
    void *owned[] = {r->image,     r->raw,       r->density,   r->mean,  r->pixel_row,
                     r->pixel_col, r->shift_row, r->shift_col, r->error, r->held};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    memset(r, 0, sizeof *r);
}
