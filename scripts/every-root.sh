#!/usr/bin/env bash
# scripts/every-root.sh [PROGRAM]: checks the schedules of every broadcast for 1 to 300 ranks and
# every root (`make test` has some roots beyond 24 ranks), on all cores: a quarter of an hour of
# one. PROGRAM: build/tests/collective_test by default. Prints what each algorithm and range of
# ranks came to, and ends with 1 where one failed.
set -uo pipefail
program=${1:-$(dirname "$0")/../build/tests/collective_test}
export DUNNAGE_TEST_ROOTS=300

check() { # ALGORITHM LEAST MOST
  local begin=$SECONDS result=right
  DUNNAGE_TEST_LEAST_RANKS=$2 DUNNAGE_TEST_RANKS=$3 "$program" --gtest_brief=1 \
    --gtest_filter="*/Algorithms.EveryRankEndsWithAllBytesAndGetsNoneTwice/$1" > "$4/$1-$2" 2>&1 || { result=WRONG; cat "$4/$1-$2"; }
  grep -q "PASSED  . 1 test" "$4/$1-$2" || { result=WRONG; }
  echo "$1, $2 to $3 ranks, every root: $result, $((SECONDS - begin)) s"
  [ $result = right ]
}
export -f check
export program

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Of like length: the work grows with the fourth power.
for range in "280 300" "253 279" "213 252" "1 212"; do
  for algorithm in scatter_ring scatter_open_ring circulant chain binary_tree scatter_doubling binomial; do
    echo "$algorithm $range $folder"
  done
done | xargs -P "$(nproc)" -L 1 bash -c 'check "$@"' -
