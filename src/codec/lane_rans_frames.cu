// SPDX-License-Identifier: MIT
//
// lane_rans_frames.cu - frames of 16-bit counts to device memory: the reads that must be fast.
//
// A decoded brick is 1,024 positions of one pixel after the other; a frame wants pixels beside each other.  Four warps
// take four tiles side by side of one rectangle, decode a tile row (8 pixels) each to bytes in shared memory, and write
// it together: 64 bytes a position.  Counts above 255 are rare where this pays; a brick that has one is decoded again
// by itself when its group is done, straight to memory.
#include <string.h>

#include "codec/lane_rans_on.cuh"

namespace
{

enum {
    GROUP = 4,                      // tiles, and warps, side by side
    MOST_GROUPS = 5,                // of a block
    PITCH = 2 * LANE_SPAN * 8 + 32, // bytes of one tile's row of pixels; 32 apart in banks
    GROUP_BYTES = GROUP * PITCH + GROUP * LANE_TILE + 16
};

struct frames_goal {
    char *to;
    int64_t stride_row, stride_col, stride_line; // scan row, scan column, detector row
    uint32_t row, rows, col, cols;               // scan region
    uint32_t det_row, det_rows, det_col;         // detector region; whole tiles across
    uint32_t first_rect, rects_across, n_rects;
    uint32_t first_tile, tiles_across, tiles_down, groups_across;
    uint32_t n_groups; // of a block
    uint32_t *next;
};

__device__ __forceinline__ void group_wait(uint32_t group)
{
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(32 * GROUP) : "memory");
}

// Adds a count to the row of an escape, which is not known beforehand.
__device__ __forceinline__ void add_late(uint32_t *pairs, uint32_t scale, uint32_t row, uint32_t count)
{
#pragma unroll
    for (uint32_t k = 0; k < 16; k++)
        if (row / 2 == k)
            pairs[k] += (count & 255) * scale << (row & 1) * 16;
}

// Decodes pixel q and adds it to 'pairs'.  Escapes: 'redo', unless they fit a byte.
__device__ __forceinline__ void add_pixel(const lane_view &v, lane_brick &b, uint32_t lane, uint32_t below,
                                          uint32_t half, const uint32_t *tables, uint32_t id, uint32_t scale,
                                          uint32_t &parameter, uint32_t &packed, uint32_t *pairs, uint32_t &why,
                                          bool &redo)
{
    const uint32_t *table = tables + (uint32_t)__ldg(v.slot + id) * LANE_SLOTS;
    uint32_t escapes = 0;
    if (id == LANE_ID_ZERO)
        return;
    if (id < LANE_ID_COUNT) {
        uint32_t nibbles[4] = {0, 0, 0, 0};
        const uint32_t j = __ldg(v.shift + id);
        escapes = lane_groups_of(j, b, below, half, table, true, nibbles);
#pragma unroll
        for (uint32_t k = 0; k < 16; k++) {
            const uint32_t two = nibbles[k / 4] >> (8 * (k % 4));
            pairs[k] += ((two & 15) | (two & 0xf0) << 12) * scale;
        }
        if (__any_sync(LANE_ALL, escapes != 0)) {
            bool large = false;
            lane_escaped_groups(v, b, lane, escapes, j, why, [&](uint32_t row, uint32_t count) {
                large |= count > 255;
                add_late(pairs, scale, row, count);
            });
            redo |= __any_sync(LANE_ALL, large);
        }
    } else if (id < LANE_ID_WIDE) {
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
            pairs[k] += (pair & 0x00ff00ff) * scale;
        }
        if (__any_sync(LANE_ALL, early | flags)) { // rows are found again: this is rare
            uint32_t rows = 0;
            for (uint32_t k = 0; k < 8; k++)
                rows |= (early >> (1 + k) & 1) << 2 * k | (early >> (17 + k) & 1) << (2 * k + 1) |
                        (flags >> (1 + k) & 1) << (16 + 2 * k) | (flags >> (17 + k) & 1) << (17 + 2 * k);
            bool large = false;
            lane_escapes(v, b, lane, rows, why, [&](uint32_t row, uint32_t value) {
                large |= value > 255;
                add_late(pairs, scale, row, value);
            });
            redo |= __any_sync(LANE_ALL, large);
        }
    } else if (id < LANE_ID_PACKED) {
        const uint32_t value = b.words[parameter] | (uint32_t)b.words[parameter + 1] << 16, shift = value >> 28;
        const int32_t base = (int32_t)(value << 4) >> 4;
        const uint32_t low = (1u << shift) - 1;
        bool large = false;
        parameter += 2;
#pragma unroll
        for (uint32_t row = 0; row < LANE_ROWS; row++) {
            const uint32_t symbol = lane_symbol(b.x, table) >> 16;
            const bool escape = symbol & LANE_FLAG;
            const uint32_t count = escape ? 0 : (uint32_t)(base + (int32_t)(symbol << shift | (b.x & low)));
            if (!escape)
                b.x >>= shift;
            if (shift || (row & 1))
                lane_refill(b, true, below, half);
            escapes |= (uint32_t)escape << row;
            large |= count > 255;
            pairs[row / 2] += (count & 255) * scale << (row & 1) * 16;
        }
        if (__any_sync(LANE_ALL, escapes != 0))
            lane_escapes(v, b, lane, escapes, why, [&](uint32_t row, uint32_t count) {
                large |= count > 255;
                add_late(pairs, scale, row, count);
            });
        redo |= __any_sync(LANE_ALL, large);
    } else {
        const uint32_t base = b.words[parameter] | (uint32_t)b.words[parameter + 1] << 16;
        const uint32_t width = b.words[parameter + 2];
        const uint16_t *words = b.words + packed;
        bool large = false;
        parameter += 3;
        packed += (b.n_positions * width + 15) / 16;
#pragma unroll 4
        for (uint32_t row = 0; row < LANE_ROWS; row++) {
            const uint32_t i = (lane & 16 ? LANE_SPAN : 0) + row * LANE_LANES + (lane & 15);
            const uint32_t count = base + lane_bits(words, (uint64_t)i * width, width);
            large |= count > 255;
            add_late(pairs, scale, row, count);
        }
        redo |= __any_sync(LANE_ALL, large);
    }
}

