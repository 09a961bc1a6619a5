/* SPDX-License-Identifier: MIT */
/* lane_rans_sum.c - the plain version of the fused sum: decode, then add. */
#include "codec/lane_rans.h"

const char *ronchi_lane_sum_c(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first, size_t n,
                              uint64_t take, uint32_t largest, uint16_t *scratch, uint32_t *sums)
{
    size_t stop = brick->n_pixels;
    while (stop > 0 && !(take >> (stop - 1) & 1))
        stop--;
    for (size_t k = 0; k < n; k++) {
        const char *wrong = ronchi_lane_decode16_c(tables, brick, first + k, 1, stop, largest, scratch);
        if (wrong)
            return wrong;
        for (size_t p = 0; p < stop; p++)
            for (size_t i = 0; (take >> p & 1) && i < LANE_SPAN; i++)
                sums[k * LANE_SPAN + i] += scratch[p * LANE_SPAN + i];
    }
    return NULL;
}
