/* SPDX-License-Identifier: MIT */
/* inspect.c - what is there, how its shape is known, whether it is complete, what to do next. */
#include <string.h>

#include "commands.h"

enum { COLUMN = 13, FILES_SHOWN = 12 };

/* ------------------------------------------------------------------------------------------------- for people */

static void heading(const char *name)
{
    cli_print("  %-*s", COLUMN, name);
}

static const char *flyback_at(int32_t at)
{
    return at == RONCHI_FLYBACK_END ? "end" : "start";
}

static void print_shape(const ronchi_inspection *in)
{
    char text[128];
    heading("shape");
    if (!in->shape.det_rows)
        puts("not known");
    else if (!in->shape.scan_rows)
        cli_print("scan not known, detector %zu x %zu, %s\n", in->shape.det_rows, in->shape.det_cols,
                  ronchi_dtype_name(in->dtype));
    else
        cli_print("%s (rows x columns), %s\n", cli_shape(&in->shape, text), ronchi_dtype_name(in->dtype));
    heading("frames");
    cli_print("%llu stored", (unsigned long long)in->frames_stored);
    if (in->frames_expected)
        cli_print(", %llu expected", (unsigned long long)in->frames_expected);
    if (in->skip)
        cli_print(", the first %llu skipped", (unsigned long long)in->skip);
    if (in->flyback > 0)
        cli_print(", %lld extra at the %s of each line", (long long)in->flyback, flyback_at(in->flyback_at));
    putchar('\n');
}

/* The widest of a column of texts, for alignment, but not wider than leaves room for the rest of the line. */
static int width(int widest, const char *text)
{
    enum { WIDEST = 40 };
    int n = (int)strlen(text);
    return n > widest && n <= WIDEST ? n : widest;
}

static void print_evidence(const ronchi_inspection *in)
{
    int from = 0;
    for (size_t i = 0; i < in->n_evidence; i++)
        from = width(from, in->evidence[i].from);
    for (size_t i = 0; i < in->n_evidence; i++) {
        const ronchi_evidence *e = &in->evidence[i];
        heading(i ? "" : "evidence");
        cli_print("%c %-*s  %s%s\n", e->chosen ? '*' : ' ', from, e->from, e->says,
                  e->scan_rows && !e->agrees ? " (does not fit the stored frames)" : "");
    }
}

typedef struct named_quantity {
    const char *name;
    const char *key; /* in JSON */
    const ronchi_quantity *quantity;
    const char *both; /* name of this and the next when they are the same; NULL: stands alone */
} named_quantity;

enum { QUANTITIES = 10 };

static void quantities(const ronchi_calibration *c, named_quantity out[QUANTITIES])
{
    const named_quantity all[QUANTITIES] = {
        {"voltage", "voltage", &c->voltage, NULL},
        {"semi-angle", "semiangle", &c->semiangle, NULL},
        {"scan step, rows", "scan_step_row", &c->scan_step_row, "scan step"},
        {"scan step, columns", "scan_step_col", &c->scan_step_col, NULL},
        {"camera length", "camera_length", &c->camera_length, NULL},
        {"detector step, rows", "det_step_row", &c->det_step_row, "detector step"},
        {"detector step, columns", "det_step_col", &c->det_step_col, NULL},
        {"dwell time", "dwell", &c->dwell, NULL},
        {"scan rotation", "scan_rotation", &c->scan_rotation, NULL},
        {c->det_transpose ? "detector to scan, transposed" : "detector to scan", "det_rotation", &c->det_rotation,
         NULL},
    };
    memcpy(out, all, sizeof all);
}

/* Steps along rows and columns are one line where they are the same, which they mostly are. */
static bool same_step(const ronchi_quantity *a, const ronchi_quantity *b)
{
    return a->known && b->known && a->value == b->value && strcmp(a->unit, b->unit) == 0 &&
           strcmp(a->provenance, b->provenance) == 0;
}

