/* SPDX-License-Identifier: MIT */
/*
 * cli.h - what the commands share.  Each command is one file: it parses nothing itself, calls the library, prints.
 */
#ifndef RONCHI_CLI_CLI_H
#define RONCHI_CLI_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ronchi/ronchi.h"

#if defined(__GNUC__)
#define CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define CLI_PRINTF(text, first)
#endif

/* Exit codes, the same for every command. */
enum {
    CLI_DONE = 0,
    CLI_BAD_DATA = 1,     /* the data is bad, incomplete or of an unknown format */
    CLI_BAD_CALL = 2,     /* the call is wrong, a path is not there, an output exists, something must be given */
    CLI_FAILED = 3,       /* memory, disk, device or I/O failed */
    CLI_INTERRUPTED = 130 /* Ctrl-C */
};

enum { CLI_MAX_ARGUMENTS = 64, CLI_MAX_IMAGES = 16 };

/* Every option of every command, in the order of the help; the table in options.c says the rest. */
typedef enum cli_option_id {
    OPT_BF,
    OPT_ADF,
    OPT_DF,
    OPT_MASK,
    OPT_CENTER,
    OPT_RADIUS,
    OPT_UNIT,
    OPT_REGION,
    OPT_SELECT,
    OPT_REDUCE,
    OPT_MASKED,
    OPT_ANGLE,
    OPT_FULL_OR_SAME, /* --output of rotate: before OPT_OUTPUT, which is -o */
    OPT_FILL,
    OPT_DPC_BACKGROUND,
    OPT_BRANCH,
    OPT_NEAR_DEG,
    OPT_BOUNDARY,
    OPT_HIGHPASS,
    OPT_BINS,
    OPT_ITERATIONS,
    OPT_UPSAMPLE,
    OPT_FIT,
    OPT_REFERENCE,
    OPT_WORKSPACE,
    OPT_SCALE,
    OPT_OUTPUT,
    OPT_PROFILE,
    OPT_INDEX,
    OPT_EMBED,
    OPT_VERIFY,
    OPT_AGAINST,
    OPT_JSON,
    OPT_SCAN,
    OPT_DETECTOR,
    OPT_DOSE,
    OPT_SEED,
    OPT_RUNS,
    OPT_BACKGROUND,
    OPT_PHASE_SCALE,
    OPT_DISK_RADIUS_PX,
    OPT_C10_A,
    OPT_C12_A,
    OPT_PHI12_DEG,
    OPT_ROTATION_DEG,
    OPT_TRANSPOSE,
    OPT_FIND_ROTATION,
    OPT_DTYPE,
    OPT_FLAGGED_PIXELS,
    OPT_HOT_PIXELS,
    OPT_FRAMES_PER_FILE,
    OPT_FILTER,
    OPT_COMPANION,
    OPT_TRUTH,
    OPT_SCAN_SHAPE,
    OPT_FLYBACK,
    OPT_FLYBACK_AT,
    OPT_SKIP,
    OPT_DATASET,
    OPT_CHANNEL,
    OPT_FLAGGED,
    OPT_VOLTAGE_KV,
    OPT_SEMIANGLE_MRAD,
    OPT_SCAN_STEP_A,
    OPT_CAMERA_LENGTH_MM,
    OPT_DET_STEP_MRAD,
    OPT_FORCE,
    OPT_BUDGET,
    OPT_THREADS,
    OPT_DEVICE,
    OPT_QUIET,
    OPT_HELP,
    OPT_COUNT
} cli_option_id;

/* Which commands know an option: one bit each. */
enum {
    FOR_INSPECT = 1u << 0,
    FOR_CONVERT = 1u << 1,
    FOR_VERIFY = 1u << 2,
    FOR_FRAME = 1u << 3,
    FOR_IMAGE = 1u << 4,
    FOR_MEAN = 1u << 5,
    FOR_COM = 1u << 6,
    FOR_EXPORT = 1u << 7,
    FOR_SIMULATE = 1u << 8,
    FOR_BENCH = 1u << 9,
    FOR_ROTATE = 1u << 10,
    FOR_DPC = 1u << 11,
    FOR_PARALLAX = 1u << 12,
    FOR_ALL = 0xffffu,
    FOR_RESULTS = FOR_FRAME | FOR_IMAGE | FOR_MEAN | FOR_COM | FOR_DPC | FOR_PARALLAX,
    FOR_SOURCES = FOR_INSPECT | FOR_CONVERT | FOR_VERIFY | FOR_RESULTS | FOR_EXPORT | FOR_ROTATE
};

/* One image that was asked for: --bf, --adf IN,OUT, --df IN or --mask FILE, in the order of the call. */
typedef struct cli_image {
    cli_option_id kind;
    double inner, outer;
    const char *mask;
} cli_image;

