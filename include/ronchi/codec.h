/* SPDX-License-Identifier: MIT */
/* codec.h - the profiles: exact ways to lay out encoded counts. */
#ifndef RONCHI_CODEC_H
#define RONCHI_CODEC_H

#include "ronchi/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A profile is one exact way to lay out encoded counts.  AUTO takes the default for the data: lane-rans-v1 for counts,
 * the bit lanes for float32.
 */
typedef enum ronchi_profile_id {
    RONCHI_PROFILE_AUTO = 0,
    RONCHI_PROFILE_COLUMN = 1,       /* "column-rans-v2", uint8 and uint16, public and interoperable */
    RONCHI_PROFILE_FLOAT_LANES = 2,  /* "float32-bit-lanes", float32 */
    RONCHI_PROFILE_UINT32_LANES = 3, /* "uint32-bit-lanes", uint32 */
    RONCHI_PROFILE_LANE = 4,         /* "lane-rans-v1", uint8, uint16, uint32 */
    RONCHI_PROFILE_DENSE = 5         /* "dense": not encoded, in memory only, when it was asked for */
} ronchi_profile_id;

/* ronchi_profile_name() returns the profile's name, or "auto".  Static storage, never NULL. */
RONCHI_API const char *ronchi_profile_name(ronchi_profile_id profile);

#ifdef __cplusplus
}
#endif
#endif
