/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_decode.c - one stream of a brick to counts, in plain C: the reference of all faster versions.
 *
 * Within a pixel a stream is trusted only in that it stays in the readable slack: 16 lanes of at most 32 rows take at
 * most one word a symbol, so the words are checked once a pixel.  Escapes, which are rare, are checked one by one.
 */
#include <string.h>

#include "codec/lane_rans.h"

typedef struct lane_state {
    uint32_t x[LANE_LANES];
    const uint16_t *words, *end; /* next word, and one past the next escape */
} lane_state;

/* Counts of any width behind one pointer; 'size' is constant where this is inlined. */
typedef struct counts {
    void *at;
    size_t size;
} counts;

static inline void put(counts out, size_t i, uint32_t value)
{
    if (out.size == 2)
        ((uint16_t *)out.at)[i] = (uint16_t)value;
    else
        ((uint32_t *)out.at)[i] = value;
}

static inline void add_one(counts out, size_t i)
{
    if (out.size == 2)
        ((uint16_t *)out.at)[i]++;
    else
        ((uint32_t *)out.at)[i]++;
}

static inline uint32_t symbol_of(uint32_t *x, const uint32_t *slots)
{
    uint32_t e = slots[*x & (LANE_SLOTS - 1)];
    *x = (e >> 8 & 255) * (*x >> 8) + (e & 255);
    return e >> 16;
}

static inline void refill(lane_state *s, size_t lane)
{
    if (s->x[lane] < LANE_STATE)
        s->x[lane] = s->x[lane] << 16 | *s->words++;
}

/* The next escaped count; false when the escapes run into the words. */
static bool escaped(lane_state *s, uint32_t *out)
{
    if (s->end <= s->words)
        return false;
    *out = *--s->end;
    if (*out < 0xffff)
        return true;
    if (s->end - s->words < 2)
        return false;
    *out = s->end[-1] | (uint32_t)s->end[-2] << 16;
    s->end -= 2;
    return true;
}

/* Escaped counts of a pixel of a count or wide model: mask[lane] bit row. */
static const char *patch(lane_state *s, const uint32_t *mask, uint32_t largest, counts out)
{
    for (size_t lane = 0; lane < LANE_LANES; lane++)
        for (size_t row = 0; mask[lane] >> row; row++) {
            uint32_t value;
            if (!(mask[lane] >> row & 1))
                continue;
            if (!escaped(s, &value))
                return "its escapes are missing";
            if (value > largest)
                return "a count is larger than its type";
            put(out, row * LANE_LANES + lane, value);
            if (row == LANE_ROWS - 1)
                break;
        }
    return NULL;
}

static inline const char *decode_count(lane_state *s, const ronchi_lane_table *t, size_t rows, uint32_t largest,
                                       counts out)
{
    uint32_t mask[LANE_LANES] = {0}, any = 0;
    for (size_t row = 0; row < rows; row += 2)
        for (size_t lane = 0; lane < LANE_LANES; lane++) {
            uint32_t a = symbol_of(&s->x[lane], t->slot), b = symbol_of(&s->x[lane], t->slot);
            refill(s, lane);
            put(out, row * LANE_LANES + lane, a);
            put(out, (row + 1) * LANE_LANES + lane, b);
            uint32_t m = (uint32_t)(a == LANE_ESCAPE) << row | (uint32_t)(b == LANE_ESCAPE) << (row + 1);
            mask[lane] |= m;
            any |= m;
        }
    return any ? patch(s, mask, largest, out) : NULL;
}

