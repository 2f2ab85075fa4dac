"""What a run left: reading and checking its files, the quantities of runs, and their statistics."""
