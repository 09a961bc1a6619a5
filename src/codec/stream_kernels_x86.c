/* SPDX-License-Identifier: MIT */
/*
 * stream_kernels_x86.c - transpositions and loops over streams with AVX2 and AVX-512.
 *
 * Transpositions turn over squares of 16 x 16 values in 16 registers of 16 values: three rounds of unpacking inside the
 * halves of the registers, one exchange of halves.  What does not fill a square goes through the plain version.
 */
#include "codec/stream_kernels.h"
#include "codec/stream_loops.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <stdbool.h>

#include "codec/square_x86.h"

#define AVX2        __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline
#define AVX512      __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

enum { SQUARE = RONCHI_SQUARE };

/* The part of a matrix that squares do not cover: columns behind, then rows below. */
static void rest(ronchi_transpose_fn *plain, size_t in_size, size_t out_size, const char *in, ptrdiff_t in_pitch,
                 size_t rows, size_t cols, char *out, ptrdiff_t out_pitch)
{
    size_t full_rows = rows / SQUARE * SQUARE, full_cols = cols / SQUARE * SQUARE;
    if (full_cols < cols)
        plain(in + full_cols * in_size, in_pitch, rows, cols - full_cols, out + (ptrdiff_t)full_cols * out_pitch,
              out_pitch);
    if (full_rows < rows)
        plain(in + (ptrdiff_t)full_rows * in_pitch, in_pitch, rows - full_rows, full_cols, out + full_rows * out_size,
              out_pitch);
}

static ronchi_kernels plain(void)
{
    ronchi_kernels kernels;
    ronchi_stream_kernels_c(&kernels);
    return kernels;
}

/* One square of u16 values. */
AVX2_INLINE void square16(const char *from, ptrdiff_t in_pitch, __m256i square[SQUARE])
{
    for (int i = 0; i < SQUARE; i++)
        square[i] = _mm256_loadu_si256((const __m256i *)(const void *)(from + i * in_pitch));
    ronchi_square_turn(square);
}

/*
 * Two squares below each other give whole cache lines of the output.  Its rows often lie a power of two apart, where
 * few of them fit a cache at once: each line is written whole and left.
 */
AVX2 static void pair16(const char *from, ptrdiff_t in_pitch, char *to, ptrdiff_t out_pitch)
{
    __m256i upper[SQUARE], lower[SQUARE];
    square16(from, in_pitch, upper);
    square16(from + SQUARE * in_pitch, in_pitch, lower);
    for (int i = 0; i < SQUARE; i++) {
        _mm256_storeu_si256((__m256i *)(void *)(to + i * out_pitch), upper[i]);
        _mm256_storeu_si256((__m256i *)(void *)(to + i * out_pitch + 32), lower[i]);
    }
}

/* The same past the caches. */
AVX2 static void pair16_stream(const char *from, ptrdiff_t in_pitch, char *to, ptrdiff_t out_pitch)
{
    __m256i upper[SQUARE], lower[SQUARE];
    square16(from, in_pitch, upper);
    square16(from + SQUARE * in_pitch, in_pitch, lower);
    for (int i = 0; i < SQUARE; i++) {
        _mm256_stream_si256((__m256i *)(void *)(to + i * out_pitch), upper[i]);
        _mm256_stream_si256((__m256i *)(void *)(to + i * out_pitch + 32), lower[i]);
    }
}

AVX2 static void single16(const char *from, ptrdiff_t in_pitch, char *to, ptrdiff_t out_pitch)
{
    __m256i square[SQUARE];
    square16(from, in_pitch, square);
    for (int i = 0; i < SQUARE; i++)
        _mm256_storeu_si256((__m256i *)(void *)(to + i * out_pitch), square[i]);
}

/*
 * Outputs that no near cache holds, such as frames, are better written past them: a quarter faster to frames of 72 KB.
 * Whole aligned lines only.
 */
static bool goes_past(const void *out, size_t cols, ptrdiff_t out_pitch)
{
    const size_t line = 64, page = 4096, near = (size_t)4 << 20;
    size_t pitch = (size_t)(out_pitch < 0 ? -out_pitch : out_pitch);
    return (uintptr_t)out % line == 0 && pitch % line == 0 && pitch >= page && cols > near / pitch;
}

