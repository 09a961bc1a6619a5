// SPDX-License-Identifier: MIT
//
// lane_rans_reduce.cu - sums over a lane-rans-v1 store on the device, without frames.
//
// Masks: the host makes a list of items, one for each tile and set of its pixels that any plane wants with one weight
// (planes that want the same set share the item).  A warp decodes one brick an item and adds its 1,024 sums to the
// planes. Where a brick has count and sparse models only, sums of two rows share a register.  All sums are integers and
// added atomically, so their order does not matter.
//
// Weights that differ within a tile, and sums over positions, take the general walk.
#include <stdlib.h>
#include <string.h>

#include "codec/lane_rans_on.cuh"

namespace
{

#ifndef LANE_SUM_WARPS
#define LANE_SUM_WARPS  16
#define LANE_SUM_BLOCKS 2
#endif
enum { WARPS = 16, THREADS = 32 * WARPS, SUM_THREADS = 32 * LANE_SUM_WARPS };
constexpr int MOMENT_THREADS = 640;

// A set of pixels of one tile, and where its sums go: outs[first] .. outs[first + n - 1].
struct lane_item {
    uint64_t take;
    uint32_t tile, stop, first, n;
};

struct lane_out {
    uint32_t plane, weight;
};

// The rectangle of a reduction, and its outputs.
struct lane_goal {
    const lane_item *items;
    const lane_out *outs;
    const uint32_t *weights;                             // [n_pixels] of the one plane, for the general walk
    unsigned long long *sums;                            // [n_planes][rows][cols]
    uint32_t n_items, first_rect, rects_across, n_rects; // rectangles that it touches: rows of rects_across
    uint32_t row, rows, col, cols;
    uint32_t *next;         // the next piece of work
    uint32_t shared_tables; // they fit shared memory
    // lists of work that one kernel leaves to the next: taken from, and added to
    const uint32_t *list, *n_list;
    uint32_t *tall, *n_tall;
};

__device__ __forceinline__ uint32_t rect_of(const lane_view &v, const lane_goal &g, uint32_t k)
{
    return g.first_rect + k / g.rects_across * v.rects_across + k % g.rects_across;
}

// Where position i of a rectangle lies in the goal; false: outside.
struct lane_places {
    uint32_t rect_row, rect_col, rect_cols;
    int32_t simple; // 32 columns, all inside: index of position 0
};

__device__ __forceinline__ lane_places places_of(const lane_view &v, const lane_goal &g, uint32_t rect)
{
    const lane_cut c = lane_rect_of(v, rect);
    const bool inside = c.row >= g.row && c.row + c.rows <= g.row + g.rows && c.col >= g.col &&
                        c.col + c.cols <= g.col + g.cols && c.cols == 32;
    lane_places p = {c.row, c.col, c.cols, inside ? (int32_t)((c.row - g.row) * g.cols + c.col - g.col) : -1};
    return p;
}

__device__ __forceinline__ bool place_of(const lane_goal &g, const lane_places &p, uint32_t i, uint32_t *out)
{
    if (p.simple >= 0) {
        *out = (uint32_t)p.simple + (i >> 5) * g.cols + (i & 31);
        return true;
    }
    const uint32_t row = p.rect_row + i / p.rect_cols - g.row, col = p.rect_col + i % p.rect_cols - g.col;
    *out = row * g.cols + col;
    return row < g.rows && col < g.cols; // also when below the first
}

// Adds 'sum' of position i to the planes of an item.
__device__ __forceinline__ void add_sum(const lane_goal &g, const lane_item &item, const lane_places &p, uint32_t i,
                                        uint64_t sum)
{
    uint32_t at;
    if (!sum || !place_of(g, p, i, &at))
        return;
    for (uint32_t k = item.first; k < item.first + item.n; k++) {
        const lane_out out = g.outs[k];
        atomicAdd(g.sums + (uint64_t)out.plane * g.rows * g.cols + at, (unsigned long long)(sum * out.weight));
    }
}

// --------------------------------------------------------------------------------------------- any brick, any weight

// T holds the sums of a tile: 32 bits for counts of 8 and 16 bits with weight 1, else 64.
// HOW the weight is found: all 1; or that of one plane; or row or column within the tile.
enum lane_how { ONES, PLANE, LOCAL_ROW, LOCAL_COL };

template <class T, int HOW> struct sum_sink {
    const lane_view &v;
    const lane_goal &g;
    const lane_item &item;
    const lane_places &places;
    const lane_cut tile;
    uint32_t first, n_positions; // position of row 0 of this lane
    uint32_t weight;
    T acc[LANE_ROWS];
    __device__ __forceinline__ void begin(uint32_t q)
    {
        weight = item.take >> q & 1;
        if (HOW == PLANE && weight)
            weight = g.weights[(tile.row + q / tile.cols) * v.det_cols + tile.col + q % tile.cols];
        if (HOW == LOCAL_ROW && weight)
            weight = q / tile.cols;
        if (HOW == LOCAL_COL && weight)
            weight = q % tile.cols;
    }
    __device__ __forceinline__ void put(uint32_t row, uint32_t count)
    {
        acc[row] += (T)count * weight;
    }
    __device__ __forceinline__ void patch(uint32_t row, uint32_t count)
    {
        if (weight && first + row * LANE_LANES < n_positions)
            add_sum(g, item, places, first + row * LANE_LANES, (uint64_t)count * weight);
    }
    __device__ __forceinline__ void end(uint32_t)
    {
    }
};

template <class T, int HOW>
__device__ __forceinline__ uint32_t sum_any(const lane_view &v, const lane_goal &g, const uint32_t *tables,
                                            const lane_item &item, const lane_places &places, lane_brick &b,
                                            uint32_t lane, const uint8_t *ids)
{
    const uint32_t first = (lane & 16 ? LANE_SPAN : 0) + (lane & 15);
    sum_sink<T, HOW> sink = {v, g, item, places, lane_tile_of(v, item.tile), first, b.n_positions, 0, {0}};
    const uint32_t why = lane_walk(v, tables, b, lane, ids, item.stop, sink);
#pragma unroll
    for (uint32_t row = 0; row < LANE_ROWS; row++)
        if (first + row * LANE_LANES < b.n_positions)
            add_sum(g, item, places, first + row * LANE_LANES, sink.acc[row]);
    return why;
}

// The next piece of work of a list, the same in all lanes; 'n' when there is none left.
__device__ __forceinline__ uint32_t next_of(uint32_t *next, uint32_t lane, uint32_t n)
{
    uint32_t i = 0;
    if (lane == 0)
        i = atomicAdd(next, 1);
    i = __shfl_sync(LANE_ALL, i, 0);
    return i < n ? i : n;
}

// All items (LIST false), or those that the dense kernel left; outs skips that many of each item's outs.
template <class T, int HOW, bool LIST>
__global__ void __launch_bounds__(THREADS, 1)
    sum_any_kernel(const __grid_constant__ lane_view v, const __grid_constant__ lane_goal g, uint32_t skip)
{
    const uint32_t lane = threadIdx.x & 31, n = LIST ? *g.n_list : g.n_items * g.n_rects;
    if (n == 0)
        return;
    extern __shared__ uint32_t shared[]; // the ids of each warp, then the tables, where they have room
    uint8_t *ids = reinterpret_cast<uint8_t *>(shared) + (threadIdx.x >> 5) * LANE_TILE;
    const uint32_t *tables = LIST || g.shared_tables ? shared + WARPS * LANE_TILE / 4 : v.table;
    for (uint32_t i = threadIdx.x; (LIST || g.shared_tables) && i < v.n_models * LANE_SLOTS; i += THREADS)
        shared[WARPS * LANE_TILE / 4 + i] = v.table[i];
    __syncthreads();
    for (;;) {
        uint32_t i = next_of(g.next, lane, n);
        if (i == n)
            return;
        i = LIST ? g.list[i] : i;
        lane_item item = g.items[i / g.n_rects];
        if (HOW == LOCAL_ROW || HOW == LOCAL_COL) {
            item.first += skip;
            item.n = 1;
        }
        const uint32_t rect = rect_of(v, g, i % g.n_rects);
        const lane_places places = places_of(v, g, rect);
        lane_brick b;
        if (!lane_begin(v, rect, item.tile, lane, ids, b))
            continue;
        const uint32_t why = sum_any<T, HOW>(v, g, tables, item, places, b, lane, ids);
        if (why && lane == 0)
            lane_report(v, rect, item.tile, why);
        __syncwarp();
    }
}

// ------------------------------------------------------------------------- count and sparse models, two rows a
// register

// Row of each bit of the flags of 8 steps: bit 1 + k is row 2 k of them, bit 17 + k row 2 k + 1.
__device__ __forceinline__ uint32_t rows_of_flags(uint32_t flags, uint32_t first)
{
    uint32_t rows = 0;
#pragma unroll
    for (uint32_t k = 0; k < 8; k++)
        rows |= (flags >> (1 + k) & 1) << (first + 2 * k) | (flags >> (17 + k) & 1) << (first + 2 * k + 1);
    return rows;
}

// What comes back from the escapes of a pixel.  By value, so that a brick's state can stay in registers.
struct patched {
    uint32_t end, why;
};

// Adds one escaped count; with moments, to the local ones too (q: its row and column within the tile).
template <bool MOMENTS>
__device__ __forceinline__ void add_escape(const lane_goal &g, lane_item item, const lane_places &places, uint32_t i,
                                           uint64_t value, uint32_t row, uint32_t col)
{
    if (!MOMENTS) {
        add_sum(g, item, places, i, value);
        return;
    }
    item.n = 3;
    add_sum(g, item, places, i, value);
    item.n = 1;
    item.first += 3;
    add_sum(g, item, places, i, value * row);
    item.first += 1;
    add_sum(g, item, places, i, value * col);
}

// FLAG: what the escapes were added as, modulo 2^64.
template <bool MOMENTS, uint32_t FLAG>
__device__ __noinline__ patched patch_count(const lane_view &v, const lane_goal &g, lane_item item, lane_places places,
                                            lane_brick b, uint32_t lane, uint32_t rows, bool take, uint32_t at_row,
                                            uint32_t at_col)
{
    const uint32_t first = (lane & 16 ? LANE_SPAN : 0) + (lane & 15);
    uint32_t why = 0;
    lane_escapes(v, b, lane, rows, why, [&](uint32_t row, uint32_t value) {
        if (take)
            add_escape<MOMENTS>(g, item, places, first + row * LANE_LANES, (uint64_t)value - FLAG, at_row, at_col);
    });
    return {b.end, why};
}

template <bool MOMENTS>
__device__ __noinline__ patched patch_groups(const lane_view &v, const lane_goal &g, lane_item item, lane_places places,
                                             lane_brick b, uint32_t lane, uint32_t groups, uint32_t shift, bool take,
                                             uint32_t at_row, uint32_t at_col)
{
    const uint32_t first = (lane & 16 ? LANE_SPAN : 0) + (lane & 15);
    uint32_t why = 0;
    lane_escaped_groups(v, b, lane, groups, shift, why, [&](uint32_t row, uint32_t value) {
        if (take)
            add_escape<MOMENTS>(g, item, places, first + row * LANE_LANES, value, at_row, at_col);
    });
    return {b.end, why};
}

// The 16 sums of two rows each, to the planes of an item.  Nearly always it is one plane, and rectangles are whole.
__device__ __forceinline__ void add_pairs(const lane_goal &g, const lane_item &item, const lane_places &places,
                                          uint32_t lane, const uint32_t *acc)
{
    const uint32_t first = (lane & 16 ? LANE_SPAN : 0) + (lane & 15);
    if (places.simple < 0) {
#pragma unroll
        for (uint32_t k = 0; k < 16; k++) {
            add_sum(g, item, places, first + 2 * k * LANE_LANES, acc[k] & 0xffff);
            add_sum(g, item, places, first + (2 * k + 1) * LANE_LANES, acc[k] >> 16);
        }
        return;
    }
    // positions 2 k and 2 k + 1 of a lane lie 16 columns apart in one row of the rectangle
    const uint32_t corner = (uint32_t)places.simple + (lane & 16 ? 16 : 0) * g.cols + (lane & 15);
    for (uint32_t o = item.first; o < item.first + item.n; o++) {
        const lane_out out = g.outs[o];
        unsigned long long *to = g.sums + (uint64_t)out.plane * g.rows * g.cols + corner;
#pragma unroll
        for (uint32_t k = 0; k < 16; k++, to += g.cols) {
            if (acc[k] & 0xffff)
                atomicAdd(to, (unsigned long long)(acc[k] & 0xffff) * out.weight);
            if (acc[k] >> 16)
                atomicAdd(to + 16, (unsigned long long)(acc[k] >> 16) * out.weight);
        }
    }
}

/*
 * Only for bricks of 1,024 positions.  With MOMENTS also the sums of counts x row and x column within the tile: columns
 * are weighted as they come; sums so far, added up after each row of the tile, give rows x sum less the row moment.
 */
template <bool MOMENTS, bool WIDE>
__device__ __forceinline__ uint32_t sum_dense(const lane_view &v, const lane_goal &g, const lane_item &item,
                                              const lane_places &places, lane_brick &b, uint32_t lane,
                                              const uint8_t *ids, const uint32_t *tables)
{
    const uint32_t half = lane & 16 ? 0xffff0000u : 0xffffu, below = ((1u << lane) - 1) & half, stop = item.stop;
    const uint64_t wanted = item.take;
    const uint32_t cols = MOMENTS ? lane_tile_of(v, item.tile).cols : 1;
    uint32_t acc[16], rows_acc[MOMENTS ? 16 : 1], cols_acc[MOMENTS ? 16 : 1];
    uint32_t nibbles[4] = {0, 0, 0, 0}, n_nibbles = 0, why = 0, row = 0, col = 0, parameter = b.parameters;
#pragma unroll
    for (uint32_t k = 0; k < 16; k++) {
        acc[k] = 0;
        if (MOMENTS)
            rows_acc[k] = cols_acc[k] = 0;
    }
#pragma unroll 1
    for (uint32_t q = 0; q < stop; q++) {
        const uint32_t id = ids[q];
        const bool take = wanted >> q & 1;
        const uint32_t *table = tables + (uint32_t)__ldg(v.slot + id) * LANE_SLOTS;
        if (WIDE && id >= LANE_ID_WIDE) {
            const uint32_t value = b.words[parameter] | (uint32_t)b.words[parameter + 1] << 16, shift = value >> 28;
            const uint32_t base = value & 0x0fffffff, low = (1u << shift) - 1;
            uint32_t escapes = 0;
            parameter += 2;
            asm volatile("prefetch.global.L1 [%0];" ::"l"(b.words + (b.p + 128 + (lane & 1) * 64)));
#pragma unroll
            for (uint32_t k = 0; k < 16; k++) {
                uint32_t pair = 0;
#pragma unroll
                for (uint32_t i = 0; i < 2; i++) {
                    const uint32_t symbol = lane_symbol(b.x, table) >> 16;
                    const bool escape = symbol & LANE_FLAG;
                    const uint32_t count = escape ? 0 : base + (symbol << shift | (b.x & low));
                    b.x >>= escape ? 0 : shift;
                    if (shift || i)
                        lane_refill(b, true, below, half);
                    escapes |= (uint32_t)escape << (2 * k + i);
                    pair |= count << 16 * i;
                }
                if (take)
                    acc[k] += pair;
                if (MOMENTS && take)
                    cols_acc[k] += pair * col;
            }
            if (__any_sync(LANE_ALL, escapes)) { // they were added as 0
                const patched after = patch_count<MOMENTS, 0>(v, g, item, places, b, lane, escapes, take, row, col);
                b.end = after.end;
                why |= after.why;
            }
        } else if (id >= LANE_ID_COUNT) {
            uint32_t flags = 0, early = 0;
            asm volatile("prefetch.global.L1 [%0];" ::"l"(b.words + (b.p + 128 + (lane & 1) * 64)));
#pragma unroll
            for (uint32_t k = 0; k < 16; k++) {
                const uint32_t e0 = lane_symbol(b.x, table), e1 = lane_symbol(b.x, table);
                lane_refill(b, true, below, half);
                const uint32_t pair = __byte_perm(e0, e1, 0x7632);
                flags = flags >> 1 | (pair & (LANE_FLAG | LANE_FLAG << 16));
                if (k == 7) {
                    early = flags;
                    flags = 0;
                }
                if (!MOMENTS && take)
                    acc[k] += pair;
                if (MOMENTS && take) {
                    acc[k] += pair & 0x00ff00ff;
                    cols_acc[k] += (pair & 0x00ff00ff) * col;
                }
            }
            if (__any_sync(LANE_ALL, early | flags)) {
                const patched after = patch_count < MOMENTS,
                              MOMENTS
                                  ? 0
                                  : LANE_FLAG > (v, g, item, places, b, lane,
                                                 rows_of_flags(early, 0) | rows_of_flags(flags, 16), take, row, col);
                b.end = after.end;
                why |= after.why;
            }
        } else if (id != LANE_ID_ZERO) {
            const uint32_t j = __ldg(v.shift + id);
            if ((q & 3) == 0)
                asm volatile("prefetch.global.L1 [%0];" ::"l"(b.words + (b.p + 64 + (lane & 1) * 64)));
            const uint32_t escapes = lane_groups_of(j, b, below, half, table, take, nibbles);
            if (__any_sync(LANE_ALL, escapes)) {
                const patched after = patch_groups<MOMENTS>(v, g, item, places, b, lane, escapes, j, take, row, col);
                b.end = after.end;
                why |= after.why;
            }
            n_nibbles++;
        }
        // 5 pixels of at most 3 electrons fit 4 bits; with moments each pixel has weights of its own
        if (n_nibbles == (MOMENTS ? 1 : 5) || (q + 1 == stop && n_nibbles)) {
            n_nibbles = 0;
#pragma unroll
            for (uint32_t k = 0; k < 16; k++) {
                const uint32_t two = nibbles[k / 4] >> (8 * (k % 4)), pair = (two & 15) | (two & 0xf0) << 12;
                acc[k] += pair;
                if (MOMENTS)
                    cols_acc[k] += pair * col;
            }
            nibbles[0] = nibbles[1] = nibbles[2] = nibbles[3] = 0;
        }
        if (MOMENTS && (++col == cols || q + 1 == stop)) {
            col = 0;
            row++;
#pragma unroll
            for (uint32_t k = 0; k < 16; k++)
                rows_acc[k] += acc[k];
        }
        if (__any_sync(LANE_ALL, why | (b.p > b.end)))
            return __reduce_max_sync(LANE_ALL, why ? why : b.p > b.end ? (uint32_t)LANE_BAD_WORDS : 0);
    }
    if (MOMENTS) {
        lane_item part = item;
        part.n = 3;
        add_pairs(g, part, places, lane, acc);
#pragma unroll
        for (uint32_t k = 0; k < 16; k++) // at most 8 x 64 x 14 in each half
            rows_acc[k] = acc[k] * row - rows_acc[k];
        part.n = 1;
        part.first += 3;
        add_pairs(g, part, places, lane, rows_acc);
        part.first += 1;
        add_pairs(g, part, places, lane, cols_acc);
    } else {
        add_pairs(g, item, places, lane, acc);
    }
    if (stop == b.n_pixels && b.coded && (b.x != LANE_STATE || b.p != b.end))
        why = LANE_BAD_END;
    return __reduce_max_sync(LANE_ALL, why);
}

/*
 * WIDE false: all bricks, but leaves those with wide or packed pixels; WIDE true: those, but leaves what is packed or
 * too large: sums of 64 counts, and of the weights of moments, must fit 16 bits.
 */
template <bool MOMENTS, bool WIDE>
__global__ void __launch_bounds__(MOMENTS ? MOMENT_THREADS : (int)SUM_THREADS, MOMENTS ? 1 : LANE_SUM_BLOCKS)
    sum_kernel(const __grid_constant__ lane_view v, const __grid_constant__ lane_goal g)
{
    extern __shared__ uint32_t tables[]; // [n_models][256], then the ids of each warp
    uint8_t *ids = reinterpret_cast<uint8_t *>(tables + v.n_models * LANE_SLOTS) + (threadIdx.x >> 5) * LANE_TILE;
    const uint32_t lane = threadIdx.x & 31, n = WIDE ? *g.n_list : g.n_items * g.n_rects;
    if (n == 0)
        return;
    for (uint32_t i = threadIdx.x; i < v.n_models * LANE_SLOTS; i += blockDim.x)
        tables[i] = v.table[i];
    __syncthreads();
    for (;;) {
        uint32_t i = next_of(g.next, lane, n);
        if (i == n)
            return;
        i = WIDE ? g.list[i] : i;
        const lane_item item = g.items[i / g.n_rects];
        const uint32_t rect = rect_of(v, g, i % g.n_rects);
        lane_brick b;
        if (!lane_begin(v, rect, item.tile, lane, ids, b))
            continue;
        if (b.n_positions != 2 * LANE_SPAN || (WIDE ? !lane_small(b, lane, ids, MOMENTS ? 224 : 767) : b.tall)) {
            if (lane == 0)
                g.tall[atomicAdd(g.n_tall, 1)] = i;
            __syncwarp();
            continue;
        }
        const lane_places places = places_of(v, g, rect);
        const uint32_t why = sum_dense<MOMENTS, WIDE>(v, g, item, places, b, lane, ids, tables);
        if (why && lane == 0)
            lane_report(v, rect, item.tile, why);
        __syncwarp();
    }
}

// -------------------------------------------------------------------------------------------------- sums over
// positions

// Which rows of each lane of each rectangle are selected: keep [n_rects][32].
__global__ void keep_kernel(const __grid_constant__ lane_view v, const __grid_constant__ lane_goal g,
                            const uint8_t *select, uint32_t *keep)
{
    const uint32_t lane = threadIdx.x & 31, k = blockIdx.x;
    const uint32_t rect = rect_of(v, g, k), first = (lane & 16 ? LANE_SPAN : 0) + (lane & 15);
    const lane_places places = places_of(v, g, rect);
    const lane_cut cut = lane_rect_of(v, rect);
    uint32_t bits = 0;
    for (uint32_t row = 0; row < LANE_ROWS; row++) {
        const uint32_t i = first + row * LANE_LANES;
        uint32_t at;
        if (i < cut.rows * cut.cols && place_of(g, places, i, &at) && (!select || select[at]))
            bits |= 1u << row;
    }
    keep[k * 32 + lane] = bits;
}

struct pixel_sink {
    const lane_view &v;
    const uint8_t *valid;
    unsigned long long *sums; // or NULL
    uint32_t *max;            // or NULL
    const lane_cut tile;
    uint32_t lane, keep, most;
    uint64_t sum;
    __device__ __forceinline__ void begin(uint32_t)
    {
        most = 0;
        sum = 0;
    }
    __device__ __forceinline__ void put(uint32_t row, uint32_t count)
    {
        const uint32_t c = keep >> row & 1 ? count : 0;
        sum += c;
        most = max_of(most, c);
    }
    __device__ __forceinline__ void patch(uint32_t row, uint32_t count)
    {
        put(row, count);
    }
    __device__ static __forceinline__ uint32_t max_of(uint32_t a, uint32_t b)
    {
        return a > b ? a : b;
    }
    __device__ __forceinline__ void end(uint32_t q)
    {
        const uint32_t pixel = (tile.row + q / tile.cols) * v.det_cols + tile.col + q % tile.cols;
        if (!valid[pixel])
            return;
        // in 32 bits by halves: 32 lanes of 32 rows of 16 bits fit
        const uint32_t low = __reduce_add_sync(LANE_ALL, (uint32_t)sum & 0xffff);
        const uint32_t middle = __reduce_add_sync(LANE_ALL, (uint32_t)(sum >> 16) & 0xffff);
        const uint32_t high = __reduce_add_sync(LANE_ALL, (uint32_t)(sum >> 32));
        const uint32_t top = __reduce_max_sync(LANE_ALL, most);
        const unsigned long long total = low + ((unsigned long long)middle << 16) + ((unsigned long long)high << 32);
        if (lane == 0 && sums && total)
            atomicAdd(sums + pixel, total);
        if (lane == 0 && max && top)
            atomicMax(max + pixel, top);
    }
};

__global__ void __launch_bounds__(THREADS)
    pixel_kernel(const __grid_constant__ lane_view v, const __grid_constant__ lane_goal g, const uint8_t *valid,
                 const uint32_t *keep, unsigned long long *sums, uint32_t *max)
{
    __shared__ uint8_t ids[WARPS][LANE_TILE];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (;;) {
        uint32_t i = 0;
        if (lane == 0)
            i = atomicAdd(g.next, 1);
        i = __shfl_sync(LANE_ALL, i, 0);
        if (i >= v.n_tiles * g.n_rects)
            return;
        const uint32_t tile = i / g.n_rects, k = i % g.n_rects, rect = rect_of(v, g, k), mine = keep[k * 32 + lane];
        lane_brick b;
        if (!__any_sync(LANE_ALL, mine) || !lane_begin(v, rect, tile, lane, ids[warp], b))
            continue;
        pixel_sink sink = {v, valid, sums, max, lane_tile_of(v, tile), lane, mine, 0, 0};
        const uint32_t why = lane_walk(v, v.table, b, lane, ids[warp], b.n_pixels, sink);
        if (why && lane == 0)
            lane_report(v, rect, tile, why);
        __syncwarp();
    }
}

// --------------------------------------------------------------------------------------------------------------- plan

// What the planes want, as items; grown on the host.
struct plan {
    lane_item *items;
    lane_out *outs;
    size_t n_items, n_outs;
    uint8_t *general; // [n_planes] 1: its weights differ within a tile
    bool moments;     // three planes: a mask, mask x row, mask x column
    uint64_t *order;  // [n_tiles] tiles, the heaviest first
};

void plan_free(plan *p)
{
    free(p->items);
    free(p->outs);
    free(p->general);
    free(p->order);
}

// Pixels of a tile that a plane wants; false when their weights differ.
bool wanted(const ronchi_lane_on *on, size_t tile, const uint32_t *plane, uint64_t *take, uint32_t *weight)
{
    const ronchi_lane_layout *l = &on->layout;
    const size_t row = tile / l->tiles_across * l->tile_rows, col = tile % l->tiles_across * l->tile_cols;
    const size_t rows = l->tile_rows < l->shape.det_rows - row ? l->tile_rows : l->shape.det_rows - row;
    const size_t cols = l->tile_cols < l->shape.det_cols - col ? l->tile_cols : l->shape.det_cols - col;
    bool same = true;
    *take = 0;
    *weight = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            const size_t pixel = (row + r) * l->shape.det_cols + col + c;
            const uint32_t w = on->host_valid[pixel] ? plane[pixel] : 0;
            if (!w)
                continue;
            same = same && (!*take || w == *weight);
            *weight = w;
            *take |= UINT64_C(1) << (r * cols + c);
        }
    return same;
}

