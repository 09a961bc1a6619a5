/* SPDX-License-Identifier: MIT */
/*
 * h5_object.c - the object header of a dataset: its shape, its chunks, whether they are filtered, and where their index
 * is.
 *
 * Headers of version 1 are a list of messages, those of version 2 sealed blocks of them; both go on in further blocks
 * that a message names.  Messages that are of no use here are stepped over.
 */
#include <string.h>

#include "formats/h5_index.h"

enum {
    MESSAGE_SPACE = 0x01,
    MESSAGE_LAYOUT = 0x08,
    MESSAGE_FILTERS = 0x0B,
    MESSAGE_CONTINUATION = 0x10,
    SHARED = 2,       /* flag of a message that lies elsewhere */
    MAX_BLOCKS = 256, /* of one header */
    MAX_MESSAGES = 65536
};

/* Blocks of the header that are still to be read. */
typedef struct blocks {
    unsigned n, next, messages;
    uint64_t address[MAX_BLOCKS], size[MAX_BLOCKS];
} blocks;

/* A piece of a piece: the bytes of one message, borrowed. */
static ronchi_h5_piece message_of(const ronchi_h5_piece *block, size_t size)
{
    ronchi_h5_piece message = {block->bytes + block->at, size, 0, block->offset + block->at, false};
    return message;
}

/* ------------------------------------------------------------------------------------------------------- messages */

static ronchi_status take_space(ronchi_h5_index *index, ronchi_h5_piece *m, ronchi_error *err)
{
    ronchi_h5_chunks *out = index->out;
    unsigned version = (unsigned)ronchi_h5_take(m, 1), rank = (unsigned)ronchi_h5_take(m, 1),
             flags = (unsigned)ronchi_h5_take(m, 1);
    if (index->has_space)
        return ronchi_h5_damaged(index, m->offset, err, "a second shape of the dataset");
    if (version != 1 && version != 2)
        return ronchi_h5_unknown(index, m->offset, err, "a shape of an unknown version");
    if (rank < 1 || rank > RONCHI_H5_CHUNK_AXES)
        return ronchi_h5_unknown(index, m->offset + 1, err, "a dataset of no axes, or of more than four");
    (void)ronchi_h5_take(m, version == 1 ? 5 : 1);
    for (unsigned i = 0; i < rank; i++)
        out->dims[i] = ronchi_h5_take(m, index->length_size);
    for (unsigned i = 0; i < rank; i++) {
        index->max_dims[i] = flags & 1 ? ronchi_h5_take(m, index->length_size) : out->dims[i];
        if (index->max_dims[i] < out->dims[i])
            return ronchi_h5_damaged(index, m->offset, err, "the dataset is larger than it may be");
    }
    if (m->exhausted)
        return ronchi_h5_damaged(index, m->offset, err, "the dataset's shape is cut off");
    if (index->has_layout && out->rank != (int)rank)
        return ronchi_h5_damaged(index, m->offset, err, "shape and chunks have different numbers of axes");
    out->rank = (int)rank;
    index->has_space = true;
    return RONCHI_OK;
}

static ronchi_status take_filters(ronchi_h5_index *index, ronchi_h5_piece *m, ronchi_error *err)
{
    unsigned version = (unsigned)ronchi_h5_take(m, 1), n = (unsigned)ronchi_h5_take(m, 1);
    if (index->has_filters)
        return ronchi_h5_damaged(index, m->offset, err, "a second list of filters");
    if (m->exhausted || n > 32)
        return ronchi_h5_damaged(index, m->offset, err, "the list of filters is damaged");
    if (version != 1 && version != 2)
        return ronchi_h5_unknown(index, m->offset, err, "a list of filters of an unknown version");
    index->has_filters = true;
    index->filtered = n > 0;
    return RONCHI_OK;
}

