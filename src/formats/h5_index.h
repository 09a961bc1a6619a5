/* SPDX-License-Identifier: MIT */
/*
 * h5_index.h - what the parts of the chunk index reader share: the dataset as its header tells it, bytes of the file
 * behind checks, and the table that is being filled.
 */
#ifndef RONCHI_FORMATS_H5_INDEX_H
#define RONCHI_FORMATS_H5_INDEX_H

#include "formats/h5_chunks.h"

enum {
    RONCHI_H5_PIECE_LIMIT = 256 << 20, /* bytes of one structure */
    RONCHI_H5_CHUNK_LIMIT = 1 << 25,   /* chunks of one dataset: a table of 512 MiB */
    RONCHI_H5_DEPTH_LIMIT = 24         /* levels of a B-tree 2 */
};

#define RONCHI_H5_NOWHERE UINT64_MAX /* the address that stands for none */

/* The kinds of index; those of layout 4 have its numbers. */
typedef enum ronchi_h5_index_kind {
    RONCHI_H5_SINGLE = 1,
    RONCHI_H5_IMPLICIT = 2,
    RONCHI_H5_FIXED_ARRAY = 3,
    RONCHI_H5_EXTENSIBLE_ARRAY = 4,
    RONCHI_H5_BTREE2 = 5,
    RONCHI_H5_BTREE1 = 6
} ronchi_h5_index_kind;

typedef struct ronchi_h5_index {
    ronchi_context *context;
    const ronchi_h5_bytes *file;
    uint64_t base;         /* of all addresses: where the superblock lies */
    unsigned address_size; /* bytes of an address, 4 or 8 */
    unsigned length_size;  /* bytes of a length, 4 or 8 */
    uint64_t allowance;    /* bytes that may still be read: what refers in circles ends */

    bool has_space, has_layout, has_filters; /* messages seen */
    bool filtered;
    uint64_t max_dims[RONCHI_H5_CHUNK_AXES]; /* UINT64_MAX: unlimited */
    uint64_t max_grid[RONCHI_H5_CHUNK_AXES];
    uint64_t told; /* byte of the file that tells the layout */
    ronchi_h5_index_kind kind;
    uint64_t address;        /* of the index; RONCHI_H5_NOWHERE: nothing is stored */
    uint64_t chunk_bytes;    /* of one chunk, unfiltered; below 2^32 */
    unsigned size_size;      /* bytes of a filtered chunk's size in arrays and B-trees 2 */
    uint64_t single_size;    /* of the single filtered chunk */
    uint32_t single_skipped; /* its filter mask */
    uint8_t array[5];        /* creation parameters of the array indexes */
    bool partial_unfiltered; /* chunks that stick out of the dataset are not filtered */
    uint64_t next;           /* first place of the table that a tree in order may fill next */
    ronchi_h5_chunks *out;   /* n 0 and at NULL until the header is read */
} ronchi_h5_index;

/* A structure of the file in memory, read from front to back.  'short_by' says that more was asked for than is there.
 */
typedef struct ronchi_h5_piece {
    uint8_t *bytes; /* owned; free with ronchi_h5_drop() */
    size_t size, at;
    uint64_t offset; /* in the file */
    bool exhausted;
} ronchi_h5_piece;

/* Refuses: the place is a byte of the file. */
ronchi_status ronchi_h5_damaged(const ronchi_h5_index *index, uint64_t offset, ronchi_error *err, const char *what);
ronchi_status ronchi_h5_unknown(const ronchi_h5_index *index, uint64_t offset, ronchi_error *err, const char *what);

/*
 * ronchi_h5_fetch() reads 'size' bytes at an address (relative to the base), after holding both against the file and
 * the allowance.  The piece is to be dropped in any case.
 */
ronchi_status ronchi_h5_fetch(ronchi_h5_index *index, uint64_t address, uint64_t size, ronchi_h5_piece *out,
                              ronchi_error *err);
void ronchi_h5_drop(const ronchi_h5_index *index, ronchi_h5_piece *piece);

/* ronchi_h5_take() takes a little-endian number of 1 to 8 bytes; 0 and 'exhausted' when they are not there. */
static inline uint64_t ronchi_h5_take(ronchi_h5_piece *piece, unsigned size)
{
    uint64_t value = 0;
    if (size > piece->size - piece->at) {
        piece->exhausted = true;
        piece->at = piece->size;
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)piece->bytes[piece->at + i] << (8 * i);
    piece->at += size;
    return value;
}

/* An address: all ones of its size stand for none. */
static inline uint64_t ronchi_h5_take_address(const ronchi_h5_index *index, ronchi_h5_piece *piece)
{
    uint64_t value = ronchi_h5_take(piece, index->address_size);
    return value == (index->address_size == 4 ? UINT32_MAX : UINT64_MAX) ? RONCHI_H5_NOWHERE : value;
}

/* True when the next bytes are 'signature' (four letters), which are then taken. */
bool ronchi_h5_signed(ronchi_h5_piece *piece, const char *signature);

/*
 * ronchi_h5_sealed() verifies the checksum that stands at piece->at over bytes 'from' to there, and takes it;
 * RONCHI_ERR_DATA names the piece by 'what'.
 */
ronchi_status ronchi_h5_sealed(const ronchi_h5_index *index, ronchi_h5_piece *piece, size_t from, const char *what,
                               ronchi_error *err);

/* ronchi_h5_checksum() is the hash that HDF5 seals its newer structures with (lookup3 by Bob Jenkins, start value 0).
 */
uint32_t ronchi_h5_checksum(const uint8_t *bytes, size_t size);

/* ronchi_h5_log2() gives the position of the highest set bit; 0 for 0 and 1. */
static inline unsigned ronchi_h5_log2(uint64_t value)
{
    unsigned n = 0;
    while (value >>= 1)
        n++;
    return n;
}

/*
 * ronchi_h5_put() enters one chunk, found at byte 'where' of the file, at scaled coordinates 'place'.  Its bytes must
 * lie in the file, and the place must be free.  An address of none is entered as not stored.
 */
ronchi_status ronchi_h5_put(ronchi_h5_index *index, const uint64_t *place, uint64_t address, uint64_t size,
                            uint32_t skipped, uint64_t where, ronchi_error *err);

/* The header's messages: fills what the struct says of the dataset. */
ronchi_status ronchi_h5_read_header(ronchi_h5_index *index, uint64_t header, ronchi_error *err);
/* The indexes. */
ronchi_status ronchi_h5_read_btree1(ronchi_h5_index *index, ronchi_error *err);
ronchi_status ronchi_h5_read_btree2(ronchi_h5_index *index, ronchi_error *err);
ronchi_status ronchi_h5_read_fixed_array(ronchi_h5_index *index, ronchi_error *err);
ronchi_status ronchi_h5_read_extensible_array(ronchi_h5_index *index, ronchi_error *err);

#endif
