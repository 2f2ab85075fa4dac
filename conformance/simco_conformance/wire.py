"""Connections that carry SIMCO messages."""

import socket
import ssl
import struct

import simco_codec as codec

TRANSPORTS = ("tcp", "tls", "sctp")
SCTP = 132  # IANA's number of the protocol


class Failed(Exception):
    """The peer did not do what it must."""


class Patience:
    """How long a peer may be silent; as long as the command line says."""

    seconds = 10.0


class Connection:
    """One end of a connection, for a `with`."""

    def __init__(self, connected):
        self.socket = connected
        self.socket.settimeout(Patience.seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def read(self, size):
        """Returns so many octets; fewer at the end of the connection."""
        result = b""
        while len(result) < size:
            try:
                piece = self.socket.recv(size - len(result))
            except TimeoutError:
                raise Failed(f"nothing comes within {Patience.seconds:g} s") from None
            except OSError:  # reset, or closed without an end of TLS
                break
            if not piece:
                break
            result += piece
        return result

    def receive(self):
        """Returns the octets of the next message; none at the end of the connection."""
        header = self.read(codec.HEADER_SIZE)
        if len(header) < codec.HEADER_SIZE:
            return header
        return header + self.read(codec.number(header[2:4]))

    def send(self, octets):
        try:
            self.socket.sendall(octets)
        except OSError:  # what the peer sent before it closed is still to be read
            pass

    def finish(self):
        """Says that no more comes, and returns what comes until the peer closes."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return self.read(1 << 20)


class MessageConnection(Connection):
    """The same over SCTP, where a user message is a message: of one read, a shorter one is all there is."""

    def receive(self):
        return self.read_message()

    def read_message(self):
        try:
            return self.socket.recv(1 << 17)
        except TimeoutError:
            raise Failed(f"nothing comes within {Patience.seconds:g} s") from None
        except OSError:
            return b""

    def finish(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return self.read_message()


def connect(host, port, transport, certificate=None):
    """Returns a Connection to a middlebox. Its certificate is not verified, as SIMCO is tested; `certificate` is a file with the
    agent's own and its key."""
    if transport == "sctp":
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        one = socket.socket(family, socket.SOCK_STREAM, SCTP)
        one.connect(address)
        one.setsockopt(SCTP, 3, struct.pack("I", 1))  # SCTP_NODELAY
        return MessageConnection(one)
    one = socket.create_connection((host, port), timeout=Patience.seconds)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if transport == "tls":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(certificate)
        one = context.wrap_socket(one, server_hostname=host)
    return Connection(one)
