/* SPDX-License-Identifier: MIT */
/*
 * parallax_grid.c - parallax on simulations of known aberrations, over a grid of them, as a table; by hand, for
 * minutes.
 *
 *   parallax_grid [SCAN [DETECTOR [DOSE [C10 [K]]]]]    default 128, 192, and for 0: all doses, all defoci; K 1 to 4:
 * C12 and rotation 0 0, 0 25, 60 0, 60 25
 *
 * Ends with 1 when a case misses the accuracy that docs/performance.md states.
 */
#include "parallax_world.h"

static bool good(const world *w, const judgement *j)
{
    const ronchi_simulate_options *o = &w->options;
    bool far = fabs(o->c10_a) >= 250, bright = o->dose >= 20;
    return fabs(j->c10_off_a) <= (far ? 0.03 : 0.1) * fabs(o->c10_a) && j->c12_off_a <= 8 && !j->zeros &&
           (!bright || (fabs(j->rotation_off_deg) <= 1 && j->median_px <= (far ? 0.15 : 0.3))) &&
           j->outliers <= (bright ? 0.01 : 0.05) && j->image > j->plain;
}

static int run(ronchi_context *context, size_t scan, size_t det, double dose, double c10, double c12, double rotation)
{
    world w = {0};
    ronchi_parallax_result r;
    ronchi_error err = {0};
    judgement j;
    ronchi_simulate_options_defaults(&w.options);
    w.options.scan_rows = w.options.scan_cols = scan;
    w.options.det_rows = w.options.det_cols = det;
    w.options.dose = dose;
    w.options.c10_a = c10;
    w.options.c12_a = c12;
    w.options.phi12_deg = 20;
    w.options.rotation_deg = rotation;
    world_make(context, &w);
    ronchi_acquisition *acquisition = world_acquisition(&w, RONCHI_DENSE, RONCHI_PROFILE_AUTO);
    ronchi_parallax_options options;
    ronchi_parallax_options_defaults(&options);
    if (ronchi_parallax_run(acquisition, &options, &r, &err) != RONCHI_OK)
        world_die(&err, "parallax");
    world_judge(&w, &r, &j);
    const ronchi_parallax_aberrations *a = &r.aberrations;
    printf("| %g | %g | %g | %g | %.1f | %.1f %% | %.1f | %.2f | %.3f | %.2f %% | %.3f | %.3f | %s |\n", dose, c10, c12,
           rotation, a->c10_a, 100 * j.c10_off_a / c10, j.c12_off_a, j.rotation_off_deg, j.median_px, 100 * j.outliers,
           j.image, j.plain, good(&w, &j) ? "yes" : "NO");
    fflush(stdout);
    int bad = !good(&w, &j);
    ronchi_parallax_result_free(&r);
    ronchi_acquisition_destroy(acquisition);
    world_free(&w);
    return bad;
}

int main(int argc, char **argv)
{
    static const double doses[] = {20, 2}, defoci[] = {-300, -100, 100, 250}, twofold[] = {0, 60}, turns[] = {0, 25};
    size_t scan = argc > 1 ? strtoul(argv[1], NULL, 10) : 128, det = argc > 2 ? strtoul(argv[2], NULL, 10) : 192;
    double only_dose = argc > 3 ? strtod(argv[3], NULL) : 0, only_c10 = argc > 4 ? strtod(argv[4], NULL) : 0;
    int only_k = argc > 5 ? atoi(argv[5]) - 1 : -1;
    ronchi_context *context;
    int bad = 0;
    if (ronchi_context_create(NULL, &context, NULL) != RONCHI_OK)
        return 1;
    printf("| dose | C10 | C12 | rotation | C10 found | off | C12 off, A | rotation off, deg | median shift error, px "
           "| more than "
           "1 px off | image | plain | good |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int d = 0; d < 2; d++)
        for (int c = 0; c < 4; c++)
            for (int k = 0; k < 4; k++)
                if ((only_dose == 0 || doses[d] == only_dose) && (only_c10 == 0 || defoci[c] == only_c10) &&
                    (only_k < 0 || only_k == k))
                    bad += run(context, scan, det, doses[d], defoci[c], twofold[k / 2], turns[k % 2]);
    ronchi_context_destroy(context);
    printf("%d missed\n", bad);
    return bad > 0;
}
