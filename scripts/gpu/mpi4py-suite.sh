#!/usr/bin/env bash
# scripts/gpu/mpi4py-suite.sh BUNDLE [PACKAGES...]: mpi4py's own tests of calls that take arrays,
# with CuPy's arrays too, on the wheels of Open MPI and MPICH with Dunnage. On a machine with a GPU,
# from a checkout and what scripts/gpu/bundle.sh made; PACKAGES as for mpi4py-demo.sh. JOBS modules
# run at a time (default: 6), each on RANKS ranks (default: 2); MODULES names some. Writes
# mpi4py_suite.json to $OUT (default: build/results). Exit status 1 if a test did not pass that
# passes plain with NumPy's arrays alone.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
[ $# -ge 1 ] || { sed -n '2,8s/^# \?//p' "$0" >&2; exit 2; }
use_bundle_with_packages "$@"
python3 "$root/scripts/gpu/mpi4py_suite.py" "$bundle" "$out/mpi4py_suite.json"
