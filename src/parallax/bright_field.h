/* SPDX-License-Identifier: MIT */
/*
 * bright_field.h - the pixels of the disk, their images in pieces of bounded size, and their spectra.
 *
 * The order of the images is fixed by the detector alone: tiles of 8 x 8 pixels, row by row, and within a tile row by
 * row.  A piece is one tile, or a part of it where the budget asks for that, so that sums over images in this order are
 * the same whatever the budget.
 */
#ifndef RONCHI_PARALLAX_BRIGHT_FIELD_H
#define RONCHI_PARALLAX_BRIGHT_FIELD_H

#include "core/fft.h"
#include "core/kernels.h"
#include "resident/acquisition.h"
#include "ronchi/parallax.h"

enum { RONCHI_PIECE = 64 /* images of a piece, at most */ };

/* A rectangle of the detector and the images in it, first..first+n-1 of the order. */
typedef struct ronchi_piece {
    size_t row, rows, col, cols, first, n;
} ronchi_piece;

typedef struct ronchi_bright_field {
    const ronchi_acquisition *acquisition;
    ronchi_context *context;
    ronchi_shape shape;
    size_t n_positions, n_valid;
    uint8_t *valid;       /* [scan_rows][scan_cols] positions that hold measured patterns */
    double *mean_pattern; /* [det_rows][det_cols] over valid positions */
    ronchi_disk disk;
    size_t n, n_flagged, n_left_out;
    uint32_t *row, *col; /* [n] */
    double *mean;        /* [n] counts */
    double dose;         /* mean of it */
    ronchi_piece *pieces;
    size_t n_pieces, band_rows; /* scan rows decoded at a time */
    uint64_t decoded_bytes;     /* of a piece: its band of counts and its images */
    void *band;
    float *images; /* [RONCHI_PIECE at most][n_positions] */
    float base;    /* images are counts / mean - base: 1 for contrast */
} ronchi_bright_field;

/*
 * ronchi_bright_field_open() finds disk and pixels and plans the pieces within the context's budget.
 * ronchi_bright_field_close() frees all of it, also after an error.
 *
 * RONCHI_ERR_DATA    no disk, no pixel with counts
 * RONCHI_ERR_MEMORY  the budget is below one image
 */
ronchi_status ronchi_bright_field_open(const ronchi_acquisition *acquisition, const ronchi_parallax_options *options,
                                       ronchi_bright_field *out, ronchi_error *err);
void ronchi_bright_field_close(ronchi_bright_field *bf);

/* ronchi_bright_field_plan() cuts pixels that are already there into pieces and allocates what a piece needs. */
ronchi_status ronchi_bright_field_plan(ronchi_bright_field *bf, ronchi_error *err);

/*
 * ronchi_bright_field_read() fills bf->images with the contrast, counts / mean - base, of a piece's images; 0 where the
 * position is not valid.  RONCHI_ERR_DATA where float data is not finite.
 */
ronchi_status ronchi_bright_field_read(ronchi_bright_field *bf, const ronchi_piece *piece, ronchi_error *err);

/*
 * A half spectrum in rows (core/rows.h): real parts of columns 0..half-1, zeros up to 'pitch', imaginary parts
 * likewise.
 */
typedef struct ronchi_spectra {
    size_t rows, cols;        /* of the images; padded ones are larger than the scan */
    size_t half, pitch, size; /* columns of the half spectrum; floats of one part of a row, of a spectrum */
    ronchi_fft_real *fft;
    const ronchi_rows *kernels;
} ronchi_spectra;

ronchi_status ronchi_spectra_init(ronchi_context *context, size_t rows, size_t cols, ronchi_spectra *out,
                                  ronchi_error *err);
void ronchi_spectra_free(ronchi_spectra *spectra);

/*
 * ronchi_spectra_transform() gives the spectrum [size] of an image [scan_rows][scan_cols] times 'window' (NULL: 1).
 *   padded  [rows][cols], zeros outside the scan; half  [rows][half]
 * The image may lie where the spectrum goes.
 */
void ronchi_spectra_transform(const ronchi_spectra *spectra, const ronchi_shape *scan, const float *image,
                              const float *window, float *padded, ronchi_complex *half, float *out);

/*
 * ronchi_bright_field_visit() reads all images, piece by piece, into bf->images.
 *
 *   take()  is told of images first..first+n-1 while they are there; called from the thread that called
 *   stage   for the progress
 */
typedef ronchi_status (*ronchi_images_fn)(void *user, size_t first, size_t n, ronchi_error *err);
ronchi_status ronchi_bright_field_visit(ronchi_bright_field *bf, const char *stage, ronchi_images_fn take, void *user,
                                        ronchi_error *err);

/* ronchi_bright_field_walk() does so with their spectra [n][size]; 'window' as above. */
typedef ronchi_status (*ronchi_spectra_fn)(void *user, size_t first, size_t n, const float *spectra, ronchi_error *err);
ronchi_status ronchi_bright_field_walk(ronchi_bright_field *bf, const ronchi_spectra *spectra, const float *window,
                                       const char *stage, ronchi_spectra_fn take, void *user, ronchi_error *err);

#endif
