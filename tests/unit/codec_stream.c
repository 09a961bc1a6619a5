/* SPDX-License-Identifier: MIT */
/* The table against its generator and its published digest, coding without division, every form and every fault of a
 * stream. */
#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "codec/stream.h"
#include "codec_cases.h"
#include "core/kernels.h"

/* The generator, in double arithmetic: one slot for each symbol, 991 by largest remainder. */
static void generate(size_t model, uint32_t slots[RONCHI_STREAM_SYMBOLS])
{
    double mean = 0.002 * pow(16000.0, (double)model / 63.0), p[RONCHI_STREAM_SYMBOLS], rest = 1.0;
    double fraction[RONCHI_STREAM_SYMBOLS];
    uint32_t left = RONCHI_STREAM_SLOTS;
    p[0] = exp(-mean);
    for (int k = 1; k < 32; k++)
        p[k] = p[k - 1] * mean / k;
    for (int k = 31; k >= 0; k--) /* smallest first, for the precision of the remainder */
        rest -= p[k];
    p[32] = rest > 0 ? rest : 0;
    for (int k = 0; k < 33; k++) {
        fraction[k] = 991.0 * p[k] - floor(991.0 * p[k]);
        slots[k] = 1 + (uint32_t)floor(991.0 * p[k]);
        left -= slots[k];
    }
    for (; left > 0; left--) {
        int best = 0;
        for (int k = 1; k < 33; k++)
            best = fraction[k] > fraction[best] ? k : best;
        slots[best]++;
        fraction[best] = -1;
    }
}

