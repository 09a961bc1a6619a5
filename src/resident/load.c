/* SPDX-License-Identifier: MIT */
/* load.c - a source or an array in memory becomes an encoded acquisition; a .qem is reopened. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/port.h"
#include "formats/format.h"
#include "resident/forecast.h"
#include "resident/ingest.h"

void ronchi_load_options_defaults(ronchi_load_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    ronchi_source_options_defaults(&options->source);
}

static ronchi_status take_options(const ronchi_load_options *given, ronchi_load_options *chosen, ronchi_error *err)
{
    ronchi_load_options_defaults(chosen);
    if (!given)
        return RONCHI_OK;
    if (given->struct_size != sizeof *chosen || given->source.struct_size != sizeof chosen->source)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "load options of no known version");
    *chosen = *given;
    if (chosen->representation == RONCHI_PAIRED)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, NULL, RONCHI_NO_OFFSET,
                           "the paired representation is not built yet: load encoded or dense");
    if (chosen->representation != RONCHI_ENCODED && chosen->representation != RONCHI_DENSE)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, NULL, RONCHI_NO_OFFSET, "unknown representation %d",
                           (int)chosen->representation);
    return RONCHI_OK;
}

/* --------------------------------------------------------------------------------------------------- the feeds */

typedef struct source_feed {
    ronchi_source *source;
    ronchi_staged staged[2];
    bool held[2];
} source_feed;

static ronchi_status source_stage(void *user, int slot, uint64_t first_position, uint64_t count, ronchi_error *err)
{
    source_feed *feed = user;
    uint64_t first = ronchi_source_frame(feed->source, first_position);
    uint64_t last = ronchi_source_frame(feed->source, first_position + count - 1);
    memset(&feed->staged[slot], 0, sizeof feed->staged[slot]);
    ronchi_status status = feed->source->format->stage(feed->source, first, last - first + 1, &feed->staged[slot], err);
    feed->held[slot] = status == RONCHI_OK;
    return status;
}

static ronchi_status source_frame(void *user, int slot, uint64_t position, void *dst, ronchi_error *err)
{
    source_feed *feed = user;
    return feed->source->format->decode(feed->source, &feed->staged[slot], ronchi_source_frame(feed->source, position),
                                        dst, err);
}

static size_t source_pieces(void *user, int slot)
{
    source_feed *feed = user;
    const ronchi_format *format = feed->source->format;
    return format->pieces ? format->pieces(feed->source, &feed->staged[slot]) : 0;
}

static ronchi_status source_piece(void *user, int slot, uint64_t position, size_t piece, size_t *at, void *dst,
                                  ronchi_error *err)
{
    source_feed *feed = user;
    return feed->source->format->decode_piece(feed->source, &feed->staged[slot],
                                              ronchi_source_frame(feed->source, position), piece, at, dst, err);
}

static void source_unstage(void *user, int slot)
{
    source_feed *feed = user;
    if (feed->held[slot])
        feed->source->format->unstage(feed->source, &feed->staged[slot]);
    feed->held[slot] = false;
}

static ronchi_status view_frame(void *user, int slot, uint64_t position, void *dst, ronchi_error *err)
{
    (void)slot;
    (void)err;
    const ronchi_view *view = user;
    size_t size = ronchi_dtype_size(view->dtype), i = (size_t)(position / view->shape[1]),
           j = (size_t)(position % view->shape[1]);
    char *to = dst;
    for (size_t r = 0; r < view->shape[2]; r++)
        if (view->stride[3] == (ptrdiff_t)size) {
            memcpy(to, ronchi_view_at(view, i, j, r, 0), view->shape[3] * size);
            to += view->shape[3] * size;
        } else {
            for (size_t c = 0; c < view->shape[3]; c++, to += size)
                memcpy(to, ronchi_view_at(view, i, j, r, c), size);
        }
    return RONCHI_OK;
}

/* Frames without gaps can be taken piece by piece, so that they are not copied as a whole first. */
static size_t view_pieces(void *user, int slot)
{
    (void)slot;
    const ronchi_view *view = user;
    ptrdiff_t size = (ptrdiff_t)ronchi_dtype_size(view->dtype), piece_bytes = 8192;
    bool dense = view->stride[3] == size && view->stride[2] == (ptrdiff_t)view->shape[3] * size;
    return dense ? (size_t)(piece_bytes / size) : 0;
}

