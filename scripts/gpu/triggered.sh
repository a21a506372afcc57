#!/usr/bin/env bash
# scripts/gpu/triggered.sh [ROUNDS]: messages that streams start and wait for, on a machine with one
# GPU or several, with Dunnage. Uses a build in build/, or BUILD. MPIRUN and MPI name another
# launcher and the folder of its programs (default: mpirun, openmpi).
#
# Half round trips of bench_triggered: one rank to itself, and two ranks, by kernels, by memory
# operations, by the way that was measured to be faster, and by a thread of the host. Kernels that
# send by themselves, if the MPI has partitioned communication (MPICH 5). Ghost cells of bench_halo:
# the direct kernel, the host, a stream and a graph. On a machine with one GPU two ranks share it;
# MPS is started if nvidia-cuda-mps-control is there. MPS=no goes without, and then streams wait by
# memory operations. RANKS, TRIGGERS and LAUNCHES choose (default: "1 2", all four, 5).
#
# Writes triggered.jsonl, triggered.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
rounds=${1:-200}
gpus=$(nvidia-smi -L 2> /dev/null | wc -l)
started=no
stop_mps() { [ $started = no ] || echo quit | nvidia-cuda-mps-control > /dev/null 2>&1 || true; }
trap stop_mps EXIT
if [ "$gpus" = 1 ] && [ "${MPS:-yes}" = yes ] && command -v nvidia-cuda-mps-control > /dev/null; then
  export CUDA_MPS_PIPE_DIRECTORY=$out/mps CUDA_MPS_LOG_DIRECTORY=$out/mps-log
  mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
  if nvidia-cuda-mps-control -d > /dev/null 2>&1; then started=yes; fi
fi
echo "GPUs: $gpus, MPS started: $started" | tee -a "$out/machine.txt"
: > "$out/triggered.jsonl"
run() { # RANKS TRIGGER PROGRAM ARGUMENTS: a failure is told, and the others still run
  local ranks=$1 trigger=$2
  shift 2
  timeout "${LIMIT:-120}" "${launcher[@]}" -n "$ranks" env LD_PRELOAD="$build/lib/libdunnage.so" DUNNAGE_PARTITIONED=on \
    DUNNAGE_NEIGHBOURS=on DUNNAGE_TRIGGER="$trigger" "$@" |
    sed "s/^{/{\"trigger\":\"$trigger\",/" >> "$out/triggered.jsonl" || echo "failed: $ranks ranks, $trigger, $*" | tee -a "$out/failed.txt"
}
for launch in $(seq "$launches"); do
  for ranks in ${RANKS:-1 2}; do
    for trigger in ${TRIGGERS:-kernels memory-operations auto proxy}; do
      run "$ranks" "$trigger" "$programs/bench_triggered" --rounds "$rounds"
      [ "$trigger" != proxy ] || continue # bench_halo does not call the MPI by threads
      run "$ranks" "$trigger" "$programs/bench_halo" --memory device --cells "${CELLS:-256}" --ghost "${GHOST:-1}" \
        --ways '^(direct|persistent|stream|graph)$'
    done
  done
done
python3 - "$out/triggered.jsonl" <<'PYTHON' | tee "$out/triggered.txt"
import collections, json, statistics, sys

figures, skipped = collections.OrderedDict(), {}
for line in open(sys.argv[1]):
    try:
        r = json.loads(line)
    except ValueError:
        continue
    if r.get("record") == "skipped":
        skipped[r["trigger"], r["way"]] = r["why"]
    elif r.get("record") == "overlap":
        what = f"{r['shape']}, {r['partitions']} partitions, {r['blocks']} blocks, {r['senders']} warps send"
        figures.setdefault((r["ranks"], r["trigger"], what, "% hidden"), []).append((100 * r["hidden"], r["verified"]))
    elif r.get("record") == "result" and "shape" in r:
        figures.setdefault((r["ranks"], r["trigger"], r["shape"], r["way"]), []).append((r["microseconds"], r["verified"]))
    elif r.get("record") == "result":
        what = f"halo {r['cells']}^3, {r['ghost']} deep"
        figures.setdefault((r["ranks"], r["trigger"], what, r["way"]), []).append((1e6 * r["seconds"]["median"], r["verified"]))
print("microseconds of half a round trip or of an exchange, or per cent: median of launches (least to most)")
print(f"{'ranks':>5} {'wanted':18}{"what":74}{'way':28}{'median':>9}")
for (ranks, trigger, what, way), all_of in figures.items():
    values = [value for value, _ in all_of]
    right = "right" if all(verified for _, verified in all_of) else "WRONG"
    print(f"{ranks:5} {trigger:18}{what:74}{way:28}{statistics.median(values):9.2f}  ({min(values):.2f} to {max(values):.2f}),"
          f" {len(values)} launches, {right}")
for (trigger, way), why in skipped.items():
    print(f"      {trigger:18}{way}: not measured: {why}")
PYTHON
