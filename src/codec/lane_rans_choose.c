/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_choose.c - which model a pixel gets: integers from exact sums, compared with bounds computed once.
 *
 * Readers do not need this file: any choice decodes.  It is pinned by the golden files all the same, so that every
 * machine writes the same bytes.
 */
#include <string.h>

#include "codec/lane_rans.h"

/* Most bricks have 1,024 positions: for them divisions are multiplications. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

enum { MEAN_BITS = 20, COUNT_STEPS = 24, WHOLE = LANE_STREAMS * LANE_SPAN };

/* Bounds between neighbouring models: their geometric mean, in counts x 2^20. */
static const uint32_t sparse_bound[39] = {
    228,   268,   316,   372,   439,   517,   609,   718,   846,   996,   1174,  1383,  1630,
    1920,  2262,  2665,  3141,  3700,  4360,  5137,  6053,  7131,  8403,  9900,  11665, 13744,
    16194, 19080, 22481, 26488, 31209, 36772, 43327, 51049, 60149, 70870, 83502, 98385, 115921,
};
static const uint32_t count_bound[23] = {
    123712,  147636,  176186,  210257,  250916,  299439,  357345,  426448,  508915,  607329,  724775,  864932,
    1032193, 1231800, 1470006, 1754276, 2093520, 2498366, 2981501, 3558066, 4246127, 5067246, 6047153,
};
/* log2 of the sparse models' means, x 2^16; mean x log2(e) of 1,024 positions, x 2^16. */
static const int32_t sparse_log2[40] = {
    -805288, -789779, -774271, -758763, -743255, -727747, -712238, -696730, -681222, -665714,
    -650206, -634697, -619189, -603681, -588173, -572664, -557156, -541648, -526140, -510632,
    -495123, -479615, -464107, -448599, -433091, -417582, -402074, -386566, -371058, -355550,
    -340041, -324533, -309025, -293517, -278009, -262500, -246992, -231484, -215976, -200468,
};
static const uint32_t sparse_cost[40] = {
    19364,   22815,   26882,   31673,   37318,   43970,   51807,   61042,   71922,   84742,
    99846,   117643,  138612,  163318,  192429,  226727,  267140,  314756,  370858,  436961,
    514846,  606613,  714738,  842134,  992238,  1169097, 1377480, 1623005, 1912294, 2253145,
    2654751, 3127941, 3685472, 4342380, 5116376, 6028331, 7102835, 8368861, 9860547, 11618115,
};
/* Wide models: bounds of the variance in squared steps of 2^shift, x 256. */
static const uint32_t wide_bound[9] = {
    395, 454, 521, 599, 688, 790, 908, 1043, 1198,
};
/* Bits of a wide pixel's count above its raw bits, x 256: the entropy of the step above it, rounded up. */
static const uint32_t wide_bits[LANE_WIDE] = {592, 618, 643, 669, 694, 720, 746, 771, 797, 823};

#define MEAN_SPARSE 125829  /* 0.12 */
#define MEAN_COUNT  6606028 /* 6.3 */
#define WIDE_TOP    1387    /* (0.97 x 2.4)^2 x 256 */

/* How many of n < 64 rising bounds the value reaches. */
INLINE size_t below(const uint32_t *bounds, size_t n, uint64_t value)
{
    size_t i = 0;
    for (size_t step = 32; step; step /= 2)
        if (i + step <= n)
            i += bounds[i + step - 1] <= value ? step : 0;
    return i;
}

INLINE uint64_t mean_of(uint64_t sum, size_t n)
{
    if (sum >> 40) /* far above every bound */
        return UINT64_MAX;
    return ((sum * 10 + 2) << MEAN_BITS) / (10 * n);
}

/* The variance of counts above 'low', x 256, with the 1/12 of rounding. */
INLINE uint64_t variance_of(const ronchi_lane_stats *s, size_t n)
{
    return (n * s->sum_low2 - s->sum_low * s->sum_low) * 256 / ((uint64_t)n * n) + 21;
}

static unsigned bits_of(uint32_t value)
{
    unsigned n = 0;
    for (; value; value >>= 1)
        n++;
    return n;
}

static void choose_packed(const ronchi_lane_stats *s, size_t p, ronchi_lane_choice *out)
{
    out->id[p] = LANE_ID_PACKED;
    out->base[p] = s->low;
    out->width[p] = (uint8_t)bits_of(s->high - s->low);
}

