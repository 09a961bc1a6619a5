/* SPDX-License-Identifier: MIT */
/*
 * Masters of bslz4 frames become bricks block by block; compared while loading, they come as whole frames.  Both ways
 * hold the counts and write the same bytes; damage is found in both, in the same words.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codec_cases.h"
#include "core/port.h"
#include "files.h"
#include "formats/bslz4.h"
#include "formats/dectris_write.h"
#include "formats/format.h"
#include "resident/acquisition.h"
#include "ronchi/ronchi.h"

typedef struct place {
    char folder[64], master[128], data[128];
} place;

static place place_of(void)
{
    place p;
    snprintf(p.folder, sizeof p.folder, "ronchi-test-XXXXXX");
    assert_non_null(mkdtemp(p.folder));
    snprintf(p.master, sizeof p.master, "%s/a_master.h5", p.folder);
    snprintf(p.data, sizeof p.data, "%s/a_data_000001.h5", p.folder);
    return p;
}

static void place_free(const place *p)
{
    test_files(p->folder, 1);
    rmdir(p->folder);
}

static void write_master(ronchi_context *context, const place *p, const test_case *c)
{
    ronchi_dectris_options options = {.shape = c->shape,
                                      .dtype = c->dtype,
                                      .n_frames = c->n_positions,
                                      .filter = "bslz4",
                                      .scan_attributes = 1,
                                      .force = 1};
    ronchi_dectris_writer *writer;
    ronchi_error err = {0};
    assert_int_equal(ronchi_dectris_writer_create(context, p->master, &options, &writer, &err), RONCHI_OK);
    assert_int_equal(ronchi_dectris_writer_append(writer, c->counts, c->n_positions, &err), RONCHI_OK);
    assert_int_equal(ronchi_dectris_writer_finish(writer, &err), RONCHI_OK);
    ronchi_dectris_writer_destroy(writer);
}

/* Loads with lane-rans-v1; 'whole': as whole frames, which are decoded again and compared. */
static ronchi_status load(ronchi_context *context, const place *p, bool whole, ronchi_acquisition **out,
                          ronchi_error *err)
{
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.profile = RONCHI_PROFILE_LANE;
    options.verify = whole;
    return ronchi_acquisition_load(context, p->master, &options, out, err);
}

/* The size of the pieces of a master's frames, from its source. */
static size_t pieces_of(ronchi_context *context, const place *p)
{
    ronchi_source *source;
    ronchi_staged staged;
    ronchi_error err = {0};
    assert_int_equal(ronchi_source_open(context, p->master, NULL, &source, &err), RONCHI_OK);
    assert_int_equal(source->format->stage(source, 0, 2, &staged, &err), RONCHI_OK);
    size_t n = source->format->pieces(source, &staged);
    source->format->unstage(source, &staged);
    ronchi_source_close(source);
    return n;
}

static void check_case(const test_case *c, size_t n_counts)
{
    ronchi_context *two = test_context(2, 0), *plain = test_context(1, ~UINT32_C(0));
    ronchi_acquisition *a, *b;
    ronchi_error err = {0};
    place p = place_of();
    write_master(two, &p, c);
    assert_int_equal(pieces_of(two, &p), n_counts);
    assert_int_equal(load(two, &p, false, &a, &err), RONCHI_OK);
    assert_int_equal(load(plain, &p, true, &b, &err), RONCHI_OK);
    /* pieces were used: they need the profile to want them, and less memory than a block of frames */
    uint64_t need = a->store->profile->piece_bytes(a->store, n_counts);
    ronchi_block block = a->store->profile->block(a->store, 0);
    assert_true(need > 0 && need <= ronchi_block_positions(&block) * c->n_pixels * ronchi_dtype_size(c->dtype));
    test_equal_counts(a->store, c);
    test_body x = test_body_of(a->store), y = test_body_of(b->store);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.bytes, y.bytes, x.size);
    assert_int_equal(a->store->max_count, b->store->max_count);
    free(y.bytes);
    ronchi_acquisition_destroy(a);
    /* and from memory, where frames are taken in pieces too */
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.profile = RONCHI_PROFILE_LANE;
    ronchi_view view = ronchi_view_4d(c->counts, c->dtype, &c->shape);
    assert_int_equal(ronchi_acquisition_encode(two, &view, NULL, &options, &a, &err), RONCHI_OK);
    y = test_body_of(a->store);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.bytes, y.bytes, x.size);
    free(x.bytes);
    free(y.bytes);
    ronchi_acquisition_destroy(a);
    ronchi_acquisition_destroy(b);
    place_free(&p);
    ronchi_context_destroy(two);
    ronchi_context_destroy(plain);
}

