"""Requests that wait for their replies, and rules that are held: what the C library calls back for."""

import asyncio
import itertools
import weakref
from typing import TYPE_CHECKING, Any, Callable

from ._library import callback, ffi, lib
from .errors import error_of
from .values import Loss, rule_of

if TYPE_CHECKING:
    from .client import Client


class Transaction:
    """A request that waits for its reply. Its owner keeps it until finish() or free(), also after the end of the
    session: the C library knows only its handle."""

    def __init__(self, owner: "Client", convert: Callable[[Any], Any]):
        self.owner: "Client" = owner
        self.convert: Callable[[Any], Any] = convert
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.handle: Any = ffi.new_handle(self)

    def finish(self, error: int, reply: Any) -> None:
        self.owner._pending.discard(self)
        if error != lib.SIMCO_OK:
            return self.fail(error_of(error))
        if self.future.done():
            return self.discard(reply)
        try:
            self.future.set_result(self.convert(reply))
        except Exception as failure:  # the C library could not hand it on
            self.fail(failure)
        return None

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def discard(self, reply: Any) -> None:
        """Nobody waits for the reply any longer: the rule, if one was made, stays."""


class Hold(Transaction):
    """A request for a rule that the C library holds, and then that rule. The library knows its number, which may come
    back after its end."""

    _numbers = itertools.count(1)

    def __init__(self, owner: "Client"):
        super().__init__(owner, rule_of)
        self.number: int = next(self._numbers)
        self.lost: asyncio.Future[Loss | None] = asyncio.get_running_loop().create_future()
        _holds[self.number] = self

    def discard(self, reply: Any) -> None:
        """Nobody would end the rule, and it would be renewed for ever."""
        self.owner._end_unwanted(reply.pid)

    def granted(self) -> bool:
        return self.future.done() and not self.future.cancelled() and self.future.exception() is None

    def let_go(self, why: Loss | None) -> None:
        self.owner._held.discard(self)
        if not self.lost.done():
            self.lost.set_result(why)


_holds: "weakref.WeakValueDictionary[int, Hold]" = weakref.WeakValueDictionary()


def _hold_of(user: Any) -> Hold | None:
    return _holds.get(int(ffi.cast("uintptr_t", user)))


# --- Callbacks of the C library, from Client._dispatch() ----------------------------------------------


@callback("void(void *, int, const simco_reply *)")
def on_reply(user: Any, error: int, reply: Any) -> None:
    ffi.from_handle(user).finish(error, reply)


@callback("void(void *, int, const simco_reply *)")
def on_held(user: Any, error: int, reply: Any) -> None:
    hold = _hold_of(user)
    if hold is not None:
        hold.finish(error, reply)


@callback("void(void *, uint32_t, enum simco_loss)")
def on_lost(user: Any, _: int, why: int) -> None:
    hold = _hold_of(user)
    if hold is not None:
        hold.let_go(Loss(why))
