/* SPDX-License-Identifier: MIT */
/* electron.c - the wavelength of fast electrons. */
#include "core/electron.h"

#include <math.h>

double ronchi_wavelength_a(double voltage_kv)
{
    /* SI (exact h, e, c) and the CODATA 2022 mass of the electron */
    const double h = 6.62607015e-34, e = 1.602176634e-19, c = 299792458.0, m = 9.1093837139e-31;
    double energy = e * voltage_kv * 1e3;
    return 1e10 * h / sqrt(2.0 * m * energy * (1.0 + energy / (2.0 * m * c * c)));
}
