/* SPDX-License-Identifier: MIT */
/* scan_shape.c - weighs the evidence about the scan shape. */
#include "formats/scan_shape.h"

#include <stdio.h>
#include <string.h>

/* What a detector that waits for an endless series of triggers writes as ntrigger: it says nothing. */
#define ENDLESS_TRIGGERS 16777215u

typedef unsigned long long ull;

void ronchi_scan_add(ronchi_scan_facts *facts, ronchi_scan_kind kind, const char *from, size_t rows, size_t cols,
                     int64_t prescan, uint64_t n_images)
{
    if (facts->n_records >= RONCHI_SCAN_RECORDS || rows == 0 || cols == 0)
        return;
    ronchi_scan_record *record = &facts->records[facts->n_records++];
    memset(record, 0, sizeof *record);
    record->kind = kind;
    snprintf(record->from, sizeof record->from, "%s", from);
    record->rows = rows;
    record->cols = cols;
    record->prescan = prescan;
    record->n_images = n_images;
}

static ronchi_evidence *add_evidence(ronchi_scan_choice *out, const char *from, size_t rows, size_t cols,
                                     int64_t flyback)
{
    static const size_t last = RONCHI_SCAN_EVIDENCE - 1;
    ronchi_evidence *e = &out->evidence[out->n_evidence < last ? out->n_evidence++ : last];
    memset(e, 0, sizeof *e);
    snprintf(e->from, sizeof e->from, "%s", from);
    e->scan_rows = rows;
    e->scan_cols = cols;
    e->flyback = flyback;
    return e;
}

static void refuse(ronchi_scan_choice *out, ronchi_status status)
{
    out->status = status;
}

/* rows x (cols + flyback), or UINT64_MAX when that is beyond counting. */
static uint64_t positions(size_t rows, size_t cols, uint64_t flyback)
{
    if (flyback > UINT64_MAX - cols)
        return UINT64_MAX;
    uint64_t line = cols + flyback;
    return line != 0 && rows > UINT64_MAX / line ? UINT64_MAX : rows * line;
}

/*
 * Extra frames per line with which the shape fills 'available' frames: the user's, none, or those for which a record
 * speaks. Returns false when nothing fits.
 */
