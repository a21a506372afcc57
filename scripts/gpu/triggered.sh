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
# memory operations.
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
for ranks in 1 2; do
  for trigger in kernels memory-operations auto proxy; do
    run "$ranks" "$trigger" "$programs/bench_triggered" "$rounds"
    [ "$trigger" != proxy ] || continue
    run "$ranks" "$trigger" "$programs/bench_halo" --memory device --cells "${CELLS:-256}" --ghost "${GHOST:-1}" \
      --ways '^(direct|persistent|stream|graph)$'
  done
done
python3 - "$out/triggered.jsonl" <<'PYTHON' | tee "$out/triggered.txt"
import json, sys
print("microseconds: median (least to most; of ghost cells the first and the last tenth)")
print(f"{'ranks':>5} {'wanted':18}{'what':28}{'way':28}{'median':>9}  range, bytes")
for line in open(sys.argv[1]):
    try:
        r = json.loads(line)
    except ValueError:
        continue
    if r.get("record") == "skipped":
        print(f"{'':5} {r['trigger']:18}{r['way']}: not measured: {r['why']}")
    if r.get("record") == "overlap":
        what = f"{r['partitions']} partitions, {r['blocks']} thread blocks, {r['senders']} warps send, {r['shape']}"
        print(f"{r['ranks']:5} {r['trigger']:18}{what:76}transfer {r['transfer']:.0f}, computation {r['computation']:.0f},"
              f" both {r['both']:.0f}: {r['hidden']:.0%} hidden, {'right' if r['verified'] else 'WRONG'}")
    if r.get("record") != "result":
        continue
    if "shape" in r:
        what, median, least, most = r["shape"], r["microseconds"], r["least"], r["most"]
    else:
        s = r["seconds"]
        what = f"halo {r['cells']}^3, {r['ghost']} deep"
        median, least, most = (1e6 * s[k] for k in ("median", "p10", "p90"))
    print(f"{r['ranks']:5} {r['trigger']:18}{what:28}{r['way']:28}{median:9.2f}  {least:.2f} to {most:.2f},"
          f" {'right' if r['verified'] else 'WRONG'}")
PYTHON
