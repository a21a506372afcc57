#!/usr/bin/env bash
# scripts/gpu/windows.sh [OPTIONS OF bench_windows]: MPI_Put, MPI_Get and MPI_Accumulate in the
# memory of GPUs, and a message of that size, with Dunnage. If BEFORE names another libdunnage.so,
# that one takes turns. Uses a build in build/, or BUILD. RANKS: the numbers of ranks (default: "1
# 2"). All ranks are known to have Dunnage (DUNNAGE_COLLECTIVES=on), so GPUs do the operations.
#
# Writes windows.jsonl, windows.txt and machine.txt to $OUT (default: build/results).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
begin_with_build "$0 $*"
run_in_turns windows bench_windows "$@"
