#!/usr/bin/env bash
# scripts/format.sh [--check] [FILE...]: formats the named C and C++ sources, or all of the tree but
# the Fortran header in tests/mpi/f90.
# With --check it changes no file, lists those that are not formatted, and fails if there is one.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"
pin=$(sed -n 's/^clang-format==\([0-9.]*\).*/\1/p' python/requirements.txt)
found=$(clang-format --version 2> /dev/null || true)
if [[ "$found" != *" $pin"* ]]; then # another version lays out some lines in another way
  echo "format.sh: needs clang-format $pin, found '${found:-none}'; scripts/setup.sh installs it into .venv" >&2
  exit 2
fi

check=no
if [ "${1:-}" = --check ]; then
  check=yes
  shift
fi
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.hpp' '*.cpp' '*.h' '*.c' '*.cu' '*.cuh' ':!tests/mpi/f90' |
    while IFS= read -r file; do [ ! -e "$file" ] || printf '%s\n' "$file"; done)
fi

if [ "$check" = no ]; then
  printf '%s\0' "${files[@]}" | xargs -0 -n 32 -P "$(nproc)" clang-format -i
  exit
fi
listed=$(printf '%s\0' "${files[@]}" | xargs -0 -n 32 -P "$(nproc)" clang-format --dry-run 2>&1 |
  sed -n 's/^\(.*\):[0-9]*:[0-9]*: warning: code should be clang-formatted.*/\1/p' | sort -u)
[ -n "$listed" ] || exit 0
printf '%s\n' "$listed"
echo "format.sh: $(wc -l <<< "$listed") files are not formatted; run scripts/format.sh" >&2
exit 1
