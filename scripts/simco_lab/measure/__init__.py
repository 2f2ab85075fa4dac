"""The files of runs: reading and checking them, quantities, and statistics."""
