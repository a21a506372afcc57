"""A word goes round all ranks, by streams of the simulated device.

triggered_ring.py WAY: WAY is the way that the exchange must take.
"""

import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)

from mpi4py import MPI  # noqa: E402

from dunnage.triggered import Exchange, Queue, Way, stream_address  # noqa: E402


def do(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    assert code == 0, (name, code)


class Word:
    """One int in device memory."""

    def __init__(self, value):
        address = ctypes.c_uint64()
        do("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4))
        self.address = address.value
        self.value = value
        self.__cuda_array_interface__ = {"shape": (1,), "typestr": "<i4", "data": (self.address, False), "version": 3}

    @property
    def value(self):
        value = ctypes.c_int()
        do("cuMemcpyDtoH_v2", ctypes.byref(value), ctypes.c_uint64(self.address), ctypes.c_size_t(4))
        return value.value

    @value.setter
    def value(self, value):
        do("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), ctypes.byref(ctypes.c_int(value)), ctypes.c_size_t(4))
        do("cuCtxSynchronize")  # the other streams do not wait for this copy


class Stream:
    """Has its handle as a library has it."""

    def __init__(self, library):
        handle = ctypes.c_void_p()
        do("cuStreamCreate", ctypes.byref(handle), 1)
        self.address = handle.value
        if library == "cupy":
            self.ptr = handle.value
        if library == "torch":
            self.cuda_stream = handle.value
        if library == "numba":
            self.handle = handle

    def put_copy(self, to, source):
        do("cuMemcpyAsync", ctypes.c_uint64(to.address), ctypes.c_uint64(source.address), ctypes.c_size_t(4), self.raw)

    @property
    def raw(self):
        return ctypes.c_void_p(self.address)

    def synchronize(self):
        do("cuStreamSynchronize", self.raw)


world = MPI.COMM_WORLD
left, right = (world.rank - 1) % world.size, (world.rank + 1) % world.size
context = ctypes.c_void_p()
do("cuInit", 0)
do("cuDevicePrimaryCtxRetain", ctypes.byref(context), world.rank)
do("cuCtxSetCurrent", context)

STEPS = 20
for library in ("cupy", "torch", "numba"):
    word, following = Word(world.rank), Word(-1)
    stream = Stream(library)
    assert stream_address(stream) == stream.address
    requests = [
        world.Recv_init([following, MPI.INT], left, tag=3),
        world.Send_init([word, MPI.INT], right, tag=3),
    ]
    with Queue(stream) as queue, Exchange(requests) as exchange:
        assert requests == [MPI.REQUEST_NULL] * 2
        way, why = exchange.way
        assert way == Way[sys.argv[1]], why
        for _ in range(STEPS):
            exchange.start(queue)
            exchange.wait(queue)
            stream.put_copy(word, following)
        stream.synchronize()
        exchange.check()
        assert word.value == (world.rank - STEPS) % world.size, word.value
        try:
            exchange.wait(queue)
        except MPI.Exception:
            pass
        else:
            raise AssertionError("a wait without a start")

print("right", flush=True)
