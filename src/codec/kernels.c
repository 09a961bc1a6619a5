/* SPDX-License-Identifier: MIT */
/* kernels.c - fills the context's table of kernels: plain C first, then each instruction set in rising order. */
#include "core/kernels.h"

#include <string.h>

#include "codec/bitshuffle_core.h"
#include "codec/crc32c.h"
#include "codec/lane_rans_encode.h"
#include "codec/stream_kernels.h"
#include "codec/sum_kernels.h"
#include "ronchi/core.h"

void ronchi_kernels_fill(ronchi_kernels *kernels, uint32_t cpu)
{
    (void)cpu;
    memset(kernels, 0, sizeof *kernels);
    ronchi_stream_kernels_c(kernels);
    kernels->bitunshuffle = ronchi_bitunshuffle_c;
    kernels->bitshuffle = ronchi_bitshuffle_c;
    kernels->lane_decode16 = ronchi_lane_decode16_c;
    kernels->lane_tiles = ronchi_lane_tiles_c;
    kernels->lane_sum = ronchi_lane_sum_c;
    kernels->lane_stats = ronchi_lane_stats_c;
    kernels->lane_encode = ronchi_lane_encode_c;
    kernels->crc32c = ronchi_crc32c_c;
    kernels->weigh_planes = ronchi_weigh_planes_c;
    kernels->lane_lines = ronchi_lane_lines_c;
    kernels->add_sums = ronchi_add_sums_c;
    kernels->rows = ronchi_rows_c;
#if defined(__x86_64__) && defined(__GNUC__)
    if (cpu & RONCHI_CPU_AVX2) {
        kernels->bitunshuffle = ronchi_bitunshuffle_avx2;
        kernels->bitshuffle = ronchi_bitshuffle_avx2;
        ronchi_stream_kernels_avx2(kernels);
        kernels->crc32c = ronchi_crc32c_sse42;
        kernels->lane_decode16 = ronchi_lane_decode16_avx2;
        kernels->lane_tiles = ronchi_lane_tiles_avx2;
        kernels->lane_sum = ronchi_lane_sum_avx2;
        kernels->weigh_planes = ronchi_weigh_planes_avx2;
        kernels->add_sums = ronchi_add_sums_avx2;
        kernels->rows = ronchi_rows_avx2;
    }
    if (cpu & RONCHI_CPU_AVX512) {
        kernels->bitshuffle = ronchi_bitshuffle_avx512;
        kernels->lane_decode16 = ronchi_lane_decode16_avx512;
        kernels->lane_tiles = ronchi_lane_tiles_avx512;
        kernels->lane_sum = ronchi_lane_sum_avx512;
        kernels->lane_stats = ronchi_lane_stats_avx512;
        kernels->lane_encode = ronchi_lane_encode_avx512;
        kernels->weigh_planes = ronchi_weigh_planes_avx512;
        kernels->lane_lines = ronchi_lane_lines_avx512;
        ronchi_stream_kernels_avx512(kernels);
        kernels->rows = ronchi_rows_avx512;
    }
    /* The first processors with AVX-512 lower their clock for wide vectors, which costs the LZ4 decoder around this
     * kernel more than it gains; those with VBMI do not. */
    if (cpu & RONCHI_CPU_AVX512VBMI)
        kernels->bitunshuffle = ronchi_bitunshuffle_avx512;
#endif
}
