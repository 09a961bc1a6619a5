/* SPDX-License-Identifier: MIT */
/* h5_output.c - the driver, and the memory for what libhdf5 writes for itself. */
#include "formats/h5_output.h"

#include <string.h>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

/* A page of structures; bits say which of its bytes were written. */
enum { PAGE = 4096 };
typedef struct page {
    uint64_t index; /* file offset / PAGE */
    uint8_t written[PAGE / 8];
    uint8_t bytes[PAGE];
} page;

struct ronchi_h5_output {
    ronchi_context *context;
    ronchi_output file;
    char name[256];
    hid_t driver;
    page **table; /* open addressing, a power of two, at most half full */
    size_t capacity, n_pages;
    uint64_t end;     /* of the address space that libhdf5 uses */
    uint64_t longest; /* offset one past the last byte written to the file */
    ronchi_status status;
    ronchi_error error; /* the first failure */
};

/* The driver's view of an open file. */
typedef struct open_file {
    H5FD_t shared;
    ronchi_h5_output *output;
} open_file;

static void keep_failure(ronchi_h5_output *output, ronchi_status status, const ronchi_error *error)
{
    if (output->status != RONCHI_OK)
        return;
    output->status = status;
    output->error = *error;
}

static void no_memory(ronchi_h5_output *output)
{
    ronchi_error error = {RONCHI_OK, RONCHI_NO_OFFSET, 0, "", ""};
    keep_failure(
        output,
        ronchi_fail(&error, RONCHI_ERR_MEMORY, NULL, RONCHI_NO_OFFSET, "no memory for the structures of an HDF5 file"),
        &error);
}

static void write_file(ronchi_h5_output *output, uint64_t offset, const void *bytes, size_t size)
{
    ronchi_error error;
    if (output->status != RONCHI_OK || size == 0)
        return;
    ronchi_status status = ronchi_output_write_at(&output->file, offset, bytes, size, &error);
    if (status != RONCHI_OK)
        keep_failure(output, status, &error);
    else if (offset + size > output->longest)
        output->longest = offset + size;
}

/* --------------------------------------------------------------------------------------------------------- pages */

static page **find_slot(page **table, size_t capacity, uint64_t index)
{
    size_t at = (size_t)(index * 0x9E3779B97F4A7C15u >> 20) & (capacity - 1);
    while (table[at] && table[at]->index != index)
        at = (at + 1) & (capacity - 1);
    return &table[at];
}

static bool grow(ronchi_h5_output *output)
{
    size_t capacity = output->capacity ? 2 * output->capacity : 64;
    page **table = ronchi_calloc(output->context, capacity, sizeof(page *));
    if (!table)
        return false;
    for (size_t i = 0; i < output->capacity; i++)
        if (output->table[i])
            *find_slot(table, capacity, output->table[i]->index) = output->table[i];
    ronchi_free(output->context, output->table);
    output->table = table;
    output->capacity = capacity;
    return true;
}

/* The page of that index, or NULL: not there and not asked to be made, or no memory. */
static page *find_page(ronchi_h5_output *output, uint64_t index, bool make)
{
    page **slot = output->capacity ? find_slot(output->table, output->capacity, index) : NULL;
    if ((slot && *slot) || !make)
        return slot ? *slot : NULL;
    if (2 * (output->n_pages + 1) > output->capacity) {
        if (!grow(output))
            return NULL;
        slot = find_slot(output->table, output->capacity, index);
    }
    *slot = ronchi_calloc(output->context, 1, sizeof(page));
    if (*slot) {
        (*slot)->index = index;
        output->n_pages++;
    }
    return *slot;
}

static bool is_written(const page *p, size_t i)
{
    return p->written[i / 8] >> (i % 8) & 1;
}

static void set_written(page *p, size_t i, bool written)
{
    uint8_t bit = (uint8_t)(1u << (i % 8));
    p->written[i / 8] = (uint8_t)(written ? p->written[i / 8] | bit : p->written[i / 8] & ~bit);
}

/* Keeps structures. */
static void write_pages(ronchi_h5_output *output, uint64_t offset, const uint8_t *bytes, size_t size)
{
    while (size) {
        size_t from = (size_t)(offset % PAGE), n = ronchi_min_size(size, PAGE - from);
        page *p = find_page(output, offset / PAGE, true);
        if (!p) {
            no_memory(output);
            return;
        }
        memcpy(p->bytes + from, bytes, n);
        for (size_t i = from; i < from + n; i++)
            set_written(p, i, true);
        offset += n;
        bytes += n;
        size -= n;
    }
}

/* Counts that take over the place of former structures. */
static void forget_pages(ronchi_h5_output *output, uint64_t offset, size_t size)
{
    while (size) {
        size_t from = (size_t)(offset % PAGE), n = ronchi_min_size(size, PAGE - from);
        page *p = find_page(output, offset / PAGE, false);
        for (size_t i = from; p && i < from + n; i++)
            set_written(p, i, false);
        offset += n;
        size -= n;
    }
}

static void read_pages(ronchi_h5_output *output, uint64_t offset, uint8_t *bytes, size_t size)
{
    memset(bytes, 0, size);
    for (size_t i = 0; i < size;) {
        size_t from = (size_t)((offset + i) % PAGE), n = ronchi_min_size(size - i, PAGE - from);
        const page *p = find_page(output, (offset + i) / PAGE, false);
        if (p)
            memcpy(bytes + i, p->bytes + from, n);
        i += n;
    }
}

