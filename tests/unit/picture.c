/* SPDX-License-Identifier: MIT */
/* picture.c - pictures read back by libpng and libtiff: levels of known ramps, percentiles at their edges, what is
 * refused. */
#include <math.h>
#include <png.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <tiffio.h>
#include <unistd.h>

#include "picture/canvas.h"
#include "picture/grey.h"
#include "files.h"
#include "test.h"

typedef struct place {
    char folder[64], path[128];
} place;

static int setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "ronchi-test-XXXXXX");
    if (!mkdtemp(p->folder))
        return 1;
    snprintf(p->path, sizeof p->path, "%s/picture", p->folder);
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

typedef struct read_png {
    size_t rows, cols, channels;
    uint8_t *bytes;
} read_png;

static read_png load(const char *path, size_t channels)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path))
        fail_msg("%s", image.message);
    /* a grey file says so, a coloured one too */
    assert_int_equal((image.format & PNG_FORMAT_FLAG_COLOR) != 0, channels == 3);
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    read_png out = {image.height, image.width, channels, malloc(PNG_IMAGE_SIZE(image))};
    assert_true(png_image_finish_read(&image, NULL, out.bytes, 0, NULL));
    return out;
}

static ronchi_picture_options plain(void)
{
    ronchi_picture_options o;
    ronchi_picture_options_defaults(&o);
    o.enlarge = 1;
    o.force = 1;
    o.low_percent = 0;
    o.high_percent = 100;
    return o;
}

static read_png draw(const place *p, const ronchi_view *view, const ronchi_picture_options *o)
{
    ronchi_error err;
    if (ronchi_picture_png(p->path, view, o, &err) != RONCHI_OK)
        fail_msg("%s", err.message);
    assert_int_equal(test_files(p->folder, 0), 1);
    return load(p->path, o && o->signed_range ? 3 : 1);
}

/* --------------------------------------------------------------------------------------------------------- levels */

static void a_ramp_of_every_type_keeps_its_levels(void **state)
{
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32, RONCHI_U64, RONCHI_F32, RONCHI_F64};
    ronchi_picture_options o = plain();
    for (size_t d = 0; d < 6; d++) {
        uint8_t bytes[256 * 8];
        for (int i = 0; i < 256; i++) {
            uint8_t a = (uint8_t)i;
            uint16_t b = (uint16_t)(i * 200 + 7);
            uint32_t c = (uint32_t)i * 16000000u + 5;
            uint64_t e = (uint64_t)i << 50;
            float f = (float)i * 0.25f - 9;
            double g = i * 1e300 * 1e-3 - 1e299;
            const void *from[] = {&a, &b, &c, &e, &f, &g};
            memcpy(bytes + (size_t)i * ronchi_dtype_size(dtypes[d]), from[d], ronchi_dtype_size(dtypes[d]));
        }
        ronchi_view view = ronchi_view_2d(bytes, dtypes[d], 4, 64);
        read_png png = draw(*state, &view, &o);
        assert_int_equal(png.rows, 4);
        assert_int_equal(png.cols, 64);
        for (int i = 0; i < 256; i++)
            assert_int_equal(png.bytes[i], i);
        free(png.bytes);
    }
}

static void gamma_and_log(void **state)
{
    float values[5] = {0, 1, 10, 100, 1000};
    ronchi_view view = ronchi_view_2d(values, RONCHI_F32, 1, 5);
    ronchi_picture_options o = plain();
    o.scaling = RONCHI_SCALE_LOG; /* decades apart evenly; what is not positive is black */
    read_png png = draw(*state, &view, &o);
    static const uint8_t log_levels[5] = {0, 0, 85, 170, 255};
    assert_memory_equal(png.bytes, log_levels, 5);
    free(png.bytes);
    o.scaling = RONCHI_SCALE_GAMMA;
    png = draw(*state, &view, &o);
    for (int i = 0; i < 5; i++)
        assert_int_equal(png.bytes[i], lrint(255 * sqrt((double)values[i] / 1000)));
    free(png.bytes);
}

