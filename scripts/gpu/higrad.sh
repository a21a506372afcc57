#!/usr/bin/env bash
# scripts/gpu/higrad.sh [OPTIONS OF higrad]: Higrad's three options in the memory of a GPU. Option 0
# runs without and with Dunnage. Options 1 and 2 run with Dunnage only, because the system's Open
# MPI ends on device memory. If BEFORE names another libdunnage.so, that one takes turns. Uses a
# build in build/, or BUILD, whose program has its kernels in it.
#
# RANKS: the numbers of ranks (default: "1 2"). INTERFACE: mpif, mpi_module or f08 (default:
# mpi_module). LAUNCHES: how many of each (default: 5).
#
# Writes higrad.jsonl, higrad.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
program=$build/mpi/openmpi/higrad_${INTERFACE:-mpi_module}
: > "$out/higrad.jsonl"
launch_one() { # NAME LIBRARY OPTIONS...
  local name=$1 library=$2
  shift 2
  mpirun --oversubscribe -n "$ranks" env LD_PRELOAD="$library" "$program" --memory device --json "$@" |
    sed "s/^{/{\"library\":\"$name\",\"launch\":$launch,/" >> "$out/higrad.jsonl"
}
for launch in $(seq "$launches"); do
  for ranks in ${RANKS:-1 2}; do
    launch_one plain "" "$@" --option 0
    launch_one dunnage "$build/lib/libdunnage.so" "$@"
    [ -z "${BEFORE:-}" ] || launch_one before "$BEFORE" "$@"
  done
done
python3 - "$out/higrad.jsonl" <<'PYTHON' | tee "$out/higrad.txt"
import collections, json, statistics, sys
compute, exchange = collections.defaultdict(list), collections.defaultdict(list)
sums = collections.defaultdict(set)
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["record"] != "result":
        continue
    key = r["ranks"], r["option"], r["library"]
    compute[key].append(r["compute"]["median"] * 1e3)
    exchange[key].append(r["communication"]["median"] * 1e3)
    sums[key].add(r["checksum"])
    size = f"{'x'.join(map(str, r['mesh']))} cells, {r['variables']} variables, {r['ghost']} deep"
expected = set().union(*(sums[key] for key in sums if key[1:] == (0, "plain")))
print(f"{size}: milliseconds of a step, median of launches (least to most)")
print(f"{'ranks':>5}{'option':>7} {'library':8}{'compute':>10}{'exchange':>10}{'%':>7}  range of exchange, checksum")
for key in sorted(exchange):
    v, c = exchange[key], statistics.median(compute[key])
    e = statistics.median(v)
    right = "right" if len(expected) == 1 and sums[key] == expected else "WRONG"
    print(f"{key[0]:5}{key[1]:7} {key[2]:8}{c:10.3f}{e:10.3f}{100 * e / (c + e):7.1f}  {min(v):.3f} to {max(v):.3f}, {right}")
PYTHON