static void flush_page(ronchi_h5_output *output, const page *p)
{
    for (size_t i = 0; i < PAGE;) {
        size_t end = i;
        while (end < PAGE && is_written(p, end))
            end++;
        write_file(output, p->index * PAGE + i, p->bytes + i, end - i);
        i = end + 1;
    }
}

/* -------------------------------------------------------------------------------------------------------- driver */

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t properties, haddr_t most)
{
    (void)name, (void)flags, (void)most;
    ronchi_h5_output *const *output = H5Pget_driver_info(properties);
    open_file *file = output ? ronchi_calloc((*output)->context, 1, sizeof *file) : NULL;
    if (file)
        file->output = *output;
    else if (output)
        no_memory(*output);
    return (H5FD_t *)file;
}

static herr_t driver_close(H5FD_t *shared)
{
    open_file *file = (open_file *)shared;
    ronchi_free(file->output->context, file);
    return 0;
}

static herr_t driver_query(const H5FD_t *shared, unsigned long *flags)
{
    (void)shared;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t driver_get_end(const H5FD_t *shared, H5FD_mem_t type)
{
    (void)type;
    return ((const open_file *)shared)->output->end;
}

static herr_t driver_set_end(H5FD_t *shared, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((open_file *)shared)->output->end = address;
    return 0;
}

static herr_t driver_read(H5FD_t *shared, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size, void *buffer)
{
    (void)type, (void)transfer;
    read_pages(((open_file *)shared)->output, address, buffer, size); /* counts are never asked for again */
    return 0;
}

static herr_t driver_write(H5FD_t *shared, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                           const void *buffer)
{
    ronchi_h5_output *output = ((open_file *)shared)->output;
    (void)transfer;
    if (type == H5FD_MEM_DRAW) {
        forget_pages(output, address, size);
        write_file(output, address, buffer, size);
    } else {
        write_pages(output, address, buffer, size);
    }
    return 0;
}

static hid_t register_driver(void)
{
    const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 14, 0)
        .version = H5FD_CLASS_VERSION,
        .value = (H5FD_class_value_t)513, /* above those of libhdf5's own drivers */
#endif
        .name = "ronchi",
        .maxaddr = (haddr_t)1 << 62,
        .fc_degree = H5F_CLOSE_STRONG,
        .fapl_size = sizeof(ronchi_h5_output *),
        .open = driver_open,
        .close = driver_close,
        .query = driver_query,
        .get_eoa = driver_get_end,
        .set_eoa = driver_set_end,
        .get_eof = driver_get_end,
        .read = driver_read,
        .write = driver_write,
        .fl_map = H5FD_FLMAP_DICHOTOMY,
    };
    return H5FDregister(&driver);
}

/* -------------------------------------------------------------------------------------------------------- output */

ronchi_status ronchi_h5_output_create(ronchi_context *context, const char *path, const char *name,
                                      ronchi_h5_output **out, hid_t *file, ronchi_error *err)
{
    *out = NULL;
    *file = -1;
    ronchi_h5_output *output = ronchi_calloc(context, 1, sizeof *output);
    if (!output)
        return ronchi_fail(err, RONCHI_ERR_MEMORY, name, RONCHI_NO_OFFSET, "no memory for an HDF5 file");
    output->context = context;
    output->driver = -1;
    size_t n = strlen(name); /* its end says more than its beginning */
    memcpy(output->name, n < sizeof output->name ? name : name + (n - sizeof output->name + 1),
           ronchi_min_size(n, sizeof output->name - 1) + 1);
    ronchi_status status = ronchi_output_open(path, 0, &output->file, err);
    if (status != RONCHI_OK) {
        ronchi_free(context, output);
        return status;
    }
    output->driver = register_driver();
    hid_t properties = H5Pcreate(H5P_FILE_ACCESS);
    if (properties >= 0 && output->driver >= 0 && H5Pset_driver(properties, output->driver, &output) >= 0)
        *file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, properties);
    H5Pclose(properties);
    if (*file < 0) {
        status = ronchi_h5_output_check(output, err);
        ronchi_h5_output_destroy(output);
        return status != RONCHI_OK ? status
                                   : ronchi_fail(err, RONCHI_ERR_INTERNAL, name, RONCHI_NO_OFFSET,
                                                 "libhdf5 could not make a file: please report");
    }
    *out = output;
    return RONCHI_OK;
}

ronchi_status ronchi_h5_output_check(const ronchi_h5_output *output, ronchi_error *err)
{
    if (output->status == RONCHI_OK)
        return RONCHI_OK;
    if (err)
        *err = output->error;
    if (err)
        memcpy(err->file, output->name, sizeof err->file);
    return output->status;
}

ronchi_status ronchi_h5_output_commit(ronchi_h5_output *output, ronchi_error *err)
{
    ronchi_error error;
    for (size_t i = 0; i < output->capacity; i++)
        if (output->table[i])
            flush_page(output, output->table[i]);
    if (output->longest < output->end) /* the last thing that libhdf5 made room for need not have been written */
        write_file(output, output->end - 1, "", 1);
    if (output->status == RONCHI_OK) {
        ronchi_status status = ronchi_output_commit(&output->file, &error);
        if (status != RONCHI_OK)
            keep_failure(output, status, &error);
    }
    return ronchi_h5_output_check(output, err);
}

void ronchi_h5_output_destroy(ronchi_h5_output *output)
{
    if (!output)
        return;
    ronchi_output_abort(&output->file);
    if (output->driver >= 0)
        H5FDunregister(output->driver);
    for (size_t i = 0; i < output->capacity; i++)
        ronchi_free(output->context, output->table[i]);
    ronchi_free(output->context, output->table);
    ronchi_free(output->context, output);
}
