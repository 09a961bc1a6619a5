/* SPDX-License-Identifier: MIT */
/* forecast.h - how much memory of a device a load takes, known before it begins. */
#ifndef RONCHI_RESIDENT_FORECAST_H
#define RONCHI_RESIDENT_FORECAST_H

#include "formats/format.h"
#include "ronchi/resident.h"

/*
 * ronchi_forecast_source() forecasts the load of an open source on the context's device: place RONCHI_HOST where there
 * is none.  Where the stored size of its counts is not known, encoded_bytes is that of the dense array and the least
 * is taken to be nothing.
 */
ronchi_status ronchi_forecast_source(ronchi_context *context, ronchi_source *source, ronchi_forecast *out,
                                     ronchi_error *err);

/* ronchi_forecast_refuse() fills 'err' with why a load cannot be: RONCHI_ERR_MEMORY. */
ronchi_status ronchi_forecast_refuse(const ronchi_forecast *forecast, const char *path, ronchi_error *err);

#endif
