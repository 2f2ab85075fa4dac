"""A proxy in front of a Redis that replaces a word in whatever Redis says."""
import selectors
import socket


class Proxy:
    def __init__(self, real, old, new):
        self.real, self.old, self.new = real, old, new
        self.peers = {}
        self.selector = selectors.DefaultSelector()

    def run(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", 6381))
        except OSError:  # that of an earlier boot
            return
        listener.listen()
        self.selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is listener:
                    self.accept(listener)
                else:
                    self.pass_on(key.fileobj, key.data)

    def accept(self, listener):
        client, _ = listener.accept()
        server = socket.socket()
        server.settimeout(2)
        try:
            server.connect(self.real)
        except OSError:
            client.close()
            return
        for one, other, changes in ((client, server, False), (server, client, True)):
            self.peers[one] = other
            self.selector.register(one, selectors.EVENT_READ, changes)

    def pass_on(self, one, changes):
        other = self.peers.get(one)
        if other is None:
            return
        try:
            data = one.recv(65536)
            if data:
                return other.sendall(data.replace(self.old, self.new) if changes else data)
        except OSError:
            pass
        for end in (one, other):
            self.selector.unregister(end)
            self.peers.pop(end)
            end.close()
