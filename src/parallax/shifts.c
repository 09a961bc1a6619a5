/* SPDX-License-Identifier: MIT */
/*
 * shifts.c - the gradient of chi, fitted and taken apart.
 *
 * In physical units the matrix is lambda S R(-rotation) P with S symmetric (docs/conventions.md).  After undoing P, the
 * rotation is the one angle that leaves a symmetric matrix: tan(rotation) = (b01 - b10) / (b00 + b11), which is the
 * polar decomposition of a 2 x 2 matrix in closed form.  rotation + 180 degrees with -S is the same matrix.
 */
#include "parallax/shifts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/electron.h"

static const double PI = 3.14159265358979324;

/* Inverse of a symmetric positive 3 x 3 matrix by its cofactors; false when it is singular. */
static bool invert(double m[3][3], double out[3][3])
{
    double det = 0, scale = m[0][0] * m[1][1] * m[2][2];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            out[j][i] = m[a][c] * m[b][d] - m[a][d] * m[b][c];
        }
    for (int j = 0; j < 3; j++)
        det += m[0][j] * out[j][0];
    if (!(fabs(det) > 1e-12 * scale))
        return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] /= det;
    return true;
}

bool ronchi_shift_fit_points(const ronchi_shift_points *p, ronchi_shift_fit *out)
{
    double normal[3][3] = {{0}}, right[2][3] = {{0}}, inverse[3][3], sums = 0, used = 0;
    for (size_t i = 0; i < p->n; i++) {
        const double at[3] = {p->k_row[i], p->k_col[i], 1.0};
        for (int a = 0; a < 3; a++) {
            for (int b = 0; b < 3; b++)
                normal[a][b] += p->weight[i] * at[a] * at[b];
            right[0][a] += p->weight[i] * at[a] * p->shift_row[i];
            right[1][a] += p->weight[i] * at[a] * p->shift_col[i];
        }
        used += p->weight[i] > 0;
    }
    if (used < 4 || !invert(normal, inverse))
        return false;
    for (int i = 0; i < 2; i++) {
        double x[3] = {0};
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                x[a] += inverse[a][b] * right[i][b];
        out->matrix[i][0] = x[0];
        out->matrix[i][1] = x[1];
        out->offset[i] = x[2];
    }
    for (size_t i = 0; i < p->n; i++) {
        double s[2];
        ronchi_shift_of(out, p->k_row[i], p->k_col[i], s);
        s[0] -= p->shift_row[i];
        s[1] -= p->shift_col[i];
        sums += p->weight[i] * (s[0] * s[0] + s[1] * s[1]);
    }
    out->matrix_error = sqrt(0.5 * (inverse[0][0] + inverse[1][1]) * sums / (2.0 * used - 6.0));
    return true;
}

/* ------------------------------------------------------------------------------------------------------ units */

static bool known(const ronchi_quantity *row, const ronchi_quantity *col, const char *unit)
{
    return row->known && col->known && row->value > 0 && col->value > 0 && strcmp(row->unit, unit) == 0 &&
           strcmp(col->unit, unit) == 0;
}

