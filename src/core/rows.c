/* SPDX-License-Identifier: MIT */
/*
 * rows.c - loops over rows, written once; each version inlines them under its own instruction set, where the compiler
 * turns them into vectors.
 */
#include "core/rows.h"

#include <string.h>

#if defined(__GNUC__)
#define LOOP static inline __attribute__((always_inline))
#else
#define LOOP static inline
#endif

LOOP void loop_add(float *restrict sum, const float *restrict x, size_t n, float weight)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += weight * x[i];
}

LOOP void loop_correlate(float *restrict re, float *restrict im, const float *restrict x, const float *restrict y,
                         size_t pitch)
{
    for (size_t i = 0; i < pitch; i++) {
        float a = x[i], b = x[pitch + i], c = y[i], d = y[pitch + i];
        re[i] += a * c + b * d;
        im[i] += a * d - b * c;
    }
}

LOOP void loop_bring_plain(float *restrict re, float *restrict im, const float *restrict x, float row_re, float row_im,
                           const float *restrict col, const float *restrict phi, size_t pitch)
{
    for (size_t i = 0; i < pitch; i++) {
        float a = row_re * col[i] - row_im * col[pitch + i], b = row_re * col[pitch + i] + row_im * col[i];
        float c = a * x[i] - b * x[pitch + i], d = a * x[pitch + i] + b * x[i];
        if (phi) {
            a = phi[i] * c - phi[pitch + i] * d;
            b = phi[i] * d + phi[pitch + i] * c;
        } else {
            a = c;
            b = d;
        }
        re[i] += a;
        im[i] += b;
    }
}

/* conj(gamma) of one frequency; at, limit as in ronchi_transfer_row. */
LOOP void gamma_of(const float at[4], float limit, float along_row, float along_col, float sine, float cosine,
                   float *re, float *im)
{
    float a = at[0] - along_row, b = at[1] - along_col, c = at[2] + along_row, d = at[3] + along_col;
    float minus = a * a + b * b <= limit ? 1.0f : 0.0f, plus = c * c + d * d <= limit ? 1.0f : 0.0f;
    *re = (plus + minus) * sine;
    *im = (plus - minus) * cosine;
}

LOOP void loop_bring_transfer(float *restrict re, float *restrict im, const float *restrict x, float row_re,
                              float row_im, const float *restrict col, const ronchi_transfer_row *transfer,
                              const float *restrict phi, size_t pitch)
{
    const float *restrict along_row = transfer->along_row, *restrict along_col = transfer->along_col;
    const float *restrict sine = transfer->sine, *restrict cosine = transfer->cosine;
    const float at[4] = {transfer->at[0], transfer->at[1], transfer->at[2], transfer->at[3]}, limit = transfer->limit;
    for (size_t i = 0; i < pitch; i++) {
        float a = row_re * col[i] - row_im * col[pitch + i], b = row_re * col[pitch + i] + row_im * col[i], e, f;
        float c = a * x[i] - b * x[pitch + i], d = a * x[pitch + i] + b * x[i];
        gamma_of(at, limit, along_row[i], along_col[i], sine[i], cosine[i], &e, &f);
        a = c * e - d * f;
        b = c * f + d * e;
        if (phi) {
            c = phi[i] * a - phi[pitch + i] * b;
            d = phi[i] * b + phi[pitch + i] * a;
        } else {
            c = a;
            d = b;
        }
        re[i] += c;
        im[i] += d;
    }
}

LOOP void loop_bring(float *sum, const float *x, float row_re, float row_im, const float *col,
                     const ronchi_transfer_row *transfer, const float *phi, size_t pitch)
{
    if (transfer && phi)
        loop_bring_transfer(sum, sum + pitch, x, row_re, row_im, col, transfer, phi, pitch);
    else if (transfer)
        loop_bring_transfer(sum, sum + pitch, x, row_re, row_im, col, transfer, NULL, pitch);
    else if (phi)
        loop_bring_plain(sum, sum + pitch, x, row_re, row_im, col, phi, pitch);
    else
        loop_bring_plain(sum, sum + pitch, x, row_re, row_im, col, NULL, pitch);
}

LOOP void loop_weigh(float *restrict sum, const ronchi_transfer_row *transfer, float weight, size_t pitch)
{
    const float *restrict along_row = transfer->along_row, *restrict along_col = transfer->along_col;
    const float *restrict sine = transfer->sine, *restrict cosine = transfer->cosine;
    const float at[4] = {transfer->at[0], transfer->at[1], transfer->at[2], transfer->at[3]}, limit = transfer->limit;
    for (size_t i = 0; i < pitch; i++) {
        float re, im;
        gamma_of(at, limit, along_row[i], along_col[i], sine[i], cosine[i], &re, &im);
        sum[i] += weight * (re * re + im * im);
    }
}

/* Four rows at a time, added one after the other. */
LOOP void loop_transform_four(float *restrict re, float *restrict im, const float *restrict x, const float f[8],
                              size_t pitch)
{
    const float *restrict y = x + 2 * pitch, *restrict z = x + 4 * pitch, *restrict w = x + 6 * pitch;
    const float a = f[0], b = f[1], c = f[2], d = f[3], e = f[4], g = f[5], h = f[6], k = f[7];
    for (size_t i = 0; i < pitch; i++) {
        float p = re[i], q = im[i];
        p += a * x[i] - b * x[pitch + i];
        q += a * x[pitch + i] + b * x[i];
        p += c * y[i] - d * y[pitch + i];
        q += c * y[pitch + i] + d * y[i];
        p += e * z[i] - g * z[pitch + i];
        q += e * z[pitch + i] + g * z[i];
        p += h * w[i] - k * w[pitch + i];
        q += h * w[pitch + i] + k * w[i];
        re[i] = p;
        im[i] = q;
    }
}

