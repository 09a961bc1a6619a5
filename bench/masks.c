/* SPDX-License-Identifier: MIT */
/*
 * masks.c - masked sums from memory: Ronchi's, and a dense array's.  bench/masks.py drives it, so that NumPy's turns
 * lie between these.
 *
 *   masks COUNTS.npy TEMPORARY.qem ROWS COLS     uint16 counts; frames are repeated to a scan of ROWS x COLS
 *
 * Prints "ready" and the figures of what is held; then runs each row that a line of the input names and prints its
 * milliseconds and a digest of its image.  Two threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include "core/port.h"
#include "resident/acquisition.h"
#include "ronchi/ronchi.h"

enum { MASKS = 8 };

typedef struct bench {
    ronchi_context *context;
    ronchi_shape shape;
    size_t n_positions, n_pixels;
    uint8_t *dense; /* [n_positions][n_pixels] */
    ronchi_acquisition *plain, *indexed;
    ronchi_mask_session *session[2]; /* plain, indexed */
    uint8_t *masks;                  /* [MASKS][n_pixels]: the disk, moved, and smaller ones */
    size_t *run;                     /* [det_rows][2] columns of the disk in each row, the second excluded */
    uint64_t *out;                   /* [MASKS][n_positions] */
    size_t dragged[2];               /* the mask of each session: 0 or 1 */
} bench;

static void die(const char *what, const ronchi_error *err)
{
    fprintf(stderr, "masks: %s%s%s\n", what, err ? ": " : "", err ? err->message : "");
    exit(1);
}

static void must(ronchi_status status, const ronchi_error *err)
{
    if (status != RONCHI_OK)
        die("failed", err);
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory)
        die("no memory", NULL);
    return memory;
}

/* ------------------------------------------------------------------------------------------------------- the peer */

/* Counts of one run of pixels; as fast as this processor reads them. */
static uint64_t sum_run(const uint8_t *from, size_t n)
{
    uint64_t sum = 0;
#if defined(__AVX512BW__)
    __m512i acc = _mm512_setzero_si512();
    for (; n >= 64; n -= 64, from += 64)
        acc = _mm512_add_epi64(acc, _mm512_sad_epu8(_mm512_loadu_si512(from), _mm512_setzero_si512()));
    if (n)
        acc = _mm512_add_epi64(
            acc, _mm512_sad_epu8(_mm512_maskz_loadu_epi8((UINT64_C(1) << n) - 1, from), _mm512_setzero_si512()));
    sum = (uint64_t)_mm512_reduce_add_epi64(acc);
#else
    uint32_t part = 0; /* rows of a detector are short */
    for (size_t i = 0; i < n; i++)
        part += from[i];
    sum = part;
#endif
    return sum;
}

enum { FRAMES = 128 };

static ronchi_status dense_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const bench *b = user;
    (void)worker;
    (void)err;
    for (size_t i = item * FRAMES; i < ronchi_min_size((item + 1) * FRAMES, b->n_positions); i++) {
        const uint8_t *frame = b->dense + i * b->n_pixels;
        b->out[i] = 0;
        for (size_t r = 0; r < b->shape.det_rows; r++)
            b->out[i] += sum_run(frame + r * b->shape.det_cols + b->run[2 * r], b->run[2 * r + 1] - b->run[2 * r]);
    }
    return RONCHI_OK;
}

static void dense_disk(bench *b)
{
    ronchi_parallel_for(b->context, ronchi_div_up(b->n_positions, FRAMES), dense_item, b, NULL);
}

/* ----------------------------------------------------------------------------------------------------------- ours */

static void sums_of(bench *b, const ronchi_acquisition *a, size_t n)
{
    ronchi_shape masks = {1, n, b->shape.det_rows, b->shape.det_cols};
    ronchi_shape images = {1, n, b->shape.scan_rows, b->shape.scan_cols};
    ronchi_view in = ronchi_view_4d(b->masks, RONCHI_U8, &masks), out = ronchi_view_4d(b->out, RONCHI_U64, &images);
    ronchi_error err;
    must(ronchi_detector_sums(a, &in, &out, &err), &err);
}

