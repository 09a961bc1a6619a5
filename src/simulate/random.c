/* SPDX-License-Identifier: MIT */
/* random.c - seeding, the normal and the Poisson law. */
#include "simulate/random.h"

#include <math.h>
#include <stddef.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void ronchi_random_init(ronchi_random *random, uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t state = seed;
    state = splitmix64(&state) ^ stream;
    state = splitmix64(&state) ^ index;
    for (size_t i = 0; i < 4; i++)
        random->s[i] = splitmix64(&state);
}

double ronchi_random_normal(ronchi_random *random)
{
    double u = 1.0 - ronchi_random_uniform(random); /* in (0, 1] */
    double v = ronchi_random_uniform(random);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* log(k!) by table and by Stirling's series; lgamma() of the C library writes a global variable. */
static double log_factorial(double k)
{
    static const double table[] = {0.0,
                                   0.0,
                                   0.69314718055994531,
                                   1.791759469228055,
                                   3.1780538303479458,
                                   4.787491742782046,
                                   6.5792512120101012,
                                   8.5251613610654147,
                                   10.604602902745251,
                                   12.801827480081469};
    if (k < 10.0)
        return table[(size_t)k];
    double x = k + 1.0, y = 1.0 / x, y2 = y * y;
    double series = y * (1.0 / 12 - y2 * (1.0 / 360 - y2 * (1.0 / 1260 - y2 / 1680)));
    return (x - 0.5) * log(x) - x + 0.91893853320467274 + series;
}

static uint64_t poisson_search(ronchi_random *random, double mean)
{
    double u = ronchi_random_uniform(random);
    if (u < 1.0 - mean) /* 1 - mean <= exp(-mean): most dark pixels end here, without an exponential */
        return 0;
    static const double inverse[] = {0.0,      1.0,      1.0 / 2,  1.0 / 3,  1.0 / 4,  1.0 / 5,  1.0 / 6,  1.0 / 7,
                                     1.0 / 8,  1.0 / 9,  1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13, 1.0 / 14, 1.0 / 15,
                                     1.0 / 16, 1.0 / 17, 1.0 / 18, 1.0 / 19, 1.0 / 20, 1.0 / 21, 1.0 / 22, 1.0 / 23};
    double p = exp(-mean), sum = p;
    uint64_t k = 0;
    while (u >= sum && k < 200) { /* below mean 10 nothing is left of the sum long before */
        k++;
        p *= k < sizeof inverse / sizeof inverse[0] ? mean * inverse[k]
                                                    : mean / (double)k; /* division is the slow part */
        sum += p;
    }
    return k;
}

static uint64_t poisson_ptrs(ronchi_random *random, double mean)
{
    double root = sqrt(mean), log_mean = log(mean);
    double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2.0);
    for (;;) {
        double u = ronchi_random_uniform(random) - 0.5, v = ronchi_random_uniform(random);
        double us = 0.5 - fabs(u);
        double k = floor((2.0 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= v_r)
            return (uint64_t)k;
        if (k < 0.0 || k > 1e18 || (us < 0.013 && v > us))
            continue;
        if (log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - log_factorial(k))
            return (uint64_t)k;
    }
}

uint64_t ronchi_random_poisson(ronchi_random *random, double mean)
{
    if (!(mean > 0.0))
        return 0;
    return mean < 10.0 ? poisson_search(random, mean) : poisson_ptrs(random, mean);
}
