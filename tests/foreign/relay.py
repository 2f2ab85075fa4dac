"""A path that loses, reorders and repeats datagrams, or cuts a TCP connection into pieces, as a seed chooses."""

import asyncio
import dataclasses
import random


@dataclasses.dataclass(frozen=True)
class Disturbance:
    """Probabilities for each datagram in each direction."""

    name: str
    lost: float = 0
    late: float = 0
    repeated: float = 0


NONE = Disturbance("none")
LOSS = Disturbance("loss", lost=0.05)
ORDER = Disturbance("order", late=0.1)
REPEATS = Disturbance("repeats", repeated=0.1)
ALL = Disturbance("all", lost=0.03, late=0.05, repeated=0.05)

OVERTAKING_MAX = 3  # datagrams
WAIT_S = 0.02  # for one to be overtaken by
PIECE_MAX = 16  # octets
WHOLE_MAX = 1 << 16


class Direction:
    """From one end to the other: passes datagrams on, or not."""

    def __init__(self, path, send):
        self.path, self.send = path, send
        self.late = []  # [datagrams to wait for, datagram]

    def pass_on(self, datagram):
        choice = self.path.choice
        if choice.random() < self.path.disturbance.lost:
            self.path.count["lost"] += 1
        elif choice.random() < self.path.disturbance.late:
            self.path.count["late"] += 1
            self.late.append([choice.randint(1, OVERTAKING_MAX), datagram])
            asyncio.get_running_loop().call_later(WAIT_S, self.release)
        else:
            self.send(datagram)
            if choice.random() < self.path.disturbance.repeated:
                self.path.count["repeated"] += 1
                self.send(datagram)
        self.overtaken()

    def overtaken(self):
        for waiting in self.late:
            waiting[0] -= 1
        ready = [datagram for left, datagram in self.late if left < 0]
        self.late = [waiting for waiting in self.late if waiting[0] >= 0]
        for datagram in ready:
            self.send(datagram)

    def release(self):
        """Nothing came that could overtake."""
        late, self.late = self.late, []
        for _, datagram in late:
            self.send(datagram)


class Path(asyncio.DatagramProtocol):
    """A UDP port in front of a server. Each client has an address of its own behind it, as SCTP over UDP tells
    associations apart by addresses, and pion has one SCTP port for all."""

    def __init__(self, target, disturbance, seed):
        self.target, self.disturbance = target, disturbance
        self.choice = random.Random(seed)
        self.count = {"lost": 0, "late": 0, "repeated": 0}
        self.clients = {}

    @classmethod
    async def open(cls, target, disturbance, seed):
        path = cls(("127.0.0.1", target), disturbance, seed)
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: path, local_addr=("127.0.0.1", 0))
        return path

    def connection_made(self, transport):
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, datagram, client):
        if client not in self.clients:
            self.clients[client] = Client(self, client)
            asyncio.ensure_future(self.clients[client].open(f"127.0.1.{len(self.clients)}"))
        self.clients[client].there.pass_on(datagram)

    def calm(self):
        """From now on nothing is disturbed."""
        self.disturbance = NONE
        for client in self.clients.values():
            client.there.release()
            client.back.release()

    def close(self):
        self.transport.close()
        for client in self.clients.values():
            if client.transport:
                client.transport.close()


class Client(asyncio.DatagramProtocol):
    """A client's port on the side of the server."""

    def __init__(self, path, address):
        self.transport, self.early = None, []
        self.there = Direction(path, self.to_server)
        self.back = Direction(path, lambda datagram: path.transport.sendto(datagram, address))
        self.path = path

    async def open(self, address):
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, local_addr=(address, 0))
        for datagram in self.early:
            self.to_server(datagram)

    def to_server(self, datagram):
        if self.transport:
            self.transport.sendto(datagram, self.path.target)
        else:
            self.early.append(datagram)

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, datagram, _):
        self.back.pass_on(datagram)


class Pieces:
    """A TCP port in front of a server: octets arrive as they left, in pieces of random sizes."""

    def __init__(self, target, seed, whole):
        self.target, self.choice = target, random.Random(seed)
        self.size_max = WHOLE_MAX if whole else PIECE_MAX
        self.count = {"pieces": 0}

    @classmethod
    async def open(cls, target, seed, whole):
        path = cls(target, seed, whole)
        path.server = await asyncio.start_server(path.serve, "127.0.0.1", 0)
        path.port = path.server.sockets[0].getsockname()[1]
        return path

    async def serve(self, reader, writer):
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self.cut(reader, server_writer), self.cut(server_reader, writer))

    async def cut(self, reader, writer):
        arrived = asyncio.Queue()
        collecting = asyncio.create_task(self.collect(reader, arrived))
        try:
            while octets := await arrived.get():
                while octets:
                    size = self.choice.randint(1, self.size_max)
                    self.count["pieces"] += 1
                    writer.write(octets[:size])
                    octets = octets[size:]
                    await writer.drain()
                    await asyncio.sleep(0)  # the other direction may have its turn
            writer.write_eof()
        except OSError:  # an end has closed
            writer.close()
        await collecting

    @staticmethod
    async def collect(reader, arrived):
        """At once: asyncio forgets what it has when an end resets its connection, and that may be close_notify."""
        try:
            while octets := await reader.read(WHOLE_MAX):
                arrived.put_nowait(octets)
        except OSError:
            pass
        arrived.put_nowait(b"")

    def calm(self):
        """Pieces are never a reason for an end that differs."""

    def close(self):
        self.server.close()
