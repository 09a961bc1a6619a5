/* SPDX-License-Identifier: MIT */
/* resident.c - load, the contract, flagged pixels, narrowing, read, save, reopen, close. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/internal.h"
#include "ronchi/ronchi.h"

enum { R = 6, C = 10, DR = 7, DC = 13, N = R * C, P = DR * DC };

static ronchi_context *make(uint64_t budget)
{
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = 2;
    options.budget_bytes = budget;
    ronchi_context *context;
    assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
    return context;
}

static const ronchi_shape shape = {R, C, DR, DC};

static ronchi_acquisition *encode(ronchi_context *context, void *counts, ronchi_dtype dtype, uint8_t *flagged,
                                  const ronchi_load_options *options)
{
    ronchi_view view = ronchi_view_4d(counts, dtype, &shape), mask = ronchi_view_2d(flagged, RONCHI_U8, DR, DC);
    ronchi_acquisition *acquisition;
    ronchi_error err;
    if (ronchi_acquisition_encode(context, &view, flagged ? &mask : NULL, options, &acquisition, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    return acquisition;
}

static void fill_u32(uint32_t *counts, uint8_t *flagged)
{
    uint64_t seed = 5;
    memset(flagged, 0, P);
    flagged[17] = flagged[P - 1] = flagged[30] = 1;
    for (size_t i = 0; i < N; i++)
        for (size_t p = 0; p < P; p++)
            counts[i * P + p] = (uint32_t)(test_random(&seed) >> 60);
    for (size_t i = 0; i < N; i++) {
        counts[i * P + 17] = UINT32_MAX;                     /* constant sentinel */
        counts[i * P + P - 1] = i < 20 ? 7 : UINT32_MAX - 1; /* varies */
        counts[i * P + 30] = 3;                              /* flagged but small: stays in the stream */
    }
}

