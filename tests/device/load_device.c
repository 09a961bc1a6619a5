/* SPDX-License-Identifier: MIT */
/*
 * load_device.c - sources read and decoded on a CUDA device, block by block: every frame as it reaches the encoder is
 * compared with what the host makes of the same source: all filters and dtypes, all policies, narrowing with raw values
 * at flagged pixels, several data files, extra frames, small budgets, damaged chunks.  Then whole loads, which must
 * save the same files as the CPU's.
 *
 * usage: load_device [SEED]; exit code 77 without a device
 *
 * or, with the CPU in the device's place and without whole loads: load_device --pretend [SEED]
 *
 * or, to make MASTER (192 x 192 uint16) unless it is there and time its loads: load_device --bench MASTER [ROWS COLS]
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "core/port.h"
#include "device/numbers.h"
#include "device/pretend.h"
#include "formats/dectris_write.h"
#include "resident/ingest_device.h"

static uint64_t state = 1;
static bool pretend;

static uint64_t next64(void)
{
    return test_next64(&state);
}

static void check(ronchi_status status, const ronchi_error *err)
{
    if (status == RONCHI_OK)
        return;
    printf("FAILED: %s\n", err->message);
    exit(1);
}

static void fail(const char *what)
{
    printf("FAILED: %s\n", what);
    exit(1);
}

/* --------------------------------------------------------------------------------------------------- an acquisition */

typedef struct set {
    ronchi_shape shape;
    ronchi_dtype dtype;
    const char *filter;
    uint64_t frames_per_file;
    bool mask;
    uint32_t prescan;
} set;

static const char master[] = "load_device_master.h5";

static void put(void *frames, ronchi_dtype dtype, size_t i, uint32_t v)
{
    if (dtype == RONCHI_U8)
        ((uint8_t *)frames)[i] = (uint8_t)v;
    else if (dtype == RONCHI_U16)
        ((uint16_t *)frames)[i] = (uint16_t)v;
    else
        ((uint32_t *)frames)[i] = v;
}

/* Writes the set's master; flagged pixels hold the detectors' markers, or change from frame to frame. */
static void make_master(ronchi_context *context, const set *s)
{
    size_t pixels = s->shape.det_rows * s->shape.det_cols;
    uint64_t n = s->shape.scan_rows * (s->shape.scan_cols + s->prescan);
    uint32_t *mask = calloc(pixels, sizeof *mask);
    void *frames = calloc(n * pixels, ronchi_dtype_size(s->dtype));
    ronchi_error err;
    ronchi_dectris_writer *writer;
    remove("load_device.h5"); /* the companion of a set before */
    for (size_t p = 0; s->mask && p < pixels; p++)
        mask[p] = next64() % 9 == 0;
    for (uint64_t f = 0; f < n; f++)
        for (size_t p = 0; p < pixels; p++)
            put(frames, s->dtype, f * pixels + p,
                mask[p] ? (p % 2 ? UINT32_MAX : 65000 + (uint32_t)(next64() % 1000)) : (uint32_t)(next64() % 9));
    ronchi_dectris_companion companion = {.prescan = s->prescan};
    ronchi_dectris_options o = {.shape = s->shape,
                                .dtype = s->dtype,
                                .n_frames = n,
                                .frames_per_file = s->frames_per_file,
                                .filter = s->filter,
                                .pixel_mask = s->mask ? mask : NULL,
                                .scan_attributes = !s->prescan,
                                .companion = s->prescan ? &companion : NULL,
                                .force = 1};
    check(ronchi_dectris_writer_create(context, master, &o, &writer, &err), &err);
    check(ronchi_dectris_writer_append(writer, frames, n, &err), &err);
    check(ronchi_dectris_writer_finish(writer, &err), &err);
    ronchi_dectris_writer_destroy(writer);
    free(mask);
    free(frames);
}

/* --------------------------------------------------------------------------------------------------------- the check
 */

typedef struct sink {
    ronchi_context *context;
    ronchi_device *device;
    ronchi_source *source;
    ronchi_store *store; /* only for its blocks */
    ronchi_ingest_options options;
    ronchi_dtype dtype;
    uint8_t *frames; /* one block */
    uint8_t *rescued;
    size_t taken, rescues;
    double encode_seconds;
} sink;

static ronchi_block block_of(void *user, size_t index)
{
    const sink *s = user;
    return s->store->profile->block(s->store, index);
}

