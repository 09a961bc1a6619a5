// SPDX-License-Identifier: MIT
// lane_rans_assemble.cu - encoded bricks of a rectangle to the words of its chunk, one behind the other.
#include "codec/lane_rans_encode_device.cuh"

namespace
{

constexpr uint32_t PLACE_THREADS = 1024, THREADS = 128;

// Sizes of bricks to offsets, by one block.
__global__ void __launch_bounds__(PLACE_THREADS) place_kernel(lane_encode_plan plan)
{
    __shared__ unsigned long long warps[PLACE_THREADS / 32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned long long before = 0; // words of all bricks of earlier rounds
    for (uint32_t first = 0; first < plan.n_tiles; first += PLACE_THREADS) {
        const uint32_t tile = first + threadIdx.x;
        unsigned long long n = tile < plan.n_tiles ? plan.made[tile].words : 0, sum = n;
        for (uint32_t d = 1; d < 32; d *= 2) {
            const unsigned long long other = __shfl_up_sync(~0u, sum, d);
            sum += lane >= d ? other : 0;
        }
        if (lane == 31)
            warps[warp] = sum;
        __syncthreads();
        unsigned long long earlier = before;
        for (uint32_t w = 0; w < PLACE_THREADS / 32; w++) {
            earlier += w < warp ? warps[w] : 0;
            before += warps[w];
        }
        if (tile < plan.n_tiles)
            plan.offset[tile] = (uint32_t)(earlier + sum - n);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        plan.offset[plan.n_tiles] = (uint32_t)before;
        plan.result->words = before;
    }
}

__device__ __forceinline__ void put32(uint16_t *to, uint32_t value)
{
    to[0] = (uint16_t)value;
    to[1] = (uint16_t)(value >> 16);
}

// Position i of a pixel.
template <class T>
__device__ __forceinline__ uint32_t count_at(const lane_encode_plan &plan, const uint4 *counts, uint32_t i)
{
    return lane_count_of<T>(plan, counts, i / LANE_SPAN * LANE_LANES + i % LANE_LANES, i % LANE_SPAN / LANE_LANES);
}

// Packs n_pixels pixels from p on in 'width' bits each: every thread makes whole words.
template <class T>
__device__ void pack(const lane_encode_plan &plan, uint32_t tile, uint32_t cols, uint32_t p, uint32_t n_pixels,
                     uint32_t base, uint32_t width, uint16_t *to)
{
    const uint64_t n_counts = (uint64_t)n_pixels * plan.n;
    const uint32_t n_words = (uint32_t)((n_counts * width + 15) / 16);
    for (uint32_t w = threadIdx.x; w < n_words; w += THREADS) {
        const uint64_t bit = (uint64_t)w * 16;
        uint64_t i = bit / width;
        uint32_t pixel = (uint32_t)(i / plan.n), position = (uint32_t)(i % plan.n), word = 0;
        int32_t at = (int32_t)((int64_t)(i * width) - (int64_t)bit); // of the count, in the word; first one: <= 0
        for (; at < 16 && i < n_counts; i++, at += (int32_t)width) {
            const uint4 *counts = lane_counts_of(plan, tile, lane_whole_pixel(plan, cols, p + pixel));
            const uint32_t v = count_at<T>(plan, counts, position) - base;
            word |= at < 0 ? v >> -at : v << at;
            if (++position == plan.n) {
                position = 0;
                pixel++;
            }
        }
        to[w] = (uint16_t)word;
    }
}

// A brick's ids in shared memory, with where each pixel's parameters and packed counts begin.
struct heads {
    uint8_t id[LANE_TILE], bits[LANE_TILE];
    uint32_t parameters[LANE_TILE], packed[LANE_TILE];
    uint32_t least, form, ids, all_parameters;
};

__device__ void read_heads(const lane_encode_plan &plan, const lane_made &made, uint32_t n_pixels, heads &h)
{
    if (threadIdx.x < LANE_TILE) {
        h.id[threadIdx.x] = made.id[threadIdx.x];
        h.bits[threadIdx.x] = made.bits[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t least = UINT32_MAX, most = 0, parameters = 0, packed = 0;
        for (uint32_t p = 0; p < n_pixels; p++) {
            const uint32_t id = h.id[p];
            least = min(least, id);
            most = max(most, id);
            h.parameters[p] = parameters;
            h.packed[p] = packed;
            parameters += id == LANE_ID_PACKED ? 3 : id >= LANE_ID_WIDE ? 2 : 0;
            packed += id == LANE_ID_PACKED ? (plan.n * h.bits[p] + 15) / 16 : 0;
        }
        h.least = least;
        h.form = least == most ? 0 : most - least < 16 ? 1 : 2;
        h.ids = h.form == 0 ? 0 : h.form == 1 ? (n_pixels + 3) / 4 : (n_pixels + 1) / 2;
        h.all_parameters = parameters;
    }
    __syncthreads();
}

__device__ void write_head(const lane_made &made, const heads &h, uint32_t n_pixels, uint16_t *to)
{
    const uint32_t t = threadIdx.x, ids = 1 + (h.form < 2), parameters = ids + h.ids;
    if (t == 0) {
        to[0] = (uint16_t)(2 | h.form << 4);
        if (h.form < 2)
            to[1] = (uint16_t)h.least;
    }
    if (t < h.ids) {
        const uint32_t each = h.form == 1 ? 4 : 2, bits = 16 / each;
        uint32_t word = 0;
        for (uint32_t k = 0; k < each && t * each + k < n_pixels; k++)
            word |= (h.id[t * each + k] - (h.form == 1 ? h.least : 0)) << k * bits;
        to[ids + t] = (uint16_t)word;
    }
    if (t < n_pixels && h.id[t] >= LANE_ID_WIDE) {
        uint16_t *at = to + parameters + h.parameters[t];
        if (h.id[t] == LANE_ID_PACKED) {
            put32(at, (uint32_t)made.base[t]);
            at[2] = h.bits[t];
        } else {
            put32(at, (uint32_t)h.bits[t] << 28 | ((uint32_t)made.base[t] & 0x0fffffff));
        }
    }
}

// Several loads are under way before the first is stored.
__device__ __forceinline__ void copy_words(uint16_t *__restrict__ to, const uint16_t *__restrict__ from, uint32_t n)
{
    constexpr uint32_t DEPTH = 8;
    for (uint32_t i = threadIdx.x; i < n; i += DEPTH * THREADS) {
        uint16_t v[DEPTH];
#pragma unroll
        for (uint32_t k = 0; k < DEPTH; k++)
            v[k] = i + k * THREADS < n ? from[i + k * THREADS] : 0;
#pragma unroll
        for (uint32_t k = 0; k < DEPTH; k++)
            if (i + k * THREADS < n)
                to[i + k * THREADS] = v[k];
    }
}

// Sizes, states and words of the streams; returns how many words that are.
__device__ uint32_t write_streams(const lane_encode_plan &plan, uint32_t tile, const lane_made &made, uint16_t *to)
{
    const uint32_t t = threadIdx.x, head = plan.n_streams * (2 + 2 * LANE_LANES);
    if (t < plan.n_streams)
        put32(to + 2 * t, made.stream_words[t] + made.escapes[t]);
    if (t < plan.n_streams * LANE_LANES)
        put32(to + 2 * plan.n_streams + 2 * t, made.x[t]);
    uint32_t at = head;
    for (uint32_t s = 0; s < plan.n_streams; s++) {
        const uint16_t *slot = plan.slots + ((size_t)tile * plan.n_streams + s) * plan.slot_words;
        const uint32_t words = made.stream_words[s], escapes = made.escapes[s];
        const uint16_t *first = slot + plan.slot_words - words;
        copy_words(to + at, first, words);
        copy_words(to + at + words, slot, escapes);
        at += words + escapes;
    }
    return at;
}

template <class T> __global__ void __launch_bounds__(THREADS) assemble_kernel(lane_encode_plan plan, uint16_t *words)
{
    __shared__ heads h;
    const uint32_t tile = blockIdx.x;
    const lane_made &made = plan.made[tile];
    if (made.words == 0)
        return;
    uint32_t rows, cols;
    lane_tile_size(plan, tile, &rows, &cols);
    const uint32_t n_pixels = rows * cols;
    uint16_t *to = words + plan.offset[tile];
    if (made.whole) {
        if (threadIdx.x == 0) {
            to[0] = 1;
            put32(to + 1, made.low);
            to[3] = (uint16_t)made.width;
        }
        if (made.width)
            pack<T>(plan, tile, cols, 0, n_pixels, made.low, made.width, to + 4);
        return;
    }
    read_heads(plan, made, n_pixels, h);
    write_head(made, h, n_pixels, to);
    to += 1 + (h.form < 2) + h.ids + h.all_parameters;
    if (made.coded)
        to += write_streams(plan, tile, made, to);
    for (uint32_t p = 0; p < n_pixels; p++)
        if (h.id[p] == LANE_ID_PACKED && h.bits[p])
            pack<T>(plan, tile, cols, p, 1, (uint32_t)made.base[p], h.bits[p], to + h.packed[p]);
}

} // namespace

ronchi_status lane_launch_place(const lane_encode_plan &plan, cudaStream_t stream, ronchi_error *err)
{
    place_kernel<<<1, PLACE_THREADS, 0, stream>>>(plan);
    return RONCHI_CUDA_LAUNCH("place_kernel", err);
}

ronchi_status lane_launch_assemble(const lane_encode_plan &plan, uint16_t *words, cudaStream_t stream,
                                   ronchi_error *err)
{
    if (plan.value_bytes == 4)
        assemble_kernel<uint32_t><<<plan.n_tiles, THREADS, 0, stream>>>(plan, words);
    else
        assemble_kernel<uint16_t><<<plan.n_tiles, THREADS, 0, stream>>>(plan, words);
    return RONCHI_CUDA_LAUNCH("assemble_kernel", err);
}
