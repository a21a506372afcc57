#!/usr/bin/env bash
# scripts/build.sh PRESET [TARGET]: configures where that is due, and builds.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"
preset=$1
target=${2:-all}
folder=build
[ "$preset" = default ] || folder=build-$preset

# With sanitizers one MPI of each kind will do.
[ "$preset" = default ] || ! command -v mpicc.openmpi mpicc.mpich > /dev/null || MPI_WHEELS=no
arguments=(-DPython3_EXECUTABLE="$venv/bin/python")
[ ! -d "$deps" ] || arguments+=(-DCMAKE_PREFIX_PATH="$deps")
[ ! -e "$venv/cuda/complete" ] || arguments+=(-DDUNNAGE_CUDA_WHEELS="$venv/cuda/toolkit")
[ -z "$(mpicc_list)" ] || arguments+=(-DDUNNAGE_MPICC="$(mpicc_list)")

# CMake itself configures again when its files change; other arguments it would not notice.
stamp=$folder/configured-with
if [ ! -e "$folder/CMakeCache.txt" ] || [ "$(cat "$stamp" 2>/dev/null)" != "${arguments[*]}" ]; then
  rm -rf "$folder/CMakeCache.txt" "$stamp"
  cmake --preset "$preset" "${arguments[@]}"
  echo "${arguments[*]}" > "$stamp"
fi
cmake --build "$folder" --target "$target" --parallel "$(nproc)"
