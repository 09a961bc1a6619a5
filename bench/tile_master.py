#!/usr/bin/env python3
"""Repeats the frames of a Dectris-style master until the scan is R times C times larger, without decoding them.

    tile_master.py IN_master.h5 OUT_master.h5 ROWS COLS R C      ROWS x COLS is the scan of the input

For measurements that need several gigabytes: the stored chunks are copied as they are, so that the work per frame is real.
Needs h5py; the input has one frame a chunk and no extra frames.
"""
import os
import sys

import h5py
import numpy as np


def chunks_of(master):
    """All stored chunks of a master in frame order, and what they have in common."""
    group = master["entry/data"]
    frames, like = [], None
    for name in sorted(k for k in group if k.startswith("data")):
        data = group[name]
        like = like or (data.dtype, data.shape[1:], data.id.get_create_plist())
        for i in range(data.shape[0]):
            frames.append(data.id.read_direct_chunk((i, 0, 0)))
    return frames, like


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    source, target = sys.argv[1:3]
    rows, cols, times_rows, times_cols = (int(v) for v in sys.argv[3:])
    stem = target[: -len("_master.h5")]
    with h5py.File(source, "r") as master:
        frames, (dtype, detector, plist) = chunks_of(master)
        assert rows * cols == len(frames), "the scan shape does not fit the frames"
        with h5py.File(stem + "_data_000001.h5", "w") as out:
            space = h5py.h5s.create_simple((len(frames) * times_rows * times_cols, *detector))
            out.create_group("entry/data")
            ours = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            ours.set_chunk(plist.get_chunk())
            for i in range(plist.get_nfilters()):
                number, _, values, _ = plist.get_filter(i)
                ours.set_filter(number, h5py.h5z.FLAG_OPTIONAL, values)  # the filter itself need not be installed
            data = h5py.h5d.create(out["entry/data"].id, b"data", h5py.h5t.py_create(dtype), space, ours)
            n = 0
            for row in range(rows * times_rows):
                for col in range(cols * times_cols):
                    mask, raw = frames[row % rows * cols + col % cols]
                    data.write_direct_chunk((n, 0, 0), raw, mask)
                    n += 1
        with h5py.File(target, "w") as out:
            for key in master["entry"]:
                if key != "data":
                    master.copy(master["entry"][key], out.require_group("entry"), name=key)
            group = out.require_group("entry/data")
            group["data_000001"] = h5py.ExternalLink(os.path.basename(stem) + "_data_000001.h5", "/entry/data/data")
            group.attrs["scan_shape"] = np.array([rows * times_rows, cols * times_cols], np.int64)
            special = out.get("entry/instrument/detector/detectorSpecific")
            if special is not None and "ntrigger" in special:
                del special["ntrigger"]
                special["ntrigger"] = np.uint64(n)
    print("%s: %d x %d scan, %d frames" % (target, rows * times_rows, cols * times_cols, n))


if __name__ == "__main__":
    main()
