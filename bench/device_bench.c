/* SPDX-License-Identifier: MIT */
/*
 * device_bench.c - speed of lane-rans-v1 on a CUDA device: device_bench SET.qem...
 *
 * Each set (a scan of whole 32 x 32 rectangles) is tiled to 512 x 512 positions, its chunks copied as they are.  Times
 * are of device events after a warm-up, the median of 7; results are compared with those of the CPU on the set itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/lane_rans_cuda.h"
#include "resident/acquisition.h"
#include "ronchi/ronchi.h"

enum { SIDE = 512, RUNS = 7, MOST_MASKS = 8 };

static ronchi_error err;

static void check(ronchi_status status, const char *what)
{
    if (status == RONCHI_OK)
        return;
    printf("FAILED: %s: %s\n", what, err.message);
    exit(1);
}

typedef struct bench {
    const char *name;
    const ronchi_lane_store *small;
    ronchi_lane_store *large;
    const ronchi_lane_cuda *lane;
    size_t n_pixels, n_positions;
    double gcounts;
} bench;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v)
{
    qsort(v, RUNS, sizeof *v, compare_doubles);
    return v[RUNS / 2];
}

/* Where a position of the large scan comes from: rectangles of the small one in turn. */
static size_t origin(const bench *b, size_t position)
{
    size_t row = position / SIDE, col = position % SIDE;
    size_t rect = (row / 32 * (SIDE / 32) + col / 32) % b->small->layout.n_rects;
    ronchi_lane_cut cut = ronchi_lane_rect(&b->small->layout, rect);
    return (cut.row + row % 32) * b->small->base.shape.scan_cols + cut.col + col % 32;
}

static void tile(bench *b, ronchi_context *on_cuda)
{
    const ronchi_shape *s = &b->small->base.shape;
    const ronchi_shape shape = {SIDE, SIDE, s->det_rows, s->det_cols};
    ronchi_store *store;
    check(ronchi_profile_lane_cuda.create(on_cuda, &shape, b->small->base.dtype, NULL, UINT64_MAX, &store, &err),
          "create");
    b->large = (ronchi_lane_store *)store;
    b->lane = b->large->device->table->lane;
    for (size_t i = 0; i < b->large->layout.n_rects; i++) {
        const ronchi_lane_chunk *chunk = &b->small->chunks[i % b->small->layout.n_rects];
        check(b->lane->put(b->large->on, i, chunk->payload, chunk->offset, &err), "put");
        b->large->n_filled++;
    }
    check(store->profile->finish(store, &err), "finish");
    b->lane->timing(b->large->on, 1);
    b->n_pixels = s->det_rows * s->det_cols;
    b->n_positions = (size_t)SIDE * SIDE;
    b->gcounts = (double)b->n_pixels * (double)b->n_positions / 1e9;
}

/* The planes over both scans; the host answers for the small one. */
static void sums(bench *b, const char *what, size_t n_planes, const uint32_t *const *planes, double bar_ms)
{
    const ronchi_store *small = &b->small->base, *large = &b->large->base;
    uint64_t *want = malloc(n_planes * small->n_positions * 8), *got = malloc(n_planes * b->n_positions * 8);
    double seconds[RUNS], selected = 0;
    ronchi_reduction r;
    memset(&r, 0, sizeof r);
    r.n_planes = n_planes;
    r.planes = planes;
    r.scan_rows = small->shape.scan_rows;
    r.scan_cols = small->shape.scan_cols;
    r.plane_sums = want;
    check(small->profile->reduce(small, &r, &err), "sums on the CPU");
    r.scan_rows = r.scan_cols = SIDE;
    r.plane_sums = got;
    for (int k = -1; k < RUNS; k++) {
        memset(got, 0xa5, n_planes * b->n_positions * 8);
        check(large->profile->reduce(large, &r, &err), what);
        seconds[k < 0 ? 0 : k] = b->lane->seconds(b->large->on);
    }
    for (size_t k = 0; k < n_planes; k++)
        for (size_t i = 0; i < b->n_positions; i++)
            if (got[k * b->n_positions + i] != want[k * small->n_positions + origin(b, i)]) {
                printf("FAILED: %s of %s differs at plane %zu position %zu\n", what, b->name, k, i);
                exit(1);
            }
    for (size_t p = 0; p < b->n_pixels; p++)
        selected += planes[0][p] != 0;
    double ms = median(seconds) * 1e3;
    printf("%-24s %-28s %8.3f ms  %7.0f Gpx/s selected   bar %.2f ms %s\n", b->name, what, ms,
           selected * (double)b->n_positions / ms / 1e6, bar_ms, ms <= bar_ms ? "met" : "MISSED");
    fflush(stdout);
    free(want);
    free(got);
}

