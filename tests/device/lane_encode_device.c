/* SPDX-License-Identifier: MIT */
/*
 * lane_encode_device.c - scan rectangles encoded on a CUDA device: the same words as the CPU's, brick by brick, of odd
 * detectors and short bricks, all dose levels, uint8/16/32, flagged pixels, extreme values, noise, nothing at all; and
 * the same again fifty times.
 *   lane_encode_device [SEED [RUNS]]     exit code 77 without a device
 *   lane_encode_device --bench DOSE...   encodes a simulated 64 x 64 scan of 192 x 192, repeated to 512 x 512
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/lane_rans_cuda.h"
#include "device/numbers.h"
#include "ronchi/ronchi.h"

static uint64_t state;
static size_t n_bricks;

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

static void check(ronchi_status status, const char *what, const ronchi_error *err)
{
    if (status == RONCHI_OK)
        return;
    printf("FAILED: %s: %s\n", what, err ? err->message : "");
    exit(1);
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

/* How a set's pixels are: a mean, or one of the kinds below 0. */
enum { NOISE = -1, CONSTANT = -2, NOTHING = -3, FULL = -4, TWO_VALUES = -5 };
static const char *const kinds[] = {"every dose", "sparse",     "counts",  "sparse and counts", "wide",
                                    "noise",      "everything", "nothing", "saturated",         "more than Poisson"};
enum { BUDGET = 1 << 28 };
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static double pixel_mean(int kind)
{
    static const double dose[] = {0.0005, 0.01, 0.08, 0.5, 3, 9, 60, 400, 3000};
    switch (kind) {
    case 0:
        return dose[below(9)];
    case 1:
        return 0.1 * unit() * unit() * unit();
    case 2:
        return 0.15 + 5 * unit();
    case 3:
        return below(2) ? 0.05 * unit() : 1 + unit();
    case 4:
        return 10 + 300 * unit();
    case 5:
        return NOISE;
    case 7:
        return NOTHING;
    case 8:
        return FULL;
    case 9:
        return 0.2 + 12 * unit();
    default:
        return below(3) ? dose[below(9)] : NOISE - (double)below(5);
    }
}

static uint32_t draw(int kind, double mean, uint32_t largest, bool spikes)
{
    uint32_t v = mean >= 0            ? poisson(kind == 9 ? mean * 2 * unit() : mean)
                 : mean == NOISE      ? (uint32_t)next64() & largest
                 : mean == CONSTANT   ? 7
                 : mean == FULL       ? largest
                 : mean == TWO_VALUES ? (below(2) ? largest : largest - 1)
                                      : 0;
    if (spikes && below(500) == 0)
        v = below(3) == 0 ? largest : (uint32_t)(next64() >> below(32) >> 32);
    return v < largest ? v : largest;
}

static void draw_frames(int kind, ronchi_dtype dtype, const double *mean, size_t n, size_t n_pixels, bool spikes,
                        void *frames)
{
    const uint32_t largest = dtype == RONCHI_U8 ? UINT8_MAX : dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < n_pixels; p++) {
            uint32_t v = draw(kind, mean[p], largest, spikes);
            if (dtype == RONCHI_U8)
                ((uint8_t *)frames)[i * n_pixels + p] = (uint8_t)v;
            else if (dtype == RONCHI_U16)
                ((uint16_t *)frames)[i * n_pixels + p] = (uint16_t)v;
            else
                ((uint32_t *)frames)[i * n_pixels + p] = v;
        }
}

/* ------------------------------------------------------------------------------------------------------- comparisons
 */

