"""`dunnage tune`: measures what packing and messages cost on this machine, and writes the model
file.

The plan reads the model file. ``dunnage tune`` calls ``python -m dunnage.tune``. See
docs/guide/tune.md.
"""
