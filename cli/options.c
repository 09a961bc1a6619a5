/* SPDX-License-Identifier: MIT */
/* options.c - the one table of options, from which parsing and help both follow. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef enum kind {
    KIND_FLAG,   /* int32_t: 1 */
    KIND_TEXT,   /* const char * */
    KIND_COUNT,  /* uint64_t */
    KIND_BYTES,  /* uint64_t, with K, M, G, T */
    KIND_REAL,   /* double */
    KIND_COUNTS, /* uint64_t[2] */
    KIND_REALS,  /* double[2] */
    KIND_STEP,   /* double[2], one value stands for both */
    KIND_REGION, /* uint64_t[4] */
    KIND_CHOICE, /* int32_t: index among the names of 'value', which are separated by '|' */
    KIND_OUTPUT, /* appends to output[] */
    KIND_IMAGE   /* appends to image[] */
} kind;

typedef struct option {
    const char *name;
    char letter; /* 0: none */
    kind kind;
    size_t offset; /* of its value in cli */
    const char *value;
    const char *help;
    uint32_t commands;
    const char *group; /* heading in the help */
} option;

#define AT(field) offsetof(cli, field)

static const char GROUP_OWN[] = "Options";
static const char GROUP_SOURCE[] = "What the files do not say or say wrongly";
static const char GROUP_CALIBRATION[] = "Calibration, where it is not recorded or wrong";
static const char GROUP_ALWAYS[] = "Always";

#define IMAGES     FOR_IMAGE, GROUP_OWN
#define SIMULATED  FOR_SIMULATE, GROUP_OWN
#define SOURCES    FOR_SOURCES, GROUP_SOURCE
#define CALIBRATED FOR_SOURCES, GROUP_CALIBRATION
#define ALWAYS     FOR_ALL, GROUP_ALWAYS
#define STATED     (FOR_SOURCES | FOR_SIMULATE), GROUP_CALIBRATION