/* The sizes of a chunk: its axes, and the bytes of an element as the last. */
static ronchi_status take_chunk(ronchi_h5_index *index, ronchi_h5_piece *m, unsigned axes, unsigned size,
                                ronchi_error *err)
{
    ronchi_h5_chunks *out = index->out;
    if (axes < 2 || axes > RONCHI_H5_CHUNK_AXES + 1)
        return ronchi_h5_unknown(index, m->offset, err, "chunks of no axes, or of more than four");
    if (index->has_space && out->rank != (int)axes - 1)
        return ronchi_h5_damaged(index, m->offset, err, "shape and chunks have different numbers of axes");
    if (size < 1 || size > 8)
        return ronchi_h5_damaged(index, m->offset, err, "chunk sizes of an impossible width");
    out->rank = (int)axes - 1;
    uint64_t bytes = 1;
    for (unsigned i = 0; i < axes; i++) {
        uint64_t n = ronchi_h5_take(m, size);
        if (n == 0 || n > UINT32_MAX || bytes > UINT32_MAX / n)
            return ronchi_h5_damaged(index, m->offset, err, "the chunk shape cannot be");
        bytes *= n;
        if (i + 1 < axes)
            out->chunk[i] = n;
        else
            out->element_bytes = (uint32_t)n;
    }
    index->chunk_bytes = bytes;
    return RONCHI_OK;
}

static ronchi_status take_layout3(ronchi_h5_index *index, ronchi_h5_piece *m, ronchi_error *err)
{
    unsigned axes = (unsigned)ronchi_h5_take(m, 1);
    index->kind = RONCHI_H5_BTREE1;
    index->address = ronchi_h5_take_address(index, m);
    return take_chunk(index, m, axes, 4, err);
}

static ronchi_status take_layout4(ronchi_h5_index *index, ronchi_h5_piece *m, ronchi_error *err)
{
    static const unsigned char parameters[] = {0, 0, 0, 1, 5, 6}; /* bytes, by kind */
    unsigned flags = (unsigned)ronchi_h5_take(m, 1), axes = (unsigned)ronchi_h5_take(m, 1),
             width = (unsigned)ronchi_h5_take(m, 1);
    if (flags & ~3u)
        return ronchi_h5_unknown(index, m->offset + 2, err, "chunks with unknown flags");
    ronchi_status status = take_chunk(index, m, axes, width, err);
    if (status != RONCHI_OK)
        return status;
    unsigned kind = (unsigned)ronchi_h5_take(m, 1);
    if (kind < RONCHI_H5_SINGLE || kind > RONCHI_H5_BTREE2)
        return ronchi_h5_unknown(index, m->offset + m->at - 1, err, "a chunk index of an unknown kind");
    index->kind = (ronchi_h5_index_kind)kind;
    index->partial_unfiltered = (flags & 1) != 0;
    index->single_size = index->chunk_bytes;
    if ((flags & 2) != 0 && kind == RONCHI_H5_SINGLE) {
        index->single_size = ronchi_h5_take(m, index->length_size);
        index->single_skipped = (uint32_t)ronchi_h5_take(m, 4);
    }
    for (unsigned i = 0; i < parameters[kind]; i++) {
        uint8_t byte = (uint8_t)ronchi_h5_take(m, 1);
        if (i < sizeof index->array)
            index->array[i] = byte;
    }
    index->address = ronchi_h5_take_address(index, m);
    index->size_size = 1 + (ronchi_h5_log2(index->chunk_bytes) + 8) / 8;
    return RONCHI_OK;
}

static ronchi_status take_layout(ronchi_h5_index *index, ronchi_h5_piece *m, ronchi_error *err)
{
    unsigned version = (unsigned)ronchi_h5_take(m, 1), kind = (unsigned)ronchi_h5_take(m, 1);
    if (index->has_layout)
        return ronchi_h5_damaged(index, m->offset, err, "a second layout of the dataset");
    if (version != 3 && version != 4)
        return ronchi_h5_unknown(index, m->offset, err, "a layout of neither version 3 nor 4");
    if (kind != 2)
        return ronchi_h5_unknown(index, m->offset + 1, err, "the dataset is not chunked");
    ronchi_status status = version == 3 ? take_layout3(index, m, err) : take_layout4(index, m, err);
    if (status != RONCHI_OK)
        return status;
    if (m->exhausted)
        return ronchi_h5_damaged(index, m->offset, err, "the dataset's layout is cut off");
    index->has_layout = true;
    index->told = m->offset;
    return RONCHI_OK;
}

