/* SPDX-License-Identifier: MIT */
/* simulate_files.c - ronchi_simulate() as a whole: files, evidence, determinism, the true answers, cancelling. */
#include <jansson.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/port.h"
#include "formats/format.h"
#include "ronchi/simulate.h"
#include "simulate/specimen.h"
#include "files.h"
#include "test.h"

typedef struct place {
    char folder[64], master[128];
} place;

static int setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "ronchi-test-XXXXXX");
    if (!mkdtemp(p->folder))
        return 1;
    snprintf(p->master, sizeof p->master, "%s/s_master.h5", p->folder);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    place *p = *state;
    test_files(p->folder, 1);
    rmdir(p->folder);
    free(p);
    return 0;
}

static ronchi_context *make_context(uint32_t threads, ronchi_progress_fn progress, void *user)
{
    ronchi_context_options options;
    ronchi_context *context;
    ronchi_context_options_defaults(&options);
    options.threads = threads;
    options.progress = progress;
    options.progress_user = user;
    assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
    return context;
}

static ronchi_simulate_options small(void)
{
    ronchi_simulate_options o;
    ronchi_simulate_options_defaults(&o);
    o.scan_rows = 9;
    o.scan_cols = 7;
    o.det_rows = 40;
    o.det_cols = 36;
    o.c10_a = 60;
    o.c12_a = 20;
    o.phi12_deg = 40;
    o.rotation_deg = 15;
    return o;
}

static void hex_of(EVP_MD_CTX *digest, char hex[65])
{
    uint8_t bytes[EVP_MAX_MD_SIZE];
    unsigned n;
    EVP_DigestFinal_ex(digest, bytes, &n);
    for (unsigned i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

static void hash_file(const place *p, const char *name, char hex[65])
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
    uint8_t buffer[65536];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        EVP_DigestUpdate(digest, buffer, n);
    fclose(f);
    hex_of(digest, hex);
    EVP_MD_CTX_free(digest);
}

static json_t *read_truth(const place *p)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, "%s/s_truth.json", p->folder);
    json_t *truth = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!truth)
        fail_msg("%s: %s", path, error.text);
    return truth;
}

static void threads_do_not_matter(void **state)
{
    place *p = *state;
    static const char *const names[] = {"s_master.h5", "s_data_000001.h5", "s_data_000002.h5",
                                        "s.h5",        "s_truth.json",     "s_truth_phase.npy"};
    char one[6][65], many[6][65];
    ronchi_simulate_options o = small();
    o.frames_per_file = 40;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        ronchi_context *context = make_context(threads, NULL, NULL);
        o.force = threads > 1;
        assert_int_equal(ronchi_simulate(context, p->master, &o, NULL), RONCHI_OK);
        assert_int_equal(test_files(p->folder, 0), 6);
        for (int i = 0; i < 6; i++)
            hash_file(p, names[i], threads == 1 ? one[i] : many[i]);
        ronchi_context_destroy(context);
    }
    for (int i = 0; i < 6; i++)
        assert_string_equal(one[i], many[i]);
    o.seed = 2;
    ronchi_context *context = make_context(0, NULL, NULL);
    assert_int_equal(ronchi_simulate(context, p->master, &o, NULL), RONCHI_OK);
    hash_file(p, names[1], many[1]);
    assert_string_not_equal(one[1], many[1]);
    ronchi_context_destroy(context);
}

