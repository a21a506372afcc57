#!/usr/bin/env bash
# scripts/gpu/contracts.sh [PROGRAM...]: the contract programs for device memory (default: those
# below) with Dunnage on GPUs, with the settings that their tests have on the simulated device.
# triggered-WAY and kernels-WAY: gpu_triggered and gpu_kernels of contracts_triggered, with a value
# of DUNNAGE_TRIGGER. soak-WAY: triggered_soak with EXCHANGES exchanges (default: 100000). Uses a
# build in build/, or BUILD. RANKS: how many ranks (default: 2). SHARED=1: all ranks use one GPU;
# without that, each uses another one, as far as there are enough.
# WRAP: what runs each rank's program, such as "compute-sanitizer --error-exitcode 9
# --report-api-errors no".
#
# Writes contract_PROGRAM.txt and machine.txt to $OUT (default: build/results), and to standard
# output what each program says at its end. Returns 1 if a program failed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
[ $# -gt 0 ] || set -- bcast chain channels direct halo kernels-auto kernels-kernels lines neighbours neighbours_under_way pack partitions reductions self trials \
  triggered-auto triggered-kernels triggered-proxy unasked windows

# Sets `settings`, `binary`, `contract` and `arguments` of a program.
as_tested() { # PROGRAM
  arguments=() binary=contracts_gpu contract=$1
  case $1 in
    bcast | chain) settings=(DUNNAGE_BCAST=window) ;;
    lines) settings=(DUNNAGE_NEIGHBOURS=on DUNNAGE_FORCE=always DUNNAGE_TICKETS=always) ;;
    neighbours | neighbours_under_way) settings=(DUNNAGE_NEIGHBOURS=on CONTRACT_OUR_NEIGHBOURS=1) ;;
    partitions)
      settings=(DUNNAGE_NEIGHBOURS=on DUNNAGE_PARTITIONED=on CONTRACT_OUR_PARTITIONS=1)
      arguments=(0.5 3) # seconds, seed
      ;;
    unasked) settings=(DUNNAGE_COLLECTIVES=on DUNNAGE_NEIGHBOURS=on CONTRACT_OUR_NEIGHBOURS=1) arguments=("${SEED:-1}") ;;
    windows)
      settings=(DUNNAGE_COLLECTIVES=on CONTRACT_OUR_WINDOWS=1 OMPI_MCA_osc=^ucx)
      arguments=(device)
      ;;
    triggered-*)
      settings=(DUNNAGE_PARTITIONED=on DUNNAGE_TRIGGER="${1#*-}")
      arguments=("${1#*-}")
      binary=contracts_triggered contract=gpu_triggered
      ;;
    kernels-*)
      settings=(DUNNAGE_PARTITIONED=on DUNNAGE_TRIGGER="${1#*-}")
      arguments=("${1#*-}")
      binary=contracts_triggered contract=gpu_kernels
      ;;
    soak-*)
      settings=(DUNNAGE_PARTITIONED=on DUNNAGE_TRIGGER="${1#*-}")
      arguments=("${1#*-}" "${EXCHANGES:-100000}")
      binary=contracts_triggered contract=triggered_soak
      ;;
    *) settings=(DUNNAGE_COLLECTIVES=on) ;;
  esac
}

read -ra wrap <<< "${WRAP:-}"
[ -n "${SHARED:-}" ] || each=1
result=0
for program in "$@"; do
  as_tested "$program"
  log=$out/contract_$program.txt status=0
  timeout 180 "${launcher[@]}" -n "${RANKS:-2}" env CONTRACT_TIMEOUT=150 ${each:+CONTRACT_GPU_EACH=1} LD_PRELOAD="$build/lib/libdunnage.so" "${settings[@]}" \
    "${wrap[@]}" "$programs/$binary" "$contract" "${arguments[@]}" > "$log" 2>&1 || status=$?
  if [ $status != 0 ]; then
    result=1
    echo "$program: exit status $status"
    grep FAIL "$log" | head -n 5 || true
  fi
  grep "^contract .* checks" "$log" || echo "$program: told no number of checks"
done
exit $result
