"""Every rank passes one column of its matrix to the next rank: CuPy arrays on GPUs, or NumPy arrays
if there is no GPU.

    mpiexec -n 2 python cupy_ring.py
    dunnage run -- mpiexec -n 2 python cupy_ring.py

The MPIs that pip installs know nothing of GPUs. Without Dunnage they crash on a CuPy array. With
Dunnage they work.
"""

from mpi4py import MPI

try:
    import cupy as arrays

    gpus = arrays.cuda.runtime.getDeviceCount()
except Exception:  # no CuPy, no driver or no GPU: each has an exception of its own
    import numpy as arrays

    gpus = 0

world = MPI.COMM_WORLD
following, previous = (world.rank + 1) % world.size, (world.rank - 1) % world.size
if gpus:
    arrays.cuda.Device(world.rank % gpus).use()

ROWS, COLUMNS = 2048, 512
field = arrays.arange(ROWS * COLUMNS, dtype="d").reshape(ROWS, COLUMNS) + world.rank
ghosts = arrays.full((ROWS, COLUMNS), -1.0)
column = MPI.DOUBLE.Create_vector(ROWS, 1, COLUMNS).Commit()


def ready():
    """Waits for the device.

    MPI knows no streams, so the data that MPI is given must have been written.
    """
    if gpus:
        arrays.cuda.get_current_stream().synchronize()


for turn in range(world.size):
    ready()
    # Our first column goes into the last column of the next rank's ghosts.
    requests = [world.Irecv([ghosts.reshape(-1)[COLUMNS - 1:], 1, column], previous),
                world.Isend([field, 1, column], following)]
    MPI.Request.Waitall(requests)
    expected = arrays.arange(0, ROWS * COLUMNS, COLUMNS) + previous + turn
    assert (ghosts[:, -1] == expected).all() and (ghosts[:, :-1] == -1).all(), "wrong bytes"
    ghosts[:, -1] = -1
    field += 1

one, total = arrays.ones(1), arrays.zeros(1)
ready()
world.Allreduce(one, total)
assert total[0] == world.size
column.Free()
if world.rank == 0:
    where = f"CuPy arrays on {min(gpus, world.size)} GPU(s)" if gpus else "NumPy arrays: no GPU, or no CuPy"
    print(f"{world.size} ranks, {where}: right")
