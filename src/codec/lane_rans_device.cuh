/* SPDX-License-Identifier: MIT */
/*
 * lane_rans_device.cuh - lane-rans-v1 on the device: what a kernel sees of a store, and how a warp decodes a brick.
 *
 * One warp a brick: lanes 0..15 hold the 16 rANS lanes of stream 0, lanes 16..31 those of stream 1.  'h' is the half,
 * 'l' the lane in it; a lane's rows are the positions 512 h + 16 row + l.  Both halves follow the same pixels and
 * models; each has its own words, and its own number of rows in a brick that is cut off.
 */
#ifndef RONCHI_CODEC_LANE_RANS_DEVICE_CUH
#define RONCHI_CODEC_LANE_RANS_DEVICE_CUH

#include "cuda/check.cuh"

extern "C" {
#include "codec/lane_rans_cuda.h"
}

#define LANE_ALL 0xffffffffu
enum : uint32_t { LANE_FLAG = 0x0100 }; /* in a table entry's value half: an escape, counted as 256 until it is read */
enum { LANE_DEVICE_SLACK = 1024 };      /* words behind a chunk that may be read (and prefetched), not used */

/* One chunk as kernels see it. */
struct lane_chunk_on {
    const uint16_t *words;
    const uint32_t *offset; /* [n_tiles + 1] */
};

/* Everything that all kernels need, passed by value. */
struct lane_view {
    const lane_chunk_on *chunks;
    const uint32_t *table;   /* [n_models][256]: value << 16 | f << 8 | rank; value 256 for an escape */
    const uint8_t *slot;     /* [148] id -> which of them */
    const uint8_t *shift;    /* [148] by id: log2 of a sparse group's rows */
    unsigned long long *bad; /* lowest bad brick << 8 | why */
    uint32_t n_tiles, tiles_across, tile_rows, tile_cols, det_rows, det_cols;
    uint32_t n_rects, rects_across, rect_rows, rect_cols, scan_rows, scan_cols;
    uint32_t value_bytes, largest, n_models;
};

enum lane_why : uint32_t { LANE_BAD_WORDS = 1, LANE_BAD_ESCAPES, LANE_BAD_RANGE, LANE_BAD_END, LANE_BAD_HEAD };

struct lane_cut {
    uint32_t row, col, rows, cols;
};

__device__ __forceinline__ lane_cut lane_tile_of(const lane_view &v, uint32_t tile)
{
    lane_cut c = {tile / v.tiles_across * v.tile_rows, tile % v.tiles_across * v.tile_cols, 0, 0};
    c.rows = min(v.tile_rows, v.det_rows - c.row);
    c.cols = min(v.tile_cols, v.det_cols - c.col);
    return c;
}

__device__ __forceinline__ lane_cut lane_rect_of(const lane_view &v, uint32_t rect)
{
    lane_cut c = {rect / v.rects_across * v.rect_rows, rect % v.rects_across * v.rect_cols, 0, 0};
    c.rows = min(v.rect_rows, v.scan_rows - c.row);
    c.cols = min(v.rect_cols, v.scan_cols - c.col);
    return c;
}

/* The first brick that is bad wins, whichever warp finds its own first. */
__device__ __forceinline__ void lane_report(const lane_view &v, uint32_t rect, uint32_t tile, uint32_t why)
{
    atomicMin(v.bad, ((unsigned long long)rect * v.n_tiles + tile) << 8 | why);
}

/* A brick as a warp decodes it.  Members up to 'rows' are the same in all lanes. */
struct lane_brick {
    const uint16_t *words; /* of the brick */
    uint32_t n_words, n_pixels, n_positions;
    uint32_t parameters;     /* index of the first parameter */
    uint32_t packed;         /* index of the next packed pixel's words */
    bool whole, coded, tall; /* packed as a whole; streams are there; wide or packed pixels are there */
    uint32_t rows;           /* of this half; 0: it takes no part */
    uint32_t x, p, end;      /* state; next word, and one past the next escape, as indices */
};

