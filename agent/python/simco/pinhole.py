"""A pinhole that stays open for as long as a block runs."""

import asyncio

from ._transaction import Hold
from .values import Loss, Rule


class Pinhole:
    """What Client.pinhole() opened: `rule` is the middlebox's grant."""

    def __init__(self, rule: Rule, hold: Hold):
        self.rule = rule
        self._hold = hold

    async def lost(self) -> Loss | None:
        """Waits until the rule cannot be kept any longer, and returns why: at once if that has happened. Returns None
        if the block was left, or the client freed, first. No other rule is requested then: on a NAT, its addresses would
        be others."""
        return await asyncio.shield(self._hold.lost)
