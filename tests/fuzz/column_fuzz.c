/* SPDX-License-Identifier: MIT */
/*
 * Adopts and validates a header and a body of one of the profiles.  Input: one byte that picks the profile, four bytes
 * of shape, two bytes of header length, the header (JSON), the body.
 */
#include <string.h>

#include "codec/profile.h"

typedef struct body {
    const uint8_t *bytes;
    size_t size;
} body;

static ronchi_status read_body(void *user, uint64_t offset, void *dst, size_t size, ronchi_error *err)
{
    const body *b = user;
    if (offset > b->size || size > b->size - offset)
        return ronchi_fail(err, RONCHI_ERR_DATA, NULL, offset, "the body ends too early");
    memcpy(dst, b->bytes + offset, size);
    return RONCHI_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        ronchi_profile_id id;
        ronchi_dtype dtype;
    } kinds[] = {{RONCHI_PROFILE_COLUMN, RONCHI_U8},
                 {RONCHI_PROFILE_COLUMN, RONCHI_U16},
                 {RONCHI_PROFILE_FLOAT_LANES, RONCHI_F32},
                 {RONCHI_PROFILE_UINT32_LANES, RONCHI_U32}};
    if (size < 7)
        return 0;
    size_t length = data[5] + 256u * data[6], kind = data[0] % 4;
    ronchi_shape shape = {data[1], data[2], data[3], data[4]};
    if (length > size - 7)
        return 0;
    json_t *header = json_loadb((const char *)data + 7, length, JSON_REJECT_DUPLICATES, NULL);
    if (!header)
        return 0;
    ronchi_context_options options;
    ronchi_context *context = NULL;
    ronchi_context_options_defaults(&options);
    options.threads = 1;
    if (ronchi_context_create(&options, &context, NULL) == RONCHI_OK) {
        const ronchi_profile *profile = ronchi_profile_find(kinds[kind].id);
        body b = {data + 7 + length, size - 7 - length};
        ronchi_store *store = NULL;
        ronchi_error err;
        if (profile->adopt(context, header, &shape, kinds[kind].dtype, b.size, read_body, &b, &store, &err) ==
            RONCHI_OK)
            (void)profile->validate(store, &err);
        profile->destroy(store);
    }
    ronchi_context_destroy(context);
    json_decref(header);
    return 0;
}
