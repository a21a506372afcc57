"""Two threads of each rank reduce in place on the device, each on a communicator of its own. The
ranks begin with different ones."""

import array
import threading

import mpi4py

mpi4py.rc.thread_level = "multiple"

from mpi4py import MPI  # noqa: E402
from simulated_cuda import Cuda, Memory  # noqa: E402

world = MPI.COMM_WORLD
cuda = Cuda(world.rank)
comms = [world.Dup(), world.Dup()]
COUNT = 300
wrong = []


def reduce_often(which):
    cuda.use()
    memory = Memory(cuda, 8 * COUNT)
    for step in range(150):
        memory.write(array.array("d", [step + which + world.rank] * COUNT).tobytes())
        comms[which].Allreduce(MPI.IN_PLACE, memory.buffer(MPI.DOUBLE), MPI.SUM)
        got = array.array("d", memory.read())
        expected = sum(step + which + rank for rank in range(world.size))
        if any(value != expected for value in got):
            wrong.append((which, step, got[0], expected))


threads = [threading.Thread(target=reduce_often, args=(which,)) for which in (0, 1)]
for thread in threads if world.rank % 2 == 0 else threads[::-1]:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong[:3]
print("right", flush=True)
