/* SPDX-License-Identifier: MIT */
/*
 * context.c - the context: options, CPU features, kernels, memory, workers and the parallel loop.
 *
 * Workers wait for a job, take item numbers from one counter and are done when the counter has passed the end.  One job
 * at a time: whoever finds the workers busy (another thread, or an item that loops itself) does its items alone, so
 * nothing can wait for itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "core/kernels.h"
#include "core/port.h"
#include "cuda/runtime.h"

enum { MAX_THREADS = 1024 };

typedef struct job {
    ronchi_item_fn fn;
    void *user;
    size_t n_items;
    atomic_size_t next;
    size_t failed_item; /* lowest that failed, n_items while none did; under lock */
    ronchi_error error; /* of that item; under lock */
} job;

typedef struct worker {
    ronchi_context *context;
    ronchi_thread *thread;
    size_t number;
} worker;

struct ronchi_context {
    ronchi_allocator allocator;
    ronchi_progress_fn progress;
    void *progress_user;
    uint64_t budget_bytes;
    uint32_t threads, cpu;
    ronchi_kernels kernels;

    pthread_mutex_t device_lock; /* the two below, until 'looked' */
    bool looked, asked;          /* for a device; the caller named one */
    ronchi_device *device;       /* NULL: the CPU */

    pthread_mutex_t busy; /* held by the thread whose job the workers serve */
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t wake, idle;
    job *current;
    uint64_t generation;
    size_t active;
    bool stop;
    uint64_t decoded, decoded_peak; /* bytes */
    worker *workers;                /* threads - 1 of them; the caller is worker 0 */
};

/* --------------------------------------------------------------------------------------------------- features */

static uint32_t cpu_detect(void)
{
    uint32_t cpu = 0;
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        cpu |= RONCHI_CPU_AVX2;
    if (__builtin_cpu_supports("bmi2"))
        cpu |= RONCHI_CPU_BMI2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
        cpu |= RONCHI_CPU_AVX512;
        if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2"))
            cpu |= RONCHI_CPU_AVX512VBMI;
    }
#elif defined(__aarch64__)
    cpu |= RONCHI_CPU_NEON;
#endif
    return cpu;
}

/* A feature whose basis is switched off goes with it, so that tests cannot make a mix that no machine has. */
static uint32_t cpu_choose(uint32_t disable)
{
    uint32_t cpu = cpu_detect() & ~disable;
    if (!(cpu & RONCHI_CPU_AVX2))
        cpu &= ~(uint32_t)(RONCHI_CPU_AVX512 | RONCHI_CPU_AVX512VBMI);
    if (!(cpu & RONCHI_CPU_AVX512))
        cpu &= ~(uint32_t)RONCHI_CPU_AVX512VBMI;
    return cpu;
}

/* ----------------------------------------------------------------------------------------------------- memory */

static void *default_alloc(void *user, size_t size_bytes)
{
    (void)user;
    size_t rounded;
    if (!ronchi_add(size_bytes, 63, &rounded))
        return NULL;
    return aligned_alloc(64, rounded & ~(size_t)63);
}

static void default_free(void *user, void *memory)
{
    (void)user;
    free(memory);
}

void *ronchi_alloc(ronchi_context *context, size_t size_bytes)
{
    return context->allocator.alloc(context->allocator.user, size_bytes ? size_bytes : 1);
}

void *ronchi_calloc(ronchi_context *context, size_t n, size_t size_bytes)
{
    size_t total;
    if (!ronchi_mul(n, size_bytes, &total))
        return NULL;
    void *memory = ronchi_alloc(context, total);
    if (memory)
        memset(memory, 0, total);
    return memory;
}

void ronchi_free(ronchi_context *context, void *memory)
{
    if (memory)
        context->allocator.free(context->allocator.user, memory);
}

/* Room for decoded counts begins with its own size, on a cache line of its own. */
enum { DECODED_HEAD = 64 };

void *ronchi_decoded_take(ronchi_context *context, size_t n, size_t size_bytes)
{
    size_t bytes, total;
    if (!ronchi_mul(n, size_bytes, &bytes) || !ronchi_add(bytes, DECODED_HEAD, &total))
        return NULL;
    char *memory = ronchi_alloc(context, total);
    if (!memory)
        return NULL;
    memcpy(memory, &bytes, sizeof bytes);
    pthread_mutex_lock(&context->lock);
    context->decoded += bytes;
    if (context->decoded > context->decoded_peak)
        context->decoded_peak = context->decoded;
    pthread_mutex_unlock(&context->lock);
    return memory + DECODED_HEAD;
}

void ronchi_decoded_give(ronchi_context *context, void *counts)
{
    if (!counts)
        return;
    char *memory = (char *)counts - DECODED_HEAD;
    size_t bytes;
    memcpy(&bytes, memory, sizeof bytes);
    pthread_mutex_lock(&context->lock);
    context->decoded -= bytes;
    pthread_mutex_unlock(&context->lock);
    ronchi_free(context, memory);
}