/*
 * Reads the head of a brick that check() has seen; the ids go to 'ids' [64] of this warp.  False: all counts are 0.
 */
__device__ __forceinline__ bool lane_begin(const lane_view &v, uint32_t rect, uint32_t tile, uint32_t lane,
                                           uint8_t *ids, lane_brick &b)
{
    const lane_chunk_on c = v.chunks[rect];
    const lane_cut pixels = lane_tile_of(v, tile), cut = lane_rect_of(v, rect);
    const uint32_t from = __ldg(c.offset + tile);
    b.n_words = __ldg(c.offset + tile + 1) - from;
    b.words = c.words + from;
    b.n_pixels = pixels.rows * pixels.cols;
    b.n_positions = cut.rows * cut.cols;
    b.whole = b.coded = b.tall = false;
    b.x = LANE_STATE;
    b.p = b.end = 0;
    const uint32_t h = lane >> 4, first = h * LANE_SPAN;
    b.rows =
        first < b.n_positions ? (min(b.n_positions - first, (uint32_t)LANE_SPAN) + LANE_LANES - 1) / LANE_LANES : 0;
    if (b.n_words == 0)
        return false;
    const uint32_t head = b.words[0], form = head >> 4 & 15;
    if ((head & 15) == 1) {
        b.whole = b.tall = true;
        return true;
    }
    uint32_t at = form == 2 ? 1 : 2, id[2];
    const uint32_t least = form == 2 ? 0 : b.words[1];
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t p = lane + 32 * k;
        id[k] = p >= b.n_pixels ? 0
                : form == 0     ? least
                : form == 1     ? least + (b.words[at + p / 4] >> p % 4 * 4 & 15)
                                : b.words[at + p / 2] >> p % 2 * 8 & 255;
        ids[p] = (uint8_t)id[k];
    }
    at += form == 0 ? 0 : form == 1 ? (b.n_pixels + 3) / 4 : (b.n_pixels + 1) / 2;
    b.parameters = at;
    uint32_t coded = 0, wide = 0, packed = 0;
    for (uint32_t k = 0; k < 2; k++) {
        coded |= __ballot_sync(LANE_ALL, id[k] >= 1 && id[k] < LANE_ID_PACKED);
        wide += __popc(__ballot_sync(LANE_ALL, id[k] >= LANE_ID_WIDE && id[k] < LANE_ID_PACKED));
        packed += __popc(__ballot_sync(LANE_ALL, id[k] == LANE_ID_PACKED));
    }
    __syncwarp();
    b.tall = wide | packed;
    at += 2 * wide + 3 * packed;
    b.packed = at;
    b.coded = coded != 0;
    if (!b.coded)
        return true;
    const uint32_t n_streams = b.n_positions > LANE_SPAN ? 2 : 1;
    const uint32_t size0 = b.words[at] | (uint32_t)b.words[at + 1] << 16;
    const uint32_t size1 = n_streams > 1 ? b.words[at + 2] | (uint32_t)b.words[at + 3] << 16 : 0;
    const uint32_t states = at + 2 * n_streams, begin = states + n_streams * 2 * LANE_LANES;
    b.packed = begin + size0 + size1;
    if (h < n_streams) {
        const uint32_t s = states + 2 * lane;
        b.x = b.words[s] | (uint32_t)b.words[s + 1] << 16;
        b.p = begin + (h ? size0 : 0);
        b.end = b.p + (h ? size1 : size0);
    }
    return true;
}