LOOP void loop_add_complex(float *restrict re, float *restrict im, const float *restrict x, float a, float b,
                           size_t pitch)
{
    for (size_t i = 0; i < pitch; i++) {
        re[i] += a * x[i] - b * x[pitch + i];
        im[i] += a * x[pitch + i] + b * x[i];
    }
}

LOOP void loop_transform(const float *x, size_t rows, size_t pitch, const float *const *factors, size_t n, float *sums)
{
    size_t r = 0;
    for (; r + 4 <= rows; r += 4)
        for (size_t k = 0; k < n; k++)
            loop_transform_four(sums + k * 2 * pitch, sums + k * 2 * pitch + pitch, x + r * 2 * pitch,
                                factors[k] + 2 * r, pitch);
    for (; r < rows; r++)
        for (size_t k = 0; k < n; k++)
            loop_add_complex(sums + k * 2 * pitch, sums + k * 2 * pitch + pitch, x + r * 2 * pitch, factors[k][2 * r],
                             factors[k][2 * r + 1], pitch);
}

LOOP void loop_ramp(float *restrict ramp, float *restrict moved, const float *restrict x, float row_re, float row_im,
                    const float *restrict col, size_t pitch)
{
    for (size_t i = 0; i < pitch; i++) {
        float a = row_re * col[i] - row_im * col[pitch + i], b = row_re * col[pitch + i] + row_im * col[i];
        ramp[i] = a;
        ramp[pitch + i] = b;
        moved[i] = a * x[i] - b * x[pitch + i];
        moved[pitch + i] = a * x[pitch + i] + b * x[i];
    }
}

LOOP void loop_deposit(float *const *images, float *const *weights, const float (*zones)[2], size_t n_zones,
                       const float *x, float row_re, float row_im, const float *col, float *scratch, size_t pitch)
{
    float *ramp = scratch, *moved = scratch + 2 * pitch;
    loop_ramp(ramp, moved, x, row_re, row_im, col, pitch);
    for (size_t z = 0; z < n_zones; z++) {
        loop_add_complex(images[z], images[z] + pitch, moved, zones[z][0], zones[z][1], pitch);
        loop_add_complex(weights[z], weights[z] + pitch, ramp, zones[z][0], zones[z][1], pitch);
    }
}

LOOP void loop_window(float *restrict out, const float *restrict a, const float *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] * b[i];
}

LOOP void loop_split(float *restrict re, float *restrict im, const ronchi_complex *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        re[i] = in[i].re;
        im[i] = in[i].im;
    }
}

/* All loops under one name and instruction set. */
/* NOLINTBEGIN(bugprone-macro-parentheses): an attribute cannot stand in parentheses */
#define VERSION(name, target)                                                                                          \
    target static void name##_add(float *sum, const float *x, size_t n, float weight)                                  \
    {                                                                                                                  \
        loop_add(sum, x, n, weight);                                                                                   \
    }                                                                                                                  \
    target static void name##_correlate(float *sum, const float *x, const float *y, size_t pitch)                      \
    {                                                                                                                  \
        loop_correlate(sum, sum + pitch, x, y, pitch);                                                                 \
    }                                                                                                                  \
    target static void name##_bring(float *sum, const float *x, float row_re, float row_im, const float *col,          \
                                    const ronchi_transfer_row *transfer, const float *phi, size_t pitch)               \
    {                                                                                                                  \
        loop_bring(sum, x, row_re, row_im, col, transfer, phi, pitch);                                                 \
    }                                                                                                                  \
    target static void name##_weigh(float *sum, const ronchi_transfer_row *transfer, float weight, size_t pitch)       \
    {                                                                                                                  \
        loop_weigh(sum, transfer, weight, pitch);                                                                      \
    }                                                                                                                  \
    target static void name##_transform(const float *x, size_t rows, size_t pitch, const float *const *factors,        \
                                        size_t n, float *sums)                                                         \
    {                                                                                                                  \
        loop_transform(x, rows, pitch, factors, n, sums);                                                              \
    }                                                                                                                  \
    target static void name##_deposit(float *const *images, float *const *weights, const float(*zones)[2],             \
                                      size_t n_zones, const float *x, float row_re, float row_im, const float *col,    \
                                      float *scratch, size_t pitch)                                                    \
    {                                                                                                                  \
        loop_deposit(images, weights, zones, n_zones, x, row_re, row_im, col, scratch, pitch);                         \
    }                                                                                                                  \
    target static void name##_window(float *out, const float *a, const float *b, size_t n)                             \
    {                                                                                                                  \
        loop_window(out, a, b, n);                                                                                     \
    }                                                                                                                  \
    target static void name##_split(float *out, const ronchi_complex *in, size_t n, size_t pitch)                      \
    {                                                                                                                  \
        loop_split(out, out + pitch, in, n);                                                                           \
    }                                                                                                                  \
    const ronchi_rows ronchi_rows_##name = {name##_add,       name##_correlate, name##_bring,  name##_weigh,           \
                                            name##_transform, name##_deposit,   name##_window, name##_split};

VERSION(c, )
#if defined(__x86_64__) && defined(__GNUC__)
VERSION(avx2, __attribute__((target("avx2"))))
VERSION(avx512, __attribute__((target("avx512f,avx512vl,avx512dq"))))
#endif
/* NOLINTEND(bugprone-macro-parentheses) */
