/* SPDX-License-Identifier: MIT */
/*
 * parallax.h - parallax (tilt-corrected bright field): every pixel of the bright-field disk sees the specimen from its
 * own angle; its images are aligned and added, and the shifts tell the aberrations.
 *
 * Convention (docs/conventions.md, "Bright-field shifts" and "Parallax"): moving the image of a pixel by its shift lays
 * it on that of the disk's centre.  Shifts are (row, column) in scan pixels.
 *
 * All of it runs in bounded memory: images are read one detector tile after the other, the whole scan of it, and are
 * read again where they are needed again.  Sums run in a fixed order, so results are the same bits for any number of
 * threads, any budget and every profile of the same counts.
 */
#ifndef RONCHI_PARALLAX_H
#define RONCHI_PARALLAX_H

#include "ronchi/core.h"
#include "ronchi/detector.h"
#include "ronchi/resident.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RONCHI_PARALLAX_LEVELS = 8 };

/* What becomes of the aberration fit. */
typedef enum ronchi_parallax_fit {
    RONCHI_PARALLAX_FIT_AUTO = 0,   /* fitted where the calibration is known */
    RONCHI_PARALLAX_FIT_NEEDED = 1, /* RONCHI_ERR_NEEDED where it is not */
    RONCHI_PARALLAX_FIT_NONE = 2
} ronchi_parallax_fit;

/* What an image is compared with to find its shift. */
typedef enum ronchi_parallax_reference {
    RONCHI_PARALLAX_REFERENCE_AUTO = 0,     /* TRANSFER where the calibration is known, else MEAN */
    RONCHI_PARALLAX_REFERENCE_TRANSFER = 1, /* the specimen as that pixel transfers it, given the aberrations so far */
    RONCHI_PARALLAX_REFERENCE_MEAN = 2      /* the mean of the aligned images */
} ronchi_parallax_reference;

typedef struct ronchi_parallax_options {
    size_t struct_size;
    int32_t center_given;                  /* 1: center_row and center_col are the disk's centre; 0: fitted */
    double center_row, center_col;         /* px */
    double radius_px;                      /* pixels up to here take part; 0: the fitted radius */
    uint32_t n_bins;                       /* levels below; 0: chosen from the dose */
    uint32_t bins[RONCHI_PARALLAX_LEVELS]; /* detector pixels a side that are added, falling; 1: each pixel by itself */
    uint32_t iterations;                   /* of each level with bins above 1; 2 */
    uint32_t upsample;                     /* pixels of the result per scan pixel and axis, 1 to 8; 2 */
    int32_t fit;                           /* ronchi_parallax_fit */
    int32_t reference;                     /* ronchi_parallax_reference */
    int32_t transpose;  /* 0, 1: the detector's; -1: as recorded, else found (by the sign that |C12| < |C10| leaves) */
    int32_t near_given; /* 1: of rotation and rotation + 180 the nearer to near_deg is taken; 0: to the recorded
                           orientation of the detector, else to 0 */
    double near_deg;
    uint64_t workspace_bytes; /* spectra held at a time; 0: 1 GiB */
} ronchi_parallax_options;

/* ronchi_parallax_options_defaults() fills 'options' with the defaults named above. */
RONCHI_API void ronchi_parallax_options_defaults(ronchi_parallax_options *options);

/* What the shifts say.  'fitted' 0: nothing, 'missing' says why. */
typedef struct ronchi_parallax_aberrations {
    int32_t fitted;
    double c10_a, c12_a, phi12_deg;                      /* C10 = -defocus, angstrom */
    double rotation_deg;                                 /* from scan axes to detector axes */
    int32_t transpose;                                   /* 1: the detector is transposed */
    double c10_error_a, c12_error_a, rotation_error_deg; /* standard errors by the scatter of the shifts alone */
    double wavelength_a, dk_row, dk_col, step_row_a, step_col_a; /* what it was computed with; 1/angstrom a pixel */
    char dk_from[96];
    char missing[192];
} ronchi_parallax_aberrations;

typedef struct ronchi_parallax_result {
    size_t rows, cols; /* of the three images: scan x upsample */
    float *image;      /* normalised: 1 is the mean intensity; no holes */
    float *raw;        /* counts: every image shifted once, added */
    float *density;    /* counts that a specimen of nothing would have given there */
    double low_pass;   /* sigma in scan pixels of the Gaussian that fills 'image' where 'density' has gaps; 0 */
    double *mean;      /* [det_rows][det_cols] mean pattern */
    size_t det_rows, det_cols, scan_rows, scan_cols;
    ronchi_disk disk;                     /* as used */
    size_t n;                             /* images, row by row of the detector */
    uint32_t *pixel_row, *pixel_col;      /* [n] */
    double *shift_row, *shift_col;        /* [n] scan pixels */
    double *error;                        /* [n] expected standard deviation per axis; NAN: not measured by itself */
    uint8_t *held;                        /* [n] 1: held to the fit */
    size_t n_held, n_flagged, n_left_out; /* of which flagged; without counts or far above the disk */
    double matrix[2][2];                  /* scan pixels per detector pixel: shift = matrix (pixel - centre) */
    double dose;                          /* mean counts of a pixel and position */
    uint32_t bins[RONCHI_PARALLAX_LEVELS], n_bins, upsample;
    int32_t reference; /* as used: TRANSFER or MEAN */
    ronchi_parallax_aberrations aberrations;
    uint64_t peak_decoded_bytes; /* counts and images in memory at a time; at most the budget */
    uint64_t workspace_bytes;    /* spectra in memory at a time */
} ronchi_parallax_result;

/*
 * ronchi_parallax_run() aligns and adds the bright-field images of one acquisition.  'options' may be NULL.  The caller
 * frees *out with ronchi_parallax_result_free(), also after an error.
 *
 * RONCHI_ERR_ARGUMENT  an option out of range; bins not falling; the scan has fewer than 16 positions a side
 * RONCHI_ERR_DATA      no disk, empty patterns, no image with counts
 * RONCHI_ERR_NEEDED    FIT_NEEDED or REFERENCE_TRANSFER without calibration; the message names the options
 * RONCHI_ERR_MEMORY    the budget is below one image, or the workspace below what this scan needs; says how much is
 * RONCHI_ERR_CLOSED, _CANCELLED
 */
RONCHI_API ronchi_status ronchi_parallax_run(const ronchi_acquisition *acquisition,
                                             const ronchi_parallax_options *options, ronchi_parallax_result *out,
                                             ronchi_error *err);

/*
 * ronchi_parallax_run_all() does so for several acquisitions, one after the other, each by itself: out [n].  At an
 * error all results are freed and *failed (may be NULL) is the number of the acquisition.
 */
RONCHI_API ronchi_status ronchi_parallax_run_all(const ronchi_acquisition *const *acquisitions, size_t n,
                                                 const ronchi_parallax_options *options, ronchi_parallax_result *out,
                                                 size_t *failed, ronchi_error *err);

/* ronchi_parallax_result_free() frees what a result holds.  NULL does nothing. */
RONCHI_API void ronchi_parallax_result_free(ronchi_parallax_result *result);

/*
 * ronchi_parallax_stack() gives bright-field images, each divided by its mean over the scan.
 *
 *   result  of that acquisition: its pixels, in its order
 *   first   number of the first image
 *   out     [1][images][scan_row][scan_col] f32
 *
 * RONCHI_ERR_SHAPE  'out' goes past the last image
 */
RONCHI_API ronchi_status ronchi_parallax_stack(const ronchi_acquisition *acquisition,
                                               const ronchi_parallax_result *result, size_t first,
                                               const ronchi_view *out, ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
