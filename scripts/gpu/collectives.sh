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
run_in_turns collectives bench_collectives "$@"
