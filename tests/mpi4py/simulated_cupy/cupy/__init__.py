"""A stand-in for CuPy on the simulated device: as much of it as mpi4py's tests and our examples
need.

Device memory has a shadow in host memory. Arrays are views of the shadow: what reads them fetches
the device's bytes first, and what writes them sends the bytes back. All that comes after the work
of the current stream, for which the host waits.
"""

import ctypes

import numpy

from . import cuda

__version__ = "14.0.0"
_real_devices_lack = "gG"  # long double


class _Allocation:
    """Device memory with its shadow."""

    def __init__(self, size):
        self.shadow = numpy.zeros(max(size, 1), "b")
        self.address = ctypes.c_uint64()
        cuda.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(self.shadow.size))
        self.push()

    def __del__(self):
        cuda.call("cuMemFree_v2", self.address)

    def pull(self):
        cuda.get_current_stream().synchronize()
        cuda.call("cuMemcpyDtoH_v2", self.shadow.ctypes, self.address, ctypes.c_size_t(self.shadow.size))

    def push(self):
        cuda.call("cuMemcpyHtoD_v2", self.address, self.shadow.ctypes, ctypes.c_size_t(self.shadow.size))
        cuda.call("cuCtxSynchronize")  # the copy from pageable memory may return before it has ended


def _value(x):
    return x.get() if isinstance(x, ndarray) else x


class ndarray:
    def __init__(self, shape, dtype="d"):
        if numpy.dtype(dtype).char in _real_devices_lack:
            raise ValueError(f"Unsupported dtype {dtype}")
        host = numpy.zeros(shape, dtype)
        self._memory = _Allocation(host.nbytes)
        self._host = self._memory.shadow[: host.nbytes].view(dtype).reshape(host.shape)

    def _view(self, host):
        other = object.__new__(ndarray)
        other._memory, other._host = self._memory, host
        return other

    def get(self):
        self._memory.pull()
        return self._host.copy()

    @property
    def __cuda_array_interface__(self):
        start = self._host.ctypes.data - self._memory.shadow.ctypes.data
        contiguous = self._host.flags.c_contiguous
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._memory.address.value + start, False),
            "strides": None if contiguous else self._host.strides,
            "version": 3,
        }

    shape = property(lambda self: self._host.shape)
    dtype = property(lambda self: self._host.dtype)
    itemsize = property(lambda self: self._host.itemsize)
    size = property(lambda self: self._host.size)
    T = property(lambda self: self._view(self._host.T))

    def reshape(self, *shape):
        return self._view(self._host.reshape(*shape))

    def ravel(self):
        return self.reshape(-1)

    @property
    def flat(self):
        return self.ravel()

    def fill(self, value):
        self[...] = value

    def __len__(self):
        return len(self._host)

    def __getitem__(self, at):
        self._memory.pull()
        got = self._host[at]
        return self._view(got) if isinstance(got, numpy.ndarray) else got

    def __setitem__(self, at, value):
        self._memory.pull()
        self._host[at] = _value(value)
        self._memory.push()

    def __iter__(self):
        return iter(self.get())

    def __eq__(self, other):
        return self.get() == _value(other)

    __hash__ = None

    def __add__(self, other):
        return array(self.get() + _value(other))

    def __truediv__(self, other):
        return array(self.get() / _value(other))


def zeros(shape, dtype="d"):
    return ndarray(shape, dtype)


def ones(shape, dtype="d"):
    made = ndarray(shape, dtype)
    made.fill(1)
    return made


def array(values, dtype=None):
    values = numpy.asarray(values, dtype)
    made = ndarray(values.shape, values.dtype)
    made[...] = values
    return made


def asnumpy(values):
    return values.get()


def asarray(values, dtype=None):
    return values if isinstance(values, ndarray) else array(values, dtype)
