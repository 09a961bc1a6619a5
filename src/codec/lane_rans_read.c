/* SPDX-License-Identifier: MIT */
/* lane_rans_read.c - regions of a lane-rans-v1 store into any strided view. */
#include <string.h>

#include "codec/lane_rans.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    COUNTS = LANE_STREAMS * LANE_TILE * LANE_SPAN, /* of a brick */
    TOGETHER = 4                                   /* tiles side by side that one worker writes: whole cache lines */
};

typedef struct band_job {
    const ronchi_lane_store *store;
    const ronchi_kernels *kernels;
    const ronchi_region *region;
    const ronchi_view *out;
    size_t rect_row, rect_col, rects_across; /* rectangles that the region touches */
    size_t tile_row, tile_col, tiles_down, tiles_across;
    uint32_t *counts; /* [threads][TOGETHER][COUNTS], used as u16 for narrow types */
} band_job;

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

/* 8 pixels, LANE_SPAN apart, of 8 positions to 8 rows of 8 adjacent u16: the case of nearly all reads. */
static inline void put_square(const uint16_t *counts, char *to, ptrdiff_t pitch)
{
#if defined(__SSE2__)
    __m128i a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = _mm_loadu_si128((const __m128i *)(const void *)(counts + i * LANE_SPAN));
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        a[4 * i] = _mm_unpacklo_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 1] = _mm_unpackhi_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 2] = _mm_unpacklo_epi32(b[4 * i + 1], b[4 * i + 3]);
        a[4 * i + 3] = _mm_unpackhi_epi32(b[4 * i + 1], b[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        _mm_storeu_si128((__m128i *)(void *)(to + 2 * i * pitch), _mm_unpacklo_epi64(a[i], a[i + 4]));
        _mm_storeu_si128((__m128i *)(void *)(to + (2 * i + 1) * pitch), _mm_unpackhi_epi64(a[i], a[i + 4]));
    }
#else
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++)
            ((uint16_t *)(void *)(to + i * pitch))[k] = counts[k * LANE_SPAN + i];
#endif
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

/*
 * The common case, 'n' (at most LANE_RECTANGLE) positions of one row of whole tiles to u16: put together beside each
 * other first. Frames lie a multiple of 4 KiB apart as often as not; lines written in parts would be evicted half
 * written.
 */
static void put_lines(const uint16_t *from, size_t n_tiles, char *to, ptrdiff_t pitch, size_t n)
{
    uint16_t line[LANE_RECTANGLE][TOGETHER * 8];
    for (size_t t = 0; t < n_tiles; t++)
        for (size_t i = 0; i < n; i += 8)
            put_square(from + t * 2 * COUNTS + i, (char *)&line[i][t * 8], sizeof line[0]);
    for (size_t i = 0; i < n; i++, to += pitch)
        if (n_tiles == TOGETHER)
            memcpy(to, line[i], sizeof line[0]);
        else
            for (size_t t = 0; t < n_tiles;
                 t++) /* a size that is known: copies of one that is not cost more than all else */
                memcpy(to + t * 16, line[i] + t * 8, 16);
}

/* Positions first..first+n-1 of a stream, all in one scan row, of tiles side by side; tile t's counts: counts + t *
 * COUNTS. */
static bool put_positions(const band_job *job, const meeting *m, size_t n_tiles, const uint32_t *counts, size_t wide,
                          size_t first, size_t row, size_t col, size_t n)
{
    const ronchi_view *out = job->out;
    const ronchi_region *r = job->region;
    bool fits = true, common = wide == 2 && out->dtype == RONCHI_U16 && out->stride[3] == 2 && n % 8 == 0;
    for (size_t t = 0; t < n_tiles; t++)
        common = common && m[t].dcol_end - m[t].dcol == 8;
    for (size_t drow = m->drow; drow < m->drow_end; drow++) {
        for (size_t t = 0; t < n_tiles; t++) {
            size_t p = (drow - m[t].tile.row) * m[t].tile.cols + m[t].dcol - m[t].tile.col;
            const char *from = (const char *)(counts + t * COUNTS) + (p * LANE_SPAN + first) * wide;
            char *to =
                ronchi_view_at(out, row - r->scan_row, col - r->scan_col, drow - r->det_row, m[t].dcol - r->det_col);
            if (common) {
                put_lines((const uint16_t *)(const void *)from, n_tiles, to, out->stride[1], n);
                break;
            }
            fits &= put_plain(job, from, wide, m[t].dcol_end - m[t].dcol, to, n);
        }
    }
    return fits;
}

