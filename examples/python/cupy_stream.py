"""A field moves round a ring of ranks. Each rank has some of its columns, in a CuPy array. In each
step every column becomes the mean of itself and the column to its left.

    dunnage run -- mpiexec -n 2 python cupy_stream.py

CuPy's current stream starts the messages and waits for them (docs/guide/triggered.md). So the host
enqueues all steps, and waits once at the end. PYTHONPATH must have the folder share/dunnage/python
of the installation. Without CuPy or a GPU the program ends at once.
"""

import numpy
from dunnage.triggered import Exchange, Queue
from mpi4py import MPI

world = MPI.COMM_WORLD
try:
    import cupy

    gpus = cupy.cuda.runtime.getDeviceCount()
except Exception:  # no CuPy, no driver or no GPU: each has an exception of its own
    gpus = 0
if not gpus:
    print("skipped: no GPU, or no CuPy")
    raise SystemExit
cupy.cuda.Device(world.rank % gpus).use()
ROWS, COLUMNS, STEPS = 512, 256, 100
whole = numpy.random.default_rng(1).random((ROWS, COLUMNS * world.size))  # all ranks make all columns
mine = slice(COLUMNS * world.rank, COLUMNS * (world.rank + 1))
left, right = (world.rank - 1) % world.size, (world.rank + 1) % world.size
column = MPI.DOUBLE.Create_vector(ROWS, 1, COLUMNS + 1).Commit()
with cupy.cuda.Stream(non_blocking=True) as stream:
    field = cupy.zeros((ROWS, COLUMNS + 1))  # the left neighbour's last column, and our own ones
    field[:, 1:] = cupy.asarray(whole[:, mine])
    requests = [world.Recv_init([field, 1, column], left, tag=0),
                world.Send_init([field.reshape(-1)[COLUMNS:], 1, column], right, tag=0)]
    with Queue(cupy.cuda.get_current_stream()) as queue, Exchange(requests) as exchange:
        for _ in range(STEPS):
            exchange.start(queue)
            exchange.wait(queue)
            field[:, 1:] = (field[:, 1:] + field[:, :-1]) / 2
        stream.synchronize()
        exchange.check()

for _ in range(STEPS):
    whole = (whole + numpy.roll(whole, 1, axis=1)) / 2
assert (cupy.asnumpy(field[:, 1:]) == whole[:, mine]).all(), "wrong values"
column.Free()
if world.rank == 0:
    print(f"{world.size} ranks, CuPy arrays on {min(gpus, world.size)} GPU(s): right")
