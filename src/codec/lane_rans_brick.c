/* SPDX-License-Identifier: MIT */
/* lane_rans_brick.c - how a shape is cut into tiles, rectangles and bricks, and the head of a brick. */
#include <string.h>

#include "codec/lane_rans.h"

/* ------------------------------------------------------------------------------------------------------- layout */

static size_t power_of_two(size_t n)
{
    size_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

void ronchi_lane_layout_of(const ronchi_shape *shape, ronchi_dtype dtype, ronchi_lane_layout *out)
{
    uint64_t frame = (uint64_t)shape->det_rows * shape->det_cols * ronchi_dtype_size(dtype);
    memset(out, 0, sizeof *out);
    out->shape = *shape;
    out->value_bytes = ronchi_dtype_size(dtype);
    out->tile_rows = out->tile_cols = 8;
    if (shape->det_rows < 8) {
        out->tile_rows = power_of_two(shape->det_rows);
        out->tile_cols = LANE_TILE / out->tile_rows;
    } else if (shape->det_cols < 8) {
        out->tile_cols = power_of_two(shape->det_cols);
        out->tile_rows = LANE_TILE / out->tile_cols;
    }
    out->rect_rows = out->rect_cols = LANE_RECTANGLE;
    while (out->rect_rows * out->rect_cols > 1 && frame > LANE_RECTANGLE_BYTES / (out->rect_rows * out->rect_cols)) {
        if (out->rect_rows >= out->rect_cols)
            out->rect_rows /= 2;
        else
            out->rect_cols /= 2;
    }
    out->tiles_down = ronchi_div_up(shape->det_rows, out->tile_rows);
    out->tiles_across = ronchi_div_up(shape->det_cols, out->tile_cols);
    out->n_tiles = out->tiles_down * out->tiles_across;
    out->rects_down = ronchi_div_up(shape->scan_rows, out->rect_rows);
    out->rects_across = ronchi_div_up(shape->scan_cols, out->rect_cols);
    out->n_rects = out->rects_down * out->rects_across;
}

ronchi_lane_cut ronchi_lane_tile(const ronchi_lane_layout *layout, size_t index)
{
    ronchi_lane_cut cut = {index / layout->tiles_across * layout->tile_rows,
                           index % layout->tiles_across * layout->tile_cols, 0, 0};
    cut.rows = ronchi_min_size(layout->tile_rows, layout->shape.det_rows - cut.row);
    cut.cols = ronchi_min_size(layout->tile_cols, layout->shape.det_cols - cut.col);
    return cut;
}

ronchi_lane_cut ronchi_lane_rect(const ronchi_lane_layout *layout, size_t index)
{
    ronchi_lane_cut cut = {index / layout->rects_across * layout->rect_rows,
                           index % layout->rects_across * layout->rect_cols, 0, 0};
    cut.rows = ronchi_min_size(layout->rect_rows, layout->shape.scan_rows - cut.row);
    cut.cols = ronchi_min_size(layout->rect_cols, layout->shape.scan_cols - cut.col);
    return cut;
}

/* ------------------------------------------------------------------------------------------------- a brick's head */

/* Words of a brick not read yet. */
typedef struct cursor {
    const uint16_t *at, *end;
} cursor;

static const uint16_t *take(cursor *c, size_t n)
{
    if (n > (size_t)(c->end - c->at))
        return NULL;
    const uint16_t *words = c->at;
    c->at += n;
    return words;
}

static bool take32(cursor *c, uint32_t *out)
{
    const uint16_t *words = take(c, 2);
    if (words)
        *out = words[0] | (uint32_t)words[1] << 16;
    return words != NULL;
}

static size_t packed_words(size_t n, unsigned width)
{
    return ronchi_div_up(n * width, 16);
}

/* The three forms of the model ids: one for all, an offset and 4 bits each, one byte each. */
static const char *parse_ids(cursor *c, unsigned form, ronchi_lane_brick *out)
{
    static const size_t per_word[3] = {LANE_TILE, 4, 2};
    if (form > 2)
        return "an unknown form of model ids";
    const uint16_t *least = form < 2 ? take(c, 1) : NULL;
    const uint16_t *words = form == 0 ? least : take(c, ronchi_div_up(out->n_pixels, per_word[form]));
    if (!words || (form == 1 && !least))
        return "it ends within its model ids";
    for (size_t p = 0; p < out->n_pixels; p++) {
        unsigned word = words[p / per_word[form]], shift = (unsigned)(p % per_word[form] * (form == 1 ? 4 : 8));
        unsigned id = form == 0 ? word : form == 1 ? *least + (word >> shift & 15) : word >> shift & 255;
        if (id > LANE_ID_PACKED)
            return "an unknown model id";
        out->id[p] = (uint8_t)id;
    }
    return NULL;
}

static const char *parse_parameters(cursor *c, ronchi_lane_brick *out)
{
    for (size_t p = 0; p < out->n_pixels; p++) {
        uint32_t value;
        if (out->id[p] < LANE_ID_WIDE) {
            out->coded |= out->id[p] != LANE_ID_ZERO;
            continue;
        }
        if (!take32(c, &value))
            return "it ends within its parameters";
        if (out->id[p] == LANE_ID_PACKED) {
            const uint16_t *width = take(c, 1);
            if (!width || *width > 32)
                return "a pixel of more than 32 bits";
            out->base[p] = value;
            out->width[p] = (uint8_t)*width;
            continue;
        }
        out->coded = true;
        out->shift[p] = (uint8_t)(value >> 28);
        out->base[p] = (int64_t)(value & 0x0fffffff) - (value & 0x08000000 ? INT64_C(1) << 28 : 0);
        if (out->shift[p] > LANE_MAX_SHIFT)
            return "a pixel of more than 8 raw bits";
    }
    return NULL;
}

static const char *parse_streams(cursor *c, ronchi_lane_brick *out)
{
    uint32_t size[LANE_STREAMS];
    for (size_t s = 0; s < out->n_streams; s++)
        if (!take32(c, &size[s]))
            return "it ends within its stream sizes";
    for (size_t s = 0; s < out->n_streams; s++)
        if (!(out->stream[s].states = take(c, 2 * LANE_LANES)))
            return "it ends within its states";
    for (size_t s = 0; s < out->n_streams; s++) {
        if (!(out->stream[s].words = take(c, size[s])))
            return "it ends within a stream";
        out->stream[s].end = out->stream[s].words + size[s];
    }
    return NULL;
}

static const char *parse_whole(cursor *c, ronchi_lane_brick *out)
{
    uint32_t base;
    const uint16_t *width;
    if (!take32(c, &base) || !(width = take(c, 1)) || *width > 32)
        return "its width is not 0 to 32 bits";
    out->whole = true;
    out->whole_width = *width;
    out->base[0] = base;
    out->packed[0] = take(c, packed_words(out->n_pixels * out->n_positions, *width));
    return out->packed[0] ? NULL : "it ends within its packed counts";
}

static const char *parse_mixed(cursor *c, unsigned form, ronchi_lane_brick *out)
{
    const char *wrong = parse_ids(c, form, out);
    if (!wrong)
        wrong = parse_parameters(c, out);
    if (!wrong && out->coded)
        wrong = parse_streams(c, out);
    for (size_t p = 0; !wrong && p < out->n_pixels; p++)
        if (out->id[p] == LANE_ID_PACKED && !(out->packed[p] = take(c, packed_words(out->n_positions, out->width[p]))))
            wrong = "it ends within its packed counts";
    return wrong;
}

const char *ronchi_lane_brick_parse(const uint16_t *words, size_t n_words, size_t n_pixels, size_t n_positions,
                                    ronchi_lane_brick *out)
{
    cursor c = {words, words + n_words};
    memset(out, 0, sizeof *out);
    out->n_pixels = n_pixels;
    out->n_positions = n_positions;
    out->n_streams = ronchi_div_up(n_positions, LANE_SPAN);
    if (n_words == 0) /* all counts are 0 */
        return NULL;
    const uint16_t *head = take(&c, 1);
    unsigned kind = *head & 15, form = *head >> 4 & 15;
    const char *wrong = *head >> 8 ? "an unknown kind" : NULL;
    if (!wrong && kind == 1 && form == 0)
        wrong = parse_whole(&c, out);
    else if (!wrong && kind == 2)
        wrong = parse_mixed(&c, form, out);
    else
        wrong = "an unknown kind";
    return wrong ? wrong : c.at == c.end ? NULL : "words follow its end";
}
