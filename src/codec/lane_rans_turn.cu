// SPDX-License-Identifier: MIT
// lane_rans_turn.cu - frames to counts pixel by pixel, with their sums: what a brick is chosen and encoded from.
#include "codec/lane_rans_encode_device.cuh"

namespace
{

constexpr uint32_t THREADS = 256;
constexpr uint32_t AT_A_TIME = 128;   // positions: rows 4 q to 4 q + 3 and those 16 later, of one stream
constexpr uint32_t GROUP_BYTES = 256; // of a frame: 64 pixels of 4 bytes, or 2 or 4 tiles side by side
constexpr uint32_t GROUP_WORDS = GROUP_BYTES / 4;
constexpr uint32_t PITCH = GROUP_WORDS + 1; // words between positions: a lane reads down a column of banks
constexpr uint32_t ITEMS = GROUP_WORDS * LANE_LANES / THREADS;

// Squares of a thread's 32 counts fit.
template <class T> struct sums_of {
    typedef unsigned long long sum, sum2;
};
template <> struct sums_of<uint16_t> {
    typedef uint32_t sum;
    typedef unsigned long long sum2;
};
template <> struct sums_of<uint8_t> {
    typedef uint32_t sum, sum2;
};

// Position of number 'k' of part 'q' of stream 's'.
__device__ __forceinline__ uint32_t position_of(uint32_t s, uint32_t q, uint32_t k)
{
    return s * LANE_SPAN + q * 64 + (k < 64 ? k : k + 192);
}

// Reads one part of a group of tiles into 'part' [AT_A_TIME][PITCH], V bytes at a time; zeros for what is not there.
template <class V>
__device__ __forceinline__ void load_part(const lane_encode_plan &plan, const uint8_t *from, bool inside, uint32_t at,
                                          uint32_t q, uint32_t *part)
{
    constexpr uint32_t UNITS = GROUP_BYTES / sizeof(V), STEP = THREADS / UNITS, N = AT_A_TIME / STEP;
    constexpr uint32_t DEPTH = N < 8 ? N : 8;
    const uint32_t first = threadIdx.x / UNITS;
    for (uint32_t k = 0; k < N; k += DEPTH) {
        V v[DEPTH];
#pragma unroll
        for (uint32_t i = 0; i < DEPTH; i++) {
            const uint32_t position = position_of(blockIdx.y, q, first + (k + i) * STEP);
            v[i] = V();
            if (inside && position < plan.n)
                v[i] = *reinterpret_cast<const V *>(from + position * plan.pitch);
        }
#pragma unroll
        for (uint32_t i = 0; i < DEPTH; i++) {
            uint8_t *to = reinterpret_cast<uint8_t *>(part + (first + (k + i) * STEP) * PITCH) + at;
            if constexpr (sizeof(V) == 16) {
                uint32_t *w = reinterpret_cast<uint32_t *>(to);
                w[0] = v[i].x;
                w[1] = v[i].y;
                w[2] = v[i].z;
                w[3] = v[i].w;
            } else {
                *reinterpret_cast<V *>(to) = v[i];
            }
        }
    }
}

// Count 'k' of a word of counts.
template <class T> __device__ __forceinline__ uint32_t pick(uint32_t word, uint32_t k)
{
    return sizeof(T) == 4 ? word : word >> k * 8 * sizeof(T) & ((1ull << 8 * sizeof(T)) - 1);
}

template <class T> struct pixel_sums {
    typename sums_of<T>::sum sum;
    typename sums_of<T>::sum2 sum2;
    uint32_t low, high;
};

template <class T> __device__ __forceinline__ void add(pixel_sums<T> &s, uint32_t v, bool live)
{
    s.sum += v;
    s.sum2 += (typename sums_of<T>::sum2)v * v;
    s.low = min(s.low, live ? v : UINT32_MAX);
    s.high = max(s.high, v);
}

// Which of a group's pixels: tile (UINT32_MAX: none) and number in it.
struct place {
    uint32_t tile, pixel;
};

__device__ __forceinline__ place place_of(const lane_encode_plan &plan, uint32_t g, uint32_t group_tiles)
{
    const uint32_t cols = group_tiles * plan.tile_cols, groups = (plan.tiles_across + group_tiles - 1) / group_tiles;
    const uint32_t down = blockIdx.x / groups, across = blockIdx.x % groups * group_tiles + g % cols / plan.tile_cols;
    place p = {across < plan.tiles_across ? down * plan.tiles_across + across : UINT32_MAX,
               g / cols * plan.tile_cols + g % plan.tile_cols};
    return p;
}

// Writes 8 rows of a pixel and lane: 'v' are rows 4 q..4 q + 3 and those 16 later.
template <class T>
__device__ __forceinline__ void store_rows(const lane_encode_plan &plan, const place &at, uint32_t q, uint32_t lane,
                                           const uint32_t *v)
{
    uint4 *to = plan.counts + ((size_t)at.tile * LANE_TILE + at.pixel) * plan.vectors * plan.n_streams * LANE_LANES;
    const uint32_t lanes = plan.n_streams * LANE_LANES;
    if (sizeof(T) < 4) {
        to[q * lanes + lane] = make_uint4(v[0] | v[4] << 16, v[1] | v[5] << 16, v[2] | v[6] << 16, v[3] | v[7] << 16);
        return;
    }
    to[q * lanes + lane] = make_uint4(v[0], v[1], v[2], v[3]);
    if (q + 4 < plan.vectors)
        to[(q + 4) * lanes + lane] = make_uint4(v[4], v[5], v[6], v[7]);
}

// Sums of 16 lanes; lane 0 has them.
template <class T> __device__ __forceinline__ lane_part together(const pixel_sums<T> &s)
{
    lane_part r = {s.sum, s.sum2, s.low, s.high};
#pragma unroll
    for (uint32_t d = 8; d; d /= 2) {
        r.sum += __shfl_xor_sync(~0u, r.sum, d);
        r.sum2 += __shfl_xor_sync(~0u, r.sum2, d);
        r.low = min(r.low, __shfl_xor_sync(~0u, r.low, d));
        r.high = max(r.high, __shfl_xor_sync(~0u, r.high, d));
    }
    return r;
}

template <class T, class V> __global__ void __launch_bounds__(THREADS) turn_kernel(lane_encode_plan plan)
{
    __shared__ uint32_t part[AT_A_TIME * PITCH];
    constexpr uint32_t PER_WORD = 4 / sizeof(T), GROUP_TILES = PER_WORD;
    const uint32_t groups = (plan.tiles_across + GROUP_TILES - 1) / GROUP_TILES;
    // what this thread loads: always the same bytes of a frame
    const uint32_t byte = threadIdx.x % (GROUP_BYTES / sizeof(V)) * sizeof(V), row_bytes = 4 * plan.tile_cols;
    const uint32_t row = blockIdx.x / groups * plan.tile_rows + byte / row_bytes;
    const uint32_t in_row = blockIdx.x % groups * row_bytes + byte % row_bytes;
    const size_t det_bytes = plan.det_cols * sizeof(T);
    const bool inside = row < plan.det_rows && in_row < det_bytes;
    const uint8_t *from = plan.frames + row * det_bytes + in_row;
    // what it turns: words of pixels, 16 words apart in the two halves of a warp so that their banks differ
    const uint32_t l = threadIdx.x & 15, lane = blockIdx.y * LANE_LANES + l;
    const uint32_t first_word = threadIdx.x / 32 + (threadIdx.x & 16);
    const uint32_t n_parts = sizeof(T) == 4 ? min(plan.vectors, 4u) : plan.vectors;
    pixel_sums<T> sums[ITEMS][PER_WORD];
#pragma unroll
    for (uint32_t j = 0; j < ITEMS; j++)
#pragma unroll
        for (uint32_t k = 0; k < PER_WORD; k++)
            sums[j][k] = {0, 0, UINT32_MAX, 0};
#pragma unroll 1
    for (uint32_t q = 0; q < n_parts; q++) {
        load_part<V>(plan, from, inside, byte, q, part);
        __syncthreads();
#pragma unroll
        for (uint32_t j = 0; j < ITEMS; j++) {
            const uint32_t word = first_word + j % 2 * 8 + j / 2 * 32;
            uint32_t w[8];
#pragma unroll
            for (uint32_t i = 0; i < 8; i++)
                w[i] = part[(i * 16 + l) * PITCH + word];
#pragma unroll
            for (uint32_t k = 0; k < PER_WORD; k++) {
                const place at = place_of(plan, word * PER_WORD + k, GROUP_TILES);
                uint32_t v[8];
#pragma unroll
                for (uint32_t i = 0; i < 8; i++) {
                    v[i] = pick<T>(w[i], k);
                    add<T>(sums[j][k], v[i], position_of(blockIdx.y, q, i * 16 + l) < plan.n);
                }
                if (at.tile != UINT32_MAX)
                    store_rows<T>(plan, at, q, lane, v);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (uint32_t j = 0; j < ITEMS; j++)
#pragma unroll
        for (uint32_t k = 0; k < PER_WORD; k++) {
            const place at = place_of(plan, (first_word + j % 2 * 8 + j / 2 * 32) * PER_WORD + k, GROUP_TILES);
            const lane_part r = together<T>(sums[j][k]);
            if (l == 0 && at.tile != UINT32_MAX)
                plan.parts[((size_t)blockIdx.y * plan.n_tiles + at.tile) * LANE_TILE + at.pixel] = r;
        }
}

template <class T> ronchi_status launch(const lane_encode_plan &plan, cudaStream_t stream, ronchi_error *err)
{
    constexpr uint32_t GROUP_TILES = 4 / sizeof(T);
    const dim3 grid(plan.tiles_down * ((plan.tiles_across + GROUP_TILES - 1) / GROUP_TILES), plan.n_streams);
    // the widest loads that every row and frame is aligned for
    const size_t aligned = reinterpret_cast<uintptr_t>(plan.frames) | plan.pitch | plan.det_cols * sizeof(T);
    if (aligned % 16 == 0 && plan.tile_cols >= 4)
        turn_kernel<T, uint4><<<grid, THREADS, 0, stream>>>(plan);
    else if (aligned % 4 == 0)
        turn_kernel<T, uint32_t><<<grid, THREADS, 0, stream>>>(plan);
    else
        turn_kernel<T, T><<<grid, THREADS, 0, stream>>>(plan);
    return RONCHI_CUDA_LAUNCH("turn_kernel", err);
}

} // namespace

ronchi_status lane_launch_turn(const lane_encode_plan &plan, cudaStream_t stream, ronchi_error *err)
{
    return plan.value_bytes == 1   ? launch<uint8_t>(plan, stream, err)
           : plan.value_bytes == 2 ? launch<uint16_t>(plan, stream, err)
                                   : launch<uint32_t>(plan, stream, err);
}
