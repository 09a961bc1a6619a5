/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode_pieces.c - a scan rectangle of frames that are decoded piece by piece becomes one chunk.
 *
 * Frames are never there as a whole: the same piece of all frames is decoded, turned to [pixel][position] and encoded
 * while it is in the caches, then the next.  The counts lie in a ring of bands, each a row of tiles: as many as a piece
 * reaches into, and one that the piece before has begun.
 */
#include <string.h>

#include "codec/lane_rans_encode_job.h"

#if defined(__GNUC__)
#define WILL_WRITE(at) __builtin_prefetch(at, 1, 2)
#else
#define WILL_WRITE(at) ((void)(at))
#endif

enum { ROW_GAP = 64 /* bytes between pieces of neighbouring positions: no power of two apart */ };

typedef struct piece_job {
    ronchi_lane_job job;
    const ronchi_pieces *pieces;
    uint16_t *ring; /* [n_slots][band_pixels][pitch] */
    size_t n_slots, band_pixels;
    size_t piece; /* being decoded */
    size_t band;  /* the first of those being encoded */
} piece_job;

static size_t band_pixels_of(const ronchi_lane_layout *l)
{
    return l->tile_rows * l->shape.det_cols;
}

static size_t slots_of(const ronchi_lane_layout *l, size_t n_counts)
{
    return ronchi_min_size(ronchi_div_up(n_counts, band_pixels_of(l)) + 1, l->tiles_down);
}

uint64_t ronchi_lane_piece_bytes(const ronchi_store *base, size_t n_counts)
{
    const ronchi_lane_layout *l = &((const ronchi_lane_store *)base)->layout;
    const size_t most = sizeof((ronchi_lane_thread *)0)->counts / LANE_LINE - ROW_GAP;
    if (l->value_bytes > 2 || n_counts == 0 || n_counts > most / l->value_bytes)
        return 0;
    ronchi_lane_cut rect = ronchi_lane_rect(l, 0);
    return (uint64_t)slots_of(l, n_counts) * band_pixels_of(l) * ronchi_lane_pitch(rect.rows * rect.cols) * 2;
}

static uint16_t *pixel_at(const piece_job *work, size_t pixel)
{
    size_t slot = pixel / work->band_pixels % work->n_slots;
    return work->ring + (slot * work->band_pixels + pixel % work->band_pixels) * work->job.pitch;
}

/*
 * n positions of a row of pixels within a band, to the ring.  No cache near holds the ring, and its lines lie far
 * apart: they are asked for some strips before they are written, which takes half of the time.
 */
static void turn(const piece_job *work, const uint8_t *from, size_t row, size_t n, size_t pixels, uint16_t *to)
{
    enum { STRIP = 16, AHEAD = 64 };
    const ronchi_lane_job *job = &work->job;
    const size_t size = job->store->layout.value_bytes, pitch = job->pitch;
    for (size_t p = 0; p < pixels; p += STRIP) {
        for (size_t i = p + AHEAD; i < ronchi_min_size(p + AHEAD + STRIP, pixels); i++)
            WILL_WRITE(to + i * pitch);
        (size == 2 ? job->kernels->transpose16 : job->kernels->widen8)(from + p * size, (ptrdiff_t)row, n,
                                                                       ronchi_min_size(STRIP, pixels - p),
                                                                       to + p * pitch, (ptrdiff_t)(pitch * sizeof *to));
    }
}

/* One piece of LANE_LINE positions, to the ring. */
static ronchi_status decode_line(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const piece_job *work = user;
    const ronchi_lane_job *job = &work->job;
    const size_t size = job->store->layout.value_bytes, n_counts = work->pieces->n_counts;
    const size_t row = n_counts * size + ROW_GAP, first = item * LANE_LINE;
    const size_t count = ronchi_min_size(LANE_LINE, job->n_positions - first);
    uint8_t *rows = job->threads[worker].counts.bytes;
    for (size_t i = 0; i < count; i++) {
        ronchi_status status = work->pieces->decode(work->pieces->user, first + i, work->piece, rows + i * row, err);
        if (status != RONCHI_OK)
            return status;
    }
    const size_t begin = work->piece * n_counts, end = ronchi_min_size(begin + n_counts, job->store->base.n_pixels);
    for (size_t pixel = begin, next; pixel < end; pixel = next) { /* a band's share at a time */
        next = ronchi_min_size((pixel / work->band_pixels + 1) * work->band_pixels, end);
        turn(work, rows + (pixel - begin) * size, row, count, next - pixel, pixel_at(work, pixel) + first);
    }
    return RONCHI_OK;
}

static ronchi_status encode_tile(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const piece_job *work = user;
    const ronchi_lane_layout *l = &work->job.store->layout;
    size_t tile = work->band * l->tiles_across + item;
    ronchi_lane_cut cut = ronchi_lane_tile(l, tile);
    return ronchi_lane_job_tile(&work->job, tile, pixel_at(work, cut.row * l->shape.det_cols + cut.col),
                                l->shape.det_cols, worker, err);
}

static ronchi_status run(piece_job *work, ronchi_error *err)
{
    const ronchi_lane_job *job = &work->job;
    const ronchi_lane_layout *l = &job->store->layout;
    ronchi_context *context = job->store->base.context;
    const size_t n = job->store->base.n_pixels, n_counts = work->pieces->n_counts;
    const size_t lines = ronchi_div_up(job->n_positions, LANE_LINE), pad = job->pitch - LANE_LINE - job->n_positions;
    for (size_t p = 0; pad && p < work->n_slots * work->band_pixels; p++)
        memset(work->ring + p * job->pitch + job->n_positions, 0, pad * sizeof *work->ring);
    ronchi_status status = RONCHI_OK;
    for (work->piece = 0; status == RONCHI_OK && work->piece * n_counts < n; work->piece++) {
        status = ronchi_parallel_for(context, lines, decode_line, work, err);
        size_t done = ronchi_min_size((work->piece + 1) * n_counts, n);
        size_t bands = done == n ? l->tiles_down : done / work->band_pixels;
        if (status == RONCHI_OK)
            status = ronchi_parallel_for(context, (bands - work->band) * l->tiles_across, encode_tile, work, err);
        work->band = bands;
    }
    return status;
}

ronchi_status ronchi_lane_encode_pieces(ronchi_store *base, size_t index, const ronchi_pieces *pieces, void *scratch,
                                        ronchi_error *err)
{
    ronchi_lane_store *store = (ronchi_lane_store *)base;
    piece_job work = {.pieces = pieces,
                      .ring = scratch,
                      .n_slots = slots_of(&store->layout, pieces->n_counts),
                      .band_pixels = band_pixels_of(&store->layout)};
    ronchi_status status = ronchi_lane_job_begin(store, index, &work.job, err);
    if (status == RONCHI_OK)
        status = run(&work, err);
    return ronchi_lane_job_end(&work.job, status, err);
}
