"""The driver that LD_LIBRARY_PATH has, and what CuPy calls so."""

import ctypes
import types

from simulated_cuda import Cuda, Driver

call = Driver().call


def _device_count():
    count = ctypes.c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    return count.value


class Device:
    def __init__(self, number):
        self.number = number

    def use(self):
        Cuda(self.number)


class Stream:
    def __init__(self, null=False, non_blocking=False):
        handle = ctypes.c_void_p()
        if not null:
            call("cuStreamCreate", ctypes.byref(handle), int(non_blocking))
        self.ptr = handle.value or 0

    def synchronize(self):
        call("cuStreamSynchronize", ctypes.c_void_p(self.ptr))

    def __enter__(self):
        _current.append(self)
        return self

    def __exit__(self, *_):
        _current.pop()


_current = [Stream(null=True)]


def get_current_stream():
    return _current[-1]


runtime = types.SimpleNamespace(is_hip=False, getDeviceCount=_device_count)
