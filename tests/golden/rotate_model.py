#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The model that tests/golden/rotate.c is held against: the same counts, rotated by NumPy, hashed.

Prints the table of that file.  Nearest rotations are checked against scipy.ndimage as well, inside of the scan.
"""
import hashlib
import math

import numpy as np
from scipy import ndimage

SHAPES = [(13, 21), (16, 16), (9, 4)]
DETECTOR = (6, 5)
ANGLES = [0, 90, -90, 180, 270, 450, 30, -45, 123.4, 33]


def counts(shape):
    """counts[n] of the flattened index n, in 64-bit arithmetic."""
    n = np.arange(math.prod(shape) * math.prod(DETECTOR), dtype=np.uint64)
    with np.errstate(over="ignore"):
        v = (n * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)) >> np.uint64(33)
    values = np.where(v % np.uint64(37) == 0, v % np.uint64(3000), v % np.uint64(5))
    return values.astype("<u2").reshape(shape + DETECTOR)


def rotate_quarter(data, turns, same, fill):
    turned = np.rot90(data, turns, axes=(0, 1))
    if not same:
        return turned
    out = np.full(data.shape, fill, data.dtype)
    copy = [min(a, b) for a, b in zip(turned.shape[:2], data.shape[:2])]
    source = [(a - c) // 2 for a, c in zip(turned.shape[:2], copy)]
    target = [(a - c) // 2 for a, c in zip(data.shape[:2], copy)]
    out[target[0]:target[0] + copy[0], target[1]:target[1] + copy[1]] = \
        turned[source[0]:source[0] + copy[0], source[1]:source[1] + copy[1]]
    return out


def rotate_nearest(data, angle, same, fill):
    rows, cols = data.shape[:2]
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    shape = (rows, cols) if same else (math.ceil(rows * abs(c) + cols * abs(s)), math.ceil(rows * abs(s) + cols * abs(c)))
    i, j = np.indices(shape)
    y, x = i - (shape[0] - 1) / 2, j - (shape[1] - 1) / 2
    row, col = s * x + c * y + (rows - 1) / 2, c * x - s * y + (cols - 1) / 2
    r, k = np.rint(row).astype(int), np.rint(col).astype(int)
    inside = (r >= 0) & (r < rows) & (k >= 0) & (k < cols)
    out = np.full(shape + data.shape[2:], fill, data.dtype)
    out[inside] = data[r[inside], k[inside]]
    image = data[:, :, 1, 2].astype(float)
    other = ndimage.map_coordinates(image, [row, col], order=0, mode="constant", cval=fill)
    clear = inside & (abs(row - r) < 0.499) & (abs(col - k) < 0.499) & (row >= 0) & (row <= rows - 1) & (col >= 0) & (col <= cols - 1)
    assert np.array_equal(other[clear], out[:, :, 1, 2][clear])
    return out


def rotate(data, angle, same, fill):
    if angle % 90 == 0:
        return rotate_quarter(data, int(angle // 90) % 4, same, fill)
    return rotate_nearest(data, angle, same, fill)


for shape in SHAPES:
    for angle in ANGLES:
        for same in (0, 1):
            for fill in (0, 7):
                result = np.ascontiguousarray(rotate(counts(shape), angle, same, fill))
                digest = hashlib.sha256(result.tobytes()).hexdigest()
                print(f'    {{{shape[0]}, {shape[1]}, {angle}, {same}, {fill}, {result.shape[0]}, {result.shape[1]}, "{digest}"}},')