static ronchi_status view_piece(void *user, int slot, uint64_t position, size_t piece, size_t *at, void *dst,
                                ronchi_error *err)
{
    (void)slot;
    (void)at;
    (void)err;
    const ronchi_view *view = user;
    size_t n = view_pieces(user, slot), first = piece * n, size = ronchi_dtype_size(view->dtype);
    const char *frame =
        ronchi_view_at(view, (size_t)(position / view->shape[1]), (size_t)(position % view->shape[1]), 0, 0);
    memcpy(dst, frame + first * size, ronchi_min_size(n, view->shape[2] * view->shape[3] - first) * size);
    return RONCHI_OK;
}

/* ----------------------------------------------------------------------------------------------- feed to store */

/* Everything about one load, from options to result. */
typedef struct load {
    ronchi_context *context;
    const ronchi_load_options *options;
    const ronchi_feed *feed;
    const uint32_t *pixel_mask; /* raw flag bits or NULL */
    uint8_t *valid;             /* NULL: nothing flagged */
    size_t *flagged;
    size_t n_flagged;
    ronchi_store *store;
    ronchi_raw_pixel *raw;
    size_t n_raw;
    uint64_t n_zeroed;
    const char *why_host; /* why frames were decoded on the host for a store on a device; or NULL */
} load;

static ronchi_status take_mask(load *l, ronchi_error *err)
{
    size_t n_pixels = 0;
    if (!ronchi_shape_detector(&l->feed->shape, &n_pixels))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, l->feed->name, RONCHI_NO_OFFSET, "the detector is empty");
    if (!l->pixel_mask)
        return RONCHI_OK;
    l->valid = ronchi_alloc(l->context, n_pixels);
    if (!l->valid)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, l->feed->name, RONCHI_NO_OFFSET, "no memory for the pixel mask");
    for (size_t p = 0; p < n_pixels; p++)
        l->valid[p] = l->pixel_mask[p] == 0;
    return ronchi_flagged_list(l->valid, n_pixels, &l->flagged, &l->n_flagged, err);
}

static ronchi_status check_float_mask(const load *l, ronchi_error *err)
{
    if (l->feed->dtype != RONCHI_F32 || !l->n_flagged || l->options->source.flagged == RONCHI_FLAGGED_ZERO)
        return RONCHI_OK;
    return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, l->feed->name, RONCHI_NO_OFFSET,
                       "float32 data with %zu flagged pixels: its profile keeps no mask; give --flagged zero",
                       l->n_flagged);
}

/* The table of raw values; RONCHI_ERR_RANGE when it is too large for a file's header, so that uint32 is held instead.
 */
static ronchi_status take_raw(load *l, ronchi_raw_collector *collector, ronchi_error *err)
{
    json_t *table = NULL;
    l->n_zeroed = collector->n_zeroed;
    ronchi_status status = ronchi_raw_finish(collector, l->flagged, UINT16_MAX, &l->raw, &l->n_raw, err);
    if (status == RONCHI_OK && ronchi_raw_encode(l->n_raw, l->raw, &table, NULL) == RONCHI_ERR_UNSUPPORTED)
        status = RONCHI_ERR_RANGE;
    json_decref(table);
    return status;
}

/* One attempt with one profile and dtype. */
static ronchi_status attempt(load *l, ronchi_profile_id id, ronchi_dtype dtype, ronchi_error *err)
{
    const ronchi_profile *profile = ronchi_profile_find(id);
    if (!profile || !profile->create)
        return ronchi_fail(err, RONCHI_ERR_UNSUPPORTED, l->feed->name, RONCHI_NO_OFFSET, "profile %s is not built yet",
                           ronchi_profile_name(id));
    ronchi_status status = RONCHI_OK;
    if (l->feed->source)
        status = ronchi_forecast_place(l->context, l->feed->source, 0, l->feed->name, &profile, err);
    else
        status = ronchi_profile_place(l->context, &profile, err);
    if (status != RONCHI_OK)
        return status;
    bool keep = l->options->source.flagged == RONCHI_FLAGGED_KEEP;
    uint64_t budget = ronchi_context_budget(l->context);
    ronchi_raw_collector collector;
    status = ronchi_raw_collector_init(&collector, l->context, l->n_flagged,
                                       l->feed->shape.scan_rows * l->feed->shape.scan_cols, budget / 4, err);
    if (status == RONCHI_OK)
        status = profile->create(l->context, &l->feed->shape, dtype, keep ? l->valid : NULL, budget, &l->store, err);
    ronchi_ingest_options how = {
        l->valid, l->flagged, l->n_flagged, (ronchi_flagged)l->options->source.flagged, l->options->verify != 0,
        "load"};
    bool narrow = dtype != l->feed->dtype;
    l->why_host = status == RONCHI_OK ? ronchi_ingest_why_host(l->store, l->feed, &how) : NULL;
    if (status == RONCHI_OK)
        status = ronchi_ingest(l->store, l->feed, &how, narrow && keep ? &collector : NULL, err);
    if (status == RONCHI_OK && narrow && keep)
        status = take_raw(l, &collector, err);
    ronchi_raw_collector_release(&collector);
    if (status != RONCHI_OK && l->store) {
        profile->destroy(l->store);
        l->store = NULL;
    }
    return status;
}

