"""A pair of routers under faults, and the judge of what its agents saw. See README.md."""
