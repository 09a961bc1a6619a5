/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_walk.h - the walk over the pixels of a brick, for the vector kernels of lane-rans-v1.
 *
 * Included once by each of them, after its vector of 16 lanes and what can be done with it: vec, lanes, pieces, load,
 * store, all, add, both (bits), either, down, up, having, above, pieces_of, symbol, refill, put_row, put_rows,
 * two_codes, pick, shift_up, shift_down, shift_each, drop,
 * drop_raw, unless, codes_above, list_electrons.  Two streams run side by side, as each is one chain of dependent
 * steps: those of a brick, or the same of two bricks.
 *
 * Entries of tables carry a code in their lowest byte: the symbol, and LANE_CODE_ESCAPE for an escape.  A pixel's
 * escapes are only noticed while it is decoded; where there are any its codes are looked at again.
 */
#include "codec/lane_rans_escapes.h"

enum {
    ESCAPED = LANE_CODE_ESCAPE & ~LANE_ESCAPE, /* the bit that only an escape's code has */
    GROUPS = LANE_ROWS / 2,                    /* of a sparse pixel, at most */
    ELECTRONS = GROUPS * LANE_LANES * 3 + LANE_LANES
};

/* What a fused sum keeps between pixels: rows in pairs of 16 bits, rows in 32 bits, electrons in nibbles and bytes. */
typedef struct sums {
    uint32_t pair[LANE_STREAMS][LANE_ROWS / 2][LANE_LANES];
    uint32_t row[LANE_STREAMS][LANE_ROWS][LANE_LANES];
    uint32_t nibble[LANE_STREAMS][LANE_ROWS / 8][LANE_LANES];  /* nibble k of word q: row 8 q + k */
    uint32_t byte[LANE_STREAMS][LANE_ROWS / 8][2][LANE_LANES]; /* even rows, odd rows */
} __attribute__((aligned(64))) sums;

/* What a pixel's escapes are found in: codes of steps or groups, or those of two rows in the halves of each lane. */
typedef struct codes {
    uint32_t step[LANE_STREAMS][LANE_ROWS][LANE_LANES];
} __attribute__((aligned(64))) codes;

/* Where the counts of a pixel go: counts of each stream, or sums, or nowhere. */
typedef struct target {
    uint16_t *counts[LANE_STREAMS];
    sums *sums;
} target;

INLINE void add_to(uint32_t *at, vec v)
{
    store(at, add(load(at), v));
}

/* -------------------------------------------------------------------------------------------------- count models */

INLINE vec pair(const ronchi_lane_tables *tables, lanes *l, pieces p, uint16_t *counts, uint32_t *sum, uint32_t *seen)
{
    const vec e = symbol(l, p), f = symbol(l, p);
    refill(tables, l);
    if (counts) {
        put_rows(counts, both(e, all(255)), both(f, all(255)));
    } else {
        const vec v = two_codes(e, f);
        store(seen, v);
        if (sum)
            add_to(sum, v);
    }
    return either(e, f);
}

/* Streams side by side, and a pixel of each: of one kind, with tables of their own. */
typedef struct walk {
    const ronchi_lane_tables *tables;
    const ronchi_lane_brick *brick[LANE_STREAMS];
    size_t stream[LANE_STREAMS];
    size_t positions, rows; /* of each stream */
    uint32_t largest;
    lanes s[LANE_STREAMS];
} walk;

typedef const ronchi_lane_table *const *models;

/* A pixel of n streams whose steps decode two symbols: counts less the base, escapes as their code. */
INLINE vec pairs(const walk *w, lanes *s, size_t n, models t, const target *to, codes *seen)
{
    const pieces p = pieces_of(t[0]), q = pieces_of(t[n - 1]);
    lanes a = s[0], b = s[n - 1];
    vec any = all(0);
    for (size_t row = 0; row < w->rows; row += 2) {
        any = either(any, pair(w->tables, &a, p, to->counts[0] ? to->counts[0] + row * LANE_LANES : NULL,
                               to->sums ? to->sums->pair[0][row / 2] : NULL, seen->step[0][row / 2]));
        if (n == 2)
            any = either(any, pair(w->tables, &b, q, to->counts[1] ? to->counts[1] + row * LANE_LANES : NULL,
                                   to->sums ? to->sums->pair[1][row / 2] : NULL, seen->step[1][row / 2]));
    }
    s[0] = a;
    if (n == 2)
        s[1] = b;
    return any;
}

