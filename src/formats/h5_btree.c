/* SPDX-License-Identifier: MIT */
/*
 * h5_btree.c - chunks in a B-tree: version 1 (layout 3), and version 2 (layout 4, several unlimited axes).
 *
 * Both hold the chunks in order of their places, which is checked as they are met: each place must come after the one
 * before it, so no chunk is met twice and no walk is longer than the dataset has chunks.
 */
#include <string.h>

#include "formats/h5_index.h"

/* Takes the next place of a walk: inside the grid, and after all before it. */
static ronchi_status in_order(ronchi_h5_index *index, const uint64_t *place, uint64_t where, ronchi_error *err)
{
    uint64_t linear = 0;
    for (int i = 0; i < index->out->rank; i++) {
        if (place[i] >= index->out->grid[i])
            return ronchi_h5_damaged(index, where, err, "a chunk lies outside of its dataset");
        linear = linear * index->out->grid[i] + place[i];
    }
    if (linear < index->next)
        return ronchi_h5_damaged(index, where, err, "the chunk index is out of order");
    index->next = linear + 1;
    return RONCHI_OK;
}

/* ------------------------------------------------------------------------------------------------------ version 1 */

/* A key: size and filter mask of the chunk to its right, and the chunk's first element. */
typedef struct key1 {
    uint64_t size;
    uint32_t skipped;
    uint64_t first[RONCHI_H5_CHUNK_AXES];
} key1;

static void take_key1(const ronchi_h5_index *index, ronchi_h5_piece *piece, key1 *key)
{
    key->size = ronchi_h5_take(piece, 4);
    key->skipped = (uint32_t)ronchi_h5_take(piece, 4);
    for (int i = 0; i < index->out->rank; i++)
        key->first[i] = ronchi_h5_take(piece, 8);
    (void)ronchi_h5_take(piece, 8); /* of the element's bytes: 0 */
}

static int compare_keys(const ronchi_h5_index *index, const key1 *a, const key1 *b)
{
    for (int i = 0; i < index->out->rank; i++)
        if (a->first[i] != b->first[i])
            return a->first[i] < b->first[i] ? -1 : 1;
    return 0;
}

static ronchi_status put_key1(ronchi_h5_index *index, const key1 *key, uint64_t address, uint64_t where,
                              ronchi_error *err)
{
    uint64_t place[RONCHI_H5_CHUNK_AXES];
    for (int i = 0; i < index->out->rank; i++) {
        if (key->first[i] % index->out->chunk[i] != 0)
            return ronchi_h5_damaged(index, where, err, "a chunk begins where none can");
        place[i] = key->first[i] / index->out->chunk[i];
    }
    if (address == RONCHI_H5_NOWHERE)
        return ronchi_h5_damaged(index, where, err, "the chunk index has an entry without a chunk");
    ronchi_status status = in_order(index, place, where, err);
    return status == RONCHI_OK ? ronchi_h5_put(index, place, address, key->size, key->skipped, where, err) : status;
}

/* Reads the head of a node and then the whole of it; piece->at is behind the head. */
static ronchi_status fetch_node1(ronchi_h5_index *index, uint64_t address, int *level, size_t *n,
                                 ronchi_h5_piece *piece, ronchi_error *err)
{
    size_t key = 8 + 8 * ((size_t)index->out->rank + 1), head = 8 + 2 * (size_t)index->address_size;
    ronchi_status status = ronchi_h5_fetch(index, address, head, piece, err);
    if (status != RONCHI_OK)
        return status;
    bool is_node = ronchi_h5_signed(piece, "TREE") && ronchi_h5_take(piece, 1) == 1;
    *level = (int)ronchi_h5_take(piece, 1);
    *n = (size_t)ronchi_h5_take(piece, 2);
    ronchi_h5_drop(index, piece);
    if (!is_node)
        return ronchi_h5_damaged(index, piece->offset, err, "no node of the chunk index is where one should be");
    status = ronchi_h5_fetch(index, address, head + *n * (key + index->address_size) + key, piece, err);
    piece->at = head;
    return status;
}

/* Walks the node at 'address', which must be of 'level' (-1: any, the root) and hold keys from 'low' to below 'high'.
 */
