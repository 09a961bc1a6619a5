/* SPDX-License-Identifier: MIT */
/* sum_index.c - planes of sums: storing them narrowly, groups of tiles, adding many of them to an image. */
#include "codec/sum_index.h"

#include <string.h>

enum { SEGMENT = 1024 }; /* positions that are added at a time: their sums stay in the first cache */

ronchi_status ronchi_sum_index_create(ronchi_context *context, size_t tiles_down, size_t tiles_across,
                                      size_t n_positions, ronchi_sum_index **out, ronchi_error *err)
{
    ronchi_sum_index *index = ronchi_calloc(context, 1, sizeof *index);
    *out = NULL;
    if (index) {
        index->context = context;
        index->tiles_down = tiles_down;
        index->tiles_across = tiles_across;
        index->n_tiles = tiles_down * tiles_across;
        index->groups_down = ronchi_div_up(tiles_down, RONCHI_SUM_GROUP);
        index->groups_across = ronchi_div_up(tiles_across, RONCHI_SUM_GROUP);
        index->n_groups = index->groups_down * index->groups_across;
        index->n_positions = n_positions;
        index->planes = ronchi_calloc(context, index->n_tiles + index->n_groups, sizeof *index->planes);
    }
    if (!index || !index->planes) {
        ronchi_sum_index_destroy(index);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a sum index");
    }
    *out = index;
    return RONCHI_OK;
}

void ronchi_sum_index_destroy(ronchi_sum_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; index->planes && i < index->n_tiles + index->n_groups; i++)
        ronchi_free(index->context, index->planes[i].sums);
    ronchi_free(index->context, index->planes);
    ronchi_free(index->context, index);
}

ronchi_status ronchi_sum_index_reserve(ronchi_sum_index *index, size_t which, uint64_t largest, ronchi_error *err)
{
    ronchi_sum_plane *plane = &index->planes[which];
    ronchi_free(index->context, plane->sums);
    plane->sums = NULL;
    plane->largest = largest;
    plane->width = !largest ? 0 : largest <= UINT8_MAX ? 1 : largest <= UINT16_MAX ? 2 : largest <= UINT32_MAX ? 4 : 8;
    if (!largest)
        return RONCHI_OK;
    plane->sums = ronchi_calloc(index->context, index->n_positions, plane->width);
    if (plane->sums)
        return RONCHI_OK;
    plane->width = 0;
    return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a sum index");
}

void ronchi_sum_index_put(ronchi_sum_index *index, size_t which, size_t first, const uint64_t *sums, size_t n)
{
    const ronchi_sum_plane *plane = &index->planes[which];
    uint8_t *u8 = (uint8_t *)plane->sums + first * plane->width;
    uint16_t *u16 = (uint16_t *)(void *)u8;
    uint32_t *u32 = (uint32_t *)(void *)u8;
    if (plane->width == 8)
        memcpy(u8, sums, n * sizeof *sums);
    for (size_t i = 0; plane->width == 4 && i < n; i++)
        u32[i] = (uint32_t)sums[i];
    for (size_t i = 0; plane->width == 2 && i < n; i++)
        u16[i] = (uint16_t)sums[i];
    for (size_t i = 0; plane->width == 1 && i < n; i++)
        u8[i] = (uint8_t)sums[i];
}

ronchi_status ronchi_sum_index_set(ronchi_sum_index *index, size_t which, const uint64_t *sums, ronchi_error *err)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < index->n_positions; i++)
        largest = sums[i] > largest ? sums[i] : largest;
    ronchi_status status = ronchi_sum_index_reserve(index, which, largest, err);
    if (status == RONCHI_OK && largest)
        ronchi_sum_index_put(index, which, 0, sums, index->n_positions);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- adding */

/* out += weight x a segment of sums that were kept in 32 bits, which are 0 then. */
static void spill(uint32_t *kept, size_t n, uint32_t weight, uint64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] += (uint64_t)weight * kept[i];
        kept[i] = 0;
    }
}