static bool find_flyback(const ronchi_scan_facts *facts, const ronchi_source_options *options, size_t rows, size_t cols,
                         uint64_t available, uint64_t *flyback)
{
    if (options->flyback >= 0) {
        *flyback = (uint64_t)options->flyback;
        return positions(rows, cols, *flyback) == available;
    }
    *flyback = 0;
    if (positions(rows, cols, 0) == available)
        return true;
    for (size_t i = 0; i < facts->n_records; i++) {
        const ronchi_scan_record *r = &facts->records[i];
        if (r->rows != rows || r->cols != cols)
            continue;
        uint64_t k = r->prescan > 0 ? (uint64_t)r->prescan : 0;
        /* The microscope's json does not give the extra frames, but with its shape the count does. */
        if (r->kind == RONCHI_SCAN_JSON && available % rows == 0 && available / rows > cols)
            k = available / rows - cols;
        if (k != 0 && positions(rows, cols, k) == available) {
            *flyback = k;
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------------------- the user and records */

static void say_record(ronchi_evidence *e, const ronchi_scan_record *r, uint64_t flyback, bool fits)
{
    int n = snprintf(e->says, sizeof e->says, "%zu rows x %zu columns", r->rows, r->cols);
    size_t at = (size_t)n;
    if (r->prescan > 0)
        at += (size_t)snprintf(e->says + at, sizeof e->says - at, ", %lld prescan positions", (long long)r->prescan);
    if (r->n_images != 0 && at < sizeof e->says)
        at += (size_t)snprintf(e->says + at, sizeof e->says - at, ", %llu frames", (ull)r->n_images);
    if (fits && flyback > 0 && r->prescan != (int64_t)flyback && at < sizeof e->says)
        snprintf(e->says + at, sizeof e->says - at, "; with the count: %llu extra frames a line", (ull)flyback);
}

static void choose(ronchi_scan_choice *out, ronchi_evidence *e, size_t rows, size_t cols, uint64_t flyback)
{
    e->chosen = 1;
    out->rows = rows;
    out->cols = cols;
    out->flyback = flyback;
    uint64_t n = positions(rows, cols, flyback);
    out->expected = n > UINT64_MAX - out->skip ? UINT64_MAX : n + out->skip;
}

/* The chosen shape does not fill the frames: say by how much and what to give. */
static void refuse_misfit(const ronchi_scan_facts *facts, const ronchi_source_options *options, ronchi_scan_choice *out,
                          const char *from, uint64_t available)
{
    char flyback[48] = "", skip[48] = "";
    if (out->flyback)
        snprintf(flyback, sizeof flyback, " with %llu extra frames a line", (ull)out->flyback);
    if (out->skip)
        snprintf(skip, sizeof skip, " (%llu skipped)", (ull)out->skip);
    snprintf(out->reason, sizeof out->reason, "%s says %zu x %zu%s = %llu frames, but %llu are stored%s", from,
             out->rows, out->cols, flyback, (ull)positions(out->rows, out->cols, out->flyback), (ull)facts->frames,
             skip);
    if (available < positions(out->rows, out->cols, 0) || options->flyback >= 0) {
        bool few = available < positions(out->rows, out->cols, out->flyback);
        refuse(out, few && options->flyback < 0 && options->scan_rows == 0 ? RONCHI_ERR_INCOMPLETE : RONCHI_ERR_NEEDED);
        snprintf(out->action, sizeof out->action,
                 few ? "wait until the acquisition is complete, or give --scan-shape R,C for the rows that are there"
                     : "give --scan-shape R,C, --flyback K or --skip N so that they agree");
        return;
    }
    refuse(out, RONCHI_ERR_NEEDED);
    if (out->rows && available % out->rows == 0)
        snprintf(out->action, sizeof out->action,
                 "%llu = %zu x (%zu + %llu): give --flyback %llu if each line has extra frames", (ull)available,
                 out->rows, out->cols, (ull)(available / out->rows - out->cols),
                 (ull)(available / out->rows - out->cols));
    else
        snprintf(out->action, sizeof out->action,
                 "give --scan-shape R,C and, for extra frames, --flyback K (0: take the first frames) or --skip N");
}

/* What the user says.  True when that decides. */
static bool weigh_options(const ronchi_scan_facts *facts, const ronchi_source_options *options, ronchi_scan_choice *out,
                          uint64_t available)
{
    size_t rows = options->scan_rows, cols = options->scan_cols;
    if (rows == 0 && cols == 0)
        return false;
    if (rows == 0 || cols == 0) {
        refuse(out, RONCHI_ERR_ARGUMENT);
        snprintf(out->reason, sizeof out->reason, "a scan shape of %zu x %zu", rows, cols);
        snprintf(out->action, sizeof out->action, "give --scan-shape R,C with two positive numbers");
        return true;
    }
    uint64_t flyback;
    bool fits = find_flyback(facts, options, rows, cols, available, &flyback);
    ronchi_evidence *e = add_evidence(out, "option --scan-shape", rows, cols, options->flyback);
    snprintf(e->says, sizeof e->says, "%zu rows x %zu columns", rows, cols);
    e->agrees = fits;
    choose(out, e, rows, cols, flyback);
    /* With --flyback the user has said all: frames after the last line are then left alone. */
    if (!fits && options->flyback >= 0 && positions(rows, cols, flyback) < available) {
        snprintf(e->says, sizeof e->says, "%zu rows x %zu columns; %llu frames at the end are not used", rows, cols,
                 (ull)(available - positions(rows, cols, flyback)));
        e->agrees = 1;
        fits = true;
    }
    if (!fits)
        refuse_misfit(facts, options, out, e->from, available);
    return true;
}

/* The records, in order of trust.  'decided': the user has chosen, they are only shown. */
static bool weigh_records(const ronchi_scan_facts *facts, const ronchi_source_options *options, ronchi_scan_choice *out,
                          uint64_t available, bool decided)
{
    const ronchi_scan_record *first = NULL;
    bool first_fits = false;
    for (int kind = RONCHI_SCAN_DATASET; kind <= RONCHI_SCAN_JSON; kind++)
        for (size_t i = 0; i < facts->n_records; i++) {
            const ronchi_scan_record *r = &facts->records[i];
            if ((int)r->kind != kind)
                continue;
            uint64_t flyback;
            bool fits = find_flyback(facts, options, r->rows, r->cols, available, &flyback);
            ronchi_evidence *e = add_evidence(out, r->from, r->rows, r->cols, r->prescan);
            say_record(e, r, flyback, fits);
            e->agrees = fits;
            if (fits && flyback)
                e->flyback = (int64_t)flyback;
            if (decided)
                continue;
            if (!first) {
                first = r;
                first_fits = fits;
                choose(out, e, r->rows, r->cols, flyback);
            } else if ((r->rows != first->rows || r->cols != first->cols) && out->status == RONCHI_OK) {
                refuse(out, RONCHI_ERR_DATA);
                snprintf(out->reason, sizeof out->reason, "%.80s says %zu x %zu, %.80s says %zu x %zu", first->from,
                         first->rows, first->cols, r->from, r->rows, r->cols);
                snprintf(out->action, sizeof out->action, "give --scan-shape R,C: only you can know which is right");
            }
        }
    if (first && !first_fits && out->status == RONCHI_OK)
        refuse_misfit(facts, options, out, first->from, available);
    return first != NULL;
}

/* ------------------------------------------------------------------------------------------------------ counts */

static uint64_t square_root(uint64_t n)
{
    uint64_t low = 0, high = (uint64_t)1 << 32;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (middle * middle <= n)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The side of the square scan with 'flyback' extra frames a line that fills n frames; 0: there is none. */
static uint64_t square_side(uint64_t n, uint64_t flyback)
{
    uint64_t side = square_root(n);
    while (side > 0 && positions((size_t)side, (size_t)side, flyback) > n)
        side--;
    return side > 0 && positions((size_t)side, (size_t)side, flyback) == n ? side : 0;
}

typedef struct counts {
    uint64_t informative; /* largest count that means something, 0: none */
    bool equal;           /* one of them is the stored count */
    bool by_lines;        /* ntrigger lines of nimages frames are the stored count */
} counts;

static counts weigh_counts(const ronchi_scan_facts *facts, ronchi_scan_choice *out)
{
    counts c = {0, false, false};
    uint64_t t = facts->ntrigger == ENDLESS_TRIGGERS ? 0 : facts->ntrigger;
    uint64_t i = facts->nimages == ENDLESS_TRIGGERS ? 0 : facts->nimages;
    uint64_t product = t && i ? (t > UINT64_MAX / i ? UINT64_MAX : t * i) : (t ? t : i);
    if (facts->ntrigger == 0 && facts->nimages == 0)
        return c;
    c.equal = (t && t == facts->frames) || (i && i == facts->frames) || (product && product == facts->frames);
    c.informative = product;
    c.by_lines = t > 1 && i > 1 && product == facts->frames;
    ronchi_evidence *e = add_evidence(out, "ntrigger, nimages", 0, 0, -1);
    snprintf(e->says, sizeof e->says, "ntrigger %llu%s, nimages %llu: %s", (ull)facts->ntrigger,
             facts->ntrigger == ENDLESS_TRIGGERS ? " (means nothing)" : "", (ull)facts->nimages,
             c.equal ? "the stored count" : "not the stored count");
    e->agrees = c.equal;
    return c;
}

/* Shows how the count could be cut into lines; chooses nothing. */
static void show_factors(ronchi_scan_choice *out, uint64_t n)
{
    if (n < 2)
        return;
    ronchi_evidence *e = add_evidence(out, "frame count", 0, 0, -1);
    size_t at = (size_t)snprintf(e->says, sizeof e->says, "%llu", (ull)n);
    int shown = 0;
    uint64_t root = square_root(n), tried = 0;
    for (uint64_t f = root; f > 1 && shown < 4 && tried < 1000000; f--, tried++)
        if (n % f == 0 && at + 48 < sizeof e->says) {
            at += (size_t)snprintf(e->says + at, sizeof e->says - at, " = %llu x %llu", (ull)f, (ull)(n / f));
            shown++;
        }
    snprintf(e->says + at, sizeof e->says - at, "%s", shown ? " (possible, never chosen)" : ", not a product of two");
}

/* No record says anything: counts, then a square. */
static void weigh_square(const ronchi_scan_facts *facts, const ronchi_source_options *options, ronchi_scan_choice *out,
                         uint64_t available, counts c)
{
    uint64_t flyback = options->flyback > 0 ? (uint64_t)options->flyback : 0;
    uint64_t side = square_side(available, flyback);
    if (c.informative > 1 && !c.equal) {
        bool few = facts->frames < c.informative;
        out->expected = c.informative;
        refuse(out, few ? RONCHI_ERR_INCOMPLETE : RONCHI_ERR_NEEDED);
        snprintf(out->reason, sizeof out->reason, "%llu frames are stored, the detector was set to take %llu",
                 (ull)facts->frames, (ull)c.informative);
        snprintf(out->action, sizeof out->action,
                 few ? "wait until the acquisition is complete, or give --scan-shape R,C for what is there"
                     : "give --scan-shape R,C");
    } else if (c.by_lines && flyback == 0 && out->skip == 0 && (side == 0 || facts->ntrigger == facts->nimages)) {
        ronchi_evidence *e =
            add_evidence(out, "ntrigger x nimages", (size_t)facts->ntrigger, (size_t)facts->nimages, -1);
        snprintf(e->says, sizeof e->says, "one trigger a line: %llu rows x %llu columns", (ull)facts->ntrigger,
                 (ull)facts->nimages);
        e->agrees = 1;
        choose(out, e, (size_t)facts->ntrigger, (size_t)facts->nimages, 0);
    } else if (side != 0 && !c.by_lines) {
        ronchi_evidence *e = add_evidence(out, "perfect square", (size_t)side, (size_t)side, -1);
        snprintf(e->says, sizeof e->says, "%llu = %llu x (%llu + %llu)", (ull)available, (ull)side, (ull)side,
                 (ull)flyback);
        if (flyback == 0)
            snprintf(e->says, sizeof e->says, "%llu = %llu x %llu", (ull)available, (ull)side, (ull)side);
        e->agrees = 1;
        choose(out, e, (size_t)side, (size_t)side, flyback);
    } else {
        refuse(out, RONCHI_ERR_NEEDED);
        snprintf(out->reason, sizeof out->reason, "nothing says the scan shape of the %llu stored frames",
                 (ull)facts->frames);
        snprintf(out->action, sizeof out->action, "give --scan-shape R,C (and --flyback K for extra frames a line)");
        if (c.by_lines && side != 0)
            snprintf(out->reason, sizeof out->reason,
                     "%llu frames are %llu triggers of %llu images and also %llu x %llu", (ull)facts->frames,
                     (ull)facts->ntrigger, (ull)facts->nimages, (ull)side, (ull)side);
    }
}

void ronchi_scan_choose(const ronchi_scan_facts *facts, const ronchi_source_options *options, ronchi_scan_choice *out)
{
    memset(out, 0, sizeof *out);
    out->skip = options->skip;
    out->flyback_at = options->flyback_at >= 0 ? options->flyback_at : RONCHI_FLYBACK_START;
    if (facts->frames == 0) {
        refuse(out, RONCHI_ERR_INCOMPLETE);
        snprintf(out->reason, sizeof out->reason, "no frames are stored");
        snprintf(out->action, sizeof out->action, "check that the data files lie beside the master");
        return;
    }
    if (options->skip >= facts->frames) {
        refuse(out, RONCHI_ERR_ARGUMENT);
        snprintf(out->reason, sizeof out->reason, "%llu frames are to be skipped, %llu are stored", (ull)options->skip,
                 (ull)facts->frames);
        snprintf(out->action, sizeof out->action, "give a smaller --skip");
        return;
    }
    uint64_t available = facts->frames - options->skip;
    bool decided = weigh_options(facts, options, out, available);
    bool recorded = weigh_records(facts, options, out, available, decided);
    counts c = weigh_counts(facts, out);
    if (!decided && !recorded)
        weigh_square(facts, options, out, available, c);
    if (out->status != RONCHI_OK)
        show_factors(out, available);
    for (size_t i = 0; out->status != RONCHI_OK && i < out->n_evidence; i++)
        out->evidence[i].chosen = 0;
}
