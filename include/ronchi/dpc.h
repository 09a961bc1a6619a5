/* SPDX-License-Identifier: MIT */
/*
 * dpc.h - differential phase contrast: the deflection of the beam at every position, the angle between detector and
 * scan, and the phase integrated from it (iDPC), with units where calibrated.
 *
 * Convention (docs/conventions.md, "Detector axes, scan axes"): with c the shift of the centre of mass in detector
 * pixels from that of the undeflected beam, and P the exchange of row and column of a transposed detector, c = P
 * R(rotation) grad(phase) / (2 pi dk),   grad(phase) = 2 pi dk R(-rotation) P c   along scan rows and columns. The
 * phase is positive where electrons are attracted, as by atoms.
 */
#ifndef RONCHI_DPC_H
#define RONCHI_DPC_H

#include "ronchi/core.h"
#include "ronchi/resident.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is taken for the undeflected beam: one mean position, or a plane through all (descan: the beam drifts as it is
 * scanned). */
typedef enum ronchi_dpc_background {
    RONCHI_DPC_BACKGROUND_MEAN = 0,
    RONCHI_DPC_BACKGROUND_PLANE = 1,
    RONCHI_DPC_BACKGROUND_NONE = 2 /* leaves the absolute position */
} ronchi_dpc_background;

/*
 * A field cannot tell its rotation from that plus 180 degrees, under which the phase changes its sign.
 *   OPEN      the rotation in (-90, 90]: the sign of the phase is not known
 *   NEAR      the one of the two that is nearer to 'near_deg'
 *   POSITIVE  the one whose phase has peaks rather than pits (its third moment is positive): atoms in focus
 */
typedef enum ronchi_dpc_branch {
    RONCHI_DPC_BRANCH_OPEN = 0,
    RONCHI_DPC_BRANCH_NEAR = 1,
    RONCHI_DPC_BRANCH_POSITIVE = 2
} ronchi_dpc_branch;

/* How the field goes on beyond the scan: as the mirror image of the phase, or as the opposite side of the scan. */
typedef enum ronchi_dpc_boundary { RONCHI_DPC_MIRROR = 0, RONCHI_DPC_PERIODIC = 1 } ronchi_dpc_boundary;

/* Mean squares over the scan from which the curl at every angle follows: of curl, divergence, and their product. */
typedef struct ronchi_dpc_moments {
    double curl2, div2, curl_div;
} ronchi_dpc_moments;

/* The angle between detector and scan, and how well it is known. */
typedef struct ronchi_dpc_alignment {
    double rotation_deg;     /* as in docs/conventions.md */
    int32_t transpose;       /* 1: detector rows and columns are exchanged */
    int32_t given;           /* 0: found from the field; 1: by the caller, 2: as stored with the acquisition; then the
                                rest is still measured where the scan allows */
    int32_t branch_open;     /* 1: 180 degrees more fit as well, and the sign of the phase is not known */
    double uncertainty_deg;  /* four standard errors (jackknife over up to 64 parts of the scan); 0 when given */
    double curl, curl_other; /* least mean squared curl, as a share of the mean squared derivative: of the detector as
                                chosen, and of the other one (transposed or not) */
    double smoothing;        /* Gaussian of the derivatives, in scan steps: the one with the least error */
    ronchi_dpc_moments moments[2]; /* not transposed, transposed */
} ronchi_dpc_alignment;

/*
 * ronchi_dpc_find_rotation() finds rotation and transpose: of all angles the one that leaves the least squared curl of
 * R(-rotation) P (row, col), in closed form: with curl and divergence of P (row, col) by derivatives of a Gaussian,
 *   -rotation = atan2(-2 <curl div>, <div^2> - <curl^2>) / 2   modulo 180 degrees.
 *
 *   row, col  [scan_row][scan_col] f64 shifts
 *   valid     [scan_row][scan_col] u8, 0: derivatives that touch it are left out; or NULL
 *   step_row, step_col  scan steps in one unit
 *   out       branch_open is 1, rotation_deg in (-90, 90]
 *
 * RONCHI_ERR_SHAPE     arrays differ
 * RONCHI_ERR_ARGUMENT  steps not above 0
 * RONCHI_ERR_NEEDED    too small a scan, or a field without structure: the rotation must be given
 * RONCHI_ERR_MEMORY
 */
RONCHI_API ronchi_status ronchi_dpc_find_rotation(const ronchi_view *row, const ronchi_view *col,
                                                  const ronchi_view *valid, double step_row, double step_col,
                                                  ronchi_dpc_alignment *out, ronchi_error *err);

/* ronchi_dpc_curl() gives the mean squared curl at any rotation, as a share of the mean squared derivative: for plots.
 */
RONCHI_API double ronchi_dpc_curl(const ronchi_dpc_alignment *alignment, double rotation_deg, int32_t transpose);