/* --------------------------------------------------------------------------------------------------- wide models */

/* A wide pixel: raw bits, base, and where its counts must be looked at, the positions of the stream, else 0. */
typedef struct range {
    unsigned shift;
    uint32_t base, largest;
    size_t check;
} range;

static range range_of(const ronchi_lane_brick *b, size_t p, size_t positions, uint32_t largest)
{
    const int64_t base = b->base[p];
    const bool fits = base >= 0 && base + (INT64_C(16) << b->shift[p]) - 1 <= largest;
    return (range){b->shift[p], (uint32_t)base, largest, fits ? 0 : positions};
}

/* Lanes of a row whose count is outside; 'v' is the count less the base, lanes of 'escaped' have none. */
INLINE unsigned outside(const range *r, vec v, unsigned escaped, size_t row)
{
    const size_t left = r->check - ronchi_min_size(r->check, row * LANE_LANES);
    const unsigned real = left < LANE_LANES ? (1u << left) - 1 : 0xffffu;
    return above(add(v, all(r->base)), r->largest) & real & ~escaped;
}

/* One row of a wide model with raw bits. */
INLINE vec wide(const ronchi_lane_tables *tables, lanes *l, pieces p, const range *r, size_t row, uint16_t *counts,
                uint32_t *sum, uint32_t *seen, unsigned *wrong)
{
    const vec e = symbol(l, p);
    const vec raw = both(l->x, all((UINT32_C(1) << r->shift) - 1));
    const vec v = unless(e, ESCAPED, either(shift_up(both(e, all(LANE_ESCAPE)), r->shift), raw));
    l->x = drop_raw(l->x, e, r->shift);
    refill(tables, l);
    store(seen, e);
    if (counts)
        put_row(counts, add(v, all(r->base)));
    if (sum)
        add_to(sum, v);
    if (r->check)
        *wrong |= outside(r, v, having(e, ESCAPED), row);
    return e;
}

/* A pixel of n streams of wide models with raw bits: counts with the base, that alone for escapes. */
INLINE vec wides(const walk *w, lanes *s, size_t n, models t, const range *r, const target *to, codes *seen,
                 unsigned *wrong)
{
    const pieces p = pieces_of(t[0]), q = pieces_of(t[n - 1]);
    lanes a = s[0], b = s[n - 1];
    vec any = all(0);
    for (size_t row = 0; row < w->rows; row++) {
        any = either(any, wide(w->tables, &a, p, &r[0], row, to->counts[0] ? to->counts[0] + row * LANE_LANES : NULL,
                               to->sums ? to->sums->row[0][row] : NULL, seen->step[0][row], wrong));
        if (n == 2)
            any =
                either(any, wide(w->tables, &b, q, &r[1], row, to->counts[1] ? to->counts[1] + row * LANE_LANES : NULL,
                                 to->sums ? to->sums->row[1][row] : NULL, seen->step[1][row], wrong));
    }
    s[0] = a;
    if (n == 2)
        s[1] = b;
    return any;
}

/* ------------------------------------------------------------------------------------------------- sparse models */

/* By code of a sparse model: 1 where there is a first, second, third electron. */
static const uint32_t first_of[16] = {0, 1, 1, 1}, second_of[16] = {0, 0, 1, 1}, third_of[16] = {0, 0, 0, 1};

/* By log2 of the rows of a group, and code: raw bits of the electrons. */
static const uint32_t raw_bits[6][16] = {{0}, {0, 1, 2, 3}, {0, 2, 4, 6}, {0, 3, 6, 9}, {0, 4, 8, 12}, {0, 5, 10, 15}};

/* Electrons of one group into nibbles; 'shift' is constant where this is inlined. */
INLINE void place(vec e, vec raw, unsigned shift, size_t g, uint32_t nibble[][LANE_LANES])
{
    const unsigned rows = 1u << shift;
    const vec low = all((rows - 1) << 2);
    const vec one = pick(e, first_of), two = pick(e, second_of), three = pick(e, third_of);
    const vec a = both(up(raw, 2), low), b = both(up(down(raw, shift), 2), low);
    const vec c = both(up(down(raw, 2 * shift), 2), low);
    for (unsigned o = 0; o < (rows + 7) / 8; o++) { /* a shift of 32 and more, also of "less than 0", gives 0 */
        const vec back = all((uint32_t) - (int32_t)(32 * o));
        vec v = add(add(shift_each(one, add(a, back)), shift_each(two, add(b, back))), shift_each(three, add(c, back)));
        if (shift < 3)
            v = shift_up(v, (unsigned)(g * rows % 8 * 4));
        add_to(nibble[g * rows / 8 + o], v);
    }
}

