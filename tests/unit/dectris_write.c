/* SPDX-License-Identifier: MIT */
/* dectris_write.c - masters as written: read back by our reader and by libhdf5 itself, and what is left after a
 * failure. */
#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/port.h"
#include "formats/dectris_write.h"
#include "formats/format.h"
#include "files.h"
#include "test.h"

enum { ROWS = 9, COLS = 11, PIXELS = ROWS * COLS, FRAMES = 12 };

typedef struct place {
    ronchi_context *context;
    char folder[64], master[128];
} place;

static int setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "ronchi-test-XXXXXX");
    if (!p || !mkdtemp(p->folder) || ronchi_context_create(NULL, &p->context, NULL) != RONCHI_OK)
        return 1;
    snprintf(p->master, sizeof p->master, "%s/a_master.h5", p->folder);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    place *p = *state;
    test_files(p->folder, 1);
    rmdir(p->folder);
    ronchi_context_destroy(p->context);
    free(p);
    return 0;
}

static ronchi_dectris_options plain(void)
{
    return (ronchi_dectris_options){
        .shape = {3, 4, ROWS, COLS},
        .dtype = RONCHI_U16,
        .n_frames = FRAMES,
        .frames_per_file = 5,
        .filter = "bslz4",
        .voltage_kv = 200,
        .frame_time_s = 1e-3,
        .scan_attributes = 1,
    };
}

static uint8_t *make_frames(const ronchi_dectris_options *o)
{
    size_t bytes = FRAMES * PIXELS * ronchi_dtype_size(o->dtype);
    uint8_t *frames = malloc(bytes);
    uint64_t random = 17;
    for (size_t i = 0; i < bytes; i++)
        frames[i] = i % 3 ? 0 : (uint8_t)test_random(&random);
    return frames;
}

static ronchi_status write_all(const place *p, const ronchi_dectris_options *o, const void *frames, ronchi_error *err)
{
    ronchi_dectris_writer *writer;
    size_t bytes = PIXELS * ronchi_dtype_size(o->dtype);
    ronchi_status status = ronchi_dectris_writer_create(p->context, p->master, o, &writer, err);
    for (uint64_t done = 0; status == RONCHI_OK && done < FRAMES; done += 4)
        status = ronchi_dectris_writer_append(writer, (const uint8_t *)frames + done * bytes, 4, err);
    if (status == RONCHI_OK)
        status = ronchi_dectris_writer_finish(writer, err);
    ronchi_dectris_writer_destroy(writer);
    return status;
}

