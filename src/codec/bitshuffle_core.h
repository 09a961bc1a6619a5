/* SPDX-License-Identifier: MIT */
/* bitshuffle_core.h - the bit transposition of 8 x 8 bits and of a range of plane bytes, shared by all versions. */
#ifndef RONCHI_CODEC_BITSHUFFLE_CORE_H
#define RONCHI_CODEC_BITSHUFFLE_CORE_H

#include <stddef.h>
#include <stdint.h>

/* Bit c of byte r becomes bit r of byte c: three rounds that exchange 1, 2 and 4 bits across the diagonal. */
static inline uint64_t ronchi_transpose_8x8(uint64_t x)
{
    uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAu;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCu;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0u;
    return x ^ t ^ (t << 28);
}

/*
 * Plane bytes [first, end) of ronchi_bitshuffle_fn's layout, one column of eight planes at a time: the reference, and
 * the remainder of the vector versions.
 */
static inline void ronchi_bitunshuffle_columns(const uint8_t *in, uint8_t *out, size_t n, size_t size, size_t first,
                                               size_t end)
{
    size_t plane = n / 8;
    for (size_t byte = 0; byte < size; byte++) {
        const uint8_t *planes = in + 8 * byte * plane;
        for (size_t i = first; i < end; i++) {
            uint64_t x = 0;
            for (unsigned b = 0; b < 8; b++)
                x |= (uint64_t)planes[b * plane + i] << (8 * b);
            x = ronchi_transpose_8x8(x);
            for (unsigned j = 0; j < 8; j++)
                out[(8 * i + j) * size + byte] = (uint8_t)(x >> (8 * j));
        }
    }
}

static inline void ronchi_bitshuffle_columns(const uint8_t *in, uint8_t *out, size_t n, size_t size, size_t first,
                                             size_t end)
{
    size_t plane = n / 8;
    for (size_t byte = 0; byte < size; byte++) {
        uint8_t *planes = out + 8 * byte * plane;
        for (size_t i = first; i < end; i++) {
            uint64_t x = 0;
            for (unsigned j = 0; j < 8; j++)
                x |= (uint64_t)in[(8 * i + j) * size + byte] << (8 * j);
            x = ronchi_transpose_8x8(x);
            for (unsigned b = 0; b < 8; b++)
                planes[b * plane + i] = (uint8_t)(x >> (8 * b));
        }
    }
}

/* The versions, in src/codec/bitshuffle*.c; contracts in core/kernels.h. */
void ronchi_bitunshuffle_c(const uint8_t *in, uint8_t *out, size_t n, size_t size);
void ronchi_bitshuffle_c(const uint8_t *in, uint8_t *out, size_t n, size_t size);
#if defined(__x86_64__) && defined(__GNUC__)
void ronchi_bitunshuffle_avx2(const uint8_t *in, uint8_t *out, size_t n, size_t size);
void ronchi_bitshuffle_avx2(const uint8_t *in, uint8_t *out, size_t n, size_t size);
void ronchi_bitunshuffle_avx512(const uint8_t *in, uint8_t *out, size_t n, size_t size);
void ronchi_bitshuffle_avx512(const uint8_t *in, uint8_t *out, size_t n, size_t size);
#endif

#endif
