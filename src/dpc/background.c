/* SPDX-License-Identifier: MIT */
/* background.c - where the undeflected beam would be: a mean or a plane, over valid positions. */
#include <math.h>

#include "dpc/dpc.h"

/* Solves the 3 x 3 normal equations by elimination with pivots; false when the positions do not span a plane. */
static bool solve(double m[3][4], double out[3])
{
    for (int k = 0; k < 3; k++) {
        int pivot = k;
        for (int i = k + 1; i < 3; i++)
            pivot = fabs(m[i][k]) > fabs(m[pivot][k]) ? i : pivot;
        if (fabs(m[pivot][k]) < 1e-9)
            return false;
        for (int j = 0; j < 4; j++) {
            double kept = m[k][j];
            m[k][j] = m[pivot][j];
            m[pivot][j] = kept;
        }
        for (int i = 0; i < 3; i++) {
            double factor = i == k ? 0 : m[i][k] / m[k][k];
            for (int j = k; j < 4; j++)
                m[i][j] -= factor * m[k][j];
        }
    }
    for (int k = 0; k < 3; k++)
        out[k] = m[k][3] / m[k][k];
    return true;
}

/* Coordinates run from -1 to 1, so that the equations are well conditioned. */
static double coordinate(size_t i, size_t n)
{
    return n > 1 ? 2.0 * (double)i / (double)(n - 1) - 1.0 : 0.0;
}

static bool fit_plane(size_t rows, size_t cols, const uint8_t *valid, const double *values, double fit[3])
{
    double m[3][4] = {{0}}, p[3];
    for (size_t i = 0; i < rows * cols; i++) {
        if (!valid[i])
            continue;
        const double at[3] = {1.0, coordinate(i / cols, rows), coordinate(i % cols, cols)};
        for (int a = 0; a < 3; a++) {
            for (int b = 0; b < 3; b++)
                m[a][b] += at[a] * at[b];
            m[a][3] += at[a] * values[i];
        }
    }
    if (!solve(m, p))
        return false;
    fit[1] = rows > 1 ? 2.0 * p[1] / (double)(rows - 1) : 0;
    fit[2] = cols > 1 ? 2.0 * p[2] / (double)(cols - 1) : 0;
    fit[0] = p[0] - p[1] - p[2];
    return true;
}

static double mean_of(size_t n, const uint8_t *valid, const double *values)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (valid[i]) {
            sum += values[i];
            count += 1;
        }
    return count > 0 ? sum / count : 0;
}

void ronchi_dpc_take_background(ronchi_dpc_background background, size_t rows, size_t cols, const uint8_t *valid,
                                double *values, double fit[3])
{
    fit[0] = fit[1] = fit[2] = 0;
    bool plane = background == RONCHI_DPC_BACKGROUND_PLANE && fit_plane(rows, cols, valid, values, fit);
    if (!plane && background != RONCHI_DPC_BACKGROUND_NONE)
        fit[0] = mean_of(rows * cols, valid, values);
    for (size_t i = 0; i < rows * cols; i++)
        values[i] = valid[i] ? values[i] - (fit[0] + fit[1] * (double)(i / cols) + fit[2] * (double)(i % cols)) : 0;
}
