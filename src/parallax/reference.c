/* SPDX-License-Identifier: MIT */
/* reference.c - see the header. */
#include "parallax/reference.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979324;

ronchi_status ronchi_reference_init(ronchi_context *context, const ronchi_spectra *s, bool transfer,
                                    ronchi_reference *out, ronchi_error *err)
{
    *out = (ronchi_reference){.context = context, .spectra = s, .transfer = transfer};
    out->phi = ronchi_calloc(context, s->size, sizeof *out->phi);
    out->sine = ronchi_calloc(context, s->rows * s->pitch, sizeof *out->sine);
    out->cosine = ronchi_calloc(context, s->rows * s->pitch, sizeof *out->cosine);
    out->along_row = ronchi_calloc(context, s->pitch, sizeof *out->along_row);
    out->along_col = ronchi_calloc(context, s->pitch, sizeof *out->along_col);
    if (out->phi && out->sine && out->cosine && out->along_row && out->along_col)
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the reference of the alignment");
}

void ronchi_reference_free(ronchi_reference *reference)
{
    void *owned[] = {reference->phi, reference->sine, reference->cosine, reference->along_row, reference->along_col};
    for (size_t i = 0; reference->context && i < sizeof owned / sizeof owned[0]; i++)
        ronchi_free(reference->context, owned[i]);
    memset(reference, 0, sizeof *reference);
}

/* chi(q) = pi q . (matrix scattered) q: its gradient is 2 pi times the shift of the pixel that q leads to. */
void ronchi_reference_set(ronchi_reference *reference, const ronchi_shift_fit *fit, double radius_px,
                          const ronchi_parallax_aberrations *units)
{
    const ronchi_spectra *s = reference->spectra;
    double(*d)[2] = reference->scattered, x[2][2];
    if (!reference->transfer)
        return;
    ronchi_parallax_pixels_per_frequency(units, d);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            x[i][j] = PI * (fit->matrix[i][0] * d[0][j] + fit->matrix[i][1] * d[1][j]);
    reference->limit = (float)(radius_px * radius_px);
    for (size_t c = 0; c < s->half; c++) {
        double col = (double)c / (double)s->cols;
        reference->along_row[c] = (float)(d[0][1] * col);
        reference->along_col[c] = (float)(d[1][1] * col);
        for (size_t r = 0; r < s->rows; r++) {
            double row = ronchi_frequency(r, s->rows);
            double chi = x[0][0] * row * row + (x[0][1] + x[1][0]) * row * col + x[1][1] * col * col;
            reference->sine[r * s->pitch + c] = (float)sin(chi);
            reference->cosine[r * s->pitch + c] = (float)cos(chi);
        }
    }
}

/* The transfer at one row of frequencies; false where it is 1. */
static bool transfer_row(const ronchi_reference *reference, size_t r, const double k[2], ronchi_transfer_row *out)
{
    const ronchi_spectra *s = reference->spectra;
    double row = ronchi_frequency(r, s->rows), p = reference->scattered[0][0] * row,
           q = reference->scattered[1][0] * row;
    if (!reference->transfer)
        return false;
    *out = (ronchi_transfer_row){reference->along_row,
                                 reference->along_col,
                                 reference->sine + r * s->pitch,
                                 reference->cosine + r * s->pitch,
                                 {(float)(k[0] - p), (float)(k[1] - q), (float)(k[0] + p), (float)(k[1] + q)},
                                 reference->limit};
    return true;
}

void ronchi_reference_add(const ronchi_reference *reference, size_t r, const double k[2], const ronchi_ramp *ramp,
                          const float *x, bool correlate, float *sum)
{
    const ronchi_spectra *s = reference->spectra;
    ronchi_transfer_row transfer;
    bool any = transfer_row(reference, r, k, &transfer);
    s->kernels->bring(sum, x, ramp->row[2 * r], ramp->row[2 * r + 1], ramp->col, any ? &transfer : NULL,
                      correlate ? reference->phi + r * 2 * s->pitch : NULL, s->pitch);
}

void ronchi_reference_weigh(const ronchi_reference *reference, size_t r, const double k[2], float weight, float *sum)
{
    const ronchi_spectra *s = reference->spectra;
    ronchi_transfer_row transfer;
    if (transfer_row(reference, r, k, &transfer)) {
        s->kernels->weigh(sum, &transfer, weight, s->pitch);
        return;
    }
    for (size_t c = 0; c < s->pitch; c++)
        sum[c] += weight;
}
