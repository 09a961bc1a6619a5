#!/bin/sh
# Installs what Ronchi needs on Debian and Ubuntu; does nothing when all of it is there.
#   tools/setup.sh          to build, test and run the demo
#   tools/setup.sh lint     also what `make lint` needs
# The CUDA part is built where nvcc is (nvidia-cuda-toolkit, or NVIDIA's packages); it is not installed from here.
# Without apt, or without the right to use it, it says what is missing and leaves with 1.
set -eu

packages="build-essential cmake ninja-build pkg-config
libhdf5-dev liblz4-dev libjansson-dev libssl-dev libfftw3-dev libpng-dev libtiff-dev zlib1g-dev
libcmocka-dev python3 python3-numpy python3-h5py python3-lz4"
lint_packages="clang-format-14 clang clang-tidy cppcheck"

case "${1:-}" in
"") ;;
lint) packages="$packages $lint_packages" ;;
*)
    echo "usage: tools/setup.sh [lint]" >&2
    exit 2
    ;;
esac

# The programs and libraries themselves, for systems that have no dpkg to ask.
tools_present() {
    for tool in cc c++ cmake ninja pkg-config python3; do
        command -v $tool >/dev/null 2>&1 || { echo "$tool is missing" >&2; return 1; }
    done
    for module in hdf5 liblz4 jansson libcrypto zlib fftw3f fftw3 libpng libtiff-4 cmocka; do
        pkg-config --exists $module || { echo "the library $module is missing" >&2; return 1; }
    done
}

# What is there already, as text: one question to dpkg for all of them.
installed() {
    # shellcheck disable=SC2086
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null | sed -n 's/^installed //p'
}

if ! command -v dpkg-query >/dev/null 2>&1; then
    tools_present && exit 0
    echo "setup: no dpkg here: install the counterparts of these Debian packages:" $packages >&2
    exit 1
fi

have=" $(installed | tr '\n' ' ') "
missing=
for package in $packages; do
    case "$have" in
    *" $package "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1; then
        as_root=sudo
    else
        echo "setup: missing, and no right to install:$missing" >&2
        echo "setup: as root: apt-get install$missing" >&2
        exit 1
    fi
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: missing, and no apt-get to install them with:$missing" >&2
    exit 1
fi
echo "setup: installing$missing"
$as_root apt-get update -q || echo "setup: the package lists are not fresh" >&2
# shellcheck disable=SC2086
if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing; then
    echo "setup: could not install:$missing" >&2
    exit 1
fi
