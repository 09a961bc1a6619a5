/* SPDX-License-Identifier: MIT */
/*
 * h5_chunks.c - our reader of chunk indexes against libhdf5, which writes the files and is asked where each chunk lies:
 * every kind of index, filtered and not, sparse, with filter masks, behind a user block, with small addresses; and
 * damaged files, where it must refuse or give libhdf5's answer.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/internal.h"
#include "core/port.h"
#include "formats/h5_chunks.h"
#include "formats/hdf5_guard.h"

static ronchi_context *context;
static const char file_name[] = "h5_chunks_test.h5";

static int setup(void **state)
{
    (void)state;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return ronchi_context_create(NULL, &context, NULL) == RONCHI_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ronchi_context_destroy(context);
    remove(file_name);
    return 0;
}

#define ANY H5S_UNLIMITED

/* A dataset to make.  'every' n-th chunk is written; filtered chunks are written raw, with sizes and masks at random.
 */
typedef struct dataset {
    const char *index;
    int latest, rank;
    hsize_t dims[4], max[4], chunk[4];
    int filtered, every;
    hsize_t user_block;
    size_t sizes;    /* of addresses and lengths; 0: 8 */
    int attributes;  /* so many that the header goes on elsewhere */
    int early, swmr; /* space taken at once; a superblock of version 3 */
    unsigned tree;   /* a B-tree 1 of so many children, so that it is deep */
    int shuffled;    /* chunks written in no order */
    hsize_t grow[4]; /* made with 'dims', then extended to these, if not 0 */
} dataset;

static const dataset datasets[] = {
    {"B-tree 1", 0, 3, {40, 6, 5}, {40, 6, 5}, {1, 6, 5}, .filtered = 1, .every = 1, .attributes = 40},
    {"B-tree 1", 0, 3, {40, 6, 5}, {ANY, 6, 5}, {1, 6, 5}, .filtered = 0, .every = 1, .user_block = 512},
    {"B-tree 1", 0, 3, {700, 6, 5}, {ANY, ANY, 5}, {1, 6, 5}, .filtered = 1, .every = 3, .tree = 2, .shuffled = 1},
    {"B-tree 1", 0, 4, {5, 7, 9, 4}, {5, 7, 9, 4}, {2, 3, 5, 4}, .filtered = 1, .every = 2, .user_block = 2048},
    {"B-tree 1", 0, 2, {33, 17}, {33, 17}, {4, 4}, .filtered = 0, .every = 1, .sizes = 4, .attributes = 3},
    {"B-tree 1", 0, 1, {1000}, {ANY}, {7}, .filtered = 1, .every = 1, .tree = 1},
    {"B-tree 1", 0, 3, {40, 6, 5}, {ANY, 6, 5}, {1, 6, 5}, .filtered = 1, .every = 0},
    {"single chunk", 1, 3, {4, 6, 5}, {4, 6, 5}, {4, 6, 5}, .filtered = 1, .every = 1},
    {"single chunk",
     1,
     3,
     {4, 6, 5},
     {4, 6, 5},
     {4, 6, 5},
     .filtered = 0,
     .every = 1,
     .user_block = 1024,
     .attributes = 40},
    {"implicit", 1, 3, {40, 6, 5}, {40, 6, 5}, {1, 6, 5}, .filtered = 0, .every = 1, .early = 1},
    {"implicit", 1, 3, {5, 6, 7}, {9, 11, 8}, {1, 4, 3}, .filtered = 0, .every = 1, .early = 1, .sizes = 4},
    {"fixed array", 1, 3, {40, 6, 5}, {40, 6, 5}, {1, 6, 5}, .filtered = 1, .every = 1, .attributes = 12},
    {"fixed array", 1, 3, {40, 6, 5}, {77, 6, 5}, {1, 6, 5}, .filtered = 0, .every = 2, .user_block = 512, .swmr = 1},
    {"fixed array", 1, 3, {2500, 2, 2}, {2500, 2, 2}, {1, 2, 2}, .filtered = 1, .every = 5, .shuffled = 1},
    {"fixed array", 1, 4, {9, 8, 70, 6}, {9, 11, 70, 13}, {1, 3, 7, 2}, .filtered = 0, .every = 13, .sizes = 4},
    {"fixed array", 1, 3, {5000, 2, 2}, {5000, 2, 2}, {1, 2, 2}, .filtered = 1, .every = 3000},
    {"extensible array", 1, 3, {40, 6, 5}, {ANY, 6, 5}, {1, 6, 5}, .filtered = 1, .every = 1},
    {"extensible array", 1, 3, {20000, 1, 2}, {ANY, 1, 2}, {1, 1, 2}, .filtered = 1, .every = 1, .attributes = 40},
    {"extensible array", 1, 3, {150000, 1, 2}, {ANY, 1, 2}, {1, 1, 2}, .filtered = 0, .every = 37, .user_block = 512},
    {"extensible array", 1, 3, {6, 900, 5}, {6, ANY, 9}, {2, 1, 2}, .filtered = 1, .every = 2, .shuffled = 1},
    {"extensible array", 1, 4, {3, 4, 50, 60}, {5, 4, 50, ANY}, {1, 3, 11, 2}, .filtered = 0, .every = 1, .swmr = 1},
    {"extensible array", 1, 3, {3, 6, 5}, {ANY, 6, 5}, {1, 6, 5}, .filtered = 1, .every = 1, .grow = {90, 6, 5}},
    {"extensible array", 1, 3, {3, 6, 5}, {ANY, 6, 5}, {1, 6, 5}, .filtered = 1, .every = 0},
    {"B-tree 2", 1, 3, {40, 6, 5}, {ANY, ANY, 5}, {1, 6, 5}, .filtered = 1, .every = 1},
    {"B-tree 2", 1, 3, {9000, 2, 2}, {ANY, ANY, 2}, {1, 2, 2}, .filtered = 1, .every = 1, .shuffled = 1},
    {"B-tree 2", 1, 4, {30, 31, 7, 5}, {ANY, ANY, ANY, 5}, {1, 1, 3, 5}, .filtered = 0, .every = 2, .user_block = 4096},
    {"B-tree 2", 1, 3, {40, 6, 5}, {ANY, ANY, 5}, {1, 6, 5}, .filtered = 0, .every = 1, .attributes = 40},
};
enum { DATASETS = sizeof datasets / sizeof datasets[0] };

