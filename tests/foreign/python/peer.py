"""One end of SIMCO's transports over stacks for Python: QUIC by aioquic, TLS by OpenSSL. It knows no message, only
where one ends. Lines on standard input say what to send, lines on standard output what arrives: ../README.md."""

import argparse
import asyncio
import sys

HEADER_SIZE = 8  # RFC 4540 4.2: types, the length behind the header, TID


class Splitter:
    """The messages of a stream."""

    def __init__(self):
        self.octets = b""

    def add(self, octets):
        """Yields each message that is whole now."""
        self.octets += octets
        while len(self.octets) >= HEADER_SIZE:
            size = HEADER_SIZE + int.from_bytes(self.octets[2:4])
            if len(self.octets) < size:
                return
            message, self.octets = self.octets[:size], self.octets[size:]
            yield message


class Peer:
    """The connections of this process, by number."""

    def __init__(self):
        self.connections = []

    def say(self, *words):
        print(*words, flush=True)

    def opened(self, connection):
        connection.number = len(self.connections)
        connection.streams = {}
        self.connections.append(connection)
        self.say("open", connection.number)

    def received(self, connection, stream, octets):
        for message in connection.streams.setdefault(stream, Splitter()).add(octets):
            self.say("got", connection.number, stream, message.hex())

    def ended(self, connection, reason):
        """None is an orderly end."""
        if any(splitter.octets for splitter in connection.streams.values()):
            reason = "a message in pieces"
        self.say("end", connection.number, *(["orderly"] if reason is None else ["lost", reason]))

    async def run(self, connect):
        loop = asyncio.get_running_loop()
        lines = asyncio.StreamReader(limit=1 << 20)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        connecting = set()
        while line := await lines.readline():
            command, *words = line.decode().split()
            if command == "connect":
                task = asyncio.ensure_future(connect())
                connecting.add(task)  # the loop itself would forget it
                task.add_done_callback(connecting.discard)
            elif command == "close":
                self.connections[int(words[0])].leave()
            else:
                self.connections[int(words[0])].send_on(int(words[1]), bytes.fromhex(words[2]))


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stack", choices=["quic", "tls"], required=True)
    parser.add_argument("--connect", help="HOST:PORT; without it, listen")
    parser.add_argument("--streams", type=int, default=1)
    for name in ("--certificate", "--key", "--authority"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    if options.stack == "quic":
        import over_aioquic as stack
    else:
        import over_openssl as stack  # takes no aioquic
    peer = Peer()
    if options.connect:
        host, port = options.connect.split(":")
        await peer.run(lambda: stack.connect(peer, options, host, int(port)))
    else:
        port = await stack.listen(peer, options)
        peer.say("listening", port)
        await peer.run(None)


if __name__ == "__main__":
    asyncio.run(main())
