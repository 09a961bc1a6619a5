// SPDX-License-Identifier: MIT
// lane_rans_store.cu - a lane-rans-v1 store on the device: chunks in and out, and the check of every brick.
#include <stdlib.h>
#include <string.h>

#include "codec/lane_rans_on.cuh"

static void close_on(ronchi_lane_on *on)
{
    if (!on)
        return;
    lane_on_encode_end(on, false, NULL);
    on->device->table->arena_close(on->arena);
    free(on->host_valid);
    free(on->chunks);
    free(on->n_words);
    free(on->tile_words);
    free(on);
}

static void fill_view(ronchi_lane_on *on)
{
    const ronchi_lane_layout *l = &on->layout;
    lane_view *v = &on->view;
    v->n_tiles = (uint32_t)l->n_tiles;
    v->tiles_across = (uint32_t)l->tiles_across;
    v->tile_rows = (uint32_t)l->tile_rows;
    v->tile_cols = (uint32_t)l->tile_cols;
    v->det_rows = (uint32_t)l->shape.det_rows;
    v->det_cols = (uint32_t)l->shape.det_cols;
    v->n_rects = (uint32_t)l->n_rects;
    v->rects_across = (uint32_t)l->rects_across;
    v->rect_rows = (uint32_t)l->rect_rows;
    v->rect_cols = (uint32_t)l->rect_cols;
    v->scan_rows = (uint32_t)l->shape.scan_rows;
    v->scan_cols = (uint32_t)l->shape.scan_cols;
    v->value_bytes = (uint32_t)l->value_bytes;
    v->largest = l->value_bytes == 1 ? UINT8_MAX : l->value_bytes == 2 ? UINT16_MAX : UINT32_MAX;
}

// Copies 'bytes' of host memory into fresh device memory of the arena.
static ronchi_status place(ronchi_lane_on *on, ronchi_cuda_job *job, const void *from, size_t bytes, void **out,
                           ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    ronchi_status status = t->arena_take(on->arena, bytes, out, err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, job->stream, *out, from, bytes, err);
    return status == RONCHI_OK ? t->stream_wait(on->device, job->stream, err) : status;
}

static ronchi_status place_constants(ronchi_lane_on *on, const ronchi_lane_tables *tables, ronchi_error *err)
{
    static_assert(sizeof(lane_chunk_on) == 16, "copied as it is");
    const size_t slots = (size_t)LANE_MODELS * LANE_SLOTS;
    const size_t encode_words = (size_t)LANE_MODELS * 128;
    uint32_t *table = static_cast<uint32_t *>(malloc((slots + encode_words) * sizeof *table));
    uint8_t shift[LANE_MODELS + 2] = {0};
    uint8_t slot[LANE_MODELS + 2] = {0};
    void *at[6] = {0};
    ronchi_cuda_job *job = NULL;
    if (!table)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for tables");
    for (size_t m = 0; m < LANE_MODELS; m++) {
        shift[m + 1] = tables->model[m].shift;
        lane_encode_table(&tables->code[m], table + slots + m * 128);
        slot[m + 1] = (uint8_t)m;
        for (size_t s = 0; s < LANE_SLOTS; s++) {
            uint32_t e = tables->model[m].slot[s], symbol = e >> 16;
            table[m * LANE_SLOTS + s] = (symbol == LANE_ESCAPE ? LANE_FLAG : symbol) << 16 | (e & 0xffff);
        }
    }
    ronchi_status status = on->device->table->job_take(on->device, 1, 1, &job, err);
    if (status == RONCHI_OK)
        status = place(on, job, table, slots * sizeof *table, &at[0], err);
    if (status == RONCHI_OK)
        status = place(on, job, shift, sizeof shift, &at[1], err);
    if (status == RONCHI_OK)
        status = place(on, job, on->host_valid, on->layout.shape.det_rows * on->layout.shape.det_cols, &at[2], err);
    if (status == RONCHI_OK)
        status = place(on, job, on->chunks, on->layout.n_rects * sizeof *on->chunks, &at[3], err);
    if (status == RONCHI_OK)
        status = place(on, job, table + slots, encode_words * sizeof *table, &at[5], err);
    if (status == RONCHI_OK)
        status = place(on, job, slot, sizeof slot, &at[4], err);
    on->encode_table = static_cast<uint32_t *>(at[5]);
    on->view.n_models = LANE_MODELS;
    on->view.slot = static_cast<const uint8_t *>(at[4]);
    on->view.table = static_cast<const uint32_t *>(at[0]);
    on->view.shift = static_cast<const uint8_t *>(at[1]);
    on->valid = static_cast<uint8_t *>(at[2]);
    on->view.chunks = static_cast<const lane_chunk_on *>(at[3]);
    on->device->table->job_give(job);
    free(table);
    return status;
}