/* The source's frames against what the truth says of them. */
static void check_counts(const place *p, const ronchi_simulate_options *o)
{
    ronchi_context *context = make_context(0, NULL, NULL);
    ronchi_source *source;
    ronchi_staged staged;
    ronchi_error err;
    char hex[65];
    size_t n = o->det_rows * o->det_cols, bytes = n * ronchi_dtype_size(o->dtype);
    if (ronchi_source_open(context, p->master, NULL, &source, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    assert_int_equal(source->shape.scan_rows, o->scan_rows);
    assert_int_equal(source->shape.scan_cols, o->scan_cols);
    assert_int_equal(source->dtype, o->dtype);
    assert_int_equal(source->flyback, o->flyback);
    assert_true(fabs(source->calibration.voltage.value - o->voltage_kv) < 1e-9);
    json_t *truth = read_truth(p), *flagged = json_object_get(truth, "flagged");
    assert_int_equal(json_array_size(flagged), o->flagged_pixels);
    assert_int_equal(json_array_size(json_object_get(truth, "hot")), o->hot_pixels);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
    uint8_t *frame = malloc(bytes);
    double total = 0, largest = 0;
    assert_int_equal(source->format->stage(source, 0, source->frames_stored, &staged, &err), RONCHI_OK);
    for (uint64_t at = 0; at < o->scan_rows * o->scan_cols; at++) {
        assert_int_equal(source->format->decode(source, &staged, ronchi_source_frame(source, at), frame, &err),
                         RONCHI_OK);
        EVP_DigestUpdate(digest, frame, bytes);
        for (size_t i = 0; i < n; i++) {
            double v = o->dtype == RONCHI_U8    ? frame[i]
                       : o->dtype == RONCHI_U16 ? ((uint16_t *)frame)[i]
                                                : ((uint32_t *)frame)[i];
            if (source->pixel_mask && source->pixel_mask[i]) {
                assert_true(v == pow(2, 8.0 * (double)ronchi_dtype_size(o->dtype)) - 1);
                continue;
            }
            total += v;
            largest = fmax(largest, v);
        }
    }
    hex_of(digest, hex);
    json_t *counts = json_object_get(truth, "counts");
    assert_string_equal(hex, json_string_value(json_object_get(counts, "sha256")));
    assert_true(total == json_number_value(json_object_get(counts, "total")));
    assert_true(largest == json_number_value(json_object_get(counts, "largest")));
    free(frame);
    EVP_MD_CTX_free(digest);
    json_decref(truth);
    source->format->unstage(source, &staged);
    ronchi_source_close(source);
    ronchi_context_destroy(context);
}

static void it_opens_untold(void **state)
{
    place *p = *state;
    ronchi_context *context = make_context(0, NULL, NULL);
    ronchi_error err;
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32};
    for (int kind = 0; kind < 6; kind++) {
        ronchi_simulate_options o = small();
        o.force = 1;
        o.dtype = dtypes[kind % 3];
        o.flagged_pixels = kind % 2 ? 4 : 0;
        o.hot_pixels = kind % 2 ? 2 : 0;
        o.flyback = kind >= 3 ? 2 : 0;
        o.frames_per_file = kind >= 3 ? 25 : 0;
        o.companion = kind != 2; /* without one the master's attributes say the scan */
        test_files(p->folder, 1);
        if (ronchi_simulate(context, p->master, &o, &err) != RONCHI_OK)
            fail_msg("%s", err.message);
        check_counts(p, &o);
    }
    ronchi_context_destroy(context);
}

/* The phase file holds the specimen at the positions: as far as its neighbours say, it is smooth and not empty. */
static void the_true_phase_is_written(void **state)
{
    place *p = *state;
    ronchi_context *context = make_context(0, NULL, NULL);
    ronchi_simulate_options o = small();
    ronchi_view view;
    void *memory;
    char path[512];
    assert_int_equal(ronchi_simulate(context, p->master, &o, NULL), RONCHI_OK);
    snprintf(path, sizeof path, "%s/s_truth_phase.npy", p->folder);
    assert_int_equal(ronchi_npy_read(path, &view, &memory, NULL), RONCHI_OK);
    assert_int_equal(view.dtype, RONCHI_F64);
    assert_int_equal(view.shape[2], 9);
    assert_int_equal(view.shape[3], 7);

    ronchi_specimen *specimen;
    ronchi_box box = {-1, 5, -1, 5};
    double grain[3] = {2.0, 1.5, 0.42 * (9 * 0.5 + 20)}, want;
    assert_int_equal(ronchi_specimen_create(context, o.seed, 1.0, grain, &box, &specimen, NULL), RONCHI_OK);
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < 7; j++) { /* one point at a time: nothing depends on how much is asked for */
            ronchi_points point = {{0.5 * (double)i, 0.5 * (double)j}, {1, 0}, {0, 1}, 1, 1};
            assert_int_equal(ronchi_specimen_sample(specimen, &point, &want, NULL), RONCHI_OK);
            assert_true(fabs(((double *)memory)[i * 7 + j] - want) < 1e-12);
        }
    ronchi_specimen_destroy(specimen);
    free(memory);

    json_t *truth = read_truth(p), *shifts = json_object_get(truth, "bright_field_shifts");
    json_t *matrix = json_object_get(shifts, "alignment_matrix"),
           *edge = json_array_get(json_object_get(shifts, "values"), 1);
    double r = 55.0 / 192 * 36;
    for (size_t i = 0; i < 2; i++)
        assert_true(fabs(json_number_value(json_array_get(json_object_get(edge, "alignment_shift_scan_px"), i)) -
                         r * json_number_value(json_array_get(json_array_get(matrix, i), 0))) < 1e-9);
    /* at the edge of the disk along rows, in scan axes: (C10 + C12 S) k of the rotated direction, over the step */
    double a = -15.0 * 3.14159265358979324 / 180, c = 20 * cos(80.0 / 180 * 3.14159265358979324),
           s = 20 * sin(80.0 / 180 * 3.14159265358979324);
    double k[2] = {cos(a), sin(a)}, row = 0.025 * ((60 + c) * k[0] + s * k[1]) / 0.5;
    assert_true(fabs(json_number_value(json_array_get(json_object_get(edge, "alignment_shift_scan_px"), 0)) - row) <
                1e-9);
    json_decref(truth);
    ronchi_context_destroy(context);
}