// A whole brick straight to memory, count by count.
struct line_sink {
    const frames_goal &g;
    char *at; // of position 0 of the rectangle and pixel 0 of the tile
    uint32_t first, q_row, q_col, tile_cols, line, lines;
    char *pixel;
    __device__ __forceinline__ void begin(uint32_t q)
    {
        const uint32_t row = q / tile_cols;
        pixel = row >= line && row < lines ? at + (int64_t)row * g.stride_line + 2 * (q % tile_cols) : nullptr;
    }
    __device__ __forceinline__ void put(uint32_t row, uint32_t count)
    {
        const uint32_t i = first + row * LANE_LANES;
        if (pixel)
            *reinterpret_cast<uint16_t *>(pixel + (i >> 5) * g.stride_row + (i & 31) * g.stride_col) = (uint16_t)count;
    }
    __device__ __forceinline__ void patch(uint32_t row, uint32_t count)
    {
        put(row, count);
    }
    __device__ __forceinline__ void end(uint32_t)
    {
    }
};

__device__ __noinline__ void brick_alone(const lane_view &v, const frames_goal &g, char *at, uint32_t rect,
                                         uint32_t tile, uint32_t lane, uint8_t *ids, uint32_t line, uint32_t lines)
{
    lane_brick b;
    if (!lane_begin(v, rect, tile, lane, ids, b))
        return;
    line_sink sink = {g,     at,     (lane & 16 ? LANE_SPAN : 0) + (lane & 15), 0, 0, lane_tile_of(v, tile).cols, line,
                      lines, nullptr};
    const uint32_t why = lane_walk(v, v.table, b, lane, ids, b.n_pixels, sink);
    if (why && lane == 0)
        lane_report(v, rect, tile, why);
}

