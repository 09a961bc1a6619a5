#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second, plain decoder of lane-rans-v1, written from docs/format.md alone.  Slow; numpy only.

    lane_decoder.py FORMAT.md BODY SCAN_ROWS SCAN_COLS DET_ROWS DET_COLS BYTES [EXPECTED]
    lane_decoder.py FORMAT.md FILE.qem

Decodes the chunks of BODY and prints the sum and a CRC of the counts, or compares them with EXPECTED (raw counts).
Of a FILE.qem both the counts and the sum index, if there is one: every sum is checked against the counts.
The frequencies are read from the document itself.
"""
import json
import re
import sys
import zlib

import numpy as np


def read_models(path):
    text = open(path, encoding="utf-8").read()
    rows = re.findall(r"^ *(\d+) ([0-9a-f]{32})$", text, re.M)
    assert [int(r[0]) for r in rows] == list(range(1, 147))
    shifts = re.search(r"`j` of sparse models 1\.\.40: ([\d ]+)", text).group(1).split()
    return [list(bytes.fromhex(r[1])) for r in rows], [int(s) for s in shifts]


def table(f):
    left, limit, other, done = list(f), [16] * 16, list(range(16)), [False] * 16
    while True:
        small = [b for b in range(16) if not done[b] and left[b] < 16]
        large = [b for b in range(16) if not done[b] and left[b] > 16]
        if not small or not large:
            break
        s, g = small[0], max(large, key=lambda b: (left[b], -b))
        limit[s], other[s], done[s] = left[s], g, True
        left[g] -= 16 - left[s]
    owner = [b if o < limit[b] else other[b] for b in range(16) for o in range(16)]
    used, ranks = [0] * 16, []
    for k in owner:
        ranks.append(used[k])
        used[k] += 1
    assert used == list(f)
    return owner, ranks, f


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def power_of_two(n):
    return 1 if n <= 1 else 1 << (n - 1).bit_length()


def cut(shape, size):
    _, _, rows, cols = shape
    tile = [8, 8]
    if rows < 8:
        tile = [power_of_two(rows), 64 // power_of_two(rows)]
    elif cols < 8:
        tile = [64 // power_of_two(cols), power_of_two(cols)]
    rect = [32, 32]
    while rect[0] * rect[1] > 1 and rect[0] * rect[1] * rows * cols * size > 96 << 20:
        rect[0 if rect[0] >= rect[1] else 1] //= 2
    return tile, rect


def pieces(total, step):
    return [(first, min(step, total - first)) for first in range(0, total, step)]


def unpack(words, n, width):
    bits = int.from_bytes(np.array(words, "<u2").tobytes(), "little")
    return [bits >> i * width & (1 << width) - 1 for i in range(n)]


class Stream:
    def __init__(self, states, words):
        self.x, self.words, self.first, self.last = states, words, 0, len(words)

    def symbol(self, lane, t):
        owner, ranks, f = t
        slot = self.x[lane] & 255
        self.x[lane] = f[owner[slot]] * (self.x[lane] >> 8) + ranks[slot]
        return owner[slot]

    def raw(self, lane, bits):
        value = self.x[lane] & (1 << bits) - 1
        self.x[lane] >>= bits
        return value

    def refill(self, lane):
        if self.x[lane] < 65536:
            self.x[lane] = self.x[lane] << 16 | self.words[self.first]
            self.first += 1

    def escape_word(self):
        self.last -= 1
        return self.words[self.last]

    def escape_count(self):
        v = self.escape_word()
        if v == 65535:
            low = self.escape_word()
            v = low | self.escape_word() << 16
        return v

    def count_pixel(self, t, shift, base, rows):
        out, escaped = np.zeros((32, 16), np.int64), []
        step = 1 if shift else 2
        for first in range(0, rows, step):
            for lane in range(16):
                for row in range(first, first + step):
                    k = self.symbol(lane, t)
                    if k == 15:
                        escaped.append((lane, row))
                    else:
                        out[row, lane] = base + (k << shift) + self.raw(lane, shift)
                self.refill(lane)
        for lane, row in sorted(escaped):
            out[row, lane] = self.escape_count()
        return out

    def sparse_pixel(self, t, j, rows):
        out, escaped = np.zeros((32, 16), np.int64), []
        for first in range(0, rows, 1 << j):
            for lane in range(16):
                k = self.symbol(lane, t)
                if k == 15:
                    escaped.append((lane, first))
                else:
                    for _ in range(k):
                        out[first + self.raw(lane, j), lane] += 1
                self.refill(lane)
        for lane, first in sorted(escaped):
            words = [self.escape_word() for _ in range(max(1, (1 << j) // 8))]
            counts = [words[r // 8] >> 2 * (r % 8) & 3 for r in range(1 << j)]
            for r in range(1 << j):
                out[first + r, lane] = self.escape_count() if counts[r] == 3 else counts[r]
        return out

    def finish(self):
        assert self.x == [65536] * 16 and self.first == self.last


def decode_brick(w, n_pixels, n, models, shifts):
    out = np.zeros((n_pixels, n), np.int64)
    if not w:
        return out
    at = 1

    def take(count):
        nonlocal at
        at += count
        assert at <= len(w)
        return w[at - count:at]

    def take32():
        low, high = take(2)
        return low | high << 16

    kind, form = w[0] & 15, w[0] >> 4
    if kind == 1:
        assert form == 0
        base, width = take32(), take(1)[0]
        out[:] = base + np.array(unpack(take(-(-n_pixels * n * width // 16)), n_pixels * n, width)).reshape(n_pixels, n)
        assert at == len(w)
        return out
    assert kind == 2 and form < 3
    if form == 0:
        ids = take(1) * n_pixels
    elif form == 1:
        least = take(1)[0]
        ids = [least + k for k in unpack(take(-(-n_pixels // 4)), n_pixels, 4)]
    else:
        ids = unpack(take(-(-n_pixels // 2)), n_pixels, 8)
    parameters = {}
    for p, i in enumerate(ids):
        if 137 <= i <= 146:
            v = take32()
            base = v & 0x0FFFFFFF
            parameters[p] = (v >> 28, base - (1 << 28) if base >> 27 else base)
        elif i == 147:
            parameters[p] = (take32(), take(1)[0])
    if any(1 <= i <= 146 for i in ids):
        n_streams = -(-n // 512)
        sizes = [take32() for _ in range(n_streams)]
        states = [[take32() for _ in range(16)] for _ in range(n_streams)]
        streams = [Stream(states[s], take(sizes[s])) for s in range(n_streams)]
        for s, stream in enumerate(streams):
            m = min(512, n - 512 * s)
            rows = -(-m // 16)
            for p, i in enumerate(ids):
                if i == 0 or i == 147:
                    continue
                t = models[i - 1]
                if i <= 40:
                    counts = stream.sparse_pixel(t, shifts[i - 1], rows)
                else:
                    shift, base = parameters.get(p, (0, 0))
                    counts = stream.count_pixel(t, shift, base, rows)
                out[p, 512 * s:512 * s + m] = counts.reshape(-1)[:m]
            stream.finish()
    for p, i in enumerate(ids):
        if i == 147:
            base, width = parameters[p]
            out[p] = base + np.array(unpack(take(-(-n * width // 16)), n, width), np.int64)
    assert at == len(w)
    return out


def decode(body, shape, size, models, shifts):
    tile, rect = cut(shape, size)
    counts = np.zeros(shape, {1: "<u1", 2: "<u2", 4: "<u4"}[size])
    at = 0
    for r0, rows in pieces(shape[0], rect[0]):
        for c0, cols in pieces(shape[1], rect[1]):
            tiles = [(d, e) for d in pieces(shape[2], tile[0]) for e in pieces(shape[3], tile[1])]
            head = bytearray(body[at:at + 64 + 4 * len(tiles)])
            assert head[:8] == b"RLANE1\r\n"
            fields = np.frombuffer(bytes(head[8:48]), "<u4")
            assert list(fields[:6]) == [r0, c0, rows, cols, shape[2], shape[3]]
            assert list(head[32:36]) == [tile[0], tile[1], size, 0] and fields[7] == len(tiles) and not any(head[48:60])
            stored = int.from_bytes(head[60:64], "little")
            head[60:64] = bytes(4)
            assert crc32c(head) == stored
            sizes = np.frombuffer(bytes(head[64:]), "<u4").astype(int)
            payload = body[at + len(head):at + len(head) + 2 * sizes.sum()]
            assert fields[8] == sizes.sum() and crc32c(payload) == fields[9]
            words, first = np.frombuffer(payload, "<u2").tolist(), 0
            for ((d0, drows), (e0, ecols)), n_words in zip(tiles, sizes):
                brick = decode_brick(words[first:first + n_words], drows * ecols, rows * cols, models, shifts)
                brick = brick.reshape(drows, ecols, rows, cols).transpose(2, 3, 0, 1)
                counts[r0:r0 + rows, c0:c0 + cols, d0:d0 + drows, e0:e0 + ecols] = brick
                first += n_words
            at += -(-(len(head) + len(payload)) // 8) * 8
    assert at == len(body)
    return counts


def check_index(sums, counts, valid):
    """Sums [scan][scan][tile row][tile column] against the counts of unflagged pixels."""
    tile, _ = cut(counts.shape, counts.itemsize)
    masked = np.where(valid, counts, 0).astype(np.uint64)
    for i, (r, rows) in enumerate(pieces(counts.shape[2], tile[0])):
        for j, (c, cols) in enumerate(pieces(counts.shape[3], tile[1])):
            own = masked[:, :, r:r + rows, c:c + cols].sum(axis=(2, 3))
            assert (own == sums[:, :, i, j]).all(), "the sums of tile %d, %d differ from the counts" % (i, j)


def decode_file(path, models, shifts):
    data = open(path, "rb").read()
    length = int.from_bytes(data[8:16], "little")
    header, body = json.loads(data[56:56 + length]), data[56 + length:]
    shape, end = header["shape"], sum(header["chunk_bytes"])
    counts = decode(body[:end], shape, np.dtype(header["dtype"]).itemsize, models, shifts)
    index = header.get("sum_index")
    if index is None:
        assert end == len(body)
    elif index["version"] == 1:
        assert end + sum(index["chunk_bytes"]) == len(body)
        tile, _ = cut(shape, counts.itemsize)
        tiles = [-(-shape[2] // tile[0]), -(-shape[3] // tile[1])]
        sums = decode(body[end:], shape[:2] + tiles, np.dtype(index["dtype"]).itemsize, models, shifts)
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(header["valid"]), "u1"))[:shape[2] * shape[3]]
        check_index(sums, counts, bits.reshape(shape[2:]) == 1)
    return counts


def main():
    document, path = sys.argv[1:3]
    frequencies, shifts = read_models(document)
    models = [table(f) for f in frequencies]
    if path.endswith(".qem"):
        counts = decode_file(path, models, shifts)
    else:
        shape, size = [int(v) for v in sys.argv[3:7]], int(sys.argv[7])
        counts = decode(open(path, "rb").read(), shape, size, models, shifts)
    if len(sys.argv) > 8:
        assert counts.tobytes() == open(sys.argv[8], "rb").read(), "the counts differ"
    print(int(counts.astype(np.uint64).sum()), "%08x" % zlib.crc32(counts.tobytes()))


if __name__ == "__main__":
    main()
