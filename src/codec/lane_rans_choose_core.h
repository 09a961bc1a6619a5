/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_choose_core.h - which model a pixel gets: integers from exact sums, compared with bounds computed once.
 *
 * The arithmetic of one pixel, and what the pixels of a brick share; lane_rans_choose.c walks over the pixels of a
 * brick, lane_rans_encode.cu has a warp do them side by side.  Both add integers, in any order, and decide the same.
 *
 * Readers do not need this file: any choice decodes.  It is pinned by the golden files all the same, so that every
 * machine writes the same bytes.
 */
#ifndef RONCHI_CODEC_LANE_RANS_CHOOSE_CORE_H
#define RONCHI_CODEC_LANE_RANS_CHOOSE_CORE_H

#include "codec/lane_rans.h"

#if defined(__CUDACC__)
#define RONCHI_LANE_CORE  static __device__ __forceinline__
#define RONCHI_LANE_TABLE static __constant__ const
#elif defined(__GNUC__)
#define RONCHI_LANE_CORE  static inline __attribute__((always_inline))
#define RONCHI_LANE_TABLE static const
#else
#define RONCHI_LANE_CORE  static inline
#define RONCHI_LANE_TABLE static const
#endif

enum { LANE_MEAN_BITS = 20, LANE_COUNT_STEPS = 24 };

/* Bounds between neighbouring models: their geometric mean, in counts x 2^20. */
RONCHI_LANE_TABLE uint32_t ronchi_lane_sparse_bound[39] = {
    228,   268,   316,   372,   439,   517,   609,   718,   846,   996,   1174,  1383,  1630,
    1920,  2262,  2665,  3141,  3700,  4360,  5137,  6053,  7131,  8403,  9900,  11665, 13744,
    16194, 19080, 22481, 26488, 31209, 36772, 43327, 51049, 60149, 70870, 83502, 98385, 115921,
};
RONCHI_LANE_TABLE uint32_t ronchi_lane_count_bound[23] = {
    123712,  147636,  176186,  210257,  250916,  299439,  357345,  426448,  508915,  607329,  724775,  864932,
    1032193, 1231800, 1470006, 1754276, 2093520, 2498366, 2981501, 3558066, 4246127, 5067246, 6047153,
};
/* log2 of the sparse models' means, x 2^16; mean x log2(e) of 1,024 positions, x 2^16. */
RONCHI_LANE_TABLE int32_t ronchi_lane_sparse_log2[40] = {
    -805288, -789779, -774271, -758763, -743255, -727747, -712238, -696730, -681222, -665714,
    -650206, -634697, -619189, -603681, -588173, -572664, -557156, -541648, -526140, -510632,
    -495123, -479615, -464107, -448599, -433091, -417582, -402074, -386566, -371058, -355550,
    -340041, -324533, -309025, -293517, -278009, -262500, -246992, -231484, -215976, -200468,
};
RONCHI_LANE_TABLE uint32_t ronchi_lane_sparse_cost[40] = {
    19364,   22815,   26882,   31673,   37318,   43970,   51807,   61042,   71922,   84742,
    99846,   117643,  138612,  163318,  192429,  226727,  267140,  314756,  370858,  436961,
    514846,  606613,  714738,  842134,  992238,  1169097, 1377480, 1623005, 1912294, 2253145,
    2654751, 3127941, 3685472, 4342380, 5116376, 6028331, 7102835, 8368861, 9860547, 11618115,
};
/* Wide models: bounds of the variance in squared steps of 2^shift, x 256. */
RONCHI_LANE_TABLE uint32_t ronchi_lane_wide_bound[9] = {
    395, 454, 521, 599, 688, 790, 908, 1043, 1198,
};
/* Bits of a wide pixel's count above its raw bits, x 256: the entropy of the step above it, rounded up. */
RONCHI_LANE_TABLE uint32_t ronchi_lane_wide_bits[LANE_WIDE] = {592, 618, 643, 669, 694, 720, 746, 771, 797, 823};

#define LANE_MEAN_SPARSE 125829  /* 0.12 */
#define LANE_MEAN_COUNT  6606028 /* 6.3 */
#define LANE_WIDE_TOP    1387    /* (0.97 x 2.4)^2 x 256 */

/* The model of one pixel, as in ronchi_lane_choice. */
typedef struct ronchi_lane_pick {
    int64_t base;
    uint8_t id, shift, width;
} ronchi_lane_pick;

/* How many of n < 64 rising bounds the value reaches. */
RONCHI_LANE_CORE unsigned ronchi_lane_below(const uint32_t *bounds, unsigned n, uint64_t value)
{
    unsigned i = 0;
    for (unsigned step = 32; step; step /= 2)
        if (i + step <= n)
            i += bounds[i + step - 1] <= value ? step : 0;
    return i;
}

/* The mean of n counts, x 2^20. */
RONCHI_LANE_CORE uint64_t ronchi_lane_mean(uint64_t sum, size_t n)
{
    if (sum >> 40) /* far above every bound */
        return UINT64_MAX;
    return ((sum * 10 + 2) << LANE_MEAN_BITS) / (10 * n);
}

/* The variance of counts above 'low', x 256, with the 1/12 of rounding. */
RONCHI_LANE_CORE uint64_t ronchi_lane_variance(const ronchi_lane_stats *s, size_t n)
{
    return (n * s->sum_low2 - s->sum_low * s->sum_low) * 256 / ((uint64_t)n * n) + 21;
}

