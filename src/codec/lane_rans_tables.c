/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_tables.c - the tables of lane-rans-v1: normative frequencies (docs/format.md) and what follows from them.
 *
 * Slots are dealt out by the alias method: 16 buckets of 16 slots, the lower part of bucket b is symbol b's, the rest
 * one other symbol's.  So a lookup is one of 16 entries and one comparison, which vector registers can hold.
 */
#include <string.h>

#include "codec/crc32c.h"
#include "codec/lane_rans.h"

/* Frequencies of symbols 0..15 of models 1..146; each row sums to 256. */
static const uint8_t frequency[LANE_MODELS][LANE_SYMBOLS] = {
    {253, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {253, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {253, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {252, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {252, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {251, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {251, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {250, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {249, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {251, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {251, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {241, 10, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {240, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {238, 13, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {236, 15, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {233, 18, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {230, 21, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {227, 24, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {223, 28, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {219, 32, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {234, 20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {231, 23, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {226, 27, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {222, 31, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {216, 36, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {210, 41, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {204, 46, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {223, 30, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {217, 35, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {211, 40, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {205, 45, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {195, 51, 7, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {187, 57, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {177, 64, 12, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {167, 71, 15, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {155, 77, 19, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {190, 56, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {180, 63, 11, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {170, 69, 14, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {200, 48, 6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {229, 25, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {223, 29, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {218, 33, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {211, 39, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {204, 45, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {196, 51, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {186, 58, 9, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {175, 65, 12, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {163, 73, 16, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {149, 79, 21, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {135, 85, 27, 6, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {119, 90, 34, 9, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {103, 92, 42, 13, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {87, 93, 50, 18, 5, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {70, 90, 58, 25, 8, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {55, 84, 64, 33, 13, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {41, 75, 68, 41, 19, 7, 2, 1, 1, 0, 0, 0, 0, 0, 0, 1},
    {29, 62, 68, 50, 27, 12, 4, 1, 1, 1, 0, 0, 0, 0, 0, 1},
    {19, 49, 63, 55, 36, 19, 8, 3, 1, 1, 1, 0, 0, 0, 0, 1},
    {11, 35, 55, 57, 44, 28, 14, 6, 2, 1, 1, 1, 0, 0, 0, 1},
    {6, 23, 43, 53, 49, 36, 22, 12, 6, 2, 1, 1, 1, 0, 0, 1},
    {3, 13, 30, 44, 49, 43, 32, 20, 11, 5, 2, 1, 1, 1, 0, 1},
    {1, 7, 18, 32, 42, 44, 39, 30, 19, 11, 6, 3, 1, 1, 1, 1},
    {1, 3, 9, 19, 31, 39, 41, 36, 29, 20, 13, 7, 4, 2, 1, 1},
    {230, 20, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {226, 23, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {222, 27, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {216, 32, 5, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {208, 37, 7, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {200, 42, 9, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {192, 48, 11, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {182, 54, 14, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {170, 61, 17, 4, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {158, 67, 21, 6, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {144, 73, 26, 8, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {129, 78, 31, 11, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {113, 82, 38, 14, 5, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {97, 83, 44, 19, 7, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1},
    {80, 83, 51, 24, 10, 4, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1},
    {64, 80, 56, 30, 14, 6, 2, 1, 1, 1, 0, 0, 0, 0, 0, 1},
    {50, 72, 60, 37, 19, 9, 4, 1, 1, 1, 1, 0, 0, 0, 0, 1},
    {36, 63, 61, 44, 26, 13, 6, 3, 1, 1, 1, 0, 0, 0, 0, 1},
    {25, 51, 59, 48, 33, 19, 10, 5, 2, 1, 1, 1, 0, 0, 0, 1},
    {16, 39, 53, 50, 39, 26, 15, 8, 4, 2, 1, 1, 1, 0, 0, 1},
    {9, 27, 43, 48, 43, 33, 22, 13, 7, 4, 2, 1, 1, 1, 1, 1},
    {5, 17, 32, 42, 44, 38, 29, 20, 12, 7, 4, 2, 1, 1, 1, 1},
    {2, 10, 21, 33, 40, 41, 35, 27, 19, 12, 7, 4, 2, 1, 1, 1},
    {1, 5, 12, 22, 31, 36, 37, 33, 26, 19, 13, 9, 5, 3, 2, 2},
    {233, 16, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {230, 18, 4, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {225, 22, 5, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {219, 25, 6, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {214, 29, 7, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {206, 34, 9, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {199, 39, 11, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {190, 44, 13, 4, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {178, 50, 16, 6, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {167, 55, 20, 7, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {154, 61, 24, 9, 3, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1},
    {140, 66, 28, 11, 5, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1},
    {125, 70, 33, 14, 6, 3, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1},
    {109, 73, 38, 18, 8, 4, 2, 1, 1, 1, 0, 0, 0, 0, 0, 1},
    {92, 74, 44, 23, 11, 5, 2, 1, 1, 1, 1, 0, 0, 0, 0, 1},
    {76, 73, 48, 28, 14, 7, 3, 2, 1, 1, 1, 1, 0, 0, 0, 1},
    {61, 69, 52, 33, 19, 10, 5, 2, 1, 1, 1, 1, 0, 0, 0, 1},
    {46, 62, 54, 38, 24, 14, 7, 4, 2, 1, 1, 1, 1, 0, 0, 1},
    {33, 53, 54, 42, 29, 18, 11, 6, 3, 2, 1, 1, 1, 1, 0, 1},
    {22, 43, 50, 45, 34, 24, 15, 9, 5, 3, 1, 1, 1, 1, 1, 1},
    {14, 32, 44, 44, 38, 29, 20, 13, 8, 5, 3, 2, 1, 1, 1, 1},
    {8, 22, 34, 41, 39, 33, 26, 19, 13, 8, 5, 3, 2, 1, 1, 1},
    {4, 14, 25, 34, 37, 36, 31, 24, 18, 13, 8, 5, 3, 2, 1, 1},
    {2, 7, 16, 24, 31, 34, 32, 29, 24, 18, 13, 9, 6, 4, 3, 4},
    {236, 11, 3, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {232, 13, 4, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {229, 15, 5, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
    {224, 18, 6, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1},
    {219, 21, 7, 3, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1},
    {214, 24, 8, 3, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1},
    {206, 28, 10, 4, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1},
    {199, 32, 12, 5, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1},
    {189, 37, 14, 6, 3, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1},
    {180, 41, 16, 7, 4, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1},
    {169, 46, 19, 9, 4, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1},
    {154, 51, 23, 11, 6, 3, 2, 1, 1, 1, 1, 1, 0, 0, 0, 1},
    {141, 55, 27, 13, 7, 4, 2, 1, 1, 1, 1, 1, 1, 0, 0, 1},
    {126, 59, 31, 16, 9, 5, 3, 1, 1, 1, 1, 1, 1, 0, 0, 1},
    {111, 62, 35, 19, 11, 6, 3, 2, 1, 1, 1, 1, 1, 1, 0, 1},
    {94, 62, 38, 23, 14, 8, 5, 3, 2, 1, 1, 1, 1, 1, 1, 1},
    {79, 62, 42, 27, 17, 10, 6, 4, 2, 1, 1, 1, 1, 1, 1, 1},
    {63, 59, 45, 31, 21, 13, 8, 5, 3, 2, 1, 1, 1, 1, 1, 1},
    {48, 54, 46, 35, 24, 17, 11, 7, 4, 3, 2, 1, 1, 1, 1, 1},
    {35, 47, 45, 37, 28, 21, 14, 10, 6, 4, 3, 2, 1, 1, 1, 1},
    {24, 38, 42, 38, 32, 24, 18, 13, 9, 6, 4, 3, 2, 1, 1, 1},
    {15, 29, 36, 37, 33, 28, 22, 17, 12, 9, 6, 4, 3, 2, 1, 2},
    {9, 20, 29, 33, 32, 30, 25, 21, 16, 12, 9, 6, 5, 3, 2, 4},
    {5, 12, 20, 26, 29, 29, 27, 24, 20, 16, 13, 10, 7, 5, 4, 9},
    {0, 0, 0, 1, 4, 22, 59, 83, 59, 22, 4, 1, 0, 0, 0, 1},
    {0, 0, 1, 1, 6, 24, 57, 77, 57, 24, 6, 1, 1, 0, 0, 1},
    {0, 0, 1, 1, 7, 26, 56, 73, 56, 26, 7, 1, 1, 0, 0, 1},
    {0, 0, 1, 2, 9, 28, 54, 67, 54, 28, 9, 2, 1, 0, 0, 1},
    {0, 1, 1, 3, 11, 29, 51, 63, 51, 29, 11, 3, 1, 1, 0, 1},
    {0, 1, 1, 4, 13, 30, 49, 59, 49, 30, 13, 4, 1, 1, 0, 1},
    {0, 1, 1, 5, 15, 31, 47, 55, 47, 31, 15, 5, 1, 1, 0, 1},
    {1, 1, 2, 7, 16, 30, 45, 51, 45, 30, 16, 7, 2, 1, 1, 1},
    {1, 1, 3, 8, 17, 30, 43, 49, 43, 30, 17, 8, 3, 1, 1, 1},
    {1, 1, 4, 9, 19, 30, 41, 45, 41, 30, 19, 9, 4, 1, 1, 1},
};

/* Sparse models: log2 of the rows of a group. */
static const uint8_t sparse_shift[LANE_SPARSE] = {
    5, 5, 5, 5, 5, 5, 5, 5, 5, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5,
    4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 1,
};

/* Deals slots to symbols: owner[slot]. */
static void deal(const uint8_t *f, uint8_t *limit, uint8_t *other)
{
    unsigned left[LANE_SYMBOLS];
    bool done[LANE_SYMBOLS] = {false};
    for (unsigned b = 0; b < LANE_SYMBOLS; b++) {
        left[b] = f[b];
        limit[b] = LANE_SYMBOLS;
        other[b] = (uint8_t)b;
    }
    for (;;) {
        unsigned small = LANE_SYMBOLS, large = LANE_SYMBOLS;
        for (unsigned b = LANE_SYMBOLS; b-- > 0;)
            if (!done[b] && left[b] < LANE_SYMBOLS)
                small = b;
        for (unsigned b = 0; b < LANE_SYMBOLS; b++)
            if (!done[b] && left[b] > LANE_SYMBOLS && (large == LANE_SYMBOLS || left[b] > left[large]))
                large = b;
        if (small == LANE_SYMBOLS || large == LANE_SYMBOLS)
            return;
        limit[small] = (uint8_t)left[small];
        other[small] = (uint8_t)large;
        left[large] -= LANE_SYMBOLS - left[small];
        done[small] = true;
    }
}

static uint32_t entry(const ronchi_lane_table *table, unsigned slot)
{
    uint32_t symbol = table->slot[slot] >> 16, rank = table->slot[slot] & 255;
    uint32_t code = symbol == LANE_ESCAPE ? LANE_CODE_ESCAPE : symbol;
    return ((rank - slot) & 0xfff) << 16 | (256u - table->frequency[symbol]) << 8 | code;
}

static void fill_table(ronchi_lane_table *table, const uint8_t *f)
{
    uint8_t limit[LANE_SYMBOLS], other[LANE_SYMBOLS];
    unsigned used[LANE_SYMBOLS] = {0}, next = 0;
    memset(table, 0, sizeof *table);
    memcpy(table->frequency, f, LANE_SYMBOLS);
    deal(f, limit, other);
    for (unsigned k = 0; k < LANE_SYMBOLS; k++) {
        table->first[k] = (uint8_t)next;
        table->inverse[k] = f[k] ? (UINT64_C(1) << 40) / f[k] + 1 : 0;
        next += f[k];
        if (f[k] > f[table->largest])
            table->largest = (uint8_t)k;
    }
    for (unsigned slot = 0; slot < LANE_SLOTS; slot++) {
        unsigned b = slot / LANE_SYMBOLS, symbol = slot % LANE_SYMBOLS < limit[b] ? b : other[b];
        unsigned rank = used[symbol]++;
        table->slot[slot] = symbol << 16 | (uint32_t)f[symbol] << 8 | rank;
        table->place[table->first[symbol] + rank] = (uint8_t)slot;
    }
    for (unsigned b = 0; b < LANE_SYMBOLS; b++) {
        /* in a bucket of one piece both entries are the same */
        const bool two = limit[b] > 0 && limit[b] < LANE_SYMBOLS;
        const unsigned first = b * LANE_SYMBOLS, split = first + (two ? limit[b] : 0u);
        table->own[b] = entry(table, first) | (two ? limit[b] - 1u : 0u) << 28;
        table->alias[b] = entry(table, split);
    }
}

/*
 * Division by f of x < f * 2^24, with k = 32 + floor(log2 f) and 2^k = m f + e, 1 <= e <= f, so m < 2^32.  Write
 * x = q f + r.  Then (x + 1) m / 2^k = q + (r + 1) / f - (x + 1) e / (f 2^k), which is below q + 1, and not below q if
 * (x + 1) e <= 2^k: as x + 1 <= f 2^24, if f e <= 2^(k - 24).  Else, which only happens for f > 128, x (m + 1) / 2^k =
 * q + r / f + x (f - e) / (f 2^k) is below q + 1 if f (f - e) < 2^(k - 24), and never below q.  One of both holds for
 * every f of 1..255; tests try the tables. The product is then cut by 32 and by k - 32 bits.
 */
static void fill_division(ronchi_lane_code *code, unsigned k, uint64_t f)
{
    unsigned log = 0;
    while (f >> (log + 1))
        log++;
    uint64_t power = UINT64_C(1) << (32 + log), m = (power - 1) / f, e = power - m * f;
    bool down = f * e <= power >> 24;
    code->inverse[k] = (uint32_t)(down ? m : m + 1);
    code->bump[k] = down;
    code->rotate[k] = log;
    code->even &= (uint8_t)down;
}

static void fill_code(ronchi_lane_code *code, const ronchi_lane_table *table)
{
    memset(code, 0, sizeof *code);
    memcpy(code->place, table->place, LANE_SLOTS);
    code->even = 1;
    code->largest = table->largest;
    code->shift = table->shift;
    for (unsigned k = 0; k < LANE_SYMBOLS; k++) {
        unsigned c = table->frequency[k] ? k : LANE_ESCAPE;
        code->coded[k] = (uint8_t)c;
        code->frequency[k] = table->frequency[c];
        code->first[k] = table->first[c];
        fill_division(code, k, table->frequency[c]);
    }
    while (code->coded[code->top] < LANE_ESCAPE)
        code->top++;
}

/* Where the next words go when the lanes of a mask are in need of one each. */
static void fill_expand(uint8_t expand[256][16])
{
    for (unsigned mask = 0; mask < 256; mask++)
        for (unsigned lane = 0, word = 0; lane < 8; lane++) {
            const bool need = mask >> lane & 1;
            expand[mask][2 * lane] = (uint8_t)(need ? 2 * word : 128);
            expand[mask][2 * lane + 1] = (uint8_t)(need ? 2 * word + 1 : 128);
            word += need;
        }
}

void ronchi_lane_tables_fill(ronchi_lane_tables *tables)
{
    for (size_t m = 0; m < LANE_MODELS; m++) {
        fill_table(&tables->model[m], frequency[m]);
        tables->model[m].shift = m < LANE_SPARSE ? sparse_shift[m] : 0;
        fill_code(&tables->code[m], &tables->model[m]);
    }
    ronchi_crc32c_fill(tables->crc);
    fill_expand(tables->expand);
}