uint64_t ronchi_context_decoded_peak(ronchi_context *context)
{
    pthread_mutex_lock(&context->lock);
    uint64_t peak = context->decoded_peak;
    pthread_mutex_unlock(&context->lock);
    return peak;
}

/* ---------------------------------------------------------------------------------------------- parallel loop */

static void job_failed(ronchi_context *context, job *j, size_t item, const ronchi_error *error)
{
    pthread_mutex_lock(&context->lock);
    if (item < j->failed_item) {
        j->failed_item = item;
        j->error = *error;
    }
    pthread_mutex_unlock(&context->lock);
}

static void job_run(ronchi_context *context, job *j, size_t number)
{
    for (;;) {
        size_t item = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (item >= j->n_items)
            return;
        ronchi_error error;
        memset(&error, 0, sizeof error);
        error.offset = RONCHI_NO_OFFSET;
        ronchi_status status = j->fn(j->user, item, number, &error);
        if (status != RONCHI_OK) {
            error.status = status;
            job_failed(context, j, item, &error);
            /* Items already taken are lower than this counter, so the lowest failure is always among those that ran. */
            atomic_store_explicit(&j->next, j->n_items, memory_order_relaxed);
            return;
        }
    }
}

static void worker_main(void *user)
{
    worker *self = user;
    ronchi_context *context = self->context;
    uint64_t seen = 0;
    pthread_mutex_lock(&context->lock);
    for (;;) {
        while (!context->stop && context->generation == seen)
            pthread_cond_wait(&context->wake, &context->lock);
        if (context->stop)
            break;
        seen = context->generation;
        job *j = context->current;
        if (!j)
            continue;
        context->active++;
        pthread_mutex_unlock(&context->lock);
        job_run(context, j, self->number);
        pthread_mutex_lock(&context->lock);
        if (--context->active == 0)
            pthread_cond_signal(&context->idle);
    }
    pthread_mutex_unlock(&context->lock);
}

ronchi_status ronchi_parallel_for(ronchi_context *context, size_t n_items, ronchi_item_fn fn, void *user,
                                  ronchi_error *err)
{
    job j;
    memset(&j, 0, sizeof j);
    j.fn = fn;
    j.user = user;
    j.n_items = n_items;
    j.failed_item = n_items;
    atomic_init(&j.next, 0);
    bool shared = n_items > 1 && context->threads > 1 && pthread_mutex_trylock(&context->busy) == 0;
    if (shared) {
        pthread_mutex_lock(&context->lock);
        context->current = &j;
        context->generation++;
        pthread_cond_broadcast(&context->wake);
        pthread_mutex_unlock(&context->lock);
    }
    job_run(context, &j, 0);
    if (shared) {
        pthread_mutex_lock(&context->lock);
        context->current = NULL;
        while (context->active)
            pthread_cond_wait(&context->idle, &context->lock);
        pthread_mutex_unlock(&context->lock);
        pthread_mutex_unlock(&context->busy);
    }
    if (j.failed_item < n_items) {
        if (err)
            *err = j.error;
        return j.error.status;
    }
    return RONCHI_OK;
}

ronchi_status ronchi_report(ronchi_context *context, const ronchi_progress *progress, ronchi_error *err)
{
    if (context->progress && context->progress(context->progress_user, progress) != 0)
        return ronchi_fail(err, RONCHI_ERR_CANCELLED, NULL, RONCHI_NO_OFFSET, "cancelled");
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------- create, destroy */

void ronchi_context_options_defaults(ronchi_context_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

/* What the caller wants to work on: an ordinal, or one of these. */
enum { DEVICE_AUTO = -1, DEVICE_CPU = -2 };

static ronchi_status bad_device(const char *device, ronchi_error *err)
{
    return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                       "unknown device '%s': auto, cpu, cuda or cuda:N", device);
}

static ronchi_status choose_device(const char *device, int32_t *out, ronchi_error *err)
{
    *out = DEVICE_AUTO;
    if (!device || strcmp(device, "auto") == 0)
        return RONCHI_OK;
    *out = strcmp(device, "cpu") == 0 ? DEVICE_CPU : 0;
    if (*out == DEVICE_CPU || strcmp(device, "cuda") == 0)
        return RONCHI_OK;
    static const char *const later[] = {"mps", "metal", "webgpu"};
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        size_t n = strlen(later[i]);
        if (strncmp(device, later[i], n) == 0 && (device[n] == 0 || device[n] == ':'))
            return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                               "device %s: this build has no %s part; use --device cpu", device, later[i]);
    }
    size_t digits = strncmp(device, "cuda:", 5) == 0 ? strspn(device + 5, "0123456789") : 0;
    if (digits < 1 || digits > 4 || device[5 + digits])
        return bad_device(device, err);
    *out = (int32_t)strtol(device + 5, NULL, 10);
    return RONCHI_OK;
}

static ronchi_status open_device(ronchi_context *context, int32_t ordinal, ronchi_error *err)
{
    const ronchi_cuda_table *table;
    ronchi_status status = ronchi_cuda_load(&table, err);
    return status == RONCHI_OK ? table->device_open(ordinal, &context->device, err) : status;
}

