/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_push.cuh - how a warp encodes the counts of one pixel, backwards: lanes 0..15 those of the first stream,
 * 16..31 those of the second.  The twin of lane_rans_encode_stream.c.
 */
#ifndef RONCHI_CODEC_LANE_RANS_PUSH_CUH
#define RONCHI_CODEC_LANE_RANS_PUSH_CUH

#include "codec/lane_rans_encode_device.cuh"

/* What a lane keeps of its stream. */
struct lane_push {
    uint32_t x;
    uint16_t *word;       /* the word put out last; the same in a half */
    uint16_t *escape;     /* where the next escape goes; the same in a half */
    uint32_t rows;        /* of the stream; 0: it is not there */
    uint32_t alive;       /* rows in which this lane has a position */
    uint32_t half, below; /* lanes of this stream; those of them before this one */
    const uint4 *entry;   /* [16] of the model: inverse, inverse or 0, frequency, rotate | first << 8 | ... */
    const uint8_t *place; /* [256] */
};

/* The counts of one pixel and lane: words as lane_count_of() says. */
template <class T> struct lane_counts {
    static constexpr uint32_t WORDS = sizeof(T) == 4 ? 32 : 16;
    uint32_t w[WORDS];
    template <uint32_t R> __device__ __forceinline__ uint32_t row() const
    {
        return sizeof(T) == 4 ? w[R % WORDS] : R < 16 ? w[R % WORDS] & 0xffff : w[R % WORDS] >> 16;
    }
    __device__ __forceinline__ uint32_t row(uint32_t r) const /* r is constant where this is unrolled */
    {
        return sizeof(T) == 4 ? w[r % WORDS] : r < 16 ? w[r % WORDS] & 0xffff : w[r % WORDS] >> 16;
    }
};

/* x with a symbol on top: x / f and the slot of the remainder. */
__device__ __forceinline__ uint32_t lane_pushed(const lane_push &s, uint32_t x, const uint4 &e)
{
    const uint32_t high = (uint32_t)(((uint64_t)x * e.x + e.y) >> 32);
    const uint32_t q = __funnelshift_r(high, 0, e.w); /* by the lowest 5 bits */
    return q << 8 | s.place[(e.w >> 8 & 0xff) + (x - q * e.z)];
}

/* Puts a word out in the lanes whose state is too large for what comes. */
__device__ __forceinline__ void lane_make_room(lane_push &s, bool out)
{
    const uint32_t mask = __ballot_sync(~0u, out) & s.half;
    s.word -= __popc(mask);
    if (out)
        s.word[__popc(mask & s.below)] = (uint16_t)s.x;
    s.x = out ? s.x >> 16 : s.x;
}

/* Where a lane's 'n' escape words go: behind those of the lanes above it. */
__device__ __forceinline__ uint16_t *lane_escape_room(lane_push &s, uint32_t lane, uint32_t n)
{
    uint32_t sum = n;
#pragma unroll
    for (uint32_t d = 1; d < 16; d *= 2) {
        const uint32_t other = __shfl_down_sync(~0u, sum, d, 16);
        sum += (lane & 15) + d < 16 ? other : 0;
    }
    uint16_t *at = s.escape + (sum - n);
    s.escape += __shfl_sync(~0u, sum, 0, 16);
    return at;
}

__device__ __forceinline__ uint16_t *lane_put_escape(uint16_t *at, uint32_t value)
{
    if (value >= UINT16_MAX) {
        *at++ = (uint16_t)(value >> 16);
        *at++ = (uint16_t)value;
        value = UINT16_MAX;
    }
    *at++ = (uint16_t)value;
    return at;
}

