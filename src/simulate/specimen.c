/* SPDX-License-Identifier: MIT */
/* specimen.c - lattice, clusters, noise, and their phase at given points. */
#include "simulate/specimen.h"

#include <math.h>
#include <string.h>

#include "simulate/random.h"

/* Angstrom and radian; what stands here is a choice that looks like a thin crystal, nothing is fitted. */
static const double LATTICE_A = 3.9, LATTICE_ANGLE = 0.17, LATTICE_PHASE = 0.35, LATTICE_WIDTH_A = 0.35;
static const double CLUSTER_CELL_A = 18.0, CLUSTER_SHARE = 0.6, CLUSTER_STEP_A = 2.5, CLUSTER_PHASE = 0.55,
                    CLUSTER_WIDTH_A = 0.4;
static const double NOISE_RAD = 0.05, NOISE_WIDTH_A = 0.6;
enum { REACH = 5, BAND_ROWS = 16, CLUSTER_REACH_A = 6 };

/* ------------------------------------------------------------------------------------------------------ atoms */

typedef struct atom_list {
    ronchi_context *context;
    ronchi_atom *atoms;
    size_t n, capacity;
    bool failed;
} atom_list;

static void add_atom(atom_list *list, const ronchi_box *box, ronchi_atom atom)
{
    double reach = REACH * atom.width_a;
    if (atom.row_a < box->row_min - reach || atom.row_a > box->row_max + reach || atom.col_a < box->col_min - reach ||
        atom.col_a > box->col_max + reach || list->failed)
        return;
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 1024, bytes;
        ronchi_atom *atoms = ronchi_mul(capacity, sizeof *atoms, &bytes) ? ronchi_alloc(list->context, bytes) : NULL;
        if (!atoms) {
            list->failed = true;
            return;
        }
        if (list->n)
            memcpy(atoms, list->atoms, list->n * sizeof *atoms);
        ronchi_free(list->context, list->atoms);
        list->atoms = atoms;
        list->capacity = capacity;
    }
    list->atoms[list->n++] = atom;
}

static void add_lattice(atom_list *list, const ronchi_box *box, const double grain[3], double scale)
{
    long n = (long)ceil(grain[2] / LATTICE_A) + 1;
    double c = cos(LATTICE_ANGLE), s = sin(LATTICE_ANGLE);
    for (long i = -n; i <= n; i++)
        for (long j = -n; j <= n; j++) {
            double row = ((double)i * c - (double)j * s) * LATTICE_A, col = ((double)i * s + (double)j * c) * LATTICE_A;
            double weight = (i + j) % 2 ? 1.0 : 0.45;
            if (row * row + col * col < grain[2] * grain[2])
                add_atom(
                    list, box,
                    (ronchi_atom){grain[0] + row, grain[1] + col, scale * LATTICE_PHASE * weight, LATTICE_WIDTH_A});
        }
}

/* A cell of the plane, for a seed: two signed indices in one number. */
static uint64_t cell_index(int64_t row, int64_t col)
{
    return ((uint64_t)row << 32) ^ ((uint64_t)col & 0xFFFFFFFFu);
}

static void add_cluster(atom_list *list, const ronchi_box *box, int64_t row, int64_t col, uint64_t seed, double scale)
{
    ronchi_random random;
    ronchi_random_init(&random, seed, RONCHI_STREAM_CLUSTER, cell_index(row, col));
    bool there = ronchi_random_uniform(&random) < CLUSTER_SHARE;
    double y = ((double)row + ronchi_random_uniform(&random)) * CLUSTER_CELL_A;
    double x = ((double)col + ronchi_random_uniform(&random)) * CLUSTER_CELL_A;
    double angle = 6.283185307179586 * ronchi_random_uniform(&random), c = cos(angle), s = sin(angle);
    double radius = 2.0 + 3.5 * ronchi_random_uniform(&random);
    if (!there)
        return;
    for (int i = -3; i <= 3; i++) /* a hexagonal patch */
        for (int j = -3; j <= 3; j++) {
            double u = CLUSTER_STEP_A * ((double)i + 0.5 * (double)j),
                   v = CLUSTER_STEP_A * 0.8660254037844386 * (double)j;
            if (u * u + v * v < radius * radius)
                add_atom(list, box,
                         (ronchi_atom){y + c * u - s * v, x + s * u + c * v, scale * CLUSTER_PHASE, CLUSTER_WIDTH_A});
        }
}

