"""Reproduces Dunnage's published experiments: runs the benchmark programs, summarizes, tabulates, plots.

``python -m dunnage.bench pack --memory host`` is what ``dunnage bench`` calls.
"""
