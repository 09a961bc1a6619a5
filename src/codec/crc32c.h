/* SPDX-License-Identifier: MIT */
/* crc32c.h - CRC-32C (Castagnoli, reflected, initial and final value all ones): versions of the kernel crc32c. */
#ifndef RONCHI_CODEC_CRC32C_H
#define RONCHI_CODEC_CRC32C_H

#include "core/kernels.h"

/* The table that the plain version works with. */
void ronchi_crc32c_fill(uint32_t table[256]);

ronchi_crc32c_fn ronchi_crc32c_c;
#if defined(__x86_64__) && defined(__GNUC__)
ronchi_crc32c_fn ronchi_crc32c_sse42; /* every processor with AVX2 has it */
#endif

#endif
