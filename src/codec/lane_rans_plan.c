/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_plan.c - plans a reduction.  With a sum index, tiles and groups of which a plane wants every unflagged
 * pixel with one weight are added from there.  Of a tile at a mask's edge either its pixels inside or those outside are
 * decoded: a stream is decoded from its first pixel on, so whichever ends earlier.
 */
#include "codec/lane_rans_plan.h"

#include <string.h>

static size_t pixels_until(uint64_t take)
{
    size_t n = 0;
    for (; take; take >>= 1)
        n++;
    return n;
}

/* ------------------------------------------------------------------------------------------------------- one plane */

typedef struct planning {
    const ronchi_lane_store *store;
    const uint32_t *weights;
    const uint64_t *valid;
    ronchi_lane_part *parts; /* [n_tiles] */
    ronchi_sum_term *terms;
    size_t n_terms;
} planning;

/* The unflagged pixels of a tile that have a weight, and that weight, or 0 when they differ. */
static ronchi_lane_part wanted(const planning *p, size_t tile)
{
    const size_t det_cols = p->store->base.shape.det_cols;
    const ronchi_lane_cut cut = ronchi_lane_tile(&p->store->layout, tile);
    ronchi_lane_part part = {0, 0, false};
    bool same = true;
    for (size_t i = 0; i < cut.rows * cut.cols; i++) {
        uint32_t w = p->weights[(cut.row + i / cut.cols) * det_cols + cut.col + i % cut.cols];
        if (!w || !(p->valid[tile] >> i & 1))
            continue;
        same = same && (!part.take || w == part.weight);
        part.weight = w;
        part.take |= UINT64_C(1) << i;
    }
    part.weight = same ? part.weight : 0;
    return part;
}

static bool is_whole(const planning *p, size_t tile)
{
    return p->parts[tile].take && p->parts[tile].weight && p->parts[tile].take == p->valid[tile];
}

/* Takes a whole group from the index, where all its tiles are wanted whole with one weight. */
static void take_group(planning *p, size_t group)
{
    const ronchi_sum_index *index = p->store->index;
    size_t row = group / index->groups_across * RONCHI_SUM_GROUP, col = group % index->groups_across * RONCHI_SUM_GROUP;
    size_t row_end = ronchi_min_size(row + RONCHI_SUM_GROUP, index->tiles_down), n_whole = 0;
    size_t col_end = ronchi_min_size(col + RONCHI_SUM_GROUP, index->tiles_across);
    uint32_t weight = 0;
    for (size_t t = row * index->tiles_across + col, r = row; r < row_end; r++, t += index->tiles_across)
        for (size_t c = 0; c < col_end - col; c++) {
            bool whole = is_whole(p, t + c);
            if (p->valid[t + c] && (!whole || (weight && p->parts[t + c].weight != weight)))
                return;
            weight = whole ? p->parts[t + c].weight : weight;
            n_whole += whole;
        }
    if (n_whole < 2)
        return;
    p->terms[p->n_terms++] = (ronchi_sum_term){index->n_tiles + group, weight};
    for (size_t t = row * index->tiles_across + col, r = row; r < row_end; r++, t += index->tiles_across)
        memset(&p->parts[t], 0, (col_end - col) * sizeof *p->parts);
}

/* Takes a tile from the index as far as that is cheaper. */
static void take_tile(planning *p, size_t tile)
{
    ronchi_lane_part *part = &p->parts[tile];
    const uint64_t outside = p->valid[tile] & ~part->take;
    if (p->store->index->planes[tile].largest == 0) { /* no counts at all */
        memset(part, 0, sizeof *part);
        return;
    }
    if (!part->take || !part->weight || pixels_until(outside) >= pixels_until(part->take))
        return;
    p->terms[p->n_terms++] = (ronchi_sum_term){tile, part->weight};
    part->take = outside;
    part->outside = true;
}