/* One frame as the host would encode it. */
static void expected(const sink *s, uint64_t position, void *wide, void *out)
{
    const ronchi_source *source = s->source;
    uint64_t frame = ronchi_source_frame(source, position);
    ronchi_staged staged;
    ronchi_error err;
    size_t pixels = source->shape.det_rows * source->shape.det_cols;
    check(source->format->stage(s->source, frame, 1, &staged, &err), &err);
    check(source->format->decode(source, &staged, frame, wide, &err), &err);
    source->format->unstage(s->source, &staged);
    if (s->options.policy != RONCHI_FLAGGED_KEEP)
        ronchi_flagged_correct(&source->shape, source->dtype, s->options.valid, s->options.flagged,
                               s->options.n_flagged, s->options.policy, wide);
    if (s->dtype == source->dtype) {
        memcpy(out, wide, pixels * ronchi_dtype_size(s->dtype));
        return;
    }
    for (size_t p = 0; p < pixels; p++) {
        uint32_t v = ((uint32_t *)wide)[p];
        ((uint16_t *)out)[p] = v > UINT16_MAX ? 0 : (uint16_t)v;
    }
}

/* Takes the place of the encoder: brings the frames back and compares them. */
static ronchi_status compare_block(void *user, size_t index, const void *frames, ronchi_cuda_stream stream,
                                   ronchi_error *err)
{
    sink *s = user;
    ronchi_block block = block_of(s, index);
    size_t n = ronchi_block_positions(&block), pixels = s->source->shape.det_rows * s->source->shape.det_cols,
           bytes = pixels * ronchi_dtype_size(s->dtype);
    uint8_t *wide = malloc(pixels * 4), *one = malloc(bytes);
    const ronchi_cuda_table *t = s->device->table;
    if (index != s->taken)
        fail("blocks came out of order");
    s->taken++;
    check(t->copy(s->device, stream, s->frames, frames, n * bytes, err), err);
    check(t->stream_wait(s->device, stream, err), err);
    for (size_t j = 0; j < n; j++) {
        expected(s, ronchi_block_position(&block, &s->source->shape, j), wide, one);
        if (memcmp(one, s->frames + j * bytes, bytes) != 0)
            fail("a frame differs from the host's");
    }
    free(wide);
    free(one);
    return RONCHI_OK;
}

static ronchi_status rescue(void *user, size_t index, const void **frames, ronchi_error *err)
{
    sink *s = user;
    ronchi_block block = block_of(s, index);
    size_t bytes = s->source->shape.det_rows * s->source->shape.det_cols * ronchi_dtype_size(s->dtype);
    s->rescues++;
    for (size_t j = 0; j < ronchi_block_positions(&block); j++) {
        uint64_t frame = ronchi_source_frame(s->source, ronchi_block_position(&block, &s->source->shape, j));
        ronchi_staged staged;
        check(s->source->format->stage(s->source, frame, 1, &staged, err), err);
        ronchi_status status = s->source->format->decode(s->source, &staged, frame, s->rescued + j * bytes, err);
        s->source->format->unstage(s->source, &staged);
        if (status != RONCHI_OK)
            return status;
    }
    *frames = s->rescued;
    return RONCHI_OK;
}

static void open_sink(sink *s, ronchi_context *context, const char *path, ronchi_flagged policy, ronchi_dtype dtype)
{
    ronchi_error err;
    size_t pixels, n = 0;
    memset(s, 0, sizeof *s);
    s->context = context;
    s->device = pretend ? pretend_device(ronchi_context_kernels(context)) : ronchi_context_device(context);
    check(ronchi_source_open(context, path, NULL, &s->source, &err), &err);
    s->dtype = dtype ? dtype : s->source->dtype;
    check(ronchi_profile_lane.create(context, &s->source->shape, s->dtype, NULL, ronchi_context_budget(context),
                                     &s->store, &err),
          &err);
    ronchi_shape_detector(&s->source->shape, &pixels);
    s->options.policy = policy;
    s->options.stage_name = "load";
    if (s->source->pixel_mask) {
        uint8_t *valid = malloc(pixels);
        size_t *flagged;
        for (size_t p = 0; p < pixels; p++)
            valid[p] = s->source->pixel_mask[p] == 0;
        check(ronchi_flagged_list(valid, pixels, &flagged, &n, &err), &err);
        s->options.valid = valid;
        s->options.flagged = flagged;
        s->options.n_flagged = n;
    }
    size_t bytes = ronchi_store_largest_block(s->store) * pixels * 4;
    s->frames = malloc(bytes);
    s->rescued = malloc(bytes);
}