/* True when no count of a wide pixel of the brick can be above 'most', and no pixel is packed.  The whole warp asks. */
__device__ __forceinline__ bool lane_small(const lane_brick &b, uint32_t lane, const uint8_t *ids, uint32_t most)
{
    bool small = !b.whole;
    uint32_t at = b.parameters;
    for (uint32_t k = 0; small && k < 2; k++) {
        const uint32_t p = lane + 32 * k, id = p < b.n_pixels ? ids[p] : 0;
        const uint32_t wide = __ballot_sync(LANE_ALL, id >= LANE_ID_WIDE && id < LANE_ID_PACKED);
        small = !__any_sync(LANE_ALL, id == LANE_ID_PACKED);
        bool fits = true;
        if (small && id >= LANE_ID_WIDE) {
            const uint32_t mine = at + 2 * __popc(wide & ((1u << lane) - 1));
            const uint32_t value = b.words[mine] | (uint32_t)b.words[mine + 1] << 16;
            const int32_t base = (int32_t)(value << 4) >> 4;
            fits = base >= 0 && (uint32_t)base + (15u << (value >> 28)) <= most;
        }
        small = small && __all_sync(LANE_ALL, fits);
        at += 2 * __popc(wide);
    }
    return small;
}

/* One symbol: its table entry. */
__device__ __forceinline__ uint32_t lane_symbol(uint32_t &x, const uint32_t *table)
{
    const uint32_t e = table[x & (LANE_SLOTS - 1)];
    x = __byte_perm(e, 0, 0x4441) * (x >> 8) + (e & 255);
    return e;
}

__device__ __forceinline__ void lane_refill(lane_brick &b, bool live, uint32_t below, uint32_t half)
{
    const bool need = live && b.x < LANE_STATE;
    const uint32_t mask = __ballot_sync(LANE_ALL, need);
    if (need)
        b.x = __byte_perm(b.x, __ldg(b.words + (b.p + __popc(mask & below))), 0x1054);
    b.p += __popc(mask & half);
}

/* The next escaped count; *ok is cleared when the escapes run into the words. */
__device__ __forceinline__ uint32_t lane_escaped(lane_brick &b, bool &ok)
{
    if (b.end <= b.p) {
        ok = false;
        return 0;
    }
    uint32_t value = b.words[--b.end];
    if (value == 0xffff) {
        if (b.end - b.p < 2) {
            ok = false;
            return 0;
        }
        value = b.words[b.end - 1] | (uint32_t)b.words[b.end - 2] << 16;
        b.end -= 2;
    }
    return value;
}

/*
 * Escapes of a pixel, lane by lane: calls read(bits) in each lane whose 'bits' are not 0, in order of lanes within each
 * half, with 'end' handed on.
 */
template <class Read>
__device__ __forceinline__ void lane_in_turn(lane_brick &b, uint32_t lane, uint32_t bits, Read read)
{
    uint32_t todo = __ballot_sync(LANE_ALL, bits != 0);
    uint32_t mine = todo >> (lane & 16) & 0xffff;
    while (__any_sync(LANE_ALL, mine != 0)) {
        const uint32_t turn = mine ? __ffs(mine) - 1 : lane & 15;
        if (mine && (lane & 15) == turn)
            read(bits);
        b.end = __shfl_sync(LANE_ALL, b.end, turn, 16);
        mine &= mine - 1;
    }
}

/* Escapes of a count or wide pixel: patch(row, count) for each. */
template <class Patch>
__device__ __forceinline__ void lane_escapes(const lane_view &v, lane_brick &b, uint32_t lane, uint32_t rows,
                                             uint32_t &why, Patch patch)
{
    lane_in_turn(b, lane, rows, [&](uint32_t bits) {
        bool ok = true;
        for (; bits && ok; bits &= bits - 1) {
            const uint32_t value = lane_escaped(b, ok);
            if (!ok)
                why = LANE_BAD_ESCAPES;
            else if (value > v.largest)
                why = LANE_BAD_RANGE;
            else
                patch((uint32_t)__ffs(bits) - 1, value);
        }
    });
}

