#!/usr/bin/env bash
# Runs an MPI program's ranks, one or more a host, on two "hosts" made of this one machine: each has
# a network, a host name, shared memory and process numbers of its own, and TCP between them goes
# through a pair of virtual interfaces. docs/guide/two-hosts.md.
#
#   scripts/two-hosts.sh --mpi openmpi|mpich|impi [--rate RATE] [--env NAME=VALUE]... [--launcher PATH] [--expect BYTES]
#                        [--dunnage PATH] [--ranks-per-host N] -- PROGRAM ARGUMENTS
#
# Ends with the launcher's status; 77 where this machine cannot do it, 2 for a wrong command line, 3
# where fewer than BYTES went from the first host to the second.
set -euo pipefail

self=$(readlink -f "$0")
names=(dunnage-a dunnage-b)
addresses=(10.213.77.1 10.213.77.2)
link=link0 # on both hosts
# What one host has to itself. Killing the first process of it ends all others, and with the last of
# them the network goes.
isolated=(unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc)

say() { echo "two-hosts: $*" >&2; }
wrong() { say "$*"; exit 2; }
cannot() { say "cannot run here: $*"; exit 77; }

# --- the command line -----------------------------------------------------------------------------

inside=no rate=10gbit mpi='' launcher='' dunnage='' expect=0 ranks=1 variables=() original=("$@")
[ "${1:-}" != --inside ] || { inside=yes; shift; }
while [ $# -gt 0 ]; do
  [ "$1" = -- ] && { shift; break; }
  [ $# -gt 1 ] || wrong "unknown option $1, or nothing behind it"
  case $1 in
    --rate) rate=$2 ;;
    --mpi) mpi=$2 ;;
    --launcher) launcher=$2 ;;
    --expect) expect=$2 ;;
    --ranks-per-host) ranks=$2 ;;
    --dunnage) dunnage=$2 ;;
    --env) variables+=("$2") ;;
    *) wrong "unknown option $1" ;;
  esac
  shift 2
done
[ $# -gt 0 ] || wrong "no program; usage: $0 [--rate 10gbit] --mpi openmpi|mpich|impi -- PROGRAM ARGUMENTS"
kind=${mpi%%[0-9]*} # openmpi of openmpi5
case $kind in openmpi | mpich | impi) ;; *) wrong "--mpi must be openmpi, mpich or impi, not '$mpi'" ;; esac
[ -n "$launcher" ] || launcher=$(command -v "mpirun.$mpi") || launcher=$(command -v mpirun) || cannot "no mpirun.$mpi on PATH"

# --- outside: look, and make the first host, which does the rest ----------------------------------

if [ $inside = no ]; then
  [ "$(id -u)" = 0 ] || cannot "needs root"
  for tool in ip unshare nsenter setpriv hostname mount; do
    command -v $tool > /dev/null || cannot "no $tool (packages iproute2, util-linux, hostname, mount)"
  done
  [ "$rate" = none ] || command -v tc > /dev/null || cannot "no tc (package iproute2), so no --rate but none"
  problem=$("${isolated[@]}" true 2>&1) || cannot "namespaces are not to be had: $problem"
  # However this script ends, the first host ends with it, and takes the second one along.
  setpriv --pdeathsig KILL "${isolated[@]}" "$self" --inside "${original[@]}" <&0 &
  host=$!
  trap 'kill -KILL $host 2> /dev/null || true' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  status=0
  wait $host || status=$?
  exit $status
fi

# --- on the first host ----------------------------------------------------------------------------

furnish() { # NAME: what both hosts do alike
  mount -t tmpfs tmpfs /dev/shm
  mount -t sysfs sysfs /sys # with this network's interfaces: UCX looks for them there
  hostname "$1"
  ip link set lo up
}
furnish "${names[0]}"
printf '127.0.0.1 localhost\n%s %s\n%s %s\n' "${addresses[0]}" "${names[0]}" "${addresses[1]}" "${names[1]}" > /dev/shm/hosts
mount --bind /dev/shm/hosts /etc/hosts

