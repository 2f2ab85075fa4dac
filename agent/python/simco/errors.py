"""Exceptions."""

from ._library import ffi, lib


class SimcoError(Exception):
    """A request or a session failed. `code` is a negative reply of RFC 4540 section 4.2.3, such as
    0x0343, or a negative simco_error of the C library."""

    def __init__(self, code: int, detail: str = ""):
        self.code: int = code
        words = detail or ffi.string(lib.simco_strerror(code)).decode()
        super().__init__(f"{words} (0x{code:04X})" if code > 0 else words)


class Refused(SimcoError):
    """The middlebox sent a negative reply."""


class SessionEnded(SimcoError):
    """The session is not open, could not be opened, has ended, or has no transaction identifiers left; close it and
    open another. Rules outlive sessions (RFC 5189)."""


_SESSION = {lib.SIMCO_ERR_NOT_OPEN, lib.SIMCO_ERR_CONNECTION_LOST, lib.SIMCO_ERR_TERMINATED,
            lib.SIMCO_ERR_MIDDLEBOX_TERMINATED, lib.SIMCO_ERR_BADLY_FORMED, lib.SIMCO_ERR_AUTHENTICATION_NEEDED,
            lib.SIMCO_ERR_NOT_AUTHENTIC, lib.SIMCO_ERR_TIDS_EXHAUSTED, lib.SIMCO_ERR_CONNECT}


def error_of(code: int, detail: str = "") -> SimcoError:
    """The exception for a code that is not SIMCO_OK."""
    if code > 0:
        return Refused(code)
    return SessionEnded(code, detail) if code in _SESSION else SimcoError(code, detail)


def end_of_session(code: int, detail: str = "") -> SimcoError:
    """The exception for the end of a session, or of the attempt to open one."""
    return Refused(code) if code > 0 else SessionEnded(code, detail)
