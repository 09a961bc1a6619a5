/* SPDX-License-Identifier: MIT */
/* mask_session.c - masks that move, grow and jump: each image equals that of ronchi_detector_sums(). */
#include "test.h"

#include <string.h>

#include "ronchi/ronchi.h"

enum { R = 6, C = 35, DR = 40, DC = 50, N = R * C, P = DR * DC };

static ronchi_acquisition *make(ronchi_context *context, ronchi_profile_id profile, int32_t representation)
{
    static uint16_t counts[N][P];
    static uint8_t flagged[P];
    uint64_t seed = 5;
    for (size_t i = 0; i < N * P; i++) {
        uint64_t x = test_random(&seed);
        counts[i / P][i % P] = (uint16_t)(x % 11 == 0 ? x >> 49 : (x >> 40) % 3);
    }
    for (size_t p = 0; p < P; p++)
        flagged[p] = test_random(&seed) % 40 == 0;
    ronchi_shape shape = {R, C, DR, DC};
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U16, &shape), flags = ronchi_view_2d(flagged, RONCHI_U8, DR, DC);
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.profile = profile;
    options.representation = representation;
    ronchi_acquisition *acquisition = NULL;
    ronchi_error err;
    ronchi_status status = ronchi_acquisition_encode(context, &view, &flags, &options, &acquisition, &err);
    if (status != RONCHI_OK)
        fail_msg("%s", err.message);
    return acquisition;
}

static void disk(uint8_t *mask, double row, double col, double radius)
{
    ronchi_view view = ronchi_view_2d(mask, RONCHI_U8, DR, DC);
    assert_int_equal(ronchi_detector_annulus(row, col, 0, radius, &view), RONCHI_OK);
}

static void check_walk(const ronchi_acquisition *acquisition)
{
    static uint8_t mask[P];
    uint64_t got[N], want[N];
    float rounded[N];
    ronchi_view masks = ronchi_view_2d(mask, RONCHI_U8, DR, DC);
    ronchi_view a = ronchi_view_2d(got, RONCHI_U64, R, C), b = ronchi_view_2d(want, RONCHI_U64, R, C);
    ronchi_view f = ronchi_view_2d(rounded, RONCHI_F32, R, C);
    ronchi_mask_session *session;
    uint64_t seed = 9;
    assert_int_equal(ronchi_mask_session_create(acquisition, &session, NULL), RONCHI_OK);
    double row = 20, col = 25, radius = 12;
    for (int step = 0; step < 40; step++) {
        uint64_t x = test_random(&seed);
        if (x % 9 == 0) { /* a jump */
            row = (double)(x >> 8 & 31);
            col = (double)(x >> 16 & 31);
            radius = (double)(x >> 24 & 31);
        } else {
            row += (double)(x >> 8 & 1) - 0.5;
            col += (double)(x >> 9 & 1);
            radius += (double)(x >> 10 & 1) - 0.5;
        }
        disk(mask, row, col, radius < 0 ? 0 : radius);
        if (step == 20)
            memset(mask, 0, sizeof mask);
        if (step == 25) { /* a wrong mask is refused, and forgotten */
            mask[7] = 2;
            assert_int_equal(ronchi_mask_session_sum(session, &masks, &a, NULL), RONCHI_ERR_ARGUMENT);
            mask[7] = 1;
        }
        assert_int_equal(ronchi_detector_sums(acquisition, &masks, &b, NULL), RONCHI_OK);
        assert_int_equal(ronchi_mask_session_sum(session, &masks, step % 5 ? &a : &f, NULL), RONCHI_OK);
        for (size_t i = 0; i < N; i++) {
            if (step % 5)
                assert_int_equal(got[i], want[i]);
            else
                assert_true(rounded[i] == (float)want[i]);
        }
    }
    ronchi_mask_session_destroy(session);
}

static void walks(void **unused)
{
    (void)unused;
    ronchi_context *context;
    assert_int_equal(ronchi_context_create(NULL, &context, NULL), RONCHI_OK);
    static const ronchi_profile_id profiles[] = {RONCHI_PROFILE_LANE, RONCHI_PROFILE_COLUMN, RONCHI_PROFILE_AUTO};
    for (size_t k = 0; k < 3; k++) {
        ronchi_acquisition *a = make(context, profiles[k], k == 2 ? RONCHI_DENSE : RONCHI_ENCODED);
        ronchi_acquisition_info before, after;
        ronchi_error err = {0};
        check_walk(a);
        ronchi_acquisition_describe(a, &before);
        ronchi_status status = ronchi_acquisition_build_index(a, &err);
        ronchi_acquisition_describe(a, &after);
        assert_int_equal(status, k == 0 ? RONCHI_OK : RONCHI_ERR_UNSUPPORTED);
        if (k == 0) {
            assert_true(after.index_bytes > 0);
            assert_int_equal(after.resident_bytes - before.resident_bytes, after.index_bytes - before.index_bytes);
            check_walk(a);
            assert_int_equal(ronchi_acquisition_verify(a, &err), RONCHI_OK);
        }
        ronchi_acquisition_destroy(a);
    }
    ronchi_context_destroy(context);
}

static void refusals(void **unused)
{
    (void)unused;
    ronchi_context *context;
    ronchi_mask_session *session;
    float values[4] = {0};
    ronchi_shape shape = {1, 1, 2, 2};
    ronchi_view view = ronchi_view_4d(values, RONCHI_F32, &shape);
    ronchi_acquisition *floats = NULL;
    assert_int_equal(ronchi_context_create(NULL, &context, NULL), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_encode(context, &view, NULL, NULL, &floats, NULL), RONCHI_OK);
    assert_int_equal(ronchi_mask_session_create(floats, &session, NULL), RONCHI_ERR_UNSUPPORTED);
    assert_null(session);
    assert_int_equal(ronchi_acquisition_build_index(floats, NULL), RONCHI_ERR_UNSUPPORTED);
    ronchi_acquisition_destroy(floats);
    ronchi_acquisition *a = make(context, RONCHI_PROFILE_LANE, RONCHI_ENCODED);
    static uint8_t mask[P];
    static uint64_t out[N];
    ronchi_view masks = ronchi_view_2d(mask, RONCHI_U8, DR, DC), sums = ronchi_view_2d(out, RONCHI_U64, R, C);
    ronchi_view small = ronchi_view_2d(out, RONCHI_U64, R - 1, C), narrow = ronchi_view_2d(out, RONCHI_U32, R, C);
    assert_int_equal(ronchi_mask_session_create(a, &session, NULL), RONCHI_OK);
    assert_int_equal(ronchi_mask_session_sum(session, &sums, &sums, NULL), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_mask_session_sum(session, &masks, &small, NULL), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_mask_session_sum(session, &masks, &narrow, NULL), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_mask_session_sum(NULL, &masks, &sums, NULL), RONCHI_ERR_ARGUMENT);
    ronchi_acquisition_close(a);
    assert_int_equal(ronchi_mask_session_sum(session, &masks, &sums, NULL), RONCHI_ERR_CLOSED);
    assert_int_equal(ronchi_acquisition_build_index(a, NULL), RONCHI_ERR_CLOSED);
    ronchi_mask_session_destroy(session);
    ronchi_mask_session_destroy(NULL);
    ronchi_acquisition_destroy(a);
    ronchi_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(walks), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