static void drag(bench *b, int which)
{
    b->dragged[which] = !b->dragged[which];
    ronchi_view in =
        ronchi_view_2d(b->masks + b->dragged[which] * b->n_pixels, RONCHI_U8, b->shape.det_rows, b->shape.det_cols);
    ronchi_view out = ronchi_view_2d(b->out, RONCHI_U64, b->shape.scan_rows, b->shape.scan_cols);
    ronchi_error err;
    must(ronchi_mask_session_sum(b->session[which], &in, &out, &err), &err);
}

static void disk(bench *b)
{
    sums_of(b, b->plain, 1);
}

static void disk_indexed(bench *b)
{
    sums_of(b, b->indexed, 1);
}

static void masks8(bench *b)
{
    sums_of(b, b->plain, MASKS);
}

static void masks8_indexed(bench *b)
{
    sums_of(b, b->indexed, MASKS);
}

static void drag_plain(bench *b)
{
    drag(b, 0);
}

static void drag_indexed(bench *b)
{
    drag(b, 1);
}

static void moments(bench *b)
{
    ronchi_view out[3];
    ronchi_error err;
    for (size_t k = 0; k < 3; k++)
        out[k] = ronchi_view_2d(b->out + k * b->n_positions, RONCHI_U64, b->shape.scan_rows, b->shape.scan_cols);
    must(ronchi_detector_moments(b->plain, NULL, &out[0], &out[1], &out[2], &err), &err);
}

static void total(bench *b)
{
    uint8_t *kept = b->masks;
    b->masks = allocate(b->n_pixels, 1);
    memset(b->masks, 1, b->n_pixels);
    sums_of(b, b->plain, 1);
    free(b->masks);
    b->masks = kept;
}

static void mean(bench *b)
{
    double *pattern = allocate(b->n_pixels, sizeof *pattern);
    ronchi_view out = ronchi_view_2d(pattern, RONCHI_F64, b->shape.det_rows, b->shape.det_cols);
    ronchi_error err;
    must(ronchi_detector_pattern(b->plain, RONCHI_REDUCE_MEAN, NULL, NULL, &out, &err), &err);
    free(pattern);
}

static const struct row {
    const char *name;
    void (*run)(bench *);
    size_t n_images; /* in the digest */
} rows[] = {
    {"dense", dense_disk, 1},
    {"disk", disk, 1},
    {"drag", drag_plain, 1},
    {"masks8", masks8, MASKS},
    {"total", total, 1},
    {"moments", moments, 3},
    {"mean", mean, 0},
    {"disk_indexed", disk_indexed, 1},
    {"drag_indexed", drag_indexed, 1},
    {"masks8_indexed", masks8_indexed, MASKS},
};

/* --------------------------------------------------------------------------------------------------------- set-up */

static void make_masks(bench *b)
{
    const double row = ((double)b->shape.det_rows - 1) / 2, col = ((double)b->shape.det_cols - 1) / 2;
    b->masks = allocate(MASKS, b->n_pixels);
    b->run = allocate(b->shape.det_rows, 2 * sizeof *b->run);
    for (size_t k = 0; k < MASKS; k++) {
        ronchi_view view = ronchi_view_2d(b->masks + k * b->n_pixels, RONCHI_U8, b->shape.det_rows, b->shape.det_cols);
        double by = (double)k, radius = k < 2 ? 55 : 55 - 4 * by;
        must(ronchi_detector_annulus(row + (k > 1 ? by : 0), col + by, 0, radius, &view), NULL);
    }
    for (size_t p = 0; p < b->n_pixels; p++)
        if (b->masks[p]) {
            size_t *run = b->run + p / b->shape.det_cols * 2;
            run[0] = run[1] ? run[0] : p % b->shape.det_cols;
            run[1] = p % b->shape.det_cols + 1;
        }
}

