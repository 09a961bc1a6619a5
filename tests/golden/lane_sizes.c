/* SPDX-License-Identifier: MIT */
/*
 * lane_sizes.c - what lane-rans-v1 makes of simulated counts of four doses, beside their entropy:
 * tests/golden/lane_sizes.csv.
 *
 *   lane_sizes            compares with the table and shows what differs, line by line
 *   lane_sizes --write    writes the table anew, when a change of size is meant
 *
 * The counts are the same on every machine: integers and exactly rounded sums and products only.
 */
#include <math.h>
#include <stdio.h>

#include "codec/profile.h"
#include "codec_cases.h"

enum { SCAN = 32, DET = 48, N = SCAN * SCAN, P = DET * DET, LINE = 256, LINES = 16 };

/* Mean counts of a pixel of the disk, of the background at its centre, and how much the specimen changes them. */
static const struct set {
    char name;
    double dose, background, contrast, most; /* most: times the entropy that a body may have */
} sets[] = {
    {'A', 4, 0.04, 0.3, 1.05}, {'V', 0.25, 0.012, 0.3, 1.09}, {'G', 60, 0.04, 0.6, 1.05}, {'H', 400, 0.04, 0.3, 1.06}};

static const uint64_t seeds[] = {101, 202};

/* exp(-x) by the series of a small argument and squaring. */
static double decay(double x)
{
    double small = x / 4096, value = 1 - small * (1 - small / 2 * (1 - small / 3 * (1 - small / 4)));
    for (int i = 0; i < 12; i++)
        value *= value;
    return value;
}

static uint16_t poisson(uint64_t *state, double mean)
{
    double u = (double)(test_random(state) >> 11) / 9007199254740992.0, p = decay(mean), sum = p;
    uint16_t k = 0;
    while (u > sum && k < 4000) {
        k++;
        p = p * mean / k;
        sum += p;
    }
    return k;
}

/* A disk with a soft edge, stripes across it that move with the scan, and an incoherent background. */
static void fill(const struct set *set, uint64_t seed, uint16_t *counts)
{
    uint64_t state = seed;
    for (size_t i = 0; i < N; i++)
        for (size_t p = 0; p < P; p++) {
            double y = (double)(p / DET) - 23.5, x = (double)(p % DET) - 23.5, d2 = (y * y + x * x) / 196;
            double edge = d2 < 0.93 ? 1 : d2 > 1.07 ? 0 : (1.07 - d2) / 0.14;
            unsigned phase = (unsigned)(3 * (i % SCAN) + 5 * (i / SCAN) + 2 * (p % DET) + p / DET) % 32;
            double wave = (phase < 16 ? phase : 32 - phase) / 8.0 - 1;
            counts[i * P + p] =
                poisson(&state, set->dose * edge * (1 + set->contrast * wave) + set->background / (1 + d2 / 4));
        }
}

/* Order-0 entropy of each pixel over the scan with the correction of Miller and Madow, bits a count. */
static double entropy(const uint16_t *counts)
{
    static uint32_t times[UINT16_MAX + 1];
    double bits = 0;
    for (size_t p = 0; p < P; p++) {
        size_t kinds = 0;
        for (size_t i = 0; i < N; i++)
            kinds += times[counts[i * P + p]]++ == 0;
        for (size_t i = 0; i < N; i++) {
            uint32_t *t = &times[counts[i * P + p]];
            bits += *t ? *t * log2((double)N / *t) : 0;
            *t = 0;
        }
        bits += (double)(kinds - 1) / (2 * 0.6931471805599453);
    }
    return bits / ((double)N * P);
}

static void measure(ronchi_context *context, const struct set *set, uint64_t seed, char *line)
{
    static uint8_t valid[P];
    const ronchi_shape shape = {SCAN, SCAN, DET, DET};
    test_case c = {shape, RONCHI_U16, N, P, N * P * 2, valid, malloc(N * P * 2)};
    ronchi_error err = {0};
    ronchi_store *packed = NULL;
    memset(valid, 1, sizeof valid);
    fill(set, seed, c.counts);
    ronchi_store *store = test_encode(context, &ronchi_profile_lane, &c, UINT64_C(1) << 28);
    assert_int_equal(store->profile->pack_index(store, &packed, &err), RONCHI_OK);
    unsigned long long body = store->profile->bytes(store).body_bytes, index = store->profile->bytes(packed).body_bytes;
    double h = entropy(c.counts), count_bits = 8.0 / (N * P), ratio = (double)body * count_bits / h;
    snprintf(line, LINE, "%c,%llu,%g,%d,%llu,%.4f,%.4f,%.3f,%llu,%.4f\n", set->name, (unsigned long long)seed,
             set->dose, N * P, body, (double)body * count_bits, h, ratio, index, (double)index * count_bits);
    if (ratio > set->most)
        print_error("set %c seed %llu: %.3f of the entropy, more than %.2f\n", set->name, (unsigned long long)seed,
                    ratio, set->most);
    assert_true(ratio <= set->most);
    packed->profile->destroy(packed);
    store->profile->destroy(store);
    free(c.counts);
}

static size_t make_table(char table[LINES][LINE])
{
    size_t n = 0;
    ronchi_context *context = test_context(2, 0);
    snprintf(table[n++], LINE,
             "set,seed,dose,counts,body_bytes,bits_per_count,entropy,ratio,index_bytes,index_bits_per_count\n");
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++)
        for (size_t k = 0; k < sizeof seeds / sizeof seeds[0]; k++)
            measure(context, &sets[s], seeds[k], table[n++]);
    ronchi_context_destroy(context);
    return n;
}

static void sizes(void **unused)
{
    (void)unused;
    static char table[LINES][LINE], kept[LINES][LINE];
    size_t n = make_table(table), n_kept = 0, different = 0;
    FILE *file = fopen(GOLDEN_FOLDER "/lane_sizes.csv", "r");
    assert_non_null(file);
    while (n_kept < LINES && fgets(kept[n_kept], LINE, file))
        n_kept++;
    fclose(file);
    for (size_t i = 0; i < (n > n_kept ? n : n_kept); i++)
        if (i >= n || i >= n_kept || strcmp(table[i], kept[i]) != 0) {
            if (!different++)
                print_error(" %s", kept[0]);
            if (i < n_kept)
                print_error("-%s", kept[i]);
            if (i < n)
                print_error("+%s", table[i]);
        }
    if (different)
        print_error("sizes changed: if that is meant, run lane_sizes --write and keep the table\n");
    assert_int_equal(different, 0);
}

static void write_table(void **unused)
{
    (void)unused;
    static char table[LINES][LINE];
    size_t n = make_table(table);
    FILE *file = fopen(GOLDEN_FOLDER "/lane_sizes.csv", "w");
    assert_non_null(file);
    for (size_t i = 0; i < n; i++)
        fputs(table[i], file);
    assert_int_equal(fclose(file), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest compare[] = {cmocka_unit_test(sizes)}, write[] = {cmocka_unit_test(write_table)};
    if (argc > 1 && strcmp(argv[1], "--write") == 0)
        return cmocka_run_group_tests(write, NULL, NULL);
    return cmocka_run_group_tests(compare, NULL, NULL);
}
