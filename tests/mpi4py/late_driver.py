"""Persistent requests on host memory come first, the GPU's driver later. Messages in device memory
that do not share source and tag with such a request still go by channels. Those that do come in the
order of their sends, whoever receives them."""

import mpi4py

mpi4py.rc.thread_level = "single"  # with several threads there are no channels

from mpi4py import MPI  # noqa: E402
from simulated_cuda import Cuda, Memory  # noqa: E402

comm = MPI.COMM_WORLD
peer = 1 - comm.rank
N = 1 << 17  # long enough for the GPU to read: receives before the driver came were not looked at for short ones

sent, received = bytearray(N), bytearray(N)
receive, send = persistent = [
    comm.Recv_init([received, MPI.BYTE], peer, 5),
    comm.Send_init([sent, MPI.BYTE], peer, 5),
]
cuda = Cuda()
source, target = Memory(cuda, N), Memory(cuda, N)


def filled(value):
    return bytes([value]) * N


def exchange(tag, value):
    source.write(filled(value + comm.rank))
    requests = [comm.Irecv(target.buffer(), peer, tag), comm.Isend(source.buffer(), peer, tag)]
    MPI.Request.Waitall(requests)
    assert target.read() == filled(value + peer), (tag, value)


for step in range(60):
    sent[:] = filled(step + comm.rank)
    MPI.Prequest.Startall(persistent)
    exchange(7, step)
    MPI.Request.Waitall(persistent)
    assert received == filled(step + peer), step
for step in range(20):
    exchange(5, step)  # as the persistent requests, which rest
    receive.Start()
    comm.Send([sent, MPI.BYTE], peer, 5)
    receive.Wait()
# Both kinds under way at one time. Every third time the device's receive names nobody and nothing.
for step in range(60):
    sent[:] = filled(step + 2 * comm.rank)
    source.write(filled(step + 2 * comm.rank + 1))
    first = step % 2 == 0
    named = (MPI.ANY_SOURCE, MPI.ANY_TAG) if step % 3 == 0 else (peer, 5)
    requests = []
    for persistent_now in (first, not first):
        if persistent_now:
            receive.Start()
        else:
            requests.append(comm.Irecv(target.buffer(), *named))
    for persistent_now in (first, not first):
        if persistent_now:
            send.Start()
        else:
            requests.append(comm.Isend(source.buffer(), peer, 5))
    MPI.Request.Waitall(requests)
    MPI.Request.Waitall(persistent)
    assert received == filled(step + 2 * peer), step
    assert target.read() == filled(step + 2 * peer + 1), step
for request in persistent:
    request.Free()
print("right", flush=True)
