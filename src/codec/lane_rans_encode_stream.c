/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode_stream.c - statistics and streams of lane-rans-v1 in plain C: the reference of the vector versions,
 * and what encodes counts above 16 bits.
 *
 * rANS gives back what was put in last, so everything runs backwards: pixels, steps, lanes.  Words grow down from the
 * end of their buffer, escapes grow up, and the stream is the one behind the other.
 */
#include <string.h>

#include "codec/lane_rans_encode.h"

/* Functions of 'size' are written once and compiled for 2 and 4 bytes. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

typedef ronchi_lane_half half;

/* Counts of one pixel from some position on. */
typedef struct counts {
    const void *at;
    size_t size;
} counts;

INLINE uint32_t value(counts c, size_t i)
{
    return c.size == 2 ? ((const uint16_t *)c.at)[i] : ((const uint32_t *)c.at)[i];
}

INLINE counts from(counts c, size_t i)
{
    counts later = {(const char *)c.at + i * c.size, c.size};
    return later;
}

/* --------------------------------------------------------------------------------------------------- statistics */

/* Sums of d and d * d; in 32 bits where they are sure to fit, which vectors do. */
INLINE void moments(counts c, size_t n, ronchi_lane_stats *out)
{
    const uint32_t low = out->low;
    if (out->high - low < 2048) {
        uint32_t a = 0, b = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t d = value(c, i) - low;
            a += d;
            b += d * d;
        }
        out->sum_low = a;
        out->sum_low2 = b;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t d = value(c, i) - low;
        d = d < UINT16_MAX ? d : UINT16_MAX;
        out->sum_low += d;
        out->sum_low2 += d * d;
    }
}

INLINE void pixel_stats(counts c, size_t n, ronchi_lane_stats *out)
{
    uint32_t low = UINT32_MAX, high = 0;
    uint64_t sum = 0;
    memset(out, 0, sizeof *out);
    for (size_t first = 0; first < n; first += LANE_LANES) { /* a step of 16: half words in 32-bit sums */
        uint32_t halves = 0, tops = 0;
        for (size_t i = first; i < ronchi_min_size(first + LANE_LANES, n); i++) {
            uint32_t v = value(c, i);
            low = v < low ? v : low;
            high = v > high ? v : high;
            halves += v & 0xffff;
            tops += v >> 16;
        }
        sum += halves + ((uint64_t)tops << 16);
    }
    out->low = low;
    out->high = high;
    out->sum = sum;
    if (10 * sum >= n) /* sparse models do not ask for them */
        moments(c, n, out);
}

void ronchi_lane_stats_c(const uint16_t *at, size_t n, ronchi_lane_stats *out)
{
    pixel_stats((counts){at, 2}, n, out);
}

void ronchi_lane_stats_c32(const uint32_t *at, size_t n, ronchi_lane_stats *out)
{
    pixel_stats((counts){at, 4}, n, out);
}

/* ------------------------------------------------------------------------------------------------------- symbols */

/* Makes room for symbols of cost up to 16 bits: below 'limit' the state stays in 32 bits. */
static inline void make_room(half *h, size_t lane, uint32_t limit)
{
    if (h->x[lane] < limit)
        return;
    *--h->word = (uint16_t)h->x[lane];
    h->x[lane] >>= 16;
}

static inline uint32_t push(uint32_t x, const ronchi_lane_table *t, unsigned symbol)
{
    uint32_t f = t->frequency[symbol], q = (uint32_t)(x * t->inverse[symbol] >> 40);
    return q << 8 | t->place[t->first[symbol] + (x - q * f)];
}

/* Symbols of a pixel of a count or wide model; padding gets the likeliest.  Writes the escapes. */
INLINE void wide_symbols(half *h, const ronchi_lane_table *t, counts c, size_t n, unsigned shift, int64_t base,
                         uint8_t *symbols)
{
    uint8_t coded[LANE_SYMBOLS]; /* a symbol without slots is an escape */
    size_t escapes = 0;
    for (unsigned k = 0; k < LANE_SYMBOLS; k++)
        coded[k] = t->frequency[k] ? (uint8_t)k : LANE_ESCAPE;
    for (size_t i = 0; i < n; i++) {
        int64_t d = ((int64_t)value(c, i) - base) >> shift; /* of a negative number: negative */
        symbols[i] = coded[d < 0 || d > LANE_ESCAPE ? LANE_ESCAPE : d];
        escapes += symbols[i] == LANE_ESCAPE;
    }
    memset(symbols + n, t->largest, LANE_SPAN - n);
    for (size_t lane = LANE_LANES; escapes && lane-- > 0;)
        for (size_t row = LANE_ROWS; row-- > 0;)
            if (symbols[row * LANE_LANES + lane] == LANE_ESCAPE)
                ronchi_lane_put_escape(h, value(c, row * LANE_LANES + lane));
}

static void encode_pairs(half *h, const ronchi_lane_table *t, const uint8_t *symbols, size_t rows)
{
    for (size_t row = (rows + 1) / 2 * 2; row > 0; row -= 2)
        for (size_t lane = LANE_LANES; lane-- > 0;) {
            unsigned a = symbols[(row - 2) * LANE_LANES + lane], b = symbols[(row - 1) * LANE_LANES + lane];
            make_room(h, lane, (uint32_t)t->frequency[a] * t->frequency[b] << 16);
            h->x[lane] = push(push(h->x[lane], t, b), t, a);
        }
}

