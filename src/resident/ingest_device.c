/* SPDX-License-Identifier: MIT */
/*
 * ingest_device.c - see the header.
 *
 * Two slots take turns.  Filling a slot is: reading the block's stored bytes into page-locked memory, by all workers,
 * and enqueueing copy, decoding and narrowing on the slot's stream.  One thread fills the next slot while the calling
 * thread waits for this one's frames and encodes them; so the file, the copy engine and the device work at once.
 */
#include "resident/ingest_device.h"

#include <stdlib.h>
#include <string.h>

#include "core/port.h"
#include "formats/bslz4_cuda.h"
#include "resident/ingest_cuda.h"

enum {
    GAP = 4096,        /* bytes between neighbours that are read along */
    PIECE = 512 << 10, /* bytes of one read */
    OPEN_FILES = 128
};

/* One read: bytes of a file to a place in the slot. */
typedef struct piece {
    uint32_t file;
    uint64_t offset;
    size_t at, size;
} piece;

/* One block on its way. */
typedef struct slot {
    ronchi_cuda_stream stream;
    ronchi_cuda_event done;
    uint8_t *pinned, *staged; /* host and device: the table of chunks, then stored bytes */
    size_t room;              /* of both */
    uint8_t *frames, *wide;   /* device; wide: frames before they are narrowed, or NULL */
    uint32_t *slots;          /* device, the decoder's scratch */
    uint64_t *verdict;        /* device [2]: the decoder's fault word; whether a count does not fit */
    uint32_t *raw;            /* device [positions][n_flagged] */
    uint64_t *seen;           /* page-locked: the verdict, then the raw values */
} slot;

typedef struct run {
    const ronchi_device_ingest *how;
    const ronchi_cuda_table *table;
    size_t n_pixels, from_bytes, to_bytes; /* of a frame, as decoded and as encoded */
    size_t positions;                      /* of the largest block */
    size_t at_once;                        /* of those, decoded before they are narrowed; all, when they are not */
    bool narrow;
    ronchi_ingest_frames about;
    ronchi_stored_frame *places; /* [positions] */
    piece *pieces;
    size_t n_pieces, room_pieces;
    ronchi_input *files; /* [n_files], fd -1: not open */
    uint32_t n_files, n_open;
    slot slots[2];
    /* The filling of the next slot. */
    ronchi_thread *thread;
    size_t index;
    slot *to;
    ronchi_status status;
    ronchi_error error;
} run;

/* ------------------------------------------------------------------------------------------------- what can be done */

const char *ronchi_device_ingest_why_not(ronchi_source *source, const ronchi_device *device,
                                         const ronchi_ingest_options *options)
{
    enum { STEP = 4096 };
    const ronchi_format *format = source->format;
    size_t pixels, bytes;
    if (!device->table->bslz4 || !device->table->ingest)
        return "the CUDA part decodes no chunks";
    if (!format->locate || !format->file)
        return "its frames are no chunks of their own";
    if (source->dtype != RONCHI_U8 && source->dtype != RONCHI_U16 && source->dtype != RONCHI_U32)
        return "its values are no counts";
    if (options->verify)
        return "each block is compared on the host";
    if (!ronchi_shape_detector(&source->shape, &pixels) || pixels > UINT32_MAX ||
        !ronchi_mul(pixels, ronchi_dtype_size(source->dtype), &bytes) || bytes > RONCHI_BSLZ4_MOST_BYTES)
        return "its frames are too large";
    ronchi_stored_frame *places = malloc(STEP * sizeof *places);
    bool known = places != NULL;
    for (uint64_t first = 0; known && first < source->frames_stored; first += STEP) {
        uint64_t rest = source->frames_stored - first, n = rest < STEP ? rest : STEP;
        if (format->locate(source, first, n, places, &known, NULL) != RONCHI_OK)
            known = false;
        for (uint64_t i = 0; known && i < n; i++)
            known = places[i].size <= RONCHI_BSLZ4_MOST_BYTES;
    }
    free(places);
    return known ? NULL : "its chunks are of a kind that only the host decodes";
}

