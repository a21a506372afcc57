#!/usr/bin/env bash
# scripts/gpu/bundle.sh [ARCHIVE] [--packages]: what the scripts beside this one need on a machine
# that has a GPU and a driver but neither compilers nor package registries, as one archive (default:
# build/gpu.tar.xz, about 30 MB). On the machine it is unpacked beside a checkout of the same
# commit. Scripts that use a build take the folder as BUILD:
#
#   bin/dunnage  lib/libdunnage.so  lib/libdunnage-api.so.0
#   lib/dunnage/{backends, kernels, what they need, the simulated device}
#   mpi/<name>/{bench_..., higrad_..., contracts_...}   for these MPIs, and for that machine's Open MPI 4
#   wheels/{openmpi5,mpich5,impi}    the MPIs as their wheels have them; bin/mpirun.<name> starts them
#   site/                            mpi4py for PYTHON (default: 3.12), the version of python3 there
#   demo/, suite/                    mpi4py's demo/cuda-aware-mpi and its tests, as its source distribution has them
#
# Needs a build with the wheels of the MPIs (MPI_WHEELS=yes make) and pip. --packages makes three
# archives more, for machines whose python3 lacks CuPy or Numba, or has a NumPy that its Numba does
# not go with: ARCHIVE with -cupy (32 MB; CUDA's own libraries and headers must be there), -numba
# (42 MB) and -numpy (10 MB) before .tar.xz.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
. "$(dirname "$0")/../wheels.sh"
archive=$root/build/gpu.tar.xz packages=no
for argument in "$@"; do
  case $argument in
    --packages) packages=yes ;;
    -*) sed -n '2,15s/^# \?//p' "$0" >&2; exit 2 ;;
    *) archive=$(realpath -m "$argument") ;;
  esac
done
cd "$root"
build=$root/build python=${PYTHON:-3.12}
die() { echo "scripts/gpu/bundle.sh: $*" >&2; exit 2; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# --- Dunnage and the benchmark --------------------------------------------------------------------

mkdir -p "$tree"/{bin,lib/dunnage/sim,wheels,site,demo}
cp "$build/bin/dunnage" "$tree/bin/"
cp -L "$build"/lib/{libdunnage.so,libdunnage-api.so.0} "$tree/lib/"
cp -L "$build"/lib/dunnage/libdunnage-{,api-}{openmpi,mpich}.so "$build"/lib/dunnage/dunnage-kernels.fatbin "$tree/lib/dunnage/"
find "$build/lib/dunnage" -maxdepth 1 -name 'mark-*.so' -exec cp {} "$tree/lib/dunnage/" \;
cp -L "$build"/lib/dunnage/sim/{libcuda.so.1,libdunnage-kernels-sim.so} "$tree/lib/dunnage/sim/"
for mpi in openmpi openmpi5 mpich5 impi; do
  programs=(bench_{bcast,bcast_device,collectives,cuda_aware,halo,self,triggered,tune,unexpected,windows})
  programs+=(contracts_gpu contracts_triggered)
  [ "$mpi" != impi ] || programs=(bench_bcast)
  [ -d "$build/mpi/$mpi" ] || { [ "$mpi" = openmpi ] && continue; die "$build/mpi/$mpi is missing"; }
  mkdir -p "$tree/mpi/$mpi"
  [ "$mpi" != openmpi ] || programs+=(higrad_mpi_module higrad_triggered)
  cp "${programs[@]/#/$build/mpi/$mpi/}" "$tree/mpi/$mpi/"
done
find "$tree/bin" "$tree/lib" "$tree/mpi" -type f ! -name '*.fatbin' -exec strip {} +

# --- the MPIs -------------------------------------------------------------------------------------

copy_wheels "$tree"
for to in openmpi5 mpich5 impi; do
  launcher=mpirun
  [ "$to" != impi ] || launcher=mpiexec.hydra # its mpirun is for clusters
  cat > "$tree/bin/mpirun.$to" <<LAUNCHER
#!/bin/sh
wheel=\$(dirname "\$(readlink -f "\$0")")/../wheels/$to
LD_LIBRARY_PATH=\$wheel/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec "\$wheel/bin/$launcher" "\$@"
LAUNCHER
  chmod +x "$tree/bin/mpirun.$to"
done

# --- mpi4py and its demos -------------------------------------------------------------------------

fetch() { # FOLDER PACKAGE...: unpacked wheels for that python, without what they depend on
  local folder=$1 platforms=()
  shift
  for glibc in 5 12 17 24 27 28 31; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
  "$venv/bin/python" -m pip install -q --no-deps --no-compile --only-binary=:all: --implementation cp --python-version "$python" \
    "${platforms[@]}" --platform manylinux2014_x86_64 --platform manylinux1_x86_64 --target "$folder" "$@"
}
fetch "$tree/site" "$(grep '^mpi4py==' python/mpi-python.txt)"
rm -rf "$tree"/site/bin "$tree"/site/mpi4py/{include,*.pyi}
demos=$(compgen -G "$venv/mpi4py/mpi4py-*/demo/cuda-aware-mpi") || die "no source distribution of mpi4py in $venv/mpi4py; MPI_WHEELS=yes scripts/setup.sh fetches it"
cp "$demos"/*.py "$tree/demo/"
cp -r "$demos/../../test" "$tree/suite"

git rev-parse HEAD > "$tree/commit"
mkdir -p "$(dirname "$archive")"
tar -C "$tree" -c . | xz -T2 -9 > "$archive"
ls -l "$archive"
[ $packages = yes ] || exit 0

rm -rf "${tree:?}"/*
fetch "$tree/cupy/site" cupy-cuda13x
fetch "$tree/numba/site" numba numba-cuda llvmlite
fetch "$tree/numpy/site" 'numpy==2.3.5'
find "$tree" -type d -name tests -prune -exec rm -rf {} +
find "$tree/cupy" -name '*.so' -exec strip --strip-unneeded {} + # some of Numba's do not load any more after that
# Numba finds its part for CUDA by a .pth file, which folders on PYTHONPATH may not have.
printf 'import pathlib\nimport site\n\nsite.addsitedir(str(pathlib.Path(__file__).parent))\n' > "$tree/numba/site/sitecustomize.py"
for name in cupy numba numpy; do
  tar -C "$tree/$name" -c . | xz -T2 -9 > "${archive%.tar.xz}-$name.tar.xz"
  ls -l "${archive%.tar.xz}-$name.tar.xz"
done
