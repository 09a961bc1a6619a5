// SPDX-License-Identifier: MIT
//
// lane_rans_read.cu - regions of a lane-rans-v1 store on the device, into any strided view on the device or the host.
//
// A view on the host is filled in parts that are first put together on the device.
#include <string.h>

#include "codec/lane_rans_on.cuh"

namespace
{

enum { WARPS = 8, THREADS = 32 * WARPS };

// The most bytes of a part on its way to the host.
enum : size_t { PART_BYTES = (size_t)64 << 20 };

// What is read, and where it goes.
struct lane_band {
    char *to;
    int64_t stride[4]; // bytes
    uint32_t size;     // of an element
    uint32_t row, rows, col, cols, det_row, det_rows, det_col, det_cols;
    uint32_t first_rect, rects_across, n_rects;
    uint32_t first_tile, tiles_across, n_tiles;
    uint32_t largest;    // that the type of the view holds
    uint32_t skip_whole; // whole rectangles inside the region are done already
    uint32_t *narrow;    // set to 1 when a count does not fit
};

struct band_sink {
    const lane_view &v;
    const lane_band &r;
    const lane_cut rect, tile;
    uint32_t first, n_positions;
    char *pixel; // NULL: not in the region
    bool narrow;
    __device__ __forceinline__ void begin(uint32_t q)
    {
        const uint32_t row = tile.row + q / tile.cols - r.det_row, col = tile.col + q % tile.cols - r.det_col;
        pixel = row < r.det_rows && col < r.det_cols ? r.to + row * r.stride[2] + col * r.stride[3] : nullptr;
    }
    __device__ __forceinline__ void put(uint32_t row_of_lane, uint32_t count)
    {
        const uint32_t i = first + row_of_lane * LANE_LANES;
        const uint32_t across = rect.cols == 32 ? i & 31 : i % rect.cols,
                       down = rect.cols == 32 ? i >> 5 : i / rect.cols;
        const uint32_t row = rect.row + down - r.row, col = rect.col + across - r.col;
        if (!pixel || i >= n_positions || row >= r.rows || col >= r.cols)
            return;
        char *at = pixel + row * r.stride[0] + col * r.stride[1];
        narrow |= count > r.largest;
        if (r.size == 2)
            *reinterpret_cast<uint16_t *>(at) = (uint16_t)count;
        else if (r.size == 1)
            *reinterpret_cast<uint8_t *>(at) = (uint8_t)count;
        else if (r.size == 4)
            *reinterpret_cast<uint32_t *>(at) = count;
        else
            *reinterpret_cast<uint64_t *>(at) = count;
    }
    __device__ __forceinline__ void patch(uint32_t row, uint32_t count)
    {
        put(row, count);
    }
    __device__ __forceinline__ void end(uint32_t)
    {
    }
};

// One scan position: only one row of one lane is wanted.
struct frame_sink {
    const lane_band &r;
    const lane_cut tile;
    uint32_t wanted; // row of this lane, or none
    uint32_t value;
    char *pixel;
    bool narrow;
    __device__ __forceinline__ void begin(uint32_t q)
    {
        const uint32_t row = tile.row + q / tile.cols - r.det_row, col = tile.col + q % tile.cols - r.det_col;
        pixel = row < r.det_rows && col < r.det_cols ? r.to + row * r.stride[2] + col * r.stride[3] : nullptr;
    }
    __device__ __forceinline__ void put(uint32_t row, uint32_t count)
    {
        value = row == wanted ? count : value;
    }
    __device__ __forceinline__ void patch(uint32_t row, uint32_t count)
    {
        put(row, count);
    }
    __device__ __forceinline__ void end(uint32_t)
    {
        if (wanted >= LANE_ROWS || !pixel)
            return;
        narrow |= value > r.largest;
        if (r.size == 2)
            *reinterpret_cast<uint16_t *>(pixel) = (uint16_t)value;
        else if (r.size == 1)
            *reinterpret_cast<uint8_t *>(pixel) = (uint8_t)value;
        else if (r.size == 4)
            *reinterpret_cast<uint32_t *>(pixel) = value;
        else
            *reinterpret_cast<uint64_t *>(pixel) = value;
    }
};

// One warp a block: nothing else competes, since the time is that of one chain of symbols.
__global__ void __launch_bounds__(32)
    frame_kernel(const __grid_constant__ lane_view v, const __grid_constant__ lane_band r)
{
    __shared__ uint8_t ids[LANE_TILE];
    const uint32_t lane = threadIdx.x, t = blockIdx.x, rect = r.first_rect;
    const uint32_t tile = r.first_tile + t / r.tiles_across * v.tiles_across + t % r.tiles_across;
    const lane_cut cut = lane_rect_of(v, rect), pixels = lane_tile_of(v, tile);
    const uint32_t i = (r.row - cut.row) * cut.cols + r.col - cut.col;
    const bool mine = i / LANE_SPAN == lane >> 4 && i % LANE_LANES == (lane & 15);
    lane_brick b;
    const bool some = lane_begin(v, rect, tile, lane, ids, b);
    frame_sink sink = {r, pixels, mine ? i % LANE_SPAN / LANE_LANES : (uint32_t)LANE_ROWS, 0, nullptr, false};
    const uint32_t last_row = min(pixels.row + pixels.rows, r.det_row + r.det_rows) - 1 - pixels.row;
    const uint32_t last_col = min(pixels.col + pixels.cols, r.det_col + r.det_cols) - 1 - pixels.col;
    const uint32_t stop = last_row * pixels.cols + last_col + 1;
    if (i / LANE_SPAN != lane >> 4)
        b.rows = 0;
    uint32_t why = 0;
    if (some)
        why = lane_walk(v, v.table, b, lane, ids, stop, sink);
    else
        for (uint32_t q = 0; q < stop; q++) {
            sink.begin(q);
            sink.end(q);
        }
    if (why && lane == 0)
        lane_report(v, rect, tile, why);
    if (sink.narrow)
        *r.narrow = 1;
}

__global__ void __launch_bounds__(THREADS)
    band_kernel(const __grid_constant__ lane_view v, const __grid_constant__ lane_band r)
{
    __shared__ uint8_t ids[WARPS][LANE_TILE];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t i = blockIdx.x * WARPS + warp;
    if (i >= r.n_rects * r.n_tiles)
        return;
    const uint32_t k = i / r.n_tiles, t = i % r.n_tiles;
    const uint32_t rect = r.first_rect + k / r.rects_across * v.rects_across + k % r.rects_across;
    const uint32_t tile = r.first_tile + t / r.tiles_across * v.tiles_across + t % r.tiles_across;
    const lane_cut cut = lane_rect_of(v, rect), pixels = lane_tile_of(v, tile);
    if (r.skip_whole && cut.rows == 32 && cut.cols == 32 && cut.row >= r.row && cut.row + 32 <= r.row + r.rows &&
        cut.col >= r.col && cut.col + 32 <= r.col + r.cols)
        return;
    lane_brick b;
    const bool some = lane_begin(v, rect, tile, lane, ids[warp], b);
    band_sink sink = {v, r, cut, pixels, (lane & 16 ? LANE_SPAN : 0) + (lane & 15), b.n_positions, nullptr, false};
    // pixels behind the last that is wanted need not be decoded, nor a stream without a wanted position
    const uint32_t last_row = min(pixels.row + pixels.rows, r.det_row + r.det_rows) - 1 - pixels.row;
    const uint32_t last_col = min(pixels.col + pixels.cols, r.det_col + r.det_cols) - 1 - pixels.col;
    const uint32_t stop = last_row * pixels.cols + last_col + 1;
    const uint32_t row0 = max(cut.row, r.row) - cut.row, row1 = min(cut.row + cut.rows, r.row + r.rows) - cut.row;
    const uint32_t col0 = max(cut.col, r.col) - cut.col, col1 = min(cut.col + cut.cols, r.col + r.cols) - cut.col;
    const uint32_t from = row0 * cut.cols + col0, to = (row1 - 1) * cut.cols + col1;
    if (to <= (lane & 16 ? LANE_SPAN : 0) || from >= (lane & 16 ? 2 * LANE_SPAN : LANE_SPAN))
        b.rows = 0;
    uint32_t why = 0;
    if (some)
        why = lane_walk(v, v.table, b, lane, ids[warp], stop, sink);
    else
        for (uint32_t q = 0; q < stop; q++) {
            sink.begin(q);
            for (uint32_t row = 0; row < LANE_ROWS; row++)
                sink.put(row, 0);
        }
    if (why && lane == 0)
        lane_report(v, rect, tile, why);
    if (sink.narrow)
        *r.narrow = 1;
}

uint32_t largest_of(ronchi_dtype dtype)
{
    return dtype == RONCHI_U8 ? UINT8_MAX : dtype == RONCHI_U16 ? UINT16_MAX : UINT32_MAX;
}

// Decodes a region to device memory of any strides, on the job's stream.
ronchi_status launch(const ronchi_lane_on *on, const ronchi_region *g, const ronchi_view *out, ronchi_cuda_job *job,
                     ronchi_error *err)
{
    const ronchi_lane_layout *l = &on->layout;
    lane_view v = on->view;
    lane_band r;
    memset(&r, 0, sizeof r);
    r.to = static_cast<char *>(out->data);
    for (int i = 0; i < 4; i++)
        r.stride[i] = out->stride[i];
    r.size = (uint32_t)ronchi_dtype_size(out->dtype);
    r.row = (uint32_t)g->scan_row;
    r.rows = (uint32_t)g->scan_rows;
    r.col = (uint32_t)g->scan_col;
    r.cols = (uint32_t)g->scan_cols;
    r.det_row = (uint32_t)g->det_row;
    r.det_rows = (uint32_t)g->det_rows;
    r.det_col = (uint32_t)g->det_col;
    r.det_cols = (uint32_t)g->det_cols;
    const size_t rect_row = g->scan_row / l->rect_rows, rect_col = g->scan_col / l->rect_cols;
    const size_t tile_row = g->det_row / l->tile_rows, tile_col = g->det_col / l->tile_cols;
    r.first_rect = (uint32_t)(rect_row * l->rects_across + rect_col);
    r.rects_across = (uint32_t)((g->scan_col + g->scan_cols - 1) / l->rect_cols - rect_col + 1);
    r.n_rects = (uint32_t)((g->scan_row + g->scan_rows - 1) / l->rect_rows - rect_row + 1) * r.rects_across;
    r.first_tile = (uint32_t)(tile_row * l->tiles_across + tile_col);
    r.tiles_across = (uint32_t)((g->det_col + g->det_cols - 1) / l->tile_cols - tile_col + 1);
    r.n_tiles = (uint32_t)((g->det_row + g->det_rows - 1) / l->tile_rows - tile_row + 1) * r.tiles_across;
    r.largest = largest_of(out->dtype);
    v.bad = static_cast<unsigned long long *>(job->scratch);
    r.narrow = reinterpret_cast<uint32_t *>(v.bad + 1);
    bool cut;
    ronchi_status status;
    r.skip_whole = lane_on_frames(on, v, g, out, job, &cut, &status, err);
    if (status != RONCHI_OK || (r.skip_whole && !cut))
        return status;
    if (g->scan_rows == 1 && g->scan_cols == 1) {
        frame_kernel<<<r.n_tiles, 32, 0, job->stream>>>(v, r);
        return RONCHI_CUDA_LAUNCH("decoding of a frame", err);
    }
    const uint64_t n = (uint64_t)r.n_rects * r.n_tiles;
    if (n > UINT32_MAX)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET, "the region is too large for one call");
    band_kernel<<<(unsigned)((n + WARPS - 1) / WARPS), THREADS, 0, job->stream>>>(v, r);
    return RONCHI_CUDA_LAUNCH("decoding of a region", err);
}