static ronchi_status open_on(ronchi_device *device, const ronchi_lane_layout *layout, const ronchi_lane_tables *tables,
                             const uint8_t *valid, ronchi_lane_on **out, ronchi_error *err)
{
    const size_t n_pixels = layout->shape.det_rows * layout->shape.det_cols;
    *out = NULL;
    if (layout->n_rects > UINT32_MAX || layout->n_tiles > UINT32_MAX / 4 || layout->shape.scan_rows > UINT32_MAX / 64 ||
        layout->shape.scan_cols > UINT32_MAX / 64 || layout->shape.scan_rows * layout->shape.scan_cols > UINT32_MAX / 2)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "a scan of %zu x %zu is too large for a device: use --device cpu", layout->shape.scan_rows,
                           layout->shape.scan_cols);
    ronchi_lane_on *on = static_cast<ronchi_lane_on *>(calloc(1, sizeof *on));
    if (!on)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a store");
    on->device = device;
    on->layout = *layout;
    on->host_valid = static_cast<uint8_t *>(malloc(n_pixels));
    on->chunks = static_cast<lane_chunk_on *>(calloc(layout->n_rects, sizeof *on->chunks));
    on->n_words = static_cast<uint32_t *>(calloc(layout->n_rects, sizeof *on->n_words));
    on->tile_words = static_cast<uint64_t *>(calloc(layout->n_tiles, sizeof *on->tile_words));
    fill_view(on);
    ronchi_status status = device->table->arena_open(device, (size_t)64 << 20, &on->arena, err);
    if (status == RONCHI_OK && (!on->host_valid || !on->chunks || !on->n_words || !on->tile_words))
        status = ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a store");
    if (status == RONCHI_OK) {
        memcpy(on->host_valid, valid, n_pixels);
        status = place_constants(on, tables, err);
    }
    if (status != RONCHI_OK) {
        close_on(on);
        return status;
    }
    *out = on;
    return RONCHI_OK;
}

static uint64_t bytes_of(const ronchi_lane_on *on)
{
    return on->device->table->arena_bytes(on->arena);
}

ronchi_status lane_on_room(ronchi_lane_on *on, size_t rect, size_t n_words, ronchi_cuda_stream stream,
                           ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    const size_t n_tiles = on->layout.n_tiles, head = ((n_tiles + 1) * sizeof(uint32_t) + 255) / 256 * 256;
    void *memory = NULL;
    ronchi_status status = t->arena_take(on->arena, head + 2 * (n_words + LANE_DEVICE_SLACK), &memory, err);
    if (status != RONCHI_OK)
        return status;
    char *words = static_cast<char *>(memory) + head;
    on->chunks[rect].offset = static_cast<uint32_t *>(memory);
    on->chunks[rect].words = reinterpret_cast<uint16_t *>(words);
    on->n_words[rect] = (uint32_t)n_words;
    status = t->fill(on->device, stream, words + 2 * n_words, 0, 2 * LANE_DEVICE_SLACK, err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, stream, const_cast<lane_chunk_on *>(on->view.chunks) + rect, &on->chunks[rect],
                         sizeof on->chunks[rect], err);
    return status;
}

