/* SPDX-License-Identifier: MIT */
/*
 * lane_device.c - everything that a lane-rans-v1 acquisition on a CUDA device answers, compared with the same counts on
 * the CPU: shapes with odd detectors and short last bricks, all dose levels, uint8/16/32, flagged pixels, all kinds of
 * bricks and escapes.  Outputs are filled with another value first, so that what is not written is seen.
 *   lane_device [SEED [RUNS]]     exit code 77 without a device
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/numbers.h"
#include "ronchi/ronchi.h"

static uint64_t state;
static size_t n_checks;

static uint64_t next64(void)
{
    return test_next64(&state);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(next64() % n);
}

static double unit(void)
{
    return (double)(next64() >> 11) / 9007199254740992.0;
}

static void die(const char *what, const ronchi_error *err)
{
    printf("FAILED: %s: %s\n", what, err ? err->message : "");
    exit(1);
}

static void check(ronchi_status status, const char *what, const ronchi_error *err)
{
    if (status != RONCHI_OK)
        die(what, err);
}

/* -------------------------------------------------------------------------------------------------------- the counts
 */

static uint32_t poisson(double mean)
{
    if (mean > 30) {
        double g = sqrt(-2 * log(1 - unit())) * cos(6.283185307179586 * unit());
        double v = mean + sqrt(mean) * g + 0.5;
        return v < 0 ? 0 : (uint32_t)v;
    }
    double limit = exp(-mean), product = unit();
    uint32_t n = 0;
    for (; product > limit; n++)
        product *= unit();
    return n;
}

/* How the pixels of one acquisition are: a mean for each, or a kind of their own below 0. */
static double pixel_mean(int kind)
{
    static const double dose[] = {0.0005, 0.01, 0.08, 0.5, 3, 9, 60, 400, 3000};
    switch (kind) {
    case 0: /* all dose levels in one tile */
        return dose[below(9)];
    case 1: /* only sparse */
        return 0.1 * unit() * unit() * unit();
    case 2: /* only count models */
        return 0.15 + 5 * unit();
    case 3: /* sparse and count */
        return below(2) ? 0.05 * unit() : 1 + unit();
    case 4: /* wide */
        return 10 + 300 * unit();
    case 5: /* uniform noise, constants, nothing */
        return -1 - (double)below(3);
    default: /* of everything */
        return below(4) ? dose[below(9)] : -1 - (double)below(3);
    }
}

static uint32_t draw(double mean, uint32_t largest, bool spikes)
{
    uint32_t v = mean >= 0 ? poisson(mean) : mean > -1.5 ? (uint32_t)next64() : mean > -2.5 ? 7 : 0;
    if (spikes && below(500) == 0)
        v = below(3) == 0 ? largest : (uint32_t)(next64() >> below(32) >> 32);
    return v <= largest ? v : mean < 0 ? v & largest : largest;
}

typedef struct set {
    ronchi_shape shape;
    ronchi_dtype dtype;
    void *counts;
    uint8_t *flagged;
    ronchi_view view, mask;
} set;

static void make_set(set *s, int kind, ronchi_dtype dtype, ronchi_shape shape, bool spikes, bool flags)
{
    size_t n_pixels = shape.det_rows * shape.det_cols, n = shape.scan_rows * shape.scan_cols;
    uint32_t largest = dtype == RONCHI_U8 ? UINT8_MAX : dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
    double *mean = malloc(n_pixels * sizeof *mean);
    s->shape = shape;
    s->dtype = dtype;
    s->counts = malloc(n * n_pixels * ronchi_dtype_size(dtype));
    s->flagged = calloc(n_pixels, 1);
    for (size_t p = 0; p < n_pixels; p++) {
        mean[p] = pixel_mean(kind);
        s->flagged[p] = flags && below(20) == 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < n_pixels; p++) {
            uint32_t v = draw(mean[p], largest, spikes);
            if (dtype == RONCHI_U8)
                ((uint8_t *)s->counts)[i * n_pixels + p] = (uint8_t)v;
            else if (dtype == RONCHI_U16)
                ((uint16_t *)s->counts)[i * n_pixels + p] = (uint16_t)v;
            else
                ((uint32_t *)s->counts)[i * n_pixels + p] = v;
        }
    s->view = ronchi_view_4d(s->counts, dtype, &shape);
    s->mask = ronchi_view_2d(s->flagged, RONCHI_U8, shape.det_rows, shape.det_cols);
    free(mean);
}