static const option options[OPT_COUNT] = {
    [OPT_BF] = {"bf", 0, KIND_IMAGE, 0, NULL, "bright field: the disk (its centre and radius are fitted)", IMAGES},
    [OPT_ADF] = {"adf", 0, KIND_IMAGE, 0, "IN,OUT", "annular dark field: IN <= distance from the centre <= OUT",
                 IMAGES},
    [OPT_DF] = {"df", 0, KIND_IMAGE, 0, "IN", "dark field: everything at IN or further out", IMAGES},
    [OPT_MASK] = {"mask", 0, KIND_IMAGE, 0, "M.npy",
                  "the pixels where this array is 1 (zeros and ones, detector shape)", FOR_IMAGE | FOR_COM | FOR_DPC,
                  GROUP_OWN},
    [OPT_CENTER] = {"center", 0, KIND_REALS, AT(center), "R,C", "centre in pixels, row before column; else fitted",
                    FOR_IMAGE | FOR_PARALLAX, GROUP_OWN},
    [OPT_RADIUS] = {"radius", 0, KIND_REAL, AT(radius), "R", "radius of the bright-field disk; else fitted",
                    FOR_IMAGE | FOR_PARALLAX, GROUP_OWN},
    [OPT_UNIT] = {"unit", 0, KIND_CHOICE, AT(unit), "px|mrad", "unit of IN, OUT and R; mrad needs a calibration",
                  IMAGES},
    [OPT_REGION] = {"region", 0, KIND_REGION, AT(region), "R0:R1,C0:C1",
                    "only these scan rows and columns, ends excluded", FOR_MEAN, GROUP_OWN},
    [OPT_SELECT] = {"select", 0, KIND_TEXT, AT(select), "M.npy", "only scan positions where this array is not 0",
                    FOR_MEAN, GROUP_OWN},
    [OPT_REDUCE] = {"reduce", 0, KIND_CHOICE, AT(reduce), "sum|mean|max", "what to make of the frames (default mean)",
                    FOR_MEAN, GROUP_OWN},
    [OPT_MASKED] = {"masked", 0, KIND_FLAG, AT(masked), NULL, "give flagged pixels as 0 instead of as stored",
                    FOR_FRAME | FOR_EXPORT, GROUP_OWN},
    [OPT_ANGLE] = {"angle", 0, KIND_REAL, AT(angle), "A", "degrees, counter-clockwise as displayed", FOR_ROTATE,
                   GROUP_OWN},
    [OPT_FULL_OR_SAME] = {"output", 0, KIND_CHOICE, AT(full_or_same), "full|same",
                          "the whole turned scan (default), or the shape of the input", FOR_ROTATE, GROUP_OWN},
    [OPT_FILL] = {"fill", 0, KIND_COUNT, AT(fill), "N", "counts of positions from outside the scan (default 0)",
                  FOR_ROTATE, GROUP_OWN},
    [OPT_DPC_BACKGROUND] = {"background", 0, KIND_CHOICE, AT(dpc_background), "mean|plane|none",
                            "the undeflected beam: the scan's mean (default), a plane (descan)", FOR_DPC, GROUP_OWN},
    [OPT_BRANCH] = {"branch", 0, KIND_CHOICE, AT(branch), "open|positive",
                    "positive: the sign with which the phase has peaks", FOR_DPC, GROUP_OWN},
    [OPT_NEAR_DEG] = {"near-deg", 0, KIND_REAL, AT(near_deg), "X", "the branch nearer to this rotation",
                      FOR_DPC | FOR_PARALLAX, GROUP_OWN},
    [OPT_BOUNDARY] = {"boundary", 0, KIND_CHOICE, AT(boundary), "mirror|periodic",
                      "how the phase goes on beyond the scan", FOR_DPC, GROUP_OWN},
    [OPT_HIGHPASS] = {"highpass", 0, KIND_REAL, AT(highpass), "L",
                      "damp periods longer than L angstrom (steps if not known)", FOR_DPC, GROUP_OWN},
    [OPT_BINS] = {"bins", 0, KIND_TEXT, AT(bins), "B,..,1",
                  "detector pixels a side aligned together, falling (default: from the dose)", FOR_PARALLAX, GROUP_OWN},
    [OPT_ITERATIONS] = {"iterations", 0, KIND_COUNT, AT(iterations), "N", "rounds at each size of bins (default 2)",
                        FOR_PARALLAX, GROUP_OWN},
    [OPT_UPSAMPLE] = {"upsample", 0, KIND_COUNT, AT(upsample), "N", "pixels of the image per scan step (default 2)",
                      FOR_PARALLAX, GROUP_OWN},
    [OPT_FIT] = {"fit", 0, KIND_CHOICE, AT(fit), "auto|yes|no",
                 "aberrations: where calibrated (default), or an error without", FOR_PARALLAX, GROUP_OWN},
    [OPT_REFERENCE] = {"reference", 0, KIND_CHOICE, AT(reference), "auto|transfer|mean",
                       "compare images with the specimen as each pixel transfers it, or with the mean", FOR_PARALLAX,
                       GROUP_OWN},
    [OPT_WORKSPACE] = {"workspace", 0, KIND_BYTES, AT(workspace), "SIZE", "spectra held at a time (default 1G)",
                       FOR_PARALLAX, GROUP_OWN},
    [OPT_SCALE] = {"scale", 0, KIND_CHOICE, AT(scale), "linear|gamma|log",
                   "grey levels of a .png (patterns: gamma, images: linear)", FOR_FRAME | FOR_MEAN | FOR_IMAGE,
                   GROUP_OWN},
    [OPT_OUTPUT] = {"output", 'o', KIND_OUTPUT, 0, "FILE", "where to: .npy or .tiff for numbers, .png for a picture",
                    FOR_RESULTS | FOR_ROTATE, GROUP_OWN},
    [OPT_PROFILE] = {"profile", 0, KIND_CHOICE, AT(profile), "auto|column|lane", "how to encode", FOR_CONVERT,
                     GROUP_OWN},
    [OPT_INDEX] = {"index", 0, KIND_FLAG, AT(index), NULL, "store the sum index of profiles that can go without it",
                   FOR_CONVERT, GROUP_OWN},
    [OPT_EMBED] = {"embed", 0, KIND_FLAG, AT(embed), NULL, "keep the original master file inside the copy", FOR_CONVERT,
                   GROUP_OWN},
    [OPT_VERIFY] = {"verify", 0, KIND_FLAG, AT(verify), NULL,
                    "read the copy again and compare every count with the source", FOR_CONVERT, GROUP_OWN},
    [OPT_AGAINST] = {"against", 0, KIND_TEXT, AT(against), "SRC", "compare every count with this source", FOR_VERIFY,
                     GROUP_OWN},
    [OPT_JSON] = {"json", 0, KIND_FLAG, AT(json), NULL, "print JSON (docs/json.md)",
                  FOR_INSPECT | FOR_BENCH | FOR_DPC | FOR_PARALLAX, GROUP_OWN},

    [OPT_SCAN] = {"scan", 0, KIND_COUNTS, AT(scan), "R,C", "scan positions (default 64,64)", FOR_SIMULATE | FOR_BENCH,
                  GROUP_OWN},
    [OPT_DETECTOR] = {"detector", 0, KIND_COUNTS, AT(detector), "R,C", "detector pixels (default 192,192)",
                      FOR_SIMULATE | FOR_BENCH, GROUP_OWN},
    [OPT_DOSE] = {"dose", 0, KIND_REAL, AT(dose), "D", "mean counts per pixel of the bright-field disk (default 4)",
                  FOR_SIMULATE | FOR_BENCH, GROUP_OWN},
    [OPT_SEED] = {"seed", 0, KIND_COUNT, AT(seed), "N", "the same seed gives the same counts (default 1)",
                  FOR_SIMULATE | FOR_BENCH, GROUP_OWN},
    [OPT_RUNS] = {"runs", 0, KIND_COUNT, AT(runs), "N", "repetitions of each measurement (default 3)", FOR_BENCH,
                  GROUP_OWN},
    [OPT_BACKGROUND] = {"background", 0, KIND_REAL, AT(background), "B",
                        "mean counts per pixel of the dark background at the centre (default 0.04)", SIMULATED},
    [OPT_PHASE_SCALE] = {"phase-scale", 0, KIND_REAL, AT(phase_scale), "S", "strength of the object (default 1)",
                         SIMULATED},
    [OPT_DISK_RADIUS_PX] = {"disk-radius-px", 0, KIND_REAL, AT(disk_radius_px), "R",
                            "radius of the disk (default 55/192 of the shorter side)", SIMULATED},
    [OPT_C10_A] = {"c10-a", 0, KIND_REAL, AT(c10_a), "X", "C10 = -defocus, angstrom (default 0)", SIMULATED},
    [OPT_C12_A] = {"c12-a", 0, KIND_REAL, AT(c12_a), "X", "two-fold astigmatism, angstrom (default 0)", SIMULATED},
    [OPT_PHI12_DEG] = {"phi12-deg", 0, KIND_REAL, AT(phi12_deg), "X", "its direction, degrees (default 0)", SIMULATED},
    [OPT_ROTATION_DEG] = {"rotation-deg", 0, KIND_REAL, AT(rotation_deg), "X", "scan axes to detector axes, degrees",
                          FOR_SIMULATE | FOR_DPC | FOR_CONVERT | FOR_INSPECT | FOR_PARALLAX, GROUP_CALIBRATION},
    [OPT_TRANSPOSE] = {"transpose", 0, KIND_FLAG, AT(transpose), NULL, "detector rows and columns are exchanged",
                       FOR_SIMULATE | FOR_DPC | FOR_CONVERT | FOR_INSPECT | FOR_PARALLAX, GROUP_CALIBRATION},
    [OPT_FIND_ROTATION] = {"find-rotation", 0, KIND_FLAG, AT(find_rotation), NULL,
                           "find the rotation also where the data says it", FOR_DPC, GROUP_OWN},
    [OPT_DTYPE] = {"dtype", 0, KIND_CHOICE, AT(dtype), "uint8|uint16|uint32",
                   "type of the stored counts (default uint16)", SIMULATED},
    [OPT_FLAGGED_PIXELS] = {"flagged-pixels", 0, KIND_COUNT, AT(flagged_pixels), "N",
                            "pixels in the mask, stored as the largest value (default 0)", SIMULATED},
    [OPT_HOT_PIXELS] = {"hot-pixels", 0, KIND_COUNT, AT(hot_pixels), "N",
                        "pixels of constant high counts that are not in the mask (default 0)", SIMULATED},
    [OPT_FRAMES_PER_FILE] = {"frames-per-file", 0, KIND_COUNT, AT(frames_per_file), "N",
                             "cut the frames into data files of N (default: one file)", SIMULATED},
    [OPT_FILTER] = {"filter", 0, KIND_TEXT, AT(filter), "bslz4|lz4|gzip|none",
                    "compression of an HDF5 output (default bslz4)", FOR_SIMULATE | FOR_EXPORT, GROUP_OWN},
    [OPT_COMPANION] = {"companion", 0, KIND_FLAG, AT(companion), NULL,
                       "write the companion file with the scan's metadata", SIMULATED},
    [OPT_TRUTH] = {"truth", 0, KIND_FLAG, AT(truth), NULL, "write the true answers beside the master", SIMULATED},

    [OPT_SCAN_SHAPE] = {"scan-shape", 0, KIND_COUNTS, AT(scan_shape), "R,C", "scan rows and columns", SOURCES},
    [OPT_FLYBACK] = {"flyback", 0, KIND_COUNT, AT(flyback), "K", "extra frames of each scan line",
                     FOR_SOURCES | FOR_SIMULATE, GROUP_SOURCE},
    [OPT_FLYBACK_AT] = {"flyback-at", 0, KIND_CHOICE, AT(flyback_at), "start|end", "where they stand (default start)",
                        FOR_SOURCES | FOR_SIMULATE, GROUP_SOURCE},
    [OPT_SKIP] = {"skip", 0, KIND_COUNT, AT(skip), "N", "frames before the first scan position", SOURCES},
    [OPT_DATASET] = {"dataset", 0, KIND_TEXT, AT(dataset), "P", "path of the counts inside the file", SOURCES},
    [OPT_CHANNEL] = {"channel", 0, KIND_TEXT, AT(channel), "C", "channel of a file with several, such as threshold_1",
                     SOURCES},
    [OPT_FLAGGED] = {"flagged", 0, KIND_CHOICE, AT(flagged), "keep|zero|median",
                     "flagged pixels at load (default keep; the others change data)", SOURCES},
    [OPT_VOLTAGE_KV] = {"voltage-kv", 0, KIND_REAL, AT(voltage_kv), "X", "acceleration voltage", STATED},
    [OPT_SEMIANGLE_MRAD] = {"semiangle-mrad", 0, KIND_REAL, AT(semiangle_mrad), "X", "probe semi-angle", STATED},
    [OPT_SCAN_STEP_A] = {"scan-step-a", 0, KIND_STEP, AT(scan_step_a), "X[,Y]", "scan step (rows, columns), angstrom",
                         STATED},
    [OPT_CAMERA_LENGTH_MM] = {"camera-length-mm", 0, KIND_REAL, AT(camera_length_mm), "X", "camera length", CALIBRATED},
    [OPT_DET_STEP_MRAD] = {"det-step-mrad", 0, KIND_STEP, AT(det_step_mrad), "X[,Y]", "angle of one detector pixel",
                           CALIBRATED},

    [OPT_FORCE] = {"force", 0, KIND_FLAG, AT(force), NULL, "replace outputs that exist",
                   FOR_CONVERT | FOR_RESULTS | FOR_EXPORT | FOR_SIMULATE | FOR_ROTATE, GROUP_OWN},

    [OPT_BUDGET] = {"budget", 0, KIND_BYTES, AT(budget), "SIZE", "decoded counts held at a time (default 256M)",
                    ALWAYS},
    [OPT_THREADS] = {"threads", 0, KIND_COUNT, AT(threads), "N", "default: one for each processor", ALWAYS},
    [OPT_DEVICE] = {"device", 0, KIND_TEXT, AT(device), "auto|cpu|cuda|cuda:N", "where to work", ALWAYS},
    [OPT_QUIET] = {"quiet", 'q', KIND_FLAG, AT(quiet), NULL, "no progress, no report: only results and errors", ALWAYS},
    [OPT_HELP] = {"help", 'h', KIND_FLAG, AT(help), NULL, "this text", ALWAYS},
};

