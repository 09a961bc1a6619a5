/* SPDX-License-Identifier: MIT */
/* geometry.c - crop, flip, transpose, bin and rotate against plain loops over dense counts; flagged pixels, contract,
 * files. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/internal.h"
#include "resident/acquisition.h"
#include "ronchi/ronchi.h"

enum { R = 5, C = 7, DR = 6, DC = 8, P = DR * DC, N = R * C, FLAGGED_A = 9, FLAGGED_B = 30 };

static ronchi_context *context;

static int setup(void **state)
{
    (void)state;
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = 2;
    options.budget_bytes = 6720; /* several blocks and tiles; the least that lane-rans-v1 takes of uint32 */
    return ronchi_context_create(&options, &context, NULL) == RONCHI_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    uint64_t peak = ronchi_context_decoded_peak(context);
    bool kept = peak > 0 && peak <= ronchi_context_budget(context);
    if (!kept)
        print_error("decoded counts held: %llu bytes\n", (unsigned long long)peak);
    ronchi_context_destroy(context);
    return kept ? 0 : -1;
}

/* Counts that differ everywhere, with two flagged pixels: one constant above 16 bits where the dtype allows, one
 * varying. */
static uint32_t count_of(ronchi_dtype dtype, size_t i, size_t p)
{
    uint64_t seed = 1 + i * P + p;
    uint32_t v = (uint32_t)(test_random(&seed) >> 60);
    if (p == FLAGGED_A)
        return dtype == RONCHI_U8 ? 255 : dtype == RONCHI_U16 ? 65535 : UINT32_MAX;
    if (p == FLAGGED_B)
        return dtype == RONCHI_U32 ? 70000 + (uint32_t)(i / 4) : (uint32_t)(i % 200);
    return v;
}

/* 'large': a uint32 source that must stay uint32. */
static ronchi_acquisition *make_with(ronchi_dtype dtype, bool large, int32_t representation, ronchi_profile_id profile)
{
    ronchi_shape shape = {R, C, DR, DC};
    uint8_t bytes[N * P * 4], flagged[P] = {0};
    for (size_t k = 0; k < N * P; k++) {
        uint32_t v = count_of(dtype, k / P, k % P);
        if (large && k % P == 0)
            v += 100000;
        float f = (float)v / 4;
        if (dtype == RONCHI_F32)
            memcpy(bytes + 4 * k, &f, 4);
        else
            memcpy(bytes + ronchi_dtype_size(dtype) * k, &v, ronchi_dtype_size(dtype));
    }
    flagged[FLAGGED_A] = flagged[FLAGGED_B] = dtype != RONCHI_F32;
    ronchi_view view = ronchi_view_4d(bytes, dtype, &shape), mask = ronchi_view_2d(flagged, RONCHI_U8, DR, DC);
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.representation = representation;
    options.profile = profile;
    options.source.scan_step_row_a = 0.5;
    options.source.scan_step_col_a = 0.25;
    options.source.det_step_row_mrad = 1.5;
    options.source.det_step_col_mrad = 2.5;
    options.source.semiangle_mrad = 25;
    ronchi_acquisition *acquisition;
    ronchi_error err = {0};
    if (ronchi_acquisition_encode(context, &view, dtype == RONCHI_F32 ? NULL : &mask, &options, &acquisition, &err) !=
        RONCHI_OK)
        fail_msg("%s", err.message);
    return acquisition;
}

static ronchi_acquisition *make(ronchi_dtype dtype, bool large, int32_t representation)
{
    ronchi_profile_id counts = large ? RONCHI_PROFILE_UINT32_LANES : RONCHI_PROFILE_COLUMN;
    return make_with(dtype, large, representation, dtype == RONCHI_F32 ? RONCHI_PROFILE_AUTO : counts);
}