uint32_t stop_of(uint64_t take)
{
    uint32_t stop = 64;
    while (stop && !(take >> (stop - 1) & 1))
        stop--;
    return stop;
}

int heavier(const void *a, const void *b)
{
    const uint64_t x = *static_cast<const uint64_t *>(a), y = *static_cast<const uint64_t *>(b);
    return x < y ? 1 : x > y ? -1 : 0;
}

// Heavy tiles first, so that the last warps to finish have light ones.
void order_tiles(const ronchi_lane_on *on, uint64_t *order)
{
    for (size_t i = 0; i < on->layout.n_tiles; i++) {
        const uint64_t words = on->tile_words[i] < UINT32_MAX ? on->tile_words[i] : UINT32_MAX;
        order[i] = words << 32 | (UINT32_MAX - (uint32_t)i);
    }
    qsort(order, on->layout.n_tiles, sizeof *order, heavier);
    for (size_t i = 0; i < on->layout.n_tiles; i++)
        order[i] = UINT32_MAX - (uint32_t)order[i];
}

// Items of one tile: planes that want the same pixels share one, their outs behind each other.
void plan_tile(const ronchi_lane_on *on, const ronchi_reduction *r, size_t tile, plan *p, uint64_t *takes,
               uint32_t *weights)
{
    for (size_t k = 0; k < r->n_planes; k++)
        if (p->general[k] || !wanted(on, tile, r->planes[k], &takes[k], &weights[k]))
            takes[k] = 0;
    for (size_t k = 0; k < r->n_planes; k++) {
        if (!takes[k])
            continue;
        lane_item item = {takes[k], (uint32_t)tile, stop_of(takes[k]), (uint32_t)p->n_outs, 0};
        for (size_t other = k; other < r->n_planes; other++)
            if (takes[other] == item.take) {
                p->outs[p->n_outs++] = {(uint32_t)other, weights[other]};
                takes[other] = 0;
                item.n++;
            }
        p->items[p->n_items++] = item;
    }
}