/* Escaped groups of a sparse pixel: patch(row, count) for each row of them. */
template <class Patch>
__device__ __forceinline__ void lane_escaped_groups(const lane_view &v, lane_brick &b, uint32_t lane, uint32_t groups,
                                                    uint32_t shift, uint32_t &why, Patch patch)
{
    lane_in_turn(b, lane, groups, [&](uint32_t bits) {
        const uint32_t rows = 1u << shift, n = rows > 8 ? rows / 8 : 1;
        bool ok = true;
        for (; bits && ok; bits &= bits - 1) {
            const uint32_t first = ((uint32_t)__ffs(bits) - 1) << shift;
            uint64_t counts = 0;
            ok = b.end >= b.p + n;
            for (uint32_t i = 0; ok && i < n; i++)
                counts |= (uint64_t)b.words[--b.end] << 16 * i;
            for (uint32_t row = 0; ok && row < rows; row++) {
                uint32_t value = (uint32_t)(counts >> 2 * row) & 3;
                if (value == 3)
                    value = lane_escaped(b, ok);
                if (ok && value > v.largest) {
                    why = LANE_BAD_RANGE;
                    return;
                }
                if (ok)
                    patch(first + row, value);
            }
            if (!ok)
                why = LANE_BAD_ESCAPES;
        }
    });
}

/* 'width' bits from bit 'at' of 'words'. */
__device__ __forceinline__ uint32_t lane_bits(const uint16_t *words, uint64_t at, uint32_t width)
{
    if (width == 0)
        return 0;
    const uint16_t *w = words + at / 16;
    const uint32_t skip = (uint32_t)at % 16;
    uint64_t have = w[0];
    if (skip + width > 16)
        have |= (uint64_t)w[1] << 16;
    if (skip + width > 32)
        have |= (uint64_t)w[2] << 32;
    return (uint32_t)(have >> skip & ((UINT64_C(1) << width) - 1));
}

/* ---------------------------------------------------------------------------------------- a pixel, whatever it is */

/*
 * The walk that is right for every brick: sink.put(row, count) for each of a lane's rows with constant rows (escapes
 * as 0), then sink.patch(row, count) for escapes; before and after each pixel sink.begin(pixel) and sink.end(pixel).
 * Rows behind a stream's last get anything.  Stops behind 'stop' pixels.  'slots' is the table of model 1 in whatever
 * memory; returns 0, or what is wrong (the same in all lanes).
 */
template <class Sink>
__device__ __forceinline__ void lane_pairs(const lane_view &v, lane_brick &b, uint32_t lane, uint32_t below,
                                           uint32_t half, const uint32_t *table, int64_t base, bool risky,
                                           uint32_t &why, Sink &sink)
{
    uint32_t escapes = 0;
#pragma unroll
    for (uint32_t k = 0; k < 16; k++) {
        const bool live = 2 * k < b.rows;
        uint32_t x = b.x;
        const uint32_t e0 = lane_symbol(x, table), e1 = lane_symbol(x, table);
        b.x = live ? x : b.x;
        lane_refill(b, live, below, half);
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t symbol = (i ? e1 : e0) >> 16, row = 2 * k + i;
            const bool escape = symbol & LANE_FLAG;
            const int64_t value = base + symbol;
            escapes |= (uint32_t)(escape && live) << row;
            if (risky && live && !escape && (value < 0 || value > v.largest) &&
                (lane & 16 ? LANE_SPAN : 0) + row * LANE_LANES + (lane & 15) < b.n_positions)
                why = LANE_BAD_RANGE;
            sink.put(row, escape ? 0 : (uint32_t)value);
        }
    }
    if (__any_sync(LANE_ALL, escapes != 0))
        lane_escapes(v, b, lane, escapes, why, [&](uint32_t row, uint32_t value) { sink.patch(row, value); });
}

