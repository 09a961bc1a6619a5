#!/bin/sh
# The C part builds with one plain call of the compiler, no build system: whoever wants to take it along can.
set -eu

modules=$(sed -n 's/^set(RONCHI_MODULES \(.*\))$/\1/p' "$SOURCE_DIR/CMakeLists.txt")
cd "$SOURCE_DIR"
"$CC" -o "$OLDPWD/ronchi" -Iinclude -Isrc $(pkg-config --cflags $modules) src/*/*.c cli/*.c $(pkg-config --libs $modules) -lpthread -lm
cd "$OLDPWD"
[ "$(./ronchi --version)" = "$("$RONCHI" --version)" ]
