"""`dunnage bench --all`: every experiment, one after the other, and one page with all results."""