static void add_clusters(atom_list *list, const ronchi_box *box, uint64_t seed, double scale)
{
    int64_t r0 = (int64_t)floor((box->row_min - 2 * CLUSTER_REACH_A) / CLUSTER_CELL_A);
    int64_t r1 = (int64_t)floor((box->row_max + 2 * CLUSTER_REACH_A) / CLUSTER_CELL_A);
    int64_t c0 = (int64_t)floor((box->col_min - 2 * CLUSTER_REACH_A) / CLUSTER_CELL_A);
    int64_t c1 = (int64_t)floor((box->col_max + 2 * CLUSTER_REACH_A) / CLUSTER_CELL_A);
    for (int64_t r = r0; r <= r1; r++)
        for (int64_t c = c0; c <= c1; c++)
            add_cluster(list, box, r, c, seed, scale);
}

ronchi_status ronchi_specimen_create(ronchi_context *context, uint64_t seed, double scale, const double grain[3],
                                     const ronchi_box *box, ronchi_specimen **out, ronchi_error *err)
{
    atom_list list = {.context = context};
    *out = NULL;
    ronchi_specimen *specimen = ronchi_calloc(context, 1, sizeof *specimen);
    if (specimen && scale != 0.0) {
        add_lattice(&list, box, grain, scale);
        add_clusters(&list, box, seed, scale);
    }
    if (!specimen || list.failed) {
        ronchi_free(context, list.atoms);
        ronchi_free(context, specimen);
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the specimen's atoms");
    }
    *specimen = (ronchi_specimen){context, list.atoms, list.n, fabs(scale) * NOISE_RAD, seed};
    *out = specimen;
    return RONCHI_OK;
}

void ronchi_specimen_destroy(ronchi_specimen *specimen)
{
    if (!specimen)
        return;
    ronchi_free(specimen->context, specimen->atoms);
    ronchi_free(specimen->context, specimen);
}

/* ----------------------------------------------------------------------------------------------------- points */

ronchi_box ronchi_points_box(const ronchi_points *points)
{
    ronchi_box box = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int corner = 0; corner < 4; corner++) {
        double i = corner & 1 ? (double)(points->rows - 1) : 0.0, j = corner & 2 ? (double)(points->cols - 1) : 0.0;
        double row = points->origin[0] + i * points->along_rows[0] + j * points->along_cols[0];
        double col = points->origin[1] + i * points->along_rows[1] + j * points->along_cols[1];
        box.row_min = fmin(box.row_min, row);
        box.row_max = fmax(box.row_max, row);
        box.col_min = fmin(box.col_min, col);
        box.col_max = fmax(box.col_max, col);
    }
    return box;
}

/* Amorphous noise: independent normal numbers on a grid of nodes, NOISE_WIDTH_A apart, each times a Gaussian of that
 * width. */
typedef struct noise_nodes {
    double *value; /* [rows][cols] */
    int64_t row, col;
    size_t rows, cols;
} noise_nodes;

typedef struct sampling {
    const ronchi_specimen *specimen;
    const ronchi_points *points;
    noise_nodes nodes;
    double inverse[2][2]; /* scan vector to grid steps */
    double *out;
} sampling;

static bool make_nodes(const ronchi_specimen *specimen, const ronchi_points *points, noise_nodes *nodes)
{
    ronchi_box box = ronchi_points_box(points);
    /* one node more than is reached: a point inside may be rounded to just outside the box of the corners */
    int64_t r1 = (int64_t)floor(box.row_max / NOISE_WIDTH_A) + REACH + 2;
    int64_t c1 = (int64_t)floor(box.col_max / NOISE_WIDTH_A) + REACH + 2;
    nodes->row = (int64_t)floor(box.row_min / NOISE_WIDTH_A) - REACH - 1;
    nodes->col = (int64_t)floor(box.col_min / NOISE_WIDTH_A) - REACH - 1;
    nodes->rows = (size_t)(r1 - nodes->row + 1);
    nodes->cols = (size_t)(c1 - nodes->col + 1);
    size_t n, bytes;
    if (!ronchi_mul(nodes->rows, nodes->cols, &n) || !ronchi_mul(n, sizeof(double), &bytes))
        return false;
    nodes->value = ronchi_alloc(specimen->context, bytes);
    if (!nodes->value)
        return false;
    /* the sum of squares of the Gaussians at any point is pi (width / spacing)^2 = pi */
    double amplitude = specimen->noise_rad / sqrt(3.14159265358979324);
    for (size_t i = 0; i < nodes->rows; i++)
        for (size_t j = 0; j < nodes->cols; j++) {
            ronchi_random random;
            ronchi_random_init(&random, specimen->seed, RONCHI_STREAM_NOISE,
                               cell_index(nodes->row + (int64_t)i, nodes->col + (int64_t)j));
            nodes->value[i * nodes->cols + j] = amplitude * ronchi_random_normal(&random);
        }
    return true;
}

