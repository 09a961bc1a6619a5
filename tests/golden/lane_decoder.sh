# SPDX-License-Identifier: MIT
# The second decoder, written from docs/format.md, decodes the golden bodies of lane-rans-v1.  Skipped (77) without Python and numpy.
set -eu
for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
[ -n "$python" ] || exit 77
golden=$SOURCE_DIR/tests/golden
check()
{
    got=$("$python" "$golden/lane_decoder.py" "$SOURCE_DIR/docs/format.md" "$golden/lane/$1" $2)
    [ "${got##* }" = "$3" ] || { echo "$1: $got, not $3"; exit 1; }
}
check 5x7x3x40_u8.lane "5 7 3 40 1" 3ce1fbf8
check 5x7x3x40_u16.lane "5 7 3 40 2" 6c3e0546
check 5x7x3x40_u32.lane "5 7 3 40 4" e8f52b30
check 33x20x10x13_u16.lane "33 20 10 13 2" 8930ded9
check 40x33x8x8_u8.lane "40 33 8 8 1" 1c81f840
check 3x2x17x5_u16.lane "3 2 17 5 2" 7271da88
for name in lane_u16 lane_index_u16; do # all sums of the index too
    "$python" "$golden/lane_decoder.py" "$SOURCE_DIR/docs/format.md" "$golden/qem/$name.qem" >/dev/null
done
