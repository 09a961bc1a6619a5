/* SPDX-License-Identifier: MIT */
/* h5_chunks.c - superblock, the table of chunks, and which index fills it. */
#include "formats/h5_chunks.h"

#include <string.h>

#include "formats/h5_index.h"

typedef unsigned long long ull;

/* ------------------------------------------------------------------------------------------------- bytes, checked */

ronchi_status ronchi_h5_damaged(const ronchi_h5_index *index, uint64_t offset, ronchi_error *err, const char *what)
{
    return ronchi_fail(err, RONCHI_ERR_DATA, index->file->name, offset,
                       "byte %llu: %s: copy the file again from the original", (ull)offset, what);
}

ronchi_status ronchi_h5_unknown(const ronchi_h5_index *index, uint64_t offset, ronchi_error *err, const char *what)
{
    return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, index->file->name, offset, "byte %llu: %s", (ull)offset, what);
}

ronchi_status ronchi_h5_fetch(ronchi_h5_index *index, uint64_t address, uint64_t size, ronchi_h5_piece *out,
                              ronchi_error *err)
{
    uint64_t room = index->file->size_bytes - index->base; /* the base lies in the file */
    memset(out, 0, sizeof *out);
    out->offset = address <= room ? index->base + address : index->base;
    if (address > room || size > room - address)
        return ronchi_h5_damaged(index, out->offset, err, "a structure of the chunk index lies outside of the file");
    if (size > RONCHI_H5_PIECE_LIMIT)
        return ronchi_h5_unknown(index, out->offset, err, "a structure of the chunk index is larger than 256 MiB");
    if (size > index->allowance)
        return ronchi_h5_damaged(index, out->offset, err, "the chunk index refers to itself in circles");
    index->allowance -= size;
    out->bytes = ronchi_alloc(index->context, (size_t)size);
    if (!out->bytes)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, index->file->name, out->offset, "no memory for the chunk index");
    out->size = (size_t)size;
    return index->file->read(index->file->user, out->offset, out->bytes, out->size, err);
}

void ronchi_h5_drop(const ronchi_h5_index *index, ronchi_h5_piece *piece)
{
    ronchi_free(index->context, piece->bytes);
    piece->bytes = NULL;
}

bool ronchi_h5_signed(ronchi_h5_piece *piece, const char *signature)
{
    if (piece->size - piece->at < 4 || memcmp(piece->bytes + piece->at, signature, 4) != 0)
        return false;
    piece->at += 4;
    return true;
}

/* Three words stirred; the rotations are lookup3's. */
static void stir(uint32_t w[3], const unsigned char rotation[6])
{
    for (int i = 0; i < 6; i++) {
        uint32_t *to = &w[i % 3], from = w[(i + 2) % 3];
        *to = (*to - from) ^ (from << rotation[i] | from >> (32 - rotation[i]));
        w[(i + 2) % 3] = from + w[(i + 1) % 3];
    }
}

static void stir_last(uint32_t w[3])
{
    static const unsigned char rotation[7] = {14, 11, 25, 16, 4, 14, 24};
    for (int i = 0; i < 7; i++) {
        uint32_t *to = &w[(i + 2) % 3], from = w[(i + 1) % 3];
        *to = (*to ^ from) - (from << rotation[i] | from >> (32 - rotation[i]));
    }
}