static ronchi_profile_id default_profile(ronchi_dtype dtype)
{
    return dtype == RONCHI_F32 ? RONCHI_PROFILE_FLOAT_LANES : RONCHI_PROFILE_LANE;
}

static ronchi_status build_store(load *l, ronchi_error *err)
{
    ronchi_dtype dtype = l->feed->dtype;
    ronchi_profile_id asked = l->options->profile;
    if (l->options->representation == RONCHI_DENSE)
        return attempt(l, RONCHI_PROFILE_DENSE, dtype, err);
    ronchi_profile_id id = asked == RONCHI_PROFILE_AUTO ? default_profile(dtype) : asked;
    if (dtype != RONCHI_U32 || id == RONCHI_PROFILE_UINT32_LANES)
        return attempt(l, id, dtype, err);
    ronchi_status status = attempt(l, id, RONCHI_U16, err);
    if (status != RONCHI_ERR_RANGE)
        return status;
    if (asked == RONCHI_PROFILE_COLUMN)
        return ronchi_fail(err, RONCHI_ERR_RANGE, l->feed->name, RONCHI_NO_OFFSET,
                           "counts above 65535: column-rans-v2 cannot hold them; leave --profile away");
    ronchi_raw_free(l->n_raw, l->raw);
    l->raw = NULL;
    l->n_raw = 0;
    l->n_zeroed = 0;
    if (err) /* the first attempt's failure is no error of the call */
        memset(err, 0, sizeof *err);
    return attempt(l, id, RONCHI_U32, err);
}

/* ------------------------------------------------------------------------------------------- store to acquisition */

/* The record that the public reader keeps of flagged pixels: metadata "hot_pixel_correction". */
static json_t *correction_record(const load *l)
{
    static const char *const methods[] = {"none", "zero", "median"};
    enum { MOST_COORDINATES = 65536 }; /* about 1 MiB of the header's 16 */
    ronchi_flagged policy = (ronchi_flagged)l->options->source.flagged;
    json_t *coordinates = json_array(), *flags = json_array();
    size_t cols = l->feed->shape.det_cols, n = l->n_flagged <= MOST_COORDINATES ? l->n_flagged : 0;
    for (size_t k = 0; k < n; k++) {
        size_t p = l->flagged[k];
        json_array_append_new(coordinates, json_pack("[I, I]", (json_int_t)(p / cols), (json_int_t)(p % cols)));
        json_array_append_new(flags, json_integer(l->pixel_mask ? l->pixel_mask[p] : 1));
    }
    json_t *record = json_pack("{s:i, s:s, s:s, s:I, s:o, s:o, s:b, s:s, s:s}", "version", 1, "method", methods[policy],
                               "source", "stored_pixel_mask", "pixel_count", (json_int_t)l->n_flagged, "coordinates",
                               coordinates, "source_flags", flags, "applied", policy != RONCHI_FLAGGED_KEEP, "stage",
                               policy == RONCHI_FLAGGED_KEEP ? "none" : "load_before_encoding", "backend", "cpu");
    if (record)
        json_object_set_new(record, "kernel_size", policy == RONCHI_FLAGGED_MEDIAN ? json_integer(3) : json_null());
    return record;
}

static void say_lossless(ronchi_acquisition *acquisition, const load *l)
{
    static const char *const policies[] = {"preserve-stored-counts", "zero-corrected", "median-corrected"};
    ronchi_acquisition_info *info = &acquisition->info;
    ronchi_flagged policy = (ronchi_flagged)l->options->source.flagged;
    info->lossless = policy == RONCHI_FLAGGED_KEEP || !l->n_flagged;
    snprintf(info->mask_policy, sizeof info->mask_policy, "%s",
             l->n_raw ? "flagged-markers-in-table" : policies[l->n_flagged ? policy : RONCHI_FLAGGED_KEEP]);
    snprintf(info->lossless_by, sizeof info->lossless_by, "%s",
             !info->lossless      ? "flagged pixels were replaced at load"
             : l->options->verify ? "every block was decoded and compared with the source while loading"
                                  : "encoded exactly from the source's counts");
}

