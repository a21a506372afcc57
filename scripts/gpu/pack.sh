#!/usr/bin/env bash
# scripts/gpu/pack.sh [OPTIONS OF dunnage bench]: the pack benchmark on a machine with a GPU, in one
# go, from a checkout with
#
#   build/lib/libdunnage.so  build/lib/dunnage/{libdunnage-openmpi.so,dunnage-kernels.fatbin}
#   build/mpi/openmpi/bench_pack_device
#
# as built on another machine; what is missing is built here, where CMake finds what it needs. Needs
# Open MPI (libmpi.so.40), python3 with numpy, matplotlib and tabulate. MPI_PREFIXES="DIR DIR":
# where CUDA-aware MPIs stand (scripts/gpu/mpi.sh builds them), whose own packing is then measured
# beside; MPICH needs build/mpi/mpich and libdunnage-mpich.so too. Writes JSON, table, picture and a
# description of the machine to $OUT (default: build/results).
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
. scripts/gpu/env.sh
out=${OUT:-$root/build/results}
home=$root/build
programs=(lib/libdunnage.so lib/dunnage/libdunnage-openmpi.so mpi/openmpi/bench_pack_device)
needed=("${programs[@]}" lib/dunnage/dunnage-kernels.fatbin)
mkdir -p "$out"

missing() {
  local file
  for file in "${needed[@]}"; do
    [ -e "$home/$file" ] || { echo "$home/$file"; return; }
  done
}

if [ -n "$(missing)" ]; then
  echo "$(missing) is missing: building in build-gpu" >&2
  home=$root/build-gpu
  if ! cmake -S . -B "$home" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDUNNAGE_TESTS=OFF -DDUNNAGE_MPICC="mpicc.openmpi;mpicc" ||
    ! cmake --build "$home" --target preload dunnage_kernels bench_pack_device_openmpi --parallel "$(nproc)"; then
    echo "scripts/gpu/pack.sh: cannot build here; bring build/ with: ${needed[*]}" >&2
    exit 2
  fi
fi

# The folders in which programs built elsewhere look for libraries are not this machine's.
folders=$home/lib/dunnage
mpi=$(library libmpi.so.40)
if [ -z "$mpi" ] && command -v mpirun > /dev/null; then
  for folder in "$(dirname "$(readlink -f "$(command -v mpirun)")")/../lib" /usr/lib/x86_64-linux-gnu/openmpi/lib; do
    [ ! -e "$folder/libmpi.so.40" ] || { mpi=$folder/libmpi.so.40; break; }
  done
fi
[ -n "$mpi" ] || { echo "scripts/gpu/pack.sh: no libmpi.so.40 (Open MPI 4 or 5) on this machine" >&2; exit 2; }
folders+=:$(dirname "$mpi")
driver=$(driver_folder)
folders+=${driver:+:$driver}
mpis=openmpi
for prefix in ${MPI_PREFIXES:-}; do
  prefix=$(realpath "$prefix")
  folders=$prefix/lib:$folders
  if [ -e "$prefix/lib/libmpi.so.40" ]; then
    export OPAL_PREFIX=$prefix
    mpi=$prefix/lib/libmpi.so.40
  fi
  if [ -e "$prefix/lib/libmpich.so.12" ]; then
    mpis+=,mpich
    programs+=(mpi/mpich/bench_pack_device lib/dunnage/libdunnage-mpich.so)
  fi
done
export LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for file in "${programs[@]}"; do
  if ldd "$home/$file" | grep "not found" >&2; then
    echo "scripts/gpu/pack.sh: $home/$file does not find the libraries above" >&2
    exit 2
  fi
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 DUNNAGE_HOME=$home PYTHONPATH=$root/python
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
{
  describe_machine "$0 $*"
  echo "MPI: $mpi"
  mpirun --version 2> /dev/null | head -n 1
} > "$out/machine.txt" 2>&1 || true

# The experiment ends by itself after five minutes; this is for a GPU that answers no more.
status=0
timeout --kill-after=10 "${PACK_SECONDS:-350}" \
  python3 -m dunnage.bench pack --memory device --mpi "$mpis" --output "$out" "$@" || status=$?
cat "$out/machine.txt"
exit "$status"
