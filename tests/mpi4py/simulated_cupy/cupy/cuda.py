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


class _DefaultStream:
    def synchronize(self):
        call("cuStreamSynchronize", None)


def get_current_stream():
    return _DefaultStream()


runtime = types.SimpleNamespace(is_hip=False, getDeviceCount=_device_count)
