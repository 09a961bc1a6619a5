/* SPDX-License-Identifier: MIT */
/* compare.c - every raw value against the source, read again in bounded memory. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "resident/flagged.h"

typedef struct compare {
    const ronchi_acquisition *acquisition;
    ronchi_source *source;
    ronchi_staged staged;
    ronchi_block block;
    const uint8_t *held; /* the block's raw frames in the source's dtype */
    uint8_t *scratch;    /* [threads][frame] */
    size_t frame_bytes;
    ronchi_flagged policy; /* the correction that the copy was made with, done to the source too */
    uint8_t *valid;        /* of the source's mask, when there is a correction */
    size_t *flagged, n_flagged;
    atomic_uint_fast64_t different;
    atomic_uint_fast64_t first; /* lowest flattened value index that differs, UINT64_MAX while none does */
} compare;

static void note_first(compare *c, uint64_t index)
{
    uint_fast64_t now = atomic_load(&c->first);
    while (index < now && !atomic_compare_exchange_weak(&c->first, &now, index))
        ;
}

static ronchi_status compare_frame(void *user, size_t j, size_t worker, ronchi_error *err)
{
    compare *c = user;
    uint64_t position = ronchi_block_position(&c->block, &c->acquisition->store->shape, j);
    uint8_t *want = c->scratch + worker * c->frame_bytes;
    const uint8_t *have = c->held + j * c->frame_bytes;
    ronchi_status status =
        c->source->format->decode(c->source, &c->staged, ronchi_source_frame(c->source, position), want, err);
    if (status == RONCHI_OK && c->n_flagged)
        ronchi_flagged_correct(&c->source->shape, c->source->dtype, c->valid, c->flagged, c->n_flagged, c->policy,
                               want);
    if (status != RONCHI_OK || memcmp(want, have, c->frame_bytes) == 0)
        return status;
    size_t size = ronchi_dtype_size(c->source->dtype), n_pixels = c->acquisition->store->n_pixels;
    for (size_t p = n_pixels; p-- > 0;)
        if (memcmp(want + p * size, have + p * size, size) != 0) {
            atomic_fetch_add(&c->different, 1);
            note_first(c, position * n_pixels + p);
        }
    return RONCHI_OK;
}

/* Rows of a block, c->block: read again from the source, and from the copy. */
static ronchi_status compare_rows(compare *c, void *held, ronchi_error *err)
{
    const ronchi_store *store = c->acquisition->store;
    const ronchi_format *format = c->source->format;
    uint64_t last = ronchi_block_position(&c->block, &store->shape, ronchi_block_positions(&c->block) - 1);
    uint64_t first_frame = ronchi_source_frame(c->source, c->block.first),
             last_frame = ronchi_source_frame(c->source, last);
    memset(&c->staged, 0, sizeof c->staged);
    ronchi_status status = format->stage(c->source, first_frame, last_frame - first_frame + 1, &c->staged, err);
    if (status != RONCHI_OK)
        return status;
    status = ronchi_acquisition_read_block(c->acquisition, &c->block, RONCHI_READ_RAW, c->source->dtype, held, err);
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(store->context, ronchi_block_positions(&c->block), compare_frame, c, err);
    format->unstage(c->source, &c->staged);
    return status;
}

static ronchi_status compare_blocks(compare *c, void *held, ronchi_error *err)
{
    const ronchi_store *store = c->acquisition->store;
    const size_t rows = ronchi_acquisition_block_rows(c->acquisition, c->source->dtype);
    ronchi_progress progress = {"compare", 0, store->n_positions, "frames", c->frame_bytes};
    ronchi_status status = RONCHI_OK;
    for (size_t i = 0; i < store->profile->n_blocks(store) && status == RONCHI_OK; i++) {
        const ronchi_block block = store->profile->block(store, i);
        for (size_t row = 0; row < block.rows && status == RONCHI_OK; row += rows) {
            c->block = ronchi_block_rows(&block, &store->shape, row, rows);
            status = compare_rows(c, held, err);
            progress.done += ronchi_block_positions(&c->block);
            if (status == RONCHI_OK)
                status = ronchi_report(store->context, &progress, err);
        }
    }
    return status;
}