static void close_sink(sink *s)
{
    s->store->profile->destroy(s->store);
    ronchi_source_close(s->source);
    free((void *)(uintptr_t)s->options.valid);
    free((void *)(uintptr_t)s->options.flagged);
    free(s->frames);
    free(s->rescued);
}

static ronchi_device_ingest how_of(sink *s)
{
    return (ronchi_device_ingest){.context = s->context,
                                  .device = s->device,
                                  .source = s->source,
                                  .dtype = s->dtype,
                                  .options = &s->options,
                                  .n_blocks = s->store->profile->n_blocks(s->store),
                                  .block = block_of,
                                  .encode = compare_block,
                                  .rescue = rescue,
                                  .user = s};
}

/* The raw values at flagged pixels must be those of the source's frames. */
static void check_raw(sink *s, ronchi_raw_collector *raw)
{
    ronchi_error err;
    ronchi_raw_pixel *table;
    size_t n, pixels = s->source->shape.det_rows * s->source->shape.det_cols, above = 0;
    check(ronchi_raw_finish(raw, s->options.flagged, UINT16_MAX, &table, &n, &err), &err);
    uint32_t *wide = malloc(pixels * 4);
    uint16_t *narrow = malloc(pixels * 2);
    for (uint64_t p = 0; p < (uint64_t)s->source->shape.scan_rows * s->source->shape.scan_cols; p += 7) {
        expected(s, p, wide, narrow);
        for (size_t k = 0; k < n; k++)
            if (ronchi_raw_at(&table[k], p) != wide[table[k].pixel])
                fail("a raw value at a flagged pixel is wrong");
    }
    for (size_t k = 0; k < s->options.n_flagged; k++)
        above += s->options.flagged[k] % 2;
    if (n < above)
        fail("raw values are missing");
    ronchi_raw_free(n, table);
    free(wide);
    free(narrow);
}

static void load_one(ronchi_context *context, const set *about, ronchi_flagged policy, ronchi_dtype dtype)
{
    sink s;
    ronchi_error err;
    ronchi_raw_collector raw;
    ronchi_device_memory before, after;
    make_master(context, about);
    open_sink(&s, context, master, policy, dtype);
    check(s.device->table->device_memory(s.device, &before, &err), &err);
    const char *why = ronchi_device_ingest_why_not(s.source, s.device, &s.options);
    if (strcmp(about->filter, "gzip") == 0) {
        if (!why)
            fail("gzip chunks cannot be decoded on a device");
        close_sink(&s);
        return;
    }
    if (why)
        fail(why);
    check(ronchi_raw_collector_init(&raw, context, s.options.n_flagged, s.store->n_positions, 1 << 26, &err), &err);
    ronchi_device_ingest how = how_of(&s);
    bool keep = policy == RONCHI_FLAGGED_KEEP && s.dtype != s.source->dtype;
    how.raw = keep ? &raw : NULL;
    check(ronchi_device_ingest_run(&how, &err), &err);
    if (s.taken != how.n_blocks || s.rescues)
        fail("not all blocks came from the device");
    if (keep)
        check_raw(&s, &raw);
    check(s.device->table->device_memory(s.device, &after, &err), &err);
    if (after.used_bytes != before.used_bytes)
        fail("device memory was not given back");
    ronchi_raw_collector_release(&raw);
    close_sink(&s);
}

static void test_sets(ronchi_context *context)
{
    static const char *const filters[] = {"bslz4", "lz4", "none", "gzip"};
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32};
    size_t n = 0;
    for (size_t f = 0; f < 4; f++)
        for (size_t d = 0; d < 3; d++)
            for (int policy = 0; policy < 3; policy++)
                for (int variant = 0; variant < 3; variant++) {
                    set s = {.shape = {1 + next64() % 70, 1 + next64() % 70, 1 + next64() % 40, 1 + next64() % 40},
                             .dtype = dtypes[d],
                             .filter = filters[f],
                             .frames_per_file = variant ? 1 + next64() % 900 : 0,
                             .mask = variant != 1,
                             .prescan = variant == 2 ? (uint32_t)(1 + next64() % 5) : 0};
                    load_one(context, &s, (ronchi_flagged)policy,
                             dtypes[d] == RONCHI_U32 && variant != 1 ? RONCHI_U16 : dtypes[d]);
                    n++;
                }
    printf("%zu sources as on the host\n", n);
}