uint64_t ronchi_device_ingest_bytes(const ronchi_source *source, ronchi_dtype dtype, size_t positions)
{
    uint64_t pixels = (uint64_t)source->shape.det_rows * source->shape.det_cols,
             from = pixels * ronchi_dtype_size(source->dtype), to = pixels * ronchi_dtype_size(dtype);
    uint64_t frames = 2 * positions * to;
    if (source->dtype != dtype) /* wide frames take what is left of the budget */
        frames = ronchi_context_budget(source->context) > frames ? ronchi_context_budget(source->context) : frames;
    return frames + 2 * positions * (from + from / 4 + 2 * GAP); /* stored bytes: what an honest chunk can have */
}

/* --------------------------------------------------------------------------------------------------------- files */

static void close_files(run *r)
{
    for (uint32_t i = 0; r->files && i < r->n_files; i++)
        if (r->files[i].fd >= 0)
            ronchi_input_close(&r->files[i]);
    r->n_open = 0;
}

static ronchi_status need_file(run *r, uint32_t file, ronchi_error *err)
{
    const ronchi_source *source = r->how->source;
    if (file >= r->n_files) {
        ronchi_input *more = realloc(r->files, ((size_t)file + 1) * sizeof *more);
        if (!more)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, source->path, RONCHI_NO_OFFSET, "no memory");
        for (r->files = more; r->n_files <= file; r->n_files++)
            r->files[r->n_files].fd = -1;
    }
    if (r->files[file].fd >= 0)
        return RONCHI_OK;
    const char *path = source->format->file(source, file);
    ronchi_status status = path ? ronchi_input_open(path, &r->files[file], err) : RONCHI_ERR_INTERNAL;
    r->n_open += status == RONCHI_OK;
    return status;
}

/* ------------------------------------------------------------------------------------------------------ one block */

/* The places of a block's frames, row by row of its rectangle. */
static ronchi_status locate_block(run *r, const ronchi_block *block, ronchi_error *err)
{
    ronchi_source *source = r->how->source;
    size_t n = ronchi_block_positions(block);
    for (size_t j = 0; j < n;) {
        uint64_t frame = ronchi_source_frame(source, ronchi_block_position(block, &source->shape, j));
        size_t count = 1;
        while (j + count < n &&
               ronchi_source_frame(source, ronchi_block_position(block, &source->shape, j + count)) == frame + count)
            count++;
        bool known = false;
        ronchi_status status = source->format->locate(source, frame, count, r->places + j, &known, err);
        if (status != RONCHI_OK)
            return status;
        if (!known)
            return ronchi_fail(err, RONCHI_ERR_INTERNAL, source->path, RONCHI_NO_OFFSET,
                               "the places of %zu frames are not known any more", count);
        j += count;
    }
    return RONCHI_OK;
}

static ronchi_status add_piece(run *r, uint32_t file, uint64_t offset, size_t at, size_t size, ronchi_error *err)
{
    while (size) {
        size_t n = ronchi_min_size(size, PIECE);
        if (r->n_pieces == r->room_pieces) {
            size_t room = 2 * r->room_pieces + 256;
            piece *more = realloc(r->pieces, room * sizeof *more);
            if (!more)
                return ronchi_fail(err, RONCHI_ERR_MEMORY, r->how->source->path, RONCHI_NO_OFFSET, "no memory");
            r->pieces = more;
            r->room_pieces = room;
        }
        r->pieces[r->n_pieces++] = (piece){file, offset, at, n};
        offset += n;
        at += n;
        size -= n;
    }
    return RONCHI_OK;
}

static size_t table_bytes(size_t n)
{
    return (n * sizeof(ronchi_bslz4_chunk) + 255) / 256 * 256;
}

/*
 * Plans the reads of n frames whose places are known: neighbours in one stretch.  *total is what the slot must hold;
 * froms[j], relative to the stored bytes, go to 'from'.
 */
static ronchi_status plan_reads(run *r, size_t n, uint64_t *from, size_t *total, ronchi_error *err)
{
    const ronchi_stored_frame *at = r->places;
    ronchi_status status = RONCHI_OK;
    size_t bytes = 0;
    r->n_pieces = 0;
    for (size_t i = 0; status == RONCHI_OK && i < n;) {
        uint64_t start = at[i].offset, end = start + at[i].size;
        size_t j = i;
        from[i] = bytes;
        while (j + 1 < n && at[j + 1].file == at[i].file && at[j + 1].offset >= end && at[j + 1].offset - end <= GAP) {
            j++;
            from[j] = bytes + (at[j].offset - start);
            end = at[j].offset + at[j].size;
        }
        status = need_file(r, at[i].file, err);
        if (status == RONCHI_OK)
            status = add_piece(r, at[i].file, start, bytes, (size_t)(end - start), err);
        bytes += (size_t)(end - start);
        i = j + 1;
    }
    *total = bytes;
    return status;
}

