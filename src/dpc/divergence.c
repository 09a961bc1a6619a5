/* SPDX-License-Identifier: MIT */
/* divergence.c - dDPC: local differences, so that the scan's edges disturb nothing but themselves. */
#include <math.h>

#include "core/internal.h"
#include "ronchi/dpc.h"

/* Difference along one axis of n positions at i; 0 where there is only one. */
static double along(const ronchi_view *view, size_t r, size_t c, bool rows, double step)
{
    size_t i = rows ? r : c, n = view->shape[rows ? 2 : 3], low = i ? i - 1 : 0, high = i + 1 < n ? i + 1 : i;
    if (low == high)
        return 0;
    double a = *(const double *)ronchi_view_at(view, 0, 0, rows ? low : r, rows ? c : low);
    double b = *(const double *)ronchi_view_at(view, 0, 0, rows ? high : r, rows ? c : high);
    return (b - a) / ((double)(high - low) * step);
}

ronchi_status ronchi_dpc_divergence(const ronchi_view *field_row, const ronchi_view *field_col, double step_row,
                                    double step_col, const ronchi_view *divergence, ronchi_error *err)
{
    const ronchi_view *views[3] = {field_row, field_col, divergence};
    for (int k = 0; k < 3; k++)
        if (!views[k] || !field_row || !ronchi_view_is(views[k], 1, 1, field_row->shape[2], field_row->shape[3]) ||
            views[k]->dtype != RONCHI_F64)
            return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                               "field and divergence must be float64 arrays of one shape");
    if (!(step_row > 0) || !(step_col > 0) || !isfinite(step_row) || !isfinite(step_col))
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "scan steps must be above 0");
    for (size_t r = 0; r < field_row->shape[2]; r++)
        for (size_t c = 0; c < field_row->shape[3]; c++)
            *(double *)ronchi_view_at(divergence, 0, 0, r, c) =
                along(field_row, r, c, true, step_row) + along(field_col, r, c, false, step_col);
    return RONCHI_OK;
}
