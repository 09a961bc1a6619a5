/* SPDX-License-Identifier: MIT */
/*
 * pretend.h - a device that is none: its memory is the host's and its work is done at once, by the CPU's own functions.
 * So what libronchi does with a device is tried, under the sanitizers too, on machines that have none.
 */
#ifndef RONCHI_TEST_PRETEND_H
#define RONCHI_TEST_PRETEND_H

#include <stdlib.h>
#include <string.h>

#include "core/kernels.h"
#include "cuda/runtime.h"
#include "formats/bslz4.h"
#include "formats/bslz4_cuda.h"
#include "resident/flagged_core.h"
#include "resident/ingest_cuda.h"

static uint64_t pretend_used, pretend_peak; /* bytes of pretended device memory */
static const ronchi_kernels *pretend_kernels;

static ronchi_status pretend_memory_take(ronchi_device *device, size_t bytes, void **out, ronchi_error *err)
{
    (void)device;
    (void)err;
    *out = malloc(bytes ? bytes : 1);
    memset(*out, 0xC7, bytes);
    pretend_used += bytes;
    pretend_peak = pretend_used > pretend_peak ? pretend_used : pretend_peak;
    return RONCHI_OK;
}

static void pretend_memory_give(ronchi_device *device, void *memory, size_t bytes)
{
    (void)device;
    if (!memory)
        return;
    pretend_used -= bytes;
    free(memory);
}

static ronchi_status pretend_pinned_take(ronchi_device *device, size_t bytes, void **out, ronchi_error *err)
{
    (void)device;
    (void)err;
    *out = malloc(bytes ? bytes : 1);
    memset(*out, 0xC7, bytes);
    return RONCHI_OK;
}

static void pretend_pinned_give(ronchi_device *device, void *memory)
{
    (void)device;
    free(memory);
}

static ronchi_status pretend_memory(ronchi_device *device, ronchi_device_memory *out, ronchi_error *err)
{
    (void)device;
    (void)err;
    *out = (ronchi_device_memory){pretend_used, pretend_peak, 1u << 30, 1u << 30};
    return RONCHI_OK;
}

static void pretend_reset_peak(ronchi_device *device)
{
    (void)device;
    pretend_peak = pretend_used;
}

static ronchi_status pretend_stream_open(ronchi_device *device, ronchi_cuda_stream *out, ronchi_error *err)
{
    (void)device;
    (void)err;
    *out = NULL;
    return RONCHI_OK;
}

static void pretend_stream_close(ronchi_device *device, ronchi_cuda_stream stream)
{
    (void)device;
    (void)stream;
}

static ronchi_status pretend_stream_wait(ronchi_device *device, ronchi_cuda_stream stream, ronchi_error *err)
{
    (void)device;
    (void)stream;
    (void)err;
    return RONCHI_OK;
}

static ronchi_status pretend_copy(ronchi_device *device, ronchi_cuda_stream stream, void *to, const void *from,
                                  size_t bytes, ronchi_error *err)
{
    (void)device;
    (void)stream;
    (void)err;
    memcpy(to, from, bytes);
    return RONCHI_OK;
}

static ronchi_status pretend_event_open(ronchi_device *device, ronchi_cuda_event *out, ronchi_error *err)
{
    (void)device;
    (void)err;
    *out = NULL;
    return RONCHI_OK;
}

static void pretend_event_close(ronchi_device *device, ronchi_cuda_event event)
{
    (void)device;
    (void)event;
}

static ronchi_status pretend_event_record(ronchi_device *device, ronchi_cuda_event event, ronchi_cuda_stream stream,
                                          ronchi_error *err)
{
    (void)device;
    (void)event;
    (void)stream;
    (void)err;
    return RONCHI_OK;
}

static ronchi_status pretend_event_wait(ronchi_device *device, ronchi_cuda_event event, ronchi_error *err)
{
    return pretend_event_record(device, event, NULL, err);
}