static ronchi_status put(ronchi_lane_on *on, size_t rect, const uint16_t *words, const uint32_t *offset,
                         ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    const size_t n_tiles = on->layout.n_tiles;
    ronchi_cuda_job *job;
    ronchi_status status = t->job_take(on->device, 1, 1, &job, err);
    if (status != RONCHI_OK)
        return status;
    status = lane_on_room(on, rect, offset[n_tiles], job->stream, err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, job->stream, const_cast<uint16_t *>(on->chunks[rect].words), words,
                         2 * (size_t)offset[n_tiles], err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, job->stream, const_cast<uint32_t *>(on->chunks[rect].offset), offset,
                         (n_tiles + 1) * sizeof *offset, err);
    ronchi_status waited = t->stream_wait(on->device, job->stream, status == RONCHI_OK ? err : NULL);
    t->job_give(job);
    for (size_t i = 0; i < n_tiles; i++)
        on->tile_words[i] += offset[i + 1] - offset[i];
    return status == RONCHI_OK ? waited : status;
}

static uint64_t words_of(const ronchi_lane_on *on, size_t rect)
{
    return on->n_words[rect];
}

static ronchi_status get(const ronchi_lane_on *on, size_t rect, uint16_t *words, uint32_t *offset, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    ronchi_cuda_job *job;
    ronchi_status status = t->job_take(on->device, 1, 1, &job, err);
    if (status != RONCHI_OK)
        return status;
    status = t->copy(on->device, job->stream, words, on->chunks[rect].words, 2 * (size_t)on->n_words[rect], err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, job->stream, offset, on->chunks[rect].offset,
                         (on->layout.n_tiles + 1) * sizeof *offset, err);
    ronchi_status waited = t->stream_wait(on->device, job->stream, status == RONCHI_OK ? err : NULL);
    t->job_give(job);
    return status == RONCHI_OK ? waited : status;
}

ronchi_status lane_on_finish(ronchi_cuda_job *job, const unsigned long long *word, uint64_t *bad, ronchi_error *err)
{
    ronchi_status status = job->device->table->stream_wait(job->device, job->stream, err);
    *bad = RONCHI_LANE_NOT_BAD;
    if (status != RONCHI_OK || *word == UINT64_MAX)
        return status;
    *bad = *word >> 8;
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET, "brick %llu on the device is damaged (%u)",
                       (unsigned long long)*bad, (unsigned)(*word & 255));
}

// -------------------------------------------------------------------------------------------------------------- check

