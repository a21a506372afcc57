"""Python side of Dunnage: the benchmark driver."""