/* Decodes the streams that the region touches of one brick, and says which they are. */
static ronchi_status decode_brick(const band_job *job, size_t rect, size_t tile, const meeting *m, uint32_t *counts,
                                  size_t *first_stream, size_t *n_streams, ronchi_error *err)
{
    const ronchi_lane_store *store = job->store;
    const size_t bytes = store->layout.value_bytes,
                 first = (m->row - m->rect.row) * m->rect.cols + m->col - m->rect.col;
    const size_t last = (m->row_end - 1 - m->rect.row) * m->rect.cols + m->col_end - 1 - m->rect.col;
    /* pixels behind the last that is wanted need not be decoded */
    const size_t stop = (m->drow_end - 1 - m->tile.row) * m->tile.cols + m->dcol_end - m->tile.col;
    const size_t s = first / LANE_SPAN, n = last / LANE_SPAN - s + 1;
    ronchi_lane_brick brick;
    ronchi_status status = ronchi_lane_brick_at(store, rect, tile, &brick, err);
    *first_stream = s;
    *n_streams = n;
    if (status != RONCHI_OK)
        return status;
    const char *wrong = bytes == 4
                            ? ronchi_lane_decode32(store->tables, &brick, s, n, stop, UINT32_MAX, counts)
                            : job->kernels->lane_decode16(store->tables, &brick, s, n, stop,
                                                          bytes == 1 ? UINT8_MAX : UINT16_MAX, (uint16_t *)counts);
    return wrong ? ronchi_lane_bad(store, rect, tile, wrong, err) : RONCHI_OK;
}

/* The decoded tiles to the view, one scan row of one stream after the other, so that a cache line fills while it is
 * hot. */
static bool put_tiles(const band_job *job, const meeting *m, size_t n_tiles, const uint32_t *counts,
                      size_t first_stream, size_t n_streams)
{
    const size_t wide = job->store->layout.value_bytes == 4 ? 4 : 2;
    bool fits = true;
    for (size_t k = 0; k < n_streams; k++) {
        const size_t begin = (first_stream + k) * LANE_SPAN, end = begin + LANE_SPAN;
        for (size_t row = m->row; row < m->row_end; row++) {
            size_t from = (row - m->rect.row) * m->rect.cols + m->col - m->rect.col, to = from + m->col_end - m->col;
            size_t a = later(from, begin), b = ronchi_min_size(to, end);
            if (a < b)
                fits &= put_positions(job, m, n_tiles, counts + k * LANE_TILE * LANE_SPAN * wide / 4, wide, a - begin,
                                      row, m->col + a - from, b - a);
        }
    }
    return fits;
}

/* One item: a rectangle and some tiles side by side. */
static ronchi_status band_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const band_job *job = user;
    const ronchi_lane_layout *l = &job->store->layout;
    const size_t groups = ronchi_div_up(job->tiles_across, TOGETHER), g = item % groups;
    const size_t down = item / groups % job->tiles_down, k = item / groups / job->tiles_down;
    const size_t rect =
        (job->rect_row + k / job->rects_across) * l->rects_across + job->rect_col + k % job->rects_across;
    const size_t first = (job->tile_row + down) * l->tiles_across + job->tile_col + g * TOGETHER;
    const size_t n = ronchi_min_size(TOGETHER, job->tiles_across - g * TOGETHER);
    uint32_t *counts = job->counts + worker * TOGETHER * COUNTS;
    meeting m[TOGETHER];
    size_t s = 0, n_streams = 0;
    for (size_t i = 0; i < n; i++) {
        m[i] = meet(job, rect, first + i);
        ronchi_status status = decode_brick(job, rect, first + i, &m[i], counts + i * COUNTS, &s, &n_streams, err);
        if (status != RONCHI_OK)
            return status;
    }
    if (!put_tiles(job, m, n, counts, s, n_streams))
        return ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET, "a count does not fit %s",
                           ronchi_dtype_name(job->out->dtype));
    return RONCHI_OK;
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
    job.counts =
        ronchi_alloc(base->context, ronchi_context_threads(base->context) * TOGETHER * COUNTS * sizeof *job.counts);
    if (!job.counts)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to decode with");
    size_t items = rects_down * job.rects_across * job.tiles_down * ronchi_div_up(job.tiles_across, TOGETHER);
    status = ronchi_parallel_for(base->context, items, band_item, &job, err);
    ronchi_free(base->context, job.counts);
    return status;
}