static ronchi_status read_piece(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const run *r = user;
    const piece *p = &r->pieces[item];
    (void)worker;
    return ronchi_input_read(&r->files[p->file], p->offset, r->to->pinned + table_bytes(r->positions) + p->at, p->size,
                             err);
}

static ronchi_status grow(run *r, slot *s, size_t need, ronchi_error *err)
{
    ronchi_device *device = r->how->device;
    void *pinned = NULL, *staged = NULL;
    if (need <= s->room)
        return RONCHI_OK;
    r->table->pinned_give(device, s->pinned);
    r->table->memory_give(device, s->staged, s->room);
    s->pinned = s->staged = NULL;
    s->room = 0;
    need += need / 8;
    ronchi_status status = r->table->memory_take(device, need, &staged, err);
    if (status == RONCHI_OK) {
        s->staged = staged;
        s->room = need;
        status = r->table->pinned_take(device, need, &pinned, err);
        s->pinned = pinned;
    }
    return status;
}

/* Enqueues decoding of frames first..first+n-1 and what happens to them before they are encoded. */
static ronchi_status enqueue_frames(run *r, slot *s, size_t first, size_t n, size_t stored, bool others,
                                    ronchi_error *err)
{
    ronchi_device *device = r->how->device;
    const ronchi_cuda_table *t = r->table;
    ronchi_bslz4_batch batch = {.bytes = s->staged + table_bytes(r->positions),
                                .n_bytes = stored,
                                .chunks = (const ronchi_bslz4_chunk *)(const void *)s->staged + first,
                                .n_chunks = n,
                                .element = ronchi_dtype_size(r->how->source->dtype),
                                .chunk_bytes = r->from_bytes,
                                .others = others,
                                .swap = r->places[0].swap,
                                .out = r->narrow ? s->wide : s->frames,
                                .out_bytes = n * r->from_bytes,
                                .slots = s->slots,
                                .fault = s->verdict};
    ronchi_ingest_frames about = r->about;
    about.n_frames = n;
    ronchi_status status = t->bslz4->decode(device, s->stream, &batch, err);
    if (status == RONCHI_OK && r->how->options->policy != RONCHI_FLAGGED_KEEP)
        status = t->ingest->correct(device, s->stream, &about, r->how->options->policy == RONCHI_FLAGGED_MEDIAN,
                                    batch.element, batch.out, err);
    if (status == RONCHI_OK && r->narrow)
        status = t->ingest->narrow(device, s->stream, &about, (const uint32_t *)(const void *)s->wide,
                                   (uint16_t *)(void *)(s->frames + first * r->to_bytes),
                                   s->raw + first * about.n_flagged, (uint32_t *)(void *)(s->verdict + 1), err);
    return status;
}

/* Enqueues everything for a slot whose stored bytes have been read. */
static ronchi_status enqueue(run *r, slot *s, size_t n, size_t stored, bool others, ronchi_error *err)
{
    ronchi_device *device = r->how->device;
    const ronchi_cuda_table *t = r->table;
    s->seen[0] = RONCHI_BSLZ4_SOUND;
    s->seen[1] = 0;
    ronchi_status status = t->copy(device, s->stream, s->verdict, s->seen, 2 * sizeof *s->seen, err);
    if (status == RONCHI_OK)
        status = t->copy(device, s->stream, s->staged, s->pinned, table_bytes(r->positions) + stored, err);
    for (size_t first = 0; status == RONCHI_OK && first < n; first += r->at_once)
        status = enqueue_frames(r, s, first, ronchi_min_size(r->at_once, n - first), stored, others, err);
    if (status == RONCHI_OK)
        status = t->copy(device, s->stream, s->seen, s->verdict, 2 * sizeof *s->seen, err);
    if (status == RONCHI_OK && r->narrow && r->how->raw && r->about.n_flagged)
        status = t->copy(device, s->stream, s->seen + 2, s->raw, n * r->about.n_flagged * sizeof *s->raw, err);
    return status == RONCHI_OK ? t->event_record(device, s->done, s->stream, err) : status;
}

