#!/usr/bin/env python3
"""Opens a pinhole for the RTP and RTCP of a call, prints where media may be sent, and closes it after the call.

    pinhole.py 127.0.0.1:7626 10.0.0.5:5004/2 192.0.2.7:6000/2
"""

import asyncio
import sys

import simco


async def call(middlebox: str, internal: str, external: str) -> None:
    async with simco.Client(middlebox, reconnect=True) as client:
        async with client.pinhole(internal, external) as pinhole:
            print(f"rule {pinhole.rule.pid}: external hosts send to {pinhole.rule.outside}")
            ...  # the call, however long it takes
        print("closed")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: pinhole.py MIDDLEBOX INTERNAL EXTERNAL")
    try:
        asyncio.run(call(*sys.argv[1:]))
    except (simco.SimcoError, ValueError) as error:
        sys.exit(f"pinhole.py: {error}")