static void table_is_the_published_one(void **unused)
{
    (void)unused;
    static char text[16384];
    static const char published[] = "88fd99d5b718c288ee30ab4b4e910d0c03f21e37cf9947357ae4f534ea2b8692";
    uint8_t digest[32];
    char digits[65];
    size_t n = 0;
    for (size_t m = 0; m < RONCHI_STREAM_MODELS; m++) {
        uint32_t slots[RONCHI_STREAM_SYMBOLS], sum = 0;
        generate(m, slots);
        for (size_t k = 0; k < RONCHI_STREAM_SYMBOLS; k++) {
            assert_int_equal(ronchi_stream_slots[m][k], slots[k]);
            sum += slots[k];
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", k ? "," : m ? ",[" : "[[", (unsigned)slots[k]);
        }
        assert_int_equal(sum, RONCHI_STREAM_SLOTS);
        n += (size_t)snprintf(text + n, sizeof text - n, "]");
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "]");
    assert_int_equal(EVP_Digest(text, n, digest, NULL, EVP_sha256(), NULL), 1);
    for (size_t i = 0; i < 32; i++)
        snprintf(digits + 2 * i, 3, "%02x", (unsigned)digest[i]);
    assert_string_equal(digits, published);
}

static void quotients_are_exact(void **unused)
{
    (void)unused;
    ronchi_stream_tables *tables = malloc(sizeof *tables);
    ronchi_stream_tables_fill(tables);
    uint64_t state = 3;
    for (size_t m = 0; m < RONCHI_STREAM_MODELS; m++)
        for (size_t k = 0; k < RONCHI_STREAM_SYMBOLS; k++)
            for (int i = 0; i < 300; i++) {
                const ronchi_stream_symbol *s = &tables->encode[m][k];
                uint32_t slots = ronchi_stream_slots[m][k], top = slots << 21;
                /* states that coding meets: the ends of the range, multiples of the slots and their neighbours, any */
                uint32_t x = i == 0   ? top - 1
                             : i == 1 ? (uint32_t)1 << 13
                             : i % 2  ? (uint32_t)(test_random(&state) % top) / slots * slots - (i % 4 == 1)
                                      : (uint32_t)(test_random(&state) % top);
                x %= top;
                uint32_t q = (uint32_t)((uint64_t)x * s->reciprocal >> 32) >> s->shift;
                assert_int_equal(x + s->bias + q * s->complement, (x / slots << 10) + x % slots + tables->first[m][k]);
            }
    free(tables);
}

/* ---------------------------------------------------------------------------------------------- forms and faults */

static ronchi_stream_fault decode(const uint8_t *bytes, uint32_t size, uint8_t selector, size_t n, uint16_t *out)
{
    ronchi_stream_tables *tables = malloc(sizeof *tables);
    uint8_t *copy = malloc(size ? size : 1); /* exactly as long, for the sanitizer */
    ronchi_stream_tables_fill(tables);
    if (size)
        memcpy(copy, bytes, size);
    ronchi_stream stream = {copy, size, selector};
    ronchi_stream_fault fault = ronchi_stream_decode(tables, &stream, n, n, out);
    free(copy);
    free(tables);
    return fault;
}

static void simple_forms(void **unused)
{
    (void)unused;
    uint16_t out[4];
    static const uint8_t literal[] = {1, 0, 0xFF, 0xFF, 0, 2, 9, 0}, constant[] = {0x34, 0x12};
    static const uint8_t sparse[] = {0x80, 0, 0xFF, 1}; /* position 1 value 1, position 3 value 128 */
    assert_int_equal(decode(NULL, 0, RONCHI_STREAM_ZERO, 4, out), RONCHI_STREAM_OK);
    assert_memory_equal(out, ((uint16_t[]){0, 0, 0, 0}), sizeof out);
    assert_int_equal(decode(constant, 2, RONCHI_STREAM_CONSTANT, 4, out), RONCHI_STREAM_OK);
    assert_memory_equal(out, ((uint16_t[]){0x1234, 0x1234, 0x1234, 0x1234}), sizeof out);
    assert_int_equal(decode(literal, 8, RONCHI_STREAM_LITERAL, 4, out), RONCHI_STREAM_OK);
    assert_memory_equal(out, ((uint16_t[]){1, 65535, 512, 9}), sizeof out);
    assert_int_equal(decode(sparse, 4, RONCHI_STREAM_SPARSE, 4, out), RONCHI_STREAM_OK);
    assert_memory_equal(out, ((uint16_t[]){0, 1, 0, 128}), sizeof out);
}

static void faults(void **unused)
{
    (void)unused;
    uint16_t out[RONCHI_STREAM_SPAN];
    static const uint8_t order[] = {0x80, 1, 0x80, 0}, twice[] = {0x80, 0, 0x80, 0}, beyond[] = {0, 2};
    static const uint8_t low[] = {0xFF, 0xFF, 0x7F, 0}, high[] = {0, 0, 0, 0x80}, some[8] = {0};
    for (int selector = RONCHI_STREAM_MODELS; selector < RONCHI_STREAM_SPARSE; selector++)
        assert_int_equal(decode(some, 8, (uint8_t)selector, 4, out), RONCHI_STREAM_BAD_SELECTOR);
    assert_int_equal(decode(some, 1, RONCHI_STREAM_ZERO, 4, out), RONCHI_STREAM_BAD_LENGTH);
    assert_int_equal(decode(some, 3, RONCHI_STREAM_CONSTANT, 4, out), RONCHI_STREAM_BAD_LENGTH);
    assert_int_equal(decode(some, 7, RONCHI_STREAM_LITERAL, 4, out), RONCHI_STREAM_BAD_LENGTH);
    assert_int_equal(decode(some, 3, RONCHI_STREAM_SPARSE, 4, out), RONCHI_STREAM_BAD_LENGTH);
    assert_int_equal(decode(some, 3, 0, 4, out), RONCHI_STREAM_BAD_LENGTH);
    assert_int_equal(decode(order, 4, RONCHI_STREAM_SPARSE, 4, out), RONCHI_STREAM_BAD_EVENT);
    assert_int_equal(decode(twice, 4, RONCHI_STREAM_SPARSE, 4, out), RONCHI_STREAM_BAD_EVENT);
    assert_int_equal(decode(beyond, 2, RONCHI_STREAM_SPARSE, 4, out), RONCHI_STREAM_BAD_EVENT);
    assert_int_equal(decode(low, 4, 0, 4, out), RONCHI_STREAM_BAD_START);
    assert_int_equal(decode(high, 4, 0, 4, out), RONCHI_STREAM_BAD_START);
}

/* A good rANS stream with escapes, then each way of spoiling its end. */
static void rans_ends(void **unused)
{
    (void)unused;
    ronchi_context *context = test_context(1, 0);
    ronchi_stream_tables *tables = malloc(sizeof *tables);
    uint16_t values[100], out[100];
    uint8_t bytes[201], selector;
    ronchi_stream_stats stats;
    ronchi_stream_tables_fill(tables);
    for (size_t t = 0; t < 100; t++)
        values[t] = (uint16_t)(t % 10 == 9 ? 1000 + t : t % 3);
    ronchi_context_kernels(context)->stream_stats(values, 100, &stats);
    uint32_t size = (uint32_t)ronchi_stream_encode(tables, values, 100, &stats, bytes, &selector);
    assert_true(selector < RONCHI_STREAM_MODELS);
    assert_int_equal(decode(bytes, size, selector, 100, out), RONCHI_STREAM_OK);
    assert_memory_equal(out, values, sizeof out);
    bytes[size] = 0;
    assert_int_equal(decode(bytes, size + 1, selector, 100, out), RONCHI_STREAM_LEFTOVER);
    for (uint32_t cut = 4; cut < size; cut++) {
        ronchi_stream_fault fault = decode(bytes, cut, selector, 100, out);
        assert_true(fault == RONCHI_STREAM_TRUNCATED || fault == RONCHI_STREAM_BAD_END);
    }
    assert_int_equal(decode(bytes, size, selector, 99, out), RONCHI_STREAM_BAD_END);
    for (int fault = RONCHI_STREAM_OK; fault <= RONCHI_STREAM_LEFTOVER; fault++)
        assert_string_not_equal(ronchi_stream_fault_text((ronchi_stream_fault)fault), "?");
    free(tables);
    ronchi_context_destroy(context);
}

/* The form that statistics lead to. */
static void choice_of_form(void **unused)
{
    (void)unused;
    static const struct {
        unsigned kind;
        uint8_t least, most;
    } cases[] = {{0, RONCHI_STREAM_ZERO, RONCHI_STREAM_ZERO},
                 {1, RONCHI_STREAM_CONSTANT, RONCHI_STREAM_CONSTANT},
                 {2, RONCHI_STREAM_SPARSE, RONCHI_STREAM_SPARSE},
                 {3, 40, 55},
                 {4, 58, 63},
                 {5, RONCHI_STREAM_LITERAL, RONCHI_STREAM_LITERAL}};
    ronchi_context *context = test_context(1, 0);
    ronchi_stream_tables *tables = malloc(sizeof *tables);
    ronchi_stream_tables_fill(tables);
    uint64_t state = 4;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint16_t values[RONCHI_STREAM_SPAN];
        uint8_t bytes[2 * RONCHI_STREAM_SPAN], selector;
        ronchi_stream_stats stats;
        for (size_t t = 0; t < RONCHI_STREAM_SPAN; t++)
            values[t] =
                cases[i].kind == 2 ? t == 3 || t == 400 : (uint16_t)test_count(&state, cases[i].kind, UINT16_MAX);
        ronchi_context_kernels(context)->stream_stats(values, RONCHI_STREAM_SPAN, &stats);
        ronchi_stream_encode(tables, values, RONCHI_STREAM_SPAN, &stats, bytes, &selector);
        assert_in_range(selector, cases[i].least, cases[i].most);
    }
    free(tables);
    ronchi_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_the_published_one),
        cmocka_unit_test(quotients_are_exact),
        cmocka_unit_test(simple_forms),
        cmocka_unit_test(faults),
        cmocka_unit_test(rans_ends),
        cmocka_unit_test(choice_of_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