static void percentiles_are_those_of_numpy(void **state)
{
    (void)state;
    /* numpy.percentile(range(101), [2, 98, 33.3]) and of [1, 2, 4] at 25 and 75 */
    double many[101], few[3] = {4, 1, 2};
    for (int i = 0; i < 101; i++)
        many[i] = (i * 37) % 101;
    ronchi_picture_options o = plain();
    ronchi_values values = {1, 101, many};
    ronchi_range range;
    o.low_percent = 2;
    o.high_percent = 98;
    assert_int_equal(ronchi_range_find(&values, &o, &range, NULL), RONCHI_OK);
    assert_true(range.low == 2 && range.high == 98);
    o.low_percent = 33.3;
    assert_int_equal(ronchi_range_find(&values, &o, &range, NULL), RONCHI_OK);
    assert_true(fabs(range.low - 33.3) < 1e-12);
    values = (ronchi_values){3, 1, few};
    o.low_percent = 25;
    o.high_percent = 75;
    assert_int_equal(ronchi_range_find(&values, &o, &range, NULL), RONCHI_OK);
    assert_true(range.low == 1.5 && range.high == 3);
}

/* The selection against a plain sort, many equal values included. */
static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void percentiles_of_random_pictures(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int trial = 0; trial < 200; trial++) {
        double at[300], sorted[300];
        size_t n = 2 + test_random(&random) % 298, kinds = 1 + test_random(&random) % (trial % 2 ? 6 : 100000);
        for (size_t i = 0; i < n; i++)
            sorted[i] = at[i] = (double)(test_random(&random) % kinds);
        qsort(sorted, n, sizeof *sorted, compare);
        ronchi_picture_options o = plain();
        ronchi_values values = {1, n, at};
        ronchi_range range;
        o.low_percent = (double)(test_random(&random) % 50);
        o.high_percent = 100 - (double)(test_random(&random) % 50);
        assert_int_equal(ronchi_range_find(&values, &o, &range, NULL), RONCHI_OK);
        double r = o.low_percent / 100 * (double)(n - 1), s = o.high_percent / 100 * (double)(n - 1);
        size_t i = (size_t)r, j = (size_t)s;
        double low = sorted[i] + (r - (double)i) * (sorted[i + (i + 1 < n)] - sorted[i]);
        double high = sorted[j] + (s - (double)j) * (sorted[j + (j + 1 < n)] - sorted[j]);
        if (!(low < high)) {
            low = sorted[0];
            high = sorted[n - 1];
        }
        assert_true(fabs(range.low - low) < 1e-9 && fabs(range.high - high) < 1e-9);
    }
}

static void edges_of_contrast(void **state)
{
    float nan = (float)NAN, inf = (float)INFINITY;
    ronchi_picture_options o = plain(), defaults;
    ronchi_picture_options_defaults(&defaults);
    float constant[4] = {7, 7, 7, 7}, nothing[4] = {nan, nan, nan, nan}, one[1] = {3},
          mixed[6] = {nan, inf, -inf, 0, 50, 100};
    float sparse[400] = {0};
    uint8_t ignore[6] = {0, 0, 0, 0, 0, 1};

    ronchi_view view = ronchi_view_2d(constant, RONCHI_F32, 2, 2);
    read_png png = draw(*state, &view, &o);
    for (int i = 0; i < 4; i++)
        assert_int_equal(png.bytes[i], 127);
    free(png.bytes);

    view = ronchi_view_2d(nothing, RONCHI_F32, 2, 2);
    png = draw(*state, &view, &o);
    for (int i = 0; i < 4; i++)
        assert_int_equal(png.bytes[i], 0);
    free(png.bytes);
    o.signed_range = 1;
    png = draw(*state, &view, &o);
    for (int i = 0; i < 12; i++)
        assert_int_equal(png.bytes[i], 128);
    free(png.bytes);
    o.signed_range = 0;

    view = ronchi_view_2d(one, RONCHI_F32, 1, 1);
    defaults.force = 1;
    png = draw(*state, &view, &defaults); /* one pixel is enlarged like every other */
    assert_int_equal(png.rows, 256);
    assert_int_equal(png.cols, 256);
    assert_int_equal(png.bytes[1000], 127);
    free(png.bytes);

    view = ronchi_view_2d(mixed, RONCHI_F32, 1, 6);
    png = draw(*state, &view, &o);
    static const uint8_t levels[6] = {0, 255, 0, 0, 128, 255};
    assert_memory_equal(png.bytes, levels, 6);
    free(png.bytes);
    ronchi_view skip = ronchi_view_2d(ignore, RONCHI_U8, 1, 6);
    o.ignore = &skip; /* 100 counts no longer: 50 is white, and so is what is above */
    png = draw(*state, &view, &o);
    static const uint8_t ignored[6] = {0, 255, 0, 0, 255, 255};
    assert_memory_equal(png.bytes, ignored, 6);
    free(png.bytes);
    o.ignore = NULL;

    sparse[57] = 9; /* all percentiles are 0, the one count is seen nevertheless */
    view = ronchi_view_2d(sparse, RONCHI_F32, 20, 20);
    o.low_percent = 2;
    o.high_percent = 98;
    png = draw(*state, &view, &o);
    assert_int_equal(png.bytes[57], 255);
    assert_int_equal(png.bytes[58], 0);
    free(png.bytes);
}

