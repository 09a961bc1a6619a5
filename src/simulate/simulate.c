/* SPDX-License-Identifier: MIT */
/* simulate.c - the run: frames are made in parallel, a batch at a time, and written in order. */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "formats/dectris_write.h"
#include "simulate/simulation.h"
#include "simulate/truth.h"

enum { BATCH_BYTES = 16 << 20 };

typedef struct run {
    ronchi_context *context;
    const ronchi_simulation *simulation;
    ronchi_dectris_writer *writer;
    size_t frame_bytes, n_pixels;
    uint8_t *frames; /* one batch */
    size_t n_batch;
    uint64_t first;           /* stored frame of the batch's first */
    uint64_t *sums, *largest; /* [n_batch] */
    EVP_MD_CTX *digest;
    ronchi_truth truth;
} run;

static uint32_t count_at(const void *frame, ronchi_dtype dtype, size_t pixel)
{
    return dtype == RONCHI_U8    ? ((const uint8_t *)frame)[pixel]
           : dtype == RONCHI_U16 ? ((const uint16_t *)frame)[pixel]
                                 : ((const uint32_t *)frame)[pixel];
}

static ronchi_status make_frame(void *user, size_t item, size_t worker, ronchi_error *err)
{
    run *r = user;
    const ronchi_simulation *s = r->simulation;
    void *frame = r->frames + item * r->frame_bytes;
    ronchi_status status = ronchi_simulation_frame(s, r->first + item, worker, frame, err);
    uint64_t sum = 0, largest = 0, position;
    if (status == RONCHI_OK && ronchi_simulation_position(&s->options, r->first + item, &position))
        for (size_t i = 0; i < r->n_pixels; i++) {
            uint64_t count = s->flagged[i] ? 0 : count_at(frame, s->options.dtype, i);
            sum += count;
            largest = count > largest ? count : largest;
        }
    r->sums[item] = sum;
    r->largest[item] = largest;
    return status;
}

/* What the truth says of the counts, in frame order. */
static bool account(run *r, size_t n)
{
    uint64_t position;
    for (size_t i = 0; i < n; i++) {
        if (!ronchi_simulation_position(&r->simulation->options, r->first + i, &position))
            continue;
        if (EVP_DigestUpdate(r->digest, r->frames + i * r->frame_bytes, r->frame_bytes) != 1)
            return false;
        r->truth.total += (double)r->sums[i];
        if (r->largest[i] > r->truth.largest)
            r->truth.largest = r->largest[i];
    }
    return true;
}

static ronchi_status make_frames(run *r, ronchi_error *err)
{
    uint64_t total = ronchi_simulation_frames(&r->simulation->options);
    ronchi_progress progress = {
        .stage = "simulate", .total = total, .unit = "frames", .bytes_per_unit = r->frame_bytes};
    ronchi_status status = ronchi_report(r->context, &progress, err);
    while (status == RONCHI_OK && r->first < total) {
        size_t n = total - r->first < r->n_batch ? (size_t)(total - r->first) : r->n_batch;
        status = ronchi_parallel_for(r->context, n, make_frame, r, err);
        if (status == RONCHI_OK && r->digest && !account(r, n))
            status = ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "the SHA-256 of the counts failed");
        if (status == RONCHI_OK)
            status = ronchi_dectris_writer_append(r->writer, r->frames, n, err);
        r->first += n;
        progress.done = r->first;
        if (status == RONCHI_OK)
            status = ronchi_report(r->context, &progress, err);
    }
    return status;
}

static ronchi_status finish_digest(run *r, ronchi_error *err)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_DigestFinal_ex(r->digest, digest, &n) != 1 || n != 32)
        return ronchi_fail(err, RONCHI_ERR_INTERNAL, NULL, RONCHI_NO_OFFSET, "the SHA-256 of the counts failed");
    for (unsigned i = 0; i < n; i++)
        snprintf(r->truth.counts_sha256 + 2 * i, 3, "%02x", digest[i]);
    return RONCHI_OK;
}

static ronchi_status prepare(run *r, ronchi_error *err)
{
    const ronchi_simulate_options *o = &r->simulation->options;
    r->n_pixels = o->det_rows * o->det_cols; /* both at most 8192 */
    r->frame_bytes = r->n_pixels * ronchi_dtype_size(o->dtype);
    uint64_t budget = ronchi_context_budget(r->context), batch = budget < BATCH_BYTES ? budget : BATCH_BYTES;
    r->n_batch = (size_t)(batch / r->frame_bytes);
    if (r->n_batch == 0)
        r->n_batch = 1;
    r->frames = ronchi_alloc(r->context, r->n_batch * r->frame_bytes);
    r->sums = ronchi_calloc(r->context, r->n_batch, sizeof *r->sums);
    r->largest = ronchi_calloc(r->context, r->n_batch, sizeof *r->largest);
    r->digest = o->truth ? EVP_MD_CTX_new() : NULL;
    if (!r->frames || !r->sums || !r->largest || (o->truth && !r->digest) ||
        (o->truth && EVP_DigestInit_ex(r->digest, EVP_sha256(), NULL) != 1))
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for %zu frames", r->n_batch);
    return RONCHI_OK;
}

