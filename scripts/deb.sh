#!/usr/bin/env bash
# Builds packages for Debian into dist/, from the last commit, in build-deb/.
#
#   scripts/deb.sh             for all MPIs that scripts/build.sh would build for
#   scripts/deb.sh changelog   only prints debian/changelog
#
# Nothing is installed. If the build needs packages that are missing, a message names them.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"

die() { echo "deb: $*" >&2; exit 1; }

version=$(sed -n 's/^project(dunnage VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

# The version stands in CMakeLists.txt only.
changelog() {
  printf 'dunnage (%s-1) unstable; urgency=medium\n\n  * CHANGELOG.md lists the changes.\n\n -- %s  %s\n' \
    "$version" "$(sed -n 's/^Maintainer: //p' packaging/debian/control)" "$(git log -1 --format=%cD)"
}

[ "${1:-}" != changelog ] || { changelog; exit; }

# Prints the names of a list of dependencies, without versions and second choices.
names() { sed 's/ ([^)]*)//g; s/ | [^ ,]*//g; s/:[a-z]*//g; s/,/ /g' | xargs; }

missing=""
if ! command -v dpkg-checkbuilddeps > /dev/null; then
  missing="dpkg-dev $(sed -n '/^Build-Depends:/,/^$/s/^ //p' packaging/debian/control | names)"
elif ! unmet=$(LC_ALL=C dpkg-checkbuilddeps packaging/debian/control 2>&1); then
  missing=$(sed 's/.*dependencies: //' <<< "$unmet" | names)
fi
[ -z "$missing" ] || die "packages are missing: apt-get install --no-install-recommends $missing"

make -s dist
folder=build-deb/dunnage-$version
rm -rf build-deb
mkdir build-deb
tar -xzf "dist/dunnage-$version.tar.gz" -C build-deb
cp -r "$folder/packaging/debian" "$folder/debian"
changelog > "$folder/debian/changelog"

BUILD_PYTHON=$venv/bin/python
DUNNAGE_MPICC=$(mpicc_list)
[ ! -e "$venv/cuda/complete" ] || export DUNNAGE_CUDA_WHEELS=$venv/cuda/toolkit
# No packages of debug information: with them dist/ would not be what one installs.
DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}"
export BUILD_PYTHON DUNNAGE_MPICC DEB_BUILD_OPTIONS
(cd "$folder" && dpkg-buildpackage -us -uc -b)
rm -f dist/*.deb
mv build-deb/*.deb dist/
ls dist/*.deb