static void read_equals(const ronchi_acquisition *a, const uint32_t *want)
{
    static uint32_t got[N * P];
    memset(got, 0xA5, sizeof got);
    ronchi_view out = ronchi_view_4d(got, RONCHI_U32, &shape);
    ronchi_error err;
    if (ronchi_acquisition_read(a, NULL, RONCHI_READ_RAW, &out, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    assert_memory_equal(got, want, sizeof got);
}

static void check_narrowed(const ronchi_acquisition *a, const uint32_t *counts)
{
    ronchi_acquisition_info info;
    assert_int_equal(ronchi_acquisition_describe(a, &info), RONCHI_OK);
    assert_int_equal(info.source_dtype, RONCHI_U32);
    assert_int_equal(info.dtype, RONCHI_U16);
    assert_int_equal(info.profile, RONCHI_PROFILE_LANE);
    assert_int_equal(info.lossless, 1);
    assert_string_equal(info.mask_policy, "flagged-markers-in-table");
    assert_int_equal(info.flagged_pixels, 3);
    assert_int_equal(info.logical_bytes, N * P * 4);
    assert_int_equal(info.max_count, 15);
    assert_true(info.resident_bytes > 0);
    read_equals(a, counts);
    uint16_t narrow[P];
    ronchi_view out = ronchi_view_2d(narrow, RONCHI_U16, DR, DC);
    ronchi_error err;
    assert_int_equal(ronchi_detector_frame(a, 0, 0, RONCHI_READ_RAW, &out, &err), RONCHI_ERR_RANGE);
    assert_string_equal(err.message,
                        "detector pixel (1, 4) holds 4294967295, which uint16 cannot: read as uint32, or masked");
    assert_int_equal(ronchi_detector_frame(a, 0, 0, RONCHI_READ_MASKED, &out, NULL), RONCHI_OK);
    assert_int_equal(narrow[17], 0);
    assert_int_equal(narrow[30], 0);
    assert_int_equal(narrow[1], counts[1]);
}

static void uint32_is_narrowed_and_given_back(void **state)
{
    (void)state;
    static uint32_t counts[N * P];
    uint8_t flagged[P], mask[P];
    fill_u32(counts, flagged);
    ronchi_context *context = make(0);
    ronchi_acquisition *a = encode(context, counts, RONCHI_U32, flagged, NULL);
    check_narrowed(a, counts);
    char path[64];
    snprintf(path, sizeof path, "/tmp/ronchi-resident-%ld.qem", (long)getpid());
    ronchi_error err;
    if (ronchi_acquisition_save(a, path, NULL, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ronchi_acquisition_save(a, path, NULL, &err), RONCHI_ERR_EXISTS);
    ronchi_acquisition_destroy(a);
    if (ronchi_acquisition_load(context, path, NULL, &a, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    check_narrowed(a, counts);
    assert_int_equal(ronchi_acquisition_verify(a, NULL), RONCHI_OK);
    ronchi_view view = ronchi_view_2d(mask, RONCHI_U8, DR, DC);
    assert_int_equal(ronchi_acquisition_flagged(a, &view), RONCHI_OK);
    assert_memory_equal(mask, flagged, P);
    ronchi_acquisition_destroy(a);
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.representation = RONCHI_PAIRED;
    assert_int_equal(ronchi_acquisition_load(context, path, &options, &a, &err), RONCHI_ERR_UNSUPPORTED);
    options.representation = RONCHI_DENSE;
    assert_int_equal(ronchi_acquisition_load(context, path, &options, &a, &err), RONCHI_OK);
    read_equals(a, counts);
    ronchi_acquisition_destroy(a);
    unlink(path);
    assert_int_equal(ronchi_acquisition_load(context, path, NULL, &a, &err), RONCHI_ERR_NOT_FOUND);
    ronchi_context_destroy(context);
}

static void uint32_that_does_not_fit_stays(void **state)
{
    (void)state;
    static uint32_t counts[N * P];
    uint8_t flagged[P];
    fill_u32(counts, flagged);
    counts[(N - 1) * P + 50] = 65536; /* one good count above 16 bits, at the very end */
    ronchi_context *context = make(0);
    ronchi_acquisition *a = encode(context, counts, RONCHI_U32, flagged, NULL);
    ronchi_acquisition_info info;
    assert_int_equal(ronchi_acquisition_describe(a, &info), RONCHI_OK);
    assert_int_equal(info.profile, RONCHI_PROFILE_LANE);
    assert_int_equal(info.dtype, RONCHI_U32);
    assert_int_equal(info.max_count, 65536);
    read_equals(a, counts);
    ronchi_acquisition_destroy(a);
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.profile = RONCHI_PROFILE_UINT32_LANES;
    a = encode(context, counts, RONCHI_U32, flagged, &options);
    assert_int_equal(ronchi_acquisition_describe(a, &info), RONCHI_OK);
    assert_int_equal(info.profile, RONCHI_PROFILE_UINT32_LANES);
    read_equals(a, counts);
    ronchi_acquisition_destroy(a);
    options.profile = RONCHI_PROFILE_COLUMN;
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U32, &shape), mask = ronchi_view_2d(flagged, RONCHI_U8, DR, DC);
    assert_int_equal(ronchi_acquisition_encode(context, &view, &mask, &options, &a, NULL), RONCHI_ERR_RANGE);
    ronchi_context_destroy(context);
}

static void flagged_policies(void **state)
{
    (void)state;
    static uint16_t counts[N * P];
    uint8_t flagged[P];
    memset(flagged, 0, P);
    flagged[0] = flagged[1] = flagged[3 * DC + 6] = 1;
    for (size_t i = 0; i < N * P; i++)
        counts[i] = (uint16_t)(i % P);
    for (size_t i = 0; i < N; i++)
        counts[i * P] = counts[i * P + 1] = counts[i * P + 3 * DC + 6] = 60000;
    ronchi_context *context = make(0);
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    uint16_t frame[P];
    ronchi_view out = ronchi_view_2d(frame, RONCHI_U16, DR, DC);
    for (int policy = RONCHI_FLAGGED_ZERO; policy <= RONCHI_FLAGGED_MEDIAN; policy++) {
        options.source.flagged = policy;
        ronchi_acquisition *a = encode(context, counts, RONCHI_U16, flagged, &options);
        ronchi_acquisition_info info;
        assert_int_equal(ronchi_acquisition_describe(a, &info), RONCHI_OK);
        assert_int_equal(info.lossless, 0);
        assert_int_equal(info.flagged_pixels, 0);
        assert_int_equal(ronchi_detector_frame(a, 1, 1, RONCHI_READ_RAW, &out, NULL), RONCHI_OK);
        bool median = policy == RONCHI_FLAGGED_MEDIAN;
        /* corner: neighbours DC, DC + 1 (pixel 1 is flagged): (13 + 14) / 2 = 13; pixel 1: 2, 13, 14, 15 -> 13 */
        assert_int_equal(frame[0], median ? 13 : 0);
        assert_int_equal(frame[1], median ? 13 : 0);
        assert_int_equal(frame[3 * DC + 6], median ? 3 * DC + 6 : 0);
        assert_int_equal(frame[2], 2);
        ronchi_acquisition_destroy(a);
    }
    ronchi_context_destroy(context);
}

static void strides_and_dtypes(void **state)
{
    (void)state;
    static uint16_t counts[N * P];
    static uint64_t wide[DR][3][C * DC];
    uint64_t seed = 3;
    for (size_t i = 0; i < N * P; i++)
        counts[i] = (uint16_t)(test_random(&seed) >> 48);
    ronchi_context *context = make(0);
    ronchi_acquisition *a = encode(context, counts, RONCHI_U16, NULL, NULL);
    /* a region into axes in another order, columns backwards */
    ronchi_region region = {2, 3, 1, 4, 1, 5, 3, 6};
    ronchi_view out;
    memset(&out, 0, sizeof out);
    out.dtype = RONCHI_U64;
    out.shape[0] = 3;
    out.shape[1] = 4;
    out.shape[2] = 5;
    out.shape[3] = 6;
    out.data = &wide[0][0][3 * DC + 5];
    out.stride[0] = (ptrdiff_t)sizeof wide[0][0];
    out.stride[1] = -(ptrdiff_t)(DC * sizeof(uint64_t));
    out.stride[2] = (ptrdiff_t)sizeof wide[0];
    out.stride[3] = -(ptrdiff_t)sizeof(uint64_t);
    memset(wide, 0xEE, sizeof wide);
    assert_int_equal(ronchi_acquisition_read(a, &region, RONCHI_READ_RAW, &out, NULL), RONCHI_OK);
    size_t touched = 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 4; j++)
            for (size_t k = 0; k < 5; k++)
                for (size_t l = 0; l < 6; l++)
                    assert_int_equal(wide[k][i][(3 - j) * DC + 5 - l],
                                     counts[((i + 2) * C + j + 1) * P + (k + 1) * DC + l + 3]);
    for (size_t i = 0; i < sizeof wide / 8; i++)
        touched += ((uint64_t *)wide)[i] != 0xEEEEEEEEEEEEEEEEu;
    assert_int_equal(touched, 3 * 4 * 5 * 6);
    static float floats[N * P];
    ronchi_view as_float = ronchi_view_4d(floats, RONCHI_F32, &shape);
    assert_int_equal(ronchi_acquisition_read(a, NULL, RONCHI_READ_RAW, &as_float, NULL), RONCHI_OK);
    for (size_t i = 0; i < N * P; i++)
        assert_true(floats[i] == (float)counts[i]);
    region.det_cols = DC;
    assert_int_equal(ronchi_acquisition_read(a, &region, RONCHI_READ_RAW, &out, NULL), RONCHI_ERR_SHAPE);
    ronchi_acquisition_destroy(a);
    ronchi_context_destroy(context);
}

static void float_data(void **state)
{
    (void)state;
    static float data[N * P], back[N * P];
    uint8_t flagged[P] = {1};
    for (size_t i = 0; i < N * P; i++)
        data[i] = (float)sin((double)i) * 1e-3f;
    data[5] = NAN;
    data[P + 9] = INFINITY;
    ronchi_context *context = make(0);
    ronchi_acquisition *a = encode(context, data, RONCHI_F32, NULL, NULL);
    ronchi_view out = ronchi_view_4d(back, RONCHI_F32, &shape);
    assert_int_equal(ronchi_acquisition_read(a, NULL, RONCHI_READ_RAW, &out, NULL), RONCHI_OK);
    assert_memory_equal(back, data, sizeof data);
    uint8_t mask[P];
    memset(mask, 1, sizeof mask);
    double sums[N];
    uint64_t exact[N];
    ronchi_view m = ronchi_view_2d(mask, RONCHI_U8, DR, DC), s = ronchi_view_2d(sums, RONCHI_F64, R, C);
    ronchi_view e = ronchi_view_2d(exact, RONCHI_U64, R, C);
    assert_int_equal(ronchi_detector_sums(a, &m, &e, NULL), RONCHI_ERR_UNSUPPORTED);
    assert_int_equal(ronchi_detector_sums(a, &m, &s, NULL), RONCHI_OK);
    assert_true(isnan(sums[0]) && isinf(sums[1]));
    double want = 0;
    for (size_t p = 0; p < P; p++)
        want += (double)data[2 * P + p];
    assert_true(sums[2] == want);
    ronchi_acquisition_destroy(a);
    ronchi_view view = ronchi_view_4d(data, RONCHI_F32, &shape), f = ronchi_view_2d(flagged, RONCHI_U8, DR, DC);
    assert_int_equal(ronchi_acquisition_encode(context, &view, &f, NULL, &a, NULL), RONCHI_ERR_UNSUPPORTED);
    ronchi_context_destroy(context);
}

static void budget_bounds_blocks(void **state)
{
    (void)state;
    static uint16_t counts[N * P];
    static uint32_t want[N * P];
    for (size_t i = 0; i < N * P; i++)
        want[i] = counts[i] = (uint16_t)(i * 7 % 23);
    for (uint64_t budget = 2 * P * 2; budget < 40000; budget *= 3) {
        ronchi_context *context = make(budget);
        ronchi_load_options options;
        ronchi_load_options_defaults(&options);
        options.verify = 1;
        options.profile = RONCHI_PROFILE_COLUMN;
        ronchi_acquisition *a = encode(context, counts, RONCHI_U16, NULL, &options);
        read_equals(a, want);
        assert_true(ronchi_context_decoded_peak(context) <= budget);
        ronchi_acquisition_destroy(a);
        ronchi_context_destroy(context);
    }
    /* A scan rectangle of lane-rans-v1 and some of its rows again; not even one of them. */
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U16, &shape);
    ronchi_acquisition *a;
    for (uint64_t room = 0; room < 4; room++) {
        const uint64_t block = N * P * 2, row = C * P * 2;
        ronchi_context *context = make(block + room * row + (room ? 1 : 0));
        ronchi_error err;
        ronchi_load_options options;
        ronchi_load_options_defaults(&options);
        options.verify = 1;
        ronchi_status status = ronchi_acquisition_encode(context, &view, NULL, &options, &a, &err);
        assert_int_equal(status, room ? RONCHI_OK : RONCHI_ERR_MEMORY);
        if (room) {
            read_equals(a, want);
            ronchi_acquisition_destroy(a);
        } else {
            assert_non_null(strstr(err.message, "--budget"));
        }
        assert_true(ronchi_context_decoded_peak(context) <= ronchi_context_budget(context));
        ronchi_context_destroy(context);
    }
    ronchi_context *context = make(P);
    assert_int_equal(ronchi_acquisition_encode(context, &view, NULL, NULL, &a, NULL), RONCHI_ERR_MEMORY);
    ronchi_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uint32_is_narrowed_and_given_back),
        cmocka_unit_test(uint32_that_does_not_fit_stays),
        cmocka_unit_test(flagged_policies),
        cmocka_unit_test(strides_and_dtypes),
        cmocka_unit_test(float_data),
        cmocka_unit_test(budget_bounds_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
