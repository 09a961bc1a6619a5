/* SPDX-License-Identifier: MIT */
/*
 * ingest.c - the block loop.
 *
 * While one group of blocks is decoded and encoded by the workers, one reader thread stages the next group's stored
 * bytes.  Decoded counts held at a time: one block, and what the budget leaves of it when verifying.
 */
#include "resident/ingest.h"

#include <string.h>

#include "core/port.h"
#include "resident/ingest_device.h"

typedef struct ingest {
    ronchi_store *store;
    const ronchi_feed *feed;
    const ronchi_ingest_options *options;
    ronchi_raw_collector *raw;
    bool narrow;
    size_t frame_bytes;      /* of the store */
    uint8_t *frames, *check; /* a block; check_rows rows of one, or a flat one */
    size_t check_rows;
    uint32_t *wide;       /* [threads][n_pixels], when narrowing */
    uint32_t *raw_values; /* [positions of a block][n_flagged], when narrowing */
    size_t *at;           /* [positions of a block] places in frames decoded piece by piece, when they can be */
    size_t piece;         /* counts of a piece in the slot at hand, 0: frames come as a whole */
    ronchi_block block;
    int slot;
} ingest;

/* Stages one group in the background. */
typedef struct reader {
    const ronchi_feed *feed;
    int slot;
    uint64_t first, count;
    ronchi_thread *thread;
    ronchi_status status;
    ronchi_error error;
} reader;

static void reader_main(void *user)
{
    reader *r = user;
    r->status = r->feed->stage(r->feed->user, r->slot, r->first, r->count, &r->error);
}

static void reader_start(reader *r, const ronchi_feed *feed, int slot, const ronchi_block *block)
{
    memset(r, 0, sizeof *r);
    r->feed = feed;
    r->slot = slot;
    r->first = block->stage_first;
    r->count = block->stage_count;
    r->error.offset = RONCHI_NO_OFFSET;
    if (feed->stage && ronchi_thread_start(reader_main, r, &r->thread) != RONCHI_OK)
        reader_main(r); /* no thread to be had: the same work, without the overlap */
}

static ronchi_status reader_wait(reader *r, ronchi_error *err)
{
    ronchi_thread_join(r->thread);
    r->thread = NULL;
    if (r->status != RONCHI_OK && err)
        *err = r->error;
    return r->status;
}

/* -------------------------------------------------------------------------------------------------- one frame */

/* uint32 to uint16: the proof that nothing is lost is the OR of all unflagged counts. */
static ronchi_status narrow_frame(const ingest *in, const uint32_t *wide, size_t j, ronchi_error *err)
{
    uint16_t *to = (uint16_t *)(void *)(in->frames + j * in->frame_bytes);
    const uint8_t *valid = in->options->valid;
    uint32_t all = 0;
    size_t n = in->store->n_pixels;
    for (size_t p = 0; p < n; p++) {
        all |= valid && !valid[p] ? 0 : wide[p];
        to[p] = (uint16_t)wide[p];
    }
    if (all > UINT16_MAX)
        return ronchi_fail(err, RONCHI_ERR_RANGE, in->feed->name, RONCHI_NO_OFFSET,
                           "an unflagged count does not fit 16 bits");
    for (size_t k = 0; k < in->options->n_flagged; k++) {
        uint32_t v = wide[in->options->flagged[k]];
        in->raw_values[j * in->options->n_flagged + k] = v;
        if (v > UINT16_MAX)
            to[in->options->flagged[k]] = 0;
    }
    return RONCHI_OK;
}