static void free_set(set *s)
{
    free(s->counts);
    free(s->flagged);
}

/* -------------------------------------------------------------------------------------------------------- comparisons
 */

static void same(const void *a, const void *b, size_t size, const char *what)
{
    n_checks++;
    if (memcmp(a, b, size) == 0)
        return;
    for (size_t i = 0; i < size; i++)
        if (((const uint8_t *)a)[i] != ((const uint8_t *)b)[i]) {
            printf("FAILED: %s: byte %zu of %zu differs\n", what, i, size);
            exit(1);
        }
}

static ronchi_region random_region(const ronchi_shape *s)
{
    ronchi_region r = ronchi_region_all(s);
    r.scan_row = below((uint32_t)s->scan_rows);
    r.scan_rows = 1 + below((uint32_t)(s->scan_rows - r.scan_row));
    r.scan_col = below((uint32_t)s->scan_cols);
    r.scan_cols = 1 + below((uint32_t)(s->scan_cols - r.scan_col));
    r.det_row = below((uint32_t)s->det_rows);
    r.det_rows = 1 + below((uint32_t)(s->det_rows - r.det_row));
    r.det_col = below((uint32_t)s->det_cols);
    r.det_cols = 1 + below((uint32_t)(s->det_cols - r.det_col));
    return r;
}

/* Reads a region with both into a view of random strides, all of memory compared. */
static void compare_band(const ronchi_acquisition *cpu, const ronchi_acquisition *cuda, const ronchi_region *r,
                         ronchi_dtype dtype, const char *what)
{
    size_t size = ronchi_dtype_size(dtype), sizes[4] = {r->scan_rows, r->scan_cols, r->det_rows, r->det_cols};
    ptrdiff_t stride = (ptrdiff_t)size;
    ronchi_view view;
    memset(&view, 0, sizeof view);
    view.dtype = dtype;
    int order[4] = {3, 2, 1, 0}, swap = (int)below(3);
    if (swap) { /* another axis lies innermost */
        order[0] = 3 - swap;
        order[swap] = 3;
    }
    for (int k = 0; k < 4; k++) {
        view.shape[order[k]] = sizes[order[k]];
        view.stride[order[k]] = stride;
        stride *= (ptrdiff_t)(sizes[order[k]] + (k < 3 ? below(3) : 0));
    }
    size_t bytes = (size_t)stride;
    uint8_t *a = malloc(bytes), *b = malloc(bytes);
    ronchi_error err;
    memset(a, 0xa5, bytes);
    memset(b, 0xa5, bytes);
    view.data = a;
    ronchi_status one = ronchi_acquisition_read(cpu, r, RONCHI_READ_RAW, &view, &err);
    view.data = b;
    ronchi_status two = ronchi_acquisition_read(cuda, r, RONCHI_READ_RAW, &view, &err);
    if (one != two)
        die(what, &err);
    if (one == RONCHI_OK)
        same(a, b, bytes, what);
    free(a);
    free(b);
}

