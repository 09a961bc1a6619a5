#!/bin/sh
# Layout by clang-format 14, findings by cppcheck and clang-tidy; all three must be clean.
set -eu
cd "$(dirname "$0")/.."

format=
for candidate in clang-format-14 clang-format; do
    if command -v $candidate >/dev/null 2>&1 && $candidate --version | grep -q 'version 14\.'; then
        format=$candidate
        break
    fi
done
for tool in cppcheck clang-tidy; do
    command -v $tool >/dev/null 2>&1 || { echo "lint: $tool is missing: tools/setup.sh lint" >&2; exit 1; }
done
[ -n "$format" ] || { echo "lint: clang-format 14 is missing (other versions lay out differently): tools/setup.sh lint" >&2; exit 1; }

jobs=$(nproc 2>/dev/null || echo 2)
files=$(git ls-files '*.c' '*.h')
failed=0

echo "lint: $(echo "$files" | wc -l) files"
echo "$files" | xargs "$format" --dry-run -Werror || failed=1

cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
    --suppressions-list=.cppcheck -j "$jobs" -Iinclude -Isrc -D__x86_64__ -D__GNUC__ src cli || failed=1

cmake -G Ninja -B build >/dev/null
echo "$files" | grep '^\(src\|cli\)/.*\.c$' | xargs -P "$jobs" -n 4 clang-tidy --quiet -p build 2>/dev/null >build/tidy.log ||
    failed=1
grep -E ' (warning|error): ' build/tidy.log || true # how each is reached: build/tidy.log

[ $failed -eq 0 ] || { echo "lint: not clean" >&2; exit 1; }
echo "lint: clean"
