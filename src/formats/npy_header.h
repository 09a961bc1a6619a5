/* SPDX-License-Identifier: MIT */
/* npy_header.h - the header of an .npy file, for whoever writes one. */
#ifndef RONCHI_FORMATS_NPY_HEADER_H
#define RONCHI_FORMATS_NPY_HEADER_H

#include "core/internal.h"

enum { RONCHI_NPY_HEADER_MAX = 256 };

/*
 * ronchi_npy_header() writes the version 1.0 header of a C-ordered little-endian array with the last 'axes' (1 to 4)
 * sizes of 'shape', padded with blanks to a multiple of 64 bytes.  Returns its length in bytes.
 */
size_t ronchi_npy_header(char out[RONCHI_NPY_HEADER_MAX], ronchi_dtype dtype, int axes, const size_t shape[4]);

#endif