static inline const char *decode_wide(lane_state *s, const ronchi_lane_table *t, unsigned shift, int64_t base, size_t n,
                                      uint32_t largest, counts out)
{
    const size_t rows = ronchi_div_up(n, LANE_LANES);
    uint32_t mask[LANE_LANES] = {0}, any = 0, low = (UINT32_C(1) << shift) - 1;
    bool outside = false;
    size_t step = shift ? 1 : 2; /* without raw bits two symbols share a refill */
    for (size_t first = 0; first < rows; first += step)
        for (size_t lane = 0; lane < LANE_LANES; lane++) {
            for (size_t row = first; row < first + step; row++) {
                uint32_t symbol = symbol_of(&s->x[lane], t->slot);
                if (symbol == LANE_ESCAPE) {
                    mask[lane] |= UINT32_C(1) << row;
                    any = 1;
                    continue;
                }
                int64_t value = base + (int64_t)(symbol << shift | (s->x[lane] & low));
                s->x[lane] >>= shift;
                outside |= row * LANE_LANES + lane < n && (value < 0 || value > largest);
                put(out, row * LANE_LANES + lane, (uint32_t)value);
            }
            refill(s, lane);
        }
    if (outside)
        return "a count is larger than its type";
    return any ? patch(s, mask, largest, out) : NULL;
}

/* A sparse group that did not fit its symbols: its counts in 2 bits each, 3 and more behind. */
static const char *patch_group(lane_state *s, unsigned shift, uint32_t largest, size_t first, size_t lane, counts out)
{
    size_t rows = (size_t)1 << shift, n = ronchi_div_up(rows, 8);
    uint64_t bits = 0;
    if ((size_t)(s->end - s->words) < n || s->end < s->words)
        return "its escapes are missing";
    for (size_t i = 0; i < n; i++)
        bits |= (uint64_t) * --s->end << 16 * i;
    for (size_t row = 0; row < rows; row++) {
        uint32_t value = bits >> 2 * row & 3;
        if (value == 3 && !escaped(s, &value))
            return "its escapes are missing";
        if (value > largest)
            return "a count is larger than its type";
        put(out, (first + row) * LANE_LANES + lane, value);
    }
    return NULL;
}

static inline const char *decode_sparse(lane_state *s, const ronchi_lane_table *t, size_t rows, uint32_t largest,
                                        counts out)
{
    const unsigned shift = t->shift;
    const uint32_t low = (UINT32_C(1) << shift) - 1;
    uint32_t mask[LANE_LANES] = {0}, any = 0;
    memset(out.at, 0, LANE_SPAN * out.size);
    for (size_t first = 0; first < rows; first += (size_t)1 << shift)
        for (size_t lane = 0; lane < LANE_LANES; lane++) {
            uint32_t n = symbol_of(&s->x[lane], t->slot), escape = n == LANE_ESCAPE;
            mask[lane] |= escape << (first >> shift);
            any |= escape;
            for (n = escape ? 0 : n; n; n--) {
                add_one(out, (first + (s->x[lane] & low)) * LANE_LANES + lane);
                s->x[lane] >>= shift;
            }
            refill(s, lane);
        }
    for (size_t lane = 0; any && lane < LANE_LANES; lane++)
        for (size_t g = 0; g < (size_t)LANE_ROWS >> shift; g++)
            if (mask[lane] >> g & 1) {
                const char *wrong = patch_group(s, shift, largest, g << shift, lane, out);
                if (wrong)
                    return wrong;
            }
    return NULL;
}

/* 'n' values of 'width' bits from bit 'first' on. */
static inline void unpack(const uint16_t *words, size_t first, size_t n, unsigned width, int64_t base, counts out)
{
    const uint64_t keep = (UINT64_C(1) << width) - 1;
    uint64_t have = 0;
    size_t bits = 0, next = first / 16;
    for (size_t i = 0, skip = first % 16; i < n; i++) {
        while (width && bits < width + skip) {
            have |= (uint64_t)words[next++] << bits;
            bits += 16;
        }
        have >>= skip;
        bits -= width ? skip : 0;
        skip = 0;
        put(out, i, (uint32_t)(base + (int64_t)(have & keep)));
        have >>= width;
        bits -= width;
    }
}

static const char *over(const ronchi_lane_brick *b, size_t p, size_t width, uint32_t largest, counts out, size_t n)
{
    if (b->base[p] + (int64_t)((UINT64_C(1) << width) - 1) <= largest)
        return NULL;
    for (size_t i = 0; i < n; i++) { /* the type is full: only then the counts themselves must be looked at */
        uint64_t v = out.size == 2 ? ((uint16_t *)out.at)[i] : ((uint32_t *)out.at)[i];
        if (v > largest || v < (uint64_t)b->base[p])
            return "a count is larger than its type";
    }
    return NULL;
}