/* Escapes of a count or wide pixel: 'rows' are those of this lane. */
template <class T>
__device__ __forceinline__ void lane_escape_rows(const lane_encode_plan &plan, lane_push &s, const uint4 *counts,
                                                 uint32_t lane, uint32_t rows)
{
    uint32_t n = __popc(rows);
    for (uint32_t left = rows; left; left &= left - 1)
        n += lane_count_of<T>(plan, counts, lane, __ffs(left) - 1) >= UINT16_MAX ? 2 : 0;
    uint16_t *at = lane_escape_room(s, lane, n);
    while (rows) {
        const uint32_t row = 31 - __clz(rows);
        at = lane_put_escape(at, lane_count_of<T>(plan, counts, lane, row));
        rows ^= 1u << row;
    }
}

/* Escaped groups of a sparse pixel. */
template <class T>
__device__ __forceinline__ void lane_escape_groups(const lane_encode_plan &plan, lane_push &s, const uint4 *counts,
                                                   uint32_t lane, uint32_t groups, uint32_t shift)
{
    const uint32_t n_rows = 1u << shift, n_bits = n_rows > 8 ? n_rows / 8 : 1;
    uint32_t n = 0;
    for (uint32_t left = groups; left; left &= left - 1) {
        const uint32_t first = ((uint32_t)__ffs(left) - 1) << shift;
        n += n_bits;
        for (uint32_t row = first; row < first + n_rows; row++) {
            const uint32_t v = s.alive >> row & 1 ? lane_count_of<T>(plan, counts, lane, row) : 0;
            n += v >= UINT16_MAX ? 3 : v >= 3 ? 1 : 0;
        }
    }
    uint16_t *at = lane_escape_room(s, lane, n);
    while (groups) {
        const uint32_t g = 31 - __clz(groups), first = g << shift;
        uint64_t bits = 0;
        for (uint32_t i = n_rows; i-- > 0;) {
            const uint32_t v = s.alive >> (first + i) & 1 ? lane_count_of<T>(plan, counts, lane, first + i) : 0;
            bits |= (uint64_t)(v < 3 ? v : 3) << 2 * i;
            if (v >= 3)
                at = lane_put_escape(at, v);
        }
        for (uint32_t i = n_bits; i-- > 0;)
            *at++ = (uint16_t)(bits >> 16 * i);
        groups ^= 1u << g;
    }
}

/* The symbol of a count.  Larger ones than the limit are escapes whatever the base, and 32 bits are enough then. */
template <class T> __device__ __forceinline__ uint32_t lane_symbol_of(uint32_t v, int32_t base, uint32_t shift)
{
    const int32_t d = (int32_t)(sizeof(T) == 4 ? min(v, 0x3fffffffu) : v) - base;
    return min((uint32_t)(d >> shift), 15u);
}

/* Count models, and wide ones without raw bits: two rows a step. */
template <class T>
__device__ __forceinline__ uint32_t lane_push_pairs(lane_push &s, const lane_counts<T> &c, int32_t base)
{
    const uint32_t largest = s.entry[0].w >> 20 & 15;
    uint32_t escapes = 0;
#pragma unroll
    for (uint32_t i = 16; i-- > 0;) {
        const uint32_t a_row = 2 * i, b_row = 2 * i + 1;
        const bool live = a_row < s.rows;
        const uint32_t ka = s.alive >> a_row & 1 ? lane_symbol_of<T>(c.row(a_row), base, 0) : largest;
        const uint32_t kb = s.alive >> b_row & 1 ? lane_symbol_of<T>(c.row(b_row), base, 0) : largest;
        const uint4 a = s.entry[ka], b = s.entry[kb];
        escapes |= (a.w & LANE_ENTRY_ESCAPE ? 1u << a_row : 0) | (b.w & LANE_ENTRY_ESCAPE ? 1u << b_row : 0);
        lane_make_room(s, live && s.x >= a.z * b.z << 16);
        const uint32_t x = lane_pushed(s, lane_pushed(s, s.x, b), a);
        s.x = live ? x : s.x;
    }
    return escapes;
}

