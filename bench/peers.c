/* SPDX-License-Identifier: MIT */
/*
 * peers.c - Ronchi's inner loops and other programs' on the same counts, in turn, in one run.
 *
 *   peers COUNTS.npy [rounds [MASTER.h5 NEW.qem]]    uint16 counts [scan_row][scan_col][det_row][det_col], one thread,
 * median of the rounds
 *
 * Rows: decoding bitshuffle + LZ4 frames (peer: bitshuffle 0.5.2 with the LZ4 it carries, built from source with
 * -O3 -march=native); each profile reduced to one sum a position and decoded to uint16 frames (peer: the same
 * bitshuffle + LZ4 decode alone) and encoded (peer: bitshuffle + LZ4 compression); with a master and the name of a new
 * file, 'ronchi convert' of it on two threads (peer: the decode of the same chunks on two threads, nothing written).
 * Every result is compared with the counts before anything is timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/profile.h"
#include "core/port.h"
#include "formats/bslz4.h"
#include "resident/acquisition.h"
#include "ronchi/ronchi.h"

#ifdef RONCHI_BENCH_BITSHUFFLE
#include "bitshuffle.h"
#endif

enum { MAX_ROUNDS = 101 };

typedef struct bench {
    ronchi_context *context;
    const uint16_t *counts;
    ronchi_shape shape;
    size_t n_frames, n_pixels, frame_bytes;
    uint8_t **chunks; /* [n_frames] one bslz4 chunk each */
    size_t *chunk_bytes;
    uint8_t *frame;                  /* one decoded frame */
    ronchi_acquisition *acquisition; /* of the profile being timed */
    uint64_t *sums;                  /* [n_frames] */
    uint16_t *band;                  /* a few frames */
    uint8_t *encoded;                /* one encoded frame */
    ronchi_profile_id profile;       /* being timed */
    ronchi_context *two;             /* of two threads */
    const char *master, *copy;       /* NULL: not given */
    uint8_t *frame_of[2];            /* [frame_bytes] of each thread */
} bench;

static void die(const char *what, const ronchi_error *err)
{
    fprintf(stderr, "peers: %s%s%s\n", what, err ? ": " : "", err ? err->message : "");
    exit(1);
}

static void *must(void *memory)
{
    if (!memory)
        die("no memory", NULL);
    return memory;
}

/* --------------------------------------------------------------------------------------------- what is timed */

static void ours_bslz4(bench *b)
{
    const ronchi_kernels *kernels = ronchi_context_kernels(b->context);
    ronchi_error err;
    for (size_t i = 0; i < b->n_frames; i++)
        if (ronchi_bslz4_decode(kernels, b->chunks[i], b->chunk_bytes[i], 2, b->frame, b->frame_bytes, &err) !=
            RONCHI_OK)
            die("bslz4", &err);
}

#ifdef RONCHI_BENCH_BITSHUFFLE
static void peer_bslz4(bench *b)
{
    for (size_t i = 0; i < b->n_frames; i++)
        if (bshuf_decompress_lz4(b->chunks[i] + 12, b->frame, b->n_pixels, 2, 8192 / 2) < 0)
            die("bitshuffle cannot decode", NULL);
}
#endif

/* Frames in memory become an encoded acquisition. */
static void ours_encode(bench *b)
{
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.profile = b->profile;
    ronchi_view view = ronchi_view_4d((void *)b->counts, RONCHI_U16, &b->shape);
    ronchi_acquisition *acquisition;
    ronchi_error err;
    if (ronchi_acquisition_encode(b->context, &view, NULL, &options, &acquisition, &err) != RONCHI_OK)
        die("encode", &err);
    ronchi_acquisition_destroy(acquisition);
}

static void ours_convert(bench *b)
{
    ronchi_load_options options;
    ronchi_save_options how;
    ronchi_load_options_defaults(&options);
    ronchi_save_options_defaults(&how);
    options.profile = RONCHI_PROFILE_LANE;
    how.force = 1;
    ronchi_acquisition *acquisition;
    ronchi_error err;
    if (ronchi_acquisition_load(b->two, b->master, &options, &acquisition, &err) != RONCHI_OK ||
        ronchi_acquisition_save(acquisition, b->copy, &how, &err) != RONCHI_OK)
        die("convert", &err);
    ronchi_acquisition_destroy(acquisition);
}

