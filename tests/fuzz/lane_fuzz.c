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

static void compare(const ronchi_lane_tables *tables, const ronchi_lane_brick *brick, size_t s)
{
    static uint16_t a[LANE_TILE * LANE_SPAN], b[LANE_TILE * LANE_SPAN];
    static uint32_t sums[LANE_SPAN];
    ronchi_kernels plain, fast;
    ronchi_kernels_fill(&plain, 0);
    ronchi_kernels_fill(&fast, ~UINT32_C(0));
    const char *x = plain.lane_decode16(tables, brick, s, 1, brick->n_pixels, UINT16_MAX, a);
    const char *y = fast.lane_decode16(tables, brick, s, 1, brick->n_pixels, UINT16_MAX, b);
    size_t n = ronchi_min_size(LANE_SPAN, brick->n_positions - s * LANE_SPAN);
    if (!x != !y)
        abort();
    for (size_t p = 0; !x && p < brick->n_pixels; p++)
        if (memcmp(a + p * LANE_SPAN, b + p * LANE_SPAN, n * sizeof *a) != 0)
            abort();
    fast.lane_sum(tables, brick, s, 1, UINT64_MAX >> (LANE_TILE - brick->n_pixels), UINT16_MAX, b, sums);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
        for (size_t s = 0; s < brick.n_streams; s++)
            compare(&tables, &brick, s);
    free(words);
    return 0;
}
