"""A session with a middlebox for asyncio programs."""

import asyncio
import collections
import dataclasses
from types import TracebackType
from typing import Any, Callable, TypeVar

from ._library import ffi, lib
from .errors import SimcoError, end_of_session, error_of
from .values import (Capabilities, Direction, Event, Location, Parity, Rule, Status, capabilities_of, is_any,
                     parse_tuple, protocol_number, rule_of, status_of)

_Result = TypeVar("_Result")
_EVENTS_MAX = 65_536  # kept until they are taken; beyond this the oldest are dropped and counted


class _Transaction:
    """A request that waits for its reply. Its owner keeps it until finish() or free(), also after the end of the
    session: the C library knows only its handle."""

    def __init__(self, owner: "Client", future: "asyncio.Future[Any]", convert: Callable[[Any], Any]):
        self.owner, self.future, self.convert = owner, future, convert
        self.handle = ffi.new_handle(self)

    def finish(self, error: int, reply: Any) -> None:
        self.owner._pending.discard(self)
        if error != lib.SIMCO_OK:
            return self.fail(error_of(error))
        if self.future.done():  # cancelled: the rule, if one was made, stays
            return None
        try:
            self.future.set_result(self.convert(reply))
        except Exception as failure:  # the C library could not hand it on
            self.fail(failure)
        return None

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Client:
    """Opens a session, carries out transactions, and tells of rule events.

        async with Client("192.0.2.1:7626", name="proxy", secret=b"...") as client:
            rule = await client.enable("10.0.0.5:5004/2", "192.0.2.7:6000/2", lifetime=60)
            ...
            await client.remove(rule.pid)

    Use it from the event loop that opened it. Raises SimcoError: Refused for a negative reply, SessionEnded if the
    session is not open or could not be opened, and SimcoError itself if one request failed (no reply within
    `timeout`, a reply to another request, too many requests at once, a value that the RFC does not define).
    Arguments that cannot be understood raise ValueError.

    With `reconnect`, a session that was lost is opened again until close(). Requests made meanwhile wait for it, up to
    `timeout`; those under way at the loss fail. Changes of rules between two sessions are not notified."""

    def __init__(self, middlebox: str, *, name: str | None = None, secret: bytes | None = None,
                 middlebox_secret: bytes | None = None, transport: str = "tcp", streams: int = 16,
                 udp_encaps: int = 9899, timeout: float = 60.0, tls_certificate: str | None = None,
                 tls_key: str | None = None, tls_authority: str | None = None, tls_name: str | None = None, reconnect: bool = False):
        self._middlebox = middlebox
        self._kept: list[Any] = []  # objects that the configuration points to
        config = ffi.new("simco_client_config *")
        config.agent.timeout_ms = max(1, round(timeout * 1000))
        config.agent.name = self._text(name)
        config.agent.secret, config.agent.secret_size = self._octets(secret)
        config.agent.middlebox_secret, config.agent.middlebox_secret_size = self._octets(middlebox_secret)
        config.transport = self._text(transport)
        config.streams, config.udp_encaps = streams, udp_encaps
        for key, value in (("tls_certificate", tls_certificate), ("tls_key", tls_key),
                           ("tls_authority", tls_authority), ("tls_name", tls_name)):
            setattr(config, key, self._text(value))
        self._handle = ffi.new_handle(self)
        self._callbacks = ffi.new("simco_callbacks *", {"on_open": _on_open, "on_event": _on_event, "on_end": _on_end})
        error = ffi.new("char[512]")
        self._client = lib.simco_client_new(config, self._callbacks, self._handle, error, len(error))
        if self._client == ffi.NULL:
            raise ValueError(ffi.string(error).decode())
        if reconnect:
            self._check(lib.simco_client_reconnect(self._client, ffi.NULL))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Future[Capabilities] | None = None
        self._ended: asyncio.Future[SimcoError] | None = None
        self._events: collections.deque[Event] = collections.deque()
        self._changed = asyncio.Event()  # a rule event came, or the session ended
        self._pending: set[_Transaction] = set()

    # --- Session ---------------------------------------------------------------------------------

    async def open(self) -> Capabilities:
        """Connects and establishes a session; returns the middlebox's capabilities."""
        self._check_alive()
        loop = asyncio.get_running_loop()
        self._check(lib.simco_client_open(self._client, self._middlebox.encode()))
        if self._loop is None:
            self._loop = loop
            loop.add_reader(lib.simco_client_fd(self._client), self._dispatch)
        self._ended = loop.create_future()
        self._opening = loop.create_future()
        return await self._opening

    async def close(self) -> None:
        """Ends the session in order, or gives up opening it; does nothing if there is none."""
        if self._ended is None or self._ended.done() or lib.simco_client_close(self._client) != lib.SIMCO_OK:
            return
        await asyncio.shield(self._ended)

    def free(self) -> None:
        """Breaks the connection and frees the client's resources; it cannot be used afterwards."""
        if self._client == ffi.NULL:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(lib.simco_client_fd(self._client))
        lib.simco_client_free(self._client)
        self._client = ffi.NULL
        self._end(error_of(lib.SIMCO_ERR_CONNECTION_LOST))
        self._pending.clear()  # now the C library calls none of them

    async def __aenter__(self) -> "Client":
        try:
            await self.open()
        except BaseException:  # also a cancellation: __aexit__ is not called then
            self.free()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None,
                        trace: TracebackType | None) -> None:
        try:
            await self.close()
        finally:
            self.free()

    def __del__(self) -> None:
        if getattr(self, "_client", ffi.NULL) != ffi.NULL:
            lib.simco_client_free(self._client)

    # --- Transactions (RFC 4540 section 8) -------------------------------------------------------

    async def enable(self, internal: str, external: str, *, lifetime: int, protocol: int | str = "udp",
                     direction: Direction = Direction.BIDIRECTIONAL, same_parity: bool = False, group: int = 0,
                     reservation: int = 0, ip_version: int = 4) -> Rule:
        """PER: opens a pinhole; with `reservation`, a PID of reserve(), PEA. `ip_version` counts if both ends are
        "any"; otherwise "any" has the version of the other end."""
        request = self._with_tuples(lib.SIMCO_ENABLE_RESERVED if reservation else lib.SIMCO_ENABLE, internal, external,
                                    protocol, lifetime, ip_version)
        request.direction, request.same_parity, request.group, request.pid = direction, same_parity, group, reservation
        return await self._submit(request, rule_of)

    async def reserve(self, *, lifetime: int, protocol: int | str = "udp", ports: int = 1,
                      parity: Parity = Parity.ANY, ip_version: int = 4, twice_nat: bool = False,
                      group: int = 0) -> Rule:
        """PRR: reserves addresses and ports for a later rule."""
        request = self._request(lib.SIMCO_RESERVE, lifetime)
        request.protocol, request.port_range, request.parity = protocol_number(protocol), ports, parity
        request.inside_version = request.outside_version = ip_version
        request.twice_nat, request.group = twice_nat, group
        return await self._submit(request, rule_of)

    async def disable(self, internal: str, external: str, *, lifetime: int, protocol: int | str = "udp",
                      ip_version: int = 4) -> Rule:
        """PDR: blocks traffic and ends every rule that enables any of it. `ip_version`: as in enable()."""
        return await self._submit(self._with_tuples(lib.SIMCO_DISABLE, internal, external, protocol, lifetime,
                                                    ip_version), rule_of)

    async def change_lifetime(self, pid: int, lifetime: int) -> int:
        """PLC: returns the lifetime granted, seconds."""
        request = self._request(lib.SIMCO_CHANGE_LIFETIME, lifetime)
        request.pid = pid
        return await self._submit(request, lambda reply: reply.lifetime)

    async def remove(self, pid: int) -> None:
        """PLC with lifetime 0: ends the rule."""
        await self.change_lifetime(pid, 0)

    async def status(self, pid: int) -> Status:
        """PRS."""
        request = self._request(lib.SIMCO_STATUS, 0)
        request.pid = pid
        return await self._submit(request, status_of)

    async def list(self) -> "list[int]":
        """PRL: the PIDs of the rules that this agent may access."""
        return await self._submit(self._request(lib.SIMCO_LIST, 0),
                                  lambda reply: ffi.unpack(reply.pids, reply.pid_count) if reply.pid_count else [])

    async def next_event(self) -> Event:
        """The next change of a rule that this agent did not ask for, now or when it comes."""
        while not self._events:
            if self._ended is None or self._ended.done():
                raise self._ended.result() if self._ended is not None else error_of(lib.SIMCO_ERR_NOT_OPEN)
            self._changed.clear()
            await self._changed.wait()
        return self._events.popleft()

    # --- Below -----------------------------------------------------------------------------------

    def _text(self, text: str | None) -> Any:
        return ffi.NULL if text is None else self._octets(text.encode())[0]

    def _octets(self, octets: bytes | None) -> tuple[Any, int]:
        if octets is None:
            return ffi.NULL, 0
        self._kept.append(ffi.new("char[]", octets))
        return self._kept[-1], len(octets)

    def _check_alive(self) -> None:
        if self._client == ffi.NULL:  # freed
            raise error_of(lib.SIMCO_ERR_NOT_OPEN)

    @staticmethod
    def _check(code: int) -> None:
        if code != lib.SIMCO_OK:
            raise error_of(code)

    @staticmethod
    def _request(kind: int, lifetime: int) -> Any:
        return ffi.new("simco_request *", {"type": kind, "lifetime": lifetime})

    def _with_tuples(self, kind: int, internal: str, external: str, protocol: int | str, lifetime: int,
                     ip_version: int) -> Any:
        if ip_version not in (4, 6):
            raise ValueError(f"unknown ip_version {ip_version}; use 4 or 6")
        request = self._request(kind, lifetime)
        number = protocol_number(protocol)
        ends = (("internal", internal, Location.INTERNAL), ("external", external, Location.EXTERNAL))
        for field, text, location in sorted(ends, key=lambda end: is_any(end[1])):  # "any" takes the other's version
            parsed = ffi.addressof(request, field)
            parse_tuple(parsed, text, ip_version, number, location)
            ip_version = parsed.ip_version
        return request

    async def _submit(self, request: Any, convert: Callable[[Any], _Result]) -> _Result:
        self._check_alive()
        transaction = _Transaction(self, asyncio.get_running_loop().create_future(), convert)
        self._check(lib.simco_client_submit(self._client, request, _on_reply, transaction.handle))
        self._pending.add(transaction)
        return await transaction.future

    def _dispatch(self) -> None:
        lib.simco_client_dispatch(self._client)

    def _end(self, error: SimcoError) -> None:
        if self._opening is not None and not self._opening.done():
            self._opening.set_exception(error)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(error)
        for transaction in self._pending:
            transaction.fail(error)
        self._changed.set()

    def _keep_event(self, event: Event) -> None:
        self._events.append(event)
        if len(self._events) > _EVENTS_MAX:
            dropped = self._events.popleft()
            first = self._events[0]
            self._events[0] = dataclasses.replace(first, lost=first.lost + dropped.lost + 1)
        self._changed.set()


# --- Callbacks of the C library, from Client._dispatch() -----------------------------------------------


@ffi.callback("void(void *, const simco_capabilities *)")
def _on_open(user: Any, capabilities: Any) -> None:
    opening = ffi.from_handle(user)._opening
    if not opening.done():
        opening.set_result(capabilities_of(capabilities))


@ffi.callback("void(void *, const simco_event *)")
def _on_event(user: Any, event: Any) -> None:
    client = ffi.from_handle(user)
    client._keep_event(Event(event.pid, event.lifetime, event.lost))


@ffi.callback("void(void *, int)")
def _on_end(user: Any, code: int) -> None:
    client = ffi.from_handle(user)
    detail = ffi.string(lib.simco_client_error_text(client._client)).decode() if code == lib.SIMCO_ERR_CONNECT else ""
    client._end(end_of_session(code, detail))


@ffi.callback("void(void *, int, const simco_reply *)")
def _on_reply(user: Any, error: int, reply: Any) -> None:
    ffi.from_handle(user).finish(error, reply)
