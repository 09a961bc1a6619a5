/* SPDX-License-Identifier: MIT */
/* square_x86.h - a square of 16 x 16 values of 16 bits in 16 vectors, turned over with AVX2. */
#ifndef RONCHI_CODEC_SQUARE_X86_H
#define RONCHI_CODEC_SQUARE_X86_H

#include <immintrin.h>

enum { RONCHI_SQUARE = 16 };

/* Row r of the square becomes column r. */
__attribute__((target("avx2"), always_inline)) static inline void ronchi_square_turn(__m256i r[RONCHI_SQUARE])
{
    __m256i a[RONCHI_SQUARE], b[RONCHI_SQUARE];
    for (int i = 0; i < 8; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            b[4 * i + 2 * k] = _mm256_unpacklo_epi32(a[4 * i + k], a[4 * i + 2 + k]);
            b[4 * i + 2 * k + 1] = _mm256_unpackhi_epi32(a[4 * i + k], a[4 * i + 2 + k]);
        }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) {
            a[8 * i + 2 * k] = _mm256_unpacklo_epi64(b[8 * i + k], b[8 * i + 4 + k]);
            a[8 * i + 2 * k + 1] = _mm256_unpackhi_epi64(b[8 * i + k], b[8 * i + 4 + k]);
        }
    /* a[k] holds rows 0..7 of columns k and 8 + k, a[8 + k] rows 8..15 */
    for (int k = 0; k < 8; k++) {
        r[k] = _mm256_permute2x128_si256(a[k], a[8 + k], 0x20);
        r[8 + k] = _mm256_permute2x128_si256(a[k], a[8 + k], 0x31);
    }
}

#endif
