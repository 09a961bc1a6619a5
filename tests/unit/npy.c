/* SPDX-License-Identifier: MIT */
/* npy.c - arrays to .npy and back, with any strides, and what is refused. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ronchi/formats.h"

static char folder[] = "/tmp/ronchi-npy-XXXXXX";
static char path[256];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/x.npy", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void test_round_trip(void **state)
{
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32, RONCHI_U64, RONCHI_F32, RONCHI_F64};
    (void)state;
    for (size_t d = 0; d < 6; d++)
        for (int axes = 2; axes <= 4; axes++) {
            ronchi_shape shape = {axes > 3 ? 3 : 1, axes > 2 ? 2 : 1, 5, 7};
            size_t size = ronchi_dtype_size(dtypes[d]), n = shape.scan_rows * shape.scan_cols * 35;
            uint8_t *bytes = malloc(n * size);
            for (size_t i = 0; i < n * size; i++)
                bytes[i] = (uint8_t)(i * 37);
            ronchi_view view = ronchi_view_4d(bytes, dtypes[d], &shape), back;
            void *memory;
            assert_int_equal(ronchi_npy_write(path, &view, axes, 1, NULL), RONCHI_OK);
            assert_int_equal(ronchi_npy_read(path, &back, &memory, NULL), RONCHI_OK);
            assert_int_equal(back.dtype, dtypes[d]);
            assert_memory_equal(back.shape, view.shape, sizeof view.shape);
            assert_memory_equal(memory, bytes, n * size);
            free(memory);
            free(bytes);
        }
}

/* A transposed view whose rows run backwards is written as it is seen. */
static void test_strides(void **state)
{
    uint16_t counts[3][4];
    (void)state;
    for (unsigned r = 0; r < 3; r++)
        for (unsigned c = 0; c < 4; c++)
            counts[r][c] = (uint16_t)(10 * r + c);
    ronchi_view view = ronchi_view_2d(&counts[0][3], RONCHI_U16, 4, 3), back;
    view.stride[2] = -2;
    view.stride[3] = 8;
    void *memory;
    assert_int_equal(ronchi_npy_write(path, &view, 2, 1, NULL), RONCHI_OK);
    assert_int_equal(ronchi_npy_read(path, &back, &memory, NULL), RONCHI_OK);
    const uint16_t *got = memory;
    for (unsigned r = 0; r < 4; r++)
        for (unsigned c = 0; c < 3; c++)
            assert_int_equal(got[3 * r + c], counts[c][3 - r]);
    free(memory);
}

static void write_file(const char *header, const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    size_t length = strlen(header);
    uint8_t head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)};
    fwrite(head, 1, 10, file);
    fwrite(header, 1, length, file);
    fwrite(data, 1, n, file);
    fclose(file);
}

static ronchi_status read_back(ronchi_view *view, void **memory, ronchi_error *err)
{
    return ronchi_npy_read(path, view, memory, err);
}

static void test_headers(void **state)
{
    static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    ronchi_view view;
    ronchi_error err;
    void *memory;
    (void)state;
    /* entries in any order, both quotes, spaces */
    write_file("{ \"shape\" : ( 2 , ) ,'fortran_order':False, 'descr': '>u4' }\n", bytes, 8);
    assert_int_equal(read_back(&view, &memory, &err), RONCHI_OK);
    assert_int_equal(((uint32_t *)memory)[0], 0x01020304);
    assert_int_equal(view.shape[3], 2);
    free(memory);
    write_file("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 4), }\n", bytes, 8);
    assert_int_equal(read_back(&view, &memory, &err), RONCHI_OK);
    assert_int_equal(view.dtype, RONCHI_U8);
    free(memory);
    static const struct {
        const char *header;
        ronchi_status status;
        const char *word;
    } bad[] = {
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (4,), }\n", RONCHI_ERR_UNSUPPORTED, "<i2"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", RONCHI_ERR_UNSUPPORTED, "|O"},
        {"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (4,), }\n", RONCHI_ERR_UNSUPPORTED, "fields"},
        {"{'descr': '<u2', 'fortran_order': True, 'shape': (2, 2), }\n", RONCHI_ERR_UNSUPPORTED, "Fortran"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (1,1,1,2,2), }\n", RONCHI_ERR_UNSUPPORTED, "axes"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }\n", RONCHI_ERR_DATA, "truncated"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }\n", RONCHI_ERR_DATA, "left over"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999,99999999999), }\n", RONCHI_ERR_DATA, "shape"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,), }\n", RONCHI_ERR_FORMAT,
         "understood"},
        {"{'descr': '<u2', 'fortran_order': False, }\n", RONCHI_ERR_FORMAT, "understood"},
        {"{'descr': '<u2', 'fortran_order': Maybe, 'shape': (4,), }\n", RONCHI_ERR_FORMAT, "understood"},
        {"{'descr': '<u2\n", RONCHI_ERR_FORMAT, "understood"},
        {"", RONCHI_ERR_FORMAT, "understood"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(bad[i].header, bytes, 8);
        ronchi_status status = read_back(&view, &memory, &err);
        if (status != bad[i].status || !strstr(err.message, bad[i].word))
            fail_msg("%s: %s %s", bad[i].header, ronchi_status_name(status), err.message);
        assert_null(memory);
    }
}

static void test_write_refusals(void **state)
{
    uint8_t value[4] = {1, 2, 3, 4};
    ronchi_view view = ronchi_view_2d(value, RONCHI_U8, 2, 2);
    (void)state;
    assert_int_equal(ronchi_npy_write(path, &view, 2, 1, NULL), RONCHI_OK);
    assert_int_equal(ronchi_npy_write(path, &view, 2, 0, NULL), RONCHI_ERR_EXISTS);
    view.shape[1] = 2;
    assert_int_equal(ronchi_npy_write(path, &view, 2, 1, NULL), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_npy_write(path, &view, 5, 1, NULL), RONCHI_ERR_ARGUMENT);
    view.data = NULL;
    assert_int_equal(ronchi_npy_write(path, &view, 3, 1, NULL), RONCHI_ERR_ARGUMENT);
    void *memory;
    assert_int_equal(ronchi_npy_read("/no/such/file.npy", &view, &memory, NULL), RONCHI_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_write_refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
