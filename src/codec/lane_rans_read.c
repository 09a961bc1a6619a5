/* SPDX-License-Identifier: MIT */
/* lane_rans_read.c - regions of a lane-rans-v1 store into any strided view. */
#include <string.h>

#include "codec/lane_rans.h"

enum {
    COUNTS = LANE_TILE * LANE_SPAN, /* of a stream of a tile */
    NEAR_BYTES = 4 << 20            /* a band above this is written past the caches */
};

typedef struct band_job {
    const ronchi_lane_store *store;
    const ronchi_kernels *kernels;
    const ronchi_region *region;
    const ronchi_view *out;
    size_t rect_row, rect_col, rects_across; /* rectangles that the region touches */
    size_t tile_row, tile_col, tiles_down, tiles_across;
    size_t lead;   /* tiles before the first whole line of the output */
    size_t middle; /* groups of whole lines */
    size_t groups; /* of tiles that are decoded together, in a row of tiles */
    bool joined;   /* the last tiles of a row share lines with the first of the next row */
    bool past;     /* whole lines go past the caches */
    size_t wide;   /* bytes of a decoded count */
    char *counts;  /* [threads][LANE_ABREAST][COUNTS] of them and 16 bytes more */
} band_job;

/* Tiles whose rows lie beside each other in memory: 'n' from 'first' on, 'more' from the row's beginning. */
typedef struct group {
    size_t first, n, more;
} group;

static group group_of(const band_job *job, size_t g)
{
    const size_t tail = job->lead + LANE_ABREAST * job->middle;
    if (g < job->middle)
        return (group){job->lead + LANE_ABREAST * g, LANE_ABREAST, 0};
    if (g == job->middle && tail < job->tiles_across)
        return (group){tail, job->tiles_across - tail, job->joined ? job->lead : 0};
    return (group){0, job->lead, 0};
}

/* Cuts a row of tiles into groups that fill lines of the output. */
static void find_groups(band_job *job)
{
    const ronchi_view *out = job->out;
    const ronchi_region *r = job->region;
    const size_t line = 16 * LANE_ABREAST, at = (uintptr_t)out->data % line;
    const bool wide = r->scan_rows * r->scan_cols * r->det_rows * r->det_cols * 2 > (size_t)NEAR_BYTES;
    bool aligned = job->store->layout.value_bytes < 4 && job->store->layout.tile_cols == 8 &&
                   out->dtype == RONCHI_U16 && out->stride[3] == 2 && r->det_col % 8 == 0 && at % 16 == 0;
    for (int i = 0; i < 3; i++)
        aligned = aligned && out->stride[i] % (ptrdiff_t)line == 0;
    job->past = aligned && wide;
    job->lead = job->past && at ? ronchi_min_size((line - at) / 16, job->tiles_across) : 0;
    job->middle = (job->tiles_across - job->lead) / LANE_ABREAST;
    const size_t tail = job->tiles_across - job->lead - LANE_ABREAST * job->middle;
    job->joined = job->lead && job->lead + tail == LANE_ABREAST && r->det_cols % 8 == 0 &&
                  out->stride[2] == (ptrdiff_t)(2 * r->det_cols);
    job->groups = job->middle + (tail > 0) + (job->lead > 0 && !job->joined);
}

/* Where a brick and the region meet: rows and columns of the scan and of the detector, one past the last in *_end. */
typedef struct meeting {
    ronchi_lane_cut rect, tile;
    size_t row, row_end, col, col_end;     /* scan */
    size_t drow, drow_end, dcol, dcol_end; /* detector */
} meeting;

static size_t later(size_t a, size_t b)
{
    return a > b ? a : b;
}

static meeting meet(const band_job *job, size_t rect, size_t tile)
{
    const ronchi_region *r = job->region;
    meeting m = {.rect = ronchi_lane_rect(&job->store->layout, rect),
                 .tile = ronchi_lane_tile(&job->store->layout, tile)};
    m.row = later(m.rect.row, r->scan_row);
    m.row_end = ronchi_min_size(m.rect.row + m.rect.rows, r->scan_row + r->scan_rows);
    m.col = later(m.rect.col, r->scan_col);
    m.col_end = ronchi_min_size(m.rect.col + m.rect.cols, r->scan_col + r->scan_cols);
    m.drow = later(m.tile.row, r->det_row);
    m.drow_end = ronchi_min_size(m.tile.row + m.tile.rows, r->det_row + r->det_rows);
    m.dcol = later(m.tile.col, r->det_col);
    m.dcol_end = ronchi_min_size(m.tile.col + m.tile.cols, r->det_col + r->det_cols);
    return m;
}

