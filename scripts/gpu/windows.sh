#!/usr/bin/env bash
# scripts/gpu/windows.sh [OPTIONS OF bench_windows]: MPI_Put, MPI_Get and MPI_Accumulate in the
# memory of GPUs, and a message of that size, with Dunnage. If BEFORE names another libdunnage.so,
# that one takes turns. Uses a build in build/, or BUILD. RANKS: the numbers of ranks (default: "1
# 2"). All ranks are known to have Dunnage (DUNNAGE_COLLECTIVES=on), so GPUs do the operations.
#
# Writes windows.jsonl, windows.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
: > "$out/windows.jsonl"
for launch in $(seq "$launches"); do
  for ranks in ${RANKS:-1 2}; do
    for library in "$build/lib/libdunnage.so" ${BEFORE:+"$BEFORE"}; do
      [ "$library" = "${BEFORE:-}" ] && name=before || name=now
      mpirun --oversubscribe -n "$ranks" env LD_PRELOAD="$library" DUNNAGE_COLLECTIVES=on \
        "$build/mpi/openmpi/bench_windows" --memory device "$@" |
        sed "s/^{/{\"library\":\"$name\",\"launch\":$launch,/" >> "$out/windows.jsonl"
    done
  done
done
python3 "$root/scripts/gpu/medians.py" "$out/windows.jsonl" | tee "$out/windows.txt"
