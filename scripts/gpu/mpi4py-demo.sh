#!/usr/bin/env bash
# scripts/gpu/mpi4py-demo.sh BUNDLE [PACKAGES...]: mpi4py's demo/cuda-aware-mpi, unmodified, with
# the wheels of Open MPI and MPICH, which know no GPUs, without and with Dunnage; then our examples.
# On a machine with a GPU, from a checkout and what scripts/gpu/bundle.sh made (archives or the
# folders that they were unpacked into); PACKAGES are those of its --packages that python3 there
# lacks. Writes mpi4py_demo.json to $OUT (default: build/results): which passed, which crashed and
# how. Exit status 1 if one did not pass with Dunnage, or could not be run.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/gpu/env.sh"
[ $# -ge 1 ] || { sed -n '2,7s/^# \?//p' "$0" >&2; exit 2; }
use_bundle_with_packages "$@"
python3 "$root/scripts/gpu/mpi4py_demo.py" "$bundle" "$out/mpi4py_demo.json" "$root"/examples/python/{cupy_ring,spectral}.py
