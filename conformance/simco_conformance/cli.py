"""The command line of simco-conformance."""

import argparse
import sys
from dataclasses import replace

from . import agent, middlebox, report
from .programs import filled
from .wire import TRANSPORTS, Failed, Patience

EXAMPLES = """examples:
  simco-conformance middlebox --connect 192.0.2.1:7626
  simco-conformance middlebox --start 'simco-middlebox --config {config} --listen 127.0.0.1 --port {port}'
  simco-conformance agent --run 'simcoctl --connect {address} enable --internal 10.0.0.5:5004 --external 192.0.2.7:6000 --udp'

{config} is a file that a case writes: keys of doc/configuration.md; an adapter for another middlebox reads them.
A command for an agent enables one rule, and ends with 0 if it could."""


def endpoint(text):
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal() and 0 < int(port) < 65536):
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST:PORT")
    return host.strip("[]"), int(port)


def command(*needed):
    """Returns what reads a command that has these {names}."""
    def read(text):
        missing = [name for name in needed if "{" + name + "}" not in text]
        if missing:
            raise argparse.ArgumentTypeError(f"{' and '.join('{' + name + '}' for name in missing)} must be in '{text}'")
        try:
            filled(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"'{text}': {error}") from error
        return text

    return read


def parser():
    top = argparse.ArgumentParser(prog="simco-conformance", description="Does a middlebox, or an agent, keep to RFC 4540?",
                                  epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    sides = top.add_subparsers(dest="side", required=True, metavar="SIDE")
    of_middlebox = sides.add_parser("middlebox", help="plays agents to a middlebox")
    where = of_middlebox.add_mutually_exclusive_group(required=True)
    where.add_argument("--connect", type=endpoint, metavar="HOST:PORT", help="a middlebox that runs, and takes anonymous agents")
    where.add_argument("--start", type=command("config", "port"), metavar="COMMAND", help="starts a middlebox for each case, with {config} and {port}")
    of_middlebox.add_argument("--transport", choices=TRANSPORTS, default="tcp", help="default: %(default)s")
    of_middlebox.add_argument("--certificate", metavar="FILE", help="of the agent, with its key, for TLS")
    of_agent = sides.add_parser("agent", help="plays a middlebox to an agent")
    of_agent.add_argument("--run", type=command("address"), required=True, metavar="COMMAND", help="runs the agent for each case, with {address}")
    for side in (of_middlebox, of_agent):
        side.add_argument("--strict", action="store_true", help="also what the RFC leaves open, as doc/rfc4540.md reads it")
        side.add_argument("--only", default="", metavar="TEXT", help="only cases with this text in their section or name")
        side.add_argument("--timeout", type=float, default=Patience.seconds, metavar="SECONDS",
                          help="of silence, which is a failure; default: %(default)g")
        side.add_argument("--junit", type=argparse.FileType("w"), metavar="FILE", help="writes the results as JUnit's XML, too")
        side.add_argument("--list", action="store_true", help="lists the cases, and runs none")
    return top


def cases_of(arguments):
    if arguments.side == "agent":
        return agent.cases(arguments.run, arguments.strict)
    return middlebox.cases(middlebox.Target(arguments.connect, arguments.start, arguments.transport, arguments.strict, arguments.certificate))


def outcome(about, run):
    if isinstance(run, str):
        return replace(about, skipped=run)
    try:
        run()
    except (Failed, OSError) as error:
        return replace(about, fault=str(error))
    except Exception as error:  # of a peer's octets that nobody thought of: the other cases are run
        return replace(about, fault=f"{type(error).__name__}: {error}")
    return about


def main(words=None):
    arguments = parser().parse_args(words)
    Patience.seconds = arguments.timeout
    chosen = [(about, run) for about, run in cases_of(arguments) if arguments.only in f"{about.section} {about.name}"]
    if not chosen:
        print(f"simco-conformance: no case has '{arguments.only}' in its section or name", file=sys.stderr)
        return 2
    if arguments.list:
        for about, _ in chosen:
            print(f"{about.section:12}  {about.name}\n{'':14}{about.about}")
        return 0
    results, status = [], 0
    try:
        for about, run in chosen:
            results.append(outcome(about, run))
            report.show(results[-1])
    except KeyboardInterrupt:
        status = 130
    print(report.summary(results))
    if arguments.junit:
        report.junit(results, arguments.junit)
    return status or int(any(one.fault for one in results))
