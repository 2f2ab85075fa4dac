"""The load generator's table over TCP and over SCTP, and a plot of both."""

import csv
import signal
import socket
import subprocess

from .middlebox import ROUTER, Middlebox
from .namespace import Failure

STREAMS = 16
CURVES = {"tcp": ("TCP", "#0072B2", 1), "sctp": (f"SCTP, {STREAMS} streams", "#D55E00", 2)}
PLOT = """
set terminal {terminal}
set output "{file}"
set title "Response times of PER transactions at {rate:g}/s, {where}"
set xlabel "response time (ms)"
set ylabel "share of transactions that took longer"
set logscale xy
set grid
set key top right
plot {curves}
"""
TERMINALS = {"svg": 'svg size 720,450 dynamic background "white"', "png": 'pngcairo size 1440,900 fontscale 1.6'}


def free_udp_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ccdf(samples):
    """Returns the lines "milliseconds share" of a file that --samples has written."""
    with open(samples, newline="") as file:
        times = sorted((int(row["received_ns"]) - int(row["scheduled_ns"])) / 1e6
                       for row in csv.DictReader(file) if row["outcome"] == "completed")
    return [f"{time:.4f} {(len(times) - number) / len(times):.6f}" for number, time in enumerate(times)]


class Load:
    """`namespace` is the router's, or None: then no rule is enforced."""

    def __init__(self, screen, programs, namespace, out):
        self.screen, self.programs, self.namespace, self.out = screen, programs, namespace, out
        # Next to whatever else uses SCTP over UDP on this machine.
        self.udp = ["--udp-encaps", str(free_udp_port())] if namespace is None else []

    def run(self, rate, count):
        options = ["--transport", "tcp,sctp", "--streams", str(STREAMS), "--audit-rate", "0", *self.udp]
        backend, shown = (ROUTER, ["..."]) if self.namespace else ([], [])
        self.screen.command(" ".join(("simco-middlebox", *shown, *options)))
        with Middlebox(self.programs, self.namespace, *backend, *options) as middlebox:
            ports = dict(zip(CURVES, middlebox.listening(*CURVES)))
            for transport, port in ports.items():
                self.one(transport, port, rate, count)
            if middlebox.stop(signal.SIGTERM) != 0:
                raise Failure("the middlebox did not end in order:\n" + middlebox.text())
        self.plot(rate)

    def one(self, transport, port, rate, count):
        words = ["simco-loadgen", "--transport", transport, "--rate", f"{rate:g}", "--count", str(count), "--warmup",
                 "100"]
        if transport == "sctp":
            words += ["--streams", str(STREAMS), *self.udp]
        self.screen.command(" ".join(words))
        files = ["--json", str(self.out / f"{transport}.json"), "--samples", str(self.out / f"{transport}.csv")]
        command = [f"{self.programs}/{words[0]}", *words[1:], "--connect", f"127.0.0.1:{port}", *files]
        done = subprocess.run(self.namespace.words(*command) if self.namespace else command, capture_output=True,
                              text=True)
        self.screen.say(done.stdout)
        if done.returncode != 0:
            raise Failure(f"simco-loadgen ended with exit status {done.returncode}: {done.stderr}")

    def plot(self, rate):
        curves = []
        for transport, (name, colour, dash) in CURVES.items():
            data = self.out / f"{transport}.dat"
            data.write_text("\n".join(ccdf(self.out / f"{transport}.csv")) + "\n")
            curves.append(f'"{data}" using 1:2 with steps linewidth 2 dashtype {dash} linecolor rgb "{colour}" '
                          f'title "{name}"')
        where = "each a rule in nftables" if self.namespace else "null backend"
        for suffix, terminal in TERMINALS.items():
            script = PLOT.format(terminal=terminal, file=self.out / f"response-times.{suffix}", rate=rate, where=where,
                                 curves=", ".join(curves))
            done = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True)
            if done.returncode != 0:
                raise Failure(f"gnuplot failed: {done.stderr}")
