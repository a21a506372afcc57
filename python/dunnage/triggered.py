"""Messages that a stream of a GPU starts and waits for, on persistent requests of mpi4py.

    import cupy
    from mpi4py import MPI
    from dunnage.triggered import Exchange, Queue

    stream = cupy.cuda.Stream(non_blocking=True)
    requests = [world.Recv_init(incoming, left, tag=0), world.Send_init(outgoing, right, tag=0)]
    with Queue(stream) as queue, Exchange(requests) as exchange:
        for _ in range(steps):
            compute(outgoing, incoming, stream)
            exchange.start(queue)
            exchange.wait(queue)
        stream.synchronize()

docs/reference/api.md says what each call does, and what happens on failure. Every failure raises
mpi4py's `MPI.Exception`. The library libdunnage-api.so is looked for where `$DNG_API_LIBRARY` says,
beside this installation, and where the loader looks. One thread at a time may use a queue and its
exchanges.
"""

import ctypes
import os
import pathlib
from enum import IntEnum

from mpi4py import MPI

__all__ = ["Exchange", "Queue", "Way", "stream_address"]


class Way(IntEnum):
    """How the messages of an exchange go."""

    MPI = 0
    MEMORY_OPERATIONS = 1
    KERNELS = 2
    PROXY = 3


def _load():
    """The library: the installed one, that of a build folder, or what the loader finds."""
    name = "libdunnage-api.so"
    here = pathlib.Path(__file__).resolve()
    # share/dunnage/python/dunnage/triggered.py is beside lib in an installed folder.
    places = [os.environ.get("DNG_API_LIBRARY"), *(parent / "lib" / name for parent in here.parents[3:5]), f"{name}.0"]
    for place in filter(None, places):
        try:
            return ctypes.CDLL(str(place), mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    raise ImportError(f"{name} is not found; set DNG_API_LIBRARY to its path")


def _functions():
    """Dunnage's own functions if it is preloaded, else those of the library."""
    ctypes.CDLL(MPI.__file__, mode=ctypes.RTLD_GLOBAL)  # so that the library finds mpi4py's MPI
    library = _load()
    program = ctypes.CDLL(None)
    return program if hasattr(program, "DNG_Match") else library


_api = _functions()
_pointer = ctypes.c_void_p


def _call(name, *arguments):
    code = getattr(_api, name)(*arguments)
    if code != MPI.SUCCESS:
        raise MPI.Exception(code)


def stream_address(stream):
    """The CUDA handle of a stream, as an integer.

    `stream` is an integer, None for the default stream, or a stream of CuPy (`ptr`), PyTorch
    (`cuda_stream`) or Numba (`handle`). Raises TypeError for anything else.
    """
    if stream is None:
        return 0
    for attribute in ("ptr", "cuda_stream", "handle"):
        value = getattr(stream, attribute, None)
        if value is not None:
            value = getattr(value, "value", value)  # Numba's handle is a ctypes pointer
            return int(value or 0)
    if isinstance(stream, int):
        return stream
    raise TypeError(f"no stream of CUDA: {type(stream).__name__}")


class _Handle:
    """A handle that is freed by `free()` or at the end of a `with` block."""

    _free = ""

    def __init__(self):
        self._handle = _pointer()

    def free(self):
        """Frees the handle. Raises MPI.Exception if it is in use."""
        if self._handle:
            _call(self._free, ctypes.byref(self._handle))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.free()
        elif self._handle:  # the first error is the one to tell
            getattr(_api, self._free)(ctypes.byref(self._handle))


class Queue(_Handle):
    """A queue of a stream of the current CUDA context. The stream is kept alive."""

    _free = "DNG_Queue_free"

    def __init__(self, stream):
        super().__init__()
        self.stream = stream
        _call("DNG_Queue_create", _pointer(stream_address(stream)), ctypes.byref(self._handle))


class Exchange(_Handle):
    """An exchange of inactive persistent requests, together with all ranks that they name.

    The requests belong to the exchange from then on, and become MPI.REQUEST_NULL. The buffers must
    live until the exchange is freed.
    """

    _free = "DNG_Exchange_free"

    def __init__(self, requests):
        super().__init__()
        size = MPI._sizeof(MPI.Request)
        # The buffers, which mpi4py keeps alive by its requests.
        self._buffers = [request.ob_buf for request in requests if hasattr(request, "ob_buf")]
        handles = ctypes.create_string_buffer(size * len(requests) + 1)
        for i, request in enumerate(requests):
            ctypes.memmove(ctypes.addressof(handles) + i * size, MPI._addressof(request), size)
        _call("DNG_Match_stamped", len(requests), handles, ctypes.byref(self._handle))
        for i, request in enumerate(requests):
            ctypes.memmove(MPI._addressof(request), ctypes.addressof(handles) + i * size, size)

    def start(self, queue):
        """Starts the exchange when the stream gets there."""
        _call("DNG_Start_enqueue", self._handle, queue._handle)

    def wait(self, queue):
        """Makes the stream wait for the exchange."""
        _call("DNG_Wait_enqueue", self._handle, queue._handle)

    def pready(self, partition, request, queue):
        """Sends a partition of a request, which is a place in the list of requests."""
        _call("DNG_Pready_enqueue", int(partition), int(request), self._handle, queue._handle)

    @property
    def device(self):
        """The exchange as kernels know it: an address, which kernels take by value."""
        handle = _pointer()
        _call("DNG_Exchange_device", self._handle, ctypes.byref(handle))
        return handle.value or 0

    @property
    def way(self):
        """Which way the exchange takes (`Way`), and why."""
        way, why = ctypes.c_int(), ctypes.c_char_p()
        _call("DNG_Exchange_query", self._handle, ctypes.byref(way), ctypes.byref(why))
        return Way(way.value), (why.value or b"").decode()

    def check(self):
        """Raises MPI.Exception if an error has ended the exchange."""
        code = ctypes.c_int()
        _call("DNG_Exchange_error", self._handle, ctypes.byref(code))
        if code.value != MPI.SUCCESS:
            raise MPI.Exception(code.value)