static ronchi_status load_frame(void *user, size_t j, size_t worker, ronchi_error *err)
{
    const ingest *in = user;
    const ronchi_ingest_options *options = in->options;
    uint64_t position = ronchi_block_position(&in->block, &in->store->shape, j);
    void *to =
        in->narrow ? (void *)(in->wide + worker * in->store->n_pixels) : (void *)(in->frames + j * in->frame_bytes);
    ronchi_status status = in->feed->frame(in->feed->user, in->slot, position, to, err);
    if (status != RONCHI_OK)
        return status;
    if (options->policy != RONCHI_FLAGGED_KEEP && options->n_flagged)
        ronchi_flagged_correct(&in->store->shape, in->feed->dtype, options->valid, options->flagged, options->n_flagged,
                               options->policy, to);
    return in->narrow ? narrow_frame(in, to, j, err) : RONCHI_OK;
}

/* -------------------------------------------------------------------------------------------------- one block */

static ronchi_status collect_raw(ingest *in, ronchi_error *err)
{
    if (!in->narrow || !in->raw)
        return RONCHI_OK;
    for (size_t j = 0; j < ronchi_block_positions(&in->block); j++) {
        uint64_t position = ronchi_block_position(&in->block, &in->store->shape, j);
        ronchi_status status = ronchi_raw_collect(in->raw, position, in->raw_values + j * in->options->n_flagged);
        if (status != RONCHI_OK)
            return ronchi_fail(err, status, in->feed->name, RONCHI_NO_OFFSET,
                               "no room for the raw values of %zu flagged pixels", in->options->n_flagged);
    }
    return RONCHI_OK;
}

/* Decodes a block again, in parts of its rows, and compares. */
static ronchi_status verify_block(ingest *in, size_t index, ronchi_error *err)
{
    for (size_t row = 0; row < in->block.rows; row += in->check_rows) {
        ronchi_block part = ronchi_block_rows(&in->block, &in->store->shape, row, in->check_rows);
        size_t bytes = ronchi_block_positions(&part) * in->frame_bytes;
        memset(in->check, 0xA5, bytes);
        ronchi_status status = ronchi_store_read_block(in->store, &part, in->check, err);
        if (status != RONCHI_OK)
            return status;
        if (memcmp(in->check, in->frames + row * in->block.cols * in->frame_bytes, bytes) != 0)
            return ronchi_fail(
                err, RONCHI_ERR_INTERNAL, in->feed->name, RONCHI_NO_OFFSET,
                "block %zu decodes differently from what was encoded: nothing was written; please report this", index);
    }
    return RONCHI_OK;
}

/* Room to decode again in: a whole block where the budget has it, else some of its rows. */
static ronchi_status take_check(ingest *in, ronchi_error *err)
{
    ronchi_context *context = in->store->context;
    const ronchi_block block = in->store->profile->block(in->store, 0);
    const uint64_t budget = ronchi_context_budget(context), row = (uint64_t)block.cols * in->frame_bytes;
    const uint64_t held = (uint64_t)ronchi_store_largest_block(in->store) * in->frame_bytes;
    const uint64_t rows = budget > held ? (budget - held) / row : 0;
    if (!rows)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, in->feed->name, RONCHI_NO_OFFSET,
                           "the budget of %llu bytes has no room to decode a block of %llu again: give --budget",
                           (unsigned long long)budget, (unsigned long long)held);
    in->check_rows = rows < block.rows ? (size_t)rows : block.rows;
    in->check = ronchi_decoded_take(context, in->check_rows, (size_t)row);
    if (!in->check)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, in->feed->name, RONCHI_NO_OFFSET,
                           "no memory for a block of %zu frames: give a smaller --budget", in->check_rows * block.cols);
    return RONCHI_OK;
}

static ronchi_status load_piece(void *user, size_t j, size_t piece, void *dst, ronchi_error *err)
{
    const ingest *in = user;
    return in->feed->decode_piece(in->feed->user, in->slot, ronchi_block_position(&in->block, &in->store->shape, j),
                                  piece, &in->at[j], dst, err);
}