size_t shared_for(const ronchi_lane_on *on, size_t warps)
{
    return on->view.n_models * LANE_SLOTS * sizeof(uint32_t) + warps * LANE_TILE;
}

// Some devices have less shared memory than all models take: then tables stay where they are.
bool tables_fit(const ronchi_lane_on *on)
{
    return shared_for(on, MOMENT_THREADS / 32) <= on->device->shared_bytes;
}

// True for the three planes of moments: then one pass gives all of them.
bool are_moments(const ronchi_lane_on *on, const ronchi_reduction *r)
{
    const size_t n = on->layout.shape.det_rows * on->layout.shape.det_cols, cols = on->layout.shape.det_cols;
    bool so = r->n_planes == 3 && on->layout.value_bytes < 4 && tables_fit(on);
    for (size_t p = 0; so && p < n; p++) {
        const uint64_t w = r->planes[0][p];
        so = w <= 1 && r->planes[1][p] == w * (p / cols) && r->planes[2][p] == w * (p % cols);
    }
    return so;
}

// One item a tile: its sum goes to all three planes, by the place of the tile; then local row and column moments.
void plan_moments(const ronchi_lane_on *on, const ronchi_reduction *r, size_t tile, plan *p)
{
    const ronchi_lane_layout *l = &on->layout;
    const uint32_t row = (uint32_t)(tile / l->tiles_across * l->tile_rows);
    const uint32_t col = (uint32_t)(tile % l->tiles_across * l->tile_cols);
    uint64_t take;
    uint32_t weight;
    (void)wanted(on, tile, r->planes[0], &take, &weight);
    if (!take)
        return;
    p->items[p->n_items++] = {take, (uint32_t)tile, stop_of(take), (uint32_t)p->n_outs, 3};
    const lane_out outs[5] = {{0, 1}, {1, row}, {2, col}, {1, 1}, {2, 1}};
    memcpy(p->outs + p->n_outs, outs, sizeof outs);
    p->n_outs += 5;
}