INLINE void encode_shifted(half *h, const ronchi_lane_table *t, const uint8_t *symbols, counts c, size_t n,
                           unsigned shift, int64_t base)
{
    const uint32_t low = (UINT32_C(1) << shift) - 1;
    for (size_t row = ronchi_div_up(n, LANE_LANES); row-- > 0;)
        for (size_t lane = LANE_LANES; lane-- > 0;) {
            size_t i = row * LANE_LANES + lane;
            unsigned k = symbols[i], bits = k == LANE_ESCAPE ? 0 : shift;
            uint32_t raw = bits && i < n ? (uint32_t)(value(c, i) - base) & low : 0;
            make_room(h, lane, ((uint32_t)t->frequency[k] << 24) >> bits);
            h->x[lane] = push(h->x[lane] << bits | raw, t, k);
        }
}

/* --------------------------------------------------------------------------------------------------- sparse groups */

/* Rows of a group's electrons in 'shift' bits each, the first lowest. */
INLINE uint32_t rows_of(counts c, unsigned shift)
{
    uint32_t raw = 0, bits = 0;
    for (size_t row = 0; row < (size_t)1 << shift; row++)
        for (uint32_t k = value(c, row * LANE_LANES); k > 0; k--, bits += shift)
            raw |= (uint32_t)row << bits;
    return raw;
}

INLINE void escape_group(half *h, unsigned shift, counts c)
{
    size_t rows = (size_t)1 << shift;
    uint64_t bits = 0;
    for (size_t row = rows; row-- > 0;) {
        uint32_t v = value(c, row * LANE_LANES);
        bits |= (uint64_t)(v < 3 ? v : 3) << 2 * row;
        if (v >= 3)
            ronchi_lane_put_escape(h, v);
    }
    for (size_t i = ronchi_div_up(rows, 8); i-- > 0;)
        h->escapes[h->n_escapes++] = (uint16_t)(bits >> 16 * i);
}

INLINE void encode_sparse(half *h, const ronchi_lane_table *t, counts c, size_t n)
{
    const unsigned shift = t->shift;
    const size_t groups = ronchi_div_up(ronchi_div_up(n, LANE_LANES), (size_t)1 << shift);
    uint32_t mask[LANE_LANES] = {0}, any = 0;
    for (size_t g = groups; g-- > 0;) {
        counts at = from(c, (g << shift) * LANE_LANES);
        uint32_t total[LANE_LANES] = {0}; /* fits: a sparse pixel has few electrons in all */
        for (size_t row = 0; row < (size_t)1 << shift; row++)
            for (size_t lane = 0; lane < LANE_LANES; lane++)
                total[lane] += value(at, row * LANE_LANES + lane);
        for (size_t lane = LANE_LANES; lane-- > 0;) {
            unsigned k = total[lane] < LANE_ESCAPE && t->frequency[total[lane]] ? total[lane] : LANE_ESCAPE;
            unsigned bits = k == LANE_ESCAPE ? 0 : k * shift;
            uint32_t raw = bits ? rows_of(from(at, lane), shift) : 0;
            mask[lane] |= (uint32_t)(k == LANE_ESCAPE) << g;
            any |= k == LANE_ESCAPE;
            make_room(h, lane, ((uint32_t)t->frequency[k] << 24) >> bits);
            h->x[lane] = push(h->x[lane] << bits | raw, t, k);
        }
    }
    for (size_t lane = LANE_LANES; any && lane-- > 0;)
        for (size_t g = groups; g-- > 0;)
            if (mask[lane] >> g & 1)
                escape_group(h, shift, from(c, (g << shift) * LANE_LANES + lane));
}

/* ------------------------------------------------------------------------------------------------------- streams */

INLINE void encode_half(const ronchi_lane_tables *tables, const ronchi_lane_pixels *pixels, size_t size, size_t s,
                        const ronchi_lane_choice *choice, half *h)
{
    const size_t n = ronchi_min_size(LANE_SPAN, pixels->n_positions - s * LANE_SPAN);
    uint8_t symbols[LANE_SPAN];
    h->word = h->words + LANE_WORDS_MOST;
    h->n_escapes = 0;
    for (size_t lane = 0; lane < LANE_LANES; lane++)
        h->x[lane] = LANE_STATE;
    for (size_t p = pixels->n_pixels; p-- > 0;) {
        unsigned id = choice->id[p], shift = choice->shift[p];
        counts c = {(const char *)pixels->at[p] + s * LANE_SPAN * size, size};
        if (id == LANE_ID_ZERO || id == LANE_ID_PACKED)
            continue;
        const ronchi_lane_table *t = &tables->model[id - 1];
        if (id < LANE_ID_COUNT) {
            encode_sparse(h, t, c, n);
            continue;
        }
        wide_symbols(h, t, c, n, shift, choice->base[p], symbols);
        if (shift == 0)
            encode_pairs(h, t, symbols, ronchi_div_up(n, LANE_LANES));
        else
            encode_shifted(h, t, symbols, c, n, shift, choice->base[p]);
    }
}

void ronchi_lane_encode_c(const ronchi_lane_tables *tables, const ronchi_lane_pixels *pixels,
                          const ronchi_lane_stats *stats, const ronchi_lane_choice *choice, ronchi_lane_half *halves)
{
    (void)stats;
    for (size_t s = 0; s * LANE_SPAN < pixels->n_positions; s++)
        encode_half(tables, pixels, 2, s, choice, &halves[s]);
}

void ronchi_lane_encode_c32(const ronchi_lane_tables *tables, const ronchi_lane_pixels *pixels,
                            const ronchi_lane_stats *stats, const ronchi_lane_choice *choice, ronchi_lane_half *halves)
{
    (void)stats;
    for (size_t s = 0; s * LANE_SPAN < pixels->n_positions; s++)
        encode_half(tables, pixels, 4, s, choice, &halves[s]);
}
