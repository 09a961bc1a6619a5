/* SPDX-License-Identifier: MIT */
/*
 * stream.h - one stream: up to 512 values of 16 bits that follow each other in time, in one of five forms.
 *
 * A count of one detector pixel (column-rans-v2) or one 16-bit half of a wider value (bit lanes).  The form is named by
 * the stream's selector; docs/column-rans-v2.md describes all of them to the byte.
 */
#ifndef RONCHI_CODEC_STREAM_H
#define RONCHI_CODEC_STREAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    RONCHI_STREAM_SPAN = 512,   /* most values of a stream */
    RONCHI_STREAM_PITCH = 544,  /* values from one decoded stream to the next: an odd number of cache lines, so that
                                   streams  beside each other do not fight for the same lines of a cache */
    RONCHI_STREAM_MODELS = 64,  /* rows of the table: Poisson laws of rising mean */
    RONCHI_STREAM_SYMBOLS = 33, /* values 0..31 and the escape */
    RONCHI_STREAM_ESCAPE = 32,
    RONCHI_STREAM_SLOTS = 1024
};

/* Selectors: below 64 the row of the table by which the stream is rANS coded. */
enum {
    RONCHI_STREAM_SPARSE = 252,  /* 2 bytes per nonzero value: position << 7 | value - 1 */
    RONCHI_STREAM_ZERO = 253,    /* no bytes */
    RONCHI_STREAM_LITERAL = 254, /* 2 bytes per value */
    RONCHI_STREAM_CONSTANT = 255 /* 2 bytes, the value of all */
};

/* Bounds of the rANS state: at least LOW after each value, below HIGH, and LOW at the end of a stream. */
#define RONCHI_STREAM_LOW  (UINT32_C(1) << 23)
#define RONCHI_STREAM_HIGH (UINT32_C(1) << 31)

/* Slots of each symbol in each model; rows add up to 1024. */
extern const uint16_t ronchi_stream_slots[RONCHI_STREAM_MODELS][RONCHI_STREAM_SYMBOLS];

/* What coding one symbol needs, with the division by its slots as a multiplication. */
typedef struct ronchi_stream_symbol {
    uint32_t limit;      /* states from here on give bytes away first: slots << 21 */
    uint32_t reciprocal; /* quotient = (state * reciprocal >> 32) >> shift */
    uint32_t bias;
    uint16_t complement; /* 1024 - slots */
    uint16_t shift;
} ronchi_stream_symbol;

/* Derived from the slots, once per store. */
typedef struct ronchi_stream_tables {
    uint32_t decode[RONCHI_STREAM_MODELS][RONCHI_STREAM_SLOTS]; /* slots << 16 |
                                                                    slot within the symbol << 6 | symbol */
    ronchi_stream_symbol encode[RONCHI_STREAM_MODELS][RONCHI_STREAM_SYMBOLS];
    uint32_t packed[RONCHI_STREAM_MODELS][RONCHI_STREAM_SYMBOLS]; /* bias | complement << 11 | shift << 21 */
    uint16_t first[RONCHI_STREAM_MODELS][RONCHI_STREAM_SYMBOLS];  /* first slot of each symbol */
} ronchi_stream_tables;

/* One encoded stream; the bytes are borrowed. */
typedef struct ronchi_stream {
    const uint8_t *bytes;
    uint32_t size_bytes;
    uint8_t selector;
} ronchi_stream;

/* What can be wrong with a stream. */
typedef enum ronchi_stream_fault {
    RONCHI_STREAM_OK = 0,
    RONCHI_STREAM_BAD_SELECTOR,
    RONCHI_STREAM_BAD_LENGTH,
    RONCHI_STREAM_BAD_EVENT,
    RONCHI_STREAM_BAD_START,
    RONCHI_STREAM_TRUNCATED,
    RONCHI_STREAM_BAD_END,
    RONCHI_STREAM_LEFTOVER
} ronchi_stream_fault;

/* ronchi_stream_fault_text() says it in words.  Static storage. */
const char *ronchi_stream_fault_text(ronchi_stream_fault fault);

/* ronchi_stream_tables_fill() derives the tables. */
void ronchi_stream_tables_fill(ronchi_stream_tables *tables);

/*
 * ronchi_stream_check() checks what can be known without decoding: the selector, and the length for n values.
 */
ronchi_stream_fault ronchi_stream_check(uint8_t selector, size_t size_bytes, size_t n);

/*
 * ronchi_stream_decode() decodes the first 'stop' of the n values (stop <= n <= 512) of a stream to out[0..stop-1].
 * What lies behind them is checked only when stop == n.  Never reads beyond the stream.
 */
ronchi_stream_fault ronchi_stream_decode(const ronchi_stream_tables *tables, const ronchi_stream *stream, size_t n,
                                         size_t stop, uint16_t *out);

/* What the choice of a form looks at. */
typedef struct ronchi_stream_stats {
    uint32_t min, max;
    uint32_t nonzero; /* values above 0 */
    uint32_t clipped; /* sum of min(value, 32) */
} ronchi_stream_stats;

/*
 * ronchi_stream_encode() encodes n values (1..512) in the form that suits their statistics.
 *   dst  room for 2 n bytes
 * Returns the number of bytes written, at most 2 n, and the form in *selector.  The same in two halves, for encoders
 * that code many streams at once: ronchi_stream_plan() names the model to try, or RONCHI_STREAM_MODELS when the form is
 * settled without; ronchi_stream_settle() writes the stream, given what rANS with that model gave (coded_size 2 n or
 * more: too long).
 */
size_t ronchi_stream_encode(const ronchi_stream_tables *tables, const uint16_t *values, size_t n,
                            const ronchi_stream_stats *stats, uint8_t *dst, uint8_t *selector);
size_t ronchi_stream_plan(const ronchi_stream_stats *stats, size_t n);
size_t ronchi_stream_settle(const uint16_t *values, size_t n, const ronchi_stream_stats *stats, size_t model,
                            const uint8_t *coded, size_t coded_size, uint8_t *dst, uint8_t *selector);

#endif
