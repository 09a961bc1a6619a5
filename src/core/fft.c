/* SPDX-License-Identifier: MIT */
/* fft.c - Fourier transforms by FFTW.  Its planner has state shared by the process, hence the lock; execution has none.
 */
#include <fftw3.h>
#include <limits.h>

#include "core/fft.h"
#include "core/port.h"

struct ronchi_fft {
    ronchi_context *context;
    fftwf_plan forward, inverse;
};

ronchi_status ronchi_fft_create(ronchi_context *context, size_t rows, size_t cols, ronchi_fft **out, ronchi_error *err)
{
    size_t n, bytes;
    *out = NULL;
    if (rows == 0 || cols == 0 || rows > INT_MAX || cols > INT_MAX)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "no transform of %zu x %zu elements", rows,
                           cols);
    if (!ronchi_mul(rows, cols, &n) || !ronchi_mul(n, sizeof(ronchi_complex), &bytes))
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a transform of %zu x %zu",
                           rows, cols);
    ronchi_fft *fft = ronchi_calloc(context, 1, sizeof *fft);
    /* The planner looks at the array's address for its alignment; by estimate it leaves the content alone. */
    fftwf_complex *scratch = ronchi_alloc(context, bytes);
    if (fft && scratch) {
        fft->context = context;
        ronchi_library_lock(RONCHI_LIBRARY_FFT);
        fft->forward = fftwf_plan_dft_2d((int)rows, (int)cols, scratch, scratch, FFTW_FORWARD, FFTW_ESTIMATE);
        fft->inverse = fftwf_plan_dft_2d((int)rows, (int)cols, scratch, scratch, FFTW_BACKWARD, FFTW_ESTIMATE);
        ronchi_library_unlock(RONCHI_LIBRARY_FFT);
    }
    ronchi_free(context, scratch);
    if (!fft || !scratch || !fft->forward || !fft->inverse) {
        if (fft)
            fft->context = context;
        ronchi_fft_destroy(fft);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a transform of %zu x %zu",
                           rows, cols);
    }
    *out = fft;
    return RONCHI_OK;
}

void ronchi_fft_destroy(ronchi_fft *fft)
{
    if (!fft)
        return;
    ronchi_library_lock(RONCHI_LIBRARY_FFT);
    if (fft->forward)
        fftwf_destroy_plan(fft->forward);
    if (fft->inverse)
        fftwf_destroy_plan(fft->inverse);
    ronchi_library_unlock(RONCHI_LIBRARY_FFT);
    ronchi_free(fft->context, fft);
}

void ronchi_fft_forward(const ronchi_fft *fft, ronchi_complex *data)
{
    fftwf_execute_dft(fft->forward, (fftwf_complex *)data, (fftwf_complex *)data);
}

void ronchi_fft_inverse(const ronchi_fft *fft, ronchi_complex *data)
{
    fftwf_execute_dft(fft->inverse, (fftwf_complex *)data, (fftwf_complex *)data);
}