static ronchi_status walk1(ronchi_h5_index *index, uint64_t address, int level, const key1 *low, const key1 *high,
                           ronchi_error *err)
{
    ronchi_h5_piece piece;
    key1 key, after;
    int own;
    size_t n;
    ronchi_status status = fetch_node1(index, address, &own, &n, &piece, err);
    if (status == RONCHI_OK && level >= 0 && (own != level || n == 0))
        status = ronchi_h5_damaged(index, piece.offset + 5, err, "a node of the chunk index is on a wrong level");
    if (status == RONCHI_OK)
        take_key1(index, &piece, &key);
    if (status == RONCHI_OK && low && compare_keys(index, low, &key) > 0)
        status = ronchi_h5_damaged(index, piece.offset, err, "a node of the chunk index contradicts the one above");
    for (size_t i = 0; status == RONCHI_OK && i < n; i++) {
        uint64_t where = piece.offset + piece.at, child = ronchi_h5_take_address(index, &piece);
        take_key1(index, &piece, &after);
        if (compare_keys(index, &key, &after) >= 0 || (high && compare_keys(index, &key, high) >= 0))
            status = ronchi_h5_damaged(index, where, err, "the chunk index is out of order");
        else if (own == 0)
            status = put_key1(index, &key, child, where, err);
        else
            status = walk1(index, child, own - 1, &key, &after, err);
        key = after;
    }
    ronchi_h5_drop(index, &piece);
    return status;
}

ronchi_status ronchi_h5_read_btree1(ronchi_h5_index *index, ronchi_error *err)
{
    return walk1(index, index->address, -1, NULL, NULL, err);
}

/* ------------------------------------------------------------------------------------------------------ version 2 */

/* What the header says of the nodes, by level: how many records fit, and how counts of them are written. */
typedef struct tree2 {
    uint64_t node_bytes, record_bytes, records;
    unsigned type, depth;
    unsigned count_size; /* bytes of a child's number of records */
    uint64_t most[RONCHI_H5_DEPTH_LIMIT + 1];
    unsigned total_size[RONCHI_H5_DEPTH_LIMIT + 1]; /* bytes of a subtree's number of records; 0 for leaves */
} tree2;

static ronchi_status plan2(const ronchi_h5_index *index, tree2 *tree, uint64_t offset, ronchi_error *err)
{
    enum { FRAME = 10 }; /* signature, version, type, checksum */
    uint64_t expected =
        index->address_size + 8 * (uint64_t)index->out->rank + (index->filtered ? index->size_size + 4 : 0);
    if (tree->type != (index->filtered ? 11u : 10u) || tree->record_bytes != expected)
        return ronchi_h5_damaged(index, offset, err, "the chunk index has records of another kind");
    if (tree->depth > RONCHI_H5_DEPTH_LIMIT || tree->node_bytes > RONCHI_H5_PIECE_LIMIT ||
        tree->node_bytes < FRAME + tree->record_bytes)
        return ronchi_h5_damaged(index, offset, err, "the chunk index has an impossible depth or node size");
    tree->most[0] = (tree->node_bytes - FRAME) / tree->record_bytes;
    tree->count_size = ronchi_h5_log2(tree->most[0]) / 8 + 1;
    tree->total_size[0] = 0;
    uint64_t total = tree->most[0];
    for (unsigned u = 1; u <= tree->depth; u++) {
        uint64_t pointer = index->address_size + tree->count_size + tree->total_size[u - 1];
        if (tree->node_bytes < FRAME + pointer + pointer + tree->record_bytes)
            return ronchi_h5_damaged(index, offset, err, "the chunk index has an impossible node size");
        tree->most[u] = (tree->node_bytes - FRAME - pointer) / (tree->record_bytes + pointer);
        if (total > UINT64_MAX / 2 / (tree->most[u] + 2))
            return ronchi_h5_damaged(index, offset, err, "the chunk index has an impossible depth");
        total = (tree->most[u] + 1) * total + tree->most[u];
        tree->total_size[u] = ronchi_h5_log2(total) / 8 + 1;
    }
    return RONCHI_OK;
}

static ronchi_status put_record2(ronchi_h5_index *index, const ronchi_h5_piece *node, size_t at, ronchi_error *err)
{
    uint64_t place[RONCHI_H5_CHUNK_AXES], where = node->offset + at, size = index->chunk_bytes;
    uint32_t skipped = 0;
    ronchi_h5_piece piece = *node; /* borrows the bytes */
    piece.at = at;
    uint64_t address = ronchi_h5_take_address(index, &piece);
    if (index->filtered) {
        size = ronchi_h5_take(&piece, index->size_size);
        skipped = (uint32_t)ronchi_h5_take(&piece, 4);
    }
    for (int i = 0; i < index->out->rank; i++)
        place[i] = ronchi_h5_take(&piece, 8);
    if (address == RONCHI_H5_NOWHERE)
        return ronchi_h5_damaged(index, where, err, "the chunk index has an entry without a chunk");
    ronchi_status status = in_order(index, place, where, err);
    return status == RONCHI_OK ? ronchi_h5_put(index, place, address, size, skipped, where, err) : status;
}

