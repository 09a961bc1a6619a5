/* SPDX-License-Identifier: MIT */
/* detector.c - every operation against plain loops over the dense counts, for every profile that holds them. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "core/internal.h"
#include "ronchi/ronchi.h"

enum { R = 5, C = 7, DR = 11, DC = 9, N = R * C, P = DR * DC };

typedef struct world {
    ronchi_context *context;
    uint16_t counts[N][P];
    uint8_t flagged[P], masks[2][P];
} world;

static void fill(world *w, uint32_t threads)
{
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = threads;
    assert_int_equal(ronchi_context_create(&options, &w->context, NULL), RONCHI_OK);
    uint64_t seed = 11;
    for (size_t i = 0; i < N; i++)
        for (size_t p = 0; p < P; p++) {
            uint64_t x = test_random(&seed);
            w->counts[i][p] = (uint16_t)(i == 3 ? 0 : x % 7 == 0 ? x >> 50 : (x >> 40) % 5);
        }
    memset(w->flagged, 0, sizeof w->flagged);
    w->flagged[0] = w->flagged[40] = 1;
    for (size_t i = 0; i < N; i++)
        w->counts[i][0] = 65535;
    for (size_t p = 0; p < P; p++) {
        w->masks[0][p] = p % 3 == 0;
        w->masks[1][p] = p >= 20;
    }
}

static ronchi_acquisition *encode(world *w, int32_t representation)
{
    ronchi_shape shape = {R, C, DR, DC};
    ronchi_view counts = ronchi_view_4d(w->counts, RONCHI_U16, &shape),
                flagged = ronchi_view_2d(w->flagged, RONCHI_U8, DR, DC);
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.representation = representation;
    options.verify = 1;
    ronchi_acquisition *acquisition;
    ronchi_error err;
    ronchi_status status = ronchi_acquisition_encode(w->context, &counts, &flagged, &options, &acquisition, &err);
    if (status != RONCHI_OK)
        fail_msg("%s", err.message);
    return acquisition;
}

static uint64_t count(const world *w, size_t i, size_t p)
{
    return w->flagged[p] ? 0 : w->counts[i][p];
}

static ronchi_view scan_view(void *data, ronchi_dtype dtype, size_t n)
{
    ronchi_shape shape = {1, n, R, C};
    return ronchi_view_4d(data, dtype, &shape);
}

static void check_sums(const world *w, const ronchi_acquisition *a)
{
    uint64_t out[2][N];
    float rounded[2][N];
    ronchi_shape mask_shape = {1, 2, DR, DC};
    ronchi_view masks = ronchi_view_4d((void *)w->masks, RONCHI_U8, &mask_shape);
    ronchi_view result = scan_view(out, RONCHI_U64, 2), floats = scan_view(rounded, RONCHI_F32, 2);
    assert_int_equal(ronchi_detector_sums(a, &masks, &result, NULL), RONCHI_OK);
    assert_int_equal(ronchi_detector_sums(a, &masks, &floats, NULL), RONCHI_OK);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < N; i++) {
            uint64_t want = 0;
            for (size_t p = 0; p < P; p++)
                want += w->masks[k][p] * count(w, i, p);
            assert_int_equal(out[k][i], want);
            assert_true(rounded[k][i] == (float)want);
        }
}

static void check_patterns(const world *w, const ronchi_acquisition *a)
{
    uint64_t sum[P], most[P];
    double mean[P];
    uint8_t select[N];
    for (size_t i = 0; i < N; i++)
        select[i] = i % 2 == 0 ? 200 : 0;
    ronchi_view sums = ronchi_view_2d(sum, RONCHI_U64, DR, DC), maxima = ronchi_view_2d(most, RONCHI_U64, DR, DC);
    ronchi_view means = ronchi_view_2d(mean, RONCHI_F64, DR, DC), selection = ronchi_view_2d(select, RONCHI_U8, R, C);
    ronchi_region region = {1, 3, 2, 4, 0, DR, 0, DC};
    assert_int_equal(ronchi_detector_pattern(a, RONCHI_REDUCE_SUM, &region, &selection, &sums, NULL), RONCHI_OK);
    assert_int_equal(ronchi_detector_pattern(a, RONCHI_REDUCE_MAX, &region, &selection, &maxima, NULL), RONCHI_OK);
    assert_int_equal(ronchi_detector_pattern(a, RONCHI_REDUCE_MEAN, NULL, NULL, &means, NULL), RONCHI_OK);
    for (size_t p = 0; p < P; p++) {
        uint64_t want = 0, high = 0, all = 0;
        for (size_t i = 0; i < N; i++) {
            size_t r = i / C, c = i % C;
            all += count(w, i, p);
            if (!select[i] || r < 1 || r >= 4 || c < 2 || c >= 6)
                continue;
            want += count(w, i, p);
            high = count(w, i, p) > high ? count(w, i, p) : high;
        }
        assert_int_equal(sum[p], want);
        assert_int_equal(most[p], high);
        assert_true(mean[p] == (double)all / N);
    }
    memset(select, 0, sizeof select);
    assert_int_equal(ronchi_detector_pattern(a, RONCHI_REDUCE_SUM, NULL, &selection, &sums, NULL), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_detector_pattern(a, RONCHI_REDUCE_SUM, NULL, NULL, &means, NULL), RONCHI_ERR_SHAPE);
}

static void check_moments(const world *w, const ronchi_acquisition *a)
{
    uint64_t total[N], mr[N], mc[N];
    double row[N], col[N], mean_row = 0, mean_col = 0;
    uint8_t valid[N];
    ronchi_view t = ronchi_view_2d(total, RONCHI_U64, R, C), r = ronchi_view_2d(mr, RONCHI_U64, R, C);
    ronchi_view c = ronchi_view_2d(mc, RONCHI_U64, R, C), mask = ronchi_view_2d((void *)w->masks[1], RONCHI_U8, DR, DC);
    ronchi_view fr = ronchi_view_2d(row, RONCHI_F64, R, C), fc = ronchi_view_2d(col, RONCHI_F64, R, C);
    ronchi_view v = ronchi_view_2d(valid, RONCHI_U8, R, C);
    assert_int_equal(ronchi_detector_moments(a, &mask, &t, &r, &c, NULL), RONCHI_OK);
    assert_int_equal(ronchi_detector_com(a, &mask, &fr, &fc, &v, NULL), RONCHI_OK);
    for (size_t i = 0; i < N; i++) {
        uint64_t want[3] = {0, 0, 0};
        for (size_t p = 20; p < P; p++) {
            want[0] += count(w, i, p);
            want[1] += count(w, i, p) * (p / DC);
            want[2] += count(w, i, p) * (p % DC);
        }
        assert_int_equal(total[i], want[0]);
        assert_int_equal(mr[i], want[1]);
        assert_int_equal(mc[i], want[2]);
        assert_int_equal(valid[i], want[0] != 0);
        if (want[0]) {
            assert_true(row[i] == (double)want[1] / (double)want[0]);
            assert_true(col[i] == (double)want[2] / (double)want[0]);
            mean_row += row[i];
            mean_col += col[i];
        }
    }
    assert_int_equal(valid[3], 0); /* the empty pattern gets the mean of the others */
    assert_true(row[3] == mean_row / (N - 1));
    assert_true(col[3] == mean_col / (N - 1));
}

