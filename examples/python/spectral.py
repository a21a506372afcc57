"""Solves the Poisson equation on a periodic cube by Fourier transforms. Each rank has a slab of it:
CuPy arrays on GPUs, or NumPy arrays if there is no GPU.

    mpiexec -n 2 python spectral.py
    dunnage run -- mpiexec -n 2 python spectral.py

A transform along the axis that is cut needs the slabs cut along another axis. `MPI_Alltoallw` of
subarrays does that in one call, without a copy by the program.
"""

from mpi4py import MPI

try:
    import cupy as arrays

    gpus = arrays.cuda.runtime.getDeviceCount()
except Exception:  # no CuPy, no driver or no GPU: each has an exception of its own
    import numpy as arrays

    gpus = 0

world = MPI.COMM_WORLD
if gpus:
    arrays.cuda.Device(world.rank % gpus).use()

N = 48
COMPLEX = MPI.C_DOUBLE_COMPLEX
ALL_ONCE = ([1] * world.size, [0] * world.size)  # one subarray for each rank, all from the array's begin


def part(rank):
    """The planes of a rank: first and number."""
    first = rank * N // world.size
    return first, (rank + 1) * N // world.size - first


def subarrays(shape, axis):
    """For each rank the datatype of its part of an array that is cut along an axis."""
    types = []
    for rank in range(world.size):
        starts, sizes = [0, 0, 0], list(shape)
        starts[axis], sizes[axis] = part(rank)
        types.append(COMPLEX.Create_subarray(shape, sizes, starts).Commit())
    return types


def ready():
    """Waits for the device.

    MPI knows no streams, so the data that MPI is given must have been written.
    """
    if gpus:
        arrays.cuda.get_current_stream().synchronize()


first, planes = part(world.rank)
slab, column = (planes, N, N), (N, planes, N)  # cut along axis 0, and along axis 1
of_slab, of_column = subarrays(slab, 1), subarrays(column, 0)

x = 2 * arrays.pi * arrays.arange(N) / N
solution = arrays.sin(x[first:first + planes, None, None]) * arrays.cos(2 * x[:, None]) * arrays.sin(3 * x)
source = -(1 + 4 + 9) * solution  # its Laplacian

spectrum = arrays.ascontiguousarray(arrays.fft.fftn(source, axes=(1, 2)))
turned = arrays.empty(column, "D")
ready()
world.Alltoallw([spectrum, ALL_ONCE, of_slab], [turned, ALL_ONCE, of_column])

turned = arrays.fft.fft(turned, axis=0)
k = arrays.fft.fftfreq(N, 1 / N)
squares = k[:, None, None] ** 2 + k[first:first + planes, None] ** 2 + k**2
turned /= -arrays.where(squares == 0, 1, squares)
turned = arrays.ascontiguousarray(arrays.fft.ifft(turned, axis=0))  # CuPy's transforms turn the axes round

ready()
world.Alltoallw([turned, ALL_ONCE, of_column], [spectrum, ALL_ONCE, of_slab])
found = arrays.fft.ifftn(spectrum, axes=(1, 2))

error = arrays.abs(found - solution).max().reshape(1)
worst = arrays.zeros(1)
ready()
world.Allreduce(error, worst, MPI.MAX)
assert worst[0] < 1e-12, f"wrong by {worst[0]}"
for datatype in of_slab + of_column:
    datatype.Free()
if world.rank == 0:
    where = f"CuPy arrays on {min(gpus, world.size)} GPU(s)" if gpus else "NumPy arrays: no GPU, or no CuPy"
    print(f"{world.size} ranks, {where}: right")
