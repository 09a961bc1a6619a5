// SPDX-License-Identifier: MIT
// lane_rans_encode.cu - a warp a brick: models from the pixels' sums, then both streams.  The twin of
// lane_rans_encode.c, with the choice of lane_rans_choose.c and the streams of lane_rans_encode_stream.c.
#include "codec/lane_rans_choose_core.h"
#include "codec/lane_rans_push.cuh"

namespace
{

constexpr uint32_t WARPS = 4;

template <class T> __device__ __forceinline__ T warp_sum(T v)
{
#pragma unroll
    for (uint32_t d = 16; d; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// Sums of counts above the least one; those more than 65,535 above it count as that.
template <class T>
__device__ __forceinline__ void clamped_moments(const lane_encode_plan &plan, const uint4 *counts, ronchi_lane_stats *s)
{
    s->sum_low = s->sum_low2 = 0;
    for (uint32_t i = 0; i < plan.n; i++) {
        const uint32_t lane = (i / LANE_SPAN) * LANE_LANES + i % LANE_LANES, row = i % LANE_SPAN / LANE_LANES;
        const uint64_t d = min(lane_count_of<T>(plan, counts, lane, row) - s->low, (uint32_t)UINT16_MAX);
        s->sum_low += d;
        s->sum_low2 += d * d;
    }
}

template <class T>
__device__ __forceinline__ ronchi_lane_stats stats_of(const lane_encode_plan &plan, uint32_t tile, uint32_t whole)
{
    lane_part a = plan.parts[(size_t)tile * LANE_TILE + whole];
    if (plan.n_streams > 1) {
        const lane_part b = plan.parts[((size_t)plan.n_tiles + tile) * LANE_TILE + whole];
        a.sum += b.sum;
        a.sum2 += b.sum2;
        a.low = min(a.low, b.low);
        a.high = max(a.high, b.high);
    }
    ronchi_lane_stats s = {a.sum, a.low, a.high, 0, 0};
    const uint64_t low = a.low, n = plan.n;
    if (sizeof(T) < 4 || a.high - a.low <= UINT16_MAX) { // below 2^64, so right although the squares' sum may wrap
        s.sum_low = a.sum - n * low;
        s.sum_low2 = a.sum2 - 2 * low * a.sum + n * low * low;
    } else {
        clamped_moments<T>(plan, lane_counts_of(plan, tile, whole), &s);
    }
    return s;
}

// What a warp knows of its brick: pixel p is of lane p % 32, in element p / 32.
struct brick {
    uint32_t tile, rows, cols, n_pixels;
    ronchi_lane_stats stats[2];
    ronchi_lane_pick pick[2];
    uint32_t low, high;
};

template <class T> __device__ __forceinline__ void measure(const lane_encode_plan &plan, uint32_t lane, brick &b)
{
    uint32_t low = UINT32_MAX, high = 0, most = 0;
    const uint32_t row = b.tile / plan.tiles_across * plan.tile_rows, col = b.tile % plan.tiles_across * plan.tile_cols;
#pragma unroll
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t p = lane + 32 * k;
        b.stats[k] = {0, 0, 0, 0, 0};
        if (p >= b.n_pixels)
            continue;
        b.stats[k] = stats_of<T>(plan, b.tile, lane_whole_pixel(plan, b.cols, p));
        low = min(low, b.stats[k].low);
        high = max(high, b.stats[k].high);
        if (plan.valid[(size_t)(row + p / b.cols) * plan.det_cols + col + p % b.cols])
            most = max(most, b.stats[k].high);
    }
    b.low = __reduce_min_sync(~0u, low);
    b.high = __reduce_max_sync(~0u, high);
    most = __reduce_max_sync(~0u, most);
    if (lane == 0 && most > *(volatile uint32_t *)&plan.result->most)
        atomicMax(&plan.result->most, most);
}

// ronchi_lane_choose() of a warp.
__device__ __forceinline__ void choose(const lane_encode_plan &plan, uint32_t lane, brick &b)
{
    unsigned long long spread = 0, mean = 0, sum = 0;
    bool sparse = true;
    uint64_t spread_one = 0, mean_one = 0;
    for (uint32_t k = 0; k < 2; k++)
        if (lane + 32 * k < b.n_pixels)
            ronchi_lane_add_spread(&b.stats[k], plan.n, &spread_one, &mean_one);
    spread = warp_sum((unsigned long long)spread_one);
    mean = warp_sum((unsigned long long)mean_one);
    const unsigned dispersion = ronchi_lane_dispersion(spread, mean);
    for (uint32_t k = 0; k < 2; k++) {
        b.pick[k] = {0, LANE_ID_ZERO, 0, 0};
        if (lane + 32 * k < b.n_pixels)
            b.pick[k] = ronchi_lane_pick_model(&b.stats[k], plan.n, dispersion);
        sparse = sparse && b.pick[k].id <= LANE_SPARSE;
        sum += b.stats[k].sum;
    }
    if (!__all_sync(~0u, sparse))
        return;
    sum = warp_sum(sum);
    const unsigned uniform = ronchi_lane_uniform(sum, plan.n, b.n_pixels);
    long long loss = 0;
    for (uint32_t k = 0; k < 2; k++)
        if (lane + 32 * k < b.n_pixels)
            loss += ronchi_lane_uniform_loss(b.stats[k].sum, plan.n, b.pick[k].id, uniform);
    loss = warp_sum(loss);
    if (ronchi_lane_uniform_pays(sum, loss, b.n_pixels))
        for (uint32_t k = 0; k < 2; k++)
            if (lane + 32 * k < b.n_pixels)
                b.pick[k].id = (uint8_t)(1 + uniform);
}

template <class T>
__device__ __forceinline__ void load_counts(const lane_encode_plan &plan, uint32_t tile, uint32_t whole, uint32_t lane,
                                            lane_counts<T> &c)
{
    const uint4 *from = lane_counts_of(plan, tile, whole);
    const uint32_t lanes = plan.n_streams * LANE_LANES;
#pragma unroll
    for (uint32_t q = 0; q < lane_counts<T>::WORDS / 4; q++) {
        uint4 v = make_uint4(0, 0, 0, 0);
        if (q < plan.vectors && lane < lanes)
            v = from[q * lanes + lane];
        c.w[4 * q] = v.x;
        c.w[4 * q + 1] = v.y;
        c.w[4 * q + 2] = v.z;
        c.w[4 * q + 3] = v.w;
    }
}

template <class T>
__device__ __forceinline__ uint32_t push_sparse(lane_push &s, const lane_counts<T> &c, uint32_t most, uint32_t shift)
{
    switch (shift) {
    case 1:
        return lane_push_groups<T, 1>(s, c, most);
    case 2:
        return lane_push_groups<T, 2>(s, c, most);
    case 3:
        return lane_push_groups<T, 3>(s, c, most);
    case 4:
        return lane_push_groups<T, 4>(s, c, most);
    default:
        return lane_push_groups<T, 5>(s, c, most);
    }
}

// One pixel, its counts and table in place.
template <class T>
__device__ __forceinline__ void push_pixel(const lane_encode_plan &plan, lane_push &s, const lane_counts<T> &c,
                                           const uint4 *counts, uint32_t lane, uint32_t id, uint32_t shift,
                                           int32_t base, uint32_t most)
{
    uint32_t escapes;
    if (id < LANE_ID_COUNT) {
        const uint32_t rows = s.entry[0].w >> 24;
        escapes = push_sparse<T>(s, c, most, rows);
        if (__any_sync(~0u, escapes != 0))
            lane_escape_groups<T>(plan, s, counts, lane, escapes, rows);
        return;
    }
    if (shift)
        escapes = lane_push_shifted<T>(s, c, base, shift);
    else
        escapes = lane_push_pairs<T>(s, c, base);
    if (__any_sync(~0u, escapes != 0))
        lane_escape_rows<T>(plan, s, counts, lane, escapes);
}

// Where the streams begin.
__device__ __forceinline__ lane_push begin(const lane_encode_plan &plan, uint32_t tile, uint32_t lane)
{
    lane_push s;
    const uint32_t h = lane / LANE_LANES, first = h * LANE_SPAN, l = lane % LANE_LANES;
    const uint32_t n = plan.n > first ? min(plan.n - first, (uint32_t)LANE_SPAN) : 0;
    const uint32_t mine = n > l ? (n - l + LANE_LANES - 1) / LANE_LANES : 0;
    uint16_t *slot = plan.slots + ((size_t)tile * plan.n_streams + min(h, plan.n_streams - 1)) * plan.slot_words;
    s.x = LANE_STATE;
    s.escape = slot;
    s.word = slot + plan.slot_words;
    s.rows = (n + LANE_LANES - 1) / LANE_LANES;
    s.alive = mine == 32 ? ~0u : (1u << mine) - 1;
    s.half = h ? 0xffff0000u : 0xffffu;
    s.below = ((1u << lane) - 1) & s.half;
    return s;
}

// What pixels have of their own in shared memory.
struct warp_memory {
    uint4 table[LANE_TABLE_BYTES / 16];
    int32_t base[LANE_TILE];
    uint32_t most[LANE_TILE];
    uint8_t id[LANE_TILE], shift[LANE_TILE];
};

// Both streams of a brick; false when they outgrow their slots, which are larger than a brick packed as a whole.
template <class T>
__device__ __forceinline__ bool push_brick(const lane_encode_plan &plan, const brick &b, uint32_t lane, warp_memory &m,
                                           uint64_t todo, lane_push &s)
{
    lane_counts<T> next;
    uint32_t p = 63 - __clzll((long long)todo);
    uint4 table = plan.table[(m.id[p] - 1) * (LANE_TABLE_BYTES / 16) + lane];
    load_counts<T>(plan, b.tile, lane_whole_pixel(plan, b.cols, p), lane, next);
    s.entry = m.table;
    s.place = reinterpret_cast<const uint8_t *>(m.table + LANE_SYMBOLS);
#pragma unroll 1
    while (todo) {
        const lane_counts<T> c = next;
        const uint32_t now = p;
        __syncwarp();
        m.table[lane] = table;
        __syncwarp();
        todo ^= 1ull << p;
        if (todo) { // the next pixel's counts and table are on their way meanwhile
            p = 63 - __clzll((long long)todo);
            table = plan.table[(m.id[p] - 1) * (LANE_TABLE_BYTES / 16) + lane];
            load_counts<T>(plan, b.tile, lane_whole_pixel(plan, b.cols, p), lane, next);
        }
        if (__any_sync(~0u, s.word - s.escape < (ptrdiff_t)plan.slack))
            return false;
        push_pixel<T>(plan, s, c, lane_counts_of(plan, b.tile, lane_whole_pixel(plan, b.cols, now)), lane, m.id[now],
                      m.shift[now], m.base[now], m.most[now]);
    }
    return true;
}

// Words of the pixels' parameters and packed counts.
__device__ __forceinline__ uint32_t plain_words(const lane_encode_plan &plan, const brick &b)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < 2; k++)
        n += b.pick[k].id == LANE_ID_PACKED ? 3 + (plan.n * b.pick[k].width + 15) / 16
             : b.pick[k].id >= LANE_ID_WIDE ? 2
                                            : 0;
    return __reduce_add_sync(~0u, n);
}