/* A budget that holds the frames to encode, but few wide ones; and one that holds too little. */
static void test_budgets(void)
{
    set about = {.shape = {32, 32, 30, 30}, .dtype = RONCHI_U32, .filter = "bslz4", .mask = true};
    size_t frames = 2 * 1024 * 900 * 2;
    for (int tight = 0; tight < 2; tight++) {
        ronchi_context_options options;
        ronchi_context *context;
        ronchi_error err;
        ronchi_context_options_defaults(&options);
        options.device = pretend ? "cpu" : "cuda";
        options.budget_bytes = frames + (tight ? 100 : 10 * 2 * 900 * 4);
        check(ronchi_context_create(&options, &context, &err), &err);
        if (!tight) {
            load_one(context, &about, RONCHI_FLAGGED_KEEP, RONCHI_U16);
        } else {
            sink s;
            open_sink(&s, context, master, RONCHI_FLAGGED_KEEP, RONCHI_U16);
            ronchi_device_ingest how = how_of(&s);
            if (ronchi_device_ingest_run(&how, &err) != RONCHI_ERR_MEMORY || !strstr(err.message, "--budget"))
                fail("a budget that is too small was not refused");
            close_sink(&s);
        }
        ronchi_context_destroy(context);
    }
}

/* Unflagged counts that do not fit end the load; a damaged chunk is named as the host names it. */
static void test_refusals(ronchi_context *context)
{
    set about = {.shape = {40, 40, 20, 21}, .dtype = RONCHI_U32, .filter = "bslz4", .mask = true};
    sink s;
    ronchi_error err;
    make_master(context, &about);
    open_sink(&s, context, master, RONCHI_FLAGGED_KEEP, RONCHI_U16);
    ronchi_device_ingest how = how_of(&s);
    uint8_t *none = malloc(20 * 21);
    memset(none, 1, 20 * 21);
    const uint8_t *valid = s.options.valid;
    s.options.valid = none; /* as if nothing were flagged: then markers are counts */
    size_t n_flagged = s.options.n_flagged;
    s.options.n_flagged = 0;
    if (ronchi_device_ingest_run(&how, &err) != RONCHI_ERR_RANGE)
        fail("counts above 16 bits were narrowed");
    s.options.valid = valid;
    s.options.n_flagged = n_flagged;
    free(none);
    ronchi_stored_frame place;
    bool known;
    check(s.source->format->locate(s.source, 1555, 1, &place, &known, &err), &err);
    char path[4096];
    snprintf(path, sizeof path, "%s", s.source->format->file(s.source, place.file));
    close_sink(&s);
    FILE *file = fopen(path, "r+b");
    if (fseek(file, (long)place.offset + 12, SEEK_SET) != 0 || fwrite("\xFF\xFF\xFF\xFF", 1, 4, file) != 4)
        fail("the file cannot be damaged");
    fclose(file);
    open_sink(&s, context, master, RONCHI_FLAGGED_KEEP, RONCHI_U16);
    how = how_of(&s);
    ronchi_status status = ronchi_device_ingest_run(&how, &err);
    if (status != RONCHI_ERR_DATA || !strstr(err.message, "frame 1555") || s.rescues != 1)
        fail("a damaged chunk was not named");
    printf("a damaged chunk: %s: %s\n", err.file, err.message);
    close_sink(&s);
}

/* -------------------------------------------------------------------------------------------------------- whole loads
 */

/* Loads the master and saves it; returns the file's bytes. */
static uint8_t *load_and_save(ronchi_context *context, ronchi_flagged policy, ronchi_place place, uint64_t *size)
{
    ronchi_load_options options;
    ronchi_acquisition *acquisition;
    ronchi_acquisition_info info;
    ronchi_input input;
    ronchi_error err;
    ronchi_save_options save = {.struct_size = sizeof save, .force = 1};
    ronchi_load_options_defaults(&options);
    options.source.flagged = policy;
    options.profile = RONCHI_PROFILE_LANE;
    check(ronchi_acquisition_load(context, master, &options, &acquisition, &err), &err);
    check(ronchi_acquisition_describe(acquisition, &info), &err);
    if (info.residency != place)
        fail("the counts are in the wrong place");
    check(ronchi_acquisition_save(acquisition, "load_device.qem", &save, &err), &err);
    ronchi_acquisition_destroy(acquisition);
    check(ronchi_input_open("load_device.qem", &input, &err), &err);
    uint8_t *bytes = malloc((size_t)input.size_bytes);
    check(ronchi_input_read(&input, 0, bytes, (size_t)input.size_bytes, &err), &err);
    *size = input.size_bytes;
    ronchi_input_close(&input);
    return bytes;
}