#ifdef RONCHI_BENCH_BITSHUFFLE
static void peer_encode(bench *b)
{
    for (size_t i = 0; i < b->n_frames; i++)
        if (bshuf_compress_lz4(b->counts + i * b->n_pixels, b->encoded, b->n_pixels, 2, 8192 / 2) < 0)
            die("bitshuffle cannot encode", NULL);
}

static ronchi_status peer_frame(void *user, size_t i, size_t worker, ronchi_error *err)
{
    const bench *b = user;
    (void)err;
    if (bshuf_decompress_lz4(b->chunks[i] + 12, b->frame_of[worker], b->n_pixels, 2, 8192 / 2) < 0)
        die("bitshuffle cannot decode", NULL);
    return RONCHI_OK;
}

static void peer_two(bench *b)
{
    ronchi_parallel_for(b->two, b->n_frames, peer_frame, b, NULL);
}
#endif

static void reduced(bench *b)
{
    static uint32_t *ones; /* a mask of all pixels, made once */
    if (!ones) {
        ones = must(malloc(b->n_pixels * sizeof *ones));
        for (size_t p = 0; p < b->n_pixels; p++)
            ones[p] = 1;
    }
    const uint32_t *planes[1] = {ones};
    ronchi_reduction reduction;
    memset(&reduction, 0, sizeof reduction);
    reduction.scan_rows = b->shape.scan_rows;
    reduction.scan_cols = b->shape.scan_cols;
    reduction.n_planes = 1;
    reduction.planes = planes;
    reduction.plane_sums = b->sums;
    ronchi_error err;
    if (ronchi_acquisition_reduce(b->acquisition, &reduction, &err) != RONCHI_OK)
        die("reduce", &err);
}

/* Whole scan rectangles: half a stream of lane-rans-v1 costs as much to decode as all of it. */
enum { BAND_ROWS = 32 };

static void frames(bench *b)
{
    ronchi_region region = ronchi_region_all(&b->shape);
    ronchi_shape band = {BAND_ROWS, b->shape.scan_cols, b->shape.det_rows, b->shape.det_cols};
    ronchi_error err;
    for (size_t row = 0; row < b->shape.scan_rows; row += BAND_ROWS) {
        region.scan_row = row;
        region.scan_rows = band.scan_rows = ronchi_min_size(BAND_ROWS, b->shape.scan_rows - row);
        ronchi_view out = ronchi_view_4d(b->band, RONCHI_U16, &band);
        if (ronchi_acquisition_read(b->acquisition, &region, RONCHI_READ_RAW, &out, &err) != RONCHI_OK)
            die("read", &err);
    }
}

/* ------------------------------------------------------------------------------------------------------ checks */

static void check_frames(bench *b)
{
    ronchi_region region = ronchi_region_all(&b->shape);
    ronchi_shape band = {1, b->shape.scan_cols, b->shape.det_rows, b->shape.det_cols};
    region.scan_rows = 1;
    size_t bytes = b->shape.scan_cols * b->frame_bytes;
    for (size_t row = 0; row < b->shape.scan_rows; row++) {
        region.scan_row = row;
        ronchi_view out = ronchi_view_4d(b->band, RONCHI_U16, &band);
        memset(b->band, 0xA5, bytes);
        ronchi_error err;
        if (ronchi_acquisition_read(b->acquisition, &region, RONCHI_READ_RAW, &out, &err) != RONCHI_OK)
            die("read", &err);
        if (memcmp(b->band, b->counts + row * b->shape.scan_cols * b->n_pixels, bytes) != 0)
            die("decoded frames differ from the counts", NULL);
    }
}

