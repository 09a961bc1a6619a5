/* SPDX-License-Identifier: MIT */
/* stream_kernels.h - the versions of the kernels for streams of counts; core/kernels.h says what they do. */
#ifndef RONCHI_CODEC_STREAM_KERNELS_H
#define RONCHI_CODEC_STREAM_KERNELS_H

#include "core/kernels.h"

/* ronchi_stream_kernels_c() fills the slots with plain C, the reference. */
void ronchi_stream_kernels_c(ronchi_kernels *kernels);

/* The same for the instruction set in the name: overwrites the slots that are faster with it. */
void ronchi_stream_kernels_avx2(ronchi_kernels *kernels);
void ronchi_stream_kernels_avx512(ronchi_kernels *kernels);

/* The longer kernels, each in a file of its own. */
size_t ronchi_streams_decode_c(const struct ronchi_stream_tables *tables, const struct ronchi_stream *streams,
                               size_t n_streams, size_t n, size_t stop, uint16_t *out);
size_t ronchi_streams_decode_avx512(const struct ronchi_stream_tables *tables, const struct ronchi_stream *streams,
                                    size_t n_streams, size_t n, size_t stop, uint16_t *out);
void ronchi_streams_encode_avx512(const struct ronchi_stream_tables *tables, const uint16_t *values, size_t n_streams,
                                  size_t n, const struct ronchi_stream_stats *stats, uint8_t *dst, uint32_t *sizes,
                                  uint8_t *selectors);

#endif
