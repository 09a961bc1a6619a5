/* SPDX-License-Identifier: MIT */
/*
 * bitshuffle_avx2.c - the bit transposition with AVX2: as bitshuffle_avx512.c with 32 columns at a time; forth by
 * gathering one byte of 32 elements and taking its bits from the top.
 */
#include "codec/bitshuffle_core.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2")))
#define INLINE __attribute__((target("avx2"), always_inline)) static inline

enum { COLUMNS = 32 }; /* plane bytes at a time: 256 elements */

INLINE __m256i exchange(__m256i x, int distance, long long mask)
{
    __m256i t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, distance)), _mm256_set1_epi64x(mask));
    return _mm256_xor_si256(_mm256_xor_si256(x, t), _mm256_slli_epi64(t, distance));
}

INLINE __m256i transpose_bits(__m256i x)
{
    x = exchange(x, 7, 0x00AA00AA00AA00AA);
    x = exchange(x, 14, 0x0000CCCC0000CCCC);
    return exchange(x, 28, 0x00000000F0F0F0F0);
}

/* Eight planes -> r[k]: 128-bit lane L holds one byte of each element of the columns 16 L + 2 k and 16 L + 2 k + 1. */
INLINE void load_byte(const uint8_t *planes, size_t plane, __m256i r[8])
{
    __m256i p[8], a[8], b[8];
    for (int i = 0; i < 8; i++)
        p[i] = _mm256_loadu_si256((const void *)(planes + (size_t)i * plane));
    __m256i any = _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(p[0], p[1]), _mm256_or_si256(p[2], p[3])),
                                  _mm256_or_si256(_mm256_or_si256(p[4], p[5]), _mm256_or_si256(p[6], p[7])));
    if (_mm256_testz_si256(any, any)) { /* small counts: most high bytes are zero */
        for (int i = 0; i < 8; i++)
            r[i] = _mm256_setzero_si256();
        return;
    }
    for (int i = 0; i < 4; i++) {
        a[i] = _mm256_unpacklo_epi8(p[2 * i], p[2 * i + 1]);
        a[i + 4] = _mm256_unpackhi_epi8(p[2 * i], p[2 * i + 1]);
    }
    for (int h = 0; h < 8; h += 4)
        for (int i = 0; i < 2; i++) {
            b[h + i] = _mm256_unpacklo_epi16(a[h + 2 * i], a[h + 2 * i + 1]);
            b[h + i + 2] = _mm256_unpackhi_epi16(a[h + 2 * i], a[h + 2 * i + 1]);
        }
    for (int h = 0; h < 4; h++) {
        r[2 * h] = transpose_bits(_mm256_unpacklo_epi32(b[2 * h], b[2 * h + 1]));
        r[2 * h + 1] = transpose_bits(_mm256_unpackhi_epi32(b[2 * h], b[2 * h + 1]));
    }
}

/* Two vectors whose lane L belongs at 'out' + L x distance, one after the other there. */
INLINE void store_lanes(uint8_t *out, size_t distance, __m256i v0, __m256i v1)
{
    _mm256_storeu_si256((void *)out, _mm256_permute2x128_si256(v0, v1, 0x20));
    _mm256_storeu_si256((void *)(out + distance), _mm256_permute2x128_si256(v0, v1, 0x31));
}

INLINE void step_1(const uint8_t *in, size_t plane, uint8_t *out)
{
    __m256i r[8];
    load_byte(in, plane, r);
    for (int h = 0; h < 4; h++)
        store_lanes(out + 32 * h, 128, r[2 * h], r[2 * h + 1]);
}

INLINE void step_2(const uint8_t *in, size_t plane, uint8_t *out)
{
    __m256i lo[8], hi[8];
    load_byte(in, plane, lo);
    load_byte(in + 8 * plane, plane, hi);
    for (int r = 0; r < 8; r++)
        store_lanes(out + 32 * r, 256, _mm256_unpacklo_epi8(lo[r], hi[r]), _mm256_unpackhi_epi8(lo[r], hi[r]));
}

INLINE void step_4(const uint8_t *in, size_t plane, uint8_t *out)
{
    __m256i byte[4][8];
    for (int k = 0; k < 4; k++)
        load_byte(in + (size_t)(8 * k) * plane, plane, byte[k]);
    for (int r = 0; r < 8; r++) {
        __m256i a = _mm256_unpacklo_epi8(byte[0][r], byte[1][r]), b = _mm256_unpacklo_epi8(byte[2][r], byte[3][r]);
        __m256i c = _mm256_unpackhi_epi8(byte[0][r], byte[1][r]), d = _mm256_unpackhi_epi8(byte[2][r], byte[3][r]);
        store_lanes(out + 64 * r, 512, _mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
        store_lanes(out + 64 * r + 32, 512, _mm256_unpacklo_epi16(c, d), _mm256_unpackhi_epi16(c, d));
    }
}

INLINE void unshuffle(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    size_t plane = n / 8, i = 0;
    for (; i + COLUMNS <= plane; i += COLUMNS) {
        if (size == 1)
            step_1(in + i, plane, out + 8 * i);
        else if (size == 2)
            step_2(in + i, plane, out + 16 * i);
        else
            step_4(in + i, plane, out + 32 * i);
    }
    ronchi_bitunshuffle_columns(in, out, n, size, i, plane);
}

TARGET void ronchi_bitunshuffle_avx2(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    if (size == 1)
        unshuffle(in, out, n, 1);
    else if (size == 2)
        unshuffle(in, out, n, 2);
    else if (size == 4)
        unshuffle(in, out, n, 4);
    else
        ronchi_bitunshuffle_columns(in, out, n, size, 0, n / 8); /* no detector writes 8-byte counts */
}

TARGET void ronchi_bitshuffle_avx2(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    size_t plane = n / 8, i = 0;
    for (; i + 4 <= plane; i += 4)
        for (size_t byte = 0; byte < size; byte++) {
            uint8_t column[32];
            for (size_t e = 0; e < 32; e++)
                column[e] = in[(8 * i + e) * size + byte];
            __m256i x = _mm256_loadu_si256((const void *)column);
            for (int b = 7; b >= 0; b--) {
                uint32_t bits = (uint32_t)_mm256_movemask_epi8(x);
                memcpy(out + (8 * byte + (size_t)b) * plane + i, &bits, 4);
                x = _mm256_add_epi8(x, x);
            }
        }
    ronchi_bitshuffle_columns(in, out, n, size, i, plane);
}
#endif