static void check_sums(bench *b)
{
    memset(b->sums, 0xA5, b->n_frames * sizeof *b->sums);
    reduced(b);
    for (size_t i = 0; i < b->n_frames; i++) {
        uint64_t want = 0;
        for (size_t p = 0; p < b->n_pixels; p++)
            want += b->counts[i * b->n_pixels + p];
        if (want != b->sums[i])
            die("sums differ from the counts", NULL);
    }
}

static void make_chunks(bench *b)
{
    size_t bound = ronchi_bslz4_bound(b->frame_bytes, 2);
    uint8_t *scratch = must(malloc(bound));
    ronchi_error err;
    for (size_t i = 0; i < b->n_frames; i++) {
        size_t n;
        if (ronchi_bslz4_encode(ronchi_context_kernels(b->context), (const uint8_t *)(b->counts + i * b->n_pixels),
                                b->frame_bytes, 2, scratch, bound, &n, &err) != RONCHI_OK)
            die("bslz4 encode", &err);
        b->chunks[i] = must(malloc(n));
        b->chunk_bytes[i] = n;
        memcpy(b->chunks[i], scratch, n);
        memset(b->frame, 0xA5, b->frame_bytes);
        if (ronchi_bslz4_decode(ronchi_context_kernels(b->context), b->chunks[i], n, 2, b->frame, b->frame_bytes,
                                &err) != RONCHI_OK ||
            memcmp(b->frame, b->counts + i * b->n_pixels, b->frame_bytes) != 0)
            die("bslz4 round trip differs", NULL);
    }
    free(scratch);
}

/* ------------------------------------------------------------------------------------------------------ timing */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[n / 2];
}

static double timed(void (*work)(bench *), bench *b)
{
    double start = ronchi_now();
    work(b);
    return ronchi_now() - start;
}

/* One row: ours and the peer in turn, so that a change of the machine's speed meets both. */
static void row(bench *b, const char *name, void (*ours)(bench *), void (*peer)(bench *), int rounds)
{
    static double a[MAX_ROUNDS], p[MAX_ROUNDS], ratio[MAX_ROUNDS];
    double gcounts = (double)b->n_frames * (double)b->n_pixels / 1e9;
    timed(ours, b);
    for (int i = 0; i < rounds; i++) {
        a[i] = timed(ours, b);
        p[i] = peer ? timed(peer, b) : 0;
        ratio[i] = p[i] / a[i];
    }
    double mine = median(a, rounds);
    printf("%-44s %7.3f Gcounts/s", name, gcounts / mine);
    if (peer)
        printf("   bitshuffle+LZ4 %6.3f   ratio %5.2f (%.2f to %.2f)", gcounts / median(p, rounds),
               median(ratio, rounds), ratio[0], ratio[rounds - 1]);
    printf("\n");
}

static void profile_rows(bench *b, ronchi_profile_id id, void (*peer)(bench *), int rounds)
{
    char name[96];
    ronchi_load_options options;
    ronchi_load_options_defaults(&options);
    options.profile = id;
    ronchi_view view = ronchi_view_4d((void *)b->counts, RONCHI_U16, &b->shape);
    ronchi_error err;
    const ronchi_profile *profile = ronchi_profile_find(id);
    if (!profile)
        return;
    double start = ronchi_now(), gcounts = (double)b->n_frames * (double)b->n_pixels / 1e9;
    if (ronchi_acquisition_encode(b->context, &view, NULL, &options, &b->acquisition, &err) != RONCHI_OK)
        die("encode", &err);
    double encode = ronchi_now() - start;
    check_frames(b);
    check_sums(b);
    ronchi_acquisition_info info;
    ronchi_acquisition_describe(b->acquisition, &info);
    printf("%-44s %7.3f Gcounts/s, %.4f bits a count (index %.4f of it)\n", profile->name, gcounts / encode,
           8e-9 * (double)info.resident_bytes / gcounts, 8e-9 * (double)info.index_bytes / gcounts);
    b->profile = id;
#ifdef RONCHI_BENCH_BITSHUFFLE
    void (*encoder)(bench *) = peer_encode;
#else
    void (*encoder)(bench *) = NULL;
#endif
    snprintf(name, sizeof name, "  %s, encode (peer: encode)", profile->name);
    row(b, name, ours_encode, encoder, rounds);
    snprintf(name, sizeof name, "  %s, one sum a position", profile->name);
    row(b, name, reduced, peer, rounds);
    snprintf(name, sizeof name, "  %s, uint16 frames", profile->name);
    row(b, name, frames, peer, rounds);
    ronchi_acquisition_destroy(b->acquisition);
}

