#!/bin/sh
# parallax.sh - accuracy and speed of parallax, by hand: the grid of known aberrations takes half an hour, the speed minutes.
#
#   bench/parallax.sh grid [SCAN [DETECTOR [DOSE [C10 [K]]]]]    see bench/parallax_grid.c
#   bench/parallax.sh speed [ROUNDS]                             256 x 256 scan of 192 x 192, beside FFTW
#
# Needs the build; speed needs h5py for a python3, to repeat a small simulation.
set -eu
cd "$(dirname "$0")/.."
what=${1:?grid or speed}
shift
mkdir -p bench/.cache
modules="hdf5 liblz4 jansson libcrypto zlib fftw3f fftw3 libpng libtiff-4"
# shellcheck disable=SC2046,SC2086
${CC:-cc} -std=c17 -O2 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -Itests "bench/parallax_$what.c" build/libronchi.a \
    $(pkg-config --cflags --libs $modules) -lpthread -ldl -lm -o "bench/.cache/parallax_$what"
if [ "$what" = grid ]; then
    exec "bench/.cache/parallax_$what" "$@"
fi
data=${TMPDIR:-/tmp}/ronchi-parallax.$$
mkdir "$data"
trap 'rm -rf "$data"' EXIT
build/ronchi simulate "$data/one_master.h5" --scan 64,64 --dose 4 --c10-a -150 --companion --quiet
python3=$(command -v /usr/bin/python3 || command -v python3)
"$python3" bench/tile_master.py "$data/one_master.h5" "$data/all_master.h5" 64 64 4 4
build/ronchi convert "$data/all_master.h5" "$data/all.qem" --voltage-kv 300 --scan-step-a 0.5 --semiangle-mrad 25 --quiet
rm "$data"/*.h5
"bench/.cache/parallax_$what" "$data/all.qem" "${1:-5}"