/* ------------------------------------------------------------------------------------------------------- help */

static void print_group(FILE *out, uint32_t bit, const char *group)
{
    const char *output = bit == FOR_ROTATE     ? "where to: a .qem"
                         : bit == FOR_PARALLAX ? "where to: the PREFIX of everything, or NAME.npy, .png or .json"
                                               : options[OPT_OUTPUT].help;
    bool headed = false;
    for (size_t i = 0; i < OPT_COUNT; i++) {
        const option *o = &options[i];
        /* a simulation states what an original records: to it these are options like any other */
        const char *in_group = bit == FOR_SIMULATE && o->group != GROUP_ALWAYS ? GROUP_OWN : o->group;
        if (!(o->commands & bit) || in_group != group)
            continue;
        char left[64];
        int n = o->letter ? snprintf(left, sizeof left, "-%c", o->letter) : 0;
        if (i != OPT_OUTPUT)
            n += snprintf(left + n, sizeof left - (size_t)n, "%s--%s", o->letter ? ", " : "", o->name);
        if (o->value)
            snprintf(left + n, sizeof left - (size_t)n, " %s", o->value);
        if (!headed)
            fprintf(out, "\n%s:\n", group);
        headed = true;
        if (strlen(left) > 26)
            fprintf(out, "  %s\n  %26s  %s\n", left, "", o->help);
        else
            fprintf(out, "  %-26s  %s\n", left, i == OPT_OUTPUT ? output : o->help);
    }
}