/* An allocator that gives memory so many times and then never again. */
typedef struct purse {
    size_t left;
} purse;

static void *spend(void *user, size_t size)
{
    purse *p = user;
    if (p->left == 0)
        return NULL;
    p->left--;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void give_back(void *user, void *memory)
{
    (void)user;
    free(memory);
}

/* Wherever memory ends, it is said and nothing stays; the first purse that is large enough gives the whole. */
static void memory_may_end_anywhere(void **state)
{
    place *p = *state;
    ronchi_simulate_options o = small();
    ronchi_status status = RONCHI_ERR_MEMORY;
    size_t failures = 0;
    o.scan_rows = 2;
    o.scan_cols = 3;
    o.frames_per_file = 4;
    o.flagged_pixels = 1;
    for (size_t coins = 0; status != RONCHI_OK; coins++) {
        purse money = {coins};
        ronchi_context_options options;
        ronchi_context *context = NULL;
        ronchi_error err;
        ronchi_context_options_defaults(&options);
        options.threads = 1;
        options.allocator = (ronchi_allocator){spend, give_back, &money};
        status = ronchi_context_create(&options, &context, &err);
        if (status == RONCHI_OK)
            status = ronchi_simulate(context, p->master, &o, &err);
        ronchi_context_destroy(context);
        if (status == RONCHI_OK)
            break;
        assert_int_equal(status, RONCHI_ERR_MEMORY);
        assert_true(strlen(err.message) > 0);
        assert_int_equal(test_files(p->folder, 0), 0);
        failures++;
        assert_true(failures < 2000);
    }
    assert_true(failures > 30);
    assert_int_equal(test_files(p->folder, 0), 6);
}

static int stop_at_once(void *user, const ronchi_progress *progress)
{
    *(uint64_t *)user = progress->total;
    return progress->done > 0;
}

static void cancelling_leaves_nothing(void **state)
{
    place *p = *state;
    uint64_t total = 0;
    ronchi_context *context = make_context(0, stop_at_once, &total);
    ronchi_simulate_options o = small();
    ronchi_error err;
    assert_int_equal(ronchi_simulate(context, p->master, &o, &err), RONCHI_ERR_CANCELLED);
    assert_int_equal(total, 63);
    assert_int_equal(test_files(p->folder, 0), 0);
    ronchi_context_destroy(context);
}

static void what_exists_stays(void **state)
{
    place *p = *state;
    static const char *const names[] = {"s_master.h5", "s_data_000001.h5", "s.h5", "s_truth.json", "s_truth_phase.npy"};
    ronchi_context *context = make_context(0, NULL, NULL);
    ronchi_simulate_options o = small();
    ronchi_error err;
    for (int i = 0; i < 5; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", p->folder, names[i]);
        fclose(fopen(path, "w"));
        assert_int_equal(ronchi_simulate(context, p->master, &o, &err), RONCHI_ERR_EXISTS);
        assert_string_equal(err.file, path);
        assert_int_equal(test_files(p->folder, 1), 1);
    }
    assert_int_equal(ronchi_simulate(context, "a.h5", &o, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_simulate(NULL, p->master, &o, &err), RONCHI_ERR_ARGUMENT);
    o.filter = "snappy";
    assert_int_equal(ronchi_simulate(context, p->master, &o, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(test_files(p->folder, 0), 0);
    ronchi_context_destroy(context);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(threads_do_not_matter),     TEST(it_opens_untold),   TEST(the_true_phase_is_written),
        TEST(cancelling_leaves_nothing), TEST(what_exists_stays), TEST(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
