// SPDX-License-Identifier: MIT
// lane_rans_encode_on.cu - a scan rectangle of frames on the device becomes a chunk there: room, launches, results.
#include <string.h>

#include "codec/lane_rans_encode_device.cuh"
#include "codec/lane_rans_on.cuh"

// A model's table as the encoder wants it: entries by symbol (those without slots are the escape's), then places.
void lane_encode_table(const ronchi_lane_code *code, uint32_t *out)
{
    for (uint32_t k = 0; k < LANE_SYMBOLS; k++, out += 4) {
        out[0] = code->inverse[k];
        out[1] = code->bump[k] ? code->inverse[k] : 0; // (x + bump) * inverse
        out[2] = code->frequency[k];
        out[3] = code->rotate[k] | (uint32_t)code->first[k] << 8 |
                 (code->coded[k] == LANE_ESCAPE ? (uint32_t)LANE_ENTRY_ESCAPE : 0) | (uint32_t)code->largest << 20 |
                 (uint32_t)code->shift << 24;
    }
    static_assert(LANE_TABLE_BYTES == 16 * LANE_SYMBOLS + LANE_SLOTS, "entries and places");
    memcpy(out, code->place, LANE_SLOTS);
}

static uint32_t div_up(size_t a, size_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

// Everything but pointers.
static lane_encode_plan plan_of(const ronchi_lane_layout *l, size_t n_positions)
{
    lane_encode_plan p;
    memset(&p, 0, sizeof p);
    p.n = (uint32_t)n_positions;
    p.n_streams = div_up(n_positions, LANE_SPAN);
    p.rows = div_up(n_positions < LANE_SPAN ? n_positions : (size_t)LANE_SPAN, LANE_LANES);
    p.value_bytes = (uint32_t)l->value_bytes;
    p.pitch = l->shape.det_rows * l->shape.det_cols * l->value_bytes;
    p.det_rows = (uint32_t)l->shape.det_rows;
    p.det_cols = (uint32_t)l->shape.det_cols;
    p.tile_rows = (uint32_t)l->tile_rows;
    p.tile_cols = (uint32_t)l->tile_cols;
    p.tiles_across = (uint32_t)l->tiles_across;
    p.tiles_down = (uint32_t)l->tiles_down;
    p.n_tiles = (uint32_t)l->n_tiles;
    const uint32_t words = p.value_bytes == 4 || p.rows < 16 ? p.rows : 16;
    p.vectors = div_up(words, 4);
    // of a pixel at most: a word a step and lane; of each count an escape of 3 words and 2 bits, of a group whole words
    p.slack = LANE_LANES * (5 * p.rows + 8);
    const size_t whole = 4 + div_up((size_t)LANE_TILE * n_positions * 8 * l->value_bytes, 16);
    p.slot_words = (uint32_t)((whole + p.slack + 7) / 8 * 8);
    return p;
}

// Scratch of a plan; returns how much it is.
static size_t carve(lane_encode_plan *p, void *base)
{
    lane_carve c = {static_cast<char *>(base), 0};
    p->counts = c.take<uint4>((size_t)p->n_tiles * LANE_TILE * p->vectors * p->n_streams * LANE_LANES);
    p->slots = c.take<uint16_t>((size_t)p->n_tiles * p->n_streams * p->slot_words);
    p->parts = c.take<lane_part>((size_t)p->n_tiles * p->n_streams * LANE_TILE);
    p->made = c.take<lane_made>(p->n_tiles);
    p->offset = c.take<uint32_t>((size_t)p->n_tiles + 1);
    p->result = c.take<lane_encoded>(1);
    return c.used;
}

static size_t bytes_of_one(const ronchi_lane_layout *layout)
{
    lane_encode_plan plan = plan_of(layout, layout->rect_rows * layout->rect_cols);
    return carve(&plan, NULL);
}

// As many rectangles at once as there are, and as fit 1 GiB.
static uint32_t encoders_of(const ronchi_lane_layout *layout)
{
    const size_t fit = ((size_t)1 << 30) / bytes_of_one(layout);
    size_t n = layout->n_rects < LANE_ENCODERS ? layout->n_rects : (size_t)LANE_ENCODERS;
    n = n < fit ? n : fit;
    return n ? (uint32_t)n : 1;
}

uint64_t lane_on_encode_bytes(const ronchi_lane_layout *layout)
{
    return (uint64_t)encoders_of(layout) * bytes_of_one(layout);
}

static ronchi_status begin(ronchi_lane_on *on, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    const size_t scratch = bytes_of_one(&on->layout), host = 256 + (on->layout.n_tiles + 1) * sizeof(uint32_t);
    const uint32_t n = encoders_of(&on->layout);
    ronchi_status status = t->event_open(on->device, &on->arrived, err);
    while (status == RONCHI_OK && on->n_encoders < n) {
        lane_encoder *e = &on->encoders[on->n_encoders++];
        status = t->job_take(on->device, scratch, host, &e->job, err);
        if (status == RONCHI_OK)
            status = t->event_open(on->device, &e->turned, err);
    }
    return status;
}

static lane_encode_plan plan_for(const ronchi_lane_on *on, const lane_encoder *e)
{
    const ronchi_lane_layout *l = &on->layout;
    const size_t row = e->rect / l->rects_across * l->rect_rows, col = e->rect % l->rects_across * l->rect_cols;
    const size_t rows = l->shape.scan_rows - row < l->rect_rows ? l->shape.scan_rows - row : l->rect_rows;
    const size_t cols = l->shape.scan_cols - col < l->rect_cols ? l->shape.scan_cols - col : l->rect_cols;
    lane_encode_plan plan = plan_of(l, rows * cols);
    plan.valid = on->valid;
    plan.table = reinterpret_cast<const uint4 *>(on->encode_table);
    carve(&plan, e->job->scratch);
    return plan;
}

// Enqueues everything up to the sizes of the bricks; returns when the frames have been read.
static ronchi_status make_bricks(ronchi_lane_on *on, lane_encoder *e, const void *frames, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    char *host = static_cast<char *>(e->job->host);
    ronchi_cuda_stream stream = e->job->stream;
    lane_encode_plan plan = plan_for(on, e);
    plan.frames = static_cast<const uint8_t *>(frames);
    ronchi_status status = t->fill(on->device, stream, plan.result, 0, sizeof *plan.result, err);
    if (status == RONCHI_OK)
        status = lane_launch_turn(plan, stream, err);
    if (status == RONCHI_OK)
        status = t->event_record(on->device, e->turned, stream, err);
    if (status == RONCHI_OK)
        status = lane_launch_encode(plan, stream, err);
    if (status == RONCHI_OK)
        status = lane_launch_place(plan, stream, err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, stream, host, plan.result, sizeof *plan.result, err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, stream, host + 256, plan.offset, (plan.n_tiles + 1) * sizeof *plan.offset, err);
    if (status != RONCHI_OK) {
        t->stream_wait(on->device, stream, NULL);
        return status;
    }
    e->busy = true;
    return t->event_wait(on->device, e->turned, err);
}

// The chunk itself, once its size is known; its words follow on the encoder's stream.
static ronchi_status make_chunk(ronchi_lane_on *on, lane_encoder *e, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    ronchi_cuda_stream stream = e->job->stream;
    const lane_encode_plan plan = plan_for(on, e);
    const uint32_t *offset = reinterpret_cast<uint32_t *>(static_cast<char *>(e->job->host) + 256);
    lane_encoded found;
    e->busy = false;
    ronchi_status status = t->stream_wait(on->device, stream, err);
    if (status != RONCHI_OK)
        return status;
    memcpy(&found, e->job->host, sizeof found);
    if (found.words > UINT32_MAX)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "a chunk of %llu encoded words is too large", found.words);
    for (size_t i = 0; i < plan.n_tiles; i++)
        on->tile_words[i] += offset[i + 1] - offset[i];
    *on->most = found.most > *on->most ? found.most : *on->most;
    status = lane_on_room(on, e->rect, (size_t)found.words, stream, err);
    if (status == RONCHI_OK)
        status = lane_launch_assemble(plan, const_cast<uint16_t *>(on->chunks[e->rect].words), stream, err);
    if (status == RONCHI_OK)
        status = t->copy(on->device, stream, const_cast<uint32_t *>(on->chunks[e->rect].offset), plan.offset,
                         (plan.n_tiles + 1) * sizeof *plan.offset, err);
    return status;
}