void cli_help_options(FILE *out, uint32_t bit)
{
    const char *const groups[] = {GROUP_OWN, GROUP_SOURCE, GROUP_CALIBRATION, GROUP_ALWAYS};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        print_group(out, bit, groups[i]);
}

/* ---------------------------------------------------------------------------------------------------- parsing */

static int refuse(const cli_command *command, const char *format, ...) CLI_PRINTF(2, 3);

static int refuse(const cli_command *command, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cli_fail(CLI_BAD_CALL, NULL, "%s; see ronchi %s --help", text, command->name);
}

/* The option as people type it; texts for one message at a time need no more than this. */
static const char *typed(const option *o, char text[32])
{
    if (o->letter)
        snprintf(text, 32, "-%c", o->letter);
    else
        snprintf(text, 32, "--%s", o->name);
    return text;
}

static int unknown_option(const cli_command *command, const char *word, size_t length)
{
    const char *names[OPT_COUNT];
    char name[64];
    size_t n = 0;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
    for (size_t i = 0; i < OPT_COUNT; i++)
        if (options[i].commands & command->bit)
            names[n++] = options[i].name;
    const char *nearest = cli_nearest(name, names, n);
    if (nearest)
        return refuse(command, "unknown option --%s (did you mean --%s?)", name, nearest);
    return refuse(command, "unknown option --%s", name);
}

