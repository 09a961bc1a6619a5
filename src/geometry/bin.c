/* SPDX-License-Identifier: MIT */
/*
 * bin.c - exact sums of neighbouring positions and pixels.
 *
 * Sums are tried in the dtype of the input first and again in the next wider one when one does not fit, so that the
 * result has the narrowest that holds them all.  A band of the input that covers some positions of the result is
 * decoded at a time: half of the budget; the other half is the block being encoded.
 */
#include <stdio.h>
#include <string.h>

#include "detector/checks.h"
#include "detector/moments.h"
#include "geometry/result.h"
#include "ronchi/geometry.h"

typedef struct binning {
    const ronchi_acquisition *from;
    size_t scan_bin, det_bin;
    ronchi_shape shape; /* of the result */
    uint8_t *valid;     /* [n_pixels] of the result */
    ronchi_store *store;
    char *frames;   /* a block of the result */
    char *counts;   /* [band positions of the result][scan_bin][...]: see band */
    size_t room;    /* positions of the result that one band covers */
    uint32_t *sums; /* [threads][n_pixels] */
    /* while one band is added: positions first.. of the block, a rectangle 'rows' x 'cols' of the result */
    ronchi_region band;
    size_t first, cols;
} binning;

/* ----------------------------------------------------------------------------------------------------- arithmetic */

static uint32_t count_at(const void *frame, ronchi_dtype dtype, size_t p)
{
    if (dtype == RONCHI_U8)
        return ((const uint8_t *)frame)[p];
    return dtype == RONCHI_U16 ? ((const uint16_t *)frame)[p] : ((const uint32_t *)frame)[p];
}

/* Adds one frame of the band; rows and columns of the detector that fill no whole bin are not in it. */
static void add_frame(const binning *b, const void *frame, uint32_t *sums)
{
    const ronchi_store *from = b->from->store;
    size_t rows = b->shape.det_rows * b->det_bin, cols = b->shape.det_cols * b->det_bin;
    for (size_t r = 0; r < rows; r++) {
        uint32_t *to = sums + r / b->det_bin * b->shape.det_cols;
        const uint8_t *valid = from->valid + r * from->shape.det_cols;
        for (size_t c = 0, k = 0; k < b->shape.det_cols; k++)
            for (size_t end = c + b->det_bin; c < end; c++)
                to[k] += valid[c] ? count_at(frame, from->dtype, r * cols + c) : 0;
    }
}

static bool put_sums(const uint32_t *sums, size_t n, ronchi_dtype dtype, void *to)
{
    uint32_t all = 0;
    for (size_t p = 0; p < n; p++) {
        all |= sums[p];
        if (dtype == RONCHI_U8)
            ((uint8_t *)to)[p] = (uint8_t)sums[p];
        else if (dtype == RONCHI_U16)
            ((uint16_t *)to)[p] = (uint16_t)sums[p];
        else
            ((uint32_t *)to)[p] = sums[p];
    }
    return dtype == RONCHI_U32 || all <= (dtype == RONCHI_U8 ? UINT8_MAX : UINT16_MAX);
}

/* Position j of the band's rectangle in the result. */
static ronchi_status add_position(void *user, size_t j, size_t worker, ronchi_error *err)
{
    const binning *b = user;
    const ronchi_region *g = &b->band;
    size_t n = b->store->n_pixels, frame = g->det_rows * g->det_cols * ronchi_dtype_size(b->from->store->dtype);
    size_t row = j / b->cols * b->scan_bin, col = j % b->cols * b->scan_bin;
    uint32_t *sums = b->sums + worker * n;
    memset(sums, 0, n * sizeof *sums);
    for (size_t i = 0; i < b->scan_bin; i++)
        for (size_t k = 0; k < b->scan_bin; k++)
            add_frame(b, b->counts + ((row + i) * g->scan_cols + col + k) * frame, sums);
    if (put_sums(sums, n, b->store->dtype, b->frames + (b->first + j) * n * ronchi_dtype_size(b->store->dtype)))
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_RANGE, b->from->info.source_name, RONCHI_NO_OFFSET, "a sum does not fit %s",
                       ronchi_dtype_name(b->store->dtype));
}

/* ----------------------------------------------------------------------------------------------------- the walk */

