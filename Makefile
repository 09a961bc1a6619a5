# The front door; the work is done by CMake and Ninja.  `make demo` and `make test` need nothing installed beforehand.
PREFIX ?= /usr/local
CTEST = ctest --output-on-failure --no-tests=error -j 2

build: build/build.ninja
	cmake --build build

build/build.ninja:
	cmake -G Ninja -B build -DCMAKE_INSTALL_PREFIX=$(PREFIX)

setup:
	tools/setup.sh

demo: setup build
	tools/demo.sh

test: setup build
	$(CTEST) --test-dir build

bench: build
	tools/bench.sh

# On a machine with a GPU.  SETS: .qem files of lane-rans-v1, scans of whole 32 x 32 rectangles.
device-test: build
	ctest --output-on-failure --no-tests=error --test-dir build -L device

device-bench: build
	cmake --build build --target device_bench
	build/tests/device_bench $(SETS)

lint:
	tools/lint.sh

sanitize:
	cmake -G Ninja -B build-sanitize -DRONCHI_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build build-sanitize
	$(CTEST) --test-dir build-sanitize

install: build
	cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-sanitize demo

.PHONY: build setup demo test bench device-test device-bench lint sanitize install clean
.NOTPARALLEL:
