#!/usr/bin/env bash
# scripts/gpu/unexpected.sh [OPTIONS OF bench_unexpected]: messages in device memory whose receive
# is posted late, on a machine with a GPU, with Dunnage. If BEFORE names another libdunnage.so, that
# one takes turns. The system's Open MPI ends on device memory, so it does not run by itself. Uses a
# build in build/, or BUILD.
#
# RANKS: the numbers of ranks (default: 2). BYTES, BLOCKS: the sizes and layouts (default: "512
# 65536 1048576" and "0 64"); each pair has launches of its own. LAUNCHES: how many (default: 5).
#
# Writes unexpected.jsonl, unexpected.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
: > "$out/unexpected.jsonl"
written=$(mktemp)
trap 'rm -f "$written"' EXIT
launch_one() { # NAME LIBRARY OPTIONS...
  local name=$1 library=$2
  shift 2
  "${launcher[@]}" -n "$ranks" env LD_PRELOAD="$library" DUNNAGE_REPORT="$written" \
    "$programs/bench_unexpected" --memory device --bytes "$bytes" --blocks "$block" "$@" |
    sed "s/^{/{\"library\":\"$name\",\"launch\":$launch,/" >> "$out/unexpected.jsonl"
  printf '{"record":"ways","library":"%s","ranks":%s,"bytes":%s,"block":%s,"report":%s}\n' \
    "$name" "$ranks" "$bytes" "$block" "$(tr -d '\n' < "$written")" >> "$out/unexpected.jsonl"
}
for launch in $(seq "$launches"); do
  for ranks in ${RANKS:-2}; do
    for bytes in ${BYTES:-512 65536 1048576}; do
      for block in ${BLOCKS:-0 64}; do
        launch_one now "$build/lib/libdunnage.so" "$@"
        [ -z "${BEFORE:-}" ] || launch_one before "$BEFORE" "$@"
      done
    done
  done
done
python3 - "$out/unexpected.jsonl" <<'PYTHON' | tee "$out/unexpected.txt"
import collections, json, statistics, sys
times, blocked = collections.defaultdict(list), collections.defaultdict(list)
most, right = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: True)
ways = collections.defaultdict(collections.Counter)
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["record"] == "ways":
        for call, counts in r["report"]["calls"].items():
            for way, count in counts.get("device memory", {}).items():
                ways[r["ranks"], r["bytes"], r["block"], call, r["library"]][way] += count
    if r["record"] != "result":
        continue
    place = r["ranks"], r["bytes"], r["block"], r["messages"], r["call"], r["library"]
    times[place, r["lateness"]].append(r["seconds"]["median"] * 1e6)
    blocked[place, r["lateness"]].append((r["in_calls"]["median"] + r["in_wait"]["median"]) * 1e6)
    memory = max(r["peak_bytes"].values()), r["device_bytes"]
    most[place] = [max(pair) for pair in zip(most[place], memory)]
    right[place] &= r["verified"]
degrees = sorted({lateness for _, lateness in times})
print("microseconds less the lateness, by lateness; median of launches; blocked: the sender at the greatest")
print(f"{'ranks':>5}{'bytes':>9}{'block':>6}{'number':>7} {'call':11}{'library':8}"
      + "".join(f"{f'{1e6 * late:g} us':>11}" for late in degrees)
      + f"{'blocked':>11}{'peak MiB':>10}{'device MiB':>11}  bytes")
for place in sorted(most):
    found = [times[place, late] for late in degrees]
    print(f"{place[0]:5}{place[1]:9}{place[2]:6}{place[3]:7} {place[4]:11}{place[5]:8}"
          + "".join(f"{statistics.median(v):11.1f}" if v else f"{'-':>11}" for v in found)
          + f"{statistics.median(blocked[place, degrees[-1]]):11.1f}{most[place][0] / 2**20:10.1f}"
          + f"{most[place][1] / 2**20:11.1f}  {'right' if right[place] else 'WRONG'}")
print("ways of the messages, all numbers and degrees of lateness together")
for place, counts in sorted(ways.items()):
    shares = "; ".join(f"{100 * n / sum(counts.values()):.1f} % {way}" for way, n in counts.most_common())
    print(f"{place[0]:5}{place[1]:9}{place[2]:6} {place[3]:14}{place[4]:8}{shares}")
PYTHON