/* ----------------------------------------------------------------------------------------------- files by libhdf5 */

static void add_attributes(hid_t id, int n)
{
    hid_t space = H5Screate(H5S_SCALAR);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "attribute number %d", i);
        hid_t attribute = H5Acreate2(id, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT, &i) >= 0);
        H5Aclose(attribute);
    }
    H5Sclose(space);
}

static hsize_t chunks_of(const dataset *d, const hsize_t *dims, int i)
{
    return dims[i] / d->chunk[i] + (dims[i] % d->chunk[i] != 0);
}

static void chunk_start(const dataset *d, const hsize_t *dims, uint64_t k, hsize_t *start)
{
    for (int i = d->rank; i-- > 0; k /= chunks_of(d, dims, i))
        start[i] = k % chunks_of(d, dims, i) * d->chunk[i];
}

static void write_chunks(const dataset *d, const hsize_t *dims, hid_t id)
{
    uint64_t n = 1, seed = 5, step = 1;
    size_t bytes = 2;
    uint8_t chunk[4096];
    for (int i = 0; i < d->rank; i++) {
        n *= chunks_of(d, dims, i);
        bytes *= d->chunk[i];
    }
    assert_true(bytes + 100 < sizeof chunk);
    if (d->shuffled)
        for (step = 7919; n % step == 0;)
            step += 2;
    for (uint64_t j = 0; d->every && j < n; j++) {
        uint64_t k = j * step % n;
        hsize_t start[4];
        if (k % (uint64_t)d->every != 0)
            continue;
        size_t size = d->filtered ? 1 + test_random(&seed) % (bytes + 90) : bytes;
        for (size_t i = 0; i < size; i++)
            chunk[i] = (uint8_t)(test_random(&seed) >> 40);
        chunk_start(d, dims, k, start);
        uint32_t mask = d->filtered ? (uint32_t)(test_random(&seed) % 2) : 0;
        assert_true(H5Dwrite_chunk(id, H5P_DEFAULT, mask, start, size, chunk) >= 0);
    }
}

