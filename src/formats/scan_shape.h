/* SPDX-License-Identifier: MIT */
/*
 * scan_shape.h - the scan shape by evidence, never by square root alone.
 *
 * In order of trust: what the user says; the array's own axes; attributes; the companion file; the microscope
 * software's json; trigger counts where they equal the stored frames; a perfect square.  Extra frames per line come
 * from the user or from the companion's prescan or the json; a factorisation of the count alone is shown and never
 * chosen.  Two records that contradict each other are an error that names the option to give.
 */
#ifndef RONCHI_FORMATS_SCAN_SHAPE_H
#define RONCHI_FORMATS_SCAN_SHAPE_H

#include "core/internal.h"
#include "ronchi/formats.h"

enum { RONCHI_SCAN_EVIDENCE = 16, RONCHI_SCAN_RECORDS = 8 };

typedef enum ronchi_scan_kind {
    RONCHI_SCAN_DATASET,   /* the stored array's own axes */
    RONCHI_SCAN_ATTRIBUTE, /* an attribute scan_shape */
    RONCHI_SCAN_COMPANION,
    RONCHI_SCAN_JSON
} ronchi_scan_kind;

/* One recorded statement about the scan. */
typedef struct ronchi_scan_record {
    ronchi_scan_kind kind;
    char from[96];
    size_t rows, cols;
    int64_t prescan;   /* extra positions before each line, -1: says nothing */
    uint64_t n_images; /* frames that were to be taken, 0: says nothing */
} ronchi_scan_record;

/* Everything that is known about the scan of a source. */
typedef struct ronchi_scan_facts {
    uint64_t frames; /* stored, all files together */
    ronchi_scan_record records[RONCHI_SCAN_RECORDS];
    size_t n_records;
    uint64_t ntrigger, nimages; /* 0: not recorded */
} ronchi_scan_facts;

typedef struct ronchi_scan_choice {
    ronchi_status status; /* RONCHI_OK, or why no shape was chosen; then reason and action are filled */
    char reason[256], action[256];
    size_t rows, cols; /* also of a shape that does not fit; 0, 0: none */
    uint64_t skip, flyback;
    int32_t flyback_at;
    uint64_t expected; /* frames that the choice asks for, 0: not known */
    ronchi_evidence evidence[RONCHI_SCAN_EVIDENCE];
    size_t n_evidence;
} ronchi_scan_choice;

/* ronchi_scan_add() appends a record; more than RONCHI_SCAN_RECORDS, or sizes of 0, are ignored. */
void ronchi_scan_add(ronchi_scan_facts *facts, ronchi_scan_kind kind, const char *from, size_t rows, size_t cols,
                     int64_t prescan, uint64_t n_images);

/* ronchi_scan_choose() weighs the evidence and fills *out.  Pure: the same facts and options give the same choice. */
void ronchi_scan_choose(const ronchi_scan_facts *facts, const ronchi_source_options *options, ronchi_scan_choice *out);

#endif
