"""Reads the vectors of this folder (README.md describes them)."""
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent


def messages():
    return json.loads((FOLDER / "messages.json").read_text())


def malformed():
    return json.loads((FOLDER / "malformed.json").read_text())


def transcripts():
    """Each transcript's file name with it."""
    files = sorted((FOLDER / "transcripts").glob("*.json"))
    return [(file.stem, json.loads(file.read_text())) for file in files]


def octets_of(vector):
    """The octets of a message; blanks and the division into lines mean nothing."""
    return bytes.fromhex("".join(vector["octets"]))


def every_message():
    """A name and a vector for each message of this folder that is well-formed."""
    for vector in messages():
        yield vector["name"], vector
    for name, transcript in transcripts():
        for number, step in enumerate(transcript["steps"], 1):
            if "message" in step:
                yield f"{name}, step {number}", step
