#!/usr/bin/env bash
# An unmodified MPI program, a checked 3-D halo exchange, for each MPI here: without and with Dunnage.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"
ranks=$(nproc)
ranks=$((ranks < 2 ? 2 : ranks > 4 ? 4 : ranks))
export {OMPI,PRTE}_ALLOW_RUN_AS_ROOT=1 {OMPI,PRTE}_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers, mostly

found=0
for folder in build/mpi/*/; do
  flavour=$(basename "$folder")
  program=${folder}halo3d
  [ -x "$program" ] || continue
  found=1
  launch=("$(sed -n "s/^DUNNAGE_${flavour}_RUN:[^=]*=//p" build/CMakeCache.txt)" -n "$ranks")
  [[ $flavour != openmpi* ]] || launch+=(--map-by :OVERSUBSCRIBE)

  printf '\n=== %s, %s ranks, without Dunnage\n' "$flavour" "$ranks"
  "${launch[@]}" "$program" "$@"
  printf '\n=== %s, %s ranks, with Dunnage\n' "$flavour" "$ranks"
  build/bin/dunnage run --report -- "${launch[@]}" "$program" "$@"
done
[ $found = 1 ] || { echo "demo: no build/mpi/*/halo3d was built" >&2; exit 1; }
