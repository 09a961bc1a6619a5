#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/codec/stream_table.c: the 64 x 33 frequencies of column-rans-v2.

Row i is a Poisson law of mean 0.002 * 16000^(i / 63), symbols 0..31 and an escape, in 1024 slots: one slot each, the other
991 by largest remainder. tests/unit/codec_stream.c generates the table again and checks its published digest.

usage: column_table.py > src/codec/stream_table.c
"""
import math


def row(i):
    mean = 0.002 * 16000.0 ** (i / 63.0)
    p = [math.exp(-mean)]
    for k in range(1, 32):
        p.append(p[-1] * mean / k)
    p.append(max(0.0, 1.0 - math.fsum(p)))
    share = [991.0 * x for x in p]
    slots = [1 + int(x) for x in share]
    rest = sorted(range(33), key=lambda k: (int(share[k]) - share[k], k))
    for k in rest[:1024 - sum(slots)]:
        slots[k] += 1
    return slots


print('/* SPDX-License-Identifier: MIT */')
print('/* stream_table.c - the slots of each symbol in each model.  Made by scripts/column_table.py; do not edit. */')
print('#include "codec/stream.h"\n\n/* clang-format off */')
print('const uint16_t ronchi_stream_slots[RONCHI_STREAM_MODELS][RONCHI_STREAM_SYMBOLS] = {')
for i in range(64):
    print('    {' + ', '.join(map(str, row(i))) + '},')
print('};\n/* clang-format on */')
