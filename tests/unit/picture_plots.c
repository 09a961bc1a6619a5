/* SPDX-License-Identifier: MIT */
/* picture_plots.c - fields in colours and curves, read back by libpng: known directions, known points, what is refused.
 */
#include "test.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ronchi/ronchi.h"

static const double PI = 3.14159265358979324;
static const char path[] = "picture_plots.png";

typedef struct image {
    size_t rows, cols;
    uint8_t *bytes; /* RGB */
} image;

static image load(void)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&png, path))
        fail_msg("%s", png.message);
    png.format = PNG_FORMAT_RGB;
    image out = {png.height, png.width, malloc(PNG_IMAGE_SIZE(png))};
    assert_true(png_image_finish_read(&png, NULL, out.bytes, 0, NULL));
    return out;
}

static void expect(const image *picture, size_t row, size_t col, int r, int g, int b)
{
    const uint8_t *at = picture->bytes + 3 * (row * picture->cols + col);
    if (abs(at[0] - r) > 1 || abs(at[1] - g) > 1 || abs(at[2] - b) > 1)
        fail_msg("(%zu, %zu) is %d %d %d, not %d %d %d", row, col, at[0], at[1], at[2], r, g, b);
}

static ronchi_picture_options plain(void)
{
    ronchi_picture_options o;
    ronchi_picture_options_defaults(&o);
    o.enlarge = 4;
    o.force = 1;
    o.high_percent = 100;
    return o;
}

static void test_directions(void **state)
{
    (void)state;
    enum { N = 8 };
    /* right, up, left, down, at 120 and 240 degrees, half as long, nothing; NaN in a second row */
    double row[2][N] = {{0, -1, 0, 1, -sin(2 * PI / 3), sin(2 * PI / 3), 0, 0}, {(double)NAN}};
    double col[2][N] = {{1, 0, -1, 0, cos(2 * PI / 3), cos(2 * PI / 3), 0.5, 0}, {0}};
    ronchi_view r = ronchi_view_2d(row, RONCHI_F64, 2, N), c = ronchi_view_2d(col, RONCHI_F64, 2, N);
    ronchi_picture_options o = plain();
    assert_int_equal(ronchi_picture_field_png(path, &r, &c, &o, NULL), RONCHI_OK);
    image p = load();
    static const int want[N][3] = {{255, 0, 0}, {128, 255, 0}, {0, 255, 255}, {128, 0, 255},
                                   {0, 255, 0}, {0, 0, 255},   {128, 0, 0},   {0, 0, 0}};
    for (size_t k = 0; k < N; k++)
        expect(&p, 2, 4 * k + 2, want[k][0], want[k][1], want[k][2]);
    expect(&p, 6, 2, 128, 128, 128);
    /* The wheel: red at its right end, cyan at its left, dark in the middle, white around. */
    size_t middle = 8 + 5 + 17, right = p.cols - 5;
    assert_true(p.rows >= middle + 17);
    expect(&p, middle, right - 1, 248, 0, 7);
    expect(&p, middle, right - 17, 11, 0, 8);
    expect(&p, p.rows - 1, p.cols - 1, 255, 255, 255);
    free(p.bytes);
    /* A field of nothing is black. */
    memset(row, 0, sizeof row);
    memset(col, 0, sizeof col);
    assert_int_equal(ronchi_picture_field_png(path, &r, &c, &o, NULL), RONCHI_OK);
    p = load();
    expect(&p, 2, 2, 0, 0, 0);
    free(p.bytes);
    assert_int_equal(unlink(path), 0);
}

static void test_curves(void **state)
{
    (void)state;
    double x[101], a[101], b[101];
    const double *const y[] = {a, b};
    static const char *const names[] = {"one", "two"};
    for (int i = 0; i <= 100; i++) {
        x[i] = i;
        a[i] = i / 100.0;
        b[i] = i == 50 ? (double)NAN : 0.25;
    }
    ronchi_plot plot = {101, 2, x, y, names, "x", 80};
    assert_int_equal(ronchi_picture_plot_png(path, &plot, 1, NULL), RONCHI_OK);
    image p = load();
    assert_true(p.rows == 480 && p.cols == 720);
    /* The frame spans 0..100 over columns 96..696 and 0..1 over rows 416..44. */
    expect(&p, 230, 396, 20, 55, 150);   /* a(50) = 0.5 */
    expect(&p, 323, 246, 200, 80, 20);   /* b(25) */
    expect(&p, 323, 397, 255, 255, 255); /* the gap of b at 50, right of a grid line */
    expect(&p, 300, 97, 255, 255, 255);
    size_t dashes = 0;
    for (size_t row = 44; row < 416; row++) {
        const uint8_t *at = p.bytes + 3 * (row * p.cols + 576); /* the mark at 80 */
        dashes += at[0] == 0 && at[1] == 0 && at[2] == 0;
    }
    assert_true(dashes > 150 && dashes < 300);
    free(p.bytes);
    assert_int_equal(unlink(path), 0);
}

static void test_refusals(void **state)
{
    (void)state;
    double values[4] = {0, 1, 2, 3}, nothing[2] = {(double)NAN, (double)NAN};
    const double *const y[] = {nothing};
    static const char *const names[] = {"one"};
    ronchi_view a = ronchi_view_2d(values, RONCHI_F64, 2, 2), b = ronchi_view_2d(values, RONCHI_F64, 1, 4);
    ronchi_picture_options o = plain();
    ronchi_plot plot = {2, 1, values, y, names, "x", (double)NAN};
    assert_int_equal(ronchi_picture_field_png(path, &a, &b, &o, NULL), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_picture_field_png(path, &a, NULL, &o, NULL), RONCHI_ERR_SHAPE);
    assert_int_equal(ronchi_picture_plot_png(path, &plot, 1, NULL), RONCHI_ERR_ARGUMENT);
    plot.n_curves = RONCHI_PLOT_CURVES + 1;
    assert_int_equal(ronchi_picture_plot_png(path, &plot, 1, NULL), RONCHI_ERR_ARGUMENT);
    assert_int_not_equal(access(path, F_OK), 0);
    /* What exists stays. */
    o.force = 0;
    assert_int_equal(ronchi_picture_field_png(path, &a, &a, &o, NULL), RONCHI_OK);
    assert_int_equal(ronchi_picture_field_png(path, &a, &a, &o, NULL), RONCHI_ERR_EXISTS);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_curves),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
