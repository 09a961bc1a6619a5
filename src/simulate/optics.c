/* SPDX-License-Identifier: MIT */
/* optics.c - see the header. */
#include "simulate/optics.h"

#include <math.h>

static const double PI = 3.14159265358979324;

void ronchi_optics_init(ronchi_optics *optics, const ronchi_simulate_options *options)
{
    optics->wavelength_a = ronchi_wavelength_a(options->voltage_kv);
    optics->radius_px = options->disk_radius_px;
    optics->dk = options->semiangle_mrad * 1e-3 / optics->wavelength_a / options->disk_radius_px;
    optics->c10_a = options->c10_a;
    optics->c12_a = options->c12_a;
    optics->phi12 = options->phi12_deg * PI / 180.0;

    double angle = options->rotation_deg * PI / 180.0;
    double rotated[2][2] = {{cos(angle), -sin(angle)}, {sin(angle), cos(angle)}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            optics->detector_from_scan[i][j] = rotated[options->transpose ? 1 - i : i][j];
            optics->scan_from_detector[j][i] = optics->detector_from_scan[i][j];
        }
}

double ronchi_optics_aperture(const ronchi_optics *optics, double row, double col)
{
    double inside = optics->radius_px - sqrt(row * row + col * col) + 0.5;
    return inside <= 0.0 ? 0.0 : inside >= 1.0 ? 1.0 : inside;
}

double ronchi_optics_chi(const ronchi_optics *optics, double row, double col)
{
    const double(*to_scan)[2] = optics->scan_from_detector;
    double kr = (to_scan[0][0] * row + to_scan[0][1] * col) * optics->dk;
    double kc = (to_scan[1][0] * row + to_scan[1][1] * col) * optics->dk;
    /* k^2 cos 2(phi - phi12) without angles */
    double two_fold = (kr * kr - kc * kc) * cos(2.0 * optics->phi12) + 2.0 * kr * kc * sin(2.0 * optics->phi12);
    return PI * optics->wavelength_a * (optics->c10_a * (kr * kr + kc * kc) + optics->c12_a * two_fold);
}

void ronchi_optics_alignment(const ronchi_optics *optics, double matrix[2][2])
{
    double c = optics->c12_a * cos(2.0 * optics->phi12), s = optics->c12_a * sin(2.0 * optics->phi12);
    double symmetric[2][2] = {{optics->c10_a + c, s}, {s, optics->c10_a - c}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            matrix[i][j] = optics->wavelength_a * optics->dk *
                           (symmetric[i][0] * optics->scan_from_detector[0][j] +
                            symmetric[i][1] * optics->scan_from_detector[1][j]);
}
