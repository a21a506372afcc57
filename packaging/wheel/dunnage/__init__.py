"""Dunnage makes any MPI fast on non-contiguous data. `python -m dunnage` is the dunnage command."""
