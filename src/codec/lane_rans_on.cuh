/* SPDX-License-Identifier: MIT */
/* lane_rans_on.cuh - what the host side of the .cu files shares: the object behind ronchi_lane_on, and scratch. */
#ifndef RONCHI_CODEC_LANE_RANS_ON_CUH
#define RONCHI_CODEC_LANE_RANS_ON_CUH

#include "codec/lane_rans_device.cuh"

enum { LANE_ENCODERS = 4 };

/* One rectangle on its way: a brick is a long chain of steps, so several rectangles fill the device at once. */
struct lane_encoder {
    ronchi_cuda_job *job;
    ronchi_cuda_event turned; /* the frames are not needed any more */
    size_t rect;
    bool busy; /* a chunk is being made whose size is not known yet */
};

struct ronchi_lane_on {
    ronchi_device *device;
    ronchi_lane_layout layout;
    ronchi_arena *arena;
    lane_view view;         /* 'bad' is filled per job */
    uint8_t *valid;         /* device [n_pixels] */
    uint8_t *host_valid;    /* [n_pixels] */
    lane_chunk_on *chunks;  /* host copy of the device's table */
    uint32_t *n_words;      /* [n_rects] */
    uint64_t *tile_words;   /* [n_tiles] of all chunks: how much work a tile is */
    uint32_t used[5];       /* bits of the model ids that any brick has, once checked */
    uint32_t *encode_table; /* device [146][128], see lane_encode_table() */
    lane_encoder encoders[LANE_ENCODERS];
    uint32_t n_encoders, next_encoder; /* 0 before the first encode() and behind check() */
    ronchi_cuda_event arrived;         /* frames of an encode() */
    uint64_t *most;                    /* of the caller of encode() */
    int timed;             /* the calls below are timed by events, */
    double seconds;        /* the last one took so long on the device */
};

/* Cuts a job's scratch into pieces aligned to 256 bytes.  With base NULL it only adds up. */
struct lane_carve {
    char *base;
    size_t used;
    template <class T> T *take(size_t n)
    {
        T *at = reinterpret_cast<T *>(base + used);
        used += (n * sizeof(T) + 255) / 256 * 256;
        return base ? at : nullptr;
    }
};

/* Times what is enqueued between start and stop, where timing is on; read() waits for it. */
struct lane_clock {
    ronchi_lane_on *on;
    cudaEvent_t begin, end;
};
void lane_clock_start(lane_clock *clock, const ronchi_lane_on *on, ronchi_cuda_stream stream);
void lane_clock_stop(lane_clock *clock, ronchi_cuda_stream stream);
void lane_clock_read(lane_clock *clock);

/* The functions of ronchi_lane_cuda, by file. */
ronchi_status lane_on_reduce(const ronchi_lane_on *on, const ronchi_reduction *r, uint64_t *bad, ronchi_error *err);
ronchi_status lane_on_read(const ronchi_lane_on *on, const ronchi_region *region, const ronchi_view *out, uint64_t *bad,
                           ronchi_error *err);
ronchi_status lane_on_encode(ronchi_lane_on *on, size_t rect, const void *frames, ronchi_cuda_stream stream,
                             uint64_t *most, ronchi_error *err);
/* Scratch that encode() holds until check() or close(). */
uint64_t lane_on_encode_bytes(const ronchi_lane_layout *layout);
/* Waits for all that encode() enqueued and gives its scratch back; with 'finish' the chunks are made first. */
ronchi_status lane_on_encode_end(ronchi_lane_on *on, bool finish, ronchi_error *err);
/* A model's table as the encoder wants it: out [128]. */
void lane_encode_table(const ronchi_lane_code *code, uint32_t *out);
/* Room for a chunk of 'n_words' words: filled with zeros behind them, and in the table. */
ronchi_status lane_on_room(ronchi_lane_on *on, size_t rect, size_t n_words, ronchi_cuda_stream stream,
                           ronchi_error *err);

/*
 * Decodes frames to 16 bits, rows of whole tiles beside each other in the view: what nearly all reads are.  False when
 * the region or the view is not such a case; then nothing was enqueued.  Rectangles that the region cuts are left out:
 * *cut is set.
 */
bool lane_on_frames(const ronchi_lane_on *on, const lane_view &v, const ronchi_region *region, const ronchi_view *out,
                    ronchi_cuda_job *job, bool *cut, ronchi_status *status, ronchi_error *err);

/* Waits for a job and looks at its word of bad bricks (host memory, copied behind the kernels). */
ronchi_status lane_on_finish(ronchi_cuda_job *job, const unsigned long long *word, uint64_t *bad, ronchi_error *err);

#endif
