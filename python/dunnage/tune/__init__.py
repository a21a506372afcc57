"""`dunnage tune`: measures what packing and messages cost on this machine, and writes the model file that the plan reads.

``python -m dunnage.tune`` is what ``dunnage tune`` calls. docs/guide/tune.md
"""
