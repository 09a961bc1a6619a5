/* SPDX-License-Identifier: MIT */
/*
 * bitshuffle_avx512.c - the bit transposition with AVX-512 F and BW.
 *
 * Back: 64 bytes of each of eight planes are transposed as bytes (three rounds of unpack), so that every 64-bit lane
 * holds the eight bytes of one column, then as bits within each lane.  The bytes of an element are joined by further
 * rounds of unpack, and the 128-bit lanes, which then stand four columns apart, are put in order four vectors at a
 * time. Forth: one test per bit gives a plane's bits directly as a mask.
 */
#include "codec/bitshuffle_core.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx512f,avx512bw")))
#define INLINE __attribute__((target("avx512f,avx512bw"), always_inline)) static inline

enum { COLUMNS = 64 }; /* plane bytes at a time: 512 elements */

INLINE __m512i transpose_bits(__m512i x)
{
    /* ternary logic 0x28: (a ^ b) & c; 0x96: a ^ b ^ c */
    __m512i t = _mm512_ternarylogic_epi64(x, _mm512_srli_epi64(x, 7), _mm512_set1_epi64(0x00AA00AA00AA00AA), 0x28);
    x = _mm512_ternarylogic_epi64(x, t, _mm512_slli_epi64(t, 7), 0x96);
    t = _mm512_ternarylogic_epi64(x, _mm512_srli_epi64(x, 14), _mm512_set1_epi64(0x0000CCCC0000CCCC), 0x28);
    x = _mm512_ternarylogic_epi64(x, t, _mm512_slli_epi64(t, 14), 0x96);
    t = _mm512_ternarylogic_epi64(x, _mm512_srli_epi64(x, 28), _mm512_set1_epi64(0x00000000F0F0F0F0), 0x28);
    return _mm512_ternarylogic_epi64(x, t, _mm512_slli_epi64(t, 28), 0x96);
}

/*
 * Eight planes -> r[k]: 128-bit lane L holds one byte of each element of the columns 16 L + 2 k and 16 L + 2 k + 1.
 * Counts are small and high planes mostly zero, so those are passed by: half of the work for uint16, more for uint32.
 */
INLINE void load_byte(const uint8_t *planes, size_t plane, __mmask64 keep, __m512i r[8])
{
    __m512i p[8], a[8], b[8];
    for (int i = 0; i < 8; i++)
        p[i] = _mm512_maskz_loadu_epi8(keep, planes + (size_t)i * plane);
    __m512i any = _mm512_or_si512(p[0], p[7]); /* ternary logic 0xFE: a | b | c */
    for (int i = 1; i < 7; i += 2)
        any = _mm512_ternarylogic_epi64(any, p[i], p[i + 1], 0xFE);
    if (_mm512_test_epi64_mask(any, any) == 0) {
        for (int i = 0; i < 8; i++)
            r[i] = _mm512_setzero_si512();
        return;
    }
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_unpacklo_epi8(p[2 * i], p[2 * i + 1]);
        a[i + 4] = _mm512_unpackhi_epi8(p[2 * i], p[2 * i + 1]);
    }
    for (int h = 0; h < 8; h += 4)
        for (int i = 0; i < 2; i++) {
            b[h + i] = _mm512_unpacklo_epi16(a[h + 2 * i], a[h + 2 * i + 1]);
            b[h + i + 2] = _mm512_unpackhi_epi16(a[h + 2 * i], a[h + 2 * i + 1]);
        }
    for (int h = 0; h < 4; h++) {
        r[2 * h] = transpose_bits(_mm512_unpacklo_epi32(b[2 * h], b[2 * h + 1]));
        r[2 * h + 1] = transpose_bits(_mm512_unpackhi_epi32(b[2 * h], b[2 * h + 1]));
    }
}

/* Four vectors whose lane L belongs at 'out' + L x distance, one after another there. */
INLINE void store_lanes(uint8_t *out, size_t distance, __m512i v0, __m512i v1, __m512i v2, __m512i v3)
{
    __m512i a = _mm512_shuffle_i64x2(v0, v1, 0x44), b = _mm512_shuffle_i64x2(v2, v3, 0x44);
    __m512i c = _mm512_shuffle_i64x2(v0, v1, 0xEE), d = _mm512_shuffle_i64x2(v2, v3, 0xEE);
    _mm512_storeu_si512(out, _mm512_shuffle_i64x2(a, b, 0x88));
    _mm512_storeu_si512(out + distance, _mm512_shuffle_i64x2(a, b, 0xDD));
    _mm512_storeu_si512(out + 2 * distance, _mm512_shuffle_i64x2(c, d, 0x88));
    _mm512_storeu_si512(out + 3 * distance, _mm512_shuffle_i64x2(c, d, 0xDD));
}

/* One step: 512 elements from the planes at 'in', 512 x size bytes to 'out'. */
INLINE void step_1(const uint8_t *in, size_t plane, __mmask64 keep, uint8_t *out)
{
    __m512i r[8];
    load_byte(in, plane, keep, r);
    for (int h = 0; h < 2; h++)
        store_lanes(out + 64 * h, 128, r[4 * h], r[4 * h + 1], r[4 * h + 2], r[4 * h + 3]);
}

INLINE void step_2(const uint8_t *in, size_t plane, __mmask64 keep, uint8_t *out)
{
    __m512i lo[8], hi[8];
    load_byte(in, plane, keep, lo);
    load_byte(in + 8 * plane, plane, keep, hi);
    for (int h = 0; h < 4; h++)
        store_lanes(out + 64 * h, 256, _mm512_unpacklo_epi8(lo[2 * h], hi[2 * h]),
                    _mm512_unpackhi_epi8(lo[2 * h], hi[2 * h]), _mm512_unpacklo_epi8(lo[2 * h + 1], hi[2 * h + 1]),
                    _mm512_unpackhi_epi8(lo[2 * h + 1], hi[2 * h + 1]));
}

