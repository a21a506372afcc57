#!/usr/bin/env bash
# scripts/gpu/collectives.sh [OPTIONS OF bench_collectives]: Alltoall, Allgather, Gather, Scatter
# and reductions in the memory of GPUs, with Dunnage. If BEFORE names another libdunnage.so, that
# one takes turns.
# Uses a build in build/, or BUILD. RANKS: the numbers of ranks (default: "1 2"). The collectives
# are Dunnage's (DUNNAGE_COLLECTIVES=on).
#
# Writes collectives.jsonl, collectives.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
: > "$out/collectives.jsonl"
for launch in $(seq "$launches"); do
  for ranks in ${RANKS:-1 2}; do
    for library in "$build/lib/libdunnage.so" ${BEFORE:+"$BEFORE"}; do
      [ "$library" = "${BEFORE:-}" ] && name=before || name=now
      mpirun --oversubscribe -n "$ranks" env LD_PRELOAD="$library" DUNNAGE_COLLECTIVES=on \
        "$build/mpi/openmpi/bench_collectives" --memory device "$@" |
        sed "s/^{/{\"library\":\"$name\",\"launch\":$launch,/" >> "$out/collectives.jsonl"
    done
  done
done
python3 "$root/scripts/gpu/medians.py" "$out/collectives.jsonl" | tee "$out/collectives.txt"
