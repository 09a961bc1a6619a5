/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a brick of lane-rans-v1, through all versions of the decoder: no step outside, and the same answer.  The
 * first three bytes give pixels and positions.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/lane_rans.h"
#include "ronchi/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COUNTS = LANE_STREAMS * LANE_TILE * LANE_SPAN };

/* All counts of streams first..first+n-1 by one version of the kernels against plain C, and the sums that need no
 * frames. */
static void compare(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t first, size_t n,
                    uint32_t cpu)
{
    static uint16_t a[COUNTS], b[COUNTS], scratch[LANE_TILE * LANE_SPAN];
    static uint32_t sums[LANE_STREAMS * LANE_SPAN], want[LANE_STREAMS * LANE_SPAN];
    ronchi_kernels plain, fast;
    ronchi_kernels_fill(&plain, 0);
    ronchi_kernels_fill(&fast, cpu);
    memset(sums, 0, sizeof sums);
    memset(want, 0, sizeof want);
    const char *x = plain.lane_decode16(tables, brick, first, n, brick->n_pixels, UINT16_MAX, a);
    const char *y = fast.lane_decode16(tables, brick, first, n, brick->n_pixels, UINT16_MAX, b);
    const char *z =
        fast.lane_sum(tables, brick, first, n, UINT64_MAX >> (LANE_TILE - brick->n_pixels), UINT16_MAX, scratch, sums);
    if (!x != !y || !x != !z)
        abort();
    if (x)
        return;
    for (size_t k = 0; k < n; k++) {
        size_t m = ronchi_min_size(LANE_SPAN, brick->n_positions - (first + k) * LANE_SPAN);
        for (size_t p = 0; p < brick->n_pixels; p++) {
            const uint16_t *counts = a + (k * LANE_TILE + p) * LANE_SPAN;
            if (memcmp(counts, b + (k * LANE_TILE + p) * LANE_SPAN, m * sizeof *a) != 0)
                abort();
            for (size_t i = 0; i < m; i++)
                want[k * LANE_SPAN + i] += counts[i];
        }
        if (memcmp(want + k * LANE_SPAN, sums + k * LANE_SPAN, m * sizeof *sums) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t versions[] = {RONCHI_CPU_AVX2 | RONCHI_CPU_BMI2, ~UINT32_C(0)};
    static ronchi_lane_tables tables;
    ronchi_lane_brick brick;
    if (size < 3)
        return 0;
    if (!tables.crc[1])
        ronchi_lane_tables_fill(&tables);
    size_t n_pixels = 1 + data[0] % LANE_TILE, n_positions = 1 + (data[1] | (size_t)data[2] << 8) % (2 * LANE_SPAN);
    size_t n = (size - 3) / 2;
    uint16_t *words = malloc((n + LANE_SLACK_WORDS) * sizeof *words);
    if (!words)
        return 0;
    memcpy(words, data + 3, n * 2);
    memset(words + n, 0xff, LANE_SLACK_WORDS * sizeof *words);
    if (!ronchi_lane_brick_parse(words, n, n_pixels, n_positions, &brick))
        for (size_t k = 0; k < sizeof versions / sizeof versions[0]; k++) {
            for (size_t i = 0; i < brick.n_streams; i++)
                compare(&tables, &brick, i, 1, versions[k]);
            if (brick.n_streams == 2)
                compare(&tables, &brick, 0, 2, versions[k]);
        }
    free(words);
    return 0;
}
