/* SPDX-License-Identifier: MIT */
/*
 * bslz4.c - chunks of filters 32008 and 32004.
 *
 * An LZ4 block is decoded into a buffer that stays in the first-level cache and is transposed from there straight to
 * its place, so a frame's bytes pass through memory once.
 */
#include "formats/bslz4.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"

enum {
    HEADER = 12,
    LENGTH = 4,
    DEFAULT_BLOCK = 8192, /* bytes; bitshuffle's default for the element sizes that we know */
    USUAL_BLOCK = 16384,  /* larger ones get memory of their own */
    LZ4_BLOCK = 1 << 30   /* plain LZ4 in one block up to this size */
};

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t get_u64(const uint8_t *p)
{
    return (uint64_t)get_u32(p) << 32 | get_u32(p + 4);
}

static void put_u32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void put_header(uint8_t *p, uint64_t size, uint32_t block)
{
    put_u32(p, (uint32_t)(size >> 32));
    put_u32(p + 4, (uint32_t)size);
    put_u32(p + 8, block);
}

static ronchi_status damaged(ronchi_error *err, size_t offset, const char *what)
{
    return ronchi_fail(err, RONCHI_ERR_DATA, NULL, offset, "byte %zu: %s", offset, what);
}

/* ----------------------------------------------------------------------------------------------------- decoding */

/* Checks the header that both filters share; *block is what it says of the block size. */
static ronchi_status read_header(const uint8_t *chunk, size_t size, size_t out_size, uint32_t *block, ronchi_error *err)
{
    if (size < HEADER)
        return damaged(err, 0, "the chunk is shorter than its 12-byte header");
    uint64_t declared = get_u64(chunk);
    if (declared != out_size)
        return ronchi_fail(err, RONCHI_ERR_DATA, NULL, 0, "byte 0: the chunk declares %llu decoded bytes, expected %zu",
                           (unsigned long long)declared, out_size);
    *block = get_u32(chunk + 8);
    return RONCHI_OK;
}

/* Takes the length word at *at and checks that so many bytes follow. */
static ronchi_status read_length(const uint8_t *chunk, size_t size, size_t *at, size_t *length, ronchi_error *err)
{
    if (size - *at < LENGTH)
        return damaged(err, *at, "the chunk ends before a block's length");
    *length = get_u32(chunk + *at);
    if (*length > size - *at - LENGTH)
        return damaged(err, *at, "a block is longer than the rest of its chunk");
    *at += LENGTH;
    return RONCHI_OK;
}

static ronchi_status expand(const uint8_t *chunk, size_t at, size_t length, uint8_t *out, size_t n, ronchi_error *err)
{
    if (length > (size_t)LZ4_MAX_INPUT_SIZE)
        return damaged(err, at, "a block is longer than LZ4 allows");
    int got = LZ4_decompress_safe((const char *)chunk + at, (char *)out, (int)length, (int)n);
    if (got != (int)n)
        return damaged(err, at, "an LZ4 block is damaged");
    return RONCHI_OK;
}

/* One block of n bytes; 'scratch' holds it before its bits are put in order. */
static ronchi_status decode_one(const ronchi_kernels *kernels, const uint8_t *chunk, size_t size, size_t element,
                                size_t n, uint8_t *scratch, size_t *at, uint8_t *out, ronchi_error *err)
{
    size_t length = 0;
    ronchi_status status = read_length(chunk, size, at, &length, err);
    if (status == RONCHI_OK)
        status = expand(chunk, *at, length, scratch, n, err);
    if (status != RONCHI_OK)
        return status;
    kernels->bitunshuffle(scratch, out, n / element, element);
    *at += length;
    return RONCHI_OK;
}

/* What follows the last block: the elements that fill no eight. */
static ronchi_status decode_rest(const uint8_t *chunk, size_t size, size_t at, uint8_t *out, size_t rest,
                                 ronchi_error *err)
{
    if (size - at != rest)
        return damaged(err, at, size - at < rest ? "the chunk ends before its last elements" : "bytes are left over");
    memcpy(out, chunk + at, rest);
    return RONCHI_OK;
}

