/* SPDX-License-Identifier: MIT */
/*
 * streams_decode.c - many streams in plain C, WAYS rANS streams step by step beside each other.
 *
 * One stream is a chain in which each value waits for the one before; WAYS chains fill the time.  Bytes are copied to a
 * buffer that is long enough for anything a stream can ask for, so that the loop needs no look at the end: a stream
 * that went beyond its bytes shows it afterwards.
 */
#include <stdbool.h>
#include <string.h>

#include "codec/stream.h"
#include "codec/stream_kernels.h"

enum {
    WAYS = 4,
    MOST_BYTES = 4 * RONCHI_STREAM_SPAN + 4, /* of a stream that can be right: 2 renewed and 2 escaped per value */
    ROOM = MOST_BYTES + 4
};

typedef struct chain {
    uint32_t x;
    const uint8_t *next;
    const uint32_t *row;
    uint16_t *out;
} chain;

/* One value of one stream. */
static inline void step(chain *c, size_t t)
{
    uint32_t entry = c->row[c->x % RONCHI_STREAM_SLOTS], value = entry & 63;
    uint32_t x = (entry >> 16) * (c->x / RONCHI_STREAM_SLOTS) + (entry >> 6 & 1023);
    uint32_t renewed = x << 8 | *c->next; /* no jump: whether a byte is due is a coin toss */
    bool due = x < RONCHI_STREAM_LOW;
    c->x = due ? renewed : x;
    c->next += due;
    if (c->x < RONCHI_STREAM_LOW) /* only after values of fewer than 4 slots */
        c->x = c->x << 8 | *c->next++;
    if (value == RONCHI_STREAM_ESCAPE) {
        value = (uint32_t)(c->next[0] | c->next[1] << 8);
        c->next += 2;
    }
    c->out[t] = (uint16_t)value;
}

/*
 * Decodes WAYS streams (numbers 'which', the last ones repeated when there are fewer).  Returns the lowest number of a
 * faulty one, or 'none'.
 */
static size_t decode_some(const ronchi_stream_tables *tables, const ronchi_stream *streams, const size_t which[WAYS],
                          size_t n, size_t stop, uint16_t *out, size_t none)
{
    uint8_t buffer[WAYS][ROOM];
    chain c[WAYS];
    bool bad[WAYS];
    for (size_t k = 0; k < WAYS; k++) {
        const ronchi_stream *s = &streams[which[k]];
        memcpy(buffer[k], s->bytes, s->size_bytes);
        memset(buffer[k] + s->size_bytes, 0, ROOM - s->size_bytes);
        c[k].x = (uint32_t)buffer[k][0] | (uint32_t)buffer[k][1] << 8 | (uint32_t)buffer[k][2] << 16 |
                 (uint32_t)buffer[k][3] << 24;
        c[k].next = buffer[k] + 4;
        c[k].row = tables->decode[s->selector];
        c[k].out = out + which[k] * RONCHI_STREAM_PITCH;
        bad[k] = c[k].x < RONCHI_STREAM_LOW || c[k].x >= RONCHI_STREAM_HIGH;
    }
    chain c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3]; /* in registers */
    for (size_t t = 0; t < stop; t++) {
        step(&c0, t);
        step(&c1, t);
        step(&c2, t);
        step(&c3, t);
    }
    c[0] = c0;
    c[1] = c1;
    c[2] = c2;
    c[3] = c3;
    for (size_t k = 0; k < WAYS; k++) {
        size_t used = (size_t)(c[k].next - buffer[k]), size = streams[which[k]].size_bytes;
        bad[k] = bad[k] || used > size || (stop == n && (used != size || c[k].x != RONCHI_STREAM_LOW));
        if (bad[k] && which[k] < none)
            none = which[k];
    }
    return none;
}

size_t ronchi_streams_decode_c(const ronchi_stream_tables *tables, const ronchi_stream *streams, size_t n_streams,
                               size_t n, size_t stop, uint16_t *out)
{
    size_t bad = n_streams, which[WAYS], n_which = 0;
    for (size_t i = 0; i < n_streams; i++) {
        const ronchi_stream *s = &streams[i];
        if (s->selector < RONCHI_STREAM_MODELS && s->size_bytes >= 4 && s->size_bytes <= MOST_BYTES)
            which[n_which++] = i;
        else if (ronchi_stream_decode(tables, s, n, stop, out + i * RONCHI_STREAM_PITCH) != RONCHI_STREAM_OK && i < bad)
            bad = i;
        if (n_which == WAYS) {
            bad = decode_some(tables, streams, which, n, stop, out, bad);
            n_which = 0;
        }
    }
    for (size_t k = n_which; n_which && k < WAYS; k++)
        which[k] = which[0];
    return n_which ? decode_some(tables, streams, which, n, stop, out, bad) : bad;
}