static void signed_pictures_are_blue_white_red(void **state)
{
    double values[5] = {-4, -2, 0, 2, 4};
    ronchi_view view = ronchi_view_2d(values, RONCHI_F64, 1, 5);
    ronchi_picture_options o = plain();
    o.signed_range = 1;
    read_png png = draw(*state, &view, &o);
    const uint8_t *b = png.bytes;
    assert_true(b[0] < 60 && b[2] > 100);   /* dark blue */
    assert_true(b[5] > b[3] && b[5] > 200); /* light blue */
    assert_true(b[6] == 255 && b[7] == 255 && b[8] == 255);
    assert_true(b[9] > b[11] && b[9] > 200); /* light red */
    assert_true(b[12] > 100 && b[14] < 60);  /* dark red */
    free(png.bytes);
}

/* --------------------------------------------------------------------------------------------------------- layout */

static void enlargement_repeats_pixels(void **state)
{
    uint8_t values[6] = {0, 51, 102, 153, 204, 255};
    ronchi_view view = ronchi_view_2d(values, RONCHI_U8, 2, 3);
    ronchi_picture_options o = plain();
    o.enlarge = 5;
    read_png png = draw(*state, &view, &o);
    assert_int_equal(png.rows, 10);
    assert_int_equal(png.cols, 15);
    for (size_t i = 0; i < 10; i++)
        for (size_t j = 0; j < 15; j++)
            assert_int_equal(png.bytes[i * 15 + j], values[i / 5 * 3 + j / 5]);
    free(png.bytes);
    assert_int_equal(ronchi_enlargement(64, 64, 0), 4);
    assert_int_equal(ronchi_enlargement(100, 64, 0), 4);
    assert_int_equal(ronchi_enlargement(300, 300, 0), 1);
    assert_int_equal(ronchi_enlargement(1, 1000, 0), 4);
    assert_int_equal(ronchi_enlargement(1, 100000, 0), 1);
    assert_int_equal(ronchi_enlargement(64, 64, 1), 1);
}

static void strides_are_honoured(void **state)
{
    uint16_t values[3 * 8];
    for (size_t i = 0; i < 24; i++)
        values[i] = (uint16_t)(i * 10);
    /* columns 6, 4, 2 of each row, from right to left */
    ronchi_view view = ronchi_view_2d(values + 6, RONCHI_U16, 3, 3);
    view.stride[2] = 16;
    view.stride[3] = -4;
    ronchi_picture_options o = plain();
    read_png png = draw(*state, &view, &o);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            double v = (double)values[i * 8 + 6 - 2 * j];
            assert_int_equal(png.bytes[i * 3 + j], lrint(255 * (v - 20) / (220 - 20)));
        }
    free(png.bytes);
}

static void extreme_aspects_are_drawn(void **state)
{
    static const size_t shapes[][2] = {{1, 20000}, {20000, 1}, {3, 9000}, {1, 2}};
    uint8_t *values = calloc(1, 27000);
    for (size_t i = 0; i < 27000; i++)
        values[i] = (uint8_t)i;
    for (size_t k = 0; k < 4; k++) {
        ronchi_view view = ronchi_view_2d(values, RONCHI_U8, shapes[k][0], shapes[k][1]);
        ronchi_picture_options o;
        ronchi_picture_options_defaults(&o);
        o.force = 1;
        o.pixel_size = 0.5;
        o.pixel_unit = "nm";
        read_png png = draw(*state, &view, &o);
        size_t factor = ronchi_enlargement(shapes[k][0], shapes[k][1], 0);
        assert_true(png.rows >= shapes[k][0] * factor && png.cols >= shapes[k][1] * factor);
        free(png.bytes);
    }
    free(values);
}