namespace
{

// Walks the head of one brick as ronchi_lane_brick_parse() does; false when anything is not as it must be.
__device__ bool head_is_right(const lane_view &v, const uint16_t *w, uint32_t n, uint32_t n_pixels,
                              uint32_t n_positions, uint32_t *used)
{
    const uint32_t n_streams = n_positions > LANE_SPAN ? 2 : 1;
    if (n == 0)
        return true;
    const uint32_t kind = w[0] & 15, form = w[0] >> 4 & 15;
    if (w[0] >> 8)
        return false;
    if (kind == 1)
        return form == 0 && n >= 4 && w[3] <= 32 && ((uint64_t)n_pixels * n_positions * w[3] + 15) / 16 == n - 4;
    const uint32_t ids = form == 0 ? 0 : form == 1 ? (n_pixels + 3) / 4 : (n_pixels + 1) / 2;
    if (kind != 2 || form > 2 || n < 1 + (form < 2) + ids)
        return false;
    const uint16_t *id_words = w + 1 + (form < 2);
    uint64_t at = 1 + (form < 2) + ids, packed = 0;
    bool coded = false;
    for (uint32_t p = 0; p < n_pixels; p++) {
        const uint32_t id = form == 0   ? w[1]
                            : form == 1 ? w[1] + (id_words[p / 4] >> p % 4 * 4 & 15)
                                        : id_words[p / 2] >> p % 2 * 8 & 255;
        if (id > LANE_ID_PACKED)
            return false;
        if (id >= 1 && id < LANE_ID_PACKED) {
            coded = true;
            used[id / 32] |= 1u << id % 32;
        }
        if (id == LANE_ID_PACKED) {
            if (at + 3 > n || w[at + 2] > 32)
                return false;
            packed += ((uint64_t)n_positions * w[at + 2] + 15) / 16;
            at += 3;
        } else if (id >= LANE_ID_WIDE) {
            if (at + 2 > n || w[at + 1] >> 12 > LANE_MAX_SHIFT)
                return false;
            at += 2;
        }
    }
    if (coded) {
        if (at + n_streams * (2 + 2 * LANE_LANES) > n)
            return false;
        uint64_t words = 0;
        for (uint32_t s = 0; s < n_streams; s++)
            words += w[at + 2 * s] | (uint32_t)w[at + 2 * s + 1] << 16;
        at += n_streams * (2 + 2 * LANE_LANES) + words;
    }
    return at + packed == n;
}

__global__ void check_kernel(lane_view v, uint32_t *used)
{
    __shared__ uint32_t all[5];
    if (threadIdx.x < 5)
        all[threadIdx.x] = 0;
    __syncthreads();
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t mine[5] = {0, 0, 0, 0, 0};
    if (i < (uint64_t)v.n_rects * v.n_tiles) {
        const uint32_t rect = (uint32_t)(i / v.n_tiles), tile = (uint32_t)(i % v.n_tiles);
        const lane_chunk_on c = v.chunks[rect];
        const lane_cut pixels = lane_tile_of(v, tile), cut = lane_rect_of(v, rect);
        if (c.words && !head_is_right(v, c.words + c.offset[tile], c.offset[tile + 1] - c.offset[tile],
                                      pixels.rows * pixels.cols, cut.rows * cut.cols, mine))
            lane_report(v, rect, tile, LANE_BAD_HEAD);
        for (uint32_t k = 0; k < 5; k++)
            if (mine[k])
                atomicOr(&all[k], mine[k]);
    }
    __syncthreads();
    if (threadIdx.x < 5 && all[threadIdx.x])
        atomicOr(&used[threadIdx.x], all[threadIdx.x]);
}

// Decodes to nowhere.
struct nowhere {
    __device__ void begin(uint32_t)
    {
    }
    __device__ void put(uint32_t, uint32_t)
    {
    }
    __device__ void patch(uint32_t, uint32_t)
    {
    }
    __device__ void end(uint32_t)
    {
    }
};

enum { VALIDATE_WARPS = 8 };

__global__ void __launch_bounds__(32 * VALIDATE_WARPS) validate_kernel(lane_view v)
{
    __shared__ uint8_t ids[VALIDATE_WARPS][LANE_TILE];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint64_t i = (uint64_t)blockIdx.x * VALIDATE_WARPS + warp;
    if (i >= (uint64_t)v.n_rects * v.n_tiles)
        return;
    const uint32_t rect = (uint32_t)(i / v.n_tiles), tile = (uint32_t)(i % v.n_tiles);
    lane_brick b;
    nowhere sink;
    if (!lane_begin(v, rect, tile, lane, ids[warp], b))
        return;
    const uint32_t why = lane_walk(v, v.table, b, lane, ids[warp], b.n_pixels, sink);
    if (why && lane == 0)
        lane_report(v, rect, tile, why);
}

} // namespace

// Runs one kernel over all bricks that only looks for bad ones.
static ronchi_status look(const ronchi_lane_on *on, bool decode, uint32_t *used, uint64_t *bad, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    const uint64_t n = (uint64_t)on->layout.n_rects * on->layout.n_tiles;
    ronchi_cuda_job *job;
    ronchi_status status = t->job_take(on->device, 256, 256, &job, err);
    if (status != RONCHI_OK)
        return status;
    ronchi_device_scope here(on->device);
    lane_view v = on->view;
    v.bad = static_cast<unsigned long long *>(job->scratch);
    uint32_t *bits = reinterpret_cast<uint32_t *>(v.bad + 1);
    status = t->fill(on->device, job->stream, v.bad, 0xff, sizeof *v.bad, err);
    if (status == RONCHI_OK)
        status = t->fill(on->device, job->stream, bits, 0, 64 - sizeof *v.bad, err);
    if (status == RONCHI_OK && decode)
        validate_kernel<<<(unsigned)((n + VALIDATE_WARPS - 1) / VALIDATE_WARPS), 32 * VALIDATE_WARPS, 0, job->stream>>>(
            v);
    else if (status == RONCHI_OK)
        check_kernel<<<(unsigned)((n + 127) / 128), 128, 0, job->stream>>>(v, bits);
    if (status == RONCHI_OK)
        status = RONCHI_CUDA_LAUNCH("the check of bricks", err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, job->stream, job->host, job->scratch, 64, err);
    const unsigned long long *word = static_cast<unsigned long long *>(job->host);
    ronchi_status found = status == RONCHI_OK ? lane_on_finish(job, word, bad, err) : status;
    if (used)
        memcpy(used, word + 1, 5 * sizeof *used);
    t->job_give(job);
    return found;
}

