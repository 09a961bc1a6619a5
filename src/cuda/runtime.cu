// SPDX-License-Identifier: MIT
// runtime.cu - devices, memory with accounts, streams and events; errors of CUDA as Ronchi's.
#include "cuda/check.cuh"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/runtime_table.cuh"

namespace
{

// A device with what is counted behind it.
struct open_device {
    ronchi_device base;
    pthread_mutex_t lock; // everything below
    uint64_t used, peak;
    ronchi_cuda_job *jobs; // given back, for the next who asks
};

open_device *of(ronchi_device *device)
{
    return reinterpret_cast<open_device *>(device);
}

void count(ronchi_device *device, uint64_t bytes, bool taken)
{
    open_device *d = of(device);
    pthread_mutex_lock(&d->lock);
    d->used = taken ? d->used + bytes : d->used - bytes;
    d->peak = d->used > d->peak ? d->used : d->peak;
    pthread_mutex_unlock(&d->lock);
}

} // namespace

ronchi_status ronchi_cuda_fail(cudaError_t error, const char *what, ronchi_error *err)
{
    (void)cudaGetLastError(); // a failed call must not be reported again by the next one
    ronchi_status status = error == cudaErrorMemoryAllocation ? RONCHI_ERR_MEMORY : RONCHI_ERR_DEVICE;
    return ronchi_fail_native(err, status, NULL, (int)error, "CUDA: %s (%s, %.160s)", cudaGetErrorString(error),
                              cudaGetErrorName(error), what);
}

// ------------------------------------------------------------------------------------------------------------ devices

static void device_close(ronchi_device *device);

static ronchi_status describe(open_device *d, int32_t ordinal, ronchi_error *err)
{
    cudaDeviceProp p;
    ronchi_status status = RONCHI_CUDA(cudaGetDeviceProperties(&p, ordinal), err);
    if (status != RONCHI_OK)
        return status;
    d->base.table = ronchi_cuda_table_here();
    d->base.ordinal = ordinal;
    d->base.capability = 10 * p.major + p.minor;
    d->base.multiprocessors = (size_t)p.multiProcessorCount;
    d->base.shared_bytes = p.sharedMemPerBlockOptin;
    d->base.cache_bytes = (size_t)p.l2CacheSize;
    d->base.memory_bytes = p.totalGlobalMem;
    snprintf(d->base.name, sizeof d->base.name, "%.127s", p.name);
    cudaRuntimeGetVersion(&d->base.runtime);
    cudaDriverGetVersion(&d->base.driver);
    if (d->base.capability < 80)
        return ronchi_fail(err, RONCHI_ERR_DEVICE, NULL, RONCHI_NO_OFFSET,
                           "cuda:%d (%s) has compute capability %d.%d: 8.0 is needed; use --device cpu", ordinal,
                           d->base.name, p.major, p.minor);
    ronchi_device_scope here(&d->base);
    return RONCHI_CUDA(cudaFree(NULL), err); // makes the context
}

static ronchi_status device_open(int32_t ordinal, ronchi_device **out, ronchi_error *err)
{
    int n = 0;
    *out = NULL;
    cudaError_t error = cudaGetDeviceCount(&n);
    (void)cudaGetLastError();
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice || (error == cudaSuccess && n == 0))
        return ronchi_fail_native(
            err, RONCHI_ERR_DEVICE, NULL, (int)error, "no CUDA device was found (%s); use --device cpu",
            error == cudaErrorInsufficientDriver ? "no driver, or one that is too old" : "the driver knows none");
    if (error != cudaSuccess)
        return ronchi_cuda_fail(error, "looking for devices", err);
    if (ordinal < 0 || ordinal >= n)
        return ronchi_fail(err, RONCHI_ERR_DEVICE, NULL, RONCHI_NO_OFFSET,
                           "there is no cuda:%d: the last device is cuda:%d", ordinal, n - 1);
    open_device *d = static_cast<open_device *>(calloc(1, sizeof *d));
    if (!d)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a device");
    pthread_mutex_init(&d->lock, NULL);
    ronchi_status status = describe(d, ordinal, err);
    if (status != RONCHI_OK) {
        device_close(&d->base);
        return status;
    }
    *out = &d->base;
    return RONCHI_OK;
}

static ronchi_status device_memory(ronchi_device *device, ronchi_device_memory *out, ronchi_error *err)
{
    ronchi_device_scope here(device);
    size_t free_bytes = 0, total = 0;
    open_device *d = of(device);
    ronchi_status status = RONCHI_CUDA(cudaMemGetInfo(&free_bytes, &total), err);
    pthread_mutex_lock(&d->lock);
    out->used_bytes = d->used;
    out->peak_bytes = d->peak;
    pthread_mutex_unlock(&d->lock);
    out->free_bytes = free_bytes;
    out->total_bytes = total;
    return status;
}

static void reset_peak(ronchi_device *device)
{
    open_device *d = of(device);
    pthread_mutex_lock(&d->lock);
    d->peak = d->used;
    pthread_mutex_unlock(&d->lock);
}

// ------------------------------------------------------------------------------------------------------------- memory