static ronchi_status fill(run *r, ronchi_error *err)
{
    slot *s = r->to;
    ronchi_block block = r->how->block(r->how->user, r->index);
    size_t n = ronchi_block_positions(&block), stored = 0;
    bool others = false;
    uint64_t *from = malloc(n * sizeof *from);
    if (r->n_open > OPEN_FILES)
        close_files(r);
    ronchi_status status = from ? locate_block(r, &block, err)
                                : ronchi_fail(err, RONCHI_ERR_MEMORY, r->how->source->path, RONCHI_NO_OFFSET,
                                              "no memory for %zu places", n);
    if (status == RONCHI_OK)
        status = plan_reads(r, n, from, &stored, err);
    if (status == RONCHI_OK)
        status = grow(r, s, table_bytes(r->positions) + stored, err);
    if (status == RONCHI_OK) {
        ronchi_bslz4_chunk *chunks = (ronchi_bslz4_chunk *)(void *)s->pinned;
        for (size_t j = 0; j < n; j++) {
            chunks[j] =
                (ronchi_bslz4_chunk){from[j], j % r->at_once * r->from_bytes, r->places[j].size, r->places[j].coding};
            others = others || r->places[j].coding != RONCHI_CODING_BSLZ4;
            if (r->places[j].swap != r->places[0].swap)
                status = ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, r->how->source->path, RONCHI_NO_OFFSET,
                                     "data files of both byte orders: use --device cpu");
        }
    }
    free(from);
    if (status == RONCHI_OK)
        status = ronchi_parallel_for(r->how->context, r->n_pieces, read_piece, r, err);
    return status == RONCHI_OK ? enqueue(r, s, n, stored, others, err) : status;
}

static void fill_main(void *user)
{
    run *r = user;
    r->status = fill(r, &r->error);
}

static void fill_start(run *r, size_t index)
{
    memset(&r->error, 0, sizeof r->error);
    r->error.offset = RONCHI_NO_OFFSET;
    r->index = index;
    r->to = &r->slots[index % 2];
    r->thread = NULL;
    if (ronchi_thread_start(fill_main, r, &r->thread) != RONCHI_OK) {
        r->thread = NULL;
        fill_main(r); /* the same work, without the overlap */
    }
}

static ronchi_status fill_wait(run *r, ronchi_error *err)
{
    ronchi_thread_join(r->thread);
    r->thread = NULL;
    if (r->status != RONCHI_OK && err)
        *err = r->error;
    return r->status;
}

/* The slot's frames are there: judge them, and take the raw values. */
static ronchi_status judge(run *r, slot *s, size_t index, ronchi_error *err)
{
    const ronchi_device_ingest *how = r->how;
    const void *frames = NULL;
    ronchi_block block = how->block(how->user, index);
    size_t n = ronchi_block_positions(&block);
    ronchi_status status = r->table->event_wait(how->device, s->done, err);
    if (status != RONCHI_OK)
        return status;
    if (s->seen[0] != RONCHI_BSLZ4_SOUND) { /* the host says what is wrong, or decodes what only it can */
        ronchi_thread_join(r->thread);      /* the source serves one thread */
        r->thread = NULL;
        status = how->rescue(how->user, index, &frames, err);
        if (status == RONCHI_OK)
            status = r->table->copy(how->device, s->stream, s->frames, frames, n * r->to_bytes, err);
        return status == RONCHI_OK ? r->table->stream_wait(how->device, s->stream, err) : status;
    }
    if (s->seen[1] != 0)
        return ronchi_fail(err, RONCHI_ERR_RANGE, how->source->path, RONCHI_NO_OFFSET,
                           "an unflagged count does not fit 16 bits");
    const uint32_t *raw = (const uint32_t *)(const void *)(s->seen + 2);
    for (size_t j = 0; status == RONCHI_OK && r->narrow && how->raw && j < n; j++)
        status = ronchi_raw_collect(how->raw, ronchi_block_position(&block, &how->source->shape, j),
                                    raw + j * how->options->n_flagged);
    if (status != RONCHI_OK)
        return ronchi_fail(err, status, how->source->path, RONCHI_NO_OFFSET,
                           "no room for the raw values of %zu flagged pixels", how->options->n_flagged);
    return RONCHI_OK;
}

