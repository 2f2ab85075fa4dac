"""The results of cases: for people, and as JUnit's XML."""

import xml.etree.ElementTree as xml
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    section: str  # of RFC 4540
    name: str
    about: str  # the sentence that the case is about
    fault: str = ""
    skipped: str = ""  # why


def show(result, say=print):
    word = "FAIL" if result.fault else "skip" if result.skipped else "ok"
    say(f"{word:4}  {result.section:12}  {result.name}", flush=True)
    if result.fault or result.skipped:
        say(f"{'':20}{result.about}")
        say(f"{'':20}{result.fault or result.skipped}")


def summary(results):
    failed, skipped = sum(bool(one.fault) for one in results), sum(bool(one.skipped) for one in results)
    return f"{len(results) - failed - skipped} passed, {failed} failed, {skipped} skipped"


def junit(results, file):
    suite = xml.Element("testsuite", name="simco-conformance", tests=str(len(results)),
                        failures=str(sum(bool(one.fault) for one in results)), skipped=str(sum(bool(one.skipped) for one in results)))
    for one in results:
        case = xml.SubElement(suite, "testcase", classname=f"rfc4540.{one.section}", name=one.name)
        for tag, text in (("failure", one.fault), ("skipped", one.skipped)):
            if text:
                xml.SubElement(case, tag, message=text).text = one.about
    xml.ElementTree(suite).write(file, encoding="unicode", xml_declaration=True)