void ronchi_sum_index_add(const ronchi_sum_index *index, const ronchi_sum_term *terms, size_t n_terms, size_t first,
                          size_t n, uint64_t *out)
{
    const ronchi_kernels *kernels = ronchi_context_kernels(index->context);
    uint32_t kept[SEGMENT] = {0};
    for (size_t done = 0, part; done < n; done += part) {
        uint64_t room = UINT32_MAX; /* what still fits 'kept' */
        uint32_t weight = 0;        /* of what is in it */
        part = ronchi_min_size(SEGMENT, n - done);
        for (size_t t = 0; t < n_terms; t++) {
            const ronchi_sum_plane *plane = &index->planes[terms[t].plane];
            const char *from = (const char *)plane->sums + (first + done) * plane->width;
            for (size_t i = 0; plane->width == 8 && i < part; i++)
                out[done + i] += terms[t].weight * ((const uint64_t *)(const void *)from)[i];
            if (plane->width == 8 || plane->width == 0)
                continue;
            if (plane->largest > room || terms[t].weight != weight) {
                spill(kept, part, weight, out + done);
                room = UINT32_MAX;
                weight = terms[t].weight;
            }
            kernels->add_sums(from, plane->width, part, kept);
            room -= plane->largest;
        }
        spill(kept, part, weight, out + done);
    }
}

uint64_t ronchi_sum_index_at(const ronchi_sum_index *index, size_t which, size_t position)
{
    const ronchi_sum_plane *plane = &index->planes[which];
    switch (plane->width) {
    case 1:
        return ((const uint8_t *)plane->sums)[position];
    case 2:
        return ((const uint16_t *)plane->sums)[position];
    case 4:
        return ((const uint32_t *)plane->sums)[position];
    case 8:
        return ((const uint64_t *)plane->sums)[position];
    default:
        return 0;
    }
}

/* ---------------------------------------------------------------------------------------------------------- groups */

typedef struct group_job {
    ronchi_sum_index *index;
    uint64_t *sums; /* [threads][n_positions] */
} group_job;

static ronchi_status make_group(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const group_job *job = user;
    ronchi_sum_index *index = job->index;
    uint64_t *sums = job->sums + worker * index->n_positions;
    ronchi_sum_term terms[RONCHI_SUM_GROUP * RONCHI_SUM_GROUP];
    size_t n = 0, row = item / index->groups_across * RONCHI_SUM_GROUP,
           col = item % index->groups_across * RONCHI_SUM_GROUP;
    for (size_t r = row; r < ronchi_min_size(row + RONCHI_SUM_GROUP, index->tiles_down); r++)
        for (size_t c = col; c < ronchi_min_size(col + RONCHI_SUM_GROUP, index->tiles_across); c++)
            terms[n++] = (ronchi_sum_term){r * index->tiles_across + c, 1};
    memset(sums, 0, index->n_positions * sizeof *sums);
    ronchi_sum_index_add(index, terms, n, 0, index->n_positions, sums);
    return ronchi_sum_index_set(index, index->n_tiles + item, sums, err);
}

ronchi_status ronchi_sum_index_groups(ronchi_sum_index *index, ronchi_error *err)
{
    const size_t threads = ronchi_context_threads(index->context);
    group_job job = {index, ronchi_alloc(index->context, threads * index->n_positions * sizeof *job.sums)};
    if (!job.sums)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for a sum index");
    ronchi_status status = ronchi_parallel_for(index->context, index->n_groups, make_group, &job, err);
    ronchi_free(index->context, job.sums);
    return status;
}

uint64_t ronchi_sum_index_bytes(const ronchi_sum_index *index)
{
    uint64_t bytes = sizeof *index;
    for (size_t i = 0; i < index->n_tiles + index->n_groups; i++)
        bytes += sizeof *index->planes + (uint64_t)index->planes[i].width * index->n_positions;
    return bytes;
}