static ronchi_status take_continuation(ronchi_h5_index *index, ronchi_h5_piece *m, blocks *todo, ronchi_error *err)
{
    uint64_t address = ronchi_h5_take_address(index, m), size = ronchi_h5_take(m, index->length_size);
    if (m->exhausted || address == RONCHI_H5_NOWHERE || size == 0)
        return ronchi_h5_damaged(index, m->offset, err, "the object header goes on nowhere");
    if (todo->n == MAX_BLOCKS)
        return ronchi_h5_damaged(index, m->offset, err, "the object header has more than 256 blocks");
    todo->address[todo->n] = address;
    todo->size[todo->n++] = size;
    return RONCHI_OK;
}

static ronchi_status take_message(ronchi_h5_index *index, unsigned type, unsigned flags, ronchi_h5_piece *m,
                                  blocks *todo, ronchi_error *err)
{
    if (++todo->messages > MAX_MESSAGES)
        return ronchi_h5_damaged(index, m->offset, err, "the object header has more than 65536 messages");
    if (type == MESSAGE_CONTINUATION)
        return take_continuation(index, m, todo, err);
    if (type != MESSAGE_SPACE && type != MESSAGE_LAYOUT && type != MESSAGE_FILTERS)
        return RONCHI_OK;
    if (flags & SHARED)
        return ronchi_h5_unknown(index, m->offset, err, "part of the dataset's description is shared");
    return type == MESSAGE_SPACE    ? take_space(index, m, err)
           : type == MESSAGE_LAYOUT ? take_layout(index, m, err)
                                    : take_filters(index, m, err);
}

/* ---------------------------------------------------------------------------------------------------------- blocks */

/* Messages from piece->at to 'end'; 'order' bytes of creation order stand in each head of version 2. */
static ronchi_status take_messages(ronchi_h5_index *index, ronchi_h5_piece *piece, size_t end, unsigned version,
                                   unsigned order, blocks *todo, ronchi_error *err)
{
    size_t head = version == 1 ? 8 : 4 + order;
    while (end - piece->at >= head) {
        uint64_t where = piece->offset + piece->at;
        unsigned type = (unsigned)ronchi_h5_take(piece, version == 1 ? 2 : 1);
        size_t size = (size_t)ronchi_h5_take(piece, 2);
        unsigned flags = (unsigned)ronchi_h5_take(piece, 1);
        piece->at += head - (version == 1 ? 5 : 4);
        if (size > end - piece->at || (version == 1 && size % 8 != 0))
            return ronchi_h5_damaged(index, where, err, "a message of the object header has an impossible size");
        ronchi_h5_piece message = message_of(piece, size);
        ronchi_status status = take_message(index, type, flags, &message, todo, err);
        if (status != RONCHI_OK)
            return status;
        piece->at += size;
    }
    if (version == 1 && piece->at != end)
        return ronchi_h5_damaged(index, piece->offset + piece->at, err, "the object header ends within a message");
    return RONCHI_OK;
}

static ronchi_status read_header1(ronchi_h5_index *index, uint64_t header, blocks *todo, ronchi_error *err)
{
    ronchi_h5_piece piece;
    ronchi_status status = ronchi_h5_fetch(index, header, 16, &piece, err);
    if (status == RONCHI_OK) {
        if (ronchi_h5_take(&piece, 1) != 1)
            status = ronchi_h5_damaged(index, piece.offset, err, "no object header is where the dataset's should be");
        piece.at = 8;
        todo->address[0] = header + 16;
        todo->size[0] = ronchi_h5_take(&piece, 4);
        todo->n = 1;
    }
    ronchi_h5_drop(index, &piece);
    return status;
}