INLINE vec group(const ronchi_lane_tables *tables, lanes *l, pieces p, const uint32_t *bits, uint32_t *seen, vec *raw)
{
    const vec e = symbol(l, p);
    *raw = l->x;
    l->x = drop(l->x, e, bits);
    refill(tables, l);
    store(seen, e);
    return e;
}

/* The electrons that were listed, each into its count. */
INLINE void count_electrons(const uint32_t *list, size_t n, uint16_t *counts)
{
    for (size_t i = 0; i < n; i++)
        counts[list[i]]++;
}

INLINE vec groups(const walk *w, lanes *s, size_t n, models t, unsigned shift, const target *to, codes *seen)
{
    const uint32_t *bits = raw_bits[shift];
    const pieces p = pieces_of(t[0]), q = pieces_of(t[n - 1]);
    const size_t n_groups = (w->rows + (1u << shift) - 1) >> shift;
    lanes a = s[0], b = s[n - 1];
    uint32_t list[LANE_STREAMS][ELECTRONS];
    size_t listed[LANE_STREAMS] = {0};
    vec any = all(0), raw;
    for (size_t g = 0; g < n_groups; g++) {
        const uint32_t first = (uint32_t)(g << shift) * LANE_LANES;
        const vec e = group(w->tables, &a, p, bits, seen->step[0][g], &raw);
        any = either(any, e);
        if (to->counts[0])
            listed[0] += list_electrons(list[0] + listed[0], e, raw, shift, first);
        if (to->sums)
            place(e, raw, shift, g, to->sums->nibble[0]);
        if (n == 1)
            continue;
        const vec f = group(w->tables, &b, q, bits, seen->step[1][g], &raw);
        any = either(any, f);
        if (to->counts[1])
            listed[1] += list_electrons(list[1] + listed[1], f, raw, shift, first);
        if (to->sums)
            place(f, raw, shift, g, to->sums->nibble[1]);
    }
    s[0] = a;
    if (n == 2)
        s[1] = b;
    for (size_t k = 0; k < n && to->counts[0]; k++)
        count_electrons(list[k], listed[k], to->counts[k]);
    return any;
}

/* Not memset(): where it becomes a string instruction it waits for the lines that are on their way to memory. */
INLINE void clear(uint16_t *counts)
{
    for (size_t i = 0; i < LANE_SPAN; i += 2 * LANE_LANES)
        store(counts + i, all(0));
}

INLINE vec groups_of(const walk *w, lanes *s, size_t n, models t, const target *to, codes *seen)
{
    for (size_t k = 0; k < n && to->counts[0]; k++)
        clear(to->counts[k]);
    switch (t[0]->shift) {
    case 1:
        return groups(w, s, n, t, 1, to, seen);
    case 2:
        return groups(w, s, n, t, 2, to, seen);
    case 3:
        return groups(w, s, n, t, 3, to, seen);
    case 4:
        return groups(w, s, n, t, 4, to, seen);
    default:
        return groups(w, s, n, t, 5, to, seen);
    }
}

/* Nibbles to bytes, before they can be full: at most 3 electrons a pixel, so at most 5 pixels. */
static void flush(sums *to)
{
    for (size_t k = 0; k < LANE_STREAMS; k++)
        for (size_t q = 0; q < LANE_ROWS / 8; q++) {
            const vec v = load(to->nibble[k][q]);
            add_to(to->byte[k][q][0], both(v, all(0x0f0f0f0f)));
            add_to(to->byte[k][q][1], both(down(v, 4), all(0x0f0f0f0f)));
            store(to->nibble[k][q], all(0));
        }
}

/* ---------------------------------------------------------------------------------------------------- the streams */

static lanes begin(const ronchi_lane_brick *b, size_t s)
{
    lanes l = {all(0), b->stream[s].words, b->stream[s].end};
    if (b->coded)
        l.x = load(b->stream[s].states);
    return l;
}

