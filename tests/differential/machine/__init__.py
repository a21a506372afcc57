"""Looks for differences between an MPI and the MPI with Dunnage, by random scripts."""