uint32_t ronchi_h5_checksum(const uint8_t *bytes, size_t size)
{
    static const unsigned char rotation[6] = {4, 6, 8, 16, 19, 4};
    uint32_t w[3];
    w[0] = w[1] = w[2] = 0xdeadbeefu + (uint32_t)size;
    if (size == 0)
        return w[2];
    for (; size > 12; bytes += 12, size -= 12) {
        for (int i = 0; i < 3; i++)
            w[i] += (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 | (uint32_t)bytes[4 * i + 2] << 16 |
                    (uint32_t)bytes[4 * i + 3] << 24;
        stir(w, rotation);
    }
    for (size_t i = 0; i < size; i++)
        w[i / 4] += (uint32_t)bytes[i] << (8 * (i % 4));
    stir_last(w);
    return w[2];
}

ronchi_status ronchi_h5_sealed(const ronchi_h5_index *index, ronchi_h5_piece *piece, size_t from, const char *what,
                               ronchi_error *err)
{
    size_t end = piece->at;
    uint32_t stored = (uint32_t)ronchi_h5_take(piece, 4);
    if (piece->exhausted)
        return ronchi_h5_damaged(index, piece->offset, err, what);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)from; /* so that what lies behind the checksums is fuzzed too */
    (void)end;
    (void)stored;
#else
    if (stored != ronchi_h5_checksum(piece->bytes + from, end - from))
        return ronchi_h5_damaged(index, piece->offset + from, err, what);
#endif
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------ superblock */

/* Finds the signature at 0, 512, 1024, ... and reads the sizes of addresses and lengths behind it. */
static ronchi_status read_superblock(ronchi_h5_index *index, ronchi_error *err)
{
    uint8_t head[16];
    uint64_t at = 0;
    for (;; at = at ? 2 * at : 512) {
        if (index->file->size_bytes < sizeof head || at > index->file->size_bytes - sizeof head)
            return ronchi_h5_unknown(index, 0, err, "no HDF5 signature");
        ronchi_status status = index->file->read(index->file->user, at, head, sizeof head, err);
        if (status != RONCHI_OK)
            return status;
        if (memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0)
            break;
        if (at > UINT64_MAX / 4)
            return ronchi_h5_unknown(index, 0, err, "no HDF5 signature");
    }
    index->base = at;
    unsigned version = head[8];
    if (version > 3)
        return ronchi_h5_unknown(index, at + 8, err, "a superblock of a newer version");
    index->address_size = head[version < 2 ? 13 : 9];
    index->length_size = head[version < 2 ? 14 : 10];
    if ((index->address_size != 4 && index->address_size != 8) || (index->length_size != 4 && index->length_size != 8))
        return ronchi_h5_unknown(index, at + 8, err, "addresses or lengths of neither 4 nor 8 bytes");
    if (version < 2)
        return RONCHI_OK;
    ronchi_h5_piece piece;
    ronchi_status status = ronchi_h5_fetch(index, 0, 12 + 4 * index->address_size + 4, &piece, err);
    if (status == RONCHI_OK) {
        piece.at = piece.size - 4;
        status = ronchi_h5_sealed(index, &piece, 0, "the superblock's checksum is wrong", err);
    }
    ronchi_h5_drop(index, &piece);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- the table */

ronchi_status ronchi_h5_put(ronchi_h5_index *index, const uint64_t *place, uint64_t address, uint64_t size,
                            uint32_t skipped, uint64_t where, ronchi_error *err)
{
    ronchi_h5_chunks *out = index->out;
    uint64_t room = index->file->size_bytes - index->base, linear = 0;
    if (address == RONCHI_H5_NOWHERE)
        return RONCHI_OK;
    for (int i = 0; i < out->rank; i++) {
        if (place[i] >= out->grid[i])
            return ronchi_h5_damaged(index, where, err, "a chunk lies outside of its dataset");
        linear = linear * out->grid[i] + place[i];
    }
    if (size == 0 || size > UINT32_MAX || (!index->filtered && size != index->chunk_bytes))
        return ronchi_h5_damaged(index, where, err, "a chunk has an impossible size");
    if (address > room || size > room - address)
        return ronchi_h5_damaged(index, where, err, "a chunk lies outside of the file");
    ronchi_h5_chunk *chunk = &out->at[linear];
    if (chunk->offset != RONCHI_H5_NOT_STORED)
        return ronchi_h5_damaged(index, where, err, "a chunk is there twice");
    chunk->offset = index->base + address;
    chunk->size = (uint32_t)size;
    chunk->skipped = skipped;
    out->n_stored++;
    return RONCHI_OK;
}

/* The grids of chunks of the dataset as it is, and as it may grow to. */
static ronchi_status make_grids(ronchi_h5_index *index, ronchi_error *err)
{
    ronchi_h5_chunks *out = index->out;
    uint64_t n = 1, most = 1;
    for (int i = 0; i < out->rank; i++) {
        uint64_t dim = out->dims[i], chunk = out->chunk[i], max = index->max_dims[i];
        bool partial = dim % chunk != 0;
        out->grid[i] = dim / chunk + partial;
        index->max_grid[i] = max == UINT64_MAX ? UINT64_MAX : max / chunk + (max % chunk != 0);
        if (partial && index->partial_unfiltered && index->filtered)
            return ronchi_h5_unknown(index, index->told, err, "chunks at the edge are not filtered");
        if (out->grid[i] && n > RONCHI_H5_CHUNK_LIMIT / out->grid[i])
            return ronchi_h5_unknown(index, index->told, err, "more than 33 million chunks");
        n *= out->grid[i];
        if (max != UINT64_MAX && index->max_grid[i] && most > UINT64_MAX / 2 / index->max_grid[i])
            return ronchi_h5_unknown(index, index->told, err, "it may grow to more chunks than can be counted");
        most *= max == UINT64_MAX ? 1 : index->max_grid[i];
    }
    out->n = (size_t)n;
    return RONCHI_OK;
}

static ronchi_status make_table(ronchi_h5_index *index, ronchi_error *err)
{
    ronchi_h5_chunks *out = index->out;
    out->at = ronchi_alloc(index->context, (out->n ? out->n : 1) * sizeof *out->at);
    if (!out->at)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, index->file->name, RONCHI_NO_OFFSET,
                           "no memory for the places of %zu chunks", out->n);
    for (size_t i = 0; i < out->n; i++)
        out->at[i] = (ronchi_h5_chunk){RONCHI_H5_NOT_STORED, 0, 0};
    return RONCHI_OK;
}

static ronchi_status read_single(ronchi_h5_index *index, ronchi_error *err)
{
    static const uint64_t first[RONCHI_H5_CHUNK_AXES] = {0};
    for (int i = 0; i < index->out->rank; i++)
        if (index->max_grid[i] != 1)
            return ronchi_h5_damaged(index, index->told, err, "an index of one chunk for a dataset of several");
    return index->out->n == 0 ? RONCHI_OK
                              : ronchi_h5_put(index, first, index->address, index->single_size, index->single_skipped,
                                              index->told, err);
}

/* All chunks one after the other, counted in the grid that the dataset may grow to. */
static ronchi_status read_implicit(ronchi_h5_index *index, ronchi_error *err)
{
    ronchi_h5_chunks *out = index->out;
    uint64_t place[RONCHI_H5_CHUNK_AXES] = {0}, room = index->file->size_bytes - index->base;
    if (index->filtered)
        return ronchi_h5_damaged(index, index->told, err, "an index without entries for filtered chunks");
    for (int i = 0; i < out->rank; i++)
        if (index->max_grid[i] == UINT64_MAX)
            return ronchi_h5_damaged(index, index->told, err, "an index without entries for an unlimited dataset");
    for (size_t k = 0; k < out->n; k++) {
        uint64_t linear = 0, rest = k;
        for (int i = out->rank; i-- > 0; rest /= out->grid[i])
            place[i] = rest % out->grid[i];
        for (int i = 0; i < out->rank; i++)
            linear = linear * index->max_grid[i] + place[i];
        if (index->address > room || linear > (room - index->address) / index->chunk_bytes)
            return ronchi_h5_damaged(index, index->told, err, "a chunk lies outside of the file");
        ronchi_status status = ronchi_h5_put(index, place, index->address + linear * index->chunk_bytes,
                                             index->chunk_bytes, 0, index->told, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

static ronchi_status read_index(ronchi_h5_index *index, ronchi_error *err)
{
    static const char *const names[] = {"",         "single chunk", "implicit", "fixed array", "extensible array",
                                        "B-tree 2", "B-tree 1"};
    index->out->index = names[index->kind];
    if (index->address == RONCHI_H5_NOWHERE)
        return RONCHI_OK;
    switch (index->kind) {
    case RONCHI_H5_SINGLE:
        return read_single(index, err);
    case RONCHI_H5_IMPLICIT:
        return read_implicit(index, err);
    case RONCHI_H5_FIXED_ARRAY:
        return ronchi_h5_read_fixed_array(index, err);
    case RONCHI_H5_EXTENSIBLE_ARRAY:
        return ronchi_h5_read_extensible_array(index, err);
    case RONCHI_H5_BTREE2:
        return ronchi_h5_read_btree2(index, err);
    case RONCHI_H5_BTREE1:
        return ronchi_h5_read_btree1(index, err);
    }
    return RONCHI_ERR_INTERNAL;
}

ronchi_status ronchi_h5_chunks_read(ronchi_context *context, const ronchi_h5_bytes *file, uint64_t header,
                                    ronchi_h5_chunks *out, ronchi_error *err)
{
    ronchi_h5_index index;
    memset(&index, 0, sizeof index);
    memset(out, 0, sizeof *out);
    index.context = context;
    index.file = file;
    index.out = out;
    /* Each byte of an index is read once, and a few twice. */
    index.allowance = file->size_bytes < UINT64_MAX / 4 ? 2 * file->size_bytes + (1 << 20) : UINT64_MAX;
    ronchi_status status = read_superblock(&index, err);
    if (status == RONCHI_OK)
        status = ronchi_h5_read_header(&index, header, err);
    if (status == RONCHI_OK)
        status = make_grids(&index, err);
    if (status == RONCHI_OK)
        status = make_table(&index, err);
    if (status == RONCHI_OK)
        status = read_index(&index, err);
    if (status != RONCHI_OK)
        ronchi_h5_chunks_free(context, out);
    return status;
}

void ronchi_h5_chunks_free(ronchi_context *context, ronchi_h5_chunks *chunks)
{
    ronchi_free(context, chunks->at);
    memset(chunks, 0, sizeof *chunks);
}