/* All blocks of one chunk; 'scratch' holds one decoded block. */
static ronchi_status decode_blocks(const ronchi_kernels *kernels, const uint8_t *chunk, size_t size, size_t element,
                                   size_t block, uint8_t *scratch, uint8_t *out, size_t out_size, ronchi_error *err)
{
    size_t at = HEADER, done = 0, whole = out_size - out_size % (8 * element);
    while (done < whole) {
        size_t n = ronchi_min_size(block, whole - done);
        ronchi_status status = decode_one(kernels, chunk, size, element, n, scratch, &at, out + done, err);
        if (status != RONCHI_OK)
            return status;
        done += n;
    }
    return decode_rest(chunk, size, at, out + whole, out_size - whole, err);
}

size_t ronchi_bslz4_block(const uint8_t *chunk, size_t size, size_t element)
{
    if (size < HEADER || (element != 1 && element != 2 && element != 4 && element != 8))
        return 0;
    uint32_t declared = get_u32(chunk + 8), block = declared ? declared : DEFAULT_BLOCK;
    return block % (8 * element) == 0 && block <= USUAL_BLOCK ? block : 0;
}

ronchi_status ronchi_bslz4_decode_block(const ronchi_kernels *kernels, const uint8_t *chunk, size_t size,
                                        size_t element, size_t block, size_t number, size_t *at, uint8_t *out,
                                        size_t out_size, ronchi_error *err)
{
    uint8_t scratch[USUAL_BLOCK + 64];
    const size_t whole = out_size - out_size % (8 * element), start = number * block;
    const size_t n = start < whole ? ronchi_min_size(block, whole - start) : 0;
    ronchi_status status = RONCHI_OK;
    uint32_t declared;
    if (number == 0) {
        status = read_header(chunk, size, out_size, &declared, err);
        *at = HEADER;
    }
    if (status == RONCHI_OK && n)
        status = decode_one(kernels, chunk, size, element, n, scratch, at, out, err);
    if (status == RONCHI_OK && out_size - start <= block)
        status = decode_rest(chunk, size, *at, out + n, out_size - whole, err);
    return status;
}

ronchi_status ronchi_bslz4_decode(const ronchi_kernels *kernels, const uint8_t *chunk, size_t size, size_t element,
                                  uint8_t *out, size_t out_size, ronchi_error *err)
{
    uint8_t usual[USUAL_BLOCK + 64]; /* a little room, so that LZ4 may copy in whole words to the end */
    uint32_t declared;
    if ((element != 1 && element != 2 && element != 4 && element != 8) || out_size % element != 0)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "elements of %zu bytes", element);
    ronchi_status status = read_header(chunk, size, out_size, &declared, err);
    if (status != RONCHI_OK)
        return status;
    if (declared % (8 * element) != 0)
        return damaged(err, 8, "the block size is no multiple of eight elements");
    /* No block is larger than the data; LZ4 cannot decode more than 2 GiB at once. */
    size_t block = ronchi_min_size(declared ? declared : DEFAULT_BLOCK, out_size - out_size % (8 * element));
    if (block > (size_t)LZ4_MAX_INPUT_SIZE)
        return damaged(err, 8, "the block size is beyond what LZ4 can hold");
    if (block <= USUAL_BLOCK)
        return decode_blocks(kernels, chunk, size, element, block, usual, out, out_size, err);
    uint8_t *large = malloc(block);
    if (!large)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a block of %zu bytes", block);
    status = decode_blocks(kernels, chunk, size, element, block, large, out, out_size, err);
    free(large);
    return status;
}

ronchi_status ronchi_lz4_decode(const uint8_t *chunk, size_t size, uint8_t *out, size_t out_size, ronchi_error *err)
{
    uint32_t block;
    size_t at = HEADER, done = 0;
    ronchi_status status = read_header(chunk, size, out_size, &block, err);
    if (status != RONCHI_OK)
        return status;
    if (out_size && (block == 0 || block > (uint32_t)LZ4_MAX_INPUT_SIZE))
        return damaged(err, 8, "impossible block size");
    while (done < out_size) {
        size_t n = ronchi_min_size(block, out_size - done), length = 0;
        status = read_length(chunk, size, &at, &length, err);
        if (status != RONCHI_OK)
            return status;
        if (length == n)
            memcpy(out + done, chunk + at, n);
        else
            status = expand(chunk, at, length, out + done, n, err);
        if (status != RONCHI_OK)
            return status;
        at += length;
        done += n;
    }
    if (at != size)
        return damaged(err, at, "bytes are left over");
    return RONCHI_OK;
}

