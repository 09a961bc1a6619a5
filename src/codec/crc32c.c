/* SPDX-License-Identifier: MIT */
/* crc32c.c - CRC-32C (Castagnoli): by table, and by the processor's own instruction. */
#include "codec/crc32c.h"

#include <string.h>

void ronchi_crc32c_fill(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ UINT32_C(0x82F63B78) : c >> 1;
        table[i] = c;
    }
}

uint32_t ronchi_crc32c_c(const uint32_t table[256], const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    uint32_t c = UINT32_MAX;
    for (size_t i = 0; i < n; i++)
        c = c >> 8 ^ table[(c ^ at[i]) & 255];
    return ~c;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) uint32_t ronchi_crc32c_sse42(const uint32_t table[256], const void *bytes, size_t n)
{
    (void)table;
    const uint8_t *at = bytes;
    uint64_t c = UINT32_MAX, eight;
    size_t i = 0;
    for (; i + sizeof eight <= n; i += sizeof eight) {
        memcpy(&eight, at + i, sizeof eight);
        c = _mm_crc32_u64(c, eight);
    }
    for (; i < n; i++)
        c = _mm_crc32_u8((uint32_t)c, at[i]);
    return ~(uint32_t)c;
}
#endif
