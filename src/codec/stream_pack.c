/* SPDX-License-Identifier: MIT */
/* stream_pack.c - pieces that grow while streams are encoded, and their joining. */
#include "codec/stream_pack.h"

#include <string.h>

bool ronchi_stream_pack_init(ronchi_stream_pack *pack, ronchi_context *context, size_t n_streams, size_t n_pieces,
                             uint32_t *offsets, uint8_t *selectors)
{
    memset(pack, 0, sizeof *pack);
    pack->context = context;
    pack->n_streams = n_streams;
    pack->n_pieces = n_pieces;
    pack->offsets = offsets;
    pack->selectors = selectors;
    pack->where = ronchi_alloc(context, n_streams * sizeof *pack->where);
    pack->pieces = ronchi_calloc(context, n_pieces, sizeof *pack->pieces);
    if (!pack->where || !pack->pieces)
        return false;
    memset(offsets, 0, (n_streams + 1) * sizeof *offsets);
    return true;
}

static bool reserve(ronchi_context *context, ronchi_stream_piece *piece, size_t more)
{
    if (piece->capacity - piece->used >= more)
        return true;
    size_t capacity = piece->capacity + piece->capacity / 2 + more + 4096;
    uint8_t *bytes = ronchi_alloc(context, capacity);
    if (!bytes)
        return false;
    if (piece->used)
        memcpy(bytes, piece->bytes, piece->used);
    ronchi_free(context, piece->bytes);
    piece->bytes = bytes;
    piece->capacity = capacity;
    return true;
}

bool ronchi_stream_pack_add(ronchi_stream_pack *pack, ronchi_stream_piece *piece, size_t stream, const uint8_t *bytes,
                            size_t size, uint8_t selector)
{
    if (!reserve(pack->context, piece, size))
        return false;
    if (size)
        memcpy(piece->bytes + piece->used, bytes, size);
    pack->where[stream] = (uint32_t)piece->used;
    pack->offsets[stream + 1] = (uint32_t)size;
    pack->selectors[stream] = selector;
    piece->used += size;
    return true;
}

static ronchi_status join_piece(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    (void)err;
    const ronchi_stream_pack *pack = user;
    const ronchi_stream_piece *piece = &pack->pieces[item];
    for (size_t i = piece->first; i < piece->first + piece->n_streams; i++) {
        size_t size = pack->offsets[i + 1] - pack->offsets[i];
        if (size)
            memcpy(pack->payload + pack->offsets[i], piece->bytes + pack->where[i], size);
    }
    return RONCHI_OK;
}

ronchi_status ronchi_stream_pack_join(ronchi_stream_pack *pack, ronchi_error *err)
{
    for (size_t i = 0; i < pack->n_streams; i++)
        pack->offsets[i + 1] += pack->offsets[i];
    size_t size = pack->offsets[pack->n_streams];
    pack->payload = ronchi_alloc(pack->context, size);
    if (!pack->payload)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu bytes of encoded counts",
                           size);
    if (!size)
        pack->payload[0] = 0;
    return ronchi_parallel_for(pack->context, pack->n_pieces, join_piece, pack, err);
}

void ronchi_stream_pack_release(ronchi_stream_pack *pack)
{
    for (size_t i = 0; pack->pieces && i < pack->n_pieces; i++)
        ronchi_free(pack->context, pack->pieces[i].bytes);
    if (!pack->context)
        return;
    ronchi_free(pack->context, pack->pieces);
    ronchi_free(pack->context, pack->where);
    ronchi_free(pack->context, pack->payload);
    memset(pack, 0, sizeof *pack);
}
