// SPDX-License-Identifier: MIT
// bslz4.cu - chunks of filters 32008 and 32004 on the device.
//
// The blocks of a chunk can only be found one after the other, so a first kernel walks from length to length, a thread
// a chunk, and notes where each slot of blocks begins.  In the second each warp takes one slot: it decodes LZ4 into 8
// KiB of shared memory, all lanes following the same sequences and sharing the copying, and transposes the bits from
// there to the frame.  Chunks of other codings take a warp each and need neither.
#include <cuda_runtime.h>

#include "cuda/check.cuh"
#include "formats/bslz4_cuda.h"

namespace
{

enum { HEADER = 12, LENGTH = 4, WARPS = 4, SCAN_THREADS = 128 };
constexpr unsigned ALL = 0xFFFFFFFFu;

__device__ uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

__device__ void blame(const ronchi_bslz4_batch &b, size_t chunk, uint32_t byte, ronchi_bslz4_fault kind)
{
    atomicMin((unsigned long long *)b.fault, (unsigned long long)chunk << 40 | (unsigned long long)byte << 8 | kind);
}

__device__ uint32_t slots_of(const ronchi_bslz4_batch &b)
{
    return (uint32_t)(b.chunk_bytes / RONCHI_BSLZ4_BLOCK + 1); // ronchi_bslz4_slots()
}

// The chunk's place is inside of the batch.
__device__ bool placed(const ronchi_bslz4_batch &b, const ronchi_bslz4_chunk &c)
{
    return c.from <= b.n_bytes && c.size <= b.n_bytes - c.from && c.to <= b.out_bytes &&
           b.chunk_bytes <= b.out_bytes - c.to && c.size <= RONCHI_BSLZ4_MOST_BYTES;
}

// ---------------------------------------------------------------------------------------------------------- headers

// What all blocks of one bslz4 chunk share.
struct plan {
    uint32_t whole;    // bytes that are bit-transposed
    uint32_t block;    // decoded bytes of a block, the last one may be shorter
    uint32_t per_slot; // blocks that one warp decodes
};

// Reads a chunk's header; 0 or what is wrong, *byte being where.
__device__ int read_plan(const ronchi_bslz4_batch &b, const uint8_t *chunk, uint32_t size, plan *p, uint32_t *byte)
{
    *byte = 0;
    if (size < HEADER)
        return RONCHI_BSLZ4_HEADER;
    if (get_u32(chunk) != 0 || get_u32(chunk + 4) != b.chunk_bytes)
        return RONCHI_BSLZ4_SIZE;
    uint32_t declared = get_u32(chunk + 8), group = 8 * (uint32_t)b.element;
    *byte = 8;
    if (declared % group != 0)
        return RONCHI_BSLZ4_BLOCK_SIZE;
    p->whole = (uint32_t)b.chunk_bytes - (uint32_t)b.chunk_bytes % group;
    p->block = declared ? declared : RONCHI_BSLZ4_BLOCK;
    p->block = p->block < p->whole ? p->block : p->whole;
    if (p->block > RONCHI_BSLZ4_BLOCK)
        return RONCHI_BSLZ4_LARGE;
    uint32_t blocks = p->block ? (p->whole + p->block - 1) / p->block : 0, slots = slots_of(b);
    p->per_slot = (blocks + slots - 1) / slots;
    return 0;
}

// Takes the length word at *at; 0 or what is wrong.
__device__ int read_length(const uint8_t *chunk, uint32_t size, uint32_t at, uint32_t *length)
{
    if (size - at < LENGTH)
        return RONCHI_BSLZ4_ENDS;
    *length = get_u32(chunk + at);
    return *length > size - at - LENGTH ? RONCHI_BSLZ4_LENGTH : 0;
}

__global__ void scan_chunks(const ronchi_bslz4_batch b)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= b.n_chunks)
        return;
    const ronchi_bslz4_chunk c = b.chunks[i];
    const uint32_t slots = slots_of(b);
    uint32_t *slot = b.slots + i * slots, n_slots = 0, at = HEADER, done = 0, k = 0, byte = 0;
    plan p = {0, 0, 0};
    int fault = 0;
    if (c.coding == RONCHI_BSLZ4_BSLZ4) {
        const uint8_t *chunk = b.bytes + c.from;
        fault = placed(b, c) ? read_plan(b, chunk, c.size, &p, &byte) : RONCHI_BSLZ4_PLACE;
        for (; !fault && done < p.whole; done += p.block, k++) {
            uint32_t length = 0;
            if (k % p.per_slot == 0)
                slot[n_slots++] = at;
            byte = at;
            fault = read_length(chunk, c.size, at, &length);
            at += LENGTH + length;
        }
        uint32_t rest = (uint32_t)b.chunk_bytes - p.whole;
        if (!fault && c.size - at != rest) {
            byte = at;
            fault = c.size - at < rest ? RONCHI_BSLZ4_TAIL : RONCHI_BSLZ4_LEFT;
        }
        for (uint32_t j = 0; !fault && j < rest; j++)
            b.out[c.to + p.whole + j] = chunk[at + j];
    }
    if (fault)
        blame(b, i, byte, (ronchi_bslz4_fault)fault);
    while (n_slots < slots)
        slot[n_slots++] = 0;
}