/* Wide models with raw bits: a row a step. */
template <class T>
__device__ __forceinline__ uint32_t lane_push_shifted(lane_push &s, const lane_counts<T> &c, int32_t base,
                                                      uint32_t shift)
{
    const uint32_t largest = s.entry[0].w >> 20 & 15, low = (1u << shift) - 1;
    uint32_t escapes = 0;
#pragma unroll
    for (uint32_t row = 32; row-- > 0;) {
        const bool live = row < s.rows, alive = s.alive >> row & 1;
        const uint32_t v = c.row(row), k = alive ? lane_symbol_of<T>(v, base, shift) : largest;
        const uint4 e = s.entry[k];
        const bool escape = e.w & LANE_ENTRY_ESCAPE;
        const uint32_t bits = escape ? 0 : shift, raw = escape || !alive ? 0 : (v - (uint32_t)base) & low;
        escapes |= escape ? 1u << row : 0;
        lane_make_room(s, live && s.x >= (e.z << 24) >> bits);
        const uint32_t x = lane_pushed(s, s.x << bits | raw, e);
        s.x = live ? x : s.x;
    }
    return escapes;
}

/* Rows of which the count is at least 'least' (1..4). */
template <class T> __device__ __forceinline__ uint32_t lane_rows_from(const lane_counts<T> &c, uint32_t least)
{
    uint32_t rows = 0;
    if (sizeof(T) == 4) {
#pragma unroll
        for (uint32_t r = 0; r < 32; r++)
            rows |= c.row(r) >= least ? 1u << r : 0;
        return rows;
    }
    /* no sum of a sparse pixel's counts reaches 2^15, so a count carries into the highest bit of its half and no more
     */
    const uint32_t add = (0x8000 - least) * 0x10001u;
#pragma unroll
    for (uint32_t i = 0; i < 16; i++)
        rows |= (c.w[i] + add) >> (15 - i) & 0x10001u << i;
    return rows;
}

/* Sparse models: groups of 2^J rows.  'most' is the pixel's largest count. */
template <class T, int J>
__device__ __forceinline__ uint32_t lane_push_groups(lane_push &s, const lane_counts<T> &c, uint32_t most)
{
    constexpr uint32_t ROWS = 1u << J, ALL = J == 5 ? ~0u : (1u << (ROWS & 31)) - 1;
    const uint32_t one = lane_rows_from(c, 1), two = most >= 2 ? lane_rows_from(c, 2) : 0;
    const uint32_t three = most >= 3 ? lane_rows_from(c, 3) : 0, four = most >= 4 ? lane_rows_from(c, 4) : 0;
    uint32_t escapes = 0;
#pragma unroll
    for (uint32_t g = 32 / ROWS; g-- > 0;) {
        const bool live = g * ROWS < s.rows;
        uint32_t left = one >> g * ROWS & ALL, twice = two >> g * ROWS & ALL;
        uint32_t k = __popc(left) + __popc(twice) + __popc(three >> g * ROWS & ALL);
        k = four >> g * ROWS & ALL ? 15 : min(k, 15u);
        const uint4 e = s.entry[k];
        const bool escape = e.w & LANE_ENTRY_ESCAPE;
        const uint32_t electrons = escape ? 0 : k, bits = electrons * J;
        uint32_t raw = 0, row = 0;
#pragma unroll
        for (uint32_t i = 0; i < 3; i++) { /* the lowest row with an electron left, taken off its count */
            const uint32_t lowest = left & (0u - left), again = twice & lowest;
            row = lowest ? 31 - __clz(lowest) : row;
            twice ^= again;
            left ^= again ? 0 : lowest;
            raw |= i < electrons ? row << i * J : 0;
        }
        escapes |= escape && live ? 1u << g : 0;
        lane_make_room(s, live && s.x >= (e.z << 24) >> bits);
        const uint32_t x = lane_pushed(s, s.x << bits | raw, e);
        s.x = live ? x : s.x;
    }
    return escapes;
}

#endif