/* n counts, LANE_SPAN apart, to one row of the view.  False when one does not fit. */
static inline bool put_row(const void *counts, size_t wide, size_t n, char *to, ptrdiff_t stride, ronchi_dtype dtype)
{
    bool fits = true;
    for (size_t i = 0; i < n; i++, to += stride) {
        uint32_t v = wide == 2 ? ((const uint16_t *)counts)[i * LANE_SPAN] : ((const uint32_t *)counts)[i * LANE_SPAN];
        if (dtype == RONCHI_U16) {
            *(uint16_t *)(void *)to = (uint16_t)v;
            fits &= v <= UINT16_MAX;
        } else if (dtype == RONCHI_U8) {
            *(uint8_t *)to = (uint8_t)v;
            fits &= v <= UINT8_MAX;
        } else if (dtype == RONCHI_U32) {
            *(uint32_t *)(void *)to = v;
        } else {
            *(uint64_t *)(void *)to = v;
        }
    }
    return fits;
}

/* Positions of one tile row of one tile, in the type of the view. */
static bool put_plain(const band_job *job, const char *from, size_t wide, size_t width, char *to, size_t n)
{
    const ronchi_view *out = job->out;
    bool fits = true;
    for (size_t k = 0; k < n; k++, to += out->stride[1])
        fits &= put_row(from + k * wide, wide, width, to, out->stride[3], out->dtype);
    return fits;
}

/* Positions of one scan row of a stream: their index in it, where they belong, how many. */
typedef struct piece {
    size_t first, row, col, n;
} piece;

/* A stream of a group of tiles, decoded. */
typedef struct output {
    const band_job *job;
    meeting m[LANE_ABREAST];
    group g;
    size_t stream;
    const char *counts; /* [LANE_ABREAST][COUNTS] */
} output;

static char *place_of(const output *o, const piece *p, size_t t)
{
    const ronchi_region *r = o->job->region;
    return ronchi_view_at(o->job->out, p->row - r->scan_row, p->col - r->scan_col, o->m[t].drow - r->det_row,
                          o->m[t].dcol - r->det_col);
}

/* Counts of the first pixel of a tile that is wanted, 'down' rows further. */
static const char *counts_of(const output *o, const piece *p, size_t t, size_t down)
{
    const meeting *m = &o->m[t];
    const size_t pixel = (m->drow + down - m->tile.row) * m->tile.cols + m->dcol - m->tile.col;
    return o->counts + (t * COUNTS + pixel * LANE_SPAN + p->first) * o->job->wide;
}

/* A row of whole tiles first..first+n-1, those from 'more' on one row further down: lines, or parts of them. */
static void put_line(const output *o, const piece *p, size_t first, size_t n, size_t more, size_t down)
{
    const ronchi_view *out = o->job->out;
    ronchi_lane_lines lines = {.width = n,
                               .rows = 1,
                               .n = p->n,
                               .to = place_of(o, p, first) + (ptrdiff_t)down * out->stride[2],
                               .pitch = out->stride[1],
                               .row_pitch = out->stride[2],
                               .past = o->job->past && n == LANE_ABREAST};
    for (size_t t = first; t < first + n; t++)
        lines.from[t - first] = (const uint16_t *)(const void *)counts_of(o, p, t, down + (t >= more));
    o->job->kernels->lane_lines(&lines);
}

/* Rows of tiles of which no lines can be made. */
static bool put_each(const output *o, const piece *p, size_t down)
{
    bool fits = true;
    for (size_t t = 0; t < o->g.n + o->g.more; t++)
        fits &= put_plain(o->job, counts_of(o, p, t, down), o->job->wide, o->m[t].dcol_end - o->m[t].dcol,
                          place_of(o, p, t) + (ptrdiff_t)down * o->job->out->stride[2], p->n);
    return fits;
}

/*
 * Line 'down' of a group.  In a joined one the last tiles' rows share lines with the first tiles' next rows; what is
 * left above and below shares lines with other rows of tiles.
 */
