"""How long tests wait for what must come."""

import time

PATIENCE = 300  # seconds; only ends a test that hangs


def eventually(holds, what):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.02)
