"""Runs the demonstration: packets if network namespaces can be had, and load in any case; or a call of SIP phones."""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from . import call
from .load import Load
from .namespace import Failure
from .packets import PEER, PHONE, Network, Story
from .picture import animated
from .screen import Screen

INTRODUCTION = f"""
peer {PEER} --- 50 RTP packets/s ---> router ---> phone {PHONE}        each bar: 5 packets
"""
NEEDED = ("ip", "nsenter", "unshare")


def arguments(words):
    parser = argparse.ArgumentParser(prog="scripts/demo", description="Shows what the middlebox is for: packets for a"
                                     " phone that it blocks, allows and translates; then its response times.")
    parser.add_argument("--rate", type=float, default=1000, help="load, transactions per second (default 1000)")
    parser.add_argument("--count", type=int, default=8000, help="transactions per transport (default 8000)")
    parser.add_argument("--no-load", action="store_true", help="packets only")
    parser.add_argument("--sip", action="store_true", help="a call of two SIP phones through Kamailio instead")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("demo-out"),
                        help="folder for results (default demo-out)")
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/release/bin"),
                        help=argparse.SUPPRESS)
    return parser.parse_args(words)


def become_able(words):
    """Goes on in a namespace of users if that is what network namespaces take. Returns why there can be none, or
    None."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"{missing[0]} is not installed"
    if os.geteuid() == 0:
        able = ["unshare", "--net", "true"]
    else:
        able = ["unshare", "--user", "--map-root-user", "--net", "true"]
    done = subprocess.run(able, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip() or "this user may not create them"
    if os.geteuid() != 0:
        os.execvp("unshare", [*able[:-2], sys.executable, "-B", "-m", "simco_demo", *words])
    return None


def network_of(words):
    """Returns the network, or why there is none, as a text."""
    reason = become_able(words)
    if reason:
        return reason
    try:
        return Network()
    except (Failure, OSError) as failure:
        return str(failure).strip().splitlines()[-1]


def forget_kept_values():
    """What the user keeps for simcoctl is for another middlebox."""
    for name in [name for name in os.environ if name.startswith("SIMCO_")]:
        del os.environ[name]
    os.environ["SIMCO_CONFIG"] = os.devnull


def show(screen, options, network):
    able = isinstance(network, Network)
    if able:
        story = Story(screen, options.programs, network)
        screen.say(INTRODUCTION)
        story.firewall()
        screen.say("\nThe same with a NAT; and then the middlebox is killed while packets flow.\n")
        story.nat()
    else:
        screen.say(f"No packets are shown: this takes network namespaces (root, or user namespaces): {network}")
    screen.end_of_picture()
    if not options.no_load:
        screen.say("\nResponse times, each PER a rule in the kernel.\n" if able else "\nResponse times.\n")
        Load(screen, options.programs, network.router if able else None, options.out).run(options.rate, options.count)


def show_sip(screen, options, network):
    """A call cannot be shown without its programs. Throws Failure, which names the packages to install."""
    if packages := call.missing():
        raise Failure("a call takes Kamailio and SIPp: sudo apt install " + " ".join(packages))
    if not isinstance(network, Network):
        raise Failure(f"a call takes network namespaces (root, or user namespaces): {network}")
    call.show(screen, options.programs, network)


def keep(screen, options):
    """Leaves what was shown as a text, and the first part of the packets as a picture that moves."""
    name = "sip.txt" if options.sip else "demo.txt"
    plots = [] if options.sip or options.no_load else ["response-times.svg", "response-times.png"]
    pictures = [] if options.sip else ["demo.svg"]
    screen.say("Written to " + f"{options.out}/: " + ", ".join([*plots, name, *pictures]))
    (options.out / name).write_text(screen.text)
    for picture in pictures:
        (options.out / picture).write_text(animated(screen.picture))


def main(words=None):
    words = sys.argv[1:] if words is None else words
    options = arguments(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    forget_kept_values()
    network = network_of(words)
    options.out.mkdir(parents=True, exist_ok=True)
    screen = Screen(sys.stdout)
    try:
        (show_sip if options.sip else show)(screen, options, network)
        keep(screen, options)
    except Failure as failure:
        if screen.pieces:
            screen.say()
        print(f"demo: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        screen.say("\ndemo: interrupted; nothing is left behind")
        return 128 + signal.SIGINT
    return 0