static ronchi_status pretend_decode(ronchi_device *device, ronchi_cuda_stream stream, const ronchi_bslz4_batch *b,
                                    ronchi_error *err)
{
    (void)device;
    (void)stream;
    for (size_t i = 0; i < b->n_chunks; i++) {
        const ronchi_bslz4_chunk *c = &b->chunks[i];
        ronchi_status status = RONCHI_OK;
        if (c->from + c->size > b->n_bytes || c->to + b->chunk_bytes > b->out_bytes)
            abort(); /* the caller's mistake, which the real one reports */
        if (c->coding == RONCHI_BSLZ4_BSLZ4)
            status = ronchi_bslz4_decode(pretend_kernels, b->bytes + c->from, c->size, b->element, b->out + c->to,
                                         b->chunk_bytes, err);
        else if (c->coding == RONCHI_BSLZ4_LZ4)
            status = ronchi_lz4_decode(b->bytes + c->from, c->size, b->out + c->to, b->chunk_bytes, err);
        else
            memcpy(b->out + c->to, b->bytes + c->from, b->chunk_bytes);
        if (status != RONCHI_OK)
            *b->fault = (uint64_t)i << 40 | RONCHI_BSLZ4_LZ4_BLOCK;
    }
    return RONCHI_OK;
}

static ronchi_status pretend_correct(ronchi_device *device, ronchi_cuda_stream stream,
                                     const ronchi_ingest_frames *about, int32_t median, size_t element, void *frames,
                                     ronchi_error *err)
{
    (void)device;
    (void)stream;
    (void)err;
    for (size_t f = 0; f < about->n_frames; f++)
        for (size_t k = 0; k < about->n_flagged; k++) {
            void *frame = (uint8_t *)frames + f * about->n_pixels * element;
            uint32_t v = median ? ronchi_flagged_median(about->n_pixels / about->det_cols, about->det_cols, element,
                                                        about->valid, frame, about->flagged[k])
                                : 0;
            ronchi_flagged_put(frame, element, about->flagged[k], v);
        }
    return RONCHI_OK;
}

static ronchi_status pretend_narrow(ronchi_device *device, ronchi_cuda_stream stream, const ronchi_ingest_frames *about,
                                    const uint32_t *wide, uint16_t *frames, uint32_t *raw, uint32_t *over,
                                    ronchi_error *err)
{
    (void)device;
    (void)stream;
    (void)err;
    for (size_t i = 0; i < about->n_frames * about->n_pixels; i++) {
        if (wide[i] > UINT16_MAX && (!about->valid || about->valid[i % about->n_pixels]))
            *over = 1;
        frames[i] = wide[i] > UINT16_MAX ? 0 : (uint16_t)wide[i];
    }
    for (size_t i = 0; i < about->n_frames * about->n_flagged; i++)
        raw[i] = wide[i / about->n_flagged * about->n_pixels + about->flagged[i % about->n_flagged]];
    return RONCHI_OK;
}

static inline ronchi_device *pretend_device(const ronchi_kernels *kernels)
{
    static const ronchi_bslz4_cuda bslz4 = {pretend_decode};
    static const ronchi_ingest_cuda ingest = {pretend_correct, pretend_narrow};
    static const ronchi_cuda_table table = {.device_memory = pretend_memory,
                                            .reset_peak = pretend_reset_peak,
                                            .memory_take = pretend_memory_take,
                                            .memory_give = pretend_memory_give,
                                            .pinned_take = pretend_pinned_take,
                                            .pinned_give = pretend_pinned_give,
                                            .stream_open = pretend_stream_open,
                                            .stream_close = pretend_stream_close,
                                            .stream_wait = pretend_stream_wait,
                                            .copy = pretend_copy,
                                            .event_open = pretend_event_open,
                                            .event_close = pretend_event_close,
                                            .event_record = pretend_event_record,
                                            .event_wait = pretend_event_wait,
                                            .bslz4 = &bslz4,
                                            .ingest = &ingest};
    static ronchi_device device = {.table = &table};
    pretend_kernels = kernels;
    return &device;
}

#endif