RONCHI_LANE_CORE unsigned ronchi_lane_bits(uint32_t value)
{
    unsigned n = 0;
    for (; value; value >>= 1)
        n++;
    return n;
}

RONCHI_LANE_CORE ronchi_lane_pick ronchi_lane_pick_packed(const ronchi_lane_stats *s)
{
    ronchi_lane_pick pick = {s->low, LANE_ID_PACKED, 0, (uint8_t)ronchi_lane_bits(s->high - s->low)};
    return pick;
}

RONCHI_LANE_CORE ronchi_lane_pick ronchi_lane_pick_wide(const ronchi_lane_stats *s, size_t n)
{
    uint64_t variance = ronchi_lane_variance(s, n), step = 0, n2 = 2 * (uint64_t)n;
    while (step <= LANE_MAX_SHIFT && variance >= (uint64_t)LANE_WIDE_TOP << 2 * step)
        step++;
    unsigned t = 0;
    while (t < LANE_WIDE - 1 && (uint64_t)ronchi_lane_wide_bound[t] << 2 * step <= variance)
        t++;
    unsigned width = ronchi_lane_bits(s->high - s->low);
    int64_t base =
        (int64_t)s->low + (int64_t)((2 * s->sum_low + n2 + ((uint64_t)n << step)) / n2) - (INT64_C(8) << step);
    if (step > LANE_MAX_SHIFT || width * 256 <= step * 256 + ronchi_lane_wide_bits[t] || base >= INT64_C(1) << 27)
        return ronchi_lane_pick_packed(s);
    ronchi_lane_pick pick = {base, (uint8_t)(LANE_ID_WIDE + t), (uint8_t)step, 0};
    return pick;
}

/* Adds a pixel to what ronchi_lane_dispersion() asks for: only those with a count model take part. */
RONCHI_LANE_CORE void ronchi_lane_add_spread(const ronchi_lane_stats *s, size_t n, uint64_t *spread, uint64_t *mean)
{
    uint64_t m = ronchi_lane_mean(s->sum, n);
    if (m < LANE_MEAN_SPARSE || m >= LANE_MEAN_COUNT || n < 2)
        return;
    *spread += (n * s->sum_low2 - s->sum_low * s->sum_low) / (n - 1);
    *mean += s->sum;
}

/* Class of over-dispersion of a brick's pixels with a count model: variance over mean, bounds 1.1, 1.41, 1.92. */
RONCHI_LANE_CORE unsigned ronchi_lane_dispersion(uint64_t spread, uint64_t mean)
{
    return spread * 100 < mean * 110 ? 0 : spread * 100 < mean * 141 ? 1 : spread * 100 < mean * 192 ? 2 : 3;
}

/* The model of a pixel on its own. */
RONCHI_LANE_CORE ronchi_lane_pick ronchi_lane_pick_model(const ronchi_lane_stats *s, size_t n, unsigned dispersion)
{
    ronchi_lane_pick pick = {0, LANE_ID_ZERO, 0, 0};
    if (s->high == 0)
        return pick;
    if (s->low == s->high)
        return ronchi_lane_pick_packed(s);
    uint64_t m = ronchi_lane_mean(s->sum, n);
    if (m >= LANE_MEAN_COUNT)
        return ronchi_lane_pick_wide(s, n);
    if (m < LANE_MEAN_SPARSE)
        pick.id = (uint8_t)(1 + ronchi_lane_below(ronchi_lane_sparse_bound, LANE_SPARSE - 1, m));
    else
        pick.id = (uint8_t)(LANE_ID_COUNT + dispersion * LANE_COUNT_STEPS +
                            ronchi_lane_below(ronchi_lane_count_bound, LANE_COUNT_STEPS - 1, m));
    return pick;
}

/* Bits x 2^16 that a sparse pixel of that sum costs under model i, but for what all models share. */
RONCHI_LANE_CORE int64_t ronchi_lane_sparse_cost_of(uint64_t sum, size_t n, unsigned i)
{
    return (int64_t)(ronchi_lane_sparse_cost[i] * (uint64_t)n / 1024) - (int64_t)sum * ronchi_lane_sparse_log2[i];
}

/*
 * One model for all pixels of a brick of sparse ones, where ids of their own would cost more than they save: the model
 * (counted from 0) that their sum asks for; what a pixel loses by it; whether all losses together are worth it.
 */
RONCHI_LANE_CORE unsigned ronchi_lane_uniform(uint64_t sum, size_t n, size_t n_pixels)
{
    return ronchi_lane_below(ronchi_lane_sparse_bound, LANE_SPARSE - 1, (sum << LANE_MEAN_BITS) / (n * n_pixels));
}

RONCHI_LANE_CORE int64_t ronchi_lane_uniform_loss(uint64_t sum, size_t n, unsigned id, unsigned uniform)
{
    return ronchi_lane_sparse_cost_of(sum, n, uniform) - ronchi_lane_sparse_cost_of(sum, n, id ? id - 1u : 0);
}

RONCHI_LANE_CORE bool ronchi_lane_uniform_pays(uint64_t sum, int64_t loss, size_t n_pixels)
{
    return sum && loss < (int64_t)(4 * n_pixels) << 16;
}

#endif