static ronchi_status memory_take(ronchi_device *device, size_t bytes, void **out, ronchi_error *err)
{
    ronchi_device_scope here(device);
    *out = NULL;
    cudaError_t error = cudaMalloc(out, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        size_t free_bytes = 0, total = 0;
        (void)cudaGetLastError();
        cudaMemGetInfo(&free_bytes, &total);
        return ronchi_fail_native(err, RONCHI_ERR_MEMORY, NULL, (int)error,
                                  "cuda:%d has no %zu bytes left: %zu of %zu are free; use --device cpu",
                                  device->ordinal, bytes, free_bytes, total);
    }
    if (error != cudaSuccess)
        return ronchi_cuda_fail(error, "cudaMalloc", err);
    count(device, bytes, true);
    return RONCHI_OK;
}

static void memory_give(ronchi_device *device, void *memory, size_t bytes)
{
    if (!memory)
        return;
    ronchi_device_scope here(device);
    cudaFree(memory);
    count(device, bytes, false);
}

static ronchi_status pinned_take(ronchi_device *device, size_t bytes, void **out, ronchi_error *err)
{
    ronchi_device_scope here(device);
    *out = NULL;
    return RONCHI_CUDA(cudaHostAlloc(out, bytes ? bytes : 1, cudaHostAllocPortable), err);
}

static void pinned_give(ronchi_device *device, void *memory)
{
    if (!memory)
        return;
    ronchi_device_scope here(device);
    cudaFreeHost(memory);
}

// -------------------------------------------------------------------------------------------------------------- arena

namespace
{

enum : size_t { ALIGN = 256 };

struct block {
    block *next;
    char *memory;
    size_t bytes, used;
};

} // namespace

struct ronchi_arena {
    ronchi_device *device;
    size_t block_bytes;
    uint64_t bytes;
    block *blocks; // the newest first
};

static ronchi_status arena_open(ronchi_device *device, size_t block_bytes, ronchi_arena **out, ronchi_error *err)
{
    *out = static_cast<ronchi_arena *>(calloc(1, sizeof **out));
    if (!*out)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for an arena");
    (*out)->device = device;
    (*out)->block_bytes = block_bytes;
    return RONCHI_OK;
}

static ronchi_status arena_take(ronchi_arena *arena, size_t bytes, void **out, ronchi_error *err)
{
    size_t rounded = 0;
    *out = NULL;
    if (bytes > SIZE_MAX - ALIGN)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu bytes", bytes);
    rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    block *b = arena->blocks;
    if (!b || b->bytes - b->used < rounded) {
        b = static_cast<block *>(calloc(1, sizeof *b));
        if (!b)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for an arena");
        b->bytes = rounded > arena->block_bytes ? rounded : arena->block_bytes;
        void *memory = NULL;
        ronchi_status status = memory_take(arena->device, b->bytes, &memory, err);
        if (status != RONCHI_OK) {
            free(b);
            return status;
        }
        b->memory = static_cast<char *>(memory);
        b->next = arena->blocks;
        arena->blocks = b;
        arena->bytes += b->bytes;
    }
    *out = b->memory + b->used;
    b->used += rounded;
    return RONCHI_OK;
}

static uint64_t arena_bytes(const ronchi_arena *arena)
{
    return arena->bytes;
}

static void arena_close(ronchi_arena *arena)
{
    if (!arena)
        return;
    for (block *b = arena->blocks, *next; b; b = next) {
        next = b->next;
        memory_give(arena->device, b->memory, b->bytes);
        free(b);
    }
    free(arena);
}

// ---------------------------------------------------------------------------------------------------- streams and jobs

static ronchi_status stream_open(ronchi_device *device, ronchi_cuda_stream *out, ronchi_error *err)
{
    ronchi_device_scope here(device);
    *out = NULL;
    return RONCHI_CUDA(cudaStreamCreateWithFlags(out, cudaStreamNonBlocking), err);
}

static void stream_close(ronchi_device *device, ronchi_cuda_stream stream)
{
    if (!stream)
        return;
    ronchi_device_scope here(device);
    cudaStreamDestroy(stream);
}

static ronchi_status stream_wait(ronchi_device *device, ronchi_cuda_stream stream, ronchi_error *err)
{
    ronchi_device_scope here(device);
    return ronchi_cuda_status(cudaStreamSynchronize(stream), "work on the device", err);
}

static void job_free(ronchi_cuda_job *job)
{
    memory_give(job->device, job->scratch, job->scratch_bytes);
    pinned_give(job->device, job->host);
    stream_close(job->device, job->stream);
    free(job);
}