static void compare_bands(const set *s, const ronchi_acquisition *cpu, const ronchi_acquisition *cuda)
{
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32, RONCHI_U64};
    size_t n_pixels = s->shape.det_rows * s->shape.det_cols, n = s->shape.scan_rows * s->shape.scan_cols;
    size_t bytes = n * n_pixels * ronchi_dtype_size(s->dtype);
    void *all = malloc(bytes);
    memset(all, 0x5a, bytes);
    ronchi_view view = ronchi_view_4d(all, s->dtype, &s->shape);
    ronchi_error err;
    check(ronchi_acquisition_read(cuda, NULL, RONCHI_READ_RAW, &view, &err), "read all", &err);
    same(all, s->counts, bytes, "all counts");
    free(all);
    for (int k = 0; k < 6; k++) {
        ronchi_region r = random_region(&s->shape);
        compare_band(cpu, cuda, &r, dtypes[below(4)], "a band");
    }
    for (int k = 0; k < 2; k++) {
        ronchi_region r = ronchi_region_all(&s->shape);
        r.scan_row = below((uint32_t)s->shape.scan_rows);
        r.scan_col = below((uint32_t)s->shape.scan_cols);
        r.scan_rows = r.scan_cols = 1;
        compare_band(cpu, cuda, &r, s->dtype, "a frame");
    }
}

static void fill_masks(const ronchi_shape *s, size_t n_masks, uint8_t *masks)
{
    for (size_t k = 0; k < n_masks; k++) {
        int kind = (int)below(4);
        double r = unit() * (double)s->det_rows, cy = unit() * (double)s->det_rows, cx = unit() * (double)s->det_cols;
        for (size_t y = 0; y < s->det_rows; y++)
            for (size_t x = 0; x < s->det_cols; x++) {
                double dy = (double)y - cy, dx = (double)x - cx;
                bool in = dy * dy + dx * dx <= r * r;
                masks[(k * s->det_rows + y) * s->det_cols + x] = kind == 0   ? 1
                                                                 : kind == 1 ? in
                                                                 : kind == 2 ? !in
                                                                             : below(2) != 0;
            }
    }
}

static void compare_sums(const set *s, const ronchi_acquisition *cpu, const ronchi_acquisition *cuda)
{
    size_t n_pixels = s->shape.det_rows * s->shape.det_cols, n = s->shape.scan_rows * s->shape.scan_cols;
    size_t n_masks = 1 + below(5), bytes = n_masks * n * 8;
    uint8_t *masks = malloc(n_masks * n_pixels), *a = malloc(bytes), *b = malloc(bytes);
    ronchi_shape mask_shape = {1, n_masks, s->shape.det_rows, s->shape.det_cols};
    ronchi_shape out_shape = {1, n_masks, s->shape.scan_rows, s->shape.scan_cols};
    ronchi_error err;
    fill_masks(&s->shape, n_masks, masks);
    ronchi_view mask = ronchi_view_4d(masks, RONCHI_U8, &mask_shape), out = ronchi_view_4d(a, RONCHI_U64, &out_shape);
    memset(a, 0xa5, bytes);
    memset(b, 0x5a, bytes);
    check(ronchi_detector_sums(cpu, &mask, &out, &err), "sums on the CPU", &err);
    out.data = b;
    check(ronchi_detector_sums(cuda, &mask, &out, &err), "sums on the device", &err);
    same(a, b, bytes, "masked sums");
    free(masks);
    free(a);
    free(b);
}

static void compare_moments(const set *s, const ronchi_acquisition *cpu, const ronchi_acquisition *cuda)
{
    size_t n_pixels = s->shape.det_rows * s->shape.det_cols, n = s->shape.scan_rows * s->shape.scan_cols;
    uint64_t *a = malloc(3 * n * 8), *b = malloc(3 * n * 8);
    uint8_t *mask = malloc(n_pixels);
    ronchi_error err;
    fill_masks(&s->shape, 1, mask);
    ronchi_view selected = ronchi_view_2d(mask, RONCHI_U8, s->shape.det_rows, s->shape.det_cols), out[3];
    const ronchi_view *use = below(2) ? &selected : NULL;
    memset(a, 0xa5, 3 * n * 8);
    memset(b, 0x5a, 3 * n * 8);
    for (int k = 0; k < 3; k++)
        out[k] = ronchi_view_2d(a + (size_t)k * n, RONCHI_U64, s->shape.scan_rows, s->shape.scan_cols);
    ronchi_status one = ronchi_detector_moments(cpu, use, &out[0], &out[1], &out[2], &err);
    for (int k = 0; k < 3; k++)
        out[k].data = b + (size_t)k * n;
    ronchi_status two = ronchi_detector_moments(cuda, use, &out[0], &out[1], &out[2], &err);
    if (one != two)
        die("moments", &err);
    if (one == RONCHI_OK)
        same(a, b, 3 * n * 8, "moments");
    free(mask);
    free(a);
    free(b);
}