/* All raw values as float64: exact for every dtype here. */
static double *read_all(const ronchi_acquisition *acquisition, ronchi_flagged_read flagged)
{
    ronchi_acquisition_info info;
    ronchi_error err = {0};
    assert_int_equal(ronchi_acquisition_describe(acquisition, &info), RONCHI_OK);
    double *out =
        malloc(info.shape.scan_rows * info.shape.scan_cols * info.shape.det_rows * info.shape.det_cols * sizeof *out);
    assert_non_null(out);
    ronchi_view view = ronchi_view_4d(out, RONCHI_F64, &info.shape);
    if (ronchi_acquisition_read(acquisition, NULL, flagged, &view, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    return out;
}

/* ----------------------------------------------------------------------------- moves: index by index, all profiles */

typedef struct move {
    ronchi_shape shape; /* of the result */
    void (*from)(const size_t at[4], size_t out[4]);
    ronchi_status (*run)(const ronchi_acquisition *acquisition, ronchi_acquisition **out, ronchi_error *err);
} move;

static void from_crop(const size_t at[4], size_t out[4])
{
    static const size_t first[4] = {1, 2, 1, 1};
    for (int k = 0; k < 4; k++)
        out[k] = at[k] + first[k];
}

static ronchi_status run_crop(const ronchi_acquisition *acquisition, ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_region region = {1, 3, 2, 5, 1, 4, 1, 6};
    return ronchi_geometry_crop(acquisition, &region, out, err);
}

static void from_flip(const size_t at[4], size_t out[4])
{
    out[0] = R - 1 - at[0];
    out[1] = at[1];
    out[2] = at[2];
    out[3] = DC - 1 - at[3];
}

static ronchi_status run_flip(const ronchi_acquisition *acquisition, ronchi_acquisition **out, ronchi_error *err)
{
    return ronchi_geometry_flip(acquisition, RONCHI_FLIP_SCAN_ROWS | RONCHI_FLIP_DET_COLS, out, err);
}

static void from_other_flip(const size_t at[4], size_t out[4])
{
    out[0] = at[0];
    out[1] = C - 1 - at[1];
    out[2] = DR - 1 - at[2];
    out[3] = at[3];
}

static ronchi_status run_other_flip(const ronchi_acquisition *acquisition, ronchi_acquisition **out, ronchi_error *err)
{
    return ronchi_geometry_flip(acquisition, RONCHI_FLIP_SCAN_COLS | RONCHI_FLIP_DET_ROWS, out, err);
}

static void from_transpose(const size_t at[4], size_t out[4])
{
    out[0] = at[1];
    out[1] = at[0];
    out[2] = at[3];
    out[3] = at[2];
}

static ronchi_status run_transpose(const ronchi_acquisition *acquisition, ronchi_acquisition **out, ronchi_error *err)
{
    return ronchi_geometry_transpose(acquisition, RONCHI_TRANSPOSE_SCAN | RONCHI_TRANSPOSE_DET, out, err);
}

static void from_det_transpose(const size_t at[4], size_t out[4])
{
    out[0] = at[0];
    out[1] = at[1];
    out[2] = at[3];
    out[3] = at[2];
}

static ronchi_status run_det_transpose(const ronchi_acquisition *acquisition, ronchi_acquisition **out,
                                       ronchi_error *err)
{
    return ronchi_geometry_transpose(acquisition, RONCHI_TRANSPOSE_DET, out, err);
}

/* A chain: what a crop, a transpose and a flip do one after another; flips act on axes of the transposed. */
static void from_chain(const size_t at[4], size_t out[4])
{
    out[0] = 1 + at[1];
    out[1] = 2 + (5 - 1 - at[0]);
    out[2] = 1 + at[3];
    out[3] = 1 + (6 - 1 - at[2]);
}

static ronchi_status run_chain(const ronchi_acquisition *acquisition, ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_acquisition *a = NULL, *b = NULL;
    ronchi_status status = run_crop(acquisition, &a, err);
    if (status == RONCHI_OK)
        status = run_transpose(a, &b, err);
    if (status == RONCHI_OK)
        status = ronchi_geometry_flip(b, RONCHI_FLIP_SCAN_ROWS | RONCHI_FLIP_DET_ROWS, out, err);
    ronchi_acquisition_destroy(a);
    ronchi_acquisition_destroy(b);
    return status;
}

static const move moves[] = {
    {{3, 5, 4, 6}, from_crop, run_crop},
    {{R, C, DR, DC}, from_flip, run_flip},
    {{R, C, DR, DC}, from_other_flip, run_other_flip},
    {{C, R, DC, DR}, from_transpose, run_transpose},
    {{R, C, DC, DR}, from_det_transpose, run_det_transpose},
    {{5, 3, 6, 4}, from_chain, run_chain},
};

static void check_move(const move *m, const ronchi_acquisition *source)
{
    ronchi_acquisition *result;
    ronchi_acquisition_info before, after;
    ronchi_error err = {0};
    if (m->run(source, &result, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ronchi_acquisition_verify(result, &err), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_describe(source, &before), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_describe(result, &after), RONCHI_OK);
    assert_memory_equal(&after.shape, &m->shape, sizeof m->shape);
    assert_int_equal(after.profile, before.profile);
    assert_int_equal(after.dtype, before.dtype);
    assert_int_equal(after.lossless, 1);
    uint8_t flagged[P], was_flagged[P];
    ronchi_view mask = ronchi_view_2d(flagged, RONCHI_U8, m->shape.det_rows, m->shape.det_cols);
    ronchi_view was = ronchi_view_2d(was_flagged, RONCHI_U8, DR, DC);
    assert_int_equal(ronchi_acquisition_flagged(result, &mask), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_flagged(source, &was), RONCHI_OK);
    double *all = read_all(source, RONCHI_READ_RAW), *got = read_all(result, RONCHI_READ_RAW);
    const ronchi_shape *s = &m->shape;
    size_t pixels = s->det_rows * s->det_cols;
    for (size_t k = 0; k < s->scan_rows * s->scan_cols * pixels; k++) {
        size_t at[4] = {k / pixels / s->scan_cols, k / pixels % s->scan_cols, k % pixels / s->det_cols,
                        k % s->det_cols},
               q[4];
        m->from(at, q);
        assert_true(got[k] == all[((q[0] * C + q[1]) * DR + q[2]) * DC + q[3]]);
        assert_int_equal(flagged[k % pixels], was_flagged[q[2] * DC + q[3]]);
    }
    free(all);
    free(got);
    ronchi_acquisition_destroy(result);
}

static void test_moves(void **state)
{
    (void)state;
    static const struct {
        ronchi_dtype dtype;
        bool large;
        int32_t representation;
        ronchi_profile_id profile;
    } kinds[] = {{RONCHI_U8, false, RONCHI_ENCODED, RONCHI_PROFILE_COLUMN},
                 {RONCHI_U16, false, RONCHI_ENCODED, RONCHI_PROFILE_COLUMN},
                 {RONCHI_U32, false, RONCHI_ENCODED, RONCHI_PROFILE_COLUMN},
                 {RONCHI_U32, true, RONCHI_ENCODED, RONCHI_PROFILE_UINT32_LANES},
                 {RONCHI_F32, false, RONCHI_ENCODED, RONCHI_PROFILE_AUTO},
                 {RONCHI_U16, false, RONCHI_DENSE, RONCHI_PROFILE_AUTO},
                 {RONCHI_U8, false, RONCHI_ENCODED, RONCHI_PROFILE_LANE},
                 {RONCHI_U16, false, RONCHI_ENCODED, RONCHI_PROFILE_LANE},
                 {RONCHI_U32, true, RONCHI_ENCODED, RONCHI_PROFILE_LANE}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        ronchi_acquisition *source =
            make_with(kinds[k].dtype, kinds[k].large, kinds[k].representation, kinds[k].profile);
        for (size_t m = 0; m < sizeof moves / sizeof moves[0]; m++)
            check_move(&moves[m], source);
        ronchi_acquisition_destroy(source);
    }
}

/* --------------------------------------------------------------------------------------- contract and calibration */

static void test_contract(void **state)
{
    (void)state;
    ronchi_acquisition *source = make(RONCHI_U16, false, RONCHI_ENCODED), *chain, *turned, *binned;
    ronchi_acquisition_info info;
    assert_int_equal(run_chain(source, &chain, NULL), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_describe(chain, &info), RONCHI_OK);
    /* Crop rows 1..3, cols 2..6 of 5 x 7; transposed: rows 2..6 of 7, cols 1..3 of 5; rows mirrored: 0..4. */
    const ronchi_region crop = {0, 5, 1, 3, 1, 6, 1, 4};
    const ronchi_shape whole = {C, R, DC, DR};
    assert_memory_equal(&info.crop, &crop, sizeof crop);
    assert_memory_equal(&info.source_shape, &whole, sizeof whole);
    assert_true(info.calibration.scan_step_row.value == 0.25 && info.calibration.scan_step_col.value == 0.5);
    assert_true(info.calibration.det_step_row.value == 2.5 && info.calibration.det_step_col.value == 1.5);
    assert_true(info.calibration.semiangle.value == 25);

    /* A quarter turn counter-clockwise: row i is column cols - 1 - i. */
    assert_int_equal(ronchi_geometry_rotate_scan(chain, 90, NULL, NULL, &turned, NULL), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_describe(turned, &info), RONCHI_OK);
    const ronchi_region turned_crop = {1, 3, 0, 5, 1, 6, 1, 4};
    assert_memory_equal(&info.crop, &turned_crop, sizeof turned_crop);
    assert_true(info.calibration.scan_step_row.value == 0.5 && info.calibration.scan_step_col.value == 0.25);
    assert_int_equal(info.lossless, 1);

    assert_int_equal(ronchi_geometry_bin(turned, 2, 2, &binned, NULL), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_describe(binned, &info), RONCHI_OK);
    const ronchi_region binned_crop = {1, 2, 0, 4, 1, 6, 1, 4};
    assert_memory_equal(&info.crop, &binned_crop, sizeof binned_crop);
    assert_int_equal(info.scan_bin, 2);
    assert_int_equal(info.det_bin, 2);
    assert_int_equal(info.lossless, 0);
    assert_true(info.calibration.scan_step_row.value == 1.0 && info.calibration.det_step_row.value == 5.0);
    ronchi_acquisition_destroy(binned);
    ronchi_acquisition_destroy(turned);
    ronchi_acquisition_destroy(chain);
    ronchi_acquisition_destroy(source);
}

/* Everything that surrounds the counts survives a file. */
static void test_file(void **state)
{
    (void)state;
    const char *path = "geometry_test.qem";
    ronchi_acquisition *source = make(RONCHI_U32, false, RONCHI_ENCODED), *flat, *turned, *again;
    ronchi_acquisition_info before, after;
    ronchi_error err = {0};
    ronchi_rotate_options options;
    ronchi_rotate_options_defaults(&options);
    options.fill = 3;
    /* Equal steps, so that any angle is allowed. */
    assert_int_equal(
        ronchi_acquisition_save(source, path, &(ronchi_save_options){sizeof(ronchi_save_options), 1, 0, NULL}, &err),
        RONCHI_OK);
    ronchi_load_options load;
    ronchi_load_options_defaults(&load);
    load.source.scan_step_row_a = load.source.scan_step_col_a = 0.5;
    assert_int_equal(ronchi_acquisition_load(context, path, &load, &flat, &err), RONCHI_OK);
    if (ronchi_geometry_rotate_scan(flat, 33, &options, NULL, &turned, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    ronchi_save_options save;
    ronchi_save_options_defaults(&save);
    save.force = 1;
    if (ronchi_acquisition_save(turned, path, &save, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    if (ronchi_acquisition_load(context, path, NULL, &again, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    unlink(path);
    assert_int_equal(ronchi_acquisition_describe(turned, &before), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_describe(again, &after), RONCHI_OK);
    assert_memory_equal(&before.shape, &after.shape, sizeof before.shape);
    assert_memory_equal(&before.crop, &after.crop, sizeof before.crop);
    assert_int_equal(after.lossless, 0);
    assert_int_equal(after.source_dtype, RONCHI_U32);
    assert_string_equal(before.mask_policy, after.mask_policy);
    assert_true(after.calibration.scan_step_row.value == 0.5);
    double *a = read_all(turned, RONCHI_READ_RAW), *b = read_all(again, RONCHI_READ_RAW);
    size_t n = before.shape.scan_rows * before.shape.scan_cols;
    assert_memory_equal(a, b, n * P * sizeof *a);
    /* The raw value of the flagged pixel, or the fill: both are there, and only they. */
    size_t n_raw = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(a[i * P + FLAGGED_A] == (double)UINT32_MAX || a[i * P + FLAGGED_A] == 3);
        n_raw += a[i * P + FLAGGED_A] != 3;
    }
    assert_true(n_raw > N / 2 && n_raw < n);
    uint8_t valid[256], kept[256];
    assert_true(n <= sizeof valid);
    ronchi_view view = ronchi_view_2d(valid, RONCHI_U8, before.shape.scan_rows, before.shape.scan_cols);
    ronchi_view kept_view = ronchi_view_2d(kept, RONCHI_U8, before.shape.scan_rows, before.shape.scan_cols);
    assert_int_equal(ronchi_geometry_scan_valid(turned, &view, &err), RONCHI_OK);
    assert_int_equal(ronchi_geometry_scan_valid(again, &kept_view, &err), RONCHI_OK);
    assert_memory_equal(valid, kept, n);
    size_t n_valid = 0;
    for (size_t i = 0; i < n; i++)
        n_valid += valid[i];
    assert_true(n_valid > 0 && n_valid <= n_raw);
    const json_t *history = ronchi_scientific_extension_get(again->scientific, "geometry");
    assert_int_equal(json_array_size(history), 1);
    assert_true(json_real_value(json_object_get(json_array_get(history, 0), "angle_degrees")) == 33);
    assert_int_equal(json_array_size(json_object_get(again->metadata, "scan_rotation_history")), 1);
    free(a);
    free(b);
    ronchi_acquisition_destroy(again);
    ronchi_acquisition_destroy(turned);
    ronchi_acquisition_destroy(flat);
    ronchi_acquisition_destroy(source);
}

/* ---------------------------------------------------------------------------------------------------------- binning */

/* Every result against a plain sum, with flagged pixels as 0. */
static void check_bin(const ronchi_acquisition *source, size_t scan_bin, size_t det_bin, ronchi_dtype dtype)
{
    ronchi_acquisition *result;
    ronchi_acquisition_info info;
    ronchi_error err = {0};
    if (ronchi_geometry_bin(source, scan_bin, det_bin, &result, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ronchi_acquisition_verify(result, &err), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_describe(result, &info), RONCHI_OK);
    assert_int_equal(info.dtype, dtype);
    const ronchi_shape *s = &info.shape;
    double *all = read_all(source, RONCHI_READ_MASKED), *got = read_all(result, RONCHI_READ_RAW);
    size_t pixels = s->det_rows * s->det_cols;
    for (size_t k = 0; k < s->scan_rows * s->scan_cols * pixels; k++) {
        size_t i = k / pixels / s->scan_cols * scan_bin, j = k / pixels % s->scan_cols * scan_bin;
        size_t r = k % pixels / s->det_cols * det_bin, c = k % s->det_cols * det_bin;
        double sum = 0;
        for (size_t q = 0; q < scan_bin * scan_bin * det_bin * det_bin; q++) {
            size_t a = q / (det_bin * det_bin), b = q % (det_bin * det_bin);
            sum += all[(((i + a / scan_bin) * C + j + a % scan_bin) * DR + r + b / det_bin) * DC + c + b % det_bin];
        }
        assert_true(got[k] == sum);
    }
    assert_int_equal(info.flagged_pixels, det_bin == 1 && dtype != RONCHI_F32 ? 2 : 0);
    free(all);
    free(got);
    ronchi_acquisition_destroy(result);
}

static void test_bin(void **state)
{
    (void)state;
    ronchi_acquisition *bytes = make(RONCHI_U8, false, RONCHI_ENCODED),
                       *words = make(RONCHI_U16, false, RONCHI_ENCODED);
    ronchi_acquisition *large = make(RONCHI_U32, true, RONCHI_ENCODED), *dense = make(RONCHI_U16, false, RONCHI_DENSE);
    check_bin(bytes, 1, 2, RONCHI_U8);
    check_bin(bytes, 3, 2, RONCHI_U16); /* 36 counts of up to 15: above 255 */
    check_bin(words, 2, 1, RONCHI_U16);
    check_bin(words, 2, 3, RONCHI_U16);
    check_bin(words, 5, 4, RONCHI_U16);
    check_bin(large, 2, 2, RONCHI_U32);
    check_bin(dense, 2, 2, RONCHI_U16);
    ronchi_acquisition *lane = make_with(RONCHI_U16, false, RONCHI_ENCODED, RONCHI_PROFILE_LANE);
    check_bin(lane, 2, 2, RONCHI_U16);
    ronchi_acquisition_destroy(lane);
    ronchi_acquisition *out;
    ronchi_error err = {0};
    assert_int_equal(ronchi_geometry_bin(words, 0, 1, &out, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_geometry_bin(words, 6, 1, &out, &err), RONCHI_ERR_ARGUMENT);
    assert_null(out);
    ronchi_acquisition *floats = make(RONCHI_F32, false, RONCHI_ENCODED);
    assert_int_equal(ronchi_geometry_bin(floats, 1, 2, &out, &err), RONCHI_ERR_UNSUPPORTED);
    ronchi_acquisition *list[] = {bytes, words, large, dense, floats};
    for (size_t k = 0; k < 5; k++)
        ronchi_acquisition_destroy(list[k]);
}

/* uint16 whose sums need 17 bits become uint32; sums that may need 33 are refused; a wholly flagged bin stays flagged.
 */
static void test_bin_range(void **state)
{
    (void)state;
    uint32_t wide[2][4];
    uint16_t counts[2][4] = {{65535, 1, 0, 0}, {65535, 2, 9, 9}};
    uint8_t flagged[4] = {0, 0, 1, 1};
    ronchi_shape shape = {1, 2, 1, 4}, wide_shape = {2, 1, 2, 2};
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U16, &shape), mask = ronchi_view_2d(flagged, RONCHI_U8, 2, 2);
    ronchi_acquisition *acquisition, *out;
    ronchi_error err = {0};
    ronchi_view square = ronchi_view_4d(counts, RONCHI_U16, &wide_shape);
    assert_int_equal(ronchi_acquisition_encode(context, &square, &mask, NULL, &acquisition, &err), RONCHI_OK);
    assert_int_equal(ronchi_geometry_bin(acquisition, 1, 2, &out, &err), RONCHI_OK);
    uint32_t sums[2];
    ronchi_shape one = {2, 1, 1, 1};
    ronchi_view result = ronchi_view_4d(sums, RONCHI_U32, &one);
    assert_int_equal(ronchi_acquisition_read(out, NULL, RONCHI_READ_RAW, &result, &err), RONCHI_OK);
    assert_int_equal(sums[0], 65536);
    assert_int_equal(sums[1], 65537);
    ronchi_acquisition_destroy(out);
    ronchi_acquisition_destroy(acquisition);

    for (size_t k = 0; k < 8; k++)
        wide[k / 4][k % 4] = k == 1 ? 3000000000u : 70000;
    ronchi_view large = ronchi_view_4d(wide, RONCHI_U32, &wide_shape);
    assert_int_equal(ronchi_acquisition_encode(context, &large, NULL, NULL, &acquisition, &err), RONCHI_OK);
    assert_int_equal(ronchi_geometry_bin(acquisition, 1, 2, &out, &err), RONCHI_ERR_RANGE);
    assert_non_null(strstr(err.message, "32 bits"));
    ronchi_acquisition_destroy(acquisition);

    const uint8_t pair[4] = {1, 1, 1, 1};
    ronchi_view all = ronchi_view_2d((void *)pair, RONCHI_U8, 2, 2);
    assert_int_equal(ronchi_acquisition_encode(context, &square, &all, NULL, &acquisition, &err), RONCHI_OK);
    assert_int_equal(ronchi_geometry_bin(acquisition, 1, 2, &out, &err), RONCHI_OK);
    ronchi_acquisition_info info;
    assert_int_equal(ronchi_acquisition_describe(out, &info), RONCHI_OK);
    assert_int_equal(info.flagged_pixels, 1);
    ronchi_acquisition_destroy(out);
    ronchi_acquisition_destroy(acquisition);
    (void)view;
}

/* --------------------------------------------------------------------------------------------------------- rotation */

static void test_refusals(void **state)
{
    (void)state;
    ronchi_acquisition *source = make(RONCHI_U8, false, RONCHI_ENCODED), *out;
    ronchi_error err = {0};
    ronchi_rotate_options options;
    ronchi_rotate_options_defaults(&options);
    assert_int_equal(ronchi_geometry_rotate_scan(source, 30, &options, NULL, &out, &err), RONCHI_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "scan steps differ"));
    options.interpolation = RONCHI_INTERPOLATE_BILINEAR;
    assert_int_equal(ronchi_geometry_rotate_scan(source, 30, &options, NULL, &out, &err), RONCHI_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no counts"));
    assert_int_equal(ronchi_geometry_rotate_scan(source, 90, &options, NULL, &out, &err),
                     RONCHI_OK); /* exact: no matter */
    ronchi_acquisition_destroy(out);
    ronchi_rotate_options_defaults(&options);
    options.fill = 256;
    assert_int_equal(ronchi_geometry_rotate_scan(source, 90, &options, NULL, &out, &err), RONCHI_ERR_ARGUMENT);
    options.fill = 0.5;
    assert_int_equal(ronchi_geometry_rotate_scan(source, 90, &options, NULL, &out, &err), RONCHI_ERR_ARGUMENT);
    options.fill = 0;
    options.output = 2;
    assert_int_equal(ronchi_geometry_rotate_scan(source, 90, &options, NULL, &out, &err), RONCHI_ERR_ARGUMENT);
    options.output = 0;
    assert_int_equal(ronchi_geometry_rotate_scan(source, (double)NAN, &options, NULL, &out, &err), RONCHI_ERR_ARGUMENT);
    uint8_t valid[N];
    ronchi_view wrong = ronchi_view_2d(valid, RONCHI_U8, R, C);
    assert_int_equal(ronchi_geometry_rotate_scan(source, 90, NULL, &wrong, &out, &err), RONCHI_ERR_SHAPE);
    ronchi_region outside = {0, R + 1, 0, C, 0, DR, 0, DC};
    assert_int_equal(ronchi_geometry_crop(source, &outside, &out, &err), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_geometry_flip(source, 0, &out, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_geometry_transpose(source, 4, &out, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_acquisition_close(source), RONCHI_OK);
    assert_int_equal(ronchi_geometry_rotate_scan(source, 90, NULL, NULL, &out, &err), RONCHI_ERR_CLOSED);
    ronchi_acquisition_destroy(source);
}

/* Sizes that others give for the same map, and the map itself against its formula at one point. */
static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        size_t rows, cols;
        double angle;
        size_t out_rows, out_cols;
    } cases[] = {{256, 256, 33, 355, 355},
                 {13, 21, 30, 22, 25},
                 {512, 512, 1, 521, 521},
                 {13, 21, 90 + 1e-11, 21, 13},
                 {13, 21, -720, 13, 21}};
    size_t rows, cols;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        assert_int_equal(ronchi_geometry_rotated_shape(cases[k].rows, cases[k].cols, cases[k].angle, RONCHI_ROTATE_FULL,
                                                       &rows, &cols),
                         RONCHI_OK);
        assert_int_equal(rows, cases[k].out_rows);
        assert_int_equal(cols, cases[k].out_cols);
    }
    assert_int_equal(ronchi_geometry_rotated_shape(0, 3, 0, 0, &rows, &cols), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_geometry_rotated_shape(SIZE_MAX, 3, 10, 0, &rows, &cols), RONCHI_ERR_ARGUMENT);
}

/* A plane stays the plane under bilinear rotation, inside; outside it fades into the fill. */
static void test_bilinear(void **state)
{
    (void)state;
    enum { H = 9, W = 12 };
    float image[H][W];
    for (int r = 0; r < H; r++)
        for (int c = 0; c < W; c++)
            image[r][c] = (float)(3 * r - 2 * c);
    ronchi_rotate_options options;
    ronchi_rotate_options_defaults(&options);
    options.fill = (double)NAN;
    size_t rows, cols;
    double angle = 0.4, degrees = angle * 180 / 3.14159265358979324;
    assert_int_equal(ronchi_geometry_rotated_shape(H, W, degrees, RONCHI_ROTATE_FULL, &rows, &cols), RONCHI_OK);
    ronchi_shape from = {H, W, 1, 1}, to = {rows, cols, 1, 1};
    float out[400];
    uint8_t valid[400];
    assert_true(rows * cols <= 400);
    ronchi_view in = ronchi_view_4d(image, RONCHI_F32, &from), result = ronchi_view_4d(out, RONCHI_F32, &to);
    ronchi_view mask = ronchi_view_2d(valid, RONCHI_U8, rows, cols);
    assert_int_equal(ronchi_geometry_rotate_view(context, &in, degrees, &options, &result, &mask, NULL), RONCHI_OK);
    size_t n_valid = 0;
    for (size_t k = 0; k < rows * cols; k++) {
        double y = (double)(k / cols) - (double)(rows - 1) / 2, x = (double)(k % cols) - (double)(cols - 1) / 2;
        double r = sin(angle) * x + cos(angle) * y + (H - 1) / 2.0, c = cos(angle) * x - sin(angle) * y + (W - 1) / 2.0;
        bool inside = r >= 0 && r <= H - 1 && c >= 0 && c <= W - 1;
        assert_int_equal(valid[k], inside);
        n_valid += inside;
        if (inside)
            assert_true(fabs((double)out[k] - (3 * r - 2 * c)) < 1e-5);
        else
            assert_true(isnan(out[k]));
    }
    assert_true(n_valid > 80);
    options.fill = 0;
    ronchi_view wrong = ronchi_view_4d(out, RONCHI_U16, &to);
    assert_int_equal(ronchi_geometry_rotate_view(context, &in, degrees, &options, &wrong, NULL, NULL),
                     RONCHI_ERR_SHAPE);
}

/* One pixel at all positions does not fit: said, not done. */
static void test_budget(void **state)
{
    (void)state;
    ronchi_context_options options;
    ronchi_context *small;
    ronchi_context_options_defaults(&options);
    options.budget_bytes = 64;
    assert_int_equal(ronchi_context_create(&options, &small, NULL), RONCHI_OK);
    uint16_t counts[40] = {0};
    ronchi_shape shape = {4, 10, 1, 1};
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U16, &shape);
    ronchi_acquisition *acquisition, *out;
    ronchi_error err = {0};
    ronchi_load_options load;
    ronchi_load_options_defaults(&load);
    load.profile = RONCHI_PROFILE_COLUMN;
    assert_int_equal(ronchi_acquisition_encode(small, &view, NULL, &load, &acquisition, &err), RONCHI_OK);
    assert_int_equal(ronchi_geometry_rotate_scan(acquisition, 90, NULL, NULL, &out, &err), RONCHI_ERR_MEMORY);
    assert_non_null(strstr(err.message, "--budget"));
    assert_int_equal(ronchi_geometry_rotate_scan(acquisition, 180, NULL, NULL, &out, &err), RONCHI_OK);
    ronchi_acquisition_destroy(out);
    ronchi_acquisition_destroy(acquisition);
    ronchi_context_destroy(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),  cmocka_unit_test(test_contract),  cmocka_unit_test(test_file),
        cmocka_unit_test(test_bin),    cmocka_unit_test(test_bin_range), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_bilinear),  cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
