/* SPDX-License-Identifier: MIT */
/*
 * lanes_encode.c - frames of 32-bit values into one chunk of bit lanes.
 *
 * Item 0 of the parallel loop adds the frames to the digest of all values, which has to go in order; the others take
 * LANES_TILE pixels each.
 */
#include <openssl/evp.h>
#include <string.h>

#include "codec/lanes.h"
#include "codec/stream_pack.h"

enum { TILE_STREAMS = RONCHI_STREAM_TILE };

typedef struct encode_job {
    lanes_store *store;
    lanes_chunk *chunk;
    const uint8_t *frames;
    const ronchi_kernels *kernels;
    ronchi_stream_pack pack;
    ronchi_stream_tile *tiles; /* [threads] */
} encode_job;

void ronchi_lanes_digits(const uint8_t digest[32], char out[65])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[64] = 0;
}

/* Largest value at the unflagged pixels of a tile. */
static uint64_t largest(const encode_job *job, size_t first, size_t n)
{
    const ronchi_store *base = &job->store->base;
    uint32_t max = 0;
    for (size_t t = 0; t < job->chunk->n_positions; t++) {
        const uint8_t *row = job->frames + 4 * (t * base->n_pixels + first);
        for (size_t i = 0; i < n; i++) {
            uint32_t value;
            memcpy(&value, row + 4 * i, 4);
            if (base->valid[first + i] && value > max)
                max = value;
        }
    }
    return max;
}

static ronchi_status encode_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    encode_job *job = user;
    const ronchi_store *base = &job->store->base;
    size_t n = job->chunk->n_positions;
    if (item == 0) {
        if (EVP_DigestUpdate(job->store->hash, job->frames, 4 * n * base->n_pixels) != 1)
            return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "SHA-256 failed");
        return RONCHI_OK;
    }
    ronchi_stream_piece *piece = &job->pack.pieces[item - 1];
    ronchi_stream_tile *tile = &job->tiles[worker];
    job->kernels->transpose16(job->frames + 2 * piece->first, (ptrdiff_t)(4 * base->n_pixels), n, piece->n_streams,
                              tile->values[0], 2 * RONCHI_STREAM_PITCH);
    for (size_t i = 0; i < piece->n_streams; i++)
        job->kernels->stream_stats(tile->values[i], n, &tile->stats[i]);
    job->kernels->streams_encode(job->store->tables, tile->values[0], piece->n_streams, n, tile->stats, tile->bytes[0],
                                 tile->sizes, tile->selectors);
    for (size_t i = 0; i < piece->n_streams; i++)
        if (!ronchi_stream_pack_add(&job->pack, piece, piece->first + i, tile->bytes[i], tile->sizes[i],
                                    tile->selectors[i]))
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to encode");
    if (base->dtype == RONCHI_U32)
        piece->max = largest(job, piece->first / 2, piece->n_streams / 2);
    return RONCHI_OK;
}

static ronchi_status run(encode_job *job, ronchi_error *err)
{
    lanes_store *store = job->store;
    lanes_chunk *chunk = job->chunk;
    ronchi_context *context = store->base.context;
    size_t n_streams = lanes_n_streams(store), n_pieces = ronchi_div_up(n_streams, TILE_STREAMS);
    chunk->offsets = ronchi_calloc(context, n_streams + 1, sizeof *chunk->offsets);
    chunk->selectors = ronchi_calloc(context, n_streams, 1);
    job->tiles = ronchi_alloc(context, ronchi_context_threads(context) * sizeof *job->tiles);
    if (!chunk->offsets || !chunk->selectors || !job->tiles ||
        !ronchi_stream_pack_init(&job->pack, context, n_streams, n_pieces, chunk->offsets, chunk->selectors))
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to encode");
    for (size_t i = 0; i < n_pieces; i++) {
        job->pack.pieces[i].first = i * TILE_STREAMS;
        job->pack.pieces[i].n_streams = ronchi_min_size(TILE_STREAMS, n_streams - i * TILE_STREAMS);
    }
    ronchi_status status = ronchi_parallel_for(context, n_pieces + 1, encode_item, job, err);
    if (status == RONCHI_OK)
        status = ronchi_stream_pack_join(&job->pack, err);
    if (status != RONCHI_OK)
        return status;
    for (size_t i = 0; i < n_pieces; i++)
        if (job->pack.pieces[i].max > store->base.max_count)
            store->base.max_count = job->pack.pieces[i].max;
    chunk->payload = job->pack.payload;
    job->pack.payload = NULL;
    chunk->payload_bytes = chunk->offsets[n_streams] ? chunk->offsets[n_streams] : 1; /* the format wants a byte */
    return RONCHI_OK;
}

ronchi_status ronchi_lanes_encode_block(ronchi_store *base, size_t index, const void *frames, ronchi_error *err)
{
    lanes_store *store = (lanes_store *)base;
    if (!store->block_positions || index != store->n_filled || index >= store->n_chunks)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "block %zu is not the next to encode",
                           index);
    ronchi_block block = base->profile->block(base, index);
    encode_job job;
    memset(&job, 0, sizeof job);
    job.store = store;
    job.chunk = &store->chunks[index];
    job.chunk->first = block.first;
    job.chunk->n_positions = block.cols;
    job.frames = frames;
    job.kernels = ronchi_context_kernels(base->context);
    ronchi_status status = run(&job, err);
    ronchi_stream_pack_release(&job.pack);
    ronchi_free(base->context, job.tiles);
    if (status != RONCHI_OK)
        return status;
    ronchi_lanes_place(store, index);
    store->n_filled++;
    return RONCHI_OK;
}

ronchi_status ronchi_lanes_finish(ronchi_store *base, ronchi_error *err)
{
    lanes_store *store = (lanes_store *)base;
    uint8_t digest[EVP_MAX_MD_SIZE];
    if (store->n_filled != store->n_chunks)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "%zu of %zu blocks were encoded",
                           store->n_filled, store->n_chunks);
    if (EVP_DigestFinal_ex(store->hash, digest, NULL) != 1)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "SHA-256 failed");
    ronchi_lanes_digits(digest, store->logical);
    return RONCHI_OK;
}
