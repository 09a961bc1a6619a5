/* SPDX-License-Identifier: MIT */
/* lane_rans_read.c - regions of a lane-rans-v1 store into any strided view. */
#include "codec/lane_rans.h"

typedef struct band_job {
    const ronchi_lane_store *store;
    const ronchi_kernels *kernels;
    const ronchi_region *region;
    const ronchi_view *out;
    size_t rect_row, rect_col, rects_across; /* rectangles that the region touches */
    size_t tile_row, tile_col, tiles_down, tiles_across;
    uint32_t *counts; /* [threads][LANE_TILE][LANE_SPAN], used as u16 for narrow types */
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

/* Positions j..j_end-1 of a stream, all in one scan row, to the view. */
static bool put_positions(const band_job *job, const meeting *m, const void *counts, size_t wide, size_t first,
                          size_t row, size_t col, size_t n)
{
    const ronchi_view *out = job->out;
    const ronchi_region *r = job->region;
    bool fits = true;
    for (size_t drow = m->drow; drow < m->drow_end; drow++) {
        size_t p = (drow - m->tile.row) * m->tile.cols + m->dcol - m->tile.col;
        const char *from = (const char *)counts + (p * LANE_SPAN + first) * wide;
        char *to = ronchi_view_at(out, row - r->scan_row, col - r->scan_col, drow - r->det_row, m->dcol - r->det_col);
        for (size_t i = 0; i < n; i++, to += out->stride[1]) {
            if (wide == 2 && out->dtype == RONCHI_U16)
                fits &= put_row(from + i * 2, 2, m->dcol_end - m->dcol, to, out->stride[3], RONCHI_U16);
            else
                fits &= put_row(from + i * wide, wide, m->dcol_end - m->dcol, to, out->stride[3], out->dtype);
        }
    }
    return fits;
}

/* One stream of a brick; 'begin' to 'end' are its positions. */
static bool put_stream(const band_job *job, const meeting *m, const void *counts, size_t wide, size_t begin, size_t end)
{
    bool fits = true;
    for (size_t row = m->row; row < m->row_end; row++) {
        size_t from = (row - m->rect.row) * m->rect.cols + m->col - m->rect.col, to = from + m->col_end - m->col;
        size_t a = later(from, begin), b = ronchi_min_size(to, end);
        if (a < b)
            fits &= put_positions(job, m, counts, wide, a - begin, row, m->col + a - from, b - a);
    }
    return fits;
}

static ronchi_status band_brick(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const band_job *job = user;
    const ronchi_lane_store *store = job->store;
    const ronchi_lane_layout *l = &store->layout;
    const size_t tiles = job->tiles_down * job->tiles_across, k = item / tiles, t = item % tiles;
    const size_t rect =
        (job->rect_row + k / job->rects_across) * l->rects_across + job->rect_col + k % job->rects_across;
    const size_t tile =
        (job->tile_row + t / job->tiles_across) * l->tiles_across + job->tile_col + t % job->tiles_across;
    const meeting m = meet(job, rect, tile);
    const size_t wide = l->value_bytes == 4 ? 4 : 2;
    uint32_t *counts = job->counts + worker * LANE_TILE * LANE_SPAN;
    ronchi_lane_brick brick;
    ronchi_status status = ronchi_lane_brick_at(store, rect, tile, &brick, err);
    /* pixels behind the last that is wanted need not be decoded */
    const size_t stop = (m.drow_end - 1 - m.tile.row) * m.tile.cols + m.dcol_end - m.tile.col;
    const size_t first = (m.row - m.rect.row) * m.rect.cols + m.col - m.rect.col;
    const size_t last = (m.row_end - 1 - m.rect.row) * m.rect.cols + m.col_end - 1 - m.rect.col;
    for (size_t s = first / LANE_SPAN; status == RONCHI_OK && s <= last / LANE_SPAN; s++) {
        const char *wrong =
            wide == 4 ? ronchi_lane_decode32(store->tables, &brick, s, stop, UINT32_MAX, counts)
                      : job->kernels->lane_decode16(store->tables, &brick, s, stop,
                                                    l->value_bytes == 1 ? UINT8_MAX : UINT16_MAX, (uint16_t *)counts);
        if (wrong)
            status = ronchi_lane_bad(store, rect, tile, wrong, err);
        else if (!put_stream(job, &m, counts, wide, s * LANE_SPAN,
                             ronchi_min_size((s + 1) * LANE_SPAN, brick.n_positions)))
            status = ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET, "a count does not fit %s",
                                 ronchi_dtype_name(job->out->dtype));
    }
    return status;
}

ronchi_status ronchi_lane_decode_band(const ronchi_store *base, const ronchi_region *region, const ronchi_view *out,
                                      ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    const ronchi_lane_layout *l = &store->layout;
    band_job job = {.store = store, .kernels = ronchi_context_kernels(base->context), .region = region, .out = out};
    if (!ronchi_region_inside(region, &base->shape))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "the region is not inside the acquisition");
    if (out->dtype != RONCHI_U8 && out->dtype != RONCHI_U16 && out->dtype != RONCHI_U32 && out->dtype != RONCHI_U64)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "counts are not decoded to %s",
                           ronchi_dtype_name(out->dtype));
    job.rect_row = region->scan_row / l->rect_rows;
    job.rect_col = region->scan_col / l->rect_cols;
    job.rects_across = (region->scan_col + region->scan_cols - 1) / l->rect_cols - job.rect_col + 1;
    size_t rects_down = (region->scan_row + region->scan_rows - 1) / l->rect_rows - job.rect_row + 1;
    job.tile_row = region->det_row / l->tile_rows;
    job.tile_col = region->det_col / l->tile_cols;
    job.tiles_down = (region->det_row + region->det_rows - 1) / l->tile_rows - job.tile_row + 1;
    job.tiles_across = (region->det_col + region->det_cols - 1) / l->tile_cols - job.tile_col + 1;
    job.counts =
        ronchi_alloc(base->context, ronchi_context_threads(base->context) * LANE_TILE * LANE_SPAN * sizeof *job.counts);
    if (!job.counts)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to decode with");
    ronchi_status status = ronchi_parallel_for(
        base->context, rects_down * job.rects_across * job.tiles_down * job.tiles_across, band_brick, &job, err);
    ronchi_free(base->context, job.counts);
    return status;
}