ronchi_status plan_make(const ronchi_lane_on *on, const ronchi_reduction *r, plan *p, ronchi_error *err)
{
    const size_t n_tiles = on->layout.n_tiles, most = r->n_planes * n_tiles;
    memset(p, 0, sizeof *p);
    p->items = static_cast<lane_item *>(malloc((most + 1) * sizeof *p->items));
    p->outs = static_cast<lane_out *>(malloc((5 * n_tiles + most) * sizeof *p->outs));
    p->general = static_cast<uint8_t *>(calloc(r->n_planes + 1, 1));
    p->order = static_cast<uint64_t *>(malloc(n_tiles * sizeof *p->order));
    uint64_t *takes = static_cast<uint64_t *>(malloc((r->n_planes + 1) * sizeof *takes));
    uint32_t *weights = static_cast<uint32_t *>(malloc((r->n_planes + 1) * sizeof *weights));
    const bool have = p->items && p->outs && p->general && p->order && takes && weights;
    p->moments = have && are_moments(on, r);
    for (size_t k = 0; have && !p->moments && k < r->n_planes; k++)
        for (size_t tile = 0; tile < n_tiles && !p->general[k]; tile++)
            p->general[k] = !wanted(on, tile, r->planes[k], &takes[k], &weights[k]);
    if (have)
        order_tiles(on, p->order);
    for (size_t i = 0; have && i < n_tiles; i++)
        if (p->moments)
            plan_moments(on, r, (size_t)p->order[i], p);
        else
            plan_tile(on, r, (size_t)p->order[i], p, takes, weights);
    free(takes);
    free(weights);
    return have ? RONCHI_OK : ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a reduction");
}

