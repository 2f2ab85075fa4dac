"""SIP proxies between the generator and the server: a row of a table for each. A proxy runs beside the server and goes on
over the transport on which a request came; what it adds is the difference from the same run without it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from ..errors import LabError
from .catalogue import TRANSPORTS, default, table

SERVER_PORT = 5061  # of the server behind a proxy, which has the usual one
CONFIG, SCRIPT = "proxy.cfg", "serve"  # files of a job
READY = "ready to forward"
MODULES = Path("/usr/lib/x86_64-linux-gnu/kamailio/modules")


@dataclass(frozen=True)
class Proxy:
    """A proxy. `forward` is its configuration's statement that sends a request on, with {transport}, {host} and {port}."""

    name: str
    label: str = ""
    program: str = ""
    modules: tuple = ()  # of the program, in MODULES
    forward: str = ""


PROXIES = table(
    Proxy("none"),
    Proxy("kamailio", "Kamailio without state", "kamailio", ("xlog.so", "sctp.so"),
          'forward_{transport}("{host}", {port});'),
    Proxy("kamailio-tm", "Kamailio with transactions", "kamailio", ("xlog.so", "sctp.so", "tm.so"),
          't_relay_to_{transport}("{host}", "{port}");'),
)


def proxied(point):
    return point.proxy != default(PROXIES)


def config(row, server, transport):
    """Returns the proxy's configuration: one process for each transport, as the server has one."""
    lines = ["#!KAMAILIO", "debug=0", "log_stderror=yes", "children=1", "tcp_children=1", "enable_sctp=yes",
             "sctp_children=1", "auto_aliases=no", 'mpath="/bin/"', *(f'loadmodule "{name}"' for name in row.modules),
             *(f"listen={name}:{server}:5060" for name, transport in TRANSPORTS.items() if transport.proxied),
             "request_route {", "  " + row.forward.format(transport=transport, host=server, port=SERVER_PORT), "}",
             "event_route[core:worker-one-init] {", f'  xlog("L_ALERT", "{READY}\\n");', "}"]
    return "\n".join(lines) + "\n"


def script(row, server_command):
    """Returns a script that starts the proxy and becomes the server. It takes the folders of the job and its results."""
    return "\n".join([
        "job=$1 out=$2", f"mkdir -p /var/run/{row.program} # its sockets",
        "# It looks TCP's number up, and without it does not switch Nagle's algorithm off.",
        "[ -e /etc/protocols ] || echo 'tcp 6 TCP' >/etc/protocols",
        f"{row.program} -DD -E -m 64 -M 8 -f $job/{CONFIG} >$out/proxy.log 2>&1 &",
        f"until grep -q '{READY}' $out/proxy.log; do", "  kill -0 $! || { tail -n 3 $out/proxy.log; exit 1; }",
        "  sleep 0.1", "done", f"exec {server_command}"]) + "\n"


def files(point, server, server_command):
    """Returns {file: text} of a job with a proxy."""
    row = PROXIES[point.proxy]
    return {CONFIG: config(row, server, point.variant.transport.name), SCRIPT: script(row, server_command)}


def programs(points):
    """Returns the files that the guest needs for these points besides its usual programs. Raises LabError if one is missing."""
    rows = {PROXIES[point.proxy] for point in points if proxied(point)}
    result = []
    for name in sorted({row.program for row in rows}):
        path = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
        modules = [MODULES / module for row in rows for module in row.modules if row.program == name]
        missing = [str(module) for module in modules if not module.exists()]
        if path is None or missing:
            raise LabError(f"a proxy needs {name} with {', '.join(missing) or 'its modules'}: run scripts/setup --lab")
        result += [path, *sorted(set(modules))]
    return result
