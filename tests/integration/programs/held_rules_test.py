"""Rules that the C client keeps, and sessions that it opens again, against a real middlebox."""

import select
import socket
import tempfile
import unittest
from pathlib import Path

from python_agent_test import Middlebox
from simco._library import ffi, lib


class Client:
    """A simco_client whose callbacks are collected in `said`, in their order, with the first PID as 1."""

    first = None

    @classmethod
    def plain(cls, pid):
        if pid and cls.first is None:
            cls.first = pid
        return pid and pid - cls.first + 1

    @classmethod
    def real(cls, number):
        return number if cls.first is None else cls.first + number - 1

    def __init__(self, address):
        self.said = []
        said = self.said
        self.kept = [
            ffi.callback("void(void *, const simco_capabilities *)", lambda user, _: said.append("open")),
            ffi.callback("void(void *, int)", lambda user, error: said.append(("end", error))),
            ffi.callback("void(void *, int)", lambda user, error: said.append(("change", error))),
            ffi.callback("void(void *, int, const simco_reply *)",
                         lambda user, error, reply: said.append(("reply", error, self.plain(reply.pid) if reply else 0))),
            ffi.callback("void(void *, uint32_t, enum simco_loss)",
                         lambda user, pid, why: said.append(("lost", self.plain(pid), why))),
        ]
        self.callbacks = ffi.new("simco_callbacks *", {"on_open": self.kept[0], "on_end": self.kept[1]})
        self.client = lib.simco_client_new(ffi.NULL, self.callbacks, ffi.NULL, ffi.NULL, 0)
        self.address = address

    def __enter__(self):
        assert lib.simco_client_reconnect(self.client, self.kept[2]) == 0
        assert lib.simco_client_open(self.client, self.address.encode()) == 0
        self.wait_for("open")
        return self

    def __exit__(self, *_):
        lib.simco_client_free(self.client)

    def wait_for(self, what):
        """Returns what came before it."""
        while what not in self.said:
            select.select([lib.simco_client_fd(self.client)], [], [])
            lib.simco_client_dispatch(self.client)
        at = self.said.index(what)
        before = self.said[:at]
        del self.said[:at + 1]
        return before

    def request(self, kind, **fields):
        fields = {name: self.real(value) if name in ("pid", "group") else value for name, value in fields.items()}
        request = ffi.new("simco_request *", {"type": kind, "lifetime": 1800, "direction": lib.SIMCO_BIDIRECTIONAL,
                                              **fields})
        for side, text in (("internal", b"10.0.0.5:5004"), ("external", b"192.0.2.7:6000")):
            location = lib.SIMCO_INTERNAL if side == "internal" else lib.SIMCO_EXTERNAL
            assert lib.simco_tuple_parse(ffi.addressof(request, side), text, 4, 17, location) == 0
        return request

    def hold(self, kind=lib.SIMCO_ENABLE, **fields):
        return lib.simco_client_hold(self.client, self.request(kind, **fields), self.kept[3], self.kept[4], ffi.NULL)

    def submit(self, kind, **fields):
        return lib.simco_client_submit(self.client, self.request(kind, **fields), self.kept[3], ffi.NULL)


class HeldRules(unittest.TestCase):
    def setUp(self):
        Client.first = None

    def test_found_again_and_lost(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket() as reserved:
            # Bound and not listening: nobody else gets the port while the middlebox is away.
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            port = reserved.getsockname()[1]
            state = Path(folder) / "rules.db"
            with Middlebox("--state", str(state), port=port) as box, Client(box.address) as client:
                self.assertEqual(client.hold(), 0)
                client.wait_for(("reply", 0, 1))
                box.process.kill()
                box.process.wait()
                client.wait_for(("change", lib.SIMCO_ERR_CONNECTION_LOST))
                with Middlebox("--state", str(state), port=port) as second:
                    client.wait_for(("change", 0))
                    self.assertEqual(client.submit(lib.SIMCO_STATUS, pid=1), 0)
                    client.wait_for(("reply", 0, 1))
                    self.assertNotIn(("lost", 1, lib.SIMCO_LOSS_ENDED), client.said)
                    second.process.kill()
                    second.process.wait()
                with Middlebox(port=port):  # which knows of no rules
                    client.wait_for(("lost", 1, lib.SIMCO_LOSS_ENDED))
                    self.assertEqual(lib.simco_client_close(client.client), 0)
                    client.wait_for(("end", lib.SIMCO_ERR_TERMINATED))

    def test_ended_and_released(self):
        with Middlebox() as box, Client(box.address) as client, Client(box.address) as other:
            self.assertEqual(client.hold(), 0)
            client.wait_for(("reply", 0, 1))
            self.assertEqual(client.submit(lib.SIMCO_CHANGE_LIFETIME, pid=1, lifetime=0), 0)
            client.wait_for(("reply", 0, 0))
            self.assertEqual(client.hold(), 0)
            client.wait_for(("reply", 0, 2))
            self.assertEqual(lib.simco_client_release(client.client, client.real(2)), 0)
            self.assertEqual(client.hold(group=2), 0)
            client.wait_for(("reply", 0, 3))
            for pid in (2, 3):
                self.assertEqual(other.submit(lib.SIMCO_CHANGE_LIFETIME, pid=pid, lifetime=0), 0)
            self.assertEqual(client.wait_for(("lost", 3, lib.SIMCO_LOSS_ENDED)), [])  # nothing of 1 and 2

    def test_what_cannot_be_held(self):
        with Middlebox() as box, Client(box.address) as client:
            self.assertEqual(client.hold(lib.SIMCO_LIST), lib.SIMCO_ERR_INVALID)
            self.assertEqual(client.hold(lib.SIMCO_ENABLE_RESERVED, pid=77), 0)
            client.wait_for(("reply", 0x0343, 0))


if __name__ == "__main__":
    unittest.main()
