/* SPDX-License-Identifier: MIT */
/* flagged_core.h - what takes a flagged pixel's place, shared by host and device. */
#ifndef RONCHI_RESIDENT_FLAGGED_CORE_H
#define RONCHI_RESIDENT_FLAGGED_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/hd.h"

/* Counts of 1, 2 or 4 bytes. */
RONCHI_HD uint32_t ronchi_flagged_get(const void *frame, size_t element, size_t p)
{
    if (element == 1)
        return ((const uint8_t *)frame)[p];
    return element == 2 ? ((const uint16_t *)frame)[p] : ((const uint32_t *)frame)[p];
}

RONCHI_HD void ronchi_flagged_put(void *frame, size_t element, size_t p, uint32_t v)
{
    if (element == 1)
        ((uint8_t *)frame)[p] = (uint8_t)v;
    else if (element == 2)
        ((uint16_t *)frame)[p] = (uint16_t)v;
    else
        ((uint32_t *)frame)[p] = v;
}

/*
 * ronchi_flagged_median() gives the median of the unflagged neighbours in the 3 x 3 window cut at the detector's edge:
 * of an even number the mean of the middle two, truncated; 0 without neighbours.
 */
RONCHI_HD uint32_t ronchi_flagged_median(size_t rows, size_t cols, size_t element, const uint8_t *valid,
                                         const void *frame, size_t pixel)
{
    uint32_t found[8];
    size_t n = 0, row = pixel / cols, col = pixel % cols;
    size_t r0 = row ? row - 1 : 0, r1 = row + 1 < rows ? row + 1 : row;
    size_t c0 = col ? col - 1 : 0, c1 = col + 1 < cols ? col + 1 : col;
    for (size_t r = r0; r <= r1; r++)
        for (size_t c = c0; c <= c1; c++) {
            size_t p = r * cols + c;
            if (p == pixel || !valid[p])
                continue;
            uint32_t v = ronchi_flagged_get(frame, element, p);
            size_t k = n++;
            for (; k && found[k - 1] > v; k--)
                found[k] = found[k - 1];
            found[k] = v;
        }
    if (!n)
        return 0;
    if (n % 2)
        return found[n / 2];
    return (uint32_t)(((uint64_t)found[n / 2 - 1] + found[n / 2]) / 2);
}

#endif
