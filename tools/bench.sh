#!/bin/sh
# Ronchi's own figures; yardsticks against other programs live in bench/.
set -eu
cd "$(dirname "$0")/.."
build/ronchi bench "$@"