// Items of a plane whose weights differ within tiles.
size_t plan_general(const ronchi_lane_on *on, const uint32_t *plane, size_t k, lane_item *items)
{
    size_t n = 0;
    for (size_t tile = 0; tile < on->layout.n_tiles; tile++) {
        uint64_t take;
        uint32_t weight;
        (void)wanted(on, tile, plane, &take, &weight);
        if (take)
            items[n++] = {take, (uint32_t)tile, stop_of(take), (uint32_t)k, 1};
    }
    return n;
}

// ----------------------------------------------------------------------------------------------------------- one call

// A reduction under way: pieces of the job's scratch, and their copies on the host.
struct reduction {
    const ronchi_lane_on *on;
    const ronchi_reduction *r;
    ronchi_cuda_job *job;
    lane_view v;
    lane_goal g;
    plan p;
    size_t n_places;
    // device
    unsigned long long *bad, *sums, *pixel_sums;
    uint32_t *next, *weights, *keep, *pixel_max;
    lane_item *items;
    lane_out *outs;
    uint8_t *select;
    uint32_t *tall;
    // page-locked host memory
    unsigned long long *host_bad;
    char *host;
    size_t host_used;
};

size_t carve(reduction *d, void *base)
{
    const ronchi_lane_on *on = d->on;
    const ronchi_reduction *r = d->r;
    const size_t n_pixels = on->layout.shape.det_rows * on->layout.shape.det_cols;
    const size_t most = (r->n_planes ? r->n_planes : 1) * on->layout.n_tiles;
    lane_carve c = {static_cast<char *>(base), 0};
    d->bad = c.take<unsigned long long>(1);
    d->next = c.take<uint32_t>(64);
    d->items = c.take<lane_item>(most);
    d->outs = c.take<lane_out>(most + 5 * on->layout.n_tiles);
    d->tall = c.take<uint32_t>(2 * d->p.n_items * d->g.n_rects);
    d->weights = c.take<uint32_t>(n_pixels);
    d->select = c.take<uint8_t>(r->select ? d->n_places : 1);
    d->keep = c.take<uint32_t>((size_t)d->g.n_rects * 32);
    d->pixel_sums = c.take<unsigned long long>(n_pixels);
    d->pixel_max = c.take<uint32_t>(n_pixels);
    d->sums = c.take<unsigned long long>(r->n_planes * d->n_places);
    return c.used;
}

