# shellcheck shell=sh
# --device: what a machine without a GPU, and an installation without the CUDA part, say; exit code 3, one line, no output.
. "$SOURCE_DIR/tests/cli/lib.sh"

# refused COMMAND WORDS...: exit code 3, nothing on standard output, one line on standard error (kept in the file 'line').
refused() {
    code=0
    "$@" >stdout 2>line || code=$?
    [ $code -eq 3 ] || fail "$*: exit code $code instead of 3: $(cat line)"
    [ ! -s stdout ] || fail "$*: something on standard output"
    [ "$(wc -l <line)" -eq 1 ] || fail "$*: not one line: $(cat line)"
    grep -q 'ronchi: ' line || fail "$*: $(cat line)"
}

"$RONCHI" simulate small_master.h5 --scan 4,4 --detector 16,16 --seed 1 --quiet
"$RONCHI" mean small_master.h5 -o cpu.npy --device cpu --quiet
"$RONCHI" mean small_master.h5 -o auto.npy --quiet
cmp cpu.npy auto.npy || fail "auto and cpu differ"

# A device that no machine has.
refused "$RONCHI" mean small_master.h5 -o no.npy --device cuda:4321
[ ! -e no.npy ] || fail "an output was written"

# Without a device.
code=0
"$RONCHI" mean small_master.h5 -o cuda.npy --device cuda:0 >stdout 2>line || code=$?
if [ $code -eq 0 ]; then
    cmp cpu.npy cuda.npy || fail "cuda and cpu differ"
else
    refused "$RONCHI" mean small_master.h5 -o no.npy --device cuda
    grep -q -- '--device cpu' line || fail "the remedy is missing: $(cat line)"
    [ ! -e no.npy ] || fail "an output was written"
fi

# Without the CUDA part beside the library.
rm -rf apart
mkdir apart
cp "$RONCHI" apart/
cp -P "$BUILD_DIR"/libronchi.so* apart/
if LD_LIBRARY_PATH=$PWD/apart ./apart/ronchi --version >/dev/null; then
    LD_LIBRARY_PATH=$PWD/apart refused ./apart/ronchi mean small_master.h5 -o no.npy --device cuda
    grep -q 'libronchi_cuda.so: no CUDA here: .*--device cpu' line || fail "unclear: $(cat line)"
    LD_LIBRARY_PATH=$PWD/apart ./apart/ronchi mean small_master.h5 -o apart.npy --quiet
    cmp cpu.npy apart.npy || fail "apart differs"
fi

# One that was not built together with the library.
if command -v "$CC" >/dev/null 2>&1; then
    printf 'const void *ronchi_cuda_entry(unsigned abi);\nconst void *ronchi_cuda_entry(unsigned abi)\n{\n    (void)abi;\n    return 0;\n}\n' >other.c
    "$CC" -shared -fPIC -o apart/libronchi_cuda.so other.c
    LD_LIBRARY_PATH=$PWD/apart refused ./apart/ronchi mean small_master.h5 -o no.npy --device cuda
    grep -q 'not built together' line || fail "unclear: $(cat line)"
    echo garbage >apart/libronchi_cuda.so
    LD_LIBRARY_PATH=$PWD/apart refused ./apart/ronchi mean small_master.h5 -o no.npy --device cuda
    grep -q 'cannot be loaded' line || fail "unclear: $(cat line)"
fi
