#!/usr/bin/env bash
# scripts/build.sh PRESET [TARGET]: configures where that is due, and builds. The target demo needs
# less than the others do: in a new folder neither tests nor benchmarks are configured for it. What
# it has compiled a later build uses.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"
preset=$1
target=${2:-all}
folder=build
[ "$preset" = default ] || folder=build-$preset

# With sanitizers one MPI will do: what differs between MPIs is tested without them.
if [ "$preset" != default ]; then MPICC=${MPICC:-$(command -v mpicc.mpich mpicc.openmpi | head -n 1)}; fi
arguments=(-DPython3_EXECUTABLE="$venv/bin/python")
[ ! -d "$deps" ] || arguments+=(-DCMAKE_PREFIX_PATH="$deps")
[ ! -e "$venv/cuda/complete" ] || arguments+=(-DDUNNAGE_CUDA_WHEELS="$venv/cuda/toolkit")
[ -z "$(mpicc_list)" ] || arguments+=(-DDUNNAGE_MPICC="$(mpicc_list)")

# Where nobody changes a file and compiles again.
unity=OFF
if [ "$target" = demo ] || [ -n "${CI:-}" ]; then unity=ON; fi
arguments+=(-DDUNNAGE_UNITY=$unity)
# CI compiles everything anew, which takes longer than running it.
arguments+=(-DDUNNAGE_QUICK_TESTS="$([ -n "${CI:-}" ] && echo ON || echo OFF)")
if [ "$target" = demo ]; then
  arguments+=(-DDUNNAGE_TESTS=OFF -DDUNNAGE_BENCH=OFF)
else
  arguments+=(-DDUNNAGE_TESTS=ON -DDUNNAGE_BENCH="$([ "$preset$BENCHMARKS" = defaultyes ] && echo ON || echo OFF)")
fi
# CI has no GPU: kernels for the oldest architecture show that they compile.
[ -z "${CI:-}" ] || arguments+=(-DDUNNAGE_CUDA_ARCHITECTURES=75)
[ -z "${TEST_ALL_MPIS:-}" ] || arguments+=(-DDUNNAGE_ALL_CONTRACTS=ON)

# CMake itself configures again when its files change; other arguments it would not notice.
stamp=$folder/configured-with
if [ ! -e "$folder/CMakeCache.txt" ] || { [ "$target" != demo ] && [ "$(cat "$stamp" 2>/dev/null)" != "${arguments[*]}" ]; }; then
  rm -rf "$folder/CMakeCache.txt" "$stamp"
  cmake --preset "$preset" "${arguments[@]}"
  echo "${arguments[*]}" > "$stamp"
fi
cmake --build "$folder" --target "$target" --parallel "$(nproc)"