/* A rectangle of the result that one band covers; its first position is number 'first' of the block. */
static ronchi_status add_rectangle(binning *b, const ronchi_region *part, size_t first, ronchi_error *err)
{
    const ronchi_store *from = b->from->store;
    ronchi_region band = {part->scan_row * b->scan_bin,
                          part->scan_rows * b->scan_bin,
                          part->scan_col * b->scan_bin,
                          part->scan_cols * b->scan_bin,
                          0,
                          b->shape.det_rows * b->det_bin,
                          0,
                          b->shape.det_cols * b->det_bin};
    ronchi_shape shape = {band.scan_rows, band.scan_cols, band.det_rows, band.det_cols};
    ronchi_view view = ronchi_view_4d(b->counts, from->dtype, &shape);
    ronchi_status status = from->profile->decode_band(from, &band, &view, err);
    b->band = band;
    b->first = first;
    b->cols = part->scan_cols;
    return status == RONCHI_OK
               ? ronchi_parallel_for(from->context, part->scan_rows * part->scan_cols, add_position, b, err)
               : status;
}

/* Cuts a rectangle into bands: whole rows where one fits, else parts of a row. */
static ronchi_status add_part(binning *b, const ronchi_region *part, size_t first, ronchi_error *err)
{
    size_t cols = ronchi_min_size(b->room, part->scan_cols), rows = cols < part->scan_cols ? 1 : b->room / cols;
    ronchi_status status = RONCHI_OK;
    for (size_t i = 0; i < part->scan_rows && status == RONCHI_OK; i += rows)
        for (size_t j = 0; j < part->scan_cols && status == RONCHI_OK; j += cols) {
            ronchi_region piece = *part;
            piece.scan_row += i;
            piece.scan_rows = ronchi_min_size(rows, part->scan_rows - i);
            piece.scan_col += j;
            piece.scan_cols = ronchi_min_size(cols, part->scan_cols - j);
            status = add_rectangle(b, &piece, first + i * part->scan_cols + j, err);
        }
    return status;
}

static ronchi_status run_blocks(binning *b, ronchi_error *err)
{
    const ronchi_profile *profile = b->store->profile;
    ronchi_progress progress = {"bin", 0, b->store->n_positions, "frames",
                                b->store->n_pixels * ronchi_dtype_size(b->store->dtype)};
    ronchi_status status = RONCHI_OK;
    ronchi_region part;
    for (size_t i = 0; status == RONCHI_OK && i < profile->n_blocks(b->store); i++) {
        ronchi_block block = profile->block(b->store, i);
        for (size_t done = 0, first = 0;
             status == RONCHI_OK && ronchi_block_next(&b->store->shape, &block, &done, &part); first = done)
            status = add_part(b, &part, first, err);
        if (status == RONCHI_OK)
            status = profile->encode_block(b->store, i, b->frames, err);
        progress.done += ronchi_block_positions(&block);
        if (status == RONCHI_OK)
            status = ronchi_report(b->store->context, &progress, err);
    }
    return status == RONCHI_OK ? profile->finish(b->store, err) : status;
}

/* ---------------------------------------------------------------------------------------------------- one attempt */

static ronchi_status allocate(binning *b, ronchi_error *err)
{
    ronchi_context *context = b->from->context;
    const ronchi_store *from = b->from->store;
    uint64_t frame =
        (uint64_t)b->shape.det_rows * b->det_bin * b->shape.det_cols * b->det_bin * ronchi_dtype_size(from->dtype);
    uint64_t each = frame * b->scan_bin * b->scan_bin, room = ronchi_context_budget(context) / 2 / each;
    size_t most = ronchi_store_largest_block(b->store);
    if (!room)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, b->from->info.source_name, RONCHI_NO_OFFSET,
                           "one binned position needs %llu bytes of decoded counts, half of a budget: give --budget",
                           (unsigned long long)each);
    b->room = room < most ? (size_t)room : most;
    b->counts = ronchi_decoded_take(context, b->room, (size_t)each);
    b->frames = ronchi_decoded_take(context, most, b->store->n_pixels * ronchi_dtype_size(b->store->dtype));
    b->sums = ronchi_calloc(context, ronchi_context_threads(context) * b->store->n_pixels, sizeof *b->sums);
    if (!b->counts || !b->frames || !b->sums)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, b->from->info.source_name, RONCHI_NO_OFFSET,
                           "no memory for %zu binned frames: give a smaller --budget", most);
    return RONCHI_OK;
}

