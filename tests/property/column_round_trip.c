/* SPDX-License-Identifier: MIT */
/* column-rans-v2 over random acquisitions: encode, decode, bands, reductions, to a body and back; the dense profile
 * judges. */
#include "codec_cases.h"

static const ronchi_shape shapes[] = {
    {1, 1, 1, 1},    {1, 1, 13, 7},  {7, 73, 1, 3},   {1, 512, 5, 9},   {19, 27, 9, 11},  {32, 16, 8, 8},
    {11, 47, 17, 5}, {5, 6, 33, 34}, {31, 37, 3, 40}, {2, 2, 65, 70},   {1, 1025, 2, 2},  {64, 24, 6, 10},
    {3, 5, 1, 129},  {3, 5, 129, 1}, {40, 40, 4, 4},  {23, 23, 32, 32}, {1, 511, 16, 33}, {17, 1, 40, 24},
};

static uint64_t random_budget(uint64_t *state, const test_case *c)
{
    uint64_t frame = c->n_pixels * ronchi_dtype_size(c->dtype);
    switch (test_below(state, 4)) {
    case 0:
        return frame; /* one position a block */
    case 1:
        return 2 * frame * (1 + test_below(state, 100));
    case 2:
        return 2 * frame * 512;
    default:
        return UINT64_C(1) << 28;
    }
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

/* Reads the same region from both stores into views of random dtype, strides and axis order, and compares whole
 * buffers. */
static void same_band(const ronchi_store *store, const ronchi_store *dense, uint64_t *state)
{
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32, RONCHI_U64};
    ronchi_region region = random_region(state, &store->shape);
    ronchi_shape shape = {region.scan_rows, region.scan_cols, region.det_rows, region.det_cols};
    ronchi_dtype dtype = dtypes[test_below(state, 4)];
    ptrdiff_t size = (ptrdiff_t)ronchi_dtype_size(dtype), step = size;
    size_t n[4] = {shape.scan_rows, shape.scan_cols, shape.det_rows, shape.det_cols}, bytes = 0, first = 0;
    ptrdiff_t stride[4];
    unsigned order = (unsigned)test_below(state, 24), used = 0;
    for (int k = 0; k < 4; k++) { /* axes from the innermost out, in random order, with random gaps and signs */
        int axis = k == 0 && order % 2 ? 3 : (int)(order >> k) % 4;
        while (used >> axis & 1)
            axis = (axis + 1) % 4;
        used |= 1u << axis;
        stride[axis] = test_below(state, 4) ? step : -step;
        step = step * (ptrdiff_t)n[axis] + (test_below(state, 2) ? size : 0);
        bytes = (size_t)step;
    }
    for (int axis = 0; axis < 4; axis++)
        first += stride[axis] < 0 ? (size_t)(-stride[axis]) * (n[axis] - 1) : 0;
    char *a = malloc(bytes), *b = malloc(bytes);
    memset(a, 0xA5, bytes);
    memset(b, 0xA5, bytes);
    ronchi_view view_a = {
        a + first, dtype, RONCHI_HOST, 0, {n[0], n[1], n[2], n[3]}, {stride[0], stride[1], stride[2], stride[3]}};
    ronchi_view view_b = view_a;
    view_b.data = b + first;
    ronchi_error err = {0};
    ronchi_status right = dense->profile->decode_band(dense, &region, &view_b, NULL);
    ronchi_status status = store->profile->decode_band(store, &region, &view_a, &err);
    if (status != right)
        print_error("band: %s\n", err.message);
    assert_int_equal(status, right);
    if (status == RONCHI_OK)
        assert_memory_equal(a, b, bytes);
    free(a);
    free(b);
}