/* Repeats the frames of the file over the scan. */
static uint16_t *repeat(bench *b, const char *path)
{
    ronchi_view view;
    void *memory;
    ronchi_error err;
    must(ronchi_npy_read(path, &view, &memory, &err), &err);
    if (view.dtype != RONCHI_U16)
        die("the counts are not uint16", NULL);
    b->shape.det_rows = view.shape[2];
    b->shape.det_cols = view.shape[3];
    b->n_positions = b->shape.scan_rows * b->shape.scan_cols;
    b->n_pixels = b->shape.det_rows * b->shape.det_cols;
    uint16_t *counts = allocate(b->n_positions * b->n_pixels, sizeof *counts);
    for (size_t i = 0; i < b->n_positions; i++)
        memcpy(
            counts + i * b->n_pixels,
            ronchi_view_at(&view, i / b->shape.scan_cols % view.shape[0], i % b->shape.scan_cols % view.shape[1], 0, 0),
            b->n_pixels * sizeof *counts);
    free(memory);
    return counts;
}

static void load(bench *b, const char *path, const char *temporary)
{
    uint16_t *counts = repeat(b, path);
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U16, &b->shape);
    ronchi_load_options options;
    ronchi_save_options save;
    ronchi_error err;
    ronchi_load_options_defaults(&options);
    ronchi_save_options_defaults(&save);
    options.profile = RONCHI_PROFILE_LANE;
    save.index = save.force = 1;
    must(ronchi_acquisition_encode(b->context, &view, NULL, &options, &b->plain, &err), &err);
    b->dense = allocate(b->n_positions, b->n_pixels);
    for (size_t i = 0; i < b->n_positions * b->n_pixels; i++) {
        if (counts[i] > UINT8_MAX)
            die("a count does not fit the dense uint8 array", NULL);
        b->dense[i] = (uint8_t)counts[i];
    }
    free(counts);
    must(ronchi_acquisition_save(b->plain, temporary, &save, &err), &err);
    must(ronchi_acquisition_load(b->context, temporary, NULL, &b->indexed, &err), &err);
    must(ronchi_mask_session_create(b->plain, &b->session[0], &err), &err);
    must(ronchi_mask_session_create(b->indexed, &b->session[1], &err), &err);
    b->out = allocate(MASKS, b->n_positions * sizeof *b->out);
}

static uint64_t digest(const bench *b, size_t n_images)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n_images * b->n_positions; i++)
        sum += b->out[i] * (i + 1);
    return sum;
}

static void serve(bench *b)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            if (strcmp(line, rows[i].name) == 0) {
                double start = ronchi_now();
                rows[i].run(b);
                printf("%.4f %llu\n", (ronchi_now() - start) * 1e3, (unsigned long long)digest(b, rows[i].n_images));
                fflush(stdout);
            }
    }
}

int main(int argc, char **argv)
{
    bench b;
    ronchi_context_options options;
    ronchi_acquisition_info info, indexed;
    ronchi_error err;
    memset(&b, 0, sizeof b);
    if (argc != 5)
        die("masks COUNTS.npy TEMPORARY.qem ROWS COLS", NULL);
    b.shape.scan_rows = (size_t)atoi(argv[3]);
    b.shape.scan_cols = (size_t)atoi(argv[4]);
    ronchi_context_options_defaults(&options);
    options.threads = 2;
    must(ronchi_context_create(&options, &b.context, &err), &err);
    load(&b, argv[1], argv[2]);
    make_masks(&b);
    ronchi_acquisition_describe(b.plain, &info);
    ronchi_acquisition_describe(b.indexed, &indexed);
    printf("ready %llu %llu\n", (unsigned long long)info.resident_bytes, (unsigned long long)indexed.index_bytes);
    fflush(stdout);
    serve(&b);
    ronchi_mask_session_destroy(b.session[0]);
    ronchi_mask_session_destroy(b.session[1]);
    ronchi_acquisition_destroy(b.plain);
    ronchi_acquisition_destroy(b.indexed);
    free(b.dense);
    free(b.masks);
    free(b.run);
    free(b.out);
    ronchi_context_destroy(b.context);
    return 0;
}
