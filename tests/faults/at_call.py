"""Runs inside gdb, which has attached to a rank: the rank suffers its fault when a given number of
calls of Dunnage's functions have begun. So faults come between any two functions, not at random
instants. FAULT_CALL is the number, FAULT_HOW is `kill` or `stop` (for a second).
"""

import os
import re
import subprocess
import time

import gdb

# Where ranks meet. What the others do, no other rank can see.
WHERE_RANKS_MEET = re.compile(
    r"(\S+ |non-virtual thunk to )?dunnage::(mpi|transport|memory|collective|device|pack::gpu)::"
)


class Calls:
    """Counts calls until the rank suffers."""

    def __init__(self, at, how):
        self.left, self.how, self.names = at, how, {}

    def begins(self, address):
        self.left -= 1
        if self.left > 0:
            return False
        print(f"\nfault in: {self.names[address]}", flush=True)
        return True


class Call(gdb.Breakpoint):
    """The beginning of a function."""

    calls: Calls

    def __init__(self, address):
        super().__init__(f"*{address:#x}", internal=True)
        self.address = address

    def stop(self):
        return self.calls.begins(self.address)


def functions(pid):
    """(address, name) of Dunnage's own functions in a process."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        bases = {}
        for line in maps:
            start, path = int(line.split("-")[0], 16), line.split()[-1]
            if re.search(r"/libdunnage-[a-z0-9_]+\.so$", path):
                bases.setdefault(path, start)
    for path, base in bases.items():
        told = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        for address, name in re.findall(r"^([0-9a-f]+) [tTwW] (.*)$", told, flags=re.M):
            if WHERE_RANKS_MEET.match(name) or name.startswith("MPI_"):
                yield base + int(address, 16), name


def main():
    for line in ("set pagination off", "set confirm off", "set breakpoint always-inserted on",
                 "handle all nostop noprint pass", "handle SIGTRAP stop"):  # fmt: skip
        gdb.execute(line)
    pid = gdb.selected_inferior().pid
    Call.calls = calls = Calls(int(os.environ["FAULT_CALL"]), os.environ["FAULT_HOW"])
    for address, name in functions(pid):
        if address not in calls.names:
            calls.names[address] = name
            Call(address)
    gdb.execute("continue")
    if gdb.selected_inferior().pid == 0:  # the job has ended before
        return
    if calls.how == "kill":
        gdb.execute("kill")
    else:
        time.sleep(1)
        gdb.execute("detach")


main()