static void same_reduction(const ronchi_store *store, const ronchi_store *dense, uint64_t *state)
{
    enum { PLANES = 3 };
    ronchi_region region = random_region(state, &store->shape);
    size_t n = region.scan_rows * region.scan_cols, pixels = store->n_pixels, n_planes = test_below(state, PLANES + 1);
    uint32_t *planes[PLANES];
    uint8_t *select = malloc(n);
    for (size_t i = 0; i < n; i++)
        select[i] = test_below(state, 3) != 0;
    for (size_t k = 0; k < PLANES; k++) {
        planes[k] = malloc(pixels * sizeof **planes);
        unsigned kind = (unsigned)test_below(state, 5);
        size_t middle = test_below(state, pixels);
        for (size_t i = 0; i < pixels; i++) {
            uint32_t ones = (uint32_t)test_below(state, 2);
            planes[k][i] = kind == 0   ? ones
                           : kind == 1 ? (uint32_t)(i / store->shape.det_cols)
                           : kind == 2 ? (uint32_t)test_random(state)
                           : kind == 3 ? i < middle
                                       : 1;
        }
    }
    uint64_t *sums[2];
    uint64_t *pixel_sums[2];
    uint32_t *pixel_max[2];
    int want_sums = test_below(state, 2) == 0, want_max = test_below(state, 2) == 0;
    const ronchi_store *stores[2] = {store, dense};
    for (int i = 0; i < 2; i++) {
        sums[i] = malloc((n_planes * n + 1) * sizeof **sums);
        pixel_sums[i] = malloc(pixels * sizeof **pixel_sums);
        pixel_max[i] = malloc(pixels * sizeof **pixel_max);
        ronchi_reduction r = {0};
        r.scan_row = region.scan_row;
        r.scan_rows = region.scan_rows;
        r.scan_col = region.scan_col;
        r.scan_cols = region.scan_cols;
        r.n_planes = n_planes;
        r.planes = (const uint32_t *const *)planes;
        r.plane_sums = n_planes ? sums[i] : NULL;
        r.select = pixels % 2 ? select : NULL;
        r.pixel_sums = want_sums ? pixel_sums[i] : NULL;
        r.pixel_max = want_max ? pixel_max[i] : NULL;
        ronchi_error err = {0};
        ronchi_status status = stores[i]->profile->reduce(stores[i], &r, &err);
        if (status != RONCHI_OK)
            print_error("reduce: %s\n", err.message);
        assert_int_equal(status, RONCHI_OK);
    }
    assert_memory_equal(sums[0], sums[1], n_planes * n * sizeof **sums);
    if (want_sums)
        assert_memory_equal(pixel_sums[0], pixel_sums[1], pixels * sizeof **pixel_sums);
    if (want_max)
        assert_memory_equal(pixel_max[0], pixel_max[1], pixels * sizeof **pixel_max);
    for (int i = 0; i < 2; i++) {
        free(sums[i]);
        free(pixel_sums[i]);
        free(pixel_max[i]);
    }
    for (size_t k = 0; k < PLANES; k++)
        free(planes[k]);
    free(select);
}

/* Everything that must hold for one case on one context. */
static void check_case(ronchi_context *context, const ronchi_profile *profile, const test_case *c, uint64_t budget,
                       uint64_t *state)
{
    ronchi_error err = {0};
    ronchi_store *store = test_encode(context, profile, c, budget);
    ronchi_store *dense = test_encode(context, &ronchi_profile_dense, c, UINT64_C(1) << 28);
    assert_int_equal(store->max_count, dense->max_count);
    test_equal_counts(store, c);
    assert_int_equal(profile->validate(store, &err), RONCHI_OK);

    test_body body = test_body_of(store);
    json_t *header = test_header_of(store);
    ronchi_store *again = NULL;
    ronchi_status status = test_adopt(context, store, header, &body, &again, &err);
    if (status == RONCHI_OK)
        status = profile->validate(again, &err);
    if (status != RONCHI_OK)
        print_error("adopt, validate: %s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    assert_memory_equal(again->valid, c->valid, c->n_pixels);
    test_equal_counts(again, c);
    for (int i = 0; i < 6; i++) {
        same_band(i % 2 ? again : store, dense, state);
        same_reduction(i % 2 ? again : store, dense, state);
    }
    test_body second = test_body_of(again);
    assert_int_equal(second.size, body.size);
    assert_memory_equal(second.bytes, body.bytes, body.size);
    free(body.bytes);
    free(second.bytes);
    json_decref(header);
    profile->destroy(store);
    profile->destroy(again);
    ronchi_profile_dense.destroy(dense);
}

static void round_trips(void **unused)
{
    (void)unused;
    const ronchi_profile *profile = ronchi_profile_find(RONCHI_PROFILE_COLUMN);
    uint64_t state = 20260711;
    ronchi_context *context = test_context(2, 0), *plain = test_context(1, ~UINT32_C(0));
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
        test_case c = test_case_of(shapes[i / 2], i % 2 ? RONCHI_U16 : RONCHI_U8, &state);
        check_case(context, profile, &c, random_budget(&state, &c), &state);
        check_case(plain, profile, &c, random_budget(&state, &c), &state);
        test_case_free(&c);
    }
    ronchi_context_destroy(context);
    ronchi_context_destroy(plain);
}

/* The same bytes whatever the number of threads and the instruction set. */
static void same_bytes(void **unused)
{
    (void)unused;
    const ronchi_profile *profile = ronchi_profile_find(RONCHI_PROFILE_COLUMN);
    static const uint32_t threads[] = {1, 2, 5, 1};
    uint64_t state = 77;
    ronchi_shape shape = {37, 41, 45, 50};
    test_case c = test_case_of(shape, RONCHI_U16, &state);
    test_body first = {NULL, 0};
    for (size_t i = 0; i < 4; i++) {
        ronchi_context *context = test_context(threads[i], i == 3 ? ~UINT32_C(0) : 0);
        ronchi_store *store = test_encode(context, profile, &c, UINT64_C(1) << 23);
        test_body body = test_body_of(store);
        if (i == 0) {
            first = body;
        } else {
            assert_int_equal(body.size, first.size);
            assert_memory_equal(body.bytes, first.bytes, first.size);
            free(body.bytes);
        }
        profile->destroy(store);
        ronchi_context_destroy(context);
    }
    free(first.bytes);
    test_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trips), cmocka_unit_test(same_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