static void bars_have_round_lengths(void **state)
{
    (void)state;
    static const struct {
        double pixel;
        const char *unit;
        size_t width, pixels;
        const char *label;
    } cases[] = {
        {0.125, "angstrom", 512, 160, "2 nm"},
        {0.05, "angstrom", 256, 100, "5 \xC3\x85"},
        {0.5, "nm", 400, 200, "100 nm"},
        {25, "nm", 400, 200, "5 \xC2\xB5m"},
        {0.4545, "mrad", 300, 110, "50 mrad"},
        {0.02309, "1/angstrom", 384, 217, "5 \xC3\x85\xE2\x81\xBB\xC2\xB9"},
        {1e-3, "angstrom", 200, 100, "0.1 \xC3\x85"},
        {1, "px", 500, 200, "200 px"},
        {1, "angstrom", 20, 10, "1 nm"},
        {0.1, "angstrom", 200, 100, "1 nm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ronchi_bar bar;
        assert_true(ronchi_bar_choose(cases[i].pixel, cases[i].unit, cases[i].width, 0.6, &bar));
        assert_string_equal(bar.label, cases[i].label);
        assert_int_equal(bar.pixels, cases[i].pixels);
    }
    ronchi_bar bar;
    assert_false(ronchi_bar_choose(1, "nm", 1, 0.3, &bar));
    assert_false(ronchi_bar_choose(INFINITY, "nm", 100, 0.3, &bar));
    /* any size gives a 1, 2 or 5 of at most the share and more than 2/5 of it */
    for (double size = 1e-9; size < 1e9; size *= 1.0371) {
        assert_true(ronchi_bar_choose(size, "nm", 1000, 0.3, &bar));
        double digit = bar.length / pow(10, floor(log10(bar.length) + 1e-9));
        assert_true(fabs(digit - 1) < 1e-6 || fabs(digit - 2) < 1e-6 || fabs(digit - 5) < 1e-6);
        assert_true(bar.pixels <= 300 && bar.pixels >= 119);
    }
}

/* The picture's own pixels are untouched; below stands a black bar of the right length on white, and a label. */
static void a_bar_is_drawn_below(void **state)
{
    uint8_t *values = calloc(256, 256);
    values[0] = 255;
    ronchi_view view = ronchi_view_2d(values, RONCHI_U8, 256, 256);
    ronchi_picture_options o = plain();
    o.pixel_size = 0.5;
    o.pixel_unit = "angstrom";
    read_png png = draw(*state, &view, &o);
    assert_int_equal(png.cols, 256);
    assert_int_equal(png.rows, 256 + ronchi_bar_rows(1));
    assert_int_equal(png.bytes[0], 255);
    for (size_t i = 1; i < 256 * 256; i++)
        assert_int_equal(png.bytes[i], 0);
    size_t longest = 0, run = 0, black = 0;
    for (size_t i = 256 * 256; i < png.rows * 256; i++) {
        run = png.bytes[i] == 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
        black += png.bytes[i] == 0;
        assert_true(png.bytes[i] == 0 || png.bytes[i] == 255);
    }
    assert_int_equal(longest, 40); /* 20 angstrom, "2 nm": at most 0.3 of 128 angstrom */
    assert_true(black > 3 * 40 + 30);
    free(png.bytes);
    free(values);
}

/* ---------------------------------------------------------------------------------------------------------- tiff */

static void tiffs_hold_the_numbers(void **state)
{
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32, RONCHI_F32, RONCHI_F64, RONCHI_U64};
    const place *p = *state;
    uint64_t random = 21;
    enum { ROWS = 37, COLS = 53 };
    for (size_t d = 0; d < 6; d++) {
        size_t size = ronchi_dtype_size(dtypes[d]);
        uint8_t *bytes = malloc(ROWS * COLS * size), line[COLS * 8];
        for (size_t i = 0; i < ROWS * COLS * size; i++)
            bytes[i] = (uint8_t)test_random(&random);
        if (dtypes[d] == RONCHI_U64)
            for (size_t i = 0; i < ROWS * COLS; i++)
                ((uint64_t *)bytes)[i] >>= 11;
        ronchi_view view = ronchi_view_2d(bytes, dtypes[d], ROWS, COLS);
        ronchi_picture_options o = plain();
        ronchi_error err;
        o.pixel_size = 0.25;
        o.pixel_unit = "nm";
        if (ronchi_picture_tiff(p->path, &view, &o, &err) != RONCHI_OK)
            fail_msg("%s", err.message);
        assert_int_equal(test_files(p->folder, 0), 1);
        TIFF *tiff = TIFFOpen(p->path, "r");
        uint32_t rows = 0, cols = 0;
        uint16_t bits = 0, format = 0, unit = 0;
        float resolution = 0;
        char *text = NULL;
        assert_true(TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &rows) && TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &cols));
        assert_true(TIFFGetField(tiff, TIFFTAG_BITSPERSAMPLE, &bits) &&
                    TIFFGetField(tiff, TIFFTAG_SAMPLEFORMAT, &format));
        assert_true(TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &resolution) &&
                    TIFFGetField(tiff, TIFFTAG_RESOLUTIONUNIT, &unit));
        assert_true(TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text));
        assert_int_equal(rows, ROWS);
        assert_int_equal(cols, COLS);
        assert_int_equal(bits, 8 * size);
        assert_int_equal(format, dtypes[d] >= RONCHI_U64 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
        assert_true(fabs((double)resolution - 4) < 1e-6);
        assert_int_equal(unit, RESUNIT_NONE);
        assert_int_equal(strncmp(text, "ImageJ=", 7), 0);
        assert_non_null(strstr(text, "\nunit=nm\n"));
        for (uint32_t i = 0; i < ROWS; i++) {
            assert_true(TIFFReadScanline(tiff, line, i, 0) >= 0);
            for (size_t j = 0; j < COLS && dtypes[d] == RONCHI_U64; j++)
                assert_true(((double *)line)[j] == (double)((uint64_t *)bytes)[i * COLS + j]);
            if (dtypes[d] != RONCHI_U64)
                assert_memory_equal(line, bytes + i * COLS * size, COLS * size);
        }
        TIFFClose(tiff);
        free(bytes);
    }
}

