/* SPDX-License-Identifier: MIT */
/* convert.c - an original, or a folder of them, into .qem copies. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "folder.h"

static const char MASTER[] = "_master.h5";

/* What became of the originals of one call. */
typedef struct tally {
    size_t converted, failed, present;
    uint64_t source_bytes, copy_bytes;
} tally;

static uint64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Size of all files of a source; 0 when it cannot be told (loading will then say why). */
static uint64_t source_size(cli *c, const char *path)
{
    ronchi_source_options options;
    ronchi_inspection in;
    cli_source_options(c, &options);
    if (ronchi_inspect(c->context, path, &options, &in, NULL) != RONCHI_OK)
        return 0;
    uint64_t size = in.stored_bytes;
    ronchi_inspection_free(&in);
    return size;
}

/* Every count of a copy of a .qem against it, one scan row at a time. */
static ronchi_status compare_copies(cli *c, const ronchi_acquisition *copy, const ronchi_acquisition *original,
                                    const ronchi_acquisition_info *info, uint64_t *different)
{
    const ronchi_shape one_row = {1, info->shape.scan_cols, info->shape.det_rows, info->shape.det_cols};
    size_t size = ronchi_dtype_size(info->source_dtype), n = one_row.scan_cols * one_row.det_rows * one_row.det_cols;
    char *counts = calloc(2 * n, size);
    if (!counts) {
        cli_fail(CLI_FAILED, NULL, "no memory to compare");
        return RONCHI_ERR_MEMORY;
    }
    ronchi_view a = ronchi_view_4d(counts, info->source_dtype, &one_row);
    ronchi_view b = ronchi_view_4d(counts + n * size, info->source_dtype, &one_row);
    ronchi_region region = ronchi_region_all(&info->shape);
    ronchi_status status = RONCHI_OK;
    region.scan_rows = 1;
    for (; status == RONCHI_OK && region.scan_row < info->shape.scan_rows; region.scan_row++) {
        status = ronchi_acquisition_read(copy, &region, RONCHI_READ_RAW, &a, &c->err);
        if (status == RONCHI_OK)
            status = ronchi_acquisition_read(original, &region, RONCHI_READ_RAW, &b, &c->err);
        for (size_t i = 0; status == RONCHI_OK && i < n; i++)
            *different += memcmp(counts + i * size, counts + (n + i) * size, size) != 0;
    }
    if (status != RONCHI_OK)
        cli_error(&c->err);
    free(counts);
    return status;
}

/* The counts that differ between a copy and what it was made from. */
static int count_different(cli *c, const ronchi_acquisition *copy, const char *source, uint64_t *different)
{
    ronchi_source_options options;
    ronchi_acquisition *original = NULL;
    ronchi_acquisition_info info;
    if (!cli_ends_with(source, ".qem")) {
        cli_source_options(c, &options);
        if (ronchi_acquisition_compare(copy, source, &options, different, &c->err) != RONCHI_OK)
            return cli_error(&c->err);
        return CLI_DONE;
    }
    int code = cli_load(c, source, &original, &info);
    if (code == CLI_DONE)
        code = cli_exit_code(compare_copies(c, copy, original, &info, different));
    ronchi_acquisition_destroy(original);
    return code;
}

