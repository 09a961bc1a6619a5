/* SPDX-License-Identifier: MIT */
/* test.h - what every test program needs: cmocka with its own includes, a small generator, the data folder. */
#ifndef RONCHI_TEST_H
#define RONCHI_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* xorshift64*: the same numbers everywhere, for test inputs only. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t x = *state ? *state : 0x9E3779B97F4A7C15u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545F4914F6CDD1Du;
}

/* The folder of test data (RONCHI_TEST_DATA), or NULL: such tests then call skip(). */
static inline const char *test_data(void)
{
    return getenv("RONCHI_TEST_DATA");
}

#endif
