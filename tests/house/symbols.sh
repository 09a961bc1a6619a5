#!/bin/sh
# What the shared library exports, and what the static library defines for the linker, starts with ronchi_.
set -eu

nm -D --defined-only "$BUILD_DIR/libronchi.so" | awk '{ print $NF }' >shared
nm -g --defined-only "$BUILD_DIR/libronchi.a" | awk 'NF == 3 { print $3 }' >static
for list in shared static; do
    grep -q '^ronchi_version$' $list || { echo "$list: ronchi_version is missing"; exit 1; }
    if grep -v '^ronchi_' $list; then
        echo "$list: the symbols above do not start with ronchi_"
        exit 1
    fi
done

# Every function that a public header declares is there.
sed -n 's/.*RONCHI_API [^(]*[ *]\(ronchi_[a-z0-9_]*\)(.*/\1/p' "$SOURCE_DIR"/include/ronchi/*.h | sort -u >declared
sort -u shared >exported
[ "$(wc -l <declared)" -ge 20 ] || { echo "the headers' functions were not recognised"; exit 1; }
if [ -n "$(comm -13 declared exported)" ]; then
    comm -13 declared exported
    echo "the symbols above are exported but declared in no public header"
    exit 1
fi
if [ -n "$(comm -23 declared exported)" ]; then
    comm -23 declared exported
    echo "the functions above are declared in a public header but not there"
    exit 1
fi
echo "$(wc -l <exported) exported"

# The CUDA part exports one function.
if [ -e "$BUILD_DIR/libronchi_cuda.so" ]; then
    [ "$(nm -D --defined-only "$BUILD_DIR/libronchi_cuda.so" | awk '{ print $NF }')" = ronchi_cuda_entry ] ||
        { nm -D --defined-only "$BUILD_DIR/libronchi_cuda.so"; echo "libronchi_cuda.so must export ronchi_cuda_entry alone"; exit 1; }
fi
