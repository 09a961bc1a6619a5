/* SPDX-License-Identifier: MIT */
/*
 * geometry.c - turning the scan of an encoded acquisition, beside decoding and encoding all of its counts.
 *
 *   geometry COUNTS.qem [rounds]    on all processors, median of the rounds, in which the rows take turns
 *
 * The decoded counts of the turned scan are compared with the moved counts before anything is timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/port.h"
#include "ronchi/ronchi.h"

enum { MAX_ROUNDS = 101, ROWS = 4 };

typedef struct bench {
    ronchi_context *context;
    ronchi_acquisition *acquisition;
    ronchi_acquisition_info info;
    char *counts; /* all of them, of info.dtype */
} bench;

static void check(ronchi_status status, const ronchi_error *err)
{
    if (status == RONCHI_OK)
        return;
    fprintf(stderr, "geometry: %s\n", err->message);
    exit(1);
}

static void read_all(const ronchi_acquisition *from, const ronchi_acquisition_info *info, void *to)
{
    ronchi_error err = {0};
    ronchi_view view = ronchi_view_4d(to, info->dtype, &info->shape);
    check(ronchi_acquisition_read(from, NULL, RONCHI_READ_RAW, &view, &err), &err);
}

static void decode(bench *b)
{
    read_all(b->acquisition, &b->info, b->counts);
}

static void encode(bench *b)
{
    ronchi_error err = {0};
    ronchi_acquisition *copy;
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.profile = b->info.profile;
    ronchi_view view = ronchi_view_4d(b->counts, b->info.dtype, &b->info.shape);
    check(ronchi_acquisition_encode(b->context, &view, NULL, &options, &copy, &err), &err);
    ronchi_acquisition_destroy(copy);
}

static ronchi_acquisition *turn(bench *b, double angle)
{
    ronchi_error err = {0};
    ronchi_acquisition *turned;
    check(ronchi_geometry_rotate_scan(b->acquisition, angle, NULL, NULL, &turned, &err), &err);
    return turned;
}

static void quarter(bench *b)
{
    ronchi_acquisition_destroy(turn(b, -90));
}

static void nearest(bench *b)
{
    ronchi_acquisition_destroy(turn(b, 33));
}

/* -90 degrees is clockwise: position (i, j) comes from (rows - 1 - j, i). */
static void compare(bench *b)
{
    ronchi_acquisition *turned = turn(b, -90);
    ronchi_acquisition_info info;
    const ronchi_shape *s = &b->info.shape;
    const size_t frame = s->det_rows * s->det_cols * ronchi_dtype_size(b->info.dtype);
    char *moved = malloc(s->scan_rows * s->scan_cols * frame);
    if (!moved || ronchi_acquisition_describe(turned, &info) != RONCHI_OK)
        exit(1);
    decode(b);
    read_all(turned, &info, moved);
    for (size_t i = 0; i < info.shape.scan_rows; i++)
        for (size_t j = 0; j < info.shape.scan_cols; j++)
            if (memcmp(moved + (i * info.shape.scan_cols + j) * frame,
                       b->counts + ((s->scan_rows - 1 - j) * s->scan_cols + i) * frame, frame) != 0) {
                fprintf(stderr, "geometry: position (%zu, %zu) of the turned scan is wrong\n", i, j);
                exit(1);
            }
    free(moved);
    ronchi_acquisition_destroy(turned);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static void (*const work[ROWS])(bench *) = {decode, encode, quarter, nearest};
    static double seconds[ROWS][MAX_ROUNDS];
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    bench b = {0};
    ronchi_error err = {0};
    if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: geometry COUNTS.qem [rounds]\n");
        return 2;
    }
    check(ronchi_context_create(NULL, &b.context, &err), &err);
    check(ronchi_acquisition_load(b.context, argv[1], NULL, &b.acquisition, &err), &err);
    check(ronchi_acquisition_describe(b.acquisition, &b.info), &err);
    const ronchi_shape *s = &b.info.shape;
    b.counts = malloc(s->scan_rows * s->scan_cols * s->det_rows * s->det_cols * ronchi_dtype_size(b.info.dtype));
    if (!b.counts)
        return 1;
    compare(&b);
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < ROWS; k++) {
            double start = ronchi_now();
            work[k](&b);
            seconds[k][r] = ronchi_now() - start;
        }
    for (int k = 0; k < ROWS; k++)
        qsort(seconds[k], (size_t)rounds, sizeof seconds[k][0], ascending);
    double both = seconds[0][rounds / 2] + seconds[1][rounds / 2];
    printf("decode all %.3f s, encode all %.3f s\n", seconds[0][rounds / 2], seconds[1][rounds / 2]);
    printf("turn by -90 degrees %.3f s, %.2f of decode + encode; by 33 degrees, nearest, full %.3f s, %.2f\n",
           seconds[2][rounds / 2], seconds[2][rounds / 2] / both, seconds[3][rounds / 2],
           seconds[3][rounds / 2] / both);
    free(b.counts);
    ronchi_acquisition_destroy(b.acquisition);
    ronchi_context_destroy(b.context);
    return 0;
}