static void compare_patterns(const set *s, const ronchi_acquisition *cpu, const ronchi_acquisition *cuda)
{
    size_t n_pixels = s->shape.det_rows * s->shape.det_cols, n = s->shape.scan_rows * s->shape.scan_cols;
    uint64_t *a = malloc(n_pixels * 8), *b = malloc(n_pixels * 8);
    uint8_t *select = malloc(n);
    ronchi_error err;
    for (size_t i = 0; i < n; i++)
        select[i] = below(3) != 0;
    select[below((uint32_t)n)] = 1;
    ronchi_view selected = ronchi_view_2d(select, RONCHI_U8, s->shape.scan_rows, s->shape.scan_cols);
    for (int k = 0; k < 4; k++) {
        ronchi_region r = random_region(&s->shape);
        r.det_row = r.det_col = 0;
        r.det_rows = s->shape.det_rows;
        r.det_cols = s->shape.det_cols;
        ronchi_view out = ronchi_view_2d(a, RONCHI_U64, s->shape.det_rows, s->shape.det_cols);
        ronchi_detector_reduce what = k % 2 ? RONCHI_REDUCE_MAX : RONCHI_REDUCE_SUM;
        const ronchi_view *use = k < 2 ? &selected : NULL;
        memset(a, 0xa5, n_pixels * 8);
        memset(b, 0x5a, n_pixels * 8);
        ronchi_status one = ronchi_detector_pattern(cpu, what, &r, use, &out, &err);
        out.data = b;
        ronchi_status two = ronchi_detector_pattern(cuda, what, &r, use, &out, &err);
        if (one != two)
            die("a pattern", &err);
        if (one == RONCHI_OK)
            same(a, b, n_pixels * 8, what == RONCHI_REDUCE_MAX ? "largest counts" : "sum of frames");
    }
    free(select);
    free(a);
    free(b);
}

static uint8_t *file_bytes(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        die(path, NULL);
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*size);
    if (fread(bytes, 1, *size, f) != *size)
        die(path, NULL);
    fclose(f);
    return bytes;
}

/* Saved from the device: the same file; reopened on it: the same again. */
static void compare_files(const ronchi_acquisition *cpu, const ronchi_acquisition *cuda, ronchi_context *on_cuda)
{
    ronchi_save_options options;
    ronchi_save_options_defaults(&options);
    options.force = 1;
    ronchi_error err;
    ronchi_acquisition *again;
    static const char *const names[3] = {"device_a.qem", "device_b.qem", "device_c.qem"};
    check(ronchi_acquisition_save(cpu, names[0], &options, &err), "save from the CPU", &err);
    check(ronchi_acquisition_save(cuda, names[1], &options, &err), "save from the device", &err);
    check(ronchi_acquisition_load(on_cuda, names[0], NULL, &again, &err), "reopen on the device", &err);
    check(ronchi_acquisition_verify(again, &err), "verify on the device", &err);
    check(ronchi_acquisition_save(again, names[2], &options, &err), "save again", &err);
    ronchi_acquisition_destroy(again);
    size_t size[3];
    uint8_t *bytes[3];
    for (int k = 0; k < 3; k++)
        bytes[k] = file_bytes(names[k], &size[k]);
    if (size[0] != size[1])
        die("files of different sizes", NULL);
    same(bytes[0], bytes[1], size[0], "saved files");
    if (size[2] == size[0]) /* a reopened file says so in its contract; the counts must be the same */
        same(bytes[0] + size[0] / 2, bytes[2] + size[0] / 2, size[0] - size[0] / 2, "saved again");
    for (int k = 0; k < 3; k++) {
        free(bytes[k]);
        remove(names[k]);
    }
}

