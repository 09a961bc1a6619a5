/* SPDX-License-Identifier: MIT */
/* ronchi.h - all of Ronchi's public headers. */
#ifndef RONCHI_RONCHI_H
#define RONCHI_RONCHI_H

#include "ronchi/core.h"
#include "ronchi/formats.h"
#include "ronchi/codec.h"
#include "ronchi/resident.h"
#include "ronchi/detector.h"
#include "ronchi/geometry.h"
#include "ronchi/dpc.h"
#include "ronchi/parallax.h"
#include "ronchi/picture.h"
#include "ronchi/simulate.h"

#endif
