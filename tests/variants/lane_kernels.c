/* SPDX-License-Identifier: MIT */
/*
 * The kernels of lane-rans-v1, plain C against each instruction set this processor has, features removed one by one:
 * random and extreme counts, all shapes of bricks, words and results in memory that ends at an unmapped page, and
 * damaged bricks, of which all versions say the same.
 */
#define _GNU_SOURCE
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codec/lane_rans_encode.h"
#include "codec_cases.h"

enum { COUNTS = LANE_TILE * LANE_SPAN, VERSIONS = 3 };

/* Memory whose last byte lies before an unmapped page, so that any step over ends the program. */
typedef struct guarded {
    uint8_t *map;
    void *at;
    size_t mapped;
} guarded;

static guarded guarded_of(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guarded g = {NULL, NULL, (size + page - 1) / page * page + page};
    g.map = mmap(NULL, g.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g.map, MAP_FAILED);
    assert_int_equal(mprotect(g.map + g.mapped - page, page, PROT_NONE), 0);
    g.at = g.map + g.mapped - page - size;
    memset(g.at, 0xFF, size);
    return g;
}

static void guarded_free(guarded *g)
{
    munmap(g->map, g->mapped);
}

typedef struct fixture {
    ronchi_kernels kernels[VERSIONS]; /* the first is plain C */
    ronchi_lane_tables *tables;
    ronchi_lane_work *work;
    uint16_t *counts; /* [LANE_TILE][2 * LANE_SPAN] */
    uint16_t *words;  /* [LANE_BRICK_WORDS] */
    guarded a, b;     /* results: [2][COUNTS] u16 */
    uint64_t state;
} fixture;

static int set_up(void **state)
{
    static const uint32_t disable[VERSIONS] = {~UINT32_C(0), RONCHI_CPU_AVX512 | RONCHI_CPU_AVX512VBMI, 0};
    fixture *f = calloc(1, sizeof *f);
    for (size_t i = 0; i < VERSIONS; i++) {
        ronchi_context *context = test_context(1, disable[i]);
        f->kernels[i] = *ronchi_context_kernels(context);
        ronchi_context_destroy(context);
    }
    f->tables = malloc(sizeof *f->tables);
    ronchi_lane_tables_fill(f->tables);
    f->work = malloc(sizeof *f->work);
    f->counts = aligned_alloc(64, sizeof *f->counts * 2 * COUNTS);
    f->words = malloc(sizeof *f->words * LANE_BRICK_WORDS);
    f->a = guarded_of(sizeof(uint16_t) * 2 * COUNTS);
    f->b = guarded_of(sizeof(uint16_t) * 2 * COUNTS);
    f->state = 11;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    guarded_free(&f->a);
    guarded_free(&f->b);
    free(f->tables);
    free(f->work);
    free(f->counts);
    free(f->words);
    free(f);
    return 0;
}

/* -------------------------------------------------------------------------------------------------------- bricks */

static uint32_t poisson(uint64_t *state, double mean)
{
    if (mean > 30) { /* close enough to normal */
        double sum = -6;
        for (int i = 0; i < 12; i++)
            sum += (double)test_below(state, 1 << 20) / (1 << 20);
        double v = mean + sqrt(mean) * sum;
        return v < 0 ? 0 : v > 65535 ? 65535 : (uint32_t)v;
    }
    double p = exp(-mean), left = (double)(test_below(state, (size_t)1 << 40) + 1) / ((double)(1ull << 40) + 1);
    uint32_t n = 0;
    for (; left > p && n < 200; n++, p += exp(-mean + n * log(mean) - lgamma(n + 1.0)))
        ;
    return n;
}

/* What a pixel may hold: rare electrons to saturated values, constant, noise, and single counts far off. */
static void fill_pixel(uint64_t *state, uint16_t *counts, size_t n, int kind, double mean)
{
    uint16_t constant = (uint16_t)test_below(state, 65536);
    double spread = kind == 1 ? 0.8 : 0;
    for (size_t i = 0; i < n; i++) {
        double m = mean * (1 + spread * ((double)test_below(state, 2001) / 1000 - 1));
        counts[i] = kind == 2   ? constant
                    : kind == 3 ? (uint16_t)test_below(state, 65536)
                    : kind == 4 ? UINT16_MAX
                                : (uint16_t)poisson(state, m);
        if (kind == 5 && test_below(state, 50) == 0)
            counts[i] = (uint16_t)test_below(state, 65536);
    }
}