// -------------------------------------------------------------------------------------------------------- LZ4 blocks

// Adds the bytes of a length that goes on; false when they run out.
__device__ bool extend(const uint8_t *in, uint32_t n, uint32_t *ip, uint32_t *length)
{
    uint32_t more;
    do {
        if (*ip >= n || *length > RONCHI_BSLZ4_MOST_BYTES)
            return false;
        more = in[(*ip)++];
        *length += more;
    } while (more == 255);
    return true;
}

// Copies 'length' bytes of output from 'offset' before op; the pattern repeats where they overlap.
__device__ void copy_match(uint8_t *out, uint32_t op, uint32_t offset, uint32_t length, unsigned lane)
{
    const uint8_t *from = out + op - offset;
    uint8_t *to = out + op;
    if (offset >= length) {
        for (uint32_t k = lane; k < length; k += 32)
            to[k] = from[k];
    } else if (offset == 1 && length >= 64) { // a run: most planes of high bits are one
        uint32_t byte = from[0], word = byte * 0x01010101u, head = (uint32_t)(-(intptr_t)to & 15),
                 wide = (length - head) / 16, tail = head + 16 * wide;
        if (lane < head)
            to[lane] = (uint8_t)byte;
        for (uint32_t k = lane; k < wide; k += 32)
            reinterpret_cast<uint4 *>(to + head)[k] = make_uint4(word, word, word, word);
        if (tail + lane < length)
            to[tail + lane] = (uint8_t)byte;
    } else {
        for (uint32_t k = lane; k < length; k += 32)
            to[k] = from[k % offset];
    }
}

// The window: lane i holds byte ip + i of the block, or its last byte.
__device__ uint32_t window(const uint8_t *in, uint32_t n, uint32_t ip, unsigned lane)
{
    uint32_t i = ip + lane;
    return in[i < n ? i : n - 1];
}

// Decodes one LZ4 block of n > 0 bytes to exactly 'want' bytes, by one warp.  Every lane knows everything but the
// bytes; false when the block is damaged, as LZ4_decompress_safe() judges: the last sequence has no match and ends both
// input and output; no match comes nearer to the end than 5 bytes and no other literals nearer than 12, but for the
// short sequences that it copies without looking ('brief').
__device__ bool expand(const uint8_t *__restrict__ in, uint32_t n, uint8_t *out, uint32_t want, unsigned lane)
{
    uint32_t ip = 0, op = 0, w = window(in, n, 0, lane);
    while (ip < n) {
        uint32_t token = __shfl_sync(ALL, w, 0), literals = token >> 4, match = token & 15, two;
        ip++;
        bool brief = literals != 15 && ip + 16 < n && op + 32 <= want;
        if (literals == 15 && !extend(in, n, &ip, &literals))
            return false;
        if (literals > n - ip || literals > want - op)
            return false;
        bool inside = literals < 15; // they and the offset are in the window
        if (inside) {
            if (lane - 1 < literals) // lane 0 becomes the largest number
                out[op + lane - 1] = (uint8_t)w;
        } else {
            for (uint32_t k = lane; k < literals; k += 32)
                out[op + k] = in[ip + k];
        }
        bool last = !brief && (op + literals + 12 > want || ip + literals + 8 > n);
        ip += literals;
        op += literals;
        if (last)
            return ip == n && op == want;
        if (n - ip < 2)
            return false;
        if (inside)
            two = __shfl_sync(ALL, w, literals + 1) | __shfl_sync(ALL, w, literals + 2) << 8;
        else
            two = (uint32_t)in[ip] | (uint32_t)in[ip + 1] << 8;
        ip += 2;
        uint32_t end = brief && match != 15 && two >= 8 ? 0 : 5;
        if (match == 15 && !extend(in, n, &ip, &match))
            return false;
        match += 4;
        if (two == 0 || two > op || match > want - op || end > want - op - match)
            return false;
        w = window(in, n, ip, lane); // on its way while the match is copied
        __syncwarp();                // the match may reach into the literals
        copy_match(out, op, two, match, lane);
        op += match;
        __syncwarp();
    }
    return false;
}

