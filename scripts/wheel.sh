#!/usr/bin/env bash
# Builds the wheel into dist/, for all MPIs that scripts/build.sh would build for, in build-wheel/.
#
# A backend needs an mpi.h of its ABI: `openmpi` Open MPI 4 or 5, `mpich` MPICH 4 or 5 or Intel MPI,
# `abi` an MPI with mpicc_abi, such as MPICH 5. A backend whose header is missing is left out.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"

tools=build-wheel/tools
wanted=$(sha256sum < python/wheel.txt)
if [ "$(cat "$tools/complete" 2> /dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  "$venv/bin/python" -m venv --without-pip "$tools"
  "$venv/bin/python" -m pip install -q --ignore-installed --prefix "$tools" -r python/wheel.txt
  echo "$wanted" > "$tools/complete"
fi

settings=(-C "cmake.define.DUNNAGE_MPICC=$(mpicc_list)")
[ ! -d "$deps" ] || settings+=(-C "cmake.define.CMAKE_PREFIX_PATH=$deps")
[ ! -e "$venv/cuda/complete" ] || settings+=(-C "cmake.define.DUNNAGE_CUDA_WHEELS=$venv/cuda/toolkit")
rm -rf build-wheel/raw
"$venv/bin/python" -m pip wheel -q --no-deps -w build-wheel/raw "${settings[@]}" .

# Gives the wheel the oldest glibc with which its files run. The MPI is the user's: libmpi.so stays
# outside.
rm -f dist/dunnage-*.whl
PATH=$root/$tools/bin:$PATH "$tools/bin/python" -m auditwheel repair --exclude 'libmpi.so.*' -w dist build-wheel/raw/dunnage-*.whl
