"""The Python part of Dunnage: `dunnage bench`, `dunnage report` and `dunnage tune`."""