typedef struct packed {
    guarded words; /* and the slack that decoders may read */
    size_t n_words, n_pixels, n_positions;
    ronchi_lane_brick brick;
} packed;

static void fill_counts(fixture *f, size_t n_pixels, size_t n_positions)
{
    uint64_t *s = &f->state;
    const double mean = exp(log(3e-4) + (log(3000) - log(3e-4)) * (double)test_below(s, 1000) / 1000);
    const bool mixed = test_below(s, 3) == 0;
    memset(f->counts, 0, sizeof *f->counts * 2 * COUNTS);
    for (size_t p = 0; p < n_pixels; p++) {
        int kind = mixed ? (int)test_below(s, 7) : test_below(s, 8) ? (int)test_below(s, 2) : 5;
        double m = mixed ? exp(-8.0 + 16.0 * (double)test_below(s, 1000) / 1000) : mean;
        fill_pixel(s, f->counts + p * 2 * LANE_SPAN, n_positions, kind, m * (0.7 + 0.01 * (double)p));
    }
}

static packed pack(fixture *f, size_t n_pixels, size_t n_positions)
{
    packed p = {.n_pixels = n_pixels, .n_positions = n_positions};
    fill_counts(f, n_pixels, n_positions);
    ronchi_lane_pixels pixels = {.n_pixels = n_pixels, .n_positions = n_positions, .value_bytes = 2};
    for (size_t q = 0; q < n_pixels; q++)
        pixels.at[q] = f->counts + q * 2 * LANE_SPAN;
    p.n_words = ronchi_lane_encode(&f->kernels[0], f->tables, &pixels, f->work, f->words);
    p.words = guarded_of((p.n_words + LANE_SLACK_WORDS) * 2);
    memcpy(p.words.at, f->words, p.n_words * 2);
    assert_null(ronchi_lane_brick_parse(p.words.at, p.n_words, n_pixels, n_positions, &p.brick));
    return p;
}

static size_t some_pixels(fixture *f)
{
    return test_below(&f->state, 2) ? LANE_TILE : 1 + test_below(&f->state, LANE_TILE);
}

static size_t some_positions(fixture *f)
{
    static const size_t typical[] = {2 * LANE_SPAN, LANE_SPAN, 1, 15, 16, 17, 31, 33, 511, 513};
    size_t k = test_below(&f->state, 20);
    return k < 10 ? typical[k] : k < 15 ? 2 * LANE_SPAN : 1 + test_below(&f->state, 2 * LANE_SPAN);
}

static void same_counts(const uint16_t *a, const uint16_t *b, size_t pixels, size_t positions)
{
    for (size_t p = 0; p < pixels; p++)
        assert_memory_equal(a + p * LANE_SPAN, b + p * LANE_SPAN, positions * sizeof *a);
}

/* --------------------------------------------------------------------------------------------------------- checks */

/* Streams of one brick: against the counts that were encoded where it is intact, and plain C always. */
static void check_decode(fixture *f, const packed *p, bool intact)
{
    const size_t first = test_below(&f->state, p->brick.n_streams),
                 n = 1 + test_below(&f->state, p->brick.n_streams - first);
    const size_t stop = test_below(&f->state, 3) ? p->n_pixels : 1 + test_below(&f->state, p->n_pixels);
    const uint32_t largest = !intact && test_below(&f->state, 4) == 0 ? UINT8_MAX : UINT16_MAX;
    const char *plain = f->kernels[0].lane_decode16(f->tables, &p->brick, first, n, stop, largest, f->a.at);
    assert_true(!intact || !plain);
    for (size_t k = 0; intact && k < n; k++)
        for (size_t q = 0; q < stop; q++)
            for (size_t i = 0; i < ronchi_min_size(LANE_SPAN, p->n_positions - (first + k) * LANE_SPAN); i++)
                assert_int_equal(((uint16_t *)f->a.at)[k * COUNTS + q * LANE_SPAN + i],
                                 f->counts[q * 2 * LANE_SPAN + (first + k) * LANE_SPAN + i]);
    for (size_t v = 1; v < VERSIONS; v++) {
        memset(f->b.at, 0xFF, sizeof(uint16_t) * 2 * COUNTS);
        const char *fast = f->kernels[v].lane_decode16(f->tables, &p->brick, first, n, stop, largest, f->b.at);
        assert_int_equal(!plain, !fast);
        for (size_t k = 0; !plain && k < n; k++)
            same_counts((uint16_t *)f->a.at + k * COUNTS, (uint16_t *)f->b.at + k * COUNTS, stop,
                        ronchi_min_size(LANE_SPAN, p->n_positions - (first + k) * LANE_SPAN));
    }
}