bool ronchi_parallax_find_units(const ronchi_acquisition *acquisition, double radius_px,
                                ronchi_parallax_aberrations *out)
{
    const ronchi_calibration *c = &acquisition->info.calibration;
    bool voltage = c->voltage.known && c->voltage.value > 0, angle = true;
    bool steps = known(&c->scan_step_row, &c->scan_step_col, "angstrom");
    out->wavelength_a = voltage ? ronchi_wavelength_a(c->voltage.value) : 0;
    double per_mrad = voltage ? 1e-3 / out->wavelength_a : 0;
    if (known(&c->det_step_row, &c->det_step_col, "1/angstrom")) {
        out->dk_row = c->det_step_row.value;
        out->dk_col = c->det_step_col.value;
        snprintf(out->dk_from, sizeof out->dk_from, "detector step");
    } else if (known(&c->det_step_row, &c->det_step_col, "mrad")) {
        out->dk_row = c->det_step_row.value * per_mrad;
        out->dk_col = c->det_step_col.value * per_mrad;
        snprintf(out->dk_from, sizeof out->dk_from, "detector step and voltage");
    } else if (c->semiangle.known && c->semiangle.value > 0 && radius_px > 0) {
        out->dk_row = out->dk_col = c->semiangle.value / radius_px * per_mrad;
        snprintf(out->dk_from, sizeof out->dk_from, "semi-angle, disk radius %.3f px and voltage", radius_px);
    } else {
        angle = false;
    }
    out->step_row_a = steps ? c->scan_step_row.value : 0;
    out->step_col_a = steps ? c->scan_step_col.value : 0;
    out->missing[0] = 0;
    if (voltage && angle && steps)
        return true;
    out->dk_from[0] = 0;
    snprintf(out->missing, sizeof out->missing, "not known: %s%s%s%s%s",
             angle ? "" : "angle of a pixel (--semiangle-mrad or --det-step-mrad)", !angle && !voltage ? ", " : "",
             voltage ? "" : "voltage (--voltage-kv)", (!angle || !voltage) && !steps ? ", " : "",
             steps ? "" : "scan step (--scan-step-a)");
    return false;
}

/* ------------------------------------------------------------------------------------------------ aberrations */

static double wrap(double degrees)
{
    return degrees - 360.0 * ceil(degrees / 360.0 - 0.5);
}

void ronchi_parallax_find_aberrations(const ronchi_shift_fit *fit, int32_t transpose, double near_deg,
                                      ronchi_parallax_aberrations *out)
{
    const double step[2] = {out->step_row_a, out->step_col_a}, dk[2] = {out->dk_row, out->dk_col};
    double b[2][2], symmetric[2][2];
    const double(*m)[2] = fit->matrix;
    out->transpose = transpose < 0 ? m[0][0] * m[1][1] - m[0][1] * m[1][0] < 0 : transpose;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int from = out->transpose ? 1 - j : j;
            b[i][j] = step[i] * m[i][from] / dk[from] / out->wavelength_a;
        }
    double angle = atan2(b[0][1] - b[1][0], b[0][0] + b[1][1]) * 180.0 / PI;
    if (fabs(wrap(angle - near_deg)) > 90.0)
        angle += 180.0;
    out->rotation_deg = wrap(angle);
    double c = cos(angle * PI / 180.0), s = sin(angle * PI / 180.0);
    for (int i = 0; i < 2; i++) {
        symmetric[i][0] = b[i][0] * c + b[i][1] * s;
        symmetric[i][1] = b[i][1] * c - b[i][0] * s;
    }
    double half = 0.5 * (symmetric[0][0] - symmetric[1][1]), off = 0.5 * (symmetric[0][1] + symmetric[1][0]);
    out->fitted = 1;
    out->c10_a = 0.5 * (symmetric[0][0] + symmetric[1][1]);
    out->c12_a = hypot(half, off);
    out->phi12_deg = 0.5 * atan2(off, half) * 180.0 / PI;
    double scale = sqrt(step[0] * step[1] / (dk[0] * dk[1])) / out->wavelength_a, error = fit->matrix_error * scale;
    out->c10_error_a = out->c12_error_a = error / sqrt(2.0);
    out->rotation_error_deg = fmin(error / (sqrt(2.0) * fabs(out->c10_a)) * 180.0 / PI, 180.0);
}

void ronchi_parallax_pixels_per_frequency(const ronchi_parallax_aberrations *a, double out[2][2])
{
    const double step[2] = {a->step_row_a, a->step_col_a}, dk[2] = {a->dk_row, a->dk_col};
    double c = cos(a->rotation_deg * PI / 180.0), s = sin(a->rotation_deg * PI / 180.0);
    const double rotated[2][2] = {{c, -s}, {s, c}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            out[i][j] = rotated[a->transpose ? 1 - i : i][j] / (dk[i] * step[j]);
}
