#!/usr/bin/env bash
# scripts/gpu/mpi.sh openmpi|mpich PREFIX [SOURCES]: a CUDA-aware MPI from the source package of
# Debian 12, in PREFIX, for scripts/gpu/pack.sh to compare with. Distributions build theirs without
# CUDA.
#
# Needs CUDA with nvcc (CUDA=/usr/local/cuda), gcc, make, and either apt with source packages or
# SOURCES, a folder with the package's .orig.tar. An hour of one core for MPICH, whose kernels are
# compiled one by one for one architecture (SM=90), and ten minutes for Open MPI. The result may be
# moved: pack.sh tells Open MPI where it is.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,9s/^# \?//p' "$0" >&2; exit 2; }
name=$1 prefix=$(realpath -m "$2") cuda=${CUDA:-/usr/local/cuda} sm=${SM:-90}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $name in
  openmpi) version=4.1.4 package=openmpi=4.1.4-3 ;;
  mpich) version=4.0.2 package=mpich=4.0.2-3 ;;
  *) echo "scripts/gpu/mpi.sh: $name is neither openmpi nor mpich" >&2; exit 2 ;;
esac
if [ $# -ge 3 ]; then
  sources=$(realpath "$3")
else
  sources=$work
  (cd "$work" && apt-get source --download-only "$package") || {
    echo "scripts/gpu/mpi.sh: no source package $package; apt needs a line deb-src, or name a folder that has it" >&2
    exit 2
  }
fi
tar -C "$work" -xf "$sources/${name}_$version".orig.tar.*
cd "$work/$name-$version"
export PATH=$cuda/bin:$PATH

if [ "$name" = openmpi ]; then
  ./configure --prefix="$prefix" --with-cuda="$cuda" --disable-mpi-fortran --disable-oshmem --without-ucx --without-psm2 --without-ofi \
    --without-verbs --with-hwloc=internal --with-libevent=internal --with-pmix=internal \
    --enable-mca-no-build=io-romio321,coll-hcoll,coll-ml --disable-static
else
  # CUDA 13 has no field computeMode. Of each kernel's object libtool wants two that are the same.
  python3 - <<'PYTHON'
import pathlib
hooks = pathlib.Path("modules/yaksa/src/backend/cuda/hooks/yaksuri_cuda_init_hooks.c")
hooks.write_text(hooks.read_text().replace(
    "if (prop.computeMode !=",
    "int mode = 0; cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, i);\n            if (mode !="))
libtool = pathlib.Path("modules/yaksa/src/backend/cuda/cudalt.sh")
libtool.write_text(libtool.read_text().replace('CMD="${@} -o $NPIC_FILEPATH"', 'CMD="cp $PIC_FILEPATH $NPIC_FILEPATH"')
                   .replace("$(libtool --version | head -n 1)", "libtool"))
PYTHON
  ./configure --prefix="$prefix" --with-cuda="$cuda" --with-cuda-sm="$sm" --disable-fortran --disable-romio --with-device=ch4:ofi \
    --with-libfabric=embedded --disable-doc
  sed -i 's/^NVCC_FLAGS = .*/& -Xfatbin -compress-all/' modules/yaksa/Makefile
fi
make -j"$(nproc)"
make install
# As Debian names it, for programs built there.
[ "$name" != mpich ] || ln -sf libmpi.so.12 "$prefix/lib/libmpich.so.12"
