"""SIMCO (RFC 4540) agent: asks a middlebox for pinholes and address bindings, from asyncio."""

from ._version import VERSION as __version__
from .client import Client
from .errors import Refused, SessionEnded, SimcoError
from .pinhole import Pinhole
from .values import Capabilities, Direction, Event, Location, Loss, Parity, Rule, RuleKind, Status, Tuple

__all__ = ["Capabilities", "Client", "Direction", "Event", "Location", "Loss", "Parity", "Pinhole", "Refused", "Rule",
           "RuleKind", "SessionEnded", "SimcoError", "Status", "Tuple", "__version__"]