/* The first block of version 2 is read here; what it leaves to do are its continuations. */
static ronchi_status read_header2(ronchi_h5_index *index, uint64_t header, unsigned *order, blocks *todo,
                                  ronchi_error *err)
{
    ronchi_h5_piece piece;
    uint64_t size = 0;
    ronchi_status status = ronchi_h5_fetch(index, header, 6, &piece, err);
    unsigned flags = 0, skip = 0;
    if (status == RONCHI_OK) {
        piece.at = 4;
        if (ronchi_h5_take(&piece, 1) != 2)
            status = ronchi_h5_unknown(index, piece.offset + 4, err, "an object header of a newer version");
        flags = (unsigned)ronchi_h5_take(&piece, 1);
        skip = 6u + (flags & 0x20 ? 16u : 0u) + (flags & 0x10 ? 4u : 0u);
    }
    ronchi_h5_drop(index, &piece);
    *order = flags & 4 ? 2 : 0;
    if (status != RONCHI_OK)
        return status;
    status = ronchi_h5_fetch(index, header + skip, 1u << (flags & 3), &piece, err);
    if (status == RONCHI_OK)
        size = ronchi_h5_take(&piece, 1u << (flags & 3));
    ronchi_h5_drop(index, &piece);
    if (status != RONCHI_OK)
        return status;
    skip += 1u << (flags & 3);
    if (size > RONCHI_H5_PIECE_LIMIT)
        return ronchi_h5_damaged(index, index->base, err, "the object header has an impossible size");
    status = ronchi_h5_fetch(index, header, skip + size + 4, &piece, err);
    if (status == RONCHI_OK) {
        piece.at = skip + (size_t)size;
        status = ronchi_h5_sealed(index, &piece, 0, "the object header's checksum is wrong", err);
    }
    if (status == RONCHI_OK) {
        piece.at = skip;
        status = take_messages(index, &piece, skip + (size_t)size, 2, *order, todo, err);
    }
    ronchi_h5_drop(index, &piece);
    return status;
}

static ronchi_status read_block(ronchi_h5_index *index, unsigned version, unsigned order, blocks *todo,
                                ronchi_error *err)
{
    ronchi_h5_piece piece;
    unsigned k = todo->next++;
    ronchi_status status = ronchi_h5_fetch(index, todo->address[k], todo->size[k], &piece, err);
    size_t end = piece.size;
    if (status == RONCHI_OK && version == 2) {
        if (piece.size < 8 || !ronchi_h5_signed(&piece, "OCHK"))
            status = ronchi_h5_damaged(index, piece.offset, err, "the object header does not go on where it says");
        if (status == RONCHI_OK) {
            end = piece.at = piece.size - 4;
            status = ronchi_h5_sealed(index, &piece, 0, "the object header's checksum is wrong", err);
            piece.at = 4;
        }
    }
    if (status == RONCHI_OK)
        status = take_messages(index, &piece, end, version, order, todo, err);
    ronchi_h5_drop(index, &piece);
    return status;
}

ronchi_status ronchi_h5_read_header(ronchi_h5_index *index, uint64_t header, ronchi_error *err)
{
    ronchi_h5_piece piece;
    blocks todo;
    unsigned version = 1, order = 0;
    memset(&todo, 0, sizeof todo);
    ronchi_status status = ronchi_h5_fetch(index, header, 4, &piece, err);
    if (status == RONCHI_OK && ronchi_h5_signed(&piece, "OHDR"))
        version = 2;
    ronchi_h5_drop(index, &piece);
    if (status == RONCHI_OK)
        status =
            version == 1 ? read_header1(index, header, &todo, err) : read_header2(index, header, &order, &todo, err);
    while (status == RONCHI_OK && todo.next < todo.n)
        status = read_block(index, version, order, &todo, err);
    if (status == RONCHI_OK && (!index->has_space || !index->has_layout))
        status = ronchi_h5_damaged(index, index->base + header, err, "the object header tells no shape or no layout");
    return status;
}
