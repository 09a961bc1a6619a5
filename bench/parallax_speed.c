/* SPDX-License-Identifier: MIT */
/*
 * parallax_speed.c - parallax beside one forward and one inverse real transform of every bright-field image by FFTW, in
 * turn, in one run.
 *
 *   parallax_speed FILE.qem [rounds [threads]]    default 3 rounds, 2 threads
 */
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/port.h"
#include "resident/acquisition.h"
#include "ronchi/parallax.h"

enum { MAX_ROUNDS = 31, LOADED = 16 /* images that the transforms take in turn */ };

typedef struct transforms {
    size_t n, rows, cols;
    float *images;       /* [LOADED][rows][cols] */
    fftwf_complex *half; /* [threads][rows][cols / 2 + 1] */
    float *back;         /* [threads][rows][cols] */
    fftwf_plan forward, inverse;
} transforms;

static void die(const ronchi_error *err)
{
    fprintf(stderr, "parallax_speed: %s\n", err->message);
    exit(1);
}

static ronchi_status transform(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const transforms *t = user;
    fftwf_complex *half = t->half + worker * t->rows * (t->cols / 2 + 1);
    (void)err;
    fftwf_execute_dft_r2c(t->forward, t->images + item % LOADED * t->rows * t->cols, half);
    fftwf_execute_dft_c2r(t->inverse, half, t->back + worker * t->rows * t->cols);
    return RONCHI_OK;
}

static void plan(transforms *t, size_t threads)
{
    size_t half = t->rows * (t->cols / 2 + 1), all = t->rows * t->cols;
    t->images = fftwf_malloc(LOADED * all * sizeof(float));
    t->half = fftwf_malloc(threads * half * sizeof *t->half);
    t->back = fftwf_malloc(threads * all * sizeof(float));
    t->forward =
        fftwf_plan_dft_r2c_2d((int)t->rows, (int)t->cols, t->images, t->half, FFTW_MEASURE | FFTW_PRESERVE_INPUT);
    t->inverse = fftwf_plan_dft_c2r_2d((int)t->rows, (int)t->cols, t->half, t->back, FFTW_MEASURE);
    for (size_t i = 0; i < LOADED * all; i++)
        t->images[i] = (float)(i * 7919 % 101);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    double ours[MAX_ROUNDS], peer[MAX_ROUNDS], ratio[MAX_ROUNDS];
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
    ronchi_context_options options;
    ronchi_context *context;
    ronchi_acquisition *acquisition;
    ronchi_parallax_result r;
    ronchi_error err = {0};
    ronchi_context_options_defaults(&options);
    options.threads = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 2;
    if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    if (ronchi_context_create(&options, &context, &err) != RONCHI_OK ||
        ronchi_acquisition_load(context, argv[1], NULL, &acquisition, &err) != RONCHI_OK)
        die(&err);
    transforms t = {0};
    for (size_t i = 0; i < rounds; i++) {
        clock_t spent = clock();
        double start = ronchi_now();
        if (ronchi_parallax_run(acquisition, NULL, &r, &err) != RONCHI_OK)
            die(&err);
        ours[i] = ronchi_now() - start;
        double cpu = (double)(clock() - spent) / CLOCKS_PER_SEC;
        if (!t.images) {
            t.rows = r.scan_rows;
            t.cols = r.scan_cols;
            plan(&t, options.threads);
        }
        spent = clock();
        start = ronchi_now();
        ronchi_parallel_for(context, r.n, transform, &t, &err);
        peer[i] = ronchi_now() - start;
        ratio[i] = ours[i] / peer[i];
        double peer_cpu = (double)(clock() - spent) / CLOCKS_PER_SEC;
        printf("round %zu: parallax %.2f s, transforms of %zu images %.2f s, ratio %.2f; processor time %.1f s, %.1f "
               "s, ratio %.2f\n",
               i + 1, ours[i], r.n, peer[i], ratio[i], cpu, peer_cpu, cpu / peer_cpu);
        fflush(stdout);
        if (i + 1 < rounds)
            ronchi_parallax_result_free(&r);
    }
    qsort(ours, rounds, sizeof *ours, compare);
    qsort(peer, rounds, sizeof *peer, compare);
    qsort(ratio, rounds, sizeof *ratio, compare);
    printf("%zu x %zu scan, %zu images, %u threads: parallax %.2f s, transforms %.2f s, ratio %.2f (medians of %zu); "
           "decoded at "
           "most %.1f MB, spectra %.0f MB\n",
           r.scan_rows, r.scan_cols, r.n, options.threads, ours[rounds / 2], peer[rounds / 2], ratio[rounds / 2],
           rounds, (double)r.peak_decoded_bytes * 1e-6, (double)r.workspace_bytes * 1e-6);
    ronchi_parallax_result_free(&r);
    ronchi_acquisition_destroy(acquisition);
    ronchi_context_destroy(context);
    return 0;
}
