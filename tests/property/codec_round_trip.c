/* SPDX-License-Identifier: MIT */
/* column-rans-v2 over random acquisitions: encode, decode, bands, reductions, to a body and back; the dense profile
 * judges. */
#include <math.h>

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
    ronchi_dtype dtype = store->dtype == RONCHI_F32 ? RONCHI_F32 : dtypes[test_below(state, 4)];
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

enum { PLANES = 3 };

/* Weights of several kinds: random ones, rows, anything, a part, all. */
static void random_plane(uint64_t *state, const ronchi_store *store, uint32_t *plane)
{
    unsigned kind = (unsigned)test_below(state, 5);
    size_t middle = test_below(state, store->n_pixels);
    for (size_t i = 0; i < store->n_pixels; i++) {
        uint32_t any = (uint32_t)test_random(state);
        plane[i] = kind == 0   ? any % 2
                   : kind == 1 ? (uint32_t)(i / store->shape.det_cols)
                   : kind == 2 ? any
                   : kind == 3 ? i < middle
                               : 1;
    }
}

/* The outputs of one reduction, for counts or floats: all are 8 bytes wide but for the maxima. */
typedef struct outputs {
    uint64_t *sums, *pixel_sums;
    uint32_t *pixel_max;
    size_t n_sums, n_pixels;
} outputs;

/* NaNs are one: which of two survives an addition is nobody's promise. */
static void one_nan(outputs *o)
{
    const double nan64 = (double)NAN;
    const float nan32 = NAN;
    for (size_t i = 0; i < o->n_sums + o->n_pixels; i++) {
        uint64_t *at = i < o->n_sums ? &o->sums[i] : &o->pixel_sums[i - o->n_sums];
        double v;
        memcpy(&v, at, sizeof v);
        if (isnan(v))
            memcpy(at, &nan64, sizeof v);
    }
    for (size_t i = 0; i < o->n_pixels; i++) {
        float v;
        memcpy(&v, &o->pixel_max[i], sizeof v);
        if (isnan(v))
            memcpy(&o->pixel_max[i], &nan32, sizeof v);
    }
}

static outputs reduce(const ronchi_store *store, ronchi_reduction r, int want_sums, int want_max)
{
    outputs o = {0};
    ronchi_error err = {0};
    bool floats = store->dtype == RONCHI_F32;
    o.n_sums = r.n_planes * r.scan_rows * r.scan_cols;
    o.n_pixels = store->n_pixels;
    o.sums = calloc(o.n_sums + 1, sizeof *o.sums);
    o.pixel_sums = calloc(o.n_pixels, sizeof *o.pixel_sums);
    o.pixel_max = calloc(o.n_pixels, sizeof *o.pixel_max);
    memset(o.sums, 0x5A, (o.n_sums + 1) * sizeof *o.sums);
    if (floats) {
        r.plane_sums_f64 = r.n_planes ? (double *)(void *)o.sums : NULL;
        r.pixel_sums_f64 = want_sums ? (double *)(void *)o.pixel_sums : NULL;
        r.pixel_max_f32 = want_max ? (float *)(void *)o.pixel_max : NULL;
    } else {
        r.plane_sums = r.n_planes ? o.sums : NULL;
        r.pixel_sums = want_sums ? o.pixel_sums : NULL;
        r.pixel_max = want_max ? o.pixel_max : NULL;
    }
    ronchi_status status = store->profile->reduce(store, &r, &err);
    if (status != RONCHI_OK)
        print_error("reduce: %s\n", err.message);
    assert_int_equal(status, RONCHI_OK);
    if (floats)
        one_nan(&o);
    return o;
}

