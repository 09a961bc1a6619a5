/* SPDX-License-Identifier: MIT */
/*
 * internal.h - what the layers above core need of it: errors, checked sizes, memory, the parallel loop.
 */
#ifndef RONCHI_CORE_INTERNAL_H
#define RONCHI_CORE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ronchi/core.h"

#if defined(__GNUC__)
#define RONCHI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define RONCHI_PRINTF(text, first)
#endif

#define RONCHI_NO_OFFSET UINT64_MAX

/*
 * ronchi_fail() fills 'err' (which may be NULL) and returns 'status', so that detecting and leaving is one line.
 * 'file' may be NULL.  The message is cut to fit and control characters in it become '?', so that it stays one line.
 */
ronchi_status ronchi_fail(ronchi_error *err, ronchi_status status, const char *file, uint64_t offset,
                          const char *format, ...) RONCHI_PRINTF(5, 6);
/* The same with errno (or another native code) kept in err->native. */
ronchi_status ronchi_fail_native(ronchi_error *err, ronchi_status status, const char *file, int native,
                                 const char *format, ...) RONCHI_PRINTF(5, 6);

/* --------------------------------------------------------------------------------------------- checked sizes */

/* ronchi_mul() / ronchi_add(): false when the result does not fit a size_t; *out is then untouched. */
bool ronchi_mul(size_t a, size_t b, size_t *out);
bool ronchi_add(size_t a, size_t b, size_t *out);
/* Elements of a shape's scan, detector or all four axes; false on overflow or a zero size. */
bool ronchi_shape_scan(const ronchi_shape *shape, size_t *n_positions);
bool ronchi_shape_detector(const ronchi_shape *shape, size_t *n_pixels);
bool ronchi_shape_elements(const ronchi_shape *shape, size_t *n_elements);

static inline size_t ronchi_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t ronchi_div_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* ronchi_quotient() gives a / b (b > 0) of any 64-bit integers as a double, rounded once (to nearest, ties to even). */
double ronchi_quotient(uint64_t a, uint64_t b);

/* ronchi_region_inside(): true when every axis is nonempty and within the shape. */
bool ronchi_region_inside(const ronchi_region *region, const ronchi_shape *shape);

/* --------------------------------------------------------------------------------------------------- views */

/* Pointer to one element of a view. */
static inline void *ronchi_view_at(const ronchi_view *view, size_t i, size_t j, size_t k, size_t l)
{
    return (char *)view->data + (ptrdiff_t)i * view->stride[0] + (ptrdiff_t)j * view->stride[1] +
           (ptrdiff_t)k * view->stride[2] + (ptrdiff_t)l * view->stride[3];
}

/* ronchi_view_is(): true when the view is a host array of that shape (leading sizes first) with data. */
bool ronchi_view_is(const ronchi_view *view, size_t n0, size_t n1, size_t n2, size_t n3);

/* ronchi_view_near(): the same for a view that lies on the host or in the given place. */
bool ronchi_view_near(const ronchi_view *view, ronchi_place place, int32_t device, size_t n0, size_t n1, size_t n2,
                      size_t n3);

/* -------------------------------------------------------------------------------------------------- memory */

/* ronchi_alloc() takes 'size_bytes' (at least 1) from the context's allocator, aligned to 64; NULL when there is none.
 */
void *ronchi_alloc(ronchi_context *context, size_t size_bytes);
/* ronchi_calloc() the same, n elements of 'size_bytes', zeroed, product checked. */
void *ronchi_calloc(ronchi_context *context, size_t n, size_t size_bytes);
void ronchi_free(ronchi_context *context, void *memory);

/* ------------------------------------------------------------------------------------------- parallel loop */

/*
 * One item of a parallel loop.  'worker' is below ronchi_context_threads() and no two items run under the same worker
 * number at once, so per-worker scratch needs no lock.  Writes its error into 'err'.
 */
typedef ronchi_status (*ronchi_item_fn)(void *user, size_t item, size_t worker, ronchi_error *err);

/*
 * ronchi_parallel_for() runs items 0..n-1.  Work is cut by item, never by thread count, so results cannot depend on it.
 * When items fail the error of the lowest failing item is returned, and items after a failure may not run.
 * Called from inside an item, or while the workers serve another thread, it runs on the calling thread.
 */
ronchi_status ronchi_parallel_for(ronchi_context *context, size_t n_items, ronchi_item_fn fn, void *user,
                                  ronchi_error *err);

/*
 * ronchi_report() calls the progress callback; RONCHI_ERR_CANCELLED when it asks to stop.  Only from the thread that
 * called the library, never from an item.
 */
ronchi_status ronchi_report(ronchi_context *context, const ronchi_progress *progress, ronchi_error *err);

/*
 * ronchi_decoded_take() takes room for n x 'size_bytes' bytes of decoded counts (product checked, NULL when there is
 * none), which the budget bounds; ronchi_decoded_give() gives it back, NULL does nothing.  The most that was taken at a
 * time is ronchi_context_decoded_peak().
 */
void *ronchi_decoded_take(ronchi_context *context, size_t n, size_t size_bytes);
void ronchi_decoded_give(ronchi_context *context, void *counts);

/*
 * ronchi_context_device() returns the device to work on (cuda/runtime.h), or NULL: the CPU.  With "auto" the first call
 * looks for one and finding none is no error; it is the same for the life of the context.
 */
struct ronchi_device;
struct ronchi_device *ronchi_context_device(ronchi_context *context);
/* True when the caller named a device: then what it cannot do is an error, else the CPU does it. */
bool ronchi_context_device_asked(const ronchi_context *context);

/* ronchi_context_kernels() returns the table of kernels; constant for the life of the context. */
const struct ronchi_kernels *ronchi_context_kernels(const ronchi_context *context);

#endif