static int choose(const char *names, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0; names; i++) {
        size_t n = strcspn(names, "|");
        if (n == length && strncmp(names, word, n) == 0)
            return i;
        names = names[n] ? names + n + 1 : NULL;
    }
    return -1;
}

static bool take_image(cli *c, cli_option_id id, const char *word)
{
    cli_image *image = &c->image[c->n_images];
    double pair[2] = {0, 0};
    bool good = c->n_images < CLI_MAX_IMAGES;
    if (good && id == OPT_ADF)
        good = cli_number_reals(word, false, true, pair) && pair[0] >= 0 && pair[1] >= pair[0];
    else if (good && id == OPT_DF)
        good = cli_number_real(word, strlen(word), false, pair) && pair[0] >= 0;
    if (good) {
        *image = (cli_image){id, pair[0], pair[1], word};
        c->n_images++;
    }
    return good;
}

static bool take(cli *c, cli_option_id id, const char *word)
{
    const option *o = &options[id];
    void *to = (char *)c + o->offset;
    int choice;
    switch (o->kind) {
    case KIND_FLAG:
        *(int32_t *)to = 1;
        return true;
    case KIND_TEXT:
        *(const char **)to = word;
        return *word != 0;
    case KIND_COUNT:
        return cli_number_count(word, strlen(word), to);
    case KIND_BYTES:
        return cli_number_bytes(word, to);
    case KIND_REAL:
        return cli_number_real(word, strlen(word), false, to);
    case KIND_COUNTS:
        return cli_number_counts(word, to);
    case KIND_REALS:
        return cli_number_reals(word, false, false, to);
    case KIND_STEP:
        return cli_number_reals(word, true, false, to);
    case KIND_REGION:
        return cli_number_region(word, to);
    case KIND_CHOICE:
        choice = choose(o->value, word);
        *(int32_t *)to = choice;
        return choice >= 0;
    case KIND_OUTPUT:
        if (c->n_outputs == CLI_MAX_IMAGES)
            return false;
        c->output[c->n_outputs++] = word;
        return *word != 0;
    case KIND_IMAGE:
        return take_image(c, id, word);
    }
    return false;
}