static void check_frames(const world *w, const ronchi_acquisition *a)
{
    uint32_t frame[P];
    ronchi_view out = ronchi_view_2d(frame, RONCHI_U32, DR, DC);
    assert_int_equal(ronchi_detector_frame(a, 2, 3, RONCHI_READ_RAW, &out, NULL), RONCHI_OK);
    for (size_t p = 0; p < P; p++)
        assert_int_equal(frame[p], w->counts[2 * C + 3][p]);
    assert_int_equal(ronchi_detector_frame(a, 2, 3, RONCHI_READ_MASKED, &out, NULL), RONCHI_OK);
    for (size_t p = 0; p < P; p++)
        assert_int_equal(frame[p], count(w, 2 * C + 3, p));
    assert_int_equal(ronchi_detector_frame(a, R, 0, RONCHI_READ_RAW, &out, NULL), RONCHI_ERR_ARGUMENT);
    uint8_t small[P];
    ronchi_view narrow = ronchi_view_2d(small, RONCHI_U8, DR, DC);
    assert_int_equal(ronchi_detector_frame(a, 0, 0, RONCHI_READ_RAW, &narrow, NULL), RONCHI_ERR_RANGE);
}

static void operations_equal_loops(void **state)
{
    (void)state;
    static world w;
    for (uint32_t threads = 1; threads <= 3; threads += 2)
        for (int32_t representation = RONCHI_ENCODED; representation <= RONCHI_DENSE; representation++) {
            fill(&w, threads);
            ronchi_acquisition *a = encode(&w, representation);
            check_sums(&w, a);
            check_patterns(&w, a);
            check_moments(&w, a);
            check_frames(&w, a);
            assert_int_equal(ronchi_acquisition_close(a), RONCHI_OK);
            uint32_t frame[P];
            ronchi_view out = ronchi_view_2d(frame, RONCHI_U32, DR, DC);
            ronchi_error err;
            assert_int_equal(ronchi_detector_frame(a, 0, 0, RONCHI_READ_RAW, &out, &err), RONCHI_ERR_CLOSED);
            assert_int_equal(ronchi_acquisition_verify(a, NULL), RONCHI_ERR_CLOSED);
            ronchi_acquisition_destroy(a);
            ronchi_context_destroy(w.context);
        }
    ronchi_acquisition_destroy(NULL);
}