// Host data to the device, through page-locked memory so that the copy is enqueued and not waited for.
ronchi_status send(reduction *d, void *to, const void *from, size_t bytes, ronchi_error *err)
{
    char *at = d->host + d->host_used;
    memcpy(at, from, bytes);
    d->host_used += (bytes + 255) / 256 * 256;
    return d->on->device->table->copy(d->on->device, d->job->stream, to, at, bytes, err);
}

// As many blocks as fit at a time, after the kernel was given the right to that much shared memory.
unsigned blocks_for(const ronchi_lane_on *on, const void *kernel, int threads, size_t shared)
{
    int per = 1;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, kernel, threads, shared);
    return (unsigned)(on->device->multiprocessors * (size_t)(per < 1 ? 1 : per));
}

template <class T, int HOW, bool LIST> void launch_any(reduction *d, lane_goal g, uint32_t skip)
{
    g.shared_tables = tables_fit(d->on);
    const size_t shared = g.shared_tables ? shared_for(d->on, WARPS) : WARPS * LANE_TILE;
    const unsigned blocks = blocks_for(d->on, (const void *)sum_any_kernel<T, HOW, LIST>, THREADS, shared);
    sum_any_kernel<T, HOW, LIST><<<blocks, THREADS, shared, d->job->stream>>>(d->v, g, skip);
}

