/* SPDX-License-Identifier: MIT */
/*
 * resident.h - acquisitions: counts kept encoded in memory, read and reduced without ever building the dense array.
 */
#ifndef RONCHI_RESIDENT_H
#define RONCHI_RESIDENT_H

#include "ronchi/codec.h"
#include "ronchi/core.h"
#include "ronchi/formats.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ronchi_representation {
    RONCHI_ENCODED = 0,
    RONCHI_DENSE = 1,
    RONCHI_PAIRED = 2 /* RONCHI_ERR_UNSUPPORTED until it is built */
} ronchi_representation;

/* An acquisition.  Any number of threads may read it at once; close and destroy need it alone. */
typedef struct ronchi_acquisition ronchi_acquisition;

typedef struct ronchi_load_options {
    size_t struct_size;
    ronchi_source_options source; /* see formats.h; overrides of the calibration also apply to a .qem */
    ronchi_profile_id profile;    /* of a source; a .qem keeps its own */
    int32_t representation;       /* ronchi_representation */
    int32_t verify;               /* 1: decode and compare each part right after encoding it */
} ronchi_load_options;

RONCHI_API void ronchi_load_options_defaults(ronchi_load_options *options);

/*
 * The contract: what an acquisition is, true after load, after save and after reopening.
 */
typedef struct ronchi_acquisition_info {
    ronchi_representation representation;
    ronchi_place residency;
    int32_t device;
    ronchi_profile_id profile;
    ronchi_shape source_shape, shape;     /* as in the source after skip and flyback; as held */
    ronchi_dtype source_dtype, dtype;     /* as in the source; as held */
    size_t scan_bin, det_bin;             /* 1: not binned */
    ronchi_region crop;                   /* of the source that is held */
    uint64_t logical_bytes;               /* source_dtype x shape: the dense array this stands for */
    uint64_t resident_bytes, index_bytes; /* held now, index included; of which index */
    uint64_t flagged_pixels;
    uint64_t max_count;    /* largest unflagged count; 0 for float data and where a file does not say */
    int32_t lossless;      /* 1: the source's counts can be given back bit for bit */
    char lossless_by[128]; /* how that is known */
    char mask_policy[64];  /* "preserve-stored-counts", "flagged-markers-in-table", "zero-corrected", ... */
    ronchi_calibration calibration;
    char source_name[256]; /* file name without folder */
    char host_work[128];   /* what the host did although the counts are on a device, and why; empty: nothing */
} ronchi_acquisition_info;

/*
 * ronchi_acquisition_load() loads a source or a .qem as an encoded acquisition.  Never more than the context's budget
 * of decoded counts is held at a time.  'options' may be NULL.  The caller owns *out.
 *
 * Exact: counts are never narrowed without proof.  uint32 sources whose unflagged counts fit 16 bits are held as uint16
 * with the raw values at flagged pixels beside them; those that do not fit are held as uint32.
 *
 * RONCHI_ERR_NOT_FOUND, _FORMAT, _DATA, _INCOMPLETE, _NEEDED (the scan shape), _IO, _MEMORY, _CANCELLED, _UNSUPPORTED
 */
RONCHI_API ronchi_status ronchi_acquisition_load(ronchi_context *context, const char *path,
                                                 const ronchi_load_options *options, ronchi_acquisition **out,
                                                 ronchi_error *err);

/* Whether a load fits into the memory of a device: surely, if its counts encode well enough, or not. */
typedef enum ronchi_fit { RONCHI_FITS_NOT = -1, RONCHI_MAY_FIT = 0, RONCHI_FITS = 1 } ronchi_fit;

/* What a load will take of a device's memory. */
typedef struct ronchi_forecast {
    ronchi_place place;           /* RONCHI_HOST: the context has no device, and nothing else is filled */
    int32_t device;               /* ordinal */
    char name[128];               /* of the device */
    uint64_t encoded_bytes;       /* the encoded counts, at most */
    uint64_t encoded_least_bytes; /* and at least */
    uint64_t workspace_bytes;     /* beside them while loading, about */
    uint64_t free_bytes, total_bytes;
    ronchi_fit fits;
} ronchi_forecast;

/*
 * ronchi_forecast_load() forecasts what loading an inspected source or .qem takes of the context's device.  A load that
 * does not fit is refused before it begins when the device was named, and done by the CPU when it was not.
 *
 * RONCHI_ERR_DEVICE  the device failed
 */
RONCHI_API ronchi_status ronchi_forecast_load(ronchi_context *context, const ronchi_inspection *inspection,
                                              ronchi_forecast *out, ronchi_error *err);

/*
 * ronchi_acquisition_encode() encodes counts that lie in memory.
 *
 *   counts  [scan_row][scan_col][det_row][det_col]  u8, u16, u32 or f32, any strides, borrowed
 *   flagged [det_row][det_col] u8, nonzero = flagged, or NULL
 */
RONCHI_API ronchi_status ronchi_acquisition_encode(ronchi_context *context, const ronchi_view *counts,
                                                   const ronchi_view *flagged, const ronchi_load_options *options,
                                                   ronchi_acquisition **out, ronchi_error *err);

/* ronchi_acquisition_describe() fills *info. */
RONCHI_API ronchi_status ronchi_acquisition_describe(const ronchi_acquisition *acquisition,
                                                     ronchi_acquisition_info *info);

/*
 * ronchi_acquisition_metadata() gives the metadata as a JSON object that the caller frees with free():
 * {"metadata": everything the reader retained, "scientific_metadata": quantem.scientific-metadata/2}.
 */
