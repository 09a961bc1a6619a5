/* SPDX-License-Identifier: MIT */
/* bitshuffle.c - the bit transposition in plain C: the reference for the vector versions. */
#include "codec/bitshuffle_core.h"

void ronchi_bitunshuffle_c(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    ronchi_bitunshuffle_columns(in, out, n, size, 0, n / 8);
}

void ronchi_bitshuffle_c(const uint8_t *in, uint8_t *out, size_t n, size_t size)
{
    ronchi_bitshuffle_columns(in, out, n, size, 0, n / 8);
}