ronchi_device *ronchi_context_device(ronchi_context *context)
{
    pthread_mutex_lock(&context->device_lock);
    if (!context->looked && open_device(context, 0, NULL) != RONCHI_OK)
        context->device = NULL;
    context->looked = true;
    ronchi_device *device = context->device;
    pthread_mutex_unlock(&context->device_lock);
    return device;
}

bool ronchi_context_device_asked(const ronchi_context *context)
{
    return context->asked;
}

ronchi_status ronchi_context_device_info(ronchi_context *context, ronchi_device_info *out, ronchi_error *err)
{
    ronchi_device *device = ronchi_context_device(context);
    ronchi_device_memory memory;
    memset(out, 0, sizeof *out);
    if (!device)
        return RONCHI_OK;
    ronchi_status status = device->table->device_memory(device, &memory, err);
    out->place = RONCHI_CUDA;
    out->device = device->ordinal;
    memcpy(out->name, device->name, sizeof out->name);
    out->capability = device->capability;
    out->driver = device->driver;
    out->memory_bytes = device->memory_bytes;
    out->used_bytes = memory.used_bytes;
    out->peak_bytes = memory.peak_bytes;
    return status;
}

static ronchi_status start_workers(ronchi_context *context)
{
    size_t n = context->threads - 1;
    context->workers = calloc(n ? n : 1, sizeof *context->workers);
    if (!context->workers)
        return RONCHI_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        worker *w = &context->workers[i];
        w->context = context;
        w->number = i + 1;
        ronchi_status status = ronchi_thread_start(worker_main, w, &w->thread);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

ronchi_status ronchi_context_create(const ronchi_context_options *options, ronchi_context **out, ronchi_error *err)
{
    ronchi_context_options chosen;
    ronchi_context_options_defaults(&chosen);
    *out = NULL;
    if (options) {
        if (options->struct_size != sizeof chosen)
            return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                               "ronchi_context_options of %zu bytes is of no known version", options->struct_size);
        chosen = *options;
    }
    int32_t ordinal;
    ronchi_status status = choose_device(chosen.device, &ordinal, err);
    if (status != RONCHI_OK)
        return status;
    if (chosen.threads > MAX_THREADS)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "%u threads: at most %d", chosen.threads,
                           MAX_THREADS);
    ronchi_context *context = calloc(1, sizeof *context);
    if (!context)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a context");
    ronchi_allocator standard = {default_alloc, default_free, NULL};
    context->allocator = chosen.allocator.alloc && chosen.allocator.free ? chosen.allocator : standard;
    context->progress = chosen.progress;
    context->progress_user = chosen.progress_user;
    context->budget_bytes = chosen.budget_bytes ? chosen.budget_bytes : (uint64_t)256 << 20;
    context->threads = chosen.threads ? chosen.threads : ronchi_processors();
    if (context->threads > MAX_THREADS)
        context->threads = MAX_THREADS;
    context->cpu = cpu_choose(chosen.cpu_disable);
    ronchi_kernels_fill(&context->kernels, context->cpu);
    context->asked = ordinal != DEVICE_AUTO;
    context->looked = ordinal != DEVICE_AUTO;
    pthread_mutex_init(&context->device_lock, NULL);
    pthread_mutex_init(&context->busy, NULL);
    pthread_mutex_init(&context->lock, NULL);
    pthread_cond_init(&context->wake, NULL);
    pthread_cond_init(&context->idle, NULL);
    if (start_workers(context) != RONCHI_OK) {
        uint32_t threads = context->threads;
        ronchi_context_destroy(context);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "cannot start %u threads: give --threads",
                           threads);
    }
    status = ordinal >= 0 ? open_device(context, ordinal, err) : RONCHI_OK;
    if (status != RONCHI_OK) {
        ronchi_context_destroy(context);
        return status;
    }
    *out = context;
    return RONCHI_OK;
}

void ronchi_context_destroy(ronchi_context *context)
{
    if (!context)
        return;
    pthread_mutex_lock(&context->lock);
    context->stop = true;
    pthread_cond_broadcast(&context->wake);
    pthread_mutex_unlock(&context->lock);
    for (size_t i = 0; context->workers && i + 1 < context->threads; i++)
        ronchi_thread_join(context->workers[i].thread);
    free(context->workers);
    if (context->device)
        context->device->table->device_close(context->device);
    pthread_mutex_destroy(&context->device_lock);
    pthread_cond_destroy(&context->idle);
    pthread_cond_destroy(&context->wake);
    pthread_mutex_destroy(&context->lock);
    pthread_mutex_destroy(&context->busy);
    free(context);
}

uint32_t ronchi_context_threads(const ronchi_context *context)
{
    return context->threads;
}

uint64_t ronchi_context_budget(const ronchi_context *context)
{
    return context->budget_bytes;
}

uint32_t ronchi_context_cpu(const ronchi_context *context)
{
    return context->cpu;
}

const struct ronchi_kernels *ronchi_context_kernels(const ronchi_context *context)
{
    return &context->kernels;
}
