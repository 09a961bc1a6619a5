/* SPDX-License-Identifier: MIT */
/* core_context.c - errors, checked sizes, views, context and the parallel loop. */
#include "test.h"

#include <string.h>

#include "core/internal.h"

static ronchi_context *make(uint32_t threads)
{
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = threads;
    ronchi_context *context;
    assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
    return context;
}

static void error_is_one_line(void **state)
{
    (void)state;
    ronchi_error err;
    char path[400];
    memset(path, 'p', sizeof path);
    memcpy(path + 380, "end.h5", 7);
    assert_int_equal(ronchi_fail(&err, RONCHI_ERR_DATA, path, 7, "bad\nname\x1b %d", 3), RONCHI_ERR_DATA);
    assert_string_equal(err.message, "bad?name? 3");
    assert_int_equal(err.offset, 7);
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
    assert_string_equal(err.file + sizeof err.file - 7, "end.h5");
    assert_int_equal(ronchi_fail(NULL, RONCHI_ERR_IO, NULL, 0, "x"), RONCHI_ERR_IO);
}

static void status_names(void **state)
{
    (void)state;
    assert_string_equal(ronchi_status_name(RONCHI_OK), "OK");
    assert_string_equal(ronchi_status_name(RONCHI_ERR_DATA), "DATA");
    assert_string_equal(ronchi_status_name(RONCHI_ERR_INTERNAL), "INTERNAL");
    assert_string_equal(ronchi_status_name((ronchi_status)999), "?");
}

static void sizes_are_checked(void **state)
{
    (void)state;
    size_t out = 5;
    assert_false(ronchi_mul(SIZE_MAX, 2, &out));
    assert_int_equal(out, 5);
    assert_true(ronchi_mul(SIZE_MAX, 0, &out));
    assert_false(ronchi_add(SIZE_MAX, 1, &out));
    ronchi_shape huge = {SIZE_MAX / 2, 2, 2, 2}, empty = {1, 0, 1, 1};
    assert_false(ronchi_shape_elements(&huge, &out));
    assert_false(ronchi_shape_elements(&empty, &out));
    assert_null(ronchi_view_4d(&out, RONCHI_U8, &huge).data);
    ronchi_shape shape = {3, 4, 5, 6};
    ronchi_region region = ronchi_region_all(&shape);
    assert_true(ronchi_region_inside(&region, &shape));
    region.scan_col = SIZE_MAX;
    assert_false(ronchi_region_inside(&region, &shape));
}

static void context_refuses(void **state)
{
    (void)state;
    ronchi_context_options options;
    ronchi_context *context;
    ronchi_error err;
    ronchi_context_options_defaults(&options);
    options.device = "metal";
    assert_int_equal(ronchi_context_create(&options, &context, &err), RONCHI_ERR_UNSUPPORTED);
    static const char *const wrong[] = {"cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:123456789012",
                                        "cudax", "CPU",    ""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        options.device = wrong[i];
        assert_int_equal(ronchi_context_create(&options, &context, &err), RONCHI_ERR_ARGUMENT);
    }
    options.device = "cuda:4321"; /* no machine has that many: refused with and without the CUDA part and a driver */
    assert_int_equal(ronchi_context_create(&options, &context, &err), RONCHI_ERR_DEVICE);
    assert_null(context);
    assert_non_null(strstr(err.message, "use --device cpu") ? err.message : strstr(err.message, "no cuda:4321"));
    options.device = "abacus";
    assert_int_equal(ronchi_context_create(&options, &context, &err), RONCHI_ERR_ARGUMENT);
    options.device = NULL;
    options.struct_size = 3;
    assert_int_equal(ronchi_context_create(&options, &context, &err), RONCHI_ERR_ARGUMENT);
    ronchi_context_destroy(NULL);
}

