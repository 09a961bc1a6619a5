/* SPDX-License-Identifier: MIT */
/*
 * bslz4.h - one HDF5 chunk as the detectors store it: bitshuffle + LZ4 (filter 32008) and plain LZ4 (filter 32004).
 *
 * Both start with 12 bytes, big-endian: u64 decoded bytes, u32 block bytes.  Then come blocks, each a u32 length and
 * that many bytes.  32008: each block is an LZ4 block of bit-transposed elements (core/kernels.h), the last one shorter
 * (a multiple of eight elements), then 0 to 7 elements as they are; block bytes 0 means the default.  32004: each block
 * is an LZ4 block, or stored as it is when its length is that of the decoded block.
 */
#ifndef RONCHI_FORMATS_BSLZ4_H
#define RONCHI_FORMATS_BSLZ4_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernels.h"
#include "ronchi/core.h"

/*
 * ronchi_bslz4_decode() / ronchi_lz4_decode() decode one chunk of 'size' bytes into exactly 'out_size' bytes at 'out'.
 * 'element' is 1, 2, 4 or 8 bytes; elements keep the byte order they were stored in.  Thread-safe.
 *
 * RONCHI_ERR_DATA    the chunk is damaged or of another size; err->offset is the byte of the chunk, nothing outside
 * 'out' is written and nothing outside the chunk is read RONCHI_ERR_MEMORY  no memory for a block larger than usual
 */
ronchi_status ronchi_bslz4_decode(const ronchi_kernels *kernels, const uint8_t *chunk, size_t size, size_t element,
                                  uint8_t *out, size_t out_size, ronchi_error *err);
ronchi_status ronchi_lz4_decode(const uint8_t *chunk, size_t size, uint8_t *out, size_t out_size, ronchi_error *err);

/*
 * ronchi_bslz4_block() gives the bytes of a decoded block of a chunk of filter 32008; 0 where blocks cannot be decoded
 * one by one: the chunk is damaged, or its blocks are larger than usual.  ronchi_bslz4_decode_block() decodes block
 * 'number' of a chunk of 'out_size' decoded bytes to 'out'; the last one with the elements behind it.  Blocks come in
 * order: *at, the place in the chunk, goes from one to the next.  Errors as above.
 */
size_t ronchi_bslz4_block(const uint8_t *chunk, size_t size, size_t element);
ronchi_status ronchi_bslz4_decode_block(const ronchi_kernels *kernels, const uint8_t *chunk, size_t size,
                                        size_t element, size_t block, size_t number, size_t *at, uint8_t *out,
                                        size_t out_size, ronchi_error *err);

/*
 * ronchi_bslz4_bound() / ronchi_lz4_bound() give the most bytes that encoding 'size' bytes can take; 0 when 'size' is
 * too large. ronchi_bslz4_encode() / ronchi_lz4_encode() write one chunk with the default block size (8 KiB; LZ4: 1 GiB
 * or the whole chunk, as the detectors do) and set *written.  The same bytes for one version of LZ4.
 *
 * RONCHI_ERR_ARGUMENT  'size' is no multiple of 'element', or 'capacity' is below the bound
 * RONCHI_ERR_MEMORY    no memory
 */
size_t ronchi_bslz4_bound(size_t size, size_t element);
ronchi_status ronchi_bslz4_encode(const ronchi_kernels *kernels, const uint8_t *in, size_t size, size_t element,
                                  uint8_t *chunk, size_t capacity, size_t *written, ronchi_error *err);
size_t ronchi_lz4_bound(size_t size);
ronchi_status ronchi_lz4_encode(const uint8_t *in, size_t size, uint8_t *chunk, size_t capacity, size_t *written,
                                ronchi_error *err);

#endif
