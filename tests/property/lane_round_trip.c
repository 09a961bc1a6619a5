/* SPDX-License-Identifier: MIT */
/*
 * lane-rans-v1 over random acquisitions of all doses, shapes and types: encode, decode, bands, reductions, to a body
 * and back; the dense profile judges.  Damaged bricks are refused or decode to something, but never step outside.
 */
#include <math.h>

#include "codec/lane_rans.h"
#include "codec_cases.h"

static const ronchi_shape shapes[] = {
    {1, 1, 1, 1},     {1, 1, 13, 7},    {7, 73, 1, 3},   {1, 512, 5, 9},  {19, 27, 9, 11},
    {32, 16, 8, 8},   {33, 65, 17, 5},  {5, 6, 33, 34},  {31, 37, 3, 40}, {2, 2, 65, 70},
    {1, 1025, 2, 2},  {64, 24, 6, 10},  {3, 5, 1, 129},  {3, 5, 129, 1},  {40, 40, 4, 4},
    {23, 23, 32, 32}, {1, 511, 16, 33}, {17, 1, 40, 24}, {32, 32, 8, 16}, {47, 3, 2, 31},
};

static double uniform(uint64_t *state)
{
    return ((double)(test_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* A count of that mean: by inversion where it is small, else nearly normal. */
static uint32_t poisson(uint64_t *state, double mean, uint32_t largest)
{
    if (mean < 30) {
        double p = exp(-mean), u = uniform(state), sum = p;
        uint32_t k = 0;
        while (u > sum && k < 1000)
            sum += p *= mean / ++k;
        return k < largest ? k : largest;
    }
    double normal = sqrt(-2 * log(uniform(state))) * cos(6.283185307179586 * uniform(state));
    double v = mean + sqrt(mean) * normal;
    return v < 0 ? 0 : v > largest ? largest : (uint32_t)v;
}

/* How one pixel behaves: a dose from 0.0002 to beyond the type, over-dispersed, or one of the extremes. */
static void fill_pixel(uint64_t *state, test_case *c, size_t p, double mean)
{
    size_t size = ronchi_dtype_size(c->dtype), kind = test_below(state, 12);
    uint32_t largest = size == 1 ? UINT8_MAX : size == 2 ? UINT16_MAX : UINT32_MAX;
    uint32_t constant = (uint32_t)test_random(state) & largest;
    for (size_t s = 0; s < c->n_positions; s++) {
        double local = kind == 9 ? mean * -log(uniform(state)) : mean; /* over-dispersed */
        uint32_t v = kind == 10   ? constant
                     : kind == 11 ? test_count(state, (unsigned)test_below(state, 8), largest)
                                  : poisson(state, local, largest);
        memcpy((char *)c->counts + (s * c->n_pixels + p) * size, &v, size);
    }
}

/* The first fill is of the other profiles' tests; the second has doses. */
static test_case dose_case(ronchi_shape shape, ronchi_dtype dtype, uint64_t *state)
{
    test_case c = test_case_of(shape, dtype, state);
    double step = exp(uniform(state) * 3);
    for (size_t p = 0; p < c.n_pixels; p += 1 + test_below(state, 3)) {
        size_t run = 1 + test_below(state, 80);
        double mean = 0.0002 * exp(uniform(state) * 21);
        for (size_t k = 0; k < run && p < c.n_pixels; k++, p++)
            fill_pixel(state, &c, p, mean * (1 + uniform(state) * (step - 1) / 10));
    }
    return c;
}

static ronchi_region random_region(uint64_t *state, const ronchi_shape *s)
{
    ronchi_region r;
    r.scan_row = test_below(state, s->scan_rows);
    r.scan_rows = 1 + test_below(state, s->scan_rows - r.scan_row);
    r.scan_col = test_below(state, s->scan_cols);
    r.scan_cols = 1 + test_below(state, s->scan_cols - r.scan_col);
    r.det_row = test_below(state, s->det_rows);
    r.det_rows = 1 + test_below(state, s->det_rows - r.det_row);
    r.det_col = test_below(state, s->det_cols);
    r.det_cols = 1 + test_below(state, s->det_cols - r.det_col);
    return r;
}

static void same_band(const ronchi_store *store, const ronchi_store *dense, uint64_t *state)
{
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32, RONCHI_U64};
    ronchi_region r = random_region(state, &store->shape);
    ronchi_shape shape = {r.scan_rows, r.scan_cols, r.det_rows, r.det_cols};
    size_t bytes = r.scan_rows * r.scan_cols * r.det_rows * r.det_cols * 8;
    char *a = malloc(bytes), *b = malloc(bytes);
    memset(a, 0x5A, bytes);
    memset(b, 0x5A, bytes);
    ronchi_view view = ronchi_view_4d(a, dtypes[test_below(state, 4)], &shape);
    if (test_below(state, 2)) { /* scan axes swapped */
        ptrdiff_t size = (ptrdiff_t)ronchi_dtype_size(view.dtype), frame = (ptrdiff_t)(r.det_rows * r.det_cols) * size;
        view.stride[0] = frame;
        view.stride[1] = frame * (ptrdiff_t)r.scan_rows;
    }
    ronchi_view judge = view;
    judge.data = b;
    ronchi_error err = {0};
    ronchi_status right = dense->profile->decode_band(dense, &r, &judge, NULL);
    assert_int_equal(store->profile->decode_band(store, &r, &view, &err), right);
    if (right == RONCHI_OK)
        assert_memory_equal(a, b, bytes);
    free(a);
    free(b);
}

static void same_reduction(const ronchi_store *store, const ronchi_store *dense, uint64_t *state)
{
    ronchi_region g = random_region(state, &store->shape);
    size_t n = g.scan_rows * g.scan_cols, np = store->n_pixels, n_planes = test_below(state, 4);
    uint32_t *planes[3];
    uint8_t *select = malloc(n);
    for (size_t i = 0; i < n; i++)
        select[i] = test_below(state, 3) != 0;
    for (size_t k = 0; k < 3; k++) {
        size_t kind = test_below(state, 4), middle = test_below(state, np);
        planes[k] = malloc(np * sizeof **planes);
        for (size_t i = 0; i < np; i++)
            planes[k][i] = kind == 0   ? i < middle
                           : kind == 1 ? (uint32_t)test_random(state)
                           : kind == 2 ? 1
                                       : (uint32_t)(i % 50);
    }
    ronchi_reduction r = {.scan_row = g.scan_row,
                          .scan_rows = g.scan_rows,
                          .scan_col = g.scan_col,
                          .scan_cols = g.scan_cols,
                          .n_planes = n_planes,
                          .planes = (const uint32_t *const *)planes,
                          .select = test_below(state, 2) ? select : NULL};
    bool pixels = test_below(state, 2);
    uint64_t *out[2];
    size_t total = n_planes * n + np + np + 1;
    for (int i = 0; i < 2; i++) {
        ronchi_error err = {0};
        const ronchi_store *which = i ? dense : store;
        out[i] = malloc(total * 8);
        memset(out[i], 0x33, total * 8);
        r.plane_sums = n_planes ? out[i] : NULL;
        r.pixel_sums = pixels ? out[i] + n_planes * n : NULL;
        r.pixel_max = pixels ? (uint32_t *)(void *)(out[i] + n_planes * n + np) : NULL;
        assert_int_equal(which->profile->reduce(which, &r, &err), RONCHI_OK);
    }
    assert_memory_equal(out[0], out[1], total * 8);
    free(out[0]);
    free(out[1]);
    for (size_t k = 0; k < 3; k++)
        free(planes[k]);
    free(select);
}

/* No brick may exceed 1.02 times the plainest packed form plus 64 bytes. */
static void check_sizes(const ronchi_store *base, const test_case *c)
{
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    size_t size = ronchi_dtype_size(c->dtype);
    for (size_t rect = 0; rect < store->layout.n_rects; rect++)
        for (size_t tile = 0; tile < store->layout.n_tiles; tile++) {
            ronchi_lane_cut s = ronchi_lane_rect(&store->layout, rect), d = ronchi_lane_tile(&store->layout, tile);
            uint32_t most = 0;
            for (size_t j = 0; j < s.rows * s.cols; j++)
                for (size_t p = 0; p < d.rows * d.cols; p++) {
                    size_t position = (s.row + j / s.cols) * c->shape.scan_cols + s.col + j % s.cols;
                    size_t pixel = (d.row + p / d.cols) * c->shape.det_cols + d.col + p % d.cols;
                    uint32_t v = 0;
                    memcpy(&v, (const char *)c->counts + (position * c->n_pixels + pixel) * size, size);
                    most = v > most ? v : most;
                }
            size_t bits = 0, n = s.rows * s.cols * d.rows * d.cols;
            while (bits < 32 && most >> bits)
                bits++;
            const uint32_t *offset = store->chunks[rect].offset;
            double bytes = 2.0 * (offset[tile + 1] - offset[tile]) + 4;
            assert_true(bytes <= 1.02 * (double)(n * bits) / 8 + 64);
        }
}

static void check_case(ronchi_context *context, const test_case *c, uint64_t *state)
{
    ronchi_error err = {0};
    const ronchi_profile *lane = &ronchi_profile_lane;
    ronchi_store *store = test_encode(context, lane, c, UINT64_C(1) << 28), *again = NULL;
    ronchi_store *dense = test_encode(context, &ronchi_profile_dense, c, UINT64_C(1) << 28);
    assert_int_equal(store->max_count, dense->max_count);
    test_equal_counts(store, c);
    assert_int_equal(lane->validate(store, &err), RONCHI_OK);
    check_sizes(store, c);
    test_body body = test_body_of(store);
    json_t *header = test_header_of(store);
    ronchi_status status = test_adopt(context, store, header, &body, &again, &err);
    if (status != RONCHI_OK)
        print_error("adopt: %s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    assert_int_equal(lane->validate(again, &err), RONCHI_OK);
    assert_memory_equal(again->valid, c->valid, c->n_pixels);
    for (int i = 0; i < 4; i++) {
        same_band(i % 2 ? again : store, dense, state);
        same_reduction(i % 2 ? again : store, dense, state);
    }
    body.bytes[test_below(state, body.size)] ^= (uint8_t)(1u << test_below(state, 8));
    lane->destroy(again);
    again = NULL;
    assert_int_equal(test_adopt(context, store, header, &body, &again, &err), RONCHI_ERR_DATA);
    free(body.bytes);
    json_decref(header);
    lane->destroy(store);
    ronchi_profile_dense.destroy(dense);
}

static void round_trips(ronchi_dtype dtype)
{
    uint64_t state = 41 + (uint64_t)dtype;
    ronchi_context *context = test_context(2, 0), *plain = test_context(1, ~UINT32_C(0));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int k = 0; k < 3; k++) {
            test_case c = k ? dose_case(shapes[i], dtype, &state) : test_case_of(shapes[i], dtype, &state);
            check_case(k % 2 ? context : plain, &c, &state);
            test_case_free(&c);
        }
    ronchi_context_destroy(context);
    ronchi_context_destroy(plain);
}

static void counts_u8(void **unused)
{
    (void)unused;
    round_trips(RONCHI_U8);
}

static void counts_u16(void **unused)
{
    (void)unused;
    round_trips(RONCHI_U16);
}

static void counts_u32(void **unused)
{
    (void)unused;
    round_trips(RONCHI_U32);
}

static void same_bytes(void **unused)
{
    (void)unused;
    static const uint32_t threads[] = {1, 2, 5, 1};
    uint64_t state = 77;
    for (int dtype = RONCHI_U8; dtype <= RONCHI_U32; dtype++) {
        test_case c = dose_case((ronchi_shape){37, 41, 45, 50}, (ronchi_dtype)dtype, &state);
        test_body first = {0};
        for (size_t i = 0; i < 4; i++) {
            ronchi_context *context = test_context(threads[i], i == 3 ? ~UINT32_C(0) : 0);
            ronchi_store *store = test_encode(context, &ronchi_profile_lane, &c, UINT64_C(1) << 28);
            test_body body = test_body_of(store);
            if (i) {
                assert_int_equal(body.size, first.size);
                assert_memory_equal(body.bytes, first.bytes, first.size);
                free(body.bytes);
            } else {
                first = body;
            }
            ronchi_profile_lane.destroy(store);
            ronchi_context_destroy(context);
        }
        free(first.bytes);
        test_case_free(&c);
    }
}

/* Bricks with flipped bits, in memory that ends where the slack ends, through every version of the kernels. */
static void damaged_bricks(void **unused)
{
    (void)unused;
    uint64_t state = 5;
    ronchi_context *fast = test_context(1, 0), *plain = test_context(1, ~UINT32_C(0));
    test_case c = dose_case((ronchi_shape){20, 33, 16, 24}, RONCHI_U16, &state);
    ronchi_store *base = test_encode(fast, &ronchi_profile_lane, &c, UINT64_C(1) << 28);
    const ronchi_lane_store *store = (const ronchi_lane_store *)base;
    uint16_t *counts = malloc(sizeof *counts * LANE_TILE * LANE_SPAN),
             *other = malloc(sizeof *counts * LANE_TILE * LANE_SPAN);
    uint32_t sums[LANE_SPAN];
    for (int trial = 0; trial < 3000; trial++) {
        size_t rect = test_below(&state, store->layout.n_rects), tile = test_below(&state, store->layout.n_tiles);
        ronchi_lane_cut s = ronchi_lane_rect(&store->layout, rect), d = ronchi_lane_tile(&store->layout, tile);
        const ronchi_lane_chunk *chunk = &store->chunks[rect];
        size_t n = chunk->offset[tile + 1] - chunk->offset[tile];
        uint16_t *words = malloc((n + LANE_SLACK_WORDS) * 2);
        memcpy(words, chunk->payload + chunk->offset[tile], n * 2);
        memset(words + n, 0xFF, LANE_SLACK_WORDS * 2);
        for (size_t k = test_below(&state, 4) + 1; n && k > 0; k--)
            words[test_below(&state, test_below(&state, 2) ? n : ronchi_min_size(n, 60))] ^=
                (uint16_t)(1u << test_below(&state, 16));
        ronchi_lane_brick brick;
        if (!ronchi_lane_brick_parse(words, n, d.rows * d.cols, s.rows * s.cols, &brick))
            for (size_t k = 0; k < brick.n_streams; k++) {
                const char *a = ronchi_context_kernels(fast)->lane_decode16(store->tables, &brick, k, 1, brick.n_pixels,
                                                                            UINT16_MAX, counts);
                const char *b = ronchi_context_kernels(plain)->lane_decode16(store->tables, &brick, k, 1,
                                                                             brick.n_pixels, UINT16_MAX, other);
                assert_int_equal(a != NULL, b != NULL);
                size_t bytes = sizeof *counts * ronchi_min_size(LANE_SPAN, brick.n_positions - k * LANE_SPAN);
                for (size_t p = 0; !a && p < brick.n_pixels; p++)
                    assert_memory_equal(counts + p * LANE_SPAN, other + p * LANE_SPAN, bytes);
                ronchi_context_kernels(fast)->lane_sum(store->tables, &brick, k, 1, test_random(&state), UINT16_MAX,
                                                       other, sums);
            }
        free(words);
    }
    free(counts);
    free(other);
    ronchi_profile_lane.destroy(base);
    test_case_free(&c);
    ronchi_context_destroy(fast);
    ronchi_context_destroy(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_u8), cmocka_unit_test(counts_u16),
                                       cmocka_unit_test(counts_u32), cmocka_unit_test(same_bytes),
                                       cmocka_unit_test(damaged_bricks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
