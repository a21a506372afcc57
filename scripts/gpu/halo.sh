#!/usr/bin/env bash
# scripts/gpu/halo.sh [OPTIONS OF bench_halo]: exchanges of ghost cells on a machine with a GPU,
# with Dunnage, and, if BEFORE names another libdunnage.so, with that one in turns. Uses a build in
# build/, or BUILD. RANKS: the numbers of ranks (default: "1 2"). Neighbour collectives are
# Dunnage's (DUNNAGE_NEIGHBOURS=on). MPI, MPIRUN: another MPI, as MPI=mpich5 MPIRUN=mpirun.mpich5
# for a bundle.
#
# Writes halo.jsonl, halo.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
launch_in_turns halo bench_halo DUNNAGE_NEIGHBOURS=on "$@"
python3 - "$out/halo.jsonl" <<'PYTHON' | tee "$out/halo.txt"
import collections, json, statistics, sys
times, right = collections.defaultdict(list), collections.defaultdict(lambda: True)
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["record"] != "result":
        continue
    key = r["ranks"], r["variables"], r["cells"], r["ghost"], r["way"], r["library"]
    times[key].append(r["seconds"]["median"] * 1e6)
    right[key] &= r["verified"]
print("microseconds, median of launches (least to most)")
print(f"{'ranks':>5}{'var':>4}{'cells':>6}{'deep':>5} {'way':28}{'library':8}{'median':>10}  range, cells")
for key in sorted(times):
    v = times[key]
    print(f"{key[0]:5}{key[1]:4}{key[2]:6}{key[3]:5} {key[4]:28}{key[5]:8}{statistics.median(v):10.1f}"
          f"  {min(v):.1f} to {max(v):.1f}, {'right' if right[key] else 'WRONG'}")
PYTHON
