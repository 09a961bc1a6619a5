/* SPDX-License-Identifier: MIT */
/* parallax.c - bright-field images aligned and added, and the aberrations that their shifts tell. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"

enum { MAX_PATH = 4096, SHIFT_COLS = 6, ARROWS_ACROSS = 18 };

/* What is written, by the end of -o: everything where it has none of these ends. */
typedef struct part {
    const char *name; /* after the stem */
    const char *kind;
} part;
static const part parts[] = {{"_image.npy", ".npy"},  {"_raw.npy", ".npy"},   {"_density.npy", ".npy"},
                             {"_shifts.npy", ".npy"}, {"_image.png", ".png"}, {"_shifts.png", ".png"},
                             {".json", ".json"}};
enum { IMAGE_NPY, RAW_NPY, DENSITY_NPY, SHIFTS_NPY, IMAGE_PNG, SHIFTS_PNG, JSON, PARTS };

static const char *kind_of(const char *output)
{
    static const char *const kinds[] = {".npy", ".png", ".json"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (cli_ends_with(output, kinds[i]))
            return kinds[i];
    return NULL;
}

/* Length of the name of an acquisition without what files of its kind end in. */
static size_t stem_of(const char *base)
{
    static const char *const ends[] = {"_master.h5", ".qem", ".h5", ".npy"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (cli_ends_with(base, ends[i]) && strlen(base) > strlen(ends[i]))
            return strlen(base) - strlen(ends[i]);
    return strlen(base);
}

/* PREFIX_part; with several acquisitions PREFIX_STEM_part.  Empty where this -o does not ask for that part. */
static int part_name(const cli *c, size_t which, const char *output, size_t k, char out[MAX_PATH])
{
    const char *kind = kind_of(output), *base = cli_base(c->argument[which]);
    int prefix = (int)(strlen(output) - (kind ? strlen(kind) : 0)), n;
    out[0] = 0;
    if (kind && strcmp(kind, parts[k].kind) != 0)
        return CLI_DONE;
    if (c->n_arguments > 1)
        n = snprintf(out, MAX_PATH, "%.*s_%.*s%s", prefix, output, (int)stem_of(base), base, parts[k].name);
    else
        n = snprintf(out, MAX_PATH, "%.*s%s", prefix, output, parts[k].name);
    return n < 0 || n >= MAX_PATH ? cli_fail(CLI_BAD_CALL, output, "the path is too long") : CLI_DONE;
}

static bool same_stem(const char *a, const char *b)
{
    const char *x = cli_base(a), *y = cli_base(b);
    return stem_of(x) == stem_of(y) && strncmp(x, y, stem_of(x)) == 0;
}

/* Also no other acquisition of the call is replaced, read or not yet. */
static int check_output(const cli *c, const char *path)
{
    for (size_t i = 1; i < c->n_arguments; i++)
        if (cli_same_file(c->argument[i], path))
            return cli_fail(CLI_BAD_CALL, path, "is what this call reads, and is never replaced: give another name");
    int code = cli_output_free(c, path);
    return code == CLI_DONE ? cli_output_folder(path) : code;
}

static int check_call(const cli *c)
{
    char path[MAX_PATH];
    if (!c->n_outputs && !c->json)
        return cli_fail(CLI_BAD_CALL, NULL, "say where to: -o PREFIX; see ronchi parallax --help");
    for (size_t i = 0; i < c->n_outputs; i++)
        if (cli_ends_with(c->output[i], ".tiff") || cli_ends_with(c->output[i], ".tif"))
            return cli_fail(CLI_BAD_CALL, c->output[i],
                            "arrays go to .npy, pictures to .png: give -o PREFIX or one of these");
    for (size_t i = 0; i < c->n_arguments; i++)
        for (size_t k = 0; k < i; k++)
            if (c->n_outputs && same_stem(c->argument[i], c->argument[k]))
                return cli_fail(CLI_BAD_CALL, c->argument[i],
                                "two acquisitions of one name would get the same outputs");
    for (size_t which = 0; which < c->n_arguments; which++)
        for (size_t i = 0; i < c->n_outputs; i++)
            for (size_t k = 0; k < PARTS; k++) {
                int code = part_name(c, which, c->output[i], k, path);
                if (code == CLI_DONE && path[0])
                    code = check_output(c, path);
                if (code != CLI_DONE)
                    return code;
            }
    return CLI_DONE;
}

/* "6,3,1" */
static int take_bins(const cli *c, ronchi_parallax_options *o)
{
    for (const char *at = c->bins; at;) {
        size_t length = strcspn(at, ",");
        uint64_t n;
        if (o->n_bins == RONCHI_PARALLAX_LEVELS || !cli_number_count(at, length, &n) || n > 4096)
            return cli_fail(CLI_BAD_CALL, NULL, "--bins takes at most %d falling numbers, such as 6,3,1",
                            (int)RONCHI_PARALLAX_LEVELS);
        o->bins[o->n_bins++] = (uint32_t)n;
        at = at[length] ? at + length + 1 : NULL;
    }
    return CLI_DONE;
}

static int take_options(const cli *c, ronchi_parallax_options *o)
{
    ronchi_parallax_options_defaults(o);
    if (c->given[OPT_RADIUS] && !(c->radius > 0))
        return cli_fail(CLI_BAD_CALL, NULL, "--radius must be more than 0");
    if (c->given[OPT_UPSAMPLE] && (c->upsample < 1 || c->upsample > 8))
        return cli_fail(CLI_BAD_CALL, NULL, "--upsample is 1 to 8");
    if (c->given[OPT_ITERATIONS] && (c->iterations < 1 || c->iterations > 20))
        return cli_fail(CLI_BAD_CALL, NULL, "--iterations is 1 to 20");
    if (c->given[OPT_WORKSPACE] && !c->workspace)
        return cli_fail(CLI_BAD_CALL, NULL, "--workspace must be more than 0");
    o->center_given = c->given[OPT_CENTER];
    o->center_row = c->center[0];
    o->center_col = c->center[1];
    o->radius_px = c->given[OPT_RADIUS] ? c->radius : 0;
    o->iterations = c->given[OPT_ITERATIONS] ? (uint32_t)c->iterations : o->iterations;
    o->upsample = c->given[OPT_UPSAMPLE] ? (uint32_t)c->upsample : o->upsample;
    o->fit = c->fit;
    o->reference = c->reference;
    o->near_given = c->given[OPT_NEAR_DEG];
    o->near_deg = c->near_deg;
    o->workspace_bytes = c->given[OPT_WORKSPACE] ? c->workspace : o->workspace_bytes;
    return c->given[OPT_BINS] ? take_bins(c, o) : CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------- reports */

/* What prints with two decimals as -0.00 is 0.00. */
static double no_minus(double value)
{
    return fabs(value) < 0.005 ? 0.0 : value;
}

static void say(const ronchi_parallax_result *r)
{
    const ronchi_parallax_aberrations *a = &r->aberrations;
    char size[32], other[32];
    printf("disk: centre (%.2f, %.2f), radius %.2f px, %zu images of %.3g counts a position", r->disk.row, r->disk.col,
           r->disk.radius, r->n, r->dose);
    if (r->n_flagged + r->n_left_out)
        printf("; %zu flagged, %zu left out", r->n_flagged, r->n_left_out);
    printf("\nshifts: bins of");
    for (uint32_t i = 0; i < r->n_bins; i++)
        printf("%s %u", i ? "," : "", r->bins[i]);
    printf(" px, against %s; %zu of %zu held to the fit\n",
           r->reference == RONCHI_PARALLAX_REFERENCE_TRANSFER ? "the specimen as each pixel transfers it" : "the mean",
           r->n_held, r->n);
    if (a->fitted) {
        printf("aberrations: C10 %.2f angstrom, C12 %.2f angstrom at %.1f degrees; the scatter of the shifts gives +- "
               "%.2f\n",
               a->c10_a, a->c12_a, a->phi12_deg, a->c10_error_a);
        printf("rotation: %.2f +- %.2f degrees, detector %stransposed; %.2f degrees fit as well, with C10 of the other "
               "sign\n",
               no_minus(a->rotation_deg), a->rotation_error_deg, a->transpose ? "" : "not ",
               a->rotation_deg > 0 ? a->rotation_deg - 180 : a->rotation_deg + 180);
    } else {
        printf("aberrations: not fitted%s%s\n", a->missing[0] ? "; " : "", a->missing);
    }
    if (r->low_pass > 0)
        printf("image: smoothed by %.1f scan steps, which fills the holes between shifts\n", r->low_pass);
    printf("memory: at most %s of decoded counts and images, %s of spectra\n", cli_size(r->peak_decoded_bytes, size),
           cli_size(r->workspace_bytes, other));
}

static void put_pair(cli_json *json, const char *key, double a, double b)
{
    cli_json_open(json, key, '[');
    cli_json_real(json, NULL, a);
    cli_json_real(json, NULL, b);
    cli_json_close(json, ']');
}

static void put_aberrations(cli_json *json, const ronchi_parallax_aberrations *a)
{
    if (!a->fitted) {
        cli_json_null(json, "aberrations");
    } else {
        cli_json_open(json, "aberrations", '{');
        cli_json_real(json, "c10_a", a->c10_a);
        cli_json_real(json, "c12_a", a->c12_a);
        cli_json_real(json, "phi12_deg", a->phi12_deg);
        cli_json_real(json, "rotation_deg", a->rotation_deg);
        cli_json_bool(json, "transpose", a->transpose != 0);
        cli_json_real(json, "c10_error_a", a->c10_error_a);
        cli_json_real(json, "c12_error_a", a->c12_error_a);
        cli_json_real(json, "rotation_error_deg", a->rotation_error_deg);
        cli_json_close(json, '}');
    }
    cli_json_text(json, "missing", a->missing[0] ? a->missing : NULL);
    cli_json_open(json, "calibration", '{');
    cli_json_real(json, "wavelength_a", a->wavelength_a > 0 ? a->wavelength_a : (double)NAN);
    put_pair(json, "dk_per_angstrom", a->dk_row > 0 ? a->dk_row : (double)NAN, a->dk_col > 0 ? a->dk_col : (double)NAN);
    put_pair(json, "scan_step_a", a->step_row_a > 0 ? a->step_row_a : (double)NAN,
             a->step_col_a > 0 ? a->step_col_a : (double)NAN);
    cli_json_text(json, "dk_from", a->dk_from[0] ? a->dk_from : NULL);
    cli_json_close(json, '}');
}

static void put_json(const cli *c, FILE *out, const char *path, const ronchi_parallax_options *o,
                     const ronchi_parallax_result *r)
{
    cli_json json = {out, 0, true};
    cli_json_open(&json, NULL, '{');
    cli_json_count(&json, "ronchi_parallax", 1);
    cli_json_text(&json, "version", ronchi_version());
    cli_json_text(&json, "path", path);
    put_pair(&json, "scan_shape", (double)r->scan_rows, (double)r->scan_cols);
    put_pair(&json, "image_shape", (double)r->rows, (double)r->cols);
    cli_json_open(&json, "disk", '{');
    put_pair(&json, "centre_px", r->disk.row, r->disk.col);
    cli_json_real(&json, "radius_px", r->disk.radius);
    cli_json_bool(&json, "centre_given", o->center_given != 0);
    cli_json_bool(&json, "radius_given", o->radius_px > 0);
    cli_json_count(&json, "images", r->n);
    cli_json_count(&json, "flagged", r->n_flagged);
    cli_json_count(&json, "left_out", r->n_left_out);
    cli_json_real(&json, "counts_per_position", r->dose);
    cli_json_close(&json, '}');
    cli_json_open(&json, "bins", '[');
    for (uint32_t i = 0; i < r->n_bins; i++)
        cli_json_count(&json, NULL, r->bins[i]);
    cli_json_close(&json, ']');
    cli_json_bool(&json, "bins_given", o->n_bins > 0);
    cli_json_count(&json, "iterations", o->iterations);
    cli_json_text(&json, "reference", r->reference == RONCHI_PARALLAX_REFERENCE_TRANSFER ? "transfer" : "mean");
    cli_json_count(&json, "held", r->n_held);
    cli_json_open(&json, "alignment_matrix", '[');
    put_pair(&json, NULL, r->matrix[0][0], r->matrix[0][1]);
    put_pair(&json, NULL, r->matrix[1][0], r->matrix[1][1]);
    cli_json_close(&json, ']');
    put_aberrations(&json, &r->aberrations);
    cli_json_real(&json, "near_deg", o->near_given ? o->near_deg : (double)NAN);
    cli_json_count(&json, "upsample", r->upsample);
    cli_json_real(&json, "low_pass_steps", r->low_pass);
    cli_json_count(&json, "budget_bytes", ronchi_context_budget(c->context));
    cli_json_count(&json, "peak_decoded_bytes", r->peak_decoded_bytes);
    cli_json_count(&json, "workspace_bytes", r->workspace_bytes);
    cli_json_close(&json, '}');
}

/* ------------------------------------------------------------------------------------------------------- outputs */

static int write_json(cli *c, const char *path, const char *source, const ronchi_parallax_options *o,
                      const ronchi_parallax_result *r)
{
    char scratch[MAX_PATH + 16];
    snprintf(scratch, sizeof scratch, "%s.unfinished", path);
    FILE *out = fopen(scratch, "w");
    if (!out)
        return cli_fail(CLI_FAILED, path, "cannot be written: %s", strerror(errno));
    put_json(c, out, source, o, r);
    fputc('\n', out);
    bool written = fflush(out) == 0 && !ferror(out);
    if (fclose(out) != 0 || !written || rename(scratch, path) != 0) {
        int reason = errno;
        remove(scratch);
        return cli_fail(CLI_FAILED, path, "cannot be written: %s", strerror(reason));
    }
    if (!c->quiet)
        cli_print("wrote %s\n", path);
    return CLI_DONE;
}

static int write_shifts(cli *c, const char *path, const ronchi_parallax_result *r)
{
    ronchi_view view;
    ronchi_picture_options none;
    ronchi_picture_options_defaults(&none);
    int code = cli_array(r->n, SHIFT_COLS, RONCHI_F64, &view);
    if (code != CLI_DONE)
        return code;
    double *to = view.data;
    for (size_t i = 0; i < r->n; i++, to += SHIFT_COLS) {
        to[0] = r->pixel_row[i];
        to[1] = r->pixel_col[i];
        to[2] = r->shift_row[i];
        to[3] = r->shift_col[i];
        to[4] = r->error[i];
        to[5] = r->held[i];
    }
    code = cli_write(c, path, &view, &none);
    free(view.data);
    return code;
}

/* Some pixels on a grid; the longest arrow is as long as the grid is wide. */
static size_t choose_arrows(const ronchi_parallax_result *r, double *arrays[4], uint8_t *held, double *longest,
                            double *pitch)
{
    size_t step = (size_t)fmax(1.0, floor(2 * r->disk.radius / ARROWS_ACROSS + 0.5)), n = 0;
    *longest = 0;
    *pitch = (double)step;
    for (size_t i = 0; i < r->n; i++) {
        if (r->pixel_row[i] % step != step / 2 || r->pixel_col[i] % step != step / 2)
            continue;
        arrays[0][n] = r->pixel_row[i];
        arrays[1][n] = r->pixel_col[i];
        arrays[2][n] = r->shift_row[i];
        arrays[3][n] = r->shift_col[i];
        held[n] = r->held[i];
        *longest = fmax(*longest, hypot(arrays[2][n], arrays[3][n]));
        n++;
    }
    return n;
}

static int draw_shifts(cli *c, const char *path, const ronchi_parallax_result *r, const ronchi_acquisition_info *info)
{
    const ronchi_parallax_aberrations *a = &r->aberrations;
    char text[3][96];
    const char *const lines[3] = {text[0], text[1], text[2]};
    double *memory = malloc(4 * r->n * sizeof *memory), longest, pitch;
    uint8_t *held = malloc(r->n);
    if (!memory || !held) {
        free(memory);
        free(held);
        return cli_fail(CLI_FAILED, path, "no memory for the arrows");
    }
    double *arrays[4] = {memory, memory + r->n, memory + 2 * r->n, memory + 3 * r->n};
    ronchi_arrows arrows = {0, arrays[0], arrays[1], arrays[2], arrays[3], held, 0, 3, lines};
    arrows.n = choose_arrows(r, arrays, held, &longest, &pitch);
    arrows.scale = longest > 0 ? 1.4 * pitch / longest : 0;
    snprintf(text[0], sizeof text[0], "shifts up to %.2f scan steps", longest);
    snprintf(text[1], sizeof text[1],
             a->fitted ? "C10 = %.1f \xC3\x85, C12 = %.1f \xC3\x85 (%.1f\xC2\xB0)" : "not calibrated", a->c10_a,
             a->c12_a, a->phi12_deg);
    snprintf(text[2], sizeof text[2], a->fitted ? "rotation = %.2f\xC2\xB0%s" : " ", no_minus(a->rotation_deg),
             a->transpose ? ", transposed" : "");
    ronchi_picture_options picture;
    cli_picture_pattern(c, info, &picture);
    picture.force = c->force;
    ronchi_view mean = ronchi_view_2d(r->mean, RONCHI_F64, r->det_rows, r->det_cols);
    int code = CLI_DONE;
    if (ronchi_picture_arrows_png(path, &mean, &arrows, &picture, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    else if (!c->quiet)
        cli_print("wrote %s: %zu arrows\n", path, arrows.n);
    free(memory);
    free(held);
    return code;
}

static int write_part(cli *c, size_t k, const char *path, const char *source, const ronchi_parallax_options *o,
                      const ronchi_parallax_result *r, const ronchi_acquisition_info *info)
{
    float *const planes[] = {[IMAGE_NPY] = r->image,
                             [RAW_NPY] = r->raw,
                             [DENSITY_NPY] = r->density,
                             [SHIFTS_NPY] = NULL,
                             [IMAGE_PNG] = r->image};
    if (k == SHIFTS_NPY)
        return write_shifts(c, path, r);
    if (k == SHIFTS_PNG)
        return draw_shifts(c, path, r, info);
    if (k == JSON)
        return write_json(c, path, source, o, r);
    ronchi_view view = ronchi_view_2d(planes[k], RONCHI_F32, r->rows, r->cols);
    ronchi_picture_options picture;
    cli_picture_image(c, info, &picture);
    picture.pixel_size /= (double)r->upsample;
    return cli_write(c, path, &view, &picture);
}

static int write_all(cli *c, size_t which, const ronchi_parallax_options *o, const ronchi_parallax_result *r,
                     const ronchi_acquisition_info *info)
{
    char path[MAX_PATH];
    for (size_t i = 0; i < c->n_outputs; i++)
        for (size_t k = 0; k < PARTS; k++) {
            int code = part_name(c, which, c->output[i], k, path);
            if (code == CLI_DONE && path[0])
                code = write_part(c, k, path, c->argument[which], o, r, info);
            if (code != CLI_DONE)
                return code;
        }
    return CLI_DONE;
}

static int compute(cli *c, size_t which, const ronchi_parallax_options *o)
{
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    ronchi_parallax_result r = {0};
    int code = cli_load(c, c->argument[which], &acquisition, &info);
    if (code == CLI_DONE && ronchi_parallax_run(acquisition, o, &r, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    cli_progress_clear();
    if (code == CLI_DONE) {
        if (c->json) {
            put_json(c, stdout, c->argument[which], o, &r);
        } else if (!c->quiet) {
            if (c->n_arguments > 1)
                cli_print("%s\n", c->argument[which]);
            say(&r);
        }
        bool quiet = c->quiet;
        c->quiet = quiet || c->json; /* standard output is JSON */
        code = write_all(c, which, o, &r, &info);
        c->quiet = quiet;
    }
    ronchi_parallax_result_free(&r);
    ronchi_acquisition_destroy(acquisition);
    return code;
}

static int run(cli *c)
{
    ronchi_parallax_options options;
    int code = check_call(c);
    if (code == CLI_DONE)
        code = take_options(c, &options);
    for (size_t i = 0; i < c->n_arguments && code == CLI_DONE; i++) { /* before the work on those that are there */
        struct stat st;
        if (stat(c->argument[i], &st) != 0)
            code = cli_fail(CLI_BAD_CALL, c->argument[i], "no such file");
    }
    bool list = c->json && c->n_arguments > 1;
    if (code == CLI_DONE && list)
        printf("[");
    for (size_t i = 0; i < c->n_arguments && code == CLI_DONE; i++) {
        if (list && i)
            printf(",\n");
        code = compute(c, i, &options);
    }
    if (list && code == CLI_DONE)
        printf("]");
    if (c->json && code == CLI_DONE)
        putchar('\n');
    return code;
}

const cli_command command_parallax = {
    "parallax",
    "PATH... -o PREFIX",
    "bright-field images aligned and added; aberrations from their shifts",
    "Every pixel of the bright-field disk sees the specimen from its own angle. The images are aligned, coarse to "
    "fine,\n"
    "and added on a finer grid. -o PREFIX writes PREFIX_image (normalised, without holes), PREFIX_raw and\n"
    "PREFIX_density (.npy), PREFIX_shifts.npy (detector row and column, shift along scan rows and columns in steps,\n"
    "expected error, 1 where held to the fit), pictures of image and shifts, and all parameters and results in\n"
    "PREFIX.json; a PREFIX that ends in .npy, .png or .json only what ends so. With several PATHs their names follow\n"
    "PREFIX. C10 (= -defocus), C12 and the rotation of the detector need scan step, voltage and the angle of a pixel.",
    "ronchi parallax scan_01.qem --semiangle-mrad 25 -o scan_01",
    1,
    CLI_MAX_ARGUMENTS,
    FOR_PARALLAX,
    run,
};
