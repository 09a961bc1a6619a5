/* SPDX-License-Identifier: MIT */
/*
 * hdf5_guard.h - the way into libhdf5: one thread at a time, and nothing printed.
 *
 * libhdf5 is neither thread-safe as distributions build it nor silent: it prints its error stack.  Every stretch of
 * HDF5 calls stands between enter and leave.  Keep stretches short: no decoding, no waiting inside.
 */
#ifndef RONCHI_FORMATS_HDF5_GUARD_H
#define RONCHI_FORMATS_HDF5_GUARD_H

/* The names of 1.10, also with newer libraries. */
#ifndef H5_USE_110_API
#define H5_USE_110_API
#endif
#include <hdf5.h>

/* What ronchi_hdf5_leave() puts back: the error printing of whoever else uses the library in this process. */
typedef struct ronchi_hdf5_guard {
    H5E_auto2_t print;
    void *user;
} ronchi_hdf5_guard;

/* ronchi_hdf5_enter() takes the lock (not recursive) and silences the error stack; leave undoes both. */
void ronchi_hdf5_enter(ronchi_hdf5_guard *guard);
void ronchi_hdf5_leave(const ronchi_hdf5_guard *guard);

#endif
