#!/bin/sh
# Installs into a folder, moves it, and builds a small program against it in the four ways that people use: pkg-config and
# find_package, shared and static.
set -eu

rm -rf prefix moved consumer
cmake --install "$BUILD_DIR" --prefix "$PWD/prefix" >install.log
mv prefix moved
prefix=$PWD/moved
libdir=$(dirname "$(find "$prefix" -name libronchi.a)")
version=$("$RONCHI" --version)

[ "$("$prefix/bin/ronchi" --version)" = "$version" ] || { echo "the installed command does not start"; exit 1; }

mkdir consumer
cat >consumer/main.c <<'C'
#include <stdio.h>
#include <ronchi/ronchi.h>
int main(void)
{
    ronchi_context *context;
    ronchi_error err;
    if (ronchi_context_create(NULL, &context, &err) != RONCHI_OK)
        return 1;
    ronchi_context_destroy(context);
    printf("ronchi %s\n", ronchi_version());
    return 0;
}
C
cat >consumer/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES C)
find_package(ronchi 0.1 REQUIRED)
add_executable(with_shared main.c)
target_link_libraries(with_shared PRIVATE ronchi::ronchi)
add_executable(with_static main.c)
target_link_libraries(with_static PRIVATE ronchi::ronchi_static)
CMAKE

check() {
    got=$(LD_LIBRARY_PATH=$libdir "$1") || { echo "$1 failed"; exit 1; }
    [ "$got" = "$version" ] || { echo "$1 says '$got', not '$version'"; exit 1; }
}

export PKG_CONFIG_PATH="$libdir/pkgconfig"
"$CC" consumer/main.c -o consumer/pc_shared $(pkg-config --cflags --libs ronchi)
check consumer/pc_shared
"$CC" consumer/main.c -o consumer/pc_static $(pkg-config --cflags ronchi) "$libdir/libronchi.a" \
    $(pkg-config --libs $(pkg-config --print-requires-private ronchi)) -lpthread -lm
check consumer/pc_static
if readelf -d consumer/pc_static | grep -q 'libronchi\.so'; then
    echo "the static program still wants libronchi.so"
    exit 1
fi

cmake -S consumer -B consumer/build -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$prefix" >consumer.log
cmake --build consumer/build >>consumer.log
check consumer/build/with_shared
check consumer/build/with_static