/* Frames of several blocks, of rows that divide a block and that do not, a rest below eight counts, cut rectangles. */
static void same_bytes(void **unused)
{
    (void)unused;
    static const struct {
        ronchi_shape shape;
        ronchi_dtype dtype;
    } cases[] = {{{32, 33, 96, 96}, RONCHI_U16},
                 {{32, 32, 131, 75}, RONCHI_U16},
                 {{20, 31, 80, 128}, RONCHI_U16},
                 {{33, 32, 17, 1429}, RONCHI_U16},
                 {{32, 32, 193, 179}, RONCHI_U8}};
    uint64_t state = 31;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_case c = test_case_of(cases[i].shape, cases[i].dtype, &state);
        check_case(&c, 8192 / ronchi_dtype_size(c.dtype));
        test_case_free(&c);
    }
}

/* Bytes of the data file changed: both ways refuse, and with the same words, or take what is a good stream all the
 * same. */
static void damage(void **unused)
{
    (void)unused;
    uint64_t state = 32;
    ronchi_context *context = test_context(2, 0);
    test_case c = test_case_of((ronchi_shape){24, 32, 96, 96}, RONCHI_U16, &state);
    place p = place_of();
    size_t refused = 0;
    write_master(context, &p, &c);
    for (int trial = 0; trial < 12; trial++) {
        FILE *file = fopen(p.data, "r+b");
        assert_non_null(file);
        fseek(file, 0, SEEK_END);
        long size = ftell(file), at = size / 3 + (long)test_below(&state, (size_t)size / 2);
        fseek(file, at, SEEK_SET);
        int kept = fgetc(file);
        fseek(file, at, SEEK_SET);
        fputc(kept ^ 0x81, file);
        fclose(file);
        ronchi_acquisition *a = NULL, *b = NULL;
        ronchi_error first = {0}, second = {0};
        ronchi_status status = load(context, &p, false, &a, &first);
        assert_int_equal(load(context, &p, true, &b, &second), status);
        if (status != RONCHI_OK) {
            refused++;
            assert_string_equal(first.message, second.message);
            assert_int_equal(first.offset, second.offset);
        }
        ronchi_acquisition_destroy(a);
        ronchi_acquisition_destroy(b);
        file = fopen(p.data, "r+b");
        fseek(file, at, SEEK_SET);
        fputc(kept, file);
        fclose(file);
    }
    assert_true(refused > 0);
    place_free(&p);
    test_case_free(&c);
    ronchi_context_destroy(context);
}

/* One chunk block by block against the whole, its end cut off everywhere, in memory that ends there. */
static void blocks(void **unused)
{
    (void)unused;
    enum { N = 5003 };
    uint64_t state = 33;
    ronchi_context *context = test_context(1, 0);
    const ronchi_kernels *kernels = ronchi_context_kernels(context);
    uint16_t counts[N], whole[N], parts[N];
    for (size_t i = 0; i < N; i++)
        counts[i] = (uint16_t)(test_random(&state) % 5);
    size_t bound = ronchi_bslz4_bound(sizeof counts, 2), size;
    uint8_t *chunk = malloc(bound);
    ronchi_error err = {0};
    assert_int_equal(ronchi_bslz4_encode(kernels, (const uint8_t *)counts, sizeof counts, 2, chunk, bound, &size, &err),
                     RONCHI_OK);
    assert_int_equal(ronchi_bslz4_block(chunk, size, 2), 8192);
    assert_int_equal(ronchi_bslz4_block(chunk, 11, 2), 0);
    for (size_t n = size; n > 11; n -= n > size - 20 || n < 40 ? 1 : 37) {
        uint8_t *cut = malloc(n); /* of its own, so that a step over its end is seen */
        memcpy(cut, chunk, n);
        ronchi_error a = {0}, b = {0};
        size_t at = 0;
        ronchi_status right = ronchi_bslz4_decode(kernels, cut, n, 2, (uint8_t *)whole, sizeof whole, &a);
        ronchi_status got = RONCHI_OK;
        for (size_t k = 0; k < 2 && got == RONCHI_OK; k++)
            got = ronchi_bslz4_decode_block(kernels, cut, n, 2, 8192, k, &at, (uint8_t *)parts + 8192 * k, sizeof parts,
                                            &b);
        assert_int_equal(got, right);
        assert_int_equal(right, n == size ? RONCHI_OK : RONCHI_ERR_DATA);
        if (right == RONCHI_OK)
            assert_memory_equal(parts, counts, sizeof counts);
        else
            assert_string_equal(a.message, b.message);
        free(cut);
    }
    free(chunk);
    ronchi_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bytes), cmocka_unit_test(damage),
                                       cmocka_unit_test(blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
