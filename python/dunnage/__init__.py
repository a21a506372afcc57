"""The Python part of Dunnage: `dunnage bench` and `dunnage tune`."""
