"""TLS by OpenSSL, which is Python's. Its records pass through memory, so that an end without close_notify shows."""

import asyncio
import ssl


def context(options, server):
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    result.load_cert_chain(options.certificate, options.key)
    result.load_verify_locations(options.authority)
    result.verify_mode = ssl.CERT_REQUIRED
    result.set_alpn_protocols(["simco"])
    return result


class Connection(asyncio.Protocol):
    def __init__(self, peer, tls, server):
        self.peer, self.incoming, self.outgoing = peer, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls.wrap_bio(self.incoming, self.outgoing, server, None if server else "127.0.0.1")
        self.open = self.over = False

    def connection_made(self, transport):
        self.transport = transport
        self.advance()

    def data_received(self, octets):
        self.incoming.write(octets)
        self.advance()

    def connection_lost(self, error):
        self.end(f"without close_notify: {error}")

    def advance(self):
        try:
            self.read()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.end(None)
        except ssl.SSLError as error:
            self.end(str(error))
        self.flush()
        if self.over:
            self.transport.close()

    def read(self):
        if not self.open:
            self.tls.do_handshake()
            self.open = True
            self.peer.opened(self)
        while octets := self.tls.read(1 << 16):
            self.peer.received(self, 0, octets)
        raise ssl.SSLZeroReturnError  # read() has nothing to return at a close_notify

    def flush(self):
        if self.outgoing.pending:
            self.transport.write(self.outgoing.read())

    def end(self, reason):
        if self.over:
            return
        self.over = True
        if self.open:
            self.peer.ended(self, reason)
        else:
            self.peer.say("refused", reason)

    def send_on(self, _, message):
        self.tls.write(message)
        self.flush()

    def leave(self):
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass  # close_notify is written; the other end's ends the connection
        self.flush()


async def connect(peer, options, host, port):
    tls = context(options, server=False)
    try:
        await asyncio.get_running_loop().create_connection(lambda: Connection(peer, tls, False), host, port)
    except OSError as error:
        peer.say("refused", error)


async def listen(peer, options):
    tls = context(options, server=True)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(peer, tls, True), "127.0.0.1", 0)
    return server.sockets[0].getsockname()[1]
