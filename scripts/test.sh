#!/usr/bin/env bash
# Builds and runs every test: the unit tests plain and under the sanitizers, then those that drive
# the tool, MPI programs and the benchmarks. Goes on after a failure and ends with a summary of all.
#
# TURNS="asan tsan abi" runs all parts, which is the default. In CI the commit decides which of the
# three turns runs (docs/decisions/0041-turns.md).
set -uo pipefail
. "$(dirname "$0")/env.sh"
cd "$root" || exit
unset "${!DUNNAGE@}" # a test sets what it means to
results=$root/build/test-results
rm -rf "$results"
mkdir -p "$results"

announce() { printf '\n=== %s (after %d s)\n' "$*" "$SECONDS"; }

# A step that made no results of its own, as one failed case.
failed_step() {
  printf '<testsuite><testcase name="%s"><failure/></testcase></testsuite>\n' "$1" > "$results/$1.xml"
}

unit_tests() { # PRESET FOLDER LABEL [WRAPPER...]
  local preset=$1 folder=$2 label=$3
  shift 3
  announce "$label tests, $preset"
  scripts/build.sh "$preset" "${label}_tests" || { failed_step "build-$preset"; return; }
  "$@" ctest --test-dir "$folder" -L "$label" --output-on-failure --no-tests=error --parallel "$(nproc)" \
    --output-junit "$results/unit-$preset.xml" || [ -e "$results/unit-$preset.xml" ] || failed_step "unit-$preset"
}

# By the commit's hash: a clone may lack the commits before. A copy without git has
# AddressSanitizer.
turn_of_commit() {
  case $(git rev-parse HEAD 2> /dev/null || true) in *[147ad]) echo tsan ;; *[258be]) echo abi ;; *) echo asan ;; esac
}
if [ -n "${CI:-}" ]; then : "${TURNS=$(turn_of_commit)}"; else : "${TURNS=asan tsan abi}"; fi
export TURNS # for tests/support/chosen.py
for turn in $TURNS; do
  case $turn in asan | tsan | abi) ;; *) echo "TURNS: no turn is named $turn: write asan, tsan or abi" >&2; exit 2 ;; esac
done
has_turn() { # TURN...
  local turn
  for turn in "$@"; do case " $TURNS " in *" $turn "*) return 0 ;; esac; done
  return 1
}

# ThreadSanitizer of older compilers cannot live with the address randomisation of newer kernels.
tsan_wrapper() {
  local probe=$root/build/tsan-probe
  echo 'int main() { return 0; }' | "${CXX:-c++}" -fsanitize=thread -x c++ - -o "$probe" 2> /dev/null || return 1
  if "$probe" 2> /dev/null; then echo env; else setarch -R "$probe" 2> /dev/null && echo setarch -R; fi
}

announce "turns: ${TURNS:-none}"
has_turn abi || export MPI_ABI=no
has_turn tsan abi || export BENCHMARKS=no # AddressSanitizer's turn is the longest
announce "build"
scripts/build.sh default || failed_step build
if has_turn tsan abi; then unit_tests default build unit; fi # asan: the unit tests with AddressSanitizer
if has_turn abi; then scripts/build.sh default header_checks || failed_step build-header-checks; fi
if has_turn asan; then
  unit_tests asan build-asan unit
  scripts/build.sh asan preload || failed_step build-asan-preload # for tests/mpi/test_sanitized.py
fi
if has_turn tsan; then
  if wrapper=$(tsan_wrapper); then
    # shellcheck disable=SC2086
    unit_tests tsan build-tsan thread $wrapper
    scripts/build.sh tsan preload || failed_step build-tsan-preload # for tests/mpi/test_sanitized.py
  else
    echo "skipped: programs with ThreadSanitizer do not start on this machine"
  fi
fi

# A worker for each core: with more the ranks of different programs, which poll, keep each other
# waiting. In tests/mpi all ranks of a test share a core; one worker more uses the cores while ranks
# sleep. What measures time is marked `alone` and comes after the others.
pytest_step() { # NAME FOLDER OPTIONS...
  local name=$1 status=0
  shift
  "$venv/bin/python" -m pytest -q -p no:cacheprovider --durations=15 --junitxml="$results/$name.xml" "$@" || status=$?
  case $status in
    0 | 1) ;; # 1: tests failed, as the file says
    5) rm -f "$results/$name.xml" ;; # no test of that kind in the folder
    *) failed_step "pytest-$name" ;;
  esac
}
for folder in tests/*/; do
  compgen -G "${folder}test_*.py" > /dev/null || continue
  case $BENCHMARKS$folder in notests/bench/ | notests/tune/) continue ;; esac
  announce "$folder"
  workers=$(nproc)
  [ "$folder" != tests/mpi/ ] || workers=$((workers + 1))
  pytest_step "$(basename "$folder")" "$folder" -m "not alone" -n "$workers" --dist worksteal
  ! grep -rq "mark.alone" "$folder" --include='*.py' || pytest_step "$(basename "$folder")-alone" "$folder" -m alone
done

announce "summary"
exec "$venv/bin/python" scripts/summary.py "$results"
