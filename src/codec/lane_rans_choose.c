/* SPDX-License-Identifier: MIT */
/* lane_rans_choose.c - the models of a brick's pixels, one after the other. */
#include <string.h>

#include "codec/lane_rans_choose_core.h"

/* Most bricks have 1,024 positions: for them divisions are multiplications. */
enum { WHOLE = LANE_STREAMS * LANE_SPAN };

RONCHI_LANE_CORE void choose_uniform(const ronchi_lane_stats *stats, size_t n_pixels, size_t n, ronchi_lane_choice *out)
{
    uint64_t sum = 0;
    for (size_t p = 0; p < n_pixels; p++) {
        if (out->id[p] > LANE_SPARSE)
            return;
        sum += stats[p].sum;
    }
    unsigned i = ronchi_lane_uniform(sum, n, n_pixels);
    int64_t loss = 0;
    for (size_t p = 0; p < n_pixels; p++)
        loss += ronchi_lane_uniform_loss(stats[p].sum, n, out->id[p], i);
    if (ronchi_lane_uniform_pays(sum, loss, n_pixels))
        memset(out->id, (int)(1 + i), n_pixels);
}

RONCHI_LANE_CORE void choose(const ronchi_lane_stats *stats, size_t n_pixels, size_t n, ronchi_lane_choice *out)
{
    uint64_t spread = 0, mean = 0;
    for (size_t p = 0; p < n_pixels; p++)
        ronchi_lane_add_spread(&stats[p], n, &spread, &mean);
    unsigned dispersion = ronchi_lane_dispersion(spread, mean);
    memset(out, 0, sizeof *out);
    for (size_t p = 0; p < n_pixels; p++) {
        ronchi_lane_pick pick = ronchi_lane_pick_model(&stats[p], n, dispersion);
        out->id[p] = pick.id;
        out->shift[p] = pick.shift;
        out->width[p] = pick.width;
        out->base[p] = pick.base;
    }
    choose_uniform(stats, n_pixels, n, out);
}

void ronchi_lane_choose(const ronchi_lane_stats *stats, size_t n_pixels, size_t n_positions, ronchi_lane_choice *out)
{
    if (n_positions == WHOLE)
        choose(stats, n_pixels, WHOLE, out);
    else
        choose(stats, n_pixels, n_positions, out);
}