/* ---------------------------------------------------------------------------------------------------------- the runs
 */

static void run(ronchi_context *on_cpu, ronchi_context *on_cuda, int kind, ronchi_dtype dtype, ronchi_shape shape,
                bool spikes, bool flags)
{
    set s;
    ronchi_load_options options;
    ronchi_acquisition *cpu, *cuda;
    ronchi_acquisition_info info;
    ronchi_error err;
    printf("kind %d %s %zu x %zu x %zu x %zu%s%s\n", kind, ronchi_dtype_name(dtype), shape.scan_rows, shape.scan_cols,
           shape.det_rows, shape.det_cols, spikes ? " spikes" : "", flags ? " flagged" : "");
    fflush(stdout);
    make_set(&s, kind, dtype, shape, spikes, flags);
    ronchi_load_options_defaults(&options);
    options.profile = RONCHI_PROFILE_LANE;
    check(ronchi_acquisition_encode(on_cpu, &s.view, &s.mask, &options, &cpu, &err), "encode on the CPU", &err);
    check(ronchi_acquisition_encode(on_cuda, &s.view, &s.mask, &options, &cuda, &err), "encode on the device", &err);
    check(ronchi_acquisition_describe(cuda, &info), "describe", NULL);
    if (info.residency != RONCHI_CUDA)
        die("it is not on the device", NULL);
    check(ronchi_acquisition_verify(cuda, &err), "verify", &err);
    if (info.dtype == dtype)
        compare_bands(&s, cpu, cuda);
    compare_sums(&s, cpu, cuda);
    compare_moments(&s, cpu, cuda);
    compare_patterns(&s, cpu, cuda);
    compare_files(cpu, cuda, on_cuda);
    ronchi_acquisition_destroy(cpu);
    ronchi_acquisition_destroy(cuda);
    free_set(&s);
}

int main(int argc, char **argv)
{
    ronchi_context_options options;
    ronchi_context *on_cpu, *on_cuda;
    ronchi_error err;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int runs = argc > 2 ? atoi(argv[2]) : 8;
    ronchi_context_options_defaults(&options);
    options.device = "cpu";
    check(ronchi_context_create(&options, &on_cpu, &err), "context", &err);
    options.device = "cuda";
    if (ronchi_context_create(&options, &on_cuda, &err) != RONCHI_OK) {
        printf("skipped: %s\n", err.message);
        ronchi_context_destroy(on_cpu);
        return 77;
    }
    state = seed;
    static const ronchi_dtype dtypes[] = {RONCHI_U16, RONCHI_U8, RONCHI_U32};
    static const ronchi_shape whole = {32, 32, 16, 24}, cut = {33, 40, 13, 21};
    for (int kind = 0; kind < 7; kind++) /* each kind in whole bricks, then in cut ones */
        for (int d = 0; d < 3; d++) {
            run(on_cpu, on_cuda, kind, dtypes[d], whole, d == 0, false);
            run(on_cpu, on_cuda, kind, dtypes[d], cut, true, d != 1);
        }
    for (int k = 0; k < runs; k++) {
        ronchi_shape shape = {1 + below(70), 1 + below(70), 1 + below(30), 1 + below(30)};
        run(on_cpu, on_cuda, (int)below(7), dtypes[below(3)], shape, below(2) != 0, below(2) != 0);
    }
    ronchi_device_info info;
    check(ronchi_context_device_info(on_cuda, &info, &err), "device", &err);
    printf("%zu comparisons with the CPU, all equal, on %s; at most %.1f MB taken\n", n_checks, info.name,
           (double)info.peak_bytes / 1e6);
    ronchi_context_destroy(on_cuda);
    ronchi_context_destroy(on_cpu);
    return 0;
}
