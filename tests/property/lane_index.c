/* SPDX-License-Identifier: MIT */
/*
 * The sum index of lane-rans-v1: reductions of random acquisitions over random masks, flagged pixels and parts of the
 * scan are the same without an index, with one, and by the dense profile; a wrong sum is found.
 */
#include "codec/lane_rans.h"
#include "codec_cases.h"

enum { PLANES = 5 };

static const ronchi_shape shapes[] = {
    {1, 1, 1, 1},    {3, 4, 8, 8},    {5, 7, 40, 70},  {33, 34, 33, 17}, {2, 3, 129, 3},
    {1, 600, 20, 9}, {40, 3, 65, 64}, {6, 5, 100, 96}, {9, 65, 16, 40},  {2, 2, 1, 700},
};

static void disk(uint64_t *state, const ronchi_shape *s, uint32_t weight, uint32_t *plane)
{
    double row = (double)test_below(state, s->det_rows), col = (double)test_below(state, s->det_cols);
    double r = (double)test_below(state, s->det_rows + s->det_cols) * 0.6, in = test_below(state, 2) ? r * 0.4 : -1;
    for (size_t p = 0; p < s->det_rows * s->det_cols; p++) {
        double y = (double)(p / s->det_cols) - row, x = (double)(p % s->det_cols) - col, d = y * y + x * x;
        plane[p] = d <= r * r && (in < 0 || d >= in * in) ? weight : 0;
    }
}

/* Disks and rings, boxes, single pixels, everything, ramps and noise. */
static void fill_plane(uint64_t *state, const ronchi_shape *s, uint32_t *plane)
{
    const size_t n = s->det_rows * s->det_cols, kind = test_below(state, 8);
    const size_t row = test_below(state, s->det_rows + 1), col = test_below(state, s->det_cols + 1);
    const uint32_t weight = test_below(state, 3) ? 1 : (uint32_t)test_random(state) >> test_below(state, 32);
    if (kind < 3) {
        disk(state, s, weight, plane);
        return;
    }
    for (size_t p = 0; p < n; p++)
        plane[p] = kind == 3   ? (p / s->det_cols >= row && p % s->det_cols >= col) * weight
                   : kind == 4 ? (p == n / 2)
                   : kind == 5 ? weight
                   : kind == 6 ? (uint32_t)(p / s->det_cols)
                               : (uint32_t)test_random(state) >> test_below(state, 33 - 1);
}

static void fill_flags(uint64_t *state, test_case *c)
{
    size_t kind = test_below(state, 4);
    for (size_t p = 0; p < c->n_pixels; p++)
        c->valid[p] = kind == 0 ? 1 : kind == 1 ? test_below(state, 30) != 0 : kind == 2 ? p > c->n_pixels / 3 : 1;
    if (kind == 3)
        memset(c->valid, (int)test_below(state, 2), c->n_pixels);
}

static void check_reduction(const ronchi_store *const store[3], uint64_t *state)
{
    const ronchi_shape *s = &store[0]->shape;
    uint32_t *planes[PLANES];
    ronchi_reduction r = {.n_planes = test_below(state, PLANES + 1), .planes = (const uint32_t *const *)planes};
    bool pixels = test_below(state, 4) == 0, part = test_below(state, 2);
    r.scan_row = part ? test_below(state, s->scan_rows) : 0;
    r.scan_rows = part ? 1 + test_below(state, s->scan_rows - r.scan_row) : s->scan_rows;
    r.scan_col = part ? test_below(state, s->scan_cols) : 0;
    r.scan_cols = part ? 1 + test_below(state, s->scan_cols - r.scan_col) : s->scan_cols;
    for (size_t k = 0; k < PLANES; k++) {
        planes[k] = malloc(store[0]->n_pixels * sizeof **planes);
        fill_plane(state, s, planes[k]);
    }
    size_t n = r.n_planes * r.scan_rows * r.scan_cols, total = n + 2 * store[0]->n_pixels;
    uint64_t *out[3];
    for (int i = 0; i < 3; i++) {
        ronchi_error err = {0};
        out[i] = malloc(total * sizeof **out);
        memset(out[i], 0x33, total * sizeof **out);
        r.plane_sums = r.n_planes ? out[i] : NULL;
        r.pixel_sums = pixels ? out[i] + n : NULL;
        r.pixel_max = pixels ? (uint32_t *)(void *)(out[i] + n + store[0]->n_pixels) : NULL;
        assert_int_equal(store[i]->profile->reduce(store[i], &r, &err), RONCHI_OK);
    }
    assert_memory_equal(out[0], out[1], total * sizeof **out);
    assert_memory_equal(out[0], out[2], total * sizeof **out);
    for (int i = 0; i < 3; i++)
        free(out[i]);
    for (size_t k = 0; k < PLANES; k++)
        free(planes[k]);
}