// The two words of the job: bad bricks and counts that do not fit.
ronchi_status finish(const ronchi_view *out, ronchi_cuda_job *job, uint64_t *bad, ronchi_error *err)
{
    const ronchi_cuda_table *t = job->device->table;
    const unsigned long long *word = static_cast<unsigned long long *>(job->host);
    ronchi_status status = t->copy(job->device, job->stream, job->host, job->scratch, 16, err);
    if (status == RONCHI_OK)
        status = lane_on_finish(job, word, bad, err);
    if (status == RONCHI_OK && (uint32_t)word[1])
        status = ronchi_fail(err, RONCHI_ERR_RANGE, NULL, RONCHI_NO_OFFSET, "a count does not fit %s",
                             ronchi_dtype_name(out->dtype));
    return status;
}

ronchi_status begin(ronchi_cuda_job *job, ronchi_error *err)
{
    const ronchi_cuda_table *t = job->device->table;
    ronchi_status status = t->fill(job->device, job->stream, job->scratch, 0xff, 8, err);
    if (status == RONCHI_OK)
        status = t->fill(job->device, job->stream, static_cast<char *>(job->scratch) + 8, 0, 8, err);
    return status;
}

// Copies a contiguous part into the caller's array.
void scatter(const char *from, const ronchi_region *part, const ronchi_region *g, const ronchi_view *out)
{
    const size_t size = ronchi_dtype_size(out->dtype);
    for (size_t i = 0; i < part->scan_rows; i++)
        for (size_t j = 0; j < part->scan_cols; j++)
            for (size_t k = 0; k < part->det_rows; k++) {
                char *to = static_cast<char *>(
                    ronchi_view_at(out, part->scan_row - g->scan_row + i, part->scan_col - g->scan_col + j, k, 0));
                if (out->stride[3] == (ptrdiff_t)size) {
                    memcpy(to, from, part->det_cols * size);
                    from += part->det_cols * size;
                } else {
                    for (size_t c = 0; c < part->det_cols; c++, from += size)
                        memcpy(to + (ptrdiff_t)c * out->stride[3], from, size);
                }
            }
}