/* Chunk 'rect' of both stores: offsets and words. */
static void compare_chunk(const ronchi_store *cpu, const ronchi_store *cuda, size_t rect)
{
    const ronchi_lane_store *a = (const ronchi_lane_store *)cpu, *b = (const ronchi_lane_store *)cuda;
    const ronchi_lane_chunk *chunk = &a->chunks[rect];
    const ronchi_lane_cuda *lane = b->device->table->lane;
    const size_t n = a->layout.n_tiles, words = (size_t)lane->words_of(b->on, rect);
    uint16_t *got = malloc(2 * words + 2);
    uint32_t *offset = malloc((n + 1) * sizeof *offset);
    ronchi_error err;
    check(lane->get(b->on, rect, got, offset, &err), "reading a chunk back", &err);
    for (size_t t = 0; t < n; t++, n_bricks++) {
        const uint16_t *want = chunk->payload + chunk->offset[t];
        const size_t size = chunk->offset[t + 1] - chunk->offset[t];
        const bool same_size = offset[t] == chunk->offset[t] && offset[t + 1] - offset[t] == size;
        size_t i = 0;
        while (same_size && i < size && got[offset[t] + i] == want[i])
            i++;
        if (same_size && i == size)
            continue;
        printf("FAILED: chunk %zu brick %zu: %u words at %u instead of %zu at %u, word %zu differs; head %04x, %04x\n",
               rect, t, offset[t + 1] - offset[t], offset[t], size, chunk->offset[t], i, size ? got[offset[t]] : 0,
               size ? want[0] : 0);
        exit(1);
    }
    free(got);
    free(offset);
}

static void run(ronchi_context *on_cpu, ronchi_context *on_cuda, int kind, ronchi_dtype dtype, ronchi_shape shape,
                bool spikes, bool flags, size_t repeats)
{
    const size_t n_pixels = shape.det_rows * shape.det_cols;
    double *mean = malloc(n_pixels * sizeof *mean);
    uint8_t *valid = malloc(n_pixels);
    void *frames = malloc(1024 * n_pixels * ronchi_dtype_size(dtype));
    ronchi_store *cpu, *cuda;
    ronchi_error err;
    printf("%s, %s, %zu x %zu x %zu x %zu%s%s\n", kinds[kind], ronchi_dtype_name(dtype), shape.scan_rows,
           shape.scan_cols, shape.det_rows, shape.det_cols, spikes ? ", spikes" : "", flags ? ", flagged" : "");
    fflush(stdout);
    for (size_t p = 0; p < n_pixels; p++) {
        mean[p] = pixel_mean(kind);
        valid[p] = !(flags && below(20) == 0);
    }
    const uint64_t seed = state;
    for (size_t k = 0; k < repeats; k++) {
        state = seed;
        check(ronchi_profile_lane.create(on_cpu, &shape, dtype, valid, BUDGET, &cpu, &err), "a store", &err);
        check(ronchi_profile_lane_cuda.create(on_cuda, &shape, dtype, valid, BUDGET, &cuda, &err), "a store", &err);
        for (size_t i = 0; i < ronchi_profile_lane.n_blocks(cpu); i++) {
            const ronchi_lane_cut rect = ronchi_lane_rect(&((ronchi_lane_store *)cpu)->layout, i);
            draw_frames(kind, dtype, mean, rect.rows * rect.cols, n_pixels, spikes, frames);
            check(ronchi_profile_lane.encode_block(cpu, i, frames, &err), "encoding on the CPU", &err);
            check(ronchi_profile_lane_cuda.encode_block(cuda, i, frames, &err), "encoding on the device", &err);
        }
        check(ronchi_profile_lane_cuda.finish(cuda, &err), "finish", &err);
        for (size_t i = 0; i < ronchi_profile_lane.n_blocks(cpu); i++)
            compare_chunk(cpu, cuda, i);
        if (cpu->max_count != cuda->max_count) {
            printf("FAILED: largest count %llu instead of %llu\n", (unsigned long long)cuda->max_count,
                   (unsigned long long)cpu->max_count);
            exit(1);
        }
        ronchi_profile_lane_cuda.destroy(cuda);
        ronchi_profile_lane.destroy(cpu);
    }
    free(frames);
    free(valid);
    free(mean);
}