static void check_sum(fixture *f, const packed *p, bool intact)
{
    uint32_t sums[2][2 * LANE_SPAN];
    const uint64_t all = UINT64_MAX >> (LANE_TILE - p->n_pixels);
    const uint64_t take = (test_below(&f->state, 2) ? all : test_random(&f->state)) & all;
    const size_t n = p->brick.n_streams;
    memset(sums, 0, sizeof sums);
    const char *plain = f->kernels[0].lane_sum(f->tables, &p->brick, 0, n, take, UINT16_MAX, f->a.at, sums[0]);
    for (size_t i = 0; intact && i < p->n_positions; i++) {
        uint32_t want = 0;
        for (size_t q = 0; q < p->n_pixels; q++)
            want += take >> q & 1 ? f->counts[q * 2 * LANE_SPAN + i] : 0;
        assert_int_equal(sums[0][i], want);
    }
    for (size_t v = 1; v < VERSIONS; v++) {
        memset(sums[1], 0, sizeof sums[1]);
        const char *fast = f->kernels[v].lane_sum(f->tables, &p->brick, 0, n, take, UINT16_MAX, f->b.at, sums[1]);
        assert_true(plain ? fast || take != all : !fast); /* damage of pixels that are passed need not be seen */
        if (!plain)
            assert_memory_equal(sums[0], sums[1], p->n_positions * sizeof(uint32_t));
    }
}

/* The same stream of two bricks with equally many positions. */
static void check_tiles(fixture *f, const packed *p, const packed *q)
{
    const size_t s = test_below(&f->state, p->brick.n_streams);
    const size_t positions = ronchi_min_size(LANE_SPAN, p->n_positions - s * LANE_SPAN);
    const ronchi_lane_brick *const both[2] = {&p->brick, &q->brick};
    const size_t stop[2] = {1 + test_below(&f->state, p->n_pixels), q->n_pixels};
    uint16_t *const a[2] = {f->a.at, (uint16_t *)f->a.at + COUNTS}, *const b[2] = {f->b.at,
                                                                                   (uint16_t *)f->b.at + COUNTS};
    const size_t n = 1 + test_below(&f->state, 2);
    const char *plain = f->kernels[0].lane_tiles(f->tables, both, n, s, stop, UINT16_MAX, a);
    for (size_t v = 1; v < VERSIONS; v++) {
        memset(f->b.at, 0xFF, sizeof(uint16_t) * 2 * COUNTS);
        const char *fast = f->kernels[v].lane_tiles(f->tables, both, n, s, stop, UINT16_MAX, b);
        assert_int_equal(!plain, !fast);
        for (size_t k = 0; !plain && k < n; k++)
            same_counts(a[k], b[k], stop[k], positions);
    }
}

/* Flips some bits, more often near the beginning, and parses anew; false when the head is refused already. */
static bool damage(fixture *f, packed *p)
{
    uint16_t *words = p->words.at;
    for (size_t k = test_below(&f->state, 4) + 1; p->n_words && k > 0; k--) {
        size_t end = test_below(&f->state, 2) ? p->n_words : ronchi_min_size(p->n_words, 60);
        words[test_below(&f->state, end)] ^= (uint16_t)(1u << test_below(&f->state, 16));
    }
    return !ronchi_lane_brick_parse(words, p->n_words, p->n_pixels, p->n_positions, &p->brick);
}

static void bricks(void **state)
{
    fixture *f = *state;
    for (int trial = 0; trial < 400; trial++) {
        const size_t positions = some_positions(f);
        packed p = pack(f, some_pixels(f), positions);
        check_decode(f, &p, true);
        check_sum(f, &p, true);
        packed q = pack(f, some_pixels(f), positions);
        check_tiles(f, &p, &q);
        for (int k = 0; k < 6; k++)
            if (damage(f, &p)) {
                check_decode(f, &p, false);
                check_sum(f, &p, false);
                check_tiles(f, &p, &q);
                check_tiles(f, &q, &p);
            } else {
                memcpy(p.words.at, q.words.at, ronchi_min_size(p.n_words, q.n_words) * 2);
            }
        guarded_free(&p.words);
        guarded_free(&q.words);
    }
}