static void same_reduction(const ronchi_store *store, const ronchi_store *dense, uint64_t *state)
{
    ronchi_region region = random_region(state, &store->shape);
    size_t n = region.scan_rows * region.scan_cols;
    uint32_t *planes[PLANES];
    uint8_t *select = malloc(n);
    for (size_t i = 0; i < n; i++)
        select[i] = test_below(state, 3) != 0;
    for (size_t k = 0; k < PLANES; k++) {
        planes[k] = malloc(store->n_pixels * sizeof **planes);
        random_plane(state, store, planes[k]);
    }
    ronchi_reduction r = {0};
    r.scan_row = region.scan_row;
    r.scan_rows = region.scan_rows;
    r.scan_col = region.scan_col;
    r.scan_cols = region.scan_cols;
    r.n_planes = test_below(state, PLANES + 1);
    r.planes = (const uint32_t *const *)planes;
    r.select = test_below(state, 2) ? select : NULL;
    int want_sums = test_below(state, 2) == 0, want_max = test_below(state, 2) == 0;
    outputs a = reduce(store, r, want_sums, want_max), b = reduce(dense, r, want_sums, want_max);
    assert_memory_equal(a.sums, b.sums, (a.n_sums + 1) * sizeof *a.sums);
    assert_memory_equal(a.pixel_sums, b.pixel_sums, a.n_pixels * sizeof *a.pixel_sums);
    assert_memory_equal(a.pixel_max, b.pixel_max, a.n_pixels * sizeof *a.pixel_max);
    free(a.sums);
    free(a.pixel_sums);
    free(a.pixel_max);
    free(b.sums);
    free(b.pixel_sums);
    free(b.pixel_max);
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

/* The profile that holds a dtype. */
static const ronchi_profile *profile_of(ronchi_dtype dtype)
{
    return ronchi_profile_find(dtype == RONCHI_F32   ? RONCHI_PROFILE_FLOAT_LANES
                               : dtype == RONCHI_U32 ? RONCHI_PROFILE_UINT32_LANES
                                                     : RONCHI_PROFILE_COLUMN);
}

static void round_trips(ronchi_dtype dtype)
{
    uint64_t state = 20260711 + (uint64_t)dtype;
    ronchi_context *context = test_context(2, 0), *plain = test_context(1, ~UINT32_C(0));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        test_case c = test_case_of(shapes[i], dtype, &state);
        check_case(context, profile_of(dtype), &c, random_budget(&state, &c), &state);
        check_case(plain, profile_of(dtype), &c, random_budget(&state, &c), &state);
        test_case_free(&c);
    }
    ronchi_context_destroy(context);
    ronchi_context_destroy(plain);
}

static void column_u8(void **unused)
{
    (void)unused;
    round_trips(RONCHI_U8);
}

static void column_u16(void **unused)
{
    (void)unused;
    round_trips(RONCHI_U16);
}

static void lanes_u32(void **unused)
{
    (void)unused;
    round_trips(RONCHI_U32);
}

static void lanes_f32(void **unused)
{
    (void)unused;
    round_trips(RONCHI_F32);
}

/* The same bytes whatever the number of threads and the instruction set. */
static void same_bytes(void **unused)
{
    (void)unused;
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32, RONCHI_F32};
    static const uint32_t threads[] = {1, 2, 5, 1};
    uint64_t state = 77;
    for (size_t i = 0; i < 16; i++) {
        static test_case c;
        static test_body first;
        const ronchi_profile *profile = profile_of(dtypes[i / 4]);
        if (i % 4 == 0)
            c = test_case_of((ronchi_shape){37, 41, 45, 50}, dtypes[i / 4], &state);
        ronchi_context *context = test_context(threads[i % 4], i % 4 == 3 ? ~UINT32_C(0) : 0);
        ronchi_store *store = test_encode(context, profile, &c, UINT64_C(1) << 23);
        test_body body = test_body_of(store);
        if (i % 4 == 0) {
            first = body;
        } else {
            assert_int_equal(body.size, first.size);
            assert_memory_equal(body.bytes, first.bytes, first.size);
            free(body.bytes);
        }
        profile->destroy(store);
        ronchi_context_destroy(context);
        if (i % 4 == 3) {
            free(first.bytes);
            test_case_free(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(column_u8), cmocka_unit_test(column_u16),
                                       cmocka_unit_test(lanes_u32), cmocka_unit_test(lanes_f32),
                                       cmocka_unit_test(same_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