template <bool MOMENTS, bool WIDE> void launch_sums(reduction *d, const lane_goal &g)
{
    const int threads = MOMENTS ? MOMENT_THREADS : (int)SUM_THREADS;
    const size_t shared = shared_for(d->on, threads / 32);
    const unsigned blocks = blocks_for(d->on, (const void *)sum_kernel<MOMENTS, WIDE>, threads, shared);
    sum_kernel<MOMENTS, WIDE><<<blocks, threads, shared, d->job->stream>>>(d->v, g);
}

// The kernel for nearly all bricks, that for what it leaves, and that for the rest.
template <bool MOMENTS> void launch_dense(reduction *d, lane_goal g)
{
    g.next = d->next;
    g.tall = d->tall;
    g.n_tall = d->next + 8;
    launch_sums<MOMENTS, false>(d, g);
    g.next = d->next + 1;
    g.list = g.tall;
    g.n_list = g.n_tall;
    g.tall = d->tall + g.n_items * g.n_rects;
    g.n_tall = d->next + 9;
    launch_sums<MOMENTS, true>(d, g);
    g.list = g.tall;
    g.n_list = g.n_tall;
    g.next = d->next + 2;
    launch_any<uint32_t, ONES, true>(d, g, 0);
    if (MOMENTS) {
        g.next = d->next + 3;
        launch_any<uint32_t, LOCAL_ROW, true>(d, g, 3);
        g.next = d->next + 4;
        launch_any<uint32_t, LOCAL_COL, true>(d, g, 4);
    }
}

ronchi_status launch_masks(reduction *d, ronchi_error *err)
{
    const ronchi_lane_on *on = d->on;
    ronchi_status status = send(d, d->items, d->p.items, d->p.n_items * sizeof *d->items, err);
    if (status == RONCHI_OK)
        status = send(d, d->outs, d->p.outs, d->p.n_outs * sizeof *d->outs, err);
    if (status != RONCHI_OK)
        return status;
    lane_goal g = d->g;
    g.items = d->items;
    g.outs = d->outs;
    g.n_items = (uint32_t)d->p.n_items;
    g.next = d->next;
    if (on->view.value_bytes == 4 || !tables_fit(on)) // sums of a tile may exceed 32 bits
        launch_any<uint64_t, ONES, false>(d, g, 0);
    else if (d->p.moments)
        launch_dense<true>(d, g);
    else
        launch_dense<false>(d, g);
    return RONCHI_CUDA_LAUNCH("masked sums", err);
}

ronchi_status launch_general(reduction *d, size_t k, ronchi_error *err)
{
    const ronchi_lane_on *on = d->on;
    const size_t n_pixels = on->layout.shape.det_rows * on->layout.shape.det_cols;
    const lane_out out = {(uint32_t)k, 1};
    // the buffers are used again for each plane: what runs must be done, and the host's copies too
    ronchi_status status = on->device->table->stream_wait(on->device, d->job->stream, err);
    d->host_used = 0;
    const size_t n = plan_general(on, d->r->planes[k], 0, d->p.items);
    if (status == RONCHI_OK)
        status = send(d, d->items, d->p.items, n * sizeof *d->items, err);
    if (status == RONCHI_OK)
        status = send(d, d->outs, &out, sizeof out, err);
    if (status == RONCHI_OK)
        status = send(d, d->weights, d->r->planes[k], n_pixels * sizeof *d->weights, err);
    if (status == RONCHI_OK)
        status = on->device->table->fill(on->device, d->job->stream, d->next, 0, sizeof *d->next, err);
    if (status != RONCHI_OK)
        return status;
    lane_goal g = d->g;
    g.items = d->items;
    g.outs = d->outs;
    g.weights = d->weights;
    g.n_items = (uint32_t)n;
    g.next = d->next;
    launch_any<uint64_t, PLANE, false>(d, g, 0);
    return RONCHI_CUDA_LAUNCH("weighted sums", err);
}

ronchi_status launch_pixels(reduction *d, ronchi_error *err)
{
    const ronchi_lane_on *on = d->on;
    ronchi_status status = RONCHI_OK;
    if (d->r->select) // not page-locked: the copy has left it when the call returns
        status = on->device->table->copy(on->device, d->job->stream, d->select, d->r->select, d->n_places, err);
    if (status != RONCHI_OK)
        return status;
    lane_goal g = d->g;
    g.next = d->next + 32;
    keep_kernel<<<g.n_rects, 32, 0, d->job->stream>>>(d->v, g, d->r->select ? d->select : NULL, d->keep);
    pixel_kernel<<<blocks_for(on, (const void *)pixel_kernel, THREADS, 0), THREADS, 0, d->job->stream>>>(
        d->v, g, on->valid, d->keep, d->r->pixel_sums ? d->pixel_sums : NULL, d->r->pixel_max ? d->pixel_max : NULL);
    return RONCHI_CUDA_LAUNCH("sums over positions", err);
}