static ronchi_status check_alike(const ronchi_acquisition *acquisition, const ronchi_source *source, const char *path,
                                 ronchi_error *err)
{
    const ronchi_shape *a = &acquisition->store->shape, *b = &source->shape;
    if (a->scan_rows != b->scan_rows || a->scan_cols != b->scan_cols || a->det_rows != b->det_rows ||
        a->det_cols != b->det_cols)
        return ronchi_fail(err, RONCHI_ERR_SHAPE, path, RONCHI_NO_OFFSET,
                           "has shape %zu x %zu x %zu x %zu, the copy %zu x %zu x %zu x %zu: not the source of this "
                           "copy, or give --scan-shape",
                           b->scan_rows, b->scan_cols, b->det_rows, b->det_cols, a->scan_rows, a->scan_cols,
                           a->det_rows, a->det_cols);
    if (acquisition->info.source_dtype != source->dtype)
        return ronchi_fail(err, RONCHI_ERR_SHAPE, path, RONCHI_NO_OFFSET, "holds %s, the copy was made from %s",
                           ronchi_dtype_name(source->dtype), ronchi_dtype_name(acquisition->info.source_dtype));
    return RONCHI_OK;
}

/* A copy made with --flagged zero or median equals the source under the same correction. */
static ronchi_status take_policy(compare *c, const ronchi_source_options *options, ronchi_error *err)
{
    size_t n_pixels = c->acquisition->store->n_pixels;
    c->policy = options ? (ronchi_flagged)options->flagged : RONCHI_FLAGGED_KEEP;
    if (c->policy == RONCHI_FLAGGED_KEEP || !c->source->pixel_mask)
        return RONCHI_OK;
    c->valid = ronchi_alloc(c->acquisition->context, n_pixels);
    if (!c->valid)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the pixel mask");
    for (size_t p = 0; p < n_pixels; p++)
        c->valid[p] = c->source->pixel_mask[p] == 0;
    return ronchi_flagged_list(c->valid, n_pixels, &c->flagged, &c->n_flagged, err);
}

static void say_first(const compare *c, const char *path, ronchi_error *err)
{
    const ronchi_shape *s = &c->acquisition->store->shape;
    uint64_t index = atomic_load(&c->first), pixel = index % c->acquisition->store->n_pixels;
    uint64_t position = index / c->acquisition->store->n_pixels;
    ronchi_fail(err, RONCHI_OK, path, RONCHI_NO_OFFSET,
                "%llu values differ, the first at scan (%llu, %llu), detector (%llu, %llu)",
                (unsigned long long)atomic_load(&c->different), (unsigned long long)(position / s->scan_cols),
                (unsigned long long)(position % s->scan_cols), (unsigned long long)(pixel / s->det_cols),
                (unsigned long long)(pixel % s->det_cols));
}

ronchi_status ronchi_acquisition_compare(const ronchi_acquisition *acquisition, const char *path,
                                         const ronchi_source_options *options, uint64_t *different, ronchi_error *err)
{
    compare c;
    ronchi_source_options standard;
    memset(&c, 0, sizeof c);
    *different = 0;
    ronchi_source_options_defaults(&standard);
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status == RONCHI_OK)
        status = ronchi_source_open(acquisition->context, path, options ? options : &standard, &c.source, err);
    if (status != RONCHI_OK)
        return status;
    ronchi_context *context = acquisition->context;
    c.acquisition = acquisition;
    atomic_init(&c.different, 0);
    atomic_init(&c.first, UINT64_MAX);
    void *held = NULL;
    status = check_alike(acquisition, c.source, path, err);
    if (status == RONCHI_OK)
        status = take_policy(&c, options, err);
    if (status == RONCHI_OK) {
        c.frame_bytes = acquisition->store->n_pixels * ronchi_dtype_size(c.source->dtype);
        held = ronchi_acquisition_block_buffer(acquisition, c.source->dtype, err);
        c.scratch = ronchi_calloc(context, ronchi_context_threads(context), c.frame_bytes);
        c.held = held;
        status = held && c.scratch
                     ? compare_blocks(&c, held, err)
                     : ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory to compare");
    }
    *different = atomic_load(&c.different);
    if (status == RONCHI_OK && *different)
        say_first(&c, path, err);
    ronchi_decoded_give(context, held);
    ronchi_free(context, c.scratch);
    ronchi_free(context, c.valid);
    free(c.flagged);
    ronchi_source_close(c.source);
    return status;
}