static bool put_piece(const output *o, const piece *p, size_t down)
{
    const size_t rows = o->m->drow_end - o->m->drow, n = o->g.n + o->g.more;
    bool whole = o->job->wide == 2 && o->job->out->dtype == RONCHI_U16 && o->job->out->stride[3] == 2 &&
                 o->job->store->layout.tile_cols == 8;
    for (size_t t = 0; t < n; t++)
        whole = whole && o->m[t].dcol_end - o->m[t].dcol == 8;
    if (!whole)
        return down >= rows || put_each(o, p, down);
    if (!o->g.more)
        put_line(o, p, 0, n, n, down);
    else if (down == 0)
        put_line(o, p, o->g.n, o->g.more, n, 0);
    else if (down < rows)
        put_line(o, p, 0, n, o->g.n, down - 1);
    else
        put_line(o, p, 0, o->g.n, n, rows - 1);
    return true;
}

/* The positions of a scan row that are wanted and lie in the stream; false when there are none. */
static bool piece_of(const output *o, size_t row, piece *p)
{
    const meeting *m = o->m;
    const size_t begin = o->stream * LANE_SPAN, end = begin + LANE_SPAN;
    const size_t from = (row - m->rect.row) * m->rect.cols + m->col - m->rect.col, to = from + m->col_end - m->col;
    const size_t a = later(from, begin), b = ronchi_min_size(to, end);
    *p = (piece){a - begin, row, m->col + a - from, b - a};
    return a < b;
}

/* Everything that was decoded to the view, one scan row after the other. */
static bool put(const output *o)
{
    const size_t lines = o->m->drow_end - o->m->drow + (o->g.more > 0);
    bool fits = true;
    piece p;
    for (size_t row = o->m->row; row < o->m->row_end; row++)
        for (size_t down = 0; piece_of(o, row, &p) && down < lines; down++)
            fits &= put_piece(o, &p, down);
    return fits;
}

/* ------------------------------------------------------------------------------------------------------- decoding */

/* Pixels behind the last that is wanted need not be decoded. */
static size_t stop_of(const meeting *m)
{
    return (m->drow_end - 1 - m->tile.row) * m->tile.cols + m->dcol_end - m->tile.col;
}

static size_t tile_of(const band_job *job, const group *g, size_t down, size_t i)
{
    const size_t first = (job->tile_row + down) * job->store->layout.tiles_across + job->tile_col;
    return first + (i < g->n ? g->first + i : i - g->n);
}

/* One stream of n tiles, 1 or 2. */
static ronchi_status decode_tiles(const band_job *job, size_t rect, const size_t *tile, size_t n, size_t stream,
                                  const meeting *m, char *counts, ronchi_error *err)
{
    const ronchi_lane_store *store = job->store;
    const ronchi_lane_tables *tables = store->tables;
    const size_t stop[2] = {stop_of(m), stop_of(m + n - 1)};
    const uint32_t largest = store->layout.value_bytes == 1 ? UINT8_MAX : UINT16_MAX;
    ronchi_lane_brick brick[2];
    ronchi_status status = RONCHI_OK;
    const char *wrong = NULL;
    for (size_t k = 0; k < n && status == RONCHI_OK; k++)
        status = ronchi_lane_brick_at(store, rect, tile[k], &brick[k], err);
    if (status != RONCHI_OK)
        return status;
    if (job->wide == 2) {
        uint16_t *const out[2] = {(uint16_t *)(void *)counts, (uint16_t *)(void *)counts + COUNTS};
        const ronchi_lane_brick *const both[2] = {&brick[0], &brick[n - 1]};
        const char *what = job->kernels->lane_tiles(tables, both, n, stream, stop, largest, out);
        for (size_t k = 0; what && k < n; k++) /* which of them? */
            if (k == n - 1 || (wrong = ronchi_lane_decode16_c(tables, both[k], stream, 1, stop[k], largest, out[0])))
                return ronchi_lane_bad(store, rect, tile[k], wrong ? wrong : what, err);
        return RONCHI_OK;
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t *out = (uint32_t *)(void *)counts + k * COUNTS;
        if ((wrong = ronchi_lane_decode32(tables, &brick[k], stream, 1, stop[k], UINT32_MAX, out)))
            return ronchi_lane_bad(store, rect, tile[k], wrong, err);
    }
    return RONCHI_OK;
}

