#!/usr/bin/env bash
# scripts/gpu/bcast.sh BUNDLE [OPTIONS OF dunnage bench]: the benchmark of broadcasts on a machine
# with many cores (those with several GPUs have them), in one go, from a checkout and what
# scripts/gpu/bundle.sh made of a build of the same commit. With the wheels of Open MPI, MPICH and
# Intel MPI and the machine's own Open MPI 4, unless --mpi says otherwise.
#
# Needs python3 (3.11 or newer) with numpy, matplotlib and tabulate. Writes bcast.json, .txt, .png
# and machine.txt to $OUT (default: build/results). BCAST_SECONDS (default: 590) ends it in any
# case.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
[ $# -ge 1 ] || { sed -n '2,8s/^# \?//p' "$0" >&2; exit 2; }
begin_benchmark "$1" "$0 $*"
shift
lscpu >> "$out/machine.txt" 2>&1 || true
mpi=(--mpi "openmpi,openmpi5,mpich5,impi")
[[ " $* " != *" --mpi "* ]] || mpi=()
status=0
timeout --kill-after=10 "${BCAST_SECONDS:-590}" python3 -m dunnage.bench bcast "${mpi[@]}" --output "$out" "$@" || status=$?
cat "$out/machine.txt"
exit "$status"
