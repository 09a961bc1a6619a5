/* SPDX-License-Identifier: MIT */
/* sum_kernels.c - adding planes of sums.  One loop, which the compiler makes vectors of for each instruction set. */
#include "codec/sum_kernels.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

INLINE void add_sums(const void *from, size_t bytes, size_t n, uint32_t *restrict sums)
{
    const uint8_t *u8 = from;
    const uint16_t *u16 = from;
    const uint32_t *u32 = from;
    for (size_t i = 0; bytes == 1 && i < n; i++)
        sums[i] += u8[i];
    for (size_t i = 0; bytes == 2 && i < n; i++)
        sums[i] += u16[i];
    for (size_t i = 0; bytes == 4 && i < n; i++)
        sums[i] += u32[i];
}

void ronchi_add_sums_c(const void *from, size_t bytes, size_t n, uint32_t *sums)
{
    add_sums(from, bytes, n, sums);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) void ronchi_add_sums_avx2(const void *from, size_t bytes, size_t n, uint32_t *sums)
{
    add_sums(from, bytes, n, sums);
}
#endif
