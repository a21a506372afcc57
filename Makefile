# The front end: each target sets up what it needs, and the work is done by scripts/ and CMake.
#
#   make            build into build/
#   make demo       compare an unmodified MPI program without and with Dunnage (builds only what that needs)
#   make test       build and run every test
#   make bench      run the host packing benchmark
#   make install PREFIX=/usr/local
#   make wheel      build a wheel for pip into dist/, with all backends (python/mpi-*.txt has the MPIs' headers)
#   make deb        build packages for Debian into dist/, for the MPIs for which `make wheel` builds
#   make dist       make the source archive dist/dunnage-VERSION.tar.gz from the last commit
#   make docs       write the generated pages of docs/reference again
#   make site       build the documents as a site into build/site
#   make compatibility  write docs/reference/compatibility.md from what the last `make test` found
#   make fuzz        fuzz the datatype layouts for FUZZ_SECONDS (needs clang)
#   make differential  look for differences with and without Dunnage for SECONDS (tests/differential/README.md)
#   make faults      kill, stop and starve COUNT jobs and look what becomes of them (docs/reference/faults.md)
#   make soak        random traffic for HOURS, with memory looked at (docs/reference/faults.md)
#   make aarch64     build for aarch64, and run unit tests and contract programs in an emulator
#   make check       check layers, formatting and the length of lines; compiles nothing
#   make clean
#
# MPICC=/path/to/mpicc[;/path/to/another] builds for these MPIs and not for those on PATH.
# MPI_WHEELS=yes also installs Open MPI, MPICH and Intel MPI as wheels and builds for them; `make
# test` does. CUDA_WHEELS=yes installs CUDA's compiler as a wheel where there is none, likewise.
PREFIX ?= /usr/local
export MPICC

.PHONY: build setup demo test check bench install wheel deb dist docs site compatibility fuzz differential faults soak aarch64 clean

build: setup
	scripts/build.sh default

setup:
	scripts/setup.sh

demo:
	scripts/setup.sh demo
	scripts/build.sh default demo
	.venv/bin/python scripts/demo.py

# On the system's MPIs and on those that come as wheels; MPI_WHEELS=no goes without these.
test: export MPI_WHEELS := $(or $(MPI_WHEELS),yes)
test: export CUDA_WHEELS := $(or $(CUDA_WHEELS),yes)
test: setup
	scripts/test.sh

aarch64: export MPI_WHEELS := $(or $(MPI_WHEELS),yes)
aarch64: setup
	scripts/aarch64.sh

check: setup
	.venv/bin/python scripts/check_layers.py
	scripts/format.sh --check
	.venv/bin/python scripts/check_prose.py

bench: build
	build/bin/dunnage bench pack --memory host

install: build
	cmake --install build --prefix "$(PREFIX)"

wheel: export MPI_WHEELS := $(or $(MPI_WHEELS),yes)
wheel: export CUDA_WHEELS := $(or $(CUDA_WHEELS),yes)
wheel: setup
	scripts/wheel.sh

deb: export MPI_WHEELS := $(or $(MPI_WHEELS),yes)
deb: export CUDA_WHEELS := $(or $(CUDA_WHEELS),yes)
deb:
	scripts/setup.sh demo
	scripts/deb.sh

dist:
	mkdir -p dist
	name=dunnage-$$(sed -n 's/^project(dunnage VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt) && \
	  git archive --prefix=$$name/ -o dist/$$name.tar.gz HEAD

docs: setup
	.venv/bin/python generate/settings.py api/settings.toml --docs docs/reference/settings.md
	.venv/bin/python generate/reasons.py docs/reference/report.md
	scripts/build.sh default dunnage_tool
	.venv/bin/python generate/command_page.py build/bin/dunnage docs/reference/commands.md

site: setup
	NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build

compatibility:
	.venv/bin/python scripts/compatibility.py

FUZZ_SECONDS ?= 60
fuzz: setup
	scripts/build.sh fuzz layout_fuzz
	mkdir -p build-fuzz/corpus
	build-fuzz/tests/layout_fuzz -max_total_time=$(FUZZ_SECONDS) -max_len=400 build-fuzz/corpus tests/fuzz/corpus

SECONDS ?= 600
differential: export MPI_WHEELS := $(or $(MPI_WHEELS),yes)
differential: setup
	scripts/build.sh default preload
	scripts/build.sh default interpreters
	cd tests/differential && ../../.venv/bin/python -m machine --seconds $(SECONDS) $(ARGUMENTS)

COUNT ?= 1000
faults: export MPI_WHEELS := $(or $(MPI_WHEELS),yes)
faults: setup
	scripts/build.sh default preload
	scripts/build.sh default traffic
	.venv/bin/python tests/faults/faults.py --surroundings
	.venv/bin/python tests/faults/faults.py --count $(COUNT) $(ARGUMENTS)

HOURS ?= 1
soak: setup
	scripts/build.sh default preload
	scripts/build.sh default traffic
	.venv/bin/python tests/faults/soak.py --hours $(HOURS) $(ARGUMENTS)

clean:
	rm -rf dist build build-wheel build-deb build-asan build-tsan build-fuzz
