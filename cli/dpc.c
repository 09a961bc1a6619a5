/* SPDX-License-Identifier: MIT */
/* dpc.c - differential phase contrast: phase, divergence and field. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

enum { MAX_PATH = 4096, PARTS = 4, EXTRAS = 2, CURL_POINTS = 181, CURL_COLS = 3 };
static const char *const part_names[PARTS + EXTRAS] = {"idpc", "ddpc", "row", "col", "curl", "field"};

/* The curves of the curl go with numbers and pictures, the field in colours is a picture. */
static size_t parts_of(const char *path)
{
    return cli_ends_with(path, ".png") ? PARTS + 2 : cli_ends_with(path, ".npy") ? PARTS + 1 : PARTS;
}

/* NAME_idpc.SUFFIX for NAME.SUFFIX. */
static int part_name(const char *path, const char *part, char out[MAX_PATH])
{
    const char *dot = strrchr(path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);
    int n = snprintf(out, MAX_PATH, "%.*s_%s%s", stem, path, part, dot ? dot : "");
    if (n < 0 || n >= MAX_PATH)
        return cli_fail(CLI_BAD_CALL, path, "the path is too long");
    return CLI_DONE;
}

static int check_call(const cli *c)
{
    char path[MAX_PATH];
    if (!c->n_outputs && !c->json)
        return cli_output_needed(c);
    if (c->n_images > 1)
        return cli_fail(CLI_BAD_CALL, NULL, "one --mask at a time");
    if (c->given[OPT_BRANCH] && c->given[OPT_NEAR_DEG])
        return cli_fail(CLI_BAD_CALL, NULL, "--branch or --near-deg, not both");
    if (c->given[OPT_ROTATION_DEG] && c->find_rotation)
        return cli_fail(CLI_BAD_CALL, NULL, "--rotation-deg or --find-rotation, not both");
    for (size_t i = 0; i < c->n_outputs; i++)
        for (size_t k = 0; k < parts_of(c->output[i]); k++) {
            int code = part_name(c->output[i], part_names[k], path);
            if (code == CLI_DONE)
                code = cli_output_check(c, path);
            if (code != CLI_DONE)
                return code;
        }
    return CLI_DONE;
}

static void take_options(const cli *c, const ronchi_view *mask, ronchi_dpc_options *o)
{
    static const int32_t branches[] = {RONCHI_DPC_BRANCH_OPEN, RONCHI_DPC_BRANCH_POSITIVE};
    ronchi_dpc_options_defaults(o);
    o->mask = c->n_images ? mask : NULL;
    o->background = c->dpc_background;
    o->rotation_given = c->given[OPT_ROTATION_DEG];
    o->rotation_deg = c->rotation_deg;
    o->find_rotation = c->find_rotation;
    o->transpose = c->given[OPT_TRANSPOSE] ? 1 : -1; /* -1: as stored, or found */
    o->branch = c->given[OPT_NEAR_DEG] ? RONCHI_DPC_BRANCH_NEAR : branches[c->branch];
    o->near_deg = c->near_deg;
    o->boundary = c->boundary;
    o->highpass = c->highpass;
}

static void say(const ronchi_dpc_result *r)
{
    const ronchi_dpc_alignment *a = &r->alignment;
    printf("rotation: %.3f degrees", a->rotation_deg);
    if (a->given)
        printf(a->given == 2 ? ", as stored with the data" : ", given");
    else
        printf(" +- %.3f", a->uncertainty_deg);
    printf(", detector %stransposed\n", a->transpose ? "" : "not ");
    printf("curl left: %.4f of the derivatives (%.4f for a detector %stransposed)\n", a->curl, a->curl_other,
           a->transpose ? "not " : "");
    if (a->branch_open)
        printf("branch: open: %.3f degrees fit as well, with the phase inverted; fix it with --branch positive or "
               "--near-deg\n",
               a->rotation_deg > 0 ? a->rotation_deg - 180 : a->rotation_deg + 180);
    if (r->units.calibrated)
        printf("units: phase in rad, by %s\n", r->units.dk_from);
    else
        printf("units: phase in %s; %s\n", r->units.phase_unit, r->units.missing);
    if (r->n_invalid)
        printf("positions left out: %zu of %zu\n", r->n_invalid, r->rows * r->cols);
}