static void check_lines(fixture *f, const ronchi_kernels *k)
{
    uint64_t *s = &f->state;
    const size_t width = 1 + test_below(s, LANE_ABREAST), rows = 1 + test_below(s, 8), n = 1 + test_below(s, 40);
    const bool past = width == LANE_ABREAST && test_below(s, 2);
    const size_t row_pitch = 64 * (1 + test_below(s, 3)) + (past ? 0 : test_below(s, 3));
    const size_t pitch = rows * row_pitch + 64 * test_below(s, 70),
                 bytes = (n - 1) * pitch + (rows - 1) * row_pitch + 16 * width;
    const size_t have = (8 * rows - 1) * LANE_SPAN + (n + 7) / 8 * 8;
    guarded out = guarded_of(ronchi_div_up(bytes, 64) * 64), from[LANE_ABREAST];
    ronchi_lane_lines l = {.width = width,
                           .rows = rows,
                           .n = n,
                           .to = out.at,
                           .pitch = (ptrdiff_t)pitch,
                           .row_pitch = (ptrdiff_t)row_pitch,
                           .past = past};
    if (!past)
        l.to += ronchi_div_up(bytes, 64) * 64 - bytes;
    for (size_t t = 0; t < width; t++) {
        from[t] = guarded_of(have * 2);
        for (size_t i = 0; i < have; i++)
            ((uint16_t *)from[t].at)[i] = (uint16_t)test_below(s, 65535);
        l.from[t] = from[t].at;
    }
    k->lane_lines(&l);
    ronchi_lane_lines_end();
    size_t written = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < 8 * width; c++, written++) {
                uint16_t v;
                memcpy(&v, l.to + i * pitch + r * row_pitch + 2 * c, 2);
                assert_int_equal(v, l.from[c / 8][(8 * r + c % 8) * LANE_SPAN + i]);
            }
    for (size_t i = 0; i < ronchi_div_up(bytes, 64) * 64; i += 2) { /* and nothing beside them: that is all ones */
        uint16_t v;
        memcpy(&v, (char *)out.at + i, 2);
        written -= pitch % 2 == 0 && row_pitch % 2 == 0 && v != UINT16_MAX;
    }
    assert_true(pitch % 2 || row_pitch % 2 || written == 0);
    for (size_t t = 0; t < width; t++)
        guarded_free(&from[t]);
    guarded_free(&out);
}

static void lines(void **state)
{
    fixture *f = *state;
    for (int trial = 0; trial < 300; trial++)
        for (size_t v = 0; v < VERSIONS; v++)
            check_lines(f, &f->kernels[v]);
}

/* Bands so large that they go past the caches, at every alignment, of whole and of cut detectors. */
static void large_bands(void **state)
{
    static const ronchi_shape shapes[] = {{33, 48, 32, 64}, {40, 33, 24, 96}, {64, 32, 26, 60}};
    static const size_t offsets[] = {0, 16, 32, 48, 2};
    fixture *f = *state;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        const ronchi_shape *s = &shapes[k];
        const size_t n = s->scan_rows * s->scan_cols * s->det_rows * s->det_cols;
        uint16_t *counts = malloc(2 * n);
        char *memory = aligned_alloc(64, (2 * n + 127) / 64 * 64);
        for (size_t i = 0; i < n; i++)
            counts[i] = (uint16_t)(test_below(&f->state, 40) ? test_below(&f->state, 2) : test_below(&f->state, 65536));
        for (uint32_t disable = 0; disable < 2; disable++) {
            ronchi_error err;
            ronchi_context *context = test_context(2, disable ? ~UINT32_C(0) : 0);
            test_case c = {.shape = *s, .dtype = RONCHI_U16, .counts = counts, .n_bytes = 2 * n};
            c.n_positions = s->scan_rows * s->scan_cols;
            c.n_pixels = s->det_rows * s->det_cols;
            c.valid = malloc(c.n_pixels);
            memset(c.valid, 1, c.n_pixels);
            ronchi_store *store = test_encode(context, &ronchi_profile_lane, &c, UINT64_C(1) << 28);
            for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; o++) {
                ronchi_view out = ronchi_view_4d(memory + offsets[o], RONCHI_U16, s);
                ronchi_region all = ronchi_region_all(s);
                memset(memory, 0x5A, 2 * n + 64);
                assert_int_equal(ronchi_lane_decode_band(store, &all, &out, &err), RONCHI_OK);
                assert_memory_equal(memory + offsets[o], counts, 2 * n);
                assert_int_equal(memory[offsets[o] + 2 * n], 0x5A);
                assert_true(!offsets[o] || memory[offsets[o] - 1] == 0x5A);
            }
            ronchi_profile_lane.destroy(store);
            ronchi_context_destroy(context);
            free(c.valid);
        }
        free(counts);
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(bricks, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(lines, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(large_bands, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