static void disk(const bench *b, double in, double out, uint32_t *plane)
{
    size_t cols = b->small->base.shape.det_cols, rows = b->small->base.shape.det_rows;
    for (size_t p = 0; p < b->n_pixels; p++) {
        double y = (double)(p / cols) - (double)(rows - 1) / 2, x = (double)(p % cols) - (double)(cols - 1) / 2;
        plane[p] = y * y + x * x <= out * out && y * y + x * x >= in * in;
    }
}

/* Frames of a region to device memory; compared with the CPU's for some of them. */
static void frames(bench *b, const char *what, size_t rows, size_t cols, double bar)
{
    const ronchi_store *small = &b->small->base, *large = &b->large->base;
    ronchi_device *device = b->large->device;
    ronchi_cuda_stream stream;
    const size_t frame = b->n_pixels * 2;
    void *memory;
    double seconds[RUNS];
    const size_t row = rows == 1 ? 261 : 0, col = cols == 1 ? 300 : 0;
    ronchi_region region = {row, rows, col, cols, 0, small->shape.det_rows, 0, small->shape.det_cols};
    ronchi_shape shape = {rows, cols, region.det_rows, region.det_cols};
    check(device->table->memory_take(device, rows * cols * frame, &memory, &err), "memory for frames");
    check(device->table->stream_open(device, &stream, &err), "stream");
    ronchi_view view = ronchi_view_4d(memory, RONCHI_U16, &shape);
    view.place = RONCHI_CUDA;
    view.device = device->ordinal;
    check(device->table->fill(device, stream, memory, 0xa5, rows * cols * frame, &err), "poison");
    check(device->table->stream_wait(device, stream, &err), "poison");
    for (int k = -1; k < RUNS; k++) {
        check(large->profile->decode_band(large, &region, &view, &err), what);
        seconds[k < 0 ? 0 : k] = b->lane->seconds(b->large->on);
    }
    uint16_t *got = malloc(frame), *want = malloc(frame);
    for (size_t k = 0; k < (rows == 1 ? 1 : 512); k++) {
        size_t i = k * 7919 % (rows * cols), from = origin(b, (row + i / cols) * SIDE + col + i % cols);
        check(device->table->copy(device, stream, got, (char *)memory + i * frame, frame, &err), "copy");
        check(device->table->stream_wait(device, stream, &err), "copy");
        ronchi_region one = {
            from / small->shape.scan_cols, 1, from % small->shape.scan_cols, 1, 0, region.det_rows, 0, region.det_cols};
        ronchi_shape of_one = {1, 1, region.det_rows, region.det_cols};
        ronchi_view to = ronchi_view_4d(want, RONCHI_U16, &of_one);
        check(small->profile->decode_band(small, &one, &to, &err), "a frame on the CPU");
        if (memcmp(got, want, frame) != 0) {
            printf("FAILED: %s of %s: frame %zu differs\n", what, b->name, i);
            exit(1);
        }
    }
    double ms = median(seconds) * 1e3, rate = (double)(rows * cols) * (double)b->n_pixels / ms / 1e6;
    if (rows == 1)
        printf("%-24s %-28s %8.3f ms                            bar %.2f ms %s\n", b->name, what, ms, bar,
               ms <= bar ? "met" : "MISSED");
    else
        printf("%-24s %-28s %8.3f ms  %7.0f Gcounts/s          bar %.0f %s\n", b->name, what, ms, rate, bar,
               rate >= bar ? "met" : "MISSED");
    fflush(stdout);
    free(got);
    free(want);
    device->table->stream_close(device, stream);
    device->table->memory_give(device, memory, rows * cols * frame);
}

