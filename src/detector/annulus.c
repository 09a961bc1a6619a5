/* SPDX-License-Identifier: MIT */
/* annulus.c - masks by centre and radii. */
#include <math.h>

#include "detector/checks.h"
#include "ronchi/detector.h"

ronchi_status ronchi_detector_annulus(double center_row, double center_col, double inner_px, double outer_px,
                                      const ronchi_view *out)
{
    if (!out || !ronchi_view_is(out, 1, 1, out->shape[2], out->shape[3]) || out->dtype != RONCHI_U8)
        return RONCHI_ERR_SHAPE;
    if (!isfinite(center_row) || !isfinite(center_col) || !(inner_px >= 0) || !(outer_px >= inner_px))
        return RONCHI_ERR_ARGUMENT;
    float row = (float)center_row, col = (float)center_col, inner = (float)inner_px, outer = (float)outer_px;
    for (size_t r = 0; r < out->shape[2]; r++)
        for (size_t c = 0; c < out->shape[3]; c++) {
            float dr = (float)r - row, dc = (float)c - col, distance = sqrtf(dr * dr + dc * dc);
            *(uint8_t *)ronchi_view_at(out, 0, 0, r, c) = distance >= inner && distance <= outer;
        }
    return RONCHI_OK;
}
