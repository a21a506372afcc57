#!/usr/bin/env bash
# scripts/gpu/self.sh [OPTIONS OF bench_self]: messages of a rank to itself on a machine with a GPU,
# with Dunnage, and, if BEFORE names another libdunnage.so, with that one in turns. Uses a build in
# build/, or BUILD.
#
# Writes self.jsonl, self.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
: > "$out/self.jsonl"
for launch in $(seq "$launches"); do
  for library in "$build/lib/libdunnage.so" ${BEFORE:+"$BEFORE"}; do
    [ "$library" = "${BEFORE:-}" ] && name=before || name=now
    for memory in device host; do
      mpirun -n 1 env LD_PRELOAD="$library" "$build/mpi/openmpi/bench_self" --memory "$memory" "$@" |
        sed "s/^{/{\"library\":\"$name\",\"launch\":$launch,/" >> "$out/self.jsonl"
    done
  done
done
python3 - "$out/self.jsonl" <<'PYTHON' | tee "$out/self.txt"
import collections, json, statistics, sys
times = collections.defaultdict(list)
for line in open(sys.argv[1]):
    record = json.loads(line)
    if "bytes" not in record:
        continue
    for way, s in record.items():
        if isinstance(s, dict):
            times[record["memory"], record["block"], record["bytes"], record["library"], way].append(s["median"] * 1e6)
print("microseconds, median of launches (least to most); block 0: contiguous")
print(f"{'memory':7}{'block':>6}{'bytes':>10} {'library':8}{'way':10}{'median':>10}  range")
for key in sorted(times):
    v = times[key]
    print(f"{key[0]:7}{key[1]:6}{key[2]:10} {key[3]:8}{key[4]:10}{statistics.median(v):10.2f}  {min(v):.2f} to {max(v):.2f}")
PYTHON
