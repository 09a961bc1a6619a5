/* SPDX-License-Identifier: MIT */
/*
 * random.h - random numbers that depend on (seed, stream, index) alone: every pattern, atom cell and noise node has a
 * generator of its own, so nothing depends on order or threads.
 */
#ifndef RONCHI_SIMULATE_RANDOM_H
#define RONCHI_SIMULATE_RANDOM_H

#include <stdint.h>

/* What a generator is for: numbers of different streams are independent. */
enum {
    RONCHI_STREAM_COUNTS = 1,
    RONCHI_STREAM_FLYBACK,
    RONCHI_STREAM_NOISE,
    RONCHI_STREAM_CLUSTER,
    RONCHI_STREAM_PIXELS
};

/* xoshiro256++ 1.0 (D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", 2021). */
typedef struct ronchi_random {
    uint64_t s[4];
} ronchi_random;

/* ronchi_random_init() seeds by splitmix64 over a hash of the three numbers. */
void ronchi_random_init(ronchi_random *random, uint64_t seed, uint64_t stream, uint64_t index);

static inline uint64_t ronchi_random_next(ronchi_random *random)
{
    uint64_t *s = random->s, sum = s[0] + s[3], t = s[1] << 17;
    uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* Uniform in [0, 1), 53 bits. */
static inline double ronchi_random_uniform(ronchi_random *random)
{
    return (double)(ronchi_random_next(random) >> 11) * 0x1p-53;
}

/* Standard normal, by Box and Muller. */
double ronchi_random_normal(ronchi_random *random);

/*
 * ronchi_random_poisson() draws from the Poisson law of that mean (0 <= mean <= 1e15; 0 gives 0).
 *
 * Exact but for the rounding of double: inversion by sequential search below 10, above it the transformed rejection
 * PTRS of W. Hoermann, "The transformed rejection method for generating Poisson random variables", Insurance:
 * Mathematics and Economics 12 (1993) 39-45.
 */
uint64_t ronchi_random_poisson(ronchi_random *random, double mean);

#endif