static void a_tiff_refuses_what_it_cannot_hold(void **state)
{
    const place *p = *state;
    uint64_t values[2] = {1, (uint64_t)1 << 53};
    ronchi_view view = ronchi_view_2d(values, RONCHI_U64, 1, 2);
    ronchi_error err;
    assert_int_equal(ronchi_picture_tiff(p->path, &view, NULL, &err), RONCHI_ERR_RANGE);
    assert_non_null(strstr(err.message, ".npy"));
    assert_int_equal(test_files(p->folder, 0), 0);
    values[1]--;
    assert_int_equal(ronchi_picture_tiff(p->path, &view, NULL, &err), RONCHI_OK);
    assert_int_equal(ronchi_picture_tiff(p->path, &view, NULL, &err), RONCHI_ERR_EXISTS);
    assert_int_equal(ronchi_picture_png(p->path, &view, NULL, &err), RONCHI_ERR_EXISTS);
    assert_int_equal(test_files(p->folder, 0), 1);
}

/* A full disk, played by the limit on file sizes: a picture is whole or not there. */
static void a_full_disk_leaves_nothing(void **state)
{
    const place *p = *state;
    enum { SIDE = 64 };
    uint16_t values[SIDE * SIDE], line[SIDE];
    uint64_t random = 8;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        values[i] = (uint16_t)test_random(&random);
    ronchi_view view = ronchi_view_2d(values, RONCHI_U16, SIDE, SIDE);
    ronchi_picture_options o = plain();
    struct rlimit before, now;
    ronchi_error err;
    size_t failures = 0, pictures = 0;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < 9000; limit += limit < 8000 ? 173 : 7) {
        for (int kind = 0; kind < 2; kind++) {
            now = before;
            now.rlim_cur = limit;
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
            ronchi_status status = (kind ? ronchi_picture_tiff : ronchi_picture_png)(p->path, &view, &o, &err);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
            assert_int_equal(test_files(p->folder, 0), status == RONCHI_OK);
            failures += status == RONCHI_ERR_IO;
            pictures += status == RONCHI_OK;
            if (status == RONCHI_OK && kind) {
                TIFF *tiff = TIFFOpen(p->path, "r");
                assert_non_null(tiff);
                for (uint32_t i = 0; i < SIDE; i++) {
                    assert_true(TIFFReadScanline(tiff, line, i, 0) >= 0);
                    assert_memory_equal(line, values + i * SIDE, sizeof line);
                }
                TIFFClose(tiff);
            } else if (status == RONCHI_OK) {
                free(load(p->path, 1).bytes);
            }
            test_files(p->folder, 1);
        }
    }
    signal(SIGXFSZ, SIG_DFL);
    assert_true(failures > 50 && pictures > 50);
}

