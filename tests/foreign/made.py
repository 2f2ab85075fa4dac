"""Makes the foreign programs from registries, with pinned versions, in a folder of their own."""

import os
import re
import shutil
import subprocess

from cells import HERE

# What Go and npm say if nobody answers; any other failure is one.
UNREACHED = re.compile(r"dial (tcp|udp)|no such host|i/o timeout|connection (refused|reset)|unreachable|TLS handshake"
                       r"|GOPROXY=off|ENOTFOUND|ECONN|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|network", re.IGNORECASE)


class Missing(Exception):
    """This machine cannot make it; the text is the reason."""


def run(words, folder, environment, registry):
    done = subprocess.run(words, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0:
        return
    if registry and UNREACHED.search(done.stdout):
        raise Missing(f"{registry} cannot be reached")
    raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout}")


def go(made):
    if not shutil.which("go"):
        raise Missing("no go in PATH")
    wanted = re.search(r"^go (\S+)", (HERE / "go" / "go.mod").read_text(), re.MULTILINE)[1]
    has = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True,
                         env={**os.environ, "GOTOOLCHAIN": "local"}).stdout.strip().removeprefix("go")
    if [int(part) for part in re.findall(r"\d+", has)[:2]] < [int(part) for part in wanted.split(".")[:2]]:
        raise Missing(f"go is {has}, the pinned modules take {wanted}")
    environment = {"GOTOOLCHAIN": "local", "GOMODCACHE": str(made / "go" / "modules"), "GOFLAGS": "-modcacherw",
                   "GOCACHE": str(made / "go" / "cache"), "CGO_ENABLED": "0"}
    run(["go", "mod", "download"], HERE / "go", environment, "Go's module proxy")
    run(["nice", "go", "build", "-buildvcs=false", "-o", made / "peer", "."], HERE / "go", environment, None)


def npm(made):
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            raise Missing(f"no {tool} in PATH")
    folder = made / "ng"
    folder.mkdir(exist_ok=True)
    for file in (HERE / "ng").iterdir():
        shutil.copy(file, folder)
    run(["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "--cache", made / "npm"],
        folder, {}, "npm's registry")


def make(made):
    """Returns for each tool that is missing the reason."""
    made.mkdir(parents=True, exist_ok=True)
    missing = {}
    for tool in (go, npm):
        try:
            tool(made)
        except Missing as reason:
            missing[tool.__name__] = str(reason)
    return missing