/* Reads the copy again and compares; a copy that differs loses its name, so that nobody takes it for good. */
static int verify(cli *c, const char *source, const char *path)
{
    ronchi_acquisition *copy = NULL;
    ronchi_acquisition_info info;
    uint64_t different = 0;
    int code = cli_load(c, path, &copy, &info);
    if (code != CLI_DONE)
        return code;
    if (ronchi_acquisition_verify(copy, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    if (code == CLI_DONE)
        code = count_different(c, copy, source, &different);
    ronchi_acquisition_destroy(copy);
    if (code != CLI_DONE || !different)
        return code;
    char bad[4096];
    int n = snprintf(bad, sizeof bad, "%s.bad", path);
    if (n < 0 || (size_t)n >= sizeof bad || rename(path, bad) != 0)
        snprintf(bad, sizeof bad, "%s", path);
    return cli_fail(CLI_BAD_DATA, bad, "%llu counts differ from %s", (unsigned long long)different, source);
}

static void report_long(const cli *c, const char *source, const char *path, const ronchi_acquisition_info *info,
                        uint64_t source_bytes, uint64_t copy_bytes, double seconds)
{
    char shape[128], dense[32], from[32], to[32];
    cli_print("%s -> %s\n", source, path);
    cli_print("  counts    %s, %s, %s as a dense array\n", cli_shape(&info->shape, shape),
              ronchi_dtype_name(info->source_dtype), cli_size(info->logical_bytes, dense));
    if (source_bytes)
        cli_print("  source    %s\n", cli_size(source_bytes, from));
    cli_print("  copy      %s, %s", cli_size(copy_bytes, to), ronchi_profile_name(info->profile));
    if (copy_bytes)
        cli_print(": %.1f times smaller than dense", (double)info->logical_bytes / (double)copy_bytes);
    if (source_bytes && copy_bytes <= source_bytes)
        cli_print(", %.2f of the source", (double)copy_bytes / (double)source_bytes);
    putchar('\n');
    if (source_bytes && copy_bytes > source_bytes)
        cli_print("  note      the copy is larger than the source: %.2f of it\n",
                  (double)copy_bytes / (double)source_bytes);
    cli_print("  exact     %s%s\n",
              info->lossless ? "yes: " : "no: ", info->lossless ? info->lossless_by : info->mask_policy);
    cli_print("  verified  %s\n",
              c->verify ? "every count of the copy equals the source's" : "no: give --verify, or ronchi verify");
    cli_print("  memory    %s of decoded counts at most, of a budget of %s\n",
              cli_size(ronchi_context_decoded_peak(c->context), from), cli_size(ronchi_context_budget(c->context), to));
    cli_print("  time      %.1f s, %.0f MB/s of dense counts\n", seconds, (double)info->logical_bytes / seconds / 1e6);
}

static int convert(cli *c, const char *source, const char *path, bool one_line, tally *sum)
{
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    ronchi_save_options options;
    double begin = cli_now();
    int code = cli_load(c, source, &acquisition, &info);
    if (code != CLI_DONE)
        return code;
    ronchi_save_options_defaults(&options);
    options.force = c->force;
    options.index = c->index;
    options.embed_source = c->embed ? source : NULL;
    /* the sums of a damaged .qem would get fresh digests, and nobody could tell any more */
    ronchi_status status = cli_ends_with(source, ".qem") ? ronchi_acquisition_verify(acquisition, &c->err) : RONCHI_OK;
    if (status == RONCHI_OK)
        status = ronchi_acquisition_save(acquisition, path, &options, &c->err);
    ronchi_acquisition_destroy(acquisition);
    if (status != RONCHI_OK)
        return cli_error(&c->err);
    if (c->verify && (code = verify(c, source, path)) != CLI_DONE)
        return code;
    uint64_t source_bytes = source_size(c, source), copy_bytes = file_size(path);
    double seconds = cli_now() - begin;
    cli_progress_clear();
    sum->converted++;
    sum->source_bytes += source_bytes;
    sum->copy_bytes += copy_bytes;
    if (c->quiet)
        return CLI_DONE;
    if (!one_line) {
        report_long(c, source, path, &info, source_bytes, copy_bytes, seconds);
    } else {
        char from[32], to[32];
        cli_print("%s -> %s: %s -> %s%s\n", source, path, cli_size(source_bytes, from), cli_size(copy_bytes, to),
                  copy_bytes > source_bytes ? ", larger than the source" : "");
        fflush(stdout);
    }
    return CLI_DONE;
}

/* Writes FOLDER/NAME.qem for a source FOLDER/NAME_master.h5 or NAME.npy; false when it does not fit. */
static bool copy_name(const char *folder, const char *source, char *out, size_t size)
{
    const char *name = cli_base(source);
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    if (cli_ends_with(name, MASTER) && strlen(name) > strlen(MASTER))
        stem = strlen(name) - strlen(MASTER);
    size_t n = strlen(folder);
    const char *slash = n && folder[n - 1] != '/' ? "/" : "";
    int written = snprintf(out, size, "%s%s%.*s.qem", folder, slash, (int)stem, name);
    return written > 0 && (size_t)written < size;
}

/* The folder part of a path, "" for none. */
static void folder_of(const char *path, char *out, size_t size)
{
    size_t n = (size_t)(cli_base(path) - path);
    snprintf(out, size, "%.*s", (int)n, path);
}

static int convert_file(cli *c)
{
    const char *source = c->argument[0], *to = c->n_arguments > 1 ? c->argument[1] : NULL;
    char path[4096], folder[4096];
    tally sum = {0};
    bool into_folder = to && (cli_is_folder(to) || cli_ends_with(to, "/"));
    if (to && !into_folder) {
        if (!cli_ends_with(to, ".qem"))
            return cli_fail(CLI_BAD_CALL, to, "must end in .qem, or be a folder");
        if (strlen(to) >= sizeof path)
            return cli_fail(CLI_BAD_CALL, to, "the path is too long");
        snprintf(path, sizeof path, "%s", to);
    } else {
        if (into_folder)
            snprintf(folder, sizeof folder, "%s", to);
        else
            folder_of(source, folder, sizeof folder);
        if (!copy_name(folder, source, path, sizeof path))
            return cli_fail(CLI_BAD_CALL, source, "the name of its copy is too long");
    }
    int code = cli_output_free(c, path);
    if (code == CLI_DONE && into_folder)
        code = cli_make_folders(to);
    return code == CLI_DONE ? convert(c, source, path, false, &sum) : code;
}

/* The folder into which the copy of 'source' goes: the same place below 'to' that it has below 'from'. */
static bool mirror_folder(const char *from, const char *source, const char *to, char *out, size_t size)
{
    char folder[4096];
    folder_of(source, folder, sizeof folder);
    if (!to) {
        snprintf(out, size, "%s", folder);
        return true;
    }
    const char *below = folder + strlen(from);
    while (*below == '/')
        below++;
    int n = snprintf(out, size, "%s/%s", to, below);
    return n > 0 && (size_t)n < size;
}

static int convert_folder(cli *c)
{
    const char *from = c->argument[0], *to = c->n_arguments > 1 ? c->argument[1] : NULL;
    cli_paths masters;
    tally sum = {0};
    int code = cli_find_files(from, MASTER, &masters);
    if (code == CLI_DONE && !masters.n)
        code = cli_fail(CLI_BAD_CALL, from, "no *%s in this folder or below", MASTER);
    bool interrupted = false;
    for (size_t i = 0; code == CLI_DONE && i < masters.n && !interrupted; i++) {
        const char *source = masters.path[i];
        char folder[4096], path[4096];
        int one = CLI_DONE;
        if (!mirror_folder(from, source, to, folder, sizeof folder) || !copy_name(folder, source, path, sizeof path))
            one = cli_fail(CLI_BAD_CALL, source, "the name of its copy is too long");
        else if (!c->force && cli_exists(path)) {
            sum.present++;
            continue;
        }
        if (one == CLI_DONE && to)
            one = cli_make_folders(folder);
        if (one == CLI_DONE)
            one = convert(c, source, path, true, &sum);
        interrupted = one == CLI_INTERRUPTED;
        sum.failed += one != CLI_DONE && !interrupted;
    }
    if (code == CLI_DONE && !c->quiet) {
        char source_size_text[32], copy_size_text[32];
        cli_print("%zu converted, %zu failed, %zu had a copy already: %s -> %s\n", sum.converted, sum.failed,
                  sum.present, cli_size(sum.source_bytes, source_size_text), cli_size(sum.copy_bytes, copy_size_text));
    }
    cli_paths_free(&masters);
    if (code != CLI_DONE)
        return code;
    if (interrupted)
        return CLI_INTERRUPTED;
    return sum.failed ? CLI_BAD_DATA : CLI_DONE;
}

static int run(cli *c)
{
    return cli_is_folder(c->argument[0]) ? convert_folder(c) : convert_file(c);
}

const cli_command command_convert = {
    "convert",
    "SRC|FOLDER [COPY.qem|FOLDER]",
    "make a small exact .qem copy of an original, or of a folder of them",
    "Without a second argument the copy stands beside the original: scan_01_master.h5 gives scan_01.qem. Of a folder,\n"
    "every *_master.h5 in it and below is converted; originals that have a copy already are left alone, one that "
    "fails\n"
    "is reported and the rest goes on. The copy appears whole or not at all. The original is never touched.",
    "ronchi convert scan_01_master.h5 --verify",
    1,
    2,
    FOR_CONVERT,
    run,
};
