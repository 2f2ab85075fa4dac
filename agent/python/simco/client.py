"""A session with a middlebox for asyncio programs."""

import asyncio
import collections
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Callable, TypeVar

from . import _requests
from ._library import callback, ffi, lib
from ._transaction import Hold, Transaction, on_held, on_lost, on_reply
from .errors import Refused, SessionEnded, SimcoError, end_of_session, error_of
from .pinhole import Pinhole
from .values import Capabilities, Direction, Event, Parity, Rule, Status, capabilities_of, rule_of, status_of

_Result = TypeVar("_Result")
_Pids = list[int]  # in Client, list is a method
_LIFETIME = 120  # seconds, as simcoctl has it
_EVENTS_MAX = 65_536  # kept until they are taken; beyond this the oldest are dropped and counted
_NO_SUCH_RULE = 0x0343


class Client:
    """Opens a session, carries out transactions, and tells of rule events.

        async with Client("192.0.2.1:7626", name="proxy", secret=b"...", reconnect=True) as client:
            async with client.pinhole("10.0.0.5:5004/2", "192.0.2.7:6000/2") as pinhole:
                ...  # tell the other end: send to pinhole.rule.outside

    Use it from the event loop that opened it.

    With `reconnect`, a session that was lost is opened again until close(). Requests made meanwhile wait for it, up to
    `timeout` seconds; those under way at the loss fail. Changes of rules between two sessions are not notified.

    Raises:
        ValueError: an argument that cannot be used, here and in every method; nothing has been sent then.
        Refused: the middlebox's negative reply, to open() or to a request.
        SessionEnded: there is no session: it is not open, could not be opened, or has ended.
        SimcoError: the request failed alone: no reply within `timeout`, a reply to another request, too many requests at
            once, a reply that has a value which the RFC does not define. Refused and SessionEnded are of this class."""

    def __init__(self, middlebox: str, *, name: str | None = None, secret: bytes | None = None,
                 middlebox_secret: bytes | None = None, transport: str = "tcp", streams: int = 16,
                 udp_encaps: int = 9899, timeout: float = 60.0, tls_certificate: str | None = None,
                 tls_key: str | None = None, tls_authority: str | None = None, tls_name: str | None = None,
                 reconnect: bool = False):
        self._client = ffi.NULL
        self._middlebox = _requests.text("middlebox", middlebox)
        self._kept: list[Any] = []  # objects that the configuration points to
        config = ffi.new("simco_client_config *")
        config.agent.timeout_ms = round(_requests.seconds("timeout", timeout, 0.01, 86_400) * 1000)
        config.agent.name = self._text("name", name)
        config.agent.secret, config.agent.secret_size = self._secret("secret", secret)
        config.agent.middlebox_secret, config.agent.middlebox_secret_size = self._secret("middlebox_secret", middlebox_secret)
        config.transport = self._text("transport", transport)
        config.streams = _requests.whole("streams", streams, 1, 0xFFFF)
        config.udp_encaps = _requests.whole("udp_encaps", udp_encaps, 1, 0xFFFF)
        for key, value in (("tls_certificate", tls_certificate), ("tls_key", tls_key),
                           ("tls_authority", tls_authority), ("tls_name", tls_name)):
            setattr(config, key, self._text(key, value))
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
        self._pending: set[Transaction] = set()
        self._held: set[Hold] = set()

    # --- Session ---------------------------------------------------------------------------------

    async def open(self) -> Capabilities:
        """Connects and establishes a session; returns the middlebox's capabilities. Raises SimcoError if there is a session,
        and SessionEnded or Refused if none could be opened."""
        self._check_alive()
        loop = asyncio.get_running_loop()
        code = lib.simco_client_open(self._client, self._middlebox)
        if code == lib.SIMCO_ERR_INVALID:
            raise ValueError(f"middlebox: '{self._middlebox.decode()}' is not HOST, HOST:PORT or [IPV6]:PORT")
        self._check(code)
        if self._loop is None:
            self._loop = loop
            loop.add_reader(lib.simco_client_fd(self._client), self._dispatch)
        self._ended = loop.create_future()
        self._opening = loop.create_future()
        return await self._opening

    async def close(self) -> None:
        """Ends the session in order, or gives up opening it; does nothing if there is none. Raises nothing."""
        if self._ended is None or self._ended.done() or lib.simco_client_close(self._client) != lib.SIMCO_OK:
            return
        await asyncio.shield(self._ended)

    def free(self) -> None:
        """Breaks the connection and frees the client's resources; it cannot be used afterwards. Raises nothing."""
        if self._client == ffi.NULL:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(lib.simco_client_fd(self._client))
        lib.simco_client_free(self._client)
        self._client = ffi.NULL
        self._end(error_of(lib.SIMCO_ERR_CONNECTION_LOST))
        self._pending.clear()  # now the C library calls none of them
        for hold in list(self._held):
            hold.let_go(None)

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
        if self._client != ffi.NULL:
            lib.simco_client_free(self._client)

    # --- Pinholes that are held ------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def pinhole(self, internal: str, external: str, *, lifetime: int = _LIFETIME, protocol: int | str = "udp",
                      direction: Direction | None = None, same_parity: bool = False, group: int = 0,
                      reservation: int = 0, ip_version: int = 4) -> AsyncIterator[Pinhole]:
        """A pinhole for as long as the block runs. Its rule is renewed in the middle of each lifetime, looked for in the
        next session if one was lost (`reconnect`, or another open()), and ended with the block. Choose `lifetime` by how long
        the pinhole may stay open after this program has died. The arguments are those of enable().

        Entering raises what enable() raises. Leaving waits for the middlebox's word that the rule is gone, and raises
        SimcoError if that does not come: then the rule ends with its lifetime. An exception of the block goes on as it is."""
        request = _requests.enable(internal, external, lifetime=lifetime, protocol=protocol, direction=direction,
                                   same_parity=same_parity, group=group, reservation=reservation, ip_version=ip_version)
        self._check_alive()
        hold = Hold(self)
        self._check(lib.simco_client_hold(self._client, request, on_held, on_lost, ffi.cast("void *", hold.number)))
        self._pending.add(hold)
        try:
            rule = await hold.future
            self._check_alive()
            self._held.add(hold)
            yield Pinhole(rule, hold)
        except BaseException:
            if hold.granted():  # also if the reply came together with a cancellation
                with contextlib.suppress(SimcoError):
                    await self._end_rule(hold)
            raise
        await self._end_rule(hold)

    async def _end_rule(self, hold: Hold) -> None:
        lost = hold.lost.done()
        hold.let_go(None)
        if lost:
            return
        pid = hold.future.result().pid
        self._check_alive()
        lib.simco_client_release(self._client, pid)  # if there is no session now, the next one must not renew it
        try:
            await self.remove(pid)
        except Refused as refusal:
            if refusal.code != _NO_SUCH_RULE:
                raise

    def _end_unwanted(self, pid: int) -> None:
        """Ends a rule for which nobody waits, without waiting either."""
        lib.simco_client_release(self._client, pid)
        transaction = Transaction(self, lambda reply: None)
        transaction.future.cancel()
        request = _requests.about(lib.SIMCO_CHANGE_LIFETIME, pid, 0)
        if lib.simco_client_submit(self._client, request, on_reply, transaction.handle) == lib.SIMCO_OK:
            self._pending.add(transaction)

    # --- Transactions (RFC 4540 section 8) -------------------------------------------------------

    async def enable(self, internal: str, external: str, *, lifetime: int = _LIFETIME, protocol: int | str = "udp",
                     direction: Direction | None = None, same_parity: bool = False, group: int = 0,
                     reservation: int = 0, ip_version: int = 4) -> Rule:
        """PER: opens a pinhole; with `reservation`, a PID of reserve(), PEA. `direction` is BIDIRECTIONAL unless given, or
        INBOUND if an address or port is a wildcard. `ip_version` counts if both ends are "any"; otherwise "any" has the
        version of the other end."""
        return await self._submit(_requests.enable(
            internal, external, lifetime=lifetime, protocol=protocol, direction=direction, same_parity=same_parity,
            group=group, reservation=reservation, ip_version=ip_version), rule_of)

    async def reserve(self, *, lifetime: int = _LIFETIME, protocol: int | str = "udp", ports: int = 1,
                      parity: Parity = Parity.ANY, ip_version: int = 4, twice_nat: bool = False,
                      group: int = 0) -> Rule:
        """PRR: reserves addresses and ports for a later rule. `ip_version` 0: the middlebox chooses."""
        return await self._submit(_requests.reserve(
            lifetime=lifetime, protocol=protocol, ports=ports, parity=parity, ip_version=ip_version,
            twice_nat=twice_nat, group=group), rule_of)

    async def disable(self, internal: str, external: str, *, lifetime: int = _LIFETIME, protocol: int | str = "udp",
                      ip_version: int = 4) -> Rule:
        """PDR: blocks traffic and ends every rule that enables any of it. `ip_version`: as in enable()."""
        return await self._submit(_requests.disable(internal, external, lifetime=lifetime, protocol=protocol,
                                                    ip_version=ip_version), rule_of)

    async def change_lifetime(self, pid: int, lifetime: int) -> int:
        """PLC: returns the lifetime granted, seconds."""
        return await self._submit(_requests.about(lib.SIMCO_CHANGE_LIFETIME, pid, lifetime), lambda reply: reply.lifetime)

    async def remove(self, pid: int) -> None:
        """PLC with lifetime 0: ends the rule."""
        await self.change_lifetime(pid, 0)

    async def status(self, pid: int) -> Status:
        """PRS."""
        return await self._submit(_requests.about(lib.SIMCO_STATUS, pid), status_of)

    async def list(self) -> _Pids:
        """PRL: the PIDs of the rules that this agent may access."""
        return await self._submit(_requests.list_all(),
                                  lambda reply: ffi.unpack(reply.pids, reply.pid_count) if reply.pid_count else [])

    # --- Events (ARE, 8.9) -----------------------------------------------------------------------

    async def next_event(self) -> Event:
        """The next change of a rule that this agent did not ask for, now or when it comes. Raises SessionEnded or Refused,
        the reason, if the session is over and all events were taken."""
        while not self._events:
            if self._ended is None or self._ended.done():
                raise self._ended.result() if self._ended is not None else error_of(lib.SIMCO_ERR_NOT_OPEN)
            self._changed.clear()
            await self._changed.wait()
        return self._events.popleft()

    def __aiter__(self) -> "Client":
        """The events until close(). Raises what next_event() raises if the session ended in another way."""
        return self

    async def __anext__(self) -> Event:
        try:
            return await self.next_event()
        except SessionEnded as end:
            if end.code == lib.SIMCO_ERR_TERMINATED:
                raise StopAsyncIteration from None
            raise

    # --- Below -----------------------------------------------------------------------------------

    def _text(self, name: str, value: str | None) -> Any:
        return ffi.NULL if value is None else self._keep(_requests.text(name, value))

    def _secret(self, name: str, value: bytes | None) -> tuple[Any, int]:
        if value is None:
            return ffi.NULL, 0
        if not isinstance(value, bytes) or not value:
            raise ValueError(f"{name}: expected bytes, and not none")
        return self._keep(value), len(value)

    def _keep(self, octets: bytes) -> Any:
        self._kept.append(ffi.new("char[]", octets))
        return self._kept[-1]

    def _check_alive(self) -> None:
        if self._client == ffi.NULL:  # freed
            raise error_of(lib.SIMCO_ERR_NOT_OPEN)

    @staticmethod
    def _check(code: int) -> None:
        if code != lib.SIMCO_OK:
            raise error_of(code)

    async def _submit(self, request: Any, convert: Callable[[Any], _Result]) -> _Result:
        self._check_alive()
        transaction = Transaction(self, convert)
        self._check(lib.simco_client_submit(self._client, request, on_reply, transaction.handle))
        self._pending.add(transaction)
        result: _Result = await transaction.future
        return result

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


@callback("void(void *, const simco_capabilities *)")
def _on_open(user: Any, capabilities: Any) -> None:
    opening = ffi.from_handle(user)._opening
    if not opening.done():
        opening.set_result(capabilities_of(capabilities))


@callback("void(void *, const simco_event *)")
def _on_event(user: Any, event: Any) -> None:
    client = ffi.from_handle(user)
    client._keep_event(Event(event.pid, event.lifetime, event.lost))


@callback("void(void *, int)")
def _on_end(user: Any, code: int) -> None:
    client = ffi.from_handle(user)
    detail = ffi.string(lib.simco_client_error_text(client._client)).decode() if code == lib.SIMCO_ERR_CONNECT else ""
    client._end(end_of_session(code, detail))
