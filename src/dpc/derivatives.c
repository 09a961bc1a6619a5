/* SPDX-License-Identifier: MIT */
/*
 * derivatives.c - first derivatives of a field by sampled derivatives of a Gaussian: isotropic, which central
 * differences are not (they see a wave along an axis steeper than one along the diagonal, and so turn the field of a
 * lattice), and smooth.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dpc/dpc.h"

/* Half width of a kernel: what lies beyond is below 1e-3 of its middle. */
static size_t reach_of(double sigma)
{
    return (size_t)ceil(4.0 * sigma);
}

/* smooth[i], slope[i] for i = -reach..reach; the slope of a straight line is exactly its own. */
static void make_kernels(double sigma, size_t reach, double *smooth, double *slope)
{
    double sum = 0, moment = 0;
    for (size_t i = 0; i <= 2 * reach; i++) {
        double x = (double)i - (double)reach;
        smooth[i] = exp(-0.5 * x * x / (sigma * sigma));
        slope[i] = x * smooth[i];
        sum += smooth[i];
        moment += x * slope[i];
    }
    for (size_t i = 0; i <= 2 * reach; i++) {
        smooth[i] /= sum;
        slope[i] /= moment;
    }
}

static double along(const double *values, ptrdiff_t stride, const double *kernel, size_t reach)
{
    double sum = 0;
    for (size_t i = 0; i <= 2 * reach; i++)
        sum += kernel[i] * values[((ptrdiff_t)i - (ptrdiff_t)reach) * stride];
    return sum;
}

/* Numbers of invalid positions above and left of each corner, [rows + 1][cols + 1]. */
static void count_invalid(const uint8_t *valid, size_t rows, size_t cols, uint64_t *sums)
{
    memset(sums, 0, (cols + 1) * sizeof *sums);
    for (size_t r = 0; r < rows; r++) {
        uint64_t line = 0, *above = sums + r * (cols + 1), *below = above + cols + 1;
        below[0] = 0;
        for (size_t c = 0; c < cols; c++) {
            line += valid && !valid[r * cols + c];
            below[c + 1] = above[c + 1] + line;
        }
    }
}

typedef struct kernels {
    size_t reach[2];
    double *smooth[2], *slope[2]; /* along rows, along columns */
} kernels;

static void derive(const ronchi_dpc_derivatives *d, const kernels *k, const double *const lines[4], size_t r, size_t c,
                   double out[4])
{
    size_t i = r * d->cols + c;
    ptrdiff_t stride = (ptrdiff_t)d->cols;
    out[0] = along(lines[0] + i, stride, k->slope[0], k->reach[0]) / d->step[0];  /* row component along rows */
    out[1] = along(lines[1] + i, stride, k->smooth[0], k->reach[0]) / d->step[1]; /* along columns */
    out[2] = along(lines[2] + i, stride, k->slope[0], k->reach[0]) / d->step[0];  /* column component */
    out[3] = along(lines[3] + i, stride, k->smooth[0], k->reach[0]) / d->step[1];
}

static void walk(const ronchi_dpc_derivatives *d, const kernels *k, double *const lines[4], const uint64_t *invalid)
{
    size_t rr = k->reach[0], rc = k->reach[1], pitch = d->cols + 1;
    for (size_t r = 0; r < d->rows; r++)
        for (size_t c = rc; c + rc < d->cols; c++)
            for (int part = 0; part < 2; part++) {
                const double *from = (part ? d->col : d->row) + r * d->cols + c;
                lines[2 * part][r * d->cols + c] = along(from, 1, k->smooth[1], rc);
                lines[2 * part + 1][r * d->cols + c] = along(from, 1, k->slope[1], rc);
            }
    const double *const ready[4] = {lines[0], lines[1], lines[2], lines[3]};
    for (size_t r = rr; r + rr < d->rows; r++)
        for (size_t c = rc; c + rc < d->cols; c++) {
            const uint64_t *above = invalid + (r - rr) * pitch, *below = invalid + (r + rr + 1) * pitch;
            double out[4];
            if (below[c + rc + 1] + above[c - rc] != below[c - rc] + above[c + rc + 1])
                continue;
            derive(d, k, ready, r, c, out);
            d->take(d->user, r - rr, d->rows - 2 * rr, c - rc, d->cols - 2 * rc, out);
        }
}

ronchi_status ronchi_dpc_derive(const ronchi_dpc_derivatives *d, double sigma)
{
    double longest = fmax(d->step[0], d->step[1]);
    kernels k;
    size_t total = 0, n = d->rows * d->cols;
    for (int a = 0; a < 2; a++) {
        k.reach[a] = reach_of(sigma * longest / d->step[a]);
        if (2 * k.reach[a] + 1 > (a ? d->cols : d->rows))
            return RONCHI_OK; /* no position has all of its neighbours */
        total += 2 * (2 * k.reach[a] + 1);
    }
    double *memory = malloc((total + 4 * n) * sizeof *memory), *at = memory;
    uint64_t *invalid = malloc((d->rows + 1) * (d->cols + 1) * sizeof *invalid);
    if (!memory || !invalid) {
        free(memory);
        free(invalid);
        return RONCHI_ERR_MEMORY;
    }
    for (int a = 0; a < 2; a++) {
        k.smooth[a] = at;
        k.slope[a] = at + 2 * k.reach[a] + 1;
        at += 2 * (2 * k.reach[a] + 1);
        make_kernels(sigma * longest / d->step[a], k.reach[a], k.smooth[a], k.slope[a]);
    }
    double *const lines[4] = {at, at + n, at + 2 * n, at + 3 * n};
    count_invalid(d->valid, d->rows, d->cols, invalid);
    walk(d, &k, lines, invalid);
    free(memory);
    free(invalid);
    return RONCHI_OK;
}
