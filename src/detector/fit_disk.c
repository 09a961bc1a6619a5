/* SPDX-License-Identifier: MIT */
/*
 * fit_disk.c - the bright-field disk in a mean pattern, the one estimator that every operation uses.
 *
 * threshold = mean + population standard deviation over unflagged pixels; disk = pixels above it; centre = their
 * unweighted centroid; radius = sqrt(pixels / pi), so sub-pixel.  Sums run in row-major order in float64.
 */
#include <math.h>
#include <string.h>

#include "detector/checks.h"
#include "ronchi/detector.h"

static bool taken(const ronchi_view *flagged, size_t r, size_t c)
{
    return !flagged || !*(const uint8_t *)ronchi_view_at(flagged, 0, 0, r, c);
}

static double threshold_of(const ronchi_view *mean, const ronchi_view *flagged)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t r = 0; r < mean->shape[2]; r++)
        for (size_t c = 0; c < mean->shape[3]; c++)
            if (taken(flagged, r, c)) {
                n += 1;
                sum += *(const double *)ronchi_view_at(mean, 0, 0, r, c);
            }
    double average = sum / n;
    for (size_t r = 0; r < mean->shape[2]; r++)
        for (size_t c = 0; c < mean->shape[3]; c++)
            if (taken(flagged, r, c)) {
                double d = *(const double *)ronchi_view_at(mean, 0, 0, r, c) - average;
                squares += d * d;
            }
    return average + sqrt(squares / n);
}

ronchi_status ronchi_detector_fit_disk(const ronchi_view *mean, const ronchi_view *flagged, ronchi_disk *out,
                                       ronchi_error *err)
{
    if (!mean || !ronchi_view_is(mean, 1, 1, mean->shape[2], mean->shape[3]) || mean->dtype != RONCHI_F64)
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "the mean pattern must be float64 [det_row][det_col]");
    ronchi_status status = RONCHI_OK;
    if (flagged)
        status = ronchi_check_view(flagged, "the pixel mask", 1, mean->shape[2], mean->shape[3], RONCHI_U8, err);
    if (status != RONCHI_OK)
        return status;
    memset(out, 0, sizeof *out);
    out->threshold = threshold_of(mean, flagged);
    for (size_t r = 0; r < mean->shape[2]; r++)
        for (size_t c = 0; c < mean->shape[3]; c++)
            if (taken(flagged, r, c) && *(const double *)ronchi_view_at(mean, 0, 0, r, c) > out->threshold) {
                out->pixels++;
                out->row += (double)r;
                out->col += (double)c;
            }
    if (!out->pixels)
        return ronchi_fail(
            err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET,
            "no bright-field disk: no pixel of the mean pattern stands above mean + standard deviation (blank beam?); "
            "give --center and a radius");
    out->row /= (double)out->pixels;
    out->col /= (double)out->pixels;
    out->radius = sqrt((double)out->pixels / 3.14159265358979323846);
    return RONCHI_OK;
}

ronchi_status ronchi_detector_mrad_to_px(const ronchi_acquisition *acquisition, const ronchi_disk *disk,
                                         double angle_mrad, double *px, ronchi_error *err)
{
    ronchi_status status = ronchi_acquisition_usable(acquisition, err);
    if (status != RONCHI_OK)
        return status;
    const ronchi_calibration *c = &acquisition->info.calibration;
    bool mrad = c->det_step_row.known && strcmp(c->det_step_row.unit, "mrad") == 0 && c->det_step_col.known;
    if (mrad && c->det_step_row.value == c->det_step_col.value)
        *px = angle_mrad / c->det_step_row.value;
    else if (mrad)
        return ronchi_fail(
            err, RONCHI_ERR_UNSUPPORTED, acquisition->info.source_name, RONCHI_NO_OFFSET,
            "the detector step differs between rows (%g mrad) and columns (%g mrad): an angle is no circle of "
            "pixels; give radii in px or a mask",
            c->det_step_row.value, c->det_step_col.value);
    else if (c->semiangle.known && disk && disk->radius > 0)
        *px = angle_mrad / c->semiangle.value * disk->radius;
    else
        return ronchi_fail(
            err, RONCHI_ERR_NEEDED, acquisition->info.source_name, RONCHI_NO_OFFSET,
            "angles need a calibration: give --semiangle-mrad or --det-step-mrad, or radii with --unit px");
    return RONCHI_OK;
}