/* Counts and packed index as a body, with the header that belongs to it. */
static test_body indexed_body(const ronchi_store *store, json_t **header)
{
    const ronchi_profile *lane = &ronchi_profile_lane;
    ronchi_store *packed = NULL;
    ronchi_error err = {0};
    test_body body = test_body_of(store);
    *header = test_header_of(store);
    assert_int_equal(lane->pack_index(store, &packed, &err), RONCHI_OK);
    assert_int_equal(lane->describe_index(packed, *header, &err), RONCHI_OK);
    test_body more = test_body_of(packed);
    body.bytes = realloc(body.bytes, body.size + more.size);
    assert_non_null(body.bytes);
    memcpy(body.bytes + body.size, more.bytes, more.size);
    body.size += more.size;
    free(more.bytes);
    lane->destroy(packed);
    return body;
}

/* Through a file and back the index is the same; damage anywhere behind the counts is refused and named. */
static void check_file(ronchi_context *context, const ronchi_store *plain, const ronchi_store *indexed, uint64_t *state)
{
    const ronchi_profile *lane = &ronchi_profile_lane;
    const ronchi_sum_index *want = ((const ronchi_lane_store *)indexed)->index;
    const size_t n_counts = lane->bytes(plain).body_bytes;
    ronchi_store *again = NULL;
    ronchi_error err = {0};
    json_t *header, *other;
    for (size_t t = 0; t < want->n_tiles; t++)
        if (want->planes[t].width == 8) { /* too large for a file: said, not cut off */
            assert_int_equal(lane->pack_index(plain, &again, &err), RONCHI_ERR_RANGE);
            return;
        }
    test_body body = indexed_body(plain, &header), same = indexed_body(indexed, &other);
    assert_int_equal(body.size, same.size);
    assert_memory_equal(body.bytes, same.bytes, body.size);
    ronchi_status status = test_adopt(context, plain, header, &body, &again, &err);
    if (status != RONCHI_OK)
        print_error("adopt: %s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    assert_int_equal(lane->validate(again, &err), RONCHI_OK);
    const ronchi_sum_index *got = ((const ronchi_lane_store *)again)->index;
    assert_int_equal(lane->bytes(again).body_bytes, n_counts);
    assert_int_equal(got->n_tiles + got->n_groups, want->n_tiles + want->n_groups);
    for (size_t k = 0; k < want->n_tiles + want->n_groups; k++) {
        assert_int_equal(got->planes[k].width, want->planes[k].width);
        assert_int_equal(got->planes[k].largest, want->planes[k].largest);
        if (want->planes[k].width)
            assert_memory_equal(got->planes[k].sums, want->planes[k].sums, want->planes[k].width * want->n_positions);
    }
    lane->destroy(again);
    body.bytes[n_counts + test_below(state, body.size - n_counts)] ^= (uint8_t)(1u << test_below(state, 8));
    assert_int_equal(test_adopt(context, plain, header, &body, &again, &err), RONCHI_ERR_DATA);
    assert_non_null(strstr(err.message, "sum index: chunk "));
    json_object_set_new(json_object_get(header, "sum_index"), "version",
                        json_integer(2)); /* a later one is left alone */
    assert_int_equal(test_adopt(context, plain, header, &body, &again, &err), RONCHI_OK);
    assert_null(((const ronchi_lane_store *)again)->index);
    lane->destroy(again);
    json_object_del(header, "sum_index");
    assert_int_equal(test_adopt(context, plain, header, &body, &again, &err), RONCHI_ERR_DATA);
    json_object_set_new(header, "sum_index",
                        json_pack("{s:i, s:s, s:[]}", "version", 1, "dtype", "uint64", "chunk_bytes"));
    assert_int_equal(test_adopt(context, plain, header, &body, &again, &err), RONCHI_ERR_DATA);
    json_object_set_new(json_object_get(header, "sum_index"), "dtype", json_string("uint8"));
    assert_int_equal(test_adopt(context, plain, header, &body, &again, &err), RONCHI_ERR_DATA);
    json_decref(header);
    json_decref(other);
    free(body.bytes);
    free(same.bytes);
}

/* One sum changed, at a random place that is kept in memory: validating must name it, also after a file with digests
 * and checksums that suit it. */
static void check_damage(ronchi_context *context, ronchi_store *store, uint64_t *state)
{
    ronchi_sum_index *index = ((ronchi_lane_store *)store)->index;
    ronchi_store *again = NULL;
    ronchi_error err = {0};
    json_t *header;
    char place[64];
    size_t tile = test_below(state, index->n_tiles), at = test_below(state, index->n_positions);
    ronchi_sum_plane *plane = &index->planes[tile];
    assert_int_equal(store->profile->validate(store, &err), RONCHI_OK);
    if (!plane->width || plane->width == 8)
        return;
    ((uint8_t *)plane->sums)[at * plane->width] ^= 1;
    assert_int_equal(store->profile->validate(store, &err), RONCHI_ERR_DATA);
    snprintf(place, sizeof place, "tile %zu ", tile);
    assert_non_null(strstr(err.message, place));
    snprintf(place, sizeof place, "scan row %zu, column %zu ", at / store->shape.scan_cols,
             at % store->shape.scan_cols);
    assert_non_null(strstr(err.message, place));
    test_body body = indexed_body(store, &header);
    assert_int_equal(test_adopt(context, store, header, &body, &again, &err), RONCHI_OK);
    memset(&err, 0, sizeof err);
    assert_int_equal(store->profile->validate(again, &err), RONCHI_ERR_DATA);
    assert_non_null(strstr(err.message, place));
    store->profile->destroy(again);
    json_decref(header);
    free(body.bytes);
}

static void check_case(ronchi_context *context, const test_case *c, uint64_t *state)
{
    const ronchi_profile *lane = &ronchi_profile_lane;
    ronchi_error err = {0};
    ronchi_store *plain = test_encode(context, lane, c, UINT64_C(1) << 28);
    ronchi_store *indexed = test_encode(context, lane, c, UINT64_C(1) << 28);
    ronchi_store *dense = test_encode(context, &ronchi_profile_dense, c, UINT64_C(1) << 28);
    uint64_t before = lane->bytes(indexed).resident_bytes;
    assert_int_equal(lane->build_index(indexed, &err), RONCHI_OK);
    assert_int_equal(lane->build_index(indexed, &err), RONCHI_OK); /* a second time does nothing */
    assert_true(lane->bytes(indexed).index_bytes > 0);
    assert_int_equal(lane->bytes(indexed).resident_bytes, before + lane->bytes(indexed).index_bytes);
    const ronchi_store *const stores[3] = {dense, plain, indexed};
    for (int i = 0; i < 12; i++)
        check_reduction(stores, state);
    check_file(context, plain, indexed, state);
    check_damage(context, indexed, state);
    lane->destroy(plain);
    lane->destroy(indexed);
    ronchi_profile_dense.destroy(dense);
}

static void same_results(void **unused)
{
    (void)unused;
    uint64_t state = 2024;
    ronchi_context *fast = test_context(2, 0), *plain = test_context(1, ~UINT32_C(0));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int dtype = RONCHI_U8; dtype <= RONCHI_U32; dtype++) {
            test_case c = test_case_of(shapes[i], (ronchi_dtype)dtype, &state);
            fill_flags(&state, &c);
            check_case(i % 3 ? fast : plain, &c, &state);
            test_case_free(&c);
        }
    ronchi_context_destroy(fast);
    ronchi_context_destroy(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
