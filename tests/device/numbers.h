/* SPDX-License-Identifier: MIT */
/* numbers.h - splitmix64: the same numbers everywhere, for the inputs of the device tests only, which do without
 * cmocka. */
#ifndef RONCHI_TEST_DEVICE_NUMBERS_H
#define RONCHI_TEST_DEVICE_NUMBERS_H

#include <stdint.h>

static inline uint64_t test_next64(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

#endif