static void plan_plane(planning *p)
{
    const ronchi_lane_layout *l = &p->store->layout;
    for (size_t t = 0; t < l->n_tiles; t++)
        p->parts[t] = wanted(p, t);
    if (!p->store->index)
        return;
    for (size_t g = 0; g < p->store->index->n_groups; g++)
        take_group(p, g);
    for (size_t t = 0; t < l->n_tiles; t++)
        take_tile(p, t);
}

/* ------------------------------------------------------------------------------------------------------ all planes */

static void find_valid(const ronchi_lane_store *store, uint64_t *valid)
{
    const size_t det_cols = store->base.shape.det_cols;
    for (size_t t = 0; t < store->layout.n_tiles; t++) {
        ronchi_lane_cut cut = ronchi_lane_tile(&store->layout, t);
        valid[t] = 0;
        for (size_t i = 0; i < cut.rows * cut.cols; i++)
            if (store->base.valid[(cut.row + i / cut.cols) * det_cols + cut.col + i % cut.cols])
                valid[t] |= UINT64_C(1) << i;
    }
}

/* Tiles that any plane takes something of. */
static void list_tiles(const ronchi_lane_store *store, size_t n_planes, bool pixels, ronchi_lane_plan *plan)
{
    const size_t n_tiles = store->layout.n_tiles;
    for (size_t t = 0; t < n_tiles; t++) {
        uint64_t take = pixels ? plan->valid[t] : 0;
        for (size_t k = 0; k < n_planes; k++)
            take |= plan->parts[k * n_tiles + t].take;
        if (!take)
            continue;
        plan->tile[plan->n_tiles] = t;
        plan->stop[plan->n_tiles] = pixels_until(take);
        plan->counts += plan->stop[plan->n_tiles++];
    }
}

ronchi_status ronchi_lane_plan_make(const ronchi_lane_store *store, size_t n_planes, const uint32_t *const *planes,
                                    bool pixels, ronchi_lane_plan *out, ronchi_error *err)
{
    ronchi_context *context = store->base.context;
    const size_t n_tiles = store->layout.n_tiles;
    size_t n;
    memset(out, 0, sizeof *out);
    if (ronchi_mul(n_planes, n_tiles, &n)) {
        out->parts = ronchi_calloc(context, n, sizeof *out->parts);
        out->terms = ronchi_calloc(context, n, sizeof *out->terms);
        out->n_terms = ronchi_calloc(context, n_planes, sizeof *out->n_terms);
        out->valid = ronchi_calloc(context, n_tiles, sizeof *out->valid);
        out->tile = ronchi_calloc(context, n_tiles, sizeof *out->tile);
        out->stop = ronchi_calloc(context, n_tiles, sizeof *out->stop);
    }
    if (!out->parts || !out->terms || !out->n_terms || !out->valid || !out->tile || !out->stop)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a reduction of %zu planes",
                           n_planes);
    find_valid(store, out->valid);
    for (size_t k = 0; k < n_planes; k++) {
        planning p = {store, planes[k], out->valid, out->parts + k * n_tiles, out->terms + k * n_tiles, 0};
        plan_plane(&p);
        out->n_terms[k] = p.n_terms;
    }
    list_tiles(store, n_planes, pixels, out);
    return RONCHI_OK;
}

void ronchi_lane_plan_free(const ronchi_lane_store *store, ronchi_lane_plan *plan)
{
    ronchi_context *context = store->base.context;
    ronchi_free(context, plan->parts);
    ronchi_free(context, plan->terms);
    ronchi_free(context, plan->n_terms);
    ronchi_free(context, plan->valid);
    ronchi_free(context, plan->tile);
    ronchi_free(context, plan->stop);
}

ronchi_status ronchi_lane_cost(const ronchi_store *base, size_t n_planes, const uint32_t *const *planes,
                               uint64_t *counts, ronchi_error *err)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    ronchi_lane_plan plan;
    ronchi_status status = ronchi_lane_plan_make(store, n_planes, planes, false, &plan, err);
    *counts = plan.counts;
    ronchi_lane_plan_free(store, &plan);
    return status;
}