static ronchi_status attempt(binning *b, ronchi_dtype dtype, ronchi_error *err)
{
    ronchi_context *context = b->from->context;
    bool flagged = memchr(b->valid, 0, b->shape.det_rows * b->shape.det_cols) != NULL;
    ronchi_status status = ronchi_result_store(b->from, &b->shape, dtype, flagged ? b->valid : NULL, &b->store, err);
    if (status == RONCHI_OK)
        status = allocate(b, err);
    if (status == RONCHI_OK)
        status = run_blocks(b, err);
    ronchi_decoded_give(context, b->counts);
    ronchi_decoded_give(context, b->frames);
    ronchi_free(context, b->sums);
    b->counts = b->frames = NULL;
    b->sums = NULL;
    if (status != RONCHI_OK && b->store) {
        b->store->profile->destroy(b->store);
        b->store = NULL;
    }
    return status;
}

static ronchi_status add_all(binning *b, ronchi_error *err)
{
    static const ronchi_dtype ladder[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32};
    ronchi_status status = RONCHI_ERR_RANGE;
    for (size_t k = 0; k < 3 && status == RONCHI_ERR_RANGE; k++)
        if (ronchi_dtype_size(ladder[k]) >= ronchi_dtype_size(b->from->store->dtype))
            status = attempt(b, ladder[k], err);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- checks */

static ronchi_status check_bins(const ronchi_acquisition *acquisition, size_t scan_bin, size_t det_bin,
                                ronchi_error *err)
{
    const ronchi_shape *s = &acquisition->store->shape;
    if (!scan_bin || !det_bin || scan_bin > s->scan_rows || scan_bin > s->scan_cols || det_bin > s->det_rows ||
        det_bin > s->det_cols)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, acquisition->info.source_name, RONCHI_NO_OFFSET,
                           "bins of %zu (scan) and %zu (detector) do not fit %zu x %zu x %zu x %zu", scan_bin, det_bin,
                           s->scan_rows, s->scan_cols, s->det_rows, s->det_cols);
    return RONCHI_OK;
}

/* Sums fit 32 bits when the largest count times the counts added does; the true largest is looked for only when needed.
 */
static ronchi_status check_range(const ronchi_acquisition *acquisition, size_t scan_bin, size_t det_bin,
                                 ronchi_error *err)
{
    ronchi_dtype dtype = acquisition->store->dtype;
    uint64_t most = dtype == RONCHI_U8 ? UINT8_MAX : dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
    double counts = (double)scan_bin * (double)scan_bin * (double)det_bin * (double)det_bin;
    ronchi_status status = RONCHI_OK;
    if (counts * (double)most > (double)UINT32_MAX)
        status = ronchi_largest_count(acquisition, &most, err);
    if (status != RONCHI_OK || counts * (double)most <= (double)UINT32_MAX)
        return status;
    return ronchi_fail(err, RONCHI_ERR_RANGE, acquisition->info.source_name, RONCHI_NO_OFFSET,
                       "sums of %.0f counts of up to %llu may not fit 32 bits: use smaller bins", counts,
                       (unsigned long long)most);
}

/* ----------------------------------------------------------------------------------------------- around the sums */

/* A pixel of the result is flagged when all of its pixels are. */
static void make_valid(binning *b)
{
    const ronchi_store *from = b->from->store;
    memset(b->valid, 0, b->shape.det_rows * b->shape.det_cols);
    for (size_t r = 0; r < b->shape.det_rows * b->det_bin; r++)
        for (size_t c = 0; c < b->shape.det_cols * b->det_bin; c++)
            b->valid[r / b->det_bin * b->shape.det_cols + c / b->det_bin] |= from->valid[r * from->shape.det_cols + c];
}

/* Where a flagged pixel is recorded in the result: once for each bin, by its first pixel. */
static size_t place_of(const void *user, size_t row, size_t col)
{
    const binning *b = user;
    size_t r = row / b->det_bin, c = col / b->det_bin;
    if (row % b->det_bin || col % b->det_bin || r >= b->shape.det_rows || c >= b->shape.det_cols)
        return SIZE_MAX;
    return b->valid[r * b->shape.det_cols + c] ? SIZE_MAX : r * b->shape.det_cols + c;
}

