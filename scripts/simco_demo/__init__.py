"""The demonstration that scripts/demo runs. Python's standard library only."""