// Puts the tables of the models that are there beside each other: kernels copy them to shared memory as they are.
static ronchi_status gather_tables(ronchi_lane_on *on, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    const size_t bytes = LANE_SLOTS * sizeof(uint32_t);
    uint8_t slot[LANE_MODELS + 2] = {0};
    uint32_t n = 0;
    void *table = NULL, *slots = NULL;
    ronchi_cuda_job *job;
    ronchi_status status = t->job_take(on->device, 1, 1, &job, err);
    if (status != RONCHI_OK)
        return status;
    status = t->arena_take(on->arena, (size_t)LANE_MODELS * bytes, &table, err);
    for (uint32_t id = 1; status == RONCHI_OK && id < LANE_ID_PACKED; id++)
        if (on->used[id / 32] >> id % 32 & 1) {
            status = t->copy(on->device, job->stream, static_cast<char *>(table) + n * bytes,
                             on->view.table + (id - 1) * LANE_SLOTS, bytes, err);
            slot[id] = (uint8_t)n++;
        }
    if (status == RONCHI_OK)
        status = place(on, job, slot, sizeof slot, &slots, err);
    if (status == RONCHI_OK) {
        on->view.table = static_cast<const uint32_t *>(table);
        on->view.slot = static_cast<const uint8_t *>(slots);
        on->view.n_models = n;
    }
    t->job_give(job);
    return status;
}

static ronchi_status check(ronchi_lane_on *on, uint64_t *bad, ronchi_error *err)
{
    *bad = RONCHI_LANE_NOT_BAD;
    if (on->view.n_models != LANE_MODELS) // once
        return RONCHI_OK;
    ronchi_status status = lane_on_encode_end(on, true, err);
    if (status == RONCHI_OK)
        status = look(on, false, on->used, bad, err);
    return status == RONCHI_OK ? gather_tables(on, err) : status;
}

static void timing(ronchi_lane_on *on, int on_or_off)
{
    on->timed = on_or_off;
}

static double seconds(const ronchi_lane_on *on)
{
    return on->seconds;
}

void lane_clock_start(lane_clock *clock, const ronchi_lane_on *on, ronchi_cuda_stream stream)
{
    clock->on = on->timed ? const_cast<ronchi_lane_on *>(on) : nullptr;
    if (!clock->on)
        return;
    cudaEventCreate(&clock->begin);
    cudaEventCreate(&clock->end);
    cudaEventRecord(clock->begin, stream);
}

void lane_clock_stop(lane_clock *clock, ronchi_cuda_stream stream)
{
    if (clock->on)
        cudaEventRecord(clock->end, stream);
}

void lane_clock_read(lane_clock *clock)
{
    float ms = 0;
    if (!clock->on)
        return;
    cudaEventSynchronize(clock->end);
    cudaEventElapsedTime(&ms, clock->begin, clock->end);
    clock->on->seconds = ms / 1000.0;
    cudaEventDestroy(clock->begin);
    cudaEventDestroy(clock->end);
}

static ronchi_status validate(const ronchi_lane_on *on, uint64_t *bad, ronchi_error *err)
{
    return look(on, true, NULL, bad, err);
}

extern const ronchi_lane_cuda ronchi_lane_cuda_here;
const ronchi_lane_cuda ronchi_lane_cuda_here = {
    open_on, close_on,       bytes_of,     put,      lane_on_encode, check,   words_of,
    get,     lane_on_reduce, lane_on_read, validate, timing,         seconds,
};