INLINE void choose_wide(const ronchi_lane_stats *s, size_t p, size_t n, ronchi_lane_choice *out)
{
    uint64_t variance = variance_of(s, n), step = 0, n2 = 2 * (uint64_t)n;
    while (step <= LANE_MAX_SHIFT && variance >= (uint64_t)WIDE_TOP << 2 * step)
        step++;
    size_t t = 0;
    while (t < LANE_WIDE - 1 && (uint64_t)wide_bound[t] << 2 * step <= variance)
        t++;
    unsigned width = bits_of(s->high - s->low);
    int64_t base =
        (int64_t)s->low + (int64_t)((2 * s->sum_low + n2 + ((uint64_t)n << step)) / n2) - (INT64_C(8) << step);
    if (step > LANE_MAX_SHIFT || width * 256 <= step * 256 + wide_bits[t] || base >= INT64_C(1) << 27) {
        choose_packed(s, p, out);
        return;
    }
    out->id[p] = (uint8_t)(LANE_ID_WIDE + t);
    out->shift[p] = (uint8_t)step;
    out->base[p] = base;
}

/* Class of over-dispersion of the tile's pixels with a count model: variance over mean, bounds 1.1, 1.41, 1.92. */
INLINE size_t width_of(const ronchi_lane_stats *stats, size_t n_pixels, size_t n)
{
    uint64_t spread = 0, mean = 0;
    for (size_t p = 0; p < n_pixels; p++) {
        uint64_t m = mean_of(stats[p].sum, n);
        if (m < MEAN_SPARSE || m >= MEAN_COUNT || n < 2)
            continue;
        spread += (n * stats[p].sum_low2 - stats[p].sum_low * stats[p].sum_low) / (n - 1);
        mean += stats[p].sum;
    }
    return spread * 100 < mean * 110 ? 0 : spread * 100 < mean * 141 ? 1 : spread * 100 < mean * 192 ? 2 : 3;
}

/* Bits x 2^16 that a sparse pixel of that sum costs under model i, but for what all models share. */
INLINE int64_t sparse_cost_of(uint64_t sum, size_t n, size_t i)
{
    return (int64_t)(sparse_cost[i] * (uint64_t)n / 1024) - (int64_t)sum * sparse_log2[i];
}

/* One model for all pixels where ids of their own would cost more than they save. */
INLINE void choose_uniform(const ronchi_lane_stats *stats, size_t n_pixels, size_t n, ronchi_lane_choice *out)
{
    uint64_t sum = 0;
    for (size_t p = 0; p < n_pixels; p++) {
        if (out->id[p] > LANE_SPARSE)
            return;
        sum += stats[p].sum;
    }
    size_t i = below(sparse_bound, LANE_SPARSE - 1, (sum << MEAN_BITS) / (n * n_pixels));
    int64_t loss = 0;
    for (size_t p = 0; p < n_pixels; p++) {
        size_t own = out->id[p] ? out->id[p] - 1u : 0;
        loss += sparse_cost_of(stats[p].sum, n, i) - sparse_cost_of(stats[p].sum, n, own);
    }
    if (sum && loss < (int64_t)(4 * n_pixels) << 16)
        memset(out->id, (int)(1 + i), n_pixels);
}

INLINE void choose(const ronchi_lane_stats *stats, size_t n_pixels, size_t n_positions, ronchi_lane_choice *out)
{
    size_t width = width_of(stats, n_pixels, n_positions);
    memset(out, 0, sizeof *out);
    for (size_t p = 0; p < n_pixels; p++) {
        const ronchi_lane_stats *s = &stats[p];
        if (s->high == 0)
            continue;
        if (s->low == s->high) {
            choose_packed(s, p, out);
            continue;
        }
        uint64_t m = mean_of(s->sum, n_positions);
        if (m < MEAN_SPARSE)
            out->id[p] = (uint8_t)(1 + below(sparse_bound, LANE_SPARSE - 1, m));
        else if (m < MEAN_COUNT)
            out->id[p] = (uint8_t)(LANE_ID_COUNT + width * COUNT_STEPS + below(count_bound, COUNT_STEPS - 1, m));
        else
            choose_wide(s, p, n_positions, out);
    }
    choose_uniform(stats, n_pixels, n_positions, out);
}

void ronchi_lane_choose(const ronchi_lane_stats *stats, size_t n_pixels, size_t n_positions, ronchi_lane_choice *out)
{
    if (n_positions == WHOLE)
        choose(stats, n_pixels, WHOLE, out);
    else
        choose(stats, n_pixels, n_positions, out);
}