/* The same file, to the byte, whether the CPU or the device made it. */
static void test_loads(ronchi_context *on_device)
{
    static const char *const filters[] = {"bslz4", "lz4", "none", "gzip"};
    static const ronchi_dtype dtypes[] = {RONCHI_U8, RONCHI_U16, RONCHI_U32};
    ronchi_context_options options;
    ronchi_context *on_host;
    ronchi_error err;
    size_t n = 0;
    ronchi_context_options_defaults(&options);
    options.device = "cpu";
    check(ronchi_context_create(&options, &on_host, &err), &err);
    for (size_t f = 0; f < 4; f++)
        for (size_t d = 0; d < 3; d++)
            for (int policy = 0; policy < 3; policy++) {
                set s = {.shape = {1 + next64() % 100, 1 + next64() % 100, 1 + next64() % 40, 1 + next64() % 40},
                         .dtype = dtypes[d],
                         .filter = filters[f],
                         .frames_per_file = 100 + next64() % 4000,
                         .mask = next64() % 4 != 0};
                uint64_t sizes[2];
                make_master(on_host, &s);
                uint8_t *host = load_and_save(on_host, (ronchi_flagged)policy, RONCHI_HOST, &sizes[0]);
                uint8_t *device = load_and_save(on_device, (ronchi_flagged)policy, RONCHI_CUDA, &sizes[1]);
                if (sizes[0] != sizes[1] || memcmp(host, device, (size_t)sizes[0]) != 0)
                    fail("the device's load saves another file than the CPU's");
                free(host);
                free(device);
                n++;
            }
    ronchi_context_destroy(on_host);
    remove("load_device.qem");
    printf("%zu loads save the same files as the CPU's\n", n);
}

/* ------------------------------------------------------------------------------------------------------------- bench
 */

static ronchi_status only_wait(void *user, size_t index, const void *frames, ronchi_cuda_stream stream,
                               ronchi_error *err)
{
    sink *s = user;
    (void)index;
    (void)frames;
    s->taken++;
    return s->device->table->stream_wait(s->device, stream, err);
}

typedef struct making {
    uint16_t *frames;
    double mean;
} making;

static ronchi_status make_frame(void *user, size_t item, size_t worker, ronchi_error *err)
{
    const making *m = user;
    uint64_t s = item * 7919 + 12345;
    (void)worker;
    (void)err;
    for (int p = 0; p < 192 * 192; p++) {
        double mean = hypot(p / 192 - 95.5, p % 192 - 95.5) < 55 ? m->mean : m->mean * 0.02, limit = exp(-mean),
               product = 1;
        int n = -1;
        do {
            s ^= s >> 12;
            s ^= s << 25;
            s ^= s >> 27;
            product *= (double)(s * UINT64_C(0x2545F4914F6CDD1D) >> 11) / 9007199254740992.0;
            n++;
        } while (product > limit);
        m->frames[item * 36864 + (size_t)p] = (uint16_t)n;
    }
    return RONCHI_OK;
}

static void make_bench_master(ronchi_context *context, const char *path, size_t rows, size_t cols)
{
    enum { DISTINCT = 2048 };
    making m = {malloc(DISTINCT * 36864 * sizeof *m.frames), 4};
    ronchi_error err;
    ronchi_dectris_writer *writer;
    ronchi_dectris_options o = {.shape = {rows, cols, 192, 192},
                                .dtype = RONCHI_U16,
                                .n_frames = (uint64_t)rows * cols,
                                .frames_per_file = 100000,
                                .filter = "bslz4",
                                .scan_attributes = 1,
                                .force = 1};
    check(ronchi_parallel_for(context, DISTINCT, make_frame, &m, &err), &err);
    check(ronchi_dectris_writer_create(context, path, &o, &writer, &err), &err);
    for (uint64_t done = 0; done < o.n_frames; done += DISTINCT)
        check(ronchi_dectris_writer_append(writer, m.frames,
                                           o.n_frames - done < DISTINCT ? o.n_frames - done : DISTINCT, &err),
              &err);
    check(ronchi_dectris_writer_finish(writer, &err), &err);
    ronchi_dectris_writer_destroy(writer);
    free(m.frames);
}

