#!/bin/sh
# Every public header compiles alone, as C11, C17 and C++17, without a warning.
set -eu

count=0
for header in "$SOURCE_DIR"/include/ronchi/*.h; do
    name=ronchi/$(basename "$header")
    printf '#include "%s"\nint only_so_that_the_file_is_not_empty;\n' "$name" >alone.c
    cp alone.c alone.cpp
    for standard in c11 c17; do
        "$CC" -std=$standard -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -I"$SOURCE_DIR/include" -fsyntax-only alone.c ||
            { echo "$name does not compile alone as $standard"; exit 1; }
    done
    "${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$SOURCE_DIR/include" -fsyntax-only alone.cpp ||
        { echo "$name does not compile alone as C++17"; exit 1; }
    count=$((count + 1))
done
[ "$count" -ge 8 ] || { echo "only $count headers found"; exit 1; }

# ronchi.h brings all of them.
for header in "$SOURCE_DIR"/include/ronchi/*.h; do
    name=$(basename "$header")
    [ "$name" = ronchi.h ] || grep -q "#include \"ronchi/$name\"" "$SOURCE_DIR/include/ronchi/ronchi.h" ||
        { echo "ronchi.h does not include $name"; exit 1; }
done
echo "$count headers"
