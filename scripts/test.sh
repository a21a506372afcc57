#!/usr/bin/env bash
# Builds and runs every test: the unit tests plain and under the sanitizers, then those that drive
# the tool, MPI programs and the benchmarks. Goes on after a failure and ends with a summary of all.
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

# ThreadSanitizer of older compilers cannot live with the address randomisation of newer kernels.
tsan_wrapper() {
  local probe=$root/build/tsan-probe
  echo 'int main() { return 0; }' | "${CXX:-c++}" -fsanitize=thread -x c++ - -o "$probe" 2> /dev/null || return 1
  if "$probe" 2> /dev/null; then echo env; else setarch -R "$probe" 2> /dev/null && echo setarch -R; fi
}

announce "build"
scripts/build.sh default || failed_step build
unit_tests default build unit
unit_tests asan build-asan unit
scripts/build.sh asan preload || failed_step build-asan-preload # for tests/mpi/test_sanitized.py
if wrapper=$(tsan_wrapper); then
  # shellcheck disable=SC2086
  unit_tests tsan build-tsan thread $wrapper
  scripts/build.sh tsan preload || failed_step build-tsan-preload # for tests/mpi/test_sanitized.py
else
  echo "skipped: programs with ThreadSanitizer do not start on this machine"
fi

# A worker for each core: with more the ranks of different programs, which poll, keep each other
# waiting. What measures time is marked `alone` and comes after the others.
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
  announce "$folder"
  pytest_step "$(basename "$folder")" "$folder" -m "not alone" -n "$(nproc)" --dist worksteal
  ! grep -rq "mark.alone" "$folder" --include='*.py' || pytest_step "$(basename "$folder")-alone" "$folder" -m alone
done

announce "summary"
exec "$venv/bin/python" scripts/summary.py "$results"
