/* SPDX-License-Identifier: MIT */
/* reference.c - see the header. */
#include "parallax/reference.h"

#include <math.h>
#include <string.h>

#include "parallax/rows.h"

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

static void transfer_row(const ronchi_reference *reference, size_t r, const double k[2], float *out)
{
    const ronchi_spectra *s = reference->spectra;
    double row = ronchi_frequency(r, s->rows), p = reference->scattered[0][0] * row,
           q = reference->scattered[1][0] * row;
    const float at[4] = {(float)(k[0] - p), (float)(k[1] - q), (float)(k[0] + p), (float)(k[1] + q)};
    rows_transfer(out, out + s->pitch, reference->along_row, reference->along_col, reference->sine + r * s->pitch,
                  reference->cosine + r * s->pitch, s->pitch, at, reference->limit);
}

void ronchi_reference_row(const ronchi_reference *reference, size_t r, const double k[2], const ronchi_ramp *ramp,
                          const float *x, float *scratch, float *out)
{
    const size_t pitch = reference->spectra->pitch;
    float *gamma = scratch, *shifted = scratch + 2 * pitch;
    if (!reference->transfer) {
        rows_scale(shifted, shifted + pitch, ramp->col_re, ramp->col_im, pitch, ramp->row[2 * r], ramp->row[2 * r + 1]);
        rows_multiply(out, out + pitch, shifted, shifted + pitch, x, x + pitch, pitch);
        return;
    }
    transfer_row(reference, r, k, gamma);
    rows_scale(out, out + pitch, ramp->col_re, ramp->col_im, pitch, ramp->row[2 * r], ramp->row[2 * r + 1]);
    rows_multiply(shifted, shifted + pitch, out, out + pitch, x, x + pitch, pitch);
    rows_multiply(out, out + pitch, shifted, shifted + pitch, gamma, gamma + pitch, pitch);
}

void ronchi_reference_weigh(const ronchi_reference *reference, size_t r, const double k[2], float weight,
                            float *scratch, float *sum)
{
    const size_t pitch = reference->spectra->pitch;
    float *gamma = scratch;
    if (!reference->transfer) {
        for (size_t c = 0; c < pitch; c++)
            sum[c] += weight;
        return;
    }
    transfer_row(reference, r, k, gamma);
    for (size_t c = 0; c < pitch; c++)
        sum[c] += weight * (gamma[c] * gamma[c] + gamma[pitch + c] * gamma[pitch + c]);
}