/* Pieces are for counts that stay as they are and are not compared; they take no more memory than frames. */
static size_t piece_of(const ingest *in)
{
    const ronchi_profile *profile = in->store->profile;
    bool changed = in->narrow || (in->options->policy != RONCHI_FLAGGED_KEEP && in->options->n_flagged);
    if (!in->at || changed || in->options->verify)
        return 0;
    size_t n = in->feed->pieces(in->feed->user, in->slot);
    uint64_t need = n ? profile->piece_bytes(in->store, n) : 0;
    return need && need <= (uint64_t)ronchi_store_largest_block(in->store) * in->frame_bytes ? n : 0;
}

/* Decodes the frames of in->block and what happens to them before they are encoded. */
static ronchi_status load_block(ingest *in, ronchi_error *err)
{
    ronchi_status status =
        ronchi_parallel_for(in->store->context, ronchi_block_positions(&in->block), load_frame, in, err);
    return status == RONCHI_OK ? collect_raw(in, err) : status;
}

static ronchi_status run_block(ingest *in, size_t index, ronchi_error *err)
{
    if (in->piece) {
        ronchi_pieces pieces = {in->piece, in, load_piece};
        memset(in->at, 0, ronchi_block_positions(&in->block) * sizeof *in->at);
        return in->store->profile->encode_pieces(in->store, index, &pieces, in->frames, err);
    }
    ronchi_status status = load_block(in, err);
    if (status == RONCHI_OK)
        status = in->store->profile->encode_block(in->store, index, in->frames, err);
    if (status == RONCHI_OK && in->options->verify)
        status = verify_block(in, index, err);
    return status;
}

static bool same_group(const ronchi_block *a, const ronchi_block *b)
{
    return a->stage_first == b->stage_first && a->stage_count == b->stage_count;
}

static ronchi_status run_blocks(ingest *in, ronchi_error *err)
{
    const ronchi_profile *profile = in->store->profile;
    size_t n_blocks = profile->n_blocks(in->store), index = 0;
    ronchi_progress progress = {in->options->stage_name, 0, in->store->n_positions, "frames",
                                in->store->n_pixels * ronchi_dtype_size(in->feed->dtype)};
    ronchi_block first = profile->block(in->store, 0);
    reader next;
    reader_start(&next, in->feed, 0, &first);
    ronchi_status status = RONCHI_OK;
    for (int slot = 0; index < n_blocks && status == RONCHI_OK; slot ^= 1) {
        size_t end = index + 1;
        ronchi_block group = profile->block(in->store, index), after = group;
        while (end < n_blocks && (after = profile->block(in->store, end), same_group(&group, &after)))
            end++;
        status = reader_wait(&next, err);
        if (status != RONCHI_OK)
            break;
        if (end < n_blocks)
            reader_start(&next, in->feed, slot ^ 1, &after);
        in->slot = slot;
        in->piece = piece_of(in);
        for (; index < end && status == RONCHI_OK; index++) {
            in->block = profile->block(in->store, index);
            status = run_block(in, index, err);
            progress.done += ronchi_block_positions(&in->block);
            if (status == RONCHI_OK)
                status = ronchi_report(in->store->context, &progress, err);
        }
        if (in->feed->unstage)
            in->feed->unstage(in->feed->user, slot);
    }
    ronchi_thread_join(next.thread);
    for (int slot = 0; in->feed->unstage && slot < 2; slot++)
        in->feed->unstage(in->feed->user, slot);
    return status;
}

/* Room on the host for one block, and what narrowing it takes. */
static ronchi_status take_room(ingest *in, ronchi_error *err)
{
    ronchi_context *context = in->store->context;
    size_t positions = ronchi_store_largest_block(in->store), threads = ronchi_context_threads(context), bytes, raw;
    bool fits = ronchi_mul(positions, in->frame_bytes, &bytes) && ronchi_mul(positions, in->options->n_flagged, &raw);
    if (fits)
        in->frames = ronchi_decoded_take(context, 1, bytes);
    if (in->frames)
        ronchi_large_pages(in->frames, bytes);
    if (fits && in->feed->pieces && in->store->profile->encode_pieces)
        in->at = ronchi_calloc(context, positions, sizeof *in->at);
    if (fits && in->narrow) {
        in->wide = ronchi_calloc(context, threads * in->store->n_pixels, sizeof *in->wide);
        in->raw_values = ronchi_calloc(context, raw ? raw : 1, sizeof *in->raw_values);
    }
    if (!in->frames || (in->narrow && (!in->wide || !in->raw_values)))
        return ronchi_fail(err, RONCHI_ERR_MEMORY, in->feed->name, RONCHI_NO_OFFSET,
                           "no memory for a block of %zu frames: give a smaller --budget", positions);
    return in->options->verify ? take_check(in, err) : RONCHI_OK;
}

