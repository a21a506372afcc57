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
python3 - "$out/collectives.jsonl" <<'PYTHON' | tee "$out/collectives.txt"
import collections, json, statistics, sys
times, limits, right = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(bool)
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["record"] != "result":
        continue
    key = r["ranks"], r["operation"], r["bytes"], r["library"]
    right[key] = r["verified"] and right.get(key, True)
    times[key].append(r["seconds"]["median"] * 1e6)
    limits[key].append(r["limit"] * 1e6)
print("microseconds, median of launches (least to most)")
print(f"{'ranks':>5} {'operation':24}{'bytes':>10} {'library':8}{'median':>11}{'one copy':>10}  range, bytes")
for key in sorted(times):
    v = times[key]
    print(f"{key[0]:5} {key[1]:24}{key[2]:10} {key[3]:8}{statistics.median(v):11.1f}"
          f"{statistics.median(limits[key]):10.1f}  {min(v):.1f} to {max(v):.1f}, {'right' if right[key] else 'WRONG'}")
PYTHON
