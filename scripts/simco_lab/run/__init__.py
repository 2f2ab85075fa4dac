"""Runs of points: jobs, the guest or the namespaces of this host, and the order of the points."""
