/* SPDX-License-Identifier: MIT */
/* stream_encode.c - chooses the form of one stream and writes it. */
#include <math.h>
#include <string.h>

#include "codec/stream.h"

/* The model whose mean is nearest on a logarithmic scale: means rise from 0.002 to 32 in 63 equal ratios. */
static size_t model_of(uint32_t clipped, size_t n)
{
    const double least = 0.002, steps = 63.0, ratio = 16000.0;
    double mean = (double)clipped / (double)n;
    double row = rint((log(mean > least ? mean : least) - log(least)) * steps / log(ratio));
    return row <= 0.0 ? 0 : row >= steps ? RONCHI_STREAM_MODELS - 1 : (size_t)row;
}

static size_t write_sparse(const uint16_t *values, size_t n, uint8_t *dst)
{
    size_t size = 0;
    for (size_t t = 0; t < n; t++) {
        if (!values[t])
            continue;
        size_t event = t << 7 | (size_t)(values[t] - 1);
        dst[size++] = (uint8_t)event;
        dst[size++] = (uint8_t)(event >> 8);
    }
    return size;
}

static size_t write_literal(const uint16_t *values, size_t n, uint8_t *dst)
{
    for (size_t t = 0; t < n; t++) {
        dst[2 * t] = (uint8_t)values[t];
        dst[2 * t + 1] = (uint8_t)(values[t] >> 8);
    }
    return 2 * n;
}

/*
 * Codes backwards, from the end of a buffer down, so that the bytes come to lie in reading order; *coded is their
 * beginning. Returns the size, or 'limit' as soon as it would reach that.
 */
static size_t code_rans(const ronchi_stream_symbol *row, const uint16_t *values, size_t n, size_t limit, uint8_t *end,
                        const uint8_t **coded)
{
    uint8_t *p = end;
    uint32_t x = RONCHI_STREAM_LOW;
    for (size_t t = n; t-- > 0;) {
        uint32_t value = values[t];
        if (value >= RONCHI_STREAM_ESCAPE) {
            *--p = (uint8_t)(value >> 8);
            *--p = (uint8_t)value;
            value = RONCHI_STREAM_ESCAPE;
        }
        const ronchi_stream_symbol *symbol = &row[value];
        while (x >= symbol->limit) {
            *--p = (uint8_t)x;
            x >>= 8;
        }
        uint32_t quotient = (uint32_t)((uint64_t)x * symbol->reciprocal >> 32) >> symbol->shift;
        x += symbol->bias + quotient * symbol->complement;
        if ((size_t)(end - p) + 4 >= limit)
            return limit;
    }
    for (int shift = 24; shift >= 0; shift -= 8)
        *--p = (uint8_t)(x >> shift);
    *coded = p;
    return (size_t)(end - p);
}

/* The largest value that a sparse event can hold. */
enum { MOST_SPARSE = 128 };

size_t ronchi_stream_plan(const ronchi_stream_stats *stats, size_t n)
{
    if (stats->min == stats->max || (stats->max <= MOST_SPARSE && stats->nonzero <= 2))
        return RONCHI_STREAM_MODELS;
    return model_of(stats->clipped, n);
}

size_t ronchi_stream_settle(const uint16_t *values, size_t n, const ronchi_stream_stats *stats, size_t model,
                            const uint8_t *coded, size_t coded_size, uint8_t *dst, uint8_t *selector)
{
    if (stats->min == stats->max) {
        *selector = stats->max ? RONCHI_STREAM_CONSTANT : RONCHI_STREAM_ZERO;
        return stats->max ? write_literal(values, 1, dst) : 0;
    }
    size_t size = model < RONCHI_STREAM_MODELS && coded_size < 2 * n ? coded_size : 2 * n;
    if (stats->max <= MOST_SPARSE && (stats->nonzero <= 2 || 2 * (size_t)stats->nonzero < size)) {
        *selector = RONCHI_STREAM_SPARSE;
        return write_sparse(values, n, dst);
    }
    if (size == 2 * n) {
        *selector = RONCHI_STREAM_LITERAL;
        return write_literal(values, n, dst);
    }
    *selector = (uint8_t)model;
    memcpy(dst, coded, size);
    return size;
}

size_t ronchi_stream_encode(const ronchi_stream_tables *tables, const uint16_t *values, size_t n,
                            const ronchi_stream_stats *stats, uint8_t *dst, uint8_t *selector)
{
    uint8_t buffer[2 * RONCHI_STREAM_SPAN + 16];
    const uint8_t *coded = buffer;
    size_t model = ronchi_stream_plan(stats, n), size = 0;
    if (model < RONCHI_STREAM_MODELS)
        size = code_rans(tables->encode[model], values, n, 2 * n, buffer + sizeof buffer, &coded);
    return ronchi_stream_settle(values, n, stats, model, coded, size, dst, selector);
}
