"""How a point is run: its job, the guest or the namespaces of this host, and which points are run in which order."""
