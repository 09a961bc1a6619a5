/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_encode.c - one brick from counts, in plain C.
 *
 * rANS gives back what was put in last, so everything runs backwards: pixels, steps, lanes.  Words grow down from the
 * end of their buffer, escapes grow up, and the stream is the one behind the other.
 */
#include <string.h>

#include "codec/lane_rans.h"

enum { WORDS_MOST = LANE_TILE * LANE_SPAN, ESCAPES_MOST = 4 * LANE_TILE * LANE_SPAN };

typedef struct half {
    uint32_t x[LANE_LANES];
    uint16_t *word; /* last word written */
    size_t n_escapes;
    uint16_t words[WORDS_MOST], escapes[ESCAPES_MOST];
} half;

struct ronchi_lane_work {
    ronchi_lane_stats stats[LANE_TILE];
    ronchi_lane_choice choice;
    half half[LANE_STREAMS];
};

size_t ronchi_lane_work_size(void)
{
    return sizeof(ronchi_lane_work);
}

/* --------------------------------------------------------------------------------------------------- statistics */

/* Sums of d and d * d; in 32 bits where they are sure to fit, which vectors do. */
static void moments(const uint32_t *counts, size_t n, ronchi_lane_stats *out)
{
    const uint32_t low = out->low;
    if (out->high - low < 2048) {
        uint32_t a = 0, b = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t d = counts[i] - low;
            a += d;
            b += d * d;
        }
        out->sum_low = a;
        out->sum_low2 = b;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t d = counts[i] - low;
        d = d < UINT16_MAX ? d : UINT16_MAX;
        out->sum_low += d;
        out->sum_low2 += d * d;
    }
}