static ronchi_status open_writer(run *r, const char *master_path, ronchi_error *err)
{
    const ronchi_simulation *s = r->simulation;
    const ronchi_simulate_options *o = &s->options;
    uint32_t *mask = NULL;
    if (o->flagged_pixels) {
        mask = ronchi_calloc(r->context, r->n_pixels, sizeof *mask);
        if (!mask)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the pixel mask");
        for (size_t i = 0; i < r->n_pixels; i++)
            mask[i] = s->flagged[i] ? 2 : 0; /* bit 1: dead */
    }
    ronchi_dectris_companion companion = {
        .voltage_kv = o->voltage_kv,
        .camera_length_m = 1e-4 / (o->semiangle_mrad * 1e-3 / o->disk_radius_px), /* 0.1 mm pixels */
        .scan_step_a = o->scan_step_a,
        .rotation_deg = o->rotation_deg,
        .prescan = o->flyback_at == RONCHI_FLYBACK_START ? o->flyback : 0,
    };
    ronchi_dectris_options options = {
        .shape = {o->scan_rows, o->scan_cols, o->det_rows, o->det_cols},
        .dtype = o->dtype,
        .n_frames = ronchi_simulation_frames(o),
        .frames_per_file = o->frames_per_file,
        .filter = o->filter,
        .description = "Dectris ARINA (simulated)",
        .pixel_mask = mask,
        .voltage_kv = o->voltage_kv,
        .frame_time_s = 1e-4,
        .saturation = o->dtype == RONCHI_U8    ? UINT8_MAX - 1
                      : o->dtype == RONCHI_U16 ? UINT16_MAX - 1
                                               : UINT32_MAX - 1ll,
        .scan_attributes = !o->companion && o->flyback == 0,
        .companion = o->companion ? &companion : NULL,
        .force = o->force,
    };
    ronchi_status status = ronchi_dectris_writer_create(r->context, master_path, &options, &r->writer, err);
    ronchi_free(r->context, mask);
    return status;
}

static ronchi_status make_specimen(ronchi_context *context, const ronchi_simulate_options *o, ronchi_specimen **out,
                                   ronchi_error *err)
{
    ronchi_box box = ronchi_simulation_box(o);
    size_t longer = o->scan_rows > o->scan_cols ? o->scan_rows : o->scan_cols;
    double grain[3] = {0.5 * (double)(o->scan_rows - 1) * o->scan_step_a,
                       0.5 * (double)(o->scan_cols - 1) * o->scan_step_a,
                       0.42 * ((double)longer * o->scan_step_a + 20.0)};
    return ronchi_specimen_create(context, o->seed, o->phase_scale, grain, &box, out, err);
}

static ronchi_status run_all(run *r, const ronchi_specimen *specimen, const char *master_path, ronchi_error *err)
{
    const ronchi_simulate_options *o = &r->simulation->options;
    ronchi_status status = prepare(r, err);
    if (status == RONCHI_OK)
        status = open_writer(r, master_path, err);
    if (status == RONCHI_OK)
        status = make_frames(r, err);
    if (status == RONCHI_OK && o->truth)
        status = finish_digest(r, err);
    /* the master comes last: once it is there, everything is */
    if (status == RONCHI_OK && o->truth)
        status = ronchi_truth_write(r->simulation, specimen, master_path, &r->truth, err);
    if (status == RONCHI_OK) {
        status = ronchi_dectris_writer_finish(r->writer, err);
        if (status != RONCHI_OK && o->truth)
            ronchi_truth_remove(master_path);
    }
    ronchi_dectris_writer_destroy(r->writer);
    EVP_MD_CTX_free(r->digest);
    ronchi_free(r->context, r->frames);
    ronchi_free(r->context, r->sums);
    ronchi_free(r->context, r->largest);
    return status;
}

ronchi_status ronchi_simulate(ronchi_context *context, const char *master_path, const ronchi_simulate_options *options,
                              ronchi_error *err)
{
    ronchi_simulate_options checked;
    ronchi_specimen *specimen = NULL;
    ronchi_simulation *simulation = NULL;
    char stem[4096];
    if (!context || !master_path)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "a context and a path are needed");
    ronchi_status status = ronchi_dectris_name(master_path, "", stem, sizeof stem, err);
    if (status == RONCHI_OK)
        status = ronchi_simulation_check(options, &checked, err);
    if (status == RONCHI_OK && checked.truth && !checked.force)
        status = ronchi_truth_refuse(master_path, err);
    if (status == RONCHI_OK)
        status = make_specimen(context, &checked, &specimen, err);
    if (status == RONCHI_OK)
        status = ronchi_simulation_create(context, &checked, specimen, &simulation, err);
    if (status == RONCHI_OK) {
        run r = {.context = context, .simulation = simulation};
        status = run_all(&r, specimen, master_path, err);
    }
    ronchi_simulation_destroy(simulation);
    ronchi_specimen_destroy(specimen);
    return status;
}