static void put_json(const cli *c, const ronchi_dpc_options *o, const ronchi_dpc_result *r)
{
    static const char *const backgrounds[] = {"mean", "plane", "none"};
    static const char *const branches[] = {"open", "near", "positive"};
    static const char *const origins[] = {"field", "option", "stored"};
    const ronchi_dpc_alignment *a = &r->alignment;
    const ronchi_dpc_units *u = &r->units;
    cli_json json = {stdout, 0, true};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "path", c->argument[0]);
    cli_json_count(&json, "scan_rows", r->rows);
    cli_json_count(&json, "scan_cols", r->cols);
    cli_json_text(&json, "mask", c->n_images ? c->image[0].mask : NULL);
    cli_json_text(&json, "background", backgrounds[o->background]);
    cli_json_text(&json, "boundary", o->boundary == RONCHI_DPC_MIRROR ? "mirror" : "periodic");
    cli_json_real(&json, "highpass", o->highpass);
    cli_json_real(&json, "rotation_deg", a->rotation_deg);
    cli_json_bool(&json, "transpose", a->transpose != 0);
    cli_json_bool(&json, "rotation_given", a->given != 0);
    cli_json_text(&json, "rotation_from", origins[a->given]);
    cli_json_real(&json, "uncertainty_deg", a->uncertainty_deg);
    cli_json_text(&json, "branch", branches[o->branch]);
    cli_json_bool(&json, "branch_open", a->branch_open != 0);
    cli_json_real(&json, "curl", a->curl);
    cli_json_real(&json, "curl_other", a->curl_other);
    cli_json_real(&json, "smoothing_steps", a->smoothing);
    cli_json_bool(&json, "calibrated", u->calibrated != 0);
    cli_json_text(&json, "missing", u->missing[0] ? u->missing : NULL);
    cli_json_text(&json, "field_unit", u->field_unit);
    cli_json_text(&json, "phase_unit", u->phase_unit);
    cli_json_text(&json, "divergence_unit", u->divergence_unit);
    cli_json_real(&json, "dk_row_per_angstrom", u->dk_row);
    cli_json_real(&json, "dk_col_per_angstrom", u->dk_col);
    cli_json_real(&json, "pixel_row_mrad", u->mrad_row);
    cli_json_real(&json, "pixel_col_mrad", u->mrad_col);
    cli_json_real(&json, "step_row", u->step_row);
    cli_json_real(&json, "step_col", u->step_col);
    cli_json_real(&json, "beam_row_px", r->background[0][0]);
    cli_json_real(&json, "beam_col_px", r->background[1][0]);
    cli_json_count(&json, "positions_left_out", r->n_invalid);
    cli_json_close(&json, '}');
    putchar('\n');
}

/* The share of the curl that is left at every rotation from -90 to 90 degrees, for a detector not transposed and
 * transposed. */