__global__ void __launch_bounds__(32 * GROUP * MOST_GROUPS, 1)
    frames_kernel(const __grid_constant__ lane_view v, const __grid_constant__ frames_goal g)
{
    extern __shared__ __align__(16) uint8_t shared[];
    uint32_t *tables = reinterpret_cast<uint32_t *>(shared);
    for (uint32_t i = threadIdx.x; i < v.n_models * LANE_SLOTS; i += blockDim.x)
        tables[i] = v.table[i];
    __syncthreads();
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = warp / GROUP, member = warp % GROUP;
    const uint32_t half = lane & 16 ? 0xffff0000u : 0xffffu, below = ((1u << lane) - 1) & half;
    uint8_t *own = shared + (size_t)v.n_models * LANE_SLOTS * 4 + group * GROUP_BYTES;
    uint8_t *ids = own + GROUP * PITCH + member * LANE_TILE;
    volatile uint32_t *work = reinterpret_cast<uint32_t *>(own + GROUP * PITCH + GROUP * LANE_TILE);
    // where this lane's positions lie in the row of its tile: halves have their words crossed, so that banks differ
    uint8_t *bytes = own + member * PITCH + ((lane & 16 ? LANE_SPAN : 0) + (lane & 15)) * 8;
    const uint32_t cross = lane & 16 ? 4 : 0, n = g.n_rects * g.tiles_down * g.groups_across;
    for (;;) {
        if (member == 0 && lane == 0)
            *work = atomicAdd(g.next, 1);
        group_wait(group);
        const uint32_t i = *work;
        group_wait(group);
        if (i >= n)
            return;
        const uint32_t k = i / (g.tiles_down * g.groups_across), t = i % (g.tiles_down * g.groups_across);
        const uint32_t rect = g.first_rect + k / g.rects_across * v.rects_across + k % g.rects_across;
        const lane_cut cut = lane_rect_of(v, rect);
        if (cut.rows != 32 || cut.cols != 32 || cut.row < g.row || cut.row + 32 > g.row + g.rows || cut.col < g.col ||
            cut.col + 32 > g.col + g.cols)
            continue; // left to the other kernel
        const uint32_t across = t % g.groups_across * GROUP + member,
                       n_tiles = min(GROUP, g.tiles_across - (across - member));
        const bool mine = across < g.tiles_across;
        const uint32_t tile = g.first_tile + t / g.groups_across * v.tiles_across + (mine ? across : across - member);
        const lane_cut pixels = lane_tile_of(v, tile);
        // rows of the tile that the region wants
        const uint32_t line = max(pixels.row, g.det_row) - pixels.row;
        const uint32_t lines = min(pixels.row + pixels.rows, g.det_row + g.det_rows) - pixels.row;
        char *corner = g.to + (int64_t)(cut.row - g.row) * g.stride_row + (int64_t)(cut.col - g.col) * g.stride_col +
                       ((int64_t)pixels.row - g.det_row) * g.stride_line + 2 * ((int64_t)pixels.col - g.det_col);
        lane_brick b;
        uint32_t why = 0, parameter = 0, packed = 0;
        bool redo = false, some = false;
        if (mine) {
            some = lane_begin(v, rect, tile, lane, ids, b);
            redo = some && b.whole;
            some = some && !b.whole;
            parameter = b.parameters;
            packed = b.packed;
        }
        for (uint32_t r = 0; r < lines; r++) {
#pragma unroll 1
            for (uint32_t c = 0; mine && c < 8; c += 2) {
                uint32_t pairs[16];
#pragma unroll
                for (uint32_t e = 0; e < 16; e++)
                    pairs[e] = 0;
#pragma unroll 1
                for (uint32_t e = 0; some && !why && e < 2; e++) {
                    add_pixel(v, b, lane, below, half, tables, ids[r * 8 + c + e], e ? 256 : 1, parameter, packed,
                              pairs, why, redo);
                    if (b.p > b.end)
                        why = LANE_BAD_WORDS;
                    why = __reduce_max_sync(LANE_ALL, why);
                }
                uint8_t *at = bytes + (c ^ cross);
#pragma unroll
                for (uint32_t e = 0; e < 16; e++) {
                    *reinterpret_cast<uint16_t *>(at + 2 * e * LANE_LANES * 8) = (uint16_t)pairs[e];
                    *reinterpret_cast<uint16_t *>(at + (2 * e + 1) * LANE_LANES * 8) = (uint16_t)(pairs[e] >> 16);
                }
            }
            group_wait(group);
            if (r >= line) {
                const uint32_t me = member * 32 + lane, column = me % GROUP;
                char *to = corner + (int64_t)r * g.stride_line + 16 * ((int64_t)column - (mine ? member : 0));
                for (uint32_t i2 = me / GROUP; column < n_tiles && i2 < 2 * LANE_SPAN; i2 += 32) {
                    uint2 w = *reinterpret_cast<const uint2 *>(own + column * PITCH + i2 * 8);
                    if (i2 >= LANE_SPAN) {
                        const uint32_t swap = w.x;
                        w.x = w.y;
                        w.y = swap;
                    }
                    const uint4 out = {__byte_perm(w.x, 0, 0x4140), __byte_perm(w.x, 0, 0x4342),
                                       __byte_perm(w.y, 0, 0x4140), __byte_perm(w.y, 0, 0x4342)};
                    *reinterpret_cast<uint4 *>(to + (i2 >> 5) * g.stride_row + (i2 & 31) * g.stride_col) = out;
                }
            }
            group_wait(group);
        }
        if (mine && some && !why && !redo && lines == pixels.rows && b.coded && (b.x != LANE_STATE || b.p != b.end))
            why = LANE_BAD_END;
        why = __reduce_max_sync(LANE_ALL, why);
        if (why && lane == 0)
            lane_report(v, rect, tile, why);
        if (redo && !why)
            brick_alone(v, g, corner, rect, tile, lane, ids, line, lines);
        __syncwarp();
    }
}

} // namespace

