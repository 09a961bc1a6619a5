#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Masked sums from memory: NumPy on the dense uint16 array, a loop in C on a dense uint8 array, Ronchi; in turn, in one run.

    masks.py MASKS COUNTS.npy FOLDER [ROUNDS]      MASKS is the program made of masks.c

The frames are repeated to a scan of 128 x 128 positions; the mask is a disk of 55 pixels radius (9,500 pixels on a detector of even
size).  Every image is compared before a time counts.  Needs NumPy and 5 GB of memory.
"""
import statistics
import subprocess
import sys
import time

import numpy as np

SCAN = 128


class Ours:
    """The C program: one row at a time."""

    def __init__(self, program, counts, folder):
        self.process = subprocess.Popen(
            [program, counts, folder + "/masks.qem", str(SCAN), str(SCAN)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        words = self.process.stdout.readline().split()
        assert words and words[0] == "ready", "the program cannot start"
        self.held, self.index = int(words[1]), int(words[2])

    def run(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        ms, digest = self.process.stdout.readline().split()
        return float(ms), int(digest)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def numpy_rows(path):
    """The rows of NumPy: each gives the image of the disk."""
    counts = np.load(path)
    rows, cols = np.arange(SCAN) % counts.shape[0], np.arange(SCAN) % counts.shape[1]
    frames = np.ascontiguousarray(counts[np.ix_(rows, cols)]).reshape(SCAN * SCAN, -1)
    det_rows, det_cols = counts.shape[2:]
    y, x = np.mgrid[:det_rows, :det_cols]
    mask = (y - (det_rows - 1) / 2) ** 2 + (x - (det_cols - 1) / 2) ** 2 <= 55 ** 2
    pixels, weights = np.flatnonzero(mask), mask.ravel().astype(np.uint32)
    def take(block):
        return np.concatenate([frames[i:i + block].take(pixels, axis=1).sum(axis=1, dtype=np.uint32)
                               for i in range(0, len(frames), block)])
    return len(pixels), {
        "numpy take": lambda: take(len(frames)),
        "numpy take, 64 frames at a time": lambda: take(64),
        "numpy einsum": lambda: np.einsum("ij,j->i", frames, weights),
        "numpy matmul": lambda: frames @ weights,
    }


def digest(image):
    place = np.arange(1, image.size + 1, dtype=np.uint64)
    return int((image.ravel().astype(np.uint64) * place).sum(dtype=np.uint64))


def main():
    program, path, folder = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    ours = Ours(program, path, folder)
    n_pixels, theirs = numpy_rows(path)
    names = ["dense", "disk", "drag", "masks8", "total", "moments", "mean", "disk_indexed", "drag_indexed", "masks8_indexed"]
    times, digests = {}, {}
    for _ in range(rounds + 1):  # the first is not counted
        for name, work in theirs.items():
            start = time.perf_counter()
            image = work()
            times.setdefault(name, []).append((time.perf_counter() - start) * 1e3)
            digests["numpy"] = digest(image)
            assert digests["numpy"] == ours.run("disk")[1], name
        for name in names:
            ms, found = ours.run(name)
            times.setdefault(name, []).append(ms)
            digests.setdefault(name, set()).add(found)
    ours.close()
    assert digests["disk"] == digests["dense"] == digests["disk_indexed"] == {digests["numpy"]}
    assert digests["masks8"] == digests["masks8_indexed"] and digests["drag"] == digests["drag_indexed"]
    median = {name: statistics.median(values[1:]) for name, values in times.items()}
    best = min((median[name], name) for name in theirs)
    counts = SCAN * SCAN
    print("%d positions, disk of %d pixels, 2 threads (NumPy: one); %.1f MB held, index %.1f MB more" %
          (counts, n_pixels, ours.held / 1e6, ours.index / 1e6))
    for name in theirs:
        print("%-44s %9.2f ms" % (name, median[name]))
    print("%-44s %9.2f ms" % ("dense uint8, C, -O3 -march=native", median["dense"]))
    print("%-44s %9.2f ms   %5.1f times faster than %s" % ("disk, no index", median["disk"], best[0] / median["disk"], best[1]))
    print("%-44s %9.2f ms   %5.2f of that" % ("disk moved by one pixel, no index", median["drag"], median["drag"] / median["disk"]))
    print("%-44s %9.2f ms   %5.2f of one" % ("8 disks in one pass, no index", median["masks8"], median["masks8"] / median["disk"]))
    print("%-44s %9.2f ms   %5.2f of dense uint8" % ("disk, index", median["disk_indexed"], median["disk_indexed"] / median["dense"]))
    print("%-44s %9.2f ms" % ("disk moved by one pixel, index", median["drag_indexed"]))
    print("%-44s %9.2f ms" % ("8 disks in one pass, index", median["masks8_indexed"]))
    print("%-44s %9.2f ms" % ("all pixels", median["total"]))
    print("%-44s %9.2f ms   %5.2f of all pixels" % ("total and first moments", median["moments"], median["moments"] / median["total"]))
    print("%-44s %9.2f ms   %5.2f of all pixels" % ("mean pattern", median["mean"], median["mean"] / median["total"]))


if __name__ == "__main__":
    main()
