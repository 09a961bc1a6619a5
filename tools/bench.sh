#!/bin/sh
# bench.sh - Ronchi's speed beside other programs' on the same work, in one run.
#
# Needs nothing but the build; the yardsticks are fetched once into bench/.cache where a package index is reachable, and left out
# with a word where it is not.
set -eu
cd "$(dirname "$0")/.."
cache=bench/.cache
data=${TMPDIR:-/tmp}/ronchi-bench.$$
rounds=${ROUNDS:-7}
memory=$data # where conversions write: memory, if there is such a place
[ -d /dev/shm ] && [ -w /dev/shm ] && memory=/dev/shm/ronchi-bench.$$
mkdir -p "$cache" "$data" "$memory"
trap 'rm -rf "$data" "$memory"' EXIT

printf 'cpu       %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
printf 'compiler  %s\n' "$(${CC:-cc} --version | head -n 1)"
printf 'commit    %s\n\n' "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"

# bitshuffle 0.5.2 from source: the decoder that HDF5 users run today, as fast as their compiler makes it.
version=bitshuffle-0.5.2
if [ ! -d "$cache/$version" ]; then
    if (cd "$cache" && python3 -m pip download -q --no-deps --no-binary bitshuffle bitshuffle==0.5.2 && tar xzf "$version.tar.gz") \
        >"$cache/fetch.log" 2>&1; then :; else echo "bitshuffle 0.5.2 cannot be fetched (see $cache/fetch.log): no peer in this run"; fi
fi
peer=
if [ -d "$cache/$version/src" ]; then
    for file in src/bitshuffle.c src/bitshuffle_core.c src/iochain.c lz4/lz4.c; do
        object="$cache/$(basename "$file" .c).o"
        [ -f "$object" ] || ${CC:-cc} -O3 -march=native -w -I"$cache/$version/src" -I"$cache/$version/lz4" -c "$cache/$version/$file" -o "$object"
        peer="$peer $object"
    done
    peer="-DRONCHI_BENCH_BITSHUFFLE -I$cache/$version/src $peer"
fi

modules="hdf5 liblz4 jansson libcrypto zlib fftw3f fftw3 libpng libtiff-4"
# shellcheck disable=SC2046,SC2086
${CC:-cc} -std=c17 -O2 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc $peer bench/peers.c build/libronchi.a \
    $(pkg-config --cflags --libs $modules) -lpthread -lm -o "$cache/peers"

# Dose levels of docs/performance.md: mean counts of a bright-field pixel.
for set in "A 4 0.04" "V 0.25 0.012" "G 60 0.04" "H 400 0.04"; do
    # shellcheck disable=SC2086
    set -- $set
    build/ronchi simulate "$data/set_master.h5" --scan 48,64 --detector 192,192 --dose "$2" --background "$3" --seed 7 --force --quiet
    build/ronchi convert "$data/set_master.h5" "$data/set.qem" --force --quiet >/dev/null
    build/ronchi export "$data/set.qem" "$data/set.npy" --force --quiet >/dev/null
    echo "set $1: $2 counts a pixel of the disk"
    "$cache/peers" "$data/set.npy" "$rounds" "$data/set_master.h5" "$memory/set.qem"
    rm -f "$memory/set.qem"
    echo
done

# Turning the scan, beside decoding and encoding everything.
# shellcheck disable=SC2046
${CC:-cc} -std=c17 -O2 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc bench/geometry.c build/libronchi.a \
    $(pkg-config --cflags --libs $modules) -lpthread -lm -o "$cache/geometry"
build/ronchi simulate "$data/set_master.h5" --scan 48,64 --detector 192,192 --dose 4 --background 0.04 --seed 7 --force --quiet
build/ronchi convert "$data/set_master.h5" "$data/set.qem" --profile lane --force --quiet >/dev/null
echo "rotation, set A, lane-rans-v1, all processors"
"$cache/geometry" "$data/set.qem" "$rounds"
echo

# Masked sums from memory, beside NumPy and a dense loop, all on 2 threads or as NumPy has it.
python3=$(command -v /usr/bin/python3 || command -v python3)
# shellcheck disable=SC2046
${CC:-cc} -std=c17 -O3 -march=native -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc bench/masks.c build/libronchi.a \
    $(pkg-config --cflags --libs $modules) -lpthread -lm -o "$cache/masks"
build/ronchi export "$data/set.qem" "$data/set.npy" --force --quiet >/dev/null
"$python3" bench/masks.py "$cache/masks" "$data/set.npy" "$data" "$rounds" 2>"$cache/masks.log" ||
    echo "no masked sums: NumPy and 5 GB of memory are needed (see $cache/masks.log)"
rm -f "$data/masks.qem"
echo

# 4.5 GB of decoded counts under a hard limit of address space: the frames of one simulation, repeated as they are stored
build/ronchi simulate "$data/set_master.h5" --scan 48,64 --detector 192,192 --dose 4 --background 0.04 --seed 7 --force --quiet
python3=$(command -v /usr/bin/python3 || command -v python3)
if "$python3" bench/tile_master.py "$data/set_master.h5" "$data/large_master.h5" 48 64 5 4 2>"$cache/tile.log"; then
    (
        ulimit -v 1600000
        "$python3" -c 'import resource, subprocess, sys, time
start = time.time()
code = subprocess.call(sys.argv[1:])
print("convert under a limit of 1,600,000 kB: exit code %d, %.1f s, peak %d kB resident" %
      (code, time.time() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))' \
            build/ronchi convert "$data/large_master.h5" "$data/large.qem" --quiet
    )
    ls -l "$data/large.qem" | awk '{ print "encoded: " $5 " bytes" }'
    rm -f "$data"/large*
else
    echo "no run in limited memory: python3 with h5py is needed (see $cache/tile.log)"
fi
echo

# inspect of a master with 1,000 data files
build/ronchi simulate "$data/many_master.h5" --scan 25,40 --detector 16,16 --frames-per-file 1 --force --quiet
build/ronchi inspect "$data/many_master.h5" >/dev/null
start=$(date +%s%N)
build/ronchi inspect "$data/many_master.h5" >/dev/null
end=$(date +%s%N)
echo "inspect of 1,000 data files, warm: $(((end - start) / 1000000)) ms"
echo
build/ronchi bench