/* The same frames 'times' times in one store. */
static void run_again(ronchi_context *on_cpu, ronchi_context *on_cuda, size_t times)
{
    ronchi_shape one = {32, 32, 40, 48}, many = {32 * times, 32, 40, 48};
    const size_t n_pixels = one.det_rows * one.det_cols;
    double *mean = malloc(n_pixels * sizeof *mean);
    uint16_t *frames = malloc(1024 * n_pixels * sizeof *frames);
    ronchi_store *cpu, *cuda;
    ronchi_error err;
    for (size_t p = 0; p < n_pixels; p++)
        mean[p] = pixel_mean(6);
    draw_frames(6, RONCHI_U16, mean, 1024, n_pixels, true, frames);
    check(ronchi_profile_lane.create(on_cpu, &many, RONCHI_U16, NULL, BUDGET, &cpu, &err), "a store", &err);
    check(ronchi_profile_lane_cuda.create(on_cuda, &many, RONCHI_U16, NULL, BUDGET, &cuda, &err), "a store", &err);
    for (size_t i = 0; i < times; i++) {
        check(ronchi_profile_lane.encode_block(cpu, i, frames, &err), "encoding on the CPU", &err);
        check(ronchi_profile_lane_cuda.encode_block(cuda, i, frames, &err), "encoding on the device", &err);
    }
    check(ronchi_profile_lane_cuda.finish(cuda, &err), "finish", &err);
    for (size_t i = 0; i < times; i++)
        compare_chunk(cpu, cuda, i);
    ronchi_profile_lane_cuda.destroy(cuda);
    ronchi_profile_lane.destroy(cpu);
    free(frames);
    free(mean);
}

/* ------------------------------------------------------------------------------------------------------------- bench
 */

/* Frames of a simulated 64 x 64 scan on the device, rectangle by rectangle. */
static void *simulated_frames(ronchi_context *on_cpu, ronchi_device *device, double dose)
{
    static const char path[] = "lane_encode_device_master.h5";
    ronchi_simulate_options options;
    ronchi_load_options load;
    ronchi_acquisition *a;
    ronchi_error err;
    void *on_device;
    ronchi_cuda_stream stream;
    const size_t bytes = (size_t)1024 * 192 * 192 * 2;
    uint16_t *frames = malloc(bytes);
    ronchi_simulate_options_defaults(&options);
    options.scan_rows = options.scan_cols = 64;
    options.det_rows = options.det_cols = 192;
    options.dose = dose;
    options.force = 1;
    ronchi_load_options_defaults(&load);
    check(ronchi_simulate(on_cpu, path, &options, &err), "simulating", &err);
    check(ronchi_acquisition_load(on_cpu, path, &load, &a, &err), "loading", &err);
    check(device->table->memory_take(device, 4 * bytes, &on_device, &err), "device memory", &err);
    check(device->table->stream_open(device, &stream, &err), "a stream", &err);
    for (size_t i = 0; i < 4; i++) {
        const ronchi_region r = {i / 2 * 32, 32, i % 2 * 32, 32, 0, 192, 0, 192};
        const ronchi_shape shape = {32, 32, 192, 192};
        ronchi_view view = ronchi_view_4d(frames, RONCHI_U16, &shape);
        check(ronchi_acquisition_read(a, &r, RONCHI_READ_RAW, &view, &err), "reading", &err);
        check(device->table->copy(device, stream, (char *)on_device + i * bytes, frames, bytes, &err), "copying", &err);
        check(device->table->stream_wait(device, stream, &err), "copying", &err);
    }
    device->table->stream_close(device, stream);
    ronchi_acquisition_destroy(a);
    free(frames);
    return on_device;
}

