/* SPDX-License-Identifier: MIT */
/* npy_header.c - the header of an .npy file (NumPy's NEP 1, version 1.0). */
#include "formats/npy_header.h"

#include <stdio.h>
#include <string.h>

size_t ronchi_npy_header(char out[RONCHI_NPY_HEADER_MAX], ronchi_dtype dtype, int axes, const size_t shape[4])
{
    static const char *const descr[] = {"?", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8"};
    char sizes[96];
    int n = 0;
    for (int axis = 4 - axes; axis < 4; axis++)
        n += snprintf(sizes + n, sizeof sizes - (size_t)n, "%zu%s", shape[axis], axis < 3 || axes == 1 ? ", " : "");
    char *text = out + 10;
    size_t room = RONCHI_NPY_HEADER_MAX - 10;
    size_t length =
        (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr[dtype], sizes);
    size_t total = (10 + length + 1 + 63) / 64 * 64;
    memset(text + length, ' ', total - 10 - length);
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((total - 10) & 0xff);
    out[9] = (char)((total - 10) >> 8);
    return total;
}
