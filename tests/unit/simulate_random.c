/* SPDX-License-Identifier: MIT */
/* simulate_random.c - the generator's laws against their analytic form. */
#include <math.h>
#include <string.h>

#include "simulate/random.h"
#include "test.h"

enum { DRAWS = 400000 };

/* Probability of k, from logarithms, independent of the generator's own arithmetic. */
static double probability(double mean, double k)
{
    return exp(k * log(mean) - mean - lgamma(k + 1.0));
}

static void check_poisson(double mean)
{
    size_t bins = (size_t)(mean + 12.0 * sqrt(mean) + 12.0);
    double *seen = calloc(bins, sizeof *seen), sum = 0, square = 0;
    ronchi_random random;
    ronchi_random_init(&random, 42, RONCHI_STREAM_COUNTS, (uint64_t)(mean * 1000));
    for (int i = 0; i < DRAWS; i++) {
        uint64_t k = ronchi_random_poisson(&random, mean);
        assert_true(k < bins);
        seen[k] += 1;
        sum += (double)k;
        square += (double)k * (double)k;
    }
    double m = sum / DRAWS, v = square / DRAWS - m * m;
    /* five standard errors: of the mean sqrt(mean / n), of the variance sqrt((mean + 2 mean^2) / n) */
    assert_true(fabs(m - mean) < 5.0 * sqrt(mean / DRAWS));
    assert_true(fabs(v - mean) < 5.0 * sqrt((mean + 2.0 * mean * mean) / DRAWS));

    /* chi-square over bins of at least 10 expected, tails joined */
    double chi2 = 0, expected = 0, observed = 0, used = 0;
    int classes = 0;
    for (size_t k = 0; k < bins; k++) {
        expected += DRAWS * probability(mean, (double)k);
        observed += seen[k];
        if (expected >= 10.0) {
            chi2 += (observed - expected) * (observed - expected) / expected;
            used += expected;
            expected = observed = 0;
            classes++;
        }
    }
    double left = DRAWS - used; /* the rest of the law, never below what was joined last */
    if (left > 5.0) {
        chi2 += (observed - left) * (observed - left) / left;
        classes++;
    }
    assert_true(classes >= 2);
    double freedom = classes - 1;
    assert_true(chi2 < freedom + 5.0 * sqrt(2.0 * freedom) + 5.0);
    free(seen);
}

static void poisson_follows_its_law(void **state)
{
    (void)state;
    static const double means[] = {0.01, 0.3, 1.0, 5.5, 9.999, 10.0, 12.0, 60.0, 1000.0};
    for (size_t i = 0; i < sizeof means / sizeof means[0]; i++)
        check_poisson(means[i]);
}

static void poisson_at_the_ends(void **state)
{
    (void)state;
    ronchi_random random;
    ronchi_random_init(&random, 1, 1, 1);
    assert_int_equal(ronchi_random_poisson(&random, 0.0), 0);
    assert_int_equal(ronchi_random_poisson(&random, -1.0), 0);
    assert_int_equal(ronchi_random_poisson(&random, (double)NAN), 0);
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += (double)ronchi_random_poisson(&random, 1e9);
    assert_true(fabs(sum / 1000 - 1e9) < 5.0 * sqrt(1e9 / 1000));
}

static void normal_and_uniform(void **state)
{
    (void)state;
    ronchi_random random;
    ronchi_random_init(&random, 7, RONCHI_STREAM_NOISE, 3);
    double sum = 0, square = 0, fourth = 0, flat = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = ronchi_random_normal(&random), u = ronchi_random_uniform(&random);
        assert_true(u >= 0.0 && u < 1.0);
        sum += x;
        square += x * x;
        fourth += x * x * x * x;
        flat += u;
    }
    assert_true(fabs(sum / DRAWS) < 5.0 / sqrt(DRAWS));
    assert_true(fabs(square / DRAWS - 1.0) < 5.0 * sqrt(2.0 / DRAWS));
    assert_true(fabs(fourth / DRAWS - 3.0) < 5.0 * sqrt(96.0 / DRAWS));
    assert_true(fabs(flat / DRAWS - 0.5) < 5.0 * sqrt(1.0 / 12 / DRAWS));
}

/* Known numbers: the same on every machine and in every version, since acquisitions are named by their seed. */
static void streams_are_fixed(void **state)
{
    (void)state;
    ronchi_random a, b;
    ronchi_random_init(&a, 1, RONCHI_STREAM_COUNTS, 0);
    ronchi_random_init(&b, 1, RONCHI_STREAM_COUNTS, 0);
    uint64_t first = ronchi_random_next(&a);
    assert_int_equal(first, ronchi_random_next(&b));
    ronchi_random_init(&b, 1, RONCHI_STREAM_COUNTS, 1);
    assert_int_not_equal(first, ronchi_random_next(&b));
    ronchi_random_init(&b, 1, RONCHI_STREAM_FLYBACK, 0);
    assert_int_not_equal(first, ronchi_random_next(&b));
    ronchi_random_init(&b, 2, RONCHI_STREAM_COUNTS, 0);
    assert_int_not_equal(first, ronchi_random_next(&b));

    /* the published reference: xoshiro256++ from the state 1, 2, 3, 4 begins with 41943041, 58720359 */
    a = (ronchi_random){{1, 2, 3, 4}};
    assert_int_equal(ronchi_random_next(&a), 41943041);
    assert_int_equal(ronchi_random_next(&a), 58720359);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poisson_follows_its_law),
        cmocka_unit_test(poisson_at_the_ends),
        cmocka_unit_test(normal_and_uniform),
        cmocka_unit_test(streams_are_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
