#!/usr/bin/env bash
# scripts/many_cores/bundle.sh [ARCHIVE]: what the differential machine, the faults and the search
# for slower calls need on a host with many cores that has neither a build nor the MPIs, as one
# archive (default: build/many_cores.tar.xz, 36 MB). run.py beside this script runs them there. That
# host must have Python and an Open MPI 4.1; for slower calls NumPy and tabulate too.
#
# Needs a build with the wheels of the MPIs (MPI_WHEELS=yes make) and Debian's MPICH.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
. "$(dirname "$0")/../wheels.sh"
cd "$root"
archive=$(realpath -m "${1:-build/many_cores.tar.xz}")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# --- Dunnage, the simulated device, the programs --------------------------------------------------

to=$tree/build
mkdir -p "$to"/{lib/dunnage/sim,tests,mpi}
cp -L build/lib/{libdunnage.so,libdunnage-api.so.0} "$to/lib/"
cp -L build/lib/dunnage/libdunnage-{,api-}{openmpi,mpich}.so "$to/lib/dunnage/"
find build/lib/dunnage -maxdepth 1 -name 'mark-*.so' -exec cp {} "$to/lib/dunnage/" \;
cp -L build/lib/dunnage/sim/{libcuda.so.1,libdunnage-kernels-sim.so} "$to/lib/dunnage/sim/"
cp build/tests/libyield_to_ranks.so "$to/tests/"
for mpi in openmpi mpich openmpi5 mpich5 impi; do
  mkdir "$to/mpi/$mpi"
  cp build/mpi/$mpi/{interpreter,traffic}{,_gpu} "$to/mpi/$mpi/"
  [ ! -e build/mpi/$mpi/bench_regressions ] || cp build/mpi/$mpi/bench_regressions "$to/mpi/$mpi/"
done
cp build/mpis.json "$to/"
# Faults at calls look for the functions of the two backends.
find "$to" -type f ! -name '*.json' ! -path '*/lib/dunnage/libdunnage-*' -exec strip {} +
strip -g "$to"/lib/dunnage/libdunnage-{openmpi,mpich}.so

# --- the MPIs -------------------------------------------------------------------------------------

copy_wheels "$tree"
mkdir -p "$tree"/mpich/{bin,lib}
library=$(ldconfig -p | awk '$1 == "libmpich.so.12" { print $NF; exit }')
hydra=$(dirname "$(readlink -f "$(command -v mpiexec.hydra)")")
cp "$hydra"/{mpiexec.hydra,hydra_pmi_proxy} "$tree/mpich/bin/"
# All that it needs but the C library, and what that host's system should have.
ldd "$library" "$hydra"/{mpiexec.hydra,hydra_pmi_proxy} | awk '$3 ~ /^\// { print $3 }' | sort -u |
  grep -Ev '/lib(c|m|dl|pthread|rt|resolv|udev)\.so' | xargs cp -L "$library" -t "$tree/mpich/lib"

git rev-parse HEAD > "$tree/commit"
tar -C "$tree" -c . | xz -T2 -6 > "$archive"
ls -l "$archive"