/* Decodes one stream of a group of tiles. */
static ronchi_status decode_group(size_t rect, size_t down, char *counts, output *o, ronchi_error *err)
{
    const band_job *job = o->job;
    const size_t n = o->g.n + o->g.more;
    ronchi_status status = RONCHI_OK;
    o->counts = counts;
    for (size_t i = 0; i < n; i++)
        o->m[i] = meet(job, rect, tile_of(job, &o->g, down, i));
    for (size_t i = 0; i < n && status == RONCHI_OK; i += 2) {
        const size_t tile[2] = {tile_of(job, &o->g, down, i), tile_of(job, &o->g, down, i + 1)};
        status = decode_tiles(job, rect, tile, ronchi_min_size(2, n - i), o->stream, o->m + i,
                              counts + i * COUNTS * job->wide, err);
    }
    return status;
}

/* The streams of a rectangle that the region touches: the first, and one past the last. */
static void streams_of(const meeting *m, size_t *first, size_t *end)
{
    *first = ((m->row - m->rect.row) * m->rect.cols + m->col - m->rect.col) / LANE_SPAN;
    *end = ((m->row_end - 1 - m->rect.row) * m->rect.cols + m->col_end - 1 - m->rect.col) / LANE_SPAN + 1;
}

/* One item: a rectangle and a row of tiles. */
static ronchi_status band_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const band_job *job = user;
    const ronchi_lane_layout *l = &job->store->layout;
    const size_t down = item % job->tiles_down, k = item / job->tiles_down;
    const size_t rect =
        (job->rect_row + k / job->rects_across) * l->rects_across + job->rect_col + k % job->rects_across;
    const meeting m = meet(job, rect, (job->tile_row + down) * l->tiles_across + job->tile_col);
    char *counts = job->counts + worker * LANE_ABREAST * COUNTS * job->wide;
    ronchi_status status = RONCHI_OK;
    bool fits = true;
    size_t first, end;
    streams_of(&m, &first, &end);
    for (size_t i = 0; i < (end - first) * job->groups && status == RONCHI_OK; i++) {
        output o = {.job = job, .g = group_of(job, i % job->groups), .stream = first + i / job->groups};
        status = decode_group(rect, down, counts, &o, err);
        if (status == RONCHI_OK)
            fits &= put(&o);
    }
    if (job->past)
        ronchi_lane_lines_end();
    if (status == RONCHI_OK && !fits)
        status = ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET, "a count does not fit %s",
                             ronchi_dtype_name(job->out->dtype));
    return status;
}

ronchi_status ronchi_lane_decode_band(const ronchi_store *base, const ronchi_region *region, const ronchi_view *out,
                                      ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    const ronchi_lane_layout *l = &store->layout;
    band_job job = {.store = store, .kernels = ronchi_context_kernels(base->context), .region = region, .out = out};
    ronchi_status status = ronchi_store_check_band(base, region, out, err);
    if (status != RONCHI_OK)
        return status;
    job.rect_row = region->scan_row / l->rect_rows;
    job.rect_col = region->scan_col / l->rect_cols;
    job.rects_across = (region->scan_col + region->scan_cols - 1) / l->rect_cols - job.rect_col + 1;
    size_t rects_down = (region->scan_row + region->scan_rows - 1) / l->rect_rows - job.rect_row + 1;
    job.tile_row = region->det_row / l->tile_rows;
    job.tile_col = region->det_col / l->tile_cols;
    job.tiles_down = (region->det_row + region->det_rows - 1) / l->tile_rows - job.tile_row + 1;
    job.tiles_across = (region->det_col + region->det_cols - 1) / l->tile_cols - job.tile_col + 1;
    find_groups(&job);
    job.wide = l->value_bytes == 4 ? 4 : 2;
    job.counts =
        ronchi_alloc(base->context, ronchi_context_threads(base->context) * LANE_ABREAST * COUNTS * job.wide + 16);
    if (!job.counts)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to decode with");
    const size_t items = rects_down * job.rects_across * job.tiles_down;
    status = ronchi_parallel_for(base->context, items, band_item, &job, err);
    ronchi_free(base->context, job.counts);
    return status;
}
