"""The C library libsimco-agent, bound by cffi from its own header."""

import os
import re
from pathlib import Path
from typing import Any, Callable

import cffi  # type: ignore[import-untyped, unused-ignore]

_HERE = Path(__file__).resolve().parent
_LIBRARY = "libsimco-agent.so.0"


def _header() -> str:
    """Returns agent.h: next to this file if installed, otherwise in the source tree."""
    for path in (_HERE / "agent.h", _HERE.parent.parent / "c" / "simco" / "agent.h"):
        if path.exists():
            return path.read_text()
    raise ImportError("simco: agent.h is missing from the package; reinstall it")


def declarations(header: str) -> str:
    """Returns the declarations of the header for cffi: without preprocessor, attributes and C++."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r"^#ifdef __cplusplus.*?^#endif", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return text.replace("SIMCO_API ", "")


def _load() -> Any:
    """SIMCO_AGENT_LIBRARY names the file, such as that of a build folder; otherwise it is the wheel's, or the system's."""
    inside = _HERE / _LIBRARY
    path = os.environ.get("SIMCO_AGENT_LIBRARY") or (str(inside) if inside.exists() else _LIBRARY)
    try:
        return ffi.dlopen(path)
    except OSError as error:
        raise ImportError(f"simco: cannot load the C library: {error}; install the package libsimco-agent0, or name"
                          " the file in SIMCO_AGENT_LIBRARY") from None


def callback(signature: str) -> Callable[[Callable[..., None]], Any]:
    """Makes a function one of C, with this signature."""
    made: Callable[[Callable[..., None]], Any] = ffi.callback(signature)
    return made


ffi: Any = cffi.FFI()
ffi.cdef(declarations(_header()))
lib: Any = _load()