__device__ __forceinline__ uint32_t id_words(const brick &b, uint32_t lane)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t k = 0; k < 2; k++)
        if (lane + 32 * k < b.n_pixels) {
            least = min(least, (uint32_t)b.pick[k].id);
            most = max(most, (uint32_t)b.pick[k].id);
        }
    const uint32_t spread = __reduce_max_sync(~0u, most) - __reduce_min_sync(~0u, least);
    return spread == 0 ? 2 : spread < 16 ? 2 + (b.n_pixels + 3) / 4 : 1 + (b.n_pixels + 1) / 2;
}

// What the host will find, decided: packed as a whole unless the streams are smaller.
__device__ __forceinline__ void finish(const lane_encode_plan &plan, const brick &b, uint32_t lane, bool coded,
                                       bool fits, const lane_push &s, lane_made *made)
{
    const uint32_t h = lane / LANE_LANES;
    const uint16_t *slot =
        plan.slots + ((size_t)b.tile * plan.n_streams + min(h, plan.n_streams - 1)) * plan.slot_words;
    const uint32_t words = (uint32_t)(slot + plan.slot_words - s.word), escapes = (uint32_t)(s.escape - slot);
    const bool mine = lane % LANE_LANES == 0 && h < plan.n_streams && coded;
    const uint32_t streams = __reduce_add_sync(~0u, mine ? 2 + 2 * LANE_LANES + words + escapes : 0);
    const uint32_t width = b.high > b.low ? 32 - __clz((int)(b.high - b.low)) : 0;
    const uint32_t whole = 4 + (uint32_t)(((uint64_t)b.n_pixels * plan.n * width + 15) / 16);
    const uint32_t plain = plain_words(plan, b), ids = id_words(b, lane);
    const bool mixed = fits && 2 + LANE_TILE / 2 + plain + streams < whole;
    made->x[lane] = s.x;
    if (mine) {
        made->stream_words[h] = words;
        made->escapes[h] = escapes;
    }
    if (lane == 0) {
        made->words = mixed ? ids + plain + streams : whole;
        made->whole = !mixed;
        made->coded = coded;
        made->low = b.low;
        made->width = width;
    }
}