static void convert_row(bench *b, int rounds)
{
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = 2;
    ronchi_error err;
    if (ronchi_context_create(&options, &b->two, &err) != RONCHI_OK)
        die("two threads", &err);
    for (int i = 0; i < 2; i++)
        b->frame_of[i] = must(malloc(b->frame_bytes));
    ours_convert(b);
    if (ronchi_acquisition_load(b->two, b->copy, NULL, &b->acquisition, &err) != RONCHI_OK)
        die(b->copy, &err);
    check_frames(b);
    ronchi_acquisition_destroy(b->acquisition);
#ifdef RONCHI_BENCH_BITSHUFFLE
    row(b, "convert, 2 threads (peer: decode, 2 threads)", ours_convert, peer_two, rounds);
#else
    row(b, "convert, 2 threads", ours_convert, NULL, rounds);
#endif
    for (int i = 0; i < 2; i++)
        free(b->frame_of[i]);
    ronchi_context_destroy(b->two);
}

int main(int argc, char **argv)
{
    bench b;
    memset(&b, 0, sizeof b);
    ronchi_view view;
    void *memory;
    ronchi_error err;
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS)
        die("peers COUNTS.npy [rounds [MASTER.h5 NEW.qem]]", NULL);
    ronchi_context_options options;
    ronchi_context_options_defaults(&options);
    options.threads = 1;
    if (ronchi_context_create(&options, &b.context, &err) != RONCHI_OK ||
        ronchi_npy_read(argv[1], &view, &memory, &err) != RONCHI_OK)
        die(argv[1], &err);
    if (view.dtype != RONCHI_U16)
        die("the counts must be uint16", NULL);
    b.counts = view.data;
    b.shape.scan_rows = view.shape[0];
    b.shape.scan_cols = view.shape[1];
    b.shape.det_rows = view.shape[2];
    b.shape.det_cols = view.shape[3];
    b.n_frames = view.shape[0] * view.shape[1];
    b.n_pixels = view.shape[2] * view.shape[3];
    b.frame_bytes = b.n_pixels * 2;
    b.chunks = must(calloc(b.n_frames, sizeof *b.chunks));
    b.chunk_bytes = must(calloc(b.n_frames, sizeof *b.chunk_bytes));
    b.frame = must(malloc(b.frame_bytes));
    b.encoded = must(malloc(ronchi_bslz4_bound(b.frame_bytes, 2)));
    b.master = argc > 4 ? argv[3] : NULL;
    b.copy = argc > 4 ? argv[4] : NULL;
    b.sums = must(malloc(b.n_frames * sizeof *b.sums));
    b.band = must(malloc(BAND_ROWS * b.shape.scan_cols * b.frame_bytes));
    make_chunks(&b);
    void (*peer)(bench *) = NULL;
#ifdef RONCHI_BENCH_BITSHUFFLE
    peer = peer_bslz4;
#endif
    printf("one thread, %d rounds, %zu x %zu x %zu x %zu uint16\n", rounds, b.shape.scan_rows, b.shape.scan_cols,
           b.shape.det_rows, b.shape.det_cols);
    row(&b, "bslz4 frames", ours_bslz4, peer, rounds);
    profile_rows(&b, RONCHI_PROFILE_COLUMN, peer, rounds);
    profile_rows(&b, RONCHI_PROFILE_LANE, peer, rounds);
    if (b.master)
        convert_row(&b, rounds);
    for (size_t i = 0; i < b.n_frames; i++)
        free(b.chunks[i]);
    free(b.chunks);
    free(b.chunk_bytes);
    free(b.frame);
    free(b.sums);
    free(b.band);
    free(b.encoded);
    free(memory);
    ronchi_context_destroy(b.context);
    return 0;
}