/* Returns the address of the dataset's header. */
static uint64_t make_file(const dataset *d)
{
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), fapl = H5Pcreate(H5P_FILE_ACCESS), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5O_info_t info;
    if (d->latest)
        H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    if (d->sizes)
        H5Pset_sizes(fcpl, d->sizes, d->sizes);
    if (d->tree)
        H5Pset_istore_k(fcpl, d->tree);
    H5Pset_userblock(fcpl, d->user_block);
    hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC | (d->swmr ? H5F_ACC_SWMR_WRITE : 0u), fcpl, fapl);
    assert_true(file >= 0);
    H5Pset_chunk(dcpl, d->rank, d->chunk);
    if (d->filtered)
        H5Pset_deflate(dcpl, 1);
    if (d->early)
        H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
    if (d->attributes % 2 == 0)
        H5Pset_attr_creation_order(dcpl, H5P_CRT_ORDER_TRACKED);
    H5Pset_attr_phase_change(dcpl, 100, 90);
    hid_t space = H5Screate_simple(d->rank, d->dims, d->max);
    hid_t id = H5Dcreate2(file, "counts", H5T_STD_U16LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    assert_true(id >= 0);
    add_attributes(id, d->attributes);
    if (d->grow[0])
        assert_true(H5Dset_extent(id, d->grow) >= 0);
    write_chunks(d, d->grow[0] ? d->grow : d->dims, id);
    assert_true(H5Oget_info(id, &info) >= 0);
    H5Dclose(id);
    H5Sclose(space);
    H5Pclose(dcpl);
    H5Pclose(fapl);
    H5Pclose(fcpl);
    H5Fclose(file);
    return info.addr;
}

/* ------------------------------------------------------------------------------------------------------ our reader */

typedef struct image {
    uint8_t *bytes;
    size_t size;
} image;

static image load_image(void)
{
    ronchi_input input;
    assert_int_equal(ronchi_input_open(file_name, &input, NULL), RONCHI_OK);
    image file = {malloc((size_t)input.size_bytes), (size_t)input.size_bytes};
    assert_int_equal(ronchi_input_read(&input, 0, file.bytes, file.size, NULL), RONCHI_OK);
    ronchi_input_close(&input);
    return file;
}

static ronchi_status read_image(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err)
{
    const image *file = user;
    (void)err;
    assert_true(offset <= file->size && size <= file->size - offset); /* the reader never asks for more */
    memcpy(dst, file->bytes + offset, size);
    return RONCHI_OK;
}

static ronchi_status read_index(image *file, uint64_t header, ronchi_h5_chunks *out, ronchi_error *err)
{
    ronchi_h5_bytes bytes = {read_image, file, file->size, file_name};
    memset(err, 0, sizeof *err);
    return ronchi_h5_chunks_read(context, &bytes, header, out, err);
}

/* ------------------------------------------------------------------------------------------------------- comparing */

