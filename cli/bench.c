/* SPDX-License-Identifier: MIT */
/* bench.c - Ronchi's own figures on this machine: load, save, reopen, queries, memory. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "folder.h"
#include "simulate.h"

enum { MAX_RUNS = 100, MAX_RESULTS = 16, MAX_PATH = 4096 };

/* Times of one kind of work, and the decoded bytes that it stands for (0: no rate). */
typedef struct result {
    const char *name, *text;
    uint64_t bytes;
    size_t n;
    double seconds[MAX_RUNS];
} result;

typedef struct bench {
    cli *c;
    const char *source;
    char folder[MAX_PATH], copy[MAX_PATH];
    ronchi_acquisition *acquisition;
    ronchi_acquisition_info info;
    uint64_t source_bytes, copy_bytes;
    ronchi_view frame, pattern, masks, images, row, col, band;
    size_t n_results;
    result results[MAX_RESULTS];
} bench;

static result *begin(bench *b, const char *name, const char *text, uint64_t bytes)
{
    result *r = &b->results[b->n_results++];
    *r = (result){.name = name, .text = text, .bytes = bytes};
    return r;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Asks the system to forget a file's pages, so that the next reading comes from the disk. */
static void forget(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

/* Forgets all files of the source and adds up their sizes. */
static int forget_source(bench *b)
{
    ronchi_source_options options;
    ronchi_inspection in;
    cli_source_options(b->c, &options);
    if (ronchi_inspect(b->c->context, b->source, &options, &in, &b->c->err) != RONCHI_OK)
        return cli_error(&b->c->err);
    b->source_bytes = in.stored_bytes;
    forget(b->source);
    for (size_t i = 0; i < in.n_files; i++) {
        char path[MAX_PATH];
        int folder = in.files[i].name[0] == '/' ? 0 : (int)(cli_base(b->source) - b->source);
        snprintf(path, sizeof path, "%.*s%s", folder, b->source, in.files[i].name);
        forget(path);
    }
    ronchi_inspection_free(&in);
    return CLI_DONE;
}

/* Loads 'path' as often as asked, cold; the last one stays. */
static int measure_load(bench *b, const char *path, result *r)
{
    for (r->n = 0; r->n < b->c->runs; r->n++) {
        ronchi_acquisition_destroy(b->acquisition);
        b->acquisition = NULL;
        int code = CLI_DONE;
        if (path == b->source)
            code = forget_source(b);
        else
            forget(path);
        if (code != CLI_DONE)
            return code;
        double start = cli_now();
        code = cli_load(b->c, path, &b->acquisition, &b->info);
        if (code != CLI_DONE)
            return code;
        r->seconds[r->n] = cli_now() - start;
        r->bytes = b->info.logical_bytes;
    }
    return CLI_DONE;
}

static int measure_save(bench *b)
{
    result *r = begin(b, "save", "save the .qem", b->info.logical_bytes);
    ronchi_save_options options;
    ronchi_save_options_defaults(&options);
    options.force = 1;
    for (r->n = 0; r->n < b->c->runs; r->n++) {
        double start = cli_now();
        if (ronchi_acquisition_save(b->acquisition, b->copy, &options, &b->c->err) != RONCHI_OK)
            return cli_error(&b->c->err);
        r->seconds[r->n] = cli_now() - start;
    }
    struct stat st;
    b->copy_bytes = stat(b->copy, &st) == 0 ? (uint64_t)st.st_size : 0;
    return CLI_DONE;
}

/* ---------------------------------------------------------------------------------------------------- queries */

static ronchi_status query_frame(bench *b, size_t i)
{
    const ronchi_shape *s = &b->info.shape;
    size_t row = (i * 31 + 17) % s->scan_rows, col = (i * 7919 + 5) % s->scan_cols; /* here and there in the scan */
    return ronchi_detector_frame(b->acquisition, row, col, RONCHI_READ_RAW, &b->frame, &b->c->err);
}

static ronchi_status query_mean(bench *b, size_t i)
{
    (void)i;
    return ronchi_detector_pattern(b->acquisition, RONCHI_REDUCE_MEAN, NULL, NULL, &b->pattern, &b->c->err);
}

static ronchi_status query_image(bench *b, size_t i)
{
    (void)i;
    ronchi_view mask = b->masks, image = b->images;
    mask.shape[1] = image.shape[1] = 1;
    return ronchi_detector_sums(b->acquisition, &mask, &image, &b->c->err);
}

static ronchi_status query_images(bench *b, size_t i)
{
    (void)i;
    return ronchi_detector_sums(b->acquisition, &b->masks, &b->images, &b->c->err);
}

static ronchi_status query_com(bench *b, size_t i)
{
    (void)i;
    return ronchi_detector_com(b->acquisition, NULL, &b->row, &b->col, NULL, &b->c->err);
}

/* Every count once, in bands of whole scan rows. */
static ronchi_status query_read(bench *b, size_t i)
{
    (void)i;
    ronchi_region region = ronchi_region_all(&b->info.shape);
    size_t rows = b->band.shape[0];
    for (size_t row = 0; row < b->info.shape.scan_rows; row += rows) {
        region.scan_row = row;
        region.scan_rows = row + rows <= b->info.shape.scan_rows ? rows : b->info.shape.scan_rows - row;
        ronchi_view band = b->band;
        band.shape[0] = region.scan_rows;
        ronchi_status status = ronchi_acquisition_read(b->acquisition, &region, RONCHI_READ_RAW, &band, &b->c->err);
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}

static int measure(bench *b, const char *name, const char *text, uint64_t bytes,
                   ronchi_status (*query)(bench *, size_t))
{
    result *r = begin(b, name, text, bytes);
    for (r->n = 0; r->n < b->c->runs; r->n++) {
        double start = cli_now();
        if (query(b, r->n) != RONCHI_OK)
            return cli_error(&b->c->err);
        r->seconds[r->n] = cli_now() - start;
    }
    return CLI_DONE;
}

/* Masks of the disk and of a ring around it. */
static int make_masks(bench *b, const ronchi_shape *s)
{
    ronchi_disk disk;
    if (query_mean(b, 0) != RONCHI_OK || ronchi_detector_fit_disk(&b->pattern, NULL, &disk, &b->c->err) != RONCHI_OK)
        return cli_error(&b->c->err);
    ronchi_view mask = ronchi_view_2d(b->masks.data, RONCHI_U8, s->det_rows, s->det_cols);
    ronchi_status status = ronchi_detector_annulus(disk.row, disk.col, 0, disk.radius, &mask);
    mask.data = (char *)b->masks.data + b->masks.stride[1];
    if (status == RONCHI_OK)
        status = ronchi_detector_annulus(disk.row, disk.col, 1.1 * disk.radius, INFINITY, &mask);
    return status == RONCHI_OK ? CLI_DONE : cli_fail(cli_exit_code(status), NULL, "no masks for this detector");
}

static int make_arrays(bench *b)
{
    const ronchi_shape *s = &b->info.shape;
    ronchi_shape masks = {1, 2, s->det_rows, s->det_cols}, images = {1, 2, s->scan_rows, s->scan_cols}, band = *s;
    ronchi_view view = {0};
    size_t row_bytes = s->scan_cols * s->det_rows * s->det_cols * ronchi_dtype_size(b->info.source_dtype);
    size_t rows = ((size_t)32 << 20) / row_bytes; /* 32 MiB: a band that any caller could afford */
    ronchi_dtype sums = b->info.dtype == RONCHI_F32 ? RONCHI_F64 : RONCHI_U64;
    band.scan_rows = rows < 1 ? 1 : rows < s->scan_rows ? rows : s->scan_rows;
    int code = cli_array(s->det_rows, s->det_cols, b->info.source_dtype, &b->frame);
    if (code == CLI_DONE)
        code = cli_array(s->det_rows, s->det_cols, RONCHI_F64, &b->pattern);
    if (code == CLI_DONE)
        code = cli_array(s->scan_rows, s->scan_cols, RONCHI_F64, &b->row);
    if (code == CLI_DONE)
        code = cli_array(s->scan_rows, s->scan_cols, RONCHI_F64, &b->col);
    if (code == CLI_DONE)
        code = cli_array(2 * s->det_rows, s->det_cols, RONCHI_U8, &view);
    b->masks = ronchi_view_4d(code == CLI_DONE ? view.data : NULL, RONCHI_U8, &masks);
    if (code == CLI_DONE)
        code = cli_array(2 * s->scan_rows, s->scan_cols, sums, &view);
    b->images = ronchi_view_4d(code == CLI_DONE ? view.data : NULL, sums, &images);
    if (code == CLI_DONE)
        code = cli_array(band.scan_rows, row_bytes, RONCHI_U8, &view);
    b->band = ronchi_view_4d(code == CLI_DONE ? view.data : NULL, b->info.source_dtype, &band);
    return code;
}

static void free_arrays(bench *b)
{
    void *all[] = {b->frame.data, b->pattern.data, b->masks.data, b->images.data,
                   b->row.data,   b->col.data,     b->band.data};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static int measure_all(bench *b)
{
    int code = measure_load(b, b->source, begin(b, "load_cold", "load the source, cold", 0));
    if (code == CLI_DONE)
        code = measure_save(b);
    if (code == CLI_DONE)
        code = measure_load(b, b->copy, begin(b, "reopen_cold", "reopen the .qem, cold", 0));
    if (code == CLI_DONE)
        code = make_arrays(b);
    if (code == CLI_DONE)
        code = make_masks(b, &b->info.shape);
    uint64_t bytes = b->info.logical_bytes, n = (uint64_t)b->info.shape.scan_rows * b->info.shape.scan_cols;
    if (code == CLI_DONE)
        code = measure(b, "frame", "one pattern", n ? bytes / n : 0, query_frame);
    if (code == CLI_DONE)
        code = measure(b, "mean", "mean pattern", bytes, query_mean);
    if (code == CLI_DONE)
        code = measure(b, "bf", "bright field", bytes, query_image);
    if (code == CLI_DONE)
        code = measure(b, "bf_adf", "bright and dark field", bytes, query_images);
    if (code == CLI_DONE)
        code = measure(b, "com", "centre of mass", bytes, query_com);
    if (code == CLI_DONE)
        code = measure(b, "read", "read every count", bytes, query_read);
    return code;
}

/* ----------------------------------------------------------------------------------------------------- report */

static uint64_t peak_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024; /* Linux counts in KiB */
}

static void cpu_name(char text[128])
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    snprintf(text, 128, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        snprintf(text, 128, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

static void cpu_features(uint32_t cpu, char text[64])
{
    snprintf(text, 64, "%s%s%s%s%s", cpu & RONCHI_CPU_AVX2 ? " AVX2" : "", cpu & RONCHI_CPU_BMI2 ? " BMI2" : "",
             cpu & RONCHI_CPU_AVX512 ? " AVX-512" : "", cpu & RONCHI_CPU_AVX512VBMI ? " VBMI" : "",
             cpu & RONCHI_CPU_NEON ? " NEON" : "");
}

static double bits_per_count(const bench *b)
{
    double counts = (double)b->info.logical_bytes / (double)ronchi_dtype_size(b->info.source_dtype);
    return 8.0 * (double)b->copy_bytes / counts;
}

static void print_text(bench *b, const char *cpu, const char *features)
{
    char shape[128], dense[32], source[32], copy[32];
    printf("ronchi %s on %s,%s, %u threads\n", ronchi_version(), cpu, features, ronchi_context_threads(b->c->context));
    printf("%s, %s: %s dense, %s source, %s copy (%.3f bits a count, %s)\n\n", cli_shape(&b->info.shape, shape),
           ronchi_dtype_name(b->info.source_dtype), cli_size(b->info.logical_bytes, dense),
           cli_size(b->source_bytes, source), cli_size(b->copy_bytes, copy), bits_per_count(b),
           ronchi_profile_name(b->info.profile));
    printf("%-24s  %10s  %10s  %10s\n", "", "best", "median", "dense MB/s");
    for (size_t i = 0; i < b->n_results; i++) {
        const result *r = &b->results[i];
        printf("%-24s  %8.2f ms  %8.2f ms  %10.0f\n", r->text, 1e3 * r->seconds[0], 1e3 * r->seconds[r->n / 2],
               (double)r->bytes / r->seconds[r->n / 2] / 1e6);
    }
    printf("\nmemory: peak of the process %s, acquisition %s, of which index %s\n", cli_size(peak_memory(), dense),
           cli_size(b->info.resident_bytes, source), cli_size(b->info.index_bytes, copy));
}

static void print_json(bench *b, const char *cpu, const char *features)
{
    cli_json json = {stdout, 0, true};
    cli_json_open(&json, NULL, '{');
    cli_json_count(&json, "ronchi_bench", 1);
    cli_json_text(&json, "version", ronchi_version());
    cli_json_text(&json, "cpu", cpu);
    cli_json_text(&json, "cpu_features", features[0] ? features + 1 : "");
    cli_json_count(&json, "threads", ronchi_context_threads(b->c->context));
    cli_json_count(&json, "budget_bytes", ronchi_context_budget(b->c->context));
    cli_json_open(&json, "data", '{');
    cli_json_shape(&json, "shape", &b->info.shape);
    cli_json_text(&json, "dtype", ronchi_dtype_name(b->info.source_dtype));
    cli_json_text(&json, "profile", ronchi_profile_name(b->info.profile));
    cli_json_count(&json, "dense_bytes", b->info.logical_bytes);
    cli_json_count(&json, "source_bytes", b->source_bytes);
    cli_json_count(&json, "copy_bytes", b->copy_bytes);
    cli_json_real(&json, "bits_per_count", bits_per_count(b));
    cli_json_close(&json, '}');
    cli_json_open(&json, "results", '[');
    for (size_t i = 0; i < b->n_results; i++) {
        const result *r = &b->results[i];
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", r->name);
        cli_json_count(&json, "runs", r->n);
        cli_json_real(&json, "seconds_best", r->seconds[0]);
        cli_json_real(&json, "seconds_median", r->seconds[r->n / 2]);
        cli_json_count(&json, "dense_bytes", r->bytes);
        cli_json_real(&json, "dense_mb_per_second", (double)r->bytes / r->seconds[r->n / 2] / 1e6);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_open(&json, "memory", '{');
    cli_json_count(&json, "process_peak_bytes", peak_memory());
    cli_json_count(&json, "resident_bytes", b->info.resident_bytes);
    cli_json_count(&json, "index_bytes", b->info.index_bytes);
    cli_json_count(&json, "device_bytes", 0);
    cli_json_close(&json, '}');
    cli_json_close(&json, '}');
}

static int simulate_source(bench *b, char *path)
{
    ronchi_simulate_options options;
    snprintf(path, MAX_PATH, "%.4000s/bench_master.h5", b->folder);
    b->source = path;
    int code = cli_simulate_options(b->c, &options);
    if (code == CLI_DONE && ronchi_simulate(b->c->context, path, &options, &b->c->err) != RONCHI_OK)
        code = cli_error(&b->c->err);
    return code;
}

static int run(cli *c)
{
    bench b = {.c = c};
    char source[MAX_PATH], cpu[128], features[64];
    const char *temporary = getenv("TMPDIR");
    if (c->runs < 1 || c->runs > MAX_RUNS)
        return cli_fail(CLI_BAD_CALL, NULL, "--runs must be 1 to %d", (int)MAX_RUNS);
    snprintf(b.folder, sizeof b.folder, "%.3900s/ronchi-bench-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(b.folder))
        return cli_fail(CLI_FAILED, b.folder, "no folder for temporary files");
    snprintf(b.copy, sizeof b.copy, "%.4000s/bench.qem", b.folder);
    b.source = c->argument[0];
    int code = c->n_arguments ? CLI_DONE : simulate_source(&b, source);
    if (code == CLI_DONE)
        code = measure_all(&b);
    for (size_t i = 0; i < b.n_results; i++)
        qsort(b.results[i].seconds, b.results[i].n, sizeof(double), by_value);
    cli_progress_clear();
    cpu_name(cpu);
    cpu_features(ronchi_context_cpu(c->context), features);
    if (code == CLI_DONE && c->json)
        print_json(&b, cpu, features);
    else if (code == CLI_DONE)
        print_text(&b, cpu, features);
    ronchi_acquisition_destroy(b.acquisition);
    free_arrays(&b);
    cli_remove_folder(b.folder);
    return code;
}

const cli_command command_bench = {
    "bench",
    "[PATH] [--json]",
    "how fast it is on this machine, and how much memory it takes",
    "Loads, saves, reopens and queries PATH, or a simulated acquisition when none is given, in a temporary folder\n"
    "(TMPDIR). Rates count dense bytes, as if the whole array had been read. Cold: the system was asked to forget the "
    "files.",
    "ronchi bench --scan 128,128 --dose 4",
    0,
    1,
    FOR_BENCH,
    run,
};