static const char *check_end(const ronchi_lane_brick *b, const lanes *l)
{
    uint32_t x[LANE_LANES];
    if (!b->coded)
        return NULL;
    store(x, l->x);
    for (size_t i = 0; i < LANE_LANES; i++)
        if (x[i] != LANE_STATE)
            return "its last states are wrong";
    return l->words == l->end ? NULL : "its words do not end where its escapes do";
}

static size_t positions_of(const ronchi_lane_brick *b, size_t s)
{
    return ronchi_min_size(LANE_SPAN, b->n_positions - s * LANE_SPAN);
}

static walk walk_of(const ronchi_lane_tables *tables, const ronchi_lane_brick *a, size_t s, const ronchi_lane_brick *b,
                    size_t t, uint32_t largest)
{
    const size_t n = positions_of(a, s), rows = ronchi_div_up(n, LANE_LANES);
    return (walk){tables, {a, b}, {s, t}, n, rows, largest, {begin(a, s), begin(b, t)}};
}

/* What two pixels must have in common to be decoded side by side: 0 where there are no symbols. */
static unsigned kind_of(const walk *w, size_t k, size_t p)
{
    const unsigned id = w->brick[k]->id[p];
    if (id == LANE_ID_ZERO || id == LANE_ID_PACKED)
        return 0;
    if (id < LANE_ID_COUNT)
        return 2u + w->tables->model[id - 1].shift;
    return w->brick[k]->shift[p] ? 2 : 1;
}

/* Lanes with escapes, step by step (groups, rows): returns the steps. */
static size_t find_escapes(const ronchi_lane_table *t, unsigned id, unsigned shift, size_t rows, const uint16_t *counts,
                           uint32_t step[][LANE_LANES], uint16_t mask[LANE_ROWS])
{
    const bool in_pairs = id >= LANE_ID_COUNT && shift == 0;
    const size_t n = in_pairs             ? (rows + 1) / 2 * 2
                     : id < LANE_ID_COUNT ? (rows + (1u << t->shift) - 1) >> t->shift
                                          : rows;
    for (size_t i = 0; i < n; i++)
        mask[i] = !in_pairs ? having(load(step[i]), ESCAPED)
                  : counts  ? codes_above(counts + i * LANE_LANES, LANE_ESCAPE)
                            : having(load(step[i / 2]), (uint32_t)ESCAPED << i % 2 * 16);
    return n;
}

/* Adds the base of a wide pixel without raw bits, and checks its counts where they must be looked at. */
static unsigned add_base(const range *r, size_t positions, uint16_t *counts)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < positions; i++) {
        const uint32_t v = counts[i] + r->base;
        wrong |= r->check && counts[i] <= LANE_ESCAPE && v > r->largest;
        counts[i] = (uint16_t)v;
    }
    return wrong;
}

/* The same for counts that went into sums. */
static unsigned check_pairs(const range *r, size_t positions, uint32_t step[][LANE_LANES])
{
    unsigned wrong = 0;
    for (size_t i = 0; i < positions; i++) {
        const uint32_t code = step[i / 32][i % 16] >> i % 32 / 16 * 16 & 255;
        wrong |= code <= LANE_ESCAPE && code + r->base > r->largest;
    }
    return wrong;
}

/* Escapes and checks of a pixel of stream k once its steps are done. */
static const char *finish(walk *w, size_t k, size_t p, const range *r, bool escapes, uint16_t *counts, uint32_t *summed,
                          uint32_t step[][LANE_LANES])
{
    const unsigned id = w->brick[k]->id[p];
    const ronchi_lane_table *t = &w->tables->model[id - 1];
    const bool plain = id >= LANE_ID_WIDE && !r->shift;
    const ronchi_lane_sink sink = {counts, summed,
                                   id < LANE_ID_COUNT ? 0
                                   : r->shift         ? r->base
                                                      : LANE_CODE_ESCAPE + r->base};
    lanes *l = &w->s[k];
    uint16_t mask[LANE_ROWS];
    const char *what = NULL;
    unsigned wrong = 0;
    size_t steps = 0;
    if (escapes)
        steps = find_escapes(t, id, r->shift, w->rows, counts, step, mask);
    if (plain && counts)
        wrong = add_base(r, w->positions, counts);
    else if (plain && r->check)
        wrong = check_pairs(r, w->positions, step);
    if (escapes)
        what = id < LANE_ID_COUNT
                   ? ronchi_lane_patch_groups(l->words, &l->end, mask, steps, t->shift, w->largest, &sink)
                   : ronchi_lane_patch(l->words, &l->end, mask, steps, w->largest, &sink);
    if (!what && l->words > l->end)
        what = "its words run out";
    return wrong ? "a count is larger than its type" : what;
}