typedef struct ronchi_dpc_options {
    size_t struct_size;
    const ronchi_view *mask; /* [det_row][det_col] u8, 0 or 1: pixels that count for the centre of mass; NULL: all */
    int32_t background;      /* ronchi_dpc_background; default MEAN */
    int32_t rotation_given;  /* 1: rotation_deg and transpose are the caller's; default 0: the orientation stored with
                                the  acquisition, found where none is */
    int32_t find_rotation;   /* 1: found, also where one is stored; default 0 */
    double rotation_deg;
    int32_t transpose; /* 0, 1: known; -1 (default): found, or where the rotation is given as stored, 0 without that */
    int32_t branch;    /* ronchi_dpc_branch; default OPEN */
    double near_deg;   /* of NEAR */
    int32_t boundary;  /* ronchi_dpc_boundary; default MIRROR */
    double highpass;   /* structures of longer period are damped: angstrom, or scan steps where those are not known; 0:
                          none */
} ronchi_dpc_options;

RONCHI_API void ronchi_dpc_options_defaults(ronchi_dpc_options *options);

/* What the numbers of a result mean. */
typedef struct ronchi_dpc_units {
    int32_t calibrated;        /* 1: field in rad/angstrom, phase in rad; else px, and px x scan steps */
    double dk_row, dk_col;     /* 1/angstrom of one detector pixel; 0: not known */
    double mrad_row, mrad_col; /* angle of one detector pixel; 0: not known */
    double step_row, step_col; /* scan steps, angstrom where calibrated, else 1 */
    char field_unit[24], phase_unit[24], divergence_unit[24];
    char missing[160]; /* what is not known, when not calibrated */
    char dk_from[64];  /* where dk comes from */
} ronchi_dpc_units;

/* A result; its arrays are [scan_row][scan_col] and freed by ronchi_dpc_result_free(). */
typedef struct ronchi_dpc_result {
    size_t rows, cols;
    double *com_row, *com_col;     /* shift of the centre of mass on the detector, px, background taken off */
    double *field_row, *field_col; /* gradient of the phase along scan rows and columns */
    double *phase;                 /* iDPC: its mean is 0 */
    double *divergence; /* dDPC: divergence of the field, the phase's Laplacian by differences; negative at atoms */
    uint8_t *valid;     /* 0: no counts, or outside a rotated scan; the field is 0 there */
    size_t n_invalid;
    double background[2][3]; /* (row, col) of the undeflected beam: constant, per scan row, per scan column; px */
    ronchi_dpc_alignment alignment;
    ronchi_dpc_units units;
} ronchi_dpc_result;

/*
 * ronchi_dpc_run() does all of it: exact centres of mass, background, alignment, units, iDPC and dDPC.
 *
 * Encoded and dense acquisitions of the same counts give the same bits.  Calibrated where scan steps and the pixel's dk
 * are known: the latter from the detector step, or from the semi-angle and the radius of the fitted disk, both with the
 * voltage where they are angles.  iDPC: phase = inverse FT of (k . FT(field)) / (2 pi i k^2), single precision, 0 at k
 * = 0; the high-pass multiplies by k^4 / (k^4 + 1 / period^4).
 *
 * RONCHI_ERR_ARGUMENT  an option is unknown or not finite
 * RONCHI_ERR_NEEDED    the rotation cannot be found in so small or empty a scan: give it
 * RONCHI_ERR_DATA      every pattern is empty
 * and those of ronchi_detector_com()
 */
RONCHI_API ronchi_status ronchi_dpc_run(const ronchi_acquisition *acquisition, const ronchi_dpc_options *options,
                                        ronchi_dpc_result *out, ronchi_error *err);
/* ronchi_dpc_result_free() frees the arrays and clears the struct.  NULL does nothing. */
RONCHI_API void ronchi_dpc_result_free(ronchi_dpc_result *result);

/*
 * ronchi_dpc_integrate() integrates a gradient: phase [row][col] f64 of mean 0 from field_row, field_col [row][col]
 * f64, as ronchi_dpc_run() does.
 *
 *   step_row, step_col  scan steps; the field is per that unit
 *   highpass            period in that unit, 0: none
 *
 * RONCHI_ERR_SHAPE, _ARGUMENT, _MEMORY
 */
RONCHI_API ronchi_status ronchi_dpc_integrate(ronchi_context *context, const ronchi_view *field_row,
                                              const ronchi_view *field_col, double step_row, double step_col,
                                              int32_t boundary, double highpass, const ronchi_view *phase,
                                              ronchi_error *err);

/*
 * ronchi_dpc_divergence() gives the divergence of a field: central differences, one-sided at the edges.  Arrays as
 * above. RONCHI_ERR_SHAPE, _ARGUMENT
 */
RONCHI_API ronchi_status ronchi_dpc_divergence(const ronchi_view *field_row, const ronchi_view *field_col,
                                               double step_row, double step_col, const ronchi_view *divergence,
                                               ronchi_error *err);

#ifdef __cplusplus
}
#endif
#endif