AVX2 static void transpose16_avx2(const void *in, ptrdiff_t in_pitch, size_t rows, size_t cols, void *out,
                                  ptrdiff_t out_pitch)
{
    enum { LINE = 2 * SQUARE }; /* values of a cache line */
    bool past = goes_past(out, cols, out_pitch);
    size_t full_rows = rows / SQUARE * SQUARE, full_cols = cols / SQUARE * SQUARE;
    for (size_t c0 = 0; c0 < full_cols; c0 += LINE)
        for (size_t r = 0; r < full_rows; r += LINE)
            for (size_t c = c0; c < full_cols && c < c0 + LINE; c += SQUARE) {
                const char *from = (const char *)in + (ptrdiff_t)r * in_pitch + (ptrdiff_t)(2 * c);
                char *to = (char *)out + (ptrdiff_t)c * out_pitch + (ptrdiff_t)(2 * r);
                if (r + LINE > full_rows)
                    single16(from, in_pitch, to, out_pitch);
                else if (past)
                    pair16_stream(from, in_pitch, to, out_pitch);
                else
                    pair16(from, in_pitch, to, out_pitch);
            }
    if (past)
        _mm_sfence();
    rest(plain().transpose16, 2, 2, in, in_pitch, rows, cols, out, out_pitch);
}

AVX2 static void widen8_avx2(const void *in, ptrdiff_t in_pitch, size_t rows, size_t cols, void *out,
                             ptrdiff_t out_pitch)
{
    for (size_t c = 0; c + SQUARE <= cols; c += SQUARE)
        for (size_t r = 0; r + SQUARE <= rows; r += SQUARE) {
            const char *from = (const char *)in + (ptrdiff_t)r * in_pitch + (ptrdiff_t)c;
            char *to = (char *)out + (ptrdiff_t)c * out_pitch + (ptrdiff_t)(2 * r);
            __m256i square[SQUARE];
            for (int i = 0; i < SQUARE; i++)
                square[i] = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(from + i * in_pitch)));
            ronchi_square_turn(square);
            for (int i = 0; i < SQUARE; i++)
                _mm256_storeu_si256((__m256i *)(void *)(to + i * out_pitch), square[i]);
        }
    rest(plain().widen8, 1, 2, in, in_pitch, rows, cols, out, out_pitch);
}

AVX2 static void narrow16_avx2(const void *in, ptrdiff_t in_pitch, size_t rows, size_t cols, void *out,
                               ptrdiff_t out_pitch)
{
    const __m256i low = _mm256_set1_epi16(255);
    for (size_t c = 0; c + SQUARE <= cols; c += SQUARE)
        for (size_t r = 0; r + SQUARE <= rows; r += SQUARE) {
            const char *from = (const char *)in + (ptrdiff_t)r * in_pitch + (ptrdiff_t)(2 * c);
            char *to = (char *)out + (ptrdiff_t)c * out_pitch + (ptrdiff_t)r;
            __m256i square[SQUARE];
            for (int i = 0; i < SQUARE; i++)
                square[i] =
                    _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)(from + i * in_pitch)), low);
            ronchi_square_turn(square);
            for (int i = 0; i < SQUARE; i++) {
                __m128i high = _mm256_extracti128_si256(square[i], 1);
                _mm_storeu_si128((__m128i *)(void *)(to + i * out_pitch),
                                 _mm_packus_epi16(_mm256_castsi256_si128(square[i]), high));
            }
        }
    rest(plain().narrow16, 2, 1, in, in_pitch, rows, cols, out, out_pitch);
}

AVX2 static void stats_avx2(const uint16_t *values, size_t n, ronchi_stream_stats *out)
{
    ronchi_loop_stats(values, n, out);
}

AVX2 static void weigh_avx2(const uint16_t *counts, size_t n, uint32_t weight, uint32_t *sums)
{
    ronchi_loop_weigh(counts, n, weight, sums);
}

AVX2 static void total_avx2(const uint16_t *counts, const uint16_t *keep, size_t n, uint64_t *sum, uint32_t *max)
{
    ronchi_loop_total(counts, keep, n, sum, max);
}

AVX512 static void stats_avx512(const uint16_t *values, size_t n, ronchi_stream_stats *out)
{
    ronchi_loop_stats(values, n, out);
}

AVX512 static void weigh_avx512(const uint16_t *counts, size_t n, uint32_t weight, uint32_t *sums)
{
    ronchi_loop_weigh(counts, n, weight, sums);
}

AVX512 static void total_avx512(const uint16_t *counts, const uint16_t *keep, size_t n, uint64_t *sum, uint32_t *max)
{
    ronchi_loop_total(counts, keep, n, sum, max);
}

void ronchi_stream_kernels_avx2(ronchi_kernels *kernels)
{
    kernels->transpose16 = transpose16_avx2;
    kernels->widen8 = widen8_avx2;
    kernels->narrow16 = narrow16_avx2;
    kernels->stream_stats = stats_avx2;
    kernels->weigh = weigh_avx2;
    kernels->total = total_avx2;
}

void ronchi_stream_kernels_avx512(ronchi_kernels *kernels)
{
    kernels->streams_decode = ronchi_streams_decode_avx512;
    kernels->streams_encode = ronchi_streams_encode_avx512;
    kernels->stream_stats = stats_avx512;
    kernels->weigh = weigh_avx512;
    kernels->total = total_avx512;
}

#endif