static void masks_are_checked(void **state)
{
    (void)state;
    static world w;
    fill(&w, 1);
    ronchi_acquisition *a = encode(&w, RONCHI_ENCODED);
    uint64_t out[N];
    ronchi_view mask = ronchi_view_2d(w.masks[0], RONCHI_U8, DR, DC), result = ronchi_view_2d(out, RONCHI_U64, R, C);
    w.masks[0][5] = 2;
    ronchi_error err;
    assert_int_equal(ronchi_detector_sums(a, &mask, &result, &err), RONCHI_ERR_ARGUMENT);
    assert_string_equal(err.message, "mask 0 holds 2 at (0, 5): masks hold 0 and 1");
    ronchi_view wrong = ronchi_view_2d(w.masks[0], RONCHI_U8, DC, DR);
    assert_int_equal(ronchi_detector_sums(a, &wrong, &result, NULL), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_detector_sums(NULL, &mask, &result, NULL), RONCHI_ERR_ARGUMENT);
    ronchi_acquisition_destroy(a);
    ronchi_context_destroy(w.context);
}

static void disk_of_known_answer(void **state)
{
    (void)state;
    enum { S = 96 };
    static double mean[S * S];
    static uint8_t flagged[S * S];
    for (size_t r = 0; r < S; r++)
        for (size_t c = 0; c < S; c++)
            mean[r * S + c] = hypot((double)r - 40.25, (double)c - 50.5) <= 20.0 ? 10.0 : 0.1;
    mean[0] = 1e9; /* a flagged sentinel must not move the threshold */
    flagged[0] = 1;
    ronchi_view view = ronchi_view_2d(mean, RONCHI_F64, S, S), mask = ronchi_view_2d(flagged, RONCHI_U8, S, S);
    ronchi_disk disk;
    assert_int_equal(ronchi_detector_fit_disk(&view, &mask, &disk, NULL), RONCHI_OK);
    assert_true(fabs(disk.row - 40.25) < 0.1 && fabs(disk.col - 50.5) < 0.1 && fabs(disk.radius - 20.0) < 0.2);
    for (size_t p = 0; p < S * S; p++)
        mean[p] = 0;
    assert_int_equal(ronchi_detector_fit_disk(&view, NULL, &disk, NULL), RONCHI_ERR_DATA);
}

static void annulus_is_inclusive(void **state)
{
    (void)state;
    uint8_t mask[9 * 9];
    ronchi_view view = ronchi_view_2d(mask, RONCHI_U8, 9, 9);
    assert_int_equal(ronchi_detector_annulus(4, 4, 3, 4, &view), RONCHI_OK);
    for (size_t r = 0; r < 9; r++)
        for (size_t c = 0; c < 9; c++) {
            double d = hypot((double)r - 4, (double)c - 4);
            assert_int_equal(mask[r * 9 + c], d >= 3 && d <= 4);
        }
    assert_int_equal(ronchi_detector_annulus(4, 4, 0, INFINITY, &view), RONCHI_OK);
    for (size_t p = 0; p < 81; p++)
        assert_int_equal(mask[p], 1);
    assert_int_equal(ronchi_detector_annulus(4, 4, 3, 2, &view), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_detector_annulus(NAN, 4, 0, 2, &view), RONCHI_ERR_ARGUMENT);
}

static void quotient_rounds_once(void **state)
{
    (void)state;
    assert_true(ronchi_quotient(1, 3) == 1.0 / 3.0);
    assert_true(ronchi_quotient(UINT64_MAX, 1) == 18446744073709551616.0);
    assert_true(ronchi_quotient(9007199254740993u, 1) == 9007199254740992.0); /* tie to even */
    assert_true(ronchi_quotient(9007199254740995u, 1) == 9007199254740996.0);
    /* floor would give ...992, two roundings ...992: the remainder decides */
    assert_true(ronchi_quotient(27021597764222980u, 3) == 9007199254740994.0);
    assert_true(ronchi_quotient(0, UINT64_MAX) == 0.0);
    assert_true(ronchi_quotient(1, UINT64_MAX) == 0x1p-64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_equal_loops), cmocka_unit_test(masks_are_checked),
        cmocka_unit_test(disk_of_known_answer),   cmocka_unit_test(annulus_is_inclusive),
        cmocka_unit_test(quotient_rounds_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