// -------------------------------------------------------------------------------------------------- bit transposition

// Transposes the 8 x 8 bits that the same byte of eight words makes, for the four bytes at once.
__device__ __forceinline__ void transpose8(uint32_t (&p)[8])
{
    constexpr uint32_t masks[3] = {0x0F0F0F0Fu, 0x33333333u, 0x55555555u};
#pragma unroll
    for (int stage = 0; stage < 3; stage++) {
        const int s = 4 >> stage;
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (!(i & s)) {
                uint32_t t = ((p[i] >> s) ^ p[i + s]) & masks[stage];
                p[i + s] ^= t;
                p[i] ^= t << s;
            }
    }
}

// Four planes' bytes, or fewer, gathered to one word of output: byte k of each of 'E' words, for consecutive elements.
template <int E> __device__ __forceinline__ uint32_t gather(const uint32_t (&q)[E][8], int word)
{
    const int element = word * 4 / E, k = element / 8, j = element % 8; // compile-time constants once unrolled
    const uint32_t pick = (uint32_t)(k | (k + 4) << 4);
    if (E == 1)
        return __byte_perm(__byte_perm(q[0][j], q[0][j + 1], pick), __byte_perm(q[0][j + 2], q[0][j + 3], pick),
                           0x5410);
    if (E == 2)
        return __byte_perm(__byte_perm(q[0][j], q[E - 1][j], pick), __byte_perm(q[0][j + 1], q[E - 1][j + 1], pick),
                           0x5410);
    return __byte_perm(__byte_perm(q[0][j], q[E > 1 ? 1 : 0][j], pick),
                       __byte_perm(q[E > 2 ? 2 : 0][j], q[E > 3 ? 3 : 0][j], pick), 0x5410);
}

// Planes of n elements (a multiple of 32) in shared memory to elements at a multiple of 16 bytes.
template <int E> __device__ void unshuffle_wide(const uint8_t *planes, uint8_t *out, uint32_t n, unsigned lane)
{
    const uint32_t *words = reinterpret_cast<const uint32_t *>(planes), per_plane = n / 32;
    for (uint32_t i = lane; i < per_plane; i += 32) {
        uint32_t q[E][8];
#pragma unroll
        for (int g = 0; g < E; g++) {
#pragma unroll
            for (int b = 0; b < 8; b++)
                q[g][b] = words[(8 * g + b) * per_plane + i];
            transpose8(q[g]);
        }
        uint4 *to = reinterpret_cast<uint4 *>(out + (size_t)i * 32 * E);
#pragma unroll
        for (int v = 0; v < 2 * E; v++)
            to[v] = make_uint4(gather<E>(q, 4 * v), gather<E>(q, 4 * v + 1), gather<E>(q, 4 * v + 2),
                               gather<E>(q, 4 * v + 3));
    }
}

// The same for any multiple of 8 elements and any place, a byte at a time.
template <int E> __device__ void unshuffle_narrow(const uint8_t *planes, uint8_t *out, uint32_t n, unsigned lane)
{
    const uint32_t per_plane = n / 8;
    for (uint32_t i = lane; i < per_plane; i += 32)
        for (int g = 0; g < E; g++) {
            uint32_t q[8];
#pragma unroll
            for (int b = 0; b < 8; b++)
                q[b] = planes[(8 * g + b) * per_plane + i];
            transpose8(q);
#pragma unroll
            for (int j = 0; j < 8; j++)
                out[(8 * i + j) * E + g] = (uint8_t)q[j];
        }
}

