/* SPDX-License-Identifier: MIT */
/* h5_places.c - frames read from known places are those that libhdf5 gives, also where a file changes under the reader.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/port.h"
#include "formats/dectris_write.h"
#include "formats/h5_source.h"

static ronchi_context *context;
static const char master[] = "h5_places_master.h5";
enum { ROWS = 5, COLS = 7, FRAMES = 60, PIXELS = 9 * 11 };

static int setup(void **state)
{
    (void)state;
    return ronchi_context_create(NULL, &context, NULL) == RONCHI_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ronchi_context_destroy(context);
    remove(master);
    remove("h5_places_data_000001.h5");
    remove("h5_places_data_000002.h5");
    remove("h5_places_data_000003.h5");
    return 0;
}

static void make_source(const char *filter, uint16_t *counts)
{
    uint64_t seed = 9;
    ronchi_dectris_options options;
    ronchi_dectris_writer *writer;
    ronchi_error err;
    memset(&options, 0, sizeof options);
    options.shape = (ronchi_shape){6, 10, 9, 11};
    options.dtype = RONCHI_U16;
    options.n_frames = FRAMES;
    options.frames_per_file = 25;
    options.filter = filter;
    options.force = 1;
    options.scan_attributes = 1;
    for (size_t i = 0; i < (size_t)FRAMES * PIXELS; i++)
        counts[i] = (uint16_t)(test_random(&seed) % 7);
    if (ronchi_dectris_writer_create(context, master, &options, &writer, &err) != RONCHI_OK ||
        ronchi_dectris_writer_append(writer, counts, FRAMES, &err) != RONCHI_OK ||
        ronchi_dectris_writer_finish(writer, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    ronchi_dectris_writer_destroy(writer);
}

static void check_frames(ronchi_source *source, uint64_t first, uint64_t count, const uint16_t *counts)
{
    ronchi_staged staged;
    ronchi_error err;
    uint16_t frame[PIXELS];
    assert_int_equal(source->format->stage(source, first, count, &staged, &err), RONCHI_OK);
    for (uint64_t f = first; f < first + count; f++) {
        memset(frame, 0xEE, sizeof frame);
        assert_int_equal(source->format->decode(source, &staged, f, frame, &err), RONCHI_OK);
        assert_memory_equal(frame, counts + f * PIXELS, sizeof frame);
    }
    source->format->unstage(source, &staged);
}

static void test_both_ways(void **state)
{
    static const char *const filters[] = {"bslz4", "lz4", "none", "gzip"};
    static const uint16_t codings[] = {RONCHI_CODING_BSLZ4, RONCHI_CODING_LZ4, RONCHI_CODING_NONE};
    uint16_t *counts = malloc(sizeof *counts * FRAMES * PIXELS);
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        ronchi_source *source;
        ronchi_error err;
        ronchi_stored_frame places[FRAMES];
        bool known;
        make_source(filters[i], counts);
        for (int by_library = 0; by_library < 2; by_library++) {
            assert_int_equal(ronchi_source_open(context, master, NULL, &source, &err), RONCHI_OK);
            ((ronchi_h5_state *)source->state)->by_library = by_library != 0;
            check_frames(source, 0, FRAMES, counts);
            check_frames(source, 24, 2, counts);
            check_frames(source, 59, 1, counts);
            assert_int_equal(source->format->locate(source, 0, FRAMES, places, &known, &err), RONCHI_OK);
            assert_int_equal(known, !by_library && i < 3);
            for (size_t f = 0; known && f < FRAMES; f++) {
                assert_int_equal(places[f].coding, codings[i]);
                assert_non_null(strstr(source->format->file(source, places[f].file), f < 25   ? "data_000001"
                                                                                     : f < 50 ? "data_000002"
                                                                                              : "data_000003"));
            }
            assert_int_equal(source->format->locate(source, 1, FRAMES, places, &known, &err), RONCHI_ERR_ARGUMENT);
            ronchi_source_close(source);
        }
    }
    free(counts);
}

/* The places are known, but the file has become shorter since: an error that names file and byte. */
static void test_shortened(void **state)
{
    uint16_t *counts = malloc(sizeof *counts * FRAMES * PIXELS);
    ronchi_source *source;
    ronchi_staged staged;
    ronchi_error err;
    (void)state;
    make_source("bslz4", counts);
    assert_int_equal(ronchi_source_open(context, master, NULL, &source, &err), RONCHI_OK);
    check_frames(source, 0, FRAMES, counts);
    assert_int_equal(truncate("h5_places_data_000003.h5", 3000), 0);
    assert_int_equal(source->format->stage(source, 0, FRAMES, &staged, &err), RONCHI_ERR_DATA);
    assert_non_null(strstr(err.file, "data_000003"));
    assert_true(err.offset >= 3000 && err.offset != RONCHI_NO_OFFSET);
    assert_null(staged.state);
    check_frames(source, 0, 50, counts);
    ronchi_source_close(source);
    free(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_ways), cmocka_unit_test(test_shortened)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