/* Loads as a user would: the source opened, indexed, read, decoded, encoded. */
static void bench_load(ronchi_context *context, const char *path, bool first)
{
    ronchi_acquisition *acquisition;
    ronchi_acquisition_info info;
    ronchi_device_info device;
    ronchi_device_memory memory;
    ronchi_error err;
    ronchi_device *d = ronchi_context_device(context);
    d->table->reset_peak(d);
    double start = ronchi_now();
    check(ronchi_acquisition_load(context, path, NULL, &acquisition, &err), &err);
    double seconds = ronchi_now() - start;
    check(ronchi_acquisition_describe(acquisition, &info), &err);
    check(ronchi_context_device_info(context, &device, &err), &err);
    check(d->table->device_memory(d, &memory, &err), &err);
    printf(
        "load%s: %.0f ms (%.1f GB of counts, %.0f GB/s), encoded %.1f MiB, peak of device memory %.1f MiB, beside the "
        "encoded %.1f MiB\n",
        first ? ", the first of the process" : "", 1e3 * seconds, (double)info.logical_bytes / 1e9,
        (double)info.logical_bytes / seconds / 1e9, (double)info.resident_bytes / 1048576,
        (double)memory.peak_bytes / 1048576, ((double)memory.peak_bytes - (double)info.resident_bytes) / 1048576);
    ronchi_acquisition_destroy(acquisition);
}

static void bench(ronchi_context *context, const char *path, size_t rows, size_t cols)
{
    ronchi_stat st;
    ronchi_error err;
    double start = ronchi_now();
    check(ronchi_stat_path(path, &st, &err), &err);
    if (!st.exists)
        make_bench_master(context, path, rows, cols);
    printf("master made in %.1f s\n", ronchi_now() - start);
    for (int run = 0; run < 6; run++)
        bench_load(context, path, run == 0);
    for (int run = 0; run < 4; run++) {
        sink s;
        start = ronchi_now();
        open_sink(&s, context, path, RONCHI_FLAGGED_KEEP, 0);
        double opened = ronchi_now();
        const char *why = ronchi_device_ingest_why_not(s.source, s.device, &s.options);
        if (why)
            fail(why);
        double located = ronchi_now();
        ronchi_device_ingest how = how_of(&s);
        how.encode = only_wait;
        s.device->table->reset_peak(s.device);
        check(ronchi_device_ingest_run(&how, &err), &err);
        double done = ronchi_now();
        ronchi_device_memory memory;
        check(s.device->table->device_memory(s.device, &memory, &err), &err);
        double gb = (double)s.store->n_positions * 73728 / 1e9;
        printf("way in without encoding: opened %.0f ms, %llu chunks indexed %.0f ms, read + copied + decoded %.0f ms "
               "(%.1f GB of counts, %.0f GB/s), peak of device memory %.0f MiB\n",
               1e3 * (opened - start), (unsigned long long)s.source->frames_stored, 1e3 * (located - opened),
               1e3 * (done - located), gb, gb / (done - located), (double)memory.peak_bytes / 1048576);
        close_sink(&s);
    }
}

int main(int argc, char **argv)
{
    ronchi_context_options options;
    ronchi_context *context;
    ronchi_error err;
    ronchi_context_options_defaults(&options);
    pretend = argc > 1 && strcmp(argv[1], "--pretend") == 0;
    options.device = pretend ? "cpu" : "cuda";
    ronchi_status status = ronchi_context_create(&options, &context, &err);
    if (status == RONCHI_ERR_DEVICE) {
        printf("skipped: %s\n", err.message);
        return 77;
    }
    check(status, &err);
    if (argc > 2 && strcmp(argv[1], "--bench") == 0) {
        size_t rows = argc > 4 ? strtoul(argv[3], NULL, 10) : 512, cols = argc > 4 ? strtoul(argv[4], NULL, 10) : 512;
        bench(context, argv[2], rows, cols);
    } else {
        state = argc > 1 + pretend ? strtoull(argv[1 + pretend], NULL, 10) : 1;
        test_sets(context);
        test_budgets();
        test_refusals(context);
        if (!pretend)
            test_loads(context);
        printf("load_device: all as on the host\n");
    }
    ronchi_context_destroy(context);
    return 0;
}
