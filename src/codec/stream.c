/* SPDX-License-Identifier: MIT */
/* stream.c - tables and the plain decoder of one stream: the reference for every faster one. */
#include "codec/stream.h"

#include <stdbool.h>
#include <string.h>

const char *ronchi_stream_fault_text(ronchi_stream_fault fault)
{
    switch (fault) {
    case RONCHI_STREAM_OK:
        return "no fault";
    case RONCHI_STREAM_BAD_SELECTOR:
        return "unknown selector";
    case RONCHI_STREAM_BAD_LENGTH:
        return "the length does not suit the selector";
    case RONCHI_STREAM_BAD_EVENT:
        return "a sparse position is out of order or beyond the stream";
    case RONCHI_STREAM_BAD_START:
        return "the first entropy state is outside 2^23..2^31";
    case RONCHI_STREAM_TRUNCATED:
        return "the stream ends too early";
    case RONCHI_STREAM_BAD_END:
        return "the last entropy state is not 2^23";
    case RONCHI_STREAM_LEFTOVER:
        return "bytes are left over after the last value";
    }
    return "?";
}

/*
 * Quotients by multiplication: with shift s = ceil(log2 slots) and reciprocal r = ceil(2^(s + 31) / slots),
 * (state * r) >> (s + 31) is exact for states below 2^31.  One slot would need r = 2^31 * 2; there r = 2^32 - 1 gives
 * state - 1, which the bias makes good.
 */
static ronchi_stream_symbol symbol_of(uint32_t slots, uint32_t first)
{
    ronchi_stream_symbol s;
    uint32_t shift = 0;
    s.limit = slots << 21;
    s.complement = (uint16_t)(RONCHI_STREAM_SLOTS - slots);
    if (slots < 2) {
        s.reciprocal = UINT32_MAX;
        s.shift = 0;
        s.bias = first + RONCHI_STREAM_SLOTS - 1;
        return s;
    }
    while (slots > (1u << shift))
        shift++;
    s.reciprocal = (uint32_t)(((UINT64_C(1) << (shift + 31)) + slots - 1) / slots);
    s.shift = (uint16_t)(shift - 1);
    s.bias = first;
    return s;
}

void ronchi_stream_tables_fill(ronchi_stream_tables *tables)
{
    for (size_t m = 0; m < RONCHI_STREAM_MODELS; m++) {
        uint32_t first = 0;
        for (uint32_t s = 0; s < RONCHI_STREAM_SYMBOLS; s++) {
            uint32_t slots = ronchi_stream_slots[m][s];
            tables->first[m][s] = (uint16_t)first;
            tables->encode[m][s] = symbol_of(slots, first);
            tables->packed[m][s] = tables->encode[m][s].bias | (uint32_t)tables->encode[m][s].complement << 11 |
                                   (uint32_t)tables->encode[m][s].shift << 21;
            for (uint32_t slot = first; slot < first + slots; slot++)
                tables->decode[m][slot] = slots << 16 | (slot - first) << 6 | s;
            first += slots;
        }
    }
}

ronchi_stream_fault ronchi_stream_check(uint8_t selector, size_t size_bytes, size_t n)
{
    bool fits;
    if (selector < RONCHI_STREAM_MODELS)
        fits = size_bytes >= 4;
    else if (selector == RONCHI_STREAM_SPARSE)
        fits = size_bytes % 2 == 0 && size_bytes <= 2 * n;
    else if (selector == RONCHI_STREAM_ZERO)
        fits = size_bytes == 0;
    else if (selector == RONCHI_STREAM_LITERAL)
        fits = size_bytes == 2 * n;
    else if (selector == RONCHI_STREAM_CONSTANT)
        fits = size_bytes == 2;
    else
        return RONCHI_STREAM_BAD_SELECTOR;
    return fits ? RONCHI_STREAM_OK : RONCHI_STREAM_BAD_LENGTH;
}

static uint16_t read16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static ronchi_stream_fault decode_sparse(const ronchi_stream *stream, size_t n, size_t stop, uint16_t *out)
{
    memset(out, 0, stop * sizeof *out);
    size_t next = 0; /* lowest position that may come */
    for (size_t i = 0; i < stream->size_bytes; i += 2) {
        uint32_t event = read16(stream->bytes + i);
        size_t position = event >> 7;
        if (position < next || position >= n)
            return RONCHI_STREAM_BAD_EVENT;
        if (position < stop)
            out[position] = (uint16_t)((event & 127) + 1);
        next = position + 1;
    }
    return RONCHI_STREAM_OK;
}

static ronchi_stream_fault decode_rans(const uint32_t *row, const ronchi_stream *stream, size_t n, size_t stop,
                                       uint16_t *out)
{
    const uint8_t *p = stream->bytes, *end = p + stream->size_bytes;
    uint32_t x = (uint32_t)read16(p) | (uint32_t)read16(p + 2) << 16;
    p += 4;
    if (x < RONCHI_STREAM_LOW || x >= RONCHI_STREAM_HIGH)
        return RONCHI_STREAM_BAD_START;
    for (size_t t = 0; t < stop; t++) {
        uint32_t entry = row[x % RONCHI_STREAM_SLOTS];
        x = (entry >> 16) * (x / RONCHI_STREAM_SLOTS) + (entry >> 6 & 1023);
        while (x < RONCHI_STREAM_LOW) {
            if (p == end)
                return RONCHI_STREAM_TRUNCATED;
            x = x << 8 | *p++;
        }
        out[t] = entry & 63;
        if ((entry & 63) == RONCHI_STREAM_ESCAPE) {
            if (end - p < 2)
                return RONCHI_STREAM_TRUNCATED;
            out[t] = read16(p);
            p += 2;
        }
    }
    if (stop < n)
        return RONCHI_STREAM_OK;
    if (x != RONCHI_STREAM_LOW)
        return RONCHI_STREAM_BAD_END;
    return p == end ? RONCHI_STREAM_OK : RONCHI_STREAM_LEFTOVER;
}

ronchi_stream_fault ronchi_stream_decode(const ronchi_stream_tables *tables, const ronchi_stream *stream, size_t n,
                                         size_t stop, uint16_t *out)
{
    ronchi_stream_fault fault = ronchi_stream_check(stream->selector, stream->size_bytes, n);
    if (fault != RONCHI_STREAM_OK)
        return fault;
    if (stream->selector < RONCHI_STREAM_MODELS)
        return decode_rans(tables->decode[stream->selector], stream, n, stop, out);
    if (stream->selector == RONCHI_STREAM_SPARSE)
        return decode_sparse(stream, n, stop, out);
    if (stream->selector == RONCHI_STREAM_ZERO)
        memset(out, 0, stop * sizeof *out);
    else
        for (size_t t = 0; t < stop; t++)
            out[t] = read16(stream->bytes + (stream->selector == RONCHI_STREAM_LITERAL ? 2 * t : 0));
    return RONCHI_STREAM_OK;
}