static void print_calibration(const ronchi_inspection *in)
{
    named_quantity all[QUANTITIES];
    bool any = false;
    quantities(&in->calibration, all);
    for (size_t i = 0; i < QUANTITIES; i++) {
        const ronchi_quantity *q = all[i].quantity;
        const char *name = all[i].name;
        bool pair = all[i].both && same_step(q, all[i + 1].quantity);
        if (!q->known)
            continue;
        char value[48];
        snprintf(value, sizeof value, "%.6g %s", q->value, q->unit);
        heading(any ? "" : "calibration");
        cli_print("%-22s  %-14s  %s\n", pair ? all[i].both : name, value, q->provenance);
        any = true;
        i += pair;
    }
    if (!any) {
        heading("calibration");
        puts("none recorded");
    }
}

static void print_file(const ronchi_source_file *file)
{
    char size[32];
    heading("");
    cli_print("%s", file->name);
    if (file->problem[0]) {
        cli_print(": %s\n", file->problem);
        return;
    }
    cli_print("  %s", cli_size(file->size_bytes, size));
    if (file->frames)
        cli_print("  %llu frames", (unsigned long long)file->frames);
    if (file->frames_present < file->frames)
        cli_print(", only %llu written", (unsigned long long)file->frames_present);
    putchar('\n');
}

static void print_files(const ronchi_inspection *in)
{
    size_t bad = 0, shown = 0;
    for (size_t i = 0; i < in->n_files; i++)
        bad += in->files[i].problem[0] != 0 || in->files[i].frames_present < in->files[i].frames;
    if (!in->n_files)
        return;
    heading("files");
    cli_print("%zu%s", in->n_files, bad ? "" : ", all there");
    if (bad)
        cli_print(", %zu with a problem", bad);
    putchar('\n');
    for (size_t i = 0; i < in->n_files; i++) {
        bool problem = in->files[i].problem[0] || in->files[i].frames_present < in->files[i].frames;
        if ((problem || !bad) && shown < FILES_SHOWN) {
            print_file(&in->files[i]);
            shown++;
        }
    }
    size_t listed = bad ? bad : in->n_files;
    if (listed > shown) {
        heading("");
        cli_print("and %zu more\n", listed - shown);
    }
}

/* What a load takes of the device that was asked for. */
static void print_forecast(const ronchi_forecast *f)
{
    static const char *const says[] = {"does not fit: use --device cpu", "fits if the counts encode well", "fits"};
    char encoded[32], work[32], there[32];
    if (!f || f->place == RONCHI_HOST)
        return;
    heading("device");
    cli_print("cuda:%d (%s), %s free\n", (int)f->device, f->name, cli_size(f->free_bytes, there));
    heading("");
    cli_print("%s: at most %s encoded, and %s while loading\n", says[f->fits + 1], cli_size(f->encoded_bytes, encoded),
              cli_size(f->workspace_bytes, work));
}

static void print_all(const char *path, const ronchi_inspection *in, const ronchi_forecast *forecast,
                      bool options_given)
{
    char stored[32], dense[32];
    cli_print("%s\n", path);
    heading("format");
    cli_print("%s%s%s%s%s\n", in->format, in->layout[0] ? ", " : "", in->layout, in->filter[0] ? ", " : "", in->filter);
    if (in->detector[0]) {
        heading("detector");
        cli_print("%s\n", in->detector);
    }
    print_shape(in);
    print_evidence(in);
    heading("mask");
    if (in->flagged_pixels)
        cli_print("%llu flagged pixel%s\n", (unsigned long long)in->flagged_pixels, in->flagged_pixels == 1 ? "" : "s");
    else
        puts("no flagged pixels");
    print_calibration(in);
    print_files(in);
    heading("size");
    cli_print("%s stored", cli_size(in->stored_bytes, stored));
    if (in->dense_bytes)
        cli_print(", %s as a dense array", cli_size(in->dense_bytes, dense));
    putchar('\n');
    print_forecast(forecast);
    heading("ready");
    cli_print("%s%s\n", in->ready ? "yes" : "no: ", in->ready ? "" : in->reason);
    heading("next");
    if (in->action[0])
        cli_print("%s\n", in->action);
    else if (cli_ends_with(path, ".qem"))
        cli_print("ronchi image %s --bf -o bf.png\n", path);
    else
        cli_print("ronchi convert %s --verify%s\n", path, options_given ? ", with the options given here" : "");
}

