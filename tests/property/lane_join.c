/* SPDX-License-Identifier: MIT */
/*
 * Stores of detector rectangles joined are, byte for byte, the store encoded as a whole: random counts, flagged pixels,
 * cuts, also where a detector of a part's size would be cut otherwise.
 */
#include "codec/lane_rans.h"
#include "codec_cases.h"

static const struct {
    ronchi_shape shape;
    ronchi_dtype dtype;
} cases[] = {
    {{3, 4, 8, 8}, RONCHI_U16},       {{5, 7, 40, 70}, RONCHI_U8},
    {{33, 34, 33, 17}, RONCHI_U16},   {{2, 3, 129, 3}, RONCHI_U32},
    {{2, 2, 1, 700}, RONCHI_U16},     {{1, 600, 20, 9}, RONCHI_U16},
    {{6, 5, 100, 96}, RONCHI_U32},    {{1, 1, 3, 130}, RONCHI_U8},
    {{17, 18, 157, 160}, RONCHI_U32}, /* rectangles of 16 x 32 */
};

/* The rectangle's own acquisition. */
static test_case cut(const test_case *c, const ronchi_region *at)
{
    const size_t size = ronchi_dtype_size(c->dtype), n = c->shape.det_cols;
    test_case part = *c;
    part.shape.det_rows = at->det_rows;
    part.shape.det_cols = at->det_cols;
    part.n_pixels = at->det_rows * at->det_cols;
    part.n_bytes = part.n_positions * part.n_pixels * size;
    part.counts = malloc(part.n_bytes);
    assert_non_null(part.counts);
    for (size_t i = 0; i < c->n_positions; i++)
        for (size_t r = 0; r < at->det_rows; r++)
            memcpy((char *)part.counts + (i * part.n_pixels + r * at->det_cols) * size,
                   (const char *)c->counts + (i * c->n_pixels + (at->det_row + r) * n + at->det_col) * size,
                   at->det_cols * size);
    return part;
}

static void fill(ronchi_store *store, const test_case *c)
{
    const size_t frame = c->n_pixels * ronchi_dtype_size(c->dtype);
    for (size_t i = 0; i < store->profile->n_blocks(store); i++) {
        ronchi_block block = store->profile->block(store, i);
        size_t n = ronchi_block_positions(&block);
        char *frames = malloc(n * frame);
        assert_non_null(frames);
        for (size_t j = 0; j < n; j++)
            memcpy(frames + j * frame, (const char *)c->counts + ronchi_block_position(&block, &c->shape, j) * frame,
                   frame);
        assert_int_equal(store->profile->encode_block(store, i, frames, NULL), RONCHI_OK);
        free(frames);
    }
    assert_int_equal(store->profile->finish(store, NULL), RONCHI_OK);
}

/* Random cuts of one axis, at multiples of the unit; returns how many pieces. */
static size_t cuts_of(uint64_t *state, size_t n, size_t unit, size_t ends[])
{
    size_t pieces = 0;
    for (size_t at = unit; at < n; at += unit)
        if (test_below(state, 3) == 0)
            ends[pieces++] = at;
    ends[pieces++] = n;
    return pieces;
}

static void check(ronchi_context *context, size_t k, uint64_t *state)
{
    enum { MOST = 128 };
    const ronchi_profile *lane = &ronchi_profile_lane;
    test_case c = test_case_of(cases[k].shape, cases[k].dtype, state);
    ronchi_store *direct = test_encode(context, lane, &c, (uint64_t)256 << 20), *whole, *parts[MOST];
    ronchi_region at[MOST];
    size_t rows[MOST], cols[MOST], unit_rows, unit_cols, n = 0, row = 0;
    ronchi_error err = {0};
    assert_int_equal(lane->create(context, &c.shape, c.dtype, c.valid, (uint64_t)256 << 20, &whole, &err), RONCHI_OK);
    lane->part_unit(whole, &unit_rows, &unit_cols);
    size_t down = cuts_of(state, c.shape.det_rows, unit_rows, rows),
           across = cuts_of(state, c.shape.det_cols, unit_cols, cols);
    for (size_t i = 0; i < down; row = rows[i++])
        for (size_t j = 0, col = 0; j < across; col = cols[j++]) {
            assert_true(n < MOST);
            at[n] = (ronchi_region){0, 0, 0, 0, row, rows[i] - row, col, cols[j] - col};
            test_case part = cut(&c, &at[n]);
            assert_int_equal(lane->part(whole, &at[n], &parts[n], &err), RONCHI_OK);
            fill(parts[n], &part);
            test_equal_counts(parts[n], &part);
            free(part.counts);
            n++;
        }
    assert_int_equal(lane->join(whole, parts, at, n, &err), RONCHI_OK);
    for (size_t i = 0; i < n; i++)
        lane->destroy(parts[i]);
    assert_true(whole->max_count == direct->max_count);
    assert_int_equal(lane->validate(whole, &err), RONCHI_OK);
    test_body a = test_body_of(direct), b = test_body_of(whole);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    free(a.bytes);
    free(b.bytes);
    lane->destroy(direct);
    lane->destroy(whole);
    test_case_free(&c);
}

static void test_joined(void **state)
{
    (void)state;
    uint64_t seed = 20;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        ronchi_context *context = test_context(threads, 0);
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            check(context, k, &seed);
        ronchi_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_joined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
