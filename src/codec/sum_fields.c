/* SPDX-License-Identifier: MIT */
/* sum_fields.c - where the tiles of the spatial sums lie, and how their sums are packed. */
#include "codec/sum_fields.h"

#include "core/internal.h"

ronchi_sum_fields ronchi_sum_fields_of(size_t det_rows, size_t det_cols)
{
    ronchi_sum_fields f;
    f.det_rows = det_rows;
    f.det_cols = det_cols;
    f.small_rows = ronchi_div_up(det_rows, RONCHI_SUM_SMALL);
    f.small_cols = ronchi_div_up(det_cols, RONCHI_SUM_SMALL);
    f.large_rows = ronchi_div_up(det_rows, RONCHI_SUM_LARGE);
    f.large_cols = ronchi_div_up(det_cols, RONCHI_SUM_LARGE);
    f.n_small = f.small_rows * f.small_cols;
    f.n_fields = f.n_small + f.large_rows * f.large_cols;
    return f;
}

ronchi_sum_inner ronchi_sum_fields_inner(const ronchi_sum_fields *fields, size_t large)
{
    const size_t per = RONCHI_SUM_LARGE / RONCHI_SUM_SMALL;
    ronchi_sum_inner inner;
    inner.row = large / fields->large_cols * per;
    inner.col = large % fields->large_cols * per;
    inner.row_end = ronchi_min_size(inner.row + per, fields->small_rows);
    inner.col_end = ronchi_min_size(inner.col + per, fields->small_cols);
    return inner;
}

unsigned ronchi_sum_width(const uint32_t *values, size_t n)
{
    uint32_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= values[i];
    unsigned width = 0;
    while (width < 32 && any >> width)
        width++;
    return width;
}

void ronchi_sum_pack(const uint32_t *values, size_t n, unsigned width, uint32_t *words)
{
    uint64_t pending = 0;
    unsigned have = 0;
    for (size_t i = 0; i < n; i++) {
        pending |= (uint64_t)values[i] << have;
        have += width;
        if (have >= 32) {
            *words++ = (uint32_t)pending;
            pending >>= 32;
            have -= 32;
        }
    }
    if (have)
        *words = (uint32_t)pending;
}

bool ronchi_sum_unpack(const uint32_t *words, size_t n, unsigned width, uint32_t *values)
{
    uint64_t pending = 0;
    unsigned have = 0;
    const uint64_t mask = (UINT64_C(1) << width) - 1;
    for (size_t i = 0; i < n; i++) {
        if (have < width) {
            pending |= (uint64_t)*words++ << have;
            have += 32;
        }
        values[i] = (uint32_t)(pending & mask);
        pending >>= width;
        have -= width;
    }
    return pending == 0;
}