template <class T>
__device__ __forceinline__ void encode_brick(const lane_encode_plan &plan, uint32_t lane, brick &b, warp_memory &m,
                                             lane_made *made)
{
    uint64_t todo = 0;
    choose(plan, lane, b);
#pragma unroll
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t p = lane + 32 * k;
        const ronchi_lane_pick &pick = b.pick[k];
        m.id[p] = made->id[p] = pick.id;
        m.base[p] = made->base[p] = (int32_t)pick.base;
        m.shift[p] = pick.shift;
        m.most[p] = b.stats[k].high;
        made->bits[p] = pick.id == LANE_ID_PACKED ? pick.width : pick.shift;
        todo |= (uint64_t)__ballot_sync(~0u, pick.id != LANE_ID_ZERO && pick.id != LANE_ID_PACKED) << 32 * k;
    }
    __syncwarp();
    lane_push s = begin(plan, b.tile, lane);
    const bool fits = todo == 0 || push_brick<T>(plan, b, lane, m, todo, s);
    finish(plan, b, lane, todo != 0, fits, s, made);
}

template <class T> __global__ void __launch_bounds__(32 * WARPS) encode_kernel(lane_encode_plan plan)
{
    __shared__ warp_memory memory[WARPS];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    brick b;
    b.tile = blockIdx.x * WARPS + warp;
    if (b.tile >= plan.n_tiles)
        return;
    lane_tile_size(plan, b.tile, &b.rows, &b.cols);
    b.n_pixels = b.rows * b.cols;
    measure<T>(plan, lane, b);
    if (b.high > 0)
        encode_brick<T>(plan, lane, b, memory[warp], &plan.made[b.tile]);
    else if (lane == 0)
        plan.made[b.tile].words = 0;
}

} // namespace

ronchi_status lane_launch_encode(const lane_encode_plan &plan, cudaStream_t stream, ronchi_error *err)
{
    const uint32_t blocks = (plan.n_tiles + WARPS - 1) / WARPS;
    if (plan.value_bytes == 4)
        encode_kernel<uint32_t><<<blocks, 32 * WARPS, 0, stream>>>(plan);
    else
        encode_kernel<uint16_t><<<blocks, 32 * WARPS, 0, stream>>>(plan);
    return RONCHI_CUDA_LAUNCH("encode_kernel", err);
}