/* ----------------------------------------------------------------------------------------------- for programs */

static void json_calibration(cli_json *json, const ronchi_calibration *calibration)
{
    named_quantity all[QUANTITIES];
    quantities(calibration, all);
    cli_json_open(json, "calibration", '{');
    for (size_t i = 0; i < QUANTITIES; i++) {
        const ronchi_quantity *q = all[i].quantity;
        if (!q->known) {
            cli_json_null(json, all[i].key);
            continue;
        }
        cli_json_open(json, all[i].key, '{');
        cli_json_real(json, "value", q->value);
        cli_json_text(json, "unit", q->unit);
        cli_json_text(json, "provenance", q->provenance);
        cli_json_close(json, '}');
    }
    if (calibration->det_rotation.known)
        cli_json_bool(json, "det_transpose", calibration->det_transpose != 0);
    else
        cli_json_null(json, "det_transpose");
    cli_json_close(json, '}');
}

static void json_evidence(cli_json *json, const ronchi_inspection *in)
{
    cli_json_open(json, "evidence", '[');
    for (size_t i = 0; i < in->n_evidence; i++) {
        const ronchi_evidence *e = &in->evidence[i];
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "from", e->from);
        cli_json_text(json, "says", e->says);
        if (e->scan_rows) {
            char pair[64];
            snprintf(pair, sizeof pair, "[%zu, %zu]", e->scan_rows, e->scan_cols);
            cli_json_raw(json, "scan_shape", pair);
        } else {
            cli_json_null(json, "scan_shape");
        }
        if (e->flyback >= 0)
            cli_json_count(json, "flyback", (uint64_t)e->flyback);
        else
            cli_json_null(json, "flyback");
        cli_json_bool(json, "chosen", e->chosen != 0);
        cli_json_bool(json, "agrees", e->agrees != 0);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void json_files(cli_json *json, const ronchi_inspection *in)
{
    cli_json_open(json, "files", '[');
    for (size_t i = 0; i < in->n_files; i++) {
        const ronchi_source_file *file = &in->files[i];
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", file->name);
        cli_json_text(json, "problem", file->problem[0] ? file->problem : NULL);
        cli_json_count(json, "size_bytes", file->size_bytes);
        cli_json_count(json, "frames", file->frames);
        cli_json_count(json, "frames_present", file->frames_present);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void json_forecast(cli_json *json, const ronchi_forecast *f)
{
    static const char *const says[] = {"no", "perhaps", "yes"};
    if (!f || f->place == RONCHI_HOST) {
        cli_json_null(json, "device");
        return;
    }
    cli_json_open(json, "device", '{');
    cli_json_count(json, "ordinal", (uint64_t)f->device);
    cli_json_text(json, "name", f->name);
    cli_json_count(json, "total_bytes", f->total_bytes);
    cli_json_count(json, "free_bytes", f->free_bytes);
    cli_json_count(json, "encoded_bytes_at_most", f->encoded_bytes);
    cli_json_count(json, "encoded_bytes_at_least", f->encoded_least_bytes);
    cli_json_count(json, "workspace_bytes", f->workspace_bytes);
    cli_json_text(json, "fits", says[f->fits + 1]);
    cli_json_close(json, '}');
}

static void print_json(const char *path, const ronchi_inspection *in, const ronchi_forecast *forecast)
{
    cli_json json = {stdout, 0, true};
    cli_json_open(&json, NULL, '{');
    cli_json_count(&json, "ronchi_inspect", 1);
    cli_json_text(&json, "path", path);
    cli_json_text(&json, "format", in->format);
    cli_json_text(&json, "layout", in->layout[0] ? in->layout : NULL);
    cli_json_text(&json, "filter", in->filter[0] ? in->filter : NULL);
    cli_json_bool(&json, "ready", in->ready != 0);
    cli_json_text(&json, "reason", in->reason[0] ? in->reason : NULL);
    cli_json_text(&json, "action", in->action[0] ? in->action : NULL);
    cli_json_shape(&json, "shape", &in->shape);
    if (in->shape.det_rows) {
        char pair[64];
        snprintf(pair, sizeof pair, "[%zu, %zu]", in->shape.det_rows, in->shape.det_cols);
        cli_json_raw(&json, "detector_shape", pair);
    } else {
        cli_json_null(&json, "detector_shape");
    }
    cli_json_text(&json, "dtype", ronchi_dtype_size(in->dtype) ? ronchi_dtype_name(in->dtype) : NULL);
    cli_json_count(&json, "frames_stored", in->frames_stored);
    if (in->frames_expected)
        cli_json_count(&json, "frames_expected", in->frames_expected);
    else
        cli_json_null(&json, "frames_expected");
    cli_json_count(&json, "skip", in->skip);
    cli_json_count(&json, "flyback", in->flyback > 0 ? (uint64_t)in->flyback : 0);
    cli_json_text(&json, "flyback_at", in->flyback > 0 ? flyback_at(in->flyback_at) : NULL);
    cli_json_count(&json, "flagged_pixels", in->flagged_pixels);
    cli_json_count(&json, "stored_bytes", in->stored_bytes);
    cli_json_count(&json, "dense_bytes", in->dense_bytes);
    cli_json_text(&json, "detector", in->detector[0] ? in->detector : NULL);
    json_calibration(&json, &in->calibration);
    json_evidence(&json, in);
    json_files(&json, in);
    json_forecast(&json, forecast);
    if (in->metadata_json)
        cli_json_raw(&json, "metadata", in->metadata_json);
    else
        cli_json_null(&json, "metadata");
    cli_json_close(&json, '}');
}

static bool options_given(const cli *c)
{
    for (size_t i = OPT_SCAN_SHAPE; i <= OPT_DET_STEP_MRAD; i++)
        if (c->given[i])
            return true;
    return false;
}

static int run(cli *c)
{
    ronchi_source_options options;
    ronchi_inspection in;
    int code = cli_check_source(c, c->argument[0]);
    if (code != CLI_DONE)
        return code;
    cli_source_options(c, &options);
    if (ronchi_inspect(c->context, c->argument[0], &options, &in, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    ronchi_forecast forecast = {0}, *device = c->given[OPT_DEVICE] ? &forecast : NULL;
    if (device && ronchi_forecast_load(c->context, &in, device, &c->err) != RONCHI_OK) {
        ronchi_inspection_free(&in);
        return cli_error(&c->err);
    }
    if (c->json)
        print_json(c->argument[0], &in, device);
    else
        print_all(c->argument[0], &in, device, options_given(c));
    code = in.ready ? CLI_DONE : CLI_BAD_DATA;
    ronchi_inspection_free(&in);
    return code;
}

const cli_command command_inspect = {
    "inspect",
    "PATH [--json]",
    "what is there, its shape and how that is known, what to do next",
    "Reads the headers of an original or a .qem, never its counts. Every piece of evidence for the scan shape is\n"
    "shown; * marks the one that decides. Exit code 1 when the acquisition cannot be loaded as it is.",
    "ronchi inspect scan_01_master.h5",
    1,
    1,
    FOR_INSPECT,
    run,
};