/* The call after parsing: arguments, and the value of every option (its default where it was not given). */
typedef struct cli {
    const struct cli_command *command;
    const char *argument[CLI_MAX_ARGUMENTS];
    size_t n_arguments;
    bool given[OPT_COUNT];

    int32_t help, quiet, force, json;
    uint64_t threads, budget;
    const char *device;

    uint64_t scan_shape[2], flyback, skip;
    int32_t flyback_at, flagged;
    const char *dataset, *channel;
    double voltage_kv, semiangle_mrad, scan_step_a[2], camera_length_mm, det_step_mrad[2];

    const char *output[CLI_MAX_IMAGES];
    size_t n_outputs;
    int32_t profile, index, embed, verify, masked;
    const char *against;

    cli_image image[CLI_MAX_IMAGES];
    size_t n_images;
    double center[2], radius;
    int32_t unit, reduce, scale;
    uint64_t region[4]; /* first row, row past the end, first column, column past the end; UINT64_MAX: to the end */
    const char *select;

    double angle;
    int32_t full_or_same; /* ronchi_rotate_output */
    uint64_t fill;
    int32_t dpc_background, branch, boundary;
    double near_deg, highpass;
    const char *bins;
    uint64_t iterations, upsample, workspace;
    int32_t fit, reference;

    uint64_t scan[2], detector[2], flagged_pixels, hot_pixels, frames_per_file, seed, runs;
    double dose, background, phase_scale, disk_radius_px, c10_a, c12_a, phi12_deg, rotation_deg;
    int32_t transpose, find_rotation, dtype, companion, truth;
    const char *filter;

    ronchi_context *context; /* from cli_start() on */
    ronchi_error err;        /* for the library's calls */
} cli;

/* One command: what its help says and what it does.  run() returns the exit code. */
typedef struct cli_command {
    const char *name, *arguments, *summary;
    const char *details; /* paragraphs of its help */
    const char *example;
    size_t min_arguments, max_arguments;
    uint32_t bit;
    int (*run)(cli *c);
} cli_command;

/* ------------------------------------------------------------------------------------- options.c, numbers.c */

/* cli_parse() fills *c from the words after the command's name; CLI_DONE, or CLI_BAD_CALL with its line printed. */
int cli_parse(cli *c, const cli_command *command, int n, char **words);

/* Strict: the whole text is the number, in range, else false and *out untouched.  Bytes take K, M, G, T (powers of
 * 1024). */
bool cli_number_count(const char *text, size_t length, uint64_t *out);
bool cli_number_bytes(const char *text, uint64_t *out);
bool cli_number_real(const char *text, size_t length, bool infinity_too, double *out);
/* "R,C" */
bool cli_number_counts(const char *text, uint64_t out[2]);
bool cli_number_reals(const char *text, bool one_will_do, bool infinity_too, double out[2]);
/* "R0:R1,C0:C1", ends past the last as in NumPy, each may be left out. */
bool cli_number_region(const char *text, uint64_t out[4]);

/* cli_nearest() returns the name that a mistyped word most likely meant, or NULL. */
const char *cli_nearest(const char *word, const char *const *names, size_t n);

/* ---------------------------------------------------------------------------------------------------- help.c */

extern const cli_command *const cli_commands[];
extern const size_t cli_n_commands;

void cli_help_all(FILE *out);
void cli_help_command(FILE *out, const cli_command *command);
/* cli_help_options() prints the options of a command; in options.c, beside the table. */
void cli_help_options(FILE *out, uint32_t bit);

/* -------------------------------------------------------------------------------------------------- report.c */

/* Prints "ronchi: FILE: message (byte N)" and returns the exit code that belongs to its status. */
int cli_error(const ronchi_error *err);
/* The same for errors that the command itself finds; 'file' may be NULL. */
int cli_fail(int code, const char *file, const char *format, ...) CLI_PRINTF(3, 4);
int cli_exit_code(ronchi_status status);

/* cli_catch_signals() makes Ctrl-C set a flag instead of ending the process, and a closed pipe an error instead of a
 * signal. */
void cli_catch_signals(void);
bool cli_interrupted(void);
/* The progress callback of every context; user is NULL when nothing is to be shown. */
int cli_progress(void *user, const ronchi_progress *progress);
void cli_progress_clear(void);
/* cli_finish_output() brings standard output to its end and returns 'code', or CLI_FAILED when it cannot be written. */
int cli_finish_output(int code);

/* ------------------------------------------------------------------------------------------------- session.c */