// ---------------------------------------------------------------------------------------------------------- kernels

template <int E> __global__ void __launch_bounds__(32 * WARPS) decode_slots(const ronchi_bslz4_batch b)
{
    __shared__ __align__(16) uint8_t rooms[WARPS][RONCHI_BSLZ4_BLOCK];
    const unsigned lane = threadIdx.x % 32;
    const uint32_t slots = slots_of(b);
    const size_t item = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, i = item / slots;
    uint8_t *room = rooms[threadIdx.x / 32];
    if (i >= b.n_chunks)
        return;
    uint32_t at = b.slots[item], byte;
    if (at == 0)
        return;
    const ronchi_bslz4_chunk c = b.chunks[i];
    const uint8_t *chunk = b.bytes + c.from;
    plan p;
    if (read_plan(b, chunk, c.size, &p, &byte)) // the scan has blamed it
        return;
    uint32_t done = (uint32_t)(item % slots) * p.per_slot * p.block;
    for (uint32_t k = 0; k < p.per_slot && done < p.whole; k++, done += p.block) {
        uint32_t n = p.block < p.whole - done ? p.block : p.whole - done, length;
        if (read_length(chunk, c.size, at, &length))
            return;
        at += LENGTH;
        if (length == 0 || !expand(chunk + at, length, room, n, lane)) {
            if (lane == 0)
                blame(b, i, at, RONCHI_BSLZ4_LZ4_BLOCK);
            return;
        }
        __syncwarp();
        uint8_t *out = b.out + c.to + done;
        if (n % (32 * E) == 0 && ((uintptr_t)out & 15) == 0)
            unshuffle_wide<E>(room, out, n / E, lane);
        else
            unshuffle_narrow<E>(room, out, n / E, lane);
        __syncwarp();
        at += length;
    }
}

__device__ void copy_bytes(const uint8_t *from, uint8_t *to, uint32_t n, unsigned lane)
{
    if ((((uintptr_t)from | (uintptr_t)to) & 15) == 0) {
        for (uint32_t k = lane; k < n / 16; k += 32)
            reinterpret_cast<uint4 *>(to)[k] = reinterpret_cast<const uint4 *>(from)[k];
        for (uint32_t k = n - n % 16 + lane; k < n; k += 32)
            to[k] = from[k];
        return;
    }
    for (uint32_t k = lane; k < n; k += 32)
        to[k] = from[k];
}

// A chunk of filter 32004, a warp all of it; 0 or what is wrong.
__device__ int expand_chunk(const uint8_t *chunk, uint32_t size, uint8_t *out, uint32_t want, uint32_t *byte,
                            unsigned lane)
{
    uint32_t at = HEADER, done = 0;
    *byte = 0;
    if (size < HEADER)
        return RONCHI_BSLZ4_HEADER;
    if (get_u32(chunk) != 0 || get_u32(chunk + 4) != want)
        return RONCHI_BSLZ4_SIZE;
    uint32_t block = get_u32(chunk + 8);
    *byte = 8;
    if (want && (block == 0 || block > 0x7E000000u))
        return RONCHI_BSLZ4_BLOCK_SIZE;
    while (done < want) {
        uint32_t n = block < want - done ? block : want - done, length;
        *byte = at;
        int fault = read_length(chunk, size, at, &length);
        if (fault)
            return fault;
        at += LENGTH;
        *byte = at;
        if (length == n)
            copy_bytes(chunk + at, out + done, n, lane);
        else if (length == 0 || !expand(chunk + at, length, out + done, n, lane))
            return RONCHI_BSLZ4_LZ4_BLOCK;
        __syncwarp();
        at += length;
        done += n;
    }
    *byte = at;
    return at == size ? 0 : RONCHI_BSLZ4_LEFT;
}

