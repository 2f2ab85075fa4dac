"""QUIC by aioquic."""

import ssl

import aioquic.asyncio
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamDataReceived

IDLE_LIMIT_S = 600.0  # for a peer that hangs, not for a slow machine

def configuration(options, server):
    result = QuicConfiguration(alpn_protocols=["simco"], is_client=not server, server_name="127.0.0.1",
                               cafile=options.authority,
                               idle_timeout=IDLE_LIMIT_S,
                               verify_mode=ssl.CERT_NONE if server else ssl.CERT_REQUIRED)
    result.load_cert_chain(options.certificate, options.key)
    return result


def connection_type(peer, options):
    class Connection(aioquic.asyncio.QuicConnectionProtocol):
        open = False

        def quic_event_received(self, event):
            if isinstance(event, HandshakeCompleted):
                self.open = True
                for stream in range(options.streams):  # opened in their order
                    self.send_on(stream, b"")
                peer.opened(self)
            elif isinstance(event, StreamDataReceived):
                peer.received(self, event.stream_id // 4, event.data)
            elif isinstance(event, ConnectionTerminated):
                self.ended(event)

        def ended(self, event):
            by_application = event.frame_type is None
            reason = None if by_application and event.error_code == 0 else f"{event.error_code} {event.reason_phrase}"
            if self.open:
                peer.ended(self, reason)
            else:
                peer.say("refused", reason)

        def send_on(self, stream, message, last=False):
            """The Nth unidirectional stream of a client is 4 N + 2, of a server 4 N + 3."""
            kind = 2 if self._quic.configuration.is_client else 3
            self._quic.send_stream_data(4 * stream + kind, message, last)
            self.transmit()

        def leave(self):
            """Ends the streams, behind all that was sent on them; the other end then closes the connection."""
            for stream in range(options.streams):
                self.send_on(stream, b"", True)

    return Connection


async def connect(peer, options, host, port):
    connecting = aioquic.asyncio.connect(host, port, configuration=configuration(options, False), wait_connected=False,
                                         create_protocol=connection_type(peer, options))
    async with connecting as connection:
        connection.transmit()
        await connection.wait_closed()


async def listen(peer, options):
    server = await aioquic.asyncio.serve("127.0.0.1", 0, configuration=configuration(options, True),
                                         create_protocol=connection_type(peer, options))
    return server._transport.get_extra_info("sockname")[1]
