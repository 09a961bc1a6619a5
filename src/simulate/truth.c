/* SPDX-License-Identifier: MIT */
/* truth.c - writes what later reconstructions are judged by. */
#include "simulate/truth.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/port.h"
#include "formats/dectris_write.h"

static const char JSON_SUFFIX[] = "_truth.json", PHASE_SUFFIX[] = "_truth_phase.npy";

static json_t *pair(double a, double b)
{
    return json_pack("[f, f]", a, b);
}

static json_t *pixels(const ronchi_simulation *s, bool flagged)
{
    const ronchi_simulate_options *o = &s->options;
    json_t *list = json_array();
    for (size_t i = 0; i < o->det_rows * o->det_cols; i++)
        if (s->fixed[i] && (s->flagged[i] != 0) == flagged)
            json_array_append_new(list, json_pack("{s: [I, I], s: I}", "pixel", (json_int_t)(i / o->det_cols),
                                                  (json_int_t)(i % o->det_cols), "value", (json_int_t)s->fixed[i]));
    return list;
}

static json_t *parameters(const ronchi_simulate_options *o)
{
    return json_pack(
        "{s: [I, I], s: [I, I], s: f, s: f, s: f, s: f, s: f, s: f, s: f, s: f, s: f, s: f, s: f, s: b, s: s, s: I, "
        "s: s, s: I}",
        "scan_shape", (json_int_t)o->scan_rows, (json_int_t)o->scan_cols, "detector_shape", (json_int_t)o->det_rows,
        (json_int_t)o->det_cols, "voltage_kv", o->voltage_kv, "semiangle_mrad", o->semiangle_mrad, "disk_radius_px",
        o->disk_radius_px, "scan_step_a", o->scan_step_a, "c10_a", o->c10_a, "c12_a", o->c12_a, "phi12_deg",
        o->phi12_deg, "dose", o->dose, "background", o->background, "phase_scale", o->phase_scale, "rotation_deg",
        o->rotation_deg, "transpose", o->transpose, "dtype", ronchi_dtype_name(o->dtype), "extra_frames_per_line",
        (json_int_t)o->flyback, "extra_frames_at", o->flyback_at == RONCHI_FLYBACK_START ? "start" : "end", "seed",
        (json_int_t)o->seed);
}

static json_t *derived(const ronchi_simulation *s)
{
    const ronchi_simulate_options *o = &s->options;
    return json_pack("{s: f, s: f, s: f, s: [I, I], s: [I, I], s: f, s: f}", "wavelength_a", s->optics.wavelength_a,
                     "detector_step_mrad", o->semiangle_mrad / o->disk_radius_px, "detector_step_per_a", s->optics.dk,
                     "pattern_centre", (json_int_t)(o->det_rows / 2), (json_int_t)(o->det_cols / 2), "window_samples",
                     (json_int_t)s->n_rows, (json_int_t)s->n_cols, "window_step_row_a", s->step[0], "window_step_col_a",
                     s->step[1]);
}

/* The shifts of the bright-field images: the matrix, and its values at the disk's edge. */
static json_t *shifts(const ronchi_simulation *s)
{
    double m[2][2], step = s->options.scan_step_a, r = s->options.disk_radius_px;
    const double at[][2] = {{0, 0}, {r, 0}, {-r, 0}, {0, r}, {0, -r}};
    json_t *values = json_array();
    ronchi_optics_alignment(&s->optics, m);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
        json_array_append_new(values, json_pack("{s: o, s: o}", "detector_pixel_from_centre", pair(at[i][0], at[i][1]),
                                                "alignment_shift_scan_px",
                                                pair((m[0][0] * at[i][0] + m[0][1] * at[i][1]) / step,
                                                     (m[1][0] * at[i][0] + m[1][1] * at[i][1]) / step)));
    return json_pack(
        "{s: s, s: s, s: [[f, f], [f, f]], s: o}", "formula",
        "alignment_shift = alignment_matrix (pixel - pattern_centre), (row, column), scan pixels; it is grad chi / "
        "(2 pi) in scan axes",
        "meaning",
        "image_of_pixel(r) = image_of_centre(r + alignment_shift): shifting the image of the pixel by alignment_shift "
        "lays it on that of the centre",
        "alignment_matrix", m[0][0] / step, m[0][1] / step, m[1][0] / step, m[1][1] / step, "values", values);
}