__global__ void decode_others(const ronchi_bslz4_batch b)
{
    const unsigned lane = threadIdx.x % 32;
    const size_t i = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (i >= b.n_chunks)
        return;
    const ronchi_bslz4_chunk c = b.chunks[i];
    if (c.coding == RONCHI_BSLZ4_BSLZ4)
        return;
    uint32_t byte = 0;
    int fault = 0;
    if (!placed(b, c) || c.coding > RONCHI_BSLZ4_LZ4)
        fault = RONCHI_BSLZ4_PLACE;
    else if (c.coding == RONCHI_BSLZ4_LZ4)
        fault = expand_chunk(b.bytes + c.from, c.size, b.out + c.to, (uint32_t)b.chunk_bytes, &byte, lane);
    else if (c.size != b.chunk_bytes)
        fault = RONCHI_BSLZ4_SIZE;
    else
        copy_bytes(b.bytes + c.from, b.out + c.to, c.size, lane);
    if (fault && lane == 0)
        blame(b, i, byte, (ronchi_bslz4_fault)fault);
}

// Reverses the bytes of each element of all frames.
__global__ void swap_elements(const ronchi_bslz4_batch b)
{
    const size_t per_chunk = b.chunk_bytes / b.element, step = (size_t)gridDim.x * blockDim.x;
    for (size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x; k < per_chunk * b.n_chunks; k += step) {
        const ronchi_bslz4_chunk c = b.chunks[k / per_chunk];
        if (!placed(b, c))
            continue;
        uint8_t *p = b.out + c.to + k % per_chunk * b.element;
        for (size_t i = 0; i < b.element / 2; i++) {
            uint8_t first = p[i];
            p[i] = p[b.element - 1 - i];
            p[b.element - 1 - i] = first;
        }
    }
}

// ------------------------------------------------------------------------------------------------------------- host

ronchi_status launch_slots(cudaStream_t stream, const ronchi_bslz4_batch &b, ronchi_error *err)
{
    size_t items = b.n_chunks * ronchi_bslz4_slots(b.chunk_bytes);
    unsigned grid = (unsigned)((items + WARPS - 1) / WARPS);
    if (b.element == 1)
        decode_slots<1><<<grid, 32 * WARPS, 0, stream>>>(b);
    else if (b.element == 2)
        decode_slots<2><<<grid, 32 * WARPS, 0, stream>>>(b);
    else
        decode_slots<4><<<grid, 32 * WARPS, 0, stream>>>(b);
    return RONCHI_CUDA_LAUNCH("decode_slots", err);
}

ronchi_status decode(ronchi_device *device, ronchi_cuda_stream stream, const ronchi_bslz4_batch *batch,
                     ronchi_error *err)
{
    const ronchi_bslz4_batch &b = *batch;
    ronchi_device_scope here(device);
    if ((b.element != 1 && b.element != 2 && b.element != 4) || b.chunk_bytes % b.element != 0 ||
        b.chunk_bytes > RONCHI_BSLZ4_MOST_BYTES || b.n_chunks > RONCHI_BSLZ4_MOST_CHUNKS ||
        b.n_chunks * ronchi_bslz4_slots(b.chunk_bytes) > (size_t)1 << 32)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "%zu chunks of %zu bytes and elements of %zu are not decoded on a device", b.n_chunks,
                           b.chunk_bytes, b.element);
    if (b.n_chunks == 0)
        return RONCHI_OK;
    scan_chunks<<<(unsigned)((b.n_chunks + SCAN_THREADS - 1) / SCAN_THREADS), SCAN_THREADS, 0, stream>>>(b);
    ronchi_status status = RONCHI_CUDA_LAUNCH("scan_chunks", err);
    if (status == RONCHI_OK)
        status = launch_slots(stream, b, err);
    if (status == RONCHI_OK && b.others) {
        decode_others<<<(unsigned)((b.n_chunks + 3) / 4), 128, 0, stream>>>(b);
        status = RONCHI_CUDA_LAUNCH("decode_others", err);
    }
    if (status == RONCHI_OK && b.swap && b.element > 1) {
        swap_elements<<<2048, 256, 0, stream>>>(b);
        status = RONCHI_CUDA_LAUNCH("swap_elements", err);
    }
    return status;
}

} // namespace

const ronchi_bslz4_cuda ronchi_bslz4_cuda_functions = {decode};
