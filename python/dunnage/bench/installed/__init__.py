"""`dunnage bench imb` and `dunnage bench osu`: benchmarks of others, where they are installed."""