ronchi_status read_part(const ronchi_lane_on *on, const ronchi_region *part, const ronchi_region *g,
                        const ronchi_view *out, ronchi_cuda_job *job, uint64_t *bad, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    const ronchi_shape shape = {part->scan_rows, part->scan_cols, part->det_rows, part->det_cols};
    ronchi_view view = *out;
    ptrdiff_t stride = (ptrdiff_t)ronchi_dtype_size(out->dtype);
    const size_t sizes[4] = {shape.scan_rows, shape.scan_cols, shape.det_rows, shape.det_cols};
    for (int i = 3; i >= 0; stride *= (ptrdiff_t)sizes[i], i--) {
        view.shape[i] = sizes[i];
        view.stride[i] = stride;
    }
    view.data = static_cast<char *>(job->scratch) + 256;
    ronchi_status status = begin(job, err);
    if (status == RONCHI_OK)
        status = launch(on, part, &view, job, err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, job->stream, static_cast<char *>(job->host) + 256, view.data, (size_t)stride, err);
    ronchi_status found = finish(out, job, bad, status == RONCHI_OK ? err : NULL);
    status = status == RONCHI_OK ? found : status;
    if (status == RONCHI_OK)
        scatter(static_cast<char *>(job->host) + 256, part, g, out);
    return status;
}