static ronchi_status bin_scan_valid(const binning *b, ronchi_acquisition *result, ronchi_error *err)
{
    const ronchi_store *from = b->from->store, *to = result->store;
    uint8_t *before = ronchi_alloc(from->context, from->n_positions),
            *after = ronchi_alloc(to->context, to->n_positions);
    ronchi_status status = before && after
                               ? ronchi_scan_valid_take(b->from, before, err)
                               : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET,
                                             "no memory for the validity of %zu positions", to->n_positions);
    if (status == RONCHI_OK) {
        memset(after, 1, to->n_positions);
        for (size_t r = 0; r < b->shape.scan_rows * b->scan_bin; r++)
            for (size_t c = 0; c < b->shape.scan_cols * b->scan_bin; c++)
                after[r / b->scan_bin * b->shape.scan_cols + c / b->scan_bin] &= before[r * from->shape.scan_cols + c];
        status = ronchi_scan_valid_put(result, after, err);
    }
    ronchi_free(from->context, before);
    ronchi_free(from->context, after);
    return status;
}

static void bin_contract(const binning *b, ronchi_acquisition_info *info)
{
    info->scan_bin *= b->scan_bin;
    info->det_bin *= b->det_bin;
    info->crop.scan_rows = b->shape.scan_rows * info->scan_bin;
    info->crop.scan_cols = b->shape.scan_cols * info->scan_bin;
    info->crop.det_rows = b->shape.det_rows * info->det_bin;
    info->crop.det_cols = b->shape.det_cols * info->det_bin;
    info->lossless = 0;
    snprintf(info->lossless_by, sizeof info->lossless_by, "binned: exact sums of the source's counts");
    if (b->from->n_flagged)
        snprintf(info->mask_policy, sizeof info->mask_policy, "flagged-left-out-of-sums");
}

static ronchi_status finish(const binning *b, ronchi_acquisition *result, ronchi_error *err)
{
    bin_contract(b, &result->info);
    ronchi_result_scale(result, RONCHI_RESULT_SCAN, b->scan_bin);
    ronchi_result_scale(result, RONCHI_RESULT_DET, b->det_bin);
    ronchi_status status = bin_scan_valid(b, result, err);
    if (status == RONCHI_OK)
        status = ronchi_result_flagged(result, b->from->store->shape.det_cols, place_of, b, err);
    if (status == RONCHI_OK)
        status = ronchi_result_record(result,
                                      json_pack("{s:s, s:I, s:I, s:I}", "operation", "bin", "scan_bin",
                                                (json_int_t)b->scan_bin, "det_bin", (json_int_t)b->det_bin,
                                                "flagged_pixels_left_out", (json_int_t)b->from->n_flagged),
                                      true, err);
    ronchi_result_finish(result);
    return status;
}

ronchi_status ronchi_geometry_bin(const ronchi_acquisition *acquisition, size_t scan_bin, size_t det_bin,
                                  ronchi_acquisition **out, ronchi_error *err)
{
    *out = NULL;
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status == RONCHI_OK)
        status = ronchi_check_counts(acquisition, "a binned count", err);
    if (status == RONCHI_OK)
        status = check_bins(acquisition, scan_bin, det_bin, err);
    if (status == RONCHI_OK)
        status = check_range(acquisition, scan_bin, det_bin, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_shape *s = &acquisition->store->shape;
    binning b;
    memset(&b, 0, sizeof b);
    b.from = acquisition;
    b.scan_bin = scan_bin;
    b.det_bin = det_bin;
    b.shape =
        (ronchi_shape){s->scan_rows / scan_bin, s->scan_cols / scan_bin, s->det_rows / det_bin, s->det_cols / det_bin};
    b.valid = ronchi_alloc(acquisition->context, b.shape.det_rows * b.shape.det_cols);
    if (!b.valid)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the pixel mask");
    make_valid(&b);
    status = add_all(&b, err);
    if (status == RONCHI_OK)
        status = ronchi_result_new(acquisition, b.store, out, err);
    if (status == RONCHI_OK)
        status = finish(&b, *out, err);
    ronchi_free(acquisition->context, b.valid);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(*out);
        *out = NULL;
    }
    return status;
}