static ronchi_status run_blocks(run *r, ronchi_error *err)
{
    const ronchi_device_ingest *how = r->how;
    ronchi_progress progress = {how->options->stage_name, 0,
                                (uint64_t)how->source->shape.scan_rows * how->source->shape.scan_cols, "frames",
                                r->from_bytes};
    ronchi_status status = RONCHI_OK;
    fill_start(r, 0);
    for (size_t i = 0; status == RONCHI_OK && i < how->n_blocks; i++) {
        slot *s = &r->slots[i % 2];
        status = fill_wait(r, err);
        if (status != RONCHI_OK)
            break;
        if (i + 1 < how->n_blocks)
            fill_start(r, i + 1);
        status = judge(r, s, i, err);
        if (status == RONCHI_OK)
            status = how->encode(how->user, i, s->frames, s->stream, err);
        ronchi_block block = how->block(how->user, i);
        progress.done += ronchi_block_positions(&block);
        if (status == RONCHI_OK)
            status = ronchi_report(how->context, &progress, err);
    }
    ronchi_thread_join(r->thread);
    r->thread = NULL;
    return status;
}

/* ---------------------------------------------------------------------------------------------- what is taken for it
 */

static ronchi_status take(run *r, size_t bytes, void *out, ronchi_error *err)
{
    void *memory = NULL;
    ronchi_status status = r->table->memory_take(r->how->device, bytes, &memory, err);
    memcpy(out, &memory, sizeof memory);
    return status;
}

static ronchi_status open_slot(run *r, slot *s, ronchi_error *err)
{
    ronchi_device *device = r->how->device;
    size_t n = r->positions, n_raw = r->narrow ? n * r->about.n_flagged : 0;
    void *seen = NULL;
    ronchi_status status = r->table->stream_open(device, &s->stream, err);
    if (status == RONCHI_OK)
        status = r->table->event_open(device, &s->done, err);
    if (status == RONCHI_OK)
        status = take(r, n * r->to_bytes, &s->frames, err);
    if (status == RONCHI_OK && r->narrow)
        status = take(r, r->at_once * r->from_bytes, &s->wide, err);
    if (status == RONCHI_OK)
        status = take(r, n * ronchi_bslz4_slots(r->from_bytes) * sizeof *s->slots, &s->slots, err);
    if (status == RONCHI_OK)
        status = take(r, 2 * sizeof *s->verdict, &s->verdict, err);
    if (status == RONCHI_OK)
        status = take(r, n_raw * sizeof *s->raw, &s->raw, err);
    if (status == RONCHI_OK)
        status = r->table->pinned_take(device, 2 * sizeof *s->seen + n_raw * sizeof *s->raw, &seen, err);
    s->seen = seen;
    return status;
}

static void close_slot(run *r, slot *s)
{
    ronchi_device *device = r->how->device;
    size_t n = r->positions, n_raw = r->narrow ? n * r->about.n_flagged : 0;
    if (s->stream)
        (void)r->table->stream_wait(device, s->stream, NULL); /* nothing may still use what is given back */
    r->table->pinned_give(device, s->pinned);
    r->table->memory_give(device, s->staged, s->room);
    r->table->memory_give(device, s->frames, n * r->to_bytes);
    r->table->memory_give(device, s->wide, r->at_once * r->from_bytes);
    r->table->memory_give(device, s->slots, n * ronchi_bslz4_slots(r->from_bytes) * sizeof *s->slots);
    r->table->memory_give(device, s->verdict, 2 * sizeof *s->verdict);
    r->table->memory_give(device, s->raw, n_raw * sizeof *s->raw);
    r->table->pinned_give(device, s->seen);
    if (s->done)
        r->table->event_close(device, s->done);
    r->table->stream_close(device, s->stream);
}

