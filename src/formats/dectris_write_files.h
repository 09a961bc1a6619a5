/* SPDX-License-Identifier: MIT */
/* dectris_write_files.h - the contents of the three kinds of files; for dectris_write.c. */
#ifndef RONCHI_FORMATS_DECTRIS_WRITE_FILES_H
#define RONCHI_FORMATS_DECTRIS_WRITE_FILES_H

#include <hdf5.h>

#include "formats/dectris_write.h"

/* All of them are called inside the HDF5 guard, fill an empty file and return false when libhdf5 failed. */

/*
 * ronchi_dectris_data_fill() makes the dataset for frames first..first+count-1 and leaves it open in *dataset (-1 when
 * that failed).
 */
bool ronchi_dectris_data_fill(hid_t file, const ronchi_dectris_options *options, uint64_t first, uint64_t count,
                              hid_t *dataset);

/* ronchi_dectris_master_fill() writes a whole master; 'stem' is the file name without folder and "_master.h5". */
bool ronchi_dectris_master_fill(hid_t file, const char *stem, const ronchi_dectris_options *options);

bool ronchi_dectris_companion_fill(hid_t file, const ronchi_dectris_options *options);

/* Files and frames of file 'index'. */
uint64_t ronchi_dectris_files(const ronchi_dectris_options *options);
uint64_t ronchi_dectris_file_frames(const ronchi_dectris_options *options, uint64_t index);

/* libhdf5 wants a filter registered that it writes: a stand-in, as we encode ourselves.  False when that failed. */
bool ronchi_dectris_filter_register(const char *filter, bool *registered);
void ronchi_dectris_filter_unregister(const char *filter);

#endif
