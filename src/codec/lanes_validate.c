/* SPDX-License-Identifier: MIT */
/*
 * lanes_validate.c - decodes all of a bit-lane store and compares the digest of its values.
 *
 * Chunks are decoded one after the other, each by all threads, into one of two buffers; meanwhile item 0 adds the chunk
 * before to the digest.
 */
#include <openssl/evp.h>
#include <string.h>

#include "codec/lanes.h"

typedef struct validate_job {
    const lanes_store *store;
    const ronchi_kernels *kernels;
    EVP_MD_CTX *hash;
    size_t chunk;       /* being decoded; n_chunks after the last */
    uint8_t *frames[2]; /* of this chunk and the one before, by parity */
    uint16_t *scratch;  /* [threads][2 LANES_TILE][pitch] */
} validate_job;

static ronchi_status hash_before(const validate_job *job, ronchi_error *err)
{
    if (job->chunk == 0)
        return RONCHI_OK;
    size_t n = job->store->chunks[job->chunk - 1].n_positions;
    if (EVP_DigestUpdate(job->hash, job->frames[(job->chunk - 1) % 2], 4 * n * job->store->base.n_pixels) != 1)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "SHA-256 failed");
    return RONCHI_OK;
}

static ronchi_status decode_item(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const validate_job *job = user;
    const lanes_store *store = job->store;
    uint32_t pixels[LANES_TILE] = {0};
    if (item == 0)
        return hash_before(job, err);
    size_t first = (item - 1) * LANES_TILE, n = ronchi_min_size(LANES_TILE, store->base.n_pixels - first);
    size_t n_positions = store->chunks[job->chunk].n_positions;
    uint16_t *values = job->scratch + worker * 2 * LANES_TILE * RONCHI_STREAM_PITCH;
    for (size_t i = 0; i < n; i++)
        pixels[i] = (uint32_t)(first + i);
    ronchi_status status = ronchi_lanes_decode_pixels(store, job->chunk, pixels, n, n_positions, values, err);
    if (status == RONCHI_OK)
        job->kernels->transpose16(values, RONCHI_STREAM_PITCH * 2, 2 * n, n_positions,
                                  job->frames[job->chunk % 2] + 4 * first, (ptrdiff_t)(4 * store->base.n_pixels));
    return status;
}

static ronchi_status run(validate_job *job, ronchi_error *err)
{
    const lanes_store *store = job->store;
    ronchi_context *context = store->base.context;
    size_t n_pixels = store->base.n_pixels, most = 0;
    for (size_t i = 0; i < store->n_chunks; i++)
        most = store->chunks[i].n_positions > most ? store->chunks[i].n_positions : most;
    for (int i = 0; i < 2; i++)
        job->frames[i] = ronchi_alloc(context, 4 * most * n_pixels);
    job->scratch = ronchi_alloc(context, ronchi_context_threads(context) * 2 * LANES_TILE * RONCHI_STREAM_PITCH * 2);
    job->hash = EVP_MD_CTX_new();
    if (!job->frames[0] || !job->frames[1] || !job->scratch || !job->hash ||
        EVP_DigestInit_ex(job->hash, EVP_sha256(), NULL) != 1)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory to validate");
    for (job->chunk = 0; job->chunk <= store->n_chunks; job->chunk++) {
        size_t n_items = job->chunk < store->n_chunks ? 1 + ronchi_div_up(n_pixels, LANES_TILE) : 1;
        ronchi_status status = ronchi_parallel_for(context, n_items, decode_item, job, err);
        if (status != RONCHI_OK)
            return status;
    }
    uint8_t digest[EVP_MAX_MD_SIZE];
    char digits[65];
    if (EVP_DigestFinal_ex(job->hash, digest, NULL) != 1)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "SHA-256 failed");
    ronchi_lanes_digits(digest, digits);
    if (strcmp(digits, store->logical) != 0)
        return ronchi_fail(err, RONCHI_ERR_DATA, NULL, RONCHI_NO_OFFSET,
                           "the decoded values have another SHA-256 than 'logical_sha256' says; the file is damaged");
    return RONCHI_OK;
}

ronchi_status ronchi_lanes_validate(const ronchi_store *base, ronchi_error *err)
{
    validate_job job;
    memset(&job, 0, sizeof job);
    job.store = (const lanes_store *)base;
    job.kernels = ronchi_context_kernels(base->context);
    ronchi_status status = run(&job, err);
    ronchi_free(base->context, job.frames[0]);
    ronchi_free(base->context, job.frames[1]);
    ronchi_free(base->context, job.scratch);
    EVP_MD_CTX_free(job.hash);
    return status;
}