INLINE void step_4(const uint8_t *in, size_t plane, __mmask64 keep, uint8_t *out)
{
    __m512i byte[4][8];
    for (int k = 0; k < 4; k++)
        load_byte(in + (size_t)(8 * k) * plane, plane, keep, byte[k]);
    for (int r = 0; r < 8; r++) {
        __m512i a = _mm512_unpacklo_epi8(byte[0][r], byte[1][r]), b = _mm512_unpacklo_epi8(byte[2][r], byte[3][r]);
        __m512i c = _mm512_unpackhi_epi8(byte[0][r], byte[1][r]), d = _mm512_unpackhi_epi8(byte[2][r], byte[3][r]);
        store_lanes(out + 64 * r, 512, _mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b),
                    _mm512_unpacklo_epi16(c, d), _mm512_unpackhi_epi16(c, d));
    }
}

INLINE void step_8(const uint8_t *in, size_t plane, __mmask64 keep, uint8_t *out)
{
    __m512i byte[8][8];
    for (int k = 0; k < 8; k++)
        load_byte(in + (size_t)(8 * k) * plane, plane, keep, byte[k]);
    for (int r = 0; r < 8; r++)
        for (int h = 0; h < 2; h++) { /* lower and upper eight elements of the two columns */
            __m512i w[4];
            for (int k = 0; k < 4; k++)
                w[k] = h ? _mm512_unpackhi_epi8(byte[2 * k][r], byte[2 * k + 1][r])
                         : _mm512_unpacklo_epi8(byte[2 * k][r], byte[2 * k + 1][r]);
            __m512i a = _mm512_unpacklo_epi16(w[0], w[1]), b = _mm512_unpacklo_epi16(w[2], w[3]);
            __m512i c = _mm512_unpackhi_epi16(w[0], w[1]), d = _mm512_unpackhi_epi16(w[2], w[3]);
            store_lanes(out + 128 * r + 64 * h, 1024, _mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b),
                        _mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        }
}

INLINE void step(const uint8_t *in, size_t plane, __mmask64 keep, uint8_t *out, size_t size)
{
    if (size == 1)
        step_1(in, plane, keep, out);
    else if (size == 2)
        step_2(in, plane, keep, out);
    else if (size == 4)
        step_4(in, plane, keep, out);
    else
        step_8(in, plane, keep, out);
}

INLINE void unshuffle(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    size_t plane = n / 8, i = 0;
    for (; i + COLUMNS <= plane; i += COLUMNS)
        step(in + i, plane, ~(__mmask64)0, out + 8 * i * size, size);
    if (i < plane) { /* masked loads touch nothing beyond a plane; the surplus stays in 'last' */
        uint8_t last[8 * COLUMNS * 8];
        step(in + i, plane, ((__mmask64)1 << (plane - i)) - 1, last, size);
        memcpy(out + 8 * i * size, last, 8 * (plane - i) * size);
    }
}

TARGET void ronchi_bitunshuffle_avx512(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    if (size == 1)
        unshuffle(in, out, n, 1);
    else if (size == 2)
        unshuffle(in, out, n, 2);
    else if (size == 4)
        unshuffle(in, out, n, 4);
    else
        unshuffle(in, out, n, 8);
}

TARGET static size_t shuffle_1(const uint8_t *in, uint8_t *out, size_t n)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512i x = _mm512_loadu_si512(in + i);
        for (int b = 0; b < 8; b++) {
            uint64_t bits = _mm512_test_epi8_mask(x, _mm512_set1_epi8((char)(1 << b)));
            memcpy(out + (size_t)b * (n / 8) + i / 8, &bits, 8);
        }
    }
    return i;
}

TARGET static size_t shuffle_2(const uint8_t *in, uint8_t *out, size_t n)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m512i x = _mm512_loadu_si512(in + 2 * i);
        for (int b = 0; b < 16; b++) {
            uint32_t bits = _mm512_test_epi16_mask(x, _mm512_set1_epi16((short)(1 << b)));
            memcpy(out + (size_t)b * (n / 8) + i / 8, &bits, 4);
        }
    }
    return i;
}

TARGET static size_t shuffle_4(const uint8_t *in, uint8_t *out, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512i x = _mm512_loadu_si512(in + 4 * i);
        for (int b = 0; b < 32; b++) {
            uint16_t bits = _mm512_test_epi32_mask(x, _mm512_set1_epi32((int)(1u << b)));
            memcpy(out + (size_t)b * (n / 8) + i / 8, &bits, 2);
        }
    }
    return i;
}

TARGET static size_t shuffle_8(const uint8_t *in, uint8_t *out, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m512i x = _mm512_loadu_si512(in + 8 * i);
        for (int b = 0; b < 64; b++)
            out[(size_t)b * (n / 8) + i / 8] = _mm512_test_epi64_mask(x, _mm512_set1_epi64((long long)(1ull << b)));
    }
    return i;
}

void ronchi_bitshuffle_avx512(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    size_t done = size == 1   ? shuffle_1(in, out, n)
                  : size == 2 ? shuffle_2(in, out, n)
                  : size == 4 ? shuffle_4(in, out, n)
                              : shuffle_8(in, out, n);
    ronchi_bitshuffle_columns(in, out, n, size, done / 8, n / 8);
}
#endif
