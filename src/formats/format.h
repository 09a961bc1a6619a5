/* SPDX-License-Identifier: MIT */
/*
 * format.h - the seam for original files: one struct of functions per format, listed in registry.c.
 *
 * Reading is cut in two so that it can overlap: stage() brings the stored (compressed) bytes of consecutive frames into
 * memory, by one thread at a time; decode() turns one staged frame into counts, by any number of threads.
 */
#ifndef RONCHI_FORMATS_FORMAT_H
#define RONCHI_FORMATS_FORMAT_H

#include <jansson.h>

#include "core/internal.h"
#include "ronchi/formats.h"

typedef struct ronchi_format ronchi_format;

/*
 * An open source.  Formats put their own state behind 'state'.  Frames are numbered as stored, all files together, from
 * 0.
 */
typedef struct ronchi_source {
    const ronchi_format *format;
    ronchi_context *context;
    void *state;
    char path[4096];
    ronchi_shape shape; /* scan as chosen, detector as stored */
    ronchi_dtype dtype; /* as stored, host byte order after decode(): u8, u16, u32 or f32 */
    uint64_t frames_stored;
    uint64_t skip; /* frame of scan position (r, c): skip + r (cols + flyback) + (start ? flyback : 0) + c */
    uint64_t flyback;
    int32_t flyback_at;
    uint32_t *pixel_mask; /* [det_row][det_col] raw flag bits, NULL: none; owned */
    json_t *metadata;     /* everything retained: flat HDF5 paths as keys; owned */
    json_t *scientific;   /* quantem.scientific-metadata/2 without processing; owned */
    ronchi_calibration calibration;
} ronchi_source;

/* Stored bytes of consecutive frames, made by stage(); owned by whoever asked, freed by unstage(). */
typedef struct ronchi_staged {
    uint64_t first, count; /* frames */
    void *state;           /* the format's */
    uint64_t stored_bytes;
} ronchi_staged;

/* Where the stored bytes of one frame lie, and how they are coded; for whoever reads them in a way of its own. */
typedef enum ronchi_coding { RONCHI_CODING_NONE = 0, RONCHI_CODING_BSLZ4 = 1, RONCHI_CODING_LZ4 = 2 } ronchi_coding;
typedef struct ronchi_stored_frame {
    uint64_t offset; /* in its file */
    uint32_t size;
    uint32_t file; /* number for file() */
    uint16_t coding;
    uint16_t swap; /* 1: decoded counts are in the other byte order */
} ronchi_stored_frame;

struct ronchi_format {
    const char *name;
    /* probe() says whether the file is one of its own, from its path and first bytes alone (n may be less than asked).
     */
    bool (*probe)(const char *path, const uint8_t *head, size_t n);
    /* inspect() as ronchi_inspect(): fills an already zeroed *out; errors only when the file cannot be looked at. */
    ronchi_status (*inspect)(ronchi_context *context, const char *path, const ronchi_source_options *options,
                             ronchi_inspection *out, ronchi_error *err);
    /* open() makes a source that is ready to stage; refuses (with inspect's reason and action) what is not ready. */
    ronchi_status (*open)(ronchi_context *context, const char *path, const ronchi_source_options *options,
                          ronchi_source **out, ronchi_error *err);
    ronchi_status (*stage)(ronchi_source *source, uint64_t first, uint64_t count, ronchi_staged *out,
                           ronchi_error *err);
    /* decode() writes one whole frame, [det_row][det_col] of source->dtype, contiguous, to dst; thread-safe. */
    ronchi_status (*decode)(const ronchi_source *source, const ronchi_staged *staged, uint64_t frame, void *dst,
                            ronchi_error *err);
    /*
     * Where every staged frame can be decoded in pieces of the same number of consecutive counts, pieces() is that
     * number, else 0.  decode_piece() writes one to dst (the last: what remains); any thread, but for one frame the
     * pieces in order 0, 1, 2, ..., and *at, which is the format's own, goes from one to the next.  Both may be NULL.
     */
    size_t (*pieces)(const ronchi_source *source, const ronchi_staged *staged);
    ronchi_status (*decode_piece)(const ronchi_source *source, const ronchi_staged *staged, uint64_t frame,
                                  size_t piece, size_t *at, void *dst, ronchi_error *err);
    void (*unstage)(ronchi_source *source, ronchi_staged *staged);
    /*
     * locate() fills out[count] for consecutive frames, by one thread at a time.  *known is false (and 'out'
     * unspecified) when not every one of them is a piece of bytes at a known place: then stage() is the way.  file() is
     * the path of a file that locate() named.  Both NULL for formats that never know.
     */
    ronchi_status (*locate)(ronchi_source *source, uint64_t first, uint64_t count, ronchi_stored_frame *out,
                            bool *known, ronchi_error *err);
    const char *(*file)(const ronchi_source *source, uint32_t file);
    void (*close)(ronchi_source *source); /* frees state, then ronchi_source_release() */
};

/* ronchi_format_find() probes the registered formats; NULL with RONCHI_ERR_FORMAT naming what is known. */
ronchi_status ronchi_format_find(const char *path, const ronchi_format **out, ronchi_error *err);

ronchi_status ronchi_source_open(ronchi_context *context, const char *path, const ronchi_source_options *options,
                                 ronchi_source **out, ronchi_error *err);
void ronchi_source_close(ronchi_source *source); /* NULL does nothing */

/* The stored frame of a flattened scan position. */
static inline uint64_t ronchi_source_frame(const ronchi_source *source, uint64_t position)
{
    uint64_t row = position / source->shape.scan_cols, col = position % source->shape.scan_cols;
    uint64_t lead = source->flyback_at == RONCHI_FLYBACK_START ? source->flyback : 0;
    return source->skip + row * (source->shape.scan_cols + source->flyback) + lead + col;
}

#endif
