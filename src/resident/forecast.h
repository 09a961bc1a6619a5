/* SPDX-License-Identifier: MIT */
/* forecast.h - how much memory of a device a load takes, known before it begins. */
#ifndef RONCHI_RESIDENT_FORECAST_H
#define RONCHI_RESIDENT_FORECAST_H

#include "codec/profile.h"
#include "formats/format.h"
#include "ronchi/resident.h"

/*
 * ronchi_forecast_source() forecasts the load of an open source on the context's device: place RONCHI_HOST where there
 * is none.  Where the stored size of its counts is not known, encoded_bytes is that of the dense array and the least
 * is taken to be nothing.
 */
ronchi_status ronchi_forecast_source(ronchi_context *context, ronchi_source *source, ronchi_forecast *out,
                                     ronchi_error *err);

/*
 * ronchi_forecast_place() replaces *profile by its table for the context's device when the load of an open source (or,
 * with NULL, of 'encoded_bytes' as they are) fits there.  What cannot fit is refused when the device was named; what
 * may not fit stays on the host when it was not.
 */
ronchi_status ronchi_forecast_place(ronchi_context *context, ronchi_source *source, uint64_t encoded_bytes,
                                    const char *path, const ronchi_profile **profile, ronchi_error *err);

#endif