/* True when libhdf5 gives the same bytes, size and mask for every chunk of the file on disk. */
static bool agrees(const ronchi_h5_chunks *ours, const image *file)
{
    hid_t id = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT), set = id < 0 ? -1 : H5Dopen2(id, "counts", H5P_DEFAULT);
    uint8_t *bytes = malloc(file->size + 1);
    bool same = set >= 0;
    size_t stored = 0;
    for (size_t k = 0; same && k < ours->n; k++) {
        const ronchi_h5_chunk *c = &ours->at[k];
        hsize_t start[4], size = 0;
        uint64_t rest = k;
        uint32_t mask = 0;
        for (int i = ours->rank; i-- > 0; rest /= ours->grid[i])
            start[i] = rest % ours->grid[i] * ours->chunk[i];
        bool there = H5Dget_chunk_storage_size(set, start, &size) >= 0 && size > 0;
        same = there == (c->offset != RONCHI_H5_NOT_STORED) && size == c->size && size <= file->size;
        if (same && there) {
            same = H5Dread_chunk(set, H5P_DEFAULT, start, &mask, bytes) >= 0 && mask == c->skipped &&
                   memcmp(bytes, file->bytes + c->offset, c->size) == 0;
            stored++;
        }
    }
    same = same && stored == ours->n_stored;
    free(bytes);
    if (set >= 0)
        H5Dclose(set);
    if (id >= 0)
        H5Fclose(id);
    return same;
}

static void test_all_indexes(void **state)
{
    (void)state;
    for (size_t i = 0; i < DATASETS; i++) {
        const dataset *d = &datasets[i];
        uint64_t header = make_file(d);
        image file = load_image();
        ronchi_h5_chunks chunks;
        ronchi_error err;
        ronchi_status status = read_index(&file, header, &chunks, &err);
        if (status != RONCHI_OK)
            print_message("dataset %zu: %s\n", i, err.message);
        assert_int_equal(status, RONCHI_OK);
        assert_string_equal(chunks.index, d->index);
        assert_int_equal(chunks.rank, d->rank);
        assert_int_equal(chunks.element_bytes, 2);
        for (int a = 0; a < d->rank; a++) {
            assert_int_equal(chunks.dims[a], d->grow[0] ? d->grow[a] : d->dims[a]);
            assert_int_equal(chunks.chunk[a], d->chunk[a]);
        }
        if (!agrees(&chunks, &file)) {
            print_message("dataset %zu (%s)\n", i, d->index);
            fail_msg("libhdf5 gives other chunks");
        }
        assert_int_equal(chunks.n_stored > 0, d->every > 0);
        ronchi_h5_chunks_free(context, &chunks);
        free(file.bytes);
    }
}

/* What a damaged file gives must be refused, the same as before, or what libhdf5 gives, if that survives being asked.
 */