bool lane_on_frames(const ronchi_lane_on *on, const lane_view &v, const ronchi_region *r, const ronchi_view *out,
                    ronchi_cuda_job *job, bool *cut, ronchi_status *status, ronchi_error *err)
{
    const ronchi_lane_layout *l = &on->layout;
    const size_t tables = on->view.n_models * LANE_SLOTS * sizeof(uint32_t);
    const bool right = out->dtype == RONCHI_U16 && l->value_bytes <= 2 && l->tile_rows == 8 && l->tile_cols == 8 &&
                       l->rect_rows == 32 && l->rect_cols == 32 && r->det_col % 8 == 0 && r->det_cols % 8 == 0 &&
                       out->stride[3] == 2 && out->stride[2] % 16 == 0 && out->stride[1] % 16 == 0 &&
                       out->stride[0] % 16 == 0 && (uintptr_t)out->data % 16 == 0 && r->scan_rows >= 32 &&
                       r->scan_cols >= 32 && tables + GROUP_BYTES <= on->device->shared_bytes;
    *status = RONCHI_OK;
    *cut = true;
    if (!right)
        return false;
    frames_goal g;
    memset(&g, 0, sizeof g);
    g.to = static_cast<char *>(out->data);
    g.stride_row = out->stride[0];
    g.stride_col = out->stride[1];
    g.stride_line = out->stride[2];
    g.row = (uint32_t)r->scan_row;
    g.rows = (uint32_t)r->scan_rows;
    g.col = (uint32_t)r->scan_col;
    g.cols = (uint32_t)r->scan_cols;
    g.det_row = (uint32_t)r->det_row;
    g.det_rows = (uint32_t)r->det_rows;
    g.det_col = (uint32_t)r->det_col;
    const size_t rect_row = r->scan_row / 32, rect_col = r->scan_col / 32, tile_row = r->det_row / 8;
    g.first_rect = (uint32_t)(rect_row * l->rects_across + rect_col);
    g.rects_across = (uint32_t)((r->scan_col + r->scan_cols - 1) / 32 - rect_col + 1);
    g.n_rects = (uint32_t)((r->scan_row + r->scan_rows - 1) / 32 - rect_row + 1) * g.rects_across;
    g.first_tile = (uint32_t)(tile_row * l->tiles_across + r->det_col / 8);
    g.tiles_across = (uint32_t)(r->det_cols / 8);
    g.tiles_down = (uint32_t)((r->det_row + r->det_rows - 1) / 8 - tile_row + 1);
    g.groups_across = (g.tiles_across + GROUP - 1) / GROUP;
    g.next = reinterpret_cast<uint32_t *>(static_cast<char *>(job->scratch) + 64);
    size_t groups = (on->device->shared_bytes - tables) / GROUP_BYTES;
    groups = groups < (size_t)MOST_GROUPS ? groups : (size_t)MOST_GROUPS;
    const size_t bytes = tables + groups * GROUP_BYTES;
    *cut = (r->scan_row | r->scan_col | r->scan_rows | r->scan_cols) % 32 != 0;
    *status = on->device->table->fill(on->device, job->stream, g.next, 0, sizeof *g.next, err);
    if (*status == RONCHI_OK)
        *status = RONCHI_CUDA(
            cudaFuncSetAttribute(frames_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), err);
    if (*status != RONCHI_OK)
        return true;
    frames_kernel<<<(unsigned)on->device->multiprocessors, (unsigned)(32 * GROUP * groups), bytes, job->stream>>>(v, g);
    *status = RONCHI_CUDA_LAUNCH("decoding of frames", err);
    return true;
}