static void run(ronchi_context *on_cpu, ronchi_context *on_cuda, const char *path)
{
    ronchi_acquisition *acquisition;
    bench b = {.name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path};
    check(ronchi_acquisition_load(on_cpu, path, NULL, &acquisition, &err), path);
    b.small = (const ronchi_lane_store *)acquisition->store;
    if (acquisition->store->profile != &ronchi_profile_lane || b.small->base.shape.scan_rows % 32 ||
        b.small->base.shape.scan_cols % 32) {
        printf("FAILED: %s is no lane-rans-v1 scan of whole rectangles\n", path);
        exit(1);
    }
    tile(&b, on_cuda);
    const char kind = b.name[0];
    uint32_t *weights[MOST_MASKS];
    const uint32_t *planes[MOST_MASKS];
    for (size_t k = 0; k < MOST_MASKS; k++)
        planes[k] = weights[k] = malloc(b.n_pixels * sizeof *weights[k]);
    printf("%-24s %.3f Gcounts, %.1f MB on the device\n", b.name, b.gcounts, (double)b.lane->bytes(b.large->on) / 1e6);
    disk(&b, 0, 1e9, weights[0]);
    sums(&b, "everything", 1, planes, b.gcounts / 2);
    disk(&b, 0, 54.95, weights[0]);
    sums(&b, "disk 9,500 px", 1, planes, kind == 'V' ? 1.2 : kind == 'G' ? 3 : 2);
    for (size_t k = 1; k < MOST_MASKS; k++)
        disk(&b, 12 * (double)(k - 1), 12 * (double)k, weights[k]);
    disk(&b, 0, 84, weights[0]);
    sums(&b, "one mask of 84 px", 1, planes, 1e9);
    sums(&b, "that and 7 rings in it", MOST_MASKS, planes, 1e9);
    disk(&b, 60, 1e9, weights[0]);
    sums(&b, "annulus 25,560 px", 1, planes, kind == 'V' ? 1.5 : kind == 'G' ? 3.5 : 3);
    for (size_t p = 0; p < b.n_pixels; p++) {
        weights[0][p] = 1;
        weights[1][p] = (uint32_t)(p / b.small->base.shape.det_cols);
        weights[2][p] = (uint32_t)(p % b.small->base.shape.det_cols);
    }
    sums(&b, "moments of everything", 3, planes, 6);
    frames(&b, "one frame", 1, 1, 0.06);
    frames(&b, "frames", SIDE, SIDE, kind == 'G' ? 800 : 1000);
    for (size_t k = 0; k < MOST_MASKS; k++)
        free(weights[k]);
    b.large->base.profile->destroy(&b.large->base);
    ronchi_acquisition_destroy(acquisition);
}

int main(int argc, char **argv)
{
    ronchi_context_options options;
    ronchi_context *on_cpu, *on_cuda;
    ronchi_device_info info;
    ronchi_context_options_defaults(&options);
    options.device = "cpu";
    check(ronchi_context_create(&options, &on_cpu, &err), "context");
    options.device = "cuda";
    if (argc < 2 || ronchi_context_create(&options, &on_cuda, &err) != RONCHI_OK) {
        printf("skipped: %s\n", argc < 2 ? "no set was named" : err.message);
        ronchi_context_destroy(on_cpu);
        return 77;
    }
    check(ronchi_context_device_info(on_cuda, &info, &err), "device");
    printf("%s, driver for CUDA %d.%d\n", info.name, info.driver / 1000, info.driver % 1000 / 10);
    for (int i = 1; i < argc; i++)
        run(on_cpu, on_cuda, argv[i]);
    check(ronchi_context_device_info(on_cuda, &info, &err), "device");
    printf("at most %.1f MB of the device taken, frames included\n", (double)info.peak_bytes / 1e6);
    ronchi_context_destroy(on_cuda);
    ronchi_context_destroy(on_cpu);
    return 0;
}
