"""`dunnage bench halo`: exchanges of ghost cells."""
