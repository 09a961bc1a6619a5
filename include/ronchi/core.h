/* SPDX-License-Identifier: MIT */
/*
 * core.h - status and error, shapes, views, the context.  Everything else in Ronchi is built on these.
 *
 * Conventions that hold everywhere: row before column; an acquisition is counts
 * [scan_row][scan_col][det_row][det_col]; sizes are in elements unless a name says bytes; units stand in names
 * (step_a is angstrom, angle_mrad milliradian, voltage_kv kilovolt).  The library never prints and never aborts.
 */
#ifndef RONCHI_CORE_H
#define RONCHI_CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RONCHI_VERSION_MAJOR  0
#define RONCHI_VERSION_MINOR  1
#define RONCHI_VERSION_PATCH  0
#define RONCHI_VERSION_STRING "0.1.0"

#if defined(_WIN32)
#define RONCHI_API __declspec(dllexport)
#elif defined(__GNUC__)
#define RONCHI_API __attribute__((visibility("default")))
#else
#define RONCHI_API
#endif

/* ronchi_version() returns the library's version as text, such as "0.1.0".  Static storage. */
RONCHI_API const char *ronchi_version(void);

/* ---------------------------------------------------------------------------------------------- status, error */

/*
 * What can fail returns one of these; results leave through pointers.  After an error, outputs are unspecified and
 * every object can still be used or destroyed.
 */
typedef enum ronchi_status {
    RONCHI_OK = 0,
    RONCHI_ERR_ARGUMENT,    /* the call itself is wrong */
    RONCHI_ERR_SHAPE,       /* shapes or types differ from those the call documents */
    RONCHI_ERR_RANGE,       /* a value does not fit the type asked for; nothing is ever clipped */
    RONCHI_ERR_NOT_FOUND,   /* a path or a named thing is not there */
    RONCHI_ERR_EXISTS,      /* the output exists and overwriting was not asked for */
    RONCHI_ERR_NEEDED,      /* a scan shape or a calibration must be given; the message names the option */
    RONCHI_ERR_CLOSED,      /* the object was closed */
    RONCHI_ERR_DATA,        /* the data is damaged or contradicts itself */
    RONCHI_ERR_INCOMPLETE,  /* part of the acquisition is missing */
    RONCHI_ERR_FORMAT,      /* unknown format, version or codec */
    RONCHI_ERR_UNSUPPORTED, /* understood, but not available here (device, representation, combination) */
    RONCHI_ERR_MEMORY,      /* out of memory, or the budget is too small */
    RONCHI_ERR_IO,          /* reading or writing failed; native is errno */
    RONCHI_ERR_DEVICE,      /* a device failed; native is its error code */
    RONCHI_ERR_CANCELLED,   /* the progress callback asked to stop */
    RONCHI_ERR_INTERNAL     /* a promise of our own was broken: please report */
} ronchi_status;

/* ronchi_status_name() returns the constant's name without prefix, such as "DATA".  Static storage, never NULL. */
RONCHI_API const char *ronchi_status_name(ronchi_status status);

/*
 * Filled by whatever touches bytes, files or devices, by the place that detects the error.  The caller owns it;
 * every function that takes one accepts NULL.
 */
typedef struct ronchi_error {
    ronchi_status status;
    uint64_t offset;   /* input byte where it was noticed, else UINT64_MAX */
    int32_t native;    /* errno or device error code, else 0 */
    char file[256];    /* path as the caller gave it (its end if longer), or empty */
    char message[512]; /* one line: what, where, what to do; always terminated */
} ronchi_error;

/* ------------------------------------------------------------------------------------------- shapes and views */

typedef enum ronchi_dtype { RONCHI_U8 = 1, RONCHI_U16, RONCHI_U32, RONCHI_U64, RONCHI_F32, RONCHI_F64 } ronchi_dtype;

/* ronchi_dtype_size() returns the bytes of one element, or 0 for a value that is no dtype. */
RONCHI_API size_t ronchi_dtype_size(ronchi_dtype dtype);
/* ronchi_dtype_name() returns NumPy's name, such as "uint16"; "?" for a value that is no dtype.  Static storage. */
RONCHI_API const char *ronchi_dtype_name(ronchi_dtype dtype);

/* The four sizes of an acquisition. */
typedef struct ronchi_shape {
    size_t scan_rows, scan_cols, det_rows, det_cols;
} ronchi_shape;

/* A box in an acquisition: first index and number of elements along each of the four axes. */
typedef struct ronchi_region {
    size_t scan_row, scan_rows, scan_col, scan_cols;
    size_t det_row, det_rows, det_col, det_cols;
} ronchi_region;

/* ronchi_region_all() returns the region that covers the whole of 'shape'. */
RONCHI_API ronchi_region ronchi_region_all(const ronchi_shape *shape);

typedef enum ronchi_place { RONCHI_HOST = 0, RONCHI_CUDA = 1 } ronchi_place;

/*
 * The one array type: a borrowed pointer, an element type, a place and up to four axes with strides in signed bytes.
 * Arrays of fewer axes have leading axes of size 1.  It owns nothing.
 */
typedef struct ronchi_view {
    void *data;
    ronchi_dtype dtype;
    ronchi_place place;
    int32_t device; /* ordinal when place is not the host */
    size_t shape[4];
    ptrdiff_t stride[4]; /* bytes */
} ronchi_view;