/* Reads a node of 'n' records and checks its head and its checksum; piece->at is at the first record. */
static ronchi_status fetch_node2(ronchi_h5_index *index, const tree2 *tree, uint64_t address, unsigned level,
                                 uint64_t n, ronchi_h5_piece *piece, ronchi_error *err)
{
    size_t pointer = level ? index->address_size + tree->count_size + tree->total_size[level - 1] : 0;
    size_t bytes = 6 + (size_t)n * (size_t)tree->record_bytes + (level ? ((size_t)n + 1) * pointer : 0);
    ronchi_status status = ronchi_h5_fetch(index, address, bytes + 4, piece, err);
    if (status != RONCHI_OK)
        return status;
    if (!ronchi_h5_signed(piece, level ? "BTIN" : "BTLF") || ronchi_h5_take(piece, 1) != 0 ||
        ronchi_h5_take(piece, 1) != tree->type)
        return ronchi_h5_damaged(index, piece->offset, err, "no node of the chunk index is where one should be");
    piece->at = bytes;
    status = ronchi_h5_sealed(index, piece, 0, "the checksum of a node of the chunk index is wrong", err);
    piece->at = 6;
    return status;
}

/* Walks a node of 'n' records; *total is what its subtree holds. */
static ronchi_status walk2(ronchi_h5_index *index, const tree2 *tree, uint64_t address, unsigned level, uint64_t n,
                           uint64_t *total, ronchi_error *err)
{
    ronchi_h5_piece piece;
    memset(&piece, 0, sizeof piece);
    *total = n;
    if (n > tree->most[level] || (level && n == 0))
        return ronchi_h5_damaged(index, index->told, err, "a node of the chunk index has an impossible size");
    ronchi_status status = fetch_node2(index, tree, address, level, n, &piece, err);
    size_t record = piece.at, pointers = record + (size_t)n * (size_t)tree->record_bytes;
    for (uint64_t i = 0; status == RONCHI_OK && i < n + (level != 0); i++) {
        if (level) {
            piece.at = pointers;
            uint64_t child = ronchi_h5_take_address(index, &piece), count = ronchi_h5_take(&piece, tree->count_size),
                     declared = level > 1 ? ronchi_h5_take(&piece, tree->total_size[level - 1]) : count, below;
            uint64_t where = piece.offset + pointers;
            pointers = piece.at;
            status = count ? walk2(index, tree, child, level - 1, count, &below, err)
                           : ronchi_h5_damaged(index, where, err, "a node of the chunk index is empty");
            if (status == RONCHI_OK && below != declared)
                status = ronchi_h5_damaged(index, where, err, "a count of the chunk index is wrong");
            *total += status == RONCHI_OK ? below : 0;
        }
        if (status == RONCHI_OK && i < n)
            status = put_record2(index, &piece, record + (size_t)i * (size_t)tree->record_bytes, err);
    }
    ronchi_h5_drop(index, &piece);
    return status;
}

ronchi_status ronchi_h5_read_btree2(ronchi_h5_index *index, ronchi_error *err)
{
    ronchi_h5_piece piece;
    tree2 tree;
    memset(&tree, 0, sizeof tree);
    uint64_t root = RONCHI_H5_NOWHERE, n = 0, total = 0;
    size_t bytes = 16 + index->address_size + 2 + index->length_size;
    ronchi_status status = ronchi_h5_fetch(index, index->address, bytes + 4, &piece, err);
    if (status == RONCHI_OK && (!ronchi_h5_signed(&piece, "BTHD") || ronchi_h5_take(&piece, 1) != 0))
        status = ronchi_h5_damaged(index, piece.offset, err, "no chunk index is where the dataset's should be");
    if (status == RONCHI_OK) {
        tree.type = (unsigned)ronchi_h5_take(&piece, 1);
        tree.node_bytes = ronchi_h5_take(&piece, 4);
        tree.record_bytes = ronchi_h5_take(&piece, 2);
        tree.depth = (unsigned)ronchi_h5_take(&piece, 2);
        (void)ronchi_h5_take(&piece, 2); /* when nodes split and merge */
        root = ronchi_h5_take_address(index, &piece);
        n = ronchi_h5_take(&piece, 2);
        tree.records = ronchi_h5_take(&piece, index->length_size);
        status = ronchi_h5_sealed(index, &piece, 0, "the checksum of the chunk index is wrong", err);
    }
    uint64_t offset = piece.offset;
    ronchi_h5_drop(index, &piece);
    if (status == RONCHI_OK)
        status = plan2(index, &tree, offset, err);
    if (status == RONCHI_OK && root != RONCHI_H5_NOWHERE)
        status = walk2(index, &tree, root, tree.depth, n, &total, err);
    if (status == RONCHI_OK && total != tree.records)
        status = ronchi_h5_damaged(index, offset, err, "the chunk index holds another number of chunks than it says");
    return status;
}