static json_t *make_json(const ronchi_simulation *s, const ronchi_truth *truth, const char *phase_name)
{
    const double(*d)[2] = s->optics.detector_from_scan;
    return json_pack("{s: s, s: s, s: o, s: o, s: {s: s, s: [[f, f], [f, f]]}, s: o, s: {s: s, s: s}, s: {s: s, s: I, "
                     "s: f, s: I}, s: o, s: o}",
                     "schema", "ronchi-simulate-truth/1", "software", "Ronchi " RONCHI_VERSION_STRING, "parameters",
                     parameters(&s->options), "derived", derived(s), "axes", "formula",
                     "detector vector = detector_from_scan (scan vector), (row, column); the centre of mass moves by "
                     "detector_from_scan (gradient "
                     "of the phase) / (2 pi detector_step_per_a) pixels",
                     "detector_from_scan", d[0][0], d[0][1], d[1][0], d[1][1], "bright_field_shifts", shifts(s),
                     "phase", "file", phase_name, "meaning",
                     "phase of the specimen at the probe positions, rad, [scan_row][scan_col] float64", "counts",
                     "sha256", truth->counts_sha256, "largest", (json_int_t)truth->largest, "total", truth->total,
                     "stored_frames", (json_int_t)ronchi_simulation_frames(&s->options), "flagged", pixels(s, true),
                     "hot", pixels(s, false));
}

static ronchi_status write_phase(const ronchi_simulation *s, const ronchi_specimen *specimen, const char *path,
                                 ronchi_error *err)
{
    ronchi_points points = ronchi_simulation_points(&s->options);
    double *phase = ronchi_calloc(s->context, points.rows * points.cols, sizeof *phase); /* sides below 2^16 */
    if (!phase)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for the true phase");
    ronchi_view view = ronchi_view_2d(phase, RONCHI_F64, points.rows, points.cols);
    ronchi_status status = ronchi_specimen_sample(specimen, &points, phase, err);
    if (status == RONCHI_OK)
        status = ronchi_npy_write(path, &view, 2, s->options.force, err);
    ronchi_free(s->context, phase);
    return status;
}

static ronchi_status write_json(const ronchi_simulation *s, const ronchi_truth *truth, const char *path,
                                const char *phase_name, ronchi_error *err)
{
    json_t *json = make_json(s, truth, phase_name);
    char *text = json ? json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    ronchi_output output;
    json_decref(json);
    if (!text)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, path, RONCHI_NO_OFFSET, "no memory for the true answers");
    ronchi_status status = ronchi_output_open(path, s->options.force, &output, err);
    if (status == RONCHI_OK)
        status = ronchi_output_write(&output, text, strlen(text), err);
    if (status == RONCHI_OK)
        status = ronchi_output_write(&output, "\n", 1, err);
    if (status == RONCHI_OK)
        status = ronchi_output_commit(&output, err);
    if (status != RONCHI_OK)
        ronchi_output_abort(&output);
    free(text);
    return status;
}

ronchi_status ronchi_truth_write(const ronchi_simulation *simulation, const ronchi_specimen *specimen,
                                 const char *master_path, const ronchi_truth *truth, ronchi_error *err)
{
    char json[4096], phase[4096];
    ronchi_status status = ronchi_dectris_name(master_path, JSON_SUFFIX, json, sizeof json, err);
    if (status == RONCHI_OK)
        status = ronchi_dectris_name(master_path, PHASE_SUFFIX, phase, sizeof phase, err);
    if (status == RONCHI_OK)
        status = write_phase(simulation, specimen, phase, err);
    if (status != RONCHI_OK)
        return status;
    const char *slash = strrchr(phase, '/');
    status = write_json(simulation, truth, json, slash ? slash + 1 : phase, err);
    if (status != RONCHI_OK)
        ronchi_remove_file(phase);
    return status;
}

void ronchi_truth_remove(const char *master_path)
{
    char path[4096];
    if (ronchi_dectris_name(master_path, JSON_SUFFIX, path, sizeof path, NULL) == RONCHI_OK)
        ronchi_remove_file(path);
    if (ronchi_dectris_name(master_path, PHASE_SUFFIX, path, sizeof path, NULL) == RONCHI_OK)
        ronchi_remove_file(path);
}

ronchi_status ronchi_truth_refuse(const char *master_path, ronchi_error *err)
{
    const char *suffixes[] = {JSON_SUFFIX, PHASE_SUFFIX};
    char path[4096];
    ronchi_stat st;
    for (size_t i = 0; i < 2; i++) {
        ronchi_status status = ronchi_dectris_name(master_path, suffixes[i], path, sizeof path, err);
        if (status == RONCHI_OK)
            status = ronchi_stat_path(path, &st, err);
        if (status == RONCHI_OK && st.exists)
            return ronchi_fail(err, RONCHI_ERR_EXISTS, path, RONCHI_NO_OFFSET,
                               "exists already: give --force to replace it, or another name");
        if (status != RONCHI_OK)
            return status;
    }
    return RONCHI_OK;
}