/* Pixel p of n streams from k on (n constant), which are of one kind, to counts or sums. */
INLINE const char *coded_pixels(walk *w, size_t k, size_t n, size_t p, const target *to, uint32_t *out)
{
    const ronchi_lane_table *t[LANE_STREAMS];
    range r[LANE_STREAMS];
    codes seen;
    unsigned wrong = 0;
    const char *what = NULL;
    vec any;
    for (size_t i = 0; i < n; i++) {
        const ronchi_lane_brick *b = w->brick[k + i];
        t[i] = &w->tables->model[b->id[p] - 1];
        r[i] = b->id[p] < LANE_ID_WIDE ? (range){0, 0, 0, 0} : range_of(b, p, w->positions, w->largest);
    }
    const unsigned kind = kind_of(w, k, p);
    if (kind > 2)
        any = groups_of(w, w->s + k, n, t, to, &seen);
    else if (kind == 2)
        any = wides(w, w->s + k, n, t, r, to, &seen, &wrong);
    else
        any = pairs(w, w->s + k, n, t, to, &seen);
    const bool escapes = having(any, ESCAPED);
    if (!escapes && !wrong && w->brick[k]->id[p] < LANE_ID_WIDE && w->brick[k + n - 1]->id[p] < LANE_ID_WIDE &&
        w->s[k].words <= w->s[k].end && w->s[k + n - 1].words <= w->s[k + n - 1].end)
        return NULL;
    for (size_t i = 0; i < n && !what; i++)
        what = finish(w, k + i, p, &r[i], escapes, to->counts[i], to->sums ? out + i * LANE_SPAN : NULL, seen.step[i]);
    return wrong && !what ? "a count is larger than its type" : what;
}

/* Pixel p of one stream, of any kind, to counts. */
static const char *one_pixel(walk *w, size_t k, size_t p, uint16_t *counts)
{
    const target to = {{counts, NULL}, NULL};
    return kind_of(w, k, p) ? coded_pixels(w, k, 1, p, &to, NULL)
                            : ronchi_lane_decode_plain16(w->brick[k], w->stream[k], p, w->largest, counts);
}

static const char *decode_walk(walk *w, size_t n, const size_t *stop, uint16_t *const *out)
{
    const size_t last = n == 2 && stop[1] > stop[0] ? stop[1] : stop[0];
    const char *wrong = NULL;
    for (size_t p = 0; p < last && !wrong; p++) {
        const target to = {{out[0] + p * LANE_SPAN, out[n - 1] + p * LANE_SPAN}, NULL};
        if (n == 2 && p < stop[0] && p < stop[1] && kind_of(w, 0, p) && kind_of(w, 0, p) == kind_of(w, 1, p)) {
            wrong = coded_pixels(w, 0, 2, p, &to, NULL);
        } else {
            for (size_t k = 0; k < n && !wrong; k++)
                wrong = p < stop[k] ? one_pixel(w, k, p, to.counts[k]) : NULL;
        }
    }
    for (size_t k = 0; k < n && !wrong; k++)
        wrong = stop[k] == w->brick[k]->n_pixels ? check_end(w->brick[k], &w->s[k]) : NULL;
    return wrong;
}

static const char *decode16(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t first, size_t n,
                            size_t stop_pixel, uint32_t largest, uint16_t *out)
{
    const char *wrong = NULL;
    const bool two = n == 2 && positions_of(b, first) == positions_of(b, first + 1);
    for (size_t k = 0; k < n && !wrong; k += two ? 2 : 1) {
        walk w = walk_of(tables, b, first + k, b, first + k + two, largest);
        uint16_t *const to[LANE_STREAMS] = {out + k * LANE_TILE * LANE_SPAN, out + LANE_TILE * LANE_SPAN};
        wrong = decode_walk(&w, 1 + (size_t)two, (const size_t[]){stop_pixel, stop_pixel}, to);
    }
    return wrong;
}

