"""Reproduces Dunnage's published experiments: runs the benchmark programs, summarizes, makes tables
and plots.

Each experiment has a folder or a file of its own. The other files are shared. ``dunnage bench``
calls ``python -m dunnage.bench``, for example ``python -m dunnage.bench pack --memory host``.
"""