/* cli_start() makes c->context; cli_load() an acquisition.  Both return CLI_DONE or print and return the exit code. */
int cli_start(cli *c);
void cli_source_options(const cli *c, ronchi_source_options *out);
/* cli_check_source() refuses values of these options that mean nothing, and for a .qem those that only suit originals.
 */
int cli_check_source(const cli *c, const char *path);
int cli_load(cli *c, const char *path, ronchi_acquisition **out, ronchi_acquisition_info *info);
/* cli_flagged_mask() allocates [det_row][det_col] u8, 1 where flagged; the caller frees view->data. */
int cli_flagged_mask(const ronchi_acquisition *acquisition, const ronchi_shape *shape, ronchi_view *view);
/* cli_scan_outside() allocates [scan_row][scan_col] u8, 1 where no pattern was measured (a turned scan), for pictures
 * to leave out of their grey levels; NULL data where there is none.  The caller frees view->data. */
int cli_scan_outside(cli *c, const ronchi_acquisition *acquisition, const ronchi_shape *shape, ronchi_view *view);
/* cli_mask_read() reads an .npy of zeros and ones (or booleans) of that shape; the caller frees view->data. */
int cli_mask_read(cli *c, const char *path, size_t rows, size_t cols, ronchi_view *view);
/* cli_array() allocates rows x cols of a dtype, zeroed; the caller frees view->data. */
int cli_array(size_t rows, size_t cols, ronchi_dtype dtype, ronchi_view *view);

/* -------------------------------------------------------------------------------------------------- output.c */

/* cli_same_file() tells whether two names are of one file that exists, through whatever links; NULL names none. */
bool cli_same_file(const char *a, const char *b);
/* cli_is_input() tells whether a file that exists is among those that the call itself names to read. */
bool cli_is_input(const cli *c, const char *path);
/* cli_output_free() refuses a name that exists, unless --force is given; with it too what the call itself reads. */
int cli_output_free(const cli *c, const char *path);
/* cli_output_folder() refuses a path whose folder does not exist: before the work, not after it. */
int cli_output_folder(const char *path);
/* cli_output_check() refuses, before any work, outputs of unknown suffix, without a folder, or that exist, without
 * --force. */
int cli_output_check(const cli *c, const char *path);
/* cli_output_needed() is cli_output_check() for all of -o, and refuses a call without one. */
int cli_output_needed(const cli *c);
/* cli_write() writes a [row][col] view by the suffix of 'path' and says so. */
int cli_write(cli *c, const char *path, const ronchi_view *view, const ronchi_picture_options *picture);
/* Picture options for patterns (gamma, scale bar in the detector's unit) and for images (linear, scale bar in
 * angstrom). */
void cli_picture_pattern(const cli *c, const ronchi_acquisition_info *info, ronchi_picture_options *out);
void cli_picture_image(const cli *c, const ronchi_acquisition_info *info, ronchi_picture_options *out);

/* ---------------------------------------------------------------------------------------------------- text.c */

/* "302.0 MB": powers of 1000, as file managers and disks count. */
const char *cli_size(uint64_t bytes, char text[32]);
/* "64 x 64 scan, 192 x 192 detector" */
const char *cli_shape(const ronchi_shape *shape, char text[128]);
bool cli_ends_with(const char *text, const char *suffix);
/* The part of a path after the last '/'. */
const char *cli_base(const char *path);
double cli_now(void);

/*
 * Names of files and texts in them may hold anything; on a terminal, control characters would be obeyed.
 * cli_put_safe() writes them, and bytes that are no UTF-8, as \x1b and the like; cli_print() is printf() to standard
 * output that does so for all but a line feed at the format's end.
 */
void cli_put_safe(FILE *out, const char *text);
void cli_print(const char *format, ...) CLI_PRINTF(1, 2);
void cli_print_args(FILE *out, const char *format, va_list args) CLI_PRINTF(2, 0);

/* JSON by hand: the writer keeps track of commas and indentation.  A NULL key is an element of an array. */
typedef struct cli_json {
    FILE *out;
    int depth;
    bool first;
} cli_json;

void cli_json_open(cli_json *json, const char *key, char bracket);
void cli_json_close(cli_json *json, char bracket);
void cli_json_text(cli_json *json, const char *key, const char *text); /* NULL: null */
void cli_json_count(cli_json *json, const char *key, uint64_t value);
void cli_json_real(cli_json *json, const char *key, double value); /* not finite: null */
void cli_json_bool(cli_json *json, const char *key, bool value);
void cli_json_null(cli_json *json, const char *key);
void cli_json_raw(cli_json *json, const char *key, const char *value);
/* [scan_rows, scan_cols, det_rows, det_cols], or null where it is not known. */
void cli_json_shape(cli_json *json, const char *key, const ronchi_shape *shape);

#endif
