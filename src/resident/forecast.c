/* SPDX-License-Identifier: MIT */
/*
 * forecast.c - see resident.h.
 *
 * How small counts become is known only once they are encoded, so the forecast is a range.  The detectors' bitshuffle +
 * LZ4 is 1.7 to 2.5 times as large as lane-rans-v1 (docs/performance.md) at means from 0.25 to 400 counts
 * a pixel; the range here is the stored size at most, and a quarter of it at least.
 */
#include "resident/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/runtime.h"

enum {
    BLOCK_LIMIT = 96 << 20, /* decoded bytes of one block: docs/format.md */
    RESERVE = 64 << 20,     /* tables, and what is taken in small pieces */
    ENCODER = 11            /* blocks that the encoder's scratch is as large as, several being under way: measured */
};

/* Largest and least bytes of encoded counts. */
typedef struct range {
    uint64_t most, least;
} range;

/* 'held': the dense array as it will be held. */
static range encoded_range(const char *filter, bool is_copy, uint64_t stored, uint64_t held)
{
    if (is_copy)
        return (range){stored, stored};
    if (filter[0] == 0 || strcmp(filter, "none") == 0)
        return (range){held, 0};
    return (range){stored, stored / 4};
}

static ronchi_status fill(ronchi_context *context, range encoded, uint64_t stored, uint64_t dense, ronchi_forecast *out,
                          ronchi_error *err)
{
    ronchi_device *device = ronchi_context_device(context);
    ronchi_device_memory memory;
    memset(out, 0, sizeof *out);
    out->place = RONCHI_HOST;
    if (!device)
        return RONCHI_OK;
    ronchi_status status = device->table->device_memory(device, &memory, err);
    if (status != RONCHI_OK)
        return status;
    uint64_t budget = ronchi_context_budget(context);
    uint64_t frames = 2 * (uint64_t)BLOCK_LIMIT < budget ? 2 * (uint64_t)BLOCK_LIMIT : budget;
    frames = frames < 2 * dense ? frames : 2 * dense;
    /* the stored bytes of as many frames, and an eighth more where they lie scattered */
    double share = dense ? (double)stored / (double)dense * 1.125 : 0;
    out->place = RONCHI_CUDA;
    out->device = device->ordinal;
    memcpy(out->name, device->name, sizeof out->name);
    out->encoded_bytes = encoded.most;
    out->encoded_least_bytes = encoded.least;
    out->workspace_bytes =
        frames + (uint64_t)((double)frames * (share < 1.25 ? share : 1.25)) + ENCODER * (frames / 2) + RESERVE;
    out->free_bytes = memory.free_bytes;
    out->total_bytes = memory.total_bytes;
    out->fits = out->workspace_bytes + encoded.most <= memory.free_bytes    ? RONCHI_FITS
                : out->workspace_bytes + encoded.least <= memory.free_bytes ? RONCHI_MAY_FIT
                                                                            : RONCHI_FITS_NOT;
    return RONCHI_OK;
}

ronchi_status ronchi_forecast_load(ronchi_context *context, const ronchi_inspection *in, ronchi_forecast *out,
                                   ronchi_error *err)
{
    bool is_copy = strcmp(in->format, "qem") == 0;
    uint64_t held = in->dtype == RONCHI_U32 ? in->dense_bytes / 2 : in->dense_bytes;
    return fill(context, encoded_range(in->filter, is_copy, in->stored_bytes, held), in->stored_bytes, in->dense_bytes,
                out, err);
}

ronchi_status ronchi_forecast_source(ronchi_context *context, ronchi_source *source, ronchi_forecast *out,
                                     ronchi_error *err)
{
    enum { STEP = 4096 };
    const ronchi_format *format = source->format;
    uint64_t stored = 0;
    size_t elements = 0;
    bool known = format->locate != NULL && ronchi_context_device(context) != NULL, coded = false;
    ronchi_stored_frame *places = known ? malloc(STEP * sizeof *places) : NULL;
    for (uint64_t first = 0; known && places && first < source->frames_stored; first += STEP) {
        uint64_t rest = source->frames_stored - first, n = rest < STEP ? rest : STEP;
        if (format->locate(source, first, n, places, &known, NULL) != RONCHI_OK)
            known = false;
        for (uint64_t i = 0; known && i < n; i++) {
            stored += places[i].size;
            coded = coded || places[i].coding != RONCHI_CODING_NONE;
        }
    }
    known = known && places;
    free(places);
    if (!ronchi_shape_elements(&source->shape, &elements))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, source->path, RONCHI_NO_OFFSET, "the acquisition is empty");
    uint64_t dense = (uint64_t)elements * ronchi_dtype_size(source->dtype),
             held = source->dtype == RONCHI_U32 ? dense / 2 : dense;
    if (!known)
        stored = dense;
    return fill(context, encoded_range(known && coded ? "coded" : "none", false, stored, held), stored, dense, out,
                err);
}

static ronchi_status refuse(const ronchi_forecast *forecast, const char *path, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET,
                       "needs at least %llu MiB of device memory, cuda:%d has %llu MiB free: use --device cpu",
                       (unsigned long long)((forecast->workspace_bytes + forecast->encoded_least_bytes) >> 20) + 1,
                       (int)forecast->device, (unsigned long long)(forecast->free_bytes >> 20));
}

ronchi_status ronchi_forecast_place(ronchi_context *context, ronchi_source *source, uint64_t encoded_bytes,
                                    const char *path, const ronchi_profile **profile, ronchi_error *err)
{
    ronchi_forecast forecast;
    bool asked = ronchi_context_device_asked(context);
    if (!(*profile)->on_cuda || !ronchi_context_device(context))
        return ronchi_profile_place(context, profile, err);
    ronchi_status status = source ? ronchi_forecast_source(context, source, &forecast, err)
                                  : fill(context, (range){encoded_bytes, encoded_bytes}, 0, 0, &forecast, err);
    if (status != RONCHI_OK)
        return status;
    if (asked && forecast.fits == RONCHI_FITS_NOT)
        return refuse(&forecast, path, err);
    if (!asked && forecast.fits != RONCHI_FITS)
        return RONCHI_OK;
    return ronchi_profile_place(context, profile, err);
}
