/* SPDX-License-Identifier: MIT */
/* npy_file.h - the header of an .npy file, checked. */
#ifndef RONCHI_FORMATS_NPY_FILE_H
#define RONCHI_FORMATS_NPY_FILE_H

#include "core/internal.h"
#include "core/port.h"

typedef struct ronchi_npy_layout {
    ronchi_dtype dtype;
    bool swap; /* stored in the other byte order */
    int axes;
    size_t shape[4]; /* leading axes of size 1 added */
    size_t elements;
    uint64_t data_offset;
} ronchi_npy_layout;

/*
 * ronchi_npy_layout_read() reads and checks the header of an open file, and that the file holds exactly the array.
 * Booleans count as uint8.
 *
 * RONCHI_ERR_FORMAT       no .npy, or a header that cannot be understood
 * RONCHI_ERR_UNSUPPORTED  Fortran order, a dtype that Ronchi has no use for, more than four axes
 * RONCHI_ERR_DATA         the file is shorter or longer than its array
 */
ronchi_status ronchi_npy_layout_read(const ronchi_input *input, ronchi_npy_layout *out, ronchi_error *err);

/* ronchi_swap_bytes() reverses the bytes of n elements of 1, 2, 4 or 8 bytes in place. */
void ronchi_swap_bytes(void *data, size_t n, size_t size);

#endif
