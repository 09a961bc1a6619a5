/* SPDX-License-Identifier: MIT */
/*
 * h5_output.h - a new HDF5 file whose bytes we write ourselves.
 *
 * libhdf5 does not survive a write that fails: after a full disk its files cannot be closed and the process ends in its
 * clean-up.  So libhdf5 gets a driver that never fails.  Counts go straight to the file; its own structures (a few
 * dozen bytes a chunk) stay in memory and are written at the end.  The first failure is kept and reported by our own
 * functions.
 */
#ifndef RONCHI_FORMATS_H5_OUTPUT_H
#define RONCHI_FORMATS_H5_OUTPUT_H

#include <hdf5.h>

#include "core/internal.h"
#include "core/port.h"

typedef struct ronchi_h5_output ronchi_h5_output;

/*
 * ronchi_h5_output_create() opens 'path' (which must not exist) for writing and makes an HDF5 file of it; 'name' stands
 * in messages. *file is its handle, to be closed before commit or destroy.  Like everything here it is called inside
 * the HDF5 guard.
 *
 * RONCHI_ERR_EXISTS, RONCHI_ERR_NOT_FOUND, RONCHI_ERR_IO, RONCHI_ERR_MEMORY
 */
ronchi_status ronchi_h5_output_create(ronchi_context *context, const char *path, const char *name,
                                      ronchi_h5_output **out, hid_t *file, ronchi_error *err);

/* ronchi_h5_output_check() returns the first failure since creation. */
ronchi_status ronchi_h5_output_check(const ronchi_h5_output *output, ronchi_error *err);

/*
 * ronchi_h5_output_commit() writes libhdf5's structures, brings the file to disk and gives it the name 'path'.  The
 * handle is closed.  RONCHI_ERR_IO, RONCHI_ERR_MEMORY; also what failed before.
 */
ronchi_status ronchi_h5_output_commit(ronchi_h5_output *output, ronchi_error *err);

/* ronchi_h5_output_destroy() frees it, and removes the file when it was not committed.  NULL does nothing. */
void ronchi_h5_output_destroy(ronchi_h5_output *output);

#endif
