/* SPDX-License-Identifier: MIT */
/* stack.c - the bright-field images themselves, for whoever wants to see them or align them in another way. */
#include <stdlib.h>
#include <string.h>

#include "parallax/bright_field.h"
#include "ronchi/geometry.h"

enum { TILE = 8 };

typedef struct wanted {
    uint32_t row, col;
    size_t index;
} wanted;

static int by_tile(const void *a, const void *b)
{
    const wanted *x = a, *y = b;
    const uint32_t p[4] = {x->row / TILE, x->col / TILE, x->row, x->col};
    const uint32_t q[4] = {y->row / TILE, y->col / TILE, y->row, y->col};
    for (int i = 0; i < 4; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return 0;
}

static void put_image(const ronchi_view *out, size_t k, const float *image)
{
    for (size_t r = 0; r < out->shape[2]; r++)
        for (size_t c = 0; c < out->shape[3]; c++)
            *(float *)ronchi_view_at(out, 0, k, r, c) = image[r * out->shape[3] + c];
}

static ronchi_status read_all(ronchi_bright_field *bf, const wanted *list, const ronchi_view *out, ronchi_error *err)
{
    ronchi_status status = ronchi_bright_field_plan(bf, err);
    for (size_t i = 0; i < bf->n_pieces && status == RONCHI_OK; i++) {
        const ronchi_piece *piece = &bf->pieces[i];
        status = ronchi_bright_field_read(bf, piece, err);
        for (size_t k = 0; k < piece->n && status == RONCHI_OK; k++)
            put_image(out, list[piece->first + k].index, bf->images + k * bf->n_positions);
    }
    return status;
}

static ronchi_status take_pixels(ronchi_bright_field *bf, const ronchi_parallax_result *result, size_t first, size_t n,
                                 wanted *list, ronchi_error *err)
{
    bf->valid = ronchi_calloc(bf->context, bf->n_positions, 1);
    bf->row = ronchi_calloc(bf->context, n, sizeof *bf->row);
    bf->col = ronchi_calloc(bf->context, n, sizeof *bf->col);
    bf->mean = ronchi_calloc(bf->context, n, sizeof *bf->mean);
    if (!list || !bf->valid || !bf->row || !bf->col || !bf->mean)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu images", n);
    ronchi_view valid = ronchi_view_2d(bf->valid, RONCHI_U8, bf->shape.scan_rows, bf->shape.scan_cols);
    ronchi_status status = ronchi_geometry_scan_valid(bf->acquisition, &valid, err);
    for (size_t i = 0; i < bf->n_positions; i++)
        bf->n_valid += bf->valid[i] != 0;
    for (size_t k = 0; k < n; k++)
        list[k] = (wanted){result->pixel_row[first + k], result->pixel_col[first + k], k};
    qsort(list, n, sizeof *list, by_tile);
    bf->n = n;
    for (size_t k = 0; k < n; k++) {
        bf->row[k] = list[k].row;
        bf->col[k] = list[k].col;
        bf->mean[k] = result->mean[(size_t)list[k].row * result->det_cols + list[k].col];
    }
    return status;
}

ronchi_status ronchi_parallax_stack(const ronchi_acquisition *acquisition, const ronchi_parallax_result *result,
                                    size_t first, const ronchi_view *out, ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_shape *s = &acquisition->store->shape;
    size_t n = out ? out->shape[1] : 0;
    bool same = result && result->scan_rows == s->scan_rows && result->scan_cols == s->scan_cols &&
                result->det_rows == s->det_rows && result->det_cols == s->det_cols;
    if (!same || !n || first > result->n || n > result->n - first || out->dtype != RONCHI_F32 ||
        !ronchi_view_is(out, 1, n, s->scan_rows, s->scan_cols))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "images of a stack go to a float32 array of images x %zu x %zu, up to number %zu",
                           s->scan_rows, s->scan_cols, result ? result->n : 0);
    ronchi_bright_field bf = {.acquisition = acquisition, .context = acquisition->context, .shape = *s};
    bf.n_positions = acquisition->store->n_positions;
    wanted *list = ronchi_calloc(bf.context, n, sizeof *list);
    status = take_pixels(&bf, result, first, n, list, err);
    if (status == RONCHI_OK)
        status = read_all(&bf, list, out, err);
    ronchi_context *context = bf.context;
    ronchi_bright_field_close(&bf);
    ronchi_free(context, list);
    return status;
}
