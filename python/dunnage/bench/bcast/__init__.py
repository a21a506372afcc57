"""The benchmark of broadcasts."""
