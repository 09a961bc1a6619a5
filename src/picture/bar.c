/* SPDX-License-Identifier: MIT */
/* bar.c - how long a scale bar is, what it is called, and how far a picture is enlarged. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "picture/canvas.h"

/* A unit as callers name it, as it is drawn, and the next larger one. */
typedef struct unit {
    const char *name, *drawn;
    double next_from, next_scale;
    const char *next;
} unit;

static const unit units[] = {
    {"angstrom", "\xC3\x85", 10.0, 0.1, "nm"},
    {"A", "\xC3\x85", 10.0, 0.1, "nm"},
    {"nm", "nm", 1000.0, 1e-3, "um"},
    {"um", "\xC2\xB5m", 1000.0, 1e-3, "mm"},
    {"mrad", "mrad", 1000.0, 1e-3, "rad"},
    {"1/angstrom", "\xC3\x85\xE2\x81\xBB\xC2\xB9", 0, 0, NULL},
    {"1/A", "\xC3\x85\xE2\x81\xBB\xC2\xB9", 0, 0, NULL},
};

static const unit *find_unit(const char *name)
{
    for (size_t i = 0; name && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

static double round_length(double most)
{
    double decade = pow(10.0, floor(log10(most)));
    if (10.0 * decade <= most * (1.0 + 1e-12)) /* log10 rounds */
        decade *= 10.0;
    double times = most / decade * (1.0 + 1e-12);
    return decade * (times >= 5.0 ? 5.0 : times >= 2.0 ? 2.0 : 1.0);
}

bool ronchi_bar_choose(double pixel_size, const char *unit_name, size_t width, double share, ronchi_bar *out)
{
    double most = pixel_size * share * (double)width;
    if (!(most > 0.0) || !isfinite(most))
        return false;
    out->length = round_length(most);
    double pixels = out->length / pixel_size;
    if (!(pixels >= 1.0 && pixels <= (double)width))
        return false;
    out->pixels = (size_t)llround(pixels);
    const unit *u = find_unit(unit_name);
    double shown = out->length;
    while (u && u->next && shown >= u->next_from * (1.0 - 1e-9)) {
        shown *= u->next_scale;
        unit_name = u->next;
        u = find_unit(unit_name);
    }
    snprintf(out->label, sizeof out->label, "%.6g %.20s", shown, u ? u->drawn : unit_name ? unit_name : "");
    return true;
}

size_t ronchi_enlargement(size_t rows, size_t cols, uint32_t asked)
{
    enum { SHORTER = 256, LONGER = 4096 };
    size_t shorter = ronchi_min_size(rows, cols), longer = rows > cols ? rows : cols;
    if (asked)
        return asked;
    size_t factor = ronchi_min_size(ronchi_div_up(SHORTER, shorter), LONGER / longer);
    return factor ? factor : 1;
}