static void bench(ronchi_context *on_cpu, ronchi_context *on_cuda, double dose)
{
    ronchi_device *device = ronchi_context_device(on_cuda);
    const ronchi_cuda_table *t = device->table;
    const ronchi_shape shape = {512, 512, 192, 192};
    const size_t bytes = (size_t)1024 * 192 * 192 * 2;
    char *frames = simulated_frames(on_cpu, device, dose);
    ronchi_cuda_stream stream;
    ronchi_cuda_event from, to;
    ronchi_error err;
    double best = 0, all[5], bits = 0;
    check(t->stream_open(device, &stream, &err), "a stream", &err);
    check(t->event_open(device, &from, &err), "an event", &err);
    check(t->event_open(device, &to, &err), "an event", &err);
    for (int round = -1; round < 5; round++) {
        ronchi_store *store;
        double seconds;
        check(ronchi_profile_lane_cuda.create(on_cuda, &shape, RONCHI_U16, NULL, BUDGET, &store, &err), "a store",
              &err);
        check(t->event_record(device, from, stream, &err), "an event", &err);
        for (size_t i = 0; i < 256; i++)
            check(ronchi_lane_encode_on_device(store, i, frames + i % 4 * bytes, stream, &err), "encoding", &err);
        check(ronchi_profile_lane_cuda.finish(store, &err), "finish", &err); /* and every brick checked */
        check(t->event_record(device, to, stream, &err), "an event", &err);
        check(t->event_wait(device, to, &err), "an event", &err);
        check(t->event_seconds(device, from, to, &seconds, &err), "an event", &err);
        bits = (double)((ronchi_lane_store *)store)->body_bytes * 8 / (262144.0 * 36864);
        if (round >= 0)
            all[round] = 262144.0 * 36864 / seconds / 1e9;
        ronchi_profile_lane_cuda.destroy(store);
    }
    for (int i = 0; i < 5; i++)
        best = all[i] > best ? all[i] : best;
    for (int i = 0; i < 5; i++) /* the median to all[2] */
        for (int k = i + 1; k < 5; k++)
            if (all[k] < all[i]) {
                double swap = all[i];
                all[i] = all[k];
                all[k] = swap;
            }
    printf("dose %-6g encode %7.1f Gcounts/s (best %.1f), %.3f bits a count\n", dose, all[2], best, bits);
    fflush(stdout);
    t->event_close(device, from);
    t->event_close(device, to);
    t->stream_close(device, stream);
    t->memory_give(device, frames, 4 * bytes);
}

static void run_all(ronchi_context *on_cpu, ronchi_context *on_cuda, int runs)
{
    static const ronchi_dtype dtypes[] = {RONCHI_U16, RONCHI_U8, RONCHI_U32};
    static const ronchi_shape shapes[] = {{32, 32, 16, 24}, {33, 40, 13, 21}, {1, 1, 5, 9},
                                          {3, 2, 7, 70},    {20, 20, 40, 3},  {16, 32, 1, 130}};
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int d = 0; d < 3; d++)
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
                run(on_cpu, on_cuda, kind, dtypes[d], shapes[s], s % 2 == 1, s % 3 == 1, 1);
    for (int k = 0; k < runs; k++) {
        ronchi_shape shape = {1 + below(70), 1 + below(70), 1 + below(30), 1 + below(30)};
        run(on_cpu, on_cuda, (int)below(N_KINDS), dtypes[below(3)], shape, below(2) != 0, below(2) != 0, 1);
    }
    run_again(on_cpu, on_cuda, 50);
}

int main(int argc, char **argv)
{
    ronchi_context_options options;
    ronchi_context *on_cpu, *on_cuda;
    ronchi_error err;
    ronchi_context_options_defaults(&options);
    options.device = "cpu";
    check(ronchi_context_create(&options, &on_cpu, &err), "context", &err);
    options.device = "cuda";
    if (ronchi_context_create(&options, &on_cuda, &err) != RONCHI_OK) {
        printf("skipped: %s\n", err.message);
        ronchi_context_destroy(on_cpu);
        return 77;
    }
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        for (int i = 2; i < argc; i++)
            bench(on_cpu, on_cuda, atof(argv[i]));
    } else {
        state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
        int runs = argc > 2 ? atoi(argv[2]) : 8;
        if (runs < 0) /* a small set of everything, for sanitizers */
            for (int kind = 0; kind < N_KINDS; kind++)
                run(on_cpu, on_cuda, kind,
                    kind % 3 == 0   ? RONCHI_U16
                    : kind % 3 == 1 ? RONCHI_U8
                                    : RONCHI_U32,
                    (ronchi_shape){9, 21 + 16 * (size_t)(kind % 2), 9, 17}, true, true, 1);
        else
            run_all(on_cpu, on_cuda, runs);
        printf("%zu bricks, all the same as on the CPU\n", n_bricks);
    }
    ronchi_context_destroy(on_cuda);
    ronchi_context_destroy(on_cpu);
    return 0;
}
