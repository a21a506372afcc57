"""scripts/gpu/medians.py FILE: prints a table of the results of bench_collectives or bench_windows:
the median of the launches' medians, and the least and the most of them. NCCL's medians beside, if
they were measured."""

import collections
import json
import statistics
import sys

times, limits, nccl = (collections.defaultdict(list) for _ in range(3))
right = collections.defaultdict(bool)
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["record"] != "result":
        continue
    key = r["ranks"], r["operation"], r["bytes"], r["library"]
    right[key] = r["verified"] and right.get(key, True)
    times[key].append(r["seconds"]["median"] * 1e6)
    limits[key].append(r["limit"] * 1e6)
    if "nccl" in r:
        nccl[key].append(r["nccl"] * 1e6)
print("microseconds, median of launches (least to most)")
title = f"{'ranks':>5} {'operation':24}{'bytes':>10} {'library':8}{'median':>11}{'one copy':>10}{'NCCL':>10}"
print(f"{title}  range, bytes")
for key in sorted(times):
    v = times[key]
    beside = f"{statistics.median(nccl[key]):10.1f}" if key in nccl else f"{'-':>10}"
    verdict = "right" if right[key] else "WRONG"
    print(f"{key[0]:5} {key[1]:24}{key[2]:10} {key[3]:8}{statistics.median(v):11.1f}"
          f"{statistics.median(limits[key]):10.1f}{beside}  {min(v):.1f} to {max(v):.1f}, {verdict}")