/*
 * ronchi_view_2d() / ronchi_view_4d() describe a C-ordered host array at 'data' (borrowed) of the given sizes.
 * Sizes whose product overflows give a view with NULL data, which every function refuses.
 */
RONCHI_API ronchi_view ronchi_view_2d(void *data, ronchi_dtype dtype, size_t rows, size_t cols);
RONCHI_API ronchi_view ronchi_view_4d(void *data, ronchi_dtype dtype, const ronchi_shape *shape);

/* ------------------------------------------------------------------------------------------------ the context */

/*
 * Where memory comes from: one allocator per context, used for everything that is larger than a few kilobytes.
 * alloc returns memory aligned to 64 bytes or NULL; free takes NULL.  Both may be called from any thread.
 */
typedef struct ronchi_allocator {
    void *(*alloc)(void *user, size_t size_bytes);
    void (*free)(void *user, void *memory);
    void *user;
} ronchi_allocator;

/* State of long work.  'total' is 0 while it is not known. */
typedef struct ronchi_progress {
    const char *stage;       /* what is being done: "load", "save", "verify", ... */
    uint64_t done, total;    /* in 'unit's */
    const char *unit;        /* "frames" or "bytes" */
    uint64_t bytes_per_unit; /* decoded bytes that one unit stands for, 0 when it does not apply */
} ronchi_progress;

/*
 * Called from the thread that called the library, at most every few milliseconds of work.  A return value other than 0
 * cancels: the call ends with RONCHI_ERR_CANCELLED, leaving no half-written file.
 */
typedef int (*ronchi_progress_fn)(void *user, const ronchi_progress *progress);

/* CPU features that special kernels use, as bits. */
enum {
    RONCHI_CPU_AVX2 = 1u << 0,
    RONCHI_CPU_BMI2 = 1u << 1,
    RONCHI_CPU_AVX512 = 1u << 2,     /* F, BW, DQ, VL, CD */
    RONCHI_CPU_AVX512VBMI = 1u << 3, /* VBMI and VBMI2 */
    RONCHI_CPU_NEON = 1u << 4
};

typedef struct ronchi_context_options {
    size_t struct_size;          /* sizeof(ronchi_context_options) of the caller's header */
    uint32_t threads;            /* workers including the caller; 0: one for each processor that may be used */
    uint32_t cpu_disable;        /* RONCHI_CPU_* bits not to use (tests); 0: use what is there */
    uint64_t budget_bytes;       /* decoded counts held at a time; 0: 256 MiB */
    ronchi_allocator allocator;  /* all NULL: the C library's */
    ronchi_progress_fn progress; /* may be NULL */
    void *progress_user;
    const char *device; /* NULL or "auto": a CUDA device when there is one, else the CPU; "cpu", "cuda", "cuda:N" */
} ronchi_context_options;

/* ronchi_context_options_defaults() fills 'options' with the defaults named above. */
RONCHI_API void ronchi_context_options_defaults(ronchi_context_options *options);

/*
 * The context: threads, budget, allocator, progress and the table of kernels that suit this CPU, chosen once at
 * creation.  It may be used by several threads at once; work that finds its workers busy runs on the calling thread.
 * Results never depend on the number of threads.
 */
typedef struct ronchi_context ronchi_context;

/*
 * ronchi_context_create() makes a context; 'options' may be NULL.  The caller owns *out and ends it with
 * ronchi_context_destroy() after everything made with it is closed.
 *
 * RONCHI_ERR_ARGUMENT     unknown device text, struct_size of no known version
 * RONCHI_ERR_DEVICE       the device that was named failed or is not there; the message says what is missing
 * RONCHI_ERR_UNSUPPORTED  a kind of device that no build has yet
 * RONCHI_ERR_MEMORY       no memory or no threads
 */
RONCHI_API ronchi_status ronchi_context_create(const ronchi_context_options *options, ronchi_context **out,
                                               ronchi_error *err);
/* ronchi_context_destroy() ends the workers and frees the context.  NULL does nothing. */
RONCHI_API void ronchi_context_destroy(ronchi_context *context);

RONCHI_API uint32_t ronchi_context_threads(const ronchi_context *context);
RONCHI_API uint64_t ronchi_context_budget(const ronchi_context *context);
/*
 * ronchi_context_decoded_peak() returns the most bytes of decoded counts that the library has held at a time in this
 * context (arrays of the caller are not among them): never more than the budget.
 */
RONCHI_API uint64_t ronchi_context_decoded_peak(ronchi_context *context);
/* ronchi_context_cpu() returns the RONCHI_CPU_* bits in use. */
RONCHI_API uint32_t ronchi_context_cpu(const ronchi_context *context);

/* What a context works on.  Bytes are those of the device; those taken are what this context took. */
typedef struct ronchi_device_info {
    ronchi_place place;    /* RONCHI_HOST: the CPU, and nothing else is filled */
    int32_t device;        /* ordinal */
    char name[128];        /* such as "NVIDIA H200" */
    int32_t capability;    /* 10 x major + minor */
    int32_t driver;        /* newest CUDA version that the driver knows, such as 13000 */
    uint64_t memory_bytes; /* of the device */
    uint64_t used_bytes;   /* taken now */
    uint64_t peak_bytes;   /* taken at most so far */
} ronchi_device_info;

/* ronchi_context_device_info() fills *out.  With "auto" it is the first to look for a device. */
RONCHI_API ronchi_status ronchi_context_device_info(ronchi_context *context, ronchi_device_info *out,
                                                    ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
