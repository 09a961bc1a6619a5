/* SPDX-License-Identifier: MIT */
/* electron.h - constants of the electron that several layers need. */
#ifndef RONCHI_CORE_ELECTRON_H
#define RONCHI_CORE_ELECTRON_H

/*
 * ronchi_wavelength_a() gives the relativistic wavelength, h / sqrt(2 m e U (1 + e U / (2 m c^2))), in angstrom.
 * 'voltage_kv' is above 0.
 */
double ronchi_wavelength_a(double voltage_kv);

#endif
