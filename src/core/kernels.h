/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - the context's table of kernels: the inner loops that have more than one version.
 *
 * Plain C fills every slot and is the reference; faster instruction sets overwrite theirs, in rising order, once, when the context
 * is created.  A slot's type says all that its versions must agree on: outputs are identical to the bit.  Whoever adds a
 * slot adds its C version, its entry in the variants harness (tests/variants) and nothing else.
 */
#ifndef RONCHI_CORE_KERNELS_H
#define RONCHI_CORE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bit-transposes 'n' elements (a multiple of 8) of 'size' bytes (1, 2, 4 or 8).  Shuffled layout: plane b (bit b of every
 * element, little-endian) is n/8 bytes; bit j of byte i of a plane belongs to element 8 i + j.
 * unshuffle: planes -> elements; shuffle: elements -> planes.  'in' and 'out' do not overlap, any alignment.
 */
typedef void ronchi_bitshuffle_fn(const uint8_t *in, uint8_t *out, size_t n, size_t size);

typedef struct ronchi_kernels {
    ronchi_bitshuffle_fn *bitunshuffle;
    ronchi_bitshuffle_fn *bitshuffle;
} ronchi_kernels;

/*
 * ronchi_kernels_fill() fills the table for the given RONCHI_CPU_* bits.  Declared here and defined in src/codec/kernels.c, the
 * only place that knows all the kernels: core must not import what lies above it.
 */
void ronchi_kernels_fill(ronchi_kernels *kernels, uint32_t cpu);

#endif