// A host view, in parts of whole scan rows or of parts of one.
ronchi_status read_parts(const ronchi_lane_on *on, const ronchi_region *g, const ronchi_view *out, uint64_t *bad,
                         ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    const size_t frame = g->det_rows * g->det_cols * ronchi_dtype_size(out->dtype);
    size_t cols = frame * g->scan_cols <= PART_BYTES ? g->scan_cols : PART_BYTES / frame;
    cols = cols ? cols : 1;
    size_t rows = cols < g->scan_cols ? 1 : PART_BYTES / (frame * cols);
    rows = rows < 1 ? 1 : rows < g->scan_rows ? rows : g->scan_rows;
    ronchi_cuda_job *job;
    ronchi_status status = t->job_take(on->device, 256 + rows * cols * frame, 256 + rows * cols * frame, &job, err);
    for (size_t i = 0; status == RONCHI_OK && i < g->scan_rows; i += rows)
        for (size_t j = 0; status == RONCHI_OK && j < g->scan_cols; j += cols) {
            ronchi_region part = *g;
            part.scan_row += i;
            part.scan_rows = ronchi_min_size(rows, g->scan_rows - i);
            part.scan_col += j;
            part.scan_cols = ronchi_min_size(cols, g->scan_cols - j);
            status = read_part(on, &part, g, out, job, bad, err);
        }
    t->job_give(job);
    return status;
}

} // namespace

ronchi_status lane_on_read(const ronchi_lane_on *on, const ronchi_region *g, const ronchi_view *out, uint64_t *bad,
                           ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    ronchi_device_scope here(on->device);
    *bad = RONCHI_LANE_NOT_BAD;
    if (out->place == RONCHI_HOST)
        return read_parts(on, g, out, bad, err);
    ronchi_cuda_job *job;
    ronchi_status status = t->job_take(on->device, 256, 256, &job, err);
    if (status != RONCHI_OK)
        return status;
    lane_clock clock;
    status = begin(job, err);
    lane_clock_start(&clock, on, job->stream);
    if (status == RONCHI_OK)
        status = launch(on, g, out, job, err);
    lane_clock_stop(&clock, job->stream);
    lane_clock_read(&clock);
    ronchi_status found = finish(out, job, bad, status == RONCHI_OK ? err : NULL);
    t->job_give(job);
    return status == RONCHI_OK ? found : status;
}