static int write_curl(cli *c, const ronchi_dpc_alignment *a, const char *path)
{
    static const char *const names[] = {"curl", "curl, transposed"};
    double curves[CURL_COLS][CURL_POINTS], table[CURL_POINTS][CURL_COLS];
    const double *const y[] = {curves[1], curves[2]};
    for (int i = 0; i < CURL_POINTS; i++) {
        curves[0][i] = i - 90;
        for (int t = 0; t < 2; t++)
            curves[1 + t][i] = ronchi_dpc_curl(a, i - 90, t);
        for (int k = 0; k < CURL_COLS; k++)
            table[i][k] = curves[k][i];
    }
    if (cli_ends_with(path, ".npy")) {
        ronchi_view view = ronchi_view_2d(table, RONCHI_F64, CURL_POINTS, CURL_COLS);
        ronchi_picture_options unused;
        ronchi_picture_options_defaults(&unused);
        return cli_write(c, path, &view, &unused);
    }
    double within = a->rotation_deg - 180.0 * ceil(a->rotation_deg / 180.0 - 0.5);
    ronchi_plot plot = {CURL_POINTS, 2, curves[0], y, names, "rotation, \xC2\xB0", within};
    if (ronchi_picture_plot_png(path, &plot, c->force, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    if (!c->quiet)
        cli_print("wrote %s: a plot\n", path);
    return CLI_DONE;
}

static int write_field(cli *c, const ronchi_dpc_result *r, const ronchi_acquisition_info *info, const char *path)
{
    ronchi_view row = ronchi_view_2d(r->field_row, RONCHI_F64, r->rows, r->cols),
                col = ronchi_view_2d(r->field_col, RONCHI_F64, r->rows, r->cols);
    ronchi_picture_options picture;
    cli_picture_image(c, info, &picture);
    picture.force = c->force;
    if (ronchi_picture_field_png(path, &row, &col, &picture, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    if (!c->quiet)
        cli_print("wrote %s: %zu x %zu\n", path, r->rows, r->cols);
    return CLI_DONE;
}

static int write_all(cli *c, const ronchi_dpc_result *r, const ronchi_acquisition_info *info)
{
    double *const data[PARTS] = {r->phase, r->divergence, r->field_row, r->field_col};
    char path[MAX_PATH];
    for (size_t i = 0; i < c->n_outputs; i++)
        for (size_t k = 0; k < parts_of(c->output[i]); k++) {
            int code = part_name(c->output[i], part_names[k], path);
            if (code == CLI_DONE && k < PARTS) {
                ronchi_view view = ronchi_view_2d(data[k], RONCHI_F64, r->rows, r->cols);
                ronchi_picture_options picture;
                cli_picture_image(c, info, &picture);
                picture.signed_range = k >= 2; /* components of the field */
                code = cli_write(c, path, &view, &picture);
            } else if (code == CLI_DONE) {
                code = k == PARTS ? write_curl(c, &r->alignment, path) : write_field(c, r, info, path);
            }
            if (code != CLI_DONE)
                return code;
        }
    return CLI_DONE;
}

static int compute(cli *c, const ronchi_acquisition *acquisition, const ronchi_acquisition_info *info)
{
    ronchi_view mask = {0};
    ronchi_dpc_options options;
    ronchi_dpc_result result = {0};
    int code =
        c->n_images ? cli_mask_read(c, c->image[0].mask, info->shape.det_rows, info->shape.det_cols, &mask) : CLI_DONE;
    take_options(c, &mask, &options);
    if (code == CLI_DONE && ronchi_dpc_run(acquisition, &options, &result, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    if (code == CLI_DONE) {
        if (c->json)
            put_json(c, &options, &result);
        else if (!c->quiet)
            say(&result);
        c->quiet = c->quiet || c->json; /* standard output is one JSON object */
        code = write_all(c, &result, info);
    }
    ronchi_dpc_result_free(&result);
    free(mask.data);
    return code;
}

static int run(cli *c)
{
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    int code = check_call(c);
    if (code == CLI_DONE)
        code = cli_load(c, c->argument[0], &acquisition, &info);
    if (code == CLI_DONE)
        code = compute(c, acquisition, &info);
    ronchi_acquisition_destroy(acquisition);
    return code;
}

const cli_command command_dpc = {
    "dpc",
    "PATH [--rotation-deg X [--transpose]] -o FILE",
    "differential phase contrast: phase (iDPC), divergence (dDPC), field",
    "-o dpc.npy writes dpc_idpc.npy (phase), dpc_ddpc.npy (its Laplacian), dpc_row.npy and dpc_col.npy (its gradient\n"
    "along scan rows and columns), float64, and dpc_curl.npy (rotation, curl left, curl left transposed); -o dpc.png "
    "the\n"
    "same as pictures, and dpc_field.png, whose colours are directions. The angle between detector and scan, and\n"
    "whether the detector is transposed, are found from the field unless given or stored with the data; 180 degrees,\n"
    "and with them the sign of the phase, stay open until --branch or --near-deg fixes them. Units are rad and\n"
    "angstrom where scan step, voltage and the angle of a pixel are known.",
    "ronchi dpc scan_01.qem --branch positive -o dpc.png -o dpc.npy",
    1,
    1,
    FOR_DPC,
    run,
};