ronchi_status launch_all(reduction *d, ronchi_error *err)
{
    const ronchi_lane_on *on = d->on;
    const ronchi_cuda_table *t = on->device->table;
    const ronchi_reduction *r = d->r;
    const size_t n_pixels = on->layout.shape.det_rows * on->layout.shape.det_cols;
    ronchi_status status = t->fill(on->device, d->job->stream, d->bad, 0xff, sizeof *d->bad, err);
    if (status == RONCHI_OK)
        status = t->fill(on->device, d->job->stream, d->next, 0, 64 * sizeof *d->next, err);
    if (status == RONCHI_OK && r->n_planes)
        status = t->fill(on->device, d->job->stream, d->sums, 0, r->n_planes * d->n_places * sizeof *d->sums, err);
    if (status == RONCHI_OK && (r->pixel_sums || r->pixel_max))
        status = t->fill(on->device, d->job->stream, d->pixel_sums, 0, n_pixels * sizeof *d->pixel_sums, err);
    if (status == RONCHI_OK && (r->pixel_sums || r->pixel_max))
        status = t->fill(on->device, d->job->stream, d->pixel_max, 0, n_pixels * sizeof *d->pixel_max, err);
    if (status == RONCHI_OK && d->p.n_items)
        status = launch_masks(d, err);
    if (status == RONCHI_OK && (r->pixel_sums || r->pixel_max))
        status = launch_pixels(d, err);
    for (size_t k = 0; status == RONCHI_OK && k < r->n_planes; k++)
        if (d->p.general[k])
            status = launch_general(d, k, err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, d->job->stream, d->host_bad, d->bad, sizeof *d->bad, err);
    return status;
}

ronchi_status fetch(reduction *d, ronchi_error *err)
{
    const ronchi_cuda_table *t = d->on->device->table;
    const ronchi_reduction *r = d->r;
    const size_t n_pixels = d->on->layout.shape.det_rows * d->on->layout.shape.det_cols;
    ronchi_status status = RONCHI_OK;
    if (r->n_planes)
        status = t->copy(d->on->device, d->job->stream, r->plane_sums, d->sums,
                         r->n_planes * d->n_places * sizeof *d->sums, err);
    if (status == RONCHI_OK && r->pixel_sums)
        status = t->copy(d->on->device, d->job->stream, r->pixel_sums, d->pixel_sums, n_pixels * 8, err);
    if (status == RONCHI_OK && r->pixel_max)
        status = t->copy(d->on->device, d->job->stream, r->pixel_max, d->pixel_max, n_pixels * 4, err);
    ronchi_status waited = t->stream_wait(d->on->device, d->job->stream, status == RONCHI_OK ? err : NULL);
    return status == RONCHI_OK ? waited : status;
}

} // namespace

ronchi_status lane_on_reduce(const ronchi_lane_on *on, const ronchi_reduction *r, uint64_t *bad, ronchi_error *err)
{
    const ronchi_lane_layout *l = &on->layout;
    const ronchi_cuda_table *t = on->device->table;
    reduction d;
    memset(&d, 0, sizeof d);
    d.on = on;
    d.r = r;
    d.n_places = r->scan_rows * r->scan_cols;
    const size_t row = r->scan_row / l->rect_rows, col = r->scan_col / l->rect_cols;
    d.g.first_rect = (uint32_t)(row * l->rects_across + col);
    d.g.rects_across = (uint32_t)((r->scan_col + r->scan_cols - 1) / l->rect_cols - col + 1);
    d.g.n_rects = (uint32_t)(((r->scan_row + r->scan_rows - 1) / l->rect_rows - row + 1) * d.g.rects_across);
    d.g.row = (uint32_t)r->scan_row;
    d.g.rows = (uint32_t)r->scan_rows;
    d.g.col = (uint32_t)r->scan_col;
    d.g.cols = (uint32_t)r->scan_cols;
    *bad = RONCHI_LANE_NOT_BAD;
    if ((r->n_planes + 1) * l->n_tiles > UINT32_MAX / d.g.n_rects)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "%zu masks are too many for one pass on a device", r->n_planes);
    ronchi_status status = plan_make(on, r, &d.p, err);
    ronchi_device_scope here(on->device);
    const size_t host_bytes = 256 + (d.p.n_items + d.p.n_outs + l->n_tiles) * sizeof(lane_item) + 4096 +
                              l->shape.det_rows * l->shape.det_cols * sizeof(uint32_t);
    if (status == RONCHI_OK)
        status = t->job_take(on->device, carve(&d, NULL), host_bytes, &d.job, err);
    if (status == RONCHI_OK) {
        carve(&d, d.job->scratch);
        d.host_bad = static_cast<unsigned long long *>(d.job->host);
        d.host = static_cast<char *>(d.job->host) + 256;
        d.v = on->view;
        d.v.bad = d.bad;
        d.g.sums = d.sums;
        lane_clock clock;
        lane_clock_start(&clock, on, d.job->stream);
        status = launch_all(&d, err);
        lane_clock_stop(&clock, d.job->stream);
        lane_clock_read(&clock);
        ronchi_status found = lane_on_finish(d.job, d.host_bad, bad, status == RONCHI_OK ? err : NULL);
        status = status == RONCHI_OK ? found : status;
    }
    if (status == RONCHI_OK)
        status = fetch(&d, err);
    t->job_give(d.job);
    plan_free(&d.p);
    return status;
}
