"""Persistent requests on host memory come first, the GPU's driver later. Messages in device memory
that do not share source and tag with such a request still go by channels; all data are right."""

import ctypes

import mpi4py

mpi4py.rc.thread_level = "single"  # with several threads there are no channels

from mpi4py import MPI  # noqa: E402

comm = MPI.COMM_WORLD
peer = 1 - comm.rank
N = 1 << 17  # long enough for the GPU to read: receives before the driver came were not looked at for short ones

sent, received = bytearray(N), bytearray(N)
persistent = [comm.Recv_init([received, MPI.BYTE], peer, 5), comm.Send_init([sent, MPI.BYTE], peer, 5)]

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name


def device_memory():
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(N))
    return address


call("cuInit", 0)
context = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
source, target = device_memory(), device_memory()


def look(tag, value):
    """Returns what has come to the device."""
    bytes_ = (ctypes.c_char * N)()
    call("cuMemcpyDtoH_v2", bytes_, target, ctypes.c_size_t(N))
    assert bytes_.raw == bytes([value]) * N, (tag, value, bytes_.raw[:8])


def exchange(tag, value):
    call("cuMemsetD8_v2", source, ctypes.c_ubyte(value + comm.rank), ctypes.c_size_t(N))
    call("cuCtxSynchronize")
    memory = [[MPI.memory.fromaddress(at.value, N), MPI.BYTE] for at in (target, source)]
    requests = [comm.Irecv(memory[0], peer, tag), comm.Isend(memory[1], peer, tag)]
    MPI.Request.Waitall(requests)
    look(tag, value + peer)


for step in range(60):
    sent[:] = bytes([step + comm.rank]) * N
    MPI.Prequest.Startall(persistent)
    exchange(7, step)
    MPI.Request.Waitall(persistent)
    assert received == bytes([step + peer]) * N, (step, received[:8])
for step in range(20):
    exchange(5, step)  # as the persistent requests, which rest
    persistent[0].Start()
    comm.Send([sent, MPI.BYTE], peer, 5)
    persistent[0].Wait()
for request in persistent:
    request.Free()
print("right", flush=True)
