/* SPDX-License-Identifier: MIT */
/*
 * formats.h - original files: what is there (inspect), how its frames become a scan, what its calibration says.
 *
 * A source is an original file or set of files as the instrument or another program wrote it: a Dectris master with its
 * data files, an .npy array.  A .qem file can be inspected too.  Nothing here decodes counts.
 */
#ifndef RONCHI_FORMATS_H
#define RONCHI_FORMATS_H

#include "ronchi/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the extra frames of each scan line stand. */
typedef enum ronchi_flyback_at { RONCHI_FLYBACK_START = 0, RONCHI_FLYBACK_END = 1 } ronchi_flyback_at;

/* What becomes of flagged pixels (nonzero in the detector's pixel mask) at load.  Zero and median change data. */
typedef enum ronchi_flagged {
    RONCHI_FLAGGED_KEEP = 0,
    RONCHI_FLAGGED_ZERO = 1,
    RONCHI_FLAGGED_MEDIAN = 2
} ronchi_flagged;

/*
 * What the user says about a source.  Whatever is left at its default is taken from the files' own evidence.
 */
typedef struct ronchi_source_options {
    size_t struct_size;
    size_t scan_rows, scan_cols; /* 0, 0: by evidence */
    int64_t flyback;             /* extra frames per scan line; -1: by evidence */
    int32_t flyback_at;          /* ronchi_flyback_at; -1: by evidence (start) */
    uint64_t skip;               /* frames before the first scan position */
    const char *dataset;         /* path inside the file; NULL: found */
    const char *channel;         /* channel of a multi-channel file, such as "threshold_1"; NULL: the only one */
    int32_t flagged;             /* ronchi_flagged */
    double voltage_kv;           /* overrides of the calibration; 0: as recorded */
    double semiangle_mrad;
    double scan_step_row_a, scan_step_col_a;
    double camera_length_mm;
    double det_step_row_mrad, det_step_col_mrad;
    int32_t orientation_given; /* 1: the next two say how the detector lies; default 0: as recorded */
    double det_rotation_deg;   /* as in ronchi_calibration */
    int32_t det_transpose;
} ronchi_source_options;

RONCHI_API void ronchi_source_options_defaults(ronchi_source_options *options);

/* One calibrated number.  'known' is 0 when neither file nor user says it. */
typedef struct ronchi_quantity {
    int32_t known;
    double value;
    char unit[16];        /* "kV", "mrad", "angstrom", "mm", "us", "1/angstrom", "degree" */
    char provenance[160]; /* "source_metadata", "user_override", ... with where it stood */
} ronchi_quantity;

typedef struct ronchi_calibration {
    ronchi_quantity voltage;       /* kV */
    ronchi_quantity semiangle;     /* mrad */
    ronchi_quantity scan_step_row; /* angstrom */
    ronchi_quantity scan_step_col; /* angstrom */
    ronchi_quantity camera_length; /* mm */
    ronchi_quantity det_step_row;  /* mrad or 1/angstrom */
    ronchi_quantity det_step_col;  /* mrad or 1/angstrom */
    ronchi_quantity dwell;         /* us */
    ronchi_quantity scan_rotation; /* degree, as the microscope recorded it; its sense is the vendor's */
    ronchi_quantity
        det_rotation;      /* degree: how the detector lies, v_detector = P R(det_rotation) v_scan with P the
                              exchange of row and column where det_transpose is 1 (docs/conventions.md); a flip is
                              one of these too.  Used by every operation that relates detector and scan axes */
    int32_t det_transpose; /* 0 or 1; says something only where det_rotation is known */
} ronchi_calibration;

/* One piece of evidence about the scan shape, in order of trust. */
typedef struct ronchi_evidence {
    char from[96];  /* "option --scan-shape", "companion NAME", "json NAME", "attribute PATH", "ntrigger", "square" */
    char says[160]; /* in words: "32 columns x 24 rows, 2 prescan positions" */
    size_t scan_rows, scan_cols; /* 0, 0: says nothing about the shape by itself */
    int64_t flyback;             /* -1: says nothing */
    int32_t chosen;              /* 1: the scan shape comes from this */
    int32_t agrees;              /* 1: fits the number of stored frames */
} ronchi_evidence;

/* One file that belongs to the source. */
typedef struct ronchi_source_file {
    char name[256];    /* relative to the main file where it lies beside it */
    char problem[160]; /* empty: present and readable */
    uint64_t size_bytes;
    uint64_t frames;         /* frames declared */
    uint64_t frames_present; /* frames whose chunk is allocated */
} ronchi_source_file;

/*
 * The check-up of a source or .qem, without decoding counts.  Owned arrays are freed by ronchi_inspection_free().
 */
typedef struct ronchi_inspection {
    char format[32];                         /* "dectris-master", "npy", "qem", ... */
    char layout[32];                         /* "external", "inline", "dataset", codec of a .qem, ... */
    char filter[32];                         /* "bslz4", "lz4", "gzip", "none", ... */
    int32_t ready;                           /* 1: load will work */
    char reason[256];                        /* why not ready, else empty */
    char action[256];                        /* what to do next */
    ronchi_shape shape;                      /* zeros where unknown */
    ronchi_dtype dtype;                      /* as stored */
    uint64_t frames_stored, frames_expected; /* expected 0: not known */
    uint64_t skip;
    int64_t flyback; /* extra frames per line, 0 when none */
    int32_t flyback_at;
    uint64_t flagged_pixels;
    uint64_t stored_bytes; /* of all files */
    uint64_t dense_bytes;  /* rows x cols x detector x sizeof dtype */
    char detector[96];     /* description, or empty */
    ronchi_calibration calibration;
    ronchi_evidence *evidence;
    size_t n_evidence;
    ronchi_source_file *files;
    size_t n_files;
    char *metadata_json; /* everything the reader retained, a JSON object, or NULL */
} ronchi_inspection;

/*
 * ronchi_inspect() reads the headers of 'path' (a source or a .qem) and fills *out.  A source that is there but cannot
 * be loaded is no error: ready is 0, reason and action say why.  'options' may be NULL.
 *
 * RONCHI_ERR_NOT_FOUND  no such path
 * RONCHI_ERR_FORMAT     no reader knows it
 * RONCHI_ERR_IO         it cannot be read
 */
RONCHI_API ronchi_status ronchi_inspect(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                        ronchi_inspection *out, ronchi_error *err);
/* ronchi_inspection_free() frees the owned arrays and clears the struct.  NULL does nothing. */
RONCHI_API void ronchi_inspection_free(ronchi_inspection *inspection);

/*
 * ronchi_npy_write() writes a host view (any dtype, any strides) as a C-ordered .npy file of version 1.0 without its
 * leading axes of size 1 beyond 'axes' (2 to 4 axes are written).  Atomic: a temporary file in the same folder,
 * renamed.
 *
 * RONCHI_ERR_EXISTS  'path' exists and 'force' is 0
 * RONCHI_ERR_IO      writing failed; nothing is left behind
 */
RONCHI_API ronchi_status ronchi_npy_write(const char *path, const ronchi_view *view, int axes, int force,
                                          ronchi_error *err);

/*
 * ronchi_npy_read() reads an .npy array of up to four axes into memory that the caller frees with free(); *view
 * describes it (leading axes of size 1 added).  For masks and small arrays; acquisitions go through
 * ronchi_acquisition_load(). Booleans arrive as uint8.
 */
RONCHI_API ronchi_status ronchi_npy_read(const char *path, ronchi_view *view, void **memory, ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