static void pixel_stats(const uint32_t *counts, size_t n, ronchi_lane_stats *out)
{
    uint32_t low = UINT32_MAX, high = 0;
    uint64_t sum = 0;
    memset(out, 0, sizeof *out);
    for (size_t first = 0; first < n; first += LANE_LANES) { /* a step of 16: half words in 32-bit sums */
        uint32_t halves = 0, tops = 0;
        for (size_t i = first; i < ronchi_min_size(first + LANE_LANES, n); i++) {
            uint32_t v = counts[i];
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
        moments(counts, n, out);
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

static void escape(half *h, uint32_t value)
{
    if (value >= UINT16_MAX) {
        h->escapes[h->n_escapes++] = (uint16_t)(value >> 16);
        h->escapes[h->n_escapes++] = (uint16_t)value;
        value = UINT16_MAX;
    }
    h->escapes[h->n_escapes++] = (uint16_t)value;
}

/* Symbols of a pixel of a count or wide model; padding gets the likeliest.  Writes the escapes. */
static void wide_symbols(half *h, const ronchi_lane_table *t, const uint32_t *counts, size_t n, unsigned shift,
                         int64_t base, uint8_t *symbols)
{
    uint8_t coded[LANE_SYMBOLS]; /* a symbol without slots is an escape */
    size_t escapes = 0;
    for (unsigned k = 0; k < LANE_SYMBOLS; k++)
        coded[k] = t->frequency[k] ? (uint8_t)k : LANE_ESCAPE;
    for (size_t i = 0; i < n; i++) {
        int64_t d = ((int64_t)counts[i] - base) >> shift; /* of a negative number: negative */
        symbols[i] = coded[d < 0 || d > LANE_ESCAPE ? LANE_ESCAPE : d];
        escapes += symbols[i] == LANE_ESCAPE;
    }
    memset(symbols + n, t->largest, LANE_SPAN - n);
    for (size_t lane = LANE_LANES; escapes && lane-- > 0;)
        for (size_t row = LANE_ROWS; row-- > 0;)
            if (symbols[row * LANE_LANES + lane] == LANE_ESCAPE)
                escape(h, counts[row * LANE_LANES + lane]);
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

static void encode_shifted(half *h, const ronchi_lane_table *t, const uint8_t *symbols, const uint32_t *counts,
                           size_t n, unsigned shift, int64_t base)
{
    const uint32_t low = (UINT32_C(1) << shift) - 1;
    for (size_t row = ronchi_div_up(n, LANE_LANES); row-- > 0;)
        for (size_t lane = LANE_LANES; lane-- > 0;) {
            size_t i = row * LANE_LANES + lane;
            unsigned k = symbols[i], bits = k == LANE_ESCAPE ? 0 : shift;
            uint32_t raw = bits && i < n ? (uint32_t)(counts[i] - base) & low : 0;
            make_room(h, lane, ((uint32_t)t->frequency[k] << 24) >> bits);
            h->x[lane] = push(h->x[lane] << bits | raw, t, k);
        }
}

/* --------------------------------------------------------------------------------------------------- sparse groups */

/* Rows of a group's electrons in 'shift' bits each, the first lowest. */
static uint32_t rows_of(const uint32_t *counts, unsigned shift)
{
    uint32_t raw = 0, bits = 0;
    for (size_t row = 0; row < (size_t)1 << shift; row++)
        for (uint32_t k = counts[row * LANE_LANES]; k > 0; k--, bits += shift)
            raw |= (uint32_t)row << bits;
    return raw;
}

static void escape_group(half *h, unsigned shift, const uint32_t *counts)
{
    size_t rows = (size_t)1 << shift;
    uint64_t bits = 0;
    for (size_t row = rows; row-- > 0;) {
        uint32_t value = counts[row * LANE_LANES];
        bits |= (uint64_t)(value < 3 ? value : 3) << 2 * row;
        if (value >= 3)
            escape(h, value);
    }
    for (size_t i = ronchi_div_up(rows, 8); i-- > 0;)
        h->escapes[h->n_escapes++] = (uint16_t)(bits >> 16 * i);
}

static void encode_sparse(half *h, const ronchi_lane_table *t, const uint32_t *counts, size_t n)
{
    const unsigned shift = t->shift;
    const size_t groups = ronchi_div_up(ronchi_div_up(n, LANE_LANES), (size_t)1 << shift);
    uint32_t mask[LANE_LANES] = {0}, any = 0;
    for (size_t g = groups; g-- > 0;) {
        const uint32_t *at = counts + (g << shift) * LANE_LANES;
        uint32_t total[LANE_LANES] = {0}; /* fits: a sparse pixel has few electrons in all */
        for (size_t row = 0; row < (size_t)1 << shift; row++)
            for (size_t lane = 0; lane < LANE_LANES; lane++)
                total[lane] += at[row * LANE_LANES + lane];
        for (size_t lane = LANE_LANES; lane-- > 0;) {
            unsigned k = total[lane] < LANE_ESCAPE && t->frequency[total[lane]] ? total[lane] : LANE_ESCAPE;
            unsigned bits = k == LANE_ESCAPE ? 0 : k * shift;
            uint32_t raw = bits ? rows_of(at + lane, shift) : 0;
            mask[lane] |= (uint32_t)(k == LANE_ESCAPE) << g;
            any |= k == LANE_ESCAPE;
            make_room(h, lane, ((uint32_t)t->frequency[k] << 24) >> bits);
            h->x[lane] = push(h->x[lane] << bits | raw, t, k);
        }
    }
    for (size_t lane = LANE_LANES; any && lane-- > 0;)
        for (size_t g = groups; g-- > 0;)
            if (mask[lane] >> g & 1)
                escape_group(h, shift, counts + (g << shift) * LANE_LANES + lane);
}

static void encode_half(const ronchi_lane_tables *tables, const uint32_t *counts, size_t pitch, size_t n_pixels,
                        size_t n, const ronchi_lane_choice *choice, half *h)
{
    uint8_t symbols[LANE_SPAN];
    h->word = h->words + WORDS_MOST;
    h->n_escapes = 0;
    for (size_t lane = 0; lane < LANE_LANES; lane++)
        h->x[lane] = LANE_STATE;
    for (size_t p = n_pixels; p-- > 0;) {
        unsigned id = choice->id[p], shift = choice->shift[p];
        const uint32_t *at = counts + p * pitch;
        if (id == LANE_ID_ZERO || id == LANE_ID_PACKED)
            continue;
        const ronchi_lane_table *t = &tables->model[id - 1];
        if (id < LANE_ID_COUNT) {
            encode_sparse(h, t, at, n);
            continue;
        }
        wide_symbols(h, t, at, n, shift, choice->base[p], symbols);
        if (shift == 0)
            encode_pairs(h, t, symbols, ronchi_div_up(n, LANE_LANES));
        else
            encode_shifted(h, t, symbols, at, n, shift, choice->base[p]);
    }
}

/* ------------------------------------------------------------------------------------------------------- the brick */

static uint16_t *put32(uint16_t *to, uint32_t value)
{
    to[0] = (uint16_t)value;
    to[1] = (uint16_t)(value >> 16);
    return to + 2;
}

static uint16_t *pack(uint16_t *to, const uint32_t *counts, size_t pitch, size_t n_pixels, size_t n, int64_t base,
                      unsigned width)
{
    uint64_t have = 0;
    unsigned bits = 0;
    for (size_t p = 0; width && p < n_pixels; p++)
        for (size_t i = 0; i < n; i++) {
            have |= (uint64_t)(counts[p * pitch + i] - base) << bits;
            for (bits += width; bits >= 16; bits -= 16, have >>= 16)
                *to++ = (uint16_t)have;
        }
    if (bits)
        *to++ = (uint16_t)have;
    return to;
}

static uint16_t *write_ids(uint16_t *to, const uint8_t *id, size_t n_pixels)
{
    uint8_t least = UINT8_MAX, most = 0;
    for (size_t p = 0; p < n_pixels; p++) {
        least = id[p] < least ? id[p] : least;
        most = id[p] > most ? id[p] : most;
    }
    unsigned form = least == most ? 0 : most - least < 16 ? 1 : 2;
    *to++ = (uint16_t)(2 | form << 4);
    if (form < 2)
        *to++ = least;
    size_t n = form == 0 ? 0 : ronchi_div_up(n_pixels, form == 1 ? 4 : 2);
    memset(to, 0, n * sizeof *to);
    for (size_t p = 0; n && p < n_pixels; p++)
        if (form == 1)
            to[p / 4] |= (uint16_t)((id[p] - least) << p % 4 * 4);
        else
            to[p / 2] |= (uint16_t)(id[p] << p % 2 * 8);
    return to + n;
}

/* Words of the brick as it was chosen. */
static size_t mixed_words(const ronchi_lane_work *work, size_t n_pixels, size_t n_positions, size_t n_streams,
                          bool coded)
{
    size_t n = 1 + 1 + LANE_TILE / 2; /* at most */
    for (size_t p = 0; p < n_pixels; p++)
        if (work->choice.id[p] == LANE_ID_PACKED)
            n += 3 + ronchi_div_up(n_positions * work->choice.width[p], 16);
        else if (work->choice.id[p] >= LANE_ID_WIDE)
            n += 2;
    for (size_t s = 0; coded && s < n_streams; s++)
        n += 2 + 2 * LANE_LANES + (size_t)(work->half[s].words + WORDS_MOST - work->half[s].word) +
             work->half[s].n_escapes;
    return n;
}

static uint16_t *write_streams(uint16_t *to, const ronchi_lane_work *work, size_t n_streams)
{
    for (size_t s = 0; s < n_streams; s++)
        to = put32(
            to, (uint32_t)((size_t)(work->half[s].words + WORDS_MOST - work->half[s].word) + work->half[s].n_escapes));
    for (size_t s = 0; s < n_streams; s++)
        for (size_t lane = 0; lane < LANE_LANES; lane++)
            to = put32(to, work->half[s].x[lane]);
    for (size_t s = 0; s < n_streams; s++) {
        const half *h = &work->half[s];
        size_t n = (size_t)(h->words + WORDS_MOST - h->word);
        memcpy(to, h->word, n * sizeof *to);
        memcpy(to + n, h->escapes, h->n_escapes * sizeof *to);
        to += n + h->n_escapes;
    }
    return to;
}

static size_t write_mixed(const ronchi_lane_work *work, const uint32_t *counts, size_t pitch, size_t n_pixels,
                          size_t n_positions, size_t n_streams, bool coded, uint16_t *out)
{
    const ronchi_lane_choice *c = &work->choice;
    uint16_t *to = write_ids(out, c->id, n_pixels);
    for (size_t p = 0; p < n_pixels; p++)
        if (c->id[p] == LANE_ID_PACKED) {
            to = put32(to, (uint32_t)c->base[p]);
            *to++ = c->width[p];
        } else if (c->id[p] >= LANE_ID_WIDE) {
            to = put32(to, (uint32_t)c->shift[p] << 28 | ((uint32_t)c->base[p] & 0x0fffffff));
        }
    if (coded)
        to = write_streams(to, work, n_streams);
    for (size_t p = 0; p < n_pixels; p++)
        if (c->id[p] == LANE_ID_PACKED)
            to = pack(to, counts + p * pitch, pitch, 1, n_positions, c->base[p], c->width[p]);
    return (size_t)(to - out);
}

size_t ronchi_lane_encode(const ronchi_lane_tables *tables, const uint32_t *counts, size_t n_pixels, size_t n_positions,
                          ronchi_lane_work *work, uint16_t *out)
{
    const size_t n_streams = ronchi_div_up(n_positions, LANE_SPAN), pitch = n_streams * LANE_SPAN;
    uint32_t low = UINT32_MAX, high = 0;
    bool coded = false;
    for (size_t p = 0; p < n_pixels; p++) {
        pixel_stats(counts + p * pitch, n_positions, &work->stats[p]);
        low = work->stats[p].low < low ? work->stats[p].low : low;
        high = work->stats[p].high > high ? work->stats[p].high : high;
    }
    if (high == 0)
        return 0;
    unsigned width = 0;
    while (width < 32 && (high - low) >> width)
        width++;
    ronchi_lane_choose(work->stats, n_pixels, n_positions, &work->choice);
    for (size_t p = 0; p < n_pixels; p++)
        coded |= work->choice.id[p] != LANE_ID_ZERO && work->choice.id[p] != LANE_ID_PACKED;
    for (size_t s = 0; coded && s < n_streams; s++)
        encode_half(tables, counts + s * LANE_SPAN, pitch, n_pixels,
                    ronchi_min_size(LANE_SPAN, n_positions - s * LANE_SPAN), &work->choice, &work->half[s]);
    size_t whole = 4 + ronchi_div_up(n_pixels * n_positions * width, 16);
    if (mixed_words(work, n_pixels, n_positions, n_streams, coded) < whole)
        return write_mixed(work, counts, pitch, n_pixels, n_positions, n_streams, coded, out);
    *out = 1;
    uint16_t *to = put32(out + 1, low);
    *to++ = (uint16_t)width;
    return (size_t)(pack(to, counts, pitch, n_pixels, n_positions, low, width) - out);
}
