/* SPDX-License-Identifier: MIT */
/*
 * h5_array.c - chunks in an array (layout 4): fixed, where the dataset cannot grow, and extensible, where one axis can.
 *
 * Both count chunks in the grid that the dataset may grow to.  The extensible array counts the unlimited axis first.
 * Its entries lie in blocks of growing size: the first few in the index block, then data blocks that the index block
 * names, then data blocks that secondary blocks name; large blocks are cut into pages with a checksum each.
 */
#include <string.h>

#include "formats/h5_index.h"

/* ------------------------------------------------------------------------------------------------------- entries */

/* Coordinates of entry 'k'; false when the dataset does not (yet) reach that far. */
static bool place_of(const ronchi_h5_index *index, uint64_t k, int slowest, uint64_t *place)
{
    const ronchi_h5_chunks *out = index->out;
    bool inside = true;
    for (int i = out->rank; i-- > 0;) {
        if (i == slowest)
            continue;
        place[i] = k % index->max_grid[i];
        k /= index->max_grid[i];
        inside = inside && place[i] < out->grid[i];
    }
    place[slowest] = k;
    return inside && k < out->grid[slowest];
}

static size_t entry_bytes(const ronchi_h5_index *index)
{
    return index->address_size + (index->filtered ? index->size_size + 4 : 0);
}