/* ----------------------------------------------------------------------------------------------------- encoding */

size_t ronchi_bslz4_bound(size_t size, size_t element)
{
    size_t blocks = ronchi_div_up(size, DEFAULT_BLOCK), bound;
    if (element == 0 || !ronchi_mul(blocks, (size_t)LZ4_COMPRESSBOUND(DEFAULT_BLOCK) + LENGTH, &bound) ||
        !ronchi_add(bound, HEADER + 8 * element, &bound))
        return 0;
    return bound;
}

ronchi_status ronchi_bslz4_encode(const ronchi_kernels *kernels, const uint8_t *in, size_t size, size_t element,
                                  uint8_t *chunk, size_t capacity, size_t *written, ronchi_error *err)
{
    uint8_t planes[DEFAULT_BLOCK];
    size_t bound = ronchi_bslz4_bound(size, element);
    *written = 0;
    if ((element != 1 && element != 2 && element != 4 && element != 8) || size % element != 0 || bound == 0 ||
        capacity < bound)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "%zu bytes of %zu-byte elements do not fit a chunk of %zu bytes", size, element, capacity);
    size_t at = HEADER, done = 0, whole = size - size % (8 * element);
    put_header(chunk, size, DEFAULT_BLOCK);
    while (done < whole) {
        size_t n = ronchi_min_size(DEFAULT_BLOCK, whole - done);
        kernels->bitshuffle(in + done, planes, n / element, element);
        int length =
            LZ4_compress_default((const char *)planes, (char *)chunk + at + LENGTH, (int)n,
                                 (int)ronchi_min_size(capacity - at - LENGTH, LZ4_COMPRESSBOUND(DEFAULT_BLOCK)));
        if (length <= 0)
            return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "LZ4 refused a block of %zu bytes", n);
        put_u32(chunk + at, (uint32_t)length);
        at += LENGTH + (size_t)length;
        done += n;
    }
    memcpy(chunk + at, in + whole, size - whole);
    *written = at + size - whole;
    return RONCHI_OK;
}

size_t ronchi_lz4_bound(size_t size)
{
    size_t blocks = ronchi_div_up(size, LZ4_BLOCK), bound;
    if (!ronchi_mul(blocks, LENGTH, &bound) || !ronchi_add(bound, size, &bound) ||
        !ronchi_add(bound, size / 255 + 16 * blocks + HEADER, &bound))
        return 0;
    return bound;
}

ronchi_status ronchi_lz4_encode(const uint8_t *in, size_t size, uint8_t *chunk, size_t capacity, size_t *written,
                                ronchi_error *err)
{
    size_t bound = ronchi_lz4_bound(size), at = HEADER, done = 0;
    *written = 0;
    if (bound == 0 || capacity < bound)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET,
                           "%zu bytes do not fit a chunk of %zu bytes", size, capacity);
    size_t block = size ? ronchi_min_size(size, LZ4_BLOCK) : 1;
    put_header(chunk, size, (uint32_t)block);
    while (done < size) {
        size_t n = ronchi_min_size(block, size - done);
        int length = LZ4_compress_default((const char *)in + done, (char *)chunk + at + LENGTH, (int)n,
                                          LZ4_compressBound((int)n));
        if (length <= 0)
            return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "LZ4 refused a block of %zu bytes", n);
        if ((size_t)length >= n) { /* a stored block is known by its length, so a coded one must be shorter */
            memcpy(chunk + at + LENGTH, in + done, n);
            length = (int)n;
        }
        put_u32(chunk + at, (uint32_t)length);
        at += LENGTH + (size_t)length;
        done += n;
    }
    *written = at;
    return RONCHI_OK;
}