static double noise_at(const noise_nodes *nodes, double row, double col)
{
    double y = row / NOISE_WIDTH_A, x = col / NOISE_WIDTH_A, sum = 0.0;
    double r0 = floor(y), c0 = floor(x);
    double along_row[2 * REACH + 2], along_col[2 * REACH + 2];
    for (int i = 0; i < 2 * REACH + 2; i++) {
        double dy = r0 + (double)(i - REACH) - y, dx = c0 + (double)(i - REACH) - x;
        along_row[i] = exp(-0.5 * dy * dy);
        along_col[i] = exp(-0.5 * dx * dx);
    }
    const double *node = nodes->value + (size_t)((int64_t)r0 - REACH - nodes->row) * nodes->cols +
                         (size_t)((int64_t)c0 - REACH - nodes->col);
    for (int i = 0; i < 2 * REACH + 2; i++, node += nodes->cols) {
        double line = 0.0;
        for (int j = 0; j < 2 * REACH + 2; j++)
            line += along_col[j] * node[j];
        sum += along_row[i] * line;
    }
    return sum;
}

/* Adds an atom to the rows of a band: its disk in grid steps is an ellipse, its bounding box is walked. */
static void draw_atom(const sampling *s, const ronchi_atom *atom, size_t first, size_t last)
{
    const ronchi_points *p = s->points;
    double dr = atom->row_a - p->origin[0], dc = atom->col_a - p->origin[1], reach = REACH * atom->width_a;
    double gi = s->inverse[0][0] * dr + s->inverse[0][1] * dc, gj = s->inverse[1][0] * dr + s->inverse[1][1] * dc;
    double ri = reach * hypot(s->inverse[0][0], s->inverse[0][1]),
           rj = reach * hypot(s->inverse[1][0], s->inverse[1][1]);
    double i0 = fmax((double)first, ceil(gi - ri)), i1 = fmin((double)last, floor(gi + ri));
    double j0 = fmax(0.0, ceil(gj - rj)), j1 = fmin((double)(p->cols - 1), floor(gj + rj));
    double scale = -0.5 / (atom->width_a * atom->width_a);
    for (double i = i0; i <= i1; i += 1.0)
        for (double j = j0; j <= j1; j += 1.0) {
            double row = p->origin[0] + i * p->along_rows[0] + j * p->along_cols[0] - atom->row_a;
            double col = p->origin[1] + i * p->along_rows[1] + j * p->along_cols[1] - atom->col_a;
            double square = row * row + col * col;
            if (square <= reach * reach)
                s->out[(size_t)i * p->cols + (size_t)j] += atom->phase_rad * exp(scale * square);
        }
}

static ronchi_status sample_band(void *user, size_t item, size_t worker, ronchi_error *err)
{
    (void)worker;
    (void)err;
    const sampling *s = user;
    const ronchi_points *p = s->points;
    size_t first = item * BAND_ROWS, end = ronchi_min_size(first + BAND_ROWS, p->rows);
    for (size_t i = first; i < end; i++)
        for (size_t j = 0; j < p->cols; j++) {
            double row = p->origin[0] + (double)i * p->along_rows[0] + (double)j * p->along_cols[0];
            double col = p->origin[1] + (double)i * p->along_rows[1] + (double)j * p->along_cols[1];
            s->out[i * p->cols + j] = s->nodes.value ? noise_at(&s->nodes, row, col) : 0.0;
        }
    for (size_t a = 0; a < s->specimen->n_atoms; a++)
        draw_atom(s, &s->specimen->atoms[a], first, end - 1);
    return RONCHI_OK;
}

ronchi_status ronchi_specimen_sample(const ronchi_specimen *specimen, const ronchi_points *points, double *out,
                                     ronchi_error *err)
{
    sampling s = {.specimen = specimen, .points = points, .out = out};
    const double *u = points->along_rows, *v = points->along_cols;
    double determinant = u[0] * v[1] - u[1] * v[0];
    s.inverse[0][0] = v[1] / determinant;
    s.inverse[0][1] = -v[0] / determinant;
    s.inverse[1][0] = -u[1] / determinant;
    s.inverse[1][1] = u[0] / determinant;
    if (specimen->noise_rad != 0.0 && !make_nodes(specimen, points, &s.nodes))
        return ronchi_fail(err, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the specimen's noise");
    ronchi_status status =
        ronchi_parallel_for(specimen->context, ronchi_div_up(points->rows, BAND_ROWS), sample_band, &s, err);
    ronchi_free(specimen->context, s.nodes.value);
    return status;
}