ronchi_status lane_on_encode_end(ronchi_lane_on *on, bool finish, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    ronchi_device_scope here(on->device);
    ronchi_status status = RONCHI_OK;
    for (uint32_t i = 0; i < on->n_encoders; i++) { // the oldest first
        lane_encoder *e = &on->encoders[(on->next_encoder + i) % on->n_encoders];
        if (finish && e->busy && status == RONCHI_OK)
            status = make_chunk(on, e, err);
    }
    for (uint32_t i = 0; i < on->n_encoders; i++) {
        lane_encoder *e = &on->encoders[i];
        if (e->job) {
            ronchi_status waited = t->stream_wait(on->device, e->job->stream, status == RONCHI_OK ? err : NULL);
            status = status == RONCHI_OK && finish ? waited : status;
            t->job_give(e->job);
        }
        t->event_close(on->device, e->turned);
        *e = lane_encoder();
    }
    t->event_close(on->device, on->arrived);
    on->arrived = NULL;
    on->n_encoders = on->next_encoder = 0;
    return status;
}

ronchi_status lane_on_encode(ronchi_lane_on *on, size_t rect, const void *frames, ronchi_cuda_stream stream,
                             uint64_t *most, ronchi_error *err)
{
    const ronchi_cuda_table *t = on->device->table;
    ronchi_device_scope here(on->device);
    ronchi_status status = RONCHI_OK;
    if (!on->n_encoders)
        status = begin(on, err);
    if (status != RONCHI_OK) {
        lane_on_encode_end(on, false, NULL);
        return status;
    }
    on->most = most;
    lane_encoder *e = &on->encoders[on->next_encoder];
    on->next_encoder = (on->next_encoder + 1) % on->n_encoders;
    if (e->busy)
        status = make_chunk(on, e, err);
    if (status == RONCHI_OK)
        status = t->event_record(on->device, on->arrived, stream, err);
    if (status == RONCHI_OK)
        status = t->event_order(on->device, e->job->stream, on->arrived, err);
    e->rect = rect;
    return status == RONCHI_OK ? make_bricks(on, e, frames, err) : status;
}
