"""The driver that LD_LIBRARY_PATH has, and what CuPy calls so."""

import ctypes
import types

_library = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(_library, name)(*arguments)
    assert status == 0, f"{name}: {status}"


call("cuInit", 0)


def _device_count():
    count = ctypes.c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    return count.value


class Device:
    def __init__(self, number):
        self.number = number

    def use(self):
        context = ctypes.c_void_p()
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.number)
        call("cuCtxSetCurrent", context)


class _DefaultStream:
    def synchronize(self):
        call("cuStreamSynchronize", None)


def get_current_stream():
    return _DefaultStream()


runtime = types.SimpleNamespace(is_hip=False, getDeviceCount=_device_count)