static const char *decode_tiles(const ronchi_lane_tables *tables, const ronchi_lane_brick *const *bricks, size_t n,
                                size_t stream, const size_t *stop, uint32_t largest, uint16_t *const *out)
{
    walk w = walk_of(tables, bricks[0], stream, bricks[n - 1], stream, largest);
    return decode_walk(&w, n, stop, out);
}

/* ------------------------------------------------------------------------------------------------------- the sum */

static void add_counts(const uint16_t *counts, uint32_t *to)
{
    for (size_t i = 0; i < LANE_SPAN; i++)
        to[i] += counts[i];
}

/* A pixel without symbols into the sums of n streams. */
static const char *sum_plain(const ronchi_lane_brick *b, size_t p, size_t first, size_t n, uint32_t largest,
                             uint16_t *scratch, uint32_t *out)
{
    const char *wrong = NULL;
    for (size_t k = 0; (b->whole || b->id[p]) && !wrong && k < n; k++) {
        wrong = ronchi_lane_decode_plain16(b, first + k, p, largest, scratch);
        add_counts(scratch, out + k * LANE_SPAN);
    }
    return wrong;
}

/* Everything that was kept, and the bases of the taken pixels, to the sums of n streams. */
static void give_sums(const sums *acc, size_t n, uint32_t bases, uint32_t *out)
{
    for (size_t k = 0; k < n; k++)
        for (size_t row = 0; row < LANE_ROWS; row++) {
            const vec byte = load(acc->byte[k][row / 8][row % 2]), pair = load(acc->pair[k][row / 2]);
            vec v = both(shift_down(byte, (unsigned)(row % 8 / 2 * 8)), all(255));
            v = add(v, row % 2 ? down(pair, 16) : both(pair, all(0xffff)));
            v = add(v, add(load(acc->row[k][row]), all(bases)));
            add_to(out + k * LANE_SPAN + row * LANE_LANES, v);
        }
}

INLINE const char *sum_streams(walk *w, size_t n, uint64_t take, uint16_t *scratch, uint32_t *out)
{
    const ronchi_lane_brick *b = w->brick[0];
    const char *wrong = NULL;
    sums acc;
    uint32_t bases = 0;
    size_t kept = 0, stop = b->n_pixels;
    while (stop > 0 && !(take >> (stop - 1) & 1))
        stop--;
    memset(&acc, 0, sizeof acc);
    for (size_t p = 0; p < stop && !wrong; p++) {
        const bool taken = take >> p & 1;
        const unsigned kind = kind_of(w, 0, p);
        const target to = {{NULL, NULL}, &acc}, nowhere = {{NULL, NULL}, NULL};
        if (!kind)
            wrong = taken ? sum_plain(b, p, w->stream[0], n, w->largest, scratch, out) : NULL;
        else if (taken)
            wrong = coded_pixels(w, 0, n, p, &to, out);
        else
            wrong = coded_pixels(w, 0, n, p, &nowhere, NULL);
        bases += taken && (kind == 1 || kind == 2) ? (uint32_t)b->base[p] : 0;
        kept += taken && kind > 2;
        if (kept == 5) {
            flush(&acc);
            kept = 0;
        }
    }
    if (wrong)
        return wrong;
    flush(&acc);
    give_sums(&acc, n, bases, out);
    for (size_t k = 0; k < n && !wrong && stop == b->n_pixels; k++)
        wrong = check_end(b, &w->s[k]);
    return wrong;
}

static const char *sum(const ronchi_lane_tables *tables, const ronchi_lane_brick *b, size_t first, size_t n,
                       uint64_t take, uint32_t largest, uint16_t *scratch, uint32_t *out)
{
    const char *wrong = NULL;
    if (n == 2 && positions_of(b, first) == positions_of(b, first + 1)) {
        walk w = walk_of(tables, b, first, b, first + 1, largest);
        return sum_streams(&w, 2, take, scratch, out);
    }
    for (size_t k = 0; k < n && !wrong; k++) {
        walk w = walk_of(tables, b, first + k, b, first + k, largest);
        wrong = sum_streams(&w, 1, take, scratch, out + k * LANE_SPAN);
    }
    return wrong;
}
