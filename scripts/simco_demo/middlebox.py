"""simco-middlebox as a process."""

import pathlib

from .process import Process

ROUTER = ["--backend", "nftables", "--internal-if", "int0", "--external-if", "ext0"]


def command(again, *options):
    """The command as it is shown: with the router's options, or `again` with dots for them."""
    return " ".join(("simco-middlebox", *(["..."] if again else ROUTER), *options))


class Middlebox(Process):
    """Listens on free ports. `namespace` and `folder` are as those of a Process."""

    def __init__(self, programs, namespace, *options, folder=None):
        super().__init__(namespace, str(pathlib.Path(programs).resolve() / "simco-middlebox"), "--port", "0", *options,
                         folder=folder)

    def ports(self):
        """Returns {transport: port} of what it listens on so far. Throws Failure if it has ended."""
        self.expect_running()
        words = [line.split() for line in self.text().splitlines() if " listening on " in line]
        return {line[-2]: int(line[-1].rpartition(":")[2]) for line in words}

    def listening(self, *transports):
        self.wait_for(lambda: set(transports) <= set(self.ports()), "does not start")
        ports = self.ports()
        return [ports[transport] for transport in transports]