template <class Sink>
__device__ __forceinline__ void lane_shifted(const lane_view &v, lane_brick &b, uint32_t lane, uint32_t below,
                                             uint32_t half, const uint32_t *table, int64_t base, uint32_t shift,
                                             bool risky, uint32_t &why, Sink &sink)
{
    uint32_t escapes = 0;
    const uint32_t low = (1u << shift) - 1;
#pragma unroll
    for (uint32_t row = 0; row < LANE_ROWS; row++) {
        const bool live = row < b.rows;
        uint32_t x = b.x;
        const uint32_t symbol = lane_symbol(x, table) >> 16;
        const bool escape = symbol & LANE_FLAG;
        const int64_t value = base + (symbol << shift | (x & low));
        x = escape ? x : x >> shift;
        b.x = live ? x : b.x;
        lane_refill(b, live, below, half);
        escapes |= (uint32_t)(escape && live) << row;
        if (risky && live && !escape && (value < 0 || value > v.largest) &&
            (lane & 16 ? LANE_SPAN : 0) + row * LANE_LANES + (lane & 15) < b.n_positions)
            why = LANE_BAD_RANGE;
        sink.put(row, escape ? 0 : (uint32_t)value);
    }
    if (__any_sync(LANE_ALL, escapes != 0))
        lane_escapes(v, b, lane, escapes, why, [&](uint32_t row, uint32_t value) { sink.patch(row, value); });
}

/* Adds the electrons of group 'g' to counts of 4 bits a row. */
template <int J> __device__ __forceinline__ void lane_electrons(uint32_t n, uint32_t raw, uint32_t g, uint32_t *nibbles)
{
    constexpr uint32_t mask = ((1u << J) - 1) << 2; /* 4 x row of an electron, as a bit position */
    uint32_t at[3];
    at[0] = (raw << 2) & mask;
    at[1] = (J >= 2 ? raw >> (J - 2) : raw << (2 - J)) & mask;
    at[2] = (2 * J >= 2 ? raw >> (2 * J - 2) : raw << (2 - 2 * J)) & mask;
#pragma unroll
    for (uint32_t i = 0; i < 3; i++) {
        if (J <= 3) { /* a group lies within one word */
            if (n > i)
                nibbles[(g << J) / 8] += 1u << (at[i] + (g << J) % 8 * 4);
        } else {
#pragma unroll
            for (int o = 0; o < (1 << J) / 8; o++)
                if (n > i && (int)(at[i] >> 5) == o)
                    nibbles[(g << J) / 8 + o] += 1u << (at[i] & 31);
        }
    }
}

/* Decodes a sparse pixel, adding its electrons to nibbles [4] where 'take'; returns escaped groups as bits. */
template <int J>
__device__ __forceinline__ uint32_t lane_groups(lane_brick &b, uint32_t below, uint32_t half, const uint32_t *table,
                                                bool take, uint32_t *nibbles)
{
    uint32_t escapes = 0;
#pragma unroll
    for (uint32_t g = 0; g < (32u >> J); g++) {
        const bool live = (g << J) < b.rows;
        uint32_t x = b.x;
        uint32_t n = live ? lane_symbol(x, table) >> 16 : 0;
        escapes |= (n >> 8) << g;
        n &= 3;
        const uint32_t raw = x;
        x >>= n * J;
        b.x = live ? x : b.x;
        lane_refill(b, live, below, half);
        lane_electrons<J>(take ? n : 0, raw, g, nibbles);
    }
    return escapes;
}

__device__ __forceinline__ uint32_t lane_groups_of(uint32_t j, lane_brick &b, uint32_t below, uint32_t half,
                                                   const uint32_t *table, bool take, uint32_t *nibbles)
{
    switch (j) {
    case 1:
        return lane_groups<1>(b, below, half, table, take, nibbles);
    case 2:
        return lane_groups<2>(b, below, half, table, take, nibbles);
    case 3:
        return lane_groups<3>(b, below, half, table, take, nibbles);
    case 4:
        return lane_groups<4>(b, below, half, table, take, nibbles);
    default:
        return lane_groups<5>(b, below, half, table, take, nibbles);
    }
}