static inline const char *decode_plain(const ronchi_lane_brick *b, size_t s, size_t p, size_t n, uint32_t largest,
                                       counts out)
{
    if (b->whole) {
        unpack(b->packed[0], (p * b->n_positions + s * LANE_SPAN) * b->whole_width, n, (unsigned)b->whole_width,
               b->base[0], out);
        return over(b, 0, b->whole_width, largest, out, n);
    }
    if (b->id[p] != LANE_ID_PACKED) {
        memset(out.at, 0, LANE_SPAN * out.size);
        return NULL;
    }
    unpack(b->packed[p], s * LANE_SPAN * b->width[p], n, b->width[p], b->base[p], out);
    return over(b, p, b->width[p], largest, out, n);
}

static inline const char *decode(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t s,
                                 size_t stop_pixel, uint32_t largest, counts out)
{
    const size_t n = ronchi_min_size(LANE_SPAN, b->n_positions - s * LANE_SPAN), rows = ronchi_div_up(n, LANE_LANES);
    lane_state state = {{0}, b->stream[s].words, b->stream[s].end};
    for (size_t i = 0; b->coded && i < LANE_LANES; i++)
        state.x[i] = b->stream[s].states[2 * i] | (uint32_t)b->stream[s].states[2 * i + 1] << 16;
    for (size_t p = 0; p < stop_pixel; p++) {
        const char *wrong;
        counts to = {(char *)out.at + p * LANE_SPAN * out.size, out.size};
        unsigned id = b->id[p];
        if (id == LANE_ID_ZERO || id == LANE_ID_PACKED) {
            wrong = decode_plain(b, s, p, n, largest, to);
        } else {
            const ronchi_lane_table *t = &tables->model[id - 1];
            wrong = id < LANE_ID_COUNT  ? decode_sparse(&state, t, rows, largest, to)
                    : id < LANE_ID_WIDE ? decode_count(&state, t, rows, largest, to)
                                        : decode_wide(&state, t, b->shift[p], b->base[p], n, largest, to);
            if (!wrong && state.words > state.end)
                wrong = "its words run out";
        }
        if (wrong)
            return wrong;
    }
    if (stop_pixel < b->n_pixels || !b->coded)
        return NULL;
    for (size_t i = 0; i < LANE_LANES; i++)
        if (state.x[i] != LANE_STATE)
            return "its last states are wrong";
    return state.words == state.end ? NULL : "its words do not end where its escapes do";
}

const char *ronchi_lane_decode16_c(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first,
                                   size_t n, size_t stop_pixel, uint32_t largest, uint16_t *out)
{
    const char *wrong = NULL;
    for (size_t k = 0; !wrong && k < n; k++)
        wrong = decode(tables, brick, first + k, stop_pixel, largest, (counts){out + k * LANE_TILE * LANE_SPAN, 2});
    return wrong;
}

const char *ronchi_lane_tiles_c(const ronchi_lane_tables *tables, const ronchi_lane_brick *const *bricks, size_t n,
                                size_t stream, const size_t *stop, uint32_t largest, uint16_t *const *out)
{
    const char *wrong = NULL;
    for (size_t k = 0; k < n && !wrong; k++)
        wrong = ronchi_lane_decode16_c(tables, bricks[k], stream, 1, stop[k], largest, out[k]);
    return wrong;
}

const char *ronchi_lane_decode32(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first,
                                 size_t n, size_t stop_pixel, uint32_t largest, uint32_t *out)
{
    const char *wrong = NULL;
    for (size_t k = 0; !wrong && k < n; k++)
        wrong = decode(tables, brick, first + k, stop_pixel, largest, (counts){out + k * LANE_TILE * LANE_SPAN, 4});
    return wrong;
}

const char *ronchi_lane_decode_plain16(const ronchi_lane_brick *b, size_t s, size_t p, uint32_t largest, uint16_t *out)
{
    size_t n = ronchi_min_size(LANE_SPAN, b->n_positions - s * LANE_SPAN);
    return decode_plain(b, s, p, n, largest, (counts){out, 2});
}