static void check_damaged(image *file, uint64_t header, const ronchi_h5_chunks *before, size_t counts[3])
{
    ronchi_h5_chunks chunks;
    ronchi_error err;
    ronchi_status status = read_index(file, header, &chunks, &err);
    if (status != RONCHI_OK) {
        assert_true(status == RONCHI_ERR_DATA || status == RONCHI_ERR_UNSUPPORTED);
        assert_true(err.message[0] != 0 && err.offset <= file->size);
        assert_string_equal(err.file, file_name);
        counts[0]++;
        return;
    }
    if (chunks.n == before->n && memcmp(chunks.at, before->at, chunks.n * sizeof *chunks.at) == 0) {
        counts[1]++;
        ronchi_h5_chunks_free(context, &chunks);
        return;
    }
    counts[2]++;
    FILE *out = fopen(file_name, "wb");
    assert_int_equal(fwrite(file->bytes, 1, file->size, out), file->size);
    fclose(out);
    pid_t child = fork();
    if (child == 0) {
        alarm(20); /* libhdf5 may also hang */
        _exit(agrees(&chunks, file) ? 0 : 7);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    /* Ours went through while libhdf5 gave others: only if it could not open or crashed is that no contradiction. */
    if (WIFEXITED(how) && WEXITSTATUS(how) == 7) {
        hid_t id = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
        hid_t set = id < 0 ? -1 : H5Dopen2(id, "counts", H5P_DEFAULT);
        assert_true(set < 0);
        if (id >= 0)
            H5Fclose(id);
    }
    ronchi_h5_chunks_free(context, &chunks);
}

/* Damage where it hurts: in what is not chunks. */
static void test_damaged(void **state)
{
    static const size_t which[] = {0, 2, 4, 5, 7, 10, 11, 13, 16, 18, 19, 23, 24};
    uint64_t seed = 11;
    (void)state;
    size_t counts[3] = {0, 0, 0};
    for (size_t w = 0; w < sizeof which / sizeof which[0]; w++) {
        uint64_t header = make_file(&datasets[which[w]]);
        image file = load_image();
        ronchi_h5_chunks before;
        ronchi_error err;
        assert_int_equal(read_index(&file, header, &before, &err), RONCHI_OK);
        uint8_t *is_chunk = calloc(file.size, 1);
        for (size_t k = 0; k < before.n; k++)
            if (before.at[k].offset != RONCHI_H5_NOT_STORED)
                memset(is_chunk + before.at[k].offset, 1, before.at[k].size);
        for (int flips = 0; flips < 60;) {
            size_t at = (size_t)(test_random(&seed) % file.size);
            if (is_chunk[at])
                continue;
            uint8_t saved = file.bytes[at];
            file.bytes[at] = (uint8_t)(flips % 3 ? saved ^ 1u << test_random(&seed) % 8 : test_random(&seed) >> 33);
            check_damaged(&file, header, &before, counts);
            file.bytes[at] = saved;
            flips++;
        }
        for (int cuts = 0; cuts < 12; cuts++) { /* files that end early */
            image shorter = {file.bytes, (size_t)(test_random(&seed) % file.size)};
            check_damaged(&shorter, header, &before, counts);
        }
        for (int k = 0; k < 8; k++) { /* another place as the header */
            ronchi_h5_chunks chunks;
            uint64_t place = k ? test_random(&seed) % (file.size + 20) : UINT64_MAX - 5;
            if (place != header && read_index(&file, place, &chunks, &err) == RONCHI_OK)
                fail_msg("a header was found at %llu", (unsigned long long)place);
        }
        ronchi_h5_chunks_free(context, &before);
        free(is_chunk);
        free(file.bytes);
    }
    print_message("refused %zu, unharmed %zu, as libhdf5 %zu\n", counts[0], counts[1], counts[2]);
    assert_true(counts[0] > 200);
}

static void test_no_hdf5(void **state)
{
    uint8_t zeros[4096] = {0};
    image file = {zeros, sizeof zeros};
    ronchi_h5_chunks chunks;
    ronchi_error err;
    (void)state;
    assert_int_equal(read_index(&file, 0, &chunks, &err), RONCHI_ERR_UNSUPPORTED);
    file.size = 3;
    assert_int_equal(read_index(&file, 0, &chunks, &err), RONCHI_ERR_UNSUPPORTED);
}

/* A contiguous dataset has no chunks, an acquisition's chunk index of 100,000 must take no more than a moment. */
static void test_speed(void **state)
{
    static const dataset large[] = {
        {"B-tree 1", 0, 3, {100000, 1, 2}, {ANY, 1, 2}, {1, 1, 2}, .filtered = 1, .every = 1},
        {"B-tree 2", 1, 3, {100000, 1, 2}, {ANY, ANY, 2}, {1, 1, 2}, .filtered = 1, .every = 1},
        {"fixed array", 1, 3, {100000, 1, 2}, {100000, 1, 2}, {1, 1, 2}, .filtered = 1, .every = 1},
        {"extensible array", 1, 3, {100000, 1, 2}, {ANY, 1, 2}, {1, 1, 2}, .filtered = 1, .every = 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        uint64_t header = make_file(&large[i]);
        image file = load_image();
        ronchi_h5_chunks chunks;
        ronchi_error err;
        double start = ronchi_now();
        if (read_index(&file, header, &chunks, &err) != RONCHI_OK)
            fail_msg("%s", err.message);
        double seconds = ronchi_now() - start;
        print_message("%-16s 100000 chunks in %.1f ms\n", chunks.index, 1e3 * seconds);
        assert_int_equal(chunks.n_stored, 100000);
        ronchi_h5_chunks_free(context, &chunks);
        free(file.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_indexes), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_no_hdf5), cmocka_unit_test(test_speed)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