/* What a value has to be, in words. */
static const char *expectation(kind of)
{
    switch (of) {
    case KIND_CHOICE:
        return "one of these";
    case KIND_REGION:
        return "whole numbers, R0 < R1 and C0 < C1";
    case KIND_COUNT:
        return "a whole number from 0";
    case KIND_COUNTS:
        return "two whole numbers";
    case KIND_BYTES:
        return "a whole number with K, M, G or T, such as 256M";
    case KIND_IMAGE:
        return "numbers, 0 <= IN <= OUT";
    case KIND_REAL:
        return "a number";
    case KIND_REALS:
        return "two numbers";
    case KIND_STEP:
        return "one number or two";
    case KIND_FLAG:
    case KIND_TEXT:
    case KIND_OUTPUT:
        break;
    }
    return "not empty";
}

static int bad_value(const cli *c, const option *o, const char *word)
{
    char name[32];
    bool full = (o->kind == KIND_OUTPUT && c->n_outputs == CLI_MAX_IMAGES) ||
                (o->kind == KIND_IMAGE && c->n_images == CLI_MAX_IMAGES);
    if (full)
        return refuse(c->command, "%s '%s': at most %d in one call", typed(o, name), word, (int)CLI_MAX_IMAGES);
    return refuse(c->command, "%s '%s': must be %s (%s)", typed(o, name), word, o->value, expectation(o->kind));
}

/* One option at words[*i]; *i moves over its value. */
static int parse_option(cli *c, int n, char **words, int *i)
{
    const char *word = words[*i];
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    size_t length = is_long ? strcspn(name, "=") : 1;
    const char *attached = name[length] ? name + length + (is_long ? 1 : 0) : NULL;
    size_t id = 0;
    for (; id < OPT_COUNT; id++) {
        const option *o = &options[id];
        if (!(o->commands & c->command->bit))
            continue;
        if (is_long ? strlen(o->name) == length && strncmp(o->name, name, length) == 0
                    : o->letter && o->letter == *name)
            break;
    }
    if (id == OPT_COUNT) {
        if (is_long)
            return unknown_option(c->command, name, length);
        return refuse(c->command, "unknown option %s", word);
    }
    char name_text[32];
    const option *o = &options[id];
    if (!o->value && attached)
        return refuse(c->command, "%s takes no value, not '%s'", typed(o, name_text), attached);
    if (o->value && !attached) {
        if (*i + 1 == n)
            return refuse(c->command, "%s needs a value: %s", typed(o, name_text), o->value);
        attached = words[++*i];
    }
    const char *value = attached ? attached : "";
    if (!take(c, (cli_option_id)id, value))
        return bad_value(c, o, value);
    c->given[id] = true;
    return CLI_DONE;
}

int cli_parse(cli *c, const cli_command *command, int n, char **words)
{
    memset(c, 0, sizeof *c);
    c->command = command;
    c->runs = 3;
    c->seed = 1;
    c->reduce = RONCHI_REDUCE_MEAN;
    bool only_arguments = false;
    for (int i = 0; i < n; i++) {
        const char *word = words[i];
        if (!only_arguments && strcmp(word, "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && word[0] == '-' && word[1]) {
            int code = parse_option(c, n, words, &i);
            if (code != CLI_DONE)
                return code;
        } else if (c->n_arguments == command->max_arguments) {
            return refuse(command, "one argument too many: %s", word);
        } else {
            c->argument[c->n_arguments++] = word;
        }
    }
    if (!c->help && c->n_arguments < command->min_arguments)
        return refuse(command, "something is missing: ronchi %s %s", command->name, command->arguments);
    return CLI_DONE;
}