static ronchi_status job_grow(ronchi_cuda_job *job, size_t scratch_bytes, size_t host_bytes, ronchi_error *err)
{
    ronchi_status status = RONCHI_OK;
    if (job->scratch_bytes < scratch_bytes) {
        memory_give(job->device, job->scratch, job->scratch_bytes);
        job->scratch = NULL;
        job->scratch_bytes = 0;
        status = memory_take(job->device, scratch_bytes, &job->scratch, err);
        job->scratch_bytes = status == RONCHI_OK ? scratch_bytes : 0;
    }
    if (status == RONCHI_OK && job->host_bytes < host_bytes) {
        pinned_give(job->device, job->host);
        job->host = NULL;
        job->host_bytes = 0;
        status = pinned_take(job->device, host_bytes, &job->host, err);
        job->host_bytes = status == RONCHI_OK ? host_bytes : 0;
    }
    if (status == RONCHI_OK && !job->stream)
        status = stream_open(job->device, &job->stream, err);
    return status;
}

static ronchi_status job_take(ronchi_device *device, size_t scratch_bytes, size_t host_bytes, ronchi_cuda_job **out,
                              ronchi_error *err)
{
    open_device *d = of(device);
    pthread_mutex_lock(&d->lock);
    ronchi_cuda_job *job = d->jobs;
    if (job)
        d->jobs = job->next;
    pthread_mutex_unlock(&d->lock);
    *out = NULL;
    if (!job)
        job = static_cast<ronchi_cuda_job *>(calloc(1, sizeof *job));
    if (!job)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a job");
    job->device = device;
    job->next = NULL;
    ronchi_status status = job_grow(job, scratch_bytes, host_bytes, err);
    if (status != RONCHI_OK) {
        job_free(job);
        return status;
    }
    *out = job;
    return RONCHI_OK;
}

static void job_give(ronchi_cuda_job *job)
{
    if (!job)
        return;
    open_device *d = of(job->device);
    pthread_mutex_lock(&d->lock);
    job->next = d->jobs;
    d->jobs = job;
    pthread_mutex_unlock(&d->lock);
}

static void device_close(ronchi_device *device)
{
    if (!device)
        return;
    open_device *d = of(device);
    for (ronchi_cuda_job *job = d->jobs, *next; job; job = next) {
        next = job->next;
        job_free(job);
    }
    pthread_mutex_destroy(&d->lock);
    free(d);
}

// -------------------------------------------------------------------------------------------------- copies and events

static ronchi_status copy(ronchi_device *device, ronchi_cuda_stream stream, void *to, const void *from, size_t bytes,
                          ronchi_error *err)
{
    ronchi_device_scope here(device);
    return RONCHI_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), err);
}

static ronchi_status fill(ronchi_device *device, ronchi_cuda_stream stream, void *to, int byte, size_t bytes,
                          ronchi_error *err)
{
    ronchi_device_scope here(device);
    return RONCHI_CUDA(cudaMemsetAsync(to, byte, bytes, stream), err);
}

static ronchi_status event_open(ronchi_device *device, ronchi_cuda_event *out, ronchi_error *err)
{
    ronchi_device_scope here(device);
    *out = NULL;
    return RONCHI_CUDA(cudaEventCreate(out), err);
}

static void event_close(ronchi_device *device, ronchi_cuda_event event)
{
    if (!event)
        return;
    ronchi_device_scope here(device);
    cudaEventDestroy(event);
}

static ronchi_status event_record(ronchi_device *device, ronchi_cuda_event event, ronchi_cuda_stream stream,
                                  ronchi_error *err)
{
    ronchi_device_scope here(device);
    return RONCHI_CUDA(cudaEventRecord(event, stream), err);
}

static ronchi_status event_order(ronchi_device *device, ronchi_cuda_stream later, ronchi_cuda_event event,
                                 ronchi_error *err)
{
    ronchi_device_scope here(device);
    return RONCHI_CUDA(cudaStreamWaitEvent(later, event, 0), err);
}

static ronchi_status event_wait(ronchi_device *device, ronchi_cuda_event event, ronchi_error *err)
{
    ronchi_device_scope here(device);
    return ronchi_cuda_status(cudaEventSynchronize(event), "work on the device", err);
}

static ronchi_status event_seconds(ronchi_device *device, ronchi_cuda_event from, ronchi_cuda_event to, double *seconds,
                                   ronchi_error *err)
{
    ronchi_device_scope here(device);
    float ms = 0;
    ronchi_status status = RONCHI_CUDA(cudaEventElapsedTime(&ms, from, to), err);
    *seconds = (double)ms / 1000;
    return status;
}

void ronchi_cuda_runtime_fill(ronchi_cuda_table *table)
{
    table->device_open = device_open;
    table->device_close = device_close;
    table->device_memory = device_memory;
    table->reset_peak = reset_peak;
    table->memory_take = memory_take;
    table->memory_give = memory_give;
    table->pinned_take = pinned_take;
    table->pinned_give = pinned_give;
    table->arena_open = arena_open;
    table->arena_take = arena_take;
    table->arena_bytes = arena_bytes;
    table->arena_close = arena_close;
    table->job_take = job_take;
    table->job_give = job_give;
    table->stream_open = stream_open;
    table->stream_close = stream_close;
    table->stream_wait = stream_wait;
    table->copy = copy;
    table->fill = fill;
    table->event_open = event_open;
    table->event_close = event_close;
    table->event_record = event_record;
    table->event_order = event_order;
    table->event_wait = event_wait;
    table->event_seconds = event_seconds;
}
