# shellcheck shell=bash
# Sourced by the scripts that run on a machine with a GPU, from a checkout; they have set `root`.

# The path of a library that the system knows; nothing where it does not.
library() { ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'; }

# The folder of CUDA's driver, where the system does not know it.
driver_folder() {
  if [ -z "$(library libcuda.so.1)" ] && [ -e /usr/local/nvidia/lib64/libcuda.so.1 ]; then echo /usr/local/nvidia/lib64; fi
}

# What figures of this machine depend on. The arguments are the command.
describe_machine() {
  echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  echo "command: $*"
  echo "commit: ${BENCH_COMMIT:-$(git rev-parse HEAD 2> /dev/null || echo unknown)}"
  echo "kernel: $(uname -sr)"
  grep -m 1 '^model name' /proc/cpuinfo
  echo "cores: $(nproc)"
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,ecc.mode.current --format=csv
}

# Unpacks what bundle.sh made, if it is an archive, and has this shell use it. Sets `bundle`. The
# folder goes with the shell.
use_bundle() {
  local archive
  bundle=$1
  [ -e "$bundle" ] || { echo "$0: $bundle is missing; scripts/gpu/bundle.sh makes it" >&2; exit 2; }
  if [ ! -d "$bundle" ]; then
    archive=$(realpath "$bundle") bundle=$(mktemp -d)
    trap 'rm -rf "$bundle"' EXIT
    tar -C "$bundle" -xJf "$archive"
  fi
  bundle=$(realpath "$bundle")
  BENCH_COMMIT=${BENCH_COMMIT:-$(cat "$bundle/commit")}
  PATH=$bundle/bin:$PATH
  local driver
  driver=$(driver_folder)
  LD_LIBRARY_PATH=$bundle/lib:$bundle/lib/dunnage${driver:+:$driver}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export BENCH_COMMIT PATH LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
  export {OMPI,PRTE}_ALLOW_RUN_AS_ROOT=1 {OMPI,PRTE}_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# use_bundle, and unpacks more archives or folders of Python's packages, which go to PYTHONPATH with
# those of the bundle. Sets `out`, the folder of the results.
use_bundle_with_packages() { # BUNDLE [PACKAGES...]
  local package more
  use_bundle "$1"
  shift
  PYTHONPATH=$bundle/site
  for package in "$@"; do
    more=$(mktemp -d "$bundle/packages.XXXXXX")
    if [ -d "$package" ]; then cp -r "$package/." "$more"; else tar -C "$more" -xJf "$package"; fi
    PYTHONPATH+=:$more/site
  done
  export PYTHONPATH
  out=${OUT:-$root/build/results}
  mkdir -p "$out"
}

# What a benchmark of a bundle begins with: uses it, goes to the checkout, describes the machine in
# the folder of the results, and sets that as `out`.
begin_benchmark() { # BUNDLE COMMAND
  use_bundle "$1"
  cd "$root"
  out=${OUT:-$root/build/results}
  mkdir -p "$out"
  python3 -c 'import matplotlib, numpy, tabulate, tomllib' || { echo "$0: python3 lacks the module above" >&2; exit 2; }
  describe_machine "$2" > "$out/machine.txt" 2>&1 || true
  export DUNNAGE_HOME=$bundle PYTHONPATH=$root/python
}

# What a benchmark of a build (in build/, or BUILD) begins with: describes the machine in the folder
# of the results, and sets `build`, `out` and `launches`. Sets `programs` to the folder mpi/MPI
# (default: openmpi), and `launcher` to MPIRUN (default: that of the system's Open MPI).
begin_with_build() { # COMMAND
  build=${BUILD:-$root/build} out=${OUT:-$root/build/results} launches=${LAUNCHES:-5}
  programs=$build/mpi/${MPI:-openmpi}
  read -ra launcher <<< "${MPIRUN:-mpirun --oversubscribe}"
  mkdir -p "$out"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  local driver
  driver=$(driver_folder)
  [ -z "$driver" ] || export LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  describe_machine "$1" > "$out/machine.txt"
}

# Runs a benchmark of `programs` with Dunnage and a setting, LAUNCHES times on each number of RANKS.
# If BEFORE names another libdunnage.so, that one takes turns. begin_with_build comes first. Writes
# NAME.jsonl to `out`.
launch_in_turns() { # NAME PROGRAM SETTING OPTIONS...
  local name=$1 program=$2 setting=$3 launch ranks library which
  shift 3
  : > "$out/$name.jsonl"
  for launch in $(seq "$launches"); do
    for ranks in ${RANKS:-1 2}; do
      for library in "$build/lib/libdunnage.so" ${BEFORE:+"$BEFORE"}; do
        [ "$library" = "${BEFORE:-}" ] && which=before || which=now
        "${launcher[@]}" -n "$ranks" env LD_PRELOAD="$library" "$setting" \
          "$programs/$program" --memory device "$@" |
          sed "s/^{/{\"library\":\"$which\",\"launch\":$launch,/" >> "$out/$name.jsonl"
      done
    done
  done
}

# As launch_in_turns, where all ranks are known to have Dunnage, and makes a table. Writes NAME.txt
# too.
run_in_turns() { # NAME PROGRAM OPTIONS...
  local name=$1 program=$2
  shift 2
  launch_in_turns "$name" "$program" DUNNAGE_COLLECTIVES=on "$@"
  python3 "$root/scripts/gpu/medians.py" "$out/$name.jsonl" | tee "$out/$name.txt"
}
