"""Device memory for programs in Python, by the driver that LD_LIBRARY_PATH has."""

import ctypes

from mpi4py import MPI


class Driver:
    """The driver, loaded now."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)

    def call(self, name, *arguments):
        assert getattr(self.library, name)(*arguments) == 0, name


class Cuda(Driver):
    """The driver, and the primary context of a device, current in this thread."""

    def __init__(self, device=0):
        super().__init__()
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.use()

    def use(self):
        """Makes the context current in the calling thread."""
        self.call("cuCtxSetCurrent", self.context)


class Memory:
    """`size` bytes on the device."""

    def __init__(self, cuda, size):
        self.cuda, self.size, self.address = cuda, size, ctypes.c_uint64()
        cuda.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(size))

    def buffer(self, datatype=MPI.BYTE):
        """The memory as mpi4py takes it."""
        return [MPI.memory.fromaddress(self.address.value, self.size), datatype]

    def write(self, data):
        self.cuda.call("cuMemcpyHtoD_v2", self.address, bytes(data), ctypes.c_size_t(self.size))
        self.cuda.call("cuCtxSynchronize")  # the copy from pageable memory may return before it has ended

    def read(self):
        into = (ctypes.c_char * self.size)()
        self.cuda.call("cuMemcpyDtoH_v2", into, self.address, ctypes.c_size_t(self.size))
        return into.raw
