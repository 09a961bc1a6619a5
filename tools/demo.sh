#!/bin/sh
# The main job from end to end on a simulated acquisition: original -> small exact copy -> images.  Results in demo/.
set -eu
cd "$(dirname "$0")/.."

ronchi=$PWD/build/ronchi
rm -rf demo
mkdir demo
cd demo

say() {
    printf '\n--- %s\n' "$*"
}
show() { # prints the command as one would type it, and runs it
    echo "\$ ronchi $*"
    "$ronchi" "$@"
}
row() { # a name and bytes
    awk -v name="$1" -v bytes="$2" 'BEGIN { printf "%-14s %8.1f MB\n", name, bytes / 1e6 }'
}

say "an instrument writes an acquisition (here: a simulated one)"
show simulate gold_master.h5 --scan 96,96 --detector 192,192 --dose 4 --scan-step-a 0.8 --c10-a -150 --phase-scale 3 \
    --flagged-pixels 2 --frames-per-file 4096 --companion --truth --seed 7

say "what is there"
show inspect gold_master.h5

say "a small copy, every count compared"
show convert gold_master.h5 --verify

say "sizes"
row "dense array" $((96 * 96 * 192 * 192 * 2))
row "HDF5 original" "$(cat gold_master.h5 gold_data_*.h5 | wc -c)"
row "gold.qem" "$(wc -c <gold.qem)"

say "images, straight from the small copy"
show mean gold.qem -o mean.png
show image gold.qem --bf --adf 65,90 -o bf.png -o adf.png
show com gold.qem -o com.png
show image gold.qem --bf -o bf.npy

say "parallax: bright-field images aligned and added, aberrations from their shifts"
show parallax gold.qem --semiangle-mrad 25 -o parallax

printf '\nThe pictures are in %s:\n' "$PWD"
ls -- *.png
