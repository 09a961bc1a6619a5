/* SPDX-License-Identifier: MIT */
/* arithmetic.c - exact integers become floating point with one rounding. */
#include <math.h>

#include "core/internal.h"

double ronchi_quotient(uint64_t a, uint64_t b)
{
    const uint64_t exact = (uint64_t)1 << 53;
    if (a < exact && b < exact)
        return (double)a / (double)b;
    /*
     * Binary long division to at least 55 significant bits; what is left over only decides ties, so it is kept as the
     * lowest bit. The conversion of that integer is then the one rounding.
     */
    uint64_t bits = a / b, rest = a % b;
    int exponent = 0;
    for (; bits < (uint64_t)1 << 54 && (bits || exponent > -70) && rest; exponent--) {
        bool one = rest >= b - rest;
        rest = one ? rest - (b - rest) : 2 * rest;
        bits = 2 * bits + one;
    }
    return ldexp((double)(bits | (rest != 0)), exponent);
}