/* The pixel mask and the list of flagged pixels go to the device once. */
static ronchi_status open_about(run *r, ronchi_error *err)
{
    const ronchi_ingest_options *o = r->how->options;
    ronchi_device *device = r->how->device;
    ronchi_cuda_stream stream = r->slots[0].stream;
    uint8_t *valid = NULL;
    uint32_t *flagged = NULL, *list = NULL;
    if (!o->n_flagged)
        return RONCHI_OK;
    ronchi_status status = take(r, r->n_pixels, &valid, err);
    r->about.valid = valid;
    if (status == RONCHI_OK)
        status = take(r, o->n_flagged * sizeof *flagged, &flagged, err);
    r->about.flagged = flagged;
    list = malloc(o->n_flagged * sizeof *list);
    if (status == RONCHI_OK && !list)
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, r->how->source->path, RONCHI_NO_OFFSET, "no memory");
    for (size_t k = 0; list && k < o->n_flagged; k++)
        list[k] = (uint32_t)o->flagged[k];
    if (status == RONCHI_OK)
        status = r->table->copy(device, stream, valid, o->valid, r->n_pixels, err);
    if (status == RONCHI_OK)
        status = r->table->copy(device, stream, flagged, list, o->n_flagged * sizeof *flagged, err);
    if (status == RONCHI_OK)
        status = r->table->stream_wait(device, stream, err);
    free(list);
    return status;
}

static void close_run(run *r)
{
    union {
        const void *given;
        void *memory;
    } valid = {r->about.valid}, flagged = {r->about.flagged};
    close_slot(r, &r->slots[0]);
    close_slot(r, &r->slots[1]);
    r->table->memory_give(r->how->device, valid.memory, r->n_pixels);
    r->table->memory_give(r->how->device, flagged.memory, r->about.n_flagged * sizeof *r->about.flagged);
    close_files(r);
    free(r->files);
    free(r->pieces);
    free(r->places);
}

/* Two blocks to encode, and what the budget leaves for frames that are still wide. */
static ronchi_status plan_budget(run *r, ronchi_error *err)
{
    uint64_t budget = ronchi_context_budget(r->how->context), least = 2 * (uint64_t)r->positions * r->to_bytes;
    r->at_once = r->positions;
    if (r->narrow && least <= budget) {
        uint64_t fit = (budget - least) / 2 / r->from_bytes;
        r->at_once = fit < r->positions ? (size_t)fit : r->positions;
    }
    if (least <= budget && r->at_once > 0)
        return RONCHI_OK;
    least += r->narrow ? 2 * r->from_bytes : 0;
    return ronchi_fail(err, RONCHI_ERR_MEMORY, r->how->source->path, RONCHI_NO_OFFSET,
                       "loading on a device holds %llu bytes of decoded counts: give --budget %lluM",
                       (unsigned long long)least, (unsigned long long)(least >> 20) + 1);
}

ronchi_status ronchi_device_ingest_run(const ronchi_device_ingest *how, ronchi_error *err)
{
    run r;
    memset(&r, 0, sizeof r);
    r.how = how;
    r.table = how->device->table;
    r.n_pixels = how->source->shape.det_rows * how->source->shape.det_cols;
    r.from_bytes = r.n_pixels * ronchi_dtype_size(how->source->dtype);
    r.to_bytes = r.n_pixels * ronchi_dtype_size(how->dtype);
    r.narrow = how->dtype != how->source->dtype;
    r.about.n_pixels = r.n_pixels;
    r.about.det_cols = how->source->shape.det_cols;
    r.about.n_flagged = how->options->n_flagged;
    for (size_t i = 0; i < how->n_blocks; i++) {
        ronchi_block block = how->block(how->user, i);
        size_t n = ronchi_block_positions(&block);
        r.positions = n > r.positions ? n : r.positions;
    }
    ronchi_status status = plan_budget(&r, err);
    if (status != RONCHI_OK)
        return status;
    r.places = calloc(r.positions ? r.positions : 1, sizeof *r.places);
    status = r.places ? open_slot(&r, &r.slots[0], err)
                      : ronchi_fail(err, RONCHI_ERR_MEMORY, how->source->path, RONCHI_NO_OFFSET,
                                    "no memory for %zu places", r.positions);
    if (status == RONCHI_OK)
        status = open_slot(&r, &r.slots[1], err);
    if (status == RONCHI_OK)
        status = open_about(&r, err);
    if (status == RONCHI_OK)
        status = run_blocks(&r, err);
    close_run(&r);
    return status;
}