/* Takes entries first..first+n-1 that stand at piece->at. */
static ronchi_status take_entries(ronchi_h5_index *index, ronchi_h5_piece *piece, uint64_t first, uint64_t n,
                                  int slowest, ronchi_error *err)
{
    uint64_t place[RONCHI_H5_CHUNK_AXES];
    for (uint64_t k = first; k < first + n; k++) {
        uint64_t where = piece->offset + piece->at, size = index->chunk_bytes;
        uint64_t address = ronchi_h5_take_address(index, piece);
        uint32_t skipped = 0;
        if (index->filtered) {
            size = ronchi_h5_take(piece, index->size_size);
            skipped = (uint32_t)ronchi_h5_take(piece, 4);
        }
        if (address == RONCHI_H5_NOWHERE)
            continue;
        if (!place_of(index, k, slowest, place))
            return ronchi_h5_damaged(index, where, err, "a chunk lies outside of its dataset");
        ronchi_status status = ronchi_h5_put(index, place, address, size, skipped, where, err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

/* A run of n entries with its own checksum. */
static ronchi_status read_page(ronchi_h5_index *index, uint64_t address, uint64_t first, uint64_t n, int slowest,
                               ronchi_error *err)
{
    ronchi_h5_piece piece;
    size_t bytes = (size_t)n * entry_bytes(index);
    ronchi_status status = ronchi_h5_fetch(index, address, bytes + 4, &piece, err);
    if (status == RONCHI_OK) {
        piece.at = bytes;
        status = ronchi_h5_sealed(index, &piece, 0, "the checksum of a page of the chunk index is wrong", err);
        piece.at = 0;
    }
    if (status == RONCHI_OK)
        status = take_entries(index, &piece, first, n, slowest, err);
    ronchi_h5_drop(index, &piece);
    return status;
}

static bool page_is_set(const uint8_t *bits, uint64_t page)
{
    return (bits[page / 8] & (0x80u >> (page % 8))) != 0;
}

/* The head that all blocks of both arrays have: signature, version, kind of entries. */
static ronchi_status take_head(const ronchi_h5_index *index, ronchi_h5_piece *piece, const char *signature,
                               ronchi_error *err)
{
    bool good = ronchi_h5_signed(piece, signature) && ronchi_h5_take(piece, 1) == 0 &&
                ronchi_h5_take(piece, 1) == (index->filtered ? 1 : 0);
    return good ? RONCHI_OK
                : ronchi_h5_damaged(index, piece->offset, err, "no block of the chunk index is where one should be");
}

/*
 * Head and owner of a block; piece->at is behind them.  The block's own first index follows in some, which is of no
 * use: libhdf5 never reads it, and counts it in another way where the index block names the block.
 */
static ronchi_status take_owner(const ronchi_h5_index *index, ronchi_h5_piece *piece, const char *signature,
                                ronchi_error *err)
{
    ronchi_status status = take_head(index, piece, signature, err);
    if (status == RONCHI_OK && ronchi_h5_take_address(index, piece) != index->address)
        return ronchi_h5_damaged(index, piece->offset + 6, err, "a block of the chunk index belongs to another");
    return status;
}

/* ---------------------------------------------------------------------------------------------------- fixed array */

/* The data block of n entries: in one piece, or in pages of 'per_page' behind a bitmap of those that are there. */
static ronchi_status read_fixed_block(ronchi_h5_index *index, uint64_t address, uint64_t n, uint64_t per_page,
                                      ronchi_error *err)
{
    ronchi_h5_piece piece;
    uint64_t pages = n > per_page ? n / per_page + (n % per_page != 0) : 0;
    uint64_t prefix = 6 + index->address_size + (pages + 7) / 8, entries = pages ? 0 : n * entry_bytes(index);
    ronchi_status status = ronchi_h5_fetch(index, address, prefix + entries + 4, &piece, err);
    if (status == RONCHI_OK)
        status = take_owner(index, &piece, "FADB", err);
    piece.at = (size_t)(prefix + entries);
    if (status == RONCHI_OK)
        status = ronchi_h5_sealed(index, &piece, 0, "the checksum of a block of the chunk index is wrong", err);
    piece.at = (size_t)prefix;
    if (status == RONCHI_OK && !pages)
        status = take_entries(index, &piece, 0, n, 0, err);
    for (uint64_t p = 0; status == RONCHI_OK && p < pages; p++)
        if (page_is_set(piece.bytes + 6 + index->address_size, p))
            status = read_page(index, address + prefix + 4 + p * (per_page * entry_bytes(index) + 4), p * per_page,
                               p + 1 < pages ? per_page : n - p * per_page, 0, err);
    ronchi_h5_drop(index, &piece);
    return status;
}

ronchi_status ronchi_h5_read_fixed_array(ronchi_h5_index *index, ronchi_error *err)
{
    ronchi_h5_piece piece;
    uint64_t expected = 1, n = 0, block = RONCHI_H5_NOWHERE;
    unsigned entry = 0, bits = 0;
    for (int i = 0; i < index->out->rank; i++) {
        if (index->max_grid[i] == UINT64_MAX)
            return ronchi_h5_damaged(index, index->told, err, "a fixed chunk index for an unlimited dataset");
        expected *= index->max_grid[i]; /* held against overflow when the grid was made */
    }
    size_t bytes = 8 + index->length_size + index->address_size;
    ronchi_status status = ronchi_h5_fetch(index, index->address, bytes + 4, &piece, err);
    if (status == RONCHI_OK)
        status = take_head(index, &piece, "FAHD", err);
    if (status == RONCHI_OK) {
        entry = (unsigned)ronchi_h5_take(&piece, 1);
        bits = (unsigned)ronchi_h5_take(&piece, 1);
        n = ronchi_h5_take(&piece, index->length_size);
        block = ronchi_h5_take_address(index, &piece);
        status = ronchi_h5_sealed(index, &piece, 0, "the checksum of the chunk index is wrong", err);
    }
    if (status == RONCHI_OK && (entry != entry_bytes(index) || bits != index->array[0] || n != expected))
        status = ronchi_h5_damaged(index, piece.offset, err, "the chunk index contradicts the dataset");
    if (status == RONCHI_OK && (bits < 1 || bits > 31 || n > UINT64_MAX / 64))
        status = ronchi_h5_unknown(index, piece.offset, err, "the chunk index has pages of an unusual size");
    ronchi_h5_drop(index, &piece);
    if (status == RONCHI_OK && block != RONCHI_H5_NOWHERE)
        status = read_fixed_block(index, block, n, 1ull << bits, err);
    return status;
}

/* ----------------------------------------------------------------------------------------------- extensible array */

/*
 * Super block s has 2^(s/2) data blocks of 2^((s+1)/2) x min entries.  The data blocks of the first 'direct' super
 * blocks are named by the index block; each later super block is a secondary block of its own.
 */
typedef struct extensible {
    unsigned offset_size;          /* bytes of a block's own first index */
    uint64_t in_index, min;        /* entries in the index block, and in the smallest data block */
    uint64_t first_pointers;       /* data blocks of the first secondary block */
    uint64_t per_page;             /* larger data blocks are cut into pages of so many */
    unsigned super_blocks, direct; /* super blocks in all, and those without a block of their own */
    uint64_t used;                 /* entries behind this are not set */
    int slowest;                   /* the unlimited axis */
} extensible;

static uint64_t data_blocks(unsigned s)
{
    return 1ull << (s / 2);
}

static uint64_t data_entries(const extensible *e, unsigned s)
{
    return (1ull << ((s + 1) / 2)) * e->min;
}

static ronchi_status plan_extensible(const ronchi_h5_index *index, extensible *e, const uint8_t p[5], uint64_t where,
                                     ronchi_error *err)
{
    unsigned bits = p[0], page_bits = p[4];
    e->in_index = p[1];
    /* in the layout's order: most bits, entries of the index block, pointers, entries of a block, page bits */
    e->first_pointers = p[2];
    e->min = p[3];
    if (bits < 1 || bits > 48 || page_bits < 1 || page_bits > 31 || e->min == 0 || (e->min & (e->min - 1)) != 0 ||
        e->first_pointers < 2 || (e->first_pointers & (e->first_pointers - 1)) != 0 || ronchi_h5_log2(e->min) > bits)
        return ronchi_h5_damaged(index, where, err, "the chunk index has impossible parameters");
    e->per_page = 1ull << page_bits;
    e->offset_size = (bits + 7) / 8;
    e->super_blocks = 1 + bits - ronchi_h5_log2(e->min);
    e->direct = 2 * ronchi_h5_log2(e->first_pointers);
    if (e->direct > e->super_blocks)
        return ronchi_h5_damaged(index, where, err, "the chunk index has impossible parameters");
    if (e->per_page < data_entries(e, e->direct))
        return ronchi_h5_damaged(index, where, err, "the chunk index has pages that are too small");
    e->slowest = -1;
    for (int i = 0; i < index->out->rank; i++)
        if (index->max_grid[i] == UINT64_MAX) {
            if (e->slowest >= 0)
                return ronchi_h5_damaged(index, where, err, "this chunk index cannot have two unlimited axes");
            e->slowest = i;
        }
    if (e->slowest < 0)
        return ronchi_h5_damaged(index, where, err, "an extensible chunk index for a dataset that cannot grow");
    return RONCHI_OK;
}

/*
 * A data block of n entries, 'first' being the index of its first behind those of the index block.  'pages' is the
 * bitmap of pages that are there, where it has pages, from bit 'first_page' on.
 */
static ronchi_status read_data_block(ronchi_h5_index *index, const extensible *e, uint64_t address, uint64_t first,
                                     uint64_t n, const uint8_t *pages, uint64_t first_page, ronchi_error *err)
{
    ronchi_h5_piece piece;
    uint64_t prefix = 6 + index->address_size + e->offset_size, entries = pages ? 0 : n * entry_bytes(index),
             at = e->in_index + first;
    ronchi_status status = ronchi_h5_fetch(index, address, prefix + entries + 4, &piece, err);
    if (status == RONCHI_OK)
        status = take_owner(index, &piece, "EADB", err);
    piece.at = (size_t)(prefix + entries);
    if (status == RONCHI_OK)
        status = ronchi_h5_sealed(index, &piece, 0, "the checksum of a block of the chunk index is wrong", err);
    piece.at = (size_t)prefix;
    if (status == RONCHI_OK && !pages)
        status = take_entries(index, &piece, at, at < e->used ? ronchi_min_size(n, e->used - at) : 0, e->slowest, err);
    for (uint64_t p = 0; status == RONCHI_OK && pages && p < n / e->per_page; p++)
        if (page_is_set(pages, first_page + p) && at + p * e->per_page < e->used)
            status = read_page(index, address + prefix + 4 + p * (e->per_page * entry_bytes(index) + 4),
                               at + p * e->per_page, e->per_page, e->slowest, err);
    ronchi_h5_drop(index, &piece);
    return status;
}

/*
 * Super block s, whose entries begin at 'first': the bitmap of the pages of all its data blocks, and their addresses.
 * The bitmap has whole bytes for each data block, but its bits are counted without gaps.
 */
static ronchi_status read_secondary(ronchi_h5_index *index, const extensible *e, uint64_t address, unsigned s,
                                    uint64_t first, ronchi_error *err)
{
    ronchi_h5_piece piece;
    uint64_t blocks = data_blocks(s), n = data_entries(e, s);
    uint64_t bitmap = n > e->per_page ? (n / e->per_page + 7) / 8 : 0;
    uint64_t prefix = 6 + index->address_size + e->offset_size,
             bytes = prefix + blocks * (bitmap + index->address_size);
    ronchi_status status = ronchi_h5_fetch(index, address, bytes + 4, &piece, err);
    if (status == RONCHI_OK)
        status = take_owner(index, &piece, "EASB", err);
    piece.at = (size_t)bytes;
    if (status == RONCHI_OK)
        status = ronchi_h5_sealed(index, &piece, 0, "the checksum of a block of the chunk index is wrong", err);
    piece.at = (size_t)(prefix + blocks * bitmap);
    for (uint64_t b = 0; status == RONCHI_OK && b < blocks && e->in_index + first + b * n < e->used; b++) {
        uint64_t child = ronchi_h5_take_address(index, &piece);
        if (child != RONCHI_H5_NOWHERE)
            status = read_data_block(index, e, child, first + b * n, n, bitmap ? piece.bytes + prefix : NULL,
                                     b * (n / e->per_page), err);
    }
    ronchi_h5_drop(index, &piece);
    return status;
}

/* The index block: its own entries, then the addresses of data blocks, then those of secondary blocks. */
static ronchi_status read_index_block(ronchi_h5_index *index, const extensible *e, uint64_t address, ronchi_error *err)
{
    ronchi_h5_piece piece;
    uint64_t entries = e->in_index * entry_bytes(index), first = 0,
             names = 2 * (e->first_pointers - 1) + e->super_blocks - e->direct, prefix = 6 + index->address_size,
             bytes = prefix + entries + names * index->address_size;
    ronchi_status status = ronchi_h5_fetch(index, address, bytes + 4, &piece, err);
    if (status == RONCHI_OK)
        status = take_owner(index, &piece, "EAIB", err);
    piece.at = (size_t)bytes;
    if (status == RONCHI_OK)
        status = ronchi_h5_sealed(index, &piece, 0, "the checksum of a block of the chunk index is wrong", err);
    piece.at = (size_t)prefix;
    if (status == RONCHI_OK)
        status = take_entries(index, &piece, 0, ronchi_min_size(e->in_index, e->used), e->slowest, err);
    piece.at = (size_t)(prefix + entries);
    for (unsigned s = 0; status == RONCHI_OK && s < e->super_blocks && e->in_index + first < e->used; s++) {
        uint64_t n = data_entries(e, s), blocks = s < e->direct ? data_blocks(s) : 1;
        for (uint64_t b = 0; status == RONCHI_OK && b < blocks; b++) {
            uint64_t child = ronchi_h5_take_address(index, &piece);
            if (child == RONCHI_H5_NOWHERE)
                continue;
            status = s < e->direct ? read_data_block(index, e, child, first + b * n, n, NULL, 0, err)
                                   : read_secondary(index, e, child, s, first, err);
        }
        first += data_blocks(s) * n;
    }
    ronchi_h5_drop(index, &piece);
    return status;
}

ronchi_status ronchi_h5_read_extensible_array(ronchi_h5_index *index, ronchi_error *err)
{
    ronchi_h5_piece piece;
    extensible e;
    uint64_t block = RONCHI_H5_NOWHERE;
    memset(&e, 0, sizeof e);
    size_t bytes = 12 + 6 * (size_t)index->length_size + index->address_size;
    ronchi_status status = ronchi_h5_fetch(index, index->address, bytes + 4, &piece, err);
    uint64_t where = piece.offset;
    if (status == RONCHI_OK)
        status = take_head(index, &piece, "EAHD", err);
    if (status == RONCHI_OK) {
        unsigned entry = (unsigned)ronchi_h5_take(&piece, 1);
        uint8_t p[5];
        for (int i = 0; i < 5; i++)
            p[i] = (uint8_t)ronchi_h5_take(&piece, 1);
        uint8_t swap = p[2]; /* here the smallest data block comes before the pointers */
        p[2] = p[3];
        p[3] = swap;
        piece.at += 4 * index->length_size;
        e.used = ronchi_h5_take(&piece, index->length_size);
        piece.at += index->length_size;
        block = ronchi_h5_take_address(index, &piece);
        status = ronchi_h5_sealed(index, &piece, 0, "the checksum of the chunk index is wrong", err);
        if (status == RONCHI_OK && (entry != entry_bytes(index) || memcmp(p, index->array, sizeof p) != 0))
            status = ronchi_h5_damaged(index, where, err, "the chunk index contradicts the dataset");
        if (status == RONCHI_OK)
            status = plan_extensible(index, &e, p, where, err);
    }
    ronchi_h5_drop(index, &piece);
    if (status == RONCHI_OK && block != RONCHI_H5_NOWHERE)
        status = read_index_block(index, &e, block, err);
    return status;
}