static ronchi_status say_processing(ronchi_acquisition *acquisition, const load *l, ronchi_error *err)
{
    json_t *scientific = acquisition->scientific, *metadata = acquisition->metadata;
    ronchi_status status = RONCHI_OK;
    if (l->n_flagged)
        json_object_set_new(metadata, "hot_pixel_correction", correction_record(l));
    if (acquisition->store->dtype != l->feed->dtype)
        status = ronchi_scientific_narrowing(scientific, metadata, l->feed->dtype, acquisition->store->dtype);
    if (status == RONCHI_OK && l->n_zeroed)
        status = ronchi_scientific_markers(scientific, metadata, l->n_zeroed);
    if (status == RONCHI_OK && l->n_flagged && l->options->source.flagged != RONCHI_FLAGGED_KEEP)
        status = ronchi_scientific_process(
            scientific,
            json_pack("{s:s, s:b, s:s, s:I}", "operation", "flagged_pixel_replacement", "changes_measurements", 1,
                      "method", l->options->source.flagged == RONCHI_FLAGGED_MEDIAN ? "median" : "zero", "pixel_count",
                      (json_int_t)l->n_flagged));
    if (status != RONCHI_OK)
        return ronchi_fail(err, status, l->feed->name, RONCHI_NO_OFFSET, "the processing record cannot be written");
    return ronchi_scientific_override(scientific, &l->options->source, err);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Takes over the store, the raw table, 'metadata' and 'scientific', also when it fails. */
static ronchi_status assemble(load *l, json_t *metadata, json_t *scientific, ronchi_acquisition **out,
                              ronchi_error *err)
{
    ronchi_acquisition *acquisition = NULL;
    ronchi_status status = ronchi_acquisition_new(l->store, &acquisition, err);
    l->store = NULL;
    if (status != RONCHI_OK || !metadata || !scientific) {
        json_decref(metadata);
        json_decref(scientific);
        ronchi_acquisition_destroy(acquisition);
        return status != RONCHI_OK
                   ? status
                   : ronchi_fail(err, RONCHI_ERR_MEMORY, l->feed->name, RONCHI_NO_OFFSET, "no memory for metadata");
    }
    acquisition->metadata = metadata;
    acquisition->scientific = scientific;
    acquisition->raw = l->raw;
    acquisition->n_raw = l->n_raw;
    l->raw = NULL;
    acquisition->info.source_dtype = l->feed->dtype;
    snprintf(acquisition->info.source_name, sizeof acquisition->info.source_name, "%.255s", base_name(l->feed->name));
    say_lossless(acquisition, l);
    if (l->why_host)
        snprintf(acquisition->info.host_work, sizeof acquisition->info.host_work, "frames were decoded on the host: %s",
                 l->why_host);
    status = say_processing(acquisition, l, err);
    ronchi_acquisition_account(acquisition);
    ronchi_scientific_calibration(scientific, &acquisition->info.calibration);
    if (status != RONCHI_OK) {
        ronchi_acquisition_destroy(acquisition);
        return status;
    }
    *out = acquisition;
    return RONCHI_OK;
}

static ronchi_status run_load(load *l, json_t *metadata, json_t *scientific, ronchi_acquisition **out,
                              ronchi_error *err)
{
    ronchi_status status = take_mask(l, err);
    if (status == RONCHI_OK)
        status = check_float_mask(l, err);
    if (status == RONCHI_OK)
        status = build_store(l, err);
    if (status == RONCHI_OK) {
        status = assemble(l, metadata, scientific, out, err);
    } else {
        json_decref(metadata);
        json_decref(scientific);
    }
    ronchi_raw_free(l->n_raw, l->raw);
    free(l->flagged);
    ronchi_free(l->context, l->valid);
    if (status != RONCHI_OK && err && !err->file[0])
        snprintf(err->file, sizeof err->file, "%.255s", l->feed->name);
    return status;
}

/* -------------------------------------------------------------------------------------------------- entry points */

static ronchi_status load_source(ronchi_context *context, const char *path, const ronchi_load_options *options,
                                 ronchi_acquisition **out, ronchi_error *err)
{
    source_feed state;
    memset(&state, 0, sizeof state);
    ronchi_status status = ronchi_source_open(context, path, &options->source, &state.source, err);
    if (status != RONCHI_OK)
        return status;
    ronchi_source *source = state.source;
    ronchi_feed feed = {source->shape,  source->dtype, &state, source_stage,  source_frame,
                        source_unstage, path,          source, source_pieces, source_piece};
    load l;
    memset(&l, 0, sizeof l);
    l.context = context;
    l.options = options;
    l.feed = &feed;
    l.pixel_mask = source->pixel_mask;
    json_t *metadata = source->metadata ? json_deep_copy(source->metadata) : json_object();
    json_t *scientific = source->scientific ? json_deep_copy(source->scientific)
                                            : ronchi_scientific_create(&source->shape, &source->calibration,
                                                                       source->metadata, source->format->name);
    status = run_load(&l, metadata, scientific, out, err);
    ronchi_source_close(source);
    return status;
}

static bool is_container(const char *path)
{
    uint8_t head[8];
    ronchi_input input;
    if (ronchi_input_open(path, &input, NULL) != RONCHI_OK)
        return false;
    bool read = input.size_bytes >= sizeof head && ronchi_input_read(&input, 0, head, sizeof head, NULL) == RONCHI_OK;
    ronchi_input_close(&input);
    size_t n = strlen(path);
    return (read && ronchi_qem_probe(head, sizeof head)) || (n > 4 && strcmp(path + n - 4, ".qem") == 0);
}

ronchi_status ronchi_acquisition_load(ronchi_context *context, const char *path, const ronchi_load_options *options,
                                      ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_load_options chosen;
    ronchi_stat st;
    *out = NULL;
    ronchi_status status = take_options(options, &chosen, err);
    if (status == RONCHI_OK)
        status = ronchi_stat_path(path, &st, err);
    if (status != RONCHI_OK)
        return status;
    if (!st.exists)
        return ronchi_fail(err, RONCHI_ERR_NOT_FOUND, path, RONCHI_NO_OFFSET, "no such file");
    if (st.is_folder)
        return ronchi_fail(err, RONCHI_ERR_ARGUMENT, path, RONCHI_NO_OFFSET, "is a folder: name one acquisition in it");
    if (is_container(path))
        return ronchi_acquisition_reopen(context, path, &chosen, out, err);
    return load_source(context, path, &chosen, out, err);
}

ronchi_status ronchi_acquisition_encode(ronchi_context *context, const ronchi_view *counts, const ronchi_view *flagged,
                                        const ronchi_load_options *options, ronchi_acquisition **out, ronchi_error *err)
{
    ronchi_load_options chosen;
    *out = NULL;
    ronchi_status status = take_options(options, &chosen, err);
    if (status != RONCHI_OK)
        return status;
    if (!counts || !counts->data || counts->place != RONCHI_HOST ||
        (counts->dtype != RONCHI_U8 && counts->dtype != RONCHI_U16 && counts->dtype != RONCHI_U32 &&
         counts->dtype != RONCHI_F32))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "counts must be uint8, uint16, uint32 or float32 on the host");
    ronchi_shape shape = {counts->shape[0], counts->shape[1], counts->shape[2], counts->shape[3]};
    if (flagged && (!ronchi_view_is(flagged, 1, 1, shape.det_rows, shape.det_cols) || flagged->dtype != RONCHI_U8))
        return ronchi_fail(err, RONCHI_ERR_SHAPE, NULL, RONCHI_NO_OFFSET,
                           "the pixel mask must be uint8 of the detector's shape");
    ronchi_view view = *counts;
    ronchi_feed feed = {shape, counts->dtype,     &view, NULL,        view_frame,
                        NULL,  "array in memory", NULL,  view_pieces, view_piece};
    load l;
    memset(&l, 0, sizeof l);
    l.context = context;
    l.options = &chosen;
    l.feed = &feed;
    uint32_t *mask = NULL;
    size_t n_elements;
    if (flagged && ronchi_shape_elements(&shape, &n_elements)) {
        mask = ronchi_calloc(context, shape.det_rows * shape.det_cols, sizeof *mask);
        if (!mask)
            return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the pixel mask");
        for (size_t r = 0; r < shape.det_rows; r++)
            for (size_t c = 0; c < shape.det_cols; c++)
                mask[r * shape.det_cols + c] = *(const uint8_t *)ronchi_view_at(flagged, 0, 0, r, c);
    }
    l.pixel_mask = mask;
    ronchi_calibration unknown;
    memset(&unknown, 0, sizeof unknown);
    status = run_load(&l, json_object(), ronchi_scientific_create(&shape, &unknown, NULL, "array"), out, err);
    ronchi_free(context, mask);
    return status;
}