/* -------------------------------------------------------------------------------------------------- on a device */

static ronchi_block device_block(void *user, size_t index)
{
    const ingest *in = user;
    return in->store->profile->block(in->store, index);
}

static ronchi_status device_encode(void *user, size_t index, const void *frames, ronchi_cuda_stream stream,
                                   ronchi_error *err)
{
    ingest *in = user;
    return in->store->profile->encode_frames(in->store, index, frames, stream, err);
}

/* A block that the device could not decode, as if it had never been there: with the errors of this way. */
static ronchi_status device_rescue(void *user, size_t index, const void **frames, ronchi_error *err)
{
    ingest *in = user;
    ronchi_status status = in->frames ? RONCHI_OK : take_room(in, err);
    if (status != RONCHI_OK)
        return status;
    in->block = device_block(in, index);
    in->slot = 0;
    status = in->feed->stage(in->feed->user, 0, in->block.stage_first, in->block.stage_count, err);
    if (status == RONCHI_OK)
        status = load_block(in, err);
    in->feed->unstage(in->feed->user, 0);
    *frames = in->frames;
    return status;
}

static ronchi_status run_on_device(ingest *in, ronchi_error *err)
{
    ronchi_device_ingest how = {.context = in->store->context,
                                .device = ronchi_context_device(in->store->context),
                                .source = in->feed->source,
                                .dtype = in->store->dtype,
                                .options = in->options,
                                .raw = in->raw,
                                .n_blocks = in->store->profile->n_blocks(in->store),
                                .block = device_block,
                                .encode = device_encode,
                                .rescue = device_rescue,
                                .user = in};
    return ronchi_device_ingest_run(&how, err);
}

const char *ronchi_ingest_why_host(ronchi_store *store, const ronchi_feed *feed, const ronchi_ingest_options *options)
{
    if (store->place != RONCHI_CUDA)
        return NULL;
    if (!store->profile->encode_frames || store->profile->encode_frames(store, 0, NULL, NULL, NULL) != RONCHI_OK)
        return "they are encoded there";
    if (!feed->source || !feed->stage || !feed->unstage)
        return "they lie in memory";
    return ronchi_device_ingest_why_not(feed->source, ronchi_context_device(store->context), options);
}

ronchi_status ronchi_ingest(ronchi_store *store, const ronchi_feed *feed, const ronchi_ingest_options *options,
                            ronchi_raw_collector *raw, ronchi_error *err)
{
    ronchi_context *context = store->context;
    ronchi_status status;
    ingest in;
    memset(&in, 0, sizeof in);
    in.store = store;
    in.feed = feed;
    in.options = options;
    in.raw = raw;
    in.narrow = store->dtype != feed->dtype;
    in.frame_bytes = store->n_pixels * ronchi_dtype_size(store->dtype);
    if (store->place == RONCHI_CUDA && !ronchi_ingest_why_host(store, feed, options)) {
        status = run_on_device(&in, err);
    } else {
        status = take_room(&in, err);
        if (status == RONCHI_OK)
            status = run_blocks(&in, err);
    }
    ronchi_decoded_give(context, in.frames);
    ronchi_decoded_give(context, in.check);
    ronchi_free(context, in.at);
    ronchi_free(context, in.wide);
    ronchi_free(context, in.raw_values);
    return status == RONCHI_OK ? store->profile->finish(store, err) : status;
}
