/* SPDX-License-Identifier: MIT */
/* checks.c - named checks shared by the operations. */
#include "detector/checks.h"

ronchi_status ronchi_check_view(const ronchi_view *view, const char *what, size_t n, size_t rows, size_t cols,
                                int dtype, ronchi_error *err)
{
    if (!ronchi_view_is(view, 1, n, rows, cols))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "%s must be a host array of %zu x %zu x %zu",
                           what, n, rows, cols);
    if (dtype && (int)view->dtype != dtype)
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET, "%s must be %s, not %s", what,
                           ronchi_dtype_name((ronchi_dtype)dtype), ronchi_dtype_name(view->dtype));
    return RONCHI_OK;
}

ronchi_status ronchi_check_counts(const ronchi_acquisition *acquisition, const char *what, ronchi_error *err)
{
    if (acquisition->store->dtype != RONCHI_F32)
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, acquisition->info.source_name, RONCHI_NO_OFFSET,
                       "%s of float32 data is not an exact integer: ask for float64", what);
}

ronchi_status ronchi_check_weights(const ronchi_view *masks, size_t k, uint32_t *weights, ronchi_error *err)
{
    size_t rows = masks->shape[2], cols = masks->shape[3];
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            uint8_t v = *(const uint8_t *)ronchi_view_at(masks, 0, k, r, c);
            if (v > 1)
                return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                                   "mask %zu holds %u at (%zu, %zu): masks hold 0 and 1", k, v, r, c);
            weights[r * cols + c] = v;
        }
    return RONCHI_OK;
}
