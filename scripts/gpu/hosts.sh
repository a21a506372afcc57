#!/usr/bin/env bash
# scripts/gpu/hosts.sh [OPTIONS OF bench_collectives]: MPI_Allreduce in the memory of GPUs between
# the ranks of two hosts that are made of this machine (scripts/two-hosts.sh). Calls that the MPI
# does by copies in host memory (DUNNAGE_COLLECTIVES=off) and Dunnage's take turns.
#
# Uses a build in build/, or BUILD. MPI, MPIRUN: another MPI and its launcher, as MPI=mpich5
# MPIRUN=PATH. RANKS: on each host (default: 2). PROGRAM: another program of the build, which runs
# once and gets the options. MPS=yes starts MPS, without which ranks that share a GPU wait for each
# other.
#
# Writes hosts.jsonl, hosts.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
if [ "${MPS:-no}" = yes ]; then
  export CUDA_MPS_PIPE_DIRECTORY=$out/mps CUDA_MPS_LOG_DIRECTORY=$out/mps-log
  mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
  trap 'echo quit | nvidia-cuda-mps-control > /dev/null 2>&1 || true; rm -rf "$out"/mps "$out"/mps-log' EXIT
  nvidia-cuda-mps-control -d
fi
run() { # COLLECTIVES PROGRAM ARGUMENTS...
  local variables=("LD_PRELOAD=$build/lib/libdunnage.so" "DUNNAGE_COLLECTIVES=$1") words=() name
  for name in LD_LIBRARY_PATH CUDA_MPS_PIPE_DIRECTORY; do variables+=(${!name:+"$name=${!name}"}); done
  for name in "${variables[@]}"; do words+=(--env "$name"); done
  "$root/scripts/two-hosts.sh" --mpi "${MPI:-openmpi}" --launcher "$(command -v "${launcher[0]}")" --rate none \
    --ranks-per-host "${RANKS:-2}" "${words[@]}" -- "$programs/$2" "${@:3}"
}
if [ -n "${PROGRAM:-}" ]; then
  run on "$PROGRAM" "$@"
  exit
fi
: > "$out/hosts.jsonl"
for launch in $(seq "$launches"); do
  for collectives in off on; do
    run "$collectives" bench_collectives --memory device --only allreduce "$@" |
      sed "s/^{/{\"library\":\"$collectives\",\"launch\":$launch,/" >> "$out/hosts.jsonl"
  done
done
python3 "$root/scripts/gpu/medians.py" "$out/hosts.jsonl" | tee "$out/hosts.txt"
