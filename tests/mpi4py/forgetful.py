"""A program that fills device memory in the default stream and does not wait for it before it calls
MPI, in several kinds of calls. Prints how many of its messages were right."""

import ctypes

from mpi4py import MPI
from simulated_cuda import Cuda, Memory

BYTES = 100_000
world = MPI.COMM_WORLD
other = 1 - world.rank
cuda = Cuda(world.rank)
sent, got = Memory(cuda, BYTES), Memory(cuda, BYTES)
right = []


def fill(memory, value):
    cuda.call("cuMemsetD8Async", memory.address, ctypes.c_ubyte(value), ctypes.c_size_t(BYTES), None)


def check(expected):
    right.append(got.read() == bytes([expected]) * BYTES)


persistent = [world.Recv_init(got.buffer(), other, 1), world.Send_init(sent.buffer(), other, 1)]
for turn in range(3):
    base = 10 * turn + 1
    for how in range(4):
        fill(got, 255)
        fill(sent, base + how + 100 * world.rank)
        expected = base + how + 100 * other
        if how == 0:
            world.Sendrecv(sent.buffer(), other, 0, got.buffer(), other, 0)
        elif how == 1:
            MPI.Request.Waitall([world.Irecv(got.buffer(), other), world.Isend(sent.buffer(), other)])
        elif how == 2:
            MPI.Prequest.Startall(persistent)
            MPI.Request.Waitall(persistent)
        else:
            world.Allreduce(sent.buffer(MPI.UNSIGNED_CHAR), got.buffer(MPI.UNSIGNED_CHAR), MPI.MAX)
            expected = base + how + 100
        check(expected)
for request in persistent:
    request.Free()
print(f"{sum(right)} of {len(right)} right", flush=True)
