"""The benchmark of sends of every other double."""
