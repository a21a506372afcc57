"""Every rank trains a linear model on its part of the data, and the ranks add up their gradients:
PyTorch tensors on GPUs or in host memory, or NumPy arrays if there is no PyTorch.

    mpiexec -n 2 python torch_training.py
    dunnage run -- mpiexec -n 2 python torch_training.py

The MPIs that pip installs know nothing of GPUs. Without Dunnage they crash on a tensor there. With
Dunnage they work.
"""

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
try:
    import torch

    gpus = torch.cuda.device_count()
    device = f"cuda:{world.rank % gpus}" if gpus else "cpu"
    where = f"PyTorch tensors on {min(gpus, world.size)} GPU(s)" if gpus else "PyTorch tensors in host memory"

    def array(values):
        return torch.tensor(values.tolist(), dtype=torch.float64, device=device)

    def ready():
        """Waits for the device. MPI knows no streams, so its data must have been written."""
        if gpus:
            torch.cuda.synchronize(device)
except ImportError:
    where, array = "NumPy arrays: no PyTorch", numpy.array

    def ready():
        """Nothing to wait for."""


SAMPLES, FEATURES, OUTPUTS, STEPS, RATE = 96, 8, 3, 40, 0.1
generator = numpy.random.default_rng(1)  # all ranks make the data of all
inputs = generator.normal(size=(SAMPLES, FEATURES))
targets = inputs @ generator.normal(size=(FEATURES, OUTPUTS))

mine, wanted = array(inputs[world.rank::world.size]), array(targets[world.rank::world.size])
weights = array(numpy.zeros((FEATURES, OUTPUTS)))
for _ in range(STEPS):
    gradient = mine.T @ (mine @ weights - wanted) / SAMPLES
    ready()
    world.Allreduce(MPI.IN_PLACE, gradient)
    weights = weights - RATE * gradient

alone = numpy.zeros((FEATURES, OUTPUTS))
for _ in range(STEPS):
    alone = alone - RATE * inputs.T @ (inputs @ alone - targets) / SAMPLES
# The ranks add their gradients in another order.
assert abs(numpy.array(weights.tolist()) - alone).max() < 1e-12, "wrong weights"

# A column is not contiguous. The datatype says where its elements are, so nobody copies it.
column = MPI.DOUBLE.Create_vector(FEATURES, 1, OUTPUTS).Commit()
last = array(numpy.zeros((FEATURES, OUTPUTS)))
following, previous = (world.rank + 1) % world.size, (world.rank - 1) % world.size
ready()
world.Sendrecv([weights, 1, column], following, recvbuf=[last, 1, column], source=previous)
received = numpy.array(last.tolist())
assert (received[:, 0] == numpy.array(weights.tolist())[:, 0]).all() and (received[:, 1:] == 0).all(), "wrong bytes"
column.Free()
if world.rank == 0:
    print(f"{world.size} ranks, {where}: right")