RONCHI_API ronchi_status ronchi_acquisition_metadata(const ronchi_acquisition *acquisition, char **json);

/*
 * ronchi_acquisition_build_index() makes the exact sum index in memory, where it is not there yet: the sums of every
 * whole tile of the detector (8 x 8 pixels) and of every group of 4 x 4 tiles, of unflagged pixels, at each scan
 * position.  Masked sums then decode only the tiles at the edge of a mask; every result stays the same.  Takes one
 * decode of all counts, and memory that ronchi_acquisition_describe() tells as index_bytes.  Needs the acquisition
 * alone, as close does.
 *
 * RONCHI_ERR_UNSUPPORTED  the profile has no such index
 * RONCHI_ERR_DATA         an encoded stream is damaged
 * RONCHI_ERR_MEMORY
 */
RONCHI_API ronchi_status ronchi_acquisition_build_index(ronchi_acquisition *acquisition, ronchi_error *err);

/* How flagged pixels are given: as stored in the source, or as 0. */
typedef enum ronchi_flagged_read { RONCHI_READ_RAW = 0, RONCHI_READ_MASKED = 1 } ronchi_flagged_read;

/*
 * ronchi_acquisition_read() decodes a band into the caller's array.
 *
 *   out  [scan_rows][scan_cols][det_rows][det_cols] of the region, any strides; u8, u16, u32 or u64 for counts,
 *        f32 or f64 for float data (f32 and f64 also for counts, when every count is representable)
 *
 * Exact.  Flagged pixels as 'flagged' says (raw: the source's own value).
 *
 * RONCHI_ERR_RANGE  a value does not fit the dtype of 'out' (the message names the dtype that does)
 * RONCHI_ERR_SHAPE  the region leaves the acquisition or differs from 'out'
 * RONCHI_ERR_DATA   an encoded stream is damaged
 */
RONCHI_API ronchi_status ronchi_acquisition_read(const ronchi_acquisition *acquisition, const ronchi_region *region,
                                                 ronchi_flagged_read flagged, const ronchi_view *out,
                                                 ronchi_error *err);

/*
 * ronchi_acquisition_flagged() writes the pixel mask: out [det_row][det_col] u8, 1 where flagged.
 */
RONCHI_API ronchi_status ronchi_acquisition_flagged(const ronchi_acquisition *acquisition, const ronchi_view *out);

typedef struct ronchi_save_options {
    size_t struct_size;
    int32_t force;            /* 1: replace an existing file */
    int32_t index;            /* 1: store the sum index of profiles that can go without */
    const char *embed_source; /* path of the original master to embed, or NULL */
} ronchi_save_options;

RONCHI_API void ronchi_save_options_defaults(ronchi_save_options *options);

/*
 * ronchi_acquisition_save() writes a .qem file: temporary file in the same folder, fsync, rename, fsync of the folder.
 * Killed at any moment it leaves either no file of that name or the whole one.  'options' may be NULL.
 *
 * RONCHI_ERR_EXISTS, _IO, _CANCELLED, _MEMORY
 */
RONCHI_API ronchi_status ronchi_acquisition_save(const ronchi_acquisition *acquisition, const char *path,
                                                 const ronchi_save_options *options, ronchi_error *err);

typedef struct ronchi_export_options {
    size_t struct_size;
    int32_t force;               /* 1: replace existing files */
    ronchi_flagged_read flagged; /* RONCHI_READ_RAW gives the source's own bytes back */
    const char *filter;          /* of an HDF5 master: "bslz4" (default), "lz4", "gzip", "none" */
} ronchi_export_options;

RONCHI_API void ronchi_export_options_defaults(ronchi_export_options *options);

/*
 * ronchi_acquisition_export() writes the counts in the source's dtype, in bounded memory: a C-ordered 4-D .npy when
 * 'path' ends in .npy, a Dectris-style master with its data file when it ends in _master.h5.  Atomic: no half-written
 * file is left.
 *
 * RONCHI_ERR_ARGUMENT  another suffix
 * RONCHI_ERR_EXISTS, _IO, _CANCELLED, _MEMORY, _DATA
 */
RONCHI_API ronchi_status ronchi_acquisition_export(const ronchi_acquisition *acquisition, const char *path,
                                                   const ronchi_export_options *options, ronchi_error *err);

/*
 * ronchi_acquisition_verify() decodes everything that is held and checks every stream and every index sum.
 */
RONCHI_API ronchi_status ronchi_acquisition_verify(const ronchi_acquisition *acquisition, ronchi_error *err);

/*
 * ronchi_acquisition_compare() compares every raw value with a source, read again in bounded memory.  With 'flagged' of
 * the options set to zero or median the source is corrected in the same way first. *different is the number of values
 * that differ; the message of 'err' names the first.  RONCHI_OK also when some differ.
 */
RONCHI_API ronchi_status ronchi_acquisition_compare(const ronchi_acquisition *acquisition, const char *source,
                                                    const ronchi_source_options *options, uint64_t *different,
                                                    ronchi_error *err);

/*
 * ronchi_acquisition_close() frees the data; every later call but destroy returns RONCHI_ERR_CLOSED.
 * ronchi_acquisition_destroy() closes and frees the handle; NULL does nothing.
 */
RONCHI_API ronchi_status ronchi_acquisition_close(ronchi_acquisition *acquisition);
RONCHI_API void ronchi_acquisition_destroy(ronchi_acquisition *acquisition);

#ifdef __cplusplus
}
#endif
#endif