/* Without being asked a context works: on a device where there is one, else on the CPU. */
static void context_devices(void **state)
{
    (void)state;
    ronchi_context_options options;
    ronchi_context *context;
    ronchi_device_info info;
    ronchi_error err;
    ronchi_context_options_defaults(&options);
    options.device = "cpu";
    assert_int_equal(ronchi_context_create(&options, &context, &err), RONCHI_OK);
    assert_int_equal(ronchi_context_device_info(context, &info, &err), RONCHI_OK);
    assert_int_equal(info.place, RONCHI_HOST);
    assert_true(ronchi_context_device_asked(context));
    ronchi_context_destroy(context);
    options.device = "auto";
    assert_int_equal(ronchi_context_create(&options, &context, &err), RONCHI_OK);
    assert_false(ronchi_context_device_asked(context));
    assert_int_equal(ronchi_context_device_info(context, &info, &err), RONCHI_OK);
    assert_int_equal(info.place == RONCHI_CUDA, info.memory_bytes > 0);
    assert_ptr_equal(ronchi_context_device(context), ronchi_context_device(context));
    ronchi_context_destroy(context);
}

typedef struct squares {
    ronchi_context *context;
    uint64_t out[1000];
    size_t fail_from;
} squares;

static ronchi_status square(void *user, size_t item, size_t worker, ronchi_error *err)
{
    squares *s = user;
    assert_true(worker < ronchi_context_threads(s->context));
    if (item >= s->fail_from)
        return ronchi_fail(err, RONCHI_ERR_DATA, NULL, item, "item %zu", item);
    s->out[item] = item * item;
    return RONCHI_OK;
}

static void loop_runs_every_item(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads++) {
        squares s = {make(threads), {0}, SIZE_MAX};
        for (int repeat = 0; repeat < 50; repeat++) {
            memset(s.out, 0xff, sizeof s.out);
            assert_int_equal(ronchi_parallel_for(s.context, 1000, square, &s, NULL), RONCHI_OK);
            for (size_t i = 0; i < 1000; i++)
                assert_int_equal(s.out[i], i * i);
        }
        ronchi_context_destroy(s.context);
    }
}

static void loop_gives_lowest_error(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 200; repeat++) {
        squares s = {make(4), {0}, 300};
        ronchi_error err;
        assert_int_equal(ronchi_parallel_for(s.context, 1000, square, &s, &err), RONCHI_ERR_DATA);
        assert_int_equal(err.offset, 300);
        assert_string_equal(err.message, "item 300");
        ronchi_context_destroy(s.context);
    }
}

static ronchi_status nested(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    squares *outer = user, inner = {outer->context, {0}, SIZE_MAX};
    ronchi_status status = ronchi_parallel_for(outer->context, 10, square, &inner, err);
    outer->out[item] = inner.out[9];
    return status;
}

static void loop_nests(void **state)
{
    (void)state;
    squares s = {make(3), {0}, SIZE_MAX};
    assert_int_equal(ronchi_parallel_for(s.context, 20, nested, &s, NULL), RONCHI_OK);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(s.out[i], 81);
    ronchi_context_destroy(s.context);
}

static int stop(void *user, const ronchi_progress *progress)
{
    (void)user;
    return progress->done > 5;
}

static void progress_cancels(void **state)
{
    (void)state;
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.progress = stop;
    ronchi_context *context;
    assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
    ronchi_progress p = {"load", 5, 10, "frames", 0};
    assert_int_equal(ronchi_report(context, &p, NULL), RONCHI_OK);
    p.done = 6;
    assert_int_equal(ronchi_report(context, &p, NULL), RONCHI_ERR_CANCELLED);
    ronchi_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_is_one_line),       cmocka_unit_test(status_names),
        cmocka_unit_test(sizes_are_checked),       cmocka_unit_test(context_refuses),
        cmocka_unit_test(context_devices),         cmocka_unit_test(loop_runs_every_item),
        cmocka_unit_test(loop_gives_lowest_error), cmocka_unit_test(loop_nests),
        cmocka_unit_test(progress_cancels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
