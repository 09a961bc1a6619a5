/* SPDX-License-Identifier: MIT */
/* dectris_write_plan.h - the writer's state, and what is settled before the first byte; for dectris_write.c. */
#ifndef RONCHI_FORMATS_DECTRIS_WRITE_PLAN_H
#define RONCHI_FORMATS_DECTRIS_WRITE_PLAN_H

#include "formats/dectris_write.h"
#include "formats/h5_output.h"

enum { RONCHI_DECTRIS_NAME_SIZE = 4096 };

/* A file on its way: where it is and where it goes. */
typedef struct ronchi_dectris_file {
    char *temporary, *path;
    bool created, published;
} ronchi_dectris_file;

struct ronchi_dectris_writer {
    ronchi_context *context;
    ronchi_dectris_options options;
    char stem[RONCHI_DECTRIS_NAME_SIZE]; /* with folder */
    char filter[8];
    size_t frame_bytes;
    uint64_t done;    /* frames */
    size_t n_outputs; /* data files, then companion if any, master last */
    ronchi_dectris_file *outputs;
    ronchi_h5_output *output; /* the data file that is being filled, or NULL */
    hid_t file, dataset;
    bool registered, finished;
    size_t n_slots, slot_bytes; /* encoded chunks of one batch */
    uint8_t *slots;
    size_t *sizes;
};

/* ronchi_dectris_check() checks stem and options; ronchi_dectris_plan() names the files and refuses what is in their
 * way. */
ronchi_status ronchi_dectris_check(ronchi_dectris_writer *writer, ronchi_error *err);
ronchi_status ronchi_dectris_plan(ronchi_dectris_writer *writer, ronchi_error *err);

/* RONCHI_ERR_MEMORY with its message. */
ronchi_status ronchi_dectris_no_memory(const ronchi_dectris_writer *writer, ronchi_error *err);

#endif
