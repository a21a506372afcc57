#!/usr/bin/env bash
# scripts/gpu/all.sh ARCHIVE [PART...]: the benchmarks of device memory one after the other, with
# what bundle.sh has packed. Parts: halo, collectives, windows, triggered, unexpected, higrad
# (default: all of them). RANKS: the numbers of ranks (default: 2, for a machine with two GPUs).
# LAUNCHES: of each (default: 5). LIMIT: seconds of a part (default: 400; one launch of the
# collectives takes a minute). NCCL: its library, for
# the collectives (default: that of python3's PyTorch, if there is one). BEFORE: another
# libdunnage.so, which takes turns.
#
# Writes the tables and machine.txt to a folder of each part in $OUT (default: build/results). A
# part that fails is told, and the others still run.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
use_bundle "${1:?which archive?}"
shift
parts=("$@")
[ $# -gt 0 ] || parts=(halo collectives windows triggered unexpected higrad)
out=${OUT:-$root/build/results}
export BUILD=$bundle RANKS=${RANKS:-2} LAUNCHES=${LAUNCHES:-5}
find_nccl='import nvidia.nccl as n; print(list(n.__path__)[0] + "/lib/libnccl.so.2")'
nccl=${NCCL:-$(python3 -c "$find_nccl" 2> /dev/null || true)}

run_part() {
  case $1 in
    halo) "$root/scripts/gpu/halo.sh" --cells 256 --cells 64 --ghost 1 --ghost 3 \
      --ways '^(direct|isend|persistent|implicit|neighbour)$' --rounds 5 --each 100 ;;
    collectives) "$root/scripts/gpu/collectives.sh" ${nccl:+--nccl "$nccl"} ;;
    windows) OMPI_MCA_osc=pt2pt "$root/scripts/gpu/windows.sh" ;;
    triggered) MPI=mpich5 MPIRUN=mpirun.mpich5 LIMIT=60 "$root/scripts/gpu/triggered.sh" 100 ;;
    unexpected) BYTES="512 65536 1048576" BLOCKS=64 "$root/scripts/gpu/unexpected.sh" ;;
    higrad) "$root/scripts/gpu/higrad.sh" --mesh 300,300,375 ;;
    *) echo "$0: no part is called $1" >&2; return 2 ;;
  esac
}
export -f run_part
for part in "${parts[@]}"; do
  echo "== $part"
  mkdir -p "$out/$part"
  before=$SECONDS
  root=$root nccl=$nccl OUT=$out/$part timeout "${LIMIT:-400}" bash -c "run_part $part" ||
    echo "part $part failed"
  echo "== $part took $((SECONDS - before)) s"
done