template <class Sink>
__device__ __forceinline__ void lane_packed(const lane_view &v, const uint16_t *words, uint64_t first, uint32_t lane,
                                            uint32_t n_positions, uint32_t base, uint32_t width, uint32_t &why,
                                            Sink &sink)
{
    const bool risky = base + ((UINT64_C(1) << width) - 1) > v.largest;
#pragma unroll
    for (uint32_t row = 0; row < LANE_ROWS; row++) {
        const uint32_t i = (lane & 16 ? LANE_SPAN : 0) + row * LANE_LANES + (lane & 15);
        const uint64_t value =
            i < n_positions ? base + (uint64_t)lane_bits(words, first + (uint64_t)i * width, width) : 0;
        if (risky && value > v.largest)
            why = LANE_BAD_RANGE;
        sink.put(row, (uint32_t)value);
    }
}

template <class Sink>
__device__ __forceinline__ uint32_t lane_walk(const lane_view &v, const uint32_t *tables, lane_brick &b, uint32_t lane,
                                              const uint8_t *ids, uint32_t stop, Sink &sink)
{
    const uint32_t half = lane & 16 ? 0xffff0000u : 0xffffu, below = ((1u << lane) - 1) & half;
    uint32_t parameter = b.parameters, packed = b.packed, why = 0;
#pragma unroll 1
    for (uint32_t q = 0; q < stop; q++) {
        const uint32_t id = b.whole ? (uint32_t)LANE_ID_PACKED : ids[q];
        const uint32_t *table = tables + v.slot[id] * LANE_SLOTS;
        sink.begin(q);
        if (id == LANE_ID_ZERO) {
#pragma unroll
            for (uint32_t row = 0; row < LANE_ROWS; row++)
                sink.put(row, 0);
        } else if (id < LANE_ID_COUNT) {
            uint32_t nibbles[4] = {0, 0, 0, 0};
            const uint32_t j = v.shift[id];
            const uint32_t escapes = lane_groups_of(j, b, below, half, table, true, nibbles);
#pragma unroll
            for (uint32_t row = 0; row < LANE_ROWS; row++)
                sink.put(row, nibbles[row / 8] >> row % 8 * 4 & 15);
            if (__any_sync(LANE_ALL, escapes != 0))
                lane_escaped_groups(v, b, lane, escapes, j, why,
                                    [&](uint32_t row, uint32_t value) { sink.patch(row, value); });
        } else if (id < LANE_ID_WIDE) {
            lane_pairs(v, b, lane, below, half, table, 0, v.largest < 15, why, sink);
        } else if (id < LANE_ID_PACKED) {
            const uint32_t value = b.words[parameter] | (uint32_t)b.words[parameter + 1] << 16, shift = value >> 28;
            const int64_t base = (int64_t)(value & 0x0fffffff) - (value & 0x08000000 ? INT64_C(1) << 28 : 0);
            const bool risky = base < 0 || base + (15ll << shift) > v.largest;
            parameter += 2;
            if (shift)
                lane_shifted(v, b, lane, below, half, table, base, shift, risky, why, sink);
            else
                lane_pairs(v, b, lane, below, half, table, base, risky, why, sink);
        } else if (b.whole) {
            const uint32_t base = b.words[1] | (uint32_t)b.words[2] << 16, width = b.words[3];
            lane_packed(v, b.words + 4, (uint64_t)q * b.n_positions * width, lane, b.n_positions, base, width, why,
                        sink);
        } else {
            const uint32_t base = b.words[parameter] | (uint32_t)b.words[parameter + 1] << 16;
            const uint32_t width = b.words[parameter + 2];
            parameter += 3;
            lane_packed(v, b.words + packed, 0, lane, b.n_positions, base, width, why, sink);
            packed += (b.n_positions * width + 15) / 16;
        }
        if (b.p > b.end)
            why = LANE_BAD_WORDS;
        sink.end(q);
        if (__any_sync(LANE_ALL, why != 0))
            return __reduce_max_sync(LANE_ALL, why);
    }
    if (stop == b.n_pixels && b.coded && b.rows && (b.x != LANE_STATE || b.p != b.end))
        why = LANE_BAD_END;
    return __reduce_max_sync(LANE_ALL, why);
}

#endif
