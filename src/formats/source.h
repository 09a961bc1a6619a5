/* SPDX-License-Identifier: MIT */
/* source.h - what the formats share: options, making and freeing a source, filling an inspection, calibrated
 * quantities. */
#ifndef RONCHI_FORMATS_SOURCE_H
#define RONCHI_FORMATS_SOURCE_H

#include "formats/format.h"
#include "formats/scan_shape.h"

extern const ronchi_format ronchi_format_hdf5; /* Dectris masters and other HDF5 files */
extern const ronchi_format ronchi_format_npy;

/* ronchi_source_options_check() copies 'options' (NULL: defaults) into *out; RONCHI_ERR_ARGUMENT for impossible ones.
 */
ronchi_status ronchi_source_options_check(const ronchi_source_options *options, ronchi_source_options *out,
                                          ronchi_error *err);

/* ronchi_source_new() makes a source with everything zero but format, context and path; NULL without memory. */
ronchi_source *ronchi_source_new(ronchi_context *context, const ronchi_format *format, const char *path);
/* ronchi_source_release() frees what every source owns, and the source; formats call it last in close(). */
void ronchi_source_release(ronchi_source *source);

/* ronchi_source_take_scan() copies a choice that is RONCHI_OK into the source. */
void ronchi_source_take_scan(ronchi_source *source, const ronchi_scan_choice *choice);

/* ronchi_inspection_take_scan() copies a choice with its evidence; RONCHI_ERR_MEMORY. */
ronchi_status ronchi_inspection_take_scan(ronchi_inspection *out, const ronchi_scan_choice *choice, ronchi_error *err);
/* ronchi_inspection_refuse() marks it not ready, with printf-free texts. */
void ronchi_inspection_refuse(ronchi_inspection *out, const char *reason, const char *action);
/* ronchi_inspection_add_file() appends a file, '*out' borrowed until the next; NULL without memory. */
ronchi_source_file *ronchi_inspection_add_file(ronchi_inspection *out);

/*
 * ronchi_quantity_set() records a value unless one is known already (the first record wins); values that are not finite
 * are ignored.  Provenance becomes "source_metadata: WHERE".
 */
void ronchi_quantity_set(ronchi_quantity *quantity, double value, const char *unit, const char *where);
/* ronchi_calibration_override() puts the user's values over the recorded ones. */
void ronchi_calibration_override(ronchi_calibration *calibration, const ronchi_source_options *options);

#endif