/* Every stored frame through the reader of masters. */
static void check_source(const place *p, const ronchi_dectris_options *o, const uint8_t *frames)
{
    ronchi_source *source;
    ronchi_staged staged;
    ronchi_error err;
    size_t bytes = PIXELS * ronchi_dtype_size(o->dtype);
    uint8_t *got = malloc(bytes);
    if (ronchi_source_open(p->context, p->master, NULL, &source, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    assert_int_equal(source->shape.scan_rows, 3);
    assert_int_equal(source->shape.scan_cols, 4);
    assert_int_equal(source->shape.det_rows, ROWS);
    assert_int_equal(source->shape.det_cols, COLS);
    assert_int_equal(source->dtype, o->dtype);
    assert_int_equal(source->frames_stored, FRAMES);
    assert_int_equal(source->format->stage(source, 0, FRAMES, &staged, &err), RONCHI_OK);
    for (uint64_t f = 0; f < FRAMES; f++) {
        assert_int_equal(source->format->decode(source, &staged, f, got, &err), RONCHI_OK);
        assert_memory_equal(got, frames + f * bytes, bytes);
    }
    source->format->unstage(source, &staged);
    ronchi_source_close(source);
    free(got);
}

static void every_filter_and_type_comes_back(void **state)
{
    place *p = *state;
    static const char *const filters[] = {"bslz4", "lz4", "gzip", "none"};
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32};
    ronchi_error err;
    for (size_t f = 0; f < 4; f++)
        for (size_t d = 0; d < 3; d++) {
            ronchi_dectris_options o = plain();
            o.filter = filters[f];
            o.dtype = dtypes[d];
            uint8_t *frames = make_frames(&o);
            if (write_all(p, &o, frames, &err) != RONCHI_OK)
                fail_msg("%s %s: %s", filters[f], ronchi_dtype_name(dtypes[d]), err.message);
            assert_int_equal(test_files(p->folder, 0), 4); /* three data files and the master, nothing else */
            check_source(p, &o, frames);
            free(frames);
            test_files(p->folder, 1);
        }
}

/* What other programs see: libhdf5 follows the links and reads unfiltered counts without any plugin. */
static void libhdf5_reads_it(void **state)
{
    place *p = *state;
    ronchi_dectris_options o = plain();
    uint32_t mask[PIXELS] = {0};
    ronchi_dectris_companion companion = {300, 0.1, 0.5, 12, 0};
    mask[7] = 2;
    o.filter = "none";
    o.pixel_mask = mask;
    o.companion = &companion;
    uint8_t *frames = make_frames(&o), *got = malloc(5 * PIXELS * 2);
    assert_int_equal(write_all(p, &o, frames, NULL), RONCHI_OK);
    assert_int_equal(test_files(p->folder, 0), 5);

    hid_t file = H5Fopen(p->master, H5F_ACC_RDONLY, H5P_DEFAULT),
          data = H5Dopen2(file, "/entry/data/data_000002", H5P_DEFAULT);
    assert_true(file >= 0 && data >= 0);
    assert_true(H5Dread(data, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
    assert_memory_equal(got, frames + 5 * PIXELS * 2, 5 * PIXELS * 2);
    uint64_t low, high, triggers;
    hid_t a = H5Aopen(data, "image_nr_low", H5P_DEFAULT), b = H5Aopen(data, "image_nr_high", H5P_DEFAULT);
    H5Aread(a, H5T_NATIVE_UINT64, &low);
    H5Aread(b, H5T_NATIVE_UINT64, &high);
    assert_int_equal(low, 6);
    assert_int_equal(high, 10);
    H5Aclose(a);
    H5Aclose(b);
    H5Dclose(data);
    hid_t d = H5Dopen2(file, "/entry/instrument/detector/detectorSpecific/ntrigger", H5P_DEFAULT);
    H5Dread(d, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &triggers);
    H5Dclose(d);
    assert_int_equal(triggers, FRAMES);
    uint32_t flags[PIXELS];
    d = H5Dopen2(file, "/entry/instrument/detector/detectorSpecific/pixel_mask", H5P_DEFAULT);
    H5Dread(d, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, flags);
    H5Dclose(d);
    assert_memory_equal(flags, mask, sizeof mask);
    H5Fclose(file);

    ronchi_inspection inspection;
    assert_int_equal(ronchi_inspect(p->context, p->master, NULL, &inspection, NULL), RONCHI_OK);
    assert_int_equal(inspection.ready, 1);
    assert_int_equal(inspection.flagged_pixels, 1);
    assert_true(inspection.calibration.scan_step_row.known);
    assert_true(inspection.calibration.scan_step_row.value > 0.4999 &&
                inspection.calibration.scan_step_row.value < 0.5001);
    ronchi_inspection_free(&inspection);
    free(frames);
    free(got);
}

/* Links are names, so that a folder can be moved; the same frames give the same bytes. */
static void files_can_be_moved_and_repeated(void **state)
{
    place *p = *state;
    ronchi_dectris_options o = plain();
    uint8_t *frames = make_frames(&o);
    char moved[64], first[8192], second[8192];
    ronchi_input input;
    assert_int_equal(write_all(p, &o, frames, NULL), RONCHI_OK);
    assert_int_equal(ronchi_input_open(p->master, &input, NULL), RONCHI_OK);
    size_t size = (size_t)input.size_bytes < sizeof first ? (size_t)input.size_bytes : sizeof first;
    assert_int_equal(ronchi_input_read(&input, 0, first, size, NULL), RONCHI_OK);
    ronchi_input_close(&input);
    o.force = 1;
    assert_int_equal(write_all(p, &o, frames, NULL), RONCHI_OK);
    assert_int_equal(ronchi_input_open(p->master, &input, NULL), RONCHI_OK);
    assert_int_equal(ronchi_input_read(&input, 0, second, size, NULL), RONCHI_OK);
    ronchi_input_close(&input);
    assert_memory_equal(first, second, size);

    snprintf(moved, sizeof moved, "%.50s-moved", p->folder);
    assert_int_equal(rename(p->folder, moved), 0);
    memcpy(p->folder, moved, sizeof moved);
    snprintf(p->master, sizeof p->master, "%s/a_master.h5", p->folder);
    check_source(p, &o, frames);
    free(frames);
}

static void an_existing_file_is_refused(void **state)
{
    place *p = *state;
    ronchi_dectris_options o = plain();
    ronchi_error err;
    static const char *const names[] = {"a_master.h5", "a_data_000003.h5", "a.h5"};
    uint8_t *frames = make_frames(&o);
    for (size_t i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", p->folder, names[i]);
        FILE *f = fopen(path, "w");
        fputs("mine", f);
        fclose(f);
        assert_int_equal(write_all(p, &o, frames, &err), RONCHI_ERR_EXISTS);
        assert_string_equal(err.file, path);
        assert_int_equal(test_files(p->folder, 0), 1);
        f = fopen(path, "r");
        assert_int_equal(fgetc(f), 'm');
        fclose(f);
        unlink(path);
    }
    free(frames);
}

/* One that appears meanwhile is not overwritten either, and nothing of ours stays. */
static void a_file_that_comes_between_is_kept(void **state)
{
    place *p = *state;
    ronchi_dectris_options o = plain();
    ronchi_dectris_writer *writer;
    ronchi_error err;
    uint8_t *frames = make_frames(&o);
    char path[512];
    assert_int_equal(ronchi_dectris_writer_create(p->context, p->master, &o, &writer, &err), RONCHI_OK);
    assert_int_equal(ronchi_dectris_writer_append(writer, frames, FRAMES, &err), RONCHI_OK);
    snprintf(path, sizeof path, "%s/a_data_000002.h5", p->folder);
    fclose(fopen(path, "w"));
    assert_int_equal(ronchi_dectris_writer_finish(writer, &err), RONCHI_ERR_EXISTS);
    ronchi_dectris_writer_destroy(writer);
    assert_int_equal(test_files(p->folder, 0), 1);
    assert_int_equal(access(path, F_OK), 0);
    free(frames);
}

static void half_an_acquisition_leaves_nothing(void **state)
{
    place *p = *state;
    ronchi_dectris_options o = plain();
    ronchi_dectris_writer *writer;
    ronchi_error err;
    uint8_t *frames = make_frames(&o);
    for (int finish = 0; finish < 2; finish++) {
        assert_int_equal(ronchi_dectris_writer_create(p->context, p->master, &o, &writer, &err), RONCHI_OK);
        assert_int_equal(ronchi_dectris_writer_append(writer, frames, 7, &err), RONCHI_OK);
        assert_int_equal(access(p->master, F_OK), -1); /* no name before the end */
        assert_int_equal(ronchi_dectris_writer_append(writer, frames, 6, &err), RONCHI_ERR_ARGUMENT);
        if (finish) {
            assert_int_equal(ronchi_dectris_writer_finish(writer, &err), RONCHI_ERR_INCOMPLETE);
            assert_non_null(strstr(err.message, "7 of 12"));
        }
        ronchi_dectris_writer_destroy(writer);
        assert_int_equal(test_files(p->folder, 0), 0);
    }
    free(frames);
}

/* A full disk, played by the limit on file sizes: wherever it strikes, the error is clean and nothing stays. */
static void a_full_disk_leaves_nothing(void **state)
{
    place *p = *state;
    struct rlimit before, now;
    ronchi_error err;
    static const char *const filters[] = {"bslz4", "gzip", "none"};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t f = 0; f < 3; f++) {
        ronchi_dectris_options o = plain();
        uint32_t *mask = calloc(PIXELS, sizeof *mask);
        o.filter = filters[f];
        o.frames_per_file = 0;
        o.dtype = RONCHI_U32;
        o.pixel_mask = mask;
        uint8_t *frames = make_frames(&o);
        size_t failures = 0;
        for (rlim_t limit = 16; limit < 40000; limit += 487) {
            now = before;
            now.rlim_cur = limit;
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
            ronchi_status status = write_all(p, &o, frames, &err);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
            if (status != RONCHI_OK) {
                assert_int_equal(status, RONCHI_ERR_IO);
                assert_int_equal(err.native, EFBIG);
                assert_int_equal(strncmp(err.file, p->folder, strlen(p->folder)), 0);
                assert_null(strstr(err.file, ".tmp"));
                assert_int_equal(test_files(p->folder, 0), 0);
                failures++;
            }
            test_files(p->folder, 1);
        }
        assert_true(failures > 20 && failures < 82); /* each place was struck, and the largest limits are enough */
        free(frames);
        free(mask);
    }
    signal(SIGXFSZ, SIG_DFL);
}

static void impossible_calls_are_named(void **state)
{
    place *p = *state;
    ronchi_dectris_writer *writer;
    ronchi_error err;
    char path[512];
#define REFUSED(change, status, word)                                                                                  \
    do {                                                                                                               \
        ronchi_dectris_options o = plain();                                                                            \
        snprintf(path, sizeof path, "%s", p->master);                                                                  \
        change;                                                                                                        \
        assert_int_equal(ronchi_dectris_writer_create(p->context, path, &o, &writer, &err), status);                   \
        assert_null(writer);                                                                                           \
        assert_non_null(strstr(err.message, word));                                                                    \
        assert_int_equal(test_files(p->folder, 0), 0);                                                                 \
    } while (0)
    REFUSED(snprintf(path, sizeof path, "%s/a.h5", p->folder), RONCHI_ERR_ARGUMENT, "_master.h5");
    REFUSED(snprintf(path, sizeof path, "%s/_master.h5", p->folder), RONCHI_ERR_ARGUMENT, "_master.h5");
    REFUSED(snprintf(path, sizeof path, "%s/none/a_master.h5", p->folder), RONCHI_ERR_NOT_FOUND, "folder");
    REFUSED(o.filter = "zstd", RONCHI_ERR_ARGUMENT, "zstd");
    REFUSED(o.filter = NULL, RONCHI_ERR_ARGUMENT, "bslz4");
    REFUSED(o.dtype = RONCHI_U64, RONCHI_ERR_ARGUMENT, "uint64");
    REFUSED(o.n_frames = 0, RONCHI_ERR_ARGUMENT, "frames");
    REFUSED(o.n_frames = 2000000; o.frames_per_file = 1; o.scan_attributes = 0, RONCHI_ERR_ARGUMENT, "999999");
    REFUSED(o.shape.scan_rows = 5, RONCHI_ERR_ARGUMENT, "5 x 4");
    REFUSED(o.shape.det_cols = 0, RONCHI_ERR_ARGUMENT, "chunk");
    REFUSED(o.shape.det_cols = (size_t)1 << 40, RONCHI_ERR_ARGUMENT, "chunk");
#undef REFUSED
    ronchi_dectris_writer_destroy(NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_filter_and_type_comes_back),  TEST(libhdf5_reads_it),
        TEST(files_can_be_moved_and_repeated),   TEST(an_existing_file_is_refused),
        TEST(a_file_that_comes_between_is_kept), TEST(half_an_acquisition_leaves_nothing),
        TEST(a_full_disk_leaves_nothing),        TEST(impossible_calls_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