/* ------------------------------------------------------------------------------------------------------- refusals */

static void wrong_calls_are_named(void **state)
{
    const place *p = *state;
    uint8_t values[6] = {0};
    ronchi_view view = ronchi_view_2d(values, RONCHI_U8, 2, 3), other = ronchi_view_2d(values, RONCHI_U8, 3, 2), bad;
    ronchi_error err;
    ronchi_picture_options o;
#define REFUSED(change, status, word)                                                                                  \
    do {                                                                                                               \
        o = plain();                                                                                                   \
        bad = view;                                                                                                    \
        change;                                                                                                        \
        assert_int_equal(ronchi_picture_png(p->path, &bad, &o, &err), status);                                         \
        assert_non_null(strstr(err.message, word));                                                                    \
        assert_int_equal(ronchi_picture_tiff(p->path, &bad, &o, &err), status);                                        \
        assert_int_equal(test_files(p->folder, 0), 0);                                                                 \
    } while (0)
    REFUSED(bad.shape[1] = 2, RONCHI_ERR_SHAPE, "[row][col]");
    REFUSED(bad.shape[3] = 0, RONCHI_ERR_SHAPE, "[row][col]");
    REFUSED(bad.data = NULL, RONCHI_ERR_SHAPE, "[row][col]");
    REFUSED(bad.place = RONCHI_CUDA, RONCHI_ERR_SHAPE, "host");
    REFUSED(o.ignore = &other, RONCHI_ERR_SHAPE, "ignore");
    REFUSED(o.low_percent = 60; o.high_percent = 40, RONCHI_ERR_ARGUMENT, "percentiles");
    REFUSED(o.high_percent = (double)NAN, RONCHI_ERR_ARGUMENT, "percentiles");
    REFUSED(o.scaling = 3, RONCHI_ERR_ARGUMENT, "scaling");
    REFUSED(o.scaling = RONCHI_SCALE_GAMMA; o.gamma = 0, RONCHI_ERR_ARGUMENT, "gamma");
    REFUSED(o.pixel_size = -1, RONCHI_ERR_ARGUMENT, "size");
    REFUSED(o.struct_size = 3, RONCHI_ERR_ARGUMENT, "_defaults");
#undef REFUSED
    o = plain();
    o.enlarge = 2000000;
    assert_int_equal(ronchi_picture_png(p->path, &view, &o, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_picture_png(NULL, &view, &o, &err), RONCHI_ERR_ARGUMENT);
    assert_int_equal(ronchi_picture_png("no/such/folder/a.png", &view, NULL, &err), RONCHI_ERR_NOT_FOUND);
    assert_int_not_equal(ronchi_picture_tiff("no/such/folder/a.tif", &view, NULL, &err), RONCHI_OK);
    assert_int_equal(ronchi_picture_png(p->folder, &view, NULL, &err), RONCHI_ERR_EXISTS);
    assert_int_equal(ronchi_picture_tiff(p->folder, &view, NULL, &err), RONCHI_ERR_EXISTS);
    assert_int_equal(test_files(p->folder, 0), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_ramp_of_every_type_keeps_its_levels),
        TEST(gamma_and_log),
        TEST(percentiles_are_those_of_numpy),
        TEST(percentiles_of_random_pictures),
        TEST(edges_of_contrast),
        TEST(signed_pictures_are_blue_white_red),
        TEST(enlargement_repeats_pixels),
        TEST(strides_are_honoured),
        TEST(extreme_aspects_are_drawn),
        TEST(bars_have_round_lengths),
        TEST(a_bar_is_drawn_below),
        TEST(tiffs_hold_the_numbers),
        TEST(a_tiff_refuses_what_it_cannot_hold),
        TEST(a_full_disk_leaves_nothing),
        TEST(wrong_calls_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