# The second host: a process that waits. It lies within the first one's process numbers, so that it
# can be entered from there.
"${isolated[@]}" sh -c "$(declare -f furnish | sed 's/^furnish ()/furnish()/'); furnish ${names[1]}; exec sleep infinity" &
second=''
for _ in $(seq 500); do
  second=$(cat "/proc/$!/task/$!/children" 2> /dev/null) && second=${second// /}
  [ -z "$second" ] || [ "$(cat "/proc/$second/comm" 2> /dev/null)" != sleep ] || break
  sleep 0.01
done
[ -n "$second" ] || cannot "the second host does not start"
on_second() { nsenter --target "$second" --net --uts --ipc --mount --pid -- "$@"; }

problem=$(ip link add $link type veth peer name $link netns "$second" 2>&1) || cannot "no virtual interfaces: $problem"
ip address add "${addresses[0]}/24" dev $link
on_second ip address add "${addresses[1]}/24" dev $link
ip link set $link up
on_second ip link set $link up
for _ in $(seq 300); do # the kernel takes its time, and UCX uses no interface that is not up
  [ "$(cat /sys/class/net/$link/operstate)" != up ] || [ "$(on_second cat /sys/class/net/$link/operstate)" != up ] || break
  sleep 0.01
done
if [ "$rate" != none ]; then
  # A small bucket: what lies in it passes at the speed of memory.
  shape=(tc qdisc add dev "$link" root tbf rate "$rate" burst 128kb latency 20ms)
  problem=$({ "${shape[@]}" && on_second "${shape[@]}"; } 2>&1) || cannot "the link cannot be shaped to '$rate': $problem"
fi

# What the launcher calls in place of ssh: HOST and words for a shell. Open MPI wants to see it on
# both hosts.
agent=/dev/shm/agent
cat > $agent << AGENT
#!/bin/sh
host=\$1
shift
cd '$PWD'
[ "\$host" != ${names[0]} ] || exec sh -c "\$*"
exec nsenter --target $second --net --uts --ipc --mount --pid --wd -- sh -c "\$*"
AGENT
chmod +x $agent
on_second sh -c "cat > $agent && chmod +x $agent" < $agent

export TMPDIR=/dev/shm # goes with the host
words=("$launcher" -n $((2 * ranks)))
btl=tcp,self ucx=tcp,self fabrics=ofi
if [ "$ranks" -gt 1 ]; then btl+=,vader ucx+=,sm fabrics=shm:ofi; fi # Open MPI 5 knows sm by that name, too
if [ "$kind" = openmpi ]; then
  for name in OMPI PRTE; do export "${name}_ALLOW_RUN_AS_ROOT=1" "${name}_ALLOW_RUN_AS_ROOT_CONFIRM=1"; done
  export OMPI_MCA_plm_rsh_agent=$agent PRTE_MCA_plm_ssh_agent=$agent
  export OMPI_MCA_pml=ob1 OMPI_MCA_btl=$btl OMPI_MCA_osc=^ucx OMPI_MCA_btl_tcp_if_include=$link
  export OMPI_MCA_oob_tcp_if_include=$link PRTE_MCA_prte_if_include=$link
  words+=(--host "${names[0]}:$ranks,${names[1]}:$ranks" --bind-to none)
  for variable in "${variables[@]}"; do words+=(-x "$variable"); done
  [ -z "$dunnage" ] || words+=(-x LD_PRELOAD -x DUNNAGE_ROSTER)
else
  export UCX_TLS=$ucx UCX_NET_DEVICES=$link
  export FI_PROVIDER=tcp FI_TCP_IFACE=$link I_MPI_FABRICS=$fabrics I_MPI_HYDRA_IFACE=$link
  words+=(-launcher rsh -launcher-exec "$agent" -hosts "${names[0]},${names[1]}" -ppn "$ranks")
  for variable in "${variables[@]}"; do words+=(-genv "${variable%%=*}" "${variable#*=}"); done
fi

[ -z "$dunnage" ] || words=("$dunnage" run -- "${words[@]}")

counted() { awk -v link="$link:" '$1 == link { print $10, $2 }' /proc/net/dev; } # bytes sent, bytes received
read -r sent_before received_before < <(counted)
status=0
"${words[@]}" "$@" || status=$?
read -r sent received < <(counted)
sent=$((sent - sent_before))
say "$sent bytes went from ${names[0]} to ${names[1]}, $((received - received_before)) back"
if [ "$status" = 0 ] && [ "$sent" -lt "$expect" ]; then
  say "fewer than the $expect expected: the ranks did not talk over the link"
  exit 3
fi
exit $status
